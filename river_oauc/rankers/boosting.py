"""The ranker of OTAUC: boosted trees that never restart, over the latest examples of each class."""

from __future__ import annotations

import dataclasses
import math
import random
import typing

import numpy as np

from river_oauc.parameters import new_random
from river_oauc.rankers.base import FloatArray, IntArray, share_of_other
from river_oauc.rankers.boosting_losses import LOSSES
from river_oauc.rankers.class_buffer import ClassBuffer
from river_oauc.rankers.samples import newest_of_both
from river_oauc.rankers.score_statistics import ScoreStatistics
from river_oauc.rankers.trees import (
    LARGEST,
    N_EDGES,
    Trees,
    choose_edges,
    digitize,
    grow,
    to_single,
)
from river_oauc.state import SingleArray, State, StateReader

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


class TreeRanker:
    """A sum of trees, each grown on what those before still get wrong on the stored examples.

    Parameters
    ----------
    loss
        `"logistic"`, `"psi_m"` or `"psi_s"`.
    buffer_size
        The largest number of stored examples of each class.
    seed
        Seed of the choice of features and examples.

    """

    def __init__(self, loss: str, buffer_size: int, seed: int | None) -> None:
        self.loss, self.buffer_size = loss, buffer_size
        self.trees = Trees.none()
        # Of the negatives and of the positives.
        self.buffers = [ClassBuffer.empty(buffer_size, 1), ClassBuffer.empty(buffer_size, 1)]
        self.edges: SingleArray = np.full((1, N_EDGES), LARGEST, dtype=np.float32)
        # Of the scores that examples had when they came.
        self.statistics = ScoreStatistics()
        # The numbers of examples after which to grow a tree, and to choose the bins.
        self.next_tree, self.next_binning = 1, 1
        self._rng = new_random(seed)

    @property
    def n_features(self) -> int:
        return len(self.edges)

    @property
    def n_learned(self) -> int:
        return sum(scores.n for scores in self.statistics.classes)

    def score(self, x: FloatArray) -> float:
        return self.trees.score(to_single(x[: self.n_features]))

    def contributions(self, x: FloatArray) -> FloatArray:
        """Return by how much each feature moves the score from the mean of the trees."""
        return self.trees.contributions(to_single(x[: self.n_features]))

    def logit(self, score: float, empirical: bool) -> float:
        return self.statistics.logit(score, 0.0, empirical)

    def learn(self, x: FloatArray, positive: bool, weight: float) -> float:
        if len(x) > self.n_features:
            self.reindex(np.arange(self.n_features), len(x))
        single = to_single(x)
        score = self.trees.score(single)
        self.statistics = self.statistics.updated(score, positive, weight)
        # An interrupt here would leave the example out of the buffer, and everything consistent.
        self.buffers[positive].add(single, weight, score)
        if self.n_learned >= self.next_tree and all(map(len, self.buffers)):
            self._boost()
        return score

    def _boost(self) -> None:
        """Add a tree, and let the others fade; choose the bins if it is time to."""
        n, edges, next_binning = self.n_learned, self.edges, self.next_binning
        if n >= next_binning:
            edges, next_binning = self._choose_edges(), n + binning_wait(n)
        tree = self._grow(edges)
        trees, buffers = self.trees, self.buffers
        if tree is not None:
            tree, keep = tree.scaled(RATE), 1.0 - FADE
            changes = [tree.tree_scores(0, buffer.rows) for buffer in buffers]
            scores = [buffer.scores for buffer in buffers]
            for oldest in range(len(trees) + 1 - MAX_TREES):
                scores = [
                    before - trees.tree_scores(oldest, buffer.rows)
                    for before, buffer in zip(scores, buffers, strict=True)
                ]
            trees = trees.scaled(keep).joined(tree).taken(slice(-MAX_TREES, None))
            buffers = [
                buffer.with_scores(keep * before + change)
                for buffer, before, change in zip(buffers, scores, changes, strict=True)
            ]
        self.trees, self.buffers, self.edges, self.next_binning, self.next_tree = (
            trees, buffers, edges, next_binning, n + tree_wait(n),
        )  # fmt: skip

    def _choose_edges(self) -> SingleArray:
        samples = [buffer.rows[sample(len(buffer), BINNING_SAMPLE, 0.5)] for buffer in self.buffers]
        return choose_edges(np.concatenate(samples))

    def _grow(self, edges: SingleArray) -> Trees | None:
        """Return a tree for a sample of each class and of the features, or None."""
        features, start = draw_features(edges, self._rng), self._rng.random()
        if not len(features):
            return None
        drawn = [(buffer, sample(len(buffer), MAX_SAMPLE, start)) for buffer in self.buffers]
        rows = np.concatenate([buffer.rows[chosen] for buffer, chosen in drawn])
        scores = [buffer.scores[chosen] for buffer, chosen in drawn]
        weights = [buffer.weights[chosen] for buffer, chosen in drawn]
        odds = self.buffers[0].total / self.buffers[1].total
        g, h = LOSSES[self.loss](scores, weights, odds)
        edges = edges[features]
        return grow(digitize(rows[:, features], edges), edges, features, g, h)

    def merge(self, other: typing.Self) -> None:
        """Average both scores, weighted by what each ranker knows of the rarer class.

        The newest trees and the newest examples of both stay. If both have learned something, some
        trees are then grown on the examples of both.
        """
        share = share_of_other(
            [buffer.total for buffer in self.buffers], [buffer.total for buffer in other.buffers]
        )
        trees = self.trees.scaled(1.0 - share).joined(other.trees.scaled(share))
        trees = trees.taken(newest_of_both(len(self.trees), len(other.trees), MAX_TREES))
        buffers = [
            mine.merged(theirs) for mine, theirs in zip(self.buffers, other.buffers, strict=True)
        ]
        self.buffers = [buffer.with_scores(trees.scores(buffer.rows)) for buffer in buffers]
        self.trees, self.statistics = trees, self.statistics.merged(other.statistics)
        n = self.n_learned
        self.edges, self.next_tree = self._choose_edges(), n + 1
        self.next_binning = n + binning_wait(n)
        if n > other.n_learned > 0 and all(map(len, self.buffers)):
            for _ in range(TREES_PER_MERGE):
                self._boost()

    def reindex(self, positions: IntArray, n_features: int) -> None:
        n = min(len(positions), self.n_features)
        places: IntArray = np.zeros(self.n_features, dtype=np.int64)
        places[:n] = positions[:n]
        trees = dataclasses.replace(self.trees, features=places[self.trees.features])
        edges = np.full((n_features, N_EDGES), LARGEST, dtype=np.float32)
        edges[positions[:n]] = self.edges[:n]
        buffers = [buffer.reindexed(positions, n_features) for buffer in self.buffers]
        self.trees, self.edges, self.buffers = trees, edges, buffers

    def get_state(self) -> State:
        return {
            "trees": self.trees.get_state(),
            "buffers": [buffer.get_state() for buffer in self.buffers],
            "edges": self.edges.copy(),
            "statistics": self.statistics.get_state(),
            "next_tree": self.next_tree,
            "next_binning": self.next_binning,
            "rng": self._rng.getstate(),
        }

    def set_state(self, reader: StateReader) -> None:
        self.edges = reader.singles("edges", None, N_EDGES)
        if not self.n_features:
            raise reader.error("edges is empty")
        self.trees = Trees.from_state(reader.reader("trees"), self.n_features)
        if len(self.trees) > MAX_TREES:
            raise reader.error(f"it has {len(self.trees)} trees, and {MAX_TREES} at most")
        self.buffers = [
            ClassBuffer.from_state(each, self.buffer_size, self.n_features)
            for each in reader.readers("buffers", 2)
        ]
        self.statistics = ScoreStatistics.from_state(reader.reader("statistics"))
        self.next_tree = reader.count("next_tree", 1, self.n_learned + LONGEST_WAIT)
        self.next_binning = reader.count("next_binning", 1, self.n_learned + LONGEST_BINNING)
        self._rng = reader.rng("rng")
        reader.finish()


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
