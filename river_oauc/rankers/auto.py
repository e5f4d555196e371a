"""The ranker of AutoOAUC: the scores of unlike experts, and one stack over them.

The whole rule, from the example to the score:

- Three linear scores and a kernel score see the columns standardised; see `ridge`, `landmarks`.
- Trees, boosted over the latest 10,000 examples of each class, see them as they are; see
  `boosting`. The landmarks of the kernel come from the same stored examples.
- A linear score, a factorisation machine and naive Bayes see the entries: categories, words,
  numbers; see `sparse`, `pairs`, `counts`.
- The score is a weighted sum of all of these. The weights are those of a logistic regression that
  forgets; see `stack`.
- When the ranking breaks, class moments, stack and what is known of entries count as little; of the
  stored examples the newest stay, and so do the trees; see `change`.
"""

from __future__ import annotations

import copy
import typing
from collections.abc import Sequence

import numpy as np

from river_oauc.rankers.base import Ranker
from river_oauc.rankers.boosting import BoostedTrees
from river_oauc.rankers.change import Ranking
from river_oauc.rankers.counts import Counts
from river_oauc.rankers.landmarks import N_REPLAYED, KernelExpert
from river_oauc.rankers.pairs import Pairs
from river_oauc.rankers.ridge import LinearExperts, update_units
from river_oauc.rankers.sparse import SQUARES, SparseExample, SparseRanker, n_rows_needed
from river_oauc.rankers.stack import Stack
from river_oauc.rankers.trees import to_single
from river_oauc.state import FloatArray, SingleArray, Stateful

# The kinds of experts to choose from.
EXPERTS = ("linear", "kernel", "trees", "sparse")

# The weights of the scores before the first example. Those of the first four are near -1 and 1.
PRIOR_WEIGHTS = {
    "ridge 0.1": 0.33, "ridge 10": 0.33, "tracking": 0.33, "kernel": 0.33,
    "trees": 0.2, "entries": 0.2, "pairs": 0.1, "counts": 0.1,
}  # fmt: skip

# The number of stored examples of each class.
BUFFER_SIZE = 10_000

# After a change, this share of what is known of entries is kept.
KEPT_SHARE = 0.05

# Columns, NaN where unknown, and entries; None if nobody needs them.
Example = tuple[FloatArray | None, SparseExample | None]


class Expert(typing.TypedDict):
    """What `expert_shares` tells of an expert."""

    expert: str
    auc: float
    share: float


class Dense(typing.NamedTuple):
    """What the dense experts make of an example; None if nobody needs it."""

    scores: list[float]
    # Standardised, as similarities to the landmarks, and in single precision.
    z: FloatArray | None
    similar: FloatArray | None
    row: SingleArray | None


