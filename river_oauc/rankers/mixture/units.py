"""Features in units of their own recent deviation."""

from __future__ import annotations

import typing

import numpy as np

from river_oauc.acceleration import accelerated
from river_oauc.rankers.base import FloatArray, IntArray, reindexed
from river_oauc.rankers.mixture.constants import (
    LARGEST_STANDARDIZED,
    OUTLIER_DEVIATIONS,
    SMALLEST_FEATURE_VARIANCE,
    UNITS_MEMORY,
    UNITS_SHARE,
)
from river_oauc.rankers.mixture.tails import Tails, signed_logarithms
from river_oauc.state import State, StateReader


class Units:
    """Recent mean and deviation of each feature.

    A standardised feature means the same whatever it is measured in, and after a scaler in front
    has changed its range. A feature with heavy tails is replaced by its logarithm first. Outliers
    are drawn in smoothly: no value is further than four units from the mean. An unknown value (NaN)
    counts as the mean, and changes neither mean nor deviation.

    An update costs O(p) time, and memory is 8p doubles for p features.

    Parameters
    ----------
    size
        Number p of features.

    Attributes
    ----------
    tails
        Which features have heavy tails.
    mean
        Recent mean of each feature, or of its logarithm.
    factors
        One over the recent deviation; 0 for a feature that does not vary.
    fixed
        Whether `update` changes nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.rankers.mixture.units import Units

    >>> units = Units(size=2)
    >>> for x in ([1.0, 7.0], [3.0, 7.0], [5.0, 7.0]):
    ...     units.update(np.array(x))
    >>> units.mean, units.factors
    (array([3., 7.]), array([0.612, 0.   ]))
    >>> units.standardize(np.array([5.0, 9.0])), units.standardize(np.array([np.nan, 7.0]))
    (array([1.171, 0.   ]), array([0., 0.]))
    >>> units.standardize(np.array([1e9, 7.0]))
    array([4., 0.])

    """

    def __init__(self, size: int) -> None:
        self.fixed = False
        self.tails = Tails(size)
        self._n_seen = 0
        # The number of unknown values of each feature.
        self._n_missing: FloatArray = np.zeros(size)
        self.mean: FloatArray = np.zeros(size)
        self._variance: FloatArray = np.zeros(size)
        self.factors: FloatArray = np.zeros(size)

    @property
    def n_varying(self) -> int:
        """The number of features that vary."""
        return int(np.count_nonzero(self.factors))

    def update(self, x: FloatArray) -> None:
        """Follow the vector `x`, unless the units are fixed."""
        if self.fixed:
            return
        heavy = self.tails.update(x)
        if heavy is not None:
            # As if they had been unknown so far.
            n_missing = np.where(heavy, float(self._n_seen), self._n_missing)
            mean, variance = (np.where(heavy, 0.0, each) for each in (self.mean, self._variance))
            self._set(self._n_seen, n_missing, mean, variance)
        n_seen = self._n_seen + 1
        self._n_seen, (self._n_missing, self.mean, self._variance, self.factors) = (
            n_seen,
            update_units(
                x,
                self.tails.scales,
                n_seen,
                self._n_missing,
                self.mean,
                self._variance,
                self.factors,
            ),
        )

    def _set(
        self, n_seen: int, n_missing: FloatArray, mean: FloatArray, variance: FloatArray
    ) -> None:
        factors = _inverse_deviations(variance)
        self._n_seen, self._n_missing = n_seen, n_missing
        self.mean, self._variance, self.factors = mean, variance, factors

    def standardize(self, x: FloatArray) -> FloatArray:
        """Return a vector, or the rows of a matrix, in these units."""
        return standardize(x, self.tails.scales, self.mean, self.factors)

    def merge(self, other: Units) -> None:
        """Add what the units of another part of the stream remember."""
        n, n_other = self._n_remembered, other._n_remembered
        # Where only one of the two has found out that tails are heavy, its units count.
        n = np.where((self.tails.scales == 0.0) & (other.tails.scales > 0.0), 0.0, n)
        n_other = np.where((self.tails.scales > 0.0) & (other.tails.scales == 0.0), 0.0, n_other)
        share = n_other / np.maximum(n + n_other, 1.0)
        gap = other.mean + np.sign(other.mean) * other.tails.shift_to(self.tails) - self.mean
        variance = self._variance + share * (other._variance - self._variance)
        variance += share * (1.0 - share) * gap * gap
        self._set(
            self._n_seen + other._n_seen,
            self._n_missing + other._n_missing,
            self.mean + share * gap,
            variance,
        )
        self.tails.merge(other.tails)

    @property
    def _n_remembered(self) -> FloatArray:
        memory = max(UNITS_MEMORY, UNITS_SHARE * self._n_seen)
        n: FloatArray = np.minimum(self._n_seen - self._n_missing, memory)
        return n

    def fix(self, n_seen: int, n_known: FloatArray, mean: FloatArray, variance: FloatArray) -> None:
        """Stop following the stream.

        The given counts are those of the stream. Its means and variances replace those of features
        that have not varied here.
        """
        constant = self._variance == 0.0
        self._set(
            n_seen,
            n_seen - n_known,
            np.where(constant, mean, self.mean),
            np.where(constant, variance, self._variance),
        )
        self.fixed = True

    def same_as(self, other: Units) -> bool:
        """Return whether both standardise vectors alike."""
        return (
            np.array_equal(self.mean, other.mean)
            and np.array_equal(self.factors, other.factors)
            and np.array_equal(self.tails.scales, other.tails.scales)
        )

    def change_to(self, new: Units) -> tuple[FloatArray, FloatArray]:
        """Return the factors and shifts that bring a standardised vector to new units.

        They are exact to first order about the old mean; further away, values are drawn in.
        """
        mean = self.mean + np.sign(self.mean) * self.tails.shift_to(new.tails)
        shift = (mean - new.mean) * new.factors
        varies = (self.factors > 0.0) & (new.factors > 0.0)
        # Values and their logarithms are ordered alike, about their means.
        alike = (self.tails.scales > 0.0) == (new.tails.scales > 0.0)
        shift, varies = np.where(alike, shift, 0.0), varies & alike
        # A feature that does not vary is 0, or does not count.
        scale = np.where(varies, new.factors / np.where(varies, self.factors, 1.0), 1.0)
        drawn_in = 1.0 / np.sqrt(1.0 + (shift / LARGEST_STANDARDIZED) ** 2)
        return scale * drawn_in**3, shift * drawn_in

    def reindexed(self, positions: IntArray, size: int) -> Units:
        """Return a copy in which feature i stands at `positions[i]`, and others were unknown."""
        moved = Units(size)
        moved.fixed, moved.tails = self.fixed, self.tails.reindexed(positions, size)
        moved._set(
            self._n_seen,
            reindexed(self._n_missing, positions, size, float(self._n_seen)),
            reindexed(self.mean, positions, size),
            reindexed(self._variance, positions, size),
        )
        return moved

    def get_state(self) -> State:
        """Return a copy of the state."""
        return {
            "fixed": self.fixed,
            "tails": self.tails.get_state(),
            "n_seen": self._n_seen,
            "n_missing": self._n_missing.copy(),
            "mean": self.mean.copy(),
            "variance": self._variance.copy(),
        }

    @classmethod
    def from_state(cls, reader: StateReader, size: int) -> typing.Self:
        """Return the units with this state."""
        units = cls(size)
        units.fixed = reader.flag("fixed")
        units.tails = Tails.from_state(reader.reader("tails"), size)
        n_seen = reader.count("n_seen")
        units._set(
            n_seen,
            reader.array("n_missing", size, minimum=0.0, maximum=n_seen),
            reader.array("mean", size),
            reader.array("variance", size, minimum=0.0),
        )
        reader.finish()
        return units


