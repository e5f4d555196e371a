"""Interrupted in the middle of a batch, a model has learned a whole number of its rows."""

from __future__ import annotations

import inspect
import pickle
import random
import re
import signal
import subprocess
import sys
import textwrap
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from river import optim

import river_oauc
from river_oauc import KOIL, OAUCM, OAUCS, OKAUCM, OKAUCS, OLUBAUC, kernels
from river_oauc.base import OnlineAUCClassifier
from river_oauc.interrupts import HeldInterrupts

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


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


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


def n_rows_noted(error: BaseException, n_rows: int) -> int:
    """What the note says of how many rows have been learned."""
    (note,) = error.__notes__
    found = re.fullmatch(rf"learn_many had learned (\d+) of {n_rows} rows", note)
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


def stops_of_learn_many(
    make_trapped: Factory, act: Callable[[], None], kind: type[BaseException]
) -> set[int]:
    """After how many of twelve rows it stops, whenever the trap acts; a whole number each time."""
    examples = stream(12)
    X, y = frame_of(examples)
    stops = set()
    for n_calls in range(1, 100):
        model = make_trapped()
        Trap.set(n_calls, act)
        try:
            model.learn_many(X, y)
        except kind as error:
            n_rows = n_rows_noted(error, 12)
            stops.add(n_rows)
            expected = learned(make_trapped(), examples[:n_rows])
            assert pickle.dumps(model) == pickle.dumps(expected)
        else:
            break
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    return stops


@each_trapped
def test_learn_many_stops_after_a_whole_row_at_a_failure(make_trapped: Factory) -> None:
    assert {5, 6, 11} <= stops_of_learn_many(make_trapped, fail, Failure)


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


# SIGINT ----------------------------------------------------------------------------------------


@each_trapped
def test_an_interrupt_waits_for_the_row_to_be_finished(make_trapped: Factory) -> None:
    # The last of them has come in the last row, and was not lost.
    assert {5, 6, 12} <= stops_of_learn_many(make_trapped, interrupt, KeyboardInterrupt)


class InterruptAtLine:
    """A trace function that sends SIGINT when the package comes to its n-th line."""

    FILES = {module.__file__ for module in vars(river_oauc).values() if inspect.ismodule(module)}

    def __init__(self, n_lines: int) -> None:
        self.n_left = n_lines

    def __call__(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename not in self.FILES:
            return None
        if event == "line":
            self.n_left -= 1
            if self.n_left == 0:
                interrupt()
        return self


@each_classifier
def test_an_interrupt_at_any_line(cls: type[OnlineAUCClassifier]) -> None:
    """The model has learned as many rows as the note says, and none if there is no note."""
    examples = [*stream(4), *(({**x, "late": 1.0}, y) for x, y in stream(4, seed=1))]
    known, n_rows = examples[:4], len(examples) - 4
    X, y = frame_of(examples[4:])
    states = [pickle.dumps(learned(make(cls), examples[: 4 + n])) for n in range(n_rows + 1)]
    stops = []
    trace = sys.gettrace()
    for n_lines in range(1, 100_000, 7):
        model = learned(make(cls), known)
        n_learned: int | None = None
        try:
            sys.settrace(InterruptAtLine(n_lines))
            model.learn_many(X, y)
        except KeyboardInterrupt as error:
            n_learned = n_rows_noted(error, n_rows) if hasattr(error, "__notes__") else 0
        finally:
            sys.settrace(trace)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if n_learned is None:
            break
        assert pickle.dumps(model) == states[n_learned]
        stops.append(n_learned)
    assert set(stops) == set(range(n_rows + 1))


ASYNCHRONOUS = """
    import pickle, signal, sys, time
    import pandas as pd
    from river import optim
    from river_oauc import OAUCM

    class Schedule(optim.base.Scheduler):
        def get(self, t):
            if t == 100:
                print("learning", flush=True)
            return 1.0 / (1 + t)

    signal.signal(signal.SIGINT, signal.default_int_handler)
    n_rows = 200_000
    values = [(7919 * i % 1000) / 1000 for i in range(n_rows)]
    X = pd.DataFrame({"a": values, "b": values[::-1]})
    y = pd.Series([i % 3 == 0 for i in range(n_rows)])
    rows = list(zip(X.to_dict("records"), y.tolist()))
    for line in sys.stdin:
        model = OAUCM(lr=Schedule())
        try:
            model.learn_many(X, y)
            n_learned = n_rows
            time.sleep(60)
        except KeyboardInterrupt as error:
            for note in getattr(error, "__notes__", []):
                n_learned = int(note.removeprefix("learn_many had learned ").split()[0])
        state = pickle.dumps(model)
        model = OAUCM(lr=Schedule())
        sys.stdout = sys.stderr
        for x, label in rows[:n_learned]:
            model.learn_one(x, label)
        sys.stdout = sys.__stdout__
        print(n_learned, pickle.dumps(model) == state, flush=True)
"""


def test_an_interrupt_from_outside() -> None:
    """From another process, at no particular moment."""
    rng = random.Random(0)
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(ASYNCHRONOUS)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=Path(river_oauc.__file__).parents[1],
    )
    results = []
    with child:
        for _ in range(4):
            print("go", file=child.stdin, flush=True)
            assert child.stdout.readline() == "learning\n"
            threading.Event().wait(rng.uniform(0.0, 0.1))
            child.send_signal(signal.SIGINT)
            n_learned, is_equal = child.stdout.readline().split()
            results.append(int(n_learned))
            assert is_equal == "True"
        child.stdin.close()
    assert child.returncode == 0
    assert all(n_learned >= 100 for n_learned in results)
    assert min(results) < 200_000


