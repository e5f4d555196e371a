"""Raw records: numbers, strings, ids, dates and missing cells side by side."""

from __future__ import annotations

import csv
import itertools
import lzma
import os
import pathlib

import numpy as np

from river_oauc.cli.cells import Value, parse_cell
from river_oauc.cli.console.errors import UserError
from river_oauc.cli.models import Example
from river_oauc.datasets.published import DIRECTORY_VARIABLE

__all__ = ["ORDERED", "SETS", "TUNED", "directory", "read_set"]

# The order of these is time, or the order of the source; the others are shuffled.
ORDERED = frozenset(
    {
        "bank", "bird_strikes", "diabetes130", "fdh_simulated", "food_inspections",
        "hotel_bookings", "kdd99_10", "nsl_kdd20", "nyc_flights", "weather_aus",
    }
)  # fmt: skip

SETS = tuple(
    sorted(
        ORDERED
        | {
            "adult", "ai4i2020", "census_income", "cervical", "crash_deaths", "polish_1year",
            "shoppers", "sick", "sms_spam", "taiwan_credit", "telco_churn",
        }
    )
)  # fmt: skip

# The rule for records was tuned on these; the others were looked at once, at the end.
TUNED = frozenset(
    {
        "adult", "bank", "bird_strikes", "crash_deaths", "fdh_simulated", "hotel_bookings",
        "nsl_kdd20", "shoppers", "telco_churn",
    }
)  # fmt: skip


def directory() -> pathlib.Path | None:
    """Return the directory of the sets, or None if they are not on this machine."""
    root = os.environ.get(DIRECTORY_VARIABLE)
    path = pathlib.Path(root or ".", "records")
    return path if root and path.is_dir() else None


def read_set(name: str, limit: int) -> list[Example]:
    """Return the first records of a set, shuffled unless their order means something."""
    path = directory()
    if path is None:
        raise UserError(
            f"there are no records here: set {DIRECTORY_VARIABLE} to a directory that has "
            f"records/{name}.csv.xz"
        )
    with lzma.open(path / f"{name}.csv.xz", "rt", encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        if name in ORDERED:
            chosen = list(itertools.islice(rows, limit))
        else:
            everything = list(rows)
            order = np.random.default_rng(0).permutation(len(everything))
            chosen = [everything[i] for i in order[:limit]]
    return [(_record(row), row["target"] == "1") for row in chosen]


def _record(row: dict[str, str]) -> dict[str, Value]:
    return {name: parse_cell(cell) for name, cell in row.items() if name != "target"}
