"""Regression trees on binned features: how one is grown, and what a sum of them scores.

A tree is complete: all leaves are at the same depth. Node i has the children 2i + 1 and 2i + 2. A
node that does not split sends all examples to the left. Features are in single precision, and NaN
stands for an unknown value.
"""

from __future__ import annotations

import typing

import numpy as np
from numpy.typing import NDArray

from river_oauc.acceleration import accelerated
from river_oauc.rankers.ring_buffer import RingBuffer
from river_oauc.state import FloatArray, IntArray, SingleArray

BoolArray = NDArray[np.bool_]
CodeArray = NDArray[np.uint8]
# Some trees: their rows in each array of `Trees`.
TreeArrays = tuple[IntArray, SingleArray, BoolArray, FloatArray]

DEPTH = 4
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

# Gains that differ by less, relatively, are equal. Of equal splits the first is taken, so that the
# rounding of sums does not decide.
TIE = 1e-9

# No leaf is larger. Where positives are rare, a Newton step from a small probability overshoots.
MAX_LEAF = 10.0


class Trees(RingBuffer):
    """The trees of a score, a row of each array.

    Attributes
    ----------
    features
        The feature by which each node splits.
    thresholds
        Values up to the threshold go to the left.
    missing_left
        Whether unknown values go to the left.
    values
        For a leaf, what it adds to the score; for another node, the mean of its leaves, weighted by
        second derivatives.

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = RingBuffer.FIELDS | {
        "features": (int, "n", N_SPLITS), "thresholds": (np.float32, "n", N_SPLITS),
        "missing_left": (bool, "n", N_SPLITS), "values": (float, "n", N_NODES),
    }  # fmt: skip
    features: IntArray
    thresholds: SingleArray
    missing_left: BoolArray
    values: FloatArray

    def taken(self, first: int, last: int) -> TreeArrays:
        """Return the trees from one place to before another."""
        rows = slice(first, min(last, self.n))
        return (
            self.features[rows],
            self.thresholds[rows],
            self.missing_left[rows],
            self.values[rows],
        )

    def scores(self, rows: SingleArray) -> FloatArray:
        """Return the score of each example."""
        # Those that there is room for are 0.
        return score_rows(self.features, self.thresholds, self.missing_left, self.values, rows)

    def contributions(self, x: SingleArray) -> FloatArray:
        """Return by how much each feature moves the score from the mean of the trees.

        On the way from the root to a leaf, the change of the mean goes to the feature that split.
        """
        trees, nodes, moves = np.arange(self.n), np.zeros(self.n, dtype=np.int64), np.zeros(len(x))
        for _ in range(DEPTH):
            features = self.features[trees, nodes]
            right = x[features] > self.thresholds[trees, nodes]
            right |= np.isnan(x[features]) & ~self.missing_left[trees, nodes]
            below = 2 * nodes + 1 + right
            np.add.at(moves, features, self.values[trees, below] - self.values[trees, nodes])
            nodes = below
        return moves

    def moved(self, positions: IntArray | None, size: int) -> dict[str, NDArray[typing.Any]]:
        if positions is None:
            return {}
        # A node that does not split may have any feature.
        return {"features": np.append(positions, 0)[np.minimum(self.features, len(positions))]}


@accelerated
def to_single(x: FloatArray) -> SingleArray:
    """Return features in single precision, the largest drawn in to what it can represent."""
    return np.minimum(np.maximum(x, -LARGEST), LARGEST).astype(np.float32)


def choose_edges(values: SingleArray, mass: FloatArray) -> SingleArray:
    """Return the edges between the bins of a feature, given some of its values.

    Value x is in bin k if k edges are less than x. Every bin has about the same mass, but a value
    with more than its share has a bin of its own. Unused edges are at `LARGEST`.
    """
    edges = np.full(N_EDGES, LARGEST, dtype=np.float32)
    known = ~np.isnan(values)
    distinct, places = np.unique(values[known], return_inverse=True)
    if not len(distinct):
        return edges
    has_missing = not known.all()
    room = N_EDGES - has_missing
    ends: IntArray = np.arange(len(distinct) - 1)
    if len(ends) > room:
        masses = np.bincount(places, mass[known])
        sums = np.cumsum(np.minimum(masses, masses.sum() / N_BINS))
        goals = np.arange(1, room + 1) * (sums[-1] / (room + 1))
        ends = np.unique(np.searchsorted(sums, goals))
        ends = ends[ends < len(distinct) - 1]
    edges[: len(ends)] = 0.5 * (distinct[ends].astype(float) + distinct[ends + 1])
    if has_missing:
        # Between all that is known and what is not.
        edges[len(ends)] = np.nextafter(np.float32(LARGEST), np.float32(0.0))
    return edges


@accelerated
def digitize(rows: SingleArray, edges: SingleArray) -> CodeArray:
    """Return the bin of each feature of each example."""
    codes = np.empty(rows.shape, dtype=np.uint8)
    for j, column in enumerate(rows.T):
        codes[:, j] = np.searchsorted(edges[j], column)
    codes[np.isnan(rows)] = MISSING
    return codes


@accelerated
def score_rows(
    features: IntArray,
    thresholds: SingleArray,
    missing_left: BoolArray,
    values: FloatArray,
    rows: SingleArray,
) -> FloatArray:
    """Return the sum over the trees of what each adds to the score of each example."""
    each, trees = np.arange(len(rows))[:, None], np.arange(len(values))
    nodes = np.zeros((len(rows), len(values)), dtype=np.int64)
    for _ in range(DEPTH):
        x = rows[each, features[trees, nodes]]
        right = (x > thresholds[trees, nodes]) | (np.isnan(x) & ~missing_left[trees, nodes])
        nodes = 2 * nodes + 1 + right
    # One after the other, so that trees that there is room for make no difference to rounding.
    sums = np.cumsum(np.append(np.zeros((len(rows), 1)), values[trees, nodes], axis=1), axis=1)
    scores: FloatArray = sums[:, -1]
    return scores


@accelerated
def grow(
    codes: CodeArray,
    edges: SingleArray,
    features: IntArray,
    g: FloatArray,
    h: FloatArray,
    min_gain: float,
) -> TreeArrays | None:
    """Return a tree whose leaves minimise a loss to second order, or None if nothing splits.

    Examples with the sums G and H of first and second derivatives lose G² / (H + 1) / 2 in the leaf
    -G / (H + 1). Each node makes the split after which they lose most, unknown values being on
    either side.

    Parameters
    ----------
    codes
        The bins of the examples.
    edges
        The edges of the bins.
    features
        The features that may split, in order.
    g, h
        First and second derivatives of the loss by the score of each example.
    min_gain
        What a split must gain.

    """
    each, nodes, codes = np.arange(len(g)), np.zeros(len(g), dtype=np.int64), codes[:, features]
    split_by = np.zeros((1, N_SPLITS), dtype=np.int64)
    thresholds = np.full((1, N_SPLITS), LARGEST, dtype=np.float32)
    missing_left = np.ones((1, N_SPLITS), dtype=bool)
    columns, bins = np.zeros(N_SPLITS, dtype=np.int64), np.full(N_SPLITS, MISSING)
    for depth in range(DEPTH):
        first, n_nodes = 2**depth - 1, 2**depth
        splits = [
            _best_split(*sums, min_gain)
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
                columns[node], bins[node], missing_left[0, node] = split
                split_by[0, node] = feature = features[columns[node]]
                thresholds[0, node] = edges[feature, bins[node]]
        code = codes[each, columns[nodes]]
        right = np.where(code == MISSING, ~missing_left[0, nodes], code > bins[nodes])
        nodes = 2 * nodes + 1 + right
    g_leaf = _sums(nodes - N_SPLITS, N_LEAVES, g)
    h_leaf = _sums(nodes - N_SPLITS, N_LEAVES, h)
    leaves = np.clip(-g_leaf / (h_leaf + LEAF_L2), -MAX_LEAF, MAX_LEAF)
    return split_by, thresholds, missing_left, _node_means(leaves, h_leaf)[None]


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
    g_bins: FloatArray, h_bins: FloatArray, g: float, h: float, min_gain: float
) -> tuple[int, int, bool] | None:
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
    if not best - g * g / (h + LEAF_L2) > min_gain:
        return None
    first = int(np.argmax(gains >= best * (1.0 - TIE)))
    column, edge, side = np.unravel_index(first, gains.shape)
    return int(column), int(edge), bool(side == 0)


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
