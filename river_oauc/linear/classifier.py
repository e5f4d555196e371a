"""What linear scores have in common, and how probabilities are read off class moments."""

from __future__ import annotations

import typing

import numpy as np
from river import base

from river_oauc import blas
from river_oauc.inputs.arrays import FloatArray, Size, resized
from river_oauc.inputs.dense import DenseClassifier
from river_oauc.inputs.parameters import check_count, check_n_features
from river_oauc.linear.step import GradientStep
from river_oauc.stats.moments import ClassMean, ClassMoments, Moments
from river_oauc.stats.pooling import share_of_other

__all__ = ["LinearClassifier", "MomentClassifier"]


class LinearClassifier(DenseClassifier):
    """Base of the classifiers whose score is a weighted sum of the features.

    They have a count and a mean of each class, and whatever else they know of it.
    """

    _positive: ClassMean
    _negative: ClassMean

    def __init__(self, prior: str) -> None:
        super().__init__(prior)
        self._weights: FloatArray = np.zeros(self._vectorizer.size)

    @property
    def weights(self) -> dict[base.typing.FeatureName, float]:
        """The weights of the score, by the names of the features."""
        return self._vectorizer.decode(self._weights)

    def _score(self, x: FloatArray) -> float:
        return blas.ddot(self._weights, x)  # type: ignore[no-any-return]

    def _score_many(self, matrix: FloatArray) -> FloatArray:
        return matrix @ self._weights

    def _resize(self, size: Size) -> None:
        self._weights = resized(self._weights, size)
        self._positive.resize(size)
        self._negative.resize(size)

    def _share_of(self, other: typing.Self) -> float:
        """The share of another model in the average of the two."""
        return share_of_other(
            (self._negative.n, self._positive.n), (other._negative.n, other._positive.n)
        )

    def _pool(self, other: typing.Self) -> None:
        share = self._share_of(other)
        self._weights = (1.0 - share) * self._weights + share * other._weights
        self._positive += other._positive
        self._negative += other._negative


class MomentClassifier(GradientStep, LinearClassifier):
    """Base of the linear classifiers that keep the moments of both classes.

    The calibration is read off the moments: the class means of the scores at every step, and their
    variance, which costs two products with a covariance and changes slowly, now and then.
    """

    _positive: ClassMoments
    _negative: ClassMoments

    def __init__(self, prior: str, max_features: int) -> None:
        super().__init__(prior)
        check_count("max_features", max_features)
        self.max_features = max_features
        self._n_seen = 0
        self._positive = self._new_moments(self._vectorizer.size)
        self._negative = self._new_moments(self._vectorizer.size)
        self._half_gap = 0.0
        self._n_fits = 0
        self._next_fit = 0

    @property
    def moments(self) -> dict[bool, ClassMoments]:
        """Count, mean and covariance of the examples of each class."""
        return {False: self._negative, True: self._positive}

    def _new_moments(self, size: int) -> ClassMoments:
        """What is to be known of a class: here another estimate than the full one can stand in."""
        return Moments(size)

    def _largest_size(self, n_features: int) -> int:
        n_doubles = 2 * self._positive.n_doubles(n_features)
        return check_n_features(type(self).__name__, n_features, self.max_features, n_doubles)

    def _pool(self, other: typing.Self) -> None:
        super()._pool(other)
        self._n_seen += other._n_seen
        if self._positive.n and self._negative.n:
            self._fit_calibration(self._n_seen, self._weights)
