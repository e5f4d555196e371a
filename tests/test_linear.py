"""OAUCM and OAUCS against their definition over stored examples, the paper's bound, and numpy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from classifiers import assert_finite, state
from hypothesis import given
from hypothesis import strategies as st
from river import optim
from scipy import optimize, stats

from river_oauc import OAUCM, OAUCS
from river_oauc.metrics import exact_auc
from river_oauc.rankers.linear import LinearRanker
from river_oauc.rankers.moments import covariance

both_learners = pytest.mark.parametrize("cls", [OAUCM, OAUCS])
both_losses = pytest.mark.parametrize("loss", ["psi_m", "psi_s"])

Example = tuple[np.ndarray, bool, float]


def features(x: np.ndarray) -> dict[str, float]:
    return {f"x{j}": value for j, value in enumerate(x.tolist())}


def weights_of(model: Any, p: int) -> np.ndarray:
    return np.array([model.weights.get(f"x{j}", 0.0) for j in range(p)])


def gaussian_stream(n: int, p: int, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two classes with one covariance, their means one deviation apart in each feature."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < share
    return rng.normal(size=(n, p)) + 0.5 * rng.normal(size=(n, 1)) + y[:, None], y


def random_examples(n: int, p: int, seed: int) -> list[Example]:
    rng = np.random.default_rng(seed)
    y = rng.random(n) < rng.choice([0.5, 0.1])
    x = rng.uniform(-1.0, 1.0, size=(n, p)) + rng.uniform(-1.0, 1.0, size=p) + 0.5 * y[:, None]
    return list(zip(x, y.tolist(), rng.choice([0.3, 1.0, 1.0, 5.0], size=n).tolist(), strict=True))


def learn(model: Any, x: np.ndarray, y: np.ndarray) -> Any:
    for row, label in zip(x, y.tolist(), strict=True):
        model.learn_one(features(row), label)
    return model


# The definition --------------------------------------------------------------------------------


def loss_of(margins: np.ndarray, weights: np.ndarray, loss: str) -> float:
    """Return ψ_M or ψ_S / 2 of margins over single examples."""
    mean = np.average(margins, weights=weights)
    variance = np.average((margins - mean) ** 2, weights=weights)
    b = 1 - mean
    return (b + math.sqrt(b * b + variance)) / 2 if loss == "psi_m" else (b * b + variance) / 2


L2 = 2.0
RATES: dict[str, tuple[Any, Callable[[int], float]]] = {
    "decreasing": (None, lambda t: 1 / (L2 * t)),
    "constant": (0.07, lambda t: 0.07),
    "schedule": (optim.schedulers.InverseScaling(0.3), lambda t: 0.3 / math.sqrt(t)),
}


@pytest.mark.parametrize(("lr", "eta"), RATES.values(), ids=RATES)
@both_learners
def test_a_step_is_the_gradient_of_the_loss_over_all_stored_pairs(cls, lr, eta):
    """By finite differences."""
    rng = np.random.default_rng(7)
    model, stored, n_steps, h = cls(l2=L2, lr=lr), [], 0, 1e-5
    for t in range(1, 60):
        y, weight = bool(rng.random() < 0.4), float(rng.choice([0.5, 1.0, 3.0]))
        # The last feature arrives late, and has been 0 until then.
        x = (rng.normal(size=4) + 0.4 * y) * [1, 1, 1, t > 20]
        before = weights_of(model, 4)
        model.learn_one({name: value for name, value in features(x).items() if value}, y, weight)
        others = [(z, v) for z, label, v in stored if label != y]
        stored.append((x, y, weight))
        if not others:
            np.testing.assert_array_equal(weights_of(model, 4), before)
            continue
        rows, importance = map(np.array, zip(*others, strict=True))

        def objective(w, d=(1 if y else -1) * (x - rows), v=importance, weight=weight):
            return weight * loss_of(d @ w, v, model._LOSS) + L2 / 2 * (w @ w)

        steps = [(objective(before + e) - objective(before - e)) / (2 * h) for e in h * np.eye(4)]
        expected = before - eta(t) * np.array(steps)
        np.testing.assert_allclose(weights_of(model, 4), expected, rtol=1e-7, atol=1e-8)
        n_steps += 1
    assert n_steps > 50


@both_losses
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 80),
    p=st.integers(1, 6),
    l2=st.sampled_from([2**-5, 0.3, 8.0]),
    lr=st.sampled_from([None, 0.001, 0.05]),
)
def test_weights_and_moments_are_those_of_the_loop_that_stores_all_examples(
    loss, seed, n, p, l2, lr
):
    """The formulas of the paper, with means and covariances of numpy."""
    lr = lr or (None if loss == "psi_m" else 0.02)  # With 1 / (l2 · t) the squared loss diverges.
    ranker, stored, w = LinearRanker(loss, l2, lr), [], np.zeros(p)
    for t, (x, positive, weight) in enumerate(random_examples(n, p, seed), start=1):
        eta = lr or 1 / (l2 * t)
        others = [(z, v) for z, label, v in stored if label != positive]
        if others:
            rows, importance = map(np.array, zip(*others, strict=True))
            d = (1 if positive else -1) * (x - np.average(rows, axis=0, weights=importance))
            cov = np.atleast_2d(np.cov(rows, rowvar=False, bias=True, aweights=importance))
            b, variance = 1 - w @ d, max(w @ cov @ w, 0.0)
            r = math.sqrt(b * b + variance)
            phi, by_2r = ((1 + b / r) / 2, 1 / (2 * r)) if loss == "psi_m" else (b, 1)
            w = (1 - eta * l2) * w + eta * weight * (phi * d - by_2r * (cov @ w))
            own = int(not positive)
            np.testing.assert_allclose(covariance(ranker.n, ranker.scatter, own), cov, atol=1e-12)
        ranker.learn(x, positive, weight)
        stored.append((x, positive, weight))
        if others:
            assert ranker.variance[own] == pytest.approx(variance, rel=1e-6, abs=1e-9)
    assert np.linalg.norm(ranker.weights - w) <= 1e-8 * max(np.linalg.norm(w), 1e-3)


def test_a_variance_that_rounds_below_zero_counts_as_zero():
    """The negatives lie on a line, and the weights are at right angles to it."""
    line, n_below_zero = np.array([0.3, -1.1, 0.7]), 0
    for seed, loss in itertools.product(range(20), ("psi_m", "psi_s")):
        rng = np.random.default_rng(seed)
        ranker = LinearRanker(loss, 0.1, 0.1)
        for scale in rng.normal(size=20):
            ranker.learn(scale * line, False, 1.0)
        ranker.weights = w = np.cross(line, rng.normal(size=3))
        n_below_zero += w @ covariance(ranker.n, ranker.scatter, 0) @ w < 0.0
        ranker.learn(rng.normal(size=3), True, 1.0)
        assert np.isfinite(ranker.weights).all() and (ranker.variance >= 0.0).all()
    assert n_below_zero


# Largest error of an entry of the covariance, relative to the largest entry, by the offset of the
# data in standard deviations. The textbook recursion on second moments loses all digits at 1e8.
@pytest.mark.parametrize(
    ("offset", "error"), [(0.0, 1e-13), (1e3, 1e-12), (1e6, 1e-9), (1e8, 1e-7)]
)
def test_moments_are_those_of_stored_data_at_any_offset(offset, error):
    """And in the order of the weights, though features come one after the other."""
    rng = np.random.default_rng(1)
    rows, weights = rng.normal(size=(500, 6)), rng.choice([0.1, 1.0, 2.5], size=500)
    rows[np.arange(6) > np.arange(500)[:, np.newaxis]] = -offset
    model = OAUCM(lr=1e-30)
    for i, (row, w) in enumerate(zip(rows, weights.tolist(), strict=True)):
        model.learn_one(features(row[: 1 + i] + offset), i % 3 == 0, w)
    assert list(model.weights) == [f"x{j}" for j in range(6)]
    for label in (False, True):
        own, moments = (np.arange(500) % 3 == 0) == label, model.moments[label]
        mean = np.average(rows[own] + offset, axis=0, weights=weights[own])
        np.testing.assert_allclose(moments.mean, mean, rtol=1e-13, atol=1e-13)
        expected = np.cov(rows[own], rowvar=False, bias=True, aweights=weights[own])
        assert moments.n == pytest.approx(weights[own].sum(), rel=1e-12)
        scale = max(np.abs(expected).max(), offset**2)
        assert np.abs(moments.covariance - expected).max() < error * scale


# Merging ---------------------------------------------------------------------------------------


def test_oaucs_makes_up_for_missed_steps_on_average():
    """A merged model has the weights of gradient descent on the merged loss, for as many steps."""
    x, y = gaussian_stream(400, 3, 0.5, seed=11)
    one, other = (learn(OAUCS(lr=2**-11), x[half], y[half]) for half in np.split(np.arange(400), 2))
    merged = one + other
    moments = merged.moments
    gap = moments[True].mean - moments[False].mean
    curvature = moments[True].covariance + moments[False].covariance + np.outer(gap, gap)
    sizes = [1 / sum(1 / each.moments[label].n for label in (False, True)) for each in (one, other)]
    share = sizes[1] / sum(sizes)
    average = w = (1 - share) * weights_of(one, 3) + share * weights_of(other, 3)
    for _ in range(200):
        w = w - merged.lr * (curvature @ w - gap + merged.l2 * w)
    np.testing.assert_allclose(weights_of(merged, 3), w, rtol=1e-8)
    # So it is closer to one pass than the average of both parts.
    in_one_pass = weights_of(learn(OAUCS(lr=2**-11), x, y), 3)
    assert np.linalg.norm(w - in_one_pass) < 0.5 * np.linalg.norm(average - in_one_pass)


def test_merging_with_one_class_only_adds_its_moments():
    x, y = gaussian_stream(200, 3, 0.3, seed=12)
    model, lonely = learn(OAUCM(lr=0.01), x, y), learn(OAUCM(lr=0.01), x[~y], y[~y])
    assert not weights_of(lonely, 3).any()
    assert lonely.predict_proba_one(features(x[0])) == {False: 0.5, True: 0.5}
    merged = model + lonely
    assert merged.moments[False].n == 2 * np.sum(~y)
    np.testing.assert_allclose(weights_of(merged, 3), weights_of(model, 3), rtol=1e-12)


# Probabilities ---------------------------------------------------------------------------------


@both_learners
def test_the_calibration_follows_class_means_and_variances(cls):
    n, p = 600, 3
    x, y = gaussian_stream(n, p, 0.15, seed=1)
    model, factors = cls(), []
    for t in range(1, n + 1):
        model.learn_one(features(x[t - 1]), bool(y[t - 1]))
        if 0 < y[:t].sum() < t:
            scores = x[:t] @ weights_of(model, p)
            positive, negative = scores[y[:t]], scores[~y[:t]]
            gap, middle = positive.mean() - negative.mean(), (positive.mean() + negative.mean()) / 2
            deviation = max(math.sqrt((positive.var() + negative.var()) / 2), abs(gap) / 4.0)
            at_middle, above = (model._ranker.logit(middle + d, False) for d in (0.0, 1.0))
            assert at_middle == pytest.approx(0.0, abs=1e-9)
            factors.append(math.log((above - at_middle) * deviation / max(gap / deviation, 0.1)))
    # The variance of a class is that of its last comparison.
    assert np.median(np.abs(factors)) < math.log(1.1)
    assert np.quantile(np.abs(factors), 0.95) < math.log(2.0)


@both_learners
@pytest.mark.parametrize("share", [0.02, 0.2])
def test_empirical_probabilities_mean_frequencies_and_ranks_come_close_to_the_best(cls, share):
    n, p = 16_000, 5
    x, y = gaussian_stream(n, p, share, seed=6)
    model, late = learn(cls(prior="empirical"), x[: n // 2], y[: n // 2]), slice(n // 2, None)
    found, predicted = np.empty(n), []
    for i in range(n // 2, n):
        found[i] = model.score_one(features(x[i]))
        predicted.append(model.predict_proba_one(features(x[i]))[True])
        model.learn_one(features(x[i]), bool(y[i]))
    assert np.mean(predicted) == pytest.approx(y[late].mean(), rel=0.1)
    best = math.sqrt(np.linalg.solve(np.eye(p) + 0.25, np.ones(p)).sum() / 2)
    auc = exact_auc(found[late][y[late]], found[late][~y[late]])
    assert auc == pytest.approx(stats.norm.cdf(best), abs=0.025)


# The regret bound ------------------------------------------------------------------------------


def adversary(kind: str, n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a stream of vectors with a norm of at most 1."""
    rng = np.random.default_rng(0)
    y = rng.random(n) < (0.03 if kind == "rare" else 0.5)
    x = 0.4 * rng.normal(size=(n, p))
    if kind != "noise":
        turn = np.arange(n) // 50 % 2 if kind == "switching" else 0
        x[:, 0] += np.where(y ^ (turn == 1), 1.0, -1.0)
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1.0), y


