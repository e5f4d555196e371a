"""`python -m benchmarks` with `speed`, `merging`, `decisions`, `reviews` and `distributed`."""

from __future__ import annotations

import gc
import pathlib
import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from commands import output
from river import base
from threadpoolctl import threadpool_info

from benchmarks import speed
from benchmarks.datasets import data_directory
from benchmarks.decisions import (
    Replay,
    least_cost,
    outcome_of,
    progressive_scores,
    top_of_windows,
)
from benchmarks.distributed import write_table
from benchmarks.merging import held_out_aucs, merged_model
from benchmarks.reviews import n_found
from benchmarks.speed import (
    MAX_FEATURES,
    MIN_LAP,
    MIN_RUN_UP,
    WARM_UP,
    Stopwatch,
    generate,
    measure,
)
from river_oauc import OAUCM
from river_oauc.cli.models import CONTENDERS, Contender
from river_oauc.decisions import AlertBudget
from river_oauc.metrics import ExactROCAUC

needs_data = pytest.mark.skipif(data_directory() is None, reason="RIVER_OAUC_DATA is not set")

# Of two unit normals one standard deviation apart: Phi(1 / sqrt(2)).
AUC_OF_ONE_DEVIATION = 0.76


# Speed --------------------------------------------------------------------------------------------


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


def streams_of(*sizes: int) -> dict[str, list[Any]]:
    return {f"p={n}": generate(n, 100) for n in sizes}


def test_generated_stream_has_a_signal() -> None:
    stream = generate(n_features=20, n_examples=2000)
    assert {len(x) for x, _ in stream} == {20}
    assert {type(value) for x, y in stream for value in (*x.values(), y)} == {float, bool}
    assert sum(y for _, y in stream) / 2000 == pytest.approx(0.3, abs=0.03)
    auc = ExactROCAUC()
    for x, y in stream:
        auc.update(y, sum(x.values()))
    assert auc.get() == pytest.approx(AUC_OF_ONE_DEVIATION, abs=0.03)
    assert generate(20, 2000) == stream


