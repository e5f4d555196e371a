"""Many settings of KOIL with Gaussian kernels, trained side by side in one pass."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from benchmarks.arrays import BoolArray, FloatArray, IndexArray
from benchmarks.paper.grids.nearest import k_nearest_by_row, nearest_by_row
from benchmarks.paper.grids.stack import LARGEST_NORM, Stack

__all__ = ["KOILStack"]

_FIRST_CAPACITY = 256


class KOILStack(Stack):
    """Many settings of `KOIL` with Gaussian kernels, the L1 loss and FIFO buffers.

    Which examples are stored depends on which pairs violate a margin of 1. Settings of one kernel
    width that have always agreed on that have stored the same vectors, with coefficients in
    proportion to C, so that one model with C = 1 represents them all. The stack starts with one
    model per width and splits a model in two when its settings disagree. On the paper's grid this
    ends at about one model for two settings.

    Each model has its own buffers and Gram matrix; only the distances between the new example and
    the stored vectors are shared. All models are updated at once, as slices of three-dimensional
    arrays. The scores of the stored vectors are updated rather than recomputed: a step costs k + 2
    rows of the Gram matrix per model and some passes over M × 2B arrays, for M models and a budget
    of B. Memory is up to 4 G B² doubles for G settings. Rounding errors in a score shrink with the
    score, by 1 - eta per step, and do not accumulate.

    No setting can diverge: a step adds at most 2 k eta C to the sum of the absolute coefficients
    and shrinks the sum by the factor 1 - eta, so that it never exceeds 2 k C.

    Parameters
    ----------
    size
        Number of features.
    gamma
        The inverse squared kernel width of each setting.
    C
        The cost of a pair in each setting.
    eta
        Step size.
    budget
        Number of stored vectors per class.
    k
        Number of pairs that a step uses at most.

    Examples
    --------
    >>> import numpy as np
    >>> from benchmarks.paper.grids.koil import KOILStack

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
        self._C: FloatArray = np.array(C, dtype=float)
        if 2 * k * self._C.max() > LARGEST_NORM:
            raise ValueError(f"C is {self._C.max()}: coefficients may become too large")
        self.diverged = np.zeros(len(self._C), dtype=bool)
        self._eta = eta
        self._budget = budget
        self._k = k
        # The vectors that any model stores, in order of arrival.
        self._n_vectors = 0
        self._vectors: FloatArray = np.zeros((_FIRST_CAPACITY, size))

        # The model of each setting.
        self._model: IndexArray
        # Per model. Negatives take the first slots and positives the others. A free slot has a
        # coefficient of 0; its other entries are arbitrary.
        self._gamma: FloatArray
        self._gamma, self._model = np.unique(np.asarray(gamma, dtype=float), return_inverse=True)
        n_models, n_slots = len(self._gamma), 2 * budget
        self._n_stored: IndexArray = np.zeros((2, n_models), dtype=np.intp)
        self._place: IndexArray = np.zeros((n_models, n_slots), dtype=np.intp)
        self._coefficients: FloatArray = np.zeros((n_models, n_slots))
        self._scores: FloatArray = np.zeros((n_models, n_slots))
        # Room for one model per setting; the system provides untouched pages on demand.
        self._gram: FloatArray = np.zeros((len(self._C), n_slots, n_slots))
        self._find_margins()

    def learn(self, x: FloatArray, positive: bool) -> None:
        rows, violating = self._compare(x, positive)
        other = self._slots(not positive)
        n_own, n_other = self._n_stored[int(positive)], self._n_stored[int(not positive)]
        n_pairs = violating.sum(axis=1)
        # Without an example to compare with, a new one counts as one pair.
        n_pairs[(n_other == 0) | (n_own == 0) & (n_pairs == 0)] = 1
        many = np.flatnonzero(n_pairs > self._k)
        if len(many):
            violating[many] = k_nearest_by_row(
                rows[many, other], self._place[many, other], violating[many], self._k
            )
            n_pairs[many] = self._k

        self._coefficients *= 1.0 - self._eta
        self._scores *= 1.0 - self._eta
        step = self._eta if positive else -self._eta
        changes = np.zeros(self._coefficients.shape)
        changes[:, other] -= step * violating
        self._store(x, rows, step * n_pairs, changes, positive)

    def scores(self, matrix: FloatArray) -> FloatArray:
        distances = cdist(matrix, self._vectors[: max(self._n_vectors, 1)], "sqeuclidean")
        scores = np.empty((len(self._C), len(matrix)))
        for model, gamma in enumerate(self._gamma):
            similarities = np.exp(-gamma * distances[:, self._place[model]])
            # Multiply by C first: tiny similarities have few digits left.
            for setting in np.flatnonzero(self._model == model):
                scores[setting] = similarities @ (self._C[setting] * self._coefficients[model])
        return scores

    def _slots(self, positive: bool) -> slice:
        return slice(self._budget, 2 * self._budget) if positive else slice(0, self._budget)

    def _compare(self, x: FloatArray, positive: bool) -> tuple[FloatArray, BoolArray]:
        """Return the similarity of an example to each slot, and which pairs violate the margin.

        Models whose settings disagree on the pairs are split.
        """
        other = self._slots(not positive)
        # A free slot refers to the first vector, which may not exist yet.
        distances = cdist(x[np.newaxis], self._vectors[: max(self._n_vectors, 1)], "sqeuclidean")[0]
        while True:
            rows = distances[self._place]
            rows *= -self._gamma[:, np.newaxis]
            np.exp(rows, out=rows)
            lead = np.einsum("ms,ms->m", rows, self._coefficients)[:, np.newaxis]
            lead = lead - self._scores[:, other] if positive else self._scores[:, other] - lead
            # The margin is 1 for C times the score.
            violating = lead < self._largest_margin[:, np.newaxis]
            violating &= np.arange(self._budget) < self._n_stored[int(not positive), :, np.newaxis]
            is_disputed = violating & (lead >= self._smallest_margin[:, np.newaxis])
            models = np.flatnonzero(is_disputed.any(axis=1))
            if not len(models):
                return rows, violating
            self._split(models, np.where(is_disputed, lead, 0.0)[models].max(axis=1))

    def _split(self, models: IndexArray, leads: FloatArray) -> None:
        """Split each model: a copy takes the settings whose margin is at most the lead."""
        n_models = len(self._gamma)
        for copy, (model, lead) in enumerate(zip(models, leads, strict=True), n_models):
            self._model[(self._model == model) & (1.0 / self._C <= lead)] = copy
            self._gram[copy] = self._gram[model]
        kept = np.append(np.arange(n_models), models)
        self._gamma = self._gamma[kept]
        self._n_stored = self._n_stored[:, kept]
        self._place = self._place[kept]
        self._coefficients = self._coefficients[kept]
        self._scores = self._scores[kept]
        self._find_margins()

    def _find_margins(self) -> None:
        """Find the smallest and the largest margin among the settings of each model."""
        self._smallest_margin: FloatArray = np.full(len(self._gamma), np.inf)
        self._largest_margin: FloatArray = np.zeros(len(self._gamma))
        np.minimum.at(self._smallest_margin, self._model, 1.0 / self._C)
        np.maximum.at(self._largest_margin, self._model, 1.0 / self._C)

    def _store(
        self,
        x: FloatArray,
        rows: FloatArray,
        coefficients: FloatArray,
        changes: FloatArray,
        positive: bool,
    ) -> None:
        """Apply changes of coefficients and store the example where its own is not zero."""
        if self._n_vectors == len(self._vectors):
            self._make_room()
        self._vectors[self._n_vectors] = x

        models = np.flatnonzero(coefficients)
        each = np.arange(len(models))
        rows = rows[models]
        own = self._slots(positive)
        n_stored = self._n_stored[int(positive), models]
        places = n_stored % self._budget
        slots = own.start + places
        lost = self._coefficients[models, slots]
        rows_of_lost = self._gram[models, slots]
        self._scores[models] -= lost[:, np.newaxis] * rows_of_lost
        to_lost = rows_of_lost[:, own]
        to_lost[each, places] = rows[each, slots]

        rows[each, slots] = 1.0
        self._gram[models, slots] = rows
        self._gram[models, :, slots] = rows
        self._place[models, slots] = self._n_vectors
        self._n_stored[int(positive), models] += 1
        self._n_vectors += 1

        # The coefficient lost from a free slot is 0.
        heirs = own.start + nearest_by_row(to_lost, self._place[models, own])
        self._coefficients[models, slots] = 0.0
        changes[models, slots] = coefficients[models]
        changes[models, heirs] += lost
        self._coefficients += changes
        self._scores += self._times_gram(changes)
        self._scores[models, slots] = np.einsum("ms,ms->m", rows, self._coefficients[models])

    def _times_gram(self, changes: FloatArray) -> FloatArray:
        """Multiply sparse changes of the coefficients of each model by its Gram matrix."""
        n_models, n_slots = changes.shape
        changed = np.flatnonzero(changes != 0.0)
        first = np.searchsorted(changed, n_slots * np.arange(n_models + 1))
        blocks = csr_array(
            (changes.ravel()[changed], changed, first), shape=(n_models, len(self._C) * n_slots)
        )
        product: FloatArray = blocks @ self._gram.reshape(-1, n_slots)
        return product

    def _make_room(self) -> None:
        """Drop the vectors that no model stores any more, and grow if that is not enough."""
        kept, place = np.unique(self._place, return_inverse=True)
        capacity = len(self._vectors)
        if 4 * len(kept) > 3 * capacity:
            capacity *= 2
        vectors = np.zeros((capacity, self._vectors.shape[1]))
        vectors[: len(kept)] = self._vectors[kept]
        self._vectors = vectors
        self._place = place.reshape(self._place.shape)
        self._n_vectors = len(kept)
