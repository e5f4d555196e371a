"""What a value of a record means: the same in learning and in prediction, by every way in.

| value | meaning |
|---|---|
| a boolean; `"true"` and `"false"` in any case | a truth value: 1 or 0 |
| a number; a string that reads as one, such as `"12.5"` or `"1e-3"` | a number |
| a whole number | also a category, because ids and codes are written in digits |
| a date, a datetime; a string with one in ISO 8601 | weekday and hour, as categories |
| another string; bytes | a category |
| None, NaN, NaT, NA, an empty string, no key at all | unknown |
| a list, a dict, an array, infinity, a number beyond ±1e50 | refused |

Spaces around a string do not count. Digits after a leading zero are an id and no number. A number
with a comma, a currency or more than 50 digits is text, and so is one beyond ±1e50. What is nothing
of all that, such as an enum or a UUID, is what its own text means.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import math
import numbers
import re
import typing
from collections.abc import Hashable, Iterator, Mapping, Sized

import numpy as np
from river import base

from river_oauc.limits import MAX_NORM, short_repr

Name = base.typing.FeatureName
Record = Mapping[Name, typing.Any]

# Larger whole numbers need not be exact in a double. As categories they are strings: hashes of
# large integers collide where somebody wants them to.
MAX_EXACT = 2**53

# Strings with another first character are text, but for truth values.
NUMBER_BEGINNINGS = frozenset("0123456789+-.")

_NUMBER = re.compile(r"[+-]?(0|[1-9]\d{0,49})?(\.\d*)?([eE][+-]?\d+)?", re.ASCII)
_TIME = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?", re.ASCII)
_TRUTH_VALUES = {"true": 1.0, "false": 0.0}

_SECOND, _NUMPY_SECOND = datetime.timedelta(seconds=1), np.timedelta64(1, "s")

_CONTAINERS = (Sized, Iterator)
_NUMBERS = (numbers.Number, np.number, np.bool_)
_TIMES = (datetime.date, np.datetime64)


@dataclasses.dataclass(frozen=True, slots=True)
class TimePart:
    """The name of a part of a time, as a feature of its own.

    Parameters
    ----------
    feature
        The name of the feature that is a time.
    part
        `"hour"` or `"weekday"`.

    """

    feature: Name
    part: str


def sort_key(name: Hashable) -> str:
    """Return a string that sorts names and categories, whatever order a record has them in."""
    # Not for other types: a subclass has code of its own.
    return repr(name) if type(name) in (str, int, bytes, TimePart) else ""


class Value(typing.NamedTuple):
    """A value as a number and as a category.

    Parameters
    ----------
    number
        NaN if the value is no number.
    category
        None if the value is no category. The parts of a time are a dict of categories.

    """

    number: float
    category: typing.Any


class ReadRecord(typing.NamedTuple):
    """A record as it was read, with the log odds that its categories had then.

    Parameters
    ----------
    names, numbers, categories
        What `read_record` has found.
    odds
        The place of each value that had log odds, these, and the recent ones.

    """

    names: tuple[Name, ...]
    numbers: tuple[float, ...]
    categories: tuple[Hashable, ...]
    odds: tuple[tuple[int, float, float], ...]


UNKNOWN = Value(math.nan, None)


def read_record(record: Record | ReadRecord) -> list[tuple[Name, float, Hashable]]:
    """Return name, number and category of all that is known, parts of times as features.

    A ValueError names a feature whose value is refused.

    Examples
    --------
    >>> import datetime
    >>> from river_oauc.records.parse import read_record
    >>> record = {"amount": "12.5", "n": 3, "country": "FR", "new": True, "device": None}
    >>> read_record(record)
    [('amount', 12.5, None), ('n', 3.0, 3), ('country', nan, 'FR'), ('new', 1.0, None)]
    >>> [(name.part, category) for name, _, category in read_record({"when": "2024-02-29 18:30"})]
    [('hour', 18), ('weekday', 3)]

    """
    if isinstance(record, ReadRecord):
        return list(zip(*record[:3], strict=True))
    if not isinstance(record, Mapping):
        raise record_type_error(record)
    read: list[tuple[Name, float, Hashable]] = []
    # A copy: another thread may change the record meanwhile.
    for name, value in dict(record).items():
        number, category = parse_value(name, value)
        if type(category) is dict:
            read += [(TimePart(name, part), math.nan, each) for part, each in category.items()]
        elif category is not None or number == number:
            read.append((name, number, category))
    return read


def parse_value(name: Name, value: typing.Any) -> Value:
    """Return what a value means, or raise a ValueError that names its feature."""
    if value is None:
        return UNKNOWN
    if isinstance(value, str):
        return parse_text(value)
    if type(value) is int or type(value) is float and value == value:
        # Most values, in a quarter of the time.
        return _parse_number(name, value)
    if isinstance(value, bytes):
        return Value(math.nan, bytes(value))
    if isinstance(value, datetime.timedelta):
        value = value / _SECOND
    elif isinstance(value, np.timedelta64):
        # Years and months are counted in days first: numpy divides them by nothing else.
        if np.datetime_data(value.dtype)[0] in ("Y", "M"):
            value = value.astype("timedelta64[D]")
        value = value / _NUMPY_SECOND
    # A container is no value, even if all that it has is a NaN.
    if isinstance(value, _CONTAINERS):
        raise ValueError(
            f"feature {short_repr(name)} is {short_repr(value)}, a {type(value).__name__}: give "
            "each of its elements a name of its own, such as 'items_0', 'items_1', ..."
        )
    if is_unknown(value):
        return UNKNOWN
    if isinstance(value, _NUMBERS):
        return _parse_number(name, value)
    if isinstance(value, _TIMES):
        return Value(math.nan, time_parts(value))
    if not _has_text(value):
        raise _type_error(name, value)
    return parse_text(str(value))


def parse_text(text: str) -> Value:
    """Return what a string means.

    Examples
    --------
    >>> from river_oauc.records.parse import parse_text
    >>> [parse_text(text).number for text in ("12.50", " 7 ", "TRUE", "1e-3")]
    [12.5, 7.0, 1.0, 0.001]
    >>> [parse_text(text).category for text in ("FR ", "007", "1,5", "2024-02-30", "")]
    ['FR', '007', '1,5', '2024-02-30', None]

    """
    # Of a subclass, such as an Enum of strings, the string.
    text = str.strip(text)
    if not text:
        return UNKNOWN
    if text[0] not in NUMBER_BEGINNINGS:
        truth = _TRUTH_VALUES.get(text.lower()) if len(text) < 6 else None
        return Value(math.nan, text) if truth is None else Value(truth, None)
    match = _NUMBER.fullmatch(text)
    if match:
        try:
            if match[2] is None and match[3] is None:
                return _whole(float(text), int(text))
            number = float(text)
        except ValueError:
            # A sign or a dot alone.
            return Value(math.nan, text)
        return _whole(number, number) if abs(number) <= MAX_NORM else Value(math.nan, text)
    if _TIME.fullmatch(text):
        try:
            return Value(math.nan, time_parts(_from_iso(text)))
        except ValueError:
            pass
    return Value(math.nan, text)


def _from_iso(text: str) -> datetime.date:
    return (datetime.datetime if len(text) > 10 else datetime.date).fromisoformat(text)


def _whole(number: float, exact: float) -> Value:
    """Return a number, which is a category as well if it is whole."""
    if not number.is_integer():
        return Value(number, None)
    return Value(number, int(exact) if abs(number) <= MAX_EXACT else str(int(exact)))


def _parse_number(name: Name, value: typing.Any) -> Value:
    try:
        # numpy would drop the imaginary part with no more than a warning.
        if isinstance(value, complex | np.complexfloating):
            raise TypeError
        number = float(value)
    except OverflowError:
        number = math.inf
    except (TypeError, ValueError):
        raise _type_error(name, value) from None
    if not abs(number) <= MAX_NORM:
        raise ValueError(
            f"feature {short_repr(name)} is {number:g}: numbers must be within ±{MAX_NORM:g}; "
            "clip it, or leave it out"
        )
    return Value(number, None) if isinstance(value, bool | np.bool_) else _whole(number, value)


def _type_error(name: Name, value: typing.Any) -> ValueError:
    return ValueError(
        f"feature {short_repr(name)} is {short_repr(value)}, a {type(value).__name__}: it must be "
        "a real number, a string or another category"
    )


def _has_text(value: typing.Any) -> bool:
    """Return whether a value has a text that says more than where it is in memory."""
    # Compared by name: for mypy, no class has these of another.
    return not callable(value) and any(
        getattr(type(value), method) is not getattr(object, method)
        for method in ("__str__", "__repr__")
    )


def is_unknown(value: typing.Any) -> bool:
    """Return whether a value is None, NaN, NaT or NA.

    Examples
    --------
    >>> from river_oauc.records.parse import is_unknown
    >>> [is_unknown(value) for value in (None, float("nan"), 0.0, "")]
    [True, True, False, False]

    """
    if value is None:
        return True
    try:
        # NaN and NaT differ from themselves; whether NA does, is NA.
        return bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"
    except decimal.InvalidOperation:
        # A signalling NaN, which cannot even be compared.
        return True


# A time without a zone is one in UTC.
_EPOCH = datetime.datetime(1970, 1, 1)


def parse_seconds(name: Name, value: typing.Any) -> float:
    """Return a time in seconds since 1970, or NaN if it is unknown.

    It is a date, a datetime, a string in ISO 8601, or a number of seconds since any moment. A time
    without a zone is taken as UTC. A ValueError names a feature whose value is none of that.

    Examples
    --------
    >>> import datetime
    >>> from river_oauc.records.parse import parse_seconds
    >>> times = [datetime.date(1970, 1, 2), "1970-01-02T02:00+02:00", 86_400, "86400", None]
    >>> [parse_seconds("when", time) for time in times]
    [86400.0, 86400.0, 86400.0, 86400.0, nan]

    """
    time = value.strip() if isinstance(value, str) else value
    try:
        if isinstance(time, str) and _TIME.fullmatch(time):
            time = _from_iso(time)
        if isinstance(time, _TIMES) and not is_unknown(time):
            if isinstance(time, np.datetime64):
                return float((time - np.datetime64(0, "s")) / _NUMPY_SECOND)
            if not isinstance(time, datetime.datetime):
                time = datetime.datetime(time.year, time.month, time.day)
            epoch = _EPOCH if time.tzinfo is None else _EPOCH.replace(tzinfo=datetime.UTC)
            return (time - epoch) / _SECOND
        number, category = parse_value(name, time)
        if number == number or category is None:
            return number
    except (OverflowError, ValueError):
        # Containers, and numbers that are too large; or a string such as 2024-02-30.
        pass
    raise ValueError(
        f"feature {short_repr(name)} is {short_repr(value)}: a time must be a datetime, a string "
        "like '2024-02-29 18:30', or a number of seconds; leave it out if it is unknown"
    )


# The calendar repeats itself after 400 years, weekdays included.
_DAYS = 146_097
_PERIODS = {
    "Y": 400, "M": 4_800, "W": _DAYS // 7, "D": _DAYS, "h": 24 * _DAYS, "m": 1_440 * _DAYS,
}  # fmt: skip


def time_parts(value: datetime.date | np.datetime64) -> dict[str, int]:
    """Return the hour and the weekday of a time, from 0 for Monday; nothing for NaT.

    The hour is that of the value's own time zone. A date without a time has no hour.

    Examples
    --------
    >>> import datetime
    >>> from river_oauc.records.parse import time_parts
    >>> time_parts(datetime.datetime(2024, 2, 29, 18, 30)), time_parts(datetime.date(2024, 2, 29))
    ({'hour': 18, 'weekday': 3}, {'weekday': 3})

    """
    if value != value:
        return {}
    if isinstance(value, np.datetime64):
        unit, step = np.datetime_data(value.dtype)
        time = value
        if unit in _PERIODS:
            # In seconds it might overflow.
            count = step * int(value.astype(np.int64)) % _PERIODS[unit]
            time = np.int64(count).astype(f"datetime64[{unit}]")
        if unit == "as":
            # numpy has no factor between them and seconds.
            time = time.astype("datetime64[fs]")
        seconds = int(time.astype("datetime64[s]").astype(np.int64))
        # 1 January 1970 was a Thursday.
        parts = {"hour": seconds // 3600 % 24, "weekday": (seconds // 86_400 + 3) % 7}
        if unit in ("Y", "M", "W", "D"):
            del parts["hour"]
        return parts
    if isinstance(value, datetime.datetime):
        return {"hour": value.hour, "weekday": value.weekday()}
    return {"weekday": value.weekday()}


def record_type_error(x: typing.Any) -> ValueError:
    """Return the error for something that is no record at all."""
    return ValueError(
        f"the features are {short_repr(x)}, a {type(x).__name__}: they must be a dict of names "
        "and values; the rows of a data frame go to learn_many and predict_proba_many"
    )
