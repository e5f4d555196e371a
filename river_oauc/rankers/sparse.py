"""The losses of OAUC-M and of logistic regression on sparse examples."""

from __future__ import annotations

import math
import typing

import numpy as np

from river_oauc.acceleration import accelerated
from river_oauc.rankers.base import Ranker
from river_oauc.rankers.calibration import slope
from river_oauc.rankers.losses import psi_m_gradient, sigmoid
from river_oauc.state import FloatArray, IntArray, damage

# Added to the root of the squared gradients, so that the first step of a weight is bounded.
ADAGRAD_OFFSET = 0.5

# A value x with unit u becomes x / (u + |x|). The unit of a level is its usual size, so the usual
# level becomes one half. The unit of a deviation is three times its usual size, so most deviations
# are in the range where the map is nearly linear, and the usual one becomes a quarter.
USUAL_LEVEL, USUAL_DEVIATION = 0.5, 0.25
UNIT_PER_DEVIATION = 1.0 / USUAL_DEVIATION - 1.0
_USUAL = np.array([USUAL_LEVEL, USUAL_DEVIATION])

# A feature varies if its level is not the usual one in at least one of this many examples.
EXAMPLES_PER_UNUSUAL_LEVEL = 10

# The unit of a deviation is at least this part of the unit of the level, so that rounding errors do
# not count as deviations, and at least the smallest normal number, so that it never divides 0 by 0.
MIN_UNIT_PER_LEVEL, SMALLEST_UNIT = 2.0**-20, 2.0**-1022

# The unit of a term that has not been seen. In this unit every value counts as 0.
UNSEEN = 1e300

# The two terms of a feature, and what is known of a term: the last two axes of `terms`.
LEVEL, DEVIATION = 0, 1
WEIGHT, SQUARES, UNIT, MEAN = range(4)

# The rows of what is not 0, and their values.
SparseExample = tuple[IntArray, FloatArray]


