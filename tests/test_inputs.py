"""Every kind of input, tried once per encoding: labels, weights, values, names, data frames."""

from __future__ import annotations

import collections
import copy
import inspect
import math
import pickle
import random
import re
import sys
import types
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from classifiers import (
    CLASSIFIERS,
    ENCODINGS,
    PROBES,
    STREAM,
    TAKE_RECORDS,
    Factory,
    assert_close,
    assert_finite,
    each_class,
    each_encoding,
    learn,
    learned_state,
    make_case,
    models_at_all_stages,
    scores,
    state,
)
from conftest import Backend
from river import linear_model, optim, preprocessing

from river_oauc import KOIL, OAM, OAUCM, OAUCS, OKAUCM, OKAUCS, OLUBAUC, OTAUC, PAI, AutoOAUC
from river_oauc.classifier import OnlineAUCClassifier


def assert_refused(
    model: OnlineAUCClassifier, match: str, request: Callable[..., Any], *args: Any
) -> None:
    """Check that a request is a ValueError with a short message, and changes nothing."""
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=match) as refusal:
        request(*args)
    assert len(str(refusal.value)) < 400
    assert pickle.dumps(model) == before


# Labels and weights ----------------------------------------------------------------------------

LABEL_KINDS = [
    (np.bool_(False), np.bool_(True)),
    (0, 1),
    (-1, 1),
    (0.0, 1.0),
    (-1.0, 1.0),
    (np.int8(-1), np.int8(1)),
    (np.uint8(0), np.uint8(1)),
    (np.float32(-1), np.float32(1)),
]
REFUSED_LABELS = ["fraud", "1", np.str_("1"), None, 2, -2, 0.5, math.nan, math.inf, 1j, [1], pd.NA]


@pytest.mark.parametrize("kind", LABEL_KINDS, ids=repr)
def test_labels_of_every_kind_are_equal_in_effect(kind: tuple[Any, Any]) -> None:
    model = learn(OAUCM(), [(x, kind[y]) for x, y in STREAM])
    assert state(model) == state(learn(OAUCM(), STREAM))


@pytest.mark.parametrize("label", REFUSED_LABELS, ids=repr)
@each_encoding
def test_other_labels_are_refused(make: Factory, label: Any) -> None:
    named = re.escape(f"the label is {label!r}") + ".*y == "
    X = pd.DataFrame([{**x, "new": 1.0} for x in PROBES[:3]])
    y = pd.Series([True, False, label], dtype=object)
    for model in models_at_all_stages(make):
        for x in (PROBES[0], {**PROBES[0], "new": 1.0}, {}):
            assert_refused(model, named, model.learn_one, x, label)
        assert_refused(model, re.escape(repr(label)), model.learn_many, X, y)


@pytest.mark.parametrize("label", [2, 0.5, math.nan], ids=repr)
def test_other_numbers_in_a_series_of_labels_are_refused(backend: Backend, label: float) -> None:
    y = backend.series([type(label)(0), label, type(label)(1)])
    X, model = backend.frame({"x0": [1.0, 2.0, 3.0]}), OAUCM()
    assert_refused(model, f"the label is {label!r}.*row 1", model.learn_many, X, y)


def test_weights_of_every_kind_are_equal_in_effect() -> None:
    for kinds in ((1.0, 1, True, np.float32(1), Fraction(1)), (2.0, 2, np.int8(2), Fraction(2))):
        models = []
        for w in kinds:
            models.append(OAUCM())
            for x, y in STREAM:
                models[-1].learn_one(x, y, w)
        assert all(state(model) == state(models[0]) for model in models)


