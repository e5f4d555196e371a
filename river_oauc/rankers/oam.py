"""The baseline that keeps a sample of each class: OAM."""

from __future__ import annotations

import random
import typing

import numpy as np

from river_oauc.parameters import new_random
from river_oauc.rankers.first_order import FirstOrderRanker, after_step
from river_oauc.state import FloatArray, damage


class OAMRanker(FirstOrderRanker):
    """Steps on the hinge losses of an example against a sample of the opposite class.

    Parameters
    ----------
    C
        Weight of the hinge loss of a pair.
    buffer_size
        Number B of examples of each class to keep.
    update
        `"gradient"` or `"sequential"`: one step on all pairs, or one on each in turn.
    weighting
        `"paper"` or `"constant"`: whether the sample counts as the whole class.
    seed
        Seed of the sampling.

    Attributes
    ----------
    samples
        A uniform sample of the examples of each class, in no particular order; zeros until there
        are B.

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        **FirstOrderRanker.FIELDS, "samples": (float, 2, "B", "p"), "rng": random.Random
    }  # fmt: skip

    def __init__(
        self, C: float, buffer_size: int, update: str, weighting: str, seed: int | None
    ) -> None:
        self.C, self.buffer_size, self.update, self.weighting = C, buffer_size, update, weighting
        self.rng = new_random(seed)
        self.samples: FloatArray = np.zeros((2, buffer_size, 1))
        super().__init__()

    def _step(self, x: FloatArray, y: float, weight: float, score: float) -> None:
        own = int(y > 0.0)
        n_own, n_opposite = int(self.n_examples[own]), int(self.n_examples[1 - own])
        # Half, because every pair of examples could be met from either side.
        cost = 0.5 * weight * self.C
        if self.weighting == "paper":
            # The sample stands for all examples of the class.
            cost *= max(1.0, n_opposite / self.buffer_size)
        step = self._gradient_step if self.update == "gradient" else self._sequential_steps
        self.weights = step(x - self.samples[1 - own, :n_opposite], y, cost)
        # One draw decides whether the example is kept, and which one it replaces.
        slot = n_own if n_own < self.buffer_size else self.rng.randrange(n_own + 1)
        if slot < self.buffer_size:
            self.samples[own, slot] = x

    def _gradient_step(self, differences: FloatArray, y: float, cost: float) -> FloatArray:
        """Return the weights after one step on the sum of the hinge losses."""
        violating = y * differences.dot(self.weights) <= 1.0
        if not violating.any():
            return self.weights
        return after_step(self.weights, y * cost, violating.dot(differences))

    def _sequential_steps(self, differences: FloatArray, y: float, cost: float) -> FloatArray:
        """Return the weights after a passive-aggressive step on each pair in turn."""
        w, squared_lengths = self.weights, np.einsum("ij,ij->i", differences, differences)
        for difference, squared_length in zip(differences, squared_lengths.tolist(), strict=True):
            loss = 1.0 - y * float(w.dot(difference))
            if loss > 0.0 and squared_length:
                w = after_step(w, y * min(cost, loss / squared_length), difference)
        return w

    def check_state(self) -> None:
        if self.samples.shape[1] != self.buffer_size:
            raise damage(f"samples has room for {self.samples.shape[1]} examples of a class")
