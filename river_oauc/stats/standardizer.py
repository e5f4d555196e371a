"""Features in units of their own recent spread."""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import daxpy, ddot, dscal

from river_oauc.inputs.arrays import FloatArray, resized

__all__ = ["Standardizer"]

# About so many examples count.
_MEMORY = 1000

# Values further from the mean than so many deviations count as just so far: an outlier at most
# doubles the variance, and is forgotten as fast as others.
_FURTHEST = _MEMORY**0.5

# A variance well below this counts as none.
_SMALLEST_VARIANCE = 1e-200


class Standardizer:
    """Running mean and deviation of each feature, which forget.

    A scaler in front of a learner may change its mind: `preprocessing.MinMaxScaler` squeezes a
    feature whenever a new extreme comes. What has been learned in the old units is then worth
    little. In units of the deviation over the last thousand examples or so, features mean the same
    before and after.

    An update costs O(p) time; memory is 3p doubles.

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
    >>> from river_oauc.stats.standardizer import Standardizer

    >>> standardizer = Standardizer(size=2)
    >>> for x in ([1.0, 7.0], [3.0, 7.0], [5.0, 7.0]):
    ...     z = standardizer.update(np.array(x))
    >>> standardizer.mean, standardizer.factors
    (array([3., 7.]), array([0.612, 0.   ]))
    >>> z
    array([1.225, 0.   ])

    """

    def __init__(self, size: int) -> None:
        self._n_seen = 0
        self.mean: FloatArray = np.zeros(size)
        self.factors: FloatArray = np.zeros(size)
        self._variance: FloatArray = np.zeros(size)

    def update(self, x: FloatArray) -> FloatArray:
        """Count the vector `x`. Returns it in the new units, outliers cut short, as a new array."""
        self._n_seen += 1
        rate = 1.0 / min(self._n_seen, _MEMORY)
        mean, variance = self.mean, self._variance
        deviation = x - mean
        z = deviation * self.factors
        if ddot(z, z) > _MEMORY:
            deviation /= np.maximum(np.abs(z) / _FURTHEST, 1.0)
        daxpy(deviation, mean, len(x), rate)
        deviation *= deviation
        daxpy(deviation, variance, len(x), rate)
        dscal(1.0 - rate, variance)
        # 1 / √variance, but 0 where the variance is.
        self.factors = np.sqrt(variance)
        self.factors /= variance + _SMALLEST_VARIANCE
        z = x - mean
        z *= self.factors
        if ddot(z, z) > _MEMORY:
            np.clip(z, -_FURTHEST, _FURTHEST, out=z)
        return z

    def resize(self, size: int) -> None:
        """Make room for more features, which have been 0 so far, or give up the last ones."""
        self.mean = resized(self.mean, size)
        self.factors = resized(self.factors, size)
        self._variance = resized(self._variance, size)
