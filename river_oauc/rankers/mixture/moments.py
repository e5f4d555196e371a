"""Class moments that may forget, with rank-one terms added in batches."""

from __future__ import annotations

import math
import typing

import numpy as np

from river_oauc.rankers.base import FloatArray, IntArray, reindexed
from river_oauc.rankers.mixture.constants import BATCH_SIZE
from river_oauc.state import State, StateReader, pack_symmetric


class ForgettingMoments:
    """Weighted count, mean and covariance of a stream of vectors, older ones counting less.

    With every vector, the weights of all earlier ones shrink by one part in `memory`, so that about
    `memory` vectors count.

    The rank-one terms of the scatter matrix wait until there are 32 of them, or until the
    covariance is needed, and are then added in one product. For hundreds of features that takes a
    fraction of the time, if the covariance is needed now and then only.

    Memory is p² + 33 p doubles for p features.

    Parameters
    ----------
    size
        Length p of the vectors.
    memory
        The number of vectors that count, about; above 1. With `math.inf` nothing is forgotten.

    Attributes
    ----------
    n
        Total weight of the vectors: `memory` at most, if all weights are 1.
    mean
        Their mean; zeros before the first one.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.rankers.mixture.moments import ForgettingMoments

    >>> moments = ForgettingMoments(size=1, memory=2.0)
    >>> for x in ([0.0], [0.0], [3.0], [3.0]):
    ...     moments.update(np.array(x), 1.0)
    >>> moments.n, moments.mean, moments.covariance()
    (1.875, array([2.4]), array([[1.44]]))

    """

    def __init__(self, size: int, memory: float = math.inf) -> None:
        self.memory = memory
        self.n = 0.0
        self.mean: FloatArray = np.zeros(size)
        # The scatter matrix as it was before the vectors whose terms wait.
        self._scatter: FloatArray = np.zeros((size, size))
        self._waiting: FloatArray = np.zeros((BATCH_SIZE, size))
        self._n_waiting = 0

    @classmethod
    def of(cls, rows: FloatArray, weights: FloatArray) -> typing.Self:
        """Return the moments of the rows of a matrix, of which none is forgotten."""
        moments = cls(rows.shape[1])
        moments.n = float(weights.sum())
        moments.mean = weights @ rows / moments.n
        deviations = (rows - moments.mean) * np.sqrt(weights)[:, None]
        moments._scatter = deviations.T @ deviations
        return moments

    @property
    def _kept(self) -> float:
        return 1.0 - 1.0 / self.memory

    def update(self, x: FloatArray, w: float) -> None:
        """Add the vector `x` with weight `w` > 0."""
        if self._n_waiting == BATCH_SIZE:
            self._add_waiting()
        n_before = self.n * self._kept
        n = n_before + w
        deviation = x - self.mean
        mean = self.mean + (w / n) * deviation
        # Welford's recursion: the scatter matrix gains w · n_before / n · deviation deviationᵀ.
        self._waiting[self._n_waiting] = math.sqrt(w * (n_before / n)) * deviation
        self.n, self.mean, self._n_waiting = n, mean, self._n_waiting + 1

    def _add_waiting(self) -> None:
        if self._n_waiting:
            self._scatter, self._n_waiting = self._current_scatter(), 0

    def _current_scatter(self) -> FloatArray:
        n, kept = self._n_waiting, self._kept
        rows = self._waiting[:n]
        if kept == 1.0:
            return self._scatter + rows.T @ rows
        # The last term is as new as the last vector.
        rows = rows * np.sqrt(kept ** np.arange(n - 1, -1, -1))[:, None]
        scatter: FloatArray = kept**n * self._scatter + rows.T @ rows
        return scatter

    def covariance(self) -> FloatArray:
        """Return the covariance matrix, divided by `n` and not by `n - 1`."""
        self._add_waiting()
        return self._scatter / (self.n or 1.0)

    def transform(self, scale: FloatArray, shift: FloatArray) -> None:
        """Become the moments of the vectors `scale` · x + `shift`."""
        self.mean = scale * self.mean + shift
        self._scatter = self._scatter * (scale[:, None] * scale)
        self._waiting = self._waiting * scale

    def merge(self, other: ForgettingMoments) -> None:
        """Add what the moments of another part of the stream remember."""
        if other.n:
            n = self.n + other.n
            gap = other.mean - self.mean
            between = math.sqrt(other.n * (self.n / n)) * gap
            scatter = self._current_scatter() + other._current_scatter()
            self._scatter, self._n_waiting = scatter + between[:, None] * between, 0
            self.n, self.mean = n, self.mean + gap * (other.n / n)

    def reindexed(self, positions: IntArray, size: int) -> ForgettingMoments:
        """Return a copy in which feature i stands at `positions[i]`, and others have been 0."""
        moved = ForgettingMoments(size, self.memory)
        moved.n = self.n
        moved.mean = reindexed(self.mean, positions, size)
        moved._scatter = reindexed(reindexed(self._scatter, positions, size).T, positions, size)
        moved._waiting = reindexed(self._waiting, positions, size)
        moved._n_waiting = self._n_waiting
        return moved

    def get_state(self) -> State:
        """Return a copy of the state."""
        waiting = self._waiting.copy()
        waiting[self._n_waiting :] = 0.0
        return {
            "n": self.n,
            "mean": self.mean.copy(),
            "scatter": pack_symmetric(self._scatter),
            "n_waiting": self._n_waiting,
            "waiting": waiting,
        }

    @classmethod
    def from_state(cls, reader: StateReader, size: int, memory: float = math.inf) -> typing.Self:
        """Return the moments with this state."""
        moments = cls(size, memory)
        moments.n = reader.number("n", minimum=0.0)
        moments.mean = reader.array("mean", size)
        moments._scatter = reader.symmetric("scatter", size)
        moments._n_waiting = reader.count("n_waiting", maximum=BATCH_SIZE)
        moments._waiting = reader.array("waiting", BATCH_SIZE, size)
        reader.finish()
        return moments


# The moments of the negatives and of the positives.
ClassPair = tuple[ForgettingMoments, ForgettingMoments]
