"""From a dict of features to a position in a fixed array."""

from __future__ import annotations

import functools
import math
import numbers
import operator
import struct
import sys
import typing
from collections.abc import Iterable, Sequence
from struct import pack_into

import numpy as np
from numpy import empty
from river import base
from scipy.linalg.blas import ddot

from river_oauc.inputs.arrays import FloatArray

__all__ = ["MAX_NORM", "MAX_SQUARED_NORM", "Vectorizer"]

Features = dict[base.typing.FeatureName, typing.Any]

# The learners form products of up to two features and two weights. With every norm below 1e50 no
# such product leaves the range of a double, so a vector that passes can never make an infinity.
MAX_NORM = 1e50
MAX_SQUARED_NORM = MAX_NORM**2

# Whatever float() or struct can say of a value that is not a real number a double can hold.
_CONVERSION_ERRORS = (struct.error, TypeError, ValueError, OverflowError)
_UNUSUAL = (KeyError, *_CONVERSION_ERRORS)


class Vectorizer:
    """Maps feature dicts to arrays of one fixed length.

    Names are learned in the order in which they turn up, and keep their position for ever; they
    may be any hashable and are never sorted. An absent feature is 0. The arrays are a little longer
    than the number of names once names have begun to come late: a new name then takes a free slot
    that has held zeros until now, and arrays are only made longer, by an eighth, when no slot is
    left.

    Encoding costs two passes in C over a dict with all the known names, which is the usual case,
    and a look-up a key in Python otherwise.

    Attributes
    ----------
    names
        The known names, by position.
    size
        Length of the arrays.
    spare
        An array of that length for whatever a learner needs no longer than for one example.

    Examples
    --------
    >>> from river_oauc.inputs.vectorizer import Vectorizer

    >>> vectorizer = Vectorizer()
    >>> vectorizer.extend({"a": 1.0, "b": 2.0})
    >>> vectorizer.encode({"b": 5, "a": True})
    array([1., 5.])

    A dict with an unknown name has no array until the name is learned.

    >>> vectorizer.encode({"a": 1.0, "c": 3.0}) is None
    True
    >>> vectorizer.encode({"a": 1.0, "c": 3.0}, lenient=True)
    array([1., 0.])
    >>> vectorizer.extend({"a": 1.0, "c": 3.0})
    >>> vectorizer.encode({"a": 1.0, "c": 3.0})
    array([1., 0., 3.])

    """

    def __init__(self) -> None:
        # At least one slot, so that an example without features still is a vector.
        self._set_names([], 1)

    def _set_names(self, names: list[base.typing.FeatureName], size: int) -> None:
        # All that needs memory comes first: if there is none, nothing has changed.
        index = {name: position for position, name in enumerate(names)}
        # struct writes zeros where the format says `x`: the slots that no name has taken yet.
        pack_into = struct.Struct(f"{len(names)}d{8 * (size - len(names))}x").pack_into
        # A new array costs as much as filling it: one is kept for the example to be learned.
        buffer = bytearray(8 * size)
        fill_row = functools.partial(pack_into, buffer, 0)
        row, spare = np.frombuffer(buffer), np.zeros(size)
        # The fast way needs two names or more: of one name, itemgetter makes no tuple.
        values_of = operator.itemgetter(*names) if len(names) > 1 else None

        self.names = names
        self.size = size
        self.spare: FloatArray = spare
        self._index = index
        self._pack_into = pack_into
        self._fill_row = fill_row
        self._row: FloatArray = row
        self._n_expected = len(names) if len(names) > 1 else -1
        self._values_of = values_of

    def __getstate__(self) -> tuple[list[base.typing.FeatureName], int]:
        return self.names, self.size

    def __setstate__(self, state: tuple[list[base.typing.FeatureName], int]) -> None:
        self._set_names(*state)

    @typing.overload
    def encode(self, x: Features) -> FloatArray | None: ...

    @typing.overload
    def encode(self, x: Features, lenient: typing.Literal[True]) -> FloatArray: ...

    def encode(self, x: Features, lenient: bool = False) -> FloatArray | None:
        """The array of `x`, or None if `x` has a name that is not known yet.

        Raises a ValueError if a value, under a known name or not, is not a finite number. The array
        may be changed, but not kept: the next example is written into it.

        The lenient way, for predictions, leaves unknown names and NaN out, as absent features. It
        makes a new array.
        """
        # Not for subclasses: a Counter has a value for every name, and a defaultdict makes one.
        if len(x) == self._n_expected and type(x) is dict:
            values_of = self._values_of
            try:
                # struct takes nothing but numbers, where numpy would parse strings.
                if lenient:
                    # Threads may predict side by side: they share no array.
                    array = empty(self.size)
                    self._pack_into(array, 0, *values_of(x))  # type: ignore
                else:
                    array = self._row
                    self._fill_row(*values_of(x))  # type: ignore[misc]
            except _UNUSUAL:
                pass
            else:
                # One comparison finds NaN, infinities and what is too large to be squared.
                if ddot(array, array) <= MAX_SQUARED_NORM:
                    return array
        return self._encode_by_name(x, lenient)

    def _encode_by_name(self, x: Features, lenient: bool) -> FloatArray | None:
        """The same for keys in any order, and for values of which some are to be left out."""
        values = np.zeros(len(x) + 1)
        try:
            pack_into(f"{len(x)}d", values, 0, *x.values())  # type: ignore[arg-type]
        except _CONVERSION_ERRORS:
            raise _refusal(x) from None
        if lenient:
            values[np.isnan(values)] = 0.0
        if not ddot(values, values) <= MAX_SQUARED_NORM:
            raise _refusal(x, nan_is_absent=lenient)
        if not lenient and not x.keys() <= self._index.keys():
            return None
        array = np.zeros(self.size)
        for name, value in zip(x, values.tolist(), strict=False):
            position = self._index.get(name)
            if position is not None:
                array[position] = value
        return array

    def unknown(self, names: Iterable[base.typing.FeatureName]) -> list[base.typing.FeatureName]:
        """Those of the names that are not known yet."""
        return [name for name in names if name not in self._index]

    def extend(self, names: Iterable[base.typing.FeatureName], max_size: int = sys.maxsize) -> None:
        """Learn the names that are not known yet. No slot beyond `max_size` is made in advance."""
        new = self.unknown(names)
        if not new:
            return
        known = self.names + new
        size = self.size
        if len(known) > size:
            size = max(len(known), min(size + size // 8, max_size))
        self._set_names(known, size)

    def truncate(self, n_names: int, size: int) -> None:
        """Forget all names but the first `n_names`: undoes `extend`."""
        self._set_names(self.names[:n_names], size)

    @staticmethod
    def check_matrix(matrix: FloatArray, columns: Sequence[base.typing.FeatureName]) -> None:
        """Raise a ValueError if a row is not a vector of finite numbers."""
        acceptable = np.einsum("ij,ij->i", matrix, matrix) <= MAX_SQUARED_NORM
        if not acceptable.all():
            row = int(np.argmin(acceptable))
            refusal = _refusal(dict(zip(columns, matrix[row].tolist(), strict=True)))
            raise ValueError(f"{refusal} (row {row} of the data frame)")

    def encode_columns(
        self, matrix: FloatArray, columns: Sequence[base.typing.FeatureName]
    ) -> FloatArray:
        """The rows of `matrix` as rows of arrays; columns of unknown names are left out."""
        known = [j for j, name in enumerate(columns) if name in self._index]
        array = np.zeros((len(matrix), self.size))
        array[:, [self._index[columns[j]] for j in known]] = matrix[:, known]
        return array

    def decode(self, array: FloatArray) -> dict[base.typing.FeatureName, float]:
        """The entries of an array by the names of their features."""
        return dict(zip(self.names, array.tolist(), strict=False))


def _refusal(x: Features, nan_is_absent: bool = False) -> ValueError:
    """Find the feature because of which `x` is refused, and say what to do about it."""
    for name, value in x.items():
        complaint = complaint_about(value, nan_is_absent)
        if complaint:
            return ValueError(f"feature {name!r} {complaint}")
    return ValueError(
        f"the features have a norm above {MAX_NORM:g}, and their squares would overflow: "
        "scale them, for instance with preprocessing.StandardScaler"
    )


def complaint_about(value: typing.Any, nan_is_absent: bool = False) -> str | None:
    """What is wrong with the value of a feature, and what to do about it; None if nothing is."""
    if isinstance(value, str):
        return (
            f"is the string {value!r}: encode it as a number first, "
            "for instance with preprocessing.OneHotEncoder"
        )
    if value is None:
        return "is None: leave it out, or fill it with preprocessing.StatImputer"
    try:
        (number,) = struct.unpack("d", struct.pack("d", value))
    except _CONVERSION_ERRORS:
        if isinstance(value, numbers.Real):
            return "is too large for a float: scale it first"
        return f"is {value!r}, a {type(value).__name__}: features must be real numbers"
    if math.isnan(number):
        if nan_is_absent:
            return None
        return "is NaN: leave it out, or fill it with preprocessing.StatImputer"
    if not abs(number) <= MAX_NORM:
        return (
            f"is {number:g}: features must be within ±{MAX_NORM:g}; "
            "scale or clip it before it gets here"
        )
    return None
