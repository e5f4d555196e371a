"""The most similar stored vectors of each of many models.

The rules are those of the kernel learners: similarities that differ by a relative 1e-9 at most are
ties, and of tied vectors the oldest is taken.
"""

from __future__ import annotations

import numpy as np

from benchmarks.arrays import BoolArray, FloatArray, IndexArray

__all__ = ["k_nearest_by_row", "nearest_by_row"]

# Equal similarities may differ by rounding.
_TIE = 1e-9
_NEVER = np.iinfo(np.intp).max


def nearest_by_row(similarities: FloatArray, arrival: IndexArray) -> IndexArray:
    """Find the column of the largest similarity in each row."""
    largest = similarities.max(axis=1, keepdims=True)
    is_tied = similarities >= largest - _TIE * np.abs(largest)
    oldest: IndexArray = np.where(is_tied, arrival, _NEVER).argmin(axis=1)
    return oldest


def k_nearest_by_row(
    similarities: FloatArray, arrival: IndexArray, among: BoolArray, k: int
) -> BoolArray:
    """Mark the k largest similarities of each row `among` more than k candidates."""
    similarities = np.where(among, similarities, -1.0)
    last = np.partition(similarities, -k, axis=1)[:, [-k]]
    margin = _TIE * last
    is_larger = similarities > last + margin
    is_tied = (similarities >= last - margin) & ~is_larger
    # The oldest of the tied vectors fill the remaining places.
    oldest = np.sort(np.where(is_tied, arrival, _NEVER), axis=1)
    n_left = k - is_larger.sum(axis=1, keepdims=True)
    return is_larger | (is_tied & (arrival <= np.take_along_axis(oldest, n_left - 1, axis=1)))
