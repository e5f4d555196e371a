"""The losses of OAUC-M and of logistic regression on sparse examples."""

from __future__ import annotations

import math
import typing

import numpy as np

from river_oauc.limits import MAX_NORM, MAX_SQUARED_NORM
from river_oauc.rankers.base import FloatArray, IntArray, SparseExample
from river_oauc.rankers.losses import psi_m_gradient, sigmoid
from river_oauc.rankers.score_moments import ScoreMoments, logit
from river_oauc.state import State, StateReader

# Added to the root of the squared gradients, so that the first step of a weight is bounded.
ADAGRAD_OFFSET = 0.5

# A value x with unit u becomes x / (u + |x|). The unit of a level is its usual size, so the usual
# level becomes one half. The unit of a deviation is three times its usual size, so most deviations
# are in the range where the map is nearly linear, and the usual one becomes a quarter.
USUAL_LEVEL, USUAL_DEVIATION = 0.5, 0.25
UNIT_PER_DEVIATION = 1.0 / USUAL_DEVIATION - 1.0
_USUAL = np.array([[USUAL_LEVEL], [USUAL_DEVIATION]])

# A feature varies if its level is not the usual one in at least one of this many examples.
EXAMPLES_PER_UNUSUAL_LEVEL = 10

# The unit of a deviation is at least this part of the unit of the level, so that rounding errors do
# not count as deviations, and at least the smallest normal number, so that it never divides 0 by 0.
MIN_UNIT_PER_LEVEL, SMALLEST_UNIT = 2.0**-20, 2.0**-1022

# The unit of a term that has not been seen. In this unit every value counts as 0.
UNSEEN = 1e300

# No value is above MAX_NORM, so no mean and no weight is above this bound.
_MAX_NUMBER = 2.0 * MAX_NORM

# What is known of a term, and the two terms of a feature: the first two axes of `terms`.
WEIGHT, SQUARES, UNIT, MEAN = range(4)
LEVEL, DEVIATION = 0, 1
_FIELDS = ("weights", "squares", "units", "means")


