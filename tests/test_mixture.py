"""The parts of the mixture ranker, each against its definition."""

from __future__ import annotations

import copy
import importlib
import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import river_oauc
from river_oauc.rankers.mixture.arrays import RecentRows
from river_oauc.rankers.mixture.change import ChangeDetector, Trial
from river_oauc.rankers.mixture.judge import Judge, shares_of
from river_oauc.rankers.mixture.kernels import KernelMaps, relevance
from river_oauc.rankers.mixture.landmarks import KernelExperts
from river_oauc.rankers.mixture.moments import ForgettingMoments
from river_oauc.rankers.mixture.ranker import MixtureRanker
from river_oauc.rankers.mixture.ridge import ridge, solve_positive_definite
from river_oauc.rankers.mixture.steps import Newton, implicit_margin, pairwise_step, tracking_step
from river_oauc.rankers.mixture.units import Units

# Units and recent rows -------------------------------------------------------------------------


@pytest.mark.parametrize("share_missing", [0.0, 0.3])
def test_units_follow_each_feature_by_itself(share_missing: float) -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(2_500, 4)) * [1e-3, 1.0, 1e6, 0.0] + [5.0, 0.0, 1e6, 3.0]
    # Too late to count as heavy tails.
    rows[1_100::50, 1] *= 1e4
    rows[1_000:, 2] *= 3.0
    rows[rng.random(rows.shape) < share_missing] = math.nan
    given = rows.copy()
    units = Units(4)
    for row in rows:
        units.update(row)
    np.testing.assert_array_equal(rows, given)
    for j, column in enumerate(rows.T):
        mean = variance = 0.0
        for n, x in enumerate(column[~np.isnan(column)].tolist(), 1):
            rate, gap = 1 / min(n, 1000), x - mean
            if variance:
                furthest = math.sqrt(1000 * variance)
                gap = min(max(gap, -furthest), furthest)
            mean += rate * gap
            variance = (1 - rate) * (variance + rate * gap**2)
        assert units.mean[j] == pytest.approx(mean, rel=1e-9)
        if j == 3:
            assert variance == units.factors[j] == 0.0
            continue
        assert units.factors[j] == pytest.approx(1.0 / math.sqrt(variance), rel=1e-9)
        z = (column - mean) / math.sqrt(variance)
        expected = np.nan_to_num(z / np.sqrt(1.0 + z**2 / 16.0))
        np.testing.assert_allclose(units.standardize(rows)[:, j], expected, rtol=1e-7, atol=1e-12)
    assert units.n_varying == 3
    np.testing.assert_array_equal(units.standardize(rows)[7], units.standardize(rows[7]))


def test_a_feature_found_to_have_heavy_tails_starts_anew() -> None:
    rng, units = np.random.default_rng(2), Units(1)
    # Of 32 examples one is unknown, so it is decided after 64. The last of these is unknown, too.
    for x in [np.nan, *np.exp(3.0 * rng.normal(size=62))]:
        units.update(np.array([x]))
    assert units.mean[0] > 0.0 and units.factors[0] > 0.0
    units.update(np.array([np.nan]))
    assert units.mean[0] == units.factors[0] == 0.0


