"""Data frames of features, and series of labels and importance weights, as arrays."""

from __future__ import annotations

import numbers
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from river.utils import dataframe

from river_oauc.encoding.labels import parse_label, parse_weight
from river_oauc.encoding.values import problem_with
from river_oauc.limits import MAX_NORM, short_repr
from river_oauc.rankers.base import FloatArray

if typing.TYPE_CHECKING:
    from narwhals.stable.v2.typing import IntoSeries


Frame = nw.DataFrame[typing.Any]

# numpy's letters for booleans, integers with and without a sign, and floats.
_NUMERIC_KINDS = "biuf"

_Parsed = typing.TypeVar("_Parsed")


def read_features(frame: Frame) -> FloatArray:
    """Return the values of a data frame of numbers, NaN where a value is missing."""
    if not frame.columns:
        return np.zeros((len(frame), 0))
    if _all_numeric(frame):
        matrix: FloatArray = dataframe.to_numpy(frame)
        return matrix
    return np.column_stack([read_column(name, frame.get_column(name)) for name in frame.columns])


def is_numeric(dtype: nw.dtypes.DType) -> bool:
    """Return whether a column of this type holds numbers or booleans."""
    return dtype.is_numeric() or dtype == nw.Boolean


def _all_numeric(frame: Frame) -> bool:
    if frame.implementation.is_pandas():
        # A third of the time that the schema takes.
        return all(dtype.kind in _NUMERIC_KINDS for dtype in set(frame.to_native().dtypes))
    return all(map(is_numeric, frame.schema.values()))


def read_column(name: str, column: nw.Series[typing.Any]) -> FloatArray:
    """Return the numbers of a column of any type, NaN where a value is missing."""
    values = column.to_numpy()
    if values.dtype.kind in _NUMERIC_KINDS:
        return values.astype(float)
    # One by one, because numpy would parse strings.
    values = np.full(len(column), np.nan)
    is_null = column.is_null().to_list()
    for row, value in enumerate(column.to_list()):
        if not is_null[row]:
            problem = problem_with(value, nan_allowed=True)
            if problem:
                raise ValueError(
                    f"feature {short_repr(name)} {problem} (row {row} of the data frame)"
                )
            values[row] = value
    return values


def read_labels(y: IntoSeries, n_rows: int) -> tuple[NDArray[np.bool_], str | None]:
    """Return the labels of a series, and its name."""
    series = dataframe.into_series(y)
    _check_length("y", series, n_rows)
    values = series.to_numpy()
    if values.dtype.kind != "b":
        if values.dtype.kind in _NUMERIC_KINDS and np.isin(values, (-1, 0, 1)).all():
            values = values > 0
        else:
            values = np.array(_parse_each(parse_label, series), dtype=bool)
    return values, series.name


def read_weights(w: float | IntoSeries, n_rows: int) -> FloatArray:
    """Return a weight per row, from a series or from one number."""
    if isinstance(w, numbers.Real):
        return np.full(n_rows, parse_weight(w))
    series = dataframe.into_series(typing.cast("IntoSeries", w))
    _check_length("w", series, n_rows)
    values = series.to_numpy()
    if values.dtype.kind in _NUMERIC_KINDS and values.dtype.kind != "b":
        weights = values.astype(float)
        valid = (weights >= 1.0 / MAX_NORM) & (weights <= MAX_NORM) | (weights == 0.0)
        if valid.all():
            return weights
    return np.array(_parse_each(parse_weight, series), dtype=float)


def _parse_each(
    parse: Callable[[typing.Any], _Parsed], series: nw.Series[typing.Any]
) -> list[_Parsed]:
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


class RowCounter:
    """The row of a data frame that is being learned."""

    row = 0


@contextmanager
def naming_the_row(n_rows: int) -> Iterator[RowCounter]:
    """Add the current row of a data frame to whatever exception ends the loop over its rows.

    Examples
    --------
    >>> from river_oauc.encoding.frames import naming_the_row
    >>> with naming_the_row(10) as counter:
    ...     counter.row = 3
    ...     raise ValueError("the weights would grow beyond 1e50")
    Traceback (most recent call last):
    ValueError: the weights would grow beyond 1e50 (row 3 of the data frame; the rows before it have
    been learned)

    """
    counter = RowCounter()
    try:
        yield counter
    except ValueError as error:
        learned = "the rows before it have" if counter.row else "no row has"
        raise ValueError(
            f"{error} (row {counter.row} of the data frame; {learned} been learned)"
        ) from error
    except BaseException as error:
        error.add_note(f"learn_many was in row {counter.row} of {n_rows}")
        raise
