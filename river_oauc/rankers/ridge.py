"""Linear scores: ridge regression in closed form from class moments, and a score that tracks.

Features are standardised by their own recent mean and deviation. A feature that is unknown is 0,
its mean.
"""

from __future__ import annotations

import math
import typing

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from river_oauc.acceleration import accelerated, in_numpy
from river_oauc.rankers.base import share_of_other
from river_oauc.state import FloatArray, IntArray, Stateful, damage

# Means and deviations are those of about the last thousand examples, and later on of a tenth of the
# stream: an average gives each new value a share of one over this memory.
UNITS_MEMORY, UNITS_SHARE = 1000.0, 0.1

# Values further from the mean than this many deviations change mean and deviation as if they were
# that far: a single outlier at most doubles the variance.
OUTLIER = UNITS_MEMORY**0.5

# Standardised values never exceed this; closer to 0 they hardly change.
LARGEST_STANDARDIZED = 4.0

# The rows of the units: how often a feature has been known, and its recent mean and variance.
N_KNOWN, MEAN, VARIANCE = range(3)

# So many rank-one terms are added to a matrix in one product.
BATCH_SIZE = 32

# The strengths of the two ridge penalties, and what is added to the diagonal against rounding.
STRENGTHS, JITTER = (0.1, 10.0), 1e-8

# How far the tracking score goes towards its target, if both classes are as frequent.
TRACKING_RATE = 0.2

# After a change, what has been learned of a class counts as so many examples, and the schedules go
# on as after so many.
KEPT_PER_CLASS, AGE_AFTER_CHANGE = 2.0, 100


