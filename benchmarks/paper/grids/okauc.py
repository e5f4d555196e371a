"""Many settings of `OKAUCM` or `OKAUCS` with Gaussian kernels, trained in one pass."""

from __future__ import annotations

import typing

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from benchmarks.arrays import BoolArray, FloatArray, IndexArray
from benchmarks.paper.grids.losses import psi_m_gradient, psi_s_gradient
from benchmarks.paper.grids.nearest import nearest_by_row
from benchmarks.paper.grids.stack import Stack, freeze_diverged

__all__ = ["OKAUCMStack", "OKAUCSStack"]

# Smaller similarities are set to zero while learning: beside the similarity 1 of a vector to itself
# they are far below the last digit of any score.
_NEGLIGIBLE = 1e-30


class _Queues:
    """The most recent vectors of each class.

    Negatives take the first `budget` slots and positives the others. A free slot holds zeros.
    """

    def __init__(self, size: int, budget: int) -> None:
        self.budget = budget
        self.n_seen = [0, 0]
        self.vectors: FloatArray = np.zeros((2 * budget, size))
        self.arrival: IndexArray = np.zeros(2 * budget, dtype=np.intp)

    def slots(self, positive: bool) -> slice:
        """Return the occupied slots of a class."""
        start = self.budget if positive else 0
        return slice(start, start + min(self.n_seen[positive], self.budget))

    def squared_distances(self, matrix: FloatArray) -> FloatArray:
        """Return the squared distance of each row of a matrix to each slot."""
        distances: FloatArray = cdist(matrix, self.vectors, "sqeuclidean")
        return distances

    def put(self, x: FloatArray, positive: bool) -> int:
        """Store a vector in place of the oldest of its class and return its slot."""
        start = self.budget if positive else 0
        slot = start + self.n_seen[positive] % self.budget
        self.vectors[slot] = x
        self.arrival[slot] = sum(self.n_seen)
        self.n_seen[positive] += 1
        return slot


