"""Features in units of their own recent deviation."""

from __future__ import annotations

import typing

import numpy as np

from river_oauc.acceleration import accelerated
from river_oauc.rankers.mixture.constants import (
    LARGEST_STANDARDIZED,
    OUTLIER_DEVIATIONS,
    SMALLEST_FEATURE_VARIANCE,
    UNITS_MEMORY,
    UNITS_SHARE,
)
from river_oauc.rankers.mixture.tails import Tails, signed_logarithms
from river_oauc.state import FloatArray, Stateful, damage


class Units(Stateful):
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
    n_seen, n_known
        The number of vectors, and of known values of each feature.
    mean, variance
        Recent mean and variance of each feature, or of its logarithm.
    factors
        One over the recent deviation; 0 for a feature that does not vary.

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

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "tails": Stateful, "n_seen": int, "n_known": (float, "p"), "mean": (float, "p"),
        "variance": (float, "p"), "factors": (float, "p"),
    }  # fmt: skip

    def __init__(self, size: int) -> None:
        self.tails = Tails(size)
        self.n_seen = 0
        self.n_known: FloatArray = np.zeros(size)
        self.mean: FloatArray = np.zeros(size)
        self.variance: FloatArray = np.zeros(size)
        self.factors: FloatArray = np.zeros(size)

    @property
    def n_varying(self) -> int:
        """The number of features that vary."""
        return int(np.count_nonzero(self.factors))

    def update(self, x: FloatArray) -> None:
        """Follow the vector `x`."""
        heavy = self.tails.update(x)
        if heavy is not None:
            # As if they had been unknown so far.
            self.n_known, self.mean, self.variance, self.factors = (
                np.where(heavy, 0.0, each)
                for each in (self.n_known, self.mean, self.variance, self.factors)
            )
        self.n_seen += 1
        self.n_known, self.mean, self.variance, self.factors = update_units(
            x, self.tails.scales, self.n_seen, self.n_known, self.mean, self.variance, self.factors
        )

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
        variance = self.variance + share * (other.variance - self.variance)
        self.variance = variance + share * (1.0 - share) * gap * gap
        self.mean = self.mean + share * gap
        self.factors = _inverse_deviations(self.variance)
        self.n_seen, self.n_known = self.n_seen + other.n_seen, self.n_known + other.n_known
        self.tails.merge(other.tails)

    @property
    def _n_remembered(self) -> FloatArray:
        return np.minimum(self.n_known, max(UNITS_MEMORY, UNITS_SHARE * self.n_seen))

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

    def check_state(self) -> None:
        if len(self.tails.scales) != len(self.mean):
            raise damage("tails has another number of features")


@accelerated
def update_units(
    x: FloatArray,
    scales: FloatArray,
    n_seen: int,
    n_known: FloatArray,
    mean: FloatArray,
    variance: FloatArray,
    factors: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the last four arguments after the vector `x`, the `n_seen`-th one.

    Features with heavy tails have a scale above 0.
    """
    known = ~np.isnan(x)
    n_known = n_known + known
    rate = known / np.clip(n_known, 1.0, max(UNITS_MEMORY, UNITS_SHARE * n_seen))
    deviation = np.where(known, signed_logarithms(x, scales) - mean, 0.0)
    deviation /= np.maximum(np.abs(deviation * factors) / OUTLIER_DEVIATIONS, 1.0)
    step = rate * deviation
    variance = (1.0 - rate) * (variance + step * deviation)
    return n_known, mean + step, variance, _inverse_deviations(variance)


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