class SparseRanker:
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
        Moments of the scores of the negatives and of the positives.
    n_features
        Number of features. The arrays are longer, and their last row is always free.
    terms
        An array with the axes (weight, sum of squared gradients, unit, mean), (level, deviation)
        and feature. A term that has not been seen has the unit `UNSEEN`, and a level has the mean
        0.
    n_unusual
        How often a feature that does not vary yet was not at its usual level.

    """

    def __init__(self) -> None:
        self.n_seen = 0
        self.scores = [ScoreMoments(), ScoreMoments()]
        self.terms, self.n_unusual, self.n_features = empty_terms(1), np.zeros(1), 0

    def score(self, example: SparseExample) -> float:
        weights, scaled = self._scaled(example)
        return _length_scale(scaled) * float(np.vdot(weights, scaled))

    def contributions(self, example: SparseExample) -> FloatArray:
        """Return the part that each feature of an example has in its score."""
        weights, scaled = self._scaled(example)
        parts: FloatArray = _length_scale(scaled) * (weights * scaled).sum(axis=0)
        return parts

    def _scaled(self, example: SparseExample) -> tuple[FloatArray, FloatArray]:
        """Return the weights of the terms of an example, and their inputs in units of their own."""
        rows, values = example
        # An unknown row becomes the last one, which is free.
        terms = self.terms.take(rows, 2, mode="clip")
        inputs = values - terms[MEAN]
        return terms[WEIGHT], inputs / (terms[UNIT] + np.abs(inputs))

    def learn(self, example: SparseExample, positive: bool, weight: float) -> float:
        rows, values = example
        n_features, n_seen = self.n_features, self.n_seen + 1
        terms = self.terms.take(rows, 2, mode="clip")
        weights, squares, units = terms[WEIGHT], terms[SQUARES], terms[UNIT]
        inputs = values - terms[MEAN]
        sizes = np.abs(inputs)
        unseen = units == UNSEEN
        new, is_constant = unseen[LEVEL], unseen[DEVIATION]
        if np.count_nonzero(new):
            n_features = max(n_features, int(rows.max()) + 1)
            np.copyto(units[LEVEL], sizes[LEVEL], where=new)
        scaled = inputs / (units + sizes)
        n_constant = np.count_nonzero(is_constant)
        if n_constant:
            np.copyto(scaled[DEVIATION], 0.0, where=is_constant)
        scale = _length_scale(scaled)
        score = scale * float(np.vdot(weights, scaled))

        # The gradient of the score is scale · scaled.
        sign = 1.0 if positive else -1.0
        own, opposite = self.scores[positive].updated(score, weight), self.scores[not positive]
        pull = square = 0.0
        if opposite.n:
            pairwise = psi_m_gradient(sign * (score - opposite.mean), opposite.variance)[0]
            balance = min(1.0, opposite.n / own.n)
            logistic = sigmoid(-sign * score + math.log(opposite.n / own.n))
            pull = 0.5 * weight * (balance * pairwise + logistic)
            square = 0.5 * weight * (balance * pairwise * pairwise + logistic * logistic)
        squares += (scale * scale * square) * (scaled * scaled)
        roots = np.sqrt(squares)
        weights += (sign * scale * pull) * scaled / (ADAGRAD_OFFSET + roots)

        # Features that do not vary are always at their usual deviation.
        scaled_sizes = np.abs(scaled)
        unusual = starts_varying = rows[:0]
        if n_constant:
            np.copyto(scaled_sizes[DEVIATION], USUAL_DEVIATION, where=is_constant)
            (unusual,) = (is_constant & (scaled_sizes[LEVEL] != USUAL_LEVEL)).nonzero()
        if len(unusual):
            n_unusual = self.n_unusual.take(rows[unusual], mode="clip") + 1.0
            starts_varying = unusual[EXAMPLES_PER_UNUSUAL_LEVEL * n_unusual >= n_seen]
        # If no feature varies, and every level is usual, units and means stay as they are.
        if n_constant < len(rows) or len(unusual):
            _update_units_and_means(terms, scaled, scaled_sizes, roots, values, starts_varying)

        # An interrupt between any two lines leaves arrays that belong together.
        self._make_room(n_features)
        self.n_seen, self.n_features = n_seen, n_features
        self.terms[:, :, rows] = terms
        if len(unusual):
            self.n_unusual[rows[unusual]] += 1.0
        self.scores[positive] = own
        return score

    def _make_room(self, n_features: int) -> None:
        """Make the arrays longer, by an eighth at least, if they have no room for a free row."""
        size = self.terms.shape[2]
        if n_features >= size:
            n_more = n_features + n_features // 8 + 1 - size
            self.terms, self.n_unusual = (
                np.concatenate((self.terms, empty_terms(n_more)), axis=2),
                np.concatenate((self.n_unusual, np.zeros(n_more))),
            )

    def logit(self, score: float, empirical: bool) -> float:
        return logit(self.scores, score, empirical)

    def keep(self, n_features: int) -> IntArray:
        """Forget all features but those with the largest squared gradients.

        Of equals, the newer ones are kept. Return the rows that the kept ones had.
        """
        squares = self.terms[SQUARES, :, : self.n_features].sum(axis=0)
        kept = np.sort(np.argsort(squares, kind="stable")[-n_features:])
        self._move(kept, np.arange(len(kept)), len(kept))
        return kept

    def reindex(self, positions: IntArray, n_features: int) -> None:
        self._move(np.arange(self.n_features), positions[: self.n_features], n_features)

    def _move(self, rows: IntArray, positions: IntArray, n_features: int) -> None:
        terms, n_unusual = empty_terms(n_features + 1), np.zeros(n_features + 1)
        terms[:, :, positions], n_unusual[positions] = self.terms[:, :, rows], self.n_unusual[rows]
        self.terms, self.n_unusual, self.n_features = terms, n_unusual, n_features

    def merge(self, other: typing.Self) -> None:
        """Add squared gradients, and average the rest.

        Weights times one plus their squared gradients add up, as means of Gaussian posteriors over
        a prior of precision 1. So the weights of frequent features are averaged, and those of rare
        ones are added, whatever the order. Units and means are averaged by how settled they are.
        """
        n = self.n_features + 1
        mine, theirs = self.terms[:, :, :n], other.terms[:, :, :n]
        my_precision, their_precision = 1.0 + mine[SQUARES], 1.0 + theirs[SQUARES]
        my_settled, their_settled = (_USUAL + np.sqrt(each[SQUARES]) for each in (mine, theirs))
        share = their_settled / (my_settled + their_settled)
        share[mine[UNIT] == UNSEEN] = 1.0
        share[theirs[UNIT] == UNSEEN] = 0.0
        terms = (1.0 - share) * mine + share * theirs
        terms[SQUARES] = mine[SQUARES] + theirs[SQUARES]
        terms[WEIGHT] = my_precision * mine[WEIGHT] + their_precision * theirs[WEIGHT]
        terms[WEIGHT] /= 1.0 + terms[SQUARES]
        scores = [a.merged(b) for a, b in zip(self.scores, other.scores, strict=True)]
        self.n_seen, self.scores = self.n_seen + other.n_seen, scores
        self.terms, self.n_unusual = terms, self.n_unusual[:n] + other.n_unusual[:n]

    def get_state(self) -> State:
        n = self.n_features
        return make_state(self.n_seen, self.scores, self.terms[..., :n], self.n_unusual[:n])

    def set_state(self, reader: StateReader) -> None:
        n_seen = reader.count("n_seen")
        scores = [
            ScoreMoments.from_state(each, _MAX_NUMBER) for each in reader.readers("scores", 2)
        ]
        n_unusual = reader.array("n_unusual", None, minimum=0.0, maximum=n_seen)
        n_features = len(n_unusual)
        terms = empty_terms(n_features + 1)
        terms[:MEAN, LEVEL, :n_features] = _read_terms(reader.reader("levels"), n_features)
        deviations = reader.reader("deviations")
        varying = deviations.integers("features", None, maximum=n_features - 1)
        if len(np.unique(varying)) < len(varying):
            raise deviations.error("a feature has two deviations")
        terms[MEAN, DEVIATION, varying] = deviations.array(
            "means", len(varying), minimum=-_MAX_NUMBER, maximum=_MAX_NUMBER
        )
        terms[:MEAN, DEVIATION, varying] = _read_terms(deviations, len(varying), SMALLEST_UNIT)
        reader.finish()
        self.n_seen, self.scores = n_seen, scores
        self.terms, self.n_unusual, self.n_features = terms, np.append(n_unusual, 0.0), n_features


def empty_terms(n_features: int) -> FloatArray:
    """Return the terms of features that have not been seen."""
    terms = np.zeros((4, 2, n_features))
    terms[UNIT] = UNSEEN
    return terms


def make_state(
    n_seen: int,
    scores: typing.Sequence[tuple[float, float, float]],
    terms: FloatArray,
    n_unusual: FloatArray,
) -> State:
    """Return the state of a ranker. It has deviations only of features that vary."""
    varying = np.flatnonzero(terms[UNIT, DEVIATION] != UNSEEN).astype(np.int64)
    levels, deviations = (
        {field: numbers.copy() for field, numbers in zip(_FIELDS, each, strict=True)}
        for each in (terms[:, LEVEL], terms[:, DEVIATION, varying])
    )
    del levels["means"]
    return {
        "n_seen": n_seen,
        "scores": [ScoreMoments(*each)._asdict() for each in scores],
        "n_unusual": n_unusual.copy(),
        "levels": levels,
        "deviations": {"features": varying, **deviations},
    }


def _read_terms(reader: StateReader, n: int, smallest_unit: float = 0.0) -> FloatArray:
    """Return weight, squared gradients and unit of each term."""
    weights = reader.array("weights", n, minimum=-_MAX_NUMBER, maximum=_MAX_NUMBER)
    squares = reader.array("squares", n, minimum=0.0, maximum=MAX_SQUARED_NORM)
    units = reader.array("units", n, minimum=smallest_unit, maximum=UNSEEN)
    reader.finish()
    return np.array((weights, squares, units))


def _update_units_and_means(
    terms: FloatArray,
    scaled: FloatArray,
    scaled_sizes: FloatArray,
    roots: FloatArray,
    values: FloatArray,
    starts_varying: IntArray,
) -> None:
    """Let units and means follow the values, by as much as the weights move.

    A usual value leaves its unit as it is, and none makes it more than twice as large. Some of the
    features begin to vary.
    """
    units, means = terms[UNIT], terms[MEAN]
    settled = _USUAL + roots
    drift = units[DEVIATION] * scaled[DEVIATION] / settled[DEVIATION]
    means[DEVIATION] += USUAL_DEVIATION * drift
    if len(starts_varying):
        first_values, first_units = values[starts_varying], units[LEVEL, starts_varying]
        sizes = np.abs(first_values)
        # The smaller of the two is hardly the outlier.
        means[DEVIATION, starts_varying] = np.copysign(np.minimum(first_units, sizes), first_values)
        units[DEVIATION, starts_varying] = UNIT_PER_DEVIATION * np.abs(sizes - first_units)
    units *= (scaled_sizes + roots) / settled
    finest = np.maximum(MIN_UNIT_PER_LEVEL * units[LEVEL], SMALLEST_UNIT)
    np.maximum(units[DEVIATION], finest, out=units[DEVIATION])


def _length_scale(scaled: FloatArray) -> float:
    """Return the factor that divides an example by the square root of its length."""
    squared_length = float(np.vdot(scaled, scaled))
    return 1.0 / math.sqrt(math.sqrt(squared_length)) if squared_length else 0.0
