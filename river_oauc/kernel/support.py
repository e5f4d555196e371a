"""The examples that a kernel learner keeps, within a budget."""

from __future__ import annotations

import copy
import random
import typing

import numpy as np
from numpy.typing import NDArray

from river_oauc import blas, vectors
from river_oauc.inputs.arrays import FloatArray, Size, resized
from river_oauc.inputs.limits import MAX_SQUARED_NORM
from river_oauc.inputs.parameters import check_choice
from river_oauc.inputs.records import Record
from river_oauc.kernels import Kernel
from river_oauc.stats.samples import drawn_from_both, newest_of_both

__all__ = ["SupportSet", "k_nearest", "nearest"]

_FIRST_CAPACITY = 16

# Similarities that differ by less than this part are ties: they may be one number, rounded twice.
TIE = 1e-9

# A vector with a smaller squared norm inherits nothing: its share would be too large a number.
_SMALLEST_NORM = 1e-50


class SupportSet(Record):
    """Support vectors of two classes, with their coefficients and their Gram matrix.

    It stands for the function f(x) = Σ coefficientᵢ · k(vectorᵢ, x). A class has a budget. Until it
    is spent, a new vector is appended; then one is given up, and the new one takes over its slot,
    and its row and column of the Gram matrix. The coefficient of what is given up is not lost, but
    passes on to the most similar vector of its class.

    Nothing is computed but the similarities of the new vector: O(B p) time for B vectors of p
    features. Memory is B p + B² + O(B) doubles; the arrays double until the budgets are spent.

    Parameters
    ----------
    kernel
        The kernel k.
    budgets
        The largest numbers of negative and of positive vectors.
    policy
        What is given up: the oldest vector of the class (`"fifo"`), or one by chance, which may be
        the new one itself, so that the vectors are a uniform sample of the class (`"reservoir"`).
    compensation
        What is passed on: the projection of what is given up on its heir (`"projection"`), which
        loses the least, its whole coefficient (`"whole"`), or nothing (`"none"`).
    seed
        Seed of the reservoir.

    Attributes
    ----------
    n
        Numbers of negative and of positive vectors.
    n_stored
        Numbers of negative and of positive vectors that have been stored one after the other.
    n_offered
        Numbers of negative and of positive examples there have been, stored or not. The reservoir
        needs them, and its owner counts.
    vectors, coefficients, arrival
        The vectors, their coefficients, and their places in the order of arrival, by slot.
    importance
        The importance weights of the negative and of the positive vectors, both for all slots: a
        slot of the other class has a 0. So a sum over a class is one over all slots.
    totals
        The summed importance of the negative and of the positive vectors.
    gram
        The similarities of all pairs of vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.kernels import Linear
    >>> from river_oauc.kernel.support import SupportSet

    >>> support = SupportSet(Linear(), budgets=(2, 2))
    >>> for value in (1.0, 2.0, 4.0):
    ...     x = np.array([value])
    ...     squared_norm = support.kernel.of_itself(x)
    ...     _ = support.insert(x, support.row(x), squared_norm, positive=True, coefficient=1.0)
    >>> support.vectors[support.slots(positive=True)].ravel()
    array([4., 2.])

    The first vector has been given up. It is a fourth of the new one and half of the other, both
    of which would have lost nothing; the older one is the heir.

    >>> support.coefficients[support.slots(positive=True)]
    array([1. , 1.5])

    """

    __fields__ = (
        "kernel",
        "budgets",
        "policy",
        "compensation",
        "n_offered",
        "_rng",
        "n",
        "n_stored",
        "totals",
        "_capacities",
        "vectors",
        "gram",
        "coefficients",
        "importance",
        "arrival",
        "_inverse_norms",
    )

    def __init__(
        self,
        kernel: Kernel,
        budgets: tuple[int, int],
        policy: str = "fifo",
        compensation: str = "projection",
        seed: int | None = None,
    ) -> None:
        check_choice("policy", policy, ("fifo", "reservoir"))
        check_choice("compensation", compensation, ("projection", "whole", "none"))
        self.kernel = kernel
        self.budgets = budgets
        self.policy = policy
        self.compensation = compensation
        self.n_offered = [0, 0]
        self._rng = random.Random(seed)
        self._clear(size=1)

    def _clear(self, size: int) -> None:
        """Be without a vector."""
        self.n = [0, 0]
        self.n_stored = [0, 0]
        self.totals = [0.0, 0.0]
        # The negatives stand in the first slots and the positives behind them, with free slots
        # after each as long as its budget is not spent. Free slots have zeros everywhere.
        self._capacities = [min(budget, _FIRST_CAPACITY) for budget in self.budgets]
        n_slots = sum(self._capacities)
        self.vectors: FloatArray = np.zeros((n_slots, size))
        self.gram: FloatArray = np.zeros((n_slots, n_slots))
        self.coefficients: FloatArray = np.zeros(n_slots)
        self.importance: list[FloatArray] = [np.zeros(n_slots), np.zeros(n_slots)]
        self.arrival: NDArray[np.intp] = np.zeros(n_slots, dtype=np.intp)
        # One over the similarity to itself; 0 for a vector too short to inherit anything.
        self._inverse_norms: FloatArray = np.zeros(n_slots)
        self._forget_last_row()

    def __getstate__(self) -> dict[str, typing.Any]:
        # To be asked for a row changes neither a set nor its copies.
        state = super().__getstate__()
        state.pop("_last_row", None)
        return state

    def __setstate__(self, state: dict[str, typing.Any]) -> None:
        super().__setstate__(state)
        self._forget_last_row()

    def _forget_last_row(self) -> None:
        # What the last row that was asked for depends on, and the row.
        self._last_row: tuple[tuple[int, bytes], FloatArray] = (0, b""), np.zeros(0)

    def _start(self, positive: bool) -> int:
        return self._capacities[False] if positive else 0

    def slots(self, positive: bool) -> slice:
        """Where the vectors of a class stand."""
        start = self._start(positive)
        return slice(start, start + self.n[positive])

    def _used_slots(self) -> list[int]:
        return [*range(self.n[False]), *range(self._capacities[False], self.slots(True).stop)]

    def stored_vectors(self) -> FloatArray:
        """The vectors of both classes, without free slots."""
        return self.vectors[self._used_slots()]

    def row(self, x: FloatArray) -> FloatArray:
        """The similarity of `x` to the vector in each slot; 0 for a free slot. Not to be changed.

        An example is mostly learned right after it was scored. So the last row is kept, and found
        again as long as no other vector has been stored.
        """
        n_stored, data = self.n_stored[False] + self.n_stored[True], x.tobytes()
        (last_n_stored, last_data), row = self._last_row
        if n_stored != last_n_stored or data != last_data:
            row = self._similarities(x)
            self._last_row = (n_stored, data), row
        return row

    def _similarities(self, x: FloatArray) -> FloatArray:
        if self.n == self._capacities:
            # A kernel of one's own may have whole numbers.
            return np.ascontiguousarray(self.kernel(x, self.vectors), dtype=np.float64)
        row = np.zeros(len(self.vectors))
        for positive in (False, True):
            if self.n[positive]:
                slots = self.slots(positive)
                row[slots] = self.kernel(x, self.vectors[slots])
        return row

    def score(self, row: FloatArray) -> float:
        """The value of the function where the similarities are these."""
        return blas.ddot(row, self.coefficients)  # type: ignore[no-any-return]

    def scores(self) -> FloatArray:
        """The value of the function at the vector in each slot; 0 for a free slot."""
        return blas.symmetric_matvec(self.gram, self.coefficients)

    def mean(self, values: FloatArray, positive: bool) -> float:
        """The mean of one value a slot over a class, by importance; 0 for an empty class."""
        if not self.n[positive]:
            return 0.0
        total: float = blas.ddot(self.importance[positive], values)
        return total / self.totals[positive]

    def insert(
        self,
        x: FloatArray,
        row: FloatArray,
        squared_norm: float,
        positive: bool,
        coefficient: float,
        w: float = 1.0,
    ) -> bool:
        """Add a vector with its coefficient and importance; says whether it is stored.

        `row` is what `row(x)` has said, and `squared_norm` is the similarity of `x` to itself.
        """
        n = self.n[positive]
        is_full = n == self.budgets[positive]
        if not is_full:
            if n == self._capacities[positive]:
                row = self._double(positive, row)
            n += 1
            self.n[positive] = n
        start = self._start(positive)
        stop = start + n
        slot = stop - 1
        if is_full:
            slot = self._given_up(positive, start)
            if slot < 0:
                self._pass_on(coefficient, vectors.part(row, start, stop), start)
                return False
        lost = self.coefficients[slot]
        vectors.set_row(self.vectors, slot, x)
        self.coefficients[slot] = coefficient
        importance = self.importance[positive]
        importance[slot] = w
        self.totals[positive] = blas.dasum(importance)
        self.arrival[slot] = self.n_stored[False] + self.n_stored[True]
        self.n_stored[positive] += 1
        self._inverse_norms[slot] = _inverse(squared_norm)
        vectors.set_column(self.gram, slot, row)
        if is_full:
            # The row is still that of the vector given up, but for the new column: it has what
            # that vector has in common with each one that may be its heir, the new one included.
            similarities = vectors.part(vectors.row(self.gram, slot), start, stop)
            self._pass_on(lost, similarities, start)
        vectors.set_row(self.gram, slot, row)
        self.gram[slot, slot] = squared_norm
        return True

    def change_kernel(self, kernel: Kernel) -> None:
        """Take another kernel: the similarities of all pairs are found anew."""
        slots, vectors = self._used_slots(), self.stored_vectors()
        gram, inverse_norms = np.zeros_like(self.gram), np.zeros_like(self._inverse_norms)
        for slot, x in zip(slots, vectors, strict=True):
            gram[slot, slots] = kernel(x, vectors)
            gram[slot, slot] = squared_norm = kernel.of_itself(x)
            inverse_norms[slot] = _inverse(squared_norm)
        self.kernel = kernel
        self.gram, self._inverse_norms = gram, inverse_norms
        self._forget_last_row()

    def pool(self, other: SupportSet, share: float) -> None:
        """Become the average of two functions, of which the other one has this share.

        A class keeps the newest vectors of both sets, or a uniform sample of what both have been
        offered. The others pass their coefficients on.
        """
        old = copy.copy(self)
        self._clear(self.vectors.shape[1])
        self.n_offered = old.n_offered.copy()
        for positive in (False, True):
            self.n_offered[positive] += other.n_offered[positive]
            entries = [
                (support.vectors[slot], share_of_it * support.coefficients.item(slot),
                 support.importance[positive].item(slot))
                for support, share_of_it in ((old, 1.0 - share), (other, share))
                for slot in support._oldest_first(positive)
            ]  # fmt: skip
            kept = self._kept_of_both(old, other, positive)
            for position in kept:
                x, coefficient, w = entries[position]
                itself = self.kernel.of_itself(x)
                self.insert(x, self._similarities(x), itself, positive, coefficient, w)
            slots = self.slots(positive)
            for position in sorted({*range(len(entries))}.difference(kept)):
                x, coefficient, _ = entries[position]
                self._pass_on(coefficient, self._similarities(x)[slots], slots.start)

    def _oldest_first(self, positive: bool) -> list[int]:
        slots = self.slots(positive)
        order: NDArray[np.intp] = slots.start + self.arrival[slots].argsort()
        return order.tolist()  # type: ignore[no-any-return]

    def _kept_of_both(self, old: SupportSet, other: SupportSet, positive: bool) -> list[int]:
        """Which vectors stay when two sets are one, those of the other counted on, oldest first."""
        n, n_other, budget = old.n[positive], other.n[positive], self.budgets[positive]
        if self.policy == "reservoir":
            return drawn_from_both(
                (n, old.n_offered[positive]), (n_other, other.n_offered[positive]),
                min(budget, n + n_other), self._rng,
            )  # fmt: skip
        return newest_of_both(n, n_other, budget)

    def resize(self, size: Size) -> None:
        """Make room for more features, which have been 0 so far, or give up the last ones."""
        self.vectors = resized(self.vectors, len(self.vectors), size)

    def _given_up(self, positive: bool, start: int) -> int:
        """The slot of a spent budget whose vector goes, or -1 if the new one does."""
        budget = self.budgets[positive]
        if self.policy == "fifo":
            # The slots have been filled in turn, and so they are emptied.
            return int(start + self.n_stored[positive] % budget)
        # One draw says both whether the new vector gets in, and in whose place.
        rank = self._rng.randrange(self.n_offered[positive])
        if rank >= budget:
            return -1
        return int(start + self.arrival[start : start + budget].argsort()[rank])

    def _pass_on(self, coefficient: float, similarities: FloatArray, start: int) -> None:
        """Let the most similar vector of a class inherit a coefficient."""
        if self.compensation == "none":
            return
        stop = start + len(similarities)
        arrival = vectors.part(self.arrival, start, stop)
        if self.compensation == "projection":
            shares = vectors.multiply(similarities, vectors.part(self._inverse_norms, start, stop))
            position = nearest(vectors.multiply(shares, similarities), arrival)
            coefficient *= shares[position]
        else:
            position = nearest(similarities, arrival)
        heir = start + position
        coefficients = self.coefficients
        own = coefficients[heir]
        coefficients[heir] = own + coefficient
        # With coefficients that are too long no later example could be learned: then what is given
        # up is lost.
        if not blas.ddot(coefficients, coefficients) <= MAX_SQUARED_NORM:
            coefficients[heir] = own

    def _double(self, positive: bool, row: FloatArray) -> FloatArray:
        """Double the slots of a class; returns `row` for the new slots."""
        capacity = min(2 * self._capacities[positive], self.budgets[positive])
        n_new = capacity - self._capacities[positive]
        # The new slots come after the last one of the class.
        at = [self.slots(positive).stop] * n_new
        row = np.insert(row, at, 0.0)
        stored = np.insert(self.vectors, at, 0.0, axis=0)
        gram = np.insert(np.insert(self.gram, at, 0.0, axis=0), at, 0.0, axis=1)
        coefficients = np.insert(self.coefficients, at, 0.0)
        importance = [np.insert(each, at, 0.0) for each in self.importance]
        arrival = np.insert(self.arrival, at, 0)
        inverse_norms = np.insert(self._inverse_norms, at, 0.0)
        self._forget_last_row()
        # All at once: with some of them only, an interrupt would leave what does not fit together.
        self._capacities[positive] = capacity
        self.vectors, self.gram, self.coefficients = stored, gram, coefficients
        self.importance, self.arrival, self._inverse_norms = importance, arrival, inverse_norms
        return row


