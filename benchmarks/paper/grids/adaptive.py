"""Many settings of `AdaOAM` or `FTRLAUC`, trained side by side in one pass.

Each weight has a step of its own, which shrinks with its squared gradients.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from benchmarks.arrays import FloatArray
from benchmarks.paper.grids.oauc import Moments
from benchmarks.paper.grids.stack import LinearStack
from river_oauc.rankers.adaoam import DELTA

__all__ = ["AdaOAMStack", "FTRLAUCStack"]


class AdaOAMStack(LinearStack):
    """Many settings of `AdaOAM` over one pair of class moments.

    A step costs one product of the p × p covariance with the p × G weights and some ten passes over
    the weights.

    Parameters
    ----------
    size
        Number p of features.
    l2
        The regulariser of each setting.
    lr
        The step of each setting.

    """

    def __init__(self, size: int, l2: ArrayLike, lr: ArrayLike) -> None:
        super().__init__(size, lr)
        self._l2: FloatArray = np.array(l2, dtype=float)
        self._moments = {1.0: Moments(size), -1.0: Moments(size)}
        self._squares: FloatArray = np.zeros((len(self._l2), size))

    def _step(self, x: FloatArray, y: float) -> None:
        opposite, rows = self._moments[-y], self._rows
        if opposite.n:
            direction = x - opposite.mean
            gradients = rows @ opposite.scatter
            gradients /= opposite.n
            gradients += self._l2[:, np.newaxis] * rows
            gradients -= np.outer(y * (1.0 - y * (rows @ direction)), direction)
            self._squares += gradients * gradients
            gradients /= DELTA + np.sqrt(self._squares)
            rows -= self._rates[:, np.newaxis] * gradients
            excess = self._l2 * np.einsum("gj,gj->g", rows, rows)
            rows /= np.sqrt(np.maximum(excess, 1.0))[:, np.newaxis]
        self._moments[y].update(x)


class FTRLAUCStack(LinearStack):
    """Many settings of `FTRLAUC` with its default `beta`, and without `l2`.

    A step costs some ten passes over the weights.

    Parameters
    ----------
    size
        Number of features.
    alpha
        The step of each setting.
    l1
        The regulariser of each setting.

    """

    def __init__(self, size: int, alpha: ArrayLike, l1: ArrayLike) -> None:
        super().__init__(size, alpha)
        self._l1: FloatArray = np.array(l1, dtype=float)[:, np.newaxis]
        self._z, self._squares = np.zeros((2, len(self._l1), size))
        self._roots: FloatArray = np.zeros((len(self._l1), size))
        self._n = {1.0: 0, -1.0: 0}
        # Of the scores that examples had before they were learned.
        self._means = {1.0: np.zeros(len(self._l1)), -1.0: np.zeros(len(self._l1))}

    def _step(self, x: FloatArray, y: float) -> None:
        rows, scores = self._rows, self._rows @ x
        self._n[y] += 1
        share_of_opposite = self._n[-y] / sum(self._n.values())
        gradients = np.outer(2.0 * share_of_opposite * (scores - self._means[-y] - y), x)
        self._means[y] += (scores - self._means[y]) / self._n[y]
        self._squares += gradients * gradients
        roots = np.sqrt(self._squares)
        # A setting that has diverged has a rate of 0, and all its weights become 0.
        rates = np.where(self.diverged, 1.0, self._rates)[:, np.newaxis]
        self._z += gradients - (roots - self._roots) / rates * rows
        self._roots = roots
        shrunk = self._z - np.clip(self._z, -self._l1, self._l1)
        rows[:] = -shrunk * (self._rates[:, np.newaxis] / (1.0 + roots))
