"""From records of numbers and categories to the rows and values of sparse examples."""

from __future__ import annotations

import itertools
import math
import struct
import typing
from collections.abc import Collection, Iterable, Iterator, Mapping

import numpy as np
from river import base

from river_oauc import acceleration
from river_oauc.encoding.frames import Frame, is_numeric, read_column, read_features
from river_oauc.encoding.values import (
    CONVERSION_ERRORS,
    PLAIN_TYPES,
    Record,
    is_not_real,
    record_error,
)
from river_oauc.limits import MAX_SQUARED_NORM, short_repr
from river_oauc.rankers.base import FloatArray, IntArray, SparseExample
from river_oauc.state import State, StateReader

Name = base.typing.FeatureName


class SparseEncoder:
    """Map records to the rows and values of the features that are not 0.

    A feature gets the next free row when it is first learned with a value that is not 0. A string
    is a category: the pair of name and string is a feature with the value 1.

    Attributes
    ----------
    index
        The row of each name, in the order of the rows.

    Examples
    --------
    >>> from river_oauc.encoding.sparse import SparseEncoder

    >>> encoder = SparseEncoder()
    >>> record = {"country": "FR", "amount": 12.5, "new": False}
    >>> encoder.encode(record) is None
    True
    >>> encoder.extend(encoder.read(record).names_in(0))
    >>> encoder.names
    [('country', 'FR'), 'amount']
    >>> encoder.encode(record)
    (array([0, 1]), array([ 1. , 12.5]))

    In prediction names that are unknown are left out.

    >>> encoder.encode_known({"country": "IT", "amount": 3})
    (array([1]), array([3.]))

    """

    def __init__(self) -> None:
        self.index: dict[Name, int] = {}

    def __len__(self) -> int:
        return len(self.index)

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.index)

    @property
    def names(self) -> list[Name]:
        """The known names, by row."""
        return list(self.index)

    def encode(self, record: Record) -> SparseExample | None:
        """Return the example of a record, or None if it has a name that is not known yet.

        A ValueError is raised if a value, under a known name or not, is neither a finite number nor
        a string.
        """
        if acceleration.encode_sparse is not None:
            example: SparseExample | None = acceleration.encode_sparse(record, self.index, False)
            if example is not None:
                return example
        return self._look_up(*_read(record, nan_allowed=False))

    def encode_known(self, record: Record) -> SparseExample:
        """Return the example of a record for a prediction, without the names that are unknown.

        A NaN counts as absent.
        """
        if acceleration.encode_sparse is not None:
            example: SparseExample | None = acceleration.encode_sparse(record, self.index, True)
            if example is not None:
                return example
        return self._look_up_known(*_read(record, nan_allowed=True))

    def _look_up(self, names: Collection[Name], values: FloatArray) -> SparseExample | None:
        try:
            rows = np.fromiter(map(self.index.__getitem__, names), np.int64, len(names))
        except KeyError:
            return None
        return rows, values

    def _look_up_known(self, names: Collection[Name], values: FloatArray) -> SparseExample:
        example = self._look_up(names, values)
        if example is None:
            known = [name in self.index for name in names]
            rows = self.positions(itertools.compress(names, known))
            example = rows, values[known]
        return example

    def read(self, record: Record) -> _Rows:
        """Return a record that is to be learned, as the only row of a data frame."""
        return _Rows([_read(record, nan_allowed=False)])

    def extend(self, names: Iterable[Name]) -> None:
        """Learn the names that are not known yet."""
        new = dict.fromkeys(name for name in names if name not in self.index)
        self.index.update(zip(new, itertools.count(len(self.index)), strict=False))

    def truncate(self, n_names: int, size: int) -> None:
        """Forget all names but the first ones: undoes `extend`."""
        self.index = dict(itertools.islice(self.index.items(), n_names))

    def index_of(self, rows: IntArray) -> dict[Name, int]:
        """Return the index of an encoder that knows the names in these rows only."""
        names = self.names
        return {names[row]: position for position, row in enumerate(rows.tolist())}

    def positions(self, names: Iterable[Name]) -> IntArray:
        """Return the rows of known names."""
        return np.array([self.index[name] for name in names], dtype=np.int64)

    def copy(self) -> SparseEncoder:
        """Return a copy, to be changed on its own."""
        twin = SparseEncoder()
        twin.index = dict(self.index)
        return twin

    def read_frame(self, frame: Frame, learning: bool) -> _Rows:
        """Return the rows of a data frame, all of them checked.

        A null in a column of numbers is a NaN, and in another column None. Both are refused in
        learning and count as absent in prediction.
        """
        rows = []
        for record in _records(frame, learning):
            try:
                rows.append(_read(record, nan_allowed=not learning))
            except ValueError as error:
                raise ValueError(f"{error} (row {len(rows)} of the data frame)") from None
        return _Rows(rows)

    def get_state(self) -> State:
        """Return a copy of the state."""
        return {"names": self.names}

    def set_state(self, reader: StateReader) -> None:
        """Take over a state, or raise a ValueError if it is damaged."""
        names = reader.names("names")
        reader.finish()
        self.index = {name: row for row, name in enumerate(names)}