@accelerated
def update_units(
    x: FloatArray,
    scales: FloatArray,
    n_seen: int,
    n_missing: FloatArray,
    mean: FloatArray,
    variance: FloatArray,
    factors: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the last four arguments after the vector `x`, the `n_seen`-th one.

    Features with heavy tails have a scale above 0.
    """
    known = ~np.isnan(x)
    n_missing = n_missing + ~known
    memory = max(UNITS_MEMORY, UNITS_SHARE * n_seen)
    rate = known / np.clip(n_seen - n_missing, 1.0, memory)
    deviation = np.where(known, signed_logarithms(x, scales) - mean, 0.0)
    deviation /= np.maximum(np.abs(deviation * factors) / OUTLIER_DEVIATIONS, 1.0)
    step = rate * deviation
    variance = (1.0 - rate) * (variance + step * deviation)
    return n_missing, mean + step, variance, _inverse_deviations(variance)


def _inverse_deviations(variance: FloatArray) -> FloatArray:
    """Return 1 / √variance, but 0 where the variance is."""
    inverse: FloatArray = np.sqrt(variance) / (variance + SMALLEST_FEATURE_VARIANCE)
    return inverse


@accelerated
def standardize(
    x: FloatArray, scales: FloatArray, mean: FloatArray, factors: FloatArray
) -> FloatArray:
    """Return (x - mean) · factors, outliers drawn in, and 0 where x is unknown.

    It is done for a vector, or for the rows of a matrix. Features with heavy tails have a scale
    above 0.
    """
    z = (signed_logarithms(x, scales) - mean) * factors
    z /= np.sqrt(1.0 + (z / LARGEST_STANDARDIZED) ** 2)
    return np.where(np.isnan(z), 0.0, z)
