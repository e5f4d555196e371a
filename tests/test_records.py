"""Raw records: the encoders against plain loops, and what the learners promise that take them."""

from __future__ import annotations

import copy
import dataclasses
import datetime
import decimal
import enum
import fractions
import math
import pickle
import random
import sys
import threading
import time
import tracemalloc
import uuid
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from classifiers import TAKE_RECORDS, Example, learned_state, make_case, state
from record_reference import Dense, Sparse
from record_streams import MORNING, approx, assert_same_data, plain_name, stream

from benchmarks.records import sets
from river_oauc import OTAUC, AutoOAUC, SparseOAUCM, acceleration
from river_oauc.classifier import OnlineAUCClassifier
from river_oauc.encoding import features, statistics
from river_oauc.encoding.records import RecordVectorizer
from river_oauc.encoding.sparse import SparseEncoder
from river_oauc.encoding.statistics import Statistics
from river_oauc.state import StateReader

needs_compiled = pytest.mark.skipif(not acceleration.compiled, reason="there is no compiled code")
each_learner = pytest.mark.parametrize("cls", TAKE_RECORDS)


def encoded(encoder: Any, x: dict[Any, Any]) -> dict[Any, float]:
    """Return the example of a record by plain names, after its names have been learned."""
    example = encoder.encode(x)
    if example is None:
        encoder.extend(encoder.names_in(x))
        example = encoder.encode(x)
    names = [plain_name(name) for name in encoder.names]
    if isinstance(encoder, SparseEncoder):
        return {names[row]: value for row, value in zip(*map(list, example), strict=True)}
    assert len(example) == encoder.size and not example[len(names) :].any()
    return dict(zip(names, example.tolist(), strict=False))


@pytest.mark.parametrize(("make", "plain"), [(RecordVectorizer, Dense), (SparseEncoder, Sparse)])
@pytest.mark.parametrize("seed", range(3))
def test_encoders_are_the_plain_loop(make: Any, plain: Any, seed: int) -> None:
    encoder, reference = make(), plain()
    for x, y, w in stream(1_500, seed):
        expected = reference.encode(x)
        found = encoded(encoder, x)
        assert found.keys() == expected.keys()
        assert list(found.values()) == approx([expected[name] for name in found])
        encoder.learn(x, y, w)
        reference.learn(x, y, w)
    features = {plain_name(name): each for name, each in encoder.statistics.features.items()}
    assert features.keys() == reference.statistics.features.keys()
    for name, theirs in reference.statistics.features.items():
        mine = features[name]
        counts = ("negative", "positive", "recent_negative", "recent_positive")
        assert {
            key: [getattr(each, field) for field in counts] for key, each in mine.categories.items()
        } == {key: approx(each) for key, each in theirs.categories.items()}
        assert mine.recent_gain == approx(theirs.gain)
        assert (mine.is_category, mine.is_text) == (theirs.is_category(), theirs.is_text())
        for field in ("n_known", "n_strings", "n_texts", "has_fractions"):
            assert getattr(mine, field) == getattr(theirs, field)
    kinds = {name: (each.is_category, each.is_text) for name, each in features.items()}
    assert kinds["text"] == (False, True) and kinds["id"] == kinds["amount"] == (False, False)
    assert all(kinds[name] == (True, False) for name in ("code", "country", "terminal", "rain"))
    if make is RecordVectorizer:
        assert {("terminal", "recent log odds"), ("country", "missing")} <= found.keys()
        assert ("country", "recent log odds") not in found


def test_columns_of_a_refused_record_leave_no_trace() -> None:
    vectorizer, x = RecordVectorizer(), {f"x{j}": float(j) for j in range(16)}
    for record in (x, {**x, "late": 1.0}, {**x, "late": 2.0}):
        encoded(vectorizer, record)
        vectorizer.learn(record, True, 1.0)
    text = {**x, "late": "text"}
    checkpoint, before = vectorizer.checkpoint(), vectorizer.encode_known(text)
    # There is a free column, so that arrays stay as long as they are.
    vectorizer.extend(vectorizer.names_in(text))
    assert vectorizer.checkpoint() == (checkpoint[0] + 1, checkpoint[1])
    vectorizer.truncate(checkpoint, vectorizer.size)
    np.testing.assert_array_equal(vectorizer.encode_known(text), before)


