"""The ranker of OTAUC: boosted trees that never restart, over the latest examples of each class."""

from __future__ import annotations

import copy
import math
import random
import typing

import numpy as np

from river_oauc.parameters import new_random
from river_oauc.rankers.base import Ranker, learn_with_new_features, share_of_other
from river_oauc.rankers.boosting_losses import LOSSES
from river_oauc.rankers.ring_buffer import RingBuffer
from river_oauc.rankers.scores import RecentScores
from river_oauc.rankers.trees import (
    LARGEST,
    MISSING,
    N_EDGES,
    CodeArray,
    TreeArrays,
    Trees,
    choose_edges,
    digitize,
    grow,
    score_rows,
    to_single,
)
from river_oauc.state import FloatArray, IntArray, SingleArray, Stateful, damage

# The share of its leaves by which a tree moves the scores, and the share by which older trees fade
# whenever a tree is added. So the scores remember about the last hundred trees.
RATE, FADE = 0.12, 0.01

# The oldest of these has an eighth of its first weight left.
MAX_TREES = 200

# The wait for the next tree is a hundredth of the stream so far, and at most `LONGEST_WAIT`
# examples. A tree sees at most `MAX_SAMPLE` examples of each class.
LONGEST_WAIT, TREES_PER_GROWTH = 25, 100
MAX_SAMPLE = 4_000

# The number of trees that are grown on the examples of two rankers when they merge.
TREES_PER_MERGE = 20

# The bins are chosen again after the stream has grown by half, and after `LONGEST_BINNING` examples
# at the latest. They come from at most `BINNING_SAMPLE` examples of each class.
LONGEST_BINNING, BINNING_SAMPLE = 4_000, 2_000

# The share of the features that a tree may use, at random; of a few features it may use all.
TRIED_SHARE, FEW_FEATURES = 0.7, 10


class ClassBuffer(RingBuffer):
    """The latest examples of a class, their bins, importance weights and present scores."""

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = RingBuffer.FIELDS | {
        "rows": (np.float32, "n", "p"), "codes": (np.uint8, "n", "p"),
        "weights": (float, "n"), "scores": (float, "n"),
    }  # fmt: skip
    rows: SingleArray
    codes: CodeArray
    weights: FloatArray
    scores: FloatArray

    def sample(self, size: int, start: float) -> IntArray:
        """Return where a sample of the examples is."""
        return self.oldest_first()[sample(self.n, size, start)]

    def check_state(self) -> None:
        super().check_state()
        if (self.codes > MISSING).any() or not (self.weights > 0.0).all():
            raise damage("an example has no weight, or is in a bin that there is not")


