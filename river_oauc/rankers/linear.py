"""The linear learners of the paper: OAUC-M and OAUC-S."""

from __future__ import annotations

import math
import numbers
import typing

import numpy as np
from numpy.typing import NDArray

from river_oauc.acceleration import accelerated
from river_oauc.limits import MAX_SQUARED_NORM, divergence_error
from river_oauc.parameters import LearningRate, step_size
from river_oauc.rankers.base import Ranker, learn_with_new_features, share_of_other
from river_oauc.rankers.calibration import slope
from river_oauc.rankers.losses import psi_m_gradient, psi_s_gradient
from river_oauc.rankers.moments import covariance, merge_moments, symmetric, update_moments
from river_oauc.state import FloatArray, IntArray


class LinearRanker(Ranker):
    """One gradient step per example on the second-order surrogate of the opposite class.

    This is Algorithm 1 of the paper: OAUC-M with the loss ψ_M, OAUC-S with ψ_S.

    Parameters
    ----------
    loss
        `"psi_m"` or `"psi_s"`.
    l2
        Strength λ of the regulariser.
    lr
        Step size η: None is 1 / (λ t).

    Attributes
    ----------
    t
        The number of examples.
    n, mean, scatter
        The class moments; see `moments`.
    variance
        The variance of the scores of each class, when it was last needed.

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "t": int, "weights": (float, "p"), "n": (float, 2), "mean": (float, 2, "p"),
        "scatter": (float, 2, "p", "p"), "variance": (float, 2),
    }  # fmt: skip

    def __init__(self, loss: str, l2: float, lr: LearningRate) -> None:
        self.loss, self.l2, self.lr = loss, l2, lr
        self.t = 0
        self.weights: FloatArray = np.zeros(1)
        self.n, self.variance = np.zeros(2), np.zeros(2)
        self.mean, self.scatter = np.zeros((2, 1)), np.zeros((2, 1, 1))

    @property
    def n_features(self) -> int:
        return len(self.weights)

    def score(self, x: FloatArray) -> float:
        return linear_score(self.weights, x)

    def logit(self, score: float, empirical: bool) -> float:
        """Return the log odds: those of two Gaussian classes of scores with one variance."""
        return linear_logit(self.weights, self.n, self.mean, self.variance, score, empirical)

    def learn(self, x: FloatArray, positive: bool, weight: float) -> None:
        if len(x) > len(self.weights):
            learn_with_new_features(self, x, positive, weight)
            return
        self._step(x, positive, weight)
        self.t += 1

    def _step(self, x: FloatArray, positive: bool, weight: float) -> None:
        oauc_step(
            self.weights, self.n, self.mean, self.scatter, self.variance, x, positive, weight,
            step_size(self.l2, self.lr, self.t + 1), self.l2, self.loss == "psi_m",
        )  # fmt: skip

    def merge(self, other: typing.Self) -> None:
        """Add moments, and average weights by what each ranker knows of the rarer class."""
        share = share_of_other(self.n.tolist(), other.n.tolist())
        n_steps = (1.0 - share) * self.t + share * other.t
        self.weights = (1.0 - share) * self.weights + share * other.weights
        merge_moments(self.n, self.mean, self.scatter, (other.n, other.mean, other.scatter))
        self.t += other.t
        if self.n.all() and self._steps_are_constant():
            self.weights = self._extrapolated(float(typing.cast(float, self.lr)), self.t - n_steps)
        for own in (0, 1):
            spread = self.weights @ covariance(self.n, self.scatter, own) @ self.weights
            self.variance[own] = max(float(spread), 0.0)

    def moved(self, positions: IntArray | None, size: int) -> dict[str, NDArray[typing.Any]]:
        if positions is not None:
            # In another order, the upper triangle may become the lower one.
            self.scatter = np.stack([symmetric(scatter) for scatter in self.scatter])
        return super().moved(positions, size)

    def _steps_are_constant(self) -> bool:
        return self.loss == "psi_s" and isinstance(self.lr, numbers.Real)

    def _extrapolated(self, lr: float, n_steps: float) -> FloatArray:
        """Return the weights after more steps of OAUC-S, on average, on examples like these.

        A constant step gets as far as there are steps, and each part of a stream has had its own
        only. An average step is gradient descent on the loss over all pairs, which is quadratic, so
        `n_steps` of them are a power of a matrix.
        """
        gap = self.mean[1] - self.mean[0]
        curvature = np.outer(gap, gap)
        for own in (0, 1):
            curvature += covariance(self.n, self.scatter, own)
        weight = float(self.n.sum()) / self.t
        values, axes = np.linalg.eigh(weight * curvature + self.l2 * np.eye(len(gap)))
        values = np.maximum(values, 0.0)
        kept = np.clip(1.0 - lr * values, 0.0, 1.0) ** n_steps
        # (1 - kept) / values, which is lr · n_steps where there is no curvature.
        gained = np.where(
            values > 0.0, (1.0 - kept) / np.where(values > 0.0, values, 1.0), lr * n_steps
        )
        weights: FloatArray = axes @ (
            kept * (axes.T @ self.weights) + gained * weight * (axes.T @ gap)
        )
        return weights


@accelerated
def oauc_step(
    weights: FloatArray,
    n: FloatArray,
    mean: FloatArray,
    scatter: FloatArray,
    variance: FloatArray,
    x: FloatArray,
    positive: bool,
    weight: float,
    eta: float,
    l2: float,
    is_psi_m: bool,
) -> None:
    """Take the gradient step on an example, and add it to the moments of its class."""
    opposite = int(not positive)
    if n[opposite]:
        y = 1.0 if positive else -1.0
        direction = x - mean[opposite]
        cov_w = symmetric(scatter[opposite]) @ weights / n[opposite]
        spread = max(float(weights @ cov_w), 0.0)
        # For ψ_M these are Φ = (1 + b/r) / 2 and 1 / (2r), with b = 1 - margin, r = √(b² + spread).
        gradient = psi_m_gradient if is_psi_m else psi_s_gradient
        margin_coef, variance_coef = gradient(y * float(weights @ direction), spread)
        with np.errstate(over="ignore", invalid="ignore"):
            moved = (1.0 - eta * l2) * weights
            moved += eta * weight * (y * margin_coef * direction - variance_coef * cov_w)
            if not float(np.vdot(moved, moved)) <= MAX_SQUARED_NORM:
                raise divergence_error()
        # All that can be refused is above this line.
        weights[:], variance[opposite] = moved, spread
    update_moments(n, mean, scatter, int(positive), x, weight)


@accelerated
def linear_score(weights: FloatArray, x: FloatArray) -> float:
    """Return the score of an example, which may have features that the weights have not."""
    return float(weights.dot(x[: len(weights)]))


@accelerated
def linear_logit(
    weights: FloatArray,
    n: FloatArray,
    mean: FloatArray,
    variance: FloatArray,
    score: float,
    empirical: bool,
) -> float:
    """Return the log odds of a positive; see `calibration`."""
    n_low, n_high = n.tolist()
    if not (n_low and n_high):
        return score
    low, high = (mean @ weights).tolist()
    # Both variances count alike, however rare the class.
    steepness: float = slope(high - low, 0.5 * float(variance.sum()))
    midpoint: float = 0.5 * (low + high)
    logit = steepness * (score - midpoint)
    return logit + math.log(n_high / n_low) if empirical else logit
