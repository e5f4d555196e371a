"""What goes into a classifier: labels, weights, records, data frames and parameters."""

from __future__ import annotations

import array
import collections
import datetime
import inspect
import itertools
import math
import pickle
import random
import sys
import types
import uuid
from collections.abc import Iterator
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
    each_class,
    each_encoding,
    learn,
    learned_state,
    models_at_all_stages,
    scores,
    state,
)
from conftest import Backend
from record_reference import MORNING
from river import linear_model, optim

from river_oauc import OAM, OAUCM, OAUCS, OLUBAUC, OTAUC, PAI, AutoOAUC
from river_oauc.records.frames import read_labels, read_weights
from river_oauc.records.labels import parse_label, parse_weight

# Labels and weights ------------------------------------------------------------------------------

LABELS = [(False, True), (0, 1), (-1, 1), (-1.0, 1.0), (np.int8(-1), np.uint8(1))]
LABELS += [(np.bool_(False), np.bool_(True)), (np.float32(0), Fraction(1))]
NO_LABELS = ["fraud", "it's", np.str_("1"), None, 2, 0.5, math.nan, math.inf, 1j, b"1", [1], pd.NA]
NO_WEIGHTS = [-1, 1e-51, 1e51, 10**400, math.nan, math.inf, "1", None, 1j, [1.0], pd.NA]
DTYPES = ["bool", "int8", "float32", "boolean", "Int64", "object", "category", "bool[pyarrow]"]


def test_labels_and_weights(backend: Backend) -> None:
    series = [backend.series([no, yes]) for no, yes in LABELS[:4]]
    for y in series + [pd.Series([0, 1]).astype(dtype) for dtype in DTYPES]:
        labels, _ = read_labels(y, 2)
        assert labels.dtype == bool and labels.tolist() == [False, True]
    assert [(parse_label(no), parse_label(yes)) for no, yes in LABELS] == [(False, True)] * 7
    for w in (0, 1, 2.5, True, np.float32(0.5), Fraction(1, 2), 1e50, 1e-50):
        assert type(parse_weight(w)) is float and parse_weight(w) == w
        assert read_weights(w, 3).tolist() == 3 * [float(w)]
        assert read_weights(backend.series([1.0, float(w)]), 2).tolist() == [1.0, float(w)]
    for name, call in (("y", read_labels), ("w", read_weights)):
        with pytest.raises(ValueError, match=f"^{name} has 3 values for the 2 rows of X$"):
            call(backend.series([1, 0, 1]), 2)


def test_other_labels_and_weights_are_refused() -> None:
    model, X = learn(OAUCM(), STREAM), pd.DataFrame({"x0": [1.0, 2.0]})
    before = pickle.dumps(model)
    for bad in NO_LABELS:
        with pytest.raises(ValueError) as refusal:
            model.learn_one({"new": 1.0}, bad)
        assert str(refusal.value) == (
            f"the label is {bad!r}: labels must be booleans, 0 and 1, or -1 and 1; say which class "
            "is to rank high by writing, for instance, y == "
            + (repr(bad) if isinstance(bad, str) else "'fraud'")
        )
        with pytest.raises(ValueError, match=r"^the label is .* \(row 1 of the data frame\)$"):
            model.learn_many(X, pd.Series([True, bad], dtype=object))
    for bad in NO_WEIGHTS:
        with pytest.raises(ValueError, match=r"^the weight is .*: it must be 0, or a .* 1e\+50$"):
            model.learn_one({"new": 1.0}, True, bad)
        with pytest.raises(ValueError, match=r"^the weight is .* \(row 1 of the data frame\)$"):
            model.learn_many(X, pd.Series([True, False]), pd.Series([1.0, bad], dtype=object))
    assert pickle.dumps(model) == before


# Records -----------------------------------------------------------------------------------------

# Values that are refused by the remedy that the message names: always, in raw records, and by
# learners of numbers.
ITEMS = [{"a": 1}, [1], (1, 2), {1}, frozenset([1]), np.ones(2), np.array(math.nan), range(3)]
ITEMS += [collections.deque([1]), array.array("d"), (i for i in "a"), {}.keys(), bytearray(b"x")]
ITEMS += [pd.Series([1]), pd.DataFrame({"a": [1]}), pl.Series([1]), pa.array([1]), np.void(b"a")]
LARGE = [math.inf, -1e200, 1.1e50, 10**400, Fraction(10**400), Decimal("inf")]
REAL = [1j, np.complex64(1), print, object()]
ALWAYS = {
    "give each of its elements a name of its own, such as 'items_0'": ITEMS,
    "it must be a real number, a string or another category": REAL,
}
RAW = ALWAYS | {r"must be within ±1e\+50; clip it, or leave it out": LARGE}
TEXTS = ["red", "1,5", "007", b"1.5", datetime.date(2024, 2, 29), uuid.UUID(int=1)]
NUMERIC = ALWAYS | {
    r"must be within ±1e\+50; (scale or )?clip it": LARGE,
    "RecordEncoder in front, or take a learner for raw records": TEXTS,
}
UNKNOWN = {
    "fill it with preprocessing.StatImputer, or put river": [None, "", " ", pd.NA, pd.NaT],
    "if it comes from a scaler, the scaler has seen a NaN": [math.nan, Decimal("nan")],
}


