"""Code of the user that raises in the midst of a step, and what learn_many says of it."""

from __future__ import annotations

import inspect
import pickle
import random
import re
import signal
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from river import optim

import river_oauc
from river_oauc import KOIL, OAUCM, OAUCS, OKAUCM, OKAUCS, OLUBAUC, kernels
from river_oauc.base import OnlineAUCClassifier

CLASSIFIERS: list[type[OnlineAUCClassifier]] = [
    getattr(river_oauc, name) for name in river_oauc.__all__
]

# A small budget, so that examples are given up as well.
SMALL = {"budget": 3, "buffer_size": 3, "seed": 1}

Factory = Callable[[], OnlineAUCClassifier]


class Trap:
    """Goes off at a call that can be chosen; kept out of the models, so that they can be compared.

    The traps below stand for what a user may hand to a learner: code that runs in each step.
    """

    n_calls_left = 0
    goes_off: Callable[[], None]

    @classmethod
    def set(cls, n_calls: int, goes_off: Callable[[], None]) -> None:
        cls.n_calls_left, cls.goes_off = n_calls, goes_off

    @classmethod
    def step(cls) -> None:
        cls.n_calls_left -= 1
        if cls.n_calls_left == 0:
            cls.goes_off()


class TrapSchedule(optim.base.Scheduler):
    def get(self, t: int) -> float:
        Trap.step()
        return 0.5 / (1 + t)


class TrapKernel(kernels.RBF):
    def __call__(self, x: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        Trap.step()
        return super().__call__(x, vectors)


class Failure(Exception):
    """What a trap raises: nothing that the package could know."""


def fail() -> None:
    raise Failure


@pytest.fixture(autouse=True)
def usual_handler() -> Iterator[None]:
    """A run in the background ignores SIGINT from the start."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    Trap.set(0, fail)
    signal.signal(signal.SIGINT, previous)


def make(cls: type[OnlineAUCClassifier], **traps: Any) -> OnlineAUCClassifier:
    known = inspect.signature(cls).parameters
    return cls(**{name: value for name, value in (SMALL | traps).items() if name in known})


TRAPPED: dict[str, Factory] = {
    **{
        f"{cls.__name__} with a schedule": lambda cls=cls: make(
            cls, lr=TrapSchedule(), policy="reservoir"
        )
        for cls in (OAUCM, OAUCS, OLUBAUC, OKAUCM, OKAUCS)
    },
    **{
        f"{cls.__name__} with a kernel": lambda cls=cls: make(cls, kernel=TrapKernel(0.5))
        for cls in (OKAUCM, OKAUCS, KOIL)
    },
}
each_trapped = pytest.mark.parametrize("make_trapped", TRAPPED.values(), ids=TRAPPED)
each_classifier = pytest.mark.parametrize("cls", CLASSIFIERS)


def stream(n: int, seed: int = 0) -> list[tuple[dict[str, float], bool]]:
    rng = random.Random(seed)
    return [({name: rng.gauss(i % 2, 1) for name in "abc"}, i % 2 == 1) for i in range(n)]


def frame_of(examples: list[tuple[dict[str, float], bool]]) -> tuple[pd.DataFrame, pd.Series]:
    return pd.DataFrame([x for x, _ in examples]), pd.Series([y for _, y in examples])


def learned(
    model: OnlineAUCClassifier, examples: list[tuple[dict[str, float], bool]]
) -> OnlineAUCClassifier:
    for x, y in examples:
        model.learn_one(x, y)
    return model


def row_noted(error: BaseException, n_rows: int) -> int:
    """The row that the note names."""
    (note,) = error.__notes__
    found = re.fullmatch(rf"learn_many was in row (\d+) of {n_rows}", note)
    assert found, note
    return int(found[1])


# Code of the user that raises ------------------------------------------------------------------


@pytest.mark.parametrize("late", [{}, {"late": 1.0}], ids=["known features", "a late feature"])
@pytest.mark.parametrize("y", [False, True])
@each_trapped
def test_learn_one_leaves_no_trace_of_a_failure(
    make_trapped: Factory, y: bool, late: dict[str, float]
) -> None:
    """Wherever in a step it comes."""
    (x, _), *_ = stream(1, seed=1)
    model = learned(make_trapped(), stream(20))
    before = pickle.dumps(model)
    n_failures = 0
    for n_calls in range(1, 20):
        Trap.set(n_calls, fail)
        try:
            model.learn_one(x | late, y)
        except Failure:
            n_failures += 1
            assert pickle.dumps(model) == before
        else:
            break
    assert 1 <= n_failures < 10
    Trap.set(0, fail)
    expected = learned(make_trapped(), [*stream(20), (x | late, y)])
    assert pickle.dumps(model) == pickle.dumps(expected)


@each_trapped
def test_learn_many_stops_after_a_whole_row_at_a_failure(make_trapped: Factory) -> None:
    examples = stream(12)
    X, y = frame_of(examples)
    stops = set()
    for n_calls in range(1, 100):
        model = make_trapped()
        Trap.set(n_calls, fail)
        try:
            model.learn_many(X, y)
        except Failure as error:
            row = row_noted(error, 12)
            stops.add(row)
            expected = learned(make_trapped(), examples[:row])
            assert pickle.dumps(model) == pickle.dumps(expected)
        else:
            break
    assert {5, 6, 11} <= stops


def test_a_refused_row_says_what_has_been_learned() -> None:
    X = pd.DataFrame({"a": [1.0, 0.0, 1e40, 1.0]})
    y = pd.Series([True, False, True, False])
    model = OAUCS(lr=1e30)
    with pytest.raises(ValueError, match="rows before it have been learned") as refusal:
        model.learn_many(X, y)
    assert "(row 2 of the data frame; the rows" in str(refusal.value)
    expected = learned(OAUCS(lr=1e30), [({"a": 1.0}, True), ({"a": 0.0}, False)])
    assert pickle.dumps(model) == pickle.dumps(expected)

    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=r"\(row 0 of the data frame; no row has been learned\)"):
        model.learn_many(X[2:], y[2:])
    assert pickle.dumps(model) == before


@each_trapped
def test_an_interrupt_says_in_which_row_it_came(make_trapped: Factory) -> None:
    X, y = frame_of(stream(12))
    model = make_trapped()
    Trap.set(8, lambda: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt) as interrupt:
        model.learn_many(X, y)
    assert 2 <= row_noted(interrupt.value, 12) <= 10
