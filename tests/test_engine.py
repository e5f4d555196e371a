"""The experts of AutoOAUC, each against its definition."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest

from river_oauc.metrics import exact_auc
from river_oauc.rankers import counts, landmarks, pairs, ridge, sparse
from river_oauc.rankers.boosting import ClassBuffer
from river_oauc.rankers.change import Ranking
from river_oauc.rankers.ridge import ClassMoments, LinearExperts

# Linear experts ----------------------------------------------------------------------------------


@pytest.mark.parametrize("share_missing", [0.0, 0.3])
def test_units_follow_each_feature_by_itself(share_missing: float) -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(2_500, 4)) * [1e-3, 1.0, 1e6, 0.0] + [5.0, 0.0, 1e6, 3.0]
    rows[1_100::50, 1] *= 1e4
    rows[1_000:, 2] *= 3.0
    rows[rng.random(rows.shape) < share_missing] = math.nan
    units = np.zeros((3, 4))
    for t, row in enumerate(rows, 1):
        ridge.update_units(row, units, t)
    standardized = np.array([ridge.standardize(row, units) for row in rows])
    for j, column in enumerate(rows.T):
        mean = variance = 0.0
        for n, x in enumerate(column[~np.isnan(column)].tolist(), 1):
            rate, gap = 1 / min(n, 1000), x - mean
            if variance:
                furthest = math.sqrt(1000 * variance)
                gap = min(max(gap, -furthest), furthest)
            mean += rate * gap
            variance = (1 - rate) * (variance + rate * gap**2)
        assert units[1:, j] == pytest.approx([mean, variance], rel=1e-9)
        z = (column - mean) / math.sqrt(variance) if variance else np.zeros(len(column))
        expected = np.nan_to_num(z / np.sqrt(1.0 + z**2 / 16.0))
        np.testing.assert_allclose(standardized[:, j], expected, rtol=1e-7, atol=1e-12)
    furthest = ridge.standardize(np.array([1e50, -1e50, 0.0, 1.0]), units)
    assert np.abs(furthest).max() == pytest.approx(4.0)


def sample(n: int, p: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return correlated vectors, labels and importance weights."""
    rng = np.random.default_rng(seed)
    rows, labels = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)), rng.random(n) < 0.3
    return rows + labels[:, None], labels, rng.choice([0.1, 1.0, 2.5], size=n)


