"""`Vectorizer` against a plain dict of positions; labels, weights and data frames."""

from __future__ import annotations

import collections
import datetime
import itertools
import math
import types
from collections.abc import Hashable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import Backend
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from river.utils import dataframe

import river_oauc
from river_oauc import acceleration
from river_oauc.encoding.frames import naming_the_row, read_features, read_labels, read_weights
from river_oauc.encoding.labels import parse_label, parse_weight
from river_oauc.encoding.vectorizer import Vectorizer
from river_oauc.limits import MAX_NORM
from river_oauc.state import StateReader

Names = list[list[Hashable]]

# Names of every kind, which cannot be sorted.
names = st.one_of(
    st.text(max_size=3),
    st.integers(-5, 5),
    st.none(),
    st.binary(max_size=2),
    st.tuples(st.integers(0, 3), st.text(max_size=1)),
)
batches_of_names = st.lists(st.lists(names, unique=True, max_size=12), max_size=5)
values = st.one_of(st.floats(-1e40, 1e40), st.integers(-(2**70), 2**70), st.booleans())

# The fixture chooses a path, and does not depend on the example.
both_paths = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(params=["compiled", "python"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Encode dicts with and without compiled code."""
    if request.param == "compiled" and not river_oauc.compiled:
        pytest.skip("there is no compiled code")
    if request.param == "python":
        monkeypatch.setattr(acceleration, "encode_dict", None)
    return request.param


def vectorizer_of(*batches: Any, **parameters: Any) -> Vectorizer:
    vectorizer = Vectorizer(**parameters)
    for batch in batches:
        vectorizer.extend(batch)
    return vectorizer


def encode_both(vectorizer: Vectorizer, x: Any) -> Iterator[np.ndarray | None]:
    """Yield the array for learning and for prediction, twice: some paths are for later calls."""
    for _ in range(2):
        yield vectorizer.encode(x)
        yield vectorizer.encode_known(x)


# Names and positions ---------------------------------------------------------------------------


@both_paths
@given(batches=batches_of_names, x=st.dictionaries(names, values), data=st.data())
def test_encoding_is_a_look_up_of_positions(path, batches, x, data):
    vectorizer = vectorizer_of(*batches)
    known = list(dict.fromkeys(name for batch in batches for name in batch))
    assert vectorizer.names == known and len(vectorizer) == len(known)
    assert vectorizer.size >= max(1, len(known))
    before = vectorizer.get_state()
    complete = {name: data.draw(values) for name in data.draw(st.permutations(known))}
    for record in (x, complete, {**complete, **x}):
        expected = np.zeros(vectorizer.size)
        for name, value in record.items():
            if name in known:
                expected[known.index(name)] = float(value)
        for array in encode_both(vectorizer, record):
            if array is None:
                assert not record.keys() <= set(known)
                continue
            assert array.dtype == np.float64 and array.flags.c_contiguous
            assert array.tolist() == expected.tolist()
        assert (vectorizer.encode(record) is None) == (not record.keys() <= set(known))
    assert vectorizer.get_state() == before
    decoded = vectorizer.decode(vectorizer.encode_known(complete))
    assert decoded == {name: float(complete[name]) for name in known}
    assert list(decoded) == known


@given(batches=batches_of_names, more=st.lists(names, unique=True))
def test_names_keep_their_positions_and_truncation_undoes_extension(batches, more):
    vectorizer = vectorizer_of(*batches)
    before, checkpoint = vectorizer.get_state(), vectorizer.checkpoint()
    n_names, size = checkpoint
    x = {name: 1.0 + i for i, name in enumerate(vectorizer.names)}
    array = vectorizer.encode(x)
    vectorizer.extend(more)
    vectorizer.extend(itertools.chain(*batches))
    longer = vectorizer.encode(x)
    assert longer[:size].tolist() == array.tolist() and not longer[size:].any()
    assert vectorizer.positions(x).tolist() == list(range(n_names))
    restored = Vectorizer()
    restored.set_state(StateReader(vectorizer.get_state(), "vectorizer"))
    assert restored.get_state() == vectorizer.get_state()
    vectorizer.truncate(checkpoint, size)
    assert vectorizer.get_state() == before
    assert vectorizer.encode(x).tolist() == array.tolist()


def test_late_names_make_arrays_longer_by_an_eighth():
    vectorizer, sizes = vectorizer_of(range(100)), set()
    assert vectorizer.size == 100
    for name in range(100, 2000):
        vectorizer.extend([name])
        assert name < vectorizer.size <= name + name // 8 + 1
        sizes.add(vectorizer.size)
    assert len(sizes) < 40


def test_no_more_names_than_allowed():
    vectorizer = vectorizer_of("abc", max_features=4)
    before = vectorizer.get_state()
    with pytest.raises(ValueError, match="there would be 5 features, and max_features is 4: "):
        vectorizer.extend("abde")
    assert vectorizer.get_state() == before
    vectorizer.extend("d")
    assert vectorizer.size == 4
    with pytest.raises(ValueError, match="there would be 5 features"):
        vectorizer.read_frame(dataframe.into_frame(pd.DataFrame({"e": [1.0]})), learning=True)


@pytest.mark.parametrize(
    "state",
    [
        {"names": ["a", "a"], "size": 2},
        {"names": ["a", "b"], "size": 1},
        {"names": [], "size": 0},
        {"names": "ab", "size": 2},
        {"names": ["a"]},
        {"names": ["a"], "size": 1, "more": 0},
    ],
)
def test_a_damaged_state_is_refused(state):
    with pytest.raises(ValueError, match="^the state of vectorizer is damaged: "):
        Vectorizer().set_state(StateReader(state, "vectorizer"))


# Values ----------------------------------------------------------------------------------------

# Records with all names, out of order, with one name, and with a new one.
RECORDS = (
    lambda value: {"a": 1.0, "b": value, "c": 3.0},
    lambda value: {"c": 3.0, "b": value, "a": 1.0},
    lambda value: {"b": value},
    lambda value: {"new": 1.0, "b": value},
    lambda value: {"a": 1.0, "b": value, "new": 3.0},
)
each_record = pytest.mark.parametrize("record", RECORDS)

NUMBERS = [2, True, np.int8(2), np.uint64(2), np.float16(2), np.bool_(True), Fraction(1, 3)]
NUMBERS += [Decimal("0.1"), np.longdouble(2), np.float64(2), -0.0, MAX_NORM / 2]

PROBLEMS = [
    ("red", "is the string 'red': .*RecordEncoder"),
    ("1.5", "is the string '1.5': .*RecordEncoder"),
    (np.str_("1"), "is the string .*RecordEncoder"),
    (None, "is None: .*StatImputer"),
    (math.inf, "is inf: .*scale or clip"),
    (-1e300, r"is -1e\+300: .*scale or clip"),
    (1.1e50, r"is 1.1e\+50: .*scale or clip"),
    (10**400, "is too large for a float"),
    (Fraction(10**400), "is too large for a float"),
    (1j, "is 1j, a complex: features must be real numbers"),
    (np.complex128(2), "is .*, a complex128: features must be real numbers"),
    (np.timedelta64(2, "s"), "is .*, a timedelta64: features must be real numbers"),
    ([1.0], r"is \[1.0\], a list: features must be real numbers"),
    (b"1", "is b'1', a bytes: features must be real numbers"),
]


@pytest.mark.parametrize("value", NUMBERS, ids=lambda value: type(value).__name__)
@each_record
def test_numbers_of_every_type(path, record, value):
    vectorizer = vectorizer_of("abc")
    for array in encode_both(vectorizer, record(value)):
        assert array is None or array[1] == float(value)


@pytest.mark.parametrize(("value", "problem"), PROBLEMS, ids=lambda each: repr(each)[:16])
@each_record
def test_other_values_are_refused(path, record, value, problem):
    vectorizer = vectorizer_of("abc")
    vectorizer.encode(RECORDS[0](1.0))
    before = vectorizer.get_state()
    for method in (vectorizer.encode, vectorizer.encode_known) * 2:
        with pytest.raises(ValueError, match=f"^feature 'b' {problem}"):
            method(record(value))
        with pytest.raises(ValueError, match="^feature 'newer' is the string"):
            method({**record(1.0), "newer": "red"})
    assert vectorizer.get_state() == before


@pytest.mark.parametrize("nan", [math.nan, np.float32("nan"), Decimal("nan")], ids=repr)
@each_record
def test_nan_is_refused_in_learning_and_absent_in_prediction(path, record, nan):
    vectorizer = vectorizer_of("abc")
    for _ in range(2):
        with pytest.raises(ValueError, match="^feature 'b' is NaN: .*scaler"):
            vectorizer.encode(record(nan))
        absent = vectorizer.encode_known(record(0.0)).tolist()
        assert vectorizer.encode_known(record(nan)).tolist() == absent


def test_norms_up_to_the_largest(path):
    vectorizer = vectorizer_of("ab")
    assert vectorizer.encode({"a": 0.0, "b": -MAX_NORM}).tolist() == [0.0, -MAX_NORM]
    for x in ({"a": MAX_NORM, "b": MAX_NORM}, {"a": MAX_NORM, "new": MAX_NORM}):
        for method in (vectorizer.encode, vectorizer.encode_known):
            with pytest.raises(ValueError, match=r"norm above 1e\+50.*StandardScaler"):
                method(x)


@pytest.mark.parametrize(
    "mapping",
    [
        collections.OrderedDict,
        collections.Counter,
        lambda x: collections.defaultdict(lambda: 7.0, x),
        types.MappingProxyType,
    ],
    ids=["OrderedDict", "Counter", "defaultdict", "MappingProxyType"],
)
@pytest.mark.parametrize("x", [{}, {"a": 1.0}, {"a": 1.0, "b": 2.0}, {"a": 1.0, "d": 4.0}])
def test_any_mapping(path, mapping, x):
    """Some mappings have a value for names that they do not hold, or even add them."""
    vectorizer = vectorizer_of("ab")
    vectorizer.encode({"a": 1.0, "b": 2.0})
    record = mapping(x)
    for array in encode_both(vectorizer, record):
        assert array is None or array.tolist() == [x.get("a", 0), x.get("b", 0)]
    assert (vectorizer.encode(record) is None) == ("d" in x)
    assert dict(record) == x


@pytest.mark.parametrize("x", [None, [("a", 1.0)], "ab", 3, np.zeros(2)], ids=repr)
def test_other_records_are_refused(path, x):
    for method in (vectorizer_of("ab").encode, vectorizer_of("ab").encode_known):
        with pytest.raises(ValueError, match="they must be a dict of names and values"):
            method(x)


def test_equal_names_are_one_name(path):
    class Name(str):
        pass

    vectorizer = vectorizer_of([1, "a"])
    for x in ({1.0: 5.0, Name("a"): 6.0}, {True: 5.0, np.str_("a"): 6.0}):
        for array in encode_both(vectorizer, x):
            assert array.tolist() == [5.0, 6.0]


def test_an_array_may_be_changed_and_kept(path):
    vectorizer = vectorizer_of("ab")
    for x in ({"a": 1.0, "b": 2.0}, {"b": 2.0}, {}):
        arrays = list(encode_both(vectorizer, x))
        expected = arrays[0].tolist()
        arrays[0][:] = 9.0
        assert all(array.tolist() == expected for array in arrays[1:])


# Labels and weights ----------------------------------------------------------------------------


@pytest.mark.parametrize("y", [True, 1, 1.0, np.bool_(True), np.int8(1), np.float32(1)])
def test_positive_labels(y):
    assert parse_label(y) is True


@pytest.mark.parametrize("y", [False, 0, -1, -0.0, -1.0, np.bool_(False), np.int64(-1)])
def test_negative_labels(y):
    assert parse_label(y) is False


@pytest.mark.parametrize("y", [None, 2, 0.5, math.nan, 1j, b"1", [], pd.NA, "spam", "1", "it's"])
def test_a_refused_label_says_what_to_write(y):
    with pytest.raises(ValueError) as refusal:
        parse_label(y)
    assert str(refusal.value) == (
        f"the label is {y!r}: labels must be booleans, 0 and 1, or -1 and 1; say which class is to "
        f"rank high by writing, for instance, y == {y if isinstance(y, str) else 'fraud'!r}"
    )


@pytest.mark.parametrize("w", [0, 1, 2.5, np.float32(0.5), Fraction(1, 2), 1e50, 1e-50, -0.0])
def test_weights_become_floats(w):
    assert type(parse_weight(w)) is float and parse_weight(w) == w


@pytest.mark.parametrize("w", [-1, 1e-51, 1e51, 10**400, math.nan, math.inf, "1", None, 1j, pd.NA])
def test_other_weights_are_refused(w):
    with pytest.raises(ValueError, match=r"^the weight is .*: it must be 0, or .* to 1e\+50"):
        parse_weight(w)


ODD_LABELS = [
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
]


@pytest.mark.parametrize("y", ODD_LABELS, ids=lambda y: str(getattr(y, "dtype", "pyarrow")))
def test_labels_of_every_type(y):
    parsed, _ = read_labels(y, 2)
    assert parsed.dtype == bool and parsed.tolist() == [True, False]


def test_series_of_labels_and_weights(backend: Backend):
    for series in ([True, False], [1, 0], [1, -1], [1.0, -1.0]):
        assert read_labels(backend.series(series), 2)[0].tolist() == [True, False]
    for series in ([0, 3], [0.0, 3.0]):
        assert read_weights(backend.series(series), 2).tolist() == [0.0, 3.0]
    assert read_weights(np.float32(0.5), 3).tolist() == [0.5] * 3
    for label in ("fraud", None, 2):
        with pytest.raises(ValueError, match=rf"^the label is {label!r}: .* \(row 0 of the data"):
            read_labels(backend.series([label, label]), 2)
    for weight in (-1.0, math.nan, 1e51, None):
        with pytest.raises(ValueError, match=r"^the weight is .* \(row 1 of the data frame\)$"):
            read_weights(backend.series([1.0, weight]), 2)
    for n_rows in (0, 1, 3):
        with pytest.raises(ValueError, match=f"^y has 2 values for the {n_rows} rows of X$"):
            read_labels(backend.series([True, False]), n_rows)
        with pytest.raises(ValueError, match=f"^w has 2 values for the {n_rows} rows of X$"):
            read_weights(backend.series([1.0, 2.0]), n_rows)


# Data frames -----------------------------------------------------------------------------------


def assert_reads(native: Any, expected: list[list[float]]) -> None:
    matrix = read_features(dataframe.into_frame(native))
    assert matrix.dtype == np.float64
    np.testing.assert_array_equal(matrix, np.array(expected, float))


COLUMNS = {
    **{f"pandas {t}": pd.Series([1, 2], dtype=t) for t in ("int8", "float16", "Int64", "Float32")},
    "pandas int64[pyarrow]": pd.Series([1, 2], dtype="int64[pyarrow]"),
    "pandas longdouble": pd.Series([1, 2], dtype=np.longdouble),
    "pandas object": pd.Series([Fraction(1), Decimal(2)], dtype=object),
    "pandas sparse": pd.Series(pd.arrays.SparseArray([1, 2])),
    "pandas categorical": pd.Series(pd.Categorical([1, 2])),
    "polars UInt64": pl.Series([1, 2], dtype=pl.UInt64),
    "polars Decimal": pl.Series([1, 2], dtype=pl.Decimal(10, 2)),
    "polars Object": pl.Series([Fraction(1), Decimal(2)], dtype=pl.Object),
    "pyarrow float16": pa.array(np.array([1, 2], np.float16)),
    "pyarrow decimal": pa.array([Decimal(1), Decimal(2)]),
    "pyarrow chunks": pa.chunked_array([[1], [], [2]], pa.int64()),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_of_every_type(kind):
    frame = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[kind.split()[0]]
    assert_reads(frame({"a": COLUMNS[kind]}), [[1], [2]])
    assert_reads(frame({"a": COLUMNS[kind], "b": [True, False]}), [[1, 1], [2, 0]])


@pytest.mark.parametrize("column", [[1.5, None], [True, None], [3, None], [1.5, math.nan]])
def test_missing_values_of_frames_are_nan(backend: Backend, column):
    expected = [[1.0, float(column[0])], [2.0, math.nan]]
    assert_reads(backend.frame({"a": [1, 2], "b": column}), expected)
    assert_reads(backend.frame({"b": [None, None]}), [[math.nan], [math.nan]])


def test_missing_values_in_columns_of_objects():
    for missing in (None, math.nan, pd.NA, pd.NaT, Decimal("nan")):
        assert_reads(pd.DataFrame({"a": pd.Series([1, missing], dtype=object)}), [[1], [math.nan]])


@pytest.mark.parametrize(
    "column",
    [["1.5", "2.5"], ["red", None], [datetime.date(2024, 1, 1)] * 2, [[1.0], [2.0]]],
    ids=["numeric strings", "strings", "dates", "lists"],
)
def test_columns_that_are_not_numbers_are_refused(backend: Backend, column):
    frame = dataframe.into_frame(backend.frame({"a": [1, 2], "b": column}))
    with pytest.raises(ValueError, match=r"^feature 'b' is .* \(row 0 of the data frame"):
        read_features(frame)


@pytest.mark.parametrize("value", ["1.5", 1j, b"1", [1.0], 1e51, 10**400], ids=str)
def test_a_bad_value_in_a_column_of_objects_is_refused(value):
    frame = dataframe.into_frame(pd.DataFrame({"b": pd.Series([1.0, None, value], dtype=object)}))
    with pytest.raises(ValueError, match=r"^feature 'b' .*\(row 2 of the data frame\)$"):
        read_features(frame)


def test_names_of_columns_may_be_anything_and_frames_may_be_empty(backend: Backend):
    frame = pd.DataFrame([[1, 2], [3, 4]])
    for columns in ([1, 0], [(0, "a"), (0, "b")], [0, "a"]):
        frame.columns = pd.Index(columns, tupleize_cols=False)
        assert_reads(frame, [[1, 2], [3, 4]])
    assert read_features(dataframe.into_frame(backend.frame({"a": [], "b": []}))).shape == (0, 2)
    assert read_features(dataframe.into_frame(backend.frame({}))).shape == (0, 0)
    assert read_features(dataframe.into_frame(pd.DataFrame(index=range(3)))).shape == (3, 0)


def test_rows_are_encoded_like_dicts(backend: Backend):
    vectorizer = vectorizer_of("abc")
    columns = {"c": [1.0, 2.0], "new": [3.0, 4.0], "a": [5, 6]}
    rows = vectorizer.read_frame(dataframe.into_frame(backend.frame(columns)), learning=True)
    records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    assert rows.encode(vectorizer, 0) is None and list(rows.names_in(vectorizer, 0)) == list(
        columns
    )
    for record, array in zip(records, rows.encode_known(vectorizer), strict=True):
        assert array.tolist() == vectorizer.encode_known(record).tolist()
    vectorizer.extend(columns)
    for i, record in enumerate(records):
        assert rows.encode(vectorizer, i).tolist() == vectorizer.encode(record).tolist()


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (math.nan, "feature 'b' is NaN: .*scaler"),
        (-1e200, r"feature 'b' is -1e\+200: "),
        (1e50, "the features have a norm above"),
    ],
)
def test_the_first_bad_row_is_named(value, complaint):
    matrix = [[1.0, 2.0], [1e50, 0.0], [1e50, value], [math.nan, math.nan]]
    frame = dataframe.into_frame(pd.DataFrame(matrix, columns=["a", "b"]))
    with pytest.raises(ValueError, match=rf"^{complaint}.*\(row 2 of the data frame\)$"):
        Vectorizer().read_frame(frame, learning=True)


def test_missing_values_of_frames_are_absent_unknown_or_refused():
    frame = dataframe.into_frame(pd.DataFrame({"a": [1.0, math.nan]}))
    vectorizer = vectorizer_of("a")
    rows = vectorizer.read_frame(frame, learning=False)
    assert [*rows.encode_known(vectorizer)] == [1.0, 0.0]


def test_an_exception_names_the_row():
    with pytest.raises(ValueError, match=r"^bad \(row 0 of the data frame; no row has been"):
        with naming_the_row(9):
            raise ValueError("bad")
    with pytest.raises(KeyboardInterrupt) as interrupt, naming_the_row(9) as counter:
        counter.row = 4
        raise KeyboardInterrupt
    assert interrupt.value.__notes__ == ["learn_many was in row 4 of 9"]
