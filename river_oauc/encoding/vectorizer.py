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
    record_type_error,
)
from river_oauc.limits import MAX_NORM, MAX_SQUARED_NORM
from river_oauc.rankers.base import FloatArray, IntArray
from river_oauc.state import State, StateReader

Name = base.typing.FeatureName


class Vectorizer:
    """Map feature dicts to arrays in which every feature has a fixed position.

    A feature gets the next free position when it is first learned, and keeps it for ever. Names may
    be any hashable and are never sorted. An absent feature is 0. Once features have begun to arrive
    late, arrays are a little longer than the number of names: a new name takes a free position,
    which has held zeros, and arrays are made longer, by an eighth, when none is left. So a new name
    costs O(1) on average.

    Parameters
    ----------
    max_features
        The largest number of names; None is no limit.

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

    def __init__(self, max_features: int | None = None) -> None:
        self.max_features = max_features
        # At least one position, so that an example without features is a vector, too.
        self.size = 1
        self.index: dict[Name, int] = {}
        self._forget_layout()

    def __len__(self) -> int:
        return len(self.index)

    @property
    def names(self) -> list[Name]:
        """The known names, by position."""
        return list(self.index)

    def encode(self, x: Record, learning: bool = True) -> FloatArray | None:
        """Return the array of `x`, or None if it has a name that is not known yet.

        A ValueError is raised if a value, under a known name or not, is not a finite number.
        """
        if acceleration.encode_dict is not None:
            array: FloatArray | None = acceleration.encode_dict(x, self.index, self.size)
            if array is not None:
                return array
        # Not for subclasses: a defaultdict makes a value for every name, and a Counter has one.
        elif type(x) is dict and len(x) == self._n_layout:
            try:
                values = self._values(x)
                # One comparison finds NaN, infinities and numbers too large to be squared.
                if PLAIN_TYPES.issuperset(map(type, values)) and math.hypot(*values) <= MAX_NORM:
                    return np.frombuffer(self._layout.pack(*values))
            except (KeyError, OverflowError):
                pass
        return self._encode_any(x, learning)

    def encode_known(self, x: Record) -> FloatArray:
        """Return the array of `x` for a prediction, in which unknown names count as absent."""
        return self.encode(x, learning=False)  # type: ignore[return-value]

    def _encode_any(self, x: Record, learning: bool) -> FloatArray | None:
        """Return the array of any mapping, or None if it is to be learned and has a new name."""
        x, values = self._read(x, learning)
        index = self.index
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

    def _read(self, x: Record, learning: bool) -> tuple[dict[Name, typing.Any], FloatArray]:
        """Return a copy of a record, and its values, or raise a ValueError."""
        if not isinstance(x, Mapping):
            raise record_type_error(x)
        # A copy: another thread may change the record meanwhile.
        x = dict(x)
        given = x.values()
        if not PLAIN_TYPES.issuperset(map(type, given)) and any(map(is_not_real, given)):
            raise record_error(x, nan_allowed=True)
        try:
            packed = struct.pack(f"{len(x)}d", *given)
        except CONVERSION_ERRORS:
            raise record_error(x, nan_allowed=not learning) from None
        values: FloatArray = np.frombuffer(packed)
        if not learning:
            values = np.where(np.isnan(values), 0.0, values)
        if not np.vdot(values, values) <= MAX_SQUARED_NORM:
            raise record_error(x, nan_allowed=not learning)
        return x, values

    def _forget_layout(self) -> None:
        self._n_layout = -1

    def _set_layout(self) -> None:
        """Prepare the fast path in Python: for dicts with all the names that are known by now."""
        n_free = self.size - len(self.index)
        # struct is several times as fast as numpy; it writes zeros where the format says `x`.
        self._layout = struct.Struct(f"{len(self.index)}d{8 * n_free}x")
        self._values = operator.itemgetter(*self.index)
        self._n_layout = len(self.index)

    def read(self, x: Record) -> ArrayRows:
        """Return a record that is to be learned, as the only row of a data frame."""
        x, values = self._read(x, learning=True)
        return self._new_rows(values[np.newaxis], list(x))

    def _new_rows(self, matrix: FloatArray, columns: Sequence[Name]) -> ArrayRows:
        return ArrayRows(matrix, columns)

    def extend(self, names: Iterable[Name]) -> None:
        """Learn the names that are not known yet, or raise a ValueError if they are too many."""
        new = [name for name in names if name not in self.index]
        n_before = len(self.index)
        n_names = n_before + len(new)
        if self.max_features is not None:
            check_room(n_names, self.max_features)
        positions = dict(zip(new, range(n_before, n_names), strict=True))
        # First the room and then the names: an interrupt in between does no harm.
        if n_names > self.size:
            limit = sys.maxsize if self.max_features is None else self.max_features
            self.size = max(n_names, min(self.size + self.size // 8, limit))
        self._forget_layout()
        self.index.update(positions)

    def checkpoint(self) -> tuple[int, int]:
        """Return the number of names and the length of the arrays, for `truncate`."""
        return len(self.index), self.size

    def truncate(self, checkpoint: tuple[int, int], n_features: int) -> None:
        """Forget the names since a checkpoint; arrays stay as long as those of the ranker."""
        n_names, size = checkpoint
        for name in self.names[n_names:]:
            del self.index[name]
        self._forget_layout()
        self.size = max(size, n_features)

    def has_room_for(self, n_features: int) -> bool:
        """Return whether a ranker with this number of features can belong to the vectorizer."""
        # An interrupt may have come after the vectorizer has grown, which is by an eighth or to the
        # number of its names, and before the ranker has. Much more would only waste memory.
        return n_features <= self.size <= 2 * max(8, len(self.index), n_features)

    def positions(self, names: Iterable[Name]) -> IntArray:
        """Return the positions of known names."""
        return np.array([self.index[name] for name in names], dtype=np.int64)

    def learn(self, x: Record, positive: bool, weight: float) -> None:
        """Do nothing: what an array is does not depend on labels."""

    def merged(self, other: typing.Self) -> typing.Self:
        """Return a vectorizer that knows the names of both, those of the other one last."""
        twin = type(self)(self.max_features)
        twin.size, twin.index = self.size, dict(self.index)
        twin.extend(other.index)
        return twin

    def read_frame(self, frame: Frame, learning: bool) -> ArrayRows:
        """Return the rows of a data frame, all of them checked."""
        if learning and self.max_features is not None:
            check_room(len(self.index.keys() | set(frame.columns)), self.max_features)
        matrix = read_features(frame)
        if not learning:
            matrix = np.where(np.isnan(matrix), 0.0, matrix)
        valid = np.einsum("ij,ij->i", matrix, matrix) <= MAX_SQUARED_NORM
        if not valid.all():
            row = int(np.argmin(valid))
            x: Record = dict(zip(frame.columns, matrix[row].tolist(), strict=True))
            raise ValueError(f"{record_error(x)} (row {row} of the data frame)")
        return self._new_rows(matrix, frame.columns)

    def decode(self, array: FloatArray) -> dict[Name, float]:
        """Return the entries of an array by the names of their features."""
        return dict(zip(self.index, array.tolist(), strict=False))

    def get_state(self) -> State:
        """Return a copy of the state."""
        return {"names": self.names, "size": self.size}

    def set_state(self, reader: StateReader) -> None:
        """Take over a state, or raise a ValueError if it is damaged."""
        names = reader.names("names")
        self.index = {name: position for position, name in enumerate(names)}
        self.size = reader.count("size", minimum=max(1, len(names)))
        reader.finish()


def check_room(n_features: int, max_features: int) -> None:
    """Raise a ValueError if there would be too many features."""
    if n_features > max_features:
        raise ValueError(
            f"there would be {n_features:,} features, and max_features is {max_features:,}: "
            "hash the features with preprocessing.FeatureHasher, pick some with compose.Select, "
            "take OAM or SparseOAUCM, whose memory grows in proportion to their number, or raise "
            "max_features"
        )


class ArrayRows:
    """The rows of a data frame as arrays."""

    def __init__(self, matrix: FloatArray, columns: Sequence[Name]) -> None:
        self._matrix, self._columns = matrix, columns
        self._encoded: FloatArray = np.zeros((len(matrix), 0))

    def encode(self, vectorizer: Vectorizer, row: int) -> FloatArray | None:
        """Return the array of a row, or None if a column is not known yet."""
        if self._encoded.shape[1] != vectorizer.size:
            if any(name not in vectorizer.index for name in self._columns):
                return None
            self._encoded = self.encode_known(vectorizer)
        array: FloatArray = self._encoded[row]
        return array

    def encode_known(self, vectorizer: Vectorizer) -> FloatArray:
        """Return the arrays of all rows for predictions."""
        index = vectorizer.index
        known = [j for j, name in enumerate(self._columns) if name in index]
        encoded = np.zeros((len(self._matrix), vectorizer.size))
        encoded[:, [index[self._columns[j]] for j in known]] = self._matrix[:, known]
        return encoded

    def names_in(self, vectorizer: Vectorizer, row: int) -> Sequence[Name]:
        """Return the names of the features of a row."""
        return self._columns

    def learn(self, vectorizer: Vectorizer, row: int, positive: bool, weight: float) -> None:
        """Do nothing, as `Vectorizer.learn`."""
