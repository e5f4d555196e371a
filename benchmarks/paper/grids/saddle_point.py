"""Many settings of `SOLAM` or `SPAUC`, trained side by side in one pass."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from benchmarks.arrays import FloatArray
from benchmarks.paper.grids.stack import LinearStack

__all__ = ["SOLAMStack", "SPAUCStack"]


class SOLAMStack(LinearStack):
    """Many settings of `SOLAM`. A step costs six passes over the weights.

    Parameters
    ----------
    size
        Number of features.
    xi
        The step of each setting at the first example.
    R
        The largest norm of the weights of each setting.

    """

    def __init__(self, size: int, xi: ArrayLike, R: ArrayLike) -> None:
        super().__init__(size, xi)
        self._R: FloatArray = np.array(R, dtype=float)
        n_settings = len(self._R)
        self._a, self._b, self._alpha = np.zeros((3, n_settings))
        self._averages: FloatArray = np.zeros((n_settings, size))
        self._n_seen = self._n_positive = 0
        self._kappa = self._total_step = 0.0

    def _step(self, x: FloatArray, y: float) -> None:
        self._n_seen += 1
        self._n_positive += y > 0.0
        q = self._n_positive / self._n_seen
        rows, a, b, alpha = self._rows, self._a, self._b, self._alpha
        # The factor ξ of the steps has no influence on their average.
        step = 1.0 / math.sqrt(self._n_seen)
        self._total_step += step
        self._averages += step / self._total_step * (rows - self._averages)

        gammas, f = step * self._rates, rows @ x
        if y > 0.0:
            gammas *= 2.0 * (1.0 - q)
            self._add(x, -gammas * (f - a - 1.0 - alpha))
            self._a, self._alpha = a + gammas * (f - a), alpha - gammas * (f + q * alpha)
        else:
            gammas *= 2.0 * q
            self._add(x, -gammas * (f - b + 1.0 + alpha))
            self._b, self._alpha = b + gammas * (f - b), alpha + gammas * (f - (1.0 - q) * alpha)
        norms = np.sqrt(np.einsum("gj,gj->g", rows, rows))
        rows *= (self._R / np.maximum(norms, self._R))[:, np.newaxis]
        self._kappa = max(self._kappa, float(np.linalg.norm(x)))
        bounds = self._kappa * self._R
        self._a, self._b = np.clip((self._a, self._b), -bounds, bounds)
        self._alpha = np.clip(self._alpha, -2.0 * bounds, 2.0 * bounds)

    def scores(self, matrix: FloatArray) -> FloatArray:
        return self._averages @ matrix.T


class SPAUCStack(LinearStack):
    """Many settings of `SPAUC` over one pair of class means.

    A step costs four passes over the weights.

    Parameters
    ----------
    size
        Number of features.
    c
        The step of each setting at the first example.
    l2
        The regulariser of each setting.

    """

    def __init__(self, size: int, c: ArrayLike, l2: ArrayLike) -> None:
        super().__init__(size, c)
        self._l2: FloatArray = np.array(l2, dtype=float)
        self._n = {1.0: 0, -1.0: 0}
        self._means = {1.0: np.zeros(size), -1.0: np.zeros(size)}

    def _step(self, x: FloatArray, y: float) -> None:
        self._n[y] += 1
        self._means[y] += (x - self._means[y]) / self._n[y]
        if not self._n[-y]:
            return
        n_seen, rows = sum(self._n.values()), self._rows
        q = self._n[1.0] / n_seen
        deviation, gap = x - self._means[y], self._means[-1.0] - self._means[1.0]
        etas = self._rates / math.sqrt(n_seen)
        of_deviation = 2.0 * (self._n[-y] / n_seen) * etas * (rows @ deviation)
        of_gap = 2.0 * q * (1.0 - q) * etas * (1.0 + rows @ gap)
        self._add(deviation, -of_deviation)
        self._add(gap, -of_gap)
        rows /= (1.0 + etas * self._l2)[:, np.newaxis]
