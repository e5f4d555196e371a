"""AutoOAUCM and AutoOKAUCM: the rule in plain numpy, and what they promise beyond the contract."""

from __future__ import annotations

import math
import pickle
import threading
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from auto_reference import TRIAL, PlainAuto
from river import datasets, preprocessing
from sklearn.metrics import roc_auc_score
from test_contract import numbers_in, state

from river_oauc import AutoOAUCM, AutoOKAUCM
from river_oauc.auto.judge import Judge
from river_oauc.metrics import ExactROCAUC

BOTH = [AutoOAUCM, AutoOKAUCM]
Auto = AutoOAUCM | AutoOKAUCM

each = pytest.mark.parametrize("cls", BOTH)


def as_dict(x: np.ndarray) -> dict[str, float]:
    return {f"x{j}": value for j, value in enumerate(x.tolist())}


def stream(n: int, p: int = 4, seed: int = 1, noise: float = 0.7) -> tuple[np.ndarray, np.ndarray]:
    """Features of different units; a third of the examples is positive, along a plane."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, p))
    labels = rows.sum(axis=1) / math.sqrt(p) + noise * rng.normal(size=n) > 0.5
    return rows * 10.0 ** (np.arange(p) % 4 - 1) + np.arange(p), labels


def learn(model: Auto, rows: np.ndarray, labels: np.ndarray) -> Auto:
    for x, y in zip(rows, labels.tolist(), strict=True):
        model.learn_one(as_dict(x), y)
    return model


def engines(model: Auto) -> list[Any]:
    return model._generations.engines


class Pair:
    """A classifier and the plain version of the rule, which learn the same examples."""

    def __init__(self, cls: type[Auto], p: int, prior: str = "balanced") -> None:
        self.model = cls(prior)
        self.plain = PlainAuto(cls is AutoOKAUCM, p, prior)

    def learn(self, x: dict[str, Any], row: np.ndarray, y: bool, w: float = 1.0) -> None:
        """Score, learn, and compare all that can be seen; `row` has every feature in its place."""
        model, plain = self.model, self.plain
        score = model.score_one(x)
        assert score == pytest.approx(plain.score(row), abs=1e-9)
        assert model.predict_proba_one(x)[True] == pytest.approx(plain.predict(row), abs=1e-9)
        model.learn_one(x, y, w)
        plain.learn(row, y, w)
        assert len(engines(model)) == len(plain.engines)

    def compare_experts(self) -> None:
        found = [(expert["auc"], expert["share"]) for expert in self.model.experts]
        np.testing.assert_allclose(found, self.plain.experts, atol=1e-9)


def compare(cls: type[Auto], rows: np.ndarray, labels: np.ndarray, prior: str = "balanced") -> Pair:
    pair = Pair(cls, rows.shape[1], prior)
    for t, (row, y) in enumerate(zip(rows, labels.tolist(), strict=True)):
        pair.learn(as_dict(row), row, y)
        if t % 10 == 0:
            pair.compare_experts()
    pair.compare_experts()
    return pair


# The rule --------------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", ["balanced", "empirical"])
@each
def test_equals_the_plain_version(cls: type[Auto], prior: str) -> None:
    """The kernel learner past the last choice of its landmarks."""
    n = 700 if cls is AutoOKAUCM else 1_300
    rows, labels = stream(n, seed=2)
    pair = compare(cls, rows, labels, prior)
    if cls is AutoOKAUCM:
        (engine,) = engines(pair.model)
        assert engine._kernel._next_choice == 0
        assert pair.plain.engines[0].frozen
        assert pair.plain.engines[0].next_landmarks == 1_024


def test_landmarks_where_one_class_is_rare() -> None:
    """At the last of these choices more have been seen of the other class than are kept."""
    rng = np.random.default_rng(26)
    labels = np.arange(1_040) % 9 == 0
    rows = rng.normal(size=(1_040, 3)) + 0.7 * labels[:, np.newaxis]
    pair = Pair(AutoOKAUCM, 3)
    for t, (row, y) in enumerate(zip(rows, labels.tolist(), strict=True)):
        pair.learn(as_dict(row), row, y)
        if t >= 1_020:
            pair.compare_experts()


@pytest.mark.slow
@each
def test_equals_the_plain_version_in_the_long_run(cls: type[Auto]) -> None:
    compare(cls, *stream(5_000, p=9, seed=3))


@each
def test_with_many_features_solutions_wait(cls: type[Auto]) -> None:
    rows, labels = stream(200, p=80, seed=4)
    compare(cls, rows, labels)


@each
def test_one_class_for_a_long_time(cls: type[Auto]) -> None:
    rows, labels = stream(320, seed=5)
    labels[:150] = False
    labels[150:300] &= np.arange(150) % 9 == 0
    compare(cls, rows, labels, "empirical")


@pytest.mark.parametrize("prior", ["balanced", "empirical"])
@each
def test_importance_weights(cls: type[Auto], prior: str) -> None:
    rows, labels = stream(300, seed=6)
    weights = np.random.default_rng(6).choice([0.0, 0.1, 1.0, 3.0, 50.0], size=len(rows))
    pair = Pair(cls, rows.shape[1], prior)
    for row, y, w in zip(rows, labels.tolist(), weights.tolist(), strict=True):
        if w:
            pair.learn(as_dict(row), row, y, w)
        else:
            pair.model.learn_one(as_dict(row), y, w)
    pair.compare_experts()


@each
def test_values_that_are_not_known_or_absent(cls: type[Auto]) -> None:
    """NaN and None are at the mean; a key that is not there is 0."""
    rows, labels = stream(400, seed=7)
    rng = np.random.default_rng(7)
    pair = Pair(cls, rows.shape[1])
    for t, (row, y) in enumerate(zip(rows, labels.tolist(), strict=True)):
        x: dict[str, Any] = as_dict(row)
        # Everything is known for a while.
        fates = rng.choice(4, size=len(row), p=[0.7, 0.1, 0.1, 0.1]) if t > 50 else [0] * len(row)
        for j, fate in enumerate(fates):
            if fate == 1:
                x[f"x{j}"], row[j] = math.nan, math.nan
            elif fate == 2:
                x[f"x{j}"], row[j] = None, math.nan
            elif fate == 3:
                row[j] = 0.0
                del x[f"x{j}"]
        pair.learn(x, row, y)
    pair.compare_experts()


@each
def test_a_feature_that_is_never_known_at_first(cls: type[Auto]) -> None:
    rows, labels = stream(120, seed=8)
    rows[:60, 1] = math.nan
    rows[40:70, :] = math.nan
    compare(cls, rows, labels)


@each
def test_ties_equal_examples_and_constant_features(cls: type[Auto]) -> None:
    rows, labels = stream(300, p=3, seed=9)
    rows = np.round(rows / rows.std(axis=0))
    rows[:, 1] = 7.0
    rows[:20] = rows[0]
    compare(cls, rows, labels)


@each
def test_examples_that_are_all_equal(cls: type[Auto]) -> None:
    rows = np.full((60, 2), 0.1)
    pair = compare(cls, rows, np.arange(60) % 3 == 0)
    assert pair.model.score_one(as_dict(rows[0])) == pytest.approx(0.0, abs=1e-3)


@each
def test_late_features_have_been_zero(cls: type[Auto]) -> None:
    """The model that meets them late, and the plain version that knew of them from the start."""
    rows, labels = stream(400, p=5, seed=10)
    arrival = [0, 0, 60, 130, 300]
    pair, explicit = Pair(cls, 5), cls()
    for t, (row, y) in enumerate(zip(rows, labels.tolist(), strict=True)):
        row[[j for j in range(5) if t < arrival[j]]] = 0.0
        pair.learn({f"x{j}": row[j] for j in range(5) if t >= arrival[j]}, row, y)
        explicit.learn_one(as_dict(row), y)
    pair.compare_experts()
    for row in rows[:20]:
        score = explicit.score_one(as_dict(row))
        assert pair.model.score_one(as_dict(row)) == pytest.approx(score, abs=1e-9)


@each
def test_outliers_are_drawn_in_as_the_rule_says(cls: type[Auto]) -> None:
    rows, labels = stream(200, seed=11)
    rows[100] = [1e45, -1e45, 1e20, 0.0]
    rows[150:160, 2] *= 100.0
    compare(cls, rows, labels)


# Change ----------------------------------------------------------------------------------------


def broken_stream(n: int, false_alarm: bool) -> tuple[np.ndarray, np.ndarray]:
    """After 600 examples the labels turn round for good, or are drawn by lot 100 times."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(n, 4))
    along, noise = rows.sum(axis=1) / 2, 0.3 * rng.normal(size=n)
    labels = along + noise > 0.5
    if false_alarm:
        labels[600:700] = rng.random(100) < 0.3
    else:
        labels[600:] = (noise - along > 0.5)[600:]
    return rows, labels


