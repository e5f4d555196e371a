"""`python -m benchmarks speed`."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest
from commands import output
from river import base, metrics
from threadpoolctl import threadpool_info

from benchmarks import speed
from benchmarks.speed import MIN_LAP, MIN_RUN_UP, WARM_UP, Stopwatch, generate, measure
from river_oauc.cli.models import CONTENDERS, Contender


class Fake(base.Classifier):
    """A classifier that calls a function when it learns."""

    def __init__(self, on_learn: Callable[[], object]) -> None:
        self.on_learn = on_learn
        self.n_learned = 0
        self.n_predicted = 0

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        self.n_predicted += 1
        return {False: 0.5, True: 0.5}

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        self.n_learned += 1
        self.on_learn()


def fake(name: str, on_learn: Callable[[], object]) -> Contender:
    return Contender(name, lambda seed: Fake(on_learn))


def test_generated_stream_has_a_signal() -> None:
    stream = generate(n_features=20, n_examples=2000)
    assert {len(x) for x, _ in stream} == {20}
    assert all(type(value) is float for value in stream[0][0].values())
    assert all(type(y) is bool for _, y in stream)
    assert sum(y for _, y in stream) / 2000 == pytest.approx(0.3, abs=0.03)
    auc = metrics.RollingROCAUC(window_size=2000)
    for x, y in stream:
        auc.update(y, sum(x.values()))
    # Two unit normals one standard deviation apart: Phi(1 / sqrt(2)).
    assert auc.get() == pytest.approx(0.76, abs=0.03)
    assert generate(20, 2000) == stream


def test_learners_take_turns() -> None:
    log: list[str] = []
    contenders = [fake(name, lambda name=name: log.append(name)) for name in "abc"]
    rounds: list[int] = []
    measure(contenders, [2, 5], repeats=4, on_progress=lambda: rounds.append(len(log)))
    turns = [name for i, name in enumerate(log) if i == 0 or log[i - 1] != name]
    # A warm-up and four laps at each of the two numbers of features.
    assert turns == list("abc") * 2 * 5
    assert len(rounds) == 2 + 4 and rounds[:2] == [3 * WARM_UP, 6 * WARM_UP]


def test_measured_with_one_blas_thread_and_without_garbage_collection() -> None:
    threads: set[int] = set()
    collecting: set[bool] = set()

    def look() -> None:
        if not threads:
            threads.update(
                pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"
            )
        collecting.add(gc.isenabled())

    assert gc.isenabled()
    measure([fake("a", look)], [2], repeats=1)
    assert threads == {1}
    assert collecting == {False}
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError):
        measure([fake("a", lambda: 1 / 0)], [2], repeats=1)
    assert gc.isenabled()


def test_laps_of_a_slow_learner_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    cost = 0.0

    def work() -> None:
        nonlocal now
        now += cost

    monkeypatch.setattr(speed.time, "perf_counter", lambda: now)
    examples = generate(2, 50)

    cost = 1e-5
    quick = Stopwatch(Fake(work), examples)
    assert quick.lap_length == 300
    cost = 2e-3
    slow = Stopwatch(Fake(work), examples)
    assert slow.lap_length == MIN_LAP

    # The fastest lap counts.
    for seconds in (3e-3, 1e-3, 2e-3):
        cost = seconds
        slow.lap()
    assert slow.best == pytest.approx(1e-3)
    assert slow.model.n_learned == slow.model.n_predicted == WARM_UP + 3 * (MIN_RUN_UP + MIN_LAP)


def test_tables() -> None:
    text = output("speed", "--features", "3", "8", "3", "--repeats", "2")
    assert "fastest of 2 laps" in text and "One BLAS thread" in text
    cells = [line.split() for line in text.splitlines()]
    assert sum(c == ["model", "p=3", "p=8"] for c in cells) == 3
    expected = [c.name for c in CONTENDERS if c.ours] + ["LogisticRegression", "ARFClassifier"]
    rows = [c for c in cells if c and c[0] in expected]
    assert [row[0] for row in rows] == expected * 3
    figures = [
        {row[0]: [float(cell) for cell in row[1:]] for row in rows[i : i + len(expected)]}
        for i in range(0, len(rows), len(expected))
    ]
    microseconds, to_logistic, to_arf = figures
    assert to_logistic["LogisticRegression"] == [1.0, 1.0]
    assert to_arf["ARFClassifier"] == [1.0, 1.0]
    for name, costs in microseconds.items():
        for j, cost in enumerate(costs):
            # The printed figures are rounded.
            logistic, arf = microseconds["LogisticRegression"][j], microseconds["ARFClassifier"][j]
            assert to_logistic[name][j] == pytest.approx(cost / logistic, rel=0.05, abs=0.006)
            assert to_arf[name][j] == pytest.approx(cost / arf, rel=0.05, abs=1e-4)
