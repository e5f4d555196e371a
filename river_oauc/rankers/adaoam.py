"""The baseline with a step of its own for each feature: AdaOAM."""

from __future__ import annotations

import math
import typing

import numpy as np

from river_oauc.limits import MAX_COEFFICIENT, check_norm
from river_oauc.rankers.linear import LinearRanker
from river_oauc.rankers.moments import covariance, update_moments
from river_oauc.state import FloatArray

# Added to the root of the squared gradients, so that it is never 0.
DELTA = 1e-8


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

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        **LinearRanker.FIELDS, "squares": (float, "p")
    }  # fmt: skip

    lr: float

    def __init__(self, l2: float, lr: float) -> None:
        super().__init__("psi_s", l2, lr)
        self.squares: FloatArray = np.zeros(1)

    def _step(self, x: FloatArray, positive: bool, weight: float) -> None:
        w, opposite, y = self.weights, int(not positive), 1.0 if positive else -1.0
        if self.n[opposite]:
            d = y * (x - self.mean[opposite])
            cov_w = covariance(self.n, self.scatter, opposite) @ w
            with np.errstate(over="ignore", invalid="ignore"):
                gradient = self.l2 * w + weight * (cov_w - (1.0 - float(w @ d)) * d)
            check_norm(gradient, "gradients", MAX_COEFFICIENT)
            squares = self.squares + gradient * gradient
            # No weight moves by more than η.
            moved = w - self.lr * (gradient / (DELTA + np.sqrt(squares)))
            check_norm(moved)
            # All that can be refused is above this line.
            self.variance[opposite] = max(float(w @ cov_w), 0.0)
            norm_in_radii = math.sqrt(self.l2 * float(moved @ moved))
            self.weights, self.squares = moved / max(norm_in_radii, 1.0), squares
        update_moments(self.n, self.mean, self.scatter, int(positive), x, weight)

    def merge(self, other: typing.Self) -> None:
        """Add moments and squared gradients, and average the weights."""
        self.squares = self.squares + other.squares
        super().merge(other)

    def _steps_are_constant(self) -> bool:
        return False
