"""Labels, importance weights and data frames, checked and made plain."""

from __future__ import annotations

import numbers
import typing

import narwhals.stable.v2 as nw
import numpy as np
from river.utils import dataframe

from river_oauc.inputs.arrays import FloatArray
from river_oauc.inputs.vectorizer import MAX_NORM, complaint_about

if typing.TYPE_CHECKING:
    from narwhals.stable.v2.typing import IntoSeries

__all__ = ["parse_label", "parse_weight", "read_features", "read_labels", "read_weights"]


def parse_label(y: typing.Any) -> bool:
    """Whether a label is the positive one.

    Examples
    --------
    >>> from river_oauc.inputs.frames import parse_label
    >>> [parse_label(y) for y in (True, 1, 0, -1)]
    [True, True, False, False]
    >>> parse_label("fraud")
    Traceback (most recent call last):
    ValueError: the label is 'fraud': labels must be booleans, 0 and 1, or -1 and 1; say which class
    is to rank high by writing, for instance, y == 'fraud'

    """
    if isinstance(y, bool | np.bool_):
        return bool(y)
    if isinstance(y, numbers.Real) and y in (-1, 0, 1):
        return bool(y == 1)
    example = repr(y) if isinstance(y, str) else "'fraud'"
    raise ValueError(
        f"the label is {y!r}: labels must be booleans, 0 and 1, or -1 and 1; "
        f"say which class is to rank high by writing, for instance, y == {example}"
    )


def parse_weight(w: typing.Any) -> float:
    """An importance weight as a float."""
    if isinstance(w, numbers.Real):
        try:
            weight = float(w)
        except OverflowError:
            weight = np.inf
        if weight == 0.0 or 1.0 / MAX_NORM <= weight <= MAX_NORM:
            return weight
    raise ValueError(
        f"the weight is {w!r}: it must be 0, or a number from {1 / MAX_NORM:g} to {MAX_NORM:g}"
    )


def read_features(frame: nw.DataFrame[typing.Any]) -> FloatArray:
    """The values of a data frame; NaN where it has none."""
    if not frame.columns:
        return np.zeros((len(frame), 0))
    if all(dtype.is_numeric() or dtype == nw.Boolean for dtype in frame.schema.values()):
        matrix: FloatArray = dataframe.to_numpy(frame)
        return matrix
    columns = [_read_column(name, frame.get_column(name)) for name in frame.columns]
    return np.column_stack(columns)


def _read_column(name: str, column: nw.Series[typing.Any]) -> FloatArray:
    """The numbers of a column of any type; a string would be one that numpy silently parses."""
    values = np.full(len(column), np.nan)
    is_null = column.is_null().to_list()
    for row, value in enumerate(column.to_list()):
        if not is_null[row]:
            complaint = complaint_about(value, nan_is_absent=True)
            if complaint:
                raise ValueError(f"feature {name!r} {complaint} (row {row} of the data frame)")
            values[row] = value
    return values


def read_labels(y: IntoSeries, n_rows: int) -> tuple[list[bool], str | None]:
    """The labels of a series, and its name."""
    series = dataframe.into_series(y)
    _check_length("y", series, n_rows)
    return [parse_label(label) for label in series.to_list()], series.name


def read_weights(w: float | IntoSeries, n_rows: int) -> list[float]:
    """A weight a row, from a series or from one number."""
    if isinstance(w, numbers.Real):
        return [parse_weight(w)] * n_rows
    series = dataframe.into_series(typing.cast("IntoSeries", w))
    _check_length("w", series, n_rows)
    return [parse_weight(weight) for weight in series.to_list()]


def _check_length(name: str, series: nw.Series[typing.Any], n_rows: int) -> None:
    if len(series) != n_rows:
        raise ValueError(f"{name} has {len(series)} values for the {n_rows} rows of X")
