"""Data frames of features, and series of labels and importance weights, as arrays."""

from __future__ import annotations

import numbers
import types
import typing
from collections.abc import Callable

import narwhals.stable.v2 as nw
import numpy as np
from river.utils import dataframe

from river_oauc.inputs.arrays import BoolArray, FloatArray
from river_oauc.inputs.labels import parse_label, parse_weight
from river_oauc.inputs.limits import MAX_NORM, complaint_about, shown

if typing.TYPE_CHECKING:
    from narwhals.stable.v2.typing import IntoSeries

__all__ = ["RowCount", "is_numeric", "read_column", "read_features", "read_labels", "read_weights"]

# numpy's letters for booleans, integers with and without a sign, and floats.
_NUMERIC_KINDS = "biuf"

_Parsed = typing.TypeVar("_Parsed")


def read_features(frame: nw.DataFrame[typing.Any]) -> FloatArray:
    """The values of a data frame; NaN where it has none."""
    if not frame.columns:
        return np.zeros((len(frame), 0))
    if _all_numeric(frame):
        matrix: FloatArray = dataframe.to_numpy(frame)
        return matrix
    columns = [read_column(name, frame.get_column(name)) for name in frame.columns]
    return np.column_stack(columns)


def is_numeric(dtype: nw.dtypes.DType) -> bool:
    """Whether a column of this type holds numbers or booleans."""
    return dtype.is_numeric() or dtype == nw.Boolean


def _all_numeric(frame: nw.DataFrame[typing.Any]) -> bool:
    """Whether all columns are of numbers or booleans."""
    if frame.implementation.is_pandas():
        # A third of the time that the schema takes.
        return all(dtype.kind in _NUMERIC_KINDS for dtype in set(frame.to_native().dtypes))
    return all(map(is_numeric, frame.schema.values()))


def read_column(name: str, column: nw.Series[typing.Any]) -> FloatArray:
    """The numbers of a column of any type; NaN where it has none."""
    values = column.to_numpy()
    if values.dtype.kind in _NUMERIC_KINDS:
        return values.astype(float)
    # One by one: a string would be one that numpy silently parses.
    values = np.full(len(column), np.nan)
    is_null = column.is_null().to_list()
    for row, value in enumerate(column.to_list()):
        if not is_null[row]:
            complaint = complaint_about(value, nan_is_absent=True)
            if complaint:
                raise ValueError(f"feature {shown(name)} {complaint} (row {row} of the data frame)")
            values[row] = value
    return values


def read_labels(y: IntoSeries, n_rows: int) -> tuple[BoolArray, str | None]:
    """The labels of a series, and its name."""
    series = dataframe.into_series(y)
    _check_length("y", series, n_rows)
    values = series.to_numpy()
    if values.dtype.kind != "b":
        if values.dtype.kind in _NUMERIC_KINDS and np.isin(values, (-1, 0, 1)).all():
            values = values > 0
        else:
            values = np.array(_parsed(parse_label, series), dtype=bool)
    return values, series.name


def read_weights(w: float | IntoSeries, n_rows: int) -> FloatArray:
    """A weight per row, from a series or from one number."""
    if isinstance(w, numbers.Real):
        return np.full(n_rows, parse_weight(w))
    series = dataframe.into_series(typing.cast("IntoSeries", w))
    _check_length("w", series, n_rows)
    values = series.to_numpy()
    if values.dtype.kind in _NUMERIC_KINDS and values.dtype.kind != "b":
        weights = values.astype(float)
        acceptable = (weights >= 1.0 / MAX_NORM) & (weights <= MAX_NORM) | (weights == 0.0)
        if acceptable.all():
            return weights
    return np.array(_parsed(parse_weight, series), dtype=float)


def _parsed(parse: Callable[[typing.Any], _Parsed], series: nw.Series[typing.Any]) -> list[_Parsed]:
    """The values, parsed one by one; an error says in which row."""
    parsed: list[_Parsed] = []
    try:
        for value in series.to_list():
            parsed.append(parse(value))
    except ValueError as error:
        raise ValueError(f"{error} (row {len(parsed)} of the data frame)") from None
    return parsed


def _check_length(name: str, series: nw.Series[typing.Any], n_rows: int) -> None:
    if len(series) != n_rows:
        raise ValueError(f"{name} has {len(series)} values for the {n_rows} rows of X")


class RowCount:
    """How many rows of a data frame have been learned; an exception is told in which row it came.

    Examples
    --------
    >>> from river_oauc.inputs.frames import RowCount
    >>> with RowCount(10) as rows:
    ...     rows.n_done = 3
    ...     raise ValueError("the weights would grow beyond 1e50")
    Traceback (most recent call last):
    ValueError: the weights would grow beyond 1e50 (row 3 of the data frame; the rows before it have
    been learned)

    """

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows
        self.n_done = 0

    def __enter__(self) -> typing.Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: types.TracebackType | None,
    ) -> None:
        if isinstance(error, ValueError):
            learned = "the rows before it have" if self.n_done else "no row has"
            raise ValueError(
                f"{error} (row {self.n_done} of the data frame; {learned} been learned)"
            ) from error
        if error is not None:
            error.add_note(f"learn_many was in row {self.n_done} of {self.n_rows}")
