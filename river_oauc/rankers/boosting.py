"""Boosted trees that never restart, over stored examples of each class: the trees of OTAUC."""

from __future__ import annotations

import copy
import math
import random
import typing

import numpy as np

from river_oauc.parameters import new_random
from river_oauc.rankers.base import Ranker, share_of_other
from river_oauc.rankers.boosting_losses import LOSSES
from river_oauc.rankers.losses import sigmoid
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
# whenever a tree is added. So the scores remember about the last eighty trees.
RATE, FADE, MAX_TREES = 0.15, 0.0125, 150

# The wait for the next tree is a hundredth of the stream so far, and at most `LONGEST_WAIT`.
LONGEST_WAIT, TREES_PER_GROWTH = 28, 100

# The candidates for a tree are at most so many examples of each class, in even steps. It sees about
# `SAMPLE_SIZE` of them, most of those from which there is most to learn.
MAX_CANDIDATES, SAMPLE_SIZE = 4_000, 1_500

# The bins of each feature are chosen again when the stream has grown by half, and after
# `LONGEST_BINNING` examples at the latest. A bin has an equal share of the second derivatives, to
# each of which this part of their mean is added.
LONGEST_BINNING, BINNING_SAMPLE, BINNING_FLOOR = 4_000, 1_000, 0.3

# The share of the features that a tree may use, at random; of a few features it may use all.
TRIED_SHARE, FEW_FEATURES = 0.7, 10

# What a split must gain, and what it must gain times the number of examples of the rarer class:
# the less of these.
MIN_GAIN, MIN_TOTAL_GAIN = 2.0, 30.0

# In a full buffer, an example is stored with this probability per unit of that of the other class,
# and at least with the probability 1 / THINNING.
THINNING = 8.0

# After a change, the newest of each class stay, and the schedules go on as after so many examples.
KEPT_PER_CLASS, AGE_AFTER_CHANGE = 100, 100

# The number of trees that are grown on the examples of two parts when they merge.
TREES_PER_MERGE = 60


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

    def check_state(self) -> None:
        super().check_state()
        if (self.codes > MISSING).any() or not (self.weights > 0.0).all():
            raise damage("an example has no weight, or is in a bin that there is not")


