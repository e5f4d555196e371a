"""The latest examples of a stream."""

from __future__ import annotations

import typing

import numpy as np

from river_oauc.rankers.samples import merge_newest
from river_oauc.state import IntArray, Stateful, damage


class RingBuffer(Stateful):
    """The latest examples of a stream, in the rows of some arrays.

    A subclass adds these to the fields: their first axis is `"n"`. Memory grows with the number of
    examples.

    Parameters
    ----------
    capacity
        The largest number of examples.
    sizes
        The lengths of the other axes, by name.

    Attributes
    ----------
    n
        The number of examples. They are in the first rows, in the order of a ring.
    next
        Where the next example goes.

    Examples
    --------
    >>> from river_oauc.rankers.ring_buffer import RingBuffer

    >>> class Numbers(RingBuffer):
    ...     FIELDS = RingBuffer.FIELDS | {"numbers": (float, "n")}

    >>> latest = Numbers(capacity=3)
    >>> for number in range(100):
    ...     latest.add(number)
    >>> latest.numbers, latest.numbers[latest.oldest_first()]
    (array([99., 97., 98.]), array([97., 98., 99.]))

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {"next": int}
    USED: typing.ClassVar[dict[str, str]] = {"n": "n"}

    def __init__(self, capacity: int, **sizes: int) -> None:
        self.capacity = capacity
        self.n = self.next = 0
        self._names = [name for name, field in self.FIELDS.items() if type(field) is tuple]
        for name in self._names:
            dtype, _, *axes = self.FIELDS[name]
            setattr(self, name, np.zeros((0, *(sizes.get(axis, axis) for axis in axes)), dtype))

    def add(self, *values: typing.Any) -> None:
        """Write the values of an example to the arrays; the oldest goes if there are too many."""
        place = self.next
        if place == len(getattr(self, self._names[0])):
            self._grow()
        for name, value in zip(self._names, values, strict=True):
            getattr(self, name)[place] = value
        self.n, self.next = max(self.n, place + 1), (place + 1) % self.capacity

    def _grow(self) -> None:
        room = min(max(16, self.next // 4), self.capacity - self.next)
        arrays = {name: getattr(self, name) for name in self._names}
        longer = {
            name: np.concatenate((array, np.zeros((room, *array.shape[1:]), array.dtype)))
            for name, array in arrays.items()
        }
        # At once, so that no interrupt leaves arrays of different lengths.
        vars(self).update(longer)

    def _keep(self, arrays: dict[str, typing.Any], rows: typing.Any) -> None:
        """Have these rows of some arrays only."""
        kept = {name: array[rows] for name, array in arrays.items()}
        n = len(rows)
        vars(self).update(kept, n=n, next=n % self.capacity)

    def oldest_first(self) -> IntArray:
        """Return where the examples are, the newest last."""
        return np.concatenate((np.arange(self.next, self.n), np.arange(min(self.next, self.n))))

    def keep_newest(self, n: int) -> None:
        """Forget all but the newest examples."""
        arrays = {name: getattr(self, name) for name in self._names}
        self._keep(arrays, self.oldest_first()[-n:])

    def merge(self, other: typing.Self) -> None:
        """Keep the newest examples of both."""
        mine, theirs = self.oldest_first(), other.oldest_first()
        both = {
            name: np.concatenate((getattr(self, name)[mine], getattr(other, name)[theirs]))
            for name in self._names
        }
        self._keep(both, merge_newest(self.n, other.n, self.capacity))

    def check_state(self) -> None:
        if not (self.next == self.n < self.capacity or 0 <= self.next < self.n == self.capacity):
            raise damage(f"it has {self.n} examples, and {self.capacity} at most")
