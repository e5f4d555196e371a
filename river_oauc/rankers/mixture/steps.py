"""The linear experts that take one step per example: Newton, tracking and pairwise.

Each has a vector of weights over φ = (1, z): minus the bias, and the standardised features. A
step has a size c with which both classes pull alike: twice the share of the other class.
"""

from __future__ import annotations

import math
import typing

import numpy as np
from numpy.typing import NDArray

from river_oauc.acceleration import accelerated
from river_oauc.rankers.losses import sigmoid
from river_oauc.rankers.mixture.constants import (
    BATCH_SIZE,
    EIGENVALUE_PRECISION,
    NEWTON_BIAS_PRECISION,
    NEWTON_PRECISION,
    PAIRWISE_RATE,
    TRACKING_RATE,
)
from river_oauc.state import FloatArray, IntArray, Stateful, damage


class Newton(Stateful):
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
    covariance
        The covariance of the posterior, before rank-one terms that wait to be subtracted.
    waiting, n_waiting
        Rows of which the first ones wait, and their number.

    """

    # Here `p` counts the bias as well.
    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "weights": (float, "p"), "covariance": (float, "p", "p"),
        "waiting": (float, BATCH_SIZE, "p"), "n_waiting": int,
    }  # fmt: skip

    def __init__(self, size: int) -> None:
        self.weights: FloatArray = np.zeros(1 + size)
        self.covariance: FloatArray = np.diag(1.0 / _prior_precision(size))
        self.waiting: FloatArray = np.zeros((BATCH_SIZE, 1 + size))
        self.n_waiting = 0

    def step(self, phi: FloatArray, sign: float, c: float) -> None:
        """Learn from an example."""
        if self.n_waiting == BATCH_SIZE:
            self.covariance, self.n_waiting = self.current_covariance(), 0
        weights = newton_step(
            self.weights, phi, sign, c, self.covariance, self.waiting, self.n_waiting
        )
        self.weights, self.n_waiting = weights, self.n_waiting + 1

    def current_covariance(self) -> FloatArray:
        """Return the covariance of the posterior."""
        waiting = self.waiting[: self.n_waiting]
        covariance: FloatArray = self.covariance - waiting.T @ waiting
        return covariance

    def information(self, scale: FloatArray, shift: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what the examples have added to the precision, and to the precision · weights.

        It is what they would have added, had the features been `scale` · z + `shift`.
        """
        variances, axes = np.linalg.eigh(self.current_covariance())
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
        self.covariance, self.n_waiting = covariance, 0
        self.weights = covariance @ vector

    def moved(self, positions: IntArray | None, size: int) -> dict[str, NDArray[typing.Any]]:
        # New features are as the prior has them.
        self.covariance, self.n_waiting = self.current_covariance(), 0
        positions = np.arange(len(self.weights) - 1) if positions is None else positions
        places = with_bias(positions)[: len(self.weights)]
        moved = super().moved(places, 1 + size)
        variances = np.full(1 + size, 1.0 / NEWTON_PRECISION)
        variances[places] = self.covariance.diagonal()[: len(places)]
        np.fill_diagonal(moved["covariance"], variances)
        return moved

    def check_state(self) -> None:
        if not 0 <= self.n_waiting <= BATCH_SIZE:
            raise damage(f"{self.n_waiting} rows wait, and {BATCH_SIZE} at most can")


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
