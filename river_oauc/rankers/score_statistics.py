"""Class means and variances of recent scores, from which a ranker is calibrated."""

from __future__ import annotations

import math
import typing

from river_oauc.limits import MAX_SQUARED_NORM
from river_oauc.rankers.calibration import SMALLEST_DEVIATION, slope
from river_oauc.state import State, StateReader

# The unit of the scores is an average over about this many scores of both classes, and the means
# and variances are averages over about this many scores of a class.
_UNIT_MEMORY, _CLASS_MEMORY = 30, 100

# A score is at most √30 units, so no mean is larger and no variance larger than this.
_MAX_MEAN, _MAX_VARIANCE = 6.0, 200.0


class ClassScores(typing.NamedTuple):
    """Number, total weight, recent mean and recent variance of the scores of a class."""

    n: int = 0
    weight: float = 0.0
    mean: float = 0.0
    variance: float = 0.0

    def counting(self, weight: float) -> ClassScores:
        """Return the statistics with one more example whose score says nothing."""
        return self._replace(n=self.n + 1, weight=self.weight + weight)

    def updated(self, score: float, weight: float) -> ClassScores:
        """Return the statistics with one more score."""
        n = self.n + 1
        rate = 1.0 / min(n, _CLASS_MEMORY)
        deviation = score - self.mean
        variance = self.variance + rate * ((1.0 - rate) * deviation * deviation - self.variance)
        return ClassScores(n, self.weight + weight, self.mean + rate * deviation, variance)

    def merged(self, other: ClassScores) -> ClassScores:
        """Return the statistics of both parts of a stream."""
        if not other.n:
            return self
        n = self.n + other.n
        share, gap = other.n / n, other.mean - self.mean
        variance = self.variance + share * (other.variance - self.variance)
        variance += share * (1.0 - share) * gap * gap
        return ClassScores(n, self.weight + other.weight, self.mean + share * gap, variance)

    @classmethod
    def from_state(cls, reader: StateReader) -> ClassScores:
        """Return the statistics with this state."""
        scores = cls(
            reader.count("n"),
            reader.total_weight("weight"),
            reader.number("mean", -_MAX_MEAN, _MAX_MEAN),
            reader.number("variance", 0.0, _MAX_VARIANCE),
        )
        if (scores.n > 0) != (scores.weight > 0.0):
            raise reader.error(f"{scores.n} examples have a weight of {scores.weight:g}")
        reader.finish()
        return scores


class ScoreStatistics(typing.NamedTuple):
    """Running means and variances of the scores of two classes.

    For a ranker whose distribution of scores cannot be read off its state. The score of an example
    counts as it was before the example was learned. While a ranker learns, its scores may shrink or
    grow a hundredfold, and the last hundred scores of a rare class go back far: so scores are
    averaged in units of the recent scores of both classes.

    The statistics are immutable: `updated` and `merged` return new ones.

    Parameters
    ----------
    mean_square
        Mean square of the recent scores: the squared unit.
    classes
        Statistics of the negatives and of the positives, in units.

    Examples
    --------
    >>> from river_oauc.rankers.score_statistics import ScoreStatistics

    >>> statistics = ScoreStatistics()
    >>> for score in (1.0, -1.0, 3.0, -1.0) * 50:
    ...     statistics = statistics.updated(score, score > 0.0, weight=1.0)
    >>> [statistics.logit(score, level=0.0, empirical=False) for score in (-1.0, 0.5, 2.0)]
    [-7.9, 0.1, 8.0]

    """

    mean_square: float = 0.0
    classes: tuple[ClassScores, ClassScores] = (ClassScores(), ClassScores())

    def updated(self, score: float, positive: bool, weight: float) -> ScoreStatistics:
        """Return the statistics with one more score."""
        negatives, positives = self.classes
        rate = 1.0 / min(negatives.n + positives.n + 1, _UNIT_MEMORY)
        mean_square = self.mean_square + rate * (score * score - self.mean_square)
        own = positives if positive else negatives
        if mean_square < SMALLEST_DEVIATION:
            own = own.counting(weight)
        else:
            own = own.updated(score / math.sqrt(mean_square), weight)
        return ScoreStatistics(mean_square, (negatives, own) if positive else (own, positives))

    def logit(self, score: float, level: float, empirical: bool) -> float:
        """Return the log odds of a positive, given its score.

        Parameters
        ----------
        score
            The score.
        level
            What to add to the scores of the statistics.
        empirical
            Whether the classes count as frequent as they have been, or as equally frequent.

        """
        negatives, positives = self.classes
        if not (negatives.n and positives.n):
            return score
        unit = math.sqrt(self.mean_square)
        variance = 0.5 * (negatives.variance + positives.variance) * self.mean_square
        midpoint = level + 0.5 * unit * (negatives.mean + positives.mean)
        logit = slope(unit * (positives.mean - negatives.mean), variance) * (score - midpoint)
        return logit + math.log(positives.weight / negatives.weight) if empirical else logit

    def merged(self, other: ScoreStatistics) -> ScoreStatistics:
        """Return the statistics of both parts of a stream, weighted by their numbers of scores."""
        n, n_other = (sum(each.n for each in part.classes) for part in (self, other))
        share = n_other / (n + n_other) if n_other else 0.0
        mean_square = self.mean_square + share * (other.mean_square - self.mean_square)
        negatives, positives = self.classes
        return ScoreStatistics(
            mean_square,
            (negatives.merged(other.classes[0]), positives.merged(other.classes[1])),
        )

    def get_state(self) -> State:
        """Return a copy of the state."""
        return {
            "mean_square": self.mean_square,
            "classes": [each._asdict() for each in self.classes],
        }

    @classmethod
    def from_state(cls, reader: StateReader) -> ScoreStatistics:
        """Return the statistics with this state."""
        mean_square = reader.number("mean_square", 0.0, MAX_SQUARED_NORM**2.5)
        negatives, positives = map(ClassScores.from_state, reader.readers("classes", 2))
        reader.finish()
        return cls(mean_square, (negatives, positives))