class BoostedTrees(Stateful):
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
        Recent negatives and positives, with their importance weights and present scores.
    totals
        The weight of all negatives and of all positives so far.
    age, next_tree
        The number of examples, and after how many a tree is grown.
    next_column, n_binned
        The feature whose bins are chosen next, in turn, and how many have bins already.

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "trees": Stateful, "edges": (np.float32, "p", N_EDGES), "buffers": [Stateful],
        "totals": (float, 2), "age": int, "next_tree": int, "next_column": float,
        "n_binned": int, "rng": random.Random,
    }  # fmt: skip
    FILL: typing.ClassVar[dict[str, float]] = {"edges": LARGEST}

    def __init__(self, loss: str, buffer_size: int, seed: int | None) -> None:
        self.loss = loss
        self.trees = Trees(MAX_TREES)
        self.edges: SingleArray = np.full((1, N_EDGES), LARGEST, dtype=np.float32)
        self.buffers = [ClassBuffer(buffer_size, p=1) for _ in range(2)]
        self.totals = np.zeros(2)
        self.age = self.next_tree = self.n_binned = 0
        self.next_column = 0.0
        self.rng = new_random(seed)

    @property
    def n_features(self) -> int:
        return len(self.edges)

    def score(self, row: SingleArray) -> float:
        """Return the score of an example in single precision."""
        return float(self.trees.scores(row[None])[0])

    def store(self, row: SingleArray, score: float, positive: bool, weight: float) -> None:
        """Store an example with the score that it has.

        When the buffer of its class is full, easy examples are left out at random, and those that
        are stored weigh more.
        """
        self.age += 1
        # First, so that no interrupt leaves stored examples without weight.
        self.totals[int(positive)] += weight
        buffer = self.buffers[positive]
        if buffer.n == buffer.capacity and self.loss == "logistic" and self.trees.n:
            logit = score - math.log(self.totals[0] / self.totals[1])
            p_other = sigmoid(-logit if positive else logit)
            probability = min(max(THINNING * p_other, 1.0 / THINNING), 1.0)
            if probability < 1.0 and self.rng.random() >= probability:
                return
            weight /= probability
        row = row[None]
        buffer.add(row, digitize(row, self.edges), weight, score)

    def boost_if_due(self) -> None:
        """Grow a tree if it is time to, given examples of both classes."""
        if self.age >= self.next_tree and all(buffer.n for buffer in self.buffers):
            self.boost()

    def boost(self) -> None:
        """Add a tree, and let the others fade."""
        wait = max(1, min(self.age // TREES_PER_GROWTH, LONGEST_WAIT))
        self.next_tree = self.age + wait
        buffers, start = self.buffers, self.rng.random()
        drawn = [(buffer, candidates(buffer.n, start)) for buffer in buffers]
        # Copies: how BLAS rounds depends on where an array begins.
        scores = [buffer.scores[here].copy() for buffer, here in drawn]
        weights = [buffer.weights[here].copy() for buffer, here in drawn]
        g, h = LOSSES[self.loss](scores, weights, self.totals[0] / self.totals[1])
        self._choose_bins(drawn, h, wait)
        features = draw_features(self.edges, self.rng)
        seen, probabilities = choose_important(g, h, SAMPLE_SIZE, self.rng.random())
        first = int(np.searchsorted(seen, len(scores[0])))
        parts = seen[:first], seen[first:] - len(scores[0])
        codes = np.concatenate(
            [buffer.codes[here][part] for (buffer, here), part in zip(drawn, parts, strict=True)]
        )
        min_gain = min(MIN_GAIN, MIN_TOTAL_GAIN / float(self.totals.min()))
        tree = grow(
            codes, self.edges, features, g[seen] / probabilities, h[seen] / probabilities, min_gain
        )
        if tree is None:
            return
        trees, kept = self.trees, 1.0 - FADE
        tree, oldest = (*tree[:3], RATE * tree[3]), trees.taken(trees.next, trees.next + 1)
        both = zip(*[tree, (*oldest[:3], -kept * oldest[3])], strict=True)
        change = typing.cast(TreeArrays, tuple(np.concatenate(arrays) for arrays in both))
        for buffer in buffers:
            stored = buffer.scores[: buffer.n]
            stored *= kept
            stored += score_rows(*change, buffer.rows[: buffer.n])
        trees.values *= kept
        trees.add(*tree)

    def _choose_bins(
        self, drawn: list[tuple[ClassBuffer, slice]], h: FloatArray, wait: int
    ) -> None:
        """Choose the bins of some features, given the candidates for the next tree."""
        p, first = self.n_features, self.next_column
        last = first + min(p, p * wait / max(1, min(self.age // 2, LONGEST_BINNING)))
        in_turn = {column % p for column in range(math.ceil(first), math.ceil(last))}
        columns = sorted(in_turn.union(range(self.n_binned, p)))
        self.next_column, self.n_binned = last % p, p
        step = max(1, len(h) // (2 * BINNING_SAMPLE))
        mass = h[::step] + BINNING_FLOOR * h.mean()
        for j in columns:
            values = [buffer.rows[here, j] for buffer, here in drawn]
            self.edges[j] = choose_edges(np.concatenate(values)[::step], mass)
            for buffer in self.buffers:
                column_rows = buffer.rows[:, j : j + 1].copy()
                buffer.codes[:, j : j + 1] = digitize(column_rows, self.edges[j : j + 1])

    def forget(self) -> None:
        """Keep the newest examples of each class, and grow a tree at once."""
        for buffer in self.buffers:
            buffer.keep_newest(KEPT_PER_CLASS)
        self.age, self.next_tree = AGE_AFTER_CHANGE, 0

    def merge(self, other: typing.Self, grow: bool = True) -> None:
        """Average both scores, weighted by what each part knows of the rarer class.

        The newest trees and the newest examples of both stay. If both have learned something, some
        trees are then grown on the examples of both, unless `grow` is False.
        """
        share = share_of_other(self.totals.tolist(), other.totals.tolist())
        self.trees.values *= 1.0 - share
        others = copy.copy(other.trees)
        others.values = share * others.values
        self.trees.merge(others)
        for mine, theirs in zip(self.buffers, other.buffers, strict=True):
            mine.merge(theirs)
            mine.codes = digitize(mine.rows, self.edges)
            mine.scores = self.trees.scores(mine.rows)
        self.totals += other.totals
        grow = bool(grow and self.age and other.age)
        self.age, self.next_tree, self.n_binned = self.age + other.age, 0, 0
        if grow and all(buffer.n for buffer in self.buffers):
            for _ in range(TREES_PER_MERGE):
                self.boost()

    def check_state(self) -> None:
        p, features = self.n_features, self.trees.features
        if not ((features >= 0) & (features < p)).all():
            raise damage(f"a tree has a feature that is none of {p}")
        if not 0.0 <= self.next_column <= p or self.n_binned > p:
            raise damage(f"there is no feature {self.next_column}, or are no {self.n_binned}")
        for buffer, total in zip(self.buffers, self.totals.tolist(), strict=True):
            if buffer.rows.shape[1] != p or buffer.n and not total > 0.0:
                raise damage(f"{buffer.n} examples of weight {total} do not have {p} features")


class TreeRanker(Ranker):
    """Boosted trees alone, and the recent scores, from which probabilities come.

    Parameters are those of `BoostedTrees`.
    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "boosted": Stateful, "recent_scores": Stateful,
    }  # fmt: skip

    def __init__(self, loss: str, buffer_size: int, seed: int | None) -> None:
        self.boosted = BoostedTrees(loss, buffer_size, seed)
        self.recent_scores = RecentScores()

    @property
    def n_features(self) -> int:
        return self.boosted.n_features

    def score(self, x: FloatArray) -> float:
        return self.boosted.score(to_single(x))

    def contributions(self, x: FloatArray) -> FloatArray:
        """Return by how much each feature moves the score from the mean of the trees."""
        return self.boosted.trees.contributions(to_single(x))

    def logit(self, score: float, empirical: bool) -> float:
        return self.recent_scores.logit(score, 0.0, empirical)

    def learn(self, x: FloatArray, positive: bool, weight: float) -> float:
        """Learn from an example, and return the score that it had before."""
        if len(x) > self.n_features:
            self.boosted.reindex(None, len(x))
        row = to_single(x)
        score = self.boosted.score(row)
        self.recent_scores.update(score, positive, weight)
        self.boosted.store(row, score, positive, weight)
        self.boosted.boost_if_due()
        return score

    def merge(self, other: typing.Self) -> None:
        self.boosted.merge(other.boosted)
        self.recent_scores.merge(other.recent_scores)


def candidates(n: int, start: float) -> slice:
    """Return which of n stored examples are candidates for a tree, beginning in the first step.

    Examples
    --------
    >>> from river_oauc.rankers.boosting import candidates
    >>> candidates(10, 0.5), candidates(10_000, 0.5)
    (slice(0, 10, 1), slice(1, 10000, 3))

    """
    step = -(-n // MAX_CANDIDATES)
    return slice(int(start * step), n, step)


def choose_important(
    g: FloatArray, h: FloatArray, size: int, start: float
) -> tuple[IntArray, FloatArray]:
    """Return about `size` examples with large derivatives, and the probability of each.

    The probability is in proportion to √(g² + h² / 10), and at most 1.

    Parameters
    ----------
    g, h
        First and second derivatives of the loss by the score of each example.
    size
        How many to choose, if there are more.
    start
        Where to start, from 0 to 1.

    """
    if len(g) <= size:
        return np.arange(len(g)), np.ones(len(g))
    sizes = np.sqrt(g * g + 0.1 * h * h)
    unit = float(sizes.sum()) / size
    # Those that are certain to be chosen leave room for others.
    certain = sizes[sizes >= unit]
    if len(certain) < size:
        unit = float(sizes.sum() - certain.sum()) / (size - len(certain))
    probabilities = np.minimum(sizes / unit, 1.0)
    steps = (np.cumsum(probabilities) + start).astype(np.int64)
    chosen = np.flatnonzero(np.diff(steps, prepend=0))
    return chosen, probabilities[chosen]


def draw_features(edges: SingleArray, rng: random.Random) -> IntArray:
    """Return the features that a tree may use, in order: some of those that vary."""
    varying = np.flatnonzero(edges[:, 0] < LARGEST)
    n_tried = max(FEW_FEATURES, math.ceil(TRIED_SHARE * len(varying)))
    if n_tried >= len(varying):
        return varying
    return varying[sorted(rng.sample(range(len(varying)), n_tried))]
