"""AutoOAUC: its recorded scores, and what it promises beyond the contract."""

from __future__ import annotations

import functools
import json
import math
import pathlib
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from auto_streams import (
    STREAMS,
    change,
    false_alarm,
    named,
    plane,
    raw_values,
    record,
    record_merged,
)
from classifiers import assert_finite, learned_state
from river import datasets, preprocessing
from sklearn.metrics import roc_auc_score

from river_oauc import AutoOAUC
from river_oauc.metrics import ExactROCAUC
from river_oauc.rankers.mixture.constants import TRIAL_LENGTH
from river_oauc.rankers.stack import Stack

KINDS = {
    "all": functools.partial(AutoOAUC, seed=1),
    "linear": functools.partial(AutoOAUC, ("linear",)),
}
each = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
each_kind = pytest.mark.parametrize("kind", KINDS)
RECORDED = json.loads((pathlib.Path(__file__).parent / "fixtures/auto_scores.json").read_text())


def learn(model: Any, stream: Any) -> Any:
    for x, y, w in stream:
        model.learn_one(x, y, w)
    return model


def on_plane(n: int, seed: int) -> list[Any]:
    """A stream without units, weights or change."""
    return [(named(x), y, 1.0) for x, y in plane(n, 4, seed)]


def n_generations(model: AutoOAUC) -> int:
    names = [expert["expert"] for expert in model.expert_shares]
    return 1 + any(name.startswith("younger") for name in names)


# The recorded scores ---------------------------------------------------------------------------


@pytest.mark.parametrize("stream", STREAMS)
@each_kind
def test_scores_are_those_recorded(kind: str, stream: str) -> None:
    found = record(KINDS[kind](prior="empirical"), STREAMS[stream]())
    for name, expected in RECORDED[kind][stream].items():
        np.testing.assert_allclose(found[name], expected, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("stream", ["raw_values", "late_features", "ties"])
@each_kind
def test_merged_scores_are_those_recorded(kind: str, stream: str) -> None:
    found = record_merged(KINDS[kind], STREAMS[stream]())
    for name, expected in RECORDED[kind][f"merged {stream}"].items():
        np.testing.assert_allclose(found[name], expected, rtol=0.0, atol=1e-9)


# Change ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stream", "survivor"), [(change, "younger "), (false_alarm, "")], ids=["change", "false"]
)
def test_a_trial_from_its_beginning_to_its_end(stream: Callable[..., Any], survivor: str) -> None:
    """The younger generation wins after a change, and the older one after a false alarm."""
    model, counts, scores, alarms = AutoOAUC(("linear",)), [], {}, []
    probe = {"x0": 1.0, "x1": 1.0, "x2": 1.0, "x3": 1.0}
    for x, y, _ in stream():
        before = {e["expert"]: e["auc"] for e in model.expert_shares}
        score = model.score_one(probe)
        model.learn_one(x, y)
        counts.append(n_generations(model))
        if model.drift_detected:
            alarms.append(len(counts))
        assert model.n_drifts_detected == len(alarms)
        if counts[-1] < (counts[-2] if len(counts) > 1 else 1):
            # The survivor's AUC goes on, and the score does not jump.
            for expert in model.expert_shares:
                assert expert["auc"] == pytest.approx(before[survivor + expert["expert"]], abs=0.01)
            assert model.score_one(probe) == pytest.approx(score, abs=1.0)
            scores[len(counts)] = score
    begin = counts.index(2)
    assert 600 < begin < 720
    assert counts[begin:] == [2] * TRIAL_LENGTH + [1] * (len(counts) - begin - TRIAL_LENGTH)
    assert len(scores) == 1
    # A change is reported once, during the trial.
    assert len(alarms) == (1 if survivor else 0)
    assert all(begin + 100 <= alarm < begin + 200 for alarm in alarms)


def test_drift_counts_add_up_and_need_linear_or_kernel_experts() -> None:
    model = learn(AutoOAUC(("linear",)), change())
    merged = model + pickle.loads(pickle.dumps(model))
    assert (merged.n_drifts_detected, merged.drift_detected) == (2, False)
    assert pickle.loads(pickle.dumps(merged)).n_drifts_detected == 2
    blind = learn(AutoOAUC(("sparse",)), change())
    assert (blind.n_drifts_detected, blind.drift_detected) == (0, False)


def test_a_second_change_is_noticed_again() -> None:
    model = learn(AutoOAUC(("linear",)), change(2_900))
    assert n_generations(model) == 1
    learn(model, ((x, not y, w) for x, y, w in list(change(3_020))[2_900:]))
    assert n_generations(model) == 2


