"""The baseline that keeps a sample of each class: OAM."""

from __future__ import annotations

import random
import typing

import numpy as np

from river_oauc.limits import MAX_NORM
from river_oauc.parameters import new_random
from river_oauc.rankers.base import FloatArray, IntArray, reindexed
from river_oauc.rankers.first_order import ClassSummary, FirstOrderRanker, Weights, after_step
from river_oauc.rankers.samples import draw_from_both
from river_oauc.state import State, StateReader


class _SampledClass(ClassSummary):
    """A class with a reservoir, which is a uniform sample of its examples."""

    def __init__(self, capacity: int, rng: random.Random) -> None:
        super().__init__(1)
        # The first `n_examples` rows are in use.
        self._rows: FloatArray = np.zeros((capacity, 1))
        self.rng = rng

    @property
    def sample(self) -> FloatArray:
        """The examples in the reservoir, a row each, in no particular order."""
        return self._rows[: self.n_examples]

    def update(self, x: FloatArray, weight: float) -> None:
        slot = self.n_examples
        if slot >= len(self._rows):
            # One draw decides whether the example is kept, and which one it replaces.
            slot = self.rng.randrange(slot + 1)
        if slot < len(self._rows):
            self._rows[slot] = x
        super().update(x, weight)

    def merge(self, other: typing.Self) -> None:
        kept = draw_from_both(
            (len(self.sample), len(other.sample)),
            (self.n_examples, other.n_examples),
            len(self._rows),
            self.rng,
        )
        self._rows[: len(kept)] = np.vstack((self.sample, other.sample))[kept]
        super().merge(other)

    def reindexed(self, positions: IntArray, size: int) -> typing.Self:
        moved = super().reindexed(positions, size)
        moved._rows = reindexed(self._rows, positions, size)
        return moved

    def get_state(self) -> State:
        return {**super().get_state(), "sample": self.sample.copy()}

    def set_state(self, reader: StateReader, size: int) -> None:
        sample = reader.array("sample", None, size, minimum=-MAX_NORM, maximum=MAX_NORM)
        super().set_state(reader, size)
        capacity = len(self._rows)
        if len(sample) != min(self.n_examples, capacity):
            raise reader.error(
                f"sample has {len(sample)} rows, and must have {min(self.n_examples, capacity)}"
            )
        self._rows = np.zeros((capacity, size))
        self._rows[: len(sample)] = sample


class OAMRanker(FirstOrderRanker):
    """Steps on the hinge losses of an example against a sample of the opposite class.

    Parameters
    ----------
    C
        Weight of the hinge loss of a pair.
    buffer_size
        Number of examples of each class to keep.
    update
        `"gradient"` or `"sequential"`: one step on all pairs, or one on each in turn.
    weighting
        `"paper"` or `"constant"`: whether the sample counts as the whole class.
    seed
        Seed of the sampling.

    """

    def __init__(
        self,
        C: float,
        buffer_size: int,
        update: str,
        weighting: str,
        seed: int | None,
    ) -> None:
        self.C, self.buffer_size, self.update, self.weighting = C, buffer_size, update, weighting
        self._rng = new_random(seed)
        super().__init__()

    def _new_class(self) -> _SampledClass:
        return _SampledClass(self.buffer_size, self._rng)

    def _step(
        self, w: FloatArray, x: FloatArray, score: float, positive: bool, weight: float
    ) -> Weights | None:
        opposite = self.classes[not positive]
        if not opposite.n_examples:
            return None
        y = 1.0 if positive else -1.0
        # Half, because every pair of examples could be met from either side.
        cost = 0.5 * weight * self.C
        if self.weighting == "paper":
            # The sample stands for all examples of the class.
            cost *= max(1.0, opposite.n_examples / self.buffer_size)
        if self.update == "gradient":
            return self._gradient_step(w, x, score, y, cost, opposite.sample)
        return self._sequential_steps(w, x, y, cost, opposite.sample)

    def _gradient_step(
        self,
        w: FloatArray,
        x: FloatArray,
        score: float,
        y: float,
        cost: float,
        others: FloatArray,
    ) -> Weights | None:
        """Return the weights after one step on the sum of the hinge losses."""
        violating = y * (score - others.dot(w)) <= 1.0
        n_violating = int(np.count_nonzero(violating))
        if not n_violating:
            return None
        return after_step(w, y * cost, n_violating * x - violating.dot(others))

    def _sequential_steps(
        self, w: FloatArray, x: FloatArray, y: float, cost: float, others: FloatArray
    ) -> Weights | None:
        """Return the weights after a passive-aggressive step on each pair in turn."""
        differences = y * (x - others)
        moved = None
        squared_lengths = np.einsum("ij,ij->i", differences, differences)
        for difference, squared_length in zip(differences, squared_lengths.tolist(), strict=True):
            loss = 1.0 - float(w.dot(difference))
            if loss > 0.0 and squared_length > 0.0:
                moved = after_step(w, min(cost, loss / squared_length), difference)
                w = moved[0]
        return moved

    def get_state(self) -> State:
        return {**super().get_state(), "rng": self._rng.getstate()}

    def set_state(self, reader: StateReader) -> None:
        self._rng = reader.rng("rng")
        for each in self.classes:
            each.rng = self._rng
        super().set_state(reader)
