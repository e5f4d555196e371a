"""Encoders of raw records: against plain loops, from damaged states, and with hostile records."""

from __future__ import annotations

import collections
import contextlib
import copy
import itertools
import math
import os
import pickle
import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from classifiers import TAKE_RECORDS, digest, make_case, state
from record_reference import Encoder, plain_name, stream

from river_oauc import AutoOAUC, SparseOAUCM
from river_oauc.preprocessing import RecordEncoder
from river_oauc.records.columns import KIND_NAMES
from river_oauc.records.encoder import MixedEncoder
from river_oauc.records.entries import smallest_of

# RIVER_OAUC_TRIES multiplies the number of random trials.
TRIES = int(os.environ.get("RIVER_OAUC_TRIES", "1"))

PROMPT = {"sparse": False, "is_pair": False, "is_prompt": True}
SPARSE = {"dense": False, "is_pair": False}
ENCODERS: dict[str, dict[str, Any]] = {
    "pair": {},
    "pair, limited": {"max_features": 6, "max_categories": 100},
    "dense, limited": {"sparse": False, "max_features": 9, "max_categories": 60},
    "prompt": PROMPT,
    "prompt, limited": PROMPT | {"max_categories": 40},
    "sparse, limited": SPARSE | {"max_categories": 60},
}
each_encoder = pytest.mark.parametrize("params", ENCODERS.values(), ids=ENCODERS)


def assert_close(found: Any, expected: list[float]) -> None:
    assert np.allclose(found, expected, rtol=1e-12, atol=1e-12, equal_nan=True)


class Both:
    """An encoder and the plain loops, which must always say the same."""

    def __init__(self, **params: Any) -> None:
        self.params, self.encoder = params, MixedEncoder(**params)
        limits = {name: params.get(name) for name in ("max_features", "max_categories")}
        self.plain = Encoder(params.get("is_prompt", False), **limits)

    def key(self, feature: int, kind: int) -> tuple[Any, str]:
        return plain_name(self.encoder.features.names[feature]), KIND_NAMES[kind] or "number"

    def row_key(self, row: int) -> tuple[Any, ...]:
        feature, kind, key = self.encoder.rows_index.entries[row]
        if kind < 2:
            return *self.key(feature, kind), key
        name, _ = self.key(feature, 0)
        return (name, "category", key) if kind == 2 else (name, "size", smallest_of(key))

    @property
    def keys(self) -> tuple[list[Any], list[Any]]:
        """What the columns and rows stand for."""
        columns = [self.key(*column) for column in self.encoder.columns.columns]
        return columns, [self.row_key(row) for row in range(len(self.encoder.rows_index.entries))]

    def encode(self, x: dict[Any, Any], learning: bool = False) -> Any:
        encoder, (columns, rows) = self.encoder, self.plain.encode(x, learning)
        example, added = encoder.encode(x, learning)
        array, sparse = example if encoder.is_pair else (example, example)
        if encoder.dense:
            keys = self.keys[0]
            free = [0.0 if encoder.is_prompt else math.nan] * (len(array) - len(keys))
            assert columns.keys() == set(keys)
            assert_close(array, [columns[key] for key in keys] + free)
        if encoder.sparse:
            keys = [self.row_key(row) for row in sparse[0].tolist()]
            assert rows.keys() == set(keys) and len(rows) == len(keys)
            assert_close(sparse[1], [rows[key] for key in keys])
        return added

    def learn(self, x: dict[Any, Any], y: bool, w: float) -> None:
        is_full = self.encoder.update(self.encode(x, learning=True), y, w)
        self.plain.learn(x, y, w)
        if is_full:
            self.encoder.keep(np.arange(len(self.encoder.rows_index.entries))[-40:])
            self.plain.keep(list(self.plain.rows)[-40:])

    def pickled(self) -> None:
        twin = MixedEncoder(**self.params)
        twin.set_state(pickle.loads(pickle.dumps(self.encoder.get_state())))
        assert digest(twin.get_state()) == digest(self.encoder.get_state())
        self.encoder = twin


