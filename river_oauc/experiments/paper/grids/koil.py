"""Many settings of KOIL with Gaussian kernels, learning side by side in one pass."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from river_oauc.experiments.paper.grids.nearest import (
    IndexArray,
    k_nearest_by_row,
    nearest_by_row,
)
from river_oauc.experiments.paper.grids.stack import Stack, freeze_diverged
from river_oauc.inputs.arrays import FloatArray, resized

__all__ = ["KOILStack"]

_FIRST_CAPACITY = 256


class KOILStack(Stack):
    """Many settings of `KOIL` with Gaussian kernels, the L1 loss and FIFO buffers.

    What a setting stores depends on what it gets wrong, so each has buffers and a Gram matrix of
    its own; only the distances of the new example to the earlier ones are shared. All settings
    move at once nevertheless, as slices of three-dimensional arrays. All earlier examples are
    kept, for any of them may still be stored by some setting: memory grows with the stream.

    A step costs G products of a B × 2B matrix with a vector, for G settings and a budget of B, and
    some passes over G × 2B arrays; memory is 4 G B² doubles.

    Parameters
    ----------
    size
        Number of features.
    gamma
        The inverse squared kernel width of each setting.
    C
        The price of a pair in each setting.
    eta
        Step size.
    budget
        Number of stored vectors of a class.
    k
        Number of pairs that count in a step.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.experiments.paper.grids.koil import KOILStack

    >>> stack = KOILStack(size=1, gamma=[1.0, 4.0], C=[1.0, 8.0])
    >>> for value, positive in [(0.0, False), (1.0, True), (2.0, False)] * 5:
    ...     stack.learn(np.array([value]), positive)
    >>> stack.scores(np.array([[0.0], [1.0]])).round(3)
    array([[-0.075,  0.299],
           [-0.487,  0.866]])

    """

    def __init__(
        self,
        size: int,
        gamma: ArrayLike,
        C: ArrayLike,
        eta: float = 0.01,
        budget: int = 100,
        k: int = 10,
    ) -> None:
        self._gamma: FloatArray = np.array(gamma, dtype=float)
        self._steps: FloatArray = eta * np.array(C, dtype=float)
        self._shrink = 1.0 - eta
        self._budget = budget
        self._k = k
        self._n_seen = 0
        self._seen: FloatArray = np.zeros((_FIRST_CAPACITY, size))
        # The negatives stand in the first slots and the positives behind them. A free slot has a
        # coefficient of 0, and may have anything in the Gram matrix.
        n_settings, n_slots = len(self._gamma), 2 * budget
        self._n_stored: IndexArray = np.zeros((2, n_settings), dtype=np.intp)
        self._arrival: IndexArray = np.zeros((n_settings, n_slots), dtype=np.intp)
        self._coefficients: FloatArray = np.zeros((n_settings, n_slots))
        self._gram: FloatArray = np.zeros((n_settings, n_slots, n_slots))
        self.diverged = np.zeros(n_settings, dtype=bool)

    def learn(self, x: FloatArray, positive: bool) -> None:
        rows = self._similarities(x)
        steps = self._steps if positive else -self._steps
        other = self._slots(not positive)
        n_own, n_other = self._n_stored[int(positive)], self._n_stored[int(not positive)]

        violating = self._lacking(rows, other, 1.0 if positive else -1.0) > 0.0
        violating &= np.arange(self._budget) < n_other[:, np.newaxis]
        n_pairs = violating.sum(axis=1)
        # Without anything to compare with, an example counts like one pair.
        n_pairs[(n_other == 0) | (n_own == 0) & (n_pairs == 0)] = 1
        many = np.flatnonzero(n_pairs > self._k)
        if len(many):
            violating[many] = k_nearest_by_row(
                rows[many, other], self._arrival[many, other], violating[many], self._k
            )
            n_pairs[many] = self._k

        self._coefficients *= self._shrink
        self._coefficients[:, other] -= steps[:, np.newaxis] * violating
        self._store(x, rows, steps * n_pairs, positive)
        diverged = freeze_diverged(self._coefficients, self._steps)
        if diverged is not None:
            self.diverged |= diverged

    def scores(self, matrix: FloatArray) -> FloatArray:
        stored, places = np.unique(self._arrival, return_inverse=True)
        places = places.reshape(self._arrival.shape)
        distances = cdist(matrix, self._seen[stored], "sqeuclidean")
        scores = np.empty((len(self._gamma), len(matrix)))
        for setting, gamma in enumerate(self._gamma):
            similarities = np.exp(-gamma * distances[:, places[setting]])
            scores[setting] = similarities @ self._coefficients[setting]
        return scores

    def _slots(self, positive: bool) -> slice:
        return slice(self._budget, 2 * self._budget) if positive else slice(0, self._budget)

    def _similarities(self, x: FloatArray) -> FloatArray:
        """Of an example to the vector in each slot of each setting."""
        # A free slot names the first example, which need not be there yet.
        seen = self._seen[: max(self._n_seen, 1)]
        exponents = cdist(x[np.newaxis], seen, "sqeuclidean")[0][self._arrival]
        exponents *= -self._gamma[:, np.newaxis]
        similarities: FloatArray = np.exp(exponents, out=exponents)
        return similarities

    def _lacking(self, rows: FloatArray, other: slice, sign: float) -> FloatArray:
        """1 - sign (score - scores): what the pairs want for a margin of 1."""
        lacking: FloatArray
        lacking = np.matmul(self._gram[:, other], self._coefficients[:, :, np.newaxis])[:, :, 0]
        lacking -= np.einsum("gs,gs->g", rows, self._coefficients)[:, np.newaxis]
        lacking *= sign
        lacking += 1.0
        return lacking

    def _store(
        self, x: FloatArray, rows: FloatArray, coefficients: FloatArray, positive: bool
    ) -> None:
        """Let the settings that give the example a coefficient store it."""
        if self._n_seen == len(self._seen):
            self._seen = resized(self._seen, 2 * self._n_seen, self._seen.shape[1])
        self._seen[self._n_seen] = x

        settings = np.flatnonzero(coefficients)
        own = self._slots(positive)
        n_stored = self._n_stored[int(positive), settings]
        places = n_stored % self._budget
        slots = own.start + places
        lost = self._coefficients[settings, slots]
        to_lost = self._gram[settings, slots, own]
        to_lost[np.arange(len(settings)), places] = rows[settings, slots]

        self._gram[settings, slots] = rows[settings]
        self._gram[settings, :, slots] = rows[settings]
        self._gram[settings, slots, slots] = 1.0
        self._coefficients[settings, slots] = coefficients[settings]
        self._arrival[settings, slots] = self._n_seen
        self._n_stored[int(positive), settings] += 1
        self._n_seen += 1

        full = n_stored >= self._budget
        settings = settings[full]
        heirs = own.start + nearest_by_row(to_lost[full], self._arrival[settings, own])
        self._coefficients[settings, heirs] += lost[full]
