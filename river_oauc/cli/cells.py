"""The values that the cells of a text file stand for."""

from __future__ import annotations

import datetime
import re

from river_oauc.limits import MAX_NORM

Value = str | int | float | datetime.datetime | datetime.date | None

_BEGINNINGS = frozenset("0123456789+-.")
_INTEGER = re.compile(r"[+-]?\d{1,50}", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(\d+\.\d*|\.?\d+)([eE][+-]?\d+)?", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d", re.ASCII)


def parse_cell(text: str) -> Value:
    """Return what a cell of a CSV file stands for.

    An empty cell is None; digits are an int, decimals a float, and ISO 8601 dates and times a date
    and a datetime. Everything else is the string itself, and so is a number that no feature may be:
    NaN, infinity, or one that is too large.

    Examples
    --------
    >>> from river_oauc.cli.cells import parse_cell
    >>> [parse_cell(text) for text in ("", "12", "1.5", "NA", "2024-02-29", "2024-02-29 18:30")]
    [None, 12, 1.5, 'NA', datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 18, 30)]

    """
    if not text:
        return None
    # Most categories begin with a letter, and need not be tried as numbers.
    if text[0] not in _BEGINNINGS:
        return text
    if _INTEGER.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text):
        number = float(text)
        return number if abs(number) <= MAX_NORM else text
    return parse_time(text)


def parse_time(text: str) -> str | datetime.datetime | datetime.date:
    """Return the time that a string stands for in ISO 8601, or else the string itself.

    Examples
    --------
    >>> from river_oauc.cli.cells import parse_time
    >>> parse_time("2024-02-29"), parse_time("2024-02-30")
    (datetime.date(2024, 2, 29), '2024-02-30')

    """
    try:
        if _DATE.fullmatch(text):
            return datetime.date.fromisoformat(text)
        if _TIME.match(text):
            return datetime.datetime.fromisoformat(text)
    except ValueError:
        pass
    return text