@each_encoder
def test_examples_are_those_of_plain_loops(params: dict[str, Any]) -> None:
    """In learning and in prediction, after pickling, refused examples, and merging."""
    parts, others = (Both(**params), Both(**params)), stream(600, seed=2)
    for i, (x, y, w) in enumerate(stream(600, seed=1)):
        part, (other, _, _) = parts[i % 4 == 0], next(others)
        if i % 5 == 0:
            before = digest(part.encoder.get_state())
            part.encode(other)
            refused = {**other, "never": "x", "amount": "x", f"only {i}": 1.5}
            part.encoder.rollback(part.encoder.encode(refused, learning=True)[1])
            assert digest(part.encoder.get_state()) == before
        part.learn(x, y, w)
        if i in (1, 300, 500):
            part.pickled()
    if not params:
        kinds = {kind for _, kind in parts[0].plain.columns}
        assert kinds == {"number", "log odds", "recent log odds", "missing"}
        assert {row[1] for row in parts[0].plain.rows} == {"number", "log odds", "category", "size"}
        assert parts[0].plain.features["text"].is_text()
    for one, other in (parts, parts[::-1]):
        both = Both(**params)
        both.encoder, *positions = one.encoder.merged(other.encoder)
        both.plain = one.plain.merged(other.plain)
        for part, places in zip((one, other), positions, strict=True):
            sides = zip(places, part.keys, both.keys, strict=True) if both.encoder.is_pair else ()
            assert all([keys[i] for i in side] == own for side, own, keys in sides)
        for x, y, w in stream(70, seed=3):
            both.learn(x, y, w)


def test_a_feature_of_which_nothing_recurs_gives_up() -> None:
    both = Both()
    for i in range(10_020):
        x, y = {"id": f"user {i}", "number": i, "half": f"user {i // 2}"}, i % 3 == 0
        both.plain.encode(x, learning=True)
        both.plain.learn(x, y, 1.0)
        both.encoder.update(both.encoder.encode(x, learning=True)[1], y, 1.0)
    assert [feature.is_id for feature in both.plain.features.values()] == [True, True, False]
    both.pickled()
    both.encode(x)


def test_a_prompt_encoder_refuses_more_features_than_allowed() -> None:
    encoder, x = MixedEncoder(**PROMPT, max_features=3), {"a": 1.5, "when": "2024-02-29 08:00"}
    encoder.update(encoder.encode(x, learning=True)[1], True, 1.0)
    before = digest(encoder.get_state())
    for _ in range(2):
        with pytest.raises(ValueError, match="there would be 4 features, and max_features is 3: "):
            encoder.encode({"b": 1, "c": 2}, learning=True)
    assert digest(encoder.get_state()) == before
    # A string in the place of a number is another column, and no other feature.
    assert len(encoder.encode({"a": "x", "b": 1}, learning=True)[0]) == 5


# Damaged states ----------------------------------------------------------------------------------

ODD = [None, -1, 0, 1, 2, 7, 10**6, -(2**63), 2**63 - 1, 2**70, 1.5, math.nan, math.inf, "x", b"x"]
ODD += [(1, 2), [1], {}, np.zeros(3), True]


def damaged(rng: random.Random, state: dict[str, Any]) -> dict[str, Any]:
    """Return a state in which something has been changed by chance."""
    state = copy.deepcopy(state)
    part = rng.choice(list(state.values()))
    name, odd, action = rng.choice(list(part)), rng.choice(ODD), rng.randrange(6)
    value = part[name]
    if action == 0:
        part[rng.choice([name, "more"])] = odd
    elif isinstance(value, np.ndarray) and value.size and type(odd) in (int, float):
        with contextlib.suppress(OverflowError, ValueError):
            value.reshape(-1)[[rng.randrange(value.size) for _ in range(action)]] = odd
    elif isinstance(value, np.ndarray) and value.size:
        kinds = value[:-1], value[::-1], np.repeat(value, 2, 0), np.ravel(value), value.astype("f4")
        part[name] = rng.choice(kinds)
    elif isinstance(value, list) and value:
        i = rng.randrange(len(value))
        value[i : i + rng.randrange(2)] = rng.choice([[], [odd], [rng.choice(value)]])
    else:
        del part[name]
    return state


def test_a_damaged_state_is_refused_or_works() -> None:
    rng, outcomes, states = random.Random(5), collections.Counter[str](), []
    for params in ENCODERS.values():
        both = Both(**params)
        for x, y, w in stream(100, seed=3):
            both.learn(x, y, w)
        states.append((params, both.encoder, both.encoder.get_state()))
    records = list(stream(40, seed=9))
    for _ in range(2_000 * TRIES):
        params, whole, before = rng.choice(states)
        encoder = MixedEncoder(**params)
        try:
            encoder.set_state(damaged(rng, before))
        except ValueError as refusal:
            assert str(refusal).startswith("the state is damaged: ")
            outcomes["refused"] += 1
            continue
        for x, y, w in rng.sample(records, 2):
            encoder.encode(x)
            if encoder.update(encoder.encode(x, learning=True)[1], y, w):
                encoder.keep(np.arange(len(encoder.rows_index.entries))[-5:])
        whole.merged(encoder)
        MixedEncoder(**params).set_state(encoder.merged(whole)[0].get_state())
        outcomes["works"] += 1
    assert min(outcomes.values()) > 200 * TRIES, outcomes


