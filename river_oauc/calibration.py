"""From a score that ranks to a probability that a metric can read."""

from __future__ import annotations

import math
import typing

import numpy as np

from river_oauc.inputs.arrays import FloatArray
from river_oauc.inputs.parameters import check_choice
from river_oauc.inputs.records import Record
from river_oauc.stats.pooling import pooled

__all__ = ["Calibration", "ScoreStatistics"]

# Classes further apart than this many standard deviations count as this far apart, and classes
# that are closer, or the wrong way round, as this close: the map stays strictly increasing and
# never becomes a step.
_WIDEST, _NARROWEST = 4.0, 0.1

# Beyond this many logits the map grows like a logarithm. A plain sigmoid rounds everything beyond
# 37 to the same 1.0, and what the score had ranked would become ties.
_LINEAR_RANGE = 8.0

# Scores that differ by less than this are one score: their slope would be too steep for a double.
_SMALLEST_DEVIATION = 1e-150

# How many scores count, about, where they cannot be read off the moments: of both classes for the
# unit that they are averaged in, and of each class for the averages.
_RECENT, _MEMORY = 30, 100


class Calibration(Record):
    """The posterior of two Gaussian classes of scores with one variance.

    With class means m₊ and m₋ and variance s² of the scores, the probability of a positive is the
    sigmoid of (m₊ - m₋) / s² · (score - (m₊ + m₋) / 2). As the map is strictly increasing, it never
    changes a ranking; it spreads the scores over the unit interval, where `metrics.ROCAUC` has its
    thresholds; and its one half is the threshold that balances the errors of the two classes. A
    plain sigmoid of the score does none of this: `metrics.ROCAUC` then reads 0.5 whatever the
    ranking.

    Parameters
    ----------
    prior
        `"balanced"`: both classes are taken to be equally frequent. `"empirical"`: as frequent as
        they have been, so that probabilities mean frequencies.

    Examples
    --------
    >>> from river_oauc.calibration import Calibration

    >>> calibration = Calibration()
    >>> calibration.probability(3.0)
    0.953

    >>> calibration.fit(mean_positive=5.0, mean_negative=1.0, variance=4.0, odds=1 / 99)
    >>> [calibration.probability(score) for score in (1.0, 3.0, 5.0)]
    [0.119, 0.5, 0.881]

    """

    __fields__ = ("prior", "slope", "midpoint", "log_odds")

    def __init__(self, prior: str = "balanced") -> None:
        check_choice("prior", prior, ("balanced", "empirical"))
        self.prior = prior
        self.slope = 1.0
        self.midpoint = 0.0
        self.log_odds = 0.0

    def fit(
        self,
        mean_positive: float,
        mean_negative: float,
        variance: float,
        odds: float,
    ) -> None:
        """Set the map from the scores' class means, their variance, and the odds of a positive."""
        self.midpoint = 0.5 * (mean_positive + mean_negative)
        gap = mean_positive - mean_negative
        deviation = math.sqrt(variance)
        # Comparisons, and not min and max, which take three times as long.
        widest = abs(gap) / _WIDEST
        if widest > deviation:
            deviation = widest
        if deviation < _SMALLEST_DEVIATION:
            self.slope = 1.0
        else:
            separation = gap / deviation
            if separation < _NARROWEST:
                separation = _NARROWEST
            elif separation > _WIDEST:
                separation = _WIDEST
            self.slope = separation / deviation
        if self.prior == "empirical":
            self.log_odds = math.log(odds)

    def probability(self, score: float) -> float:
        """The probability that an example with this score is positive."""
        logit = self.slope * (score - self.midpoint) + self.log_odds
        if logit > _LINEAR_RANGE:
            logit = _LINEAR_RANGE + math.log1p(logit - _LINEAR_RANGE)
        elif logit < -_LINEAR_RANGE:
            # The score of a steep kernel may be so low that exp(-logit) has no double.
            odds = math.exp(-_LINEAR_RANGE - math.log1p(-_LINEAR_RANGE - logit))
            return odds / (1.0 + odds)
        return 1.0 / (1.0 + math.exp(-logit))

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """`probability` of each of many scores."""
        with np.errstate(over="ignore"):
            logits = self.slope * (scores - self.midpoint) + self.log_odds
        beyond = np.maximum(np.abs(logits) - _LINEAR_RANGE, 0.0)
        logits = np.clip(logits, -_LINEAR_RANGE, _LINEAR_RANGE)
        logits += np.copysign(np.log1p(beyond), logits)
        # The odds of the less likely class: at most one, however extreme the score.
        odds = np.exp(-np.abs(logits))
        probabilities: FloatArray = np.where(logits < 0.0, odds, 1.0) / (1.0 + odds)
        return probabilities


