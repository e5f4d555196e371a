"""One thread learns while others predict: what they see, and what is learned."""

from __future__ import annotations

import inspect
import pickle
import random
import sys
import threading
import time
from collections.abc import Iterator

import pandas as pd
import pytest

import river_oauc
from river_oauc.base import OnlineAUCClassifier

CLASSIFIERS = [getattr(river_oauc, name) for name in river_oauc.__all__]
each_classifier = pytest.mark.parametrize("cls", CLASSIFIERS)

N_PREDICTING = 3
# A feature that is always there, one that comes and goes, and one that nobody will ever know.
PROBE = {"f0": 0.5, "f7": -1.0, "unknown": 1.0}


@pytest.fixture(autouse=True)
def hectic() -> Iterator[None]:
    """Let the threads take turns every ten microseconds."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


def make(cls: type[OnlineAUCClassifier]) -> OnlineAUCClassifier:
    small = {"budget": 20, "buffer_size": 20, "seed": 1}
    known = inspect.signature(cls).parameters
    return cls(**{name: value for name, value in small.items() if name in known})


def growing_stream(n: int) -> list[tuple[dict[str, float], bool]]:
    """A stream in which new features turn up for as long as there is room for them."""
    rng = random.Random(1)
    examples = []
    for i in range(n):
        y = rng.random() < 0.3
        names = [f"f{j}" for j in range(min(3 + i // 4, 60))]
        x = {name: rng.gauss(y, 1.0) for name in names if name == "f0" or rng.random() < 0.5}
        examples.append((x, y))
    return examples


def predict_beside(
    model: OnlineAUCClassifier, examples: list[tuple[dict[str, float], bool]], seconds: float
) -> tuple[set[float], int]:
    """What three threads are told about the probe while a model learns, and how much it learned."""
    seen: list[set[float]] = [set() for _ in range(N_PREDICTING)]
    failures: list[BaseException] = []
    done = threading.Event()

    def predict(probabilities: set[float]) -> None:
        try:
            while not done.is_set():
                probabilities.add(model.predict_proba_one(PROBE)[True])
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=predict, args=(mine,)) for mine in seen]
    for thread in threads:
        thread.start()
    end, n_learned = time.perf_counter() + seconds, 0
    try:
        for x, y in examples:
            model.learn_one(x, y)
            n_learned += 1
            if time.perf_counter() > end:
                break
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert not failures
    return set().union(*seen), n_learned


def check_threads(cls: type[OnlineAUCClassifier], n_examples: int, seconds: float) -> None:
    examples = growing_stream(n_examples)
    model, alone = make(cls), make(cls)
    seen, n_learned = predict_beside(model, examples, seconds)
    whole_states = {alone.predict_proba_one(PROBE)[True]}
    for x, y in examples[:n_learned]:
        alone.learn_one(x, y)
        whole_states.add(alone.predict_proba_one(PROBE)[True])
    assert len(seen) > 1
    assert seen <= whole_states
    assert pickle.dumps(model) == pickle.dumps(alone)


@each_classifier
def test_predictions_come_from_whole_states(cls: type[OnlineAUCClassifier]) -> None:
    """Each is what the model would have said, alone, after one of its examples."""
    check_threads(cls, n_examples=2_000, seconds=0.3)


@pytest.mark.slow
@each_classifier
def test_predictions_come_from_whole_states_for_long(cls: type[OnlineAUCClassifier]) -> None:
    check_threads(cls, n_examples=20_000, seconds=5.0)


def test_a_batch_lets_others_predict_between_its_rows() -> None:
    examples = growing_stream(4_000)
    X = pd.DataFrame([x for x, _ in examples]).fillna(0.0)
    y = pd.Series([label for _, label in examples])
    model = make(river_oauc.OKAUCM)
    learning = threading.Thread(target=model.learn_many, args=(X, y))
    learning.start()
    seen = set()
    while learning.is_alive():
        seen.add(model.predict_proba_one(PROBE)[True])
    learning.join()
    assert len(seen) > 3
    alone = make(river_oauc.OKAUCM)
    alone.learn_many(X, y)
    assert pickle.dumps(model) == pickle.dumps(alone)


def test_a_step_may_ask_its_own_model() -> None:
    """A kernel of the user's, or a signal's handler, that predicts in the midst of a step."""
    from river_oauc import kernels

    class Asking(kernels.RBF):
        def __call__(self, x, vectors):  # type: ignore[no-untyped-def]
            if not self.asked:
                self.asked = True
                self.model.predict_proba_one({"a": 1.0})
            return super().__call__(x, vectors)

    kernel = Asking(0.5)
    kernel.asked = True
    model = river_oauc.OKAUCM(kernel)
    kernel.model = model
    for i in range(10):
        kernel.asked = i < 5
        model.learn_one({"a": float(i)}, i % 2 == 0)
    assert kernel.asked