class _KernelMomentStack(Stack):
    """Settings of a learner whose stored vectors do not depend on its parameters.

    Every example is stored in place of the oldest. So all settings share the vectors and their
    distances, and those of one kernel width also share the Gram matrix: one matrix product gives
    their scores at all stored vectors.

    These products dominate the cost, and two shortcuts make them smaller. Within a run of examples
    of one class, each step changes two coefficients of that class: its contribution to the scores
    of the opposite class is updated, and only the vectors of the opposite class remain for the
    product. And where a kernel is so narrow that most vectors are similar to no other, the scores
    of these vectors are their coefficients.

    A step costs, for each kernel width, one product of a B × B with a B × G matrix, for a budget B
    and G settings of that width; two if the previous example was of the opposite class.

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
        Number of stored vectors per class.

    """

    _gradient: typing.ClassVar[
        staticmethod[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]
    ]

    def __init__(
        self,
        size: int,
        gamma: ArrayLike,
        l2: ArrayLike,
        lr: ArrayLike | None = None,
        budget: int = 100,
    ) -> None:
        gammas, regularisers = np.asarray(gamma, dtype=float), np.asarray(l2, dtype=float)
        rates = 1.0 / regularisers if lr is None else np.asarray(lr, dtype=float)
        self._is_decaying = lr is None
        self.diverged = np.zeros(len(gammas), dtype=bool)
        self._queues = _Queues(size, budget)

        # Per kernel width: the similarities, and which vectors are similar to any other.
        self._gammas: FloatArray = np.unique(gammas)
        self._gram: FloatArray = np.zeros((len(self._gammas), 2 * budget, 2 * budget))
        self._has_similar: BoolArray = np.zeros((len(self._gammas), 2 * budget), dtype=bool)

        # The class of the current run, and the widths for which its contribution is updated.
        self._run: bool | None = None
        self._is_wide: BoolArray = np.zeros(len(self._gammas), dtype=bool)

        # A column per setting; settings of one width are adjacent.
        self._settings: IndexArray = np.argsort(gammas, kind="stable")
        self._widths: IndexArray = np.searchsorted(self._gammas, gammas[self._settings])
        self._rates: FloatArray = rates[self._settings]
        self._l2: FloatArray = regularisers[self._settings]
        self._coefficients: FloatArray = np.zeros((2 * budget, len(gammas)))
        # Contribution of the class of the run to the scores of the opposite class.
        self._contribution: FloatArray = np.zeros((budget, len(gammas)))
        ends = np.cumsum(np.bincount(self._widths)).tolist()
        self._columns = [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]

    def learn(self, x: FloatArray, positive: bool) -> None:
        queues = self._queues
        rows = np.exp(-self._gammas[:, np.newaxis] * queues.squared_distances(x[np.newaxis]))
        rows[rows < _NEGLIGIBLE] = 0.0
        if self._run != positive:
            self._start_run(positive)
        other = queues.slots(not positive)
        slot = queues.put(x, positive)
        own = queues.slots(positive)
        if queues.n_seen[not positive]:
            coefficients = self._step(rows, other, 1.0 if positive else -1.0)
        else:
            coefficients = np.zeros(len(self._settings))
        self._insert(rows, coefficients, slot, own, other)
        diverged = freeze_diverged(self._coefficients.T, self._rates)
        if diverged.any():
            self._contribution[:, diverged] = 0.0
            self.diverged[self._settings[diverged]] = True

    def scores(self, matrix: FloatArray) -> FloatArray:
        distances = self._queues.squared_distances(matrix)
        scores = np.empty((len(self.diverged), len(matrix)))
        for gamma, columns in zip(self._gammas, self._columns, strict=True):
            similarities = np.exp(-gamma * distances)
            scores[self._settings[columns]] = (similarities @ self._coefficients[:, columns]).T
        return scores

    def _start_run(self, positive: bool) -> None:
        """Compute the contribution of a class to the scores of the opposite class."""
        own, other = self._queues.slots(positive), self._queues.slots(not positive)
        n_others = other.stop - other.start
        self._run = positive
        self._is_wide = 3 * self._has_similar[:, other].sum(axis=1) > n_others
        for width, columns in enumerate(self._columns):
            self._contribution[:n_others, columns] = (
                self._gram[width, other, own] @ self._coefficients[own, columns]
                if self._is_wide[width]
                else 0.0
            )

    def _step(self, rows: FloatArray, other: slice, y: float) -> FloatArray:
        """Update the coefficients of the stored vectors and return those of the new one."""
        n_others = other.stop - other.start
        margins = np.concatenate(
            [
                row @ self._coefficients[:, columns]
                for row, columns in zip(rows, self._columns, strict=True)
            ]
        )
        deviations = self._scores_of(other)
        means = deviations.mean(axis=0)
        deviations -= means
        variances = np.einsum("ij,ij->j", deviations, deviations) / n_others
        margins -= means
        margins *= y
        pulls, spreads = self._gradient(margins, variances)

        steps = self._rates / sum(self._queues.n_seen) if self._is_decaying else self._rates
        shrinkage = 1.0 - steps * self._l2
        self._coefficients *= shrinkage
        self._contribution[:n_others] *= shrinkage
        coefficients = y * steps * pulls
        # The mean of the opposite class is pushed away and its deviations shrink towards it.
        deviations *= steps * spreads / n_others
        deviations += coefficients / n_others
        self._coefficients[other] -= deviations
        return coefficients

    def _scores_of(self, other: slice) -> FloatArray:
        """Return the scores of the vectors of the class opposite to the run."""
        scores = np.empty((other.stop - other.start, len(self._settings)))
        for width, columns in enumerate(self._columns):
            coefficients = self._coefficients[other, columns]
            if self._is_wide[width]:
                np.matmul(self._gram[width, other, other], coefficients, out=scores[:, columns])
            else:
                scores[:, columns] = coefficients
                (places,) = self._has_similar[width, other].nonzero()
                if len(places):
                    similarities = self._gram[width, other.start + places]
                    scores[places, columns] = similarities @ self._coefficients[:, columns]
        scores += self._contribution[: len(scores)]
        return scores

    def _insert(
        self, rows: FloatArray, coefficients: FloatArray, slot: int, own: slice, other: slice
    ) -> None:
        """Put a vector into a slot and project the one it replaces onto its nearest vector."""
        lost = self._coefficients[slot].copy()
        rows_of_lost = self._gram[:, slot].copy()
        rows_of_lost[:, slot] = rows[:, slot]
        self._gram[:, slot] = rows
        self._gram[:, :, slot] = rows
        self._gram[:, slot, slot] = 1.0
        is_similar = rows > 0.0
        is_similar[:, slot] = False
        self._has_similar |= is_similar
        self._has_similar[:, slot] = is_similar.any(axis=1)

        to_lost = rows_of_lost[:, own]
        every_width = np.arange(len(self._gammas))
        places = nearest_by_row(to_lost * to_lost, self._queues.arrival[own])
        heirs = own.start + places
        # The coefficient lost from a free slot is 0.
        inherited = lost * to_lost[every_width, places][self._widths]
        self._coefficients[slot] = coefficients
        self._coefficients[heirs[self._widths], np.arange(len(inherited))] += inherited

        changes = np.stack([coefficients, inherited, -lost])
        rows_of_heirs = self._gram[every_width, heirs]
        changed = np.stack(
            [rows[:, other], rows_of_heirs[:, other], rows_of_lost[:, other]], axis=2
        )
        for width in self._is_wide.nonzero()[0]:
            columns = self._columns[width]
            contribution = self._contribution[: changed.shape[1], columns]
            contribution += changed[width] @ changes[:, columns]


class OKAUCMStack(_KernelMomentStack):
    """Many settings of `OKAUCM` with Gaussian kernels over one pair of FIFO buffers.

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
        Number of stored vectors per class.

    Examples
    --------
    >>> import numpy as np
    >>> from benchmarks.paper.grids.okauc import OKAUCMStack

    >>> stack = OKAUCMStack(size=1, gamma=[1.0, 1.0, 4.0], l2=[0.1, 1.0, 0.1])
    >>> for value, positive in [(0.0, False), (1.0, True), (2.0, False)] * 5:
    ...     stack.learn(np.array([value]), positive)
    >>> stack.scores(np.array([[0.0], [1.0]])).round(3)
    array([[-0.381,  0.972],
           [-0.142,  0.588],
           [-0.449,  0.783]])

    """

    _gradient = staticmethod(psi_m_gradient)


class OKAUCSStack(_KernelMomentStack):
    """Many settings of `OKAUCS` with Gaussian kernels over one pair of FIFO buffers.

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
        Number of stored vectors per class.

    """

    _gradient = staticmethod(psi_s_gradient)