def test_merged_units_are_those_of_all_rows() -> None:
    rows = np.random.default_rng(3).normal(size=(500, 2)) + [0.0, 1e3]
    one, other, both = Units(2), Units(2), Units(2)
    for t, row in enumerate(rows):
        (one if t < 100 else other).update(row)
        both.update(row)
    old = copy.deepcopy(one)
    one.merge(other)
    np.testing.assert_allclose(one.mean, rows.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(one.factors, 1.0 / rows.std(axis=0), rtol=1e-9)
    # To first order, values near the old mean come to the new units.
    scale, shift = old.change_to(one)
    x = old.mean + 1e-4
    expected = one.standardize(x) - one.standardize(old.mean)
    np.testing.assert_allclose(shift, one.standardize(old.mean), rtol=1e-9)
    np.testing.assert_allclose(scale * old.standardize(x), expected, rtol=1e-3)


def test_the_newest_rows_of_two_streams() -> None:
    recent, other = RecentRows(4, 2, n_extras=1), RecentRows(4, 2, n_extras=1)
    for t in range(9):
        recent.add(np.array([t, -t]), (10.0 * t,))
    other.add(np.array([100.0, np.nan]), (7.0,))
    recent.merge(other)
    again = RecentRows(4, 1, n_extras=1)
    again.set_state(recent.get_state())
    np.testing.assert_array_equal(again.rows, recent.rows)
    rows, extras = again.in_order()
    assert rows[:, 0].tolist() == [6.0, 7.0, 100.0, 8.0]
    assert extras.ravel().tolist() == [7.0 if x == 100.0 else 10.0 * x for x in rows[:, 0]]
    again.add(np.array([1.0, 1.0]), (1.0,))
    assert again.in_order()[0][-1].tolist() == [1.0, 1.0]
    assert again.n == 4


# Moments ---------------------------------------------------------------------------------------


def sample(n: int, p: int, seed: int, offset: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Return correlated vectors and importance weights."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + offset
    return rows, rng.choice([0.1, 1.0, 2.5], size=n)


def moments_of(
    rows: np.ndarray, weights: np.ndarray, memory: float = math.inf
) -> ForgettingMoments:
    moments = ForgettingMoments(rows.shape[1], memory)
    for row, w in zip(rows, weights.tolist(), strict=True):
        moments.update(row, w)
    return moments


def assert_moments(
    moments: ForgettingMoments, rows: np.ndarray, weights: np.ndarray, tolerance: float = 1e-10
) -> None:
    mean = weights @ rows / weights.sum()
    covariance = (weights[:, np.newaxis] * (rows - mean)).T @ (rows - mean) / weights.sum()
    scale = np.abs(covariance).max() + 1.0
    assert moments.n == pytest.approx(weights.sum(), rel=tolerance)
    np.testing.assert_allclose(moments.mean, mean, rtol=tolerance, atol=tolerance)
    found = moments.covariance()
    np.testing.assert_allclose(found, covariance, rtol=0.0, atol=tolerance * scale)
    np.testing.assert_array_equal(found, found.T)


def forgotten(weights: np.ndarray, memory: float) -> np.ndarray:
    return weights * (1.0 - 1.0 / memory) ** np.arange(len(weights))[::-1]


@pytest.mark.parametrize("memory", [1.5, 20.0, math.inf])
@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 65, 1_000])
def test_moments_are_those_of_stored_vectors(n: int, memory: float) -> None:
    """However many rank-one terms wait, and however often the covariance is asked for."""
    rows, weights = sample(n, 3, seed=4, offset=1e3)
    moments, asked = moments_of(rows, weights, memory), ForgettingMoments(3, memory)
    for row, w in zip(rows, weights.tolist(), strict=True):
        asked.update(row, w)
        asked.covariance()
    again = ForgettingMoments(1, memory)
    again.set_state(moments.get_state())
    for one in (moments, asked, again):
        assert_moments(one, rows, forgotten(weights, memory), tolerance=1e-8)


@pytest.mark.parametrize("memory", [4.0, math.inf])
@pytest.mark.parametrize(("n", "n_other"), [(0, 7), (30, 0), (1, 1), (30, 200), (200, 30)])
def test_merged_moments_are_those_of_all_vectors(n: int, n_other: int, memory: float) -> None:
    rows, weights = sample(n, 3, seed=6)
    other_rows, other_weights = sample(n_other, 3, seed=7)
    moments = moments_of(rows, weights, memory)
    moments.merge(moments_of(other_rows, other_weights, memory))
    both = np.vstack([rows, other_rows])
    kept = np.append(forgotten(weights, memory), forgotten(other_weights, memory))
    assert_moments(moments, both, kept)
    scale, shift = np.array([2.0, 0.5, -1.0]), np.array([1.0, 0.0, 3.0])
    moments.update(rows[0] if n else other_rows[0], 1.0)
    moments.transform(scale, shift)
    both = np.vstack([both, rows[0] if n else other_rows[0]]) * scale + shift
    assert_moments(moments, both, np.append(kept * (1.0 - 1.0 / memory), 1.0))