class SparseRanker(Ranker):
    """A linear score on sparse examples, learned by AdaGrad on the mean of two losses.

    A feature has two terms, its level and its deviation from its own mean, and each has a weight.
    The deviation counts only if the feature varies from example to example.

    - A term x counts as x / (u + |x|), where the unit u follows its usual size.
    - An example is divided by the square root of its length.
    - In the loss of OAUC-M, its score is compared with mean and variance of the scores of the
      opposite class, each score taken before its example was learned. Both classes pull alike,
      however rare one of them is.
    - In the logistic loss, the classes are as frequent as they have been, and their log odds are
      the bias. So the negatives at the top of the list pull most.

    Attributes
    ----------
    n_seen
        Number of examples.
    scores
        Weighted count, mean and scatter of the scores of the negatives and of the positives.
    terms
        An array with the axes feature, (level, deviation), and (weight, sum of squared gradients,
        unit, mean). A term that has not been seen has the unit `UNSEEN`, and a level has the mean
        0. The array is longer than the number of features, and its last row is always free.
    n_unusual
        How often a feature that does not vary yet was not at its usual level.

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "n_seen": int, "scores": (float, 2, 3), "terms": (float, "p", 2, 4),
        "n_unusual": (float, "p"),
    }  # fmt: skip
    USED: typing.ClassVar[dict[str, str]] = {"p": "_n_features"}

    def __init__(self) -> None:
        self.n_seen, self._n_features = 0, 0
        self.scores: FloatArray = np.zeros((2, 3))
        self.terms, self.n_unusual = empty_terms(1), np.zeros(1)

    @property
    def n_features(self) -> int:
        return self._n_features

    def score(self, example: SparseExample) -> float:
        return sparse_score(self.terms, self._n_features, *example)

    def logit(self, score: float, empirical: bool) -> float:
        return scores_logit(self.scores, score, empirical)

    def learn(self, example: SparseExample, positive: bool, weight: float) -> float:
        """Learn from an example, and return the score that it had before."""
        rows, values = example
        n_features = n_rows_needed(rows)
        if n_features > self._n_features:
            if n_features >= len(self.terms):
                self._resize(n_features + n_features // 8 + 1)
            self._n_features = n_features
        self.n_seen += 1
        return sparse_step(
            self.terms, self.n_unusual, self.scores, self.n_seen, rows, values, positive, weight
        )

    def _resize(self, size: int) -> None:
        n = self._n_features
        terms, n_unusual = empty_terms(size), np.zeros(size)
        terms[:n], n_unusual[:n] = self.terms[:n], self.n_unusual[:n]
        self.terms, self.n_unusual = terms, n_unusual

    def contributions(self, example: SparseExample) -> FloatArray:
        """Return the part that each feature of an example has in its score."""
        rows, values = example
        weights, scaled = _scaled(self.terms[np.minimum(rows, self._n_features)], values)
        parts: FloatArray = _length_scale(scaled) * (weights * scaled).sum(axis=1)
        return parts

    def best_rows(self, n: int) -> IntArray:
        """Return the n rows with the largest squared gradients; of equals, the newer."""
        squares = self.terms[: self._n_features, :, SQUARES].sum(axis=1)
        return np.sort(np.argsort(squares, kind="stable")[-n:])

    def keep(self, rows: IntArray) -> None:
        """Forget all features but those in these rows."""
        self.terms = np.append(self.terms[rows], empty_terms(1), axis=0)
        self.n_unusual, self._n_features = np.append(self.n_unusual[rows], 0.0), len(rows)

    def reindex(self, positions: IntArray, size: int) -> None:
        terms, n_unusual = empty_terms(size + 1), np.zeros(size + 1)
        positions, n = positions[: self._n_features], min(len(positions), self._n_features)
        terms[positions], n_unusual[positions] = self.terms[:n], self.n_unusual[:n]
        self.terms, self.n_unusual, self._n_features = terms, n_unusual, size

    def merge(self, other: typing.Self) -> None:
        """Add squared gradients, and average the rest.

        Weights times one plus their squared gradients add up, as means of Gaussian posteriors over
        a prior of precision 1. So the weights of frequent features are averaged, and those of rare
        ones are added, whatever the order. Units and means are averaged by their inertia.
        """
        mine, theirs = self.terms, other.terms
        my_precision, their_precision = 1.0 + mine[..., SQUARES], 1.0 + theirs[..., SQUARES]
        my_inertia, their_inertia = (
            _USUAL + np.sqrt(each[..., SQUARES]) for each in (mine, theirs)
        )
        share = their_inertia / (my_inertia + their_inertia)
        share[mine[..., UNIT] == UNSEEN] = 1.0
        share[theirs[..., UNIT] == UNSEEN] = 0.0
        # In this form, the unit of a term that is not there does not swallow the other.
        terms = (1.0 - share)[..., np.newaxis] * mine + share[..., np.newaxis] * theirs
        terms[..., SQUARES] = mine[..., SQUARES] + theirs[..., SQUARES]
        weights = my_precision * mine[..., WEIGHT] + their_precision * theirs[..., WEIGHT]
        terms[..., WEIGHT] = weights / (1.0 + terms[..., SQUARES])
        self.terms, self.n_unusual = terms, self.n_unusual + other.n_unusual
        self.n_seen += other.n_seen
        for own, (n, mean, scatter) in enumerate(other.scores.tolist()):
            if n:
                update_scores(self.scores, own, mean, n)
                self.scores[own, 2] += scatter

    def check_state(self) -> None:
        check_scores(self.scores)
        # The last row is free.
        self._resize(self._n_features + 1)


def empty_terms(n_features: int) -> FloatArray:
    """Return the terms of features that have not been seen."""
    terms = np.zeros((n_features, 2, 4))
    terms[..., UNIT] = UNSEEN
    return terms


def update_scores(scores: FloatArray, own: int, score: float, weight: float) -> None:
    """Add a score to weighted count, mean and scatter of the scores of its class."""
    n, mean, scatter = scores[own].tolist()
    total, deviation = n + weight, score - mean
    scatter += weight * (n / total) * deviation * deviation
    scores[own] = total, mean + weight / total * deviation, scatter


def check_scores(scores: FloatArray) -> None:
    """Raise a ValueError if these cannot be weighted count, mean and scatter of scores."""
    if (scores[:, [0, 2]] < 0.0).any():
        raise damage("the scores of a class have a weight or a scatter below 0")


@accelerated
def scores_logit(scores: FloatArray, score: float, empirical: bool) -> float:
    """Return the log odds of a positive, given count, mean and scatter of the scores of each class.

    The classes count as equally frequent, or as frequent as they have been.
    """
    (n_low, low, low_scatter), (n_high, high, high_scatter) = scores.tolist()
    if not (n_low and n_high):
        return score
    # Both variances count alike, however rare the class.
    variance = 0.5 * (low_scatter / n_low + high_scatter / n_high)
    logit: float = slope(high - low, variance) * (score - 0.5 * (low + high))
    return logit + math.log(n_high / n_low) if empirical else logit


@accelerated
def n_rows_needed(rows: IntArray) -> int:
    """Return one more than the largest row."""
    return int(rows.max(initial=-1)) + 1


@accelerated
def sparse_score(terms: FloatArray, n_features: int, rows: IntArray, values: FloatArray) -> float:
    """Return the score of an example; rows beyond the features count as unseen."""
    weights, scaled = _scaled(terms[np.minimum(rows, n_features)], values)
    return _length_scale(scaled) * float(np.vdot(weights, scaled))


@accelerated
def sparse_step(
    terms: FloatArray,
    n_unusual: FloatArray,
    scores: FloatArray,
    n_seen: int,
    rows: IntArray,
    values: FloatArray,
    positive: bool,
    weight: float,
) -> float:
    """Learn from an example, and return the score that it had before."""
    own_terms = terms[rows]
    units, squares = own_terms[..., UNIT], own_terms[..., SQUARES]
    is_new, is_constant = (units == UNSEEN).T
    units[is_new, LEVEL] = np.abs(values[is_new])
    weights, scaled = _scaled(own_terms, values)
    scaled[is_constant, DEVIATION] = 0.0
    scale = _length_scale(scaled)
    score = scale * float(np.vdot(weights, scaled))

    # The gradient of the score is scale · scaled.
    sign = 1.0 if positive else -1.0
    (n_own, _, _), (n_other, mean, scatter) = scores[int(positive)], scores[int(not positive)]
    pull = square = 0.0
    if n_other:
        pairwise, _ = psi_m_gradient(sign * (score - mean), scatter / n_other)
        balance = min(1.0, n_other / (n_own + weight))
        logistic = sigmoid(-sign * score + math.log(n_other / (n_own + weight)))
        pull = 0.5 * weight * (balance * pairwise + logistic)
        square = 0.5 * weight * (balance * pairwise * pairwise + logistic * logistic)
    squares += (scale * scale * square) * (scaled * scaled)
    roots = np.sqrt(squares)
    weights += (sign * scale * pull) * scaled / (ADAGRAD_OFFSET + roots)

    # Units and means follow the values, by as much as the weights move. A usual value leaves its
    # unit as it is. Features that do not vary are always at their usual deviation.
    sizes = np.abs(scaled)
    sizes[is_constant, DEVIATION] = USUAL_DEVIATION
    inertia = _USUAL + roots
    drift = units[:, DEVIATION] * scaled[:, DEVIATION] / inertia[:, DEVIATION]
    own_terms[:, DEVIATION, MEAN] += USUAL_DEVIATION * drift
    is_unusual = is_constant & (sizes[:, LEVEL] != USUAL_LEVEL)
    n_unusual[rows[is_unusual]] += 1.0
    starts = is_unusual & (EXAMPLES_PER_UNUSUAL_LEVEL * n_unusual[rows] >= n_seen)
    # The smaller of the two is hardly the outlier.
    first, level = np.abs(values[starts]), units[starts, LEVEL]
    own_terms[starts, DEVIATION, MEAN] = np.copysign(np.minimum(level, first), values[starts])
    units[starts, DEVIATION] = UNIT_PER_DEVIATION * np.abs(first - level)
    units *= (sizes + roots) / inertia
    varies = ~is_constant | starts
    smallest = np.maximum(MIN_UNIT_PER_LEVEL * units[varies, LEVEL], SMALLEST_UNIT)
    units[varies, DEVIATION] = np.maximum(units[varies, DEVIATION], smallest)
    terms[rows] = own_terms
    update_scores(scores, int(positive), score, weight)
    return score


def _scaled(terms: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the weights of the terms of an example, and their inputs in units of their own."""
    inputs = values[:, np.newaxis] - terms[..., MEAN]
    return terms[..., WEIGHT], inputs / (terms[..., UNIT] + np.abs(inputs))


def _length_scale(scaled: FloatArray) -> float:
    """Return the factor that divides an example by the square root of its length."""
    squared_length = float(np.vdot(scaled, scaled))
    return 1.0 / math.sqrt(math.sqrt(squared_length)) if squared_length else 0.0
