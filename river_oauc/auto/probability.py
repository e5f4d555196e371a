"""Probabilities from the scores that examples got before they were learned."""

from __future__ import annotations

import math
import typing

from river_oauc.calibration import Calibration
from river_oauc.inputs.records import Record
from river_oauc.stats.pooling import pooled

__all__ = ["ProgressiveScores"]

# Before there are scores, each class has so many, at -1/2 and 1/2, with this variance; later about
# so many of each class count.
_N_ASSUMED, _MEAN_ASSUMED, _VARIANCE_ASSUMED = 100, 0.5, 0.25
_MEMORY = 300

# The steepness of balanced probabilities: that of the assumed scores, and for ever. The scores are
# on a fixed scale, and steepness that moves would shuffle the order of examples far apart in time.
_SLOPE = 2.0 * _MEAN_ASSUMED / _VARIANCE_ASSUMED

# The steepness of empirical ones follows the scores, within these bounds, over so many examples.
_FLATTEST, _STEEPEST, _SLOPE_MEMORY = 1.0, 12.0, 1000

# No variance is taken to be smaller than this.
_SMALLEST_VARIANCE = 1e-6

# The share of positives is that of about so many examples, and of one more that is neither.
_SHARE_MEMORY = 1000

# No share is taken to be closer to 0 or 1 than this: after a million examples of one class, or one
# of a huge weight, rounding leaves nothing of the other.
_SMALLEST_SHARE = 1e-12


class ProgressiveScores(Record):
    """Class means and variances of recent scores, and the recent share of positives.

    For a learner whose scores lie near -1 and 1. One half is half way between the recent class
    means of the scores, so that it follows a change.
    """

    __fields__ = ("_n", "_means", "_variances", "_slope", "_total", "_share")

    def __init__(self) -> None:
        # Of the negatives and of the positives.
        self._n = [_N_ASSUMED, _N_ASSUMED]
        self._means = [-_MEAN_ASSUMED, _MEAN_ASSUMED]
        self._variances = [_VARIANCE_ASSUMED, _VARIANCE_ASSUMED]
        self._slope = _SLOPE
        self._total = 0.0
        self._share = 0.5

    def add(self, score: float, positive: bool, w: float, both_seen: bool) -> None:
        """Count a score; it says something only from when both classes have been seen."""
        self._total = self._total * (1.0 - 1.0 / _SHARE_MEMORY) + w
        self._share += w / (self._total + 1.0) * (positive - self._share)
        if not both_seen:
            return
        n, means, variances = self._n, self._means, self._variances
        n[positive] += 1
        rate = 1.0 / (n[positive] if n[positive] < _MEMORY else _MEMORY)
        deviation = score - means[positive]
        means[positive] += rate * deviation
        variances[positive] += rate * ((1.0 - rate) * deviation * deviation - variances[positive])
        variance = 0.5 * (variances[0] + variances[1])
        slope = (means[1] - means[0]) / max(variance, _SMALLEST_VARIANCE)
        self._slope += (min(max(slope, _FLATTEST), _STEEPEST) - self._slope) / _SLOPE_MEMORY

    def __iadd__(self, other: typing.Self) -> typing.Self:
        """Pool with the scores of another part of the stream, by what is remembered."""
        for of_class in (0, 1):
            n, n_other = (min(one._n[of_class], _MEMORY) - _N_ASSUMED for one in (self, other))
            share = n_other / (n + n_other) if n_other else 0.0
            self._means[of_class], self._variances[of_class] = pooled(
                self._means[of_class],
                self._variances[of_class],
                other._means[of_class],
                other._variances[of_class],
                share,
            )
            self._n[of_class] += other._n[of_class] - _N_ASSUMED
        share = other._total / (self._total + other._total) if other._total else 0.0
        self._total += other._total
        self._share += share * (other._share - self._share)
        self._slope += share * (other._slope - self._slope)
        return self

    def set(self, calibration: Calibration) -> None:
        """Make a calibration say what these scores say."""
        calibration.midpoint = 0.5 * (self._means[0] + self._means[1])
        calibration.slope = _SLOPE
        if calibration.prior == "empirical":
            calibration.slope = self._slope
            share = min(max(self._share, _SMALLEST_SHARE), 1.0 - _SMALLEST_SHARE)
            calibration.log_odds = math.log(share / (1.0 - share))
