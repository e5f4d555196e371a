"""What the values of records mean, by every way in."""

from __future__ import annotations

import contextlib
import csv
import datetime
import decimal
import enum
import fractions
import io
import ipaddress
import json
import math
import uuid
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from classifiers import learn, learned_state
from hypothesis import given
from hypothesis import strategies as st
from record_reference import read
from river.stream import iter_csv
from river.utils import dataframe

from river_oauc import OAUCM, OTAUC, AutoOAUC, SparseOAUCM
from river_oauc.records.frames import to_records
from river_oauc.records.parse import Record, time_parts

DAY, TIME = datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 18, 30)

# Values, strings that say the same, and what both mean: a number, a category, parts of a time.
IDS = ["007", "-012.50", "00", "1" * 51]
TEXTS = ["1,5", "$5", "5 €", "29/02/2024", "2024-02-30", "2024-02", "1e51", "nan", "NA", "inf"]
TEXTS += ["0x10", "1_000", "٣", "-", "1.2.3", "T", "18:30", "a b c", "2024-02-29 noon"]
TABLE: dict[str, list[tuple[Any, str, Any]]] = {
    "truth": [(True, "true", 1.0), (False, "False", 0.0), (True, " TRUE ", 1.0)],
    "fraction": [(12.5, "12.50", 12.5), (-0.25, "-.25", -0.25), (2.5, "+25E-1", 2.5)],
    "whole": [(3, "3", (3.0, 3)), (0, "0.0", (0.0, 0)), (-4, "-40e-1", (-4.0, -4))],
    "long": [(n, f" {n}", (float(n), str(n))) for n in (2**60, 2**60 + 1, -(2**53) - 2)],
    "day": [(DAY, "2024-02-29", {"weekday": 3})],
    "time": [
        (TIME, "2024-02-29 18:30", {"hour": 18, "weekday": 3}),
        (datetime.datetime(2024, 3, 1), "2024-03-01T00:00:00.000Z", {"hour": 0, "weekday": 4}),
    ],
    "country": [("FR", " FR", "FR"), ("IT", "IT ", "IT"), ("DE", "DE", "DE")],
    "id": [(text, text, text) for text in IDS],
    "text": [(text, f" {text}", text) for text in TEXTS],
    "gap": [(None, "", None), (1.5, "1.5", 1.5), (None, " ", None), (2.5, "2.5", 2.5)],
}  # fmt: skip
N = 57
TYPED, STRINGS, MEANINGS = (
    [{name: cells[i % len(cells)][way] for name, cells in TABLE.items()} for i in range(N)]
    for way in range(3)
)
NUMERIC = ["truth", "fraction", "whole"]
LABELS = [i % 3 == 0 for i in range(N)]


def assert_means(x: Record, meanings: dict[str, Any]) -> None:
    expected: dict[Any, tuple[float, Any]] = {}
    for name, meaning in meanings.items():
        if isinstance(meaning, dict):
            expected |= {(name, part): (math.nan, each) for part, each in meaning.items()}
        elif isinstance(meaning, float):
            expected[name] = meaning, None
        elif meaning is not None:
            expected[name] = meaning if isinstance(meaning, tuple) else (math.nan, meaning)
    # As text, NaN equals NaN, and 1 does not equal 1.0 or True.
    assert set(map(repr, read(x).items())) == set(map(repr, expected.items()))


def from_csv() -> list[dict[str, Any]]:
    file = io.StringIO()
    writer = csv.DictWriter(file, TABLE)
    writer.writeheader()
    writer.writerows(STRINGS)
    return [x for x, _ in iter_csv(io.StringIO(file.getvalue()))]


def in_numpy(value: Any) -> Any:
    kinds = {bool: np.bool_, float: decimal.Decimal, int: np.int64, str: np.str_}
    if isinstance(value, datetime.date):
        return np.datetime64(value, "D" if value is DAY else "ns")
    return pd.NA if value is None else kinds[type(value)](value)


