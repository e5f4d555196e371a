"""The linear experts that take one step per example: Newton, tracking and pairwise.

Each has a vector of weights over φ = (1, z): minus the bias, and the standardised features. A
step has a size c with which both classes pull alike: twice the share of the other class.
"""

from __future__ import annotations

import math
import typing

import numpy as np

from river_oauc.acceleration import accelerated
from river_oauc.limits import MAX_NORM
from river_oauc.rankers.base import FloatArray, IntArray, reindexed
from river_oauc.rankers.losses import sigmoid
from river_oauc.rankers.mixture.constants import (
    BATCH_SIZE,
    EIGENVALUE_PRECISION,
    NEWTON_BIAS_PRECISION,
    NEWTON_PRECISION,
    PAIRWISE_RATE,
    TRACKING_RATE,
)
from river_oauc.rankers.mixture.moments import read_waiting
from river_oauc.state import State, StateReader, pack_symmetric


class Newton:
    """Logistic regression as a Gaussian posterior, with one implicit step per example.

    The step is the exact minimiser of the example's logistic loss plus the distance from the old
    weights in the metric of the posterior. So an outlier pulls no more than it has to, and there is
    no step size. It costs O(p²) time and memory for p features.

    Parameters
    ----------
    size
        Number p of features.

    Attributes
    ----------
    weights
        Minus the bias, and the weights of the features.

    """

    def __init__(self, size: int) -> None:
        self.weights: FloatArray = np.zeros(1 + size)
        # The covariance of the posterior, before rank-one terms that wait to be subtracted.
        self._covariance: FloatArray = np.diag(1.0 / _prior_precision(size))
        self._waiting: FloatArray = np.zeros((BATCH_SIZE, 1 + size))
        self._n_waiting = 0

    def step(self, phi: FloatArray, sign: float, c: float) -> None:
        """Learn from an example."""
        if self._n_waiting == BATCH_SIZE:
            self._covariance, self._n_waiting = self.covariance(), 0
        weights = newton_step(
            self.weights, phi, sign, c, self._covariance, self._waiting, self._n_waiting
        )
        self.weights, self._n_waiting = weights, self._n_waiting + 1

    def covariance(self) -> FloatArray:
        """Return the covariance of the posterior."""
        waiting = self._waiting[: self._n_waiting]
        covariance: FloatArray = self._covariance - waiting.T @ waiting
        return covariance

    def information(self, scale: FloatArray, shift: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what the examples have added to the precision, and to the precision · weights.

        It is what they would have added, had the features been `scale` · z + `shift`.
        """
        variances, axes = np.linalg.eigh(self.covariance())
        # Rounding may leave a variance next to 0 a little below it.
        variances = np.maximum(variances, EIGENVALUE_PRECISION * variances[-1])
        precision = (axes / variances) @ axes.T
        vector = precision @ self.weights
        precision -= np.diag(_prior_precision(len(scale)))
        # The new φ = (1, z) is this matrix times the old one.
        change = np.diag(np.append(1.0, scale))
        change[1:, 0] = shift
        return change @ precision @ change.T, change @ vector

    def set_information(self, gained: FloatArray, vector: FloatArray) -> None:
        """Become the posterior after examples that have added this to the prior."""
        precision = gained + np.diag(_prior_precision(len(vector) - 1))
        covariance = np.linalg.inv(precision)
        covariance = 0.5 * (covariance + covariance.T)
        self._covariance, self._n_waiting = covariance, 0
        self.weights = covariance @ vector

    def reindexed(self, positions: IntArray, size: int) -> Newton:
        """Return a copy in which feature i stands at `positions[i]`, others as the prior has it."""
        moved, shifted = Newton(size), with_bias(positions)
        moved.weights = reindexed(self.weights, shifted, 1 + size)
        old = self.covariance()
        covariance = reindexed(reindexed(old, shifted, 1 + size).T, shifted, 1 + size)
        variances = reindexed(old.diagonal(), shifted, 1 + size, 1.0 / NEWTON_PRECISION)
        np.fill_diagonal(covariance, variances)
        moved._covariance = covariance
        return moved

    def get_state(self) -> State:
        """Return a copy of the state."""
        return {
            "weights": self.weights.copy(),
            "covariance": pack_symmetric(self._covariance),
            "waiting": self._waiting[: self._n_waiting].copy(),
        }

    @classmethod
    def from_state(cls, reader: StateReader, size: int) -> typing.Self:
        """Return the expert with this state."""
        newton = cls(size)
        newton.weights = reader.array("weights", 1 + size)
        newton._covariance = reader.symmetric(
            "covariance", 1 + size, minimum=-MAX_NORM, maximum=MAX_NORM
        )
        newton._n_waiting = read_waiting(reader, newton._waiting)
        covariance = newton.covariance()
        # No variance is negative, but for rounding; steps would make it grow without bounds.
        rounding = 1e-6 * max(1.0, covariance.diagonal().max())
        try:
            np.linalg.cholesky(covariance + rounding * np.eye(1 + size))
        except np.linalg.LinAlgError:
            raise reader.error("covariance has a negative eigenvalue") from None
        reader.finish()
        return newton


def _prior_precision(size: int) -> FloatArray:
    return np.append(NEWTON_BIAS_PRECISION, np.full(size, NEWTON_PRECISION))


def with_bias(positions: IntArray) -> IntArray:
    """Return positions of features in a vector that has the bias in front."""
    return np.append(0, positions + 1)


def transform_weights(weights: FloatArray, scale: FloatArray, shift: FloatArray) -> FloatArray:
    """Return the weights of the same score over the features `scale` · z + `shift`.

    Minus the bias stands in front.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.rankers.mixture.steps import transform_weights
    >>> transform_weights(np.array([1.0, 6.0]), np.array([2.0]), np.array([1.0]))
    array([-2.,  3.])

    """
    slopes = weights[1:] / scale
    return np.append(weights[0] - slopes @ shift, slopes)


@accelerated
def newton_step(
    weights: FloatArray,
    phi: FloatArray,
    sign: float,
    c: float,
    covariance: FloatArray,
    waiting: FloatArray,
    n_waiting: int,
) -> FloatArray:
    """Return the weights after an implicit step.

    The covariance is the given one less row rowᵀ for each of the first rows that wait. The row of
    this step is written behind them.
    """
    rows = waiting[:n_waiting]
    direction = covariance @ phi - (rows @ phi) @ rows
    # A smaller variance would be a rounding error.
    spread = max(float(phi @ direction), EIGENVALUE_PRECISION * float(phi @ phi))
    margin = implicit_margin(sign * float(phi @ weights), c * spread)
    error = sigmoid(-margin)
    curvature = c * error * (1.0 - error)
    waiting[n_waiting] = math.sqrt(curvature / (1.0 + curvature * spread)) * direction
    new: FloatArray = weights + (sign * c * error) * direction
    return new


def implicit_margin(margin: float, pull: float) -> float:
    """Return the root e of e = margin + pull · sigmoid(-e): the margin after an implicit step.

    Examples
    --------
    >>> from river_oauc.rankers.mixture.steps import implicit_margin
    >>> implicit_margin(0.0, 2.0)
    0.675
    >>> implicit_margin(-1e6, 1.0)
    -999999.0

    """
    low, high = margin, margin + pull
    root = margin + pull * sigmoid(-margin) / (1.0 + 0.25 * pull)
    for _ in range(100):
        error = sigmoid(-root)
        rest = root - margin - pull * error
        if rest > 0.0:
            high = root
        else:
            low = root
        # Newton's method, kept in its bracket.
        new = root - rest / (1.0 + pull * error * (1.0 - error))
        if not low <= new <= high:
            new = 0.5 * (low + high)
        if abs(new - root) <= 1e-14 * (1.0 + abs(root)):
            return new
        root = new
    return root


@accelerated
def scale_logits(weights: FloatArray, negative: FloatArray, positive: FloatArray) -> FloatArray:
    """Return the weights of logits on the scale of scores near -1 and 1, given the class means."""
    gap = float(weights[1:] @ (positive - negative))
    scaled: FloatArray = weights / (1.0 + 0.5 * max(gap, 0.0))
    return scaled


@accelerated
def tracking_step(weights: FloatArray, phi: FloatArray, sign: float, c: float) -> None:
    """Move the score of an example a part of the way towards -1 or 1, in place."""
    rate = min(TRACKING_RATE * c, 1.0)
    gap = sign - float(weights.dot(phi))
    weights += (rate * gap / float(phi.dot(phi))) * phi


@accelerated
def pairwise_step(
    weights: FloatArray,
    phi: FloatArray,
    sign: float,
    c: float,
    negative: FloatArray,
    positive: FloatArray,
) -> None:
    """Move an example a part of the way towards a margin of 2 over the mean of the other class.

    The last two are the class means. The weights change in place; the bias is put half way between
    the class means.
    """
    slopes = weights[1:]
    direction = phi[1:] - (negative if sign > 0.0 else positive)
    rate = min(PAIRWISE_RATE * c, 1.0)
    gap = 2.0 * sign - float(slopes.dot(direction))
    slopes += (rate * gap / (1e-9 + float(direction.dot(direction)))) * direction
    weights[0] = -0.5 * (slopes.dot(negative) + slopes.dot(positive))
