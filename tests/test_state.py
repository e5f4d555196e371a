"""States as plain data: what a declaration takes, and damaged states of every class."""

from __future__ import annotations

import contextlib
import copy
import itertools
import math
import pickle
import random
from collections.abc import Callable, Iterator
from typing import Any

import joblib
import numpy as np
import pytest
from classifiers import (
    PROBES,
    STREAM,
    TRIES,
    each_class,
    learn,
    make_small,
    make_stream,
    scores,
    state,
)
from record_reference import stream

from river_oauc import OAUCM
from river_oauc.classifier import FORMAT, OnlineAUCClassifier
from river_oauc.state import Stateful


class Part(Stateful):
    FIELDS = {"n": int, "mean": (float, "p")}

    def __init__(self) -> None:
        self.n, self.mean = 0, np.zeros(2)


class Whole(Stateful):
    """All kinds of fields."""

    FIELDS = {
        "x": float, "is_new": bool, "names": list, "rng": random.Random, "part": Stateful,
        "parts": [Stateful], "square": (float, 2, "p", "p"), "rows": (np.int64, "n"),
    }  # fmt: skip
    FILL = {"square": -1.0}
    USED = {"n": "n"}

    def __init__(self) -> None:
        self.x, self.is_new, self.names, self.rng = 0.5, True, ["a", 1], random.Random(1)
        self.part, self.parts = Part(), [Part(), Part()]
        self.square, self.rows, self.n = np.arange(8.0).reshape(2, 2, 2), np.arange(5), 3


