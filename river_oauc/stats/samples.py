"""Vectors of a class that are kept: a uniform sample of all, or the most recent ones."""

from __future__ import annotations

import random

import numpy as np

from river_oauc.inputs.arrays import FloatArray, resized

__all__ = ["Recent", "Reservoir"]


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

    def resize(self, size: int) -> None:
        """Make room for more features, which have been 0 so far, or give up the last ones."""
        self._vectors = resized(self._vectors, self.capacity, size)


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

    def add(self, x: FloatArray) -> None:
        """Put a copy of a vector in the place of the oldest."""
        self._vectors[self.n_seen % self.capacity] = x
        self.n_seen += 1
