"""From a dict of features to a position in a fixed array."""

from __future__ import annotations

import functools
import math
import operator
import struct
import sys
import typing
from collections.abc import Iterable, Mapping, Sequence
from struct import pack_into

import numpy as np
from river import base

from river_oauc import blas
from river_oauc.inputs import dicts
from river_oauc.inputs.arrays import FloatArray, Places
from river_oauc.inputs.limits import (
    CONVERSION_ERRORS,
    MAX_SQUARED_NORM,
    NOT_REAL,
    PLAIN_TYPES,
    Features,
    refusal_of,
)

__all__ = ["Vectorizer"]

_UNUSUAL = (KeyError, *CONVERSION_ERRORS)


class Vectorizer:
    """Maps feature dicts to arrays of one fixed length.

    Names are learned in the order in which they turn up, and keep their position for ever; they
    may be any hashable and are never sorted. An absent feature is 0. The arrays are a little longer
    than the number of names once names have begun to come late: a new name then takes a free slot
    that has held zeros until now, and arrays are only made longer, by an eighth, when no slot is
    left. So a new name costs O(1) on average.

    Encoding costs two passes in C over a dict with all the known names, which is the usual case,
    and a look-up per key in Python otherwise. Where the package is compiled, one pass does.

    Parameters
    ----------
    takes_missing
        Whether None and NaN stand for values that are not known, and are NaN in the arrays.

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

    def __init__(self, takes_missing: bool = False) -> None:
        # At least one slot, so that an example without features still is a vector.
        self.__setstate__(([], 1, takes_missing))

    def __getstate__(self) -> tuple[list[base.typing.FeatureName], int, bool]:
        return self.names, self.size, self._takes_missing

    def __setstate__(self, state: tuple[list[base.typing.FeatureName], int, bool]) -> None:
        self.names, size, self._takes_missing = state
        self._index = {name: position for position, name in enumerate(self.names)}
        self._set_size(size)

    def _set_size(self, size: int) -> None:
        # All that needs memory comes first: if there is none, nothing has changed. A new array
        # would cost as much as filling it: one is kept for the example that is learned, and one for
        # the example that is scored, which may happen in the midst of learning another.
        buffers, spare = (bytearray(8 * size), bytearray(8 * size)), np.zeros(size)
        self.size = size
        self.spare: FloatArray = spare
        self._buffers = buffers
        self._rows: tuple[FloatArray, ...] = tuple(map(np.frombuffer, buffers))
        self._forget_the_usual_names()

    def _forget_the_usual_names(self) -> None:
        self._n_usual = -1
        self._usual_values: typing.Any = None
        self._fill_row: typing.Any = None

    def _remember_the_usual_names(self) -> None:
        """Prepare the fast way for dicts with all the names that are known by now.

        That costs as much as there are names, and so does a dict that has them all.
        """
        names = self.names
        # struct writes zeros where the format says `x`: the slots that no name has taken yet.
        layout = struct.Struct(f"{len(names)}d{8 * (self.size - len(names))}x")
        self._fill_row = tuple(
            functools.partial(layout.pack_into, buffer, 0) for buffer in self._buffers
        )
        self._usual_values = operator.itemgetter(*names)
        self._n_usual = len(names)

    def encode(self, x: Features, lenient: bool = False) -> FloatArray | None:
        """The array of `x`, or None if `x` has a name that is not known yet.

        Raises a ValueError if a value, under a known name or not, is not a finite number. The array
        may be changed, but not kept: the next example is written into it.

        The lenient way, for predictions, leaves unknown names and NaN out, as absent features. It
        has an array of its own, and always one.
        """
        if dicts.COMPILED:
            row = self._rows[lenient]
            if dicts.fill(row, x, self.names, self._index):
                if blas.ddot(row, row) <= MAX_SQUARED_NORM:
                    return row
        # Not for subclasses: a Counter has a value for every name, and a defaultdict makes one.
        elif type(x) is dict and len(x) == self._n_usual:
            row = self._rows[lenient]
            try:
                # struct takes nothing but numbers, where numpy would parse strings.
                self._fill_row[lenient](*self._usual_values(x))
            except _UNUSUAL:
                pass
            else:
                # One comparison finds NaN, infinities and what is too large to be squared.
                if blas.ddot(row, row) <= MAX_SQUARED_NORM:
                    return row
        return self._encode_by_name(x, lenient)

    def _encode_by_name(self, x: Features, lenient: bool) -> FloatArray | None:
        """The same for keys in any order, and for values of which some are to be left out."""
        if not isinstance(x, Mapping):
            raise refusal_of(x)
        if not PLAIN_TYPES.issuperset(map(type, x.values())) and any(
            isinstance(value, NOT_REAL) for value in x.values()
        ):
            # struct would take a complex number for a real one.
            raise self._refusal_of(x, lenient=True)
        numbers: Iterable[typing.Any] = x.values()
        if self._takes_missing:
            numbers = [math.nan if value is None else value for value in numbers]
        values = np.zeros(len(x) + 1)
        try:
            pack_into(f"{len(x)}d", values, 0, *numbers)  # type: ignore[arg-type]
        except CONVERSION_ERRORS:
            raise self._refusal_of(x, lenient) from None
        known = values
        if lenient or self._takes_missing:
            known = np.where(np.isnan(values), 0.0, values)
            if not self._takes_missing:
                values = known
        if not blas.ddot(known, known) <= MAX_SQUARED_NORM:
            raise self._refusal_of(x, lenient)
        index = self._index
        if not lenient and not x.keys() <= index.keys():
            return None
        if len(x) == len(self.names) != self._n_usual and len(x) > 1:
            # From the next time on; of one name, itemgetter makes no tuple.
            self._remember_the_usual_names()
        row = self._rows[lenient]
        row.fill(0.0)
        for name, value in zip(x, values.tolist(), strict=False):
            position = index.get(name)
            if position is not None:
                row[position] = value
        return row

    def _refusal_of(self, x: Features, lenient: bool) -> ValueError:
        """The error that names the feature because of which `x` is refused."""
        if self._takes_missing:
            x = {name: value for name, value in x.items() if value is not None}
        return refusal_of(x, nan_is_absent=lenient or self._takes_missing)

    def unknown(self, names: Iterable[base.typing.FeatureName]) -> list[base.typing.FeatureName]:
        """Those of the names that are not known yet."""
        return [name for name in names if name not in self._index]

    def extend(self, names: Iterable[base.typing.FeatureName], max_size: int = sys.maxsize) -> None:
        """Learn the names that are not known yet. No slot beyond `max_size` is made in advance."""
        new = self.unknown(names)
        n_names = len(self.names) + len(new)
        if n_names > self.size:
            self._set_size(max(n_names, min(self.size + self.size // 8, max_size)))
        self._index.update(zip(new, range(len(self.names), n_names), strict=True))
        self.names.extend(new)

    def truncate(self, n_names: int, size: int) -> None:
        """Forget all names but the first `n_names`: undoes `extend`."""
        for name in self.names[n_names:]:
            del self._index[name]
        del self.names[n_names:]
        if size != self.size:
            self._set_size(size)
        elif self._n_usual > n_names:
            self._forget_the_usual_names()

    def places(self, names: Iterable[base.typing.FeatureName]) -> Places:
        """Where what an array has for these names, in this order, is to stand in an array here."""
        return Places(np.array([self._index[name] for name in names], dtype=np.intp), self.size)

    def check_matrix(self, matrix: FloatArray, columns: Sequence[base.typing.FeatureName]) -> None:
        """Raise a ValueError if a row is not a vector of finite numbers."""
        known = np.where(np.isnan(matrix), 0.0, matrix) if self._takes_missing else matrix
        acceptable = np.einsum("ij,ij->i", known, known) <= MAX_SQUARED_NORM
        if not acceptable.all():
            row = int(np.argmin(acceptable))
            x: Features = dict(zip(columns, matrix[row].tolist(), strict=True))
            refusal = refusal_of(x, nan_is_absent=self._takes_missing)
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