def test_a_state_is_a_copy_of_what_is_used() -> None:
    whole, twin = Whole(), Whole()
    found = whole.get_state()
    assert found["rows"].tolist() == [0, 1, 2]
    whole.names.append("b")
    whole.parts[1].mean[0] = 9.0
    assert found["names"] == ["a", 1] and found["parts"][1]["mean"][0] == 0.0
    twin.n, twin.x = 4, 7.0
    twin.set_state(found | {"rows": np.arange(2)})
    assert (twin.n, twin.x, twin.rng.random()) == (2, 0.5, random.Random(1).random())
    found["square"][0] = found["part"]["mean"][0] = 3.0
    assert twin.square.max() == 7.0 and twin.part.mean[0] == 0.0


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("x", [None, "1", 1, True, math.nan, math.inf, [1.0]]),
        ("is_new", [0, None, "True"]),
        ("names", [None, "ab", ("a",), {"a"}, [[]]]),
        ("rng", [None, 1, (3, (1, 2), None), (3, (0,) * 624 + (999,), None), np.zeros(0)]),
        ("part", [None, [], {}, {"n": 1}, {"n": -1, "mean": np.zeros(2)}]),
        ("part", [{"n": n, "mean": np.zeros(2)} for n in (1.0, True, 2**53 + 1, 10**400)]),
        ("parts", [None, {}, [], [{"n": 1, "mean": np.zeros(2)}], [1, 2]]),
        ("square", [np.zeros(shape) for shape in (2, (2, 2), (2, 2, 3), (3, 2, 2))]),
        ("square", [np.zeros((2, 2, 2), kind) for kind in ("f4", "i8", "O", "U1", "f8,f8")]),
        ("square", [np.full((2, 2, 2), math.nan), [[[0.0]]], None]),
        ("rows", [np.array([0, -1]), np.array([2**60]), np.array([0.0]), np.array([True])]),
    ],
)
def test_a_field_of_another_kind_is_refused_by_name(name: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(ValueError, match="^the state is damaged: ") as refusal:
            Whole().set_state(Whole().get_state() | {name: value})
        assert name in str(refusal.value) or name.startswith("part")
        assert len(str(refusal.value)) < 300


def test_a_state_has_all_its_fields_and_no_other() -> None:
    whole = Whole().get_state()
    lacking = {name: value for name, value in whole.items() if name != "x"}
    for bad in (lacking, whole | {"y": 1}, None, [], list(whole.items())):
        with pytest.raises(ValueError, match="it is not a dict of x, is_new, names"):
            Whole().set_state(bad)


def test_numbers_and_arrays_come_out_as_our_own(tmp_path: Any) -> None:
    array = np.arange(8.0).reshape(2, 2, 2)
    frozen = array.copy()
    frozen.flags.writeable = False
    np.save(tmp_path / "array.npy", array)
    for source in (
        frozen,
        np.load(tmp_path / "array.npy", mmap_mode="r"),
        array.astype(">f8"),
        np.asfortranarray(array),
        np.repeat(array, 2, axis=2)[..., ::2],
        np.frombuffer(b"x" + array.tobytes(), offset=1).reshape(2, 2, 2),
    ):
        whole = Whole()
        whole.set_state(whole.get_state() | {"square": source, "x": np.float64(2.0)})
        taken = whole.square
        assert type(taken) is np.ndarray and taken.dtype.isnative and taken.flags.carray
        assert taken.flags.owndata and (taken == array).all() and type(whole.x) is float


@pytest.mark.parametrize("positions", [None, np.array([3, 1])])
def test_features_move_with_all_their_axes(positions: Any) -> None:
    whole, old = Whole(), Whole().square
    part = whole.part
    whole.reindex(positions, 4)
    places = range(2) if positions is None else positions
    for i, j, k in itertools.product(range(2), range(2), range(2)):
        assert whole.square[i, places[j], places[k]] == old[i, j, k]
    assert (whole.square == -1.0).sum() == 2 * (16 - 4)
    assert whole.part.mean.shape == (4,) and part.mean.shape == (2,) and part is not whole.part


# Every class -----------------------------------------------------------------------------------


@each_class
def test_foreign_memory_is_not_written_to(cls: type[OnlineAUCClassifier], tmp_path: Any) -> None:
    examples = make_stream(40, n_features=60)
    model = learn(make_small(cls), examples)
    joblib.dump(model, tmp_path / "model.joblib")
    mapped = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(model, protocol=5, buffer_callback=buffers.append)
    frozen = [bytes(buffer) for buffer in buffers]
    twin = pickle.loads(data, buffers=frozen)
    learn(model, examples)
    assert state(learn(mapped, examples)) == state(learn(twin, examples)) == state(model)
    assert frozen == [bytes(buffer) for buffer in buffers]


@pytest.mark.parametrize("number", [-1, 0, FORMAT - 1, FORMAT + 1, "2", None, True])
def test_other_formats_are_refused(number: Any) -> None:
    with pytest.raises(ValueError, match="format"):
        OAUCM.__new__(OAUCM).__setstate__(OAUCM().__getstate__() | {"format": number})


STRANGE: list[Any] = [
    None, "", "x", b"x", -1, 0, 1, 2**31, 2**40, 2**62, 2**70, -0.5, math.nan, math.inf, 1e308,
    True, [], {}, [1, 2], [[]], (1, 2), {"n": 1}, object(), np.zeros(0), np.zeros(3),
    np.zeros((2, 2)), np.zeros((2**40, 0)), np.arange(5), np.array(["a"]), np.array([None, 1]),
]  # fmt: skip
FLOATS = [math.nan, math.inf, -1.0, 1e300, -1e300, 5e-324, 0.0, 0.5, 7.0]
INTEGERS = [-1, 0, 1, 3, 10**6, 2**31, 2**40, 2**62]


def places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Yield all dicts and lists in plain data, with each of their keys."""
    if isinstance(data, dict | list):
        for key, item in data.items() if isinstance(data, dict) else enumerate(data):
            yield data, key
            yield from places(item)


def damage(damaged: dict[str, Any], rng: random.Random) -> None:
    """Change something in a state."""
    place, key = rng.choice(list(places(damaged)))
    value, how = place[key], rng.random()
    if isinstance(value, np.ndarray) and value.size and how < 0.6:
        number = rng.choice(FLOATS if value.dtype.kind == "f" else INTEGERS)
        value.reshape(-1)[rng.randrange(value.size)] = np.array(number).astype(value.dtype)
    elif isinstance(value, np.ndarray) and how < 0.9:
        shape = [rng.choice([n, n + 1, max(n - 1, 0), 0, 2 * n]) % 10**6 for n in value.shape]
        place[key] = np.ones(shape, rng.choice([value.dtype] * 4 + [float, np.int64, np.float32]))
    elif isinstance(value, int | float) and how < 0.8:
        place[key] = value * rng.choice([-1, 2, 10**6]) + rng.choice([0, 1, -1])
    elif isinstance(value, list) and value and how < 0.6:
        value.insert(rng.randrange(len(value)), rng.choice(value))
    elif how < 0.9:
        place[key] = copy.deepcopy(rng.choice(STRANGE))
    else:
        del place[key]


def use(model: Any) -> None:
    """Use a model in every way. It may refuse with a ValueError, and with no other exception."""
    late = [({**PROBES[0], "late": 1.0}, True), ({"later": 2.0, "code": "FR"}, False)]
    actions: list[Callable[[], Any]] = [
        lambda: scores(model, PROBES[:3]),
        lambda: model.predict_proba_one(PROBES[0]),
        lambda: learn(model, STREAM[:12]),
        lambda: learn(model, late),
        lambda: hasattr(model, "explain_one") and model.explain_one(PROBES[0]),
        lambda: getattr(model, "weights", None),
        lambda: hasattr(model._ranker, "merge") and model + learn(model.clone(), STREAM[:20]),
        lambda: copy.deepcopy(model).predict_proba_one(PROBES[1]),
    ]
    for action in actions:
        with contextlib.suppress(ValueError), np.errstate(all="ignore"):
            action()


def damaged_states(cls: type[OnlineAUCClassifier]) -> Iterator[tuple[random.Random, Any]]:
    """Yield a random generator, and a state for it to damage."""
    rng = random.Random(cls.__name__)
    models = [learn(make_small(cls), STREAM[:n]) for n in (0, 5, 60)]
    records = learn(make_small(cls), [])
    with contextlib.suppress(ValueError):
        learn(records, ((x, y) for x, y, _ in stream(60)))
    for _ in range(63 * TRIES):
        yield rng, rng.choice([*models, records]).__getstate__()


@pytest.mark.filterwarnings("ignore")
@each_class
def test_a_damaged_state_is_refused_or_works(cls: type[OnlineAUCClassifier]) -> None:
    """A crash would end the tests here."""
    n_refused = 0
    for rng, damaged in damaged_states(cls):
        for _ in range(rng.choice([1, 1, 2])):
            damage(damaged, rng)
        model = cls.__new__(cls)
        try:
            model.__setstate__(damaged)
        except ValueError as refusal:
            n_refused += 1
            assert len(str(refusal)) < 500
        else:
            use(model)
    assert n_refused > 30
