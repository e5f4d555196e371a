"""The linear learners of the paper: OAUC-M and OAUC-S."""

from __future__ import annotations

import math
import numbers
import typing

import numpy as np

from river_oauc.limits import MAX_COEFFICIENT, MAX_SQUARED_NORM, divergence_error
from river_oauc.parameters import LearningRate, step_size
from river_oauc.rankers import losses
from river_oauc.rankers.base import (
    FloatArray,
    IntArray,
    learn_longer,
    reindexed,
    share_of_other,
)
from river_oauc.rankers.calibration import MAX_SLOPE, slope
from river_oauc.rankers.moments import Moments
from river_oauc.state import State, StateReader

# The calibration is fitted at every step at first, and every 64 steps in the end.
_FITS_PER_WAIT, _LONGEST_WAIT = 16, 64

# Bounds of a mean score, and of the log odds of two sums of importance weights.
_MAX_SCORE, _MAX_LOG_ODDS = 10.0 * MAX_SQUARED_NORM, 1e3


class LinearRanker:
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

    """

    # The arrays with an entry per feature.
    _VECTORS: typing.ClassVar[tuple[str, ...]] = ("weights",)

    def __init__(self, loss: str, l2: float, lr: LearningRate) -> None:
        self.loss, self.l2, self.lr = loss, l2, lr
        self._gradient = losses.psi_m_gradient if loss == "psi_m" else losses.psi_s_gradient
        self.t = 0
        self.weights: FloatArray = np.zeros(1)
        # Of the negatives and of the positives.
        self.moments = [Moments(1), Moments(1)]
        # What the scores of the classes look like; see `calibration`.
        self._slope, self._midpoint, self._log_odds = 1.0, 0.0, 0.0
        self._half_gap = 0.0
        self._n_fits, self._next_fit = 0, 0

    @property
    def n_features(self) -> int:
        return len(self.weights)

    def score(self, x: FloatArray) -> float:
        return float(self.weights.dot(x[: self.n_features]))

    def learn(self, x: FloatArray, positive: bool, weight: float) -> None:
        w = self.weights
        if len(x) > len(w):
            learn_longer(self, x, positive, weight)
            return
        y = 1.0 if positive else -1.0
        own, opposite = self.moments[positive], self.moments[not positive]
        t = self.t + 1
        if opposite.n:
            # w, d and Σw.
            vectors = np.array((w, x - opposite.mean, opposite.scatter.dot(w) / opposite.n))
            _, margin, variance = vectors.dot(w).tolist()
            # For ψ_M these are Φ = (1 + b/r) / 2 and 1 / (2r), with b = 1 - margin and
            # r = √(b² + variance).
            pull, spread = self._gradient(y * margin, max(variance, 0.0))
            w = self._step(vectors, y * weight * pull, weight * spread, t)
        self.t, self.weights = t, w
        # An interrupt here would leave the example out of the moments, and everything consistent.
        own.update(x, weight)
        if opposite.n:
            if t >= self._next_fit:
                self._fit()
            else:
                # The mean scores of the classes move together, and their distance changes slowly.
                self._midpoint = float(w.dot(opposite.mean)) + y * self._half_gap

    def _step(self, vectors: FloatArray, pull: float, spread: float, t: int) -> FloatArray:
        """Return the weights after step t, or raise a ValueError if they would be too large.

        `vectors` are w, d = x - m and Σw, where m and Σ are mean and covariance of the opposite
        class. The gradient of the loss is -pull · d + spread · Σw.
        """
        eta = step_size(self.l2, self.lr, t)
        coefficients = (1.0 - eta * self.l2, eta * pull, -eta * spread)
        if not sum(map(abs, coefficients)) <= MAX_COEFFICIENT:
            raise divergence_error()
        w: FloatArray = np.dot(coefficients, vectors)
        # Unlike `dot`, `vdot` does not warn of an overflow.
        if not float(np.vdot(w, w)) <= MAX_SQUARED_NORM:
            raise divergence_error()
        return w

    def _fit(self) -> None:
        """Read the class means and the variance of the scores off the moments."""
        w, (negative, positive) = self.weights, self.moments
        low, high = float(w.dot(negative.mean)), float(w.dot(positive.mean))
        # Both variances count alike, however rare the class.
        variance = 0.5 * (negative.variance_along(w) + positive.variance_along(w))
        self._slope, self._midpoint = slope(high - low, variance), 0.5 * (high + low)
        self._half_gap = 0.5 * (high - low)
        self._log_odds = math.log(positive.n / negative.n)
        self._n_fits += 1
        self._next_fit = self.t + min(1 + self._n_fits // _FITS_PER_WAIT, _LONGEST_WAIT)

    def logit(self, score: float, empirical: bool) -> float:
        return self._slope * (score - self._midpoint) + (self._log_odds if empirical else 0.0)

    def merge(self, other: typing.Self) -> None:
        """Add moments, and average weights by what each ranker knows of the rarer class."""
        share = share_of_other([m.n for m in self.moments], [m.n for m in other.moments])
        n_steps = (1.0 - share) * self.t + share * other.t
        self.weights = (1.0 - share) * self.weights + share * other.weights
        for mine, theirs in zip(self.moments, other.moments, strict=True):
            mine.merge(theirs)
        self.t += other.t
        if self.moments[0].n and self.moments[1].n:
            self._make_up_for(self.t - n_steps)
            self._fit()

    def _make_up_for(self, n_steps: float) -> None:
        """Take the steps that neither part of a stream has had, where that is possible."""
        if self.loss == "psi_s" and isinstance(self.lr, numbers.Real):
            self.weights = self._after_steps(float(self.lr), n_steps)

    def _after_steps(self, lr: float, n_steps: float) -> FloatArray:
        """Return the weights after more steps of OAUC-S, on average, on examples like these.

        A constant step gets as far as there are steps, and each part of a stream has had its own
        only. An average step is gradient descent on the loss over all pairs, which is quadratic, so
        `n_steps` of them are a power of a matrix.
        """
        negative, positive = self.moments
        gap = positive.mean - negative.mean
        curvature = positive.covariance + negative.covariance + np.outer(gap, gap)
        weight = (positive.n + negative.n) / self.t
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

    def reindex(self, positions: IntArray, n_features: int) -> None:
        moved: dict[str, typing.Any] = {
            name: reindexed(getattr(self, name), positions, n_features) for name in self._VECTORS
        }
        moved["moments"] = [moments.reindexed(positions, n_features) for moments in self.moments]
        vars(self).update(moved)

    def get_state(self) -> State:
        return {
            "t": self.t,
            "weights": self.weights.copy(),
            "moments": [moments.get_state() for moments in self.moments],
            "slope": self._slope,
            "midpoint": self._midpoint,
            "log_odds": self._log_odds,
            "half_gap": self._half_gap,
            "n_fits": self._n_fits,
            "next_fit": self._next_fit,
        }

    def set_state(self, reader: StateReader) -> None:
        self.t = reader.count("t")
        self.weights = reader.vector("weights")
        size = len(self.weights)
        self.moments = [Moments.from_state(each, size) for each in reader.readers("moments", 2)]
        self._slope = reader.number("slope", minimum=0.0, maximum=MAX_SLOPE)
        self._midpoint = reader.number("midpoint", -_MAX_SCORE, _MAX_SCORE)
        self._log_odds = reader.number("log_odds", -_MAX_LOG_ODDS, _MAX_LOG_ODDS)
        self._half_gap = reader.number("half_gap", -_MAX_SCORE, _MAX_SCORE)
        self._n_fits = reader.count("n_fits")
        self._next_fit = reader.count("next_fit", maximum=self.t + _LONGEST_WAIT)
        reader.finish()
