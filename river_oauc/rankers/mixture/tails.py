"""Logarithms of features with heavy tails."""

from __future__ import annotations

import typing

import numpy as np
from numpy.typing import NDArray

from river_oauc.acceleration import accelerated
from river_oauc.rankers.mixture.constants import (
    FIRST_TAILS,
    HEAVY_TAIL,
    LAST_TAILS,
    SMALLEST_SCALE,
)
from river_oauc.state import FloatArray, Stateful

# The logarithm of a size is within these bounds, and 0 has none.
_MAX_LOG = 1e3


class Tails(Stateful):
    """Which features have heavy tails: amounts and ratios of which a few are huge.

    The logarithm of the mean size of such a feature is far above the mean of the logarithms: by
    half the variance of these, if they are Gaussian. From then on the feature is the signed
    logarithm sign(x) · log(1 + |x| / s), where s is its geometric mean size. So outliers are
    ordinary values, and units of the feature are not worn down by them. That is decided after 32,
    64, ..., 1,024 examples, and for good.

    Parameters
    ----------
    size
        Number of features.

    Attributes
    ----------
    scales
        The scale s of each feature; 0 if its tails are not heavy.
    n_seen
        The number of vectors.
    n, mean_size, mean_log
        Of the values of each feature that are neither 0 nor unknown: their number, and the means of
        their sizes and of the logarithms of these.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.rankers.mixture.tails import Tails

    >>> tails, rng = Tails(2), np.random.default_rng(1)
    >>> for x in rng.normal(size=(100, 2)):
    ...     _ = tails.update(np.array([x[0], np.exp(3.0 * x[1])]))
    >>> tails.scales
    array([0.   , 0.641])

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "n_seen": int, "scales": (float, "p"), "n": (float, "p"), "mean_size": (float, "p"),
        "mean_log": (float, "p"),
    }  # fmt: skip

    def __init__(self, size: int) -> None:
        self.n_seen = 0
        self.scales: FloatArray = np.zeros(size)
        self.n: FloatArray = np.zeros(size)
        self.mean_size: FloatArray = np.zeros(size)
        self.mean_log: FloatArray = np.zeros(size)

    def update(self, x: FloatArray) -> NDArray[np.bool_] | None:
        """Follow a vector; return a mask of the features whose tails turn out to be heavy."""
        if self.n_seen >= LAST_TAILS:
            return None
        n_seen = self.n_seen + 1
        n, mean_size, mean_log = update_sizes(x, self.n, self.mean_size, self.mean_log)
        self.n_seen, self.n, self.mean_size, self.mean_log = n_seen, n, mean_size, mean_log
        if n_seen < FIRST_TAILS or n_seen & (n_seen - 1):
            return None
        spread = np.log(np.maximum(mean_size, np.exp(-_MAX_LOG / 2))) - mean_log
        heavy: NDArray[np.bool_] = (
            (self.scales == 0.0) & (n >= FIRST_TAILS) & (spread >= HEAVY_TAIL)
        )
        if not heavy.any():
            return None
        scales = np.maximum(np.exp(mean_log), SMALLEST_SCALE)
        self.scales = np.where(heavy, scales, self.scales)
        return heavy

    def shift_to(self, new: Tails) -> FloatArray:
        """Return about how much larger the logarithms are with the scales of others."""
        both = (self.scales > 0.0) & (new.scales > 0.0)
        ratio = np.where(both, self.scales, 1.0) / np.where(both, new.scales, 1.0)
        return np.log(ratio)

    def merge(self, other: Tails) -> None:
        """Add what is known from another part of the stream; own scales stay."""
        n = self.n + other.n
        share = other.n / np.maximum(n, 1.0)
        self.n_seen, self.n = self.n_seen + other.n_seen, n
        self.mean_size = self.mean_size + share * (other.mean_size - self.mean_size)
        self.mean_log = self.mean_log + share * (other.mean_log - self.mean_log)
        self.scales = np.where(self.scales > 0.0, self.scales, other.scales)


@accelerated
def update_sizes(
    x: FloatArray, n: FloatArray, mean_size: FloatArray, mean_log: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return numbers, mean sizes and mean logarithms of sizes with one more value each.

    Values that are 0 or unknown do not count.
    """
    sizes = np.abs(x)
    counts = sizes > 0.0
    n = n + counts
    rate = counts / np.maximum(n, 1.0)
    sizes = np.where(counts, sizes, 1.0)
    return (
        n,
        mean_size + rate * (sizes - mean_size),
        mean_log + rate * (np.log(sizes) - mean_log),
    )


def signed_logarithms(x: FloatArray, scales: FloatArray) -> FloatArray:
    """Return sign(x) · log(1 + |x| / s) for features with a scale s, and x for those with 0.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.rankers.mixture.tails import signed_logarithms
    >>> signed_logarithms(np.array([1000.0, -1000.0, np.nan]), np.array([0.0, 0.641, 1.0]))
    array([1000.   ,   -7.353,      nan])

    """
    heavy = scales > 0.0
    logarithms = np.copysign(np.log1p(np.abs(x) / np.where(heavy, scales, 1.0)), x)
    return np.where(heavy, logarithms, x)
