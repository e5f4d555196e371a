"""Data frames as records, and series of labels and importance weights as arrays."""

from __future__ import annotations

import numbers
import typing
from collections.abc import Callable

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from river import base
from river.utils import dataframe

from river_oauc.limits import MAX_NORM
from river_oauc.records.labels import parse_label, parse_weight
from river_oauc.state import FloatArray

if typing.TYPE_CHECKING:
    from narwhals.stable.v2.typing import IntoSeries

Frame = nw.DataFrame[typing.Any]

# numpy's letters for booleans, integers with and without a sign, and floats.
NUMERIC_KINDS = "biuf"

_Parsed = typing.TypeVar("_Parsed")


def to_records(frame: Frame) -> list[dict[base.typing.FeatureName, typing.Any]]:
    """Return the rows of a data frame as records; a null is None, NaN or NA."""
    columns = [frame.get_column(name).to_list() for name in frame.columns]
    rows = zip(*columns, strict=True) if columns else [()] * len(frame)
    return [dict(zip(frame.columns, row, strict=True)) for row in rows]


def to_matrix(frame: Frame) -> FloatArray | None:
    """Return the numbers of a data frame, NaN where one is missing; None if not all are numbers."""
    if frame.implementation.is_pandas():
        # A third of the time that the schema takes.
        if any(dtype.kind not in NUMERIC_KINDS for dtype in set(frame.to_native().dtypes)):
            return None
    elif not all(dtype.is_numeric() or dtype == nw.Boolean for dtype in frame.schema.values()):
        return None
    if not frame.columns:
        return np.zeros((len(frame), 0))
    matrix: FloatArray = np.ascontiguousarray(dataframe.to_numpy(frame), dtype=float)
    return matrix


def read_labels(y: IntoSeries, n_rows: int) -> tuple[NDArray[np.bool_], str | None]:
    """Return the labels of a series, and its name."""
    series = dataframe.into_series(y)
    _check_length("y", series, n_rows)
    values = series.to_numpy()
    if values.dtype.kind != "b":
        if values.dtype.kind in NUMERIC_KINDS and np.isin(values, (-1, 0, 1)).all():
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
    if values.dtype.kind in NUMERIC_KINDS and values.dtype.kind != "b":
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
