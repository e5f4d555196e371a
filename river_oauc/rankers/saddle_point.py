"""The baselines for which the squared loss of all pairs is a saddle point: SOLAM and SPAUC.

With the share q of positives and the class means of the scores as further variables, the squared
loss of all pairs is an expectation over single examples. So a step looks at one example only.
"""

from __future__ import annotations

import math
import typing

import numpy as np

from river_oauc.limits import (
    MAX_COEFFICIENT,
    MAX_NORM,
    MAX_SQUARED_NORM,
    clipped,
    divergence_error,
)
from river_oauc.rankers.base import FloatArray
from river_oauc.rankers.first_order import FirstOrderRanker, Weights, after_step
from river_oauc.state import State, StateReader


class _SaddlePointRanker(FirstOrderRanker):
    """A ranker that knows the number of an example and the share of positives."""

    def _count(self, positive: bool, weight: float) -> tuple[int, float]:
        """Return t and q with one more example: its number, and the share of the positives."""
        negatives, positives = self.classes
        n = positives.n + (weight if positive else 0.0)
        return (
            negatives.n_examples + positives.n_examples + 1,
            n / (negatives.n + positives.n + weight),
        )


class SOLAMRanker(_SaddlePointRanker):
    """Gradient descent in the weights w, a and b, and ascent in α; the score is an average of w.

    In the saddle point, a and b are the mean scores of positives and negatives, and α is b - a.

    Parameters
    ----------
    xi
        The step on example t is ξ / √t.
    R
        Largest norm of w.

    Attributes
    ----------
    weights
        The average of all w so far, each weighted by the step that followed it.
    iterate
        The present w.
    a, b, alpha
        The other variables of the saddle point.
    kappa
        The largest norm of an example.
    total_step
        The sum of all steps.

    """

    _VECTORS = ("weights", "iterate")

    def __init__(self, xi: float, R: float) -> None:
        super().__init__()
        self.xi, self.R = xi, R
        self.iterate: FloatArray = np.zeros(1)
        self.a = self.b = self.alpha = 0.0
        self.kappa = self.total_step = 0.0

    def _step(
        self, w: FloatArray, x: FloatArray, score: float, positive: bool, weight: float
    ) -> Weights:
        t, q = self._count(positive, weight)
        gamma = weight * self.xi / math.sqrt(t)
        total_step = self.total_step + gamma
        if not total_step <= MAX_COEFFICIENT:
            raise divergence_error()
        a, b, alpha, f = self.a, self.b, self.alpha, float(self.iterate.dot(x))
        if positive:
            slope = 2.0 * (1.0 - q) * (f - a - 1.0 - alpha)
            a += gamma * 2.0 * (1.0 - q) * (f - a)
            alpha -= gamma * 2.0 * (1.0 - q) * (f + q * alpha)
        else:
            slope = 2.0 * q * (f - b + 1.0 + alpha)
            b += gamma * 2.0 * q * (f - b)
            alpha += gamma * 2.0 * q * (f - (1.0 - q) * alpha)
        iterate, squared_norm = after_step(self.iterate, -gamma * slope, x)
        if squared_norm > self.R * self.R:
            iterate = iterate * (self.R / math.sqrt(squared_norm))
        kappa = max(self.kappa, math.sqrt(float(x.dot(x))))
        # No score is larger.
        bound = min(self.R, MAX_NORM) * kappa
        average = w + gamma / (total_step or 1.0) * (self.iterate - w)
        self.iterate, self.a, self.b, self.alpha, self.kappa, self.total_step = (
            iterate,
            clipped(a, bound),
            clipped(b, bound),
            clipped(alpha, 2.0 * bound),
            kappa,
            total_step,
        )
        return average, float(average.dot(average))

    def merge(self, other: typing.Self) -> None:
        """Average all variables by what each ranker knows of the rarer class."""
        share = self._share_of(other)
        for name in ("iterate", "a", "b", "alpha"):
            mine, theirs = getattr(self, name), getattr(other, name)
            setattr(self, name, (1.0 - share) * mine + share * theirs)
        self.kappa = max(self.kappa, other.kappa)
        self.total_step += other.total_step
        super().merge(other)

    def get_state(self) -> State:
        return {
            **super().get_state(),
            "iterate": self.iterate.copy(),
            "a": self.a,
            "b": self.b,
            "alpha": self.alpha,
            "kappa": self.kappa,
            "total_step": self.total_step,
        }

    def set_state(self, reader: StateReader) -> None:
        iterate = reader.vector("iterate")
        self.a, self.b = (
            reader.number(name, -MAX_SQUARED_NORM, MAX_SQUARED_NORM) for name in ("a", "b")
        )
        self.alpha = reader.number("alpha", -2.0 * MAX_SQUARED_NORM, 2.0 * MAX_SQUARED_NORM)
        self.kappa = reader.number("kappa", 0.0, 2.0 * MAX_NORM)
        # With some room for merging.
        self.total_step = reader.number("total_step", 0.0, 1e6 * MAX_COEFFICIENT)
        super().set_state(reader)
        if len(iterate) != len(self.weights):
            raise reader.error(f"iterate has {len(iterate)} numbers, not {len(self.weights)}")
        self.iterate = iterate


class SPAUCRanker(_SaddlePointRanker):
    """Proximal gradient descent with the variables of the saddle point replaced by class means.

    Parameters
    ----------
    c
        The step on example t is c / √t.
    l2
        Strength λ of the regulariser.

    """

    def __init__(self, c: float, l2: float) -> None:
        super().__init__()
        self.c, self.l2 = c, l2

    def _step(
        self, w: FloatArray, x: FloatArray, score: float, positive: bool, weight: float
    ) -> Weights | None:
        own, opposite = self.classes[positive], self.classes[not positive]
        # Until there are both classes, q (1 - q) is 0, and so is the gradient.
        if not opposite.n:
            return None
        t, q = self._count(positive, weight)
        own_mean = (own.total + weight * x) / (own.n + weight)
        gap = opposite.total / opposite.n - own_mean
        # The mean of the negatives minus that of the positives.
        if not positive:
            gap = -gap
        share_of_opposite = 1.0 - q if positive else q
        deviation = score - float(w.dot(own_mean))
        gradient = (2.0 * share_of_opposite * deviation) * (x - own_mean)
        gradient += (2.0 * q * (1.0 - q) * (1.0 + float(w.dot(gap)))) * gap
        eta = self.c / math.sqrt(t)
        weights, _ = after_step(w, -eta * weight, gradient)
        weights = weights / (1.0 + eta * self.l2)
        return weights, float(weights.dot(weights))
