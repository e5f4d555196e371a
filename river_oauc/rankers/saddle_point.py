"""The baselines for which the squared loss of all pairs is a saddle point: SOLAM and SPAUC.

With the share q of positives and the class means of the scores as further variables, the squared
loss of all pairs is an expectation over single examples. So a step looks at one example only. Its
formulas are symmetric in the classes: `share` is that of the opposite class, 1 - q for a positive.
"""

from __future__ import annotations

import math
import typing

import numpy as np

from river_oauc.limits import MAX_COEFFICIENT, MAX_NORM, clipped, divergence_error
from river_oauc.rankers.first_order import FirstOrderRanker, after_step
from river_oauc.state import FloatArray


class SOLAMRanker(FirstOrderRanker):
    """Gradient descent in the weights w and the centres, and ascent in α; the score averages w.

    In the saddle point, the centres are the mean scores of both classes, and α is how far that of
    the negatives is above that of the positives.

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
    centers, alpha
        The other variables of the saddle point; the paper's b and a are the centres.
    kappa
        The largest norm of an example.
    total_step
        The sum of all steps.

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        **FirstOrderRanker.FIELDS, "iterate": (float, "p"), "centers": (float, 2),
        "alpha": float, "kappa": float, "total_step": float,
    }  # fmt: skip

    def __init__(self, xi: float, R: float) -> None:
        super().__init__()
        self.xi, self.R = xi, R
        self.iterate: FloatArray = np.zeros(1)
        self.centers = np.zeros(2)
        self.alpha = self.kappa = self.total_step = 0.0

    def _step(self, x: FloatArray, y: float, weight: float, score: float) -> None:
        own, alpha, f = int(y > 0.0), self.alpha, float(self.iterate.dot(x))
        gamma = weight * self.xi / math.sqrt(self.t)
        total_step = self.total_step + gamma
        if not total_step <= MAX_COEFFICIENT:
            raise divergence_error()
        share = float(self.n[1 - own] / (self.n.sum() + weight))
        deviation, step = f - float(self.centers[own]), 2.0 * gamma * share
        iterate = after_step(self.iterate, step * (y * (1.0 + alpha) - deviation), x)
        # All that can be refused is above this line.
        norm = math.sqrt(iterate.dot(iterate))
        if norm > self.R:
            iterate *= self.R / norm
        self.weights = self.weights + gamma / (total_step or 1.0) * (self.iterate - self.weights)
        self.iterate, self.total_step = iterate, total_step
        self.kappa = max(self.kappa, math.sqrt(x.dot(x)))
        # No score is larger.
        bound = min(self.R, MAX_NORM) * self.kappa
        self.centers[own] += step * deviation
        self.centers = np.clip(self.centers, -bound, bound)
        self.alpha = clipped(alpha - step * (y * f + (1.0 - share) * alpha), 2.0 * bound)


class SPAUCRanker(FirstOrderRanker):
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

    def _step(self, x: FloatArray, y: float, weight: float, score: float) -> None:
        own, w = int(y > 0.0), self.weights
        n_own, n_opposite = self.n[own] + weight, self.n[1 - own]
        # Until there are both classes, the gradient is 0.
        if not n_opposite:
            return
        own_mean = self.mean[own] + weight / n_own * (x - self.mean[own])
        # The mean of the negatives minus that of the positives.
        gap = y * (self.mean[1 - own] - own_mean)
        share, deviation = float(n_opposite / (n_own + n_opposite)), x - own_mean
        gradient = (2.0 * share * float(w.dot(deviation))) * deviation
        gradient += (2.0 * share * (1.0 - share) * (1.0 + float(w.dot(gap)))) * gap
        eta = self.c / math.sqrt(self.t)
        self.weights = after_step(w, -eta * weight, gradient) / (1.0 + eta * self.l2)