class _Rows:
    """The rows of a data frame as names and values."""

    def __init__(self, rows: list[tuple[Collection[Name], FloatArray]]) -> None:
        self._rows = rows

    def encode(self, encoder: SparseEncoder, row: int) -> SparseExample | None:
        """Return the example of a row, or None if it has a name that is not known yet."""
        return encoder._look_up(*self._rows[row])

    def encode_known(self, encoder: SparseEncoder) -> Iterator[SparseExample]:
        """Return the examples of all rows for predictions."""
        return itertools.starmap(encoder._look_up_known, self._rows)

    def names_in(self, row: int) -> Collection[Name]:
        """Return the names of the features of a row that are not 0."""
        return self._rows[row][0]


def _read(record: Record, nan_allowed: bool) -> tuple[Collection[Name], FloatArray]:
    """Return names and values of the features that are not 0, or raise a ValueError."""
    if type(record) is not dict and not isinstance(record, Mapping):
        raise record_error(record)
    # A copy: another thread may change the record meanwhile.
    record = dict(record)
    names: Collection[Name] = record
    given: Collection[typing.Any] = record.values()
    if not PLAIN_TYPES.issuperset(map(type, given)):
        names, given = list(names), list(given)
        for i, (name, value) in enumerate(record.items()):
            if isinstance(value, str):
                names[i], given[i] = _category(name, value, record), 1.0
            elif is_not_real(value):
                raise record_error(record, nan_allowed=True, none_allowed=True, str_allowed=True)
    try:
        # struct takes nothing but numbers, where numpy would parse bytes.
        values = np.frombuffer(struct.pack(f"{len(given)}d", *given))
    except CONVERSION_ERRORS:
        raise record_error(record, nan_allowed, str_allowed=True) from None
    # Unlike `dot`, `vdot` does not warn of an overflow.
    squared_norm = float(np.vdot(values, values))
    if nan_allowed and math.isnan(squared_norm):
        values = np.where(np.isnan(values), 0.0, values)
        squared_norm = float(np.vdot(values, values))
    if not squared_norm <= MAX_SQUARED_NORM:
        raise record_error(record, nan_allowed, str_allowed=True)
    if np.count_nonzero(values) < len(values):
        names = list(itertools.compress(names, values.tolist()))
        values = values[values != 0.0]
    return names, values


def _category(name: Name, value: str, record: Record) -> Name:
    """Return the feature that a string stands for."""
    category = (name, value)
    if category in record:
        raise ValueError(
            f"feature {short_repr(name)} is the string {short_repr(value)}, which makes it the "
            f"feature {short_repr(category)}, and that is there as well: rename one of the two"
        )
    return category


def _records(frame: Frame, learning: bool) -> Iterator[dict[Name, typing.Any]]:
    """Yield the rows of a data frame as dicts."""
    columns = frame.columns
    if all(map(is_numeric, frame.schema.values())):
        # Wide frames are mostly zeros, which numpy skips faster.
        for numbers in read_features(frame):
            (present,) = numbers.nonzero()
            yield {columns[j]: numbers[j] for j in present.tolist()}
        return
    cells = []
    for name, dtype in frame.schema.items():
        column = frame.get_column(name)
        if is_numeric(dtype):
            cells.append(read_column(name, column).tolist())
        else:
            absent = None if learning else math.nan
            values = zip(column.to_list(), column.is_null().to_list(), strict=True)
            cells.append([absent if is_null else value for value, is_null in values])
    for row in zip(*cells, strict=True):
        yield dict(zip(columns, row, strict=True))
