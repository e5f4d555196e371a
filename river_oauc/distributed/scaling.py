"""river's scalers, learned from many tables at once, and applied to whole tables."""

from __future__ import annotations

import copy
import dataclasses
import typing
from collections.abc import Sequence

import numpy as np
from river import base, preprocessing

from river_oauc.inputs.arrays import FloatArray

__all__ = ["Scaler", "Scaling", "Spread", "check_scaler", "with_spread"]

Scaler = preprocessing.StandardScaler | preprocessing.MinMaxScaler | preprocessing.MaxAbsScaler


@dataclasses.dataclass(frozen=True)
class Spread:
    """What scalers want to know of the columns of a table; two of them pool by `+`.

    Parameters
    ----------
    n
        Number of rows.
    mean
        Means of the columns.
    scatter
        Sums of the squared deviations from them.
    low
        The least values.
    high
        The largest ones.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.distributed.scaling import Spread

    >>> Spread.of(np.array([[1.0], [3.0]])) + Spread.of(np.array([[5.0]]))
    Spread(n=3, mean=array([3.]), scatter=array([8.]), low=array([1.]), high=array([5.]))

    """

    n: int
    mean: FloatArray
    scatter: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, matrix: FloatArray) -> Spread:
        """The spread of the columns of a matrix."""
        # In one layout, because the order in which numpy adds depends on it: a table that came from
        # another process may have another one.
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

    def __add__(self, other: Spread) -> Spread:
        n = self.n + other.n
        if not n:
            return self
        gap = other.mean - self.mean
        return Spread(
            n,
            self.mean + gap * (other.n / n),
            self.scatter + other.scatter + gap * gap * (self.n * (other.n / n)),
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )


def check_scaler(step: typing.Any) -> Scaler:
    """The step of a pipeline, if it is a scaler whose statistics pool; or else a ValueError."""
    if not isinstance(step, Scaler):
        raise ValueError(
            f"{type(step).__name__} cannot be learned from partitions: in front of the classifier "
            "there may be StandardScaler, MinMaxScaler and MaxAbsScaler; do what else is to be "
            "done on the Dask DataFrame"
        )
    if step.window_size is not None:
        raise ValueError(
            f"a {type(step).__name__} with a window_size follows the order of a stream, and "
            "partitions have none: leave window_size out"
        )
    return step


def with_spread(
    scaler: Scaler, columns: Sequence[base.typing.FeatureName], spread: Spread
) -> Scaler:
    """A scaler that has learned the columns of a table, too, as if it had seen row after row."""
    learned = copy.deepcopy(scaler)
    if not spread.n:
        return learned
    if not isinstance(learned, preprocessing.StandardScaler):
        # Of all values it is the extremes that count.
        for values in (spread.low, spread.high):
            x = dict(zip(columns, values.tolist(), strict=True))
            learned.learn_one(x)  # type: ignore[no-untyped-call]
        return learned
    for name, mean, scatter in zip(
        columns, spread.mean.tolist(), spread.scatter.tolist(), strict=True
    ):
        n_before = learned.counts[name]
        learned.counts[name] = n = n_before + spread.n
        gap = mean - learned.means[name]
        learned.means[name] += gap * (spread.n / n)
        if learned.with_std:
            scatter += n_before * (learned.vars[name] + gap * gap * (spread.n / n))
            learned.vars[name] = scatter / n
    return learned


class Scaling:
    """What a scaler does to the columns of a table, as long as it learns nothing more.

    The rows come out exactly as from `transform_one`.

    Parameters
    ----------
    scaler
        The scaler, which stays as it is.
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
        # A copy, because scalers note every name that they are asked for.
        asked = copy.deepcopy(scaler)
        pairs = [_centre_and_unit(asked, name) for name in columns]
        self.centres, self.units = np.array(pairs, dtype=float).reshape(-1, 2).T

    def apply(self, matrix: FloatArray) -> FloatArray:
        """The scaled matrix; a column that never varied becomes 0."""
        # A scaler makes NaN of what it has never seen, and that is an absent feature.
        with np.errstate(invalid="ignore"):
            centred = matrix - self.centres
            scaled: FloatArray = np.zeros_like(centred)
            np.divide(centred, self.units, out=scaled, where=self.units != 0.0)
        return scaled


def _centre_and_unit(scaler: Scaler, name: base.typing.FeatureName) -> tuple[float, float]:
    """What is subtracted from a feature, and what the difference is divided by."""
    if isinstance(scaler, preprocessing.StandardScaler):
        return scaler.means[name], scaler.vars[name] ** 0.5 if scaler.with_std else 1.0
    if isinstance(scaler, preprocessing.MinMaxScaler):
        low = scaler.min[name].get()
        return low, scaler.max[name].get() - low
    return 0.0, scaler.abs_max[name].get()
