"""How records are prepared for learners that take numbers only."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from river import compose, preprocessing

from river_oauc.preprocessing import RecordEncoder
from river_oauc.records.parse import parse_text, read_record


def typed(value: Any) -> Any:
    """Return what a string means as a number, a time or text, and any other value as it is.

    Examples
    --------
    >>> [typed(value) for value in ("12", "1.5", " FR ", "2024-02-29", "", 7)]
    [12, 1.5, 'FR', datetime.date(2024, 2, 29), None, 7]

    """
    if not isinstance(value, str):
        return value
    number, category = parse_text(value)
    if isinstance(category, dict):
        kind = datetime.datetime if "hour" in category else datetime.date
        return kind.fromisoformat(value.strip())
    return number if category is None and number == number else category


def one_hot(record: dict[Any, Any]) -> dict[Any, float | int]:
    """Return the numbers of a record as floats, and a 1 for each of its categories.

    This is river's `OneHotEncoder(drop_zeros=True)` beside the numbers, but a category is named by
    a pair, which no column can be. The hour and the weekday of a time are categories. Unknown
    values are left out.

    Examples
    --------
    >>> one_hot({"amount": 12, "country": "FR", "device": None})
    {'amount': 12.0, ('country', 'FR'): 1}

    """
    return dict(
        (name, number) if number == number else ((name, category), 1)
        for name, number, category in read_record(record)
    )


def _scaled_one_hot() -> Any:
    # Only the numbers: of a feature that is always 1, StandardScaler makes 0.
    numbers = compose.SelectType(float) | preprocessing.StandardScaler()
    return compose.FuncTransformer(one_hot) | (numbers + compose.SelectType(int))


RAW = "raw"
# Categories by number, as `Retrained` makes of a whole stream.
CODES = "codes"
MIN_MAX = "RecordEncoder | MinMaxScaler"

PREPARATIONS: dict[str, Callable[[], Any]] = {
    "one-hot": lambda: compose.FuncTransformer(one_hot),
    "one-hot | StandardScaler": _scaled_one_hot,
    "RecordEncoder": RecordEncoder,
    "RecordEncoder | StandardScaler": lambda: RecordEncoder() | preprocessing.StandardScaler(),
    MIN_MAX: lambda: RecordEncoder() | preprocessing.MinMaxScaler(),
}

# Those to try for linear learners, and for trees, which would get lost among one-hot features.
LINEAR = tuple(name for name in PREPARATIONS if name != MIN_MAX)
TREE = ("RecordEncoder",)
