"""Count, mean and covariance of vectors, one vector at a time."""

from __future__ import annotations

import math
import typing

import numpy as np
from scipy.linalg.blas import dsymm

from river_oauc import blas, vectors
from river_oauc.inputs.arrays import FloatArray, Size, resized, resized_triangle, whole
from river_oauc.inputs.records import Record

__all__ = ["Centroid", "ClassMean", "ClassMoments", "ForgettingMoments", "Moments"]

# A weight may grow so far before all are divided by it: times the square of the largest feature and
# the largest importance it still is a double.
_LARGEST_UNIT = 1e100

# So many rank-one terms wait before they are added up.
_N_WAITING = 64


class ClassMean(typing.Protocol):
    """What a linear learner asks of what it knows of a class.

    Attributes
    ----------
    n
        Total weight of the vectors, as far as they are remembered.
    mean
        Their mean; zeros while there is none.

    """

    n: float
    mean: FloatArray

    def __iadd__(self, other: typing.Self) -> typing.Self:
        """Pool with what is known of the class in another part of the stream."""

    def resize(self, size: Size) -> None:
        """Make room for more features, which have been 0 so far, or give up the last ones."""


class ClassMoments(ClassMean, typing.Protocol):
    """What a learner asks of the moments of a class.

    `Moments` count all vectors alike, `ForgettingMoments` the recent ones more. Whatever meets this
    protocol can stand in for them.
    """

    @staticmethod
    def n_doubles(size: int) -> int:
        """How many doubles moments of vectors of this length keep."""

    def update(self, x: FloatArray, w: float = 1.0) -> None:
        """Add the vector `x` with weight `w` > 0. The array is used up: it is overwritten."""

    def cov_dot(self, v: FloatArray) -> FloatArray:
        """The covariance times the vector `v`, as a new array. There must be an example."""

    def cov_dot_stack(self, stack: FloatArray) -> FloatArray:
        """The covariance times each column of `stack`, a p × G array. There must be an example."""

    @property
    def covariance(self) -> FloatArray:
        """A copy of the whole covariance matrix (biased: divided by `n`)."""


class Centroid(Record):
    """Weighted count and mean of a stream of vectors.

    An update costs O(p) time; memory is p doubles.

    Parameters
    ----------
    size
        Length p of the vectors.

    Attributes
    ----------
    n
        Total weight of the vectors; their number, if all weights are 1.
    mean
        Their mean; zeros while there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.stats.moments import Centroid

    >>> centroid = Centroid(size=2)
    >>> centroid.update(np.array([1.0, 2.0]))
    >>> centroid.update(np.array([4.0, 2.0]), w=2.0)
    >>> centroid.n, centroid.mean
    (3.0, array([3., 2.]))

    """

    __fields__: typing.ClassVar[tuple[str, ...]] = ("n", "mean")

    def __init__(self, size: int) -> None:
        self.n = 0.0
        self.mean: FloatArray = np.zeros(size)

    @property
    def size(self) -> int:
        return len(self.mean)

    def update(self, x: FloatArray, w: float = 1.0) -> None:
        """Add the vector `x` with weight `w` > 0. The array is used up: it is overwritten."""
        self.n += w
        mean = self.mean
        # x becomes the deviation from the old mean. Arguments of BLAS are given by position, which
        # halves the cost of a call; of daxpy they are x, y, n, a: y += a x.
        blas.daxpy(mean, x, len(mean), -1.0)
        blas.daxpy(x, mean, len(mean), w / self.n)

    def __iadd__(self, other: typing.Self) -> typing.Self:
        """Pool with the vectors of another part of the stream."""
        self._check_poolable(other)
        if other.n:
            self.n += other.n
            self.mean += (other.mean - self.mean) * (other.n / self.n)
        return self

    def _check_poolable(self, other: Centroid) -> None:
        if other.size != self.size:
            raise ValueError(
                f"cannot pool moments of {self.size} and {other.size} features: "
                "resize the smaller ones first"
            )

    def resize(self, size: Size) -> None:
        """Make room for more features, which have been 0 so far, or give up the last ones."""
        self.mean = resized(self.mean, size)


