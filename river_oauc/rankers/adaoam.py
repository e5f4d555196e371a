"""The baseline with a step of its own for each feature: AdaOAM."""

from __future__ import annotations

import math
import typing

import numpy as np

from river_oauc.limits import MAX_COEFFICIENT, MAX_SQUARED_NORM, divergence_error
from river_oauc.rankers.base import FloatArray
from river_oauc.rankers.linear import LinearRanker
from river_oauc.state import State, StateReader

# Added to the root of the squared gradients, so that it is never 0.
DELTA = 1e-8

# No squared gradient may be larger than this.
_MAX_SQUARES = MAX_COEFFICIENT**2


class AdaOAMRanker(LinearRanker):
    """AdaGrad on the squared loss of OAUC-S, within a ball of radius 1 / √λ.

    Parameters
    ----------
    l2
        Strength λ of the regulariser.
    lr
        Step size η.

    Attributes
    ----------
    squares
        The sum of the squared gradients of each weight.

    """

    _VECTORS = ("weights", "squares")

    lr: float

    def __init__(self, l2: float, lr: float) -> None:
        super().__init__("psi_s", l2, lr)
        self.squares: FloatArray = np.zeros(1)

    def _step(self, vectors: FloatArray, pull: float, spread: float, t: int) -> FloatArray:
        coefficients = (self.l2, -pull, spread)
        if not sum(map(abs, coefficients)) <= MAX_COEFFICIENT:
            raise divergence_error()
        gradient: FloatArray = np.dot(coefficients, vectors)
        # Unlike `dot` and products, `vdot` does not warn of an overflow.
        if not float(np.vdot(gradient, gradient)) <= _MAX_SQUARES:
            raise divergence_error("squared gradients", _MAX_SQUARES)
        squares = self.squares + gradient * gradient
        # No weight moves by more than η.
        w: FloatArray = vectors[0] - self.lr * (gradient / (DELTA + np.sqrt(squares)))
        squared_norm = float(np.vdot(w, w))
        if not squared_norm <= MAX_SQUARED_NORM:
            raise divergence_error()
        if self.l2 * squared_norm > 1.0:
            w = w / math.sqrt(self.l2 * squared_norm)
        self.squares = squares
        return w

    def merge(self, other: typing.Self) -> None:
        """Add moments and squared gradients, and average the weights."""
        self.squares = self.squares + other.squares
        super().merge(other)

    def _make_up_for(self, n_steps: float) -> None:
        """Do nothing: the steps have become small where there were many."""

    def get_state(self) -> State:
        return {**super().get_state(), "squares": self.squares.copy()}

    def set_state(self, reader: StateReader) -> None:
        # With some room for merging.
        squares = reader.array("squares", None, minimum=0.0, maximum=1e6 * _MAX_SQUARES)
        super().set_state(reader)
        if len(squares) != len(self.weights):
            raise reader.error(f"squares has {len(squares)} numbers, not {len(self.weights)}")
        self.squares = squares