class ScoreStatistics(Record):
    """Running means and variances of the scores of two classes.

    For a learner from which they cannot be read off. The score of an example counts as it was
    before the example was learned. A learner's scores may shrink or grow a hundredfold while it
    learns, and the last hundred positives of a rare class go back far: so scores are averaged in
    units of the recent ones of both classes.

    Examples
    --------
    >>> from river_oauc.calibration import Calibration, ScoreStatistics

    >>> statistics = ScoreStatistics()
    >>> for score in (1.0, -1.0, 3.0, -1.0) * 50:
    ...     statistics.add(score, positive=score > 0.0)
    >>> calibration = Calibration()
    >>> statistics.fit(calibration)
    >>> calibration.midpoint
    0.5

    """

    __fields__ = ("_mean_square", "_negative", "_positive")

    def __init__(self) -> None:
        self._mean_square = 0.0
        self._negative = _ClassScores()
        self._positive = _ClassScores()

    def add(self, score: float, positive: bool) -> None:
        """Count the score of an example."""
        own = self._positive if positive else self._negative
        own.n += 1
        n_seen = self._negative.n + self._positive.n
        mean_square = self._mean_square
        mean_square += (score * score - mean_square) / (n_seen if n_seen < _RECENT else _RECENT)
        self._mean_square = mean_square
        if mean_square < _SMALLEST_DEVIATION:
            return
        rate = 1.0 / (own.n if own.n < _MEMORY else _MEMORY)
        deviation = score / math.sqrt(mean_square) - own.mean
        own.mean += rate * deviation
        own.variance += rate * ((1.0 - rate) * deviation * deviation - own.variance)

    def __iadd__(self, other: typing.Self) -> typing.Self:
        """Pool with the scores of another part of the stream, by their numbers."""
        n, n_other = self._negative.n + self._positive.n, other._negative.n + other._positive.n
        if n_other:
            self._mean_square += n_other / (n + n_other) * (other._mean_square - self._mean_square)
            self._negative.pool(other._negative)
            self._positive.pool(other._positive)
        return self

    def fit(self, calibration: Calibration, level: float = 0.0) -> None:
        """Fit a calibration to scores `level` higher than these, if both classes have been seen."""
        negative, positive = self._negative, self._positive
        if negative.n and positive.n:
            unit = math.sqrt(self._mean_square)
            calibration.fit(
                mean_positive=level + unit * positive.mean,
                mean_negative=level + unit * negative.mean,
                variance=0.5 * (negative.variance + positive.variance) * self._mean_square,
                odds=positive.n / negative.n,
            )


class _ClassScores(Record):
    """The number of scores of a class, and their recent mean and variance."""

    __fields__ = ("n", "mean", "variance")

    def __init__(self) -> None:
        self.n = 0
        self.mean = 0.0
        self.variance = 0.0

    def pool(self, other: _ClassScores) -> None:
        """Average with the scores of the class in another part of the stream."""
        self.n += other.n
        if other.n:
            self.mean, self.variance = pooled(
                self.mean, self.variance, other.mean, other.variance, other.n / self.n
            )
