"""Similarities to landmarks: what makes a linear score a nonlinear one."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from river_oauc import blas, vectors
from river_oauc.inputs.arrays import FloatArray, Size, is_new, resized
from river_oauc.inputs.records import Record

__all__ = ["KernelMaps", "relevance"]

# The Laplace kernel falls by this exponent at the median distance, the Gaussian by 1.
_LAPLACE = 0.7

# Class histograms have so many bins, and no feature has a relevance whose square is below this.
_N_BINS, _SMALLEST_RELEVANCE = 8, 0.02


class KernelMaps(Record):
    """A Laplace and a Gaussian kernel at the same landmarks.

    The Laplace kernel weights the features by their relevance; it takes to features one by one, as
    trees do, and the Gaussian to all of them together. Their widths are set by the median distance
    of a sample.

    An example costs O(L p) time for L landmarks of p features, and memory is 2 L p + 2 L² doubles.

    Parameters
    ----------
    landmarks
        The landmarks, a row each, in units of the features.
    sample
        Vectors to measure typical distances with, a row each.
    relevance
        The weight of each feature in the Laplace kernel.

    Attributes
    ----------
    grams
        The similarities of the landmarks to each other, by kernel, column-major.

    """

    __fields__ = (
        "_relevance",
        "_laplace",
        "_gaussian",
        "_landmarks",
        "_weighted",
        "_squared_norms",
        "grams",
    )

    def __init__(self, landmarks: FloatArray, sample: FloatArray, relevance: FloatArray) -> None:
        self._relevance = relevance
        weighted = sample * relevance
        self._laplace = _LAPLACE / _median_distance(weighted, "cityblock")
        self._gaussian = 1.0 / _median_distance(sample, "sqeuclidean")
        self._set_landmarks(landmarks)

    def _set_landmarks(self, landmarks: FloatArray) -> None:
        self._landmarks = landmarks
        self._weighted = landmarks * self._relevance
        self._squared_norms: FloatArray = np.einsum("ij,ij->i", landmarks, landmarks)
        self.grams = [np.asfortranarray(gram) for gram in self.similarities_of_many(landmarks)]

    @property
    def n_landmarks(self) -> int:
        return len(self._landmarks)

    def has_landmarks_of(self, other: KernelMaps) -> bool:
        """Whether the landmarks are those of other maps."""
        return np.array_equal(self._landmarks, other._landmarks)

    def change_units(self, scale: FloatArray, shift: FloatArray) -> None:
        """Bring the landmarks to units in which a vector z is `scale` · z + `shift`."""
        self._set_landmarks(scale * self._landmarks + shift)

    def similarities(self, z: FloatArray) -> FloatArray:
        """The similarities of a vector to the landmarks, kernel after kernel."""
        n_landmarks = len(self._landmarks)
        both = np.empty(2 * n_landmarks)
        laplace = vectors.part(both, 0, n_landmarks)
        gaussian = vectors.part(both, n_landmarks, 2 * n_landmarks)
        vectors.city_distances(vectors.multiply(z, self._relevance), self._weighted, laplace)
        blas.dscal(-self._laplace, laplace)
        # |z - l|² by its terms, which is fast; rounding may leave it a little below 0.
        blas.matvec(self._landmarks, z, gaussian)
        blas.dscal(2.0, gaussian)
        blas.daxpy(self._squared_norms, gaussian, n_landmarks, -1.0)
        vectors.add(gaussian, -blas.ddot(z, z), gaussian)
        vectors.fmin(gaussian, 0.0, gaussian)
        blas.dscal(self._gaussian, gaussian)
        # Not by `vectors`: numpy takes several at once.
        return np.exp(both, both)

    def similarities_of_many(self, matrix: FloatArray) -> list[FloatArray]:
        """The similarities of the rows of a matrix to the landmarks, a matrix per kernel."""
        laplace = cdist(matrix * self._relevance, self._weighted, "cityblock")
        gaussian = cdist(matrix, self._landmarks, "sqeuclidean")
        return [np.exp(-self._laplace * laplace), np.exp(-self._gaussian * gaussian)]

    def resize(self, size: Size) -> None:
        """Make room for more features, 0 in all landmarks, or give up the last ones."""
        self._landmarks = resized(self._landmarks, self.n_landmarks, size)
        self._weighted = resized(self._weighted, self.n_landmarks, size)
        new = is_new(len(self._relevance), size)
        self._relevance = resized(self._relevance, size)
        self._relevance[new] = _SMALLEST_RELEVANCE**0.5


def _median_distance(sample: FloatArray, kind: str) -> float:
    """The median of the distances of different vectors; 1 if all are equal."""
    distances = cdist(sample, sample, kind)
    distances = distances[distances > 0.0]
    return float(np.median(distances)) if len(distances) else 1.0


def relevance(positives: FloatArray, negatives: FloatArray) -> FloatArray:
    """How far the two classes are apart in each feature by itself.

    The square root of half the chi-squared distance of the class histograms over eight quantiles,
    less what chance alone makes of it.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.auto.maps import relevance
    >>> rng = np.random.default_rng(1)
    >>> negatives, positives = rng.normal(size=(200, 2)), rng.normal(size=(200, 2))
    >>> relevance(positives + [2.0, 0.0], negatives)
    array([0.749, 0.189])

    """
    pooled = np.vstack([positives, negatives])
    edges = np.quantile(pooled, np.arange(1, _N_BINS) / _N_BINS, axis=0)
    shares = [_histogram(vectors, edges) for vectors in (positives, negatives)]
    total, gap = shares[0] + shares[1], shares[0] - shares[1]
    used = total > 0.0
    apart = 0.5 * np.where(used, gap**2 / np.where(used, total, 1.0), 0.0).sum(axis=0)
    by_chance = 0.25 * (used.sum(axis=0) - 1) * (1.0 / len(positives) + 1.0 / len(negatives))
    relevances: FloatArray = np.sqrt(np.maximum(apart - by_chance, _SMALLEST_RELEVANCE))
    return relevances


def _histogram(vectors: FloatArray, edges: FloatArray) -> FloatArray:
    """The share of the vectors in each bin, a row per bin, a column per feature."""
    bins = (vectors[:, np.newaxis, :] > edges).sum(axis=1)
    return np.array([(bins == number).mean(axis=0) for number in range(len(edges) + 1)])
