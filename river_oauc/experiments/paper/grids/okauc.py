"""Many settings of one kernel learner with Gaussian kernels, learning side by side in one pass."""

from __future__ import annotations

import abc

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from river_oauc import losses
from river_oauc.experiments.paper.grids.stack import Stack, freeze_diverged
from river_oauc.inputs.arrays import FloatArray
from river_oauc.kernel.support import nearest

__all__ = ["OKAUCMStack", "OKAUCSStack"]


class _Queues:
    """The last so many vectors of each of two classes, each in a slot of its own.

    The negatives stand in the first slots and the positives behind them. A slot that is free holds
    zeros.
    """

    def __init__(self, size: int, budget: int) -> None:
        self.budget = budget
        self.n_seen = [0, 0]
        self.vectors: FloatArray = np.zeros((2 * budget, size))
        self.arrival: NDArray[np.intp] = np.zeros(2 * budget, dtype=np.intp)

    def slots(self, positive: bool) -> slice:
        """Where the vectors of a class stand."""
        start = self.budget if positive else 0
        return slice(start, start + min(self.n_seen[positive], self.budget))

    def squared_distances(self, matrix: FloatArray) -> FloatArray:
        """From each row of a matrix to each slot."""
        distances: FloatArray = cdist(matrix, self.vectors, "sqeuclidean")
        return distances

    def put(self, x: FloatArray, positive: bool) -> tuple[int, bool]:
        """Store a vector; returns its slot, and whether another one was given up for it."""
        start = self.budget if positive else 0
        place = self.n_seen[positive]
        slot = start + place % self.budget
        self.vectors[slot] = x
        self.arrival[slot] = sum(self.n_seen)
        self.n_seen[positive] += 1
        return slot, place >= self.budget


class _Width:
    """The settings that have one kernel width in common: they share its Gram matrix."""

    def __init__(
        self, gamma: float, members: NDArray[np.intp], rates: FloatArray, l2: FloatArray, slots: int
    ) -> None:
        self.gamma = gamma
        self.members = members
        self.rates = rates
        self.l2 = l2
        self.gram: FloatArray = np.zeros((slots, slots))
        # A row per slot, a column per setting.
        self.coefficients: FloatArray = np.zeros((slots, len(members)))

    def similarities(self, squared_distances: FloatArray) -> FloatArray:
        similarities: FloatArray = np.exp(-self.gamma * squared_distances)
        return similarities

    def insert(
        self,
        slot: int,
        own: slice,
        row: FloatArray,
        coefficients: FloatArray | float,
        arrival: NDArray[np.intp],
        is_replacement: bool,
    ) -> None:
        """Put a vector into a slot; the projection of what was there passes on to its heir."""
        lost = self.coefficients[slot].copy()
        to_lost = self.gram[slot, own].copy()
        to_lost[slot - own.start] = row[slot]
        self.gram[slot] = row
        self.gram[:, slot] = row
        self.gram[slot, slot] = 1.0
        self.coefficients[slot] = coefficients
        if is_replacement:
            heir = nearest(to_lost * to_lost, arrival[own])
            self.coefficients[own.start + heir] += lost * to_lost[heir]


