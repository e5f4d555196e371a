"""Many settings of one learner, trained side by side in one pass."""

from __future__ import annotations

import abc

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.blas import ddot, dger

from benchmarks.arrays import BoolArray, FloatArray

__all__ = ["LARGEST_NORM", "LinearStack", "Stack", "freeze_diverged"]

# Weights with a larger norm have diverged. On features of about 1, the largest weights that ranked
# well were a thousand times smaller.
LARGEST_NORM = 1e8


class Stack(abc.ABC):
    """G settings of one learner.

    A setting whose weights exceed `LARGEST_NORM` has diverged. Its weights are set to zero and stay
    there, so that all its scores are equal and its AUC is 1/2.

    Attributes
    ----------
    diverged
        Which settings have diverged.

    """

    diverged: BoolArray

    @abc.abstractmethod
    def learn(self, x: FloatArray, positive: bool) -> None:
        """Update every setting with one example."""

    @abc.abstractmethod
    def scores(self, matrix: FloatArray) -> FloatArray:
        """Score the n rows of a matrix: a G × n array with a row per setting."""


class LinearStack(Stack):
    """G settings of one linear learner.

    Parameters
    ----------
    size
        Number p of features.
    rates
        The factor that the step of each setting is proportional to.

    Attributes
    ----------
    weights
        A p × G array in column-major order, with a column per setting.

    """

    def __init__(self, size: int, rates: ArrayLike) -> None:
        # A copy: the rate of a setting that has diverged becomes 0.
        self._rates: FloatArray = np.array(rates, dtype=float)
        n_settings = len(self._rates)
        self.weights: FloatArray = np.zeros((size, n_settings), order="F")
        # The same memory, with a row per setting.
        self._rows: FloatArray = self.weights.T
        self.diverged = np.zeros(n_settings, dtype=bool)

    def learn(self, x: FloatArray, positive: bool) -> None:
        self._step(x, 1.0 if positive else -1.0)
        self.diverged |= freeze_diverged(self._rows, self._rates)

    def scores(self, matrix: FloatArray) -> FloatArray:
        return self._rows @ matrix.T

    @abc.abstractmethod
    def _step(self, x: FloatArray, y: float) -> None:
        """Update the weights with an example of class `y`, 1 or -1."""

    def _add(self, x: FloatArray, factors: FloatArray) -> None:
        """Add to the weights of each setting its own multiple of `x`, in place."""
        # alpha, x, y, incx, incy, a, overwrite_x, overwrite_y, overwrite_a: a += alpha x yᵀ.
        dger(1.0, x, factors, 1, 1, self.weights, 1, 1, 1)


def freeze_diverged(rows: FloatArray, rates: FloatArray) -> BoolArray:
    """Set the weights and the rates of the settings that have diverged to zero.

    Parameters
    ----------
    rows
        The weights or coefficients, a row per setting, contiguous in either order.
    rates
        The factor that the step of each setting is proportional to.

    Returns
    -------
    Which settings have diverged.

    """
    flat = rows.ravel(order="K")
    # The norm of all rows together is an upper bound, and much cheaper.
    if ddot(flat, flat) <= LARGEST_NORM**2:
        return np.zeros(len(rows), dtype=bool)
    # NaN has diverged, too.
    diverged: BoolArray = ~(np.einsum("gj,gj->g", rows, rows) <= LARGEST_NORM**2)
    rows[diverged] = 0.0
    rates[diverged] = 0.0
    return diverged
