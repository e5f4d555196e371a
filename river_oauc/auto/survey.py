"""What fixes the units and the landmarks for learners of the parts of a stream."""

from __future__ import annotations

import typing
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from river import base
from river.utils import dataframe

from river_oauc.inputs.arrays import FloatArray, is_new, resized
from river_oauc.inputs.frames import read_features, read_labels, read_weights
from river_oauc.inputs.vectorizer import Vectorizer
from river_oauc.stats.units import Units

if typing.TYPE_CHECKING:
    from narwhals.stable.v2.typing import IntoDataFrame, IntoSeries

__all__ = ["Survey"]

# So many examples of each class are kept to choose landmarks from, and so many of both for units.
_N_OF_CLASS, _N_OF_ALL = 512, 1000

Hashes = NDArray[np.uint64]


class Survey:
    """A first look at a stream in parts, before it is learned.

    Learners of the parts agree on units and landmarks if they have them from one survey. It takes
    each feature's count, mean and variance, and a sample of each class and of all: the examples
    with the smallest hashes. So it does not depend on how the stream was parted, nor on its order,
    but for rounding; of equal examples the samples have one.

    It costs O(p) time per example of p features. Memory is 2,000 p doubles.

    Examples
    --------
    >>> import pandas as pd
    >>> from river_oauc.auto.survey import Survey

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
        self._vectorizer = Vectorizer(takes_missing=True)
        size = self._vectorizer.size
        self.n = 0
        # Of each feature: how many values are known, their mean, and their summed squares about it.
        self._n_known: FloatArray = np.zeros(size)
        self._mean: FloatArray = np.zeros(size)
        self._squares: FloatArray = np.zeros(size)
        self._of_class = _Lowest(_N_OF_CLASS, size), _Lowest(_N_OF_CLASS, size)
        self._of_all = _Lowest(_N_OF_ALL, size)

    @property
    def names(self) -> list[base.typing.FeatureName]:
        """The features."""
        return self._vectorizer.names

    def samples(self) -> tuple[FloatArray, FloatArray]:
        """The negatives and the positives that are kept, a row each."""
        negative, positive = self._of_class
        return negative.rows, positive.rows

    def units(self) -> Units:
        """The units in which all examples are to be measured.

        They are those of the sample of all, for outliers have no say in these; and for what does
        not vary there, such as what is rare, those of the whole stream.
        """
        units = Units(len(self._mean))
        for row in self._of_all.rows:
            units.update(row)
        units.fix(self.n, self._n_known, self._mean, self._squares / np.maximum(self._n_known, 1.0))
        return units

    def add_frame(self, X: IntoDataFrame, y: IntoSeries, w: float | IntoSeries = 1.0) -> None:
        """Look at the rows of a data frame, unless their weight is 0.

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
        columns = frame.columns
        matrix = read_features(frame)
        self._vectorizer.check_matrix(matrix, columns)
        is_seen = weights > 0.0
        if not is_seen.any():
            return
        hashes = _hashes(matrix, columns)[is_seen]
        self._extend(columns)
        rows = self._vectorizer.encode_columns(matrix, columns)[is_seen]
        labels = labels[is_seen]
        for positive in (False, True):
            of_class = labels == positive
            self._of_class[positive].add(hashes[of_class], rows[of_class])
        self._of_all.add(hashes, rows)
        known = ~np.isnan(rows)
        n_known = known.sum(axis=0).astype(float)
        values = np.where(known, rows, 0.0)
        # About a value of its own: a large offset costs no digits.
        offset = values[0]
        mean = offset + np.where(known, values - offset, 0.0).sum(axis=0) / np.maximum(n_known, 1.0)
        squares = (np.where(known, values - mean, 0.0) ** 2).sum(axis=0)
        self._pool(len(rows), n_known, mean, squares)

    def __iadd__(self, other: typing.Self) -> typing.Self:
        """Add what another survey has seen, which stays as it is."""
        if other.n:
            self._extend(other.names)
            places = self._vectorizer.places(other.names)
            n_known = resized(other._n_known, places)
            # What the other does not name has been 0 there.
            n_known[is_new(len(other._n_known), places)] = other.n
            self._pool(
                other.n, n_known, resized(other._mean, places), resized(other._squares, places)
            )
            for own, others in zip(
                (*self._of_class, self._of_all), (*other._of_class, other._of_all), strict=True
            ):
                own.add(others.hashes, resized(others.rows, len(others.rows), places))
        return self

    def _extend(self, names: Sequence[base.typing.FeatureName]) -> None:
        before = len(self.names)
        self._vectorizer.extend(names)
        size = self._vectorizer.size
        self._n_known = resized(self._n_known, size)
        self._n_known[before:] = self.n
        self._mean = resized(self._mean, size)
        self._squares = resized(self._squares, size)
        for sample in (*self._of_class, self._of_all):
            sample.resize(size)

    def _pool(self, n: int, n_known: FloatArray, mean: FloatArray, squares: FloatArray) -> None:
        self.n += n
        total = np.maximum(self._n_known + n_known, 1.0)
        gap = mean - self._mean
        self._mean += n_known / total * gap
        self._squares += squares + self._n_known * n_known / total * gap * gap
        self._n_known += n_known


class _Lowest:
    """The different rows with the smallest hashes, in the order of these."""

    def __init__(self, capacity: int, size: int) -> None:
        self._capacity = capacity
        self.hashes: Hashes = np.zeros(0, dtype=np.uint64)
        self.rows: FloatArray = np.zeros((0, size))

    def add(self, hashes: Hashes, rows: FloatArray) -> None:
        if len(self.hashes) == self._capacity:
            low = hashes < self.hashes[-1]
            hashes, rows = hashes[low], rows[low]
        self.hashes, first = np.unique(np.append(self.hashes, hashes), return_index=True)
        self.hashes, first = self.hashes[: self._capacity], first[: self._capacity]
        self.rows = np.vstack([self.rows, rows])[first]

    def resize(self, size: int) -> None:
        self.rows = resized(self.rows, len(self.rows), size)


def _hashes(matrix: FloatArray, columns: Sequence[base.typing.FeatureName]) -> Hashes:
    """A number per row that depends on its values by name, and looks like one by chance."""
    hashes = np.zeros(len(matrix), dtype=np.uint64)
    for j in sorted(range(len(columns)), key=lambda j: repr(columns[j])):
        # -0 is 0, and one NaN is like any other.
        column = np.where(np.isnan(matrix[:, j]), np.nan, matrix[:, j] + 0.0)
        hashes = _mixed(hashes ^ _mixed(np.ascontiguousarray(column).view(np.uint64)))
    return hashes


def _mixed(bits: Hashes) -> Hashes:
    """Bits of which each depends on all: the last step of the generator SplitMix64."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