class TreeRanker(Ranker):
    """A sum of trees, each grown on what those before still get wrong on the stored examples.

    Parameters
    ----------
    loss
        `"logistic"`, `"psi_m"` or `"psi_s"`.
    buffer_size
        The largest number of stored examples of each class.
    seed
        Seed of the choice of features and examples.

    Attributes
    ----------
    trees
        The trees, whose scores add up.
    edges
        The edges of the bins of each feature.
    buffers
        The latest negatives and positives, with their importance weights and present scores.
    totals
        The weight of all negatives and of all positives so far.
    recent_scores
        Statistics of the scores that examples had when they came.
    next_tree, next_binning
        The numbers of examples after which to grow a tree, and to choose the bins.

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "trees": Stateful, "edges": (np.float32, "p", N_EDGES), "buffers": [Stateful],
        "totals": (float, 2), "recent_scores": Stateful, "next_tree": int, "next_binning": int,
        "rng": random.Random,
    }  # fmt: skip
    FILL: typing.ClassVar[dict[str, float]] = {"edges": LARGEST}

    def __init__(self, loss: str, buffer_size: int, seed: int | None) -> None:
        self.loss = loss
        self.trees = Trees(MAX_TREES)
        self.edges: SingleArray = np.full((1, N_EDGES), LARGEST, dtype=np.float32)
        self.buffers = [ClassBuffer(buffer_size, p=1) for _ in range(2)]
        self.totals = np.zeros(2)
        self.recent_scores = RecentScores()
        self.next_tree = self.next_binning = 1
        self.rng = new_random(seed)

    @property
    def n_features(self) -> int:
        return len(self.edges)

    def score(self, x: FloatArray) -> float:
        return float(self.trees.scores(to_single(x[: self.n_features])[None])[0])

    def contributions(self, x: FloatArray) -> FloatArray:
        """Return by how much each feature moves the score from the mean of the trees."""
        return self.trees.contributions(to_single(x[: self.n_features]))

    def logit(self, score: float, empirical: bool) -> float:
        return self.recent_scores.logit(score, 0.0, empirical)

    def learn(self, x: FloatArray, positive: bool, weight: float) -> float:
        """Learn from an example, and return the score that it had before."""
        if len(x) > self.n_features:
            return float(learn_with_new_features(self, x, positive, weight))
        row = to_single(x)[None]
        score = float(self.trees.scores(row)[0])
        self.recent_scores.update(score, positive, weight)
        # First, so that no interrupt leaves stored examples without weight.
        self.totals[int(positive)] += weight
        self.buffers[positive].add(row, digitize(row, self.edges), weight, score)
        if self.recent_scores.n >= self.next_tree and all(each.n for each in self.buffers):
            self._boost()
        return score

    def _boost(self) -> None:
        """Add a tree, and let the others fade; choose the bins if it is time to."""
        n = self.recent_scores.n
        if n >= self.next_binning:
            self._choose_edges()
        self.next_tree = n + tree_wait(n)
        tree = self._grow()
        if tree is None:
            return
        trees, kept = self.trees, 1.0 - FADE
        tree, oldest = (*tree[:3], RATE * tree[3]), trees.taken(trees.next, trees.next + 1)
        for buffer in self.buffers:
            rows, scores = buffer.rows[: buffer.n], buffer.scores[: buffer.n]
            scores[:] = kept * (scores - score_rows(*oldest, rows)) + score_rows(*tree, rows)
        trees.values *= kept
        trees.add(*tree)

    def _choose_edges(self) -> None:
        rows = [buffer.rows[buffer.sample(BINNING_SAMPLE, 0.5)] for buffer in self.buffers]
        self.edges = choose_edges(np.concatenate(rows))
        self.next_binning = self.recent_scores.n + binning_wait(self.recent_scores.n)
        for buffer in self.buffers:
            buffer.codes = digitize(buffer.rows, self.edges)

    def _grow(self) -> TreeArrays | None:
        """Return a tree for a sample of each class and of the features, or None."""
        features, start = draw_features(self.edges, self.rng), self.rng.random()
        drawn = [(buffer, buffer.sample(MAX_SAMPLE, start)) for buffer in self.buffers]
        scores = [buffer.scores[places] for buffer, places in drawn]
        weights = [buffer.weights[places] for buffer, places in drawn]
        g, h = LOSSES[self.loss](scores, weights, self.totals[0] / self.totals[1])
        codes = np.concatenate([buffer.codes[places] for buffer, places in drawn])
        return grow(codes, self.edges, features, g, h)

    def merge(self, other: typing.Self) -> None:
        """Average both scores, weighted by what each ranker knows of the rarer class.

        The newest trees and the newest examples of both stay. If both have learned something, some
        trees are then grown on the examples of both.
        """
        share = share_of_other(self.totals.tolist(), other.totals.tolist())
        self.trees.values *= 1.0 - share
        others = copy.copy(other.trees)
        others.values = share * others.values
        self.trees.merge(others)
        for mine, theirs in zip(self.buffers, other.buffers, strict=True):
            mine.merge(theirs)
            mine.scores = self.trees.scores(mine.rows)
        self.totals += other.totals
        both_have_learned = self.recent_scores.n and other.recent_scores.n
        self.recent_scores.merge(other.recent_scores)
        self._choose_edges()
        self.next_tree = self.recent_scores.n + 1
        if both_have_learned and all(each.n for each in self.buffers):
            for _ in range(TREES_PER_MERGE):
                self._boost()

    def check_state(self) -> None:
        p, features = self.n_features, self.trees.features
        if not ((features >= 0) & (features < p)).all():
            raise damage(f"a tree has a feature that is none of {p}")
        for buffer, total in zip(self.buffers, self.totals.tolist(), strict=True):
            if buffer.rows.shape[1] != p or buffer.n and not total > 0.0:
                raise damage(f"{buffer.n} examples of weight {total} do not have {p} features")


def tree_wait(n: int) -> int:
    """Return the number of examples from one tree to the next, n having been learned."""
    return max(1, min(n // TREES_PER_GROWTH, LONGEST_WAIT))


def binning_wait(n: int) -> int:
    """Return the number of examples until the bins are chosen again, n having been learned."""
    return max(1, min(n // 2, LONGEST_BINNING))


def sample(n: int, size: int, start: float) -> IntArray:
    """Return positions of at most `size` of n examples, in even steps.

    Parameters
    ----------
    n
        The number of examples.
    size
        The largest number of positions.
    start
        Where to start in the first step, from 0 to 1.

    Examples
    --------
    >>> from river_oauc.rankers.boosting import sample
    >>> sample(10, 4, 0.5), sample(3, 4, 0.5)
    (array([1, 3, 6, 8]), array([0, 1, 2]))

    """
    if n <= size:
        return np.arange(n)
    return np.minimum(((np.arange(size) + start) * n / size).astype(np.int64), n - 1)


def draw_features(edges: SingleArray, rng: random.Random) -> IntArray:
    """Return the features that a tree may use, in order: some of those that vary."""
    varying = np.flatnonzero(edges[:, 0] < LARGEST)
    n_tried = max(FEW_FEATURES, math.ceil(TRIED_SHARE * len(varying)))
    if n_tried >= len(varying):
        return varying
    return varying[sorted(rng.sample(range(len(varying)), n_tried))]