def regret(iterates: np.ndarray, x: np.ndarray, y: np.ndarray, l2: float) -> float:
    """Return an upper bound of the regret of the weights before each step."""
    n = len(x)
    paired = np.array([bool(np.any(y[:t] != y[t])) for t in range(n)])
    others = [x[:t][y[:t] != y[t]] for t in np.flatnonzero(paired)]
    signs = np.where(y[paired], 1.0, -1.0)
    d = signs[:, None] * (x[paired] - np.array([rows.mean(axis=0) for rows in others]))
    covariances = np.array([np.cov(rows, rowvar=False, bias=True) for rows in others])

    def total(w: np.ndarray) -> tuple[float, np.ndarray]:
        b, u = 1.0 - d @ w, covariances @ w
        r = np.sqrt(b**2 + u @ w)
        gradient = np.sum(-(1 + b / r)[:, None] / 2 * d + u / (2 * r)[:, None], axis=0)
        return np.sum(b + r) / 2 + n * l2 / 2 * (w @ w), gradient + n * l2 * w

    w = iterates[paired]
    b = 1.0 - np.einsum("ti,ti->t", w, d)
    losses = (b + np.sqrt(b**2 + np.einsum("ti,tij,tj->t", w, covariances, w))) / 2
    best = optimize.minimize(total, np.zeros(d.shape[1]), jac=True, method="BFGS")
    # The total is strongly convex with this modulus, which bounds the distance to its minimum.
    slack = float(best.jac @ best.jac) / (2 * n * l2)
    assert slack < 1e-3
    return losses.sum() + l2 / 2 * np.sum(iterates**2) - (best.fun - slack)


