"""Labels, weights and data frames: what is read, what is refused, and in which words."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from river.utils import dataframe

from river_oauc.inputs.frames import read_features, read_labels, read_weights
from river_oauc.inputs.labels import parse_label, parse_weight

if TYPE_CHECKING:
    from conftest import Backend


def read(native: Any) -> np.ndarray:
    return read_features(dataframe.into_frame(native))


def assert_reads(native: Any, expected: list[list[float]]) -> None:
    matrix = read(native)
    assert matrix.dtype == np.float64
    np.testing.assert_array_equal(matrix, np.array(expected, float))


# Labels ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("y", [True, 1, 1.0, np.bool_(True), np.int8(1), np.float32(1)], ids=repr)
def test_positive_labels(y: Any) -> None:
    assert parse_label(y) is True


@pytest.mark.parametrize(
    "y", [False, 0, -1, 0.0, -0.0, -1.0, np.bool_(False), np.int64(-1), np.uint8(0)], ids=repr
)
def test_negative_labels(y: Any) -> None:
    assert parse_label(y) is False


@pytest.mark.parametrize(
    "y",
    [None, 2, -2, 0.5, 1.0000001, math.nan, math.inf, 1j, b"1", [], {}, pd.NA, np.nan],
    ids=lambda y: repr(y)[:12],
)
def test_a_refused_label_is_shown_with_what_to_write(y: Any) -> None:
    with pytest.raises(ValueError) as refusal:
        parse_label(y)
    assert str(refusal.value) == (
        f"the label is {y!r}: labels must be booleans, 0 and 1, or -1 and 1; "
        "say which class is to rank high by writing, for instance, y == 'fraud'"
    )


@pytest.mark.parametrize("y", ["spam", "1", "", "it's"])
def test_a_refused_string_is_its_own_example(y: str) -> None:
    with pytest.raises(ValueError) as refusal:
        parse_label(y)
    assert str(refusal.value).startswith(f"the label is {y!r}: ")
    assert str(refusal.value).endswith(f"y == {y!r}")


@given(st.lists(st.booleans()))
def test_read_labels(backend: Backend, labels: list[bool]) -> None:
    for negative, positive in ((False, True), (0, 1), (-1, 1), (-1.0, 1.0)):
        y = backend.series([positive if label else negative for label in labels])
        parsed, _ = read_labels(y, len(labels))
        assert parsed.dtype == bool
        assert parsed.tolist() == labels


@pytest.mark.parametrize(
    "y",
    [
        pd.Series([1, 0], dtype="int8"),
        pd.Series([True, False], dtype="boolean"),
        pd.Series([1, -1], dtype="Int64"),
        pd.Series([1, 0], dtype="int64[pyarrow]"),
        pd.Series([True, 0], dtype=object),
        pd.Series(pd.Categorical([True, False])),
        pd.Series([1, 0], index=[7, 7]),
        pl.Series([1, 0], dtype=pl.UInt8),
        pl.Series([1.0, -1.0], dtype=pl.Float32),
        pa.chunked_array([[1], [], [0]], pa.int8()),
        pa.chunked_array([[True], [False]]),
    ],
    ids=lambda y: f"{type(y).__module__.split('.')[0]} {getattr(y, 'dtype', None)}",
)
def test_labels_of_odd_types(y: Any) -> None:
    parsed = read_labels(y, 2)[0]
    assert parsed.dtype == bool
    assert parsed.tolist() == [True, False]


@pytest.mark.parametrize(
    ("y", "name"),
    [
        (pd.Series([True], name="target"), "target"),
        (pd.Series([True]), None),
        (pl.Series("target", [True]), "target"),
        (pl.Series([True]), ""),
    ],
)
def test_the_name_of_labels(y: Any, name: str | None) -> None:
    assert read_labels(y, 1)[1] == name


@pytest.mark.parametrize("label", ["fraud", None, 2])
def test_a_bad_label_in_a_series(backend: Backend, label: Any) -> None:
    with pytest.raises(ValueError, match=rf"^the label is {label!r}: .* \(row 0 of "):
        read_labels(backend.series([label, label]), 2)


def test_missing_labels_of_pandas() -> None:
    with pytest.raises(ValueError, match=r"^the label is <NA>: .* \(row 1 of the data frame\)$"):
        read_labels(pd.Series([True, None], dtype="boolean"), 2)
    with pytest.raises(ValueError, match=r"^the label is nan: .* \(row 1 of the data frame\)$"):
        read_labels(pd.Series([1.0, None]), 2)


@pytest.mark.parametrize("n_rows", [0, 1, 3])
def test_a_wrong_number_of_labels_or_weights(backend: Backend, n_rows: int) -> None:
    with pytest.raises(ValueError, match=f"^y has 2 values for the {n_rows} rows of X$"):
        read_labels(backend.series([True, False]), n_rows)
    with pytest.raises(ValueError, match=f"^w has 2 values for the {n_rows} rows of X$"):
        read_weights(backend.series([1.0, 2.0]), n_rows)


# Weights ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "w", [0, 1, 2.5, True, np.float32(0.5), np.int64(3), Fraction(1, 2), 1e50, -0.0], ids=repr
)
def test_weights_become_floats(w: Any) -> None:
    parsed = parse_weight(w)
    assert type(parsed) is float
    assert parsed == w


@pytest.mark.parametrize(
    "w",
    [-1, -1e-300, math.nan, math.inf, -math.inf, np.float32("nan"), "1", None, 1j, [1.0], pd.NA],
    ids=repr,
)
def test_refused_weights(w: Any) -> None:
    with pytest.raises(ValueError) as refusal:
        parse_weight(w)
    assert str(refusal.value).startswith(f"the weight is {w!r}: it must be ")


@pytest.mark.parametrize("w", [1e51, 10**400], ids=["1e51", "10**400"])
def test_a_weight_too_large_is_told_so(w: float) -> None:
    """It is a finite number of 0 or more: those words alone would send its owner astray."""
    with pytest.raises(ValueError, match=r"1e\+50"):
        parse_weight(w)


def test_one_weight_for_all_rows() -> None:
    assert read_weights(2, 3).tolist() == [2.0, 2.0, 2.0]
    assert read_weights(np.float32(0.5), 2).tolist() == [0.5, 0.5]
    assert read_weights(1.0, 0).tolist() == []
    with pytest.raises(ValueError, match="^the weight is -1"):
        read_weights(-1, 3)


@given(st.lists(st.integers(0, 9)))
def test_a_weight_per_row(backend: Backend, weights: list[int]) -> None:
    for w in (weights, [float(weight) for weight in weights]):
        read = read_weights(backend.series(w), len(w))
        assert read.dtype == float
        assert read.tolist() == weights


@pytest.mark.parametrize("weight", [-1.0, math.nan, math.inf, None])
def test_a_bad_weight_in_a_series(backend: Backend, weight: Any) -> None:
    with pytest.raises(ValueError, match=r"^the weight is .* \(row 1 of the data frame\)$"):
        read_weights(backend.series([1.0, weight]), 2)


# Features --------------------------------------------------------------------------------------

columns_of_numbers = st.integers(0, 6).flatmap(
    lambda n_rows: st.dictionaries(
        st.sampled_from("abcdef"),
        st.one_of(
            st.lists(st.floats(-1e10, 1e10), min_size=n_rows, max_size=n_rows),
            st.lists(st.integers(-(2**62), 2**62), min_size=n_rows, max_size=n_rows),
            st.lists(st.booleans(), min_size=n_rows, max_size=n_rows),
        ),
        min_size=1,
    )
)


@given(columns_of_numbers)
def test_numbers_are_read_as_python_reads_them(
    backend: Backend, columns: dict[str, list[Any]]
) -> None:
    n_rows = len(next(iter(columns.values())))
    matrix = read(backend.frame(columns))
    assert matrix.shape == (n_rows, len(columns))
    assert matrix.dtype == np.float64
    for values, column in zip(columns.values(), matrix.T, strict=True):
        assert column.tolist() == [float(value) for value in values]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, 2], dtype="int8"),
        pd.Series([1, 2], dtype="uint64"),
        pd.Series([1, 2], dtype="float16"),
        pd.Series([1, 2], dtype="float32"),
        pd.Series([1, 2], dtype="Int64"),
        pd.Series([1, 2], dtype="Float32"),
        pd.Series([1, 2], dtype="int64[pyarrow]"),
        pd.Series([1, 2], dtype=np.longdouble),
        pd.Series([1, 2], dtype=object),
        pd.Series([Fraction(1), Decimal(2)], dtype=object),
        pd.Series([np.bool_(True), np.float32(2)], dtype=object),
        pd.Series(pd.arrays.SparseArray([1, 2])),
        pd.Series(pd.Categorical([1, 2])),
    ],
    ids=lambda column: str(column.dtype),
)
def test_columns_of_pandas(column: pd.Series) -> None:
    assert_reads(pd.DataFrame({"a": column}), [[1], [2]])
    # Beside a column that makes all of them be read one by one, and not as one matrix.
    ones = pd.Series([1, 1], dtype=object)
    assert_reads(pd.DataFrame({"a": column, "b": ones}), [[1, 1], [2, 1]])


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([1, 2], dtype=pl.Int8),
        pl.Series([1, 2], dtype=pl.UInt64),
        pl.Series([1, 2], dtype=pl.Float32),
        pl.Series([1, 2], dtype=pl.Decimal(10, 2)),
        pl.Series([Fraction(1), Decimal(2)], dtype=pl.Object),
    ],
    ids=lambda column: str(column.dtype),
)
def test_columns_of_polars(column: pl.Series) -> None:
    assert_reads(pl.DataFrame({"a": column}), [[1], [2]])
    assert_reads(pl.DataFrame({"a": column, "b": [True, False]}), [[1, 1], [2, 0]])


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2], pa.int8()),
        pa.array([1, 2], pa.uint64()),
        pa.array(np.array([1, 2], np.float16)),
        pa.array([1, 2], pa.float32()),
        pa.array([Decimal(1), Decimal(2)]),
        pa.chunked_array([[1], [], [2]], pa.int64()),
    ],
    ids=lambda column: str(column.type),
)
def test_columns_of_pyarrow(column: Any) -> None:
    assert_reads(pa.table({"a": column}), [[1], [2]])
    assert_reads(pa.table({"a": column, "b": [True, False]}), [[1, 1], [2, 0]])


@pytest.mark.parametrize("values", [[1.5, None], [True, None], [3, None], [1.5, math.nan]])
def test_what_is_missing_is_nan(backend: Backend, values: list[Any]) -> None:
    expected = [[1.0, float(values[0])], [2.0, math.nan]]
    assert_reads(backend.frame({"a": [1, 2], "b": values}), expected)
    assert_reads(backend.frame({"b": values}), [row[1:] for row in expected])
    assert_reads(backend.frame({"b": [None, None]}), [[math.nan], [math.nan]])


@pytest.mark.parametrize("missing", [None, math.nan, np.float32("nan"), pd.NA, Decimal("nan")])
@pytest.mark.parametrize("dtype", ["object", "Int64", "Float64", "boolean", "float64"])
def test_what_is_missing_in_pandas_is_nan(dtype: str, missing: Any) -> None:
    column = pd.Series([1, None if dtype != "object" else missing], dtype=dtype)
    assert_reads(pd.DataFrame({"a": column}), [[1.0], [math.nan]])


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        (["1.5", "2.5"], "is the string '1.5': .*OneHotEncoder"),
        (["red", None], "is the string 'red': .*OneHotEncoder"),
        ([datetime.date(2024, 1, 1)] * 2, "is .*: features must be real numbers"),
        ([datetime.datetime(2024, 1, 1)] * 2, "is .*: features must be real numbers"),
        ([datetime.timedelta(1)] * 2, "is .*: features must be real numbers"),
        ([[1.0], [2.0]], r"is .*: features must be real numbers"),
    ],
    ids=["numeric strings", "strings", "dates", "times", "durations", "lists"],
)
def test_columns_that_are_not_numbers(backend: Backend, values: list[Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=rf"^feature 'b' {complaint}.* \(row 0 of the data frame"):
        read(backend.frame({"a": [1, 2], "b": values}))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "value",
    ["1.5", np.str_("1.5"), 1j, b"1", [1.0], math.inf, 1e51, 10**400],
    ids=lambda value: repr(value)[:20],
)
def test_a_bad_value_in_a_column_of_objects(value: Any) -> None:
    column = pd.Series([1.0, None, value], dtype=object)
    with pytest.raises(ValueError, match=r"^feature 'b' .*\(row 2 of the data frame\)$"):
        read(pd.DataFrame({"b": column}))


def test_categories_of_strings() -> None:
    for frame in (
        pd.DataFrame({"b": pd.Categorical(["1", "2"])}),
        pl.DataFrame({"b": pl.Series(["1", "2"], dtype=pl.Categorical)}),
        pa.table({"b": pa.array(["1", "2"]).dictionary_encode()}),
    ):
        with pytest.raises(ValueError, match="^feature 'b' is the string '1'"):
            read(frame)


@pytest.mark.parametrize("dtype", [float, object])
@pytest.mark.parametrize("names", [[0, 1], [1, 0], [(0, "a"), (0, "b")], [0, "a"]], ids=repr)
def test_columns_with_names_that_are_not_strings(names: list[Any], dtype: type) -> None:
    frame = pd.DataFrame([[1, 2], [3, 4], [5, 6]], dtype=dtype)
    frame.columns = pd.Index(names, tupleize_cols=False)
    assert_reads(frame, [[1, 2], [3, 4], [5, 6]])


def test_frames_without_rows(backend: Backend) -> None:
    assert read(backend.frame({"a": [], "b": []})).shape == (0, 2)


def test_frames_without_columns(backend: Backend) -> None:
    assert read(backend.frame({})).shape == (0, 0)
    assert read(pd.DataFrame(index=range(3))).shape == (3, 0)
