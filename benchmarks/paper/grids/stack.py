"""Many settings of one learner, learning side by side in one pass."""

from __future__ import annotations

import abc

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.blas import ddot, dger

from river_oauc.inputs.arrays import FloatArray

__all__ = ["LARGEST_NORM", "LinearStack", "Mask", "Stack", "freeze_diverged"]

# Weights longer than this have diverged. The largest weights that ever ranked well, on features
# of about 1, were a thousand times shorter.
LARGEST_NORM = 1e8

Mask = NDArray[np.bool_]


class Stack(abc.ABC):
    """G settings of one learner.

    Weights that grow beyond `LARGEST_NORM` have diverged: they are set to zero and never move
    again, so that the setting gives one score to everything and has an AUC of one half.

    Attributes
    ----------
    diverged
        Which of the settings have diverged.

    """

    diverged: Mask

    @abc.abstractmethod
    def learn(self, x: FloatArray, positive: bool) -> None:
        """Let every setting learn from one example."""

    @abc.abstractmethod
    def scores(self, matrix: FloatArray) -> FloatArray:
        """The scores of the rows of a matrix: a G × n array with a row per setting."""


class LinearStack(Stack):
    """G settings of one linear learner.

    Parameters
    ----------
    size
        Number p of features.
    rates
        What a step of each setting is proportional to.

    Attributes
    ----------
    weights
        The weights of each setting: a p × G array with a column per setting, in column-major
        order.

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
        self._move(x, 1.0 if positive else -1.0)
        diverged = freeze_diverged(self._rows, self._rates)
        if diverged is not None:
            self.diverged |= diverged

    def scores(self, matrix: FloatArray) -> FloatArray:
        return self._rows @ matrix.T

    @abc.abstractmethod
    def _move(self, x: FloatArray, sign: float) -> None:
        """Change the weights for an example of the class of this sign."""

    def _add(self, x: FloatArray, factors: FloatArray) -> None:
        """Add to the weights of each setting its own multiple of `x`."""
        # alpha, x, y, incx, incy, a, and whether x, y and a are overwritten: a += alpha x yᵀ.
        dger(1.0, x, factors, 1, 1, self.weights, 1, 1, 1)


def freeze_diverged(rows: FloatArray, rates: FloatArray) -> Mask | None:
    """Set the weights and the rates of the settings that have diverged to zero.

    Parameters
    ----------
    rows
        The weights or coefficients, a row per setting. They lie in memory without gaps, in
        whatever order.
    rates
        What a step of each setting is proportional to.

    Returns
    -------
    Which settings have diverged; None if none has.

    """
    flat = rows.ravel(order="K")
    # The norm of all of them is an upper bound, at a small part of the price.
    if ddot(flat, flat) <= LARGEST_NORM**2:
        return None
    diverged: Mask = ~(np.einsum("gj,gj->g", rows, rows) <= LARGEST_NORM**2)
    rows[diverged] = 0.0
    rates[diverged] = 0.0
    return diverged
