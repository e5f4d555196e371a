"""Calibration: scores as probabilities in the same order.

The probability of a positive is the posterior of two Gaussian classes of scores with one variance.
With class means m₊ and m₋ and variance s², it is the sigmoid of (m₊ - m₋) / s² · (score - midpoint)
with the midpoint (m₊ + m₋) / 2, plus the log prior odds if the classes are not taken as balanced.
The map is strictly increasing, so it never changes a ranking; it spreads the scores over the unit
interval, where `metrics.ROCAUC` has its thresholds; and one half balances the errors of the two
classes. After a plain sigmoid of the score, `metrics.ROCAUC` reads 0.5 whatever the ranking.
"""

from __future__ import annotations

import math

# Classes further apart than this many standard deviations count as this far apart, and classes that
# are closer, or in the wrong order, as this close: the map always increases, and is never a step.
MAX_SEPARATION, MIN_SEPARATION = 4.0, 0.1

# Scores that differ by less than this are equal: their slope would be too steep for a double.
SMALLEST_DEVIATION = 1e-150
MAX_SLOPE = MAX_SEPARATION / SMALLEST_DEVIATION

# Beyond this many logits the map grows like a logarithm. A plain sigmoid rounds everything beyond
# 37 to 1.0, and turns what the score had ranked into ties.
_LINEAR_RANGE = 8.0


def slope(gap: float, variance: float) -> float:
    """Return the logits per unit of the score.

    Parameters
    ----------
    gap
        Difference of the class means of the scores.
    variance
        Variance of the scores within a class.

    """
    deviation = max(math.sqrt(variance), abs(gap) / MAX_SEPARATION)
    if deviation < SMALLEST_DEVIATION:
        return 1.0
    return min(max(gap / deviation, MIN_SEPARATION), MAX_SEPARATION) / deviation


def probability(logit: float) -> float:
    """Return the probability of a positive, given its log odds.

    Examples
    --------
    >>> from river_oauc.rankers.calibration import probability
    >>> [probability(logit) for logit in (-3.0, 0.0, 3.0)]
    [0.047, 0.5, 0.953]

    """
    if logit > _LINEAR_RANGE:
        logit = _LINEAR_RANGE + math.log1p(logit - _LINEAR_RANGE)
    elif logit < -_LINEAR_RANGE:
        # Not 1 / (1 + exp(-logit)): a steep kernel may make exp(-logit) overflow.
        odds = math.exp(-_LINEAR_RANGE - math.log1p(-_LINEAR_RANGE - logit))
        return odds / (1.0 + odds)
    return 1.0 / (1.0 + math.exp(-logit))