class Moments(Centroid):
    """Weighted count, mean and covariance of a stream of vectors.

    Welford's recursion on the scatter matrix (the covariance times the count): the mean is
    subtracted before anything is squared, so a large offset costs no digits. The textbook
    recursion on second moments loses all of them at an offset of 1e8.

    An update costs one rank-one product on one triangle: O(p²) time and no temporary larger than p;
    memory is p² + p doubles.

    Parameters
    ----------
    size
        Length p of the vectors.

    Attributes
    ----------
    n
        Total weight of the vectors; their number, if all weights are 1.
    mean
        Their mean; zeros while there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.stats.moments import Moments

    >>> moments = Moments(size=2)
    >>> for x in ([1.0, 2.0], [3.0, 2.0], [5.0, 8.0]):
    ...     moments.update(np.array(x))
    >>> moments.n
    3.0
    >>> moments.mean
    array([3., 4.])
    >>> moments.covariance
    array([[2.667, 4.   ],
           [4.   , 8.   ]])
    >>> moments.cov_dot(np.array([1.0, -1.0]))
    array([-1.333, -4.   ])

    Moments of two parts of a stream add up to those of the whole.

    >>> other = Moments(size=2)
    >>> other.update(np.array([7.0, 0.0]))
    >>> moments += other
    >>> moments.mean
    array([4., 3.])

    References
    ----------
    [^1]: Welford, B.P., 1962. Note on a method for calculating corrected sums of squares and
        products. Technometrics, 4(3), pp.419-420.
    [^2]: Chan, T.F., Golub, G.H. and LeVeque, R.J., 1983. Algorithms for computing the sample
        variance: Analysis and recommendations. The American Statistician, 37(3), pp.242-247.

    """

    __fields__ = (*Centroid.__fields__, "_scatter")

    def __init__(self, size: int) -> None:
        super().__init__(size)
        # Column-major, as BLAS wants it to work in place; only the upper triangle is kept.
        self._scatter: FloatArray = np.zeros((size, size), order="F")

    @staticmethod
    def n_doubles(size: int) -> int:
        """How many doubles moments of vectors of this length keep."""
        return size * size + size

    def update(self, x: FloatArray, w: float = 1.0) -> None:
        """Add the vector `x` with weight `w` > 0. The array is used up: it is overwritten."""
        # The two lines of Centroid.update stand here again: a call to them would cost a tenth of
        # the whole step.
        n_before = self.n
        self.n = n = n_before + w
        mean = self.mean
        size = len(mean)
        blas.daxpy(mean, x, size, -1.0)
        blas.daxpy(x, mean, size, w / n)
        if n_before:
            # alpha, x, lower, incx, offx, n, a, overwrite_a: a += alpha x xᵀ.
            blas.dsyr(w * (n_before / n), x, 0, 1, 0, size, self._scatter, 1)

    def cov_dot(self, v: FloatArray) -> FloatArray:
        """The covariance times the vector `v`, as a new array. There must be an example."""
        product: FloatArray = blas.dsymv(1.0 / self.n, self._scatter, v)
        return product

    def cov_dot_stack(self, stack: FloatArray) -> FloatArray:
        """The covariance times each column of `stack`, a p × G array. There must be an example."""
        product: FloatArray = dsymm(1.0 / self.n, self._scatter, stack)
        return product

    @property
    def covariance(self) -> FloatArray:
        """A copy of the whole covariance matrix (biased: divided by `n`)."""
        return whole(self._scatter / (self.n or 1.0))

    def __iadd__(self, other: typing.Self) -> typing.Self:
        """Pool with the moments of another part of the stream."""
        self._check_poolable(other)
        if other.n:
            n_before = self.n
            self.n = n = n_before + other.n
            gap = other.mean - self.mean
            self._scatter += other._scatter
            self.mean += gap * (other.n / n)
            blas.dsyr(other.n * (n_before / n), gap, 0, 1, 0, len(gap), self._scatter, 1)
        return self

    def resize(self, size: Size) -> None:
        super().resize(size)
        self._scatter = resized_triangle(self._scatter, size)


