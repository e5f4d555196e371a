"""What pairs of entries say together: a factorisation machine."""

from __future__ import annotations

import math
import typing

import numpy as np

from river_oauc.acceleration import accelerated
from river_oauc.rankers.sparse import RowArrays, check_scores, merge_scores, pull_of, update_scores
from river_oauc.state import FloatArray, IntArray, damage

# The number of factors of an entry, and their size before the first example.
N_FACTORS, INITIAL_SIZE = 8, 0.17

# The inputs of an example have this norm.
NORM = 2.0

# In merging, factors that have learned nothing count as if they had this sum of squares.
SMALLEST_SQUARE = 1e-3


class Pairs(RowArrays):
    """A score that is a sum over pairs of entries: of the products of inputs and factors.

    An entry has eight factors. The pair of the entries i and j adds (vᵢ·vⱼ) xᵢxⱼ to the score,
    where x are the inputs of the linear score, scaled to norm 2. The factors learn by AdaGrad from
    the loss of the sum of the linear score and this one.

    Attributes
    ----------
    scores
        Weighted count, mean and scatter of that sum, for negatives and positives.
    factors, squares
        The factors of each entry, and the sums of their squared gradients.

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "scores": (float, 2, 3), "factors": (float, "p", N_FACTORS),
        "squares": (float, "p", N_FACTORS),
    }  # fmt: skip

    factors: FloatArray
    squares: FloatArray

    def __init__(self) -> None:
        self.scores: FloatArray = np.zeros((2, 3))
        super().__init__()

    def new_rows(self, name: str, first: int, n: int) -> FloatArray:
        if name != "factors":
            return super().new_rows(name, first, n)
        # Random numbers that depend on nothing but the place, so that copies go on alike.
        stream = np.random.PCG64(1).advance(first * N_FACTORS)
        return np.random.Generator(stream).uniform(-INITIAL_SIZE, INITIAL_SIZE, (n, N_FACTORS))

    def score(self, rows: IntArray, inputs: FloatArray) -> float:
        """Return the score of an example, given the inputs of its entries."""
        return pairs_score(self.factors, self.n_features, rows, inputs)

    def learn(
        self, rows: IntArray, inputs: FloatArray, linear: float, positive: bool, weight: float
    ) -> float:
        """Learn from an example with this linear score, and return the score that it had."""
        return pairs_step(
            self.factors, self.squares, self.scores, rows, inputs, linear, positive, weight
        )

    def contributions(self, rows: IntArray, inputs: FloatArray) -> FloatArray:
        """Return the part of each entry in the score: half of each of its pairs."""
        factors, x = self.factors[np.minimum(rows, self.n_features - 1)], scaled_inputs(inputs)
        terms = factors * x[:, None]
        parts: FloatArray = 0.5 * (terms * (terms.sum(axis=0) - terms)).sum(axis=1)
        return parts

    def merge(self, other: typing.Self) -> None:
        """Average the factors, each by its squared gradients, which add up."""
        mine, theirs = self.squares + SMALLEST_SQUARE, other.squares + SMALLEST_SQUARE
        self.factors = (mine * self.factors + theirs * other.factors) / (mine + theirs)
        self.squares = self.squares + other.squares
        merge_scores(self.scores, other.scores)

    def check_state(self) -> None:
        check_scores(self.scores)
        if (self.squares < 0.0).any():
            raise damage("a sum of squares is below 0")
        super().check_state()


def scaled_inputs(inputs: FloatArray) -> FloatArray:
    """Return inputs of norm 2, or zeros."""
    norm = math.sqrt(float(inputs @ inputs))
    return inputs * (NORM / norm if norm else 0.0)


@accelerated
def pairs_score(factors: FloatArray, n_rows: int, rows: IntArray, inputs: FloatArray) -> float:
    """Return the score of an example; rows beyond the number of rows count as unseen."""
    terms = scaled_inputs(inputs)[:, None] * factors[np.minimum(rows, len(factors) - 1)]
    terms[rows >= n_rows] = 0.0
    return 0.5 * float((terms.sum(axis=0) ** 2 - (terms * terms).sum(axis=0)).sum())


@accelerated
def pairs_step(
    factors: FloatArray,
    squares: FloatArray,
    scores: FloatArray,
    rows: IntArray,
    inputs: FloatArray,
    linear: float,
    positive: bool,
    weight: float,
) -> float:
    """Learn from an example with this linear score, and return the score that it had before."""
    x = scaled_inputs(inputs)[:, None]
    terms = x * factors[rows]
    score = 0.5 * float((terms.sum(axis=0) ** 2 - (terms * terms).sum(axis=0)).sum())
    pull, curvature = pull_of(scores, linear + score, positive, weight)
    gradients = x * (terms.sum(axis=0) - terms)
    squares[rows] += max(curvature, pull * pull) * gradients * gradients
    factors[rows] += pull * gradients / (1.0 + np.sqrt(squares[rows]))
    update_scores(scores, int(positive), linear + score, weight)
    return score