def _inverse(squared_norm: float) -> float:
    return 1.0 / squared_norm if squared_norm > _SMALLEST_NORM else 0.0


def nearest(similarities: FloatArray, arrival: NDArray[np.intp]) -> int:
    """The position of the largest value, a tie going to what arrived first.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.kernel.support import nearest
    >>> nearest(np.array([0.1 + 0.2, 0.1, 0.3]), arrival=np.array([2, 0, 1]))
    2

    """
    largest = similarities[vectors.argmax(similarities)]
    tied = vectors.at_least(similarities, largest - TIE * abs(largest))
    return int(tied[0 if len(tied) == 1 else arrival[tied].argmin()])


def k_nearest(similarities: FloatArray, arrival: NDArray[np.intp], k: int) -> NDArray[np.intp]:
    """The positions of the `k` largest values, ties going to what arrived first.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.kernel.support import k_nearest
    >>> k_nearest(np.array([0.1 + 0.2, 0.5, 0.3]), arrival=np.array([2, 0, 1]), k=2)
    array([1, 2])

    """
    # In place on a copy: half the cost of np.partition.
    ordered = similarities.copy()
    ordered.partition(-k)
    last = ordered.item(-k)
    margin = TIE * abs(last)
    chosen: NDArray[np.intp]
    (chosen,) = (similarities >= last - margin).nonzero()
    if len(chosen) > k:
        # What is nearer than the tied comes before them, as if it were older than all.
        ranks = np.where(similarities[chosen] > last + margin, -1, arrival[chosen])
        chosen = chosen[ranks.argsort()[:k]]
    return chosen
