"""The latest examples of a class."""

from __future__ import annotations

import numpy as np

from river_oauc.limits import MAX_NORM
from river_oauc.rankers.base import FloatArray, IntArray, reindexed
from river_oauc.rankers.samples import newest_of_both
from river_oauc.state import SingleArray, State, StateReader

# No score is larger.
_MAX_SCORE = 1e4


class ClassBuffer:
    """The latest examples of a class, with their importance weights and their present scores.

    Parameters
    ----------
    limit
        The largest number of examples.
    rows, weights, scores
        The examples, oldest first.
    total
        The weight of all examples so far.

    """

    def __init__(
        self,
        limit: int,
        rows: SingleArray,
        weights: FloatArray,
        scores: FloatArray,
        total: float = 0.0,
    ) -> None:
        self.limit = limit
        # The arrays have room at their end. The examples are in rows start to stop.
        self._arrays = rows, weights, scores
        self._window = 0, len(rows)
        self.total = total

    @classmethod
    def empty(cls, limit: int, n_features: int) -> ClassBuffer:
        """Return a buffer without examples."""
        return cls(limit, np.zeros((0, n_features), np.float32), np.zeros(0), np.zeros(0))

    def __len__(self) -> int:
        start, stop = self._window
        return stop - start

    @property
    def rows(self) -> SingleArray:
        return self._arrays[0][slice(*self._window)]

    @property
    def weights(self) -> FloatArray:
        return self._arrays[1][slice(*self._window)]

    @property
    def scores(self) -> FloatArray:
        return self._arrays[2][slice(*self._window)]

    def add(self, x: SingleArray, weight: float, score: float) -> None:
        """Add an example; the oldest goes if there are too many."""
        if self._window[1] == len(self._arrays[0]):
            self._make_room()
        start, stop = self._window
        rows, weights, scores = self._arrays
        rows[stop], weights[stop], scores[stop] = x, weight, score
        start += stop - start == self.limit
        self._window, self.total = (start, stop + 1), self.total + weight

    def _make_room(self) -> None:
        n = len(self)
        room = n + max(16, n // 4)
        rows = np.zeros((room, self.rows.shape[1]), np.float32)
        weights, scores = np.zeros(room), np.zeros(room)
        rows[:n], weights[:n], scores[:n] = self.rows, self.weights, self.scores
        self._arrays, self._window = (rows, weights, scores), (0, n)

    def with_scores(self, scores: FloatArray) -> ClassBuffer:
        """Return the same examples with other scores."""
        return ClassBuffer(self.limit, self.rows, self.weights, scores, self.total)

    def reindexed(self, positions: IntArray, n_features: int) -> ClassBuffer:
        """Return the same examples with feature i at `positions[i]`, and zeros elsewhere."""
        rows = reindexed(self.rows, positions, n_features)
        return ClassBuffer(self.limit, rows, self.weights, self.scores, self.total)

    def merged(self, other: ClassBuffer) -> ClassBuffer:
        """Return the newest examples of both."""
        kept = newest_of_both(len(self), len(other), self.limit)
        return ClassBuffer(
            self.limit,
            np.concatenate((self.rows, other.rows))[kept],
            np.concatenate((self.weights, other.weights))[kept],
            np.concatenate((self.scores, other.scores))[kept],
            self.total + other.total,
        )

    def get_state(self) -> State:
        """Return a copy of the state."""
        return {
            "rows": self.rows.copy(),
            "weights": self.weights.copy(),
            "scores": self.scores.copy(),
            "total": self.total,
        }

    @classmethod
    def from_state(cls, reader: StateReader, limit: int, n_features: int) -> ClassBuffer:
        """Return the buffer with this state."""
        rows = reader.singles("rows", None, n_features, nan_allowed=True)
        n = len(rows)
        buffer = cls(
            limit,
            rows,
            reader.array("weights", n, minimum=1.0 / MAX_NORM, maximum=MAX_NORM),
            reader.array("scores", n, minimum=-_MAX_SCORE, maximum=_MAX_SCORE),
            reader.total_weight("total"),
        )
        if n > limit or bool(n) != bool(buffer.total):
            raise reader.error(f"it has {n} examples, {limit} at most, of weight {buffer.total:g}")
        reader.finish()
        return buffer
