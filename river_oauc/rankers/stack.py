"""One score out of the scores of unlike experts, by a logistic regression that forgets."""

from __future__ import annotations

import operator
import typing
from collections.abc import Sequence

import numpy as np

from river_oauc.acceleration import accelerated
from river_oauc.rankers.losses import sigmoid
from river_oauc.rankers.mixture.constants import (
    MAX_STACK_SCORE,
    MAX_STACK_WEIGHT,
    SMALLEST_STACK_VARIANCE,
    STACK_BIAS_PRECISION,
    STACK_MEMORY,
    STACK_PRECISION,
)
from river_oauc.state import FloatArray, Stateful, damage


class Stack(Stateful):
    """Weights of experts, as the posterior mean of a logistic regression on their scores.

    The label is regressed on the scores that the experts gave before they learned an example. Both
    classes weigh alike: an example of the rarer class counts as one, and one of the other class as
    a part of one. With the weights β, the scores u, p = 1 / (1 + exp(-β·u)) and h = p (1 - p), an
    example of weight w adds w h u uᵀ to the information A, and w (h β·u + y - p) u to the vector b.
    Both lose a share of 1 / 5000 with every example, and the prior with precisions Λ does not:

        β = (Λ + A)⁻¹ (Λ β₀ + b).

    The scores need no common scale: those of all experts keep theirs for good, so that scores of
    different times compare.

    Parameters
    ----------
    prior
        The weights β₀ of the experts before the first example.

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
    [1.63, 0.09, -1.29]

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "information": (float, "scores", "scores"), "vector": (float, "scores"),
        "class_weights": (float, 2),
    }  # fmt: skip

    def __init__(self, prior: Sequence[float]) -> None:
        size = len(prior) + 1
        self._prior = np.append(prior, 0.0)
        self._precision = np.append(np.full(len(prior), STACK_PRECISION), STACK_BIAS_PRECISION)
        self.information: FloatArray = np.zeros((size, size))
        self.vector: FloatArray = np.zeros(size)
        self.class_weights: FloatArray = np.zeros(2)
        self.weights: FloatArray = self._prior

    def score(self, scores: Sequence[float]) -> float:
        """Return the score of an example that the experts give these scores."""
        weights: list[float] = self.weights[:-1].tolist()
        return sum(map(operator.mul, weights, scores), 0.0)

    def learn(self, scores: FloatArray, positive: bool, weight: float) -> None:
        """Learn from an example of this weight that the experts gave these scores."""
        self.information, self.vector, self.class_weights = stack_step(
            self.information, self.vector, self.class_weights, self.weights,
            scores, positive, weight,
        )  # fmt: skip
        self._solve()

    def _solve(self) -> None:
        self.weights = solve_stack(self.information, self.vector, self._precision, self._prior)

    def merge(self, other: Stack) -> None:
        """Add what has been learned from another part of the stream."""
        self.information = self.information + other.information
        self.vector = self.vector + other.vector
        self.class_weights = self.class_weights + other.class_weights
        self._solve()

    def set_state(self, state: typing.Any) -> None:
        super().set_state(state)
        self._solve()

    def check_state(self) -> None:
        if len(self.vector) != len(self._prior):
            raise damage(f"it has {len(self.vector)} weights, not {len(self._prior)}")


@accelerated
def stack_step(
    information: FloatArray,
    vector: FloatArray,
    class_weights: FloatArray,
    weights: FloatArray,
    scores: FloatArray,
    positive: bool,
    weight: float,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the first three arguments after an example of this weight and these scores."""
    kept = 1.0 - 1.0 / STACK_MEMORY
    class_weights = kept * class_weights
    class_weights[int(positive)] += weight
    weight = min(weight, MAX_STACK_WEIGHT)
    weight *= float(class_weights.min() / class_weights[int(positive)])
    u = np.append(np.clip(scores, -MAX_STACK_SCORE, MAX_STACK_SCORE), 1.0)
    logit = float(weights.dot(u))
    p = sigmoid(logit)
    variance = max(p * (1.0 - p), SMALLEST_STACK_VARIANCE)
    return (
        kept * information + (weight * variance) * (u[:, None] * u),
        kept * vector + weight * (variance * logit + positive - p) * u,
        class_weights,
    )


@accelerated
def solve_stack(
    information: FloatArray, vector: FloatArray, precision: FloatArray, prior: FloatArray
) -> FloatArray:
    """Return the weights (Λ + A)⁻¹ (Λ β₀ + b)."""
    return np.asarray(
        np.linalg.solve(np.diag(precision) + information, precision * prior + vector), dtype=float
    )
