"""The classifier that has nothing to tune or to prepare: AutoOAUC."""

from __future__ import annotations

import typing
from collections.abc import Iterator, Sequence

from river_oauc.explanations import ExplainingClassifier, Explanation
from river_oauc.parameters import check_count
from river_oauc.rankers.auto import EXPERTS, AutoRanker
from river_oauc.rankers.mixture.ranker import Expert
from river_oauc.records.encoder import MixedEncoder
from river_oauc.records.parse import Record
from river_oauc.sparse import forget_rows


def _are_experts(experts: typing.Any) -> bool:
    if isinstance(experts, str) or not isinstance(experts, Sequence):
        return False
    return bool(experts) and all(each in EXPERTS for each in experts)


class AutoOAUC(ExplainingClassifier):
    """Online AUC maximisation with nothing to tune or to prepare.

    Take it for any stream of rare events. It takes raw records as they are: numbers, categories,
    ids, dates, texts; None, NaN, NaT, NA and an absent key all mean unknown. A feature that is
    unknown in most examples is 0 when it is absent, as in a bag of words. It needs no scaler, and
    follows change.

    It stacks experts that differ in kind.

    - Linear scores: the exact minimiser of the squared loss of `OAUCS` over class means and
      covariances, in two strengths of regularisation and over recent examples; logistic regression
      as a Gaussian posterior; steps of constant size.
    - Kernel scores: the same minimiser over a Laplace and a Gaussian kernel with 256 landmarks.
    - Trees: `OTAUC` over the latest 10,000 examples of each class.
    - Sparse: `SparseOAUCM`, with a weight for every category, word and number.

    Linear and kernel scores are mixed by how well they have ranked about the last 2,000 examples.
    When their win rate of the last hundred falls by a tenth, a younger generation of them starts
    beside the older one, and after 2,000 examples the worse one goes. `drift_detected` tells when
    the younger one is clearly ahead.

    The score is a weighted sum of mixture, trees and sparse score. The weights are those of a
    logistic regression of the label on the scores that examples got before they were learned. In
    it both classes count alike, and about the last 5,000 examples count.

    All experts but the sparse one see numbers: a category stands for its log odds, see
    `preprocessing.RecordEncoder`. A feature is a number for them once it has been known in five
    examples and in 5 % of all. So in wide records they see the frequent features, and the sparse
    expert sees all.

    A step costs O(p²) time on average for p features, at 30 features less than a quarter of one of
    river's `ARFClassifier` with ten trees. Memory is 5p² + 7,000p doubles and 4 MB, and what the
    names of categories take. Weights cannot diverge.

    Two models merge: `a += b` or `a + b` stands for both parts of the stream. Each expert merges as
    its class does, and what the stack has learned adds up.

    Parameters
    ----------
    experts
        The kinds of experts: some of `"linear"`, `"kernel"`, `"trees"` and `"sparse"`. Fewer take
        less time. The kernel scores come with the linear ones.
    prior
        What a probability of one half means. `"balanced"`: as likely from either class, were
        they equally frequent. `"empirical"`: as frequent as the classes have been of late.
    max_features
        The largest number of features that the dense experts see, the most often known first.
    max_categories
        The largest number of categories to remember, and of weights of the sparse expert; `None` is
        no limit. When there would be more, the fifth that has come least often, or has the smallest
        squared gradients, is forgotten.
    seed
        Seed of the random choice of features and stored examples that a tree sees.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from river_oauc import AutoOAUC
    >>> from river_oauc.metrics import ExactROCAUC

    >>> model = AutoOAUC(seed=42)
    >>> evaluate.progressive_val_score(
    ...     datasets.Phishing(), model, metrics.ROCAUC() + ExactROCAUC()
    ... )
    ROCAUC: 96.60%
    ExactROCAUC: 97.48%

    Which experts does it trust, and what moved a score?

    >>> for expert in sorted(model.expert_shares, key=lambda expert: -expert["share"])[:4]:
    ...     print(f"{expert['expert']:16} {expert['auc']:.3f} {expert['share']:.2f}")
    sparse           0.979 0.44
    trees            0.980 0.40
    Laplace ridge 10 0.975 0.03
    Laplace ridge 0.1 0.976 0.03

    >>> x, y = next(iter(datasets.Phishing()))
    >>> moves = model.explain_one(x)
    >>> max(moves, key=moves.get)
    'empty_server_form_handler'

    Any record will do:

    >>> model.predict_proba_one({"country": "FR", "device": None})
    {False: 0.319, True: 0.681}

    References
    ----------
    [^1]: Luo, J., Cheng, X. and Zhang, C. Online AUC optimization based on second-order surrogate
        loss.
    [^2]: Gao, W., Jin, R., Zhu, S. and Zhou, Z.-H., 2013. One-pass AUC optimization. ICML 2013.

    """

    def __init__(
        self,
        experts: Sequence[str] = EXPERTS,
        prior: str = "balanced",
        max_features: int = 500,
        max_categories: int | None = None,
        seed: int | None = None,
    ) -> None:
        if not _are_experts(experts):
            raise ValueError(f"experts must be some of {EXPERTS}, not {experts!r}")
        check_count("max_features", max_features)
        if max_categories is not None:
            check_count("max_categories", max_categories)
        self.experts = experts
        self.max_features = max_features
        self.max_categories = max_categories
        self.seed = seed
        super().__init__(prior)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, typing.Any]]:
        yield {}
        yield {"experts": ("linear",), "prior": "empirical"}

    def _new_encoder(self) -> MixedEncoder:
        return MixedEncoder(
            dense=tuple(self.experts) != ("sparse",),
            sparse="sparse" in self.experts,
            max_features=self.max_features,
            max_categories=self.max_categories,
        )

    def _new_ranker(self) -> AutoRanker:
        return AutoRanker(self.experts, self.seed)

    def _forget(self) -> None:
        forget_rows(self._encoder, self._ranker.members.get("sparse"))

    @property
    def expert_shares(self) -> list[Expert]:
        """The name of each expert, its progressive AUC and its share in the score.

        The share of the trees and of the sparse expert is their part in the gap between recent
        positives and negatives; those of linear and kernel experts add up to the part of their
        mixture. While a younger generation is on trial, the list has both.
        """
        with self._lock:
            experts: list[Expert] = self._ranker.experts
            return experts

    @property
    def drift_detected(self) -> bool:
        """Whether the last `learn_one` has shown that the stream has changed.

        It is True once per change, when experts that started anew rank clearly better than those
        that know the past. Only linear and kernel experts notice it.
        """
        mixture = self._ranker.mixture
        return mixture is not None and mixture.drift_detected

    @property
    def n_drifts_detected(self) -> int:
        """How often `drift_detected` has been True."""
        mixture = self._ranker.mixture
        return 0 if mixture is None else mixture.n_drifts_detected

    def _explain(self, x: Record) -> Explanation:
        example, _ = self._encoder.encode(x)
        contributions = self._ranker.contributions(example)
        moves: Explanation = self._encoder.sum_by_feature(example, contributions)
        return moves
