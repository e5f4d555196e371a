"""Many settings of one of the linear baselines, learning side by side in one pass."""

from __future__ import annotations

import random
import typing

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.blas import ddot

from benchmarks.paper.grids.stack import LinearStack
from river_oauc.inputs.arrays import FloatArray
from river_oauc.stats.samples import Reservoir

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

    def _move(self, x: FloatArray, sign: float) -> None:
        squared_length = ddot(x, x)
        # An example of length 0 has no direction to move in.
        if squared_length > 0.0:
            lacking = np.maximum(1.0 - sign * (self._rows @ x), 0.0)
            self._add(x, sign * np.minimum(self._rates, lacking / squared_length))


class OAMStack(LinearStack):
    """Many settings of `OAM`, in its gradient form, over one pair of reservoirs.

    What is stored depends on chance alone, and all settings see the same chance. A pair counts up
    to a margin of 1, and where features have few values a margin can be just that: then its
    rounding decides, and a stack may part ways with `OAM`.

    A step costs two products of the stored vectors with p × G and with G × B matrices.

    Parameters
    ----------
    size
        Number p of features.
    C
        The price of a pair in each setting.
    buffer_size
        Number B of stored vectors of a class.
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
        self._positive = Reservoir(buffer_size, size)
        self._negative = Reservoir(buffer_size, size)

    def _move(self, x: FloatArray, sign: float) -> None:
        own, other = self._positive, self._negative
        if sign < 0.0:
            own, other = other, own
        if other.n_seen:
            others = other.vectors
            margins = sign * (self._rows @ x[:, np.newaxis] - self._rows @ others.T)
            violating = (margins <= 1.0).astype(float)
            factors = (0.5 * sign) * self._rates
            if self._weighting == "paper":
                # The buffer stands for all examples of the class.
                factors *= max(1.0, other.n_seen / other.capacity)
            self._add(x, factors * violating.sum(axis=1))
            violating *= factors[:, np.newaxis]
            self._rows -= violating @ others
        own.add(x, self._rng)


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
        # The steps 1 / (l2 · t) add up to a logarithm: no threshold can diverge.
        self._thresholds: FloatArray = np.zeros(len(self._l2))

    def _move(self, x: FloatArray, sign: float) -> None:
        self._n_seen += 1
        steps = self._rates / self._n_seen
        violating = sign * (self._rows @ x - self._thresholds) < 1.0
        self._rows *= (1.0 - steps * self._l2)[:, np.newaxis]
        steps *= sign * violating
        self._add(x, steps)
        self._thresholds -= steps
