"""The rows of a data frame as records."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Iterator

import narwhals.stable.v2 as nw
import numpy as np
from river import base

from river_oauc.encoding.frames import Frame
from river_oauc.encoding.kinds import read_record
from river_oauc.limits import MAX_NORM

# Whatever a column of these types holds is a category, a time or a boolean: nothing to check.
_SAFE_TYPES = (nw.Boolean, nw.Date, nw.Datetime, nw.Enum)


class RecordRows:
    """The rows of a data frame as records, for encoders that take these.

    Parameters
    ----------
    records
        The rows as dicts.

    """

    def __init__(self, records: list[dict[base.typing.FeatureName, typing.Any]]) -> None:
        self._records = records

    @classmethod
    def of_frame(cls, frame: Frame) -> typing.Self:
        """Return the rows of a data frame, or raise a ValueError if a value is refused.

        A null is None, NaN or NA: all of them are unknown.
        """
        columns = [_values(name, frame.get_column(name)) for name in frame.columns]
        rows = zip(*columns, strict=True) if columns else [()] * len(frame)
        return cls([dict(zip(frame.columns, row, strict=True)) for row in rows])

    def encode(self, encoder: typing.Any, row: int) -> typing.Any:
        """Return the example of a row, or None if it has a name that is not known yet."""
        return encoder.encode(self._records[row])

    def encode_known(self, encoder: typing.Any) -> Iterator[typing.Any]:
        """Return the examples of all rows for predictions."""
        return map(encoder.encode_known, self._records)

    def names_in(self, encoder: typing.Any, row: int) -> Iterable[base.typing.FeatureName]:
        """Return the names that the encoder needs to know for a row."""
        names: Iterable[base.typing.FeatureName] = encoder.names_in(self._records[row])
        return names

    def learn(self, encoder: typing.Any, row: int, positive: bool, weight: float) -> None:
        """Update the statistics of the encoder with a row."""
        encoder.learn(self._records[row], positive, weight)


def _values(name: str, column: nw.Series[typing.Any]) -> list[typing.Any]:
    """Return the values of a column, or raise a ValueError if one is refused."""
    values: list[typing.Any] = column.to_list()
    dtype = column.dtype
    if dtype.is_integer() or isinstance(dtype, _SAFE_TYPES):
        return values
    # pandas says only of the first values that they are strings.
    if dtype == nw.String and {str, type(None)}.issuperset(map(type, values)):
        return values
    if dtype.is_float():
        numbers = column.to_numpy()
        # NaN is fine.
        if numbers.dtype.kind == "f" and not (np.abs(numbers.astype(float)) > MAX_NORM).any():
            return values
    if dtype == nw.Categorical and all(map(_is_valid, column.unique().to_list())):
        return values
    for row, value in enumerate(values):
        try:
            read_record({name: value})
        except ValueError as error:
            raise ValueError(f"{error} (row {row} of the data frame)") from None
    return values


def _is_valid(value: typing.Any) -> bool:
    try:
        read_record({"": value})
    except ValueError:
        return False
    return True