@pytest.mark.parametrize(
    "w", [-1, -1e-9, 1e-51, 1e51, math.nan, math.inf, "1", None, 1j, [1.0], 10**400],
    ids=lambda w: repr(w)[:10],
)  # fmt: skip
def test_other_weights_are_refused(w: Any) -> None:
    X, y = pd.DataFrame(PROBES[:3]), pd.Series([True, False, True])
    for model in models_at_all_stages(OAUCM):
        for x in (PROBES[0], {**PROBES[0], "new": 1.0}):
            assert_refused(model, "the weight is", model.learn_one, x, True, w)
        weights = pd.Series([1.0, 1.0, w], dtype=object)
        assert_refused(model, "the weight is", model.learn_many, X, y, weights)


@pytest.mark.parametrize("w", [1.0, 2, 0.5, np.float32(0.5)], ids=repr)
def test_one_weight_for_a_whole_frame(backend: Backend, w: float) -> None:
    many, one = OAUCM(), OAUCM()
    X = {name: [x[name] for x, _ in STREAM] for name in STREAM[0][0]}
    many.learn_many(backend.frame(X), backend.series([y for _, y in STREAM]), w)
    for x, y in STREAM:
        one.learn_one(x, y, w)
    assert learned_state(many) == learned_state(one)


@pytest.mark.parametrize("w", [1e-50, 1e50])
def test_the_smallest_and_the_largest_weight(backend: Backend, w: float) -> None:
    (x, y), *_ = STREAM
    many, one = OAUCM(), OAUCM()
    frame = backend.frame({name: [value] for name, value in x.items()})
    many.learn_many(frame, backend.series([y]), backend.series([w]))
    one.learn_one(x, y, w)
    assert learned_state(many) == learned_state(one)


# Values ----------------------------------------------------------------------------------------

NUMBERS: list[Callable[[int], Any]] = [
    bool,
    float,
    lambda value: np.bool_(bool(value)),
    np.int8,
    np.int64,
    np.float16,
    np.float32,
    np.float64,
    np.longdouble,
    Fraction,
    Decimal,
]
REFUSED = {
    "string": "red",
    "numeric string": "1.5",
    "numpy string": np.str_("1.5"),
    "empty string": "",
    "bytes": b"1.5",
    "None": None,
    "nan": math.nan,
    "float32 nan": np.float32("nan"),
    "Decimal nan": Decimal("nan"),
    "inf": math.inf,
    "-inf": -math.inf,
    "1e200": 1e200,
    "10**400": 10**400,
    "complex": 1j,
    "complex64": np.complex64(1),
    "timedelta": np.timedelta64(5, "s"),
    "list": [1.0],
    "dict": {},
    "array": np.array([1.0, 2.0]),
    "NA": pd.NA,
}
NANS = {"nan", "float32 nan", "Decimal nan"}
UNKNOWN = {"None", "NA", *NANS}
# What raw records may have: unknown values, categories, and durations in seconds.
TAKEN = {*UNKNOWN, *(kind for kind in REFUSED if "string" in kind), "bytes", "timedelta"}
ADVICE = {
    "string": "RecordEncoder",
    "None": "StatImputer",
    "nan": "the scaler has seen a NaN",
    "inf": "scale or clip",
    "1e200": "scale or clip",
    "10**400": "too large",
    "timedelta": "must be real numbers",
}
RECORD_ADVICE = {
    **dict.fromkeys(("inf", "-inf", "1e200", "10**400"), r"must be within ±1e\+50; clip it"),
    **dict.fromkeys(("complex", "complex64"), "must be a real number, a string or"),
    **dict.fromkeys(("list", "dict", "array"), "give each of its elements a name"),
}

# numpy converts some of these with no more than a warning: they are refused all the same.
each_refused = pytest.mark.parametrize("kind", REFUSED)
quiet = pytest.mark.filterwarnings("ignore")


def is_refused(make: Factory, kind: str, learning: bool) -> bool:
    """Return whether a classifier refuses a kind of value."""
    if isinstance(make(), TAKE_RECORDS):
        return kind not in TAKEN
    return learning or kind not in NANS


