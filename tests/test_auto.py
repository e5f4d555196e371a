"""AutoOAUCM and AutoOKAUCM: their recorded scores, and what they promise beyond the contract."""

from __future__ import annotations

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

from river_oauc import AutoOAUCM, AutoOKAUCM
from river_oauc.metrics import ExactROCAUC
from river_oauc.rankers.mixture.constants import TRIAL_LENGTH
from river_oauc.rankers.mixture.judge import Judge

Auto = AutoOAUCM | AutoOKAUCM
each = pytest.mark.parametrize("cls", [AutoOAUCM, AutoOKAUCM])
RECORDED = json.loads((pathlib.Path(__file__).parent / "fixtures/auto_scores.json").read_text())


def learn(model: Any, stream: Any) -> Any:
    for x, y, w in stream:
        model.learn_one(x, y, w)
    return model


def on_plane(n: int, seed: int) -> list[Any]:
    """A stream without units, weights or change."""
    return [(named(x), y, 1.0) for x, y in plane(n, 4, seed)]


def n_generations(model: Auto) -> int:
    return len({expert["generation"] for expert in model.experts})


# The recorded scores ---------------------------------------------------------------------------


@pytest.mark.parametrize("stream", STREAMS)
@each
def test_scores_are_those_recorded(cls: type[Auto], stream: str) -> None:
    found = record(cls("empirical"), STREAMS[stream]())
    for name, expected in RECORDED[cls.__name__][stream].items():
        np.testing.assert_allclose(found[name], expected, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("stream", ["raw_values", "late_features", "ties"])
@each
def test_merged_scores_are_those_recorded(cls: type[Auto], stream: str) -> None:
    found = record_merged(cls, STREAMS[stream]())
    for name, expected in RECORDED[cls.__name__][f"merged {stream}"].items():
        np.testing.assert_allclose(found[name], expected, rtol=0.0, atol=1e-9)


@each
def test_late_features_have_been_zero(cls: type[Auto]) -> None:
    late, explicit = cls(), cls()
    for x, y, w in STREAMS["late_features"]():
        complete = dict.fromkeys([f"x{j}" for j in range(6)], 0.0) | x
        assert late.score_one(x) == pytest.approx(explicit.score_one(complete), abs=1e-9)
        late.learn_one(x, y, w)
        explicit.learn_one(complete, y, w)


@each
def test_units_do_not_matter(cls: type[Auto]) -> None:
    """Powers of two change nothing but the rounding."""
    scale, offset = [1024.0, 1.0, 2.0**-20, 8.0], [0.0, 1.0, 0.0, -5.0]
    plain, rescaled = cls(), cls()
    for x, y, _ in on_plane(300, seed=13):
        other = {
            name: a * value + b
            for (name, value), a, b in zip(x.items(), scale, offset, strict=True)
        }
        assert rescaled.score_one(other) == pytest.approx(plain.score_one(x), abs=1e-6)
        plain.learn_one(x, y)
        rescaled.learn_one(other, y)


# Change ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stream", "survivor"), [(change, "younger"), (false_alarm, "older")], ids=["change", "false"]
)
def test_a_trial_from_its_beginning_to_its_end(stream: Callable[..., Any], survivor: str) -> None:
    """The younger generation wins after a change, and the older one after a false alarm."""
    model, counts, scores = AutoOAUCM(), [], {}
    probe = {"x0": 1.0, "x1": 1.0, "x2": 1.0, "x3": 1.0}
    for x, y, _ in stream():
        before = {(e["generation"], e["expert"]): e["auc"] for e in model.experts}
        score = model.score_one(probe)
        model.learn_one(x, y)
        counts.append(n_generations(model))
        if counts[-1] < (counts[-2] if len(counts) > 1 else 1):
            # The survivor's AUC goes on, and the score does not jump.
            for expert in model.experts:
                assert expert["auc"] == pytest.approx(before[survivor, expert["expert"]], abs=0.01)
            assert model.score_one(probe) == pytest.approx(score, abs=0.2)
            scores[len(counts)] = score
    begin = counts.index(2)
    assert 600 < begin < 720
    assert counts[begin:] == [2] * TRIAL_LENGTH + [1] * (len(counts) - begin - TRIAL_LENGTH)
    assert len(scores) == 1


def test_a_second_change_is_noticed_again() -> None:
    model = learn(AutoOAUCM(), change(2_900))
    assert n_generations(model) == 1
    learn(model, ((x, not y, w) for x, y, w in list(change(3_020))[2_900:]))
    assert n_generations(model) == 2


@each
def test_after_a_change_the_ranking_recovers(cls: type[Auto]) -> None:
    model, scores, labels = cls(), [], []
    for x, y, _ in change(1_400):
        scores.append(model.score_one(x))
        labels.append(y)
        model.learn_one(x, y)
    assert roc_auc_score(labels[600:650], scores[600:650]) < 0.5
    assert roc_auc_score(labels[900:], scores[900:]) > 0.85


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