class ForgettingMoments(Moments):
    """Weighted count, mean and covariance of a stream of vectors, the older ones counting less.

    With every vector, the weights of all earlier ones shrink by one part in `memory`, so that about
    `memory` vectors count. It is the same as `Moments` of vectors whose weights grow by as much
    from one to the next, and that is how it is done: nothing p × p has to shrink.

    The rank-one terms of the scatter matrix wait until there are 64 of them, or until the
    covariance is asked for, and are added up in one product. For hundreds of features that takes a
    fraction of the time, if the covariance is asked for now and then only.

    Memory is p² + 65 p doubles.

    Parameters
    ----------
    size
        Length p of the vectors.
    memory
        Number of vectors that count, about; above 1. With `math.inf` nothing is forgotten.

    Attributes
    ----------
    n
        Total weight of the vectors, as far as they are remembered: `memory` at most, if all weights
        are 1.
    mean
        Their mean; zeros while there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.stats.moments import ForgettingMoments

    >>> moments = ForgettingMoments(size=1, memory=2.0)
    >>> for x in ([0.0], [0.0], [3.0], [3.0]):
    ...     moments.update(np.array(x))
    >>> moments.n, moments.mean, moments.covariance
    (1.875, array([2.4]), array([[1.44]]))

    """

    __fields__ = (*Moments.__fields__, "memory", "_unit", "_waiting", "_n_waiting")

    def __init__(self, size: int, memory: float) -> None:
        if not memory > 1.0:
            raise ValueError(f"memory is {memory!r}: it must be a number of vectors, above 1")
        super().__init__(size)
        self.memory = memory
        # The scatter matrix is in units in which a new vector has this weight.
        self._unit = 1.0
        self._waiting: FloatArray = np.zeros((_N_WAITING, size))
        self._n_waiting = 0

    @classmethod
    def of(cls, matrix: FloatArray, weights: FloatArray) -> typing.Self:
        """The moments of the rows of a matrix, none of them forgotten."""
        moments = cls(matrix.shape[1], math.inf)
        moments.n = float(weights.sum())
        moments.mean = weights @ matrix / moments.n
        deviations = (matrix - moments.mean) * np.sqrt(weights)[:, np.newaxis]
        moments._add_products(deviations)
        return moments

    @staticmethod
    def n_doubles(size: int) -> int:
        """How many doubles moments of vectors of this length keep."""
        return size * (size + 1 + _N_WAITING)

    def update(self, x: FloatArray, w: float = 1.0) -> None:
        """Add the vector `x` with weight `w` > 0. The array is used up: it is overwritten."""
        kept = 1.0 - 1.0 / self.memory
        n_before = self.n * kept
        self.n = n = n_before + w
        unit = self._unit = self._unit / kept
        if unit > _LARGEST_UNIT:
            self._divide_by_unit()
            unit = 1.0
        mean = self.mean
        blas.daxpy(mean, x, len(x), -1.0)
        blas.daxpy(x, mean, len(x), w / n)
        if n_before:
            if self._n_waiting == _N_WAITING:
                self._settle()
            waiting = vectors.row(self._waiting, self._n_waiting)
            blas.dcopy(x, waiting)
            blas.dscal(math.sqrt(w * unit * (n_before / n)), waiting)
            self._n_waiting += 1

    def _settle(self) -> None:
        """Add up the terms that are waiting."""
        if self._n_waiting:
            self._add_products(self._waiting[: self._n_waiting])
            self._n_waiting = 0

    def _add_products(self, rows: FloatArray) -> None:
        # alpha, a, beta, c, trans, lower, overwrite_c: c = beta c + alpha a aᵀ.
        blas.dsyrk(1.0, rows.T, 1.0, self._scatter, 0, 0, 1)

    def _divide_by_unit(self) -> None:
        self._settle()
        self._scatter /= self._unit
        self._unit = 1.0

    def transform(self, scale: FloatArray, shift: FloatArray) -> None:
        """Become the moments of the vectors `scale` · x + `shift`."""
        self.mean = scale * self.mean + shift
        self._scatter *= scale[:, np.newaxis] * scale
        self._waiting *= scale

    def upper_covariance(self) -> FloatArray:
        """The upper triangle of the covariance, zeros below it, in a new column-major array."""
        self._settle()
        upper: FloatArray = self._scatter * (1.0 / (self.n * self._unit))
        return upper

    def cov_dot(self, v: FloatArray) -> FloatArray:
        """The covariance times the vector `v`, as a new array. There must be an example."""
        self._settle()
        product: FloatArray = blas.dsymv(1.0 / (self.n * self._unit), self._scatter, v)
        return product

    def cov_dot_stack(self, stack: FloatArray) -> FloatArray:
        """The covariance times each column of `stack`, a p × G array. There must be an example."""
        self._settle()
        product: FloatArray = dsymm(1.0 / (self.n * self._unit), self._scatter, stack)
        return product

    @property
    def covariance(self) -> FloatArray:
        """A copy of the whole covariance matrix (biased: divided by `n`)."""
        self._settle()
        return super().covariance / self._unit

    def __iadd__(self, other: typing.Self) -> typing.Self:
        """Pool with what the moments of another part of the stream remember."""
        self._check_poolable(other)
        # Both in units of their newest vectors.
        self._divide_by_unit()
        if other.n:
            recent = Moments(other.size)
            recent.n, recent.mean = other.n, other.mean
            # Not settled in place: the other part is left as it is.
            recent._scatter = other._scatter / other._unit
            waiting = other._waiting[: other._n_waiting] / math.sqrt(other._unit)
            blas.dsyrk(1.0, waiting.T, 1.0, recent._scatter, 0, 0, 1)
            super().__iadd__(recent)  # type: ignore[arg-type]
        return self

    def _check_poolable(self, other: Centroid) -> None:
        super()._check_poolable(other)
        if isinstance(other, ForgettingMoments) and other.memory != self.memory:
            raise ValueError(
                f"cannot pool moments with a memory of {self.memory:g} and of {other.memory:g}"
            )

    def resize(self, size: Size) -> None:
        """Make room for more features, which have been 0 so far, or give up the last ones."""
        super().resize(size)
        self._waiting = resized(self._waiting, _N_WAITING, size)