def test_moments_of_a_matrix_grow_by_features_that_have_been_zero() -> None:
    rows, weights = sample(100, 3, seed=9)
    rows[:90, 1] = 0.0
    moments = ForgettingMoments.of(rows[:50, [0, 2]], weights[:50])
    for t in range(50, 100):
        if t == 90:
            moments.reindex(np.array([0, 2]), 3)
        moments.update(rows[t] if t >= 90 else rows[t, [0, 2]], float(weights[t]))
    assert_moments(moments, rows, weights)


# The ridge experts -----------------------------------------------------------------------------


@pytest.mark.parametrize("with_metric", [False, True])
def test_ridge_minimises_the_loss_over_stored_examples(with_metric: bool) -> None:
    """Least squares towards -1 and 1, both classes counting alike."""
    p = 5
    rows, importance = sample(80, p, seed=3)
    labels = np.arange(80) % 4 == 0
    rows[labels] += 1.0
    negative, positive = (moments_of(rows[labels == k], importance[labels == k]) for k in (0, 1))
    n = 4 / (1 / negative.n + 1 / positive.n)
    root = np.random.default_rng(4).normal(size=(p, p))
    metric = root @ root.T if with_metric else None
    strengths = (0.1, 10.0)
    weights, biases = ridge((negative, positive), strengths, metric)
    for strength, w, b in zip(strengths, weights, biases, strict=True):
        if metric is None:
            total = negative.covariance() + positive.covariance()
            penalty = 0.5 * np.trace(total) * (strength / n + 1e-8) * np.eye(p)
        else:
            penalty = metric * strength / n + 1e-8 * np.eye(p)
        balance = np.sqrt(importance / np.where(labels, positive.n, negative.n))
        design = np.column_stack([rows, -np.ones(len(rows))]) * balance[:, np.newaxis]
        target = np.where(labels, 1.0, -1.0) * balance
        # The penalty on the weights, but not on the bias, as further rows.
        further = np.column_stack([np.linalg.cholesky(penalty).T, np.zeros(p)])
        expected, *_ = np.linalg.lstsq(
            np.vstack([design, further]), np.append(target, np.zeros(p)), rcond=None
        )
        np.testing.assert_allclose(np.append(w, b), expected, rtol=1e-7)


def test_ridge_of_classes_that_do_not_vary_or_differ() -> None:
    same, none = moments_of(np.full((3, 2), 0.7), np.ones(3)), ForgettingMoments(2)
    for classes in ((same, same), (none, same), (same, none)):
        weights, biases = ridge(classes, (0.1,))
        assert (weights.tolist(), biases.tolist()) == ([[0.0, 0.0]], [0.0])
    apart = moments_of(np.full((3, 2), 1.7), np.ones(3))
    (w,), (b,) = ridge((same, apart), (0.1,))
    assert [w @ moments.mean - b for moments in (same, apart)] == pytest.approx([-1.0, 1.0])


@pytest.mark.parametrize("with_metric", [False, True])
def test_ridge_ranks_though_rounding_has_spoiled_a_covariance(with_metric: bool) -> None:
    """Two equal features whose covariance is larger than their variances, by more than jitter."""
    rng = np.random.default_rng(5)
    values = rng.normal(size=(50, 1)) @ np.ones((1, 2))
    classes = moments_of(values, np.ones(50)), moments_of(values + 1.0, np.ones(50))
    for moments in classes:
        moments.covariance()
        moments.scatter += 1e-5 * np.array([[0.0, 1.0], [1.0, 0.0]])
    metric = 1e-9 * np.eye(2) if with_metric else None
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(classes[0].covariance())
    (w,), (b,) = ridge(classes, (1e-9,), metric)
    expected = 2.0 / (1.0 + 2.0 * values[:, 0].var())
    assert w @ np.ones(2) == pytest.approx(2.0 * expected / (expected + 2.0), rel=0.5)
    assert w @ np.full(2, values.mean()) - b < 0.0 < w @ np.full(2, values.mean() + 1.0) - b