class _KernelMomentStack(Stack):
    """Settings of a learner whose stored vectors do not depend on its settings.

    Every example is stored and the oldest one given up. So all settings share the vectors and their
    distances, and those of one kernel width the Gram matrix as well: their scores at all stored
    vectors are one product of matrices.

    Parameters
    ----------
    size
        Number of features.
    gamma
        The inverse squared kernel width of each setting.
    l2
        The regulariser of each setting.
    lr
        The constant step of each setting; None is 1 / (l2 · t) for the t-th example.
    budget
        Number of stored vectors of a class.

    """

    def __init__(
        self, size: int, gamma: ArrayLike, l2: ArrayLike, lr: ArrayLike | None, budget: int
    ) -> None:
        gammas, regularisers = np.asarray(gamma, dtype=float), np.asarray(l2, dtype=float)
        rates = 1.0 / regularisers if lr is None else np.asarray(lr, dtype=float)
        self._is_decaying = lr is None
        self.diverged = np.zeros(len(gammas), dtype=bool)
        self._queues = _Queues(size, budget)
        self._widths = [
            _Width(value, members, rates[members], regularisers[members], 2 * budget)
            for value in np.unique(gammas)
            for members in [np.flatnonzero(gammas == value)]
        ]

    @staticmethod
    @abc.abstractmethod
    def _coefficients(margin: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """`pull` and `spread` of the gradient of the loss; see `losses`."""

    def learn(self, x: FloatArray, positive: bool) -> None:
        queues = self._queues
        other = queues.slots(not positive)
        distances = queues.squared_distances(x[np.newaxis])[0]
        slot, is_replacement = queues.put(x, positive)
        own = queues.slots(positive)
        for width in self._widths:
            row = width.similarities(distances)
            coefficients: FloatArray | float = 0.0
            if queues.n_seen[not positive]:
                coefficients = self._move(width, row, other, 1.0 if positive else -1.0)
            width.insert(slot, own, row, coefficients, queues.arrival, is_replacement)
            diverged = freeze_diverged(width.coefficients.T, width.rates)
            if diverged is not None:
                self.diverged[width.members[diverged]] = True

    def _move(self, width: _Width, row: FloatArray, other: slice, sign: float) -> FloatArray:
        """Change the coefficients of the stored vectors; returns those of the new one."""
        n_others = other.stop - other.start
        deviations = width.gram[other] @ width.coefficients
        means = deviations.mean(axis=0)
        deviations -= means
        variances = np.einsum("ij,ij->j", deviations, deviations) / n_others
        margins = sign * (row @ width.coefficients - means)
        pulls, spreads = self._coefficients(margins, variances)

        steps = width.rates / sum(self._queues.n_seen) if self._is_decaying else width.rates
        width.coefficients *= 1.0 - steps * width.l2
        coefficients = sign * steps * pulls
        # The mean moves against the new example, and what deviates from it moves towards it.
        deviations *= steps * spreads / n_others
        deviations += coefficients / n_others
        width.coefficients[other] -= deviations
        return coefficients

    def scores(self, matrix: FloatArray) -> FloatArray:
        distances = self._queues.squared_distances(matrix)
        scores = np.empty((len(self.diverged), len(matrix)))
        for width in self._widths:
            scores[width.members] = (width.similarities(distances) @ width.coefficients).T
        return scores


class OKAUCMStack(_KernelMomentStack):
    """Many settings of `OKAUCM` with Gaussian kernels over one pair of FIFO buffers.

    A step costs, for each of the kernel widths, one product of a B × 2B with a 2B × G matrix, B
    being the budget of a class and G the number of settings of that width.

    Parameters
    ----------
    size
        Number of features.
    gamma
        The inverse squared kernel width of each setting.
    l2
        The regulariser of each setting.
    lr
        The constant step of each setting; None is 1 / (l2 · t) for the t-th example.
    budget
        Number of stored vectors of a class.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.experiments.paper.grids.okauc import OKAUCMStack

    >>> stack = OKAUCMStack(size=1, gamma=[1.0, 1.0, 4.0], l2=[0.1, 1.0, 0.1])
    >>> for value, positive in [(0.0, False), (1.0, True), (2.0, False)] * 5:
    ...     stack.learn(np.array([value]), positive)
    >>> stack.scores(np.array([[0.0], [1.0]])).round(3)
    array([[-0.381,  0.972],
           [-0.142,  0.588],
           [-0.449,  0.783]])

    """

    def __init__(
        self,
        size: int,
        gamma: ArrayLike,
        l2: ArrayLike,
        lr: ArrayLike | None = None,
        budget: int = 100,
    ) -> None:
        super().__init__(size, gamma, l2, lr, budget)

    _coefficients = staticmethod(losses.psi_m_coefficients)


class OKAUCSStack(_KernelMomentStack):
    """Many settings of `OKAUCS` with Gaussian kernels over one pair of FIFO buffers.

    A step costs what one of `OKAUCMStack` costs.

    Parameters
    ----------
    size
        Number of features.
    gamma
        The inverse squared kernel width of each setting.
    l2
        The regulariser of each setting.
    lr
        The constant step of each setting.
    budget
        Number of stored vectors of a class.

    """

    def __init__(
        self, size: int, gamma: ArrayLike, l2: ArrayLike, lr: ArrayLike, budget: int = 100
    ) -> None:
        super().__init__(size, gamma, l2, lr, budget)

    _coefficients = staticmethod(losses.psi_s_coefficients)