class ClassMoments(Stateful):
    """Weight, mean and scatter of the vectors of each class.

    A scatter takes rank-one terms, which wait until there are some to add in one product.

    Parameters
    ----------
    size
        The length of the vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.rankers.ridge import ClassMoments

    >>> moments = ClassMoments(size=2)
    >>> for x in ([1.0, 7.0], [3.0, 7.0], [5.0, 7.0]):
    ...     moments.add(np.array(x), positive=True, weight=1.0)
    >>> moments.flush()
    >>> moments.n, moments.mean[1], moments.scatter[1]
    (array([0., 3.]), array([3., 7.]), array([[8., 0.], [0., 0.]]))

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "n": (float, 2), "mean": (float, 2, "p"), "scatter": (float, 2, "p", "p"),
        "waiting": (float, 2, BATCH_SIZE, "p"), "n_waiting": (int, 2),
    }  # fmt: skip

    def __init__(self, size: int) -> None:
        self.n: FloatArray = np.zeros(2)
        self.mean: FloatArray = np.zeros((2, size))
        self.scatter: FloatArray = np.zeros((2, size, size))
        self.waiting: FloatArray = np.zeros((2, BATCH_SIZE, size))
        self.n_waiting: IntArray = np.zeros(2, np.int64)

    def add(self, x: FloatArray, positive: bool, weight: float) -> None:
        """Add a vector."""
        if self.n_waiting.item(int(positive)) == BATCH_SIZE:
            self.flush()
        add_vector(self.n, self.mean, self.waiting, self.n_waiting, x, positive, weight)

    def flush(self) -> None:
        """Add the terms that wait."""
        for own, n in enumerate(self.n_waiting.tolist()):
            terms = self.waiting[own, :n]
            self.scatter[own] += terms.T @ terms
        self.n_waiting[:] = 0

    def forget(self) -> None:
        """Let each class count as a few examples."""
        self.flush()
        share = KEPT_PER_CLASS / np.maximum(self.n, KEPT_PER_CLASS)
        self.n *= share
        self.scatter *= share[:, None, None]

    def merge(self, other: typing.Self) -> None:
        """Add the vectors of another part of the stream."""
        self.flush()
        n, mean, scatter = other.n, other.mean, other.scatter.copy()
        for own, k in enumerate(other.n_waiting.tolist()):
            scatter[own] += other.waiting[own, :k].T @ other.waiting[own, :k]
        total = np.maximum(self.n + n, np.finfo(float).tiny)
        gap = mean - self.mean
        self.scatter += scatter + (self.n * n / total)[:, None, None] * (
            gap[:, :, None] * gap[:, None, :]
        )
        self.mean += (n / total)[:, None] * gap
        self.n += n

    def check_state(self) -> None:
        if (self.n < 0.0).any() or (self.n_waiting > BATCH_SIZE).any():
            raise damage("a class has a weight below 0, or too many terms that wait")


def ridge(
    moments: ClassMoments, size: int, strength: float, metric: FloatArray | None = None
) -> tuple[FloatArray, float]:
    """Return weights and bias of the linear score that is nearest to -1 and 1.

    Its mean squared distance from -1 for negatives and 1 for positives, both classes counting
    alike, plus `strength` / n · wᵀMw is least, where n = 4 / (1 / n₊ + 1 / n₋) is the size of a
    balanced sample that would be as informative. With the difference d of the class means and the
    sum S of the class covariances, w = 2 / (2 + d·v) · v with (S + strength / n · M) v = d.

    It costs O(p³) time for p features.

    Parameters
    ----------
    moments
        The moments of both classes, without terms that wait.
    size
        How many entries of the vectors to use.
    strength
        The strength of the penalty.
    metric
        The matrix M; by default the mean variance of an entry times the unit matrix.

    """
    n, mean = moments.n, moments.mean[:, :size]
    gap, n_balanced = mean[1] - mean[0], 4.0 / float(np.sum(1.0 / n))
    matrix = (moments.scatter[:, :size, :size] / n[:, None, None]).sum(axis=0)
    variance = 0.5 * float(np.trace(matrix)) / size + 1e-12
    if metric is None:
        penalty = strength * size * variance / n_balanced
    else:
        penalty, matrix = 0.0, matrix + strength / n_balanced * metric
        variance += strength / n_balanced
    matrix[np.diag_indices(size)] += penalty + JITTER * size * variance
    try:
        v = cho_solve(cho_factor(matrix, check_finite=False), gap, check_finite=False)
    except LinAlgError:
        # Rounding has left a variance below 0.
        v = np.linalg.lstsq(matrix, gap)[0]
    v *= 2.0 / (2.0 + float(gap @ v))
    return v, -0.5 * float(v @ (mean[0] + mean[1]))


class LinearExperts(Stateful):
    """Three linear scores: ridge regression in two strengths, and one that tracks.

    The first two are computed anew whenever the stream has grown by a tenth. The third takes a step
    towards -1 or 1 with every example, so it follows what changes all the time.

    Attributes
    ----------
    units
        For each feature, how often it has been known, and its recent mean and variance.
    moments
        The moments of the standardised features.
    weights, biases
        Those of the three scores.
    age, next_solution
        The number of examples, and after how many the ridge scores are computed anew.

    """

    NAMES = ("ridge 0.1", "ridge 10", "tracking")
    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "units": (float, 3, "p"), "moments": Stateful, "weights": (float, 3, "p"),
        "biases": (float, 3), "age": int, "next_solution": int,
    }  # fmt: skip

    def __init__(self) -> None:
        self.units: FloatArray = np.zeros((3, 1))
        self.moments = ClassMoments(1)
        self.weights: FloatArray = np.zeros((3, 1))
        self.biases: FloatArray = np.zeros(3)
        self.age = self.next_solution = 0

    @property
    def n_features(self) -> int:
        return len(self.units[0])

    def see(self, x: FloatArray) -> tuple[FloatArray, list[float]]:
        """Return an example in units of the features, and its three scores."""
        return linear_scores(x, self.units, self.weights, self.biases)

    def contributions(self, z: FloatArray) -> FloatArray:
        """Return by how much each feature moves each score."""
        return self.weights * z

    def learn(
        self, z: FloatArray, score: float, positive: bool, weight: float, share: float
    ) -> None:
        """Learn from a standardised example that has had this tracking score.

        `share` is that of the other class among all examples so far.
        """
        self.age += 1
        self.moments.add(z, positive, weight)
        rate = min(2.0 * TRACKING_RATE * share * weight, 1.0)
        track(self.weights, self.biases, z, rate * ((1.0 if positive else -1.0) - score))

    def is_due(self) -> bool:
        """Return whether it is time to compute the ridge scores, and plan the next time."""
        if self.age < self.next_solution:
            return False
        p = self.n_features
        self.next_solution = self.age + max(1, self.age // 10, min(self.age, p // 4))
        return True

    def solve(self) -> None:
        """Compute the ridge scores, given examples of both classes."""
        if not self.moments.n.all():
            return
        self.moments.flush()
        for i, strength in enumerate(STRENGTHS):
            self.weights[i], self.biases[i] = ridge(self.moments, self.n_features, strength)

    def forget(self) -> None:
        """Count what has been learned as little, and compute the ridge scores at once."""
        self.moments.forget()
        self.age, self.next_solution = AGE_AFTER_CHANGE, 0

    def merge(self, other: LinearExperts) -> None:
        """Add moments, and average units and the tracking score by what each has seen."""
        share = share_of_other(self.moments.n.tolist(), other.moments.n.tolist())
        self.weights[2] += share * (other.weights[2] - self.weights[2])
        self.biases[2] += share * (other.biases[2] - self.biases[2])
        n, n_other = self.units[N_KNOWN], other.units[N_KNOWN]
        part = n_other / np.maximum(n + n_other, 1.0)
        gap = other.units[MEAN] - self.units[MEAN]
        variance = self.units[VARIANCE] + part * (other.units[VARIANCE] - self.units[VARIANCE])
        mean = self.units[MEAN] + part * gap
        self.units = np.stack((n + n_other, mean, variance + part * (1.0 - part) * gap * gap))
        self.moments.merge(other.moments)
        self.age, self.next_solution = self.age + other.age, 0

    def check_state(self) -> None:
        p = self.n_features
        if (self.units[[N_KNOWN, VARIANCE]] < 0.0).any() or self.moments.mean.shape[1] != p:
            raise damage("units or moments are not those of the features")


@accelerated
def standardize(x: FloatArray, units: FloatArray) -> FloatArray:
    """Return (x - mean) / deviation, outliers drawn in; 0 where x is unknown or does not vary."""
    variance = units[VARIANCE]
    varies = variance > 0.0
    z = (x[: len(variance)] - units[MEAN]) / np.sqrt(np.where(varies, variance, 1.0))
    z /= np.hypot(1.0, z / LARGEST_STANDARDIZED)
    return np.where(varies & ~np.isnan(z), z, 0.0)


@accelerated
def linear_scores(
    x: FloatArray, units: FloatArray, weights: FloatArray, biases: FloatArray
) -> tuple[FloatArray, list[float]]:
    """Return a standardised example, and the scores that rows of weights give it."""
    z = in_numpy["standardize"](x, units)
    return z, (weights @ z + biases).tolist()


@accelerated
def track(weights: FloatArray, biases: FloatArray, z: FloatArray, change: float) -> None:
    """Change the last of some scores of an example by its part in 1 + |z|²."""
    step = change / (1.0 + float(z @ z))
    weights[-1, : len(z)] += step * z
    biases[-1] += step


@accelerated
def update_units(x: FloatArray, units: FloatArray, n_seen: int) -> None:
    """Let the units follow an example, the `n_seen`-th one."""
    n, mean, variance = units
    known = ~np.isnan(x)
    n += known
    rate = known / np.clip(n, 1.0, max(UNITS_MEMORY, UNITS_SHARE * n_seen))
    deviation = np.where(known, x - mean, 0.0)
    scale = np.sqrt(np.where(variance > 0.0, variance, math.inf))
    deviation /= np.maximum(np.abs(deviation) / scale / OUTLIER, 1.0)
    step = rate * deviation
    mean += step
    variance[:] = (1.0 - rate) * (variance + step * deviation)


@accelerated
def add_vector(
    n: FloatArray,
    mean: FloatArray,
    waiting: FloatArray,
    n_waiting: IntArray,
    x: FloatArray,
    positive: bool,
    weight: float,
) -> None:
    """Add a vector to weight and mean of its class, and a term to those that wait."""
    own, row = int(positive), int(n_waiting[int(positive)])
    before = float(n[own])
    total, size = before + weight, len(x)
    deviation = x - mean[own, :size]
    mean[own, :size] += weight / total * deviation
    waiting[own, row, :size] = math.sqrt(weight * before / total) * deviation
    n[own], n_waiting[own] = total, row + 1
