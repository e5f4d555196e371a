"""Units and landmarks for AutoOAUC, from a first pass over all partitions."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from river import base
from river.utils import dataframe

from river_oauc.acceleration import accelerate
from river_oauc.auto import AutoOAUC
from river_oauc.encoding.frames import read_labels, read_weights
from river_oauc.encoding.records import RecordVectorizer
from river_oauc.rankers.auto import AutoRanker
from river_oauc.rankers.base import FloatArray, IntArray, reindexed
from river_oauc.rankers.mixture.constants import N_CANDIDATES, UNITS_MEMORY
from river_oauc.rankers.mixture.units import Units

if typing.TYPE_CHECKING:
    from narwhals.stable.v2.typing import IntoDataFrame, IntoSeries


Hashes = NDArray[np.uint64]


def prepare(model: AutoOAUC, survey: Survey) -> None:
    """Fix units and landmarks of a new model, so that models of the partitions agree on them.

    Models that were prepared alike learn a partition each, and are merged. Their ridge experts then
    do not depend on how the rows were cut into partitions. `release` makes the result an ordinary
    model.
    """
    encoder, ranker = model._new_encoder(), model._numpy_ranker()
    if ranker.mixture is not None:
        names = survey.names[: 2 * model.max_features]
        positions, size = encoder.add_columns(names), encoder.size[0]
        negative, positive = (reindexed(rows, positions, size) for rows in survey.class_samples())
        ranker.mixture.prepare(survey.units().reindexed(positions, size), negative, positive)
        model._encoder, model._ranker = encoder, typing.cast(AutoRanker, accelerate(ranker))


def release(model: AutoOAUC) -> None:
    """Let a model follow a stream again, after `prepare`."""
    ranker = model._numpy_ranker()
    if ranker.mixture is not None:
        ranker.mixture.release()
        model._ranker = typing.cast(AutoRanker, accelerate(ranker))


class Survey:
    """What is known of all partitions before the first row is learned.

    It has the count, mean and variance of each feature, and a sample of each class and of all rows:
    the rows with the smallest hashes. So it does not depend on the order of the rows or on how they
    were cut into partitions, but for rounding. Of equal rows the samples have one.

    It costs O(p) time per row of p features, and memory is 2,000 p doubles.

    Examples
    --------
    >>> import pandas as pd
    >>> from river_oauc.distributed.survey import Survey

    >>> survey = Survey()
    >>> survey.add_frame(pd.DataFrame({"a": [1.0, 2.0], "b": [0.0, 1.0]}), pd.Series([0, 1]))
    >>> other = Survey()
    >>> other.add_frame(pd.DataFrame({"b": [5.0], "a": [6.0]}), pd.Series([1]))
    >>> survey += other
    >>> survey.n, survey.names
    (3, ['a', 'b'])
    >>> survey.units().mean
    array([3., 2.])

    """

    def __init__(self) -> None:
        self._vectorizer = RecordVectorizer()
        size = self._vectorizer.size
        self.n = 0
        # Of each feature: the number of known values, their mean and variance times the number.
        self._n_known: FloatArray = np.zeros(size)
        self._mean: FloatArray = np.zeros(size)
        self._scatter: FloatArray = np.zeros(size)
        # Of the negatives, of the positives and of all rows.
        self._samples = [
            _HashSample(N_CANDIDATES, size),
            _HashSample(N_CANDIDATES, size),
            _HashSample(UNITS_MEMORY, size),
        ]

    @property
    def names(self) -> list[base.typing.FeatureName]:
        """The names of the features."""
        return self._vectorizer.names

    def class_samples(self) -> tuple[FloatArray, FloatArray]:
        """Return the samples of the negatives and of the positives, a row each."""
        negative, positive, _ = self._samples
        return negative.rows, positive.rows

    def units(self) -> Units:
        """Return fixed units for all rows.

        They come from the sample of all rows, so outliers count little. A feature that does not
        vary there, because it is rare, gets its mean and variance over all rows.
        """
        units = Units(len(self._mean))
        for row in self._samples[-1].rows:
            units.update(row)
        variance = self._scatter / np.maximum(self._n_known, 1.0)
        units.fix(self.n, self._n_known, self._mean, variance)
        return units

    def add_frame(self, X: IntoDataFrame, y: IntoSeries, w: float | IntoSeries = 1.0) -> None:
        """Add the rows of a data frame, unless their weight is 0.

        Parameters
        ----------
        X
            A data frame of features.
        y
            A series of labels.
        w
            Importance of the examples: a series, or one number for all of them.

        """
        frame = dataframe.into_frame(X)
        labels, _ = read_labels(y, len(frame))
        weights = read_weights(w, len(frame))
        rows = self._vectorizer.read_frame(frame, learning=True)
        used = weights > 0.0
        if not used.any():
            return
        arrays = []
        for row in np.flatnonzero(used).tolist():
            self._extend(rows.names_in(self._vectorizer, row))
            arrays.append(rows.encode(self._vectorizer, row))
            rows.learn(self._vectorizer, row, bool(labels[row]), float(weights[row]))
        self._extend([])
        matrix = np.zeros((len(arrays), self._vectorizer.size))
        for array, padded in zip(arrays, matrix, strict=True):
            padded[: len(array)] = array
        hashes = _hash_rows(matrix[:, : len(self.names)], self.names)
        labels = labels[used]
        for sample, chosen in zip(
            self._samples, (~labels, labels, np.ones_like(labels)), strict=True
        ):
            sample.add(hashes[chosen], matrix[chosen])
        known = ~np.isnan(matrix)
        n_known = known.sum(axis=0).astype(float)
        values = np.where(known, matrix, 0.0)
        # About a value of its own, so that a large offset costs no digits.
        offset = values[0]
        mean = offset + np.where(known, values - offset, 0.0).sum(axis=0) / np.maximum(n_known, 1.0)
        scatter = (np.where(known, values - mean, 0.0) ** 2).sum(axis=0)
        self._add_moments(len(matrix), n_known, mean, scatter)

    def __iadd__(self, other: typing.Self) -> typing.Self:
        """Add the rows of another survey, which stays as it is."""
        if other.n:
            self._extend(other.names)
            positions, size = self._vectorizer.positions(other.names), self._vectorizer.size
            self._add_moments(
                other.n,
                # Features that are missing in the other survey were 0 there.
                reindexed(other._n_known, positions, size, float(other.n)),
                reindexed(other._mean, positions, size),
                reindexed(other._scatter, positions, size),
            )
            for mine, theirs in zip(self._samples, other._samples, strict=True):
                mine.add(theirs.hashes, reindexed(theirs.rows, positions, size))
        return self

    def _extend(self, names: Iterable[base.typing.FeatureName]) -> None:
        self._vectorizer.extend(names)
        size = self._vectorizer.size
        if size == len(self._mean):
            return
        positions = np.arange(len(self._mean))
        self._n_known = reindexed(self._n_known, positions, size, float(self.n))
        self._mean = reindexed(self._mean, positions, size)
        self._scatter = reindexed(self._scatter, positions, size)
        for sample in self._samples:
            sample.reindex(positions, size)

    def _add_moments(
        self, n: int, n_known: FloatArray, mean: FloatArray, scatter: FloatArray
    ) -> None:
        self.n += n
        total = np.maximum(self._n_known + n_known, 1.0)
        gap = mean - self._mean
        self._mean += n_known / total * gap
        self._scatter += scatter + self._n_known * n_known / total * gap * gap
        self._n_known += n_known


class _HashSample:
    """The different rows with the smallest hashes, in the order of the hashes."""

    def __init__(self, capacity: int, size: int) -> None:
        self._capacity = capacity
        self.hashes: Hashes = np.zeros(0, dtype=np.uint64)
        self.rows: FloatArray = np.zeros((0, size))

    def add(self, hashes: Hashes, rows: FloatArray) -> None:
        if len(self.hashes) == self._capacity:
            small = hashes < self.hashes[-1]
            hashes, rows = hashes[small], rows[small]
        hashes, first = np.unique(np.append(self.hashes, hashes), return_index=True)
        self.hashes = hashes[: self._capacity]
        self.rows = np.vstack([self.rows, rows])[first[: self._capacity]]

    def reindex(self, positions: IntArray, size: int) -> None:
        self.rows = reindexed(self.rows, positions, size)


def _hash_rows(matrix: FloatArray, columns: Sequence[base.typing.FeatureName]) -> Hashes:
    """Return a pseudo-random number per row that depends on its values by name."""
    hashes = np.zeros(len(matrix), dtype=np.uint64)
    for j in sorted(range(len(columns)), key=lambda j: repr(columns[j])):
        # -0 equals 0, and all NaN are alike.
        column = np.where(np.isnan(matrix[:, j]), np.nan, matrix[:, j] + 0.0)
        hashes = _mix(hashes ^ _mix(np.ascontiguousarray(column).view(np.uint64)))
    return hashes


def _mix(bits: Hashes) -> Hashes:
    """Return bits that each depend on all given ones, by the last step of SplitMix64."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
