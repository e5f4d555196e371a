"""The classifier that has nothing to tune or to prepare: AutoOAUC."""

from __future__ import annotations

import typing
from collections.abc import Iterator, Sequence

from river_oauc.explanations import ExplainingClassifier, Explanation
from river_oauc.parameters import check_count
from river_oauc.rankers.auto import EXPERTS, AutoRanker, Expert
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

    It has eight scores of unlike experts, and stacks them.

    - Linear: the exact minimiser of the squared loss of `OAUCS` over class means and covariances,
      in two strengths of regularisation, and a score that tracks the latest examples.
    - Kernel: the same minimiser over Gaussian similarities to 128 landmarks.
    - Trees: `OTAUC` over the latest 10,000 examples of each class.
    - Sparse: `SparseOAUCM`, with a weight for every category, word and number; a factorisation
      machine for their pairs; and naive Bayes.

    The score is a weighted sum of these. The weights are those of a logistic regression of the
    label on the scores that examples got before they were learned, and about the last 5,000
    examples count.

    When the examples of the rarer class suddenly rank lower among the latest of the other, the
    stream has changed, and what has been learned counts as little from then on. `drift_detected`
    tells when.

    All experts but the sparse ones see columns of numbers: a category stands for its log odds, see
    `preprocessing.RecordEncoder`. A feature has a column once it has been known in five examples
    and in 5 % of all. So in wide records they see the frequent features, and the sparse experts see
    all.

    A step costs O(p²) time on average for p columns, at 30 less than a tenth of one of river's
    `ARFClassifier` with ten trees. Memory is 3p² + 7,000p doubles and 3 MB, and what the names of
    categories take. Weights cannot diverge.

    Two models merge: `a += b` or `a + b` stands for both parts of the stream. Class moments, counts
    and what the stack has learned add up; trees and tracking score are averaged; the factors of
    pairs and the landmarks are those of the model that knows more.

    Parameters
    ----------
    experts
        The kinds of experts: some of `"linear"`, `"kernel"`, `"trees"` and `"sparse"`. Fewer take
        less time. The kernel score comes with the linear ones.
    prior
        What a probability of one half means. `"balanced"`: as likely from either class, were
        they equally frequent. `"empirical"`: as frequent as the classes have been of late.
    max_features
        The largest number of columns, those of the most often known features first.
    max_categories
        The largest number of categories to remember, and of weights of the sparse expert; `None` is
        no limit. When there would be more, the fifth that has come least often, or has the smallest
        second derivatives, is forgotten.
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
    ROCAUC: 96.57%
    ExactROCAUC: 97.45%

    Which experts does it trust, and what moved a score?

    >>> for expert in sorted(model.expert_shares, key=lambda expert: -expert["share"])[:4]:
    ...     print(f"{expert['expert']:16} {expert['auc']:.3f} {expert['share']:.2f}")
    trees            0.981 0.45
    entries          0.979 0.39
    ridge 10         0.968 0.04
    kernel           0.974 0.04

    >>> x, y = next(iter(datasets.Phishing()))
    >>> moves = model.explain_one(x)
    >>> max(moves, key=moves.get)
    'https'

    Any record will do:

    >>> model.predict_proba_one({"country": "FR", "device": None})
    {False: 0.305, True: 0.695}

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
        max_features: int = 256,
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
        forget_rows(self._encoder, self._ranker.sparse_parts)

    @property
    def expert_shares(self) -> list[Expert]:
        """The name of each expert, its AUC and its share in the score, over the latest examples.

        The share is its part in the gap between the latest 256 positives and negatives.
        """
        with self._lock:
            experts: list[Expert] = self._ranker.experts
            return experts

    @property
    def drift_detected(self) -> bool:
        """Whether the last `learn_one` has shown that the stream has changed.

        It is True once per change: when the examples of the rarer class have come to rank far lower
        among the latest examples of the other class than they did before.
        """
        detected: bool = self._ranker.drift_detected
        return detected

    @property
    def n_drifts_detected(self) -> int:
        """How often `drift_detected` has been True."""
        n: int = self._ranker.n_drifts_detected
        return n

    def _explain(self, x: Record) -> Explanation:
        example, _ = self._encoder.encode(x)
        contributions = self._ranker.contributions(example)
        moves: Explanation = self._encoder.sum_by_feature(example, contributions)
        return moves
