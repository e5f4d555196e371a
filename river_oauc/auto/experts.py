"""The experts that take a step per example: Newton, tracking and pairwise.

Each is a row of weights over the vector φ = (1, z): the bias, and the features in their units. A
step has a size c that makes both classes pull alike: twice the share of the other class.
"""

from __future__ import annotations

import math

import numpy as np

from river_oauc import blas
from river_oauc.inputs.arrays import FloatArray, Size, is_new, resized, resized_triangle, whole
from river_oauc.inputs.records import Record

__all__ = ["Newton", "pairwise_step", "tracking_step", "weights_in"]

# Precision of the prior of the Newton expert, for the bias and for the features.
_BIAS_PRECISION, _PRECISION = 1.0, 1.5

# No direction is taken to be known better than this, compared with the one known worst.
_FINEST = 1e-14

# Sizes of the steps of the other two.
_TRACKING, _PAIRWISE = 0.2, 0.15


class Newton(Record):
    """Logistic regression as a Gaussian posterior, one implicit step per example.

    The step is the exact minimiser of the example's logistic loss and the distance from the old
    weights in the metric of the posterior, so that an outlier pulls no more than it has to, and
    there is no step size. It costs O(p²) time and memory for p features.

    Parameters
    ----------
    size
        Length of the vectors, the leading 1 included.

    """

    __fields__ = ("weights", "_covariance")

    def __init__(self, size: int) -> None:
        self.weights: FloatArray = np.zeros(size)
        self._covariance: FloatArray = np.asfortranarray(np.diag(1.0 / _prior_precision(size)))

    def step(self, phi: FloatArray, sign: float, c: float) -> None:
        """Learn from an example."""
        size, weights = len(phi), self.weights
        direction = blas.dsymv(1.0, self._covariance, phi)
        spread = blas.ddot(phi, direction)
        error = _sigmoid_of_minus(implicit_margin(sign * blas.ddot(phi, weights), c * spread))
        curvature = c * error * (1.0 - error)
        blas.daxpy(direction, weights, size, sign * c * error)
        factor = -curvature / (1.0 + curvature * spread)
        blas.dsyr(factor, direction, 0, 1, 0, size, self._covariance, 1)

    def information(self, scale: FloatArray, shift: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What the examples have added to the precision, and to the precision times the weights.

        It is what they would have added, had the features been `scale` · z + `shift`.
        """
        variances, axes = np.linalg.eigh(whole(self._covariance))
        # Rounding may leave a variance next to 0 a little below it.
        variances = np.maximum(variances, _FINEST * variances[-1])
        precision = (axes / variances) @ axes.T
        vector = precision @ self.weights
        precision -= np.diag(_prior_precision(len(vector)))
        # The new φ = (1, z) is this matrix times the old one.
        change = np.diag(np.append(1.0, scale))
        change[1:, 0] = shift
        return change @ precision @ change.T, change @ vector

    def set_information(self, gained: FloatArray, vector: FloatArray) -> None:
        """Become the posterior after examples that have added so much."""
        precision = gained + np.diag(_prior_precision(len(vector)))
        self._covariance = np.asfortranarray(np.linalg.inv(precision))
        self.weights = self._covariance @ vector

    def resize(self, size: Size) -> None:
        """Make room for more features, or give up the last ones."""
        new = is_new(len(self.weights), size)
        self.weights = resized(self.weights, size)
        self._covariance = resized_triangle(self._covariance, size)
        self._covariance[new, new] = 1.0 / _PRECISION


def _prior_precision(size: int) -> FloatArray:
    precision = np.full(size, _PRECISION)
    precision[0] = _BIAS_PRECISION
    return precision


def weights_in(weights: FloatArray, scale: FloatArray, shift: FloatArray) -> FloatArray:
    """Weights, with the bias in front, of the same score over the features `scale` · z + `shift`.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.auto.experts import weights_in
    >>> weights_in(np.array([1.0, 6.0]), np.array([2.0]), np.array([1.0]))
    array([-2.,  3.])

    """
    changed = weights.copy()
    changed[1:] /= scale
    changed[0] -= blas.ddot(changed[1:], shift)
    return changed


def _sigmoid_of_minus(margin: float) -> float:
    return 1.0 / (1.0 + math.exp(margin)) if margin < 700.0 else 0.0


def implicit_margin(margin: float, pull: float) -> float:
    """The root e of e = margin + pull · sigmoid(-e): the margin after an implicit step.

    Examples
    --------
    >>> from river_oauc.auto.experts import implicit_margin
    >>> implicit_margin(0.0, 2.0)
    0.675
    >>> implicit_margin(-1e6, 1.0)
    -999999.0

    """
    low, high = margin, margin + pull
    root = margin + pull * _sigmoid_of_minus(margin) / (1.0 + 0.25 * pull)
    for _ in range(100):
        error = _sigmoid_of_minus(root)
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


def tracking_step(weights: FloatArray, phi: FloatArray, sign: float, c: float) -> None:
    """Move the score of an example a part of the way towards -1 or 1, however old the stream."""
    rate = _TRACKING * c
    gap = sign - blas.ddot(weights, phi)
    blas.daxpy(phi, weights, len(phi), (rate if rate < 1.0 else 1.0) * gap / blas.ddot(phi, phi))


def pairwise_step(
    weights: FloatArray, z: FloatArray, sign: float, c: float, means: tuple[FloatArray, FloatArray]
) -> None:
    """Move an example a part of the way towards a margin of 2 over the mean of the other class.

    `weights` has the bias in front, which is put half way between the class means.
    """
    negative, positive = means
    own = weights[1:]
    direction = z - (negative if sign > 0.0 else positive)
    rate = _PAIRWISE * c
    gap = 2.0 * sign - blas.ddot(own, direction)
    rate = (rate if rate < 1.0 else 1.0) * gap / (1e-9 + blas.ddot(direction, direction))
    blas.daxpy(direction, own, len(z), rate)
    weights[0] = -0.5 * (blas.ddot(own, negative) + blas.ddot(own, positive))
