"""The support set of a kernel ranker, which is replaced at each step."""

from __future__ import annotations

import dataclasses
import typing

import numpy as np

from river_oauc.kernels import Kernel, similarities
from river_oauc.limits import MAX_NORM
from river_oauc.rankers.base import FloatArray, IntArray
from river_oauc.rankers.support_vectors import (
    SMALLEST_SQUARED_NORM,
    SupportVectors,
    add_to_target,
    inverted,
)
from river_oauc.state import State, StateReader, pack_symmetric

_FIRST_CAPACITY = 32


class _Slots(typing.NamedTuple):
    """Preallocated arrays: the vector in each slot, and its row of the Gram matrix."""

    vectors: FloatArray
    gram: FloatArray
    inverse_norms: FloatArray

    @property
    def capacity(self) -> int:
        return len(self.vectors)

    def write(self, slot: int, x: FloatArray, row: FloatArray, norm: float) -> None:
        """Put a vector into a slot, given its similarities and its squared norm."""
        self.vectors[slot] = x
        self.gram[slot] = row
        self.gram[:, slot] = row
        self.gram[slot, slot] = norm
        self.inverse_norms[slot] = 1.0 / norm if norm > SMALLEST_SQUARED_NORM else 0.0

    def resized(self, capacity: int, n_features: int) -> _Slots:
        """Return larger arrays, in which new slots and new features hold zeros."""
        return _Slots(
            _padded(self.vectors, capacity, n_features),
            _padded(self.gram, capacity, capacity),
            _padded(self.inverse_norms, capacity),
        )


