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
        for name, value in zip(self._names, values, strict=True):
            array = getattr(self, name)
            if place == len(array):
                room = min(place + max(16, place // 4), self.capacity) - place
                array = np.concatenate((array, np.zeros((room, *array.shape[1:]), array.dtype)))
                setattr(self, name, array)
            array[place] = value
        self.n, self.next = max(self.n, place + 1), (place + 1) % self.capacity

    def oldest_first(self) -> IntArray:
        """Return where the examples are, the newest last."""
        return np.concatenate((np.arange(self.next, self.n), np.arange(min(self.next, self.n))))

    def keep_newest(self, n: int) -> None:
        """Forget all but the newest examples."""
        newest = self.oldest_first()[-n:]
        for name in self._names:
            setattr(self, name, getattr(self, name)[newest])
        self.n, self.next = len(newest), len(newest) % self.capacity

    def merge(self, other: typing.Self) -> None:
        """Keep the newest examples of both."""
        mine, theirs = self.oldest_first(), other.oldest_first()
        kept = merge_newest(self.n, other.n, self.capacity)
        for name in self._names:
            both = np.concatenate((getattr(self, name)[mine], getattr(other, name)[theirs]))
            setattr(self, name, both[kept])
        self.n, self.next = len(kept), len(kept) % self.capacity

    def check_state(self) -> None:
        if not (self.next == self.n < self.capacity or 0 <= self.next < self.n == self.capacity):
            raise damage(f"it has {self.n} examples, and {self.capacity} at most")
