"""Regression trees on binned features: how one is grown, and what a sum of them scores.

A tree is complete: all leaves are at the same depth. Node i has the children 2i + 1 and 2i + 2. A
node that does not split sends all examples to the left. Features are in single precision, and NaN
stands for an unknown value.
"""

from __future__ import annotations

import dataclasses
import typing

import numpy as np
from numpy.typing import NDArray

from river_oauc.rankers.base import FloatArray, IntArray
from river_oauc.state import SingleArray, State, StateReader

CodeArray = NDArray[np.uint8]

DEPTH = 5
N_LEAVES = 2**DEPTH
# Nodes that may split, and all nodes.
N_SPLITS, N_NODES = N_LEAVES - 1, 2 * N_LEAVES - 1

# Known values are in bins 0 to 63, and unknown ones in the one after.
N_BINS = 64
N_EDGES, MISSING = N_BINS - 1, N_BINS

# No feature is larger: all known values are on the left of this threshold.
LARGEST = float(np.finfo(np.float32).max)

# The regulariser of a leaf, and the least sum of second derivatives on either side of a split.
LEAF_L2, MIN_HESSIAN = 1.0, 0.5

# A split must gain more than this.
MIN_GAIN = 1e-3

# Gains that differ by less, relatively, are equal. Of equal splits the first is taken, so that the
# rounding of sums does not decide.
TIE = 1e-9

# No leaf is larger. Where positives are rare, a Newton step from a small probability overshoots.
MAX_LEAF = 10.0


def to_single(x: FloatArray) -> SingleArray:
    """Return features in single precision, the largest drawn in to what it can represent."""
    return np.clip(x, -LARGEST, LARGEST).astype(np.float32)


def choose_edges(rows: SingleArray) -> SingleArray:
    """Return the edges between the bins of each feature.

    Value x is in bin k if k edges are less than x. Every bin has about the same number of examples,
    but a value with more than its share has a bin of its own. Unused edges are at `LARGEST`.

    Parameters
    ----------
    rows
        Examples.

    """
    edges = np.full((rows.shape[1], N_EDGES), LARGEST, dtype=np.float32)
    for column, column_edges in zip(rows.T, edges, strict=True):
        values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
        if not len(values):
            continue
        ends: IntArray = np.arange(len(values))
        if len(values) > N_BINS:
            mass = np.cumsum(np.minimum(counts, counts.sum() / N_BINS))
            shares = np.arange(1, N_BINS) / N_BINS
            ends = np.unique(np.searchsorted(mass, shares * mass[-1]))
        has_missing = bool(np.isnan(column).any())
        ends = ends[ends < len(values) - 1][: N_EDGES - has_missing]
        column_edges[: len(ends)] = 0.5 * (values[ends].astype(float) + values[ends + 1])
        if has_missing:
            # Between all that is known and what is not.
            column_edges[len(ends)] = np.nextafter(np.float32(LARGEST), np.float32(0.0))
    return edges


def digitize(rows: SingleArray, edges: SingleArray) -> CodeArray:
    """Return the bin of each feature of each example."""
    codes = np.empty(rows.shape, dtype=np.uint8)
    for j, column in enumerate(rows.T):
        codes[:, j] = np.searchsorted(edges[j], column)
    codes[np.isnan(rows)] = MISSING
    return codes


