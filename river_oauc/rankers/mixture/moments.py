"""Class moments that may forget, with rank-one terms added in batches."""

from __future__ import annotations

import math
import typing
from collections.abc import Sequence

import numpy as np

from river_oauc.acceleration import accelerated
from river_oauc.rankers.mixture.constants import BATCH_SIZE
from river_oauc.state import FloatArray, Stateful, damage


class ForgettingMoments(Stateful):
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
    scatter
        The scatter matrix as it was before the vectors whose terms wait.
    waiting, n_waiting
        Rows of which the first ones wait, and their number.

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

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "n": float, "mean": (float, "p"), "scatter": (float, "p", "p"),
        "waiting": (float, BATCH_SIZE, "p"), "n_waiting": int,
    }  # fmt: skip

    def __init__(self, size: int, memory: float = math.inf) -> None:
        self.memory = memory
        self.n = 0.0
        self.mean: FloatArray = np.zeros(size)
        self.scatter: FloatArray = np.zeros((size, size))
        self.waiting: FloatArray = np.zeros((BATCH_SIZE, size))
        self.n_waiting = 0

    @classmethod
    def of(cls, rows: FloatArray, weights: FloatArray) -> typing.Self:
        """Return the moments of the rows of a matrix, of which none is forgotten."""
        moments = cls(rows.shape[1])
        moments.n = float(weights.sum())
        moments.mean = weights @ rows / moments.n
        deviations = (rows - moments.mean) * np.sqrt(weights)[:, None]
        moments.scatter = deviations.T @ deviations
        return moments

    @property
    def _kept(self) -> float:
        return 1.0 - 1.0 / self.memory

    def update(self, x: FloatArray, w: float) -> None:
        """Add the vector `x` with weight `w` > 0."""
        if self.n_waiting == BATCH_SIZE:
            self.settle()
        n_before, n_waiting = self.n * self._kept, self.n_waiting
        mean = add_vector(x, w, n_before, self.mean, self.waiting, n_waiting)
        self.n, self.mean, self.n_waiting = n_before + w, mean, n_waiting + 1

    def settle(self) -> FloatArray:
        """Return the scatter matrix, after adding the terms that wait; not a copy."""
        if self.n_waiting:
            self.scatter, self.n_waiting = self._current_scatter(), 0
        return self.scatter

    def _current_scatter(self) -> FloatArray:
        return add_products(self.scatter, self.waiting, self.n_waiting, self._kept)

    def covariance(self) -> FloatArray:
        """Return the covariance matrix, divided by `n` and not by `n - 1`."""
        return self.settle() / (self.n or 1.0)

    def transform(self, scale: FloatArray, shift: FloatArray) -> None:
        """Become the moments of the vectors `scale` · x + `shift`."""
        self.mean = scale * self.mean + shift
        self.scatter = self.scatter * (scale[:, None] * scale)
        self.waiting = self.waiting * scale

    def merge(self, other: ForgettingMoments) -> None:
        """Add what the moments of another part of the stream remember."""
        if other.n:
            n = self.n + other.n
            gap = other.mean - self.mean
            between = math.sqrt(other.n * (self.n / n)) * gap
            scatter = self._current_scatter() + other._current_scatter()
            self.scatter, self.n_waiting = scatter + between[:, None] * between, 0
            self.n, self.mean = n, self.mean + gap * (other.n / n)

    def check_state(self) -> None:
        if self.n < 0.0 or not 0 <= self.n_waiting <= BATCH_SIZE:
            raise damage(f"n is {self.n}, and {self.n_waiting} terms wait")


# The moments of the negatives and of the positives.
ClassPair = Sequence[ForgettingMoments]


@accelerated
def add_vector(
    x: FloatArray,
    w: float,
    n_before: float,
    mean: FloatArray,
    waiting: FloatArray,
    n_waiting: int,
) -> FloatArray:
    """Return the mean with one more vector, and write its rank-one term to row `n_waiting`.

    By Welford's recursion the scatter matrix gains w · n_before / n · deviation deviationᵀ.
    """
    n = n_before + w
    deviation = x - mean
    waiting[n_waiting] = math.sqrt(w * (n_before / n)) * deviation
    new: FloatArray = mean + (w / n) * deviation
    return new


@accelerated
def add_products(matrix: FloatArray, rows: FloatArray, n: int, kept: float) -> FloatArray:
    """Return a symmetric matrix plus row rowᵀ for each of the first n rows.

    With each row, the matrix and all earlier terms shrink to the share `kept`.
    """
    rows = rows[:n] * np.sqrt(kept ** np.arange(n - 1, -1, -1))[:, None]
    total: FloatArray = kept**n * matrix + rows.T @ rows
    return total
