"""The backend of arrays: dicts and data frames become vectors of one fixed length."""

from __future__ import annotations

import abc
import contextlib
import copy
import sys
import typing
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from river import base

from river_oauc.base import OnlineAUCClassifier
from river_oauc.inputs.arrays import BoolArray, FloatArray, Size
from river_oauc.inputs.frames import RowCount, read_features
from river_oauc.inputs.limits import Features
from river_oauc.inputs.vectorizer import Vectorizer
from river_oauc.learner import DenseLearner

if typing.TYPE_CHECKING:
    import narwhals.stable.v2 as nw

__all__ = ["DenseClassifier"]


class DenseClassifier(DenseLearner, OnlineAUCClassifier):
    """Base of the classifiers that see an example as an array with a slot per known feature.

    A learner says how it scores one array (`_score`) and many (`_score_many`), how it learns from
    one (`_learn`), how it makes room for more features (`_resize`), and how it takes over what
    another one has learned (`_pool`). It may have a faster way to learn from many (`_learn_many`).

    A refused example leaves the model as it was: `_learn` refuses before it changes anything.

    Parameters
    ----------
    prior
        `"balanced"` or `"empirical"`; see `calibration.Calibration`.

    """

    # Whether a learner takes NaN for a value that is not known. Otherwise a NaN is refused in
    # learning, and an absent feature in predicting.
    _TAKES_MISSING = False

    def __init__(self, prior: str) -> None:
        super().__init__(prior)
        self._vectorizer = Vectorizer(self._TAKES_MISSING)

    @abc.abstractmethod
    def _score(self, x: FloatArray) -> float:
        """The score of one example. The array may not be kept."""

    @abc.abstractmethod
    def _score_many(self, matrix: FloatArray) -> FloatArray:
        """The scores of the rows of a matrix."""

    @abc.abstractmethod
    def _learn(self, x: FloatArray, positive: bool, w: float) -> None:
        """Learn from one example with a weight above 0, or raise a ValueError and change nothing.

        The array may be changed, but not kept: the next example is written into it.
        """

    @abc.abstractmethod
    def _resize(self, size: Size) -> None:
        """Make all state fit arrays of this length: pad with zeros, or cut zeros off.

        What stands for a feature may have to go to another place: `arrays.resized` sees to it.
        """

    @abc.abstractmethod
    def _pool(self, other: typing.Self) -> None:
        """Add what another model has learned, whose features stand at the same places.

        The other model may be used up.
        """

    def _learn_many(
        self, matrix: FloatArray, labels: BoolArray, weights: FloatArray
    ) -> Iterator[int]:
        """Learn from each row of a matrix in turn, unless its weight is 0.

        Whenever the state is whole, now and then, it yields how many rows it is through with: then
        others may predict. If a row is refused, it yields once more before it raises.
        """
        for row, (x, positive, w) in enumerate(
            zip(matrix, labels.tolist(), weights.tolist(), strict=True)
        ):
            if w:
                self._learn(x, positive, w)
            yield row + 1

    def _largest_size(self, n_features: int) -> int:
        """The length that arrays may have at most, or a ValueError if these are too many features.

        For learners that need more memory than in proportion to the features.
        """
        return sys.maxsize

    def _learn_with_new_names(self, x: Features, positive: bool, w: float) -> None:
        with self._room_for(x):
            # All its names are known by now.
            array = typing.cast(FloatArray, self._vectorizer.encode(x))
            self._learn(array, positive, w)

    def _learn_frame(
        self, frame: nw.DataFrame[typing.Any], labels: BoolArray, weights: FloatArray
    ) -> None:
        columns = frame.columns
        if weights.any():
            # A frame that is too wide is refused before it is copied.
            self._largest_size_with(columns)
        matrix = read_features(frame)
        self._vectorizer.check_matrix(matrix, columns)
        if not weights.any():
            return
        with RowCount(len(matrix)) as rows:
            # The new names stay if an example has been learned with them.
            first = int(np.argmax(weights > 0.0))
            with self._lock, self._room_for(columns, lambda: rows.n_done > first):
                matrix = self._vectorizer.encode_columns(matrix, columns)
                learned = self._learn_many(matrix, labels, weights)
                # By `for`, and not by `next`, after which an interrupt could come before the count.
                for rows.n_done in learned:
                    if rows.n_done > first:
                        break
            while rows.n_done < rows.n_rows:
                with self._lock:
                    for rows.n_done in learned:
                        break

    def _score_frame(self, frame: nw.DataFrame[typing.Any]) -> FloatArray:
        matrix = read_features(frame)
        if not self._TAKES_MISSING:
            matrix = np.where(np.isnan(matrix), 0.0, matrix)
        self._vectorizer.check_matrix(matrix, frame.columns)
        return self._score_many(self._vectorizer.encode_columns(matrix, frame.columns))

    def _absorb(self, other: typing.Self) -> None:
        names = other._vectorizer.names
        with self._room_for(names):
            other = copy.deepcopy(other)
            other._resize(self._vectorizer.places(names))
            self._pool(other)

    def _largest_size_with(self, names: Iterable[base.typing.FeatureName]) -> int:
        """`_largest_size` for the names that are known together with these."""
        vectorizer = self._vectorizer
        return self._largest_size(len(vectorizer.names) + len(vectorizer.unknown(names)))

    @contextlib.contextmanager
    def _room_for(
        self, names: Iterable[base.typing.FeatureName], is_taken: Callable[[], bool] = lambda: False
    ) -> Iterator[None]:
        """Learn new names for an example, and forget them again if it is refused.

        `is_taken` says whether one has been learned with them, before something else went wrong.
        """
        vectorizer = self._vectorizer
        n_names, size = len(vectorizer.names), vectorizer.size
        largest_size = self._largest_size_with(names)
        try:
            vectorizer.extend(names, largest_size)
            if vectorizer.size != size:
                self._resize(vectorizer.size)
            yield
        except BaseException:
            if is_taken():
                raise
            is_resized = vectorizer.size != size
            vectorizer.truncate(n_names, size)
            if is_resized:
                self._resize(size)
            raise
