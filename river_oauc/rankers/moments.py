"""Count, mean and covariance of the examples of each class.

Those of both classes stand in one array each: `n` (2,), `mean` (2, p) and `scatter` (2, p, p), the
sum of the outer products of the deviations from the mean. Of a scatter matrix, only the lower
triangle counts.
"""

from __future__ import annotations

import typing

import numpy as np

from river_oauc.state import FloatArray


class Moments(typing.NamedTuple):
    """Weighted count, mean and covariance of the examples of a class.

    Parameters
    ----------
    n
        Total weight of the examples; their number, if all weights are 1.
    mean
        Their mean; zeros before the first one.
    covariance
        Their covariance, divided by `n` and not by `n - 1`; zeros before the first one.

    """

    n: float
    mean: FloatArray
    covariance: FloatArray


def symmetric(lower: FloatArray) -> FloatArray:
    """Return the symmetric matrix with this lower triangle.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.rankers.moments import symmetric
    >>> symmetric(np.array([[1.0, 9.0], [2.0, 3.0]]))
    array([[1., 2.],
           [2., 3.]])

    """
    return np.tril(lower) + np.tril(lower, -1).T


def covariance(n: FloatArray, scatter: FloatArray, own: int) -> FloatArray:
    """Return the covariance of a class."""
    return symmetric(scatter[own]) / (n[own] or 1.0)


def update_moments(
    n: FloatArray, mean: FloatArray, scatter: FloatArray, own: int, x: FloatArray, weight: float
) -> None:
    """Add an example to its class, by Welford's recursion [^1].

    The mean is subtracted before anything is squared, so a large offset costs no digits. The
    textbook recursion on second moments loses all of them at an offset of 1e8.

    References
    ----------
    [^1]: Welford, B.P., 1962. Note on a method for calculating corrected sums of squares and
        products. Technometrics, 4(3), pp.419-420.

    """
    total, deviation = n[own] + weight, x - mean[own]
    mean[own] += weight / total * deviation
    scatter[own] += weight * (n[own] / total) * np.tril(np.outer(deviation, deviation))
    n[own] = total


def merge_moments(
    n: FloatArray,
    mean: FloatArray,
    scatter: FloatArray,
    others: tuple[FloatArray, FloatArray, FloatArray],
) -> None:
    """Add the moments of another part of the stream [^1].

    References
    ----------
    [^1]: Chan, T.F., Golub, G.H. and LeVeque, R.J., 1983. Algorithms for computing the sample
        variance: Analysis and recommendations. The American Statistician, 37(3), pp.242-247.

    """
    for own, (other_n, other_mean, other_scatter) in enumerate(zip(*others, strict=True)):
        if other_n:
            update_moments(n, mean, scatter, own, other_mean, other_n)
            scatter[own] += other_scatter
