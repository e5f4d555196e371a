"""The baselines that look at single examples: Perceptron, PA-I and OL-UBAUC."""

from __future__ import annotations

import abc
import copy
import math
import typing

import numpy as np

from river_oauc.limits import MAX_COEFFICIENT, MAX_NORM, MAX_SQUARED_NORM, divergence_error
from river_oauc.parameters import LearningRate, step_size
from river_oauc.rankers.base import (
    FloatArray,
    IntArray,
    learn_longer,
    reindexed,
    share_of_other,
)
from river_oauc.rankers.calibration import slope
from river_oauc.state import State, StateReader

# The spread of the scores is averaged over about this many examples of a class.
_SPREAD_MEMORY = 100


# Weights and their squared norm.
Weights = tuple[FloatArray, float]


def after_step(w: FloatArray, step: float, direction: FloatArray) -> Weights:
    """Return the weights `w + step · direction`, or raise a ValueError if they are too large."""
    if abs(step) <= MAX_COEFFICIENT:
        weights = w + step * direction
        # Unlike `dot`, `vdot` does not warn of an overflow.
        squared_norm = float(np.vdot(weights, weights))
        if squared_norm <= MAX_SQUARED_NORM:
            return weights, squared_norm
    raise divergence_error()


class ClassSummary:
    """The sum of the examples of a class, and how far its scores are from their mean.

    Attributes
    ----------
    n
        Total weight of the examples.
    n_examples
        Number of examples.
    total
        Their weighted sum. Whatever the weights of the score have become, its score divided by `n`
        is the mean score of the class.
    n_scores
        Number of scores that `spread` is an average of.
    spread
        Mean squared deviation of the scores, for weights of norm 1, so that it stays valid when the
        weights grow.

    """

    def __init__(self, size: int) -> None:
        self.n, self.n_examples = 0.0, 0
        self.total: FloatArray = np.zeros(size)
        self.n_scores, self.spread = 0, 0.0

    def update(self, x: FloatArray, weight: float) -> None:
        """Add an example."""
        total = self.total + (x if weight == 1.0 else weight * x)
        self.n, self.n_examples, self.total = self.n + weight, self.n_examples + 1, total

    def update_spread(self, squared_deviation: float) -> None:
        """Add the squared deviation of a score, for weights of norm 1."""
        self.n_scores += 1
        rate = 1.0 / min(self.n_scores, _SPREAD_MEMORY)
        self.spread += rate * (squared_deviation - self.spread)

    def merge(self, other: typing.Self) -> None:
        """Add the examples of another part of the stream."""
        self.n, self.n_examples = self.n + other.n, self.n_examples + other.n_examples
        self.total = self.total + other.total
        self.n_scores += other.n_scores
        if other.n_scores:
            self.spread += other.n_scores / self.n_scores * (other.spread - self.spread)

    def reindexed(self, positions: IntArray, size: int) -> typing.Self:
        """Return a copy in which feature i stands at `positions[i]`."""
        moved = copy.copy(self)
        moved.total = reindexed(self.total, positions, size)
        return moved

    def get_state(self) -> State:
        """Return a copy of the state."""
        return {
            "n": self.n,
            "n_examples": self.n_examples,
            "total": self.total.copy(),
            "n_scores": self.n_scores,
            "spread": self.spread,
        }

    def set_state(self, reader: StateReader, size: int) -> None:
        """Take over a state with `size` features."""
        self.n = reader.total_weight("n")
        self.n_examples = reader.count("n_examples", minimum=int(self.n > 0.0))
        # With some room for rounding, here and below.
        bound = 2.0 * MAX_NORM * self.n
        self.total = reader.array("total", size, minimum=-bound, maximum=bound)
        self.n_scores = reader.count("n_scores")
        self.spread = reader.number("spread", minimum=0.0, maximum=10.0 * MAX_SQUARED_NORM)
        reader.finish()


