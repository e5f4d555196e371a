"""One score out of the scores of unlike experts, by a logistic regression that forgets."""

from __future__ import annotations

import math
import operator
import typing
from collections.abc import Sequence

import numpy as np

from river_oauc.acceleration import accelerated
from river_oauc.rankers.losses import sigmoid
from river_oauc.state import FloatArray, Stateful, damage

# About this many examples count: when an expert falls behind after a change, its weight follows.
MEMORY = 5000

# Precision of the bias, which is 0 before the first example.
BIAS_PRECISION = 1.0

# No example is taken to be more certain than this.
SMALLEST_VARIANCE = 1e-4

# No example counts as more, and no score as larger: otherwise rounding would leave nothing of the
# prior, and the equations could not be solved.
MAX_WEIGHT, MAX_SCORE = 1e4, 1e3

# After a change, this share of what has been learned is kept.
KEPT_SHARE = 0.05


class Stack(Stateful):
    """Weights of experts, as the posterior mean of a logistic regression on their scores.

    The label is regressed on the scores that the experts gave before they learned an example. An
    example of the rarer class counts as one, and one of the other class as the root of the ratio of
    the classes. With the weights β, the scores u, p = 1 / (1 + exp(-β·u)) and h = p (1 - p), an
    example of weight w adds w h u uᵀ to the information A, and w (h β·u + y - p) u to the vector b.
    Both lose a share of 1 / 5000 with every example, and the prior with precisions Λ does not:

        β = (Λ + A)⁻¹ (Λ β₀ + b).

    The scores need no common scale: those of all experts keep theirs for good, so that scores of
    different times compare.

    Parameters
    ----------
    prior
        The weights β₀ of the experts before the first example.
    precision
        The precision of these weights. With 10, the prior is worth about forty examples, so a few
        positives hardly move the weights.

    Attributes
    ----------
    weights
        The weight of each expert, and the bias at the end, which is no part of the score.
    information, vector
        What the examples have added to A and b.
    class_weights
        The recent weight of the negatives and of the positives.

    Examples
    --------
    >>> import random
    >>> import numpy as np
    >>> from river_oauc.rankers.stack import Stack

    >>> stack, rng = Stack([1.0, 1.0]), random.Random(1)
    >>> for _ in range(1_000):
    ...     positive = rng.random() < 0.1
    ...     good, noise = rng.gauss(2.0 * positive, 1.0), rng.gauss(0.0, 1.0)
    ...     stack.learn(np.array([good, noise]), positive, 1.0)
    >>> stack.weights.round(2).tolist()
    [1.54, 0.23, -2.37]

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "information": (float, "scores", "scores"), "vector": (float, "scores"),
        "weights": (float, "scores"), "class_weights": (float, 2),
    }  # fmt: skip

    def __init__(self, prior: Sequence[float], precision: float = 10.0) -> None:
        size = len(prior) + 1
        self.prior = np.append(prior, 0.0)
        self.precision = np.append(np.full(len(prior), precision), BIAS_PRECISION)
        self.information: FloatArray = np.zeros((size, size))
        self.vector: FloatArray = np.zeros(size)
        self.weights: FloatArray = self.prior.copy()
        self.class_weights: FloatArray = np.zeros(2)

    def score(self, scores: Sequence[float]) -> float:
        """Return the score of an example that the experts give these scores."""
        weights: list[float] = self.weights[:-1].tolist()
        return sum(map(operator.mul, weights, scores), 0.0)

    def learn(self, scores: FloatArray, positive: bool, weight: float) -> None:
        """Learn from an example of this weight that the experts gave these scores."""
        stack_step(
            self.information, self.vector, self.weights, self.class_weights, self.precision,
            self.prior, scores, positive, weight,
        )  # fmt: skip

    @property
    def log_odds(self) -> float:
        """The log odds of a positive among the recent examples."""
        negative, positive = (self.class_weights + 0.5).tolist()
        return math.log(positive / negative)

    def forget(self) -> None:
        """Count what has been learned as little."""
        self.information *= KEPT_SHARE
        self.vector *= KEPT_SHARE

    def merge(self, other: Stack) -> None:
        """Add what has been learned from another part of the stream."""
        self.information = self.information + other.information
        self.vector = self.vector + other.vector
        self.class_weights = self.class_weights + other.class_weights
        self.weights = solve_stack(self.information, self.vector, self.precision, self.prior)

    def check_state(self) -> None:
        if len(self.vector) != len(self.prior):
            raise damage(f"it has {len(self.vector)} weights, not {len(self.prior)}")


def solve_stack(
    information: FloatArray, vector: FloatArray, precision: FloatArray, prior: FloatArray
) -> FloatArray:
    """Return the weights (Λ + A)⁻¹ (Λ β₀ + b)."""
    return np.asarray(
        np.linalg.solve(np.diag(precision) + information, precision * prior + vector), dtype=float
    )


@accelerated
def stack_step(
    information: FloatArray,
    vector: FloatArray,
    weights: FloatArray,
    class_weights: FloatArray,
    precision: FloatArray,
    prior: FloatArray,
    scores: FloatArray,
    positive: bool,
    weight: float,
) -> None:
    """Update the first four arguments with an example of this weight and these scores."""
    kept = 1.0 - 1.0 / MEMORY
    class_weights *= kept
    class_weights[int(positive)] += weight
    weight = min(weight, MAX_WEIGHT)
    weight *= math.sqrt(float(class_weights.min() / class_weights[int(positive)]))
    u = np.append(np.clip(scores, -MAX_SCORE, MAX_SCORE), 1.0)
    logit = float(weights @ u)
    p = sigmoid(logit)
    variance = max(p * (1.0 - p), SMALLEST_VARIANCE)
    information *= kept
    information += (weight * variance) * (u[:, None] * u)
    vector *= kept
    vector += weight * (variance * logit + positive - p) * u
    weights[:] = solve_stack(information, vector, precision, prior)
