"""Count, mean and covariance of the examples of a class."""

from __future__ import annotations

import math
import typing

import numpy as np

from river_oauc.limits import MAX_SQUARED_NORM
from river_oauc.rankers.base import FloatArray, IntArray, reindexed
from river_oauc.state import State, StateReader, pack_symmetric


class Moments:
    """Weighted count, mean and covariance of a stream of vectors.

    Welford's recursion on the scatter matrix, which is the covariance times the count: the mean is
    subtracted before anything is squared, so a large offset costs no digits. The textbook recursion
    on second moments loses all of them at an offset of 1e8.

    An update costs O(p²) time for p features, and memory is p² + p doubles.

    Parameters
    ----------
    size
        Length p of the vectors.

    Attributes
    ----------
    n
        Total weight of the vectors; their number, if all weights are 1.
    mean
        Their mean; zeros before the first one.
    scatter
        Sum of the weighted outer products of their deviations from the mean.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.rankers.moments import Moments

    >>> moments = Moments(size=2)
    >>> for x in ([1.0, 2.0], [3.0, 2.0], [5.0, 8.0]):
    ...     moments.update(np.array(x))
    >>> moments.n, moments.mean
    (3.0, array([3., 4.]))
    >>> moments.covariance
    array([[2.667, 4.   ],
           [4.   , 8.   ]])

    Moments of two parts of a stream add up to those of the whole.

    >>> other = Moments(size=2)
    >>> other.update(np.array([7.0, 0.0]))
    >>> moments.merge(other)
    >>> moments.mean
    array([4., 3.])

    References
    ----------
    [^1]: Welford, B.P., 1962. Note on a method for calculating corrected sums of squares and
        products. Technometrics, 4(3), pp.419-420.
    [^2]: Chan, T.F., Golub, G.H. and LeVeque, R.J., 1983. Algorithms for computing the sample
        variance: Analysis and recommendations. The American Statistician, 37(3), pp.242-247.

    """

    def __init__(self, size: int) -> None:
        self.n = 0.0
        self.mean: FloatArray = np.zeros(size)
        self.scatter: FloatArray = np.zeros((size, size))

    @property
    def covariance(self) -> FloatArray:
        """The covariance matrix, divided by `n` and not by `n - 1`; zeros before the first one."""
        return self.scatter / (self.n or 1.0)

    def variance_along(self, v: FloatArray) -> float:
        """Return the variance of the products with a vector."""
        return max(float(v.dot(self.scatter.dot(v))) / (self.n or 1.0), 0.0)

    def update(self, x: FloatArray, w: float = 1.0) -> None:
        """Add the vector `x` with weight `w` > 0."""
        n = self.n + w
        deviation = x - self.mean
        mean = self.mean + (w / n) * deviation
        # The product of a column and a row that are equal is symmetric to the last bit.
        row = (math.sqrt(w * (self.n / n)) * deviation)[np.newaxis]
        self.scatter += row.T.dot(row)
        self.n, self.mean = n, mean

    def merge(self, other: Moments) -> None:
        """Add the vectors of another part of the stream."""
        if other.n:
            self.update(other.mean, other.n)
            self.scatter += other.scatter

    def reindexed(self, positions: IntArray, size: int) -> Moments:
        """Return a copy in which feature i stands at `positions[i]`."""
        moved = Moments(size)
        moved.n = self.n
        moved.mean = reindexed(self.mean, positions, size)
        columns = reindexed(self.scatter, positions, size)
        # A copy by rows, whose products round as those of any other copy.
        moved.scatter = reindexed(columns.T, positions, size)
        return moved

    def get_state(self) -> State:
        """Return a copy of the state."""
        return {"n": self.n, "mean": self.mean.copy(), "scatter": pack_symmetric(self.scatter)}

    @classmethod
    def from_state(cls, reader: StateReader, size: int) -> typing.Self:
        """Return the moments with this state."""
        moments = cls(size)
        moments.n = reader.total_weight("n")
        moments.mean = reader.vector("mean", size)
        # No covariance is larger than the largest square, but for rounding.
        bound = 2.0 * moments.n * MAX_SQUARED_NORM
        moments.scatter = reader.symmetric("scatter", size, minimum=-bound, maximum=bound)
        reader.finish()
        return moments
