"""What the tests share: a quiet hypothesis profile, fixed chance, and the kinds of data frames."""

from __future__ import annotations

import dataclasses
import gc
import os
import random
from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.linalg  # noqa: F401
from hypothesis import settings
from threadpoolctl import threadpool_limits

import river_oauc

# A compiled module is not the file in which pytest has found its doctests.
os.environ["PY_IGNORE_IMPORTMISMATCH"] = "1"

# The matrices are small, and the workers share the cores: BLAS threads would wait for each other.
threadpool_limits(limits=1, user_api="blas")

settings.register_profile("river_oauc", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("river_oauc")


def pytest_collection_finish() -> None:
    """Spare the garbage collector the thousands of tests, which live as long as the process."""
    gc.collect()
    gc.freeze()


def pytest_report_header() -> str:
    return f"river_oauc is {'compiled' if river_oauc.compiled else 'not compiled'}"


@dataclasses.dataclass(frozen=True)
class Backend:
    """How one data frame library makes a frame of columns, and a series."""

    name: str
    frame: Callable[[dict[str, Any]], Any]
    series: Callable[[Any], Any]


BACKENDS = [
    Backend("pandas", pd.DataFrame, pd.Series),
    Backend("polars", pl.DataFrame, pl.Series),
    Backend("pyarrow", pa.table, lambda values: pa.chunked_array([values])),
]


@pytest.fixture(scope="session", params=BACKENDS, ids=lambda backend: backend.name)
def backend(request: pytest.FixtureRequest) -> Backend:
    return request.param


@pytest.fixture(autouse=True)
def fixed_chance() -> None:
    """river's checks draw from the global generator."""
    random.seed(42)