@dataclasses.dataclass(frozen=True)
class Trees:
    """Trees, oldest first, each a row of all arrays.

    Parameters
    ----------
    features
        The feature by which each node splits.
    thresholds
        Values up to the threshold go to the left.
    missing_left
        1 if unknown values go to the left, else 0.
    values
        For a leaf, what it adds to the score; for an inner node, the weighted mean of its leaves.

    """

    features: IntArray
    thresholds: FloatArray
    missing_left: IntArray
    values: FloatArray

    @classmethod
    def none(cls) -> Trees:
        """Return no trees."""
        return cls(
            np.zeros((0, N_SPLITS), dtype=np.int64),
            np.zeros((0, N_SPLITS)),
            np.zeros((0, N_SPLITS), dtype=np.int64),
            np.zeros((0, N_NODES)),
        )

    def __len__(self) -> int:
        return len(self.values)

    @property
    def _arrays(self) -> list[NDArray[typing.Any]]:
        return list(vars(self).values())

    def paths(self, x: SingleArray) -> list[IntArray]:
        """Return the node of an example in each tree, at each depth."""
        trees = np.arange(len(self))
        paths = [np.zeros(len(self), dtype=np.int64)]
        for _ in range(DEPTH):
            nodes = paths[-1]
            value = x[self.features[trees, nodes]]
            right = value > self.thresholds[trees, nodes]
            right |= np.isnan(value) & (self.missing_left[trees, nodes] == 0)
            paths.append(2 * nodes + 1 + right)
        return paths

    def score(self, x: SingleArray) -> float:
        """Return the score of an example."""
        return float(self.values[np.arange(len(self)), self.paths(x)[-1]].sum())

    def contributions(self, x: SingleArray) -> FloatArray:
        """Return by how much each feature moves the score from the mean of the trees.

        On the way from the root to a leaf, the change of the mean goes to the feature that split.
        """
        trees, paths, moves = np.arange(len(self)), self.paths(x), np.zeros(len(x))
        for above, below in zip(paths, paths[1:], strict=False):
            change = self.values[trees, below] - self.values[trees, above]
            np.add.at(moves, self.features[trees, above], change)
        return moves

    def tree_scores(self, tree: int, rows: SingleArray) -> FloatArray:
        """Return what one of the trees adds to the score of each of many examples."""
        each = np.arange(len(rows))
        nodes: IntArray = np.zeros(len(rows), dtype=np.int64)
        for _ in range(DEPTH):
            values = rows[each, self.features[tree, nodes]]
            right = values > self.thresholds[tree, nodes]
            right |= np.isnan(values) & (self.missing_left[tree, nodes] == 0)
            nodes = 2 * nodes + 1 + right
        scores: FloatArray = self.values[tree, nodes]
        return scores

    def scores(self, rows: SingleArray) -> FloatArray:
        """Return the score of each of many examples."""
        scores = np.zeros(len(rows))
        for tree in range(len(self)):
            scores += self.tree_scores(tree, rows)
        return scores

    def scaled(self, factor: float) -> Trees:
        """Return the trees with a multiple of their scores."""
        return dataclasses.replace(self, values=factor * self.values)

    def joined(self, other: Trees) -> Trees:
        """Return these trees and then the others."""
        return Trees(*map(np.concatenate, zip(self._arrays, other._arrays, strict=True)))

    def taken(self, trees: slice | list[int]) -> Trees:
        """Return some of the trees."""
        return Trees(*(array[trees] for array in self._arrays))

    def get_state(self) -> State:
        """Return a copy of the state."""
        return {name: array.copy() for name, array in vars(self).items()}

    @classmethod
    def from_state(cls, reader: StateReader, n_features: int) -> Trees:
        """Return the trees with this state."""
        features = reader.integers("features", None, N_SPLITS, maximum=n_features - 1)
        n = len(features)
        trees = cls(
            features,
            reader.array("thresholds", n, N_SPLITS, minimum=-LARGEST, maximum=LARGEST),
            reader.integers("missing_left", n, N_SPLITS, maximum=1),
            reader.array("values", n, N_NODES, minimum=-MAX_LEAF, maximum=MAX_LEAF),
        )
        reader.finish()
        return trees


