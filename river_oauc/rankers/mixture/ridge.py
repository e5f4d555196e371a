"""The linear score that minimises a ridge loss, in closed form from the class moments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from river_oauc.acceleration import accelerated
from river_oauc.rankers.mixture.constants import (
    EIGENVALUE_PRECISION,
    JITTER,
    SMALLEST_MEAN_VARIANCE,
)
from river_oauc.rankers.mixture.moments import ClassPair
from river_oauc.state import FloatArray


def ridge(
    classes: ClassPair, strengths: Sequence[float], metric: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return the weights, a row per strength, and the biases of the best linear scores.

    The score w·x - b has the smallest mean squared distance from 1 for positives and from -1 for
    negatives, both classes counting alike, plus a ridge penalty. Up to their length, the same
    weights minimise the squared loss over all pairs.

    With the difference d of the class means and the sum S of the class covariances they are
    w = 2 / (2 + d·v) · v with (S + strength / n · metric) v = d, where n = 4 / (1 / n₊ + 1 / n₋) is
    the size of a balanced sample that would be as informative.

    It costs O(p³) time for p features and each strength. While a class has no examples, weights and
    biases are 0.

    Parameters
    ----------
    classes
        The moments of the negatives and of the positives.
    strengths
        The strengths of the penalty.
    metric
        The matrix M of the penalty wᵀMw. `None` is the identity times the variance of the features.

    """
    negative, positive = classes
    if not (negative.n and positive.n):
        return np.zeros((len(strengths), len(positive.mean))), np.zeros(len(strengths))
    return solve_ridge(
        negative.n,
        negative.mean,
        negative.settle(),
        positive.n,
        positive.mean,
        positive.settle(),
        strengths,
        metric,
    )


@accelerated
def solve_ridge(
    n_negative: float,
    negative_mean: FloatArray,
    negative_scatter: FloatArray,
    n_positive: float,
    positive_mean: FloatArray,
    positive_scatter: FloatArray,
    strengths: Sequence[float],
    metric: FloatArray | None,
) -> tuple[FloatArray, FloatArray]:
    """Return the weights and biases of `ridge`, given the moments of both classes."""
    n = 4.0 / (1.0 / n_positive + 1.0 / n_negative)
    covariance = positive_scatter / n_positive + negative_scatter / n_negative
    gap = positive_mean - negative_mean
    identity = np.eye(len(gap))
    variance = 0.5 * covariance.trace() + SMALLEST_MEAN_VARIANCE
    weights = np.zeros((len(strengths), len(gap)))
    for row, strength in enumerate(strengths):
        if metric is None:
            penalty = variance * (strength / n + JITTER) * identity
        else:
            penalty = strength / n * metric + JITTER * identity
        solution = solve_positive_definite(covariance + penalty, gap)
        weights[row] = 2.0 / (2.0 + gap @ solution) * solution
    # Half way between the class means.
    return weights, weights @ (0.5 * (positive_mean + negative_mean))


def solve_positive_definite(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    """Return the solution of a linear system whose symmetric matrix is positive definite.

    If rounding has left a direction without a positive eigenvalue, the direction gets the smallest
    eigenvalue that is not a rounding error.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.rankers.mixture.ridge import solve_positive_definite
    >>> solve_positive_definite(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([1.0, 1.0]))
    array([0.5 , 0.25])
    >>> solve_positive_definite(np.array([[1.0, 1.0], [1.0, 1.0 - 1e-15]]), np.array([1.0, 1.0]))
    array([0.5, 0.5])

    """
    try:
        factor = cho_factor(matrix, check_finite=False)
    except LinAlgError:
        values, axes = np.linalg.eigh(matrix)
        values = np.maximum(values, EIGENVALUE_PRECISION * values[-1])
        solution: FloatArray = axes @ ((axes.T @ vector) / values)
        return solution
    solution = cho_solve(factor, vector, check_finite=False)
    return solution