@pytest.mark.parametrize("false_alarm", [False, True])
@pytest.mark.parametrize("cls", [AutoOAUCM, pytest.param(AutoOKAUCM, marks=pytest.mark.slow)])
def test_a_trial_from_its_alarm_to_its_end(cls: type[Auto], false_alarm: bool) -> None:
    """The younger one wins after a change, and the elder after a false alarm."""
    rows, labels = broken_stream(2_800, false_alarm)
    pair = Pair(cls, 4, "empirical")
    (elder,) = engines(pair.model)
    sizes = []
    for t, (row, y) in enumerate(zip(rows, labels.tolist(), strict=True)):
        pair.learn(as_dict(row), row, y)
        sizes.append(len(engines(pair.model)))
        if t % 50 == 0:
            pair.compare_experts()
            shares = sum(expert["share"] for expert in pair.model.experts)
            assert shares == pytest.approx(1.0)
    begin = sizes.index(2)
    assert 600 < begin < 720
    assert sizes[begin:] == [2] * TRIAL + [1] * (len(sizes) - begin - TRIAL)
    (survivor,) = engines(pair.model)
    assert (survivor is elder) == false_alarm
    pair.compare_experts()


@each
def test_the_beginning_of_a_trial(cls: type[Auto]) -> None:
    """With weights, values that are not known, and features that come just before and during it."""
    rows, labels = broken_stream(900, false_alarm=False)
    rng = np.random.default_rng(12)
    rows[rng.random(rows.shape) < 0.1] = math.nan
    arrival = [0, 0, 0, 0, 620, 800]
    late = [np.where(np.arange(900) < t, 0.0, rng.normal(size=900)) for t in arrival[4:]]
    rows = np.column_stack([rows, *late])
    pair = Pair(cls, 6)
    for t, (row, y) in enumerate(zip(rows, labels.tolist(), strict=True)):
        x = {f"x{j}": row[j] for j in range(6) if t >= arrival[j]}
        pair.learn(x, row, y, float(rng.choice([0.5, 1.0, 2.0])))
        assert len(engines(pair.model)) == 1 or t > 620
    assert len(engines(pair.model)) == 2
    assert [expert["generation"] for expert in pair.model.experts] == sorted(
        ["elder", "younger"] * (len(pair.model.experts) // 2)
    )
    pair.compare_experts()
    pair.model.explain_one(as_dict(rows[-1]))


def test_a_second_change_after_a_trial_is_noticed_again() -> None:
    rows, labels = broken_stream(3_300, false_alarm=False)
    labels[3_200:] = ~labels[3_200:]
    sizes, pair = [], Pair(AutoOAUCM, 4)
    for row, y in zip(rows, labels.tolist(), strict=True):
        pair.learn(as_dict(row), row, y)
        sizes.append(len(engines(pair.model)))
    changes = [t for t in range(1, len(sizes)) if sizes[t] != sizes[t - 1]]
    assert len(changes) == 3
    assert changes[1] - changes[0] == TRIAL
    assert 3_200 < changes[2] < 3_300


@each
def test_after_a_change_the_ranking_recovers(cls: type[Auto]) -> None:
    rows, labels = broken_stream(1_400, false_alarm=False)
    model, scores = cls(), []
    for row, y in zip(rows, labels.tolist(), strict=True):
        scores.append(model.score_one(as_dict(row)))
        model.learn_one(as_dict(row), y)
    assert roc_auc_score(labels[600:650], scores[600:650]) < 0.5
    assert roc_auc_score(labels[900:], scores[900:]) > 0.95


# What they promise -----------------------------------------------------------------------------


@pytest.mark.parametrize("scaler", [None, preprocessing.MinMaxScaler, preprocessing.StandardScaler])
@each
def test_ranks_phishing_bare_and_behind_scalers(cls: type[Auto], scaler: Any) -> None:
    model = scaler() | cls() if scaler else cls()
    metric = ExactROCAUC()
    for x, y in datasets.Phishing():
        metric.update(y, model.predict_proba_one(x))
        model.learn_one(x, y)
    assert metric.get() > 0.94


def test_only_kernels_rank_what_no_plane_parts() -> None:
    metrics = {cls: ExactROCAUC() for cls in BOTH}
    for cls, metric in metrics.items():
        model = cls()
        for x, y in datasets.Bananas().take(1_500):
            metric.update(y, model.predict_proba_one(x))
            model.learn_one(x, y)
    assert metrics[AutoOKAUCM].get() > 0.9
    assert metrics[AutoOAUCM].get() < 0.7


@each
def test_the_units_of_the_features_do_not_matter(cls: type[Auto]) -> None:
    rows, labels = stream(300, seed=13)
    # Powers of two: to rounding, that is. An offset is worth a digit or two.
    scale, offset = np.array([1024.0, 1.0, 2.0**-20, 8.0]), np.array([0.0, 1.0, 0.0, -5.0])
    plain, rescaled = cls(), cls()
    for row, y in zip(rows, labels.tolist(), strict=True):
        other = scale * row + offset
        score = plain.score_one(as_dict(row))
        assert rescaled.score_one(as_dict(other)) == pytest.approx(score, abs=1e-6)
        plain.learn_one(as_dict(row), y)
        rescaled.learn_one(as_dict(other), y)


@each
def test_scores_do_not_jump_when_shares_change(cls: type[Auto]) -> None:
    """The score of a fixed example moves on in small steps, whichever expert is trusted most."""
    rows, labels = stream(1_000, seed=24)
    probes = [as_dict(row) for row in rows[:5]]
    model = cls()
    history, trusted = [], []
    for row, y in zip(rows, labels.tolist(), strict=True):
        model.learn_one(as_dict(row), y)
        history.append([model.score_one(x) for x in probes])
        trusted.append(max(model.experts, key=lambda expert: expert["share"])["expert"])
    steps = np.abs(np.diff(history, axis=0)).max(axis=1)
    assert len(set(trusted[20:])) > 1
    assert steps[200:].max() < 0.15
    assert np.abs(history).max() < 2.0


def test_scores_do_not_jump_when_a_trial_ends() -> None:
    rows, labels = broken_stream(2_700, false_alarm=False)
    probes = [as_dict(row) for row in rows[:20]]
    model = learn(AutoOAUCM(), rows[:2_600], labels[:2_600])
    for row, y in zip(rows[2_600:], labels[2_600:].tolist(), strict=True):
        before = [model.score_one(x) for x in probes], len(engines(model))
        model.learn_one(as_dict(row), y)
        after = [model.score_one(x) for x in probes], len(engines(model))
        if (before[1], after[1]) == (2, 1):
            break
    else:
        pytest.fail("the trial has not ended")
    # The two were further apart than that by far.
    assert after[0] == pytest.approx(before[0], abs=0.2)


@each
def test_experts_show_names_aucs_and_shares(cls: type[Auto]) -> None:
    model = cls()
    n = 6 if cls is AutoOAUCM else 10
    names = [expert["expert"] for expert in model.experts]
    assert len(set(names)) == len(names) == n
    assert [expert["share"] for expert in model.experts] == pytest.approx([1 / n] * n)
    assert {expert["auc"] for expert in model.experts} == {0.5}
    learn(model, *stream(500, seed=14))
    assert names == [expert["expert"] for expert in model.experts]
    assert {expert["generation"] for expert in model.experts} == {"elder"}
    assert sum(expert["share"] for expert in model.experts) == pytest.approx(1.0)
    assert all(0.6 < expert["auc"] < 1.0 for expert in model.experts)


class Noting(Judge):
    """Keeps all scores that it has judged."""

    noted: list[np.ndarray]

    def compare(self, scores: np.ndarray, *args: Any) -> float | None:
        self.__dict__.setdefault("noted", []).append(scores.copy())
        return super().compare(scores, *args)


def shown_and_true(cls: type[Auto], n: int, share: float, seed: int) -> np.ndarray:
    """The AUC that each expert shows, and that of its scores before learning, over all examples.

    Of the elder, should a younger one be on trial.
    """
    rng = np.random.default_rng(seed)
    labels = rng.random(n) < share
    rows = rng.normal(size=(n, 5))
    rows[labels] += 0.6
    model = cls()
    (engine,) = engines(model)
    engine.judge = Noting(len(engine.names))
    learn(model, rows, labels)
    scores = np.array(engines(model)[0].judge.noted)
    assert len(scores) == n
    shown = [expert["auc"] for expert in model.experts if expert["generation"] == "elder"]
    true = [roc_auc_score(labels, column) for column in scores[:, :-1].T]
    return np.column_stack([shown, true])


@each
def test_the_shown_auc_is_about_the_true_one(cls: type[Auto]) -> None:
    shown, true = shown_and_true(cls, 1_500, 0.2, seed=15).T
    assert np.abs(shown - true).max() < 0.03


@pytest.mark.slow
@pytest.mark.parametrize("seed", [15, 16, 17])
@each
def test_the_shown_auc_is_the_true_one_where_positives_are_rare(cls: type[Auto], seed: int) -> None:
    figures = shown_and_true(cls, 20_000, 0.005, seed)
    print()
    for shown, true in figures:
        print(f"{cls.__name__:10} shown {shown:.4f}, true {true:.4f}")
    assert np.abs(np.subtract(*figures.T)).max() < 0.02


# Which features moved a score ------------------------------------------------------------------


@pytest.mark.parametrize("on_trial", [False, True])
@each
def test_an_explanation_is_the_score_less_that_without_the_feature(
    cls: type[Auto], on_trial: bool
) -> None:
    model = learn(cls(), *broken_stream(900 if on_trial else 500, false_alarm=False))
    assert len(engines(model)) == 1 + on_trial
    for row in broken_stream(5, false_alarm=False)[0]:
        x = as_dict(row)
        before = pickle.dumps(model)
        moves = model.explain_one(x)
        assert pickle.dumps(model) == before
        assert list(moves) == list(x)
        for name, move in moves.items():
            without = model.score_one({**x, name: None})
            assert move == pytest.approx(model.score_one(x) - without, abs=1e-12)
            assert move


@each
def test_what_is_not_known_or_not_a_feature_moves_nothing(cls: type[Auto]) -> None:
    model = learn(cls(), *stream(200, seed=16))
    x = as_dict(stream(1, seed=17)[0][0])
    moves = model.explain_one({**x, "unknown": 5.0})
    assert moves == model.explain_one(x)
    assert "unknown" not in moves
    assert model.explain_one({**x, "x1": math.nan})["x1"] == 0.0
    assert model.explain_one({**x, "x1": None})["x1"] == 0.0
    absent = {name: value for name, value in x.items() if name != "x1"}
    assert model.explain_one(absent) == model.explain_one({**x, "x1": 0.0})
    assert cls().explain_one(x) == {}


def test_contributions_and_the_bias_add_up_to_the_score() -> None:
    for n in (500, 900):
        model = learn(AutoOAUCM(), *broken_stream(n, false_alarm=False))
        nothing_known = model.score_one(dict.fromkeys(model.weights, None))
        bias = sum(
            share * engine.linear_weights()[0] for engine, share in model._generations.shared()
        )
        assert nothing_known == pytest.approx(bias, abs=1e-12)
        for row in stream(5, seed=18)[0]:
            moves = model.explain_one(as_dict(row))
            score = model.score_one(as_dict(row))
            assert sum(moves.values()) == pytest.approx(score - bias, abs=1e-12)


def test_weights_are_the_slope_at_the_mean() -> None:
    rows, labels = stream(400, seed=19)
    model = learn(AutoOAUCM(), rows, labels)
    (engine,) = engines(model)
    mean = dict(zip(model.weights, engine.units.mean.tolist(), strict=True))
    assert list(model.weights) == [f"x{j}" for j in range(4)]
    for j, (name, weight) in enumerate(model.weights.items()):
        step = 1e-5 / engine.units.factors[j]
        slope = (
            model.score_one({**mean, name: mean[name] + step})
            - model.score_one({**mean, name: mean[name] - step})
        ) / (2.0 * step)
        assert weight == pytest.approx(slope, rel=1e-5)


@pytest.mark.parametrize(
    ("cls", "ask"),
    [
        (AutoOAUCM, lambda model: model.experts),
        (AutoOAUCM, lambda model: model.weights),
        (AutoOAUCM, lambda model: model.explain_one({"x0": 1.0})),
        (AutoOKAUCM, lambda model: model.experts),
        (AutoOKAUCM, lambda model: model.explain_one({"x0": 1.0})),
    ],
)
def test_what_another_thread_asks_for_comes_from_a_whole_state(cls: type[Auto], ask: Any) -> None:
    model = learn(cls(), *stream(30, seed=25))
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(ask(model)))
    with model._lock:
        # As in the midst of an example.
        thread.start()
        thread.join(0.05)
        assert answers == []
    thread.join()
    assert answers == [ask(model)]