def grow(
    codes: CodeArray, edges: SingleArray, features: IntArray, g: FloatArray, h: FloatArray
) -> Trees | None:
    """Return a tree whose leaves minimise a loss to second order, or None if nothing splits.

    Examples with the sums G and H of first and second derivatives lose G² / (H + 1) / 2 in the leaf
    -G / (H + 1). Each node makes the split after which they lose most, unknown values being on
    either side.

    Parameters
    ----------
    codes
        Bins of some features of the examples.
    edges
        Edges of these bins.
    features
        Positions of these features among all.
    g, h
        First and second derivatives of the loss by the score of each example.

    """
    each, nodes = np.arange(len(codes)), np.zeros(len(codes), dtype=np.int64)
    tree = Trees(
        np.zeros((1, N_SPLITS), dtype=np.int64),
        np.full((1, N_SPLITS), LARGEST),
        np.ones((1, N_SPLITS), dtype=np.int64),
        np.zeros((1, N_NODES)),
    )
    columns, bins = np.zeros(N_SPLITS, dtype=np.int64), np.full(N_SPLITS, MISSING)
    for depth in range(DEPTH):
        first, n_nodes = 2**depth - 1, 2**depth
        splits = [
            _best_split(*sums)
            for sums in zip(
                _histograms(codes, nodes - first, n_nodes, g),
                _histograms(codes, nodes - first, n_nodes, h),
                _sums(nodes - first, n_nodes, g).tolist(),
                _sums(nodes - first, n_nodes, h).tolist(),
                strict=True,
            )
        ]
        if not any(splits):
            if depth == 0:
                return None
            # Nor does any node below. All examples go to the left.
            nodes = (nodes + 1) * 2 ** (DEPTH - depth) - 1
            break
        for node, split in enumerate(splits, first):
            if split is not None:
                columns[node], bins[node], tree.missing_left[0, node] = split
                tree.features[0, node] = features[columns[node]]
                tree.thresholds[0, node] = edges[columns[node], bins[node]]
        code = codes[each, columns[nodes]]
        right = np.where(code == MISSING, tree.missing_left[0, nodes] == 0, code > bins[nodes])
        nodes = 2 * nodes + 1 + right
    g_leaf = _sums(nodes - N_SPLITS, N_LEAVES, g)
    h_leaf = _sums(nodes - N_SPLITS, N_LEAVES, h)
    tree.values[0] = _node_means(np.clip(-g_leaf / (h_leaf + LEAF_L2), -MAX_LEAF, MAX_LEAF), h_leaf)
    return tree


def _sums(cells: IntArray, n_cells: int, numbers: FloatArray) -> FloatArray:
    """Return the sum of the numbers in each cell."""
    return np.bincount(cells, numbers, n_cells).astype(float)


def _histograms(codes: CodeArray, nodes: IntArray, n_nodes: int, numbers: FloatArray) -> FloatArray:
    """Return the sum over the examples in each bin of each feature, node by node."""
    n_columns = codes.shape[1]
    cells = (nodes[:, None] * n_columns + np.arange(n_columns)) * (N_BINS + 1) + codes
    n_cells = n_nodes * n_columns * (N_BINS + 1)
    histograms = _sums(cells.ravel(), n_cells, np.repeat(numbers, n_columns))
    return histograms.reshape(n_nodes, n_columns, N_BINS + 1)


def _best_split(
    g_bins: FloatArray, h_bins: FloatArray, g: float, h: float
) -> tuple[int, int, int] | None:
    """Return column and last bin on the left, and whether unknown values are there, too."""
    if h < 2.0 * MIN_HESSIAN * (1.0 - TIE):
        return None
    # Axes: column, bin, and whether unknown values go to the left or to the right.
    g_left = _left_sums(g_bins)
    h_left = _left_sums(h_bins)
    g_right, h_right = g - g_left, h - h_left
    allowed = np.minimum(h_left, h_right) >= MIN_HESSIAN * (1.0 - TIE)
    if not allowed.any():
        return None
    gains = np.full(g_left.shape, -np.inf)
    gains[allowed] = g_left[allowed] ** 2 / (h_left[allowed] + LEAF_L2)
    gains[allowed] += g_right[allowed] ** 2 / (h_right[allowed] + LEAF_L2)
    best = gains.max()
    if not best - g * g / (h + LEAF_L2) > MIN_GAIN:
        return None
    first = int(np.argmax(gains >= best * (1.0 - TIE)))
    column, edge, side = np.unravel_index(first, gains.shape)
    return int(column), int(edge), int(side == 0)


def _left_sums(bins: FloatArray) -> FloatArray:
    known = np.cumsum(bins[:, :N_EDGES], axis=1)
    return np.stack((known + bins[:, MISSING:], known), axis=2)


def _node_means(leaves: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the weighted mean of the leaves below each node, and the leaves."""
    values, totals = np.zeros(N_NODES), np.zeros(N_NODES)
    values[N_SPLITS:], totals[N_SPLITS:] = leaves, weights
    for node in reversed(range(N_SPLITS)):
        left, right = 2 * node + 1, 2 * node + 2
        totals[node] = totals[left] + totals[right]
        share = totals[right] / totals[node] if totals[node] else 0.0
        values[node] = values[left] + share * (values[right] - values[left])
    return values