def test_singular_systems_are_solved_where_they_can_be() -> None:
    rng = np.random.default_rng(6)
    axes, _ = np.linalg.qr(rng.normal(size=(6, 6)))
    matrix = (axes * [3.0, 2.0, 1.0, 0.5, 0.0, -1e-12]) @ axes.T
    expected = rng.normal(size=6) * [1, 1, 1, 1, 0, 0] @ axes.T
    np.testing.assert_allclose(
        axes[:, :4].T @ solve_positive_definite(matrix, matrix @ expected),
        axes[:, :4].T @ expected,
        rtol=1e-6,
    )


# The experts that step -------------------------------------------------------------------------


@pytest.mark.parametrize("pull", [0.0, 1e-9, 0.3, 5.0, 1e3, 1e12])
@pytest.mark.parametrize("margin", [-1e6, -800.0, -30.0, -1.0, 0.0, 0.5, 20.0, 800.0])
def test_the_implicit_margin_solves_its_equation(margin: float, pull: float) -> None:
    root = implicit_margin(margin, pull)
    error = 1.0 / (1.0 + math.exp(root)) if root < 700.0 else 0.0
    assert root == pytest.approx(margin + pull * error, rel=1e-9, abs=1e-9)


def test_a_newton_step_minimises_loss_and_distance() -> None:
    rng = np.random.default_rng(5)
    newton = Newton(3)
    covariance = np.diag([1.0] + [1 / 1.5] * 3)
    for t in range(40):
        phi = np.append(1.0, 2.0 * rng.normal(size=3))
        sign, c = (1.0, 0.7) if t % 3 else (-1.0, 1.6)
        precision, old = np.linalg.inv(covariance), newton.weights

        def loss(v: np.ndarray, phi=phi, sign=sign, c=c, precision=precision, old=old) -> float:
            return c * np.logaddexp(0.0, -sign * (phi @ v)) + 0.5 * (v - old) @ precision @ (
                v - old
            )

        newton.step(phi, sign, c)
        found = minimize(loss, old, method="BFGS", options={"gtol": 1e-9})
        np.testing.assert_allclose(newton.weights, found.x, atol=1e-5)
        p = 1.0 / (1.0 + math.exp(-(phi @ newton.weights)))
        covariance = np.linalg.inv(precision + c * p * (1 - p) * np.outer(phi, phi))
        np.testing.assert_allclose(newton.current_covariance(), covariance, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(newton.current_covariance(), newton.current_covariance().T)
    # The information says the same, and may be moved to other units.
    twin, moved = Newton(3), Newton(3)
    twin.set_information(*newton.information(np.ones(3), np.zeros(3)))
    np.testing.assert_allclose(twin.weights, newton.weights, rtol=1e-9)
    gained, vector = newton.information(np.full(3, 2.0), np.ones(3))
    moved.set_information(gained, vector)
    back, _ = moved.information(np.full(3, 0.5), np.full(3, -0.5))
    np.testing.assert_allclose(back, newton.information(np.ones(3), np.zeros(3))[0], atol=1e-9)


@pytest.mark.parametrize("c", [0.5, 2.0, 5.0, 100.0])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_steps_go_a_part_of_the_way(sign: float, c: float) -> None:
    weights, phi = np.array([0.3, -1.0, 2.0]), np.array([1.0, 0.4, -0.7])
    before = weights @ phi
    tracking_step(weights, phi, sign, c)
    assert weights @ phi == pytest.approx(before + min(0.2 * c, 1.0) * (sign - before))

    means = np.array([-1.0, 0.5]), np.array([0.7, 0.2])
    direction = phi[1:] - (means[0] if sign > 0 else means[1])
    before = weights[1:] @ direction
    pairwise_step(weights, phi, sign, c, *means)
    expected = before + min(0.15 * c, 1.0) * (2.0 * sign - before)
    assert weights[1:] @ direction == pytest.approx(expected, rel=1e-6)
    assert weights[0] == pytest.approx(-weights[1:] @ (means[0] + means[1]) / 2.0)


# Compiled functions ------------------------------------------------------------------------------

_rng = np.random.default_rng(1)
_P, _N = 5, 40
_X = np.where(_rng.random((_N, _P)) < 0.1, np.nan, np.exp(_rng.normal(size=(_N, _P))))
_Z, _SCALES = _rng.normal(size=(_N, _P)), np.array([0.0, 0.5, 0.0, 2.0, 0.0])
_SCATTER = _Z.T @ _Z
ARGUMENTS = {
    "mixture.tails.update_sizes": (_X[0], *_rng.random((3, _P))),
    "mixture.units.update_units": (_X[0], _SCALES, 30.0, np.zeros(_P), *_rng.random((3, _P))),
    "mixture.units.standardize": (_X, _SCALES, *_rng.random((2, _P))),
    "mixture.moments.add_vector": (_Z[0], 2.0, 7.0, _Z[1], np.zeros((4, _P)), 2),
    "mixture.moments.add_products": (_SCATTER, _Z, 9, 0.95),
    "mixture.ridge.solve_ridge": (
        30.0, _Z[0], _SCATTER, 9.0, _Z[1], _SCATTER + np.eye(_P), (0.1, 10.0), None,
    ),
    "mixture.steps.newton_step": (_Z[0], _Z[1], -1.0, 3.0, _SCATTER, 0.1 * _Z, 3),
    "mixture.steps.scale_logits": (np.arange(_P + 1.0), _Z[0], _Z[1]),
    "mixture.steps.tracking_step": (_Z[0].copy(), _Z[1], 1.0, 2.0),
    "mixture.steps.pairwise_step": (np.arange(_P + 1.0), np.ones(_P + 1), 1.0, 2.0, _Z[0], _Z[1]),
    "mixture.kernels.similarities": (_Z[:3], _Z, np.abs(_Z[5]), 0.3, 0.1),
    "mixture.judge.update_rates": (_Z[0, 1:], _Z[1], _Z[2], _Z, True, 0.01, 0.02),
    "mixture.judge.shares_of": (_Z[0], 50.0),
    "stack.stack_step": (_SCATTER, _Z[0], np.ones(2), _Z[1], 600.0 * _Z[2, 1:], True, 3.0),
    "stack.solve_stack": (_SCATTER, _Z[0], np.abs(_Z[1]), _Z[2]),
}  # fmt: skip


@pytest.mark.skipif(not river_oauc.compiled, reason="there is no compiled code")
@pytest.mark.parametrize("name", ARGUMENTS)
def test_compiled_functions_do_what_those_in_numpy_do(name: str) -> None:
    module, function = name.rsplit(".", 1)
    twin = getattr(importlib.import_module(f"river_oauc.rankers.{module}"), function)
    ours, theirs = copy.deepcopy((ARGUMENTS[name], ARGUMENTS[name]))
    result, expected = twin(*ours), twin.__wrapped__(*theirs)
    # What is returned, and what has changed in place.
    for mine, other in zip(flat((result, ours)), flat((expected, theirs)), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-12)


def flat(value: Any) -> list[Any]:
    if isinstance(value, tuple):
        return [item for each in value for item in flat(each)]
    return [] if value is None else [value]


@pytest.mark.skipif(not river_oauc.compiled, reason="there is no compiled code")
@pytest.mark.parametrize("name", ARGUMENTS)
def test_compiled_functions_refuse_arrays_of_other_sizes(name: str) -> None:
    module, function = name.rsplit(".", 1)
    twin = getattr(importlib.import_module(f"river_oauc.rankers.{module}"), function)
    for position, argument in enumerate(ARGUMENTS[name]):
        if not isinstance(argument, np.ndarray) or name.endswith("shares_of"):
            continue
        arguments = list(copy.deepcopy(ARGUMENTS[name]))
        arguments[position] = argument[..., : argument.shape[-1] - 1].copy()
        with pytest.raises(ValueError, match="sizes"):
            twin(*arguments)


# The judge -------------------------------------------------------------------------------------


def test_shares_add_up_and_are_in_proportion() -> None:
    rates = np.array([0.8, 0.6, 0.8])
    shares = shares_of(rates, 25.0)
    assert rates.tolist() == [0.8, 0.6, 0.8]
    assert shares.sum() == pytest.approx(1.0)
    assert shares[0] == shares[2]
    assert shares[0] / shares[1] == pytest.approx(math.exp(4.0 * 5.0 * 0.2))
    assert shares_of(rates, 0.0).tolist() == pytest.approx([1 / 3] * 3)
    assert np.isfinite(shares_of(np.array([1.0, 0.0]), 1e100)).all()


def test_the_judge_counts_wins_against_the_latest_of_the_other_class() -> None:
    rng = np.random.default_rng(7)
    judge, seen = Judge(3), ([], [])
    n, judged, rates = [0.0, 0.0], np.zeros(2), np.full(3, 0.5)
    for t in range(600):
        positive = bool(rng.random() < 0.3)
        w = float(rng.choice([0.5, 1.0, 4.0]))
        # Some scores are tied, and some nearly.
        scores = np.round(rng.normal(size=4) + 0.5 * positive, 1) + 5e-5 * rng.integers(0, 2)
        if t == 300:
            judge.forget_scores()
            seen = ([], [])
        win = judge.compare(scores, positive, w, n[not positive])
        others = seen[not positive][-64:]
        assert (win is None) == (not others)
        if others:
            gaps = (1.0 if positive else -1.0) * (scores - np.array(others))
            wins = np.mean([[min(max(0.5 + g / 2e-4, 0.0), 1.0) for g in row] for row in gaps], 0)
            assert win == pytest.approx(wins[-1], abs=1e-9)
            judged *= 1 - 1 / 2000
            judged[int(positive)] += w
            rates += w / judged.sum() * (wins[:-1] - rates)
            np.testing.assert_allclose(judge.win_rates, rates, atol=1e-10)
            balanced = 4.0 * judged.prod() / judged.sum()
            np.testing.assert_allclose(judge.shares, shares_of(rates, balanced), atol=1e-10)
        seen[positive].append(scores)
        n[positive] += w


# The kernel experts ----------------------------------------------------------------------------


def test_similarities_are_those_of_the_formula() -> None:
    rng = np.random.default_rng(9)
    landmarks, example, rows = (rng.normal(size=(n, 3)) for n in (7, 30, 5))
    relevances = np.array([0.5, 0.2, 0.9])
    maps = KernelMaps.with_typical_widths(landmarks, relevances, example)
    pairs = [(a, b) for i, a in enumerate(example) for b in example[:i]]
    laplace = 0.7 / np.median([np.sum(relevances * np.abs(a - b)) for a, b in pairs])
    gaussian = 1.0 / np.median([np.sum((a - b) ** 2) for a, b in pairs])
    for given, found in ((rows, maps.similarities(rows)), (landmarks, maps.grams)):
        for i, z in enumerate(given):
            expected = [
                [math.exp(-laplace * np.sum(relevances * np.abs(z - one))) for one in landmarks],
                [math.exp(-gaussian * np.sum((z - one) ** 2)) for one in landmarks],
            ]
            np.testing.assert_allclose(found[:, i], expected, rtol=1e-12)
    # Features come that are 0 in all landmarks, and at least a little relevant.
    grown = copy.copy(maps)
    grown.reindex(np.array([2, 1, 0]), 4)
    np.testing.assert_allclose(grown.grams, maps.grams, rtol=1e-12)
    z = np.append(rows[0][::-1], 2.0)
    expected = maps.similarities(rows[:1])[:, 0]
    factors = [math.exp(-laplace * math.sqrt(0.02) * 2.0), math.exp(-4.0 * gaussian)]
    np.testing.assert_allclose(
        grown.similarities(z[None])[:, 0], expected * np.array(factors)[:, None], rtol=1e-9
    )
    # A sample of equal vectors has a width, too.
    equal = KernelMaps.with_typical_widths(np.zeros((2, 2)), np.ones(2), np.zeros((4, 2)))
    found = equal.similarities(np.array([[1.0, 0.0]]))
    np.testing.assert_allclose(found[:, 0, 0], [math.exp(-0.7), math.exp(-1.0)])


def test_relevance_is_that_of_a_loop_over_the_features() -> None:
    rng = np.random.default_rng(12)
    positives, negatives = rng.normal(size=(70, 5)), rng.normal(size=(211, 5))
    positives[:, 1] += 2.0
    positives[:, 2] *= 3.0
    for rows in (positives, negatives):
        rows[:, 3] = 1.0
        rows[:, 4] = np.round(rows[:, 4])
    expected = []
    for p, n in zip(positives.T, negatives.T, strict=True):
        edges = np.quantile(np.concatenate([p, n]), np.arange(1, 8) / 8)
        a, b = (
            np.bincount(np.searchsorted(edges, values), minlength=8) / len(values)
            for values in (p, n)
        )
        used = a + b > 0
        apart = 0.5 * np.sum((a - b)[used] ** 2 / (a + b)[used])
        by_chance = 0.25 * (used.sum() - 1) * (1 / len(p) + 1 / len(n))
        expected.append(math.sqrt(max(apart - by_chance, 0.02)))
    found = relevance(positives, negatives)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert found[1] > 0.5 > 0.3 > found[0]
    assert found[3] == pytest.approx(math.sqrt(0.02))


def test_landmarks_are_the_latest_and_half_of_each_class_in_the_end() -> None:
    rng = np.random.default_rng(13)
    units, kernels = Units(2), KernelExperts(2)
    n, choices, positives = [0, 0], [], []
    for t in range(1, 2_100):
        x, positive = rng.normal(size=2), t % 9 == 0
        units.update(x)
        kernels.add(x, kernels.similarities(units.standardize(x)), positive, 1.0)
        n[positive] += 1
        if positive:
            positives.append(x)
        if kernels.choose_landmarks(t, units):
            choices.append((t, len(kernels.fit.maps)))
            latest = units.standardize(np.array(positives[-min(len(positives), 128) :]))
            np.testing.assert_array_equal(kernels.fit.maps.landmarks[: len(latest)], latest)
    # The first positive is the ninth example. Of 2,048 examples 227 are positives: enough.
    assert choices == [
        (9, 9),
        *((t, min(t, 256)) for t in (16, 32, 64, 128, 256, 512, 1_024, 2_048)),
    ]
    assert kernels.next_choice == 0


# Generations, change and probabilities -----------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("newton", "n_waiting"), 33), (("moments", 0, "n"), -1.0), (("judge", "weights"), -1.0),
        (("kernel_experts", 0, "next_choice"), -1),
        (("kernel_experts", 0, "candidates", 0, "next"), 600),
        (("moments", 0, "mean"), math.nan), (("newton", "covariance"), math.inf),
    ],
)  # fmt: skip
def test_a_state_with_impossible_numbers_is_refused(path: tuple[Any, ...], value: float) -> None:
    state = learned_mixture(27, 16).get_state()
    part = state["generations"][0]
    MixtureRanker(with_kernels=True).set_state(copy.deepcopy(state))
    for key in path[:-1]:
        part = part[key]
    if isinstance(part[path[-1]], np.ndarray):
        part[path[-1]].flat[0] = value
    else:
        part[path[-1]] = value
    with pytest.raises(ValueError, match="is damaged: "):
        MixtureRanker(with_kernels=True).set_state(state)