class FirstOrderRanker(abc.ABC):
    """A linear score that is learned without covariances.

    For the calibration it follows the mean scores of both classes, which are exact, and the spread
    of the scores that examples had before they were learned.
    """

    # The arrays with an entry per feature.
    _VECTORS: typing.ClassVar[tuple[str, ...]] = ("weights",)

    def __init__(self) -> None:
        self._set_weights(np.zeros(1))
        # The negatives and the positives.
        self.classes = [self._new_class(), self._new_class()]
        self._describe_scores()

    def _new_class(self) -> typing.Any:
        return ClassSummary(1)

    def _set_weights(self, weights: FloatArray) -> None:
        self.weights, self._squared_norm = weights, float(weights.dot(weights))

    def _describe_scores(self) -> None:
        """Note the mean scores of both classes."""
        w, (negative, positive) = self.weights, self.classes
        self._mean_scores = (
            float(w.dot(negative.total)) / (negative.n or 1.0),
            float(w.dot(positive.total)) / (positive.n or 1.0),
        )

    @abc.abstractmethod
    def _step(
        self, w: FloatArray, x: FloatArray, score: float, positive: bool, weight: float
    ) -> Weights | None:
        """Return the weights after the step on an example with this score; None if there is none.

        `w` stays as it is. A ValueError is raised, before anything has changed, if the weights
        would be too large.
        """

    @property
    def n_features(self) -> int:
        return len(self.weights)

    def score(self, x: FloatArray) -> float:
        return float(self.weights.dot(x[: self.n_features]))

    def learn(self, x: FloatArray, positive: bool, weight: float) -> None:
        if len(x) > len(self.weights):
            learn_longer(self, x, positive, weight)
            return
        own, score = self.classes[positive], float(self.weights.dot(x))
        squared_norm = self._squared_norm
        moved = self._step(self.weights, x, score, positive, weight)
        if moved is not None:
            self.weights, self._squared_norm = moved
        if own.n and squared_norm:
            deviation = score - self._mean_scores[positive]
            own.update_spread(deviation * deviation / squared_norm)
        own.update(x, weight)
        self._describe_scores()

    def logit(self, score: float, empirical: bool) -> float:
        negative, positive = self.classes
        if not (negative.n and positive.n):
            return score
        low, high = self._mean_scores
        # Both classes count alike, however rare they are.
        variance = 0.5 * (negative.spread + positive.spread) * self._squared_norm
        logit = slope(high - low, variance) * (score - 0.5 * (high + low))
        return logit + math.log(positive.n / negative.n) if empirical else logit

    def merge(self, other: typing.Self) -> None:
        """Average the weights by what each ranker knows of the rarer class, and add the classes."""
        share = self._share_of(other)
        self._set_weights((1.0 - share) * self.weights + share * other.weights)
        for positive in (True, False):
            self.classes[positive].merge(other.classes[positive])
        self._describe_scores()

    def _share_of(self, other: typing.Self) -> float:
        return share_of_other([each.n for each in self.classes], [each.n for each in other.classes])

    def reindex(self, positions: IntArray, n_features: int) -> None:
        moved: dict[str, typing.Any] = {
            name: reindexed(getattr(self, name), positions, n_features) for name in self._VECTORS
        }
        moved["classes"] = [each.reindexed(positions, n_features) for each in self.classes]
        vars(self).update(moved)

    def get_state(self) -> State:
        return {
            "weights": self.weights.copy(),
            "classes": [each.get_state() for each in self.classes],
        }

    def set_state(self, reader: StateReader) -> None:
        self._set_weights(reader.vector("weights"))
        for each, state in zip(self.classes, reader.readers("classes", 2), strict=True):
            each.set_state(state, len(self.weights))
        reader.finish()
        self._describe_scores()


class PerceptronRanker(FirstOrderRanker):
    """Add a positive that is predicted as negative to the weights, and subtract the converse."""

    def _step(
        self, w: FloatArray, x: FloatArray, score: float, positive: bool, weight: float
    ) -> Weights | None:
        # A score of 0 is a positive prediction.
        if (score >= 0.0) == positive:
            return None
        return after_step(w, weight if positive else -weight, x)


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

    def _step(
        self, w: FloatArray, x: FloatArray, score: float, positive: bool, weight: float
    ) -> Weights | None:
        y = 1.0 if positive else -1.0
        loss = 1.0 - y * score
        squared_length = float(x.dot(x))
        # An example of length 0 has no direction to move in.
        if loss <= 0.0 or squared_length == 0.0:
            return None
        tau = min(self.C * weight, loss / squared_length)
        return after_step(w, y * tau, x)


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

    def __init__(self, l2: float, margin: float, class_balanced: bool, lr: LearningRate) -> None:
        super().__init__()
        self.l2, self.margin, self.class_balanced, self.lr = l2, margin, class_balanced, lr
        self.threshold = 0.0

    def _step(
        self, w: FloatArray, x: FloatArray, score: float, positive: bool, weight: float
    ) -> Weights | None:
        y = 1.0 if positive else -1.0
        t = self.classes[False].n_examples + self.classes[True].n_examples + 1
        eta = step_size(self.l2, self.lr, t)
        step = 0.0
        if y * (score - self.threshold) < self.margin:
            step = eta * y * weight
            if self.class_balanced:
                step *= t / (2.0 * (self.classes[positive].n_examples + 1))
        threshold = self.threshold - step
        if not abs(threshold) <= MAX_NORM:
            raise divergence_error()
        moved = after_step((1.0 - eta * self.l2) * w, step, x)
        self.threshold = threshold
        return moved

    def merge(self, other: typing.Self) -> None:
        self.threshold += self._share_of(other) * (other.threshold - self.threshold)
        super().merge(other)

    def get_state(self) -> State:
        return {**super().get_state(), "threshold": self.threshold}

    def set_state(self, reader: StateReader) -> None:
        self.threshold = reader.number("threshold", minimum=-MAX_NORM, maximum=MAX_NORM)
        super().set_state(reader)
