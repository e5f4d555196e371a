"""Class means and variances of recent scores, from which a ranker is calibrated."""

from __future__ import annotations

import math
import typing

import numpy as np

from river_oauc.acceleration import accelerated
from river_oauc.rankers.calibration import SMALLEST_DEVIATION, slope
from river_oauc.state import FloatArray, Stateful, damage

# The unit of the scores is an average over about this many scores of both classes, and the means
# and variances are averages over about this many scores of a class.
UNIT_MEMORY, CLASS_MEMORY = 30, 100


class RecentScores(Stateful):
    """Running means and variances of the scores of two classes.

    For a ranker whose distribution of scores cannot be read off its state. The score of an example
    counts as it was before the example was learned. While a ranker learns, its scores may shrink or
    grow a hundredfold, and the last hundred scores of a rare class go back far: so scores are
    averaged in units of the recent scores of both classes.

    Attributes
    ----------
    mean_square
        Mean square of the recent scores: the squared unit.
    classes
        Number, total weight, recent mean and recent variance of the scores of the negatives and of
        the positives, the last two in units.

    Examples
    --------
    >>> from river_oauc.rankers.scores import RecentScores

    >>> scores = RecentScores()
    >>> for score in (1.0, -1.0, 3.0, -1.0) * 50:
    ...     scores.update(score, score > 0.0, weight=1.0)
    >>> [scores.logit(score, level=0.0, empirical=False) for score in (-1.0, 0.5, 2.0)]
    [-7.9, 0.1, 8.0]

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "mean_square": float,
        "classes": (float, 2, 4),
    }

    def __init__(self) -> None:
        self.mean_square = 0.0
        self.classes: FloatArray = np.zeros((2, 4))

    @property
    def n(self) -> int:
        """The number of scores of both classes."""
        return int(self.classes.item(0, 0) + self.classes.item(1, 0))

    def update(self, score: float, positive: bool, weight: float) -> None:
        """Add a score."""
        self.mean_square = update_scores(self.classes, self.mean_square, score, positive, weight)

    def logit(self, score: float, level: float, empirical: bool) -> float:
        """Return the log odds of a positive, given its score.

        Parameters
        ----------
        score
            The score.
        level
            What to add to the scores so far.
        empirical
            Whether the classes count as frequent as they have been, or as equally frequent.

        """
        logit: float = scores_logit(self.classes, self.mean_square, score, level, empirical)
        return logit

    def merge(self, other: RecentScores) -> None:
        """Add the scores of another part of the stream, weighted by their number."""
        if other.n:
            share = other.n / (self.n + other.n)
            self.mean_square += share * (other.mean_square - self.mean_square)
        for own, (n, total, mean, variance) in zip(
            self.classes, other.classes.tolist(), strict=True
        ):
            if n:
                share, gap = n / (own[0] + n), mean - own[2]
                own += (
                    n,
                    total,
                    share * gap,
                    share * (variance - own[3] + (1.0 - share) * gap * gap),
                )

    def check_state(self) -> None:
        if self.mean_square < 0.0 or (self.classes[:, [0, 1, 3]] < 0.0).any():
            raise damage("a number or a mean of squares is below 0")
        if ((self.classes[:, 0] > 0.0) != (self.classes[:, 1] > 0.0)).any():
            raise damage("a class has scores without weight")
        if (self.classes[:, 0] > 2.0**53).any():
            raise damage("a class has more scores than can be counted")


@accelerated
def update_scores(
    classes: FloatArray, mean_square: float, score: float, positive: bool, weight: float
) -> float:
    """Add a score to its class, and return the new mean square of the recent scores."""
    rate = 1.0 / min(float(classes[0, 0] + classes[1, 0]) + 1.0, UNIT_MEMORY)
    mean_square += rate * (score * score - mean_square)
    n, total, mean, variance = classes[int(positive)].tolist()
    n, total = n + 1.0, total + weight
    # Smaller scores have no unit, and say nothing.
    if mean_square >= SMALLEST_DEVIATION:
        rate = 1.0 / min(n, CLASS_MEMORY)
        deviation = score / math.sqrt(mean_square) - mean
        mean += rate * deviation
        variance += rate * ((1.0 - rate) * deviation * deviation - variance)
    classes[int(positive)] = n, total, mean, variance
    return mean_square


@accelerated
def scores_logit(
    classes: FloatArray, mean_square: float, score: float, level: float, empirical: bool
) -> float:
    """Return the log odds of a positive; see `RecentScores.logit`."""
    (n_low, low_weight, low, low_variance), (n_high, high_weight, high, high_variance) = (
        classes.tolist()
    )
    if not (n_low and n_high):
        return score
    unit = math.sqrt(mean_square)
    variance = 0.5 * (low_variance + high_variance) * mean_square
    midpoint = level + 0.5 * unit * (low + high)
    logit: float = slope(unit * (high - low), variance) * (score - midpoint)
    return logit + math.log(high_weight) - math.log(low_weight) if empirical else logit