def moments_of(rows: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> ClassMoments:
    moments = ClassMoments(rows.shape[1])
    for row, label, weight in zip(rows, labels.tolist(), weights.tolist(), strict=True):
        moments.add(row, label, weight)
    return moments


def assert_moments(moments: ClassMoments, rows: Any, labels: Any, weights: Any) -> None:
    moments.flush()
    for own in (0, 1):
        here = labels == own
        assert moments.n[own] == pytest.approx(weights[here].sum())
        if here.any():
            mean = weights[here] @ rows[here] / weights[here].sum()
            scatter = (weights[here, None] * (rows[here] - mean)).T @ (rows[here] - mean)
            np.testing.assert_allclose(moments.mean[own], mean, atol=1e-9)
            np.testing.assert_allclose(moments.scatter[own], scatter, atol=1e-8)


@pytest.mark.parametrize(("n", "n_other"), [(500, 70), (70, 500), (0, 40), (40, 0), (3, 2)])
def test_moments_are_those_of_stored_vectors_merged_too(n: int, n_other: int) -> None:
    everything = sample(n + n_other, 4, seed=n)
    one, other = (moments_of(*(e[part] for e in everything)) for part in (np.s_[:n], np.s_[n:]))
    before = copy.deepcopy(other.get_state())
    assert_moments(copy.deepcopy(one), *(each[:n] for each in everything))
    one.merge(other)
    assert_moments(one, *everything)
    for name, value in before.items():
        np.testing.assert_array_equal(getattr(other, name), value)


def test_late_features_have_been_zero() -> None:
    rows, labels, weights = sample(100, 3, seed=9)
    rows[:50, 1] = 0.0
    moments = moments_of(np.ascontiguousarray(rows[:50, [0, 2]]), labels[:50], weights[:50])
    moments.reindex(np.array([0, 2]), 3)
    for row, label, weight in zip(rows[50:], labels[50:], weights[50:], strict=True):
        moments.add(row, bool(label), float(weight))
    assert_moments(moments, rows, labels, weights)


@pytest.mark.parametrize("strength", [0.1, 10.0])
@pytest.mark.parametrize("with_metric", [False, True])
def test_ridge_minimises_the_loss_over_stored_examples(strength: float, with_metric: bool) -> None:
    """Least squares towards -1 and 1, both classes counting alike."""
    p = 5
    rows, labels, importance = sample(80, p, seed=3)
    moments = moments_of(rows, labels, importance)
    moments.flush()
    n = 4 / (1 / moments.n).sum()
    root = np.random.default_rng(4).normal(size=(p, p))
    metric = root @ root.T if with_metric else None
    weights, bias = ridge.ridge(moments, p, strength, metric)
    total = (moments.scatter / moments.n[:, None, None]).sum(axis=0)
    penalty = (0.5 * np.trace(total) * np.eye(p) if metric is None else metric) * strength / n
    balance = np.sqrt(importance / moments.n[labels.astype(int)])
    design = np.column_stack([rows, np.ones(len(rows))]) * balance[:, None]
    target = np.where(labels, 1.0, -1.0) * balance
    # The penalty on the weights, but not on the bias, as further rows.
    further = np.column_stack([np.linalg.cholesky(penalty).T, np.zeros(p)])
    expected, *_ = np.linalg.lstsq(
        np.vstack([design, further]), np.append(target, np.zeros(p)), rcond=None
    )
    np.testing.assert_allclose(np.append(weights, bias), expected, rtol=1e-5)


def test_ridge_of_classes_that_do_not_vary_or_differ() -> None:
    same = moments_of(np.full((6, 2), 0.7), np.arange(6) > 2, np.ones(6))
    same.flush()
    weights, bias = ridge.ridge(same, 2, 0.1)
    assert (weights.tolist(), bias) == ([0.0, 0.0], 0.0)
    labels = np.arange(6) > 2
    apart = moments_of(np.full((6, 2), 0.7) + labels[:, None], labels, np.ones(6))
    apart.flush()
    weights, bias = ridge.ridge(apart, 2, 0.1)
    assert apart.mean @ weights + bias == pytest.approx([-1.0, 1.0])


def test_ridge_ranks_though_rounding_has_spoiled_a_covariance() -> None:
    values = np.random.default_rng(5).normal(size=(50, 1)) @ np.ones((1, 2))
    labels = np.arange(50) % 2 == 0
    moments = moments_of(values + labels[:, None], labels, np.ones(50))
    moments.flush()
    moments.scatter += 1e-3 * np.array([[0.0, 1.0], [1.0, 0.0]])
    weights, bias = ridge.ridge(moments, 2, 1e-9)
    negative, positive = moments.mean @ weights + bias
    assert negative < 0.0 < positive


@pytest.mark.parametrize("weight", [1.0, 0.1, 100.0])
@pytest.mark.parametrize("positive", [False, True])
def test_tracking_goes_a_part_of_the_way(positive: bool, weight: float) -> None:
    experts, z = LinearExperts(), np.array([0.4, -0.7])
    experts.reindex(None, 2)
    experts.weights[2], experts.biases[2] = [1.0, -2.0], 0.3
    before = float(experts.weights[2] @ z + experts.biases[2])
    experts.learn(z, before, positive, weight, share=0.6)
    after = experts.weights[2] @ z + experts.biases[2]
    rate = min(2 * 0.2 * 0.6 * weight, 1.0)
    assert after == pytest.approx(before + rate * ((1.0 if positive else -1.0) - before))


# The kernel expert -------------------------------------------------------------------------------


def buffers_of(rows: np.ndarray, labels: np.ndarray) -> list[ClassBuffer]:
    buffers = [ClassBuffer(1_000, p=rows.shape[1]) for _ in range(2)]
    for row, label in zip(rows.astype(np.float32), labels.tolist(), strict=True):
        buffers[label].add(row, np.zeros(len(row), np.uint8), 1.0, 0.0)
    return buffers


@pytest.mark.parametrize(("n", "half"), [(40, None), (300, None), (1_000, 64)])
def test_landmarks_are_the_newest_of_each_class(n: int, half: int | None) -> None:
    rows, labels, _ = sample(n, 3, seed=1)
    expert, units = landmarks.KernelExpert(), np.array([[n] * 3, [0.0] * 3, [1.0] * 3])
    assert not expert.choose(3, buffers_of(rows, labels), units)
    assert expert.choose(n, buffers_of(rows, labels), units)
    assert expert.size == min(n, 128) and (expert.next_choice == 0) == (labels.sum() >= 64)
    standardized = rows / np.sqrt(1 + rows**2 / 16)
    newest = standardized[labels][::-1][: max(64, 128 - int((~labels).sum()))]
    np.testing.assert_allclose(expert.landmarks[: len(newest)], newest, rtol=1e-5)
    # The score is that of ridge regression on the similarities of the newest examples.
    distances = [
        np.linalg.norm(a - b) ** 2
        for i, a in enumerate(expert.landmarks[: expert.size])
        for b in expert.landmarks[:i]
    ]
    assert expert.rate == pytest.approx(1 / np.median(distances))
    expert.solve()
    found = np.array([expert.see(z)[1] for z in standardized])
    assert exact_auc(found[labels], found[~labels]) > 0.75
    moves = expert.contributions(standardized[0])
    unknown = expert.see(np.zeros(3))[1]
    assert moves.sum() == pytest.approx(expert.see(standardized[0])[1] - unknown)


# Sparse experts ----------------------------------------------------------------------------------


def numerical_gradient(function: Any, x: np.ndarray) -> np.ndarray:
    gradient, step = np.zeros(x.shape), 1e-6
    for i in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[i], down[i] = x[i] + step, x[i] - step
        gradient[i] = (function(up) - function(down)) / (2 * step)
    return gradient


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_a_step_of_the_pairs_goes_along_the_gradient_of_the_loss(
    positive: bool, weight: float
) -> None:
    rng = np.random.default_rng(1)
    machine, rows, inputs = pairs.Pairs(), np.array([0, 2, 3]), rng.normal(size=3)
    machine.make_room(5)
    machine.scores[:] = [[40.0, -0.5, 30.0], [10.0, 0.7, 20.0]]
    before, linear = machine.factors.copy(), 0.4
    x = 2.0 * inputs / np.linalg.norm(inputs)

    def score(factors: np.ndarray) -> float:
        return sum(
            float(factors[rows[i]] @ factors[rows[j]]) * x[i] * x[j]
            for i in range(3)
            for j in range(i)
        )

    def loss(factors: np.ndarray) -> float:
        """A quarter of ψ_M over the other class, and three quarters of the logistic loss."""
        s, sign = linear + score(factors), 1.0 if positive else -1.0
        n, mean, scatter = machine_scores[int(not positive)]
        b = 1 - sign * (s - mean)
        pairwise = (b + math.hypot(b, math.sqrt(scatter / n))) / 2
        ratio = n / (machine_scores[int(positive)][0] + weight)
        return weight * (
            0.25 * min(1.0, ratio) * pairwise + 0.75 * math.log1p(ratio * math.exp(-sign * s))
        )

    machine_scores = machine.scores.copy()
    assert machine.score(rows, inputs) == pytest.approx(score(before))
    assert machine.contributions(rows, inputs).sum() == pytest.approx(score(before))
    assert machine.learn(rows, inputs, linear, positive, weight) == pytest.approx(score(before))
    gradient = numerical_gradient(loss, before)
    # What is divided by the root of the sum of squares goes down along the gradient.
    steps = (machine.factors - before) * (1.0 + np.sqrt(machine.squares))
    np.testing.assert_allclose(steps[:5], -gradient[:5], atol=1e-6)
    assert (machine.factors[[1, 4]] == before[[1, 4]]).all()


def test_factors_depend_on_nothing_but_the_place() -> None:
    at_once, one_by_one = pairs.Pairs(), pairs.Pairs()
    at_once.make_room(200)
    for n in range(1, 201):
        one_by_one.make_room(n)
    assert (at_once.factors[:200] == one_by_one.factors[:200]).all()
    assert at_once.factors[:200].std() == pytest.approx(0.1, rel=0.1)


def test_counts_are_naive_bayes() -> None:
    rng, machine = np.random.default_rng(2), counts.Counts()
    n, known, squares = [0.0, 0.0], np.zeros((6, 2)), 0.0
    for _ in range(200):
        rows, positive = np.flatnonzero(rng.random(6) < 0.5), bool(rng.random() < 0.2)
        weight = float(rng.choice([0.5, 1.0, 2.0]))
        machine.make_room(6)
        shares = [(each + 0.5) / (sum(n) + 1) for each in n]
        total = sum(
            math.log((known[r, 1] + 2 * shares[1]) / (known[r, 0] + 2 * shares[0]))
            - math.log(shares[1] / shares[0])
            for r in rows
        ) / math.sqrt(max(len(rows), 1))
        expected = 0.7 * total / math.sqrt((squares + total**2 + 1) / (sum(n) + 1))
        assert machine.score(rows) == pytest.approx(expected)
        assert machine.contributions(rows).sum() == pytest.approx(expected)
        assert machine.learn(rows, positive, weight) == pytest.approx(expected)
        n[positive] += weight
        known[rows, int(positive)] += weight
        squares += weight * total**2


@pytest.mark.parametrize("make", [sparse.SparseRanker, pairs.Pairs, counts.Counts])
def test_rows_move_with_all_that_is_known_of_them(make: Any) -> None:
    part, rng = make(), np.random.default_rng(3)
    part.make_room(4)
    for name in part._names:
        getattr(part, name)[:4] = rng.random(getattr(part, name)[:4].shape)
    before = {name: getattr(part, name)[:4].copy() for name in part._names}
    unseen = make()
    unseen.make_room(9)
    part.reindex(np.array([3, 0, 1, 6]), 7)
    for name, values in before.items():
        assert (getattr(part, name)[[3, 0, 1, 6]] == values).all()
        assert (getattr(part, name)[[2, 4, 5]] == getattr(unseen, name)[[2, 4, 5]]).all()
    part.keep(np.array([0, 3]))
    assert part.n_features == 2
    for name, values in before.items():
        assert (getattr(part, name)[:2] == values[[1, 0]]).all()


# Change ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rarer", [False, True])
def test_the_ranking_breaks_when_recent_win_rates_fall(rarer: bool) -> None:
    rng, ranking = np.random.default_rng(4), Ranking(2)
    stored: list[list[float]] = [[], []]
    wins: list[float] = []
    recent, swings, alarms, sign = 0.0, 0.0, [], 1.0 if rarer else -1.0
    for t in range(6_000):
        positive = bool(rng.random() < 0.2) == rarer
        gap = sign * (2.0 if t < 4_000 else 0.0) * (positive == rarer)
        scores = np.array([rng.normal(), rng.normal() + gap])
        expected, others = False, stored[not positive][-256:]
        if positive == rarer and len(others) >= 64:
            above = np.sign(scores[1] - np.array(others)) * (1 if positive else -1)
            wins.append(float(np.mean(0.5 + 0.5 * above)))
            recent += (wins[-1] - recent) / min(len(wins), 32)
            variance = np.var(wins) / 63
            if len(wins) > 64:
                variance = max(variance, swings / (len(wins) - 64))
                swings += min((recent - np.mean(wins)) ** 2, 9 * variance)
            limit = max(6.5 * math.sqrt(variance), 0.02)
            expected = len(wins) >= 64 and np.mean(wins) - recent > limit
        found = ranking.add(scores, positive, positive == rarer)
        assert found == expected
        stored[positive].append(float(scores[1]))
        if found:
            alarms.append(t)
            latest = [stored[own][-256:] for own in (0, 1)]
            assert ranking.aucs()[1] == pytest.approx(exact_auc(latest[1], latest[0]))
            assert ranking.gaps()[1] == pytest.approx(np.mean(latest[1]) - np.mean(latest[0]))
            ranking.start_again()
            assert ranking.aucs() == [0.5, 0.5] and not ranking.gaps().any()
            stored, wins, recent, swings = [[], []], [], 0.0, 0.0
    assert len(alarms) == 1 and 4_000 < alarms[0] < 4_300
