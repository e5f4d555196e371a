"""Similarities to landmarks, over which a linear score is nonlinear in the features."""

from __future__ import annotations

import typing

import numpy as np
from scipy.spatial.distance import cdist

from river_oauc.acceleration import accelerated
from river_oauc.rankers.mixture.constants import (
    LAPLACE_EXPONENT,
    N_BINS,
    N_LANDMARKS,
    SMALLEST_SQUARED_RELEVANCE,
)
from river_oauc.state import FloatArray, Stateful, damage

KERNELS = ("Laplace", "Gaussian")


class KernelMaps(Stateful):
    """A Laplace and a Gaussian kernel with the same landmarks.

    The Laplace kernel weights the features by their relevance. It treats features one by one, as
    trees do; the Gaussian kernel treats all of them together.

    Similarities cost O(L p) time for L landmarks of p features, and memory is L p + 2 L² doubles.

    Parameters
    ----------
    landmarks
        The landmarks, a row each, standardised.
    relevance
        The weight of each feature in the Laplace kernel.
    laplace, gaussian
        The rates at which the logarithms of the two kernels fall with the distance: the city-block
        distance in weighted features, and the squared Euclidean distance.

    Attributes
    ----------
    grams
        The similarities of the landmarks to each other, a matrix per kernel.

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "landmarks": (float, "landmarks", "p"), "relevance": (float, "p"), "laplace": float,
        "gaussian": float,
    }  # fmt: skip
    FILL: typing.ClassVar[dict[str, float]] = {"relevance": SMALLEST_SQUARED_RELEVANCE**0.5}

    def __init__(
        self, landmarks: FloatArray, relevance: FloatArray, laplace: float, gaussian: float
    ) -> None:
        self.landmarks, self.relevance = landmarks, relevance
        self.laplace, self.gaussian = laplace, gaussian
        self.grams = self.similarities(landmarks)

    @classmethod
    def with_typical_widths(
        cls, landmarks: FloatArray, relevance: FloatArray, sample: FloatArray
    ) -> typing.Self:
        """Return kernels whose widths are set by the median distances in a sample."""
        laplace = LAPLACE_EXPONENT / _median(cdist(sample, sample, "cityblock", w=relevance))
        gaussian = 1.0 / _median(cdist(sample, sample, "sqeuclidean"))
        return cls(landmarks, relevance, laplace, gaussian)

    def __len__(self) -> int:
        return len(self.landmarks)

    def similarities(self, z: FloatArray) -> FloatArray:
        """Return the similarities of the rows of `z` to the landmarks, a matrix per kernel."""
        return similarities(z, self.landmarks, self.relevance, self.laplace, self.gaussian)

    def same_as(self, other: KernelMaps) -> bool:
        """Return whether both make the same similarities."""
        return (
            (self.laplace, self.gaussian) == (other.laplace, other.gaussian)
            and np.array_equal(self.landmarks, other.landmarks)
            and np.array_equal(self.relevance, other.relevance)
        )

    def transformed(self, scale: FloatArray, shift: FloatArray) -> KernelMaps:
        """Return kernels for units in which a standardised vector is `scale` · z + `shift`."""
        landmarks = scale * self.landmarks + shift
        return KernelMaps(landmarks, self.relevance, self.laplace, self.gaussian)

    def reindex(self, positions: typing.Any, size: typing.Any) -> None:
        super().reindex(positions, size)
        self.grams = self.similarities(self.landmarks)

    def set_state(self, state: typing.Any) -> None:
        super().set_state(state)
        self.grams = self.similarities(self.landmarks)

    def check_state(self) -> None:
        if not 1 <= len(self) <= N_LANDMARKS:
            raise damage(f"it has {len(self)} landmarks, not 1 to {N_LANDMARKS}")


@accelerated
def similarities(
    z: FloatArray, landmarks: FloatArray, relevance: FloatArray, laplace: float, gaussian: float
) -> FloatArray:
    """Return exp(-rate · distance) from the rows of `z` to the landmarks, a matrix per kernel."""
    exponents = np.array(
        [
            laplace * cdist(z, landmarks, "cityblock", w=relevance),
            gaussian * cdist(z, landmarks, "sqeuclidean"),
        ]
    )
    both: FloatArray = np.exp(-exponents)
    return both


def _median(distances: FloatArray) -> float:
    """Return the median distance of different vectors; 1 if all are equal."""
    distances = distances[distances > 0.0]
    return float(np.median(distances)) if len(distances) else 1.0


def relevance(positives: FloatArray, negatives: FloatArray) -> FloatArray:
    """Return how far the classes are apart in each feature alone, from nearly 0 to 1.

    It is the square root of half the chi-squared distance of the class histograms over eight
    quantiles, less its expectation if the classes are alike.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.rankers.mixture.kernels import relevance
    >>> rng = np.random.default_rng(1)
    >>> negatives, positives = rng.normal(size=(200, 2)), rng.normal(size=(200, 2))
    >>> relevance(positives + [2.0, 0.0], negatives)
    array([0.749, 0.189])

    """
    edges = np.quantile(np.vstack([positives, negatives]), np.arange(1, N_BINS) / N_BINS, axis=0)
    p, q = _histograms(positives, edges), _histograms(negatives, edges)
    used = p + q > 0.0
    distance = 0.5 * np.where(used, (p - q) ** 2 / np.where(used, p + q, 1.0), 0.0).sum(axis=0)
    by_chance = 0.25 * (used.sum(axis=0) - 1) * (1.0 / len(positives) + 1.0 / len(negatives))
    relevances: FloatArray = np.sqrt(np.maximum(distance - by_chance, SMALLEST_SQUARED_RELEVANCE))
    return relevances


def _histograms(rows: FloatArray, edges: FloatArray) -> FloatArray:
    """Return the share of the rows in each bin: a row per bin, a column per feature."""
    bins = (rows[:, None, :] > edges).sum(axis=1)
    return np.array([(bins == number).mean(axis=0) for number in range(len(edges) + 1)])
