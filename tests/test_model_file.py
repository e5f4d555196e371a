"""Model files: what is saved comes back bit for bit, and nothing else is read."""

from __future__ import annotations

import enum
import hashlib
import json
import pathlib
import pickle
import random
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from classifiers import (
    CASES,
    STREAM,
    TRIES,
    Factory,
    each_case,
    learn,
    make_small,
    make_stream,
    plain,
)
from record_reference import stream
from river import optim, preprocessing
from test_state import use

from river_oauc import OAM, OAUCM, OKAUCM, AutoOAUC, SparseOAUCM, kernels, model_file
from river_oauc.classifier import OnlineAUCClassifier
from river_oauc.decisions import AlertBudget, FalsePositiveRate, MinimumCost
from river_oauc.feedback import AlertFeedback
from river_oauc.model_file import from_bytes, to_bytes
from river_oauc.monitor import Monitor
from river_oauc.preprocessing import Histories, RecordEncoder

MAGIC = b"river-oauc model\n"


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "model.oauc"


# What comes back -------------------------------------------------------------------------------


@each_case
def test_a_classifier_comes_back_and_learns_on(make: Factory, path: pathlib.Path) -> None:
    model = learn(make(), make_stream(80))
    model_file.save(model, path, {"note": [1, "two"]})
    twin, notes, _ = model_file.read(path)
    assert notes == {"note": [1, "two"]}
    assert plain(twin.__getstate__()) == plain(model.__getstate__())
    for each in (model, twin):
        learn(each, make_stream(30, seed=5))
    assert to_bytes(twin) == to_bytes(model)


def watch(monitor: Monitor, n: int) -> None:
    for i, (x, y) in enumerate(make_stream(n)):
        monitor.observe_one(("key", i), monitor.snapshot().n_observed + x["x0"], alert=y)
        monitor.label_one(("key", i - 3), y)
    monitor.mark_drift()


def review(model: AlertFeedback, n: int) -> None:
    for i, (x, y) in enumerate(make_stream(n)):
        model.learn_one(x, y, reviewed=i % 3 == 0)


def encode(model: Any, n: int) -> None:
    learn(model, ((x, y) for x, y, _ in stream(n)))


def predict_and_learn(model: Any, n: int) -> None:
    for x, y in make_stream(n):
        model.predict_one(x)
        model.learn_one(x, y)


HISTORIES = Histories(by=("terminal", 7), of=("amount",), time="when", max_entities=9)
OTHERS: list[tuple[Any, Callable[[Any, int], None]]] = [
    (AlertBudget(SparseOAUCM(), rate=0.1, window_size=50, seed=1), predict_and_learn),
    (FalsePositiveRate(OAUCM(), rate=0.1, seed=1), predict_and_learn),
    (MinimumCost(preprocessing.StandardScaler() | OAUCM(), 1, 10), predict_and_learn),
    (AlertFeedback(OAUCM()), review),
    (AlertBudget(AlertFeedback(OKAUCM()), seed=2), review),
    (Monitor(window_size=20), watch),
    (RecordEncoder(max_categories=50), encode),
    (RecordEncoder() | preprocessing.StandardScaler() | OAUCM(), encode),
    (HISTORIES, encode),
    (HISTORIES.clone() | AutoOAUC(("linear", "sparse"), seed=1), encode),
    (preprocessing.StandardScaler(with_std=False) | OAUCM(), predict_and_learn),
    (preprocessing.MinMaxScaler() | OAUCM(), predict_and_learn),
    (preprocessing.MaxAbsScaler() | OAUCM(), predict_and_learn),
    (preprocessing.Normalizer(order=1) | OAUCM(), predict_and_learn),
    (OKAUCM(kernel=kernels.Polynomial(degree=2), lr=1e-3), predict_and_learn),
    (OAUCM(lr=optim.schedulers.InverseScaling(0.1), l2=np.float64(0.5)), predict_and_learn),
    (OAUCM(lr=optim.schedulers.Constant(0.1)), predict_and_learn),
    (SparseOAUCM(max_categories=30), encode),
    (AutoOAUC(("linear", "sparse")), encode),
]


