"""river's scalers, learned from partitions and applied to whole matrices."""

from __future__ import annotations

import copy
import dataclasses
import typing
from collections.abc import Sequence

import numpy as np
from river import base, preprocessing

from river_oauc.rankers.base import FloatArray

Scaler = preprocessing.StandardScaler | preprocessing.MinMaxScaler | preprocessing.MaxAbsScaler


@dataclasses.dataclass(frozen=True)
class ColumnStatistics:
    """The statistics of the columns of a matrix that scalers need. Those of two matrices add up.

    Parameters
    ----------
    n
        Number of rows.
    mean
        Means of the columns.
    scatter
        Sums of the squared deviations from the means.
    low
        The smallest values.
    high
        The largest values.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.distributed.scaling import ColumnStatistics

    >>> ColumnStatistics.of(np.array([[1.0], [3.0]])) + ColumnStatistics.of(np.array([[5.0]]))
    ColumnStatistics(n=3, mean=array([3.]), scatter=array([8.]), low=array([1.]), high=array([5.]))

    """

    n: int
    mean: FloatArray
    scatter: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, matrix: FloatArray) -> ColumnStatistics:
        """Return the statistics of the columns of a matrix."""
        # In one memory layout, because the order in which numpy adds depends on it, and a matrix
        # from another process may have another one.
        matrix = np.ascontiguousarray(matrix)
        n, size = matrix.shape
        mean = matrix.mean(axis=0) if n else np.zeros(size)
        deviations = matrix - mean
        return cls(
            n,
            mean,
            np.einsum("ij,ij->j", deviations, deviations),
            matrix.min(axis=0, initial=np.inf),
            matrix.max(axis=0, initial=-np.inf),
        )

    def __add__(self, other: ColumnStatistics) -> ColumnStatistics:
        n = self.n + other.n
        if not n:
            return self
        gap = other.mean - self.mean
        return ColumnStatistics(
            n,
            self.mean + gap * (other.n / n),
            self.scatter + other.scatter + gap * gap * (self.n * (other.n / n)),
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )


def check_scaler(step: typing.Any) -> Scaler:
    """Return a scaler that can be learned from partitions, or raise a ValueError."""
    if not isinstance(step, Scaler):
        raise ValueError(
            f"{type(step).__name__} cannot be learned from partitions: in front of the classifier "
            "there may be StandardScaler, MinMaxScaler and MaxAbsScaler; do everything else "
            "on the Dask DataFrame"
        )
    if step.window_size is not None:
        raise ValueError(
            f"a {type(step).__name__} with a window_size follows the order of a stream, and "
            "partitions have none: leave window_size out"
        )
    return step


def add_statistics(
    scaler: Scaler, columns: Sequence[base.typing.FeatureName], statistics: ColumnStatistics
) -> Scaler:
    """Return a copy of a scaler that has also learned the rows behind these statistics."""
    learned = copy.deepcopy(scaler)
    if not statistics.n:
        return learned
    if not isinstance(learned, preprocessing.StandardScaler):
        # It needs the extremes only.
        for values in (statistics.low, statistics.high):
            x = dict(zip(columns, values.tolist(), strict=True))
            learned.learn_one(x)  # type: ignore[no-untyped-call]
        return learned
    for name, mean, scatter in zip(
        columns, statistics.mean.tolist(), statistics.scatter.tolist(), strict=True
    ):
        n_before = learned.counts[name]
        learned.counts[name] = n = n_before + statistics.n
        gap = mean - learned.means[name]
        learned.means[name] += gap * (statistics.n / n)
        if learned.with_std:
            scatter += n_before * (learned.vars[name] + gap * gap * (statistics.n / n))
            learned.vars[name] = scatter / n
    return learned


class Scaling:
    """The transformation of a scaler, for whole matrices.

    The rows come out exactly as from `transform_one`.

    Parameters
    ----------
    scaler
        The scaler. It is not changed.
    columns
        The names of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from river import preprocessing
    >>> from river_oauc.distributed.scaling import Scaling

    >>> scaler = preprocessing.MinMaxScaler()
    >>> for x in (2.0, 6.0):
    ...     scaler.learn_one({"x": x})
    >>> Scaling(scaler, ["x"]).apply(np.array([[3.0], [7.0]]))
    array([[0.25],
           [1.25]])

    """

    def __init__(self, scaler: Scaler, columns: Sequence[base.typing.FeatureName]) -> None:
        # A copy, because a lookup adds a name to a scaler.
        scaler = copy.deepcopy(scaler)
        pairs = [_centre_and_unit(scaler, name) for name in columns]
        self.centres, self.units = np.array(pairs, dtype=float).reshape(-1, 2).T

    def apply(self, matrix: FloatArray) -> FloatArray:
        """Return the scaled matrix, in which a column that never varied is 0."""
        # The extremes of a feature that a scaler has never seen are infinite; it becomes NaN, as in
        # `transform_one`.
        with np.errstate(invalid="ignore"):
            centred = matrix - self.centres
            scaled: FloatArray = np.zeros_like(centred)
            np.divide(centred, self.units, out=scaled, where=self.units != 0.0)
        return scaled


def _centre_and_unit(scaler: Scaler, name: base.typing.FeatureName) -> tuple[float, float]:
    """Return the number to subtract from a feature, and the number to divide by."""
    if isinstance(scaler, preprocessing.StandardScaler):
        return scaler.means[name], scaler.vars[name] ** 0.5 if scaler.with_std else 1.0
    if isinstance(scaler, preprocessing.MinMaxScaler):
        low = scaler.min[name].get()
        return low, scaler.max[name].get() - low
    return 0.0, scaler.abs_max[name].get()