def takes_records(model: Any) -> bool:
    return isinstance(model, TAKE_RECORDS)


def spoiled(refused: dict[str, list[Any]]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield what a message says, the name of a bad feature, and a record: in order, late, new."""
    for remedy, values in refused.items():
        for value, name in itertools.product(values, ("x1", "x3", "new")):
            x = PROBES[0] if name == "x1" else {"new": 1.0, **PROBES[0]}
            yield f"(?s)^feature {name!r} is .*{remedy}", name, {**x, name: value}


@each_encoding
def test_refusals_name_feature_and_remedy_and_change_nothing(make: Factory) -> None:
    for model in models_at_all_stages(make):
        before = pickle.dumps(model)
        for match, _, x in spoiled(RAW if takes_records(model) else NUMERIC):
            for call in (model.score_one, model.predict_proba_one, model.predict_one):
                with pytest.raises(ValueError, match=match):
                    call(x)
            for weight in (1.0, 0.0):
                with pytest.raises(ValueError, match=match):
                    model.learn_one(x, True, weight)
        for x in ([1.0], None, 3.0, "ab", pd.Series({"a": 1.0})):
            for call in (model.score_one, lambda x, model=model: model.learn_one(x, True)):
                with pytest.raises(ValueError, match=f"a {type(x).__name__}: they must be a dict"):
                    call(x)
        long = "x" * 2**20
        for x, y in (({"a": [long]}, True), ({"a": 1.0}, long), (long, True), ({long: 1j}, True)):
            with pytest.raises(ValueError) as refusal:
                model.learn_one(x, y)
            assert len(str(refusal.value)) < 400
        assert pickle.dumps(model) == before


@each_encoding
def test_unknown_is_absent_or_refused(make: Factory) -> None:
    """Learners of numbers refuse it in learning, where it would count as 0."""
    for model in models_at_all_stages(make):
        before = pickle.dumps(model)
        for match, name, x in spoiled(UNKNOWN):
            absent = {other: value for other, value in x.items() if other != name}
            frame = pd.DataFrame([x, {**x, name: 1.0}]).astype(object)
            assert model.score_one(x) == model.score_many(frame)[0] == model.score_one(absent)
            if takes_records(model):
                twins = [learn(pickle.loads(before), [(each, True)]) for each in (x, absent)]
                assert state(twins[0]) == state(twins[1])
            else:
                with pytest.raises(ValueError, match=match):
                    model.learn_one(x, True)
        assert pickle.dumps(model) == before


NAMES = [*"abcdef", "\ud800", 3, None, 1.5, b"x", ("t", 1), ("t", "FR"), frozenset({3}), Decimal(2)]
VALUES = [*TEXTS, "\ud800", "a b c", "2.5", "2024-02-29", 2**60, 1e-300, True, np.int8(3), MORNING]
VALUES += [np.datetime64(MORNING), np.timedelta64(5), pd.Interval(0, 1), slice(1)]


@pytest.mark.filterwarnings("ignore")
@each_encoding
def test_any_record_is_learned_or_refused_by_name(make: Factory) -> None:
    """And may be any mapping; some have a value for names that they do not hold."""
    rng, model, twin, n_learned = random.Random(1), make(), make(), 0
    values = [*VALUES, *sum([*NUMERIC.values(), *UNKNOWN.values()], [])]
    mappings = [collections.OrderedDict, collections.ChainMap, types.MappingProxyType]
    mappings += [collections.Counter, lambda x: collections.defaultdict(float, x), dict]
    for i in range(300):
        names = rng.sample(NAMES, rng.randrange(1, 6))
        x = {n: rng.choice(values) if rng.random() < 0.3 else rng.gauss(0, 1) for n in names}
        y, w = rng.random() < 0.5, rng.choice([1.0, 0.5, 3])
        given, before = mappings[i % 6](x), pickle.dumps(model) if i % 5 == 0 else None
        try:
            model.learn_one(given, y, w)
        except ValueError as refusal:
            assert any(f"feature {name!r} is" in str(refusal) for name in names)
            assert before is None or pickle.dumps(model) == before
        else:
            twin.learn_one(x, y, w)
            assert math.isfinite(model.score_one(given)) and dict(given) == x
            n_learned += 1
    assert n_learned > 60
    assert state(pickle.loads(pickle.dumps(model))) == state(model) == state(twin)


# Data frames -------------------------------------------------------------------------------------

FRAMES = {
    "pandas": lambda columns: pd.DataFrame(columns),
    "pandas, objects": lambda columns: pd.DataFrame(columns).astype(object),
    "pandas, nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "pandas, categories": lambda columns: pd.DataFrame(columns).astype({"b": "category"}),
    "pandas, sparse": lambda columns: pd.DataFrame(columns).astype({"w": "Sparse[int]"}),
    "polars": lambda columns: pl.DataFrame(columns, schema_overrides={"u": pl.UInt8}),
    "pyarrow": lambda columns: pa.concat_tables([pa.table(columns)[:7], pa.table(columns)[7:]]),
}
N = 130


@pytest.mark.parametrize("kind", FRAMES)
@each_encoding
def test_frames_are_the_loop_over_their_rows(make: Factory, kind: str) -> None:
    """A refused row names its number, and the rows before it have been learned."""
    rng, many, one = random.Random(7), make(), make()
    columns: dict[str, list[Any]] = {
        "f": [rng.gauss(0, 1) for _ in range(N)], "w": [rng.randrange(-2, 6) for _ in range(N)],
        "b": [rng.random() < 0.5 for _ in range(N)], "u": [rng.randrange(9) for _ in range(N)],
        "d": [Decimal(rng.randrange(99)) / 4 for _ in range(N)],
    }  # fmt: skip
    if takes_records(one):
        columns["string"] = rng.choices(["x", "y", "z", "12.5", None], k=N)
        columns["when"] = [MORNING + datetime.timedelta(hours=rng.randrange(99)) for _ in range(N)]
        columns["f"][::9] = columns["when"][::9] = [None] * len(columns["f"][::9])
    columns["f"][100] = math.inf
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    labels, weights = (
        [rng.random() < 0.4 for _ in rows],
        [rng.choice([1.0, 2.0, 0.0]) for _ in rows],
    )
    X = FRAMES[kind](columns)
    y, w = pd.Series(labels), pd.Series(weights)
    refused = r"^feature 'f' is inf: .* \(learning has stopped at row {} of the data frame\)$"
    with pytest.raises(ValueError, match=refused.format(100)):
        many.learn_many(X, y, w)
    with pytest.raises(ValueError, match=r"^feature 'f' is inf: .* \(row 100 of the data frame\)$"):
        many.score_many(X)
    for x, label, weight in zip(rows[:100], labels, weights, strict=False):
        one.learn_one(x, label, weight)
    assert learned_state(many) == learned_state(one)
    part = slice(101, N)
    rest = X.iloc[part] if isinstance(X, pd.DataFrame) else X[part]
    many.learn_many(rest, y[part], 0.5)
    for x, label in zip(rows[part], labels[part], strict=True):
        one.learn_one(x, label, 0.5)
    assert learned_state(many) == learned_state(one)
    assert np.asarray(many.score_many(rest)).tolist() == [one.score_one(x) for x in rows[part]]
    with pytest.raises(ValueError, match=refused.format(0)):
        many.learn_many(X[100:101], pd.Series([True]))
    assert learned_state(many) == learned_state(one)


def conventions(result: Any) -> tuple[Any, ...]:
    """Return everything about a frame or a series but its values."""
    about = ["name", "dtype", "dtypes", "schema", "type"]
    index = repr(result.index) if isinstance(result, pd.DataFrame | pd.Series) else None
    return type(result), len(result), index, *(repr(getattr(result, n, None)) for n in about)


COLUMNS, TARGET = {"x0": [1.0, -1.0, 2.0], "x1": [0.0, 1.0, 1.0]}, [True, False, True]
BATCHES = {
    "pandas": (pd.DataFrame(COLUMNS), pd.Series(TARGET, name="target")),
    "pandas, index": (pd.DataFrame(COLUMNS, list("abc")), pd.Series(TARGET, list("abc"), name=3)),
    "pandas, numbered": (pd.DataFrame([[1.0, 2.0], [0.0, 1.0], [1.0, 1.0]]), pd.Series(TARGET)),
    "polars": (pl.DataFrame(COLUMNS), pl.Series("target", TARGET)),
    "pyarrow": (pa.table(COLUMNS), pa.chunked_array([TARGET])),
}


@pytest.mark.parametrize("kind", BATCHES)
@each_encoding
def test_results_are_like_those_of_logistic_regression(make: Factory, kind: str) -> None:
    X, y = BATCHES[kind]
    model, theirs = make(), linear_model.LogisticRegression()
    for _ in range(2):
        for frame in (X, X[:0]):
            for call in ("predict_proba_many", "predict_many"):
                found, expected = (getattr(each, call)(frame) for each in (model, theirs))
                assert conventions(found) == conventions(expected)
            assert type(model.score_many(frame)) is type(found) and len(found) == len(frame)
        before = learned_state(model)
        model.learn_many(X[:0], y[:0])
        model.learn_many(X[:0], y[:0], y[:0])
        assert learned_state(model) == before
        model.learn_many(X, y)
        theirs.learn_many(X, y)
    assert X.equals(BATCHES[kind][0])


# Parameters --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cls", "parameters", "message"),
    [
        (OAUCM, {"l2": 0.0}, "l2 is 0.0: it must be a finite number, above 0"),
        (OAUCM, {"l2": -1.0, "lr": 0.1}, "l2 is -1.0: it must be a finite number, 0 or more"),
        (OAUCM, {"l2": math.nan}, "l2 is nan"), (OAUCM, {"l2": True}, "l2 is True"),
        (OAUCM, {"l2": 10**400}, r"l2 is 10+\.\.\.0+: it must be a finite number"),
        (OAUCM, {"lr": "0.1"}, "lr is '0.1'"), (OAUCM, {"lr": 0.0}, "lr is 0.0"),
        (OAUCM, {"prior": "even"}, "prior is 'even': it must be one of 'balanced', 'empirical'"),
        (OAUCM, {"prior": 1}, "prior is 1"), (OAUCM, {"max_features": 0}, "max_features is 0"),
        (OAUCM, {"max_features": 2.5}, "max_features is 2.5"),
        (OAUCS, {"lr": None, "l2": 0.0}, "l2 is 0.0"), (PAI, {"C": 0}, "C is 0"),
        (OLUBAUC, {"margin": 0.0}, "margin is 0.0"), (OAM, {"update": "both"}, "update is 'both'"),
        (OAM, {"buffer_size": 0}, "buffer_size is 0: it must be a whole number from 1 to sys.max"),
        (OAM, {"buffer_size": sys.maxsize + 1}, "buffer_size is 9223372036854775808"),
        (OAM, {"seed": 1.5}, "seed is 1.5: it must be an integer or None"),
        (OTAUC, {"max_categories": -1}, "max_categories is -1"),
        *[(AutoOAUC, {"experts": bad}, "experts must be some of")
          for bad in (5, "trees", [["trees"]], iter(["trees"]))],
    ],
)  # fmt: skip
def test_bad_parameters_are_refused(cls: Any, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cls(**parameters)
    model = learn(cls(), STREAM)
    before = pickle.dumps(model)
    if parameters.keys() <= model._mutable_attributes:
        with pytest.raises(ValueError, match=message):
            model.mutate(parameters)
    assert pickle.dumps(model) == before


@each_class
def test_a_seed_is_any_integer_and_an_empirical_prior_counts_weights(cls: Any) -> None:
    """With nine times the weight, negatives are as frequent as with nine of them."""
    seeds = (
        [{"seed": 1}, {"seed": np.int64(1)}]
        if "seed" in inspect.signature(cls).parameters
        else [{}]
    )
    models, predicted, rng = (
        [cls(prior="empirical", **seed) for seed in seeds],
        [],
        random.Random(1),
    )
    for i in range(400):
        x, y = {"a": rng.random(), "b": rng.random()}, i % 2 == 0
        predicted.append([model.predict_proba_one(x)[True] for model in models])
        assert predicted[-1][0] == predicted[-1][-1]
        for model in models:
            model.learn_one(x, y, 1.0 if y else 9.0)
    assert np.mean(predicted[200:]) == pytest.approx(0.1, abs=0.06)


def test_a_scheduler_may_be_mutated() -> None:
    model, twin = (learn(OAUCM(lr=optim.schedulers.InverseScaling(0.5)), STREAM) for _ in range(2))
    before = scores(model)
    model.mutate({"lr": 0.25})
    assert scores(model) == before
    twin.mutate({"lr": optim.schedulers.Constant(0.25)})
    assert scores(learn(model, STREAM)) == scores(learn(twin, STREAM)) != before


def test_all_classifiers_have_one_of_these_encodings() -> None:
    encoders = {type(make()._encoder) for make in ENCODINGS.values()}
    assert {type(cls()._encoder) for cls in CLASSIFIERS} == encoders