# Handlers --------------------------------------------------------------------------------------


def test_a_handler_that_returns_lets_the_batch_go_on() -> None:
    examples = stream(12)
    X, y = frame_of(examples)
    calls = []
    model = make(OAUCM, lr=TrapSchedule())

    def handler(signum: int, frame: types.FrameType | None) -> None:
        calls.append((signum, frame, model._n_seen))

    signal.signal(signal.SIGINT, handler)
    Trap.set(5, interrupt)
    model.learn_many(X, y)
    assert signal.getsignal(signal.SIGINT) is handler
    assert pickle.dumps(model) == pickle.dumps(learned(make(OAUCM, lr=TrapSchedule()), examples))
    # The first example is not compared with any, and asks for no step.
    ((signum, frame, n_learned),) = calls
    assert (signum, n_learned) == (signal.SIGINT, 6)
    assert isinstance(frame, types.FrameType)


def test_a_handler_may_put_another_in_its_place() -> None:
    """Such as: the first time ask politely, the second time stop."""
    X, y = frame_of(stream(12))

    def first(signum: int, frame: types.FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        Trap.set(3, interrupt)

    signal.signal(signal.SIGINT, first)
    model = make(OAUCM, lr=TrapSchedule())
    Trap.set(3, interrupt)
    with pytest.raises(KeyboardInterrupt) as error:
        model.learn_many(X, y)
    assert n_rows_noted(error.value, 12) == model._n_seen == 7
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_may_raise_what_it_likes() -> None:
    X, y = frame_of(stream(12))

    def handler(signum: int, frame: types.FrameType | None) -> None:
        raise Failure

    signal.signal(signal.SIGINT, handler)
    model = make(OAUCM, lr=TrapSchedule())
    Trap.set(3, interrupt)
    with pytest.raises(Failure) as error:
        model.learn_many(X, y)
    assert n_rows_noted(error.value, 12) == model._n_seen == 4
    assert signal.getsignal(signal.SIGINT) is handler


def test_an_interrupt_and_a_failure_in_one_row() -> None:
    X, y = frame_of(stream(12))

    def interrupt_and_fail() -> None:
        interrupt()
        fail()

    model = make(OAUCM, lr=TrapSchedule())
    Trap.set(3, interrupt_and_fail)
    with pytest.raises(KeyboardInterrupt) as error:
        model.learn_many(X, y)
    assert isinstance(error.value.__context__, Failure)
    assert n_rows_noted(error.value, 12) == model._n_seen == 3
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_ignored_interrupt_stays_ignored() -> None:
    X, y = frame_of(stream(12))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    model = make(OAUCM, lr=TrapSchedule())
    Trap.set(3, interrupt)
    model.learn_many(X, y)
    assert model._n_seen == 12
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_an_interrupt_that_ends_the_process_still_does() -> None:
    program = """
        import signal
        import pandas as pd
        from river import optim
        from river_oauc import OAUCM

        class Schedule(optim.base.Scheduler):
            def get(self, t):
                signal.raise_signal(signal.SIGINT)

        signal.signal(signal.SIGINT, signal.SIG_DFL)
        OAUCM(lr=Schedule()).learn_many(pd.DataFrame({"a": [1, 2]}), pd.Series([True, False]))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        cwd=Path(river_oauc.__file__).parents[1],
        check=False,
    )
    assert done.returncode == -signal.SIGINT


def test_a_handler_that_is_not_pythons_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """`signal.signal` could not put it back."""
    monkeypatch.setattr(signal, "getsignal", lambda signum: None)
    monkeypatch.setattr(signal, "signal", lambda signum, handler: pytest.fail("changed"))
    with HeldInterrupts() as interrupts:
        assert interrupts.arrived is None
    monkeypatch.undo()


def test_other_threads_learn_without_touching_the_handler() -> None:
    """Only the main thread may set one, and only there interrupts are raised."""
    examples = stream(12)
    X, y = frame_of(examples)
    model = make(OAUCM)
    handlers = []

    def learn() -> None:
        with HeldInterrupts():
            handlers.append(signal.getsignal(signal.SIGINT))
        model.learn_many(X, y)

    thread = threading.Thread(target=learn)
    thread.start()
    thread.join()
    assert handlers == [signal.default_int_handler]
    assert pickle.dumps(model) == pickle.dumps(learned(make(OAUCM), examples))


def test_a_block_in_a_block() -> None:
    """The inner one hands on to the outer one, which hands on at its own time."""
    order = []
    with pytest.raises(KeyboardInterrupt):
        with HeldInterrupts() as outer:
            with HeldInterrupts() as inner:
                interrupt()
                order.append(("inner", bool(inner.arrived), bool(outer.arrived)))
            order.append(("outer", bool(inner.arrived), bool(outer.arrived)))
    assert order == [("inner", True, False), ("outer", False, True)]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_nothing_is_kept_of_what_was_interrupted() -> None:
    """Neither the frame, nor the handler."""
    signal.signal(signal.SIGINT, lambda signum, frame: None)
    with HeldInterrupts() as interrupts:
        interrupt()
        assert interrupts.arrived
        interrupts.deliver()
        assert interrupts.arrived is None
    assert vars(interrupts) == {"arrived": None, "_handler": None}
