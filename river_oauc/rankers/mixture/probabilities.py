"""Log odds from the scores that examples got before they were learned."""

from __future__ import annotations

import math
import typing

import numpy as np

from river_oauc.rankers.mixture.constants import (
    ASSUMED_MEAN,
    ASSUMED_VARIANCE,
    BALANCED_SLOPE,
    FLATTEST_SLOPE,
    N_ASSUMED,
    PRIOR_MEMORY,
    SCORE_MEMORY,
    SLOPE_MEMORY,
    SMALLEST_PRIOR,
    SMALLEST_SCORE_VARIANCE,
    STEEPEST_SLOPE,
)
from river_oauc.state import State, StateReader


class ProgressiveScores:
    """Class means and variances of recent scores, and the recent share of positives.

    It is for scores near -1 and 1. A probability of one half is half way between the recent class
    means of the scores, so it follows a change.
    """

    def __init__(self) -> None:
        # Of the negatives and of the positives: how many have been seen at all, and how many scores
        # were given by a model that had seen both classes.
        self._n_seen = [0, 0]
        self._n = [N_ASSUMED, N_ASSUMED]
        self._means = [-ASSUMED_MEAN, ASSUMED_MEAN]
        self._variances = [ASSUMED_VARIANCE, ASSUMED_VARIANCE]
        self._slope = BALANCED_SLOPE
        # The recent weight of all examples, and the share of the positives in it.
        self._total = 0.0
        self._prior = 0.5

    def update(self, score: float, positive: bool, w: float) -> None:
        """Follow the score that a new example got."""
        self._n_seen[positive] += 1
        total = self._total * (1.0 - 1.0 / PRIOR_MEMORY) + w
        # As if there had been one more example that was neither.
        self._prior += w / (total + 1.0) * (positive - self._prior)
        self._total = total
        if not all(self._n_seen):
            return
        means, variances = self._means, self._variances
        self._n[positive] += 1
        rate = 1.0 / min(self._n[positive], SCORE_MEMORY)
        deviation = score - means[positive]
        means[positive] += rate * deviation
        variances[positive] += rate * ((1.0 - rate) * deviation * deviation - variances[positive])
        variance = max(0.5 * sum(variances), SMALLEST_SCORE_VARIANCE)
        slope = min(max((means[1] - means[0]) / variance, FLATTEST_SLOPE), STEEPEST_SLOPE)
        self._slope += (slope - self._slope) / SLOPE_MEMORY

    def logit(self, score: float, empirical: bool) -> float:
        """Return the log odds of a positive with this score."""
        centred = score - 0.5 * (self._means[0] + self._means[1])
        if not empirical:
            return BALANCED_SLOPE * centred
        prior = min(max(self._prior, SMALLEST_PRIOR), 1.0 - SMALLEST_PRIOR)
        return self._slope * centred + math.log(prior / (1.0 - prior))

    def merge(self, other: ProgressiveScores) -> None:
        """Add the scores of another part of the stream, by what is remembered."""
        for k in range(2):
            n, n_other = (min(each._n[k], SCORE_MEMORY) - N_ASSUMED for each in (self, other))
            share = n_other / (n + n_other) if n_other else 0.0
            gap = other._means[k] - self._means[k]
            self._means[k] += share * gap
            self._variances[k] += share * (other._variances[k] - self._variances[k])
            self._variances[k] += share * (1.0 - share) * gap * gap
            self._n[k] += other._n[k] - N_ASSUMED
            self._n_seen[k] += other._n_seen[k]
        share = other._total / (self._total + other._total) if other._total else 0.0
        self._total += other._total
        self._prior += share * (other._prior - self._prior)
        self._slope += share * (other._slope - self._slope)

    def get_state(self) -> State:
        """Return a copy of the state."""
        return {
            "n_seen": np.array(self._n_seen, dtype=np.int64),
            "n": np.array(self._n, dtype=np.int64),
            "means": np.array(self._means),
            "variances": np.array(self._variances),
            "slope": self._slope,
            "total": self._total,
            "prior": self._prior,
        }

    @classmethod
    def from_state(cls, reader: StateReader) -> typing.Self:
        """Return the statistics with this state."""
        scores = cls()
        scores._n_seen = reader.integers("n_seen", 2).tolist()
        scores._n = reader.integers("n", 2, minimum=N_ASSUMED).tolist()
        scores._means = reader.array("means", 2).tolist()
        scores._variances = reader.array("variances", 2, minimum=0.0).tolist()
        scores._slope = reader.number("slope", minimum=0.0)
        scores._total = reader.number("total", minimum=0.0)
        scores._prior = reader.number("prior")
        reader.finish()
        return scores