# Hostile records ---------------------------------------------------------------------------------


def make_fast_auto(**params: Any) -> AutoOAUC:
    return AutoOAUC(experts=("linear", "sparse"), seed=1, **params)


def seconds(call: Callable[..., Any], *args: Any) -> float:
    start = time.process_time()
    call(*args)
    return time.process_time() - start


def learn_all(model: Any, records: Any) -> Any:
    for i, x in enumerate(records):
        model.learn_one(x, i % 3 == 0)
    return model


@pytest.mark.parametrize("make", [SparseOAUCM, make_fast_auto])
def test_one_record_of_100_000_strings(make: Any) -> None:
    model, wide = make(max_categories=100), {f"name {i}": "value" for i in range(100_000)}
    narrow = dict(itertools.islice(wide.items(), 2_000))
    usual = [{"a": f"v{i % 300}", "b": i % 50} for i in range(300)]
    assert seconds(learn_all, model, [wide]) < 500 * seconds(learn_all, make(), [narrow])
    assert len(pickle.dumps(model)) < 100_000
    assert seconds(learn_all, model, usual) < 20 * seconds(learn_all, make(), usual) + 0.1
    assert math.isfinite(model.score_one(wide)) and len(pickle.dumps(model)) < 100_000


@pytest.mark.parametrize("make", [SparseOAUCM, make_fast_auto, RecordEncoder])
@pytest.mark.parametrize("limit", [None, 50])
def test_a_new_name_in_every_record(make: Any, limit: int | None) -> None:
    model, sizes = make(max_categories=limit), []
    records = [{"a": 1.5, f"name {i}": "x" if i % 2 else 1.5, "c": f"c{i}"} for i in range(2_000)]
    times = []
    for start in range(0, 2_000, 400):
        times.append(seconds(learn_all, model, records[start : start + 400]))
        sizes.append(len(pickle.dumps(model)))
    assert times[-1] < 5 * times[0] + 0.1
    # Columns are not limited.
    assert limit is None or make is RecordEncoder or max(sizes) < 60_000
    assert limit is not None or sizes[-1] > 2 * sizes[0]


@pytest.mark.parametrize("kind", [int, float, str])
def test_hashes_that_collide_cost_nothing(kind: type) -> None:
    """As categories, multiples of this prime would all have the hash 0."""

    def learn_multiples(factor: int) -> None:
        learn_all(SparseOAUCM(), [{"id": kind(factor * i)} for i in range(1, 10_000)])

    assert seconds(learn_multiples, 2**61 - 1) < 5 * seconds(learn_multiples, 1) + 0.1


class Meddler(float):
    """A number that changes its record while it is read, as another thread might."""

    record: dict[Any, Any]

    def __float__(self) -> float:
        self.record.pop("country", None)
        self.record[f"new {len(self.record)}"] = "text" if len(self.record) % 2 else 1.5
        return 2.5


@pytest.mark.parametrize("cls", [*TAKE_RECORDS, RecordEncoder])
def test_a_record_that_changes_while_it_is_read(cls: Any) -> None:
    model = cls() if cls is RecordEncoder else make_case(cls)
    predict = getattr(model, "score_one", None) or model.transform_one
    for x, y, _ in stream(30):
        x["meddler"] = x["again"] = Meddler()
        x["meddler"].record = x["again"].record = x
        predict(x)
        model.learn_one(x, y)
    again = pickle.loads(pickle.dumps(model))
    assert digest(again.__getstate__()) == digest(model.__getstate__())


@pytest.mark.parametrize("cls", [*TAKE_RECORDS, RecordEncoder])
def test_predictions_and_weight_0_change_nothing(cls: Any) -> None:
    model = cls() if cls is RecordEncoder else make_case(cls)
    for x, y, w in stream(200):
        model.learn_one(x, y, w)
    before = state(model)
    for x, y, _ in stream(50, seed=1):
        x |= {"never seen": "x", "nor this": 1.5, "country": "??"}
        for call in (
            "transform_one",
            "score_one",
            "predict_proba_one",
            "predict_one",
            "explain_one",
        ):
            getattr(model, call, lambda x: None)(x)
        model.learn_one(x, y, 0.0)
    assert state(model) == before
