"""Ctrl-C, at any moment: what was compiled ends an example, and nothing is left broken."""

from __future__ import annotations

import contextlib
import random
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from test_compiled import compiled_only
from test_contract import CLASSIFIERS

from river_oauc import OAUCM, OAUCS, AutoOAUCM, SparseOAUCM
from river_oauc.base import OnlineAUCClassifier


@contextlib.contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """What is done within is interrupted after some time."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def stream(n: int) -> list[tuple[dict[str, float], bool]]:
    rng = random.Random(1)
    names = [f"x{j}" for j in range(30)]
    return [({name: rng.gauss(0, 1) for name in names}, rng.random() < 0.3) for _ in range(n)]


def learn_until_interrupted(
    model: OnlineAUCClassifier, examples: list[tuple[dict[str, float], bool]], seconds: float
) -> int:
    """How many examples were learned to the end."""
    n = 0
    with contextlib.suppress(KeyboardInterrupt), interrupted_after(seconds):
        for x, y in examples:
            model.learn_one(x, y)
            n += 1
    return n


@compiled_only
@pytest.mark.parametrize("cls", [OAUCM, OAUCS, SparseOAUCM, AutoOAUCM])
def test_a_compiled_step_is_taken_as_a_whole(cls: type[OnlineAUCClassifier]) -> None:
    examples, rng = stream(3_000), random.Random(2)
    probe = examples[-1][0]
    for _ in range(30):
        model, whole = cls(), cls()
        n = learn_until_interrupted(model, examples, 0.001 + 0.003 * rng.random())
        for x, y in examples[:n]:
            whole.learn_one(x, y)
        # It may have come between the end of a step and its count.
        possible = [whole.score_one(probe)]
        whole.learn_one(*examples[n])
        assert model.score_one(probe) in [*possible, whole.score_one(probe)]


@pytest.mark.parametrize("cls", CLASSIFIERS, ids=lambda cls: cls.__name__)
def test_a_model_goes_on_after_an_interrupt(cls: type[OnlineAUCClassifier]) -> None:
    examples, rng = stream(3_000), random.Random(3)
    for _ in range(25):
        model = cls()
        # Its names are known from here on.
        model.learn_one(*examples[-1])
        n = learn_until_interrupted(model, examples, 0.001 + 0.006 * rng.random())
        for x, y in examples[n : n + 20]:
            assert 0.0 <= model.predict_proba_one(x)[True] <= 1.0
            model.learn_one(x, y)


@compiled_only
@pytest.mark.parametrize("cls", [OAUCM, OAUCS])
def test_an_interrupt_ends_a_frame_after_a_whole_row(cls: type[OAUCM]) -> None:
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(20_000, 30)), columns=[f"x{j}" for j in range(30)])
    y = pd.Series(rng.random(len(X)) < 0.3)

    stops = set()
    for milliseconds in range(4, 100, 3):
        if len(stops) > 2:
            break
        model, row = cls(), 0
        try:
            with interrupted_after(milliseconds / 1_000):
                model.learn_many(X, y)
            row = len(X)
        except KeyboardInterrupt as error:
            (note,) = getattr(error, "__notes__", ["row 0"])
            row = int(note.split("row ")[1].split()[0])
            stops.add(row)
        expected = cls()
        if row:
            expected.learn_many(X[:row], y[:row])
        assert model.weights == expected.weights
        assert model._n_seen == expected._n_seen == row
    assert len(stops) > 2