@each
def test_scores_do_not_jump_when_shares_change(cls: type[Auto]) -> None:
    stream = on_plane(1_000, seed=24)
    model, history, trusted = cls(), [], set()
    for t, (x, y, _) in enumerate(stream):
        model.learn_one(x, y)
        history.append([model.score_one(probe) for probe, _, _ in stream[:5]])
        if t % 20 == 19:
            trusted.add(max(model.experts, key=lambda expert: expert["share"])["expert"])
    assert len(trusted) > 1
    assert np.abs(np.diff(history, axis=0))[200:].max() < 0.15
    assert np.abs(history).max() < 2.0


@each
def test_experts_have_names_aucs_and_shares(cls: type[Auto], monkeypatch: Any) -> None:
    """The AUC is about that of the scores which the expert gave before learning."""
    judged = []
    compare = Judge.compare

    def keep_scores(self: Judge, scores: np.ndarray, *args: Any) -> float | None:
        judged.append(scores)
        return compare(self, scores, *args)

    monkeypatch.setattr(Judge, "compare", keep_scores)
    model = cls()
    n = 6 if cls is AutoOAUCM else 10
    names = [expert["expert"] for expert in model.experts]
    assert len(set(names)) == len(names) == n
    assert [expert["share"] for expert in model.experts] == pytest.approx([1 / n] * n)
    assert {expert["auc"] for expert in model.experts} == {0.5}
    stream = on_plane(1_500, seed=14)
    learn(model, stream)
    assert names == [expert["expert"] for expert in model.experts]
    assert {expert["generation"] for expert in model.experts} == {"older"}
    assert sum(expert["share"] for expert in model.experts) == pytest.approx(1.0)
    labels = [y for _, y, _ in stream]
    expected = [roc_auc_score(labels, scores) for scores in np.array(judged).T[:-1]]
    assert [expert["auc"] for expert in model.experts] == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("n", [500, 900], ids=["one generation", "on trial"])
@each
def test_an_explanation_is_the_score_less_that_without_the_feature(cls: type[Auto], n: int) -> None:
    model = learn(cls(), change(n))
    assert n_generations(model) == (1 if n == 500 else 2)
    before = learned_state(model)
    for x, _, _ in on_plane(5, seed=16):
        moves = model.explain_one({**x, "unknown": 5.0})
        assert list(moves) == list(x)
        for name, move in moves.items():
            without = model.score_one({**x, name: None})
            assert move == pytest.approx(model.score_one(x) - without, abs=1e-12)
            assert move
        assert model.explain_one({**x, "x1": math.nan})["x1"] == 0.0
    assert learned_state(model) == before
    assert cls().explain_one(x) == {}


def test_contributions_and_weights_of_a_linear_score() -> None:
    model = learn(AutoOAUCM(), change(900))
    nothing_known = model.score_one(dict.fromkeys(model.weights))
    for x, _, _ in on_plane(5, seed=18):
        total = sum(model.explain_one(x).values())
        assert total == pytest.approx(model.score_one(x) - nothing_known, abs=1e-12)
    # The weight is the slope at the mean, which is that of the generation with all the shares.
    model = learn(AutoOAUCM(), on_plane(400, seed=19))
    units = model._ranker._generations[0].units
    mean = named(units.mean.tolist())
    assert list(model.weights) == list(mean)
    for (name, weight), factor in zip(model.weights.items(), units.factors.tolist(), strict=True):
        step = 1e-5 / factor
        up, down = ({**mean, name: mean[name] + sign * step} for sign in (1.0, -1.0))
        slope = (model.score_one(up) - model.score_one(down)) / (2.0 * step)
        assert weight == pytest.approx(slope, rel=1e-5)


@pytest.mark.parametrize("prior", ["balanced", "empirical"])
@each
def test_empirical_probabilities_follow_the_recent_share(cls: type[Auto], prior: str) -> None:
    model, means = cls(prior), []
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
def test_a_pickle_in_mid_stream_goes_on_bit_for_bit(cls: type[Auto], n: int) -> None:
    stream = [({**x, "late": w} if t > 120 else x, y, w) for t, (x, y, w) in enumerate(change(n))]
    model = learn(cls(), stream)
    assert n_generations(model) == (2 if n == 800 else 1)
    twin = pickle.loads(pickle.dumps(model))
    for one in (model, twin):
        learn(one, raw_values(150))
    assert learned_state(model) == learned_state(twin)


@each
def test_a_merged_pickle_goes_on_bit_for_bit(cls: type[Auto]) -> None:
    model = learn(cls(), raw_values(200)) + learn(cls(), on_plane(300, seed=20))
    twin = pickle.loads(pickle.dumps(model))
    for one in (model, twin):
        learn(one, raw_values(150))
    assert learned_state(model) == learned_state(twin)


@pytest.mark.parametrize(("cls", "limit"), [(AutoOAUCM, 40_000), (AutoOKAUCM, 1_600_000)])
def test_pickles_are_small(cls: type[Auto], limit: int) -> None:
    """Symmetric matrices are stored once, and what follows from others is not."""
    model = learn(cls(), ((named(x), y, 1.0) for x, y in plane(1_000, 10, seed=21)))
    assert n_generations(model) == 1
    assert len(pickle.dumps(model)) < limit


@each
def test_everything_is_finite_whatever_comes(cls: type[Auto]) -> None:
    rng = np.random.default_rng(21)
    model = cls("empirical")
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
            assert all(0.0 <= expert["auc"] <= 1.0 for expert in model.experts)
            assert all(map(math.isfinite, model.explain_one(x).values()))