@pytest.mark.parametrize(("model", "go_on"), OTHERS, ids=lambda each: type(each).__name__)
def test_everything_else_comes_back_and_goes_on(model: Any, go_on: Any) -> None:
    for n in (0, 120):
        go_on(model, n)
        twin = from_bytes(to_bytes(model)).model
        assert to_bytes(twin) == to_bytes(model)
        assert repr(twin) == repr(model)
    go_on(model, 60)
    go_on(twin, 60)
    assert to_bytes(twin) == to_bytes(model)


def test_names_and_categories_of_all_plain_types() -> None:
    names = ["a", b"\xff", 3, 2.5, None, True, ("a", 1), "\ud800"]
    model = learn(SparseOAUCM(), [({name: b"c" for name in names}, True), ({"a": "b"}, False)])
    twin = from_bytes(to_bytes(model)).model
    assert plain(twin.__getstate__()) == plain(model.__getstate__())
    assert twin.weights == model.weights


# What does not fit -----------------------------------------------------------------------------


class Cosine(kernels.Linear):
    """A kernel of the user's own."""


class OwnSchedule(optim.base.Scheduler):
    def get(self, t: int) -> float:
        return 0.1


def test_objects_of_the_user_are_refused_and_the_old_file_stays(path: pathlib.Path) -> None:
    colours, own = enum.Enum("colours", "RED BLUE"), type("OAUCM", (OAUCM,), {})
    model_file.save(OAUCM(), path)
    before = path.read_bytes()
    refused: list[tuple[Any, str]] = [
        (OKAUCM(kernel=Cosine()), "a Cosine"),
        (OAUCM(lr=OwnSchedule()), "an? OwnSchedule"),
        (AlertBudget(own()), "an? OAUCM"),
        (preprocessing.RobustScaler() | OAUCM(), "a RobustScaler"),
        (preprocessing.StandardScaler(window_size=10) | OAUCM(), "a partial"),
        (learn(SparseOAUCM(), [({colours.RED: 1.0}, True)]), "RED.*, a colours"),
    ]
    for model, name in refused:
        with pytest.raises(ValueError, match=f"{name}.* does not fit into a model file: pickle"):
            model_file.save(model, path)
    for notes in ({"n": np.int64(3)}, {1: 2}, {"pair": (1, 2)}, [1], "text"):
        with pytest.raises(ValueError, match="they must be a dict that JSON can hold"):
            model_file.save(OAUCM(), path, notes)  # type: ignore[arg-type]
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


class Bomb:
    """Fails the test when it is unpickled."""

    def __reduce__(self) -> Any:
        return pytest.fail, ("code was executed",)


@pytest.mark.parametrize(
    "content", [b"", b"\n" * 100, pickle.dumps(Bomb()), MAGIC + pickle.dumps(Bomb()), MAGIC]
)
def test_other_files_are_refused(content: bytes, path: pathlib.Path) -> None:
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"model\.oauc: (not a|the) model file"):
        model_file.load(path)


# Damaged and hostile files ---------------------------------------------------------------------


def resealed(content: bytes) -> bytes:
    """Return a file with the hash that belongs to it."""
    return content[:-32] + hashlib.sha256(content[:-32]).digest()


def with_header(content: bytes, header: bytes) -> bytes:
    start = len(MAGIC) + 8
    end = start + int.from_bytes(content[len(MAGIC) : start], "little")
    return resealed(MAGIC + len(header).to_bytes(8, "little") + header + content[end:])


def small_models() -> list[Any]:
    pipeline = preprocessing.StandardScaler() | AlertBudget(OAUCM())
    classes = {type(make()) for make in CASES.values()}
    small = (make_small(cls) for cls in sorted(classes, key=lambda cls: cls.__name__))
    return [learn(model, STREAM) for model in (*small, pipeline)]


