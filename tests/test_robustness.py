"""Whatever happens meanwhile, a model stays usable: other threads, forks, interrupts."""

from __future__ import annotations

import contextlib
import copy
import os
import pickle
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pytest
from classifiers import (
    PROBES,
    STREAM,
    TRIES,
    Factory,
    assert_unharmed,
    each_class,
    each_encoding,
    learn,
    learned_state,
    make_small,
    make_stream,
)

from river_oauc import OAUCM
from river_oauc.classifier import OnlineAUCClassifier

on_posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals and fork")


@pytest.fixture
def hectic() -> Iterator[None]:
    """Let threads take turns every ten microseconds."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


def beside(action: Callable[[], Any], main: Callable[[], Any]) -> list[Any]:
    """Repeat an action in another thread until the main one is done; return its results."""
    results: list[Any] = []
    failures: list[BaseException] = []
    done, begun = threading.Event(), threading.Event()

    def repeat() -> None:
        try:
            while not done.is_set():
                results.append(action())
                begun.set()
        except BaseException as failure:
            failures.append(failure)
            begun.set()

    thread = threading.Thread(target=repeat)
    thread.start()
    begun.wait(10.0)
    try:
        main()
    finally:
        done.set()
        thread.join()
    assert not failures
    return results


def growing_stream(n: int) -> list[tuple[dict[str, float], bool]]:
    rng = random.Random(1)
    examples = []
    for i in range(n):
        y = rng.random() < 0.3
        names = [f"f{j}" for j in range(min(3 + i // 4, 60))]
        x = {name: rng.gauss(y, 1.0) for name in names if name == "f0" or rng.random() < 0.5}
        examples.append((x, y))
    return examples


# Threads ---------------------------------------------------------------------------------------


@each_class
def test_what_others_see_is_the_model_after_an_example(
    cls: type[OnlineAUCClassifier], hectic: None
) -> None:
    """Whether they predict, copy, pickle or score a frame while it learns."""
    examples = growing_stream(120)
    model, alone = (make_small(cls, budget=20, buffer_size=20) for _ in range(2))
    frame = pd.DataFrame([{"f0": 0.5, "f7": -1.0, "unknown": 1.0}])
    (probe,) = frame.to_dict("records")

    def ask(model: Any) -> tuple[float, float, str]:
        p, (score,) = model.predict_proba_one(probe)[True], model.score_many(frame).tolist()
        return p, score, learned_state(pickle.loads(pickle.dumps(copy.deepcopy(model))))

    seen = beside(lambda: ask(model), lambda: learn(model, examples))
    expected = [ask(alone)]
    for example in examples:
        expected.append(ask(learn(alone, [example])))
    assert learned_state(model) == learned_state(alone)
    for i in range(3):
        assert {look[i] for look in seen} <= {look[i] for look in expected}


@each_encoding
def test_nobody_waits_for_a_whole_frame(make: Factory) -> None:
    """Between its turns of 2 ms, others learn and predict."""
    model = learn(make(), STREAM)
    n_rows = 3_000 if len(pickle.dumps(model)) > 50_000 else 60_000
    frame, waits = pd.DataFrame(PROBES * (n_rows // len(PROBES))), []

    def take_a_step() -> None:
        for step in (lambda: model.learn_one(*STREAM[0]), lambda: model.score_one(PROBES[0])):
            start = time.perf_counter()
            step()
            waits.append(time.perf_counter() - start)
            time.sleep(0.001)

    start = time.perf_counter()
    beside(take_a_step, lambda: model.score_many(frame))
    total = time.perf_counter() - start
    # Other processes may take a while, too, but not every time.
    assert len(waits) > 10
    assert sorted(waits)[len(waits) * 9 // 10] < max(0.02, 0.1 * total)


def test_two_threads_that_add_each_other_end() -> None:
    one, other = learn(OAUCM(), STREAM), learn(OAUCM(), STREAM)

    def add(mine: OAUCM, theirs: OAUCM) -> None:
        for _ in range(20):
            mine += theirs

    threads = [
        threading.Thread(target=add, args=p, daemon=True) for p in ((one, other), (other, one))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive()


# Forks -----------------------------------------------------------------------------------------


@on_posix
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@each_class
def test_a_child_forked_in_the_middle_of_a_step_goes_on(
    cls: type[OnlineAUCClassifier], hectic: None
) -> None:
    model, rng = learn(make_small(cls), STREAM), random.Random(1)

    def use_in_a_child() -> None:
        for _ in range(6 * TRIES):
            time.sleep(0.003 * rng.random())
            child = os.fork()
            if not child:
                try:
                    signal.alarm(20)
                    pickle.loads(pickle.dumps(model)).predict_proba_one(PROBES[0])
                    learn(model, STREAM[:3])
                    threading.Thread(target=learn, args=(model, STREAM[:3])).start()
                    os._exit(0)
                except BaseException:
                    os._exit(1)
            assert os.waitpid(child, 0)[1] == 0

    beside(lambda: learn(model, STREAM[:20]), use_in_a_child)


# Interrupts ------------------------------------------------------------------------------------


@contextlib.contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


@on_posix
# An interrupt in the callback of a weak reference is lost.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@each_class
def test_after_an_interrupt_a_model_goes_on(cls: type[OnlineAUCClassifier]) -> None:
    """With features that come all the time, alone, in frames and in merging."""
    rng, n_interrupted = random.Random(3), 0
    stream = [({**x, f"late{i % 37}": 1.0}, y) for i, (x, y) in enumerate(make_stream(300))]
    frame, labels = pd.DataFrame([x for x, _ in stream]), pd.Series([y for _, y in stream])
    frame = frame.fillna(0.0)
    # What this imports does not take interrupts.
    make_small(cls).learn_many(frame[:2], labels[:2])

    def merge(model: Any) -> None:
        for _ in range(100):
            model += learn(model.clone(), stream[:2])

    actions: list[Callable[[Any], Any]] = [
        lambda model: learn(model, stream), lambda model: model.learn_many(frame, labels), merge
    ]  # fmt: skip
    for i in range(24 * TRIES):
        model = make_small(cls)
        act = actions[i % (3 if hasattr(model._ranker, "merge") else 2)]
        with contextlib.suppress(KeyboardInterrupt), interrupted_after(1e-4 + 3e-3 * rng.random()):
            n_interrupted += 1
            act(model)
            n_interrupted -= 1
        assert_unharmed(model)
    assert n_interrupted > 5 * TRIES
