"""The losses of OAUC-M and of logistic regression on sparse examples."""

from __future__ import annotations

import math
import typing

import numpy as np

from river_oauc.acceleration import accelerated
from river_oauc.rankers.base import Ranker
from river_oauc.rankers.calibration import slope
from river_oauc.rankers.losses import psi_m_gradient, sigmoid
from river_oauc.state import FloatArray, IntArray, Stateful, damage

# Added to what divides a step, so that the first one is bounded.
ADAGRAD_OFFSET = 0.5

# The share of the loss of OAUC-M; the rest is that of the logistic loss.
PAIRWISE_SHARE = 0.25

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


class RowArrays(Stateful):
    """Arrays with a row per sparse feature, and room for more; see `Stateful` for the fields.

    The row after the last feature is free.
    """

    USED: typing.ClassVar[dict[str, str]] = {"p": "n_features"}

    n_features: int = 0

    def __init__(self) -> None:
        self._resize(1)

    def new_rows(self, name: str, first: int, n: int) -> FloatArray:
        """Return n rows of an array, for features that have not been seen, from a place on."""
        return np.zeros((n, *self.FIELDS[name][2:]))

    def make_room(self, n: int) -> None:
        """Have room for n features."""
        if n > self.n_features:
            if n >= len(getattr(self, self._names[0])):
                self._resize(n + n // 8 + 1)
            self.n_features = n

    @property
    def _names(self) -> list[str]:
        return [
            name for name, field in self.FIELDS.items() if type(field) is tuple and "p" in field
        ]

    def _resize(self, size: int, kept: typing.Any = slice(None)) -> None:
        arrays = {}
        for name in self._names:
            rows = getattr(self, name, self.new_rows(name, 0, 0))[: self.n_features][kept]
            new = self.new_rows(name, len(rows), size - len(rows))
            arrays[name] = np.concatenate((rows, new))
        # At once, so that no interrupt leaves arrays of different lengths.
        vars(self).update(arrays)

    def keep(self, rows: IntArray) -> None:
        """Forget all features but those in these rows."""
        self._resize(len(rows) + 1, rows)
        self.n_features = len(rows)

    def reindex(self, positions: IntArray, size: int) -> None:
        n = min(len(positions), self.n_features)
        arrays = {name: self.new_rows(name, 0, size + 1) for name in self._names}
        for name, array in arrays.items():
            array[positions[:n]] = getattr(self, name)[:n]
        vars(self).update(arrays, n_features=size)

    def check_state(self) -> None:
        # The last row is free.
        self._resize(self.n_features + 1)


class SparseRanker(RowArrays, Ranker):
    """A linear score on sparse examples, learned by AdaGrad on the mean of two losses.

    A feature has two terms, its level and its deviation from its own mean, and each has a weight.
    The deviation counts only if the feature varies from example to example.

    - A term x counts as x / (u + |x|), where the unit u follows its usual size.
    - An example is divided by the square root of its length.
    - In the loss of OAUC-M, its score is compared with mean and variance of the scores of the
      opposite class, each score taken before its example was learned. Both classes pull alike,
      however rare one of them is. This loss counts a quarter.
    - In the logistic loss, the classes are as frequent as they have been, and their log odds are
      the bias. So the negatives at the top of the list pull most.
    - A weight moves by its gradient over 1/2 + H^¾, where H is the sum of the second derivatives.

    Attributes
    ----------
    n_seen
        Number of examples.
    scores
        Weighted count, mean and scatter of the scores of the negatives and of the positives.
    terms
        An array with the axes feature, (level, deviation), and (weight, sum of second derivatives,
        unit, mean). A term that has not been seen has the unit `UNSEEN`, and a level has the mean
        0.
    n_unusual
        How often a feature that does not vary yet was not at its usual level.

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "n_seen": int, "scores": (float, 2, 3), "terms": (float, "p", 2, 4),
        "n_unusual": (float, "p"),
    }  # fmt: skip

    terms: FloatArray
    n_unusual: FloatArray

    def __init__(self) -> None:
        self.n_seen = 0
        self.scores: FloatArray = np.zeros((2, 3))
        super().__init__()

    def new_rows(self, name: str, first: int, n: int) -> FloatArray:
        rows = super().new_rows(name, first, n)
        if name == "terms":
            rows[..., UNIT] = UNSEEN
        return rows

    def score(self, example: SparseExample) -> float:
        return self.score_and_inputs(example)[0]

    def score_and_inputs(self, example: SparseExample) -> tuple[float, FloatArray]:
        """Return the score of an example, and of each entry its deviation, or else its level."""
        return sparse_score(self.terms, self.n_features, *example)

    def logit(self, score: float, empirical: bool) -> float:
        return scores_logit(self.scores, score, empirical)

    def learn(
        self, example: SparseExample, positive: bool, weight: float
    ) -> tuple[float, FloatArray]:
        """Learn from an example, and return the score and the inputs that it had before."""
        rows, values = example
        self.make_room(n_rows_needed(rows))
        self.n_seen += 1
        return sparse_step(
            self.terms, self.n_unusual, self.scores, self.n_seen, rows, values, positive, weight
        )

    def contributions(self, example: SparseExample) -> FloatArray:
        """Return the part that each feature of an example has in its score."""
        rows, values = example
        weights, scaled = _scaled(self.terms[np.minimum(rows, self.n_features)], values)
        parts: FloatArray = _length_scale(scaled) * (weights * scaled).sum(axis=1)
        return parts

    def best_rows(self, n: int) -> IntArray:
        """Return the n rows with the largest second derivatives; of equals, the newer."""
        squares = self.terms[: self.n_features, :, SQUARES].sum(axis=1)
        return np.sort(np.argsort(squares, kind="stable")[-n:])

    def merge(self, other: typing.Self) -> None:
        """Add second derivatives, and average the rest.

        Weights times one plus their second derivatives add up, as means of Gaussian posteriors over
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
        merge_scores(self.scores, other.scores)

    def check_state(self) -> None:
        check_scores(self.scores)
        units = self.terms[..., UNIT]
        if (self.terms[..., SQUARES] < 0.0).any() or (units < 0.0).any() or not units[:, 1].all():
            raise damage("a term has a unit or second derivatives that it cannot have")
        super().check_state()


def update_scores(scores: FloatArray, own: int, score: float, weight: float) -> None:
    """Add a score to weighted count, mean and scatter of the scores of its class."""
    n, mean, scatter = scores[own].tolist()
    total, deviation = n + weight, score - mean
    scatter += weight * (n / total) * deviation * deviation
    scores[own] = total, mean + weight / total * deviation, scatter


def merge_scores(scores: FloatArray, others: FloatArray) -> None:
    """Add count, mean and scatter of the scores of another part of the stream."""
    for own, (n, mean, scatter) in enumerate(others.tolist()):
        if n:
            update_scores(scores, own, mean, n)
            scores[own, 2] += scatter


def pull_of(scores: FloatArray, score: float, positive: bool, weight: float) -> tuple[float, float]:
    """Return how far the losses pull a score towards its class, and their second derivative."""
    sign = 1.0 if positive else -1.0
    (n_own, _, _), (n_other, mean, scatter) = scores[int(positive)], scores[int(not positive)]
    if not n_other:
        return 0.0, 0.0
    ratio = n_other / (n_own + weight)
    pairwise, _ = psi_m_gradient(sign * (score - mean), scatter / n_other)
    logistic = sigmoid(-sign * score + math.log(ratio))
    pull = PAIRWISE_SHARE * min(1.0, ratio) * pairwise + (1.0 - PAIRWISE_SHARE) * logistic
    return sign * weight * pull, weight * logistic * (1.0 - logistic)


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
def sparse_score(
    terms: FloatArray, n_features: int, rows: IntArray, values: FloatArray
) -> tuple[float, FloatArray]:
    """Return score and inputs of an example; rows beyond the features count as unseen."""
    own_terms = terms[np.minimum(rows, n_features)]
    weights, scaled = _scaled(own_terms, values)
    return _length_scale(scaled) * float(np.vdot(weights, scaled)), _inputs(own_terms, scaled)


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
) -> tuple[float, FloatArray]:
    """Learn from an example, and return the score and the inputs that it had before."""
    own_terms = terms[rows]
    units, squares = own_terms[..., UNIT], own_terms[..., SQUARES]
    is_new, is_constant = (units == UNSEEN).T
    units[is_new, LEVEL] = np.abs(values[is_new])
    weights, scaled = _scaled(own_terms, values)
    scaled[is_constant, DEVIATION] = 0.0
    scale = _length_scale(scaled)
    score = scale * float(np.vdot(weights, scaled))
    inputs = _inputs(own_terms, scaled)

    # The gradient of the score is scale · scaled.
    pull, curvature = pull_of(scores, score, positive, weight)
    squares += (scale * scale * curvature) * (scaled * scaled)
    roots = np.sqrt(squares)
    weights += (scale * pull) * scaled / (ADAGRAD_OFFSET + roots * np.sqrt(roots))

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
    return score, inputs


def _inputs(terms: FloatArray, scaled: FloatArray) -> FloatArray:
    """Return the deviation of each entry if its feature varies, or else its level."""
    varies = terms[:, DEVIATION, UNIT] != UNSEEN
    return np.where(varies, scaled[:, DEVIATION], scaled[:, LEVEL])


def _scaled(terms: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the weights of the terms of an example, and their inputs in units of their own."""
    inputs = values[:, np.newaxis] - terms[..., MEAN]
    return terms[..., WEIGHT], inputs / (terms[..., UNIT] + np.abs(inputs))


def _length_scale(scaled: FloatArray) -> float:
    """Return the factor that divides an example by the square root of its length."""
    squared_length = float(np.vdot(scaled, scaled))
    return 1.0 / math.sqrt(math.sqrt(squared_length)) if squared_length else 0.0
