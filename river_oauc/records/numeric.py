"""From a dict of numbers to an array with a fixed position for each feature."""

from __future__ import annotations

import math
import numbers
import typing
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from river import base

from river_oauc.acceleration import accelerated
from river_oauc.limits import MAX_NORM, MAX_SQUARED_NORM, short_repr, to_float
from river_oauc.records.frames import Frame, to_matrix, to_records
from river_oauc.records.parse import Record, parse_value, record_type_error
from river_oauc.state import FloatArray, IntArray, Stateful, damage

Name = base.typing.FeatureName

# The number of names and the length of the arrays, before names were added.
Before = tuple[int, int]

# Numbers of these types convert to a double as they are. The compiled code imports this.
PLAIN_TYPES = {float, int, bool, np.float64, np.float32, np.int64, np.bool_}


class Vectorizer(Stateful):
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
    >>> from river_oauc.records.numeric import Vectorizer

    >>> vectorizer = Vectorizer()
    >>> vectorizer.encode({"a": 5, "b": True}, learning=True)[0]
    array([5., 1.])

    In prediction, a name that is unknown is left out.

    >>> vectorizer.encode({"b": 2.0, "c": 3.0})[0]
    array([0., 2.])

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {"names": list, "size": int}

    def __init__(self, max_features: int | None = None) -> None:
        self.max_features = max_features
        self.index: dict[Name, int] = {}
        # At least one position, so that an example without features is a vector, too.
        self.size = 1

    @property
    def names(self) -> list[Name]:
        """The known names, by position."""
        return list(self.index)

    @names.setter
    def names(self, names: list[Name]) -> None:
        self.index = {name: position for position, name in enumerate(names)}

    def encode(self, x: Record, learning: bool = False) -> tuple[typing.Any, Before | None]:
        """Return the example of a record, and what `rollback` needs if it has new names.

        A ValueError is raised if a value, under a known name or not, is not a finite number. In
        learning, new names get a position; in prediction they are left out, and what is unknown
        counts as absent.
        """
        array = encode_numbers(x, self.index, self.size)
        if array is not None:
            return array, None
        read = read_numbers(x, learning)
        before = self._add(read) if learning else None
        return self._array(read), before

    def _array(self, numbers: dict[Name, float]) -> typing.Any:
        array = np.zeros(self.size)
        for name, number in numbers.items():
            position = self.index.get(name)
            if position is not None:
                array[position] = number
        return array

    def _add(self, names: typing.Iterable[Name]) -> Before:
        """Learn the names that are not known yet, or raise a ValueError if they are too many."""
        new = [name for name in names if name not in self.index]
        before = n_before, _ = len(self.index), self.size
        n_names = n_before + len(new)
        if self.max_features is not None and n_names > self.max_features:
            raise ValueError(
                f"there would be {n_names:,} features, and max_features is "
                f"{self.max_features:,}: hash the features with preprocessing.FeatureHasher, pick "
                "some with compose.Select, take OAM or SparseOAUCM, whose memory grows in "
                "proportion to their number, or raise max_features"
            )
        positions = dict(zip(new, range(n_before, n_names), strict=True))
        if n_names > self.size:
            larger = self.size + self.size // 8
            # Right before the names, so that no interrupt comes between.
            self.size = max(n_names, min(larger, self.max_features or larger))
        self.index |= positions
        return before

    def rollback(self, added: Before | None) -> None:
        """Forget the names that the last `encode` has added."""
        if added is not None:
            n_names, self.size = added
            while len(self.index) > n_names:
                self.index.popitem()

    def update(self, added: Before, positive: bool, weight: float) -> bool:
        """Do nothing: what an array is does not depend on labels."""
        return False

    @property
    def is_full(self) -> bool:
        """Whether there are too many features: never, because they are refused."""
        return False

    def rows(self, frame: Frame) -> tuple[Callable[..., typing.Any], Sequence[typing.Any]]:
        """Return a function that encodes the rows of a data frame, and what it takes for each."""
        matrix, columns = to_matrix(frame), list(frame.columns)
        if matrix is None:
            return self.encode, to_records(frame)
        known = np.where(np.isnan(matrix), 0.0, matrix)
        with np.errstate(over="ignore"):
            is_valid = np.einsum("ij,ij->i", known, known) <= MAX_SQUARED_NORM
        is_learnable = (is_valid & ~np.isnan(matrix).any(axis=1)).tolist()
        encoded, layout, n_known = matrix, (-1, -1), -1

        def encode(row: int, learning: bool) -> tuple[FloatArray, Before | None]:
            nonlocal encoded, layout, n_known
            before = None
            if not (is_learnable[row] if learning else is_valid[row]):
                # This raises the error.
                read_numbers(dict(zip(columns, matrix[row].tolist(), strict=True)), learning)
            if learning and len(self.index) != n_known:
                before = self._add(columns)
                n_known = len(self.index)
            if layout != (len(self.index), self.size):
                layout, encoded = (len(self.index), self.size), np.zeros((len(matrix), self.size))
                for name, column in zip(columns, known.T, strict=True):
                    if name in self.index:
                        encoded[:, self.index[name]] = column
            return encoded[row], before

        return encode, range(len(matrix))

    def decode(self, array: FloatArray) -> dict[Name, float]:
        """Return the entries of an array by the names of their features."""
        return dict(zip(self.index, array.tolist(), strict=False))

    def merged(self, other: typing.Self) -> tuple[typing.Self, IntArray, IntArray]:
        """Return a vectorizer that knows the names of both, and where their features stand."""
        both = type(self)(self.max_features)
        both.index, both.size = dict(self.index), self.size
        both._add(other.index)
        positions = [both.index[name] for name in other.index]
        return both, np.arange(len(self.index)), np.array(positions, dtype=np.int64)

    def check_state(self) -> None:
        n = len(self.index)
        if list(self.index.values()) != list(range(n)):
            raise damage("a feature has two positions")
        if not max(1, n) <= self.size <= 2 * max(8, n):
            raise damage(f"{n} features stand in arrays of {self.size}")


