"""AutoOAUC: its recorded scores, and what it promises beyond the contract.

`python tests/test_auto.py` records the scores anew, in `fixtures/auto_scores.json`. The streams use
`random` only, whose numbers are the same in all versions of Python.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
import pathlib
import pickle
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from classifiers import learned_state
from sklearn.metrics import roc_auc_score

from river_oauc import AutoOAUC
from river_oauc.rankers.stack import Stack

Example = tuple[dict[str, Any], bool, float]
RECORDED = pathlib.Path(__file__).parent / "fixtures/auto_scores.json"
KINDS = {
    "all": functools.partial(AutoOAUC, seed=1, prior="empirical"),
    "linear": functools.partial(AutoOAUC, ("linear",), prior="empirical"),
}
each_kind = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)


# The streams -----------------------------------------------------------------------------------


def plane(n: int, p: int, seed: int, bias: float = 0.48) -> Iterator[tuple[list[float], bool]]:
    """Yield vectors whose positives, by default three in ten, lie on one side of a noisy plane."""
    rng = random.Random(seed)
    for _ in range(n):
        x = [rng.gauss(0.0, 1.0) for _ in range(p)]
        yield x, sum(x) / p**0.5 + rng.gauss(0.0, 0.6) > bias


def named(x: list[float]) -> dict[str, Any]:
    return {f"x{j}": value for j, value in enumerate(x)}


def raw_values() -> Iterator[Example]:
    """Different units, importance weights, unknown and absent values, and outliers."""
    rng = random.Random(1)
    for t, (values, y) in enumerate(plane(400, 4, seed=2)):
        x = named([10.0 ** (j - 1) * value + j for j, value in enumerate(values)])
        for name in list(x) if t > 50 else ():
            fate = rng.random()
            if fate < 0.1:
                x[name] = None if fate < 0.05 else float("nan")
            elif fate < 0.2:
                del x[name]
            elif fate < 0.21:
                x[name] = 1e30 * rng.gauss(0.0, 1.0)
        yield x, y, rng.choice([0.5, 1.0, 1.0, 4.0])


def late_features() -> Iterator[Example]:
    """One class for a long time, and features that arrive late."""
    for t, (values, y) in enumerate(plane(400, 6, seed=3)):
        yield named(values[: 2 + t // 80]), y and t > 90, 1.0


def ties() -> Iterator[Example]:
    """Whole numbers, a constant feature, and equal examples at first."""
    for t, (values, y) in enumerate(plane(300, 3, seed=4)):
        x = [float(round(values[0])), 7.0, float(round(values[2]))] if t > 20 else [1.0]
        yield named(x), y, 1.0


def rare() -> Iterator[Example]:
    """More negatives than are kept, while there are too few positives for all landmarks."""
    rng = random.Random(5)
    for t in range(1_100):
        yield named([rng.gauss(0.7 * (t % 9 == 0), 1.0) for _ in range(3)]), t % 9 == 0, 1.0


def wide() -> Iterator[Example]:
    """So many features that solutions wait for more examples."""
    for values, y in plane(160, 60, seed=6):
        yield named(values), y, 1.0


def change() -> Iterator[Example]:
    """After 3,000 examples, one in ten positive, nothing ranks, and then the order is reversed."""
    rng = random.Random(8)
    for t, (values, y) in enumerate(plane(5_000, 8, seed=7, bias=1.5)):
        if t >= 3_000:
            values = [rng.gauss(0.0, 1.0) if t < 3_600 else -value for value in values]
        yield named(values), y, 1.0


STREAMS: dict[str, Callable[[], Iterator[Example]]] = {
    stream.__name__: stream for stream in (raw_values, late_features, ties, rare, wide, change)
}


def learn(model: Any, stream: Any) -> Any:
    for x, y, w in stream:
        model.learn_one(x, y, w)
    return model


# The recorded scores ---------------------------------------------------------------------------


def record(model: Any, stream: list[Example]) -> dict[str, list[float]]:
    """Let a model learn a stream, as a copy from the middle on; return some of its figures."""
    found: dict[str, list[float]] = {"scores": [], "probabilities": []}
    for t, (x, y, w) in enumerate(stream):
        if t % (len(stream) // 20) == 19 % (len(stream) // 20):
            found["scores"].append(model.score_one(x))
            found["probabilities"].append(model.predict_proba_one(x)[True])
        if t == len(stream) // 2:
            model = pickle.loads(pickle.dumps(model))
        model.learn_one(x, y, w)
    for name in ("auc", "share"):
        found[name] = [expert[name] for expert in model.expert_shares]
    return found


def record_merged(make: Callable[[], Any], stream: list[Example]) -> dict[str, list[float]]:
    """Merge models of the first third and of the second, and record the rest of the stream."""
    third = len(stream) // 3
    # Features in another order in each part.
    second = [
        (dict(sorted(x.items(), reverse=True)), y, w) for x, y, w in stream[third : 2 * third]
    ]
    merged = learn(make(), stream[:third]) + learn(make(), second)
    return record(merged, stream[2 * third :])


def record_all() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for (kind, make), (name, stream) in itertools.product(KINDS.items(), STREAMS.items()):
        found[f"{kind} {name}"] = record(make(), list(stream()))
        if name in ("raw_values", "late_features", "ties"):
            found[f"{kind} merged {name}"] = record_merged(make, list(stream()))
    return found


def test_scores_are_those_recorded() -> None:
    found, recorded = record_all(), json.loads(RECORDED.read_text())
    assert found.keys() == recorded.keys()
    for name, figures in recorded.items():
        for figure, expected in figures.items():
            np.testing.assert_allclose(found[name][figure], expected, 0.0, 1e-9, err_msg=name)


# Change ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("stream", "n_alarms"), [(change, 1), (rare, 0)])
@each_kind
def test_a_change_is_noticed_once(make: Any, stream: Callable[..., Any], n_alarms: int) -> None:
    model, alarms = make(), []
    for t, (x, y, w) in enumerate(stream()):
        model.learn_one(x, y, w)
        if model.drift_detected:
            alarms.append(t)
        assert model.n_drifts_detected == len(alarms)
    assert len(alarms) == n_alarms and all(3_000 < alarm < 3_600 for alarm in alarms)
    merged = model + model.clone(include_attributes=True)
    assert (merged.n_drifts_detected, merged.drift_detected) == (2 * n_alarms, False)


@each_kind
def test_after_a_change_the_ranking_recovers(make: Callable[..., AutoOAUC]) -> None:
    model, scores, labels = make(), [], []
    for x, y, _ in itertools.islice(change(), 5_000):
        scores.append(model.score_one(x))
        labels.append(y)
        model.learn_one(x, y)
    assert roc_auc_score(labels[3_000:3_600], scores[3_000:3_600]) < 0.65
    assert roc_auc_score(labels[4_200:], scores[4_200:]) > 0.85


# Experts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "experts", [("linear",), ("kernel",), ("trees",), ("sparse",), ("linear", "trees", "sparse")]
)
def test_experts_have_names_aucs_and_shares(experts: tuple[str, ...]) -> None:
    model, found, labels = AutoOAUC(experts, seed=1), [], []
    linear = ["ridge 0.1", "ridge 10", "tracking"]
    names = {
        "linear": linear, "kernel": [*linear, "kernel"], "trees": ["trees"],
        "sparse": ["entries", "pairs", "counts"],
    }  # fmt: skip
    expected = [name for expert in experts for name in names[expert]]
    for values, y in plane(1_000, 4, seed=15):
        assert [expert["expert"] for expert in model.expert_shares] == expected
        example, _ = model._encoder.encode(named(values))
        found.append([*model._ranker.scores(example), model.score_one(named(values))])
        labels.append(y)
        model.learn_one(named(values), y)
    scores, y = np.array(found), np.array(labels)
    assert roc_auc_score(y[200:], scores[200:, -1]) > 0.85
    assert sum(expert["share"] for expert in model.expert_shares) == pytest.approx(1.0)
    # Over the latest scores of each class, as they were before learning.
    latest = np.concatenate([np.flatnonzero(y == own)[-256:] for own in (False, True)])
    for expert, own in zip(model.expert_shares, scores.T, strict=False):
        assert expert["auc"] == pytest.approx(roc_auc_score(y[latest], own[latest]), abs=0.02)


@pytest.mark.parametrize("experts", ["linear", (), ("forest",), ("linear", None)])
def test_experts_that_do_not_exist(experts: Any) -> None:
    with pytest.raises(ValueError, match="experts must be some of"):
        AutoOAUC(experts)


@pytest.mark.parametrize("n", [2_000, 3_700], ids=["before a change", "after it"])
@each_kind
def test_explanations_add_up_to_the_score_less_a_constant(make: Any, n: int) -> None:
    assert sum(make().explain_one({"x0": 1.0}).values()) == 0.0
    model = learn(make(), itertools.islice(change(), n))
    assert model.n_drifts_detected == (n > 3_000)
    before, constants = learned_state(model), []
    for values, _ in plane(5, 8, seed=16):
        moves = model.explain_one(named(values) | {"unknown": 5.0})
        assert moves.keys() <= {*named(values), "unknown"}
        constants.append(model.score_one(named(values)) - sum(moves.values()))
    assert constants == pytest.approx([constants[0]] * 5, abs=1e-9)
    assert learned_state(model) == before


def test_the_stack_is_the_solution_of_its_equations() -> None:
    """Against a plain loop over all examples."""
    rng, n = np.random.default_rng(3), 200
    prior, precision = np.array([1.3, 0.2, 0.0]), np.diag([10.0, 10.0, 1.0])
    stack, labels = Stack(prior[:2].tolist()), rng.random(n) < 0.2
    rows = rng.normal(size=(n, 2)) + labels[:, np.newaxis]
    beta, A, b, sizes = prior, np.zeros((3, 3)), np.zeros(3), np.zeros(2)
    for scores, y in zip(rows, labels, strict=True):
        assert stack.score(scores.tolist()) == pytest.approx(beta[:2] @ scores, abs=1e-12)
        stack.learn(scores, bool(y), 1.0)
        sizes *= 1 - 1 / 5000
        sizes[int(y)] += 1.0
        u = np.append(scores, 1.0)
        p = 1 / (1 + np.exp(-beta @ u))
        w = math.sqrt(sizes.min() / sizes[int(y)])
        A = (1 - 1 / 5000) * A + w * p * (1 - p) * np.outer(u, u)
        b = (1 - 1 / 5000) * b + w * (p * (1 - p) * (beta @ u) + y - p) * u
        beta = np.linalg.inv(precision + A) @ (precision @ prior + b)


@each_kind
def test_empirical_probabilities_follow_the_recent_share(make: Callable[..., AutoOAUC]) -> None:
    balanced, empirical, means = make(prior="balanced"), make(), []
    for share in (0.5, 0.05):
        rng = np.random.default_rng(22)
        labels = rng.random(2_000) < share
        rows = (rng.normal(size=(2_000, 2)) + labels[:, np.newaxis]).tolist()
        for model in (balanced, empirical):
            learn(model, ((named(x), y, 1.0) for x, y in zip(rows, labels.tolist(), strict=True)))
            means.append(np.mean([model.predict_proba_one(named(x))[True] for x in rows[:300]]))
    assert means[1::2] == pytest.approx([0.5, 0.05], abs=0.06)
    assert means[2] > 0.15


if __name__ == "__main__":
    RECORDED.write_text(json.dumps(record_all(), indent=1) + "\n")