@pytest.mark.parametrize("kind", ["separable", "noise", "rare", "switching"])
@pytest.mark.parametrize("l2", [0.01, 1.0])
def test_the_regret_is_within_the_bound_of_the_theorem(kind, l2):
    n, p = 500, 4
    x, y = adversary(kind, n, p)
    model, iterates = OAUCM(l2=l2), []
    for row, label in zip(x, y.tolist(), strict=True):
        iterates.append(weights_of(model, p))
        model.learn_one(features(row), label)
    # The paper has 18, from gradients of norm at most 3. It is at most 2, which makes it 8.
    bound = 8 * (1 + math.log(n)) / l2
    assert regret(np.array(iterates), x, y, l2) <= bound
    if (kind, l2) == ("separable", 1.0):
        # Weights that do not learn break it.
        assert regret(np.zeros((n, p)), x, y, l2) > bound


# Steps that are too long -----------------------------------------------------------------------


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("lr", [1e3, 1e150, 1e300, optim.schedulers.Constant(math.inf)])
@both_learners
def test_a_step_that_diverges_is_refused_without_a_trace_or_a_warning(cls, lr):
    x, y = gaussian_stream(200, 3, 0.5, seed=8)
    model, n_refused = cls(lr=lr), 0
    for i, (row, label) in enumerate(zip(x, y.tolist(), strict=True)):
        before = state(model)
        try:
            # With a feature that is new every time.
            model.learn_one({**features(row), f"new{i}": 1.0}, label, 1e50 if i % 9 == 0 else 1.0)
        except ValueError as error:
            n_refused += 1
            assert "would grow beyond 1e+50: the step is too large" in str(error)
            assert state(model) == before
        assert_finite(model)
    assert n_refused > 5
    model.mutate({"lr": 1e-3})
    learn(model, x[:5] * 1e-50, y[:5])
