"""The classifier that has nothing to tune or to prepare: AutoOAUC."""

from __future__ import annotations

import math
import typing
from collections.abc import Callable, Iterator, Sequence

from river_oauc.explanations import ExplainingClassifier, Explanation
from river_oauc.limits import short_repr
from river_oauc.parameters import check_count
from river_oauc.rankers.auto import EXPERTS, AutoRanker, Expert
from river_oauc.records.encoder import MixedEncoder
from river_oauc.records.parse import ReadRecord, Record
from river_oauc.sparse import forget_rows
from river_oauc.state import State, damage


def _are_experts(experts: typing.Any) -> bool:
    if isinstance(experts, str) or not isinstance(experts, Sequence):
        return False
    return bool(experts) and all(each in EXPERTS for each in experts)


# A record is learned as it was served if at most 300 labels have come since, and 1.5 times as many
# are known. Otherwise it waits for a third as many further labels, and for 100 at most.
LATEST_SERVED, KNOWN_PER_LATE = 300, 1.5
LONGEST_LAG, LAG_SHARE = 100, 3


class Served(typing.NamedTuple):
    """A record as a model saw it when it was served: what `AutoOAUC.encode_one` returns.

    It takes the place of the record in `score_one`, `predict_proba_one`, `explain_one` and
    `learn_one`.

    Parameters
    ----------
    record
        What has been read of the record, and the log odds that its categories had.
    scores
        The scores that the experts gave it.
    n_labels
        How many labels the model had by then.

    """

    record: ReadRecord
    scores: tuple[float, ...]
    n_labels: int


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
    stream has changed. Then class moments, the stack and what is known of entries count as little,
    and the newest 100 stored examples of each class stay. `drift_detected` tells when.

    All experts but the sparse ones see columns of numbers: a category stands for its log odds, see
    `preprocessing.RecordEncoder`. A feature has a column once it has been known in five examples
    and in 5 % of all. So in wide records they see the frequent features, and the sparse experts see
    all.

    A step costs O(p²) time on average for p columns, at 30 less than a tenth of one of river's
    `ARFClassifier` with ten trees. Memory is 3p² + 7,000p doubles and 3 MB, and what the names of
    categories take. Weights cannot diverge.

    Two models merge: `a += b` or `a + b` stands for both parts of the stream. Class moments, counts
    and what the stack has learned add up; trees, tracking score and the factors of pairs are
    averaged; the landmarks are those of the model that knows more.

    Parameters
    ----------
    experts
        The kinds of experts: some of `"linear"`, `"kernel"`, `"trees"` and `"sparse"`. Fewer take
        less time. `"kernel"` includes the linear scores.
    prior
        What a probability of one half means. `"balanced"`: as likely from either class, were
        they equally frequent. `"empirical"`: as frequent as the classes have been of late.
    max_features
        The largest number of columns, those of the most often known features first.
    max_categories
        The largest number of categories to remember, and of weights of the sparse expert; `None` is
        no limit. When there would be more, the fifth that has come least often, or has the smallest
        second derivatives, is forgotten.
    lag
        How many labels a record waits for after its own has come, before it is learned. Take 100 if
        labels come hundreds of records late and the records are not kept by `encode_one`: then what
        is learned is as stale as what is scored. With labels at once, 0 is better.
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
        lag: int = 0,
        seed: int | None = None,
    ) -> None:
        if not _are_experts(experts):
            raise ValueError(f"experts must be some of {EXPERTS}, not {experts!r}")
        check_count("max_features", max_features)
        if max_categories is not None:
            check_count("max_categories", max_categories)
        self.experts = experts
        self.max_features = max_features
        if lag != 0 or isinstance(lag, bool):
            check_count("lag", lag)
        self.max_categories = max_categories
        self.lag = lag
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

    def encode_one(self, x: Record) -> Served:
        """Return a record as the model sees it now, with the scores of its experts.

        With labels that come late, keep it beside the record, score it, and give it to `learn_one`
        in place of the record when the label has come. Then the model learns what it had when it
        scored, and not what has become known since. It is a tuple of plain data, which pickles in
        less than a kilobyte for 15 features.

        Parameters
        ----------
        x
            A dictionary of features.

        """
        with self._lock:
            record = self._encoder.read(x)
            scores = self._ranker.scores(self._encoder.encode(record)[0])
            return Served(record, tuple(scores), self._n_labels)

    @property
    def _n_labels(self) -> int:
        """The number of labels that have come."""
        n: int = self._ranker.n_seen + len(self._ranker.queue)
        return n

    def _checked(self, x: Served) -> Served:
        if len(x.scores) != len(self._ranker.names) or x.n_labels > self._n_labels:
            raise ValueError(
                f"{short_repr(x)} was not served by this model: give it to the model whose "
                "encode_one returned it"
            )
        return x

    def _score(self, x: typing.Any) -> float:
        if type(x) is Served:
            score: float = self._ranker.stack.score(self._checked(x).scores)
            return score
        return super()._score(x)

    def _learn(
        self,
        encode: Callable[..., typing.Any],
        record: typing.Any,
        positive: bool,
        weight: float,
        *served: typing.Any,
    ) -> None:
        with self._lock:
            lag = self.lag
            if type(record) is Served:
                late, scores = self._n_labels - self._checked(record).n_labels, record.scores
                record, lag = record.record, min(late // LAG_SHARE, LONGEST_LAG)
                # While few labels are known, those that the model had say little.
                if late <= min(LATEST_SERVED, self._n_labels / KNOWN_PER_LATE):
                    served, lag = (scores,) if late else (), 0
            queue = self._ranker.queue
            # If this record does not wait, the oldest of those that do is learned as well.
            most, detected = lag or max(len(queue) - 1, 0), False
            if not lag:
                super()._learn(encode, record, positive, weight, *served)
                detected = self.drift_detected
            else:
                again = self.encode_one(record)
                queue += [(again, positive, weight)] if weight else []
            while weight and len(queue) > most:
                self._learn_oldest()
                detected |= self.drift_detected
            if weight:
                self._ranker.drift_detected = detected

    def _learn_oldest(self) -> None:
        served, positive, weight = self._ranker.queue[0]
        super()._learn(self._encoder.encode, served.record, positive, weight, served.scores)
        del self._ranker.queue[0]

    def _set_learned(self, state: State) -> None:
        super()._set_learned(state)
        if not all(map(self._can_wait, self._ranker.queue)):
            raise damage("a record that waits to be learned is invalid")

    def _can_wait(self, item: typing.Any) -> bool:
        """Whether this is a record that waits to be learned, with its label and weight."""
        try:
            (record, scores, n_labels), positive, weight = item
            n = {len(each) for each in record[:3]}
            return (
                type(item[0]) is Served and type(record) is ReadRecord and len(n) == 1
                and type(positive) is bool and 0.0 < weight < math.inf and n_labels >= 0
                and len(scores) == len(self._ranker.names)
                and all(type(each) is float and math.isfinite(each) for each in scores)
                and all(type(each) is float and not math.isinf(each) for each in record.numbers)
                and all(0 <= place < len(record.names) for place, _, _ in record.odds)
                and all(math.isfinite(a) and math.isfinite(b) for _, a, b in record.odds)
            )  # fmt: skip
        except (TypeError, ValueError, AttributeError):
            return False

    def flush(self) -> None:
        """Learn all records that wait for further labels; see `lag`."""
        with self._lock:
            while self._ranker.queue:
                self._learn_oldest()

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

    def _explain(self, x: typing.Any) -> Explanation:
        record = self._checked(x).record if type(x) is Served else x
        example, _ = self._encoder.encode(record)
        contributions = self._ranker.contributions(example)
        moves: Explanation = self._encoder.sum_by_feature(example, contributions)
        return moves
