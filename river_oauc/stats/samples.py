"""Vectors of a class that are kept: a uniform sample of all, or the most recent ones."""

from __future__ import annotations

import random

import numpy as np

from river_oauc.inputs.arrays import FloatArray, Size, resized

__all__ = ["Recent", "Reservoir", "drawn_from_both", "newest_of_both"]


class _Sample:
    """A fixed number of rows for vectors, filled from the first on."""

    def __init__(self, capacity: int, size: int) -> None:
        self.n_seen = 0
        self._vectors: FloatArray = np.zeros((capacity, size))

    @property
    def capacity(self) -> int:
        return len(self._vectors)

    @property
    def vectors(self) -> FloatArray:
        """The vectors that are kept, a row each, in no particular order."""
        return self._vectors[: self.n_seen]

    def resize(self, size: Size) -> None:
        """Make room for more features, which have been 0 so far, or give up the last ones."""
        self._vectors = resized(self._vectors, self.capacity, size)


def drawn_from_both(
    own: tuple[int, int], other: tuple[int, int], capacity: int, rng: random.Random
) -> list[int]:
    """Which vectors of two uniform samples make a uniform sample of all that they stand for.

    Each is given by how many vectors it has and how many it has seen. The vectors of the other one
    are counted on from those of the first.

    Examples
    --------
    >>> import random
    >>> from river_oauc.stats.samples import drawn_from_both
    >>> drawn_from_both((3, 3), (2, 2), 10, random.Random(1))
    [0, 1, 2, 3, 4]
    >>> drawn_from_both((3, 1_000_000), (3, 10), 3, random.Random(1))
    [0, 1, 2]

    """
    n_kept, n_seen = [0, 0], [own[1], other[1]]
    for _ in range(min(capacity, own[0] + other[0])):
        # As if all that has been seen were drawn from, one after the other.
        from_other = rng.randrange(sum(n_seen)) >= n_seen[0]
        if n_kept[from_other] == (own, other)[from_other][0]:
            # Not all that was drawn is still there.
            from_other = not from_other
        n_kept[from_other] += 1
        n_seen[from_other] -= 1
    kept = rng.sample(range(own[0]), n_kept[0])
    kept += rng.sample(range(own[0], own[0] + other[0]), n_kept[1])
    return sorted(kept)


def newest_of_both(n_own: int, n_other: int, capacity: int) -> list[int]:
    """Which of two lists of vectors, the newest last, are the newest of both, the newest last.

    The two lists end at the same time. What is in the other one is counted on from the first.

    Examples
    --------
    >>> from river_oauc.stats.samples import newest_of_both
    >>> newest_of_both(5, 3, 4)
    [6, 3, 7, 4]

    """
    ages = [*range(n_own - 1, -1, -1), *range(n_other - 1, -1, -1)]
    return sorted(range(n_own + n_other), key=ages.__getitem__)[:capacity][::-1]


class Reservoir(_Sample):
    """A uniform sample, of a fixed size, of the vectors seen so far.

    Parameters
    ----------
    capacity
        Number of vectors to keep.
    size
        Length of the vectors.

    Examples
    --------
    >>> import random
    >>> import numpy as np
    >>> from river_oauc.stats.samples import Reservoir

    >>> reservoir, rng = Reservoir(capacity=3, size=1), random.Random(1)
    >>> for value in range(100):
    ...     reservoir.add(np.array([float(value)]), rng)
    >>> reservoir.vectors.ravel()
    array([36., 54.,  6.])

    """

    def add(self, x: FloatArray, rng: random.Random) -> None:
        """Offer a vector, which is copied if it gets in."""
        slot = self.n_seen
        self.n_seen += 1
        if slot >= self.capacity:
            # One draw says both whether the vector gets in, and in whose place.
            slot = rng.randrange(self.n_seen)
        if slot < self.capacity:
            self._vectors[slot] = x

    def pool(self, other: Reservoir, rng: random.Random) -> None:
        """Become a uniform sample of what both have seen."""
        kept = drawn_from_both(
            (len(self.vectors), self.n_seen), (len(other.vectors), other.n_seen),
            self.capacity, rng,
        )  # fmt: skip
        both = np.vstack([self.vectors, other.vectors])
        self._vectors[: len(kept)] = both[kept]
        self.n_seen += other.n_seen


class Recent(_Sample):
    """The most recent vectors.

    Parameters
    ----------
    capacity
        Number of vectors to keep.
    size
        Length of the vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.stats.samples import Recent

    >>> recent = Recent(capacity=3, size=1)
    >>> for value in range(100):
    ...     recent.add(np.array([float(value)]))
    >>> recent.vectors.ravel(), recent.oldest_first.ravel()
    (array([99., 97., 98.]), array([97., 98., 99.]))

    """

    @property
    def oldest_first(self) -> FloatArray:
        """The vectors that are kept, a row each, the newest last."""
        if self.n_seen <= self.capacity:
            return self.vectors
        return np.roll(self._vectors, -(self.n_seen % self.capacity), axis=0)

    def pool(self, other: Recent) -> None:
        """Keep the newest vectors of both."""
        both = np.vstack([self.oldest_first, other.oldest_first])
        kept = newest_of_both(len(self.vectors), len(other.vectors), self.capacity)
        self._vectors[: len(kept)] = both[kept]
        # So that the oldest one stands where the next is put.
        self.n_seen = len(kept)

    def add(self, x: FloatArray) -> None:
        """Put a copy of a vector in the place of the oldest."""
        self._vectors[self.n_seen % self.capacity] = x
        self.n_seen += 1
