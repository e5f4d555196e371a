"""Features of a dict or a data frame as names and numbers, where a string is a category."""

from __future__ import annotations

import math
import typing
from collections.abc import Mapping

import narwhals.stable.v2 as nw
import numpy as np
from river import base

from river_oauc.inputs.frames import is_numeric, read_column, read_features
from river_oauc.inputs.limits import MAX_NORM, Features, complaint_about, refusal_of, shown

__all__ = ["numbers_of", "rows_of", "with_categories"]

Numbers = dict[base.typing.FeatureName, float]


def with_categories(x: Features) -> Features:
    """The features with each string made a category: a feature of its own, with the value 1.

    Examples
    --------
    >>> from river_oauc.inputs.categories import with_categories
    >>> with_categories({"country": "FR", "amount": 12.5, "new": True})
    {('country', 'FR'): 1.0, 'amount': 12.5, 'new': True}

    """
    if not isinstance(x, Mapping):
        # It has a way of its own to refuse what is no dict.
        raise refusal_of(x)
    encoded = {
        (name, value) if isinstance(value, str) else name: 1.0 if isinstance(value, str) else value
        for name, value in x.items()
    }
    if len(encoded) < len(x):
        twice = next(pair for pair in x.items() if isinstance(pair[1], str) and pair in x)
        raise ValueError(
            f"feature {shown(twice[0])} is the string {shown(twice[1])}, which makes it the "
            f"feature {shown(twice)}, and that is there as well: rename one of the two"
        )
    return encoded


def numbers_of(x: Features, nan_is_absent: bool = False) -> Numbers:
    """The values that are not 0, by name, or a ValueError if one is not a finite number."""
    numbers = {}
    for name, value in with_categories(x).items():
        if complaint_about(value, nan_is_absent):
            raise refusal_of(x, nan_is_absent, strings_are_categories=True)
        number = float(value)
        # A NaN that has passed is an absent feature.
        if number == number and number != 0.0:
            numbers[name] = number
    if not math.hypot(*numbers.values()) <= MAX_NORM:
        raise refusal_of(x, nan_is_absent, strings_are_categories=True)
    return numbers


def rows_of(frame: nw.DataFrame[typing.Any], nan_is_absent: bool = False) -> list[Numbers]:
    """The rows of a data frame as `numbers_of` would have them; all are checked."""
    columns = frame.columns
    are_numbers = [is_numeric(dtype) for dtype in frame.schema.values()]
    numeric = [j for j, is_number in enumerate(are_numbers) if is_number]
    others = [j for j, is_number in enumerate(are_numbers) if not is_number]
    if others:
        matrix = np.zeros((len(frame), len(numeric)))
        for position, j in enumerate(numeric):
            matrix[:, position] = read_column(columns[j], frame.get_column(columns[j]))
    else:
        matrix = read_features(frame)
    series = {j: frame.get_column(columns[j]) for j in others}
    cells = {j: (one.is_null().to_list(), one.to_list()) for j, one in series.items()}
    positions = np.array(numeric, dtype=int)
    rows = []
    for row, numbers in enumerate(matrix):
        (present,) = numbers.nonzero()
        values: dict[int, typing.Any] = dict(
            zip(positions[present].tolist(), numbers[present].tolist(), strict=True)
        )
        for j, (is_null, text) in cells.items():
            if not is_null[row]:
                values[j] = text[row]
            elif not nan_is_absent:
                values[j] = None
        # In the order of the columns, as a dict would have them.
        x: Features = {columns[j]: values[j] for j in sorted(values)}
        try:
            rows.append(numbers_of(x, nan_is_absent))
        except ValueError as refusal:
            raise ValueError(f"{refusal} (row {row} of the data frame)") from None
    return rows