@dataclasses.dataclass(eq=False)
class SupportSet:
    """Support vectors in slots of preallocated arrays, and the scores of the stored examples.

    A set is never changed, but replaced by another one, which its methods return. So a step that is
    refused or interrupted leaves the set intact. The large arrays are not copied: a new vector and
    its similarities are written into the spare slot, which the set before does not use. The slot of
    a removed vector becomes the spare slot of the next set.

    Inserting a vector costs O(B²) time for B stored examples, and memory is B p + B² + O(B) doubles
    for p features. The arrays double until the budgets are spent.

    Parameters
    ----------
    kernel
        The kernel.
    arrays
        The vectors and their similarities, by slot.
    max_slots
        Number of slots that is enough when the budgets are spent: one more than they allow.
    n_slots
        Number of slots that have been written to; they are the first ones.
    spare
        The slot for the next vector: a slot that has been left, or the first one never used.
    slots
        The slots of the negatives and of the positives, oldest first.
    coefficients
        Coefficients by slot; 0 in a slot that is not used.
    importance
        Importance weights, with a row for each class and a column for each slot; 0 in the slots of
        the other class.
    shares
        The same, divided by the sums of the rows. So `shares @ values` are the weighted means of
        both classes.

    Attributes
    ----------
    scores
        Scores of the stored examples, by slot. They have no meaning in a slot that is not used.
    means
        Mean scores of the negatives and of the positives; 0 for a class without examples.

    """

    kernel: Kernel
    arrays: _Slots
    max_slots: int
    n_slots: int
    spare: int
    slots: tuple[IntArray, IntArray]
    coefficients: FloatArray
    importance: FloatArray
    shares: FloatArray

    def __post_init__(self) -> None:
        self.scores: FloatArray = self.arrays.gram.dot(self.coefficients)
        self.means: list[float] = self.shares.dot(self.scores).tolist()

    @classmethod
    def build(
        cls,
        kernel: Kernel,
        budgets: tuple[int, int],
        slots: tuple[IntArray, IntArray],
        vectors: FloatArray,
        coefficients: FloatArray,
        importance: FloatArray,
        gram: FloatArray,
    ) -> SupportSet:
        """Return a set whose first slots are the rows of these arrays."""
        n, max_slots = len(vectors), sum(budgets) + 1
        unused = np.setdiff1d(np.arange(n), np.concatenate(slots))
        spare = int(unused[0]) if len(unused) else n
        coefficients = coefficients.copy()
        coefficients[unused] = 0.0
        # It depends on the number of slots only, because it makes a difference to the last digit.
        capacity = _FIRST_CAPACITY
        while capacity < max(n, spare + 1):
            capacity *= 2
        capacity = min(capacity, max_slots)
        arrays = _Slots(vectors, gram, inverted(gram.diagonal()))
        by_class, shares = np.zeros((2, capacity)), np.zeros((2, capacity))
        for positive in (0, 1):
            by_class[positive, slots[positive]] = importance[slots[positive]]
            shares[positive] = _shares(by_class[positive])
        return cls(
            kernel,
            arrays.resized(capacity, vectors.shape[1]),
            max_slots,
            n,
            spare,
            slots,
            _padded(coefficients, capacity),
            by_class,
            shares,
        )

    @classmethod
    def of(cls, stored: SupportVectors, budgets: tuple[int, int]) -> SupportSet:
        """Return the set of these support vectors."""
        slots = np.arange(stored.n[0]), np.arange(stored.n[0], sum(stored.n))
        kernel, vectors, coefficients = stored.kernel, stored.vectors, stored.coefficients
        return cls.build(
            kernel, budgets, slots, vectors, coefficients, stored.importance, stored.gram
        )

    def stored(self) -> SupportVectors:
        """Return copies of the support vectors, without unused slots."""
        order = np.concatenate(self.slots)
        return SupportVectors(
            self.kernel,
            (len(self.slots[0]), len(self.slots[1])),
            self.arrays.vectors[order],
            self.coefficients[order],
            self.importance.sum(axis=0)[order],
            self.arrays.gram[np.ix_(order, order)],
        )

    def get_state(self) -> State:
        """Return a copy of the state, in which a slot that has been left holds zeros."""
        n = self.n_slots
        vectors, gram = self.arrays.vectors[:n].copy(), self.arrays.gram[:n, :n].copy()
        if self.spare < n:
            vectors[self.spare] = gram[self.spare] = gram[:, self.spare] = 0.0
        return {
            "negatives": self.slots[0].copy(),
            "positives": self.slots[1].copy(),
            "vectors": vectors,
            "coefficients": self.coefficients[:n].copy(),
            "importance": self.importance.sum(axis=0)[:n],
            "gram": pack_symmetric(gram),
        }

    @classmethod
    def from_state(
        cls, reader: StateReader, kernel: Kernel, budgets: tuple[int, int]
    ) -> SupportSet:
        """Return the set with this state."""
        vectors = reader.array("vectors", None, None, minimum=-MAX_NORM, maximum=MAX_NORM)
        n = len(vectors)
        slots = (
            reader.integers("negatives", None, maximum=n - 1),
            reader.integers("positives", None, maximum=n - 1),
        )
        used = np.concatenate(slots)
        if len(np.unique(used)) < len(used) or len(used) < n - 1:
            raise reader.error("negatives and positives do not share the slots among them")
        if len(slots[0]) > budgets[0] or len(slots[1]) > budgets[1]:
            raise reader.error(f"it has {len(slots[0])} negatives and {len(slots[1])} positives")
        coefficients = reader.array(
            "coefficients", n, minimum=-2.0 * MAX_NORM, maximum=2.0 * MAX_NORM
        )
        importance = reader.array("importance", n, minimum=0.0, maximum=MAX_NORM)
        if (importance[used] < 1.0 / MAX_NORM).any():
            raise reader.error(f"an importance weight is below {1.0 / MAX_NORM:g}")
        gram = reader.symmetric("gram", n, minimum=-MAX_NORM, maximum=MAX_NORM)
        reader.finish()
        return cls.build(kernel, budgets, slots, vectors, coefficients, importance, gram)

    @property
    def n_features(self) -> int:
        """Length of the vectors."""
        return int(self.arrays.vectors.shape[1])

    @property
    def level(self) -> float:
        """The score halfway between the class means, or the mean of the only class."""
        n_classes = 2.0 if len(self.slots[0]) and len(self.slots[1]) else 1.0
        return (self.means[0] + self.means[1]) / n_classes

    def row(self, x: FloatArray) -> FloatArray:
        """Return the similarity of `x` to the vector in each slot; 0 for an unused slot."""
        arrays = self.arrays
        n, spare = self.n_slots, self.spare
        if spare < n:
            # The kernel must not see a vector that is no longer stored.
            arrays.vectors[spare] = arrays.vectors[(spare + 1) % n]
        row = _padded(similarities(self.kernel, x, arrays.vectors[:n]), arrays.capacity)
        row[spare] = 0.0
        return row

    def with_features(self, n_features: int) -> SupportSet:
        """Return a set for more features, which have been 0 so far."""
        if n_features == self.n_features:
            return self
        arrays = self.arrays.resized(self.arrays.capacity, n_features)
        return dataclasses.replace(self, arrays=arrays)

    def with_coefficients(self, coefficients: FloatArray) -> SupportSet:
        """Return a set with other coefficients."""
        return dataclasses.replace(self, coefficients=coefficients)

    def inserted(
        self,
        x: FloatArray,
        row: FloatArray,
        squared_norm: float,
        positive: bool,
        coefficients: FloatArray,
        coefficient: float,
        weight: float,
        removed: int | None,
        projects: bool,
    ) -> SupportSet:
        """Return a set with one more vector, and without an older one if `removed` says so.

        Parameters
        ----------
        x
            The new vector.
        row
            Its similarities, as `row` returns them.
        squared_norm
            Its similarity to itself.
        positive
            Its class.
        coefficients
            The coefficients of the other vectors, which are changed in place.
        coefficient
            The coefficient of the new one.
        weight
            Its importance weight.
        removed
            Which vector of the class to remove: its position in the order of arrival, in which the
            new one is the last. None removes no vector.
        projects
            Whether the removed vector is projected on another one; see `projection_target`.

        """
        slot, arrays, own = self.spare, self.arrays, self.slots[positive]
        arrays.write(slot, x, row, squared_norm)
        coefficients[slot] = coefficient
        importance, shares = self.importance.copy(), self.shares.copy()
        own_importance = importance[int(positive)]
        own_importance[slot] = weight
        n_slots = spare = max(self.n_slots, slot + 1)
        if removed is None:
            own = np.concatenate((own, [slot]))
        else:
            spare = slot
            if removed < len(own):
                spare = int(own[removed])
                own = np.concatenate((own[:removed], own[removed + 1 :], [slot]))
            own_importance[spare] = 0.0
            lost, coefficients[spare] = coefficients.item(spare), 0.0
            to_removed, inverse_norms = arrays.gram[spare].take(own), arrays.inverse_norms.take(own)
            add_to_target(lost, coefficients, own, to_removed, inverse_norms, projects)
        shares[int(positive)] = _shares(own_importance)
        support = SupportSet(
            self.kernel,
            arrays,
            self.max_slots,
            n_slots,
            spare,
            (self.slots[0], own) if positive else (own, self.slots[1]),
            coefficients,
            importance,
            shares,
        )
        return support if spare < arrays.capacity else support._grown()

    def _grown(self) -> SupportSet:
        """Return a set with twice as many slots, but no more than the budgets need."""
        capacity = min(2 * self.arrays.capacity, self.max_slots)
        return dataclasses.replace(
            self,
            arrays=self.arrays.resized(capacity, self.n_features),
            coefficients=_padded(self.coefficients, capacity),
            importance=_padded(self.importance, 2, capacity),
            shares=_padded(self.shares, 2, capacity),
        )


def _shares(importance: FloatArray) -> FloatArray:
    """Return the importance weights of a class, divided by their sum."""
    shares: FloatArray = importance / (np.add.reduce(importance) or 1.0)
    return shares


def _padded(array: FloatArray, *shape: int) -> FloatArray:
    """Return an array of at least this shape, with zeros at the end."""
    if array.shape == shape:
        return array
    padded = np.zeros(shape)
    padded[tuple(map(slice, array.shape))] = array
    return padded