class SparseVectorizer(Vectorizer):
    """Map feature dicts to the rows and values of what is not 0.

    A feature gets a row when it is first learned with a value that is not 0. Encoding takes time in
    proportion to the features of a dict, however many are known.

    Examples
    --------
    >>> from river_oauc.records.numeric import SparseVectorizer

    >>> vectorizer = SparseVectorizer()
    >>> vectorizer.encode({"a": 3, "b": 5, "c": 0.0}, learning=True)[0]
    (array([0, 1]), array([3., 5.]))
    >>> vectorizer.encode({"b": 5, "c": 2.0})[0]
    (array([1]), array([5.]))

    """

    def encode(self, x: Record, learning: bool = False) -> tuple[typing.Any, Before | None]:
        numbers = {
            name: number
            for name, number in read_numbers(x, learning).items()
            if number and (learning or name in self.index)
        }
        before = self._add(numbers) if learning else None
        rows = np.array([self.index[name] for name in numbers], np.int64)
        return (rows, np.array(list(numbers.values()))), before

    def rows(self, frame: Frame) -> tuple[Callable[..., typing.Any], Sequence[typing.Any]]:
        matrix, columns = to_matrix(frame), list(frame.columns)
        if matrix is None:
            return super().rows(frame)
        return self.encode, [dict(zip(columns, row, strict=True)) for row in matrix.tolist()]


@accelerated
def encode_numbers(x: Record, index: dict[Name, int], size: int) -> FloatArray | None:
    """Return the array of a dict of plain numbers with known names; None if it is anything else."""
    if type(x) is not dict or not PLAIN_TYPES.issuperset(map(type, x.values())):
        return None
    array = np.zeros(size)
    try:
        array[[index[name] for name in x]] = list(x.values())
    except (KeyError, OverflowError):
        return None
    with np.errstate(over="ignore"):
        # False for NaN, too.
        return array if np.vdot(array, array) <= MAX_SQUARED_NORM else None


def read_numbers(x: Record, learning: bool) -> dict[Name, float]:
    """Return the numbers of a record, or raise a ValueError that says what is no number.

    A string that reads as a number is one; see `parse`. A value that is unknown is refused in
    learning, and 0 in prediction.
    """
    if not isinstance(x, Mapping):
        raise record_type_error(x)
    read = {}
    # A copy: another thread may change the record meanwhile.
    for name, value in dict(x).items():
        if type(value) in PLAIN_TYPES:
            number, category = to_float(value), None
        else:
            number, category = parse_value(name, value)
        if math.isnan(number):
            if learning or category is not None:
                raise _not_a_number_error(name, value, category is None)
            number = 0.0
        elif not abs(number) <= MAX_NORM:
            raise ValueError(
                f"feature {short_repr(name)} is {number:g}: features must be within ±{MAX_NORM:g}; "
                "scale or clip it before it gets here"
            )
        read[name] = number
    if not math.hypot(*read.values()) <= MAX_NORM:
        raise ValueError(
            f"the features have a norm above {MAX_NORM:g}, and their squares would overflow: "
            "scale them, for instance with preprocessing.StandardScaler"
        )
    return read


def _not_a_number_error(name: Name, value: typing.Any, is_unknown: bool) -> ValueError:
    """Return the error for a value that is no number, with what to do about it."""
    if not is_unknown:
        kind = "the string " if isinstance(value, str) else ""
        problem = (
            f"{kind}{short_repr(value)}, a {type(value).__name__}: put "
            "river_oauc.preprocessing.RecordEncoder in front, or take a learner for raw records, "
            "such as SparseOAUCM"
        )
    elif isinstance(value, numbers.Number):
        problem = (
            "NaN: leave it out, or replace it before it gets here; if it comes from a scaler, the "
            "scaler has seen a NaN and must be replaced by a new one"
        )
    else:
        problem = (
            f"{short_repr(value)}: leave it out, fill it with preprocessing.StatImputer, or put "
            "river_oauc.preprocessing.RecordEncoder in front"
        )
    return ValueError(f"feature {short_repr(name)} is {problem}")