class AutoRanker(Ranker):
    """A stack over linear, kernel, tree and sparse experts.

    Parameters
    ----------
    experts
        The kinds of experts. `"kernel"` includes the linear scores.
    seed
        Seed of the trees.

    Attributes
    ----------
    names
        The names of the scores.
    n_seen
        The number of examples.
    totals
        The weight of the negatives and of the positives so far.
    drift_detected, n_drifts_detected
        Whether the last example has broken the ranking, and how often that has been so.
    queue
        Records whose labels have come and that wait to be learned: pairs of what the classifier
        knows of them and of their labels and weights.

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "n_seen": int, "totals": (float, 2), "n_drifts_detected": int, "drift_detected": bool,
        "parts": {str: Stateful}, "queue": list,
    }  # fmt: skip

    linear: typing.Any = None
    kernel: typing.Any = None
    boosted: typing.Any = None
    sparse: typing.Any = None
    pairs: typing.Any = None
    counts: typing.Any = None

    def __init__(self, experts: Sequence[str], seed: int | None) -> None:
        self.n_seen = self.n_drifts_detected = 0
        self.drift_detected = False
        self.totals = np.zeros(2)
        self.queue: list[typing.Any] = []
        self.names: list[str] = []
        parts: dict[str, typing.Any] = {}
        if "linear" in experts or "kernel" in experts:
            parts["linear"] = self.linear = LinearExperts()
            self.names += LinearExperts.NAMES
        if "kernel" in experts:
            parts["kernel"] = self.kernel = KernelExpert()
            self.names.append("kernel")
        self.has_trees = "trees" in experts
        if self.has_trees or "kernel" in experts:
            size = BUFFER_SIZE if self.has_trees else N_REPLAYED
            parts["boosted"] = self.boosted = BoostedTrees("logistic", size, seed)
            self.names += ["trees"] if self.has_trees else []
        if "sparse" in experts:
            parts["sparse"] = self.sparse = SparseRanker()
            parts["pairs"] = self.pairs = Pairs()
            parts["counts"] = self.counts = Counts()
            self.names += ["entries", "pairs", "counts"]
        self.stack = Stack([PRIOR_WEIGHTS[name] for name in self.names])
        self.ranking = Ranking(len(self.names) + 1)
        self.parts = parts | {"stack": self.stack, "ranking": self.ranking}

    # The rule ----------------------------------------------------------------------------------

    def score(self, example: Example) -> float:
        return self.stack.score(self.scores(example))

    def scores(self, example: Example) -> list[float]:
        """Return the scores of the experts."""
        x, entries = example
        scores = [] if x is None else self._see(x).scores
        if entries is not None:
            entries_score, inputs = self.sparse.score_and_inputs(entries)
            scores += (
                entries_score,
                self.pairs.score(entries[0], inputs),
                self.counts.score(entries[0]),
            )
        return scores

    def _see(self, x: FloatArray) -> Dense:
        """Return what the dense experts make of the columns of an example."""
        scores: list[float] = []
        z = similar = row = None
        if self.linear:
            z, scores = self.linear.see(x)
        if self.kernel:
            similar, score = self.kernel.see(z)
            scores.append(score)
        if self.boosted:
            row = to_single(x)
            if self.has_trees:
                scores.append(self.boosted.score(row))
        return Dense(scores, z, similar, row)

    def learn(
        self,
        example: Example,
        positive: bool,
        weight: float,
        served: Sequence[float] | None = None,
    ) -> None:
        """Learn from an example; if its label was late, the stack from the scores as served."""
        x, entries = example
        self.n_seen += 1
        self.totals[int(positive)] += weight
        negatives, positives = self.totals.tolist()
        scores: list[float] = []
        if x is not None:
            self._make_room(len(x))
            if self.linear:
                update_units(x, self.linear.units, self.n_seen)
            dense = self._see(x)
            scores = dense.scores
            if self.boosted:
                # Without trees, no score is needed.
                self.boosted.store(dense.row, scores[-1], positive, weight)
            if self.linear:
                share = (negatives if positive else positives) / (negatives + positives)
                self.linear.learn(dense.z, scores[2], positive, weight, share)
            if self.kernel and self.kernel.size:
                self.kernel.moments.add(dense.similar, positive, weight)
        if entries is not None:
            rows = entries[0]
            n_rows = n_rows_needed(rows)
            self.pairs.make_room(n_rows)
            self.counts.make_room(n_rows)
            entries_score, inputs = self.sparse.learn(entries, positive, weight)
            scores += (
                entries_score,
                self.pairs.learn(rows, inputs, entries_score, positive, weight),
                self.counts.learn(rows, positive, weight),
            )
        if served is not None:
            scores = list(served)
        all_scores = np.array([*scores, self.stack.score(scores)])
        self.stack.learn(all_scores[:-1], positive, weight)
        self.drift_detected = False
        if negatives and positives:
            is_rarer = positive == (positives <= negatives)
            if self.ranking.add(all_scores, positive, is_rarer):
                self._forget()
            self._update_experts()

    def _update_experts(self) -> None:
        """Choose landmarks, compute the ridge scores, and grow a tree, where it is time to."""
        linear, kernel, boosted = self.linear, self.kernel, self.boosted
        if linear:
            chosen = kernel and kernel.choose(self.n_seen, boosted.buffers, linear.units)
            if linear.is_due() or chosen:
                linear.solve()
                if kernel:
                    kernel.solve()
        if self.has_trees:
            boosted.boost_if_due()

    def _forget(self) -> None:
        """Let what has been learned count as little, because the ranking has broken."""
        self.drift_detected = True
        self.n_drifts_detected += 1
        self.ranking.start_again()
        self.stack.forget()
        if self.linear:
            self.linear.forget()
        if self.kernel:
            self.kernel.moments.forget()
        if self.boosted:
            self.boosted.forget()
        if self.sparse:
            self.sparse.terms[..., SQUARES] *= KEPT_SHARE
            self.pairs.squares *= KEPT_SHARE
            self.counts.counts *= KEPT_SHARE

    def _make_room(self, n_columns: int) -> None:
        parts = (self.linear, self.kernel, self.boosted)
        narrow = [part for part in parts if part and part.n_features < n_columns]
        wide = [copy.copy(part) for part in narrow]
        for part in wide:
            part.reindex(None, n_columns)
        # At once, so that no interrupt leaves parts of different widths.
        for part, wider in zip(narrow, wide, strict=True):
            vars(part).update(vars(wider))

    # What is asked of it -----------------------------------------------------------------------

    @property
    def n_features(self) -> tuple[int, int]:
        """The number of columns and of entries that there is room for."""
        dense = (part.n_features for part in (self.linear, self.kernel, self.boosted) if part)
        sparse = (part.n_features for part in self.sparse_parts)
        return max(dense, default=0), max(sparse, default=0)

    @property
    def sparse_parts(self) -> list[typing.Any]:
        """The experts that see the entries."""
        return [self.sparse, self.pairs, self.counts] if self.sparse else []

    def logit(self, score: float, empirical: bool) -> float:
        """Return the log odds of a positive: those of the stack, in which both classes are alike.

        Without its bias, which would only move the scores of different times against each other,
        unless the probabilities are to be frequencies.
        """
        if not empirical:
            return score
        # In the stack, the odds count with their root.
        return score + float(self.stack.weights[-1]) + 0.5 * self.stack.log_odds

    @property
    def experts(self) -> list[Expert]:
        """The AUC of each expert, and its share in what keeps the classes apart, of late."""
        gaps = np.maximum(self.stack.weights[:-1] * self.ranking.gaps()[:-1], 0.0)
        shares = gaps / gaps.sum() if gaps.any() else np.full(len(gaps), 1.0 / len(gaps))
        figures = zip(self.names, self.ranking.aucs(), shares.tolist(), strict=False)
        return [Expert(expert=name, auc=auc, share=share) for name, auc, share in figures]

    def contributions(self, example: Example) -> tuple[FloatArray | None, FloatArray | None]:
        """Return by how much each column, and each entry of the example, moves the score.

        The sum of both is the score less a constant.
        """
        x, entries = example
        weights = dict(zip(self.names, self.stack.weights.tolist(), strict=False))
        dense = sparse = None
        if x is not None:
            dense = np.zeros(len(x))
            if self.linear:
                z, _ = self.linear.see(x)
                own = np.array([weights[name] for name in LinearExperts.NAMES])
                dense[: len(z)] += own @ self.linear.contributions(z)
            if self.kernel:
                dense[: len(z)] += weights["kernel"] * self.kernel.contributions(z)
            if self.has_trees:
                dense += weights["trees"] * self.boosted.trees.contributions(to_single(x))
        if entries is not None:
            rows, (_, inputs) = entries[0], self.sparse.score_and_inputs(entries)
            sparse = weights["entries"] * self.sparse.contributions(entries)
            sparse += weights["pairs"] * self.pairs.contributions(rows, inputs)
            sparse += weights["counts"] * self.counts.contributions(rows)
        return dense, sparse

    def merge(self, other: AutoRanker) -> None:
        queue = self.queue + other.queue
        if not self.n_seen:
            vars(self).update(vars(other))
        if not (self.n_seen and other.n_seen) or self.parts is other.parts:
            self.queue = queue
            return
        for name, part in self.parts.items():
            if name == "kernel":
                stored = self.boosted.buffers, other.boosted.buffers
                part.merge(other.kernel, *stored, self.linear.units)
            elif name == "boosted":
                part.merge(other.boosted, grow=self.has_trees)
            elif name != "ranking":
                part.merge(other.parts[name])
        # Scores of the two do not compare.
        self.ranking.start_again()
        self.totals += other.totals
        self.queue = queue
        self.n_seen += other.n_seen
        self.n_drifts_detected += other.n_drifts_detected
        self.drift_detected = False
        if self.totals.all():
            self._update_experts()

    def reindex(self, positions: typing.Any, size: tuple[int, int]) -> None:
        for name, part in self.parts.items():
            if name not in ("stack", "ranking"):
                side = name in ("sparse", "pairs", "counts")
                part.reindex(positions[side], size[side])