def test_a_feature_of_which_nothing_recurs_gives_up() -> None:
    vectorizer, reference = RecordVectorizer(), Dense()
    for i in range(10_050):
        x = {"id": f"user {i}", "number": i, "half": f"user {i // 2}"}
        encoded(vectorizer, x)
        vectorizer.learn(x, i % 3 == 0, 1.0)
        reference.learn(x, i % 3 == 0, 1.0)
    features = vectorizer.statistics.features
    assert {name for name, each in features.items() if each.categories is None} == {"id", "number"}
    assert len(features["half"].categories) == 5025
    for name, feature in reference.statistics.features.items():
        assert (feature.categories is None) == (features[name].categories is None)


# Compiled code -----------------------------------------------------------------------------------


@needs_compiled
@pytest.mark.parametrize("make", [RecordVectorizer, SparseEncoder])
def test_compiled_encoders_equal_their_twins(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the same state, the arrays and the next states are the same."""
    compiled = make()
    twins = []
    for i, (x, y, w) in enumerate(stream(700, seed=5)):
        first = encoded(compiled, x)
        if i % 50 == 0:
            twins.append((make(), compiled.get_state(), x, y, w, first))
        compiled.learn(x, y, w)
        if i % 50 == 0:
            twins[-1] += (compiled.get_state(),)
    for name in ("encode_record", "encode_sparse", "learn_record"):
        monkeypatch.setattr(acceleration, name, None)
    monkeypatch.setattr(statistics, "Feature", features.Feature)
    monkeypatch.setattr(statistics, "Counts", features.Counts)
    for twin, before, x, y, w, first, after in twins:
        twin.set_state(StateReader(before, "encoder"))
        assert encoded(twin, x) == approx(first)
        twin.learn(x, y, w)
        assert_same_data(twin.get_state(), after)


@needs_compiled
def test_remembered_rows_belong_to_one_index(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, encoder = random.Random(0), SparseEncoder()
    records = [{"x": rng.gauss(0, 10), "c": f"v{rng.randrange(9)}"} for _ in range(300)]
    for i, x in enumerate(records):
        encoded(encoder, x)
        encoder.learn(x, i % 3 == 0, 1.0)
    index = encoder.index
    # They share the statistics of features, and hardly a row.
    encoders = encoder, encoder.keeping(np.arange(len(encoder))[:0:-2])
    # The variable, the attribute and an argument: no feature keeps the old names in memory.
    assert sys.getrefcount(index) == 3
    compiled = [each.encode_known(x) for x in records for each in encoders]
    monkeypatch.setattr(acceleration, "encode_sparse", None)
    plain = [each.encode_known(x) for x in records for each in encoders]
    for (rows, values), (plain_rows, plain_values) in zip(compiled, plain, strict=True):
        assert rows.tolist() == plain_rows.tolist()
        assert values == approx(plain_values)


# Unknown values ----------------------------------------------------------------------------------

UNKNOWN = [
    None, math.nan, np.float32("nan"), decimal.Decimal("NaN"), pd.NA, pd.NaT,
    np.datetime64("NaT"), np.timedelta64("NaT", "s"),
]  # fmt: skip


def learner(cls: type[OnlineAUCClassifier], n: int, seed: int = 0) -> OnlineAUCClassifier:
    model = make_case(cls)
    for x, y, w in stream(n, seed):
        model.learn_one(x, y, w)
    return model


@each_learner
@pytest.mark.parametrize("name", ["amount", "country", "code", "when", "new"])
def test_unknown_is_as_good_as_absent(cls: type[OnlineAUCClassifier], name: str) -> None:
    model = learner(cls, 200)
    x = next(x for x, _, _ in stream(100, seed=9) if x.get(name) == x.get(name) and x.get(name))
    absent = {other: value for other, value in x.items() if other != name}
    expected = model.score_one(absent)
    # Trees may not look at a feature.
    assert expected != model.score_one(x) or cls is OTAUC
    after = copy.deepcopy(model)
    after.learn_one(absent, True)
    for value in UNKNOWN:
        assert model.score_one({**x, name: value}) == expected
        twin = copy.deepcopy(model)
        twin.learn_one({**x, name: value}, True)
        assert state(twin) == state(after)
    for frame in (
        pd.DataFrame([x, absent]),
        pl.DataFrame([x, {**absent, name: None}], strict=False),
        pa.Table.from_pylist([x, absent]),
    ):
        assert np.asarray(model.score_many(frame))[1] == expected


# Any values --------------------------------------------------------------------------------------


class Colour(enum.Enum):
    RED = 1


class Size(enum.IntEnum):
    LARGE = 3


@dataclasses.dataclass(frozen=True)
class Unhashable:
    """It claims to be hashable, and is not."""

    items: list[int]


def fuzzed(rng: random.Random) -> Any:
    """Return a value of any kind."""
    number = rng.choice([rng.gauss(0, 1), rng.lognormvariate(0, 30), rng.randrange(-9, 9), 2**60])
    makers = (
        lambda: number,
        lambda: int(number),
        lambda: rng.choice([np.float64, np.float32, np.longdouble, str, repr])(number),
        lambda: rng.choice([np.int8, np.uint64, np.bool_, bool, str])(rng.randrange(99)),
        lambda: rng.choice([decimal.Decimal, fractions.Fraction])(rng.randrange(99)) / 7,
        lambda: rng.choice(["FR", "", "é", "\ud800", b"x", np.str_("FR"), "a b c", Colour.RED]),
        lambda: rng.choice([Size.LARGE, uuid.UUID(int=rng.randrange(9)), datetime.time(8, 30)]),
        lambda: rng.choice(
            [MORNING, MORNING.date(), pd.Timestamp(MORNING), np.datetime64(MORNING)]
        ),
        lambda: MORNING.replace(tzinfo=datetime.UTC, hour=rng.randrange(24)),
        lambda: rng.choice([datetime.timedelta(1), np.timedelta64(5, "m"), pd.Timedelta("1s")]),
        lambda: rng.choice([pd.Interval(0, 1), np.timedelta64(5)]),
        lambda: rng.choice(UNKNOWN),
        lambda: rng.choice([decimal.Decimal("sNaN"), np.timedelta64(1, "Y"), Unhashable([1])]),
        lambda: rng.choice([math.inf, -1e51, 10**400, 10**5000, 1j, np.complex64(1)]),
        lambda: rng.choice([[1], {"a": 1}, {1}, (1, 2), np.ones(2), np.array(1.0), bytearray(2)]),
        lambda: rng.choice([pd.Series([1]), pd.DataFrame({"a": [1]}), np.void(b"a"), slice(1)]),
    )
    return rng.choice(makers)()


def assert_survives(cls: type[OnlineAUCClassifier], n: int, seed: int) -> None:
    rng, model, n_learned = random.Random(seed), make_case(cls), 0
    for i in range(n):
        names = rng.sample([*"abcdefgh", 3, None, ("t", 1), ("t", "FR")], rng.randrange(1, 6))
        x = {name: fuzzed(rng) if rng.random() < 0.7 else rng.gauss(0, 1) for name in names}
        # The digest of a state takes as long as dozens of steps.
        before = state(model) if i % 5 == 0 else None
        try:
            score = model.score_one(x)
        except ValueError:
            score = None
        try:
            model.learn_one(x, rng.random() < 0.5, rng.choice([1.0, 0.5, 3]))
        except ValueError as refusal:
            assert score is None
            assert str(refusal).startswith("feature "), refusal
            assert any(repr(name) in str(refusal) for name in names)
            assert before is None or state(model) == before
        else:
            assert score is not None and math.isfinite(score)
            n_learned += 1
    assert n_learned > n / 5
    assert learned_state(pickle.loads(pickle.dumps(model))) == learned_state(model)


@pytest.mark.filterwarnings("ignore")
@each_learner
def test_any_record_is_learned_or_refused_by_name(cls: type[OnlineAUCClassifier]) -> None:
    assert_survives(cls, 2_000 // len(TAKE_RECORDS), seed=1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@each_learner
def test_any_of_many_records(cls: type[OnlineAUCClassifier]) -> None:
    assert_survives(cls, 100_000 // len(TAKE_RECORDS), seed=2)


# Data frames -------------------------------------------------------------------------------------


def raw_columns(n: int) -> dict[str, list[Any]]:
    rng = random.Random(7)
    columns: dict[str, list[Any]] = {
        "string": [rng.choice("abcde") for _ in range(n)],
        "category": [rng.choice("xyz") for _ in range(n)],
        "whole": [rng.randrange(6) for _ in range(n)],
        "number": [rng.gauss(0, 1) for _ in range(n)],
        "flag": [rng.random() < 0.5 for _ in range(n)],
        "when": [MORNING + datetime.timedelta(hours=rng.randrange(99)) for _ in range(n)],
        "day": [MORNING.date() + datetime.timedelta(rng.randrange(9)) for _ in range(n)],
        "decimal": [decimal.Decimal(rng.randrange(99)) / 4 for _ in range(n)],
        "took": [datetime.timedelta(seconds=rng.randrange(99)) for _ in range(n)],
    }
    for values in columns.values():
        for i in rng.sample(range(n), n // 8):
            values[i] = None
    return columns


def raw_frame(kind: str, columns: dict[str, list[Any]]) -> Any:
    if kind == "polars":
        return pl.DataFrame(columns, schema_overrides={"category": pl.Categorical})
    if kind == "pyarrow":
        table = pa.table(columns)
        position = table.schema.get_field_index("category")
        return table.set_column(position, "category", table["category"].dictionary_encode())
    frame = pd.DataFrame({name: pd.Series(v, dtype=object) for name, v in columns.items()})
    types = {"category": "category", "when": "datetime64[us]", "took": "timedelta64[us]"}
    if kind == "pandas nullable":
        types |= {"string": "string", "whole": "Int64", "number": "Float64", "flag": "boolean"}
    if kind == "pandas plain":
        types |= {"whole": float, "number": float}
    return frame.astype(types)


@pytest.mark.parametrize("kind", ["pandas plain", "pandas nullable", "polars", "pyarrow"])
@each_learner
def test_frames_equal_the_loop_over_their_rows(cls: type[OnlineAUCClassifier], kind: str) -> None:
    n = 150
    columns, rng = raw_columns(n), random.Random(8)
    y = [rng.random() < (0.7 if value == "a" else 0.3) for value in columns["string"]]
    X, rows = (
        raw_frame(kind, columns),
        [{name: values[i] for name, values in columns.items()} for i in range(n)],
    )
    many, one = make_case(cls), make_case(cls)
    for x, label in zip(rows, y, strict=True):
        one.learn_one(x, label)
    for part in (slice(0, 100), slice(100, n)):
        frame = X.iloc[part] if isinstance(X, pd.DataFrame) else X[part]
        many.learn_many(frame, pd.Series(y[part]))
    assert learned_state(many) == learned_state(one)
    assert np.asarray(many.score_many(X)).tolist() == [one.score_one(x) for x in rows]


@each_learner
@pytest.mark.parametrize("value", [[1], math.inf, 1j], ids=repr)
def test_a_refused_cell_far_down_refuses_the_frame(cls: Any, value: Any) -> None:
    """The first hundred rows must not be taken for the type of an object column."""
    for usual in ("x", None, 1.0):
        X = pd.DataFrame({"a": [1.0] * 200, "b": pd.Series([usual] * 200, dtype=object)})
        X.at[150, "b"] = value
        model = learner(cls, 50)
        before = state(model)
        with pytest.raises(ValueError, match=r"^feature 'b' is .*\(row 150 of the data frame\)$"):
            model.learn_many(X, pd.Series([True, False] * 100))
        assert state(model) == before


# Merging, copies, limits, threads ----------------------------------------------------------------


def category_counts(model: OnlineAUCClassifier) -> dict[Any, dict[Any, tuple[float, float]]]:
    """Return the weights of the classes by feature and category, of features with strings."""
    features = model._encoder.statistics.features.items()
    return {
        name: {key: (each.negative, each.positive) for key, each in feature.categories.items()}
        for name, feature in features
        if feature.n_strings == feature.n_known
    }


@each_learner
def test_merged_counts_are_those_of_one_pass(cls: type[OnlineAUCClassifier]) -> None:
    examples = list(stream(300))
    whole, parts = make_case(cls), [make_case(cls) for _ in range(3)]
    for i, (x, y, w) in enumerate(examples):
        whole.learn_one(x, y, w)
        turned = dict(reversed(x.items())) if i % 2 else x
        parts[i % 3].learn_one(turned, y, w)
    expected = category_counts(whole)
    assert {"country", "terminal", "text"} <= expected.keys()
    one, other, last = parts
    for merged in (one + other + last, last + (other + one)):
        assert category_counts(merged) == expected
        mine, theirs = merged._encoder.statistics, whole._encoder.statistics
        assert (mine.n_seen, mine.prior) == (theirs.n_seen, approx(theirs.prior))
        for name in expected:
            assert mine.features[name].n_known == theirs.features[name].n_known


@each_learner
def test_a_merged_feature_is_known_as_often_as_in_one_pass(cls: type[OnlineAUCClassifier]) -> None:
    """Although it has statistics in one part only, where it is mostly known."""
    often, rarely = make_case(cls), make_case(cls)
    for i in range(32):
        often.learn_one({"a": i + 0.5}, i % 3 == 0)
        rarely.learn_one({"b": 1.0, **({"a": i + 0.5} if i % 4 == 3 else {})}, i % 3 == 0)
    for merged in (often + rarely, rarely + often):
        assert merged._encoder.statistics.features["a"].n_known == 40
    # Nothing is counted twice when the sum is merged again.
    for merged in ((often + rarely) + (rarely + often), rarely + (rarely + often) + often):
        assert merged._encoder.statistics.features["a"].n_known == 80


@each_learner
@pytest.mark.parametrize("n", [0, 1, 3, 62, 64, 65, 130])
def test_copies_go_on_like_the_original(cls: type[OnlineAUCClassifier], n: int) -> None:
    model = learner(cls, n)
    copies = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    for x, y, w in stream(70, seed=3):
        assert len({one.score_one(x) for one in (model, *copies)}) == 1
        for one in (model, *copies):
            one.learn_one(x, y, w)
    assert len({state(one) for one in (model, *copies)}) == 1


@pytest.mark.parametrize("make", [RecordVectorizer, SparseEncoder])
def test_rare_categories_are_forgotten_first(make: Any) -> None:
    encoder, rng = make(max_categories=50), random.Random(1)
    for i in range(2_000):
        x = {"often": f"o{rng.randrange(20)}", "rare": f"r{i}", "n": rng.randrange(5)}
        encoded(encoder, x)
        encoder.learn(x, rng.random() < 0.5, 1.0)
        assert encoder.statistics.n_categories <= 50
    features = encoder.statistics.features
    assert len(features["often"].categories) == 20 and len(features["n"].categories) == 5
    oldest = min(int(key[1:]) for key in features["rare"].categories)
    assert oldest >= 2_000 - 50


@pytest.mark.parametrize("cls", [AutoOAUC, SparseOAUCM])
def test_threads_predict_and_copy_while_one_learns(cls: type[OnlineAUCClassifier]) -> None:
    model, examples, failures = make_case(cls), list(stream(600)), []
    done = threading.Event()

    def use() -> None:
        try:
            while not done.is_set():
                again = pickle.loads(pickle.dumps(model))
                again.learn_one(*examples[0])
                for x, _, _ in examples[:20]:
                    assert math.isfinite(model.score_one(x))
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=use) for _ in range(3)]
    for thread in threads:
        thread.start()
    for x, y, w in examples:
        model.learn_one(x, y, w)
    done.set()
    for thread in threads:
        thread.join()
    assert not failures
    assert learned_state(model) == learned_state(learner(cls, 600))


# Cost --------------------------------------------------------------------------------------------


@needs_compiled
@pytest.mark.slow
def test_cost_of_categories_and_records() -> None:
    n = 100_000
    keys = [f"user {i}" for i in range(n)]
    tracemalloc.start()
    counts, index = Statistics(), dict[Any, int]()
    for i in range(2 * n):
        counts.learn({"id": keys[i // 2]}, index, i % 3 == 0, 1.0)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert counts.n_categories == n
    assert size / n < 100

    rng, vectorizer = random.Random(0), RecordVectorizer()
    data: list[Example] = []
    for _ in range(5_000):
        x: dict[Any, Any] = {f"x{j}": rng.gauss(0, 1) for j in range(10)}
        data.append((x | {f"c{j}": f"v{rng.randrange(50)}" for j in range(5)}, rng.random() < 0.3))
    best = math.inf
    for x, _ in data[:1]:
        vectorizer.extend(vectorizer.names_in(x))
    for _ in range(3):
        start = time.perf_counter()
        for x, y in data:
            vectorizer.encode(x)
            vectorizer.learn(x, y, 1.0)
        best = min(best, (time.perf_counter() - start) / len(data))
    # 10 µs on a quiet machine.
    assert best < 30e-6


# The benchmark sets ------------------------------------------------------------------------------


@pytest.mark.skipif(sets.directory() is None, reason="RIVER_OAUC_DATA has no records")
@pytest.mark.parametrize("cls", [AutoOAUC, SparseOAUCM])
@pytest.mark.parametrize("name", sets.SETS)
def test_every_set_runs_raw(name: str, cls: type[OnlineAUCClassifier]) -> None:
    examples = sets.read_set(name, 300)
    one, many = make_case(cls), make_case(cls)
    one_scores, many_scores = [], []
    for start in range(0, len(examples), 100):
        part = examples[start : start + 100]
        X = pd.DataFrame([x for x, _ in part])
        many_scores += list(many.score_many(X))
        many.learn_many(X, pd.Series([y for _, y in part]))
        one_scores += [one.score_one(x) for x, _ in part]
        for x, y in part:
            one.learn_one(x, y)
    assert one_scores == many_scores
    assert learned_state(one) == learned_state(many)