def test_learners_take_turns() -> None:
    log: list[str] = []
    contenders = [fake(name, lambda name=name: log.append(name)) for name in "abc"]
    rounds: list[int] = []
    measure(contenders, streams_of(2, 5), repeats=4, on_progress=lambda: rounds.append(len(log)))
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
    measure([fake("a", look)], streams_of(2), repeats=1)
    assert threads == {1}
    assert collecting == {False}
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError):
        measure([fake("a", lambda: 1 / 0)], streams_of(2), repeats=1)
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
    run_up = max(MIN_RUN_UP, MIN_LAP // 3)
    assert slow.model.n_learned == slow.model.n_predicted == WARM_UP + 3 * (run_up + MIN_LAP)


def test_it_stays_within_the_limits_of_the_learners() -> None:
    learners = [contender.make(42) for contender in CONTENDERS if contender.ours]
    # AutoOAUC refuses nothing: beyond its limit, features go to the sparse expert only.
    limits = {
        getattr(learner, "max_features", None)
        for learner in learners
        if type(learner).__name__ != "AutoOAUC"
    } - {None}
    assert limits and min(limits) >= MAX_FEATURES


def test_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WARM_UP", "MIN_LAP"):
        monkeypatch.setattr(speed, name, 50)
    text = output("speed", "--features", "3", "8", "3", "--repeats", "2")
    assert "fastest of 2 laps" in " ".join(text.split()) and "One BLAS thread" in text
    cells = [line.split() for line in text.splitlines()]
    assert sum(c == ["model", "p=3", "p=8", "records"] for c in cells) == 3
    ours = [c.name for c in CONTENDERS if c.ours]
    expected = [ours[0], "AutoOAUC(linear)", *ours[1:], "LogisticRegression", "ARFClassifier"]
    rows = [c for c in cells if c and c[0] in expected]
    assert [row[0] for row in rows] == expected * 3
    on_records = {row[0] for row in rows[: len(expected)] if row[3] != "-"}
    assert on_records == {"AutoOAUC", "AutoOAUC(linear)", "SparseOAUCM", "OTAUC"}
    figures = [
        {row[0]: [float(cell) for cell in row[1:3]] for row in rows[i : i + len(expected)]}
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


# Merging ------------------------------------------------------------------------------------------


def stream(n):
    rng = random.Random(1)
    labels = [True, False] * (n // 2)
    rng.shuffle(labels)
    return [({"a": rng.gauss(y, 1), "b": rng.gauss(0, 1)}, y) for y in labels]


def test_shards_hold_all_examples_once():
    examples = stream(200)
    for n in (1, 4, 16):
        model = merged_model(OAUCM, examples, n)
        assert [moments.n for moments in model.moments.values()] == [100, 100]


def test_held_out_aucs():
    aucs = held_out_aucs(OAUCM, stream(1_000), scaled=True)
    assert len(aucs) == 6
    assert all(0.65 < auc < 0.9 for auc in aucs)


@needs_data
def test_the_command_prints_and_writes_a_table(tmp_path):
    table = tmp_path / "merging.md"
    arguments = ["merging", "--models", "OAUCM", "--runs", "1", "--limit", "300"]
    shown = output(*arguments, "--markdown", str(table))
    lines = table.read_text().splitlines()
    assert len(lines) == 2 + 6 + 1
    for line in lines[2:]:
        _, model, name, *figures, _ = (cell.strip() for cell in line.split("|"))
        assert model == "OAUCM"
        assert name in shown
        assert all(40.0 < float(figure) <= 100.0 for figure in figures)


# Decisions ----------------------------------------------------------------------------------------


def test_the_top_of_windows() -> None:
    scores = np.array([1.0, 5.0, 2.0, 4.0, 9.0, 8.0, 7.0, 6.0])
    assert np.flatnonzero(top_of_windows(scores, 0.25, 4)).tolist() == [1, 4]
    assert np.flatnonzero(top_of_windows(scores, 0.25, 8)).tolist() == [4, 5]


def test_a_perfect_threshold_has_no_relative_cost() -> None:
    scores = np.linspace(0.0, 1.0, 400)
    assert np.isnan(outcome_of(scores, scores > 0.5)[-2:]).all()
    assert np.isnan(outcome_of(scores, scores > 2.0)[-2:]).all()


def test_the_least_cost() -> None:
    scores, labels = np.array([3.0, 2.0, 2.0, 1.0]), np.array([True, True, False, False])
    assert least_cost(scores, labels, 10.0) == 1.0
    assert least_cost(scores, labels, 0.1) == pytest.approx(0.1)
    assert least_cost(-scores, labels, 0.1) == pytest.approx(0.2)


def test_a_replay_decides_like_the_model() -> None:
    examples = stream(500)
    scores, _ = progressive_scores(OAUCM(), examples)
    model = AlertBudget(OAUCM(), rate=0.1, seed=1)
    replay = AlertBudget(Replay(scores), rate=0.1, seed=1)
    for row, (x, y) in enumerate(examples):
        assert replay.predict_one({"row": row}) == model.predict_one(x)
        replay.learn_one({"row": row}, y)
        model.learn_one(x, y)


def test_measures_of_decisions() -> None:
    rng = np.random.default_rng(1)
    labels = rng.random(20_000) < 0.02
    scores = rng.normal(size=len(labels)) + 2.0 * labels
    outcome = outcome_of(scores, labels)
    assert 0.8 < outcome.share_flagged < 1.25
    assert outcome.precision == pytest.approx(outcome.precision_of_top, abs=5.0)
    assert 0.8 < outcome.false_positive_rate < 1.25
    assert 0.95 < outcome.cost_50 < 1.1
    assert 0.95 < outcome.cost_10 < 1.1
    assert np.isnan(outcome_of(scores[:2_000], labels[:2_000])[:4]).all()


@needs_data
def test_the_command_prints_and_writes_decisions(tmp_path: pathlib.Path) -> None:
    table = tmp_path / "decisions.md"
    arguments = ["decisions", "mammography", "records/shoppers", "--model", "SparseOAUCM"]
    shown = output(*arguments, "--limit", "500", "--markdown", str(table))
    lines = table.read_text().splitlines()
    assert len(lines) == 2 + 2 + 1
    for line in lines[2:]:
        _, name, *shares, at_50, at_10, _ = (cell.strip() for cell in line.split("|"))
        assert name in shown
        assert not any(shares)
        assert 0.5 < float(at_10) < 4.0
        assert 0.5 < float(at_50) < 4.0


# Reviews ------------------------------------------------------------------------------------------


def test_positives_found_in_the_second_half() -> None:
    # Every 100th record is positive, and ranks first; in the first half, it ranks last.
    examples = [({"row": row}, row % 100 == 0) for row in range(1_000)]
    scores = np.array([float(y) * (row >= 400) for row, (_, y) in enumerate(examples)])
    assert n_found(examples, Replay(scores), None, "all") == 5
    assert n_found(examples, Replay(-scores), None, "all") == 0


@needs_data
def test_the_command_prints_and_writes_reviews(tmp_path: pathlib.Path) -> None:
    table = tmp_path / "reviews.md"
    arguments = ["reviews", "weather_aus", "--delays", "100"]
    shown = output(*arguments, "--limit", "400", "--markdown", str(table))
    lines = table.read_text().splitlines()
    assert len(lines) == 2 + (1 + 1)
    for line in lines[2:]:
        _, delay, name, *found, _ = (cell.strip() for cell in line.split("|"))
        assert name in shown and delay == "100"
        if name != "mean share":
            assert all(0 <= int(n) <= 3 for n in found)


# Distributed --------------------------------------------------------------------------------------


def test_the_table_has_a_signal(tmp_path: pathlib.Path) -> None:
    written: list[int] = []
    size = write_table(tmp_path, 5000, 20, 3, lambda: written.append(len(list(tmp_path.iterdir()))))
    assert written == [1, 2, 3]
    partitions = [pd.read_parquet(path) for path in sorted(tmp_path.iterdir())]
    assert [len(partition) for partition in partitions] == [1667, 1667, 1666]
    # Twenty doubles and a boolean per row, and the index.
    assert size == pytest.approx(1667 * 161, rel=0.01)
    rows = pd.concat(partitions)
    assert rows["y"].mean() == pytest.approx(0.3, abs=0.02)
    assert not rows.duplicated().any()
    auc = ExactROCAUC()
    for y, total in zip(rows.pop("y"), rows.sum(axis=1), strict=True):
        auc.update(y, total)
    assert auc.get() == pytest.approx(AUC_OF_ONE_DEVIATION, abs=0.02)


def figures(text: str) -> tuple[dict[int, list[float]], float]:
    """Return seconds, rows per second, memory and partitions by processes, and the ratio."""
    rows = re.findall(r"^(\d)((?: +[\d.,-]+){5})$", text, re.MULTILINE)
    (ratio,) = re.findall(r"Two processes are ([\d.]+) times as fast as one", text)
    cells = {int(n): [float(x) for x in row.replace(",", "").split()] for n, row in rows}
    return cells, float(ratio)


@pytest.mark.slow
def test_the_printed_figures() -> None:
    pytest.importorskip("distributed", reason='needs the extra "distributed"')
    arguments = "--rows 3000 --features 5 --partitions 4 --rounds 1 --model SparseOAUCM"
    text = output("distributed", *arguments.split())
    assert "SparseOAUCM from 3,000 rows of 5 columns: Parquet in 4 partitions of\n0.0 MiB" in text
    found, ratio = figures(text)
    assert list(found) == [1, 2]
    for seconds, rows_per_second, before, at_most, _ in found.values():
        assert 3000 / rows_per_second == pytest.approx(seconds, abs=0.006)
        assert 10 < before <= at_most < 10_000
    assert ratio == pytest.approx(found[2][1] / found[1][1], abs=0.01)


@pytest.mark.slow
def test_two_processes_are_faster_and_memory_is_bounded() -> None:
    """Learn two million rows of 20 columns, on a machine with two free cores."""
    pytest.importorskip("distributed", reason='needs the extra "distributed"')
    found, ratio = figures(output("distributed"))
    assert ratio >= 1.6
    # Of forty; Arrow alone takes five or six times a partition to read it.
    assert all(partitions < 15 for *_, partitions in found.values())
