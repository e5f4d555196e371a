"""The most similar of each row, as `kernel.support` finds those of one model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.paper.grids.stack import Mask
from river_oauc.inputs.arrays import FloatArray
from river_oauc.kernel.support import TIE

__all__ = ["k_nearest_by_row", "nearest_by_row"]

IndexArray = NDArray[np.intp]

_NEVER = np.iinfo(np.intp).max


def nearest_by_row(similarities: FloatArray, arrival: IndexArray) -> IndexArray:
    """`support.nearest` of each row."""
    largest = similarities.max(axis=1, keepdims=True)
    is_tied = similarities >= largest - TIE * np.abs(largest)
    first: IndexArray = np.where(is_tied, arrival, _NEVER).argmin(axis=1)
    return first


def k_nearest_by_row(similarities: FloatArray, arrival: IndexArray, among: Mask, k: int) -> Mask:
    """`support.k_nearest` of each row, among more than k places."""
    similarities = np.where(among, similarities, -1.0)
    last = np.partition(similarities, -k, axis=1)[:, [-k]]
    margin = TIE * last
    surely = similarities > last + margin
    is_tied = (similarities >= last - margin) & ~surely
    # The oldest of the tied fill up what is left.
    oldest = np.sort(np.where(is_tied, arrival, _NEVER), axis=1)
    n_left = k - surely.sum(axis=1, keepdims=True)
    return surely | (is_tied & (arrival <= np.take_along_axis(oldest, n_left - 1, axis=1)))