@pytest.mark.filterwarnings("ignore")
def test_flipped_bytes_are_refused_or_leave_a_model_that_works() -> None:
    """Refused for their hash; with the right one, a classifier is refused or works."""
    rng, n_refused, n_trials = random.Random(1), 0, 60 * TRIES
    for model in small_models():
        content = to_bytes(model)
        end = len(MAGIC) + 8 + int.from_bytes(content[len(MAGIC) : len(MAGIC) + 8], "little")
        for i in range(n_trials):
            # Half of them in the header.
            at = rng.randrange(len(MAGIC), end if i % 2 else len(content) - 32)
            flipped = bytearray(content)
            flipped[at] ^= 1 << rng.randrange(8)
            if i < 10:
                for damaged in (bytes(flipped), content[:at]):
                    with pytest.raises(ValueError, match="^the model file is damaged or cut off"):
                        from_bytes(damaged)
            try:
                twin = from_bytes(resealed(bytes(flipped))).model
            except ValueError as refusal:
                assert len(str(refusal)) < 500
                n_refused += 1
            else:
                if isinstance(twin, OnlineAUCClassifier):
                    use(twin)
    assert n_refused > 5 * n_trials


HUGE = {"OAM": {"dict": [[["format", 4], ["parameters", {"dict": [[["buffer_size", 2**40]]]}]]]}}
MODELS: list[Any] = [
    {"Popen": [["ls"]]}, {"type": "Popen"}, {"RBF": [-1]}, {"OAUCM": None},
    {"OAUCM": {"dict": [[]]}}, {"tuple": [5]}, {"deque": [[], -1]}, {"set": [[[]]]},
    {"dict": [[[1]]]}, {"float": [1]}, {"bytes": "zz"}, {"bytes": 5}, {"array": 1},
    {"array": "x"}, [{"array": 0}, {"array": 0}], {}, {"a": 1, "b": 2}, {"StandardScaler": 7},
    {"ScoreWindow": {"dict": [[]]}}, {"Snapshot": [1]}, {"defaultdict": [5, []]}, HUGE,
]  # fmt: skip
ARRAYS: list[Any] = [
    [["float64", [2**70]]], [["float64", [2**40]]], [["float64", [-1]]], [["float64", [1.5]]],
    [["float64", [2**40, 2**40]]], [["object", [1]]], [["float64"]], 5, ["x"], [None],
]  # fmt: skip
HEADERS = [
    *({"model": model, "arrays": [["float64", [3]]]} for model in MODELS),
    *({"arrays": arrays} for arrays in ARRAYS),
    {"notes": 3}, {"format": []}, {"format": 9, "version": "9" * 1000},
]  # fmt: skip


@pytest.mark.parametrize("change", HEADERS, ids=str)
def test_hostile_headers_are_refused_without_much_memory(change: dict[str, Any]) -> None:
    content = to_bytes(learn(OAUCM(), STREAM))
    length = int.from_bytes(content[len(MAGIC) : len(MAGIC) + 8], "little")
    header = json.loads(content[len(MAGIC) + 8 :][:length])
    hostile = with_header(content, json.dumps(header | change).encode())
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="^the model file") as refusal:
            from_bytes(hostile)
        assert tracemalloc.get_traced_memory()[1] < 1e6
    finally:
        tracemalloc.stop()
    assert len(str(refusal.value)) < 500


@pytest.mark.parametrize(
    "header", [b"", b"[]", b"nonsense", b"[" * 100_000, b'{"dict":' * 100_000, b"9" * 10_000]
)
def test_headers_that_are_no_headers_are_refused(header: bytes) -> None:
    with pytest.raises(ValueError, match="the model file is damaged"):
        from_bytes(with_header(to_bytes(OAUCM()), header))


def test_budgets_beyond_all_memory_are_refused() -> None:
    state = OAM(buffer_size=3).__getstate__()
    state["parameters"]["buffer_size"] = 2**50
    with pytest.raises(ValueError, match="or too large"):
        OAM.__new__(OAM).__setstate__(state)