@each
def test_after_a_change_the_ranking_recovers(make: Callable[..., AutoOAUC]) -> None:
    model, scores, labels = make(), [], []
    for x, y, _ in change(1_400):
        scores.append(model.score_one(x))
        labels.append(y)
        model.learn_one(x, y)
    assert roc_auc_score(labels[600:650], scores[600:650]) < 0.5
    assert roc_auc_score(labels[900:], scores[900:]) > 0.85


@pytest.mark.parametrize("tiny", [1e-310, 1e-300, 1e-200])
def test_values_of_very_different_sizes_leave_finite_numbers(tiny: float) -> None:
    model = AutoOAUC(("linear",))
    for i in range(70):
        model.learn_one({"a": tiny if i % 5 else 0.0}, i % 3 == 0)
    for value in (-1.0, 1e49, tiny):
        model.learn_one({"a": value}, True)
        assert math.isfinite(model.score_one({"a": value}))
    assert learned_state(pickle.loads(pickle.dumps(model))) == learned_state(model)


# What it promises ------------------------------------------------------------------------------


@pytest.mark.parametrize("scaler", [None, preprocessing.MinMaxScaler, preprocessing.StandardScaler])
@each
def test_ranks_phishing_bare_and_behind_scalers(make: Callable[..., AutoOAUC], scaler: Any) -> None:
    model = scaler() | make() if scaler else make()
    metric = ExactROCAUC()
    for x, y in datasets.Phishing():
        metric.update(y, model.predict_proba_one(x))
        model.learn_one(x, y)
    assert metric.get() > 0.94


def test_experts_have_names_aucs_and_shares() -> None:
    model = AutoOAUC(seed=1)
    names = [expert["expert"] for expert in model.expert_shares]
    assert len(set(names)) == len(names) == 12
    assert names[-2:] == ["trees", "sparse"]
    assert {expert["auc"] for expert in model.expert_shares} == {0.5}
    stream = on_plane(1_500, seed=14)
    before = {"trees": [], "sparse": []}
    for x, y, w in stream:
        example = model._encoder.encode_known(x)
        for name, member in model._ranker.members.items():
            if name in before:
                before[name].append(member.score(example[name == "sparse"]))
        model.learn_one(x, y, w)
    assert names == [expert["expert"] for expert in model.expert_shares]
    assert sum(expert["share"] for expert in model.expert_shares) == pytest.approx(1.0)
    # The AUC is about that of the scores which the expert gave before learning.
    aucs = {expert["expert"]: expert["auc"] for expert in model.expert_shares}
    labels = [y for _, y, _ in stream]
    for name, scores in before.items():
        assert aucs[name] == pytest.approx(roc_auc_score(labels, scores), abs=0.03)


@pytest.mark.parametrize(
    "experts", [("linear",), ("kernel",), ("trees",), ("sparse",), ("linear", "sparse")]
)
def test_fewer_experts(experts: tuple[str, ...]) -> None:
    model = AutoOAUC(experts, seed=1)
    scores, labels = [], []
    for x, y, w in on_plane(1_000, seed=15):
        scores.append(model.score_one(x))
        labels.append(y)
        model.learn_one(x, y, w)
    assert roc_auc_score(labels[200:], scores[200:]) > 0.85
    kinds = {expert["expert"].split()[0] for expert in model.expert_shares}
    expected = {name for name in experts if name != "kernel"}
    if "kernel" in experts:
        expected |= {"linear", "Laplace", "Gaussian"}
    assert kinds == expected


@pytest.mark.parametrize("experts", ["linear", (), ("forest",), ("linear", None)])
def test_experts_that_do_not_exist(experts: Any) -> None:
    with pytest.raises(ValueError, match="experts must be some of"):
        AutoOAUC(experts)


@pytest.mark.parametrize("n", [500, 900], ids=["one generation", "on trial"])
@each
def test_explanations_add_up_to_the_score_less_a_constant(
    make: Callable[..., AutoOAUC], n: int
) -> None:
    model = learn(make(), change(n))
    assert n_generations(model) == (1 if n == 500 else 2)
    before = learned_state(model)
    constants = []
    for x, _, _ in on_plane(5, seed=16):
        moves = model.explain_one({**x, "unknown": 5.0})
        assert moves.keys() <= {*x, "unknown"}
        constants.append(model.score_one(x) - sum(moves.values()))
    assert constants == pytest.approx([constants[0]] * 5, abs=1e-9)
    assert learned_state(model) == before
    assert sum(make().explain_one(x).values()) == 0.0


