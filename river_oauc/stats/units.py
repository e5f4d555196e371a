"""Features in units of their own recent spread."""

from __future__ import annotations

import typing

import numpy as np

from river_oauc import blas, vectors
from river_oauc.inputs.arrays import FloatArray, Size, resized
from river_oauc.inputs.records import Record
from river_oauc.stats.pooling import pooled

__all__ = ["Units"]

# About so many examples count.
_MEMORY = 1000

# Values further from the mean than so many deviations count as just so far: an outlier at most
# doubles the variance, and is forgotten as fast as others.
_FURTHEST = _MEMORY**0.5

# A variance well below this counts as none.
_SMALLEST_VARIANCE = 1e-200

# Values far beyond so many deviations are drawn in to just so many.
_DRAWN_IN = 4.0


class Units(Record):
    """Recent mean and deviation of each feature, and what values come to in these units.

    In units of the deviation over the last thousand examples or so, a feature means the same before
    and after a scaler in front has changed its ranges, and whatever it is measured in. Outliers are
    drawn in smoothly: no value is further than four units from the mean. A value that is not known
    (NaN) is at the mean, and changes neither mean nor deviation.

    An update costs O(p) time; memory is 4p doubles.

    Parameters
    ----------
    size
        Length p of the vectors.

    Attributes
    ----------
    mean
        Recent mean of each feature.
    factors
        One over the recent deviation of each feature; 0 for a feature that does not vary.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.stats.units import Units

    >>> units = Units(size=2)
    >>> for x in ([1.0, 7.0], [3.0, 7.0], [5.0, 7.0]):
    ...     units.update(np.array(x))
    >>> units.mean, units.factors
    (array([3., 7.]), array([0.612, 0.   ]))
    >>> units.standardized(np.array([5.0, 9.0])), units.standardized(np.array([np.nan, 7.0]))
    (array([1.171, 0.   ]), array([0., 0.]))
    >>> units.standardized(np.array([1e9, 7.0]))
    array([4., 0.])

    """

    __fields__ = (
        "_n_seen",
        "_n_missing",
        "_any_missing",
        "mean",
        "factors",
        "_variance",
        "_is_fixed",
    )

    def __init__(self, size: int) -> None:
        self._n_seen = 0
        # How many values of each feature were not known.
        self._n_missing: FloatArray = np.zeros(size)
        self._any_missing = False
        self.mean: FloatArray = np.zeros(size)
        self.factors: FloatArray = np.zeros(size)
        self._variance: FloatArray = np.zeros(size)
        # Whether they stay as they are.
        self._is_fixed = False

    @property
    def n_varying(self) -> int:
        """The number of features that vary."""
        return int(vectors.count_nonzero(self.factors))

    def update(self, x: FloatArray) -> None:
        """Count the vector `x`."""
        if self._is_fixed:
            return
        self._n_seen += 1
        deviation = vectors.subtract(x, self.mean)
        scaled = vectors.multiply(deviation, self.factors)
        squared = blas.ddot(scaled, scaled)
        if squared != squared or self._any_missing:
            self._update_known(deviation)
            return
        if squared > _MEMORY:
            deviation /= np.maximum(np.abs(scaled) / _FURTHEST, 1.0)
        n_seen = self._n_seen
        rate = 1.0 / (n_seen if n_seen < _MEMORY else _MEMORY)
        variance = self._variance
        blas.daxpy(deviation, self.mean, len(x), rate)
        vectors.multiply(deviation, deviation, deviation)
        blas.daxpy(deviation, variance, len(x), rate)
        blas.dscal(1.0 - rate, variance)
        self._find_factors()

    def _update_known(self, deviation: FloatArray) -> None:
        """The same, feature by feature, where some values are not known or have not been."""
        known = ~np.isnan(deviation)
        self._n_missing += ~known
        self._any_missing = True
        rate = known / np.clip(self._n_seen - self._n_missing, 1.0, _MEMORY)
        deviation = np.where(known, deviation, 0.0)
        deviation /= np.maximum(np.abs(deviation * self.factors) / _FURTHEST, 1.0)
        self.mean += rate * deviation
        self._variance += rate * deviation * deviation
        self._variance *= 1.0 - rate
        self._find_factors()

    def _find_factors(self) -> None:
        # 1 / √variance, but 0 where the variance is.
        variance = self._variance
        self.factors = vectors.sqrt(variance)
        vectors.divide(self.factors, vectors.add(variance, _SMALLEST_VARIANCE), self.factors)

    def standardized(self, x: FloatArray) -> FloatArray:
        """A vector, or the rows of a matrix, in these units, as a new array."""
        if x.ndim > 1:
            rows = [self.standardized(row) for row in x]
            return np.array(rows).reshape(len(x), len(self.mean))
        z = vectors.subtract(x, self.mean)
        vectors.multiply(z, self.factors, z)
        squares = vectors.multiply(z, z)
        blas.dscal(1.0 / _DRAWN_IN**2, squares)
        vectors.add(squares, 1.0, squares)
        vectors.divide(z, vectors.sqrt(squares, squares), z)
        # One sum finds a NaN at a fraction of the cost of looking for it.
        if not blas.ddot(z, z) >= 0.0:
            z[np.isnan(z)] = 0.0
        return z

    def __iadd__(self, other: typing.Self) -> typing.Self:
        """Pool with the units of another part of the stream, by what they remember."""
        n, n_other = self._n_remembered, other._n_remembered
        share = n_other / np.maximum(n + n_other, 1.0)
        self.mean, self._variance = pooled(
            self.mean, self._variance, other.mean, other._variance, share
        )
        self._n_seen += other._n_seen
        self._n_missing += other._n_missing
        self._any_missing = self._any_missing or other._any_missing
        self._find_factors()
        return self

    @property
    def _n_remembered(self) -> FloatArray:
        n: FloatArray = np.minimum(self._n_seen - self._n_missing, _MEMORY)
        return n

    def fix(self, n_seen: int, n_known: FloatArray, mean: FloatArray, variance: FloatArray) -> None:
        """Stay as they are, until they are set free.

        Where these are units in which nothing varies, mean and variance are given.
        """
        constant = self._variance == 0.0
        self.mean[constant], self._variance[constant] = mean[constant], variance[constant]
        self._n_seen, self._n_missing = n_seen, n_seen - n_known
        self._any_missing = bool(self._n_missing.any())
        self._find_factors()
        self._is_fixed = True

    def set_free(self) -> None:
        """Follow the vectors again."""
        self._is_fixed = False

    def same_as(self, other: Units) -> bool:
        """Whether values come to the same in both units."""
        return np.array_equal(self.mean, other.mean) and np.array_equal(self.factors, other.factors)

    def change_to(self, new: Units) -> tuple[FloatArray, FloatArray]:
        """Factors and shifts that bring a standardized vector to new units.

        They are exact to first order about the old mean; further away, values are drawn in.
        """
        shift = (self.mean - new.mean) * new.factors
        varies = (self.factors > 0.0) & (new.factors > 0.0)
        # What does not vary is 0, or does not count.
        scale = np.where(varies, new.factors / np.where(varies, self.factors, 1.0), 1.0)
        drawn_in = 1.0 / np.sqrt(1.0 + (shift / _DRAWN_IN) ** 2)
        return scale * drawn_in**3, shift * drawn_in

    def resize(self, size: Size) -> None:
        """Make room for more features, which have been 0 so far, or give up the last ones."""
        self._n_missing = resized(self._n_missing, size)
        self.mean = resized(self.mean, size)
        self.factors = resized(self.factors, size)
        self._variance = resized(self._variance, size)
