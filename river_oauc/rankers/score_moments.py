"""Mean and variance of the scores of a class, each taken before its example was learned."""

from __future__ import annotations

import math
import typing
from collections.abc import Sequence

from river_oauc.rankers.calibration import slope
from river_oauc.state import StateReader


class ScoreMoments(typing.NamedTuple):
    """Weighted count, mean and scatter of the scores of a class."""

    n: float = 0.0
    mean: float = 0.0
    scatter: float = 0.0

    @property
    def variance(self) -> float:
        return self.scatter / self.n

    def updated(self, score: float, weight: float) -> ScoreMoments:
        """Return the moments with one more score."""
        n = self.n + weight
        gap = score - self.mean
        scatter = self.scatter + weight * (self.n / n) * gap * gap
        return ScoreMoments(n, self.mean + weight / n * gap, scatter)

    def merged(self, other: ScoreMoments) -> ScoreMoments:
        """Return the moments of the scores of both."""
        if not other.n:
            return self
        both = self.updated(other.mean, other.n)
        return both._replace(scatter=both.scatter + other.scatter)

    @classmethod
    def from_state(cls, reader: StateReader, max_score: float) -> ScoreMoments:
        """Return the moments with this state, of scores within a bound."""
        n, scatter = reader.number("n", minimum=0.0), reader.number("scatter", minimum=0.0)
        mean = reader.number("mean", minimum=-max_score, maximum=max_score)
        reader.finish()
        return cls(n, mean, scatter)


def logit(scores: Sequence[ScoreMoments], score: float, empirical: bool) -> float:
    """Return the log odds of a positive, given the scores of negatives and of positives.

    The classes count as equally frequent, or as frequent as they have been.
    """
    negative, positive = scores
    if not (negative.n and positive.n):
        return score
    gap, midpoint = positive.mean - negative.mean, 0.5 * (positive.mean + negative.mean)
    # Both variances count alike, however rare the class.
    variance = 0.5 * (positive.variance + negative.variance)
    log_odds = slope(gap, variance) * (score - midpoint)
    return log_odds + math.log(positive.n / negative.n) if empirical else log_odds