def test_the_stack_is_the_solution_of_its_equations() -> None:
    """Against a plain loop over all examples."""
    rng = np.random.default_rng(3)
    prior, n = np.array([1.3, 0.2]), 200
    stack = Stack(prior.tolist())
    labels = rng.random(n) < 0.2
    rows = rng.normal(size=(n, 2)) + labels[:, np.newaxis]
    beta, A, b, sizes = np.append(prior, 0.0), np.zeros((3, 3)), np.zeros(3), np.zeros(2)
    precision = np.diag([3.0, 3.0, 1.0])
    for scores, y in zip(rows, labels, strict=True):
        assert stack.score(scores.tolist()) == pytest.approx(beta[:2] @ scores, abs=1e-12)
        stack.learn(scores, bool(y), 1.0)
        sizes *= 1 - 1 / 5000
        sizes[int(y)] += 1.0
        u = np.append(scores, 1.0)
        p = 1 / (1 + np.exp(-beta @ u))
        w = sizes.min() / sizes[int(y)]
        A = (1 - 1 / 5000) * A + w * p * (1 - p) * np.outer(u, u)
        b = (1 - 1 / 5000) * b + w * (p * (1 - p) * (beta @ u) + y - p) * u
        beta = np.linalg.inv(precision + A) @ (precision @ np.append(prior, 0.0) + b)


@pytest.mark.parametrize("prior", ["balanced", "empirical"])
@each
def test_empirical_probabilities_follow_the_recent_share(
    make: Callable[..., AutoOAUC], prior: str
) -> None:
    model, means = make(prior=prior), []
    for share in (0.5, 0.05):
        rng = np.random.default_rng(22)
        labels = rng.random(2_500) < share
        rows = rng.normal(size=(2_500, 2)) + labels[:, np.newaxis]
        for x, y in zip(rows.tolist(), labels.tolist(), strict=True):
            model.learn_one(named(x), y)
        means.append(np.mean([model.predict_proba_one(named(x))[True] for x in rows[:400]]))
    if prior == "empirical":
        assert means == pytest.approx([0.5, 0.05], abs=0.06)
    else:
        assert means[1] > 0.15


# Copies and extremes ---------------------------------------------------------------------------


@pytest.mark.parametrize("n", [150, 800], ids=["one generation", "on trial"])
@each
def test_a_pickle_in_mid_stream_goes_on_bit_for_bit(make: Callable[..., AutoOAUC], n: int) -> None:
    stream = [({**x, "late": w} if t > 120 else x, y, w) for t, (x, y, w) in enumerate(change(n))]
    model = learn(make(), stream)
    assert n_generations(model) == (2 if n == 800 else 1)
    twin = pickle.loads(pickle.dumps(model))
    for one in (model, twin):
        learn(one, raw_values(150))
    assert learned_state(model) == learned_state(twin)


@each
def test_a_merged_pickle_goes_on_bit_for_bit(make: Callable[..., AutoOAUC]) -> None:
    model = learn(make(), raw_values(200)) + learn(make(), on_plane(300, seed=20))
    twin = pickle.loads(pickle.dumps(model))
    for one in (model, twin):
        learn(one, raw_values(150))
    assert learned_state(model) == learned_state(twin)


@pytest.mark.parametrize(("kind", "limit"), [("linear", 60_000), ("all", 2_000_000)])
def test_pickles_are_small(kind: str, limit: int) -> None:
    """Symmetric matrices are stored once, and what follows from others is not."""
    model = learn(KINDS[kind](), ((named(x), y, 1.0) for x, y in plane(1_000, 10, seed=21)))
    assert n_generations(model) == 1
    assert len(pickle.dumps(model)) < limit


@each
def test_everything_is_finite_whatever_comes(make: Callable[..., AutoOAUC]) -> None:
    rng = np.random.default_rng(21)
    model = make(prior="empirical")
    sizes = [1e-300, 1e-160, 1e-30, 1.0, 1e8, 1e30, 4e49]
    for t in range(300):
        row = rng.normal(size=4).clip(-1, 1) * rng.choice(sizes, size=4) / 2
        row[rng.random(4) < 0.1] = math.nan
        x = named(row.tolist())
        y, w = bool(rng.random() < 0.3), float(rng.choice([1e-50, 1.0, 1.0, 1e50]))
        model.learn_one(x, y, w)
        assert math.isfinite(model.score_one(x))
        assert 0.0 <= model.predict_proba_one(x)[True] <= 1.0
        if t % 30 == 0:
            assert_finite(model)
            assert all(0.0 <= expert["auc"] <= 1.0 for expert in model.expert_shares)
            assert all(map(math.isfinite, model.explain_one(x).values()))
