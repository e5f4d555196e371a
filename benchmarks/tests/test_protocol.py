"""The protocol of the tables: folds, scaling, tuning and scoring."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from benchmarks.datasets import BENCHMARKS
from benchmarks.paper import protocol
from benchmarks.paper.grids.oauc import OAUCMStack
from benchmarks.paper.grids.stack import Stack
from benchmarks.paper.methods import TABLES, Method, powers
from benchmarks.paper.protocol import (
    N_FOLDS,
    PAPER_RUNS,
    Cell,
    best_setting,
    evaluate,
    exact_aucs,
    run_cell,
    scale,
    split,
    stratified_folds,
)
from river_oauc import OAUCM

labels = hnp.arrays(bool, st.integers(1, 60))


@pytest.fixture
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    y = rng.random(120) < 0.3
    X = rng.normal(size=(120, 4)) * [1.0, 10.0, 0.1, 1.0]
    X[y] += [0.5, 5.0, 0.0, 0.0]
    return X, y


OAUC_M = Method("OAUC-M", {"l2": powers(-6, 6, 2)}, OAUCMStack)


# Folds -------------------------------------------------------------------------------------------


@given(labels, st.integers(0, 5))
def test_folds_are_stratified(y: np.ndarray, seed: int) -> None:
    folds = stratified_folds(y, np.random.default_rng(seed))
    assert set(folds) <= set(range(N_FOLDS))
    for members in (folds, folds[y], folds[~y]):
        sizes = np.bincount(members, minlength=N_FOLDS)
        assert sizes.max() - sizes.min() <= 1


@given(hnp.arrays(bool, st.integers(10, 60)))
def test_every_row_is_held_out_once_in_a_partition(y: np.ndarray) -> None:
    for first in (*range(0, PAPER_RUNS, N_FOLDS), 100 * N_FOLDS):
        held_out = []
        for run in range(first, first + N_FOLDS):
            train, test = split(y, run)
            assert sorted([*train, *test]) == list(range(len(y)))
            held_out.extend(test)
        assert sorted(held_out) == list(range(len(y)))


def test_runs_differ(data: tuple[np.ndarray, np.ndarray]) -> None:
    _, y = data
    assert PAPER_RUNS == 20
    runs = range(2 * PAPER_RUNS)
    held_out = {tuple(split(y, run)[1]) for run in runs}
    assert len(held_out) == len(runs)
    orders = [split(y, run)[0] for run in runs]
    assert not any((order == np.sort(order)).all() for order in orders)


def test_seeds_are_fixed() -> None:
    """The rows are the same on every machine and for every method."""
    y = np.arange(20) % 4 == 0
    train, test = split(y, 7)
    assert train.tolist() == [19, 16, 12, 1, 9, 17, 5, 14, 6, 4, 10, 18, 8, 2, 11, 13]
    assert test.tolist() == [0, 3, 7, 15]


def test_maximum_number_of_examples(data: tuple[np.ndarray, np.ndarray]) -> None:
    _, y = data
    train, test = split(y, 3)
    fewer, same_test = split(y, 3, max_examples=10)
    np.testing.assert_array_equal(fewer, train[:10])
    np.testing.assert_array_equal(same_test, test)


# Scaling -----------------------------------------------------------------------------------------

matrices = hnp.arrays(
    float, st.tuples(st.integers(1, 8), st.just(3)), elements=st.floats(-1e6, 1e6, width=32)
)


@given(matrices, matrices)
def test_training_rows_are_scaled_to_the_unit_interval(train: np.ndarray, test: np.ndarray) -> None:
    scaled, scaled_test = scale(train, test)
    for column, original in zip(scaled.T, train.T, strict=True):
        if original.min() == original.max():
            assert not column.any()
        else:
            assert column.min() == pytest.approx(-1.0)
            assert column.max() == pytest.approx(1.0)
    # Held-out rows go through the same map.
    np.testing.assert_array_equal(scale(train, train)[1], scaled)
    assert np.isfinite(scaled_test).all()


# Tuning ------------------------------------------------------------------------------------------


def single_auc(l2: float, X: np.ndarray, y: np.ndarray, train: Any, test: Any) -> float:
    """Return the held-out AUC of a single learner."""
    model = OAUCM(l2=l2)
    for x, label in zip(X[train], y[train], strict=True):
        model.learn_one(dict(enumerate(x.tolist())), bool(label))
    scores = [model.score_one(dict(enumerate(x.tolist()))) for x in X[test]]
    ranks = [
        (p > n) + 0.5 * (p == n)
        for p in itertools.compress(scores, y[test])
        for n in itertools.compress(scores, ~y[test])
    ]
    return sum(ranks) / len(ranks)


def test_a_run_by_hand(data: tuple[np.ndarray, np.ndarray]) -> None:
    (X, y), run = data, 13
    train, test = split(y, run)
    middle = (X[train].max(axis=0) + X[train].min(axis=0)) / 2
    scaled = (X - middle) / ((X[train].max(axis=0) - X[train].min(axis=0)) / 2)

    folds = stratified_folds(y[train], np.random.default_rng([protocol.SEED, 2, run]))
    means = [
        np.mean(
            [
                single_auc(l2, scaled, y, train[folds != fold], train[folds == fold])
                for fold in range(N_FOLDS)
            ]
        )
        for l2 in OAUC_M.grid["l2"]
    ]
    best = OAUC_M.grid["l2"][int(np.argmax(means))]

    outcome = evaluate(OAUC_M, X, y, train, test, run)
    assert outcome.setting == {"l2": best}
    assert outcome.auc == single_auc(best, scaled, y, train, test)


class Oracle(Stack):
    """A stack that learns nothing; each setting ranks by its own multiple of a feature."""

    def __init__(self, multiples: Iterable[float], diverges: Iterable[bool]) -> None:
        self.multiples = np.array(multiples)
        self.diverged = np.array(diverges)

    def learn(self, x: np.ndarray, positive: bool) -> None:
        pass

    def scores(self, matrix: np.ndarray) -> np.ndarray:
        return np.outer(self.multiples, matrix[:, 0])


def test_ties_go_to_the_first_setting() -> None:
    y = np.arange(40) % 3 == 0
    X = y[:, np.newaxis].astype(float)
    method = Method("", {"a": (-1.0, 2.0, 3.0)}, lambda size, a: Oracle(a, np.zeros(3, dtype=bool)))
    assert best_setting(method, X, y, run=0) == {"a": 2.0}


def test_settings_that_diverge_on_a_fold_are_excluded() -> None:
    y = np.arange(40) % 3 == 0
    X = y[:, np.newaxis].astype(float)
    stacks = [Oracle([1.0, 1.0, -1.0], [fold == 2, False, False]) for fold in range(N_FOLDS)]
    method = Method("", {"a": (1.0, 2.0, 3.0)}, lambda size, a: stacks.pop())
    assert best_setting(method, X, y, run=0) == {"a": 2.0}
    assert not stacks


@pytest.mark.parametrize(("table", "name"), [("linear", "OAUC-M"), ("kernel", "OKAUC-M")])
def test_the_held_out_fold_does_not_affect_the_choice(
    data: tuple[np.ndarray, np.ndarray], table: str, name: str
) -> None:
    X, y = data
    method = TABLES[table](grid_step=10 if table == "kernel" else 4).method(name)
    train, test = split(y, 11)
    honest = evaluate(method, X, y, train, test, 11)
    flipped = y.copy()
    flipped[test] = ~y[test]
    poisoned = evaluate(method, X, flipped, train, test, 11)
    assert poisoned.setting == honest.setting
    assert poisoned.auc == pytest.approx(1.0 - honest.auc)
    noise = X.copy()
    noise[test] = 1e6 * np.random.default_rng(2).normal(size=X[test].shape)
    assert evaluate(method, noise, y, train, test, 11).setting == honest.setting


# The tables --------------------------------------------------------------------------------------


def test_grids_of_the_paper() -> None:
    linear, kernel = TABLES["linear"](), TABLES["kernel"](grid_step=1)
    sizes = {method.name: len(method.settings) for method in (*linear.methods, *kernel.methods)}
    linear_sizes = {"Perceptron": 1, "PA-I": 21, "OAM": 21, "OAM (wide)": 25, "OL-UBAUC": 21}
    others = {"SOLAM": 90, "SPAUC": 75, "AdaOAM": 63, "FTRL-AUC": 75}
    second_order = {"OAUC-S": 231, "OAUC-Mc": 231, "OAUC-M": 21}
    kernel_sizes = {"KOIL": 441, "OKAUC-S": 4851, "OKAUC-Mc": 4851, "OKAUC-M": 441}
    assert (linear_sizes | others | second_order | kernel_sizes).items() <= sizes.items()
    for method in (*linear.methods, *kernel.methods):
        for name, values in method.grid.items():
            assert list(values) == sorted(values)
            if method.name not in ("OAM (wide)", *others):
                ends = (2.0**-20, 2.0**20) if name == "gamma" else (2.0**-10, 2.0**10)
                assert (values[0], values[-1]) == ends


def test_no_setting_only_reverses_the_weights() -> None:
    """With lr · l2 = 2 the weights change sign at every step; the grids have no such setting."""

    def auc(l2: float, lr: float, n_examples: int) -> float:
        stack = TABLES["linear"]().method("OAUC-Mc").stack(1, [{"l2": l2, "lr": lr}], seed=0)
        rng = np.random.default_rng(0)
        y = np.arange(n_examples) % 2 == 0
        X = rng.standard_normal((n_examples, 1)) + 2.0 * y[:, np.newaxis]
        for x, positive in zip(X, y.tolist(), strict=True):
            stack.learn(x, positive)
        assert not stack.diverged.any()
        return float(exact_aucs(stack.scores(X), y)[0])

    for l2, lr in [(16.0, 2**-3), (2.0, 1.0), (2.0**10, 2**-9)]:
        assert auc(l2, lr, 400) + auc(l2, lr, 401) == pytest.approx(1.0, abs=0.02)
        assert abs(auc(l2, lr, 400) - 0.5) > 0.4
    for table in TABLES.values():
        for method in table().methods:
            for setting in method.settings:
                if "lr" in setting:
                    assert abs(1.0 - setting["lr"] * setting["l2"]) < 1.0


def test_a_cell_of_the_table_is_a_run_of_the_protocol() -> None:
    table = TABLES["linear"](grid_step=10)
    X, y = BENCHMARKS["segment"].to_numpy()
    outcome = run_cell(table, Cell("segment", "PA-I", 6))
    assert outcome == evaluate(table.method("PA-I"), X, y, *split(y, 6), 6)
    assert 0.5 < outcome.auc < 1.0
