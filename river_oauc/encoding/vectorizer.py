"""From a dict of numbers to an array with a fixed position for each feature."""

from __future__ import annotations

import math
import operator
import struct
import sys
import typing
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from river import base

from river_oauc import acceleration
from river_oauc.encoding.frames import Frame, read_features
from river_oauc.encoding.values import (
    CONVERSION_ERRORS,
    PLAIN_TYPES,
    Record,
    is_not_real,
    record_error,
)
from river_oauc.limits import MAX_SQUARED_NORM
from river_oauc.rankers.base import FloatArray, IntArray
from river_oauc.state import State, StateReader

Name = base.typing.FeatureName


class Vectorizer:
    """Map feature dicts to arrays in which every feature has a fixed position.

    A feature gets the next free position when it is first learned, and keeps it for ever. Names may
    be any hashable. An absent feature is 0. Once features have begun to arrive
    late, arrays are a little longer than the number of names: a new name takes a free position,
    which has held zeros, and arrays are made longer, by an eighth, when none is left. So a new name
    costs O(1) on average.

    Parameters
    ----------
    takes_missing
        Whether None and NaN mean that a value is unknown, and become NaN in the arrays. Otherwise
        both are refused in learning, and NaN counts as absent in prediction.
    max_features
        The largest number of names; None is no limit.
    sorts_names
        Whether names that arrive together get their positions in order, as far as they are strings
        or integers. Then the order of the keys of a record has no influence on a ranker that draws
        features at random, or breaks ties between them.

    Attributes
    ----------
    size
        Length of the arrays.

    Examples
    --------
    >>> from river_oauc.encoding.vectorizer import Vectorizer

    >>> vectorizer = Vectorizer()
    >>> vectorizer.extend(["a", "b"])
    >>> vectorizer.encode({"b": 5, "a": True})
    array([1., 5.])

    A dict with an unknown name has no array until the name is learned. In prediction the name is
    left out.

    >>> vectorizer.encode({"a": 1.0, "c": 3.0}) is None
    True
    >>> vectorizer.encode_known({"a": 1.0, "c": 3.0})
    array([1., 0.])
    >>> vectorizer.extend(["a", "c"])
    >>> vectorizer.encode({"a": 1.0, "c": 3.0})
    array([1., 0., 3.])

    """

    def __init__(
        self,
        takes_missing: bool = False,
        max_features: int | None = None,
        sorts_names: bool = False,
    ) -> None:
        self.takes_missing, self.max_features = takes_missing, max_features
        self.sorts_names = sorts_names
        # At least one position, so that an example without features is a vector, too.
        self.size = 1
        self._index: dict[Name, int] = {}
        self._forget_layout()

    def __len__(self) -> int:
        return len(self._index)

    @property
    def names(self) -> list[Name]:
        """The known names, by position."""
        return list(self._index)

    def encode(self, x: Record) -> FloatArray | None:
        """Return the array of `x`, or None if it has a name that is not known yet.

        A ValueError is raised if a value, under a known name or not, is not a finite number.
        """
        array = self._encode_usual(x)
        return self._encode_any(x, learning=True) if array is None else array

    def encode_known(self, x: Record) -> FloatArray:
        """Return the array of `x` for a prediction, in which unknown names count as absent."""
        array = self._encode_usual(x)
        if array is None:
            array = self._encode_any(x, learning=False)
        return typing.cast(FloatArray, array)

    def _encode_usual(self, x: Record) -> FloatArray | None:
        """Return the array of a dict of plain finite numbers; None if the slow path is needed."""
        if acceleration.encode_dict is not None:
            compiled: FloatArray | None = acceleration.encode_dict(x, self._index, self.size)
            return compiled
        # Not for subclasses: a defaultdict makes a value for every name, and a Counter has one.
        if type(x) is not dict or len(x) != self._n_layout:
            return None
        if not PLAIN_TYPES.issuperset(map(type, x.values())):
            return None
        array = np.zeros(self.size)
        try:
            # struct takes nothing but numbers, where numpy would parse strings.
            self._layout.pack_into(array.data, 0, *self._values(x))
        except (KeyError, *CONVERSION_ERRORS):
            return None
        # One comparison finds NaN, infinities and numbers too large to be squared. Unlike `dot`,
        # `vdot` does not warn of an overflow.
        return array if np.vdot(array, array) <= MAX_SQUARED_NORM else None

    def _encode_any(self, x: Record, learning: bool) -> FloatArray | None:
        """Return the array of any mapping, or None if it is to be learned and has a new name."""
        if not isinstance(x, Mapping):
            raise record_error(x)
        # A copy: another thread may change the record meanwhile.
        x = dict(x)
        nan_allowed = self.takes_missing or not learning
        given: Iterable[typing.Any] = x.values()
        if not PLAIN_TYPES.issuperset(map(type, given)) and any(map(is_not_real, given)):
            raise self._error(x, nan_allowed=True)
        if self.takes_missing:
            given = [math.nan if value is None else value for value in given]
        try:
            packed = struct.pack(f"{len(x)}d", *given)
        except CONVERSION_ERRORS:
            raise self._error(x, nan_allowed) from None
        values = np.frombuffer(packed)
        known = np.where(np.isnan(values), 0.0, values) if nan_allowed else values
        if not np.vdot(known, known) <= MAX_SQUARED_NORM:
            raise self._error(x, nan_allowed)
        if not self.takes_missing:
            values = known
        index = self._index
        if learning and not x.keys() <= index.keys():
            return None
        if len(x) == len(index) > 1 and acceleration.encode_dict is None:
            # From the next time on; of one name, itemgetter makes no tuple.
            self._set_layout()
        array = np.zeros(self.size)
        for name, value in zip(x, values.tolist(), strict=True):
            position = index.get(name)
            if position is not None:
                array[position] = value
        return array

    def _error(self, x: Record, nan_allowed: bool) -> ValueError:
        return record_error(x, nan_allowed, none_allowed=self.takes_missing)

    def _forget_layout(self) -> None:
        self._n_layout = -1

    def _set_layout(self) -> None:
        """Prepare the fast path in Python: for dicts with all the names that are known by now."""
        self._layout = struct.Struct(f"{len(self._index)}d")
        self._values = operator.itemgetter(*self._index)
        self._n_layout = len(self._index)

    def names_in(self, x: Record) -> Iterable[Name]:
        """Return the names of the features of a record."""
        return x

    def extend(self, names: Iterable[Name]) -> None:
        """Learn the names that are not known yet, or raise a ValueError if they are too many."""
        new = [name for name in names if name not in self._index]
        if self.sorts_names:
            new.sort(key=_sort_key)
        n_before = len(self._index)
        n_names = self.check_room(n_before + len(new))
        positions = dict(zip(new, range(n_before, n_names), strict=True))
        # First the room and then the names: an interrupt in between does no harm.
        if n_names > self.size:
            limit = sys.maxsize if self.max_features is None else self.max_features
            self.size = max(n_names, min(self.size + self.size // 8, limit))
        self._forget_layout()
        self._index.update(positions)

    def check_room(self, n_names: int) -> int:
        """Return the number of names, or raise a ValueError if it is above `max_features`."""
        if self.max_features is not None and n_names > self.max_features:
            raise ValueError(
                f"there would be {n_names:,} features, and max_features is {self.max_features:,}: "
                "hash the features with preprocessing.FeatureHasher, pick some with "
                "compose.Select, take OAM or SparseOAUCM, whose memory grows in proportion to "
                "their number, or raise max_features"
            )
        return n_names

    def truncate(self, n_names: int, size: int) -> None:
        """Forget all names but the first ones: undoes `extend`."""
        for name in self.names[n_names:]:
            del self._index[name]
        self._forget_layout()
        self.size = size

    def positions(self, names: Iterable[Name]) -> IntArray:
        """Return the positions of known names."""
        return np.array([self._index[name] for name in names], dtype=np.int64)

    def copy(self) -> Vectorizer:
        """Return a copy, to be changed on its own."""
        twin = Vectorizer(self.takes_missing, self.max_features, self.sorts_names)
        twin.size, twin._index = self.size, dict(self._index)
        return twin

    def read_frame(self, frame: Frame, learning: bool) -> _Rows:
        """Return the rows of a data frame, all of them checked."""
        if learning:
            self.check_room(len(self._index.keys() | set(frame.columns)))
        matrix = read_features(frame)
        if not learning and not self.takes_missing:
            matrix = np.where(np.isnan(matrix), 0.0, matrix)
        self._check_rows(matrix, frame.columns)
        return _Rows(matrix, frame.columns)

    def _check_rows(self, matrix: FloatArray, columns: Sequence[Name]) -> None:
        """Raise a ValueError if a row is not a vector of finite numbers."""
        known = np.where(np.isnan(matrix), 0.0, matrix) if self.takes_missing else matrix
        valid = np.einsum("ij,ij->i", known, known) <= MAX_SQUARED_NORM
        if not valid.all():
            row = int(np.argmin(valid))
            x = dict(zip(columns, matrix[row].tolist(), strict=True))
            raise ValueError(f"{self._error(x, self.takes_missing)} (row {row} of the data frame)")

    def decode(self, array: FloatArray) -> dict[Name, float]:
        """Return the entries of an array by the names of their features."""
        return dict(zip(self._index, array.tolist(), strict=False))

    def get_state(self) -> State:
        """Return a copy of the state."""
        return {"names": self.names, "size": self.size}

    def set_state(self, reader: StateReader) -> None:
        """Take over a state, or raise a ValueError if it is damaged."""
        names = reader.names("names")
        self._index = {name: position for position, name in enumerate(names)}
        self.size = reader.count("size", minimum=max(1, len(names)))
        reader.finish()


def _sort_key(name: Name) -> str:
    # Not for other types: a subclass has code of its own.
    return repr(name) if type(name) in (str, int) else ""


class _Rows:
    """The rows of a data frame as arrays."""

    def __init__(self, matrix: FloatArray, columns: list[str]) -> None:
        self._matrix, self._columns = matrix, columns
        self._encoded: FloatArray = np.zeros((len(matrix), 0))

    def encode(self, vectorizer: Vectorizer, row: int) -> FloatArray | None:
        """Return the array of a row, or None if a column is not known yet."""
        if self._encoded.shape[1] != vectorizer.size:
            if any(name not in vectorizer._index for name in self._columns):
                return None
            self._encoded = self.encode_known(vectorizer)
        array: FloatArray = self._encoded[row]
        return array

    def encode_known(self, vectorizer: Vectorizer) -> FloatArray:
        """Return the arrays of all rows for predictions."""
        index = vectorizer._index
        known = [j for j, name in enumerate(self._columns) if name in index]
        encoded = np.zeros((len(self._matrix), vectorizer.size))
        encoded[:, [index[self._columns[j]] for j in known]] = self._matrix[:, known]
        return encoded

    def names_in(self, row: int) -> list[str]:
        """Return the names of the features of a row."""
        return self._columns
