"""What the values of a raw record mean: numbers, categories, times, or unknown."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import math
import numbers
import typing
from collections.abc import Hashable, Mapping

import numpy as np
from river import base

from river_oauc.encoding.values import Record, record_type_error
from river_oauc.limits import MAX_NORM, short_repr

Name = base.typing.FeatureName

_SECOND, _NUMPY_SECOND = datetime.timedelta(seconds=1), np.timedelta64(1, "s")

# Larger whole numbers need not be exact in a double.
_MAX_EXACT = 2**53

# Containers, some of which are hashable. None of them is one value.
_CONTAINERS = (Mapping, list, tuple, set, frozenset, memoryview, np.ndarray)


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


class Value(typing.NamedTuple):
    """A value as a number and as a category.

    Parameters
    ----------
    number
        NaN if the value is no number.
    category
        None if the value is no category.

    """

    number: float
    category: Hashable


UNKNOWN = Value(math.nan, None)


def read_record(record: Record) -> dict[Name, Value]:
    """Return the values of a record, with the parts of times as features of their own.

    A feature whose value is unknown is left out: None, NaN, NaT and NA say as much as no key at
    all. A ValueError names a feature whose value is refused.

    Examples
    --------
    >>> import datetime
    >>> from river_oauc.encoding.kinds import read_record

    >>> for name, value in read_record(
    ...     {"amount": 12.5, "n": 3, "country": "FR", "new": True, "device": None}
    ... ).items():
    ...     print(name, value)
    amount Value(number=12.5, category=None)
    n Value(number=3.0, category=3)
    country Value(number=nan, category='FR')
    new Value(number=1.0, category=None)

    >>> list(read_record({"when": datetime.datetime(2024, 2, 29, 18, 30)}))
    [TimePart(feature='when', part='hour'), TimePart(feature='when', part='weekday')]

    """
    if not isinstance(record, Mapping):
        raise record_type_error(record)
    values: dict[Name, Value] = {}
    # A copy: another thread may change the record meanwhile.
    for name, value in dict(record).items():
        # The usual types first, for speed.
        kind = type(value)
        if kind is str:
            values[name] = Value(math.nan, value)
        elif kind is int and -_MAX_EXACT <= value <= _MAX_EXACT:
            values[name] = Value(float(value), value)
        elif kind is float and -MAX_NORM <= value <= MAX_NORM:
            values[name] = Value(value, int(value) if value.is_integer() else None)
        elif isinstance(value, datetime.date | np.datetime64):
            for part, category in time_parts(value).items():
                values[TimePart(name, part)] = Value(math.nan, category)
        else:
            read = read_value(name, value)
            if read is not UNKNOWN:
                values[name] = read
    return values


def read_value(name: Name, value: typing.Any) -> Value:
    """Return a value that is no time as a number and as a category, or raise a ValueError."""
    if isinstance(value, str | bytes):
        return Value(math.nan, value)
    if is_unknown(value):
        return UNKNOWN
    if isinstance(value, datetime.timedelta):
        value = value / _SECOND
    elif isinstance(value, np.timedelta64):
        # Years and months are counted in days first: numpy divides them by nothing else.
        if np.datetime_data(value.dtype)[0] in ("Y", "M"):
            value = value.astype("timedelta64[D]")
        value = value / _NUMPY_SECOND
    if isinstance(value, numbers.Number | np.generic):
        return _read_number(name, value)
    if isinstance(value, _CONTAINERS) or not _is_hashable(value):
        raise ValueError(
            f"feature {short_repr(name)} is {short_repr(value)}, a {type(value).__name__}: give "
            "each of its elements a name of its own, such as 'items_0', 'items_1', ..."
        )
    return Value(math.nan, value)


def _is_hashable(value: typing.Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _read_number(name: Name, value: typing.Any) -> Value:
    try:
        # numpy would drop the imaginary part with no more than a warning.
        if isinstance(value, complex | np.complexfloating):
            raise TypeError
        number = float(value)
    except OverflowError:
        number = math.inf
    except (TypeError, ValueError):
        raise ValueError(
            f"feature {short_repr(name)} is {short_repr(value)}, a {type(value).__name__}: it must "
            "be a real number, a string or another category"
        ) from None
    if not abs(number) <= MAX_NORM:
        raise ValueError(
            f"feature {short_repr(name)} is {number:g}: numbers must be within ±{MAX_NORM:g}; "
            "clip it, or leave it out"
        )
    if isinstance(value, bool | np.bool_) or not number.is_integer():
        return Value(number, None)
    # Exactly: ids may be longer than the 53 bits of a double.
    return Value(number, int(value))


def is_unknown(value: typing.Any) -> bool:
    """Return whether a value is None, NaN, NaT or NA.

    Examples
    --------
    >>> from river_oauc.encoding.kinds import is_unknown
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
    >>> from river_oauc.encoding.kinds import time_parts
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
        seconds = int(time.astype("datetime64[s]").astype(np.int64))
        # 1 January 1970 was a Thursday.
        parts = {"hour": seconds // 3600 % 24, "weekday": (seconds // 86_400 + 3) % 7}
        if unit in ("Y", "M", "W", "D"):
            del parts["hour"]
        return parts
    if isinstance(value, datetime.datetime):
        return {"hour": value.hour, "weekday": value.weekday()}
    return {"weekday": value.weekday()}