@pytest.mark.parametrize(
    "name", ["units", "judge", "moments", "newton", "linear", "kernel_experts"]
)
def test_parts_of_different_sizes_are_refused(name: str) -> None:
    state = learned_mixture(27, 16).get_state()
    other = MixtureRanker(with_kernels=name != "judge").get_state()
    state["generations"][0][name] = other["generations"][0][name]
    with pytest.raises(ValueError, match="is damaged: "):
        MixtureRanker(with_kernels=True).set_state(state)


@pytest.mark.parametrize("rare", [False, True])
def test_change_is_noticed_when_there_are_enough_of_each_class(rare: bool) -> None:
    detector = ChangeDetector()
    assert not any(detector.update(1.0, not rare) for _ in range(1_000))
    # The recent rate is far below by then.
    assert [detector.update(0.0, rare) for _ in range(32)] == [False] * 31 + [True]


def test_change_is_noticed_when_the_recent_rate_has_fallen_far_enough() -> None:
    detector, recent, long_run = ChangeDetector(), 0.0, 0.0
    noticed = []
    for n, win in enumerate([1.0] * 150 + [0.8, 0.9] * 200 + [0.5] * 49, 1):
        recent += (win - recent) / min(n, 100)
        long_run += (win - long_run) / n
        noticed.append(detector.update(win, n % 2 == 0))
        assert noticed[-1] == (long_run - recent > 0.1)
    assert not any(noticed[:550])
    assert 10 < sum(noticed) < 49


