"""The latest rows of a stream, which several parts of the mixture keep."""

from __future__ import annotations

import typing

import numpy as np

from river_oauc.limits import MAX_NORM
from river_oauc.rankers.base import FloatArray, IntArray, reindexed
from river_oauc.rankers.samples import newest_of_both
from river_oauc.state import State, StateReader


class RecentRows:
    """The latest vectors of a stream, and a few numbers that came with each.

    NaN stands for an unknown number.

    Parameters
    ----------
    capacity
        The number of vectors to keep.
    size
        Length of the vectors.
    n_tags
        The number of further numbers per vector: none, its importance, or importance and label.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.rankers.mixture.arrays import RecentRows

    >>> recent = RecentRows(capacity=3, size=1)
    >>> for value in range(100):
    ...     recent.add(np.array([float(value)]))
    >>> recent.rows.ravel(), recent.oldest_first()[0].ravel()
    (array([99., 97., 98.]), array([97., 98., 99.]))

    """

    def __init__(self, capacity: int, size: int, n_tags: int = 0) -> None:
        self._capacity, self._n_tags = capacity, n_tags
        self._n_seen = 0
        # A ring: the next vector goes to row `_n_seen` modulo the capacity. Tags stand in front.
        self._rows: FloatArray = np.zeros((capacity, n_tags + size))

    def __len__(self) -> int:
        return min(self._n_seen, self._capacity)

    @property
    def rows(self) -> FloatArray:
        """The vectors, a row each, in no particular order; not a copy."""
        rows: FloatArray = self._rows[: self._n_seen, self._n_tags :]
        return rows

    def add(self, x: FloatArray, *tags: float) -> None:
        """Replace the oldest vector by a copy of `x`."""
        row = self._rows[self._n_seen % self._capacity]
        if tags:
            row[: self._n_tags] = tags
            row = row[self._n_tags :]
        row[:] = x
        self._n_seen += 1

    def clear(self) -> None:
        """Forget all vectors."""
        self._n_seen = 0

    def oldest_first(self) -> tuple[FloatArray, FloatArray]:
        """Return the vectors and their tags, a row each, the newest last."""
        ordered = self._ordered()
        return ordered[:, self._n_tags :], ordered[:, : self._n_tags]

    def _ordered(self) -> FloatArray:
        if self._n_seen <= self._capacity:
            ordered: FloatArray = self._rows[: self._n_seen].copy()
            return ordered
        return np.roll(self._rows, -(self._n_seen % self._capacity), axis=0)

    def merge(self, other: RecentRows) -> None:
        """Keep the newest vectors of both."""
        kept = newest_of_both(len(self), len(other), self._capacity)
        rows = np.zeros_like(self._rows)
        rows[: len(kept)] = np.vstack([self._ordered(), other._ordered()])[kept]
        self._rows, self._n_seen = rows, len(kept)

    def reindexed(self, positions: IntArray, size: int) -> RecentRows:
        """Return a copy in which feature i stands at `positions[i]`."""
        moved = RecentRows(self._capacity, size, self._n_tags)
        moved._n_seen = self._n_seen
        moved._rows[:, : self._n_tags] = self._rows[:, : self._n_tags]
        moved._rows[:, self._n_tags :] = reindexed(self._rows[:, self._n_tags :], positions, size)
        return moved

    def get_state(self) -> State:
        """Return a copy of the state."""
        return {"n_seen": self._n_seen, "rows": self._rows[: self._n_seen].copy()}

    @classmethod
    def from_state(
        cls, reader: StateReader, capacity: int, size: int, n_tags: int = 0
    ) -> typing.Self:
        """Return the rows with this state."""
        recent = cls(capacity, size, n_tags)
        recent._n_seen = reader.count("n_seen")
        rows = reader.array("rows", len(recent), n_tags + size, nan_allowed=True)
        importance, labels = rows[:, : min(n_tags, 1)], rows[:, 1:n_tags]
        is_weight = (importance >= 1.0 / MAX_NORM) & (importance <= MAX_NORM)
        if not (is_weight.all() and np.isin(labels, (0.0, 1.0)).all()):
            raise reader.error("rows has an importance that is no weight, or a label but 0 and 1")
        recent._rows[: len(recent)] = rows
        reader.finish()
        return recent
