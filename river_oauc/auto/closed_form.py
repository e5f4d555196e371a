"""The linear score that minimises the squared loss over all pairs, from class moments alone."""

from __future__ import annotations

from collections.abc import Sequence

from river_oauc import blas, vectors
from river_oauc.inputs.arrays import FloatArray
from river_oauc.stats.moments import ForgettingMoments

__all__ = ["ClassPair", "closed_forms"]

# Added to the diagonal, in units of the features: what rounding could take away.
_JITTER = 1e-8

# In the place of the mean variance of features that do not vary at all.
_SMALLEST_VARIANCE = 1e-12

# The moments of the negatives and of the positives.
ClassPair = tuple[ForgettingMoments, ForgettingMoments]


def closed_forms(
    classes: ClassPair, strengths: Sequence[float], metric: FloatArray | None = None
) -> list[tuple[FloatArray, float]]:
    """Weights and bias of the best linear score, for each strength of the regulariser.

    The score w·x - b has the smallest mean squared distance from 1 for positives and -1 for
    negatives, the classes counting alike, plus a regulariser; up to their length, the same weights
    minimise the squared loss over all pairs. With the difference d of the class means and the sum S
    of the class covariances they are w = 2 / (2 + d·v) · v with (S + strength / n · metric) v = d,
    where n = 4 / (1 / n₊ + 1 / n₋) is the size of two balanced classes that are known as well.

    It costs O(p³) time for p features for each of the strengths.

    Parameters
    ----------
    classes
        The moments of the negatives and of the positives; both must have examples.
    strengths
        The strengths.
    metric
        What the weights are measured with: a symmetric matrix of which the upper triangle is read,
        column-major. `None` is a multiple of the identity, the variance of the features.

    """
    negative, positive = classes
    n = 4.0 / (1.0 / positive.n + 1.0 / negative.n)
    covariance = positive.upper_covariance()
    covariance += negative.upper_covariance()
    size = len(covariance)
    gap = vectors.subtract(positive.mean, negative.mean)
    solutions = []
    for strength in strengths:
        if metric is None:
            matrix = covariance.copy(order="F")
            diagonal = matrix.ravel(order="K")[:: size + 1]
            # No variance is negative: a sum of absolute values is the fastest trace.
            variance = 0.5 * blas.dasum(diagonal) + _SMALLEST_VARIANCE
            diagonal += variance * (strength / n + _JITTER)
        else:
            matrix = metric * (strength / n)
            matrix += covariance
            diagonal = matrix.ravel(order="K")[:: size + 1]
            diagonal += _JITTER
        # a, b, lower, overwrite_a.
        weights, failure = blas.dposv(matrix, gap, 0, 1)[1:]
        # Or else there would be one more matrix while the next is made.
        del matrix, diagonal
        if failure:
            # It cannot be, short of rounding: then no weights are better than wrong ones.
            weights = 0.0 * gap
        blas.dscal(2.0 / (2.0 + blas.ddot(gap, weights)), weights)
        # Half way between the class means.
        bias = 0.5 * (blas.ddot(weights, positive.mean) + blas.ddot(weights, negative.mean))
        solutions.append((weights, bias))
    return solutions