def test_a_trial_mixes_by_recent_win_rates() -> None:
    trial, rates, n = Trial(), np.zeros(2), 0.0
    rng = np.random.default_rng(11)
    for t in range(2_000):
        assert not trial.is_over
        wins = (None, 0.5) if t % 5 == 0 else (float(rng.random()), float(rng.random() ** 0.5))
        w = float(rng.choice([0.5, 2.0]))
        trial.update(wins, w)
        if wins[0] is not None:
            n = n * (1.0 - 1.0 / 300.0) + w
            rates += w / n * (np.array(wins) - rates)
        np.testing.assert_allclose(trial.shares, shares_of(rates, n), atol=1e-12)
    assert trial.is_over
    assert trial.winner == 1


# Merging ---------------------------------------------------------------------------------------


def learned_mixture(n: int, seed: int) -> MixtureRanker:
    rng, ranker = np.random.default_rng(seed), MixtureRanker(with_kernels=True)
    for i in range(n):
        ranker.learn(rng.normal(size=3) + (i % 4 == 0), i % 4 == 0, 1.0 + i % 2)
    return ranker


@pytest.mark.parametrize("is_first", [True, False])
def test_a_part_whose_examples_are_all_stored_is_learned_again(is_first: bool) -> None:
    short, long, expected = (learned_mixture(n, n) for n in (60, 900, 900))
    classes = [each.in_order() for each in short.generations[0].kernel_experts[0].candidates]
    # Three negatives for each positive, in their order.
    (negatives, negative_extras), (positives, positive_extras) = classes
    order = sorted(
        [((i + 0.5) / 45, False, i) for i in range(45)]
        + [((i + 0.5) / 15, True, i) for i in range(15)],
        key=lambda item: item[0],
    )
    for _, positive, i in order:
        rows, extras = (positives, positive_extras) if positive else (negatives, negative_extras)
        expected.generations[0].learn(rows[i], positive, float(extras[i, 0]))
    first, second = (short, long) if is_first else (long, short)
    first.merge(second)
    x = np.array([0.3, 1.0, -0.2])
    assert first.score(x) == expected.score(x)


def test_long_parts_add_up() -> None:
    one, other = learned_mixture(1_500, 1), learned_mixture(1_500, 2)
    mine, theirs = (ranker.generations[0].moments for ranker in (one, other))
    n = [a.n + b.n for a, b in zip(mine, theirs, strict=True)]
    one.merge(other)
    assert [each.n for each in one.generations[0].moments] == n
    assert one.generations[0].n_seen == 3_000
