"""river's scalers on data frames: learned from parts of a table, merged, and applied.

The statistics of `StandardScaler`, `MinMaxScaler` and `MaxAbsScaler` merge exactly.
"""

from __future__ import annotations

import typing
from collections.abc import Sequence

import numpy as np
from river import preprocessing
from river.utils import dataframe

from river_oauc.limits import MAX_NORM
from river_oauc.records.frames import Frame, to_matrix, to_records
from river_oauc.records.numeric import Name, read_numbers
from river_oauc.state import FloatArray

Scaler = preprocessing.StandardScaler | preprocessing.MinMaxScaler | preprocessing.MaxAbsScaler


def learn_scaler(scaler: typing.Any, X: typing.Any) -> None:
    """Update a scaler with a data frame, in which a null is an absent feature."""
    for name, column in _columns(dataframe.into_frame(X)).items():
        # A copy: the order in which numpy adds depends on the memory layout.
        values = column[~np.isnan(column)]
        if not len(values):
            continue
        if isinstance(scaler, preprocessing.StandardScaler):
            _add_moments(scaler, name, len(values), float(values.mean()), float(values.var()))
        else:
            scaler.learn_one({name: float(values.min())})
            scaler.learn_one({name: float(values.max())})


def merge_scalers(scaler: typing.Any, other: typing.Any) -> None:
    """Add to a scaler what another one of its kind has learned."""
    if isinstance(other, preprocessing.StandardScaler):
        for name, n in other.counts.items():
            _add_moments(scaler, name, n, other.means[name], other.vars[name])
    else:
        for extremes in filter(None, vars(other).values()):
            for name, extreme in extremes.items():
                scaler.learn_one({name: extreme.get()})


def _add_moments(scaler: typing.Any, name: Name, n: int, mean: float, variance: float) -> None:
    scaler.counts[name] += n
    share, gap = n / scaler.counts[name], mean - scaler.means[name]
    scaler.means[name] += share * gap
    scaler.vars[name] += share * (variance - scaler.vars[name] + (1.0 - share) * gap * gap)


def scaled(X: typing.Any, scalers: Sequence[typing.Any]) -> typing.Any:
    """Return a data frame after scalers, with the numbers that `transform_one` gives."""
    if not scalers:
        return X
    frame = dataframe.into_frame(X)
    columns = _columns(frame)
    for scaler in scalers:
        # Its arithmetic does for arrays. A feature that has never varied becomes the number 0, and
        # one that the scaler has never seen NaN.
        with np.errstate(invalid="ignore"):
            moved = scaler.transform_one(columns)
        columns = {name: np.zeros(len(frame)) + values for name, values in moved.items()}
    return dataframe.to_native_frame(columns, like=frame)


def _columns(frame: Frame) -> dict[Name, FloatArray]:
    """Return the columns of a data frame as numbers, or raise a ValueError that names the row."""
    matrix = to_matrix(frame)
    if matrix is None or (np.abs(matrix) > MAX_NORM).any():
        matrix = np.zeros((len(frame), len(frame.columns)))
        for row, x in enumerate(to_records(frame)):
            try:
                matrix[row] = list(read_numbers(x, learning=True).values())
            except ValueError as error:
                raise ValueError(f"{error} (row {row} of the data frame)") from None
    return dict(zip(frame.columns, matrix.T, strict=True))
