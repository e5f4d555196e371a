"""The baselines that look at single examples: Perceptron, PA-I and OL-UBAUC."""

from __future__ import annotations

import typing

import numpy as np

from river_oauc.limits import MAX_COEFFICIENT, MAX_NORM, check_norm, divergence_error
from river_oauc.parameters import LearningRate, step_size
from river_oauc.rankers.base import Ranker, learn_with_new_features
from river_oauc.rankers.linear import linear_logit, linear_score
from river_oauc.state import FloatArray

# The spread of the scores is averaged over about this many examples of a class.
_SPREAD_MEMORY = 100


class FirstOrderRanker(Ranker):
    """A linear score that is learned without covariances.

    For the calibration it follows the class means, which are exact, and the spread of the scores
    that examples had before they were learned.

    Attributes
    ----------
    n_examples
        The number of examples of each class.
    n, mean
        Their total weight, and their mean.
    n_scores
        The number of scores of each class that `spread` is an average of.
    spread
        The mean squared deviation of the scores from the mean score of their class, for weights of
        norm 1, so that it stays valid when the weights grow.

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "weights": (float, "p"), "n_examples": (int, 2), "n": (float, 2), "mean": (float, 2, "p"),
        "n_scores": (int, 2), "spread": (float, 2),
    }  # fmt: skip

    def __init__(self) -> None:
        self.weights: FloatArray = np.zeros(1)
        self.n_examples, self.n_scores = np.zeros(2, int), np.zeros(2, int)
        self.n, self.spread, self.mean = np.zeros(2), np.zeros(2), np.zeros((2, 1))

    @property
    def n_features(self) -> int:
        return len(self.weights)

    @property
    def t(self) -> int:
        """The number of the next example, counted from 1."""
        return int(self.n_examples.sum()) + 1

    def score(self, x: FloatArray) -> float:
        return linear_score(self.weights, x)

    def logit(self, score: float, empirical: bool) -> float:
        w = self.weights
        return linear_logit(w, self.n, self.mean, self.spread * w.dot(w), score, empirical)

    def learn(self, x: FloatArray, positive: bool, weight: float) -> None:
        if len(x) > len(self.weights):
            learn_with_new_features(self, x, positive, weight)
            return
        own, w = int(positive), self.weights
        self._step(x, 1.0 if positive else -1.0, weight, self.score(x))
        # All that can be refused is above this line.
        deviation, squared_norm = x - self.mean[own], float(w.dot(w))
        if self.n[own] and squared_norm:
            self.n_scores[own] += 1
            rate = 1.0 / min(self.n_scores[own], _SPREAD_MEMORY)
            self.spread[own] += rate * (w.dot(deviation) ** 2 / squared_norm - self.spread[own])
        self.n_examples[own] += 1
        self.n[own] += weight
        self.mean[own] += weight / self.n[own] * deviation

    def _step(self, x: FloatArray, y: float, weight: float, score: float) -> None:
        """Replace the weights by those after the step on an example with label y, -1 or 1.

        A ValueError is raised, before anything has changed, if they would be too large.
        """
        raise NotImplementedError


def after_step(weights: FloatArray, step: float, direction: FloatArray) -> FloatArray:
    """Return `weights + step · direction`, or raise a ValueError if they are too large."""
    if not abs(step) <= MAX_COEFFICIENT:
        raise divergence_error()
    moved: FloatArray = weights + step * direction
    check_norm(moved)
    return moved


class PerceptronRanker(FirstOrderRanker):
    """Add a positive that is predicted as negative to the weights, and subtract the converse."""

    def _step(self, x: FloatArray, y: float, weight: float, score: float) -> None:
        # A score of 0 is a positive prediction.
        if (score >= 0.0) != (y > 0.0):
            self.weights = after_step(self.weights, y * weight, x)


class PAIRanker(FirstOrderRanker):
    """Take the shortest step to a margin of 1, but none longer than C times the example.

    Parameters
    ----------
    C
        Largest step, in units of the example.

    """

    def __init__(self, C: float) -> None:
        super().__init__()
        self.C = C

    def _step(self, x: FloatArray, y: float, weight: float, score: float) -> None:
        loss, squared_length = 1.0 - y * score, float(x.dot(x))
        # An example of length 0 has no direction to move in.
        if loss > 0.0 and squared_length:
            tau = min(self.C * weight, loss / squared_length)
            self.weights = after_step(self.weights, y * tau, x)


class OLUBAUCRanker(FirstOrderRanker):
    """One gradient step on the hinge loss of an example about a threshold θ, which is learned, too.

    Parameters
    ----------
    l2
        Strength λ of the regulariser.
    margin
        Distance from the threshold beyond which there is no loss.
    class_balanced
        Whether both classes have the same total weight in the loss.
    lr
        Step size η: None is 1 / (λ t).

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        **FirstOrderRanker.FIELDS, "threshold": float
    }  # fmt: skip

    def __init__(self, l2: float, margin: float, class_balanced: bool, lr: LearningRate) -> None:
        super().__init__()
        self.l2, self.margin, self.class_balanced, self.lr = l2, margin, class_balanced, lr
        self.threshold = 0.0

    def _step(self, x: FloatArray, y: float, weight: float, score: float) -> None:
        eta, step = step_size(self.l2, self.lr, self.t), 0.0
        if y * (score - self.threshold) < self.margin:
            step = eta * y * weight
            if self.class_balanced:
                step *= self.t / (2.0 * (int(self.n_examples[int(y > 0.0)]) + 1))
        threshold = self.threshold - step
        if not abs(threshold) <= MAX_NORM:
            raise divergence_error()
        self.weights = after_step((1.0 - eta * self.l2) * self.weights, step, x)
        self.threshold = threshold