def spoiled(value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield records with a value that is to be refused, and the name of its feature."""
    x = PROBES[0]
    yield "x1", {**x, "x1": value}
    yield "x1", {"x1": value}
    yield "x3", {"new": 1.0, **x, "x3": value}
    yield "new", {**x, "new": value}
    yield "new", {"new": value}


@pytest.mark.parametrize("convert", NUMBERS)
@each_encoding
def test_numbers_of_every_kind_are_equal_in_effect(
    make: Factory, convert: Callable[[int], Any]
) -> None:
    bits = [({name: int(value > 0) for name, value in x.items()}, y) for x, y in STREAM]
    model = learn(make(), [({k: convert(v) for k, v in x.items()}, y) for x, y in bits])
    twin = learn(make(), bits)
    # A boolean is no category; and two categories of whole numbers are none.
    if isinstance(model, TAKE_RECORDS) and isinstance(convert(1), bool | np.bool_):
        assert scores(model) == scores(twin)
    else:
        assert state(model) == state(twin)
    x = bits[0][0]
    assert model.score_one({k: convert(v) for k, v in x.items()}) == model.score_one(x)


@quiet
@each_refused
@each_encoding
def test_other_values_are_refused(make: Factory, kind: str) -> None:
    if not is_refused(make, kind, learning=True):
        pytest.skip("this encoding takes it")
    advice = (RECORD_ADVICE if isinstance(make(), TAKE_RECORDS) else ADVICE).get(kind, "")
    for model in models_at_all_stages(make):
        for name, x in spoiled(REFUSED[kind]):
            named = f"^feature {name!r} is .*{advice}"
            assert_refused(model, named, model.learn_one, x, True)
            assert_refused(model, named, model.learn_one, x, False, 0.0)


@quiet
@each_refused
@each_encoding
def test_other_values_are_refused_in_predictions(make: Factory, kind: str) -> None:
    if not is_refused(make, kind, learning=False):
        pytest.skip("this encoding takes it")
    for model in models_at_all_stages(make):
        for name, x in spoiled(REFUSED[kind]):
            for predict in (model.predict_proba_one, model.predict_one, model.score_one):
                assert_refused(model, f"^feature {name!r} is ", predict, x)


@quiet
@each_refused
@each_encoding
def test_other_values_in_a_frame_are_refused_with_their_row(make: Factory, kind: str) -> None:
    """And the rows before them are not learned either."""
    if not is_refused(make, kind, learning=True):
        pytest.skip("this encoding takes it")
    column = pd.Series([1.0, 2.0, REFUSED[kind], REFUSED[kind]], dtype=object)
    X = pd.DataFrame({"new": [1.0] * 4, "x1": column, "x0": [0.0] * 4})
    y = pd.Series([True, False, True, False])
    for model in models_at_all_stages(make):
        assert_refused(model, "^feature 'x1' is .*row 2", model.learn_many, X, y)


@pytest.mark.parametrize("cls", TAKE_RECORDS)
@pytest.mark.parametrize("kind", sorted(UNKNOWN))
def test_unknown_values_are_equal_in_effect(kind: str, cls: type[OnlineAUCClassifier]) -> None:
    for model in models_at_all_stages(cls):
        twin = copy.deepcopy(model)
        for name, x in spoiled(REFUSED[kind]):
            nan = {**x, name: math.nan}
            assert model.score_one(x) == twin.score_one(nan)
            model.learn_one(x, True)
            twin.learn_one(nan, True)
        assert state(model) == state(twin)


def test_an_error_names_the_value_that_is_to_blame_and_not_an_unknown_one() -> None:
    model = learn(AutoOAUC(), STREAM)
    for missing in (None, math.nan, "red"):
        for value in (math.inf, 1j, [1.0]):
            x = {**PROBES[0], "x1": missing, "x2": value}
            assert_refused(model, "^feature 'x2' is", model.learn_one, x, True)
            assert_refused(model, "^feature 'x2' is", model.predict_proba_one, x)


@each_class
def test_features_too_large_together_are_refused(cls: type[OnlineAUCClassifier]) -> None:
    for model in models_at_all_stages(lambda: make_case(cls)):
        for x in (dict.fromkeys(PROBES[0], 8e49), {"new": 8e49, "newer": -8e49}):
            if issubclass(cls, TAKE_RECORDS):
                # They have units of their own.
                assert 0.0 <= learn(model, [(x, True)]).predict_proba_one(x)[True] <= 1.0
                assert_finite(model)
                continue
            assert_refused(model, "norm", model.learn_one, x, True)
            assert_refused(model, "norm", model.predict_proba_one, x)


def test_a_scaler_that_has_seen_a_nan_is_named() -> None:
    """river's scaler then has NaN for ever, and river's imputer fills None only."""
    model = preprocessing.StandardScaler() | OAUCM()
    learn(model, [({"a": float(i)}, i % 2 == 0) for i in range(5)])
    for value in (math.nan, 1.0):
        with pytest.raises(ValueError, match="'a' is NaN: .*the scaler has seen a NaN") as refusal:
            model.learn_one({"a": value}, True)
        assert "StatImputer" not in str(refusal.value)


@pytest.mark.parametrize("long", ["x" * 2**20, b"x" * 2**20, list(range(2**17))], ids=type)
def test_a_value_of_a_megabyte_is_cut_in_the_message(long: Any) -> None:
    for request in (
        lambda: OAUCM().learn_one({"a": long}, True),
        lambda: OAUCM().learn_one({"a": 1.0}, long),
        lambda: OAUCM().learn_one({"a": 1.0}, True, w=long),
        lambda: OAUCM().learn_one(long, True),
        lambda: OAUCM().learn_one({str(long): math.nan}, True),
    ):
        assert_refused(OAUCM(), " (is|are) ", request)


# Records ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "x",
    [pd.Series({"a": 1.0, "b": 2.0}), [1.0, 2.0], None, 3.0, np.zeros(2), "ab", {1.0, 2.0}],
    ids=lambda x: type(x).__name__,
)
@each_encoding
def test_features_must_be_a_mapping(make: Factory, x: Any) -> None:
    model = learn(make(), STREAM)
    for ask in (model.predict_proba_one, model.score_one, lambda x: model.learn_one(x, True)):
        match = f"a {type(x).__name__}: they must be a dict"
        assert_refused(model, match, ask, x)


@pytest.mark.parametrize(
    "mapping",
    [
        collections.OrderedDict,
        collections.Counter,
        lambda x: collections.defaultdict(float, x),
        collections.ChainMap,
        types.MappingProxyType,
    ],
    ids=["OrderedDict", "Counter", "defaultdict", "ChainMap", "MappingProxyType"],
)
@each_encoding
def test_an_example_may_be_any_mapping(make: Factory, mapping: Callable[..., Any]) -> None:
    """As many new names as there are old ones must not be taken for the old ones."""
    stream = [({"a": 1, "b": 2}, True), ({"a": 2, "b": 1}, False), ({"c": 5, "d": 3}, True)]
    stream += [({"a": 2, "b": 1, "c": 1, "e": 4}, False)]
    model = make()
    for x, y in stream:
        given = mapping(x)
        model.score_one(given)
        model.learn_one(given, y)
        assert dict(given) == x
    assert state(model) == state(learn(make(), stream))


@pytest.mark.parametrize(
    "names",
    [
        [0, 1, 2, 3],
        [(0, "a"), (1, "b"), (0, "c"), (2,)],
        [0, "a", (1, 2), None],
        [frozenset({3}), 1.5, b"x", ("b", None)],
        [np.int64(7), np.str_("s"), np.float64(0.5), Decimal(2)],
    ],
    ids=["ints", "tuples", "mixed", "more mixed", "numpy"],
)
@each_encoding
def test_names_are_any_hashable(make: Factory, names: list[Any]) -> None:
    def renamed(x: dict[str, float]) -> dict[Any, float]:
        return dict(zip(names, x.values(), strict=True))

    model = learn(make(), [(renamed(x), y) for x, y in STREAM])
    # Trees draw features, and break ties, by position, so the order of the columns has influence.
    if len({*map(type, names)}) == 1 or not isinstance(model, AutoOAUC | OTAUC):
        assert_close(scores(model, map(renamed, PROBES)), scores(learn(make(), STREAM)))
    with pytest.raises(ValueError, match=re.escape(f"feature {names[1]!r} is")):
        model.learn_one({names[0]: 1.0, names[1]: math.inf}, True)


# Data frames -----------------------------------------------------------------------------------


def frames_of_odd_types() -> dict[str, Any]:
    """Return frames of the same few integers, so that every type can hold them."""
    rng = random.Random(4)
    a, b, c = ([rng.choice(values) for _ in range(30)] for values in ([-2, 1], [0, 1], [-1, 2]))
    bits, decimals = [bool(value) for value in b], [Decimal(value) for value in a]
    table = pa.table({"a": a, "b": bits, "c": c})
    return {
        "int, bool, float32": pd.DataFrame({"a": a, "b": bits, "c": np.array(c, np.float32)}),
        "int8, uint64, float16": pd.DataFrame(
            {"a": np.array(a, np.int8), "b": np.array(b, np.uint64), "c": np.array(c, np.float16)}
        ),
        "nullable": pd.DataFrame(
            {
                "a": pd.array(a, "Int64"),
                "b": pd.array(bits, "boolean"),
                "c": pd.array(c, "Float32"),
            }
        ),
        "pandas on arrow": pd.DataFrame(
            {"a": pd.array(a, "int64[pyarrow]"), "b": pd.array(bits, "bool[pyarrow]"), "c": c}
        ),
        "object": pd.DataFrame({"a": decimals, "b": bits, "c": c}, dtype=object),
        "object and float": pd.DataFrame(
            {"a": pd.Series(decimals, dtype=object), "b": bits, "c": np.array(c, float)}
        ),
        "sparse": pd.DataFrame(
            {"a": pd.arrays.SparseArray(a), "b": bits, "c": pd.arrays.SparseArray(c, dtype=float)}
        ),
        "categorical": pd.DataFrame({"a": pd.Categorical(a), "b": bits, "c": c}),
        "polars": pl.DataFrame({"a": a, "b": bits, "c": [float(v) for v in c]}),
        "polars int8, uint64, float32": pl.DataFrame(
            {"a": a, "b": b, "c": c}, schema={"a": pl.Int8, "b": pl.UInt64, "c": pl.Float32}
        ),
        "polars decimal": pl.DataFrame({"a": decimals, "b": bits, "c": c}),
        "polars object": pl.DataFrame(
            {"a": [Fraction(v) for v in a], "b": bits, "c": c},
            schema_overrides={"a": pl.Object},
        ),
        "pyarrow": table,
        "pyarrow int8, bool, float32": pa.table(
            {"a": pa.array(a, pa.int8()), "b": bits, "c": pa.array(c, pa.float32())}
        ),
        "pyarrow decimal": pa.table({"a": decimals, "b": bits, "c": c}),
        "pyarrow in pieces": pa.concat_tables(
            table.slice(start, length) for start, length in ((0, 7), (7, 0), (7, 23))
        ),
    }


@pytest.mark.parametrize("kind", frames_of_odd_types())
@each_encoding
def test_columns_of_any_numeric_type(make: Factory, kind: str) -> None:
    frames = frames_of_odd_types()
    X, plain = frames[kind], frames["int, bool, float32"].to_dict("records")
    if "uint64" in kind:
        # Not booleans, which are no categories.
        plain = [{**x, "b": int(x["b"])} for x in plain]
    y = pd.Series([i % 3 == 0 for i in range(len(plain))])
    many = make()
    many.learn_many(X, y)
    one = learn(make(), zip(plain, y, strict=True))
    assert learned_state(many) == learned_state(one)
    assert np.asarray(many.score_many(X)).tolist() == [one.score_one(x) for x in plain]


@pytest.mark.parametrize("missing", [None, math.nan, pd.NA], ids=repr)
@pytest.mark.parametrize("dtype", ["object", "Int64", "Float64", "boolean"])
@each_encoding
def test_missing_values_in_a_frame(make: Factory, dtype: str, missing: Any) -> None:
    """They are absent or unknown in predictions, and refused in learning unless unknown is fine."""
    model = learn(make(), STREAM)
    takes = isinstance(model, TAKE_RECORDS)
    column = pd.Series([1, missing], dtype=object).astype(dtype)
    X, y = pd.DataFrame({"x0": [1.0, 1.0], "x1": column}), pd.Series([True, False])
    row = {"x0": 1.0, "x1": None} if takes else {"x0": 1.0}
    assert model.score_many(X)[1] == model.score_one(row)
    if not takes:
        assert_refused(model, "^feature 'x1' is .*row 1", model.learn_many, X, y)
    else:
        twin = learn(copy.deepcopy(model), [({"x0": 1.0, "x1": 1}, True), (row, False)])
        model.learn_many(X, y)
        assert learned_state(model) == learned_state(twin)


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e200, None, "1.5"], ids=repr)
def test_refused_values_in_frames_of_every_library(backend: Backend, value: Any) -> None:
    column = ["1.0", value, "3.0"] if value == "1.5" else [1.0, value, 3.0]
    X = backend.frame({"x0": [1.0, 2.0, 3.0], "x1": column, "new": [1, 2, 3]})
    y, row = backend.series([True, False, True]), 0 if value == "1.5" else 1
    named = f"^feature 'x1' is .*row {row}"
    for model in models_at_all_stages(OAUCM):
        assert_refused(model, named, model.learn_many, X, y)
        if value is not None and value == value:
            for predict in (model.predict_proba_many, model.predict_many, model.score_many):
                assert_refused(model, named, predict, X)


@each_encoding
def test_frames_without_rows_or_columns(make: Factory, backend: Backend) -> None:
    y = backend.series([])
    for model in models_at_all_stages(make):
        before = learned_state(model)
        for X in (backend.frame({"new": [], "x0": []}), backend.frame({})):
            model.learn_many(X, y)
            model.learn_many(X, y, y)
            assert learned_state(model) == before
            assert len(model.predict_many(X)) == len(model.predict_proba_many(X)) == 0


def test_wrong_lengths_are_refused(backend: Backend) -> None:
    X = backend.frame({"x0": [1.0, 2.0], "new": [1.0, 2.0]})
    model, two, three = learn(OAUCM(), STREAM), [True, False], [True, False, True]
    y, w = backend.series(three), backend.series([1.0, 1.0, 1.0])
    assert_refused(model, "y has 3 values for the 2 rows", model.learn_many, X, y)
    y = backend.series(two)
    assert_refused(model, "w has 3 values for the 2 rows", model.learn_many, X, y, w)


@each_encoding
def test_frames_are_left_as_they_were(make: Factory, backend: Backend) -> None:
    X = backend.frame({name: [x[name] for x, _ in STREAM] for name in STREAM[0][0]})
    y = backend.series([y for _, y in STREAM])
    X_before, y_before = copy.deepcopy(X), copy.deepcopy(y)
    model = make()
    model.learn_many(X, y)
    model.predict_many(X)
    assert X.equals(X_before) and y.equals(y_before)


def test_one_hot_columns_of_river() -> None:
    """river's encoder emits frames of sparse columns."""
    rng = random.Random(3)
    rows = pd.DataFrame([{"a": rng.choice("abc"), "b": rng.choice("xyz")} for _ in range(40)])
    encoder = preprocessing.OneHotEncoder()
    encoder.learn_many(rows)
    X, y = encoder.transform_many(rows), pd.Series((rows["a"] == "a").tolist())
    many = OAUCM()
    many.learn_many(X, y)
    assert learned_state(many) == learned_state(
        learn(OAUCM(), zip(X.to_dict("records"), y, strict=True))
    )


def conventions(result: Any) -> tuple[Any, ...]:
    """Return everything about a frame or a series but its values."""
    match result:
        case pd.DataFrame():
            return "frame", list(result.columns), list(result.dtypes), result.index.tolist()
        case pd.Series():
            return "series", result.name, result.dtype, result.index.tolist()
        case pl.DataFrame():
            return "polars frame", result.schema, len(result)
        case pl.Series():
            return "polars series", result.name, result.dtype, len(result)
        case pa.Table():
            return "table", result.schema, len(result)
        case pa.ChunkedArray():
            return "chunked array", result.type, len(result)
    raise TypeError(type(result))


COLUMNS, LABELS = {"x0": [1.0, -1.0, 2.0], "x1": [0.0, 1.0, 1.0]}, [True, False, True]
BATCHES = {
    "pandas": (pd.DataFrame(COLUMNS), pd.Series(LABELS, name="target")),
    "pandas, unnamed": (pd.DataFrame(COLUMNS), pd.Series(LABELS)),
    "pandas, name is a number": (pd.DataFrame(COLUMNS), pd.Series(LABELS, name=3)),
    "pandas, index of strings": (
        pd.DataFrame(COLUMNS, index=list("abc")),
        pd.Series(LABELS, index=list("abc"), name="target"),
    ),
    "pandas, columns are numbers": (
        pd.DataFrame(np.array([[1.0, 2.0], [0.0, 1.0], [1.0, 1.0]])),
        pd.Series(LABELS),
    ),
    "polars": (pl.DataFrame(COLUMNS), pl.Series("target", LABELS)),
    "polars, unnamed": (pl.DataFrame(COLUMNS), pl.Series(LABELS)),
    "pyarrow": (pa.table(COLUMNS), pa.chunked_array([LABELS])),
}


@pytest.mark.parametrize("kind", BATCHES)
@each_encoding
def test_conventions_are_those_of_logistic_regression(make: Factory, kind: str) -> None:
    X, y = BATCHES[kind]
    model, theirs = make(), linear_model.LogisticRegression()
    for _ in range(2):
        for frame in (X, X[:0]):
            assert conventions(model.predict_proba_many(frame)) == conventions(
                theirs.predict_proba_many(frame)
            )
            labels = conventions(model.predict_many(frame))
            assert labels == conventions(theirs.predict_many(frame))
            found = conventions(model.score_many(frame))
            assert (found[0], found[-1]) == (labels[0], labels[-1])
        model.learn_many(X, y)
        theirs.learn_many(X, y)


def test_a_refused_row_says_what_has_been_learned() -> None:
    X, y = pd.DataFrame({"a": [1.0, 0.0, 1e40, 1.0]}), pd.Series([True, False, True, False])
    model = OAUCS(lr=1e30)
    with pytest.raises(ValueError, match=r"\(row 2 of the data frame; the rows before it have"):
        model.learn_many(X, y)
    expected = learn(OAUCS(lr=1e30), [({"a": 1.0}, True), ({"a": 0.0}, False)])
    assert learned_state(model) == learned_state(expected)
    new = pd.DataFrame({"a": [1e40], "new": [1.0]})
    match = r"\(row 0 of the data frame; no row has been learned\)"
    assert_refused(model, match, model.learn_many, new, y[2:3])


# Parameters ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cls", "parameters", "message"),
    [
        (OAUCM, {"l2": 0.0}, "l2 is 0.0: it must be a finite number, above 0"),
        (OAUCM, {"l2": -1.0, "lr": 0.1}, "l2 is -1.0: it must be a finite number, 0 or more"),
        (OAUCM, {"l2": math.nan}, "l2 is nan"),
        (OAUCM, {"l2": True}, "l2 is True"),
        (OAUCM, {"lr": "0.1"}, "lr is '0.1'"),
        (OAUCM, {"lr": 0.0}, "lr is 0.0"),
        (OAUCM, {"prior": "even"}, "prior is 'even': it must be one of 'balanced', 'empirical'"),
        (OAUCM, {"prior": None}, "prior is None"),
        (OAUCM, {"max_features": 0}, "max_features is 0"),
        (OAUCM, {"max_features": 2.5}, "max_features is 2.5"),
        (OAUCS, {"lr": None, "l2": 0.0}, "l2 is 0.0"),
        (PAI, {"C": 0}, "C is 0"),
        (OLUBAUC, {"margin": 0.0}, "margin is 0.0"),
        (OAM, {"buffer_size": 0}, "buffer_size is 0"),
        (OAM, {"update": "both"}, "update is 'both'"),
        (OKAUCM, {"kernel": 0.5}, "kernel is 0.5: it must be a Kernel"),
        (OKAUCM, {"budget": (1, 2, 3)}, r"budget is \(1, 2, 3\)"),
        (OKAUCM, {"policy": "lifo"}, "policy is 'lifo'"),
        (OAM, {"seed": 1.5}, "seed is 1.5: it must be an integer or None"),
        (OKAUCS, {"seed": "x"}, "seed is 'x': it must be an integer or None"),
        (AutoOAUC, {"experts": 5}, "experts must be some of"),
        (AutoOAUC, {"experts": "trees"}, "experts must be some of"),
        (AutoOAUC, {"experts": [["trees"]]}, "experts must be some of"),
        (AutoOAUC, {"experts": iter(["trees"])}, "experts must be some of"),
        (KOIL, {"k": 0}, "k is 0: it must be a whole number from 1 to sys.maxsize"),
        (KOIL, {"k": sys.maxsize + 1}, "k is 9223372036854775808"),
        (OAUCM, {"l2": 10**400}, r"l2 is 10+\.\.\.0+: it must be a finite number"),
    ],
)
def test_bad_parameters_are_refused(cls: Any, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cls(**parameters)
    model = learn(cls(), STREAM)
    if parameters.keys() <= model._mutable_attributes:
        assert_refused(model, message, model.mutate, parameters)


@each_class
def test_a_seed_may_be_any_integer(cls: type[OnlineAUCClassifier]) -> None:
    if "seed" in inspect.signature(cls).parameters:
        models = [learn(cls(seed=seed), STREAM) for seed in (1, np.int64(1))]
        assert scores(models[0]) == scores(models[1])


@each_class
def test_an_empirical_prior_counts_importance_weights(cls: type[OnlineAUCClassifier]) -> None:
    """With nine times the weight, negatives are as frequent as with nine of them."""
    model, predicted = cls(prior="empirical"), []
    rng = random.Random(1)
    for i in range(400):
        x, y = {"a": rng.random(), "b": rng.random()}, i % 2 == 0
        predicted.append(model.predict_proba_one(x)[True])
        model.learn_one(x, y, 1.0 if y else 9.0)
    assert np.mean(predicted[200:]) == pytest.approx(0.1, abs=0.06)


def test_a_scheduler_may_be_mutated() -> None:
    model = learn(OAUCM(lr=optim.schedulers.InverseScaling(0.5)), STREAM)
    before = scores(model)
    model.mutate({"lr": 0.25})
    assert scores(model) == before
    twin = learn(OAUCM(lr=optim.schedulers.InverseScaling(0.5)), STREAM)
    twin.mutate({"lr": optim.schedulers.Constant(0.25)})
    assert scores(learn(model, STREAM)) == scores(learn(twin, STREAM))


def test_all_classifiers_have_one_of_these_encodings() -> None:
    encoders = {type(make()._encoder) for make in ENCODINGS.values()}
    assert {type(cls()._encoder) for cls in CLASSIFIERS} == encoders