# Copies, batches, extremes ---------------------------------------------------------------------


@pytest.mark.parametrize("n", [150, 800])
@each
def test_a_pickle_in_mid_stream_goes_on_bit_for_bit(cls: type[Auto], n: int) -> None:
    """Also in the midst of a trial."""
    rows, labels = broken_stream(n + 150, false_alarm=False)
    model = learn(cls(), rows[:n], labels[:n])
    assert len(engines(model)) == (2 if n == 800 else 1)
    twin = pickle.loads(pickle.dumps(model))
    learn(model, rows[n:], labels[n:])
    learn(twin, rows[n:], labels[n:])
    assert state(model) == state(twin)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@each
def test_learn_many_is_the_loop_where_values_are_missing(cls: type[Auto], library: str) -> None:
    rows, labels = stream(150, seed=20)
    columns = {f"x{j}": column.tolist() for j, column in enumerate(rows.T)}
    columns["x1"][::5] = [None] * 30
    columns["x2"][::7] = [math.nan] * 22
    one, many = cls(), cls()
    for t, y in enumerate(labels.tolist()):
        one.learn_one({name: column[t] for name, column in columns.items()}, y)
    if library == "pandas":
        X, y_series = pd.DataFrame(columns), pd.Series(labels)
    else:
        X, y_series = pl.DataFrame(columns), pl.Series(labels)
    many.learn_many(X[:70], y_series[:70])
    many.learn_many(X[70:], y_series[70:])
    many._y_name = one._y_name
    assert state(many) == state(one)
    p = many.predict_proba_many(X)
    found = np.asarray(p[True if library == "pandas" else "True"])
    expected = [
        one.predict_proba_one({name: column[t] for name, column in columns.items()})[True]
        for t in range(len(labels))
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@each
def test_everything_is_finite_whatever_comes(cls: type[Auto]) -> None:
    rng = np.random.default_rng(21)
    model = cls("empirical")
    sizes = [1e-300, 1e-160, 1e-30, 1.0, 1e8, 1e30, 4e49]
    for _ in range(300):
        row = rng.normal(size=4).clip(-1, 1) * rng.choice(sizes, size=4) / 2
        row[rng.random(4) < 0.1] = math.nan
        y, w = bool(rng.random() < 0.3), float(rng.choice([1e-50, 1.0, 1.0, 1e50]))
        model.learn_one(as_dict(row), y, w)
        assert math.isfinite(model.score_one(as_dict(row)))
        assert 0.0 <= model.predict_proba_one(as_dict(row))[True] <= 1.0
        assert all(0.0 <= expert["auc"] <= 1.0 for expert in model.experts)
        assert all(math.isfinite(move) for move in model.explain_one(as_dict(row)).values())


@each
def test_empirical_probabilities_follow_the_recent_share_of_positives(cls: type[Auto]) -> None:
    rng = np.random.default_rng(22)
    model = cls("empirical")
    means = []
    for share in (0.5, 0.05):
        for _ in range(2_500):
            y = bool(rng.random() < share)
            model.learn_one({"a": rng.normal() + y, "b": rng.normal()}, y)
        probes = [(bool(rng.random() < share), rng.normal(), rng.normal()) for _ in range(400)]
        means.append(
            np.mean([model.predict_proba_one({"a": a + y, "b": b})[True] for y, a, b in probes])
        )
    assert means == pytest.approx([0.5, 0.05], abs=0.06)
    assert means[1] < 0.1


@pytest.mark.parametrize(
    ("cls", "p"), [(AutoOAUCM, 100), (AutoOAUCM, 300), (AutoOKAUCM, 100), (AutoOKAUCM, 300)]
)
def test_memory_is_what_the_docstring_says(cls: type[Auto], p: int) -> None:
    """Past the choice of the landmarks; the names of the features are not counted."""
    rows = np.random.default_rng(23).normal(size=(520, p))
    labels = rows[:, 0] + 0.5 * rows[:, 1] > 0.3
    model = learn(cls(), rows, labels)
    assert len(engines(model)) == 1
    n_doubles = 5 * p**2 + 360 * p
    if cls is AutoOKAUCM:
        n_doubles = 5 * p**2 + 1_900 * p + 3e6 / 8
    assert sum(1 for _ in numbers_in(model)) == pytest.approx(n_doubles, rel=0.2)
