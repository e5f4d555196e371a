"""How each expert ranks the latest examples, and whether the ranking has broken."""

from __future__ import annotations

import math
import typing

import numpy as np

from river_oauc.acceleration import accelerated
from river_oauc.metrics import exact_auc
from river_oauc.state import FloatArray, IntArray, Stateful, damage

# An example is compared with this many recent ones of the other class, and with no fewer than
# `MIN_COMPARED`, which is also the least number of comparisons for an alarm.
N_COMPARED, MIN_COMPARED = 256, 64

# The recent win rate is that over about this many examples of the rarer class.
RECENT_MEMORY = 32.0

# The ranking has broken if the recent win rate is below the long-run one by so many of its
# deviations, and by so much.
ALARM, MIN_DROP = 6.5, 0.02

# No deviation of the recent win rate counts as more than so many of its standard deviations:
# otherwise a break would hide itself.
LARGEST_SWING = 3.0


class Ranking(Stateful):
    """The latest scores of each class, and how the rarer class ranks among the other.

    The win rate of an example is the share of the latest scores of the other class that it beats.
    The ranking has broken if the recent mean of the rarer class is far below that of its whole
    time: by many times what it would vary if the examples were independent, and what it has varied,
    which is more where they come in bursts.

    Parameters
    ----------
    n_scores
        The number of scores of an example. The last one counts.

    Attributes
    ----------
    recent, n
        The latest scores of the negatives and of the positives, and how many there have been.
    wins
        Number, mean and sum of squared deviations of the win rates of the rarer class, their recent
        mean, and the sum of the squared deviations of that from the mean.

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "recent": (float, 2, N_COMPARED, "scores"), "n": (int, 2), "wins": (float, 5),
    }  # fmt: skip

    def __init__(self, n_scores: int) -> None:
        self.recent: FloatArray = np.zeros((2, N_COMPARED, n_scores))
        self.n: IntArray = np.zeros(2, np.int64)
        self.wins: FloatArray = np.zeros(5)

    def add(self, scores: FloatArray, positive: bool, is_rarer: bool) -> bool:
        """Add the scores of an example; return whether the ranking has broken."""
        return ranking_step(self.recent, self.n, self.wins, scores, positive, is_rarer)

    def start_again(self) -> None:
        """Forget all scores."""
        self.n[:] = 0
        self.wins[:] = 0.0

    def latest(self, positive: bool) -> FloatArray:
        """Return the latest scores of a class, a row per example."""
        return self.recent[int(positive), : min(self.n[int(positive)], N_COMPARED)]

    def aucs(self) -> list[float]:
        """Return the AUC of each score over the latest examples; 0.5 if one class is missing."""
        positives, negatives = self.latest(True).T, self.latest(False).T
        return [exact_auc(*each) for each in zip(positives, negatives, strict=True)]

    def gaps(self) -> FloatArray:
        """Return how far the latest positives are above the latest negatives, score by score."""
        if not self.n.all():
            return np.zeros(self.recent.shape[2])
        gaps: FloatArray = self.latest(True).mean(axis=0) - self.latest(False).mean(axis=0)
        return gaps

    def check_state(self) -> None:
        if (self.wins[[0, 2, 4]] < 0.0).any():
            raise damage("win rates have a number or a scatter below 0")


@accelerated
def ranking_step(
    recent: FloatArray,
    n: IntArray,
    wins: FloatArray,
    scores: FloatArray,
    positive: bool,
    is_rarer: bool,
) -> bool:
    """Add the scores of an example to the recent ones; return whether the ranking has broken."""
    own, broken, score = int(positive), False, scores[-1]
    others = recent[1 - own, : n[1 - own], -1]
    if is_rarer and len(others) >= MIN_COMPARED:
        gap = (score - others) * (1.0 if positive else -1.0)
        win = float(np.mean((gap > 0.0) + 0.5 * (gap == 0.0)))
        number, mean, squares, latest, recent_squares = wins.tolist()
        number += 1.0
        deviation = win - mean
        mean += deviation / number
        squares += deviation * (win - mean)
        latest += (win - latest) / min(number, RECENT_MEMORY)
        variance = squares / number / (2.0 * RECENT_MEMORY - 1.0)
        if number > MIN_COMPARED:
            # Not before: then it still learns.
            variance = max(variance, recent_squares / (number - MIN_COMPARED))
            recent_squares += min((latest - mean) ** 2, LARGEST_SWING**2 * variance)
        error = math.sqrt(variance)
        wins[:] = number, mean, squares, latest, recent_squares
        broken = number >= MIN_COMPARED and mean - latest > max(ALARM * error, MIN_DROP)
    recent[own, n[own] % N_COMPARED] = scores
    n[own] += 1
    return broken
