"""What each entry has come with: naive Bayes."""

from __future__ import annotations

import math
import typing

import numpy as np

from river_oauc.acceleration import accelerated
from river_oauc.rankers.sparse import RowArrays
from river_oauc.state import FloatArray, IntArray, damage

# Every entry is taken to have come with this many examples of average odds before.
SHRINKAGE = 2.0

# The usual size of a score.
USUAL_SCORE = 0.7


class Counts(RowArrays):
    """A score that is the sum of the log odds of the entries, over the root of their number.

    It is divided by its own usual size.

    Attributes
    ----------
    class_weights
        The weight of the negatives and of the positives.
    counts
        For each entry, the weight of the negatives and of the positives that it came with.
    sum_of_squares
        The sum of the squared scores, before they were divided.

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "class_weights": (float, 2), "counts": (float, "p", 2), "sum_of_squares": (float, 1),
    }  # fmt: skip

    counts: FloatArray

    def __init__(self) -> None:
        self.class_weights: FloatArray = np.zeros(2)
        self.sum_of_squares: FloatArray = np.zeros(1)
        super().__init__()

    def score(self, rows: IntArray) -> float:
        """Return the score of an example with these entries."""
        return counts_score(
            self.counts, self.n_features, self.class_weights, self.sum_of_squares, rows
        )

    def learn(self, rows: IntArray, positive: bool, weight: float) -> float:
        """Learn from an example with these entries, and return the score that it had."""
        return counts_step(
            self.counts, self.class_weights, self.sum_of_squares, rows, positive, weight
        )

    def contributions(self, rows: IntArray) -> FloatArray:
        """Return the part of each entry in the score."""
        odds = log_odds(self.counts[np.minimum(rows, self.n_features)], self.class_weights)
        total = float(odds.sum())
        return odds * (self.score(rows) / total) if total else odds

    def merge(self, other: typing.Self) -> None:
        """Add the counts."""
        self.class_weights += other.class_weights
        self.sum_of_squares += other.sum_of_squares
        self.counts = self.counts + other.counts

    def check_state(self) -> None:
        if min(each.min(initial=0.0) for each in (self.counts, self.class_weights)) < 0.0:
            raise damage("a count is below 0")
        if self.sum_of_squares[0] < 0.0:
            raise damage("a sum of squares is below 0")
        super().check_state()


def log_odds(counts: FloatArray, class_weights: FloatArray) -> FloatArray:
    """Return how far the log odds of each entry are above those of all examples."""
    shares = (class_weights + 0.5) / (class_weights.sum() + 1.0)
    smoothed = counts + SHRINKAGE * shares
    odds: FloatArray = np.log(smoothed[:, 1] / smoothed[:, 0]) - math.log(shares[1] / shares[0])
    return odds


def _size(sum_of_squares: float, n: float) -> float:
    return math.sqrt((sum_of_squares + 1.0) / (n + 1.0)) / USUAL_SCORE


@accelerated
def counts_score(
    counts: FloatArray,
    n_rows: int,
    class_weights: FloatArray,
    sum_of_squares: FloatArray,
    rows: IntArray,
) -> float:
    """Return the score of an example; rows beyond the number of rows count as unseen."""
    own = counts[np.minimum(rows, len(counts) - 1)]
    own[rows >= n_rows] = 0.0
    total = float(log_odds(own, class_weights).sum()) / math.sqrt(max(len(rows), 1))
    n = float(class_weights.sum())
    return total / _size(float(sum_of_squares[0]) + total * total, n)


@accelerated
def counts_step(
    counts: FloatArray,
    class_weights: FloatArray,
    sum_of_squares: FloatArray,
    rows: IntArray,
    positive: bool,
    weight: float,
) -> float:
    """Learn from an example, and return the score that it had before."""
    total = float(log_odds(counts[rows], class_weights).sum()) / math.sqrt(max(len(rows), 1))
    score = total / _size(float(sum_of_squares[0]) + total * total, float(class_weights.sum()))
    sum_of_squares[0] += weight * total * total
    counts[rows, int(positive)] += weight
    class_weights[int(positive)] += weight
    return score