WAYS = {
    "strings": lambda: STRINGS,
    "numpy, Decimal and NA": lambda: [{k: in_numpy(v) for k, v in x.items()} for x in TYPED],
    "CSV": from_csv,
    "JSON Lines": lambda: [json.loads(json.dumps(x, default=str)) for x in TYPED],
    "pandas": lambda: pd.DataFrame(TYPED),
    "pandas, nullable": lambda: pd.DataFrame(TYPED).convert_dtypes(),
    "pandas, strings": lambda: pd.DataFrame(STRINGS),
    "polars": lambda: pl.DataFrame(TYPED),
    "polars, strings": lambda: pl.DataFrame(STRINGS),
    "pyarrow": lambda: pa.Table.from_pylist(TYPED),
    "pyarrow, strings": lambda: pa.Table.from_pylist(STRINGS),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_value_means_the_same_by_every_way_in(way: str) -> None:
    """In learning and in prediction: the same numbers, categories, models and scores."""
    rows = WAYS[way]()
    is_frame = not isinstance(rows, list)
    records = to_records(dataframe.into_frame(rows)) if is_frame else rows
    for x, typed, meanings in zip(records, TYPED, MEANINGS, strict=True):
        assert_means(x, meanings)
        assert_means(typed, meanings)
    for model in (SparseOAUCM(), AutoOAUC(("linear", "sparse"), seed=1), OTAUC(seed=1), OAUCM()):
        names = NUMERIC if isinstance(model, OAUCM) else list(TABLE)
        typed = [{name: x[name] for name in names} for x in TYPED]
        twin = learn(model.clone(), zip(typed, LABELS, strict=True))
        expected = [twin.score_one(x) for x in typed]
        if is_frame:
            frame = rows[names] if isinstance(rows, pd.DataFrame) else rows.select(names)
            model.learn_many(frame, pd.Series(LABELS))
            assert np.asarray(twin.score_many(frame)).tolist() == expected
        else:
            records = [{name: x[name] for name in names} for x in rows]
            learn(model, zip(records, LABELS, strict=True))
            assert [twin.score_one(x) for x in records] == expected
        assert learned_state(model) == learned_state(twin)


@pytest.mark.parametrize(
    ("value", "meaning"),
    [
        (np.bool_(False), 0.0), (np.float32(0.5), 0.5), (np.longdouble(0.5), 0.5),
        (fractions.Fraction(1, 2), 0.5), (datetime.timedelta(minutes=1, milliseconds=500), 60.5),
        (np.timedelta64(500, "ms"), 0.5), (np.timedelta64(1, "Y"), (31_536_000.0, 31_536_000)),
        (7.0, (7.0, 7)), (np.uint8(7), (7.0, 7)), (decimal.Decimal("7.0"), (7.0, 7)),
        (fractions.Fraction(7), (7.0, 7)), (enum.IntEnum("E", "A").A, (1.0, 1)),
        (enum.StrEnum("E", {"A": " 7"}).A, (7.0, 7)), (enum.Enum("E", "A").A, "E.A"),
        (1e22, (1e22, str(10**22))), (-1e50, (-1e50, str(int(-1e50)))), (2**53, (2.0**53, 2**53)),
        (b" 7", b" 7"), ("\ud800", "\ud800"), (uuid.UUID(int=5), str(uuid.UUID(int=5))),
        (ipaddress.ip_network("10.0.0.0/8"), "10.0.0.0/8"), (datetime.time(18), "18:00:00"),
        (pd.Period("2024-02-29", "D"), {"weekday": 3}), (pa.scalar(7), (7.0, 7)),
        *[(value, None) for value in (
            None, math.nan, np.float32("nan"), decimal.Decimal("NaN"), decimal.Decimal("sNaN"),
            pd.NA, pd.NaT, np.datetime64("NaT"), np.timedelta64("NaT", "s"), np.str_(""), "\xa0\n",
        )],
    ],
    ids=repr,
)  # fmt: skip
def test_other_values(value: Any, meaning: Any) -> None:
    assert_means({"f": value}, {"f": meaning})


@given(st.text("0123456789+-.eE ", max_size=9) | st.text())
def test_a_string_that_python_reads_as_a_number_is_one(text: str) -> None:
    """But for ids with leading zeros, and what is not written in digits."""
    text, meaning = text.strip(), text.strip() or None
    digits = text.lstrip("+-").partition(".")[0].lower().partition("e")[0]
    if set(text) <= set("0123456789+-.eE") and not digits[:1] == "0" != digits:
        with contextlib.suppress(ValueError):
            number = float(text)
            if abs(number) <= 1e50 and number.is_integer():
                exact = int(text if text.lstrip("+-").isdigit() else number)
                meaning = number, exact if abs(number) <= 2**53 else str(exact)
            elif abs(number) <= 1e50:
                meaning = number
    assert_means({"f": f"\t{text} "}, {"f": meaning})


@given(st.datetimes(timezones=st.none() | st.timezones()))
def test_parts_of_a_time(when: datetime.datetime) -> None:
    meaning, local = {"hour": when.hour, "weekday": when.weekday()}, when.replace(tzinfo=None)
    for same in (when, np.datetime64(local), when.isoformat(), local.isoformat(" ")):
        assert_means({"f": same}, {"f": meaning})
    for day in (when.date(), np.datetime64(when.date(), "D"), when.date().isoformat()):
        assert_means({"f": day}, {"f": {"weekday": when.weekday()}})


@given(
    st.integers(-(2**63) + 1, 2**63 - 1),
    st.sampled_from(["Y", "M", "W", "D", "h", "25m", "ns", "as"]),
)
def test_no_time_is_an_error(count: int, unit: str) -> None:
    parts, time = time_parts(np.datetime64(count, unit)), np.datetime64(count % 2**32, unit)
    assert 0 <= parts["weekday"] < 7 and 0 <= parts.get("hour", 0) < 24
    if unit in ("h", "25m", "ns"):
        expected = time.astype("datetime64[h]").astype(datetime.datetime)
        if isinstance(expected, datetime.datetime):
            assert time_parts(time) == {"hour": expected.hour, "weekday": expected.weekday()}
