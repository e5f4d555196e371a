"""Many settings of one of the linear baselines, trained side by side in one pass."""

from __future__ import annotations

import random
import typing

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.blas import ddot

from benchmarks.arrays import FloatArray
from benchmarks.paper.grids.stack import LinearStack

__all__ = ["OAMStack", "OLUBAUCStack", "PAIStack"]


class PAIStack(LinearStack):
    """Many settings of `PAI`. A step costs two passes over the weights.

    Parameters
    ----------
    size
        Number of features.
    C
        The aggressiveness of each setting.

    """

    def __init__(self, size: int, C: ArrayLike) -> None:
        super().__init__(size, C)

    def _step(self, x: FloatArray, y: float) -> None:
        squared_norm = ddot(x, x)
        # A zero vector gives no direction to move in.
        if squared_norm > 0.0:
            losses = np.maximum(1.0 - y * (self._rows @ x), 0.0)
            self._add(x, y * np.minimum(self._rates, losses / squared_norm))


class _Reservoir:
    """A uniform sample of the vectors seen so far, drawn as `OAM` draws it."""

    def __init__(self, capacity: int, size: int) -> None:
        self.n_seen = 0
        self.capacity = capacity
        self._vectors: FloatArray = np.zeros((capacity, size))

    @property
    def vectors(self) -> FloatArray:
        return self._vectors[: self.n_seen]

    def add(self, x: FloatArray, rng: random.Random) -> None:
        slot = self.n_seen
        self.n_seen += 1
        if slot >= self.capacity:
            # One draw decides both whether the vector is stored and which one it replaces.
            slot = rng.randrange(self.n_seen)
        if slot < self.capacity:
            self._vectors[slot] = x


class OAMStack(LinearStack):
    """Many settings of `OAM`, in its gradient form, over one pair of reservoirs.

    The reservoirs depend on the random generator only, which all settings share. A pair counts up
    to a margin of 1. Where features have few values a margin may be exactly 1, and rounding can
    make a stack and `OAM` decide differently.

    A step costs two products of the stored vectors with p × G and G × B matrices.

    Parameters
    ----------
    size
        Number p of features.
    C
        The cost of a pair in each setting.
    buffer_size
        Number B of stored vectors per class.
    weighting
        `"paper"` or `"constant"`; see `OAM`.
    seed
        Seed of the reservoirs.

    """

    def __init__(
        self,
        size: int,
        C: ArrayLike,
        buffer_size: int = 100,
        weighting: typing.Literal["paper", "constant"] = "paper",
        seed: int | None = None,
    ) -> None:
        super().__init__(size, C)
        self._weighting = weighting
        self._rng = random.Random(seed)
        self._reservoirs = {y: _Reservoir(buffer_size, size) for y in (1.0, -1.0)}

    def _step(self, x: FloatArray, y: float) -> None:
        opposite = self._reservoirs[-y]
        if opposite.n_seen:
            stored = opposite.vectors
            margins = y * (self._rows @ x[:, np.newaxis] - self._rows @ stored.T)
            violating = (margins <= 1.0).astype(float)
            factors = (0.5 * y) * self._rates
            if self._weighting == "paper":
                # The buffer stands for all examples of the class.
                factors *= max(1.0, opposite.n_seen / opposite.capacity)
            self._add(x, factors * violating.sum(axis=1))
            violating *= factors[:, np.newaxis]
            self._rows -= violating @ stored
        self._reservoirs[y].add(x, self._rng)


class OLUBAUCStack(LinearStack):
    """Many settings of `OLUBAUC` with its default margin and schedule.

    A step costs three passes over the weights.

    Parameters
    ----------
    size
        Number of features.
    l2
        The regulariser of each setting.

    """

    def __init__(self, size: int, l2: ArrayLike) -> None:
        self._l2: FloatArray = np.array(l2, dtype=float)
        super().__init__(size, 1.0 / self._l2)
        self._n_seen = 0
        # The steps 1 / (l2 · t) add up to a logarithm, so no threshold can diverge.
        self._thresholds: FloatArray = np.zeros(len(self._l2))

    def _step(self, x: FloatArray, y: float) -> None:
        self._n_seen += 1
        steps = self._rates / self._n_seen
        violating = y * (self._rows @ x - self._thresholds) < 1.0
        self._rows *= (1.0 - steps * self._l2)[:, np.newaxis]
        steps *= y * violating
        self._add(x, steps)
        self._thresholds -= steps
