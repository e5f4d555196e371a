"""What the values of raw records mean."""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import math
import uuid
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from river_oauc.cli.cells import parse_cell
from river_oauc.encoding.kinds import read_record, time_parts


class Colour(enum.Enum):
    RED = 1


NUMBERS = [
    (0.5, 0.5),
    (np.float32(0.5), 0.5),
    (decimal.Decimal("0.5"), 0.5),
    (fractions.Fraction(1, 2), 0.5),
    (True, 1.0),
    (np.bool_(False), 0.0),
    (datetime.timedelta(minutes=1, milliseconds=500), 60.5),
    (np.timedelta64(500, "ms"), 0.5),
]
WHOLE = [7, 7.0, np.int8(7), np.uint64(7), np.float64(7), decimal.Decimal(7), fractions.Fraction(7)]
CATEGORIES = ["FR", "", "12.5", "2024-01-01", b"x", Colour.RED, uuid.UUID(int=5), np.str_("FR")]
UNKNOWN = [
    None, math.nan, np.float32("nan"), decimal.Decimal("NaN"), pd.NA, pd.NaT,
    np.datetime64("NaT"), np.timedelta64("NaT", "s"),
]  # fmt: skip
REFUSED = [
    {"a": 1}, [1], (1, 2), {1}, frozenset([1]), np.ones(2), np.array(1.0), math.inf, -math.inf,
    1e51, 10**400, 1j, np.complex128(1j), decimal.Decimal("Infinity"), bytearray(b"x"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "number"), NUMBERS)
def test_number(value: Any, number: float) -> None:
    assert read_record({"f": value}) == {"f": (number, None)}


@pytest.mark.parametrize("value", WHOLE)
def test_a_whole_number_is_a_category_too(value: Any) -> None:
    (read,) = read_record({"f": value}).values()
    assert read == (7.0, 7)
    assert hash(read.category) == hash(7)


def test_long_ids_stay_apart() -> None:
    first, second = (read_record({"f": 2**60 + i})["f"] for i in range(2))
    assert first.number == second.number
    assert first.category != second.category


@pytest.mark.parametrize("value", CATEGORIES)
def test_category(value: Any) -> None:
    (read,) = read_record({"f": value}).values()
    assert math.isnan(read.number)
    assert read.category == value


@pytest.mark.parametrize("value", UNKNOWN, ids=repr)
def test_unknown_is_as_good_as_absent(value: Any) -> None:
    assert read_record({"f": value}) == {}


@pytest.mark.parametrize("value", REFUSED, ids=repr)
def test_refused_by_name(value: Any) -> None:
    with pytest.raises(ValueError, match="^feature 'the name' is "):
        read_record({"a": 1, "the name": value})


@pytest.mark.parametrize("record", [None, 3, [("a", 1)], pd.DataFrame({"a": [1]})])
def test_no_record(record: Any) -> None:
    with pytest.raises(ValueError, match="they must be a dict"):
        read_record(record)


@given(st.datetimes(timezones=st.none() | st.timezones()))
def test_parts_of_a_time(when: datetime.datetime) -> None:
    expected = {"hour": when.hour, "weekday": when.weekday()}
    local = when.replace(tzinfo=None)
    assert time_parts(when) == time_parts(np.datetime64(local)) == expected
    if datetime.datetime(1700, 1, 1) < local < datetime.datetime(2200, 1, 1):
        assert time_parts(pd.Timestamp(local)) == expected
    assert time_parts(when.date()) == time_parts(np.datetime64(when.date(), "D"))
    assert time_parts(when.date()) == {"weekday": when.weekday()}
    read = read_record({"when": when})
    assert {name.part: value.category for name, value in read.items()} == expected
    assert {name.feature for name in read} == {"when"}


@given(st.integers(-(2**63) + 1, 2**63 - 1), st.sampled_from(["Y", "M", "W", "D", "h", "s", "ns"]))
def test_no_time_is_an_error(count: int, unit: str) -> None:
    parts = time_parts(np.datetime64(count, unit))
    assert 0 <= parts["weekday"] < 7


@given(
    st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31)),
    st.sampled_from(["D", "h", "m", "s", "us", "25m"]),
)
def test_times_of_numpy_are_those_of_python(when: datetime.datetime, unit: str) -> None:
    rounded = np.datetime64(when).astype(f"datetime64[{unit}]")
    expected = rounded.astype("datetime64[s]").item()
    parts = {"hour": expected.hour, "weekday": expected.weekday()}
    if unit == "D":
        del parts["hour"]
    assert time_parts(rounded) == parts


def test_cells() -> None:
    cells = {
        "": None, "12": 12, "-3": -3, "1.5": 1.5, "1e3": 1000.0, ".5": 0.5, "5.": 5.0, "NA": "NA",
        "nan": "nan", "inf": "inf", "1e999": "1e999", "1_000": "1_000", "０": "０", " 1": " 1",
        "2024-02-30": "2024-02-30", "2024-02-29": datetime.date(2024, 2, 29),
        "2024-02-29T18:30:05": datetime.datetime(2024, 2, 29, 18, 30, 5),
        "2024-02-29 18:30 o'clock": "2024-02-29 18:30 o'clock", "1" * 60: "1" * 60,
    }  # fmt: skip
    for text, expected in cells.items():
        assert (type(parse_cell(text)), parse_cell(text)) == (type(expected), expected)


@given(st.text())
def test_every_cell_can_be_learned(text: str) -> None:
    read_record({"cell": parse_cell(text)})
