"""OAUCM and OAUCS against their definition over stored examples, the paper's bound, and numpy."""

from __future__ import annotations

import fractions
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from classifiers import assert_finite, state
from hypothesis import given, settings
from hypothesis import strategies as st
from river import optim
from scipy import optimize, stats

import river_oauc
from river_oauc import OAUCM, OAUCS
from river_oauc.acceleration import accelerate
from river_oauc.metrics import ExactROCAUC
from river_oauc.rankers.linear import LinearRanker
from river_oauc.rankers.moments import Moments
from river_oauc.state import StateReader

both_learners = pytest.mark.parametrize("cls", [OAUCM, OAUCS])
both_losses = pytest.mark.parametrize("loss", ["psi_m", "psi_s"])
compiled_only = pytest.mark.skipif(not river_oauc.compiled, reason="there is no compiled code")

Example = tuple[np.ndarray, bool, float]


def features(x: np.ndarray) -> dict[str, float]:
    return {f"x{j}": value for j, value in enumerate(x.tolist())}


def weights_of(model: Any, p: int) -> np.ndarray:
    return np.array([model.weights.get(f"x{j}", 0.0) for j in range(p)])


def gaussian_stream(n: int, p: int, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two classes with one covariance, their means one deviation apart in each feature."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < share
    x = rng.normal(size=(n, p)) + 0.5 * rng.normal(size=(n, 1))
    return x + y[:, None], y


def learn(model: Any, x: np.ndarray, y: np.ndarray) -> Any:
    for row, label in zip(x, y.tolist(), strict=True):
        model.learn_one(features(row), label)
    return model


# The definition --------------------------------------------------------------------------------


def surrogate(margins: np.ndarray, weights: np.ndarray, loss: str) -> float:
    """Return ψ_M or ψ_S / 2 of margins over single examples."""
    mean = np.average(margins, weights=weights)
    variance = np.average((margins - mean) ** 2, weights=weights)
    b = 1 - mean
    return (b + math.sqrt(b * b + variance)) / 2 if loss == "psi_m" else (b * b + variance) / 2


def numerical_gradient(f: Callable[[np.ndarray], float], at: np.ndarray) -> np.ndarray:
    h = 1e-5
    return np.array([(f(at + h * e) - f(at - h * e)) / (2 * h) for e in np.eye(len(at))])


L2 = 2.0
RATES = {
    "decreasing": (None, lambda t: 1 / (L2 * t)),
    "constant": (0.07, lambda t: 0.07),
    "schedule": (optim.schedulers.InverseScaling(0.3), lambda t: 0.3 / math.sqrt(t)),
}


@pytest.mark.parametrize(("lr", "eta"), RATES.values(), ids=RATES)
@both_learners
def test_a_step_is_the_gradient_of_the_loss_over_all_stored_pairs(cls, lr, eta):
    rng = np.random.default_rng(7)
    model, stored, n_steps = cls(l2=L2, lr=lr), [], 0
    for t in range(1, 60):
        y, weight = bool(rng.random() < 0.4), float(rng.choice([0.5, 1.0, 3.0]))
        x = rng.normal(size=4) + 0.4 * y
        # The last feature arrives late, and has been 0 until then.
        x[3] *= t > 20
        before = weights_of(model, 4)
        model.learn_one({name: value for name, value in features(x).items() if value}, y, weight)
        others = [(z, v) for z, label, v in stored if label != y]
        stored.append((x, y, weight))
        if not others:
            np.testing.assert_array_equal(weights_of(model, 4), before)
            continue
        rows, importance = np.array([z for z, _ in others]), np.array([v for _, v in others])
        differences = (1 if y else -1) * (x - rows)

        def objective(w, differences=differences, importance=importance, weight=weight):
            loss = surrogate(differences @ w, importance, model._LOSS)
            return weight * loss + L2 / 2 * (w @ w)

        expected = before - eta(t) * numerical_gradient(objective, before)
        np.testing.assert_allclose(weights_of(model, 4), expected, rtol=1e-7, atol=1e-8)
        n_steps += 1
    assert n_steps > 50


def loop_over_stored_examples(
    stream: list[Example], loss: str, l2: float, eta: Callable[[int], float]
) -> np.ndarray:
    """Return the weights of the formulas of the paper, with means and covariances of numpy."""
    w, stored = np.zeros(len(stream[0][0])), []
    for t, (x, positive, weight) in enumerate(stream, start=1):
        y = 1 if positive else -1
        others = [(z, v) for z, label, v in stored if label != positive]
        if others:
            rows, importance = np.array([z for z, _ in others]), [v for _, v in others]
            d = y * (x - np.average(rows, axis=0, weights=importance))
            cov_w = np.atleast_2d(np.cov(rows, rowvar=False, bias=True, aweights=importance)) @ w
            b = 1 - w @ d
            r = math.sqrt(b * b + max(w @ cov_w, 0.0))
            pull, spread = ((1 + b / r) / 2, 1 / (2 * r)) if loss == "psi_m" else (b, 1)
            w = (1 - eta(t) * l2) * w + eta(t) * weight * (pull * d - spread * cov_w)
        stored.append((x, positive, weight))
    return w


def random_examples(n: int, p: int, seed: int) -> list[Example]:
    rng = np.random.default_rng(seed)
    y = rng.random(n) < rng.choice([0.5, 0.1])
    x = rng.uniform(-1.0, 1.0, size=(n, p)) + rng.uniform(-1.0, 1.0, size=p) + 0.5 * y[:, None]
    return list(zip(x, y.tolist(), rng.choice([0.3, 1.0, 1.0, 5.0], size=n).tolist(), strict=True))


@both_losses
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 80),
    p=st.integers(1, 6),
    l2=st.sampled_from([2**-5, 0.3, 8.0]),
    lr=st.sampled_from([None, 0.001, 0.05, optim.schedulers.InverseScaling(0.1)]),
)
def test_weights_are_those_of_the_loop_that_stores_all_examples(loss, seed, n, p, l2, lr):
    if loss == "psi_s" and lr is None:
        lr = 0.02  # With 1 / (l2 · t) the squared loss diverges.
    stream = random_examples(n, p, seed)
    eta = (
        (lambda t: 1 / (l2 * t))
        if lr is None
        else (lambda t: lr.get(t - 1))
        if isinstance(lr, optim.base.Scheduler)
        else (lambda t: lr)
    )
    rankers = [LinearRanker(loss, l2, lr)]
    rankers.append(accelerate(LinearRanker(loss, l2, lr)))
    expected = loop_over_stored_examples(stream, loss, l2, eta)
    for ranker in rankers:
        for x, positive, weight in stream:
            ranker.learn(x, positive, weight)
        weights = ranker.get_state()["weights"]
        assert np.linalg.norm(weights - expected) <= 1e-8 * max(np.linalg.norm(expected), 1e-3)


@both_learners
def test_one_class_alone_does_not_move_the_weights(cls):
    x, _ = gaussian_stream(50, 3, 0.0, seed=1)
    model = learn(cls(), x, np.zeros(50, dtype=bool))
    assert list(model.weights.values()) == [0.0, 0.0, 0.0]
    assert (model.moments[False].n, model.moments[True].n) == (50, 0)
    assert model.predict_proba_one(features(x[0])) == {False: 0.5, True: 0.5}


def test_a_variance_that_rounds_below_zero_counts_as_zero():
    """The negatives lie on a line, and the weights are at right angles to it."""
    line, n_below_zero = np.array([0.3, -1.1, 0.7]), 0
    for seed, loss in itertools.product(range(20), ("psi_m", "psi_s")):
        rng = np.random.default_rng(seed)
        ranker = LinearRanker(loss, 0.1, 0.1)
        for scale in rng.normal(size=20):
            ranker.learn(scale * line, False, 1.0)
        ranker.weights = w = np.cross(line, rng.normal(size=3))
        n_below_zero += w.dot(ranker.moments[False].scatter.dot(w)) < 0.0
        for each in (accelerate(ranker), ranker):
            each.learn(rng.normal(size=3), True, 1.0)
            assert np.isfinite(each.get_state()["weights"]).all()
    assert n_below_zero


# numpy and compiled code -----------------------------------------------------------------------


def assert_same_state(actual: Any, expected: Any, tolerance: float) -> None:
    assert actual.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, list):
            for one, other in zip(actual[name], value, strict=True):
                assert_same_state(one, other, tolerance)
        elif isinstance(value, int):
            assert actual[name] == value
        else:
            # The midpoint of two scores is as exact as the scores, however close to 0 it lies.
            terms = expected["half_gap"] if name == "midpoint" else 0.0
            scale = max(np.max(np.abs(value)), terms)
            np.testing.assert_allclose(actual[name], value, rtol=tolerance, atol=tolerance * scale)


# In a few of a hundred thousand steps, none of them among these, the variance of the scores
# cancels almost to 0, and two ways to compute the step agree to 1e-11 only.
@compiled_only
@both_losses
@given(
    seed=st.integers(0, 2**32 - 1),
    p=st.integers(1, 40),
    growth=st.integers(0, 3),
    lr=st.sampled_from((None, 0.01, optim.schedulers.InverseScaling(0.01))),
)
def test_a_numpy_step_and_a_compiled_step_from_the_same_state_agree(loss, seed, p, growth, lr):
    rng = np.random.default_rng(seed)
    ranker = LinearRanker(loss, 0.5, lr)
    for x, positive, weight in random_examples(40, p + growth, seed):
        size = p if ranker.t < 20 else p + growth
        twin = accelerate(ranker)
        assert type(twin) is not type(ranker)
        for each in (ranker, twin):
            each.learn(x[:size].copy(), positive, weight)
        assert_same_state(twin.get_state(), ranker.get_state(), 1e-12)
        probe = rng.normal(size=p + growth + 2)
        score, terms = ranker.score(probe), ranker.weights * probe[:size]
        assert twin.score(probe) == pytest.approx(score, abs=1e-12 * np.abs(terms).sum())
        for empirical in (False, True):
            logit = ranker.logit(score, empirical)
            assert twin.logit(score, empirical) == pytest.approx(logit, rel=1e-9, abs=1e-9)


@compiled_only
def test_a_compiled_ranker_refuses_an_example_that_is_too_short():
    ranker = LinearRanker("psi_m", 0.1, None)
    ranker.reindex(np.arange(1), 3)
    twin = accelerate(ranker)
    for bad in (np.zeros(2), np.zeros(0)):
        with pytest.raises(ValueError, match="features, not 3"):
            twin.learn(bad, True, 1.0)
    for bad in (None, np.zeros(3, dtype=np.float32), np.zeros((3, 1)), np.zeros(6)[::2]):
        with pytest.raises((ValueError, TypeError)):
            twin.learn(bad, True, 1.0)
    assert_same_state(twin.get_state(), ranker.get_state(), 0.0)


# Moments ---------------------------------------------------------------------------------------

# Largest error of an entry of the covariance, relative to the largest entry, by the offset of the
# data in standard deviations: the mean is rounded to 1e-16 of the offset at every step.
ERRORS = {0.0: 1e-13, 1e3: 1e-12, 1e6: 1e-9, 1e8: 1e-7}


def sample(n: int, p: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return correlated features of unit variance, and weights."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)) @ rng.normal(size=(p, p))
    return x / (np.std(x, axis=0) if n > 1 else 1.0), rng.choice([0.1, 1.0, 2.5], size=n)


def moments_of(rows: np.ndarray, weights: np.ndarray) -> Moments:
    moments = Moments(rows.shape[1])
    for row, w in zip(rows, weights.tolist(), strict=True):
        moments.update(row, w)
    return moments


def assert_moments(moments: Moments, rows: np.ndarray, weights: np.ndarray, error: float) -> None:
    expected = np.atleast_2d(np.cov(rows, rowvar=False, bias=True, aweights=weights))
    assert moments.n == pytest.approx(weights.sum(), rel=1e-12)
    scale = np.max(np.abs(rows)) + 1.0
    mean = np.average(rows, axis=0, weights=weights)
    np.testing.assert_allclose(moments.mean, mean, atol=1e-14 * scale)
    assert np.max(np.abs(moments.covariance - expected)) <= error * np.max(np.abs(expected))
    np.testing.assert_array_equal(moments.covariance, moments.covariance.T)
    v = np.arange(1.0, rows.shape[1] + 1.0)
    assert moments.variance_along(v) == pytest.approx(v @ moments.covariance @ v, rel=1e-12)


@pytest.mark.parametrize("offset", ERRORS)
@pytest.mark.parametrize("seed", range(3))
def test_moments_are_those_of_stored_data_at_any_offset(offset, seed):
    rows, weights = sample(500, 4, seed)
    rows += offset
    moments = moments_of(rows, weights)
    merged = Moments(4)
    for part in np.array_split(np.random.default_rng(seed).permutation(500), 9):
        merged.merge(moments_of(rows[part], weights[part]))
    # To subtract the offset is exact, so that numpy has the same data without it.
    expected = np.cov(rows - offset, rowvar=False, bias=True, aweights=weights)
    for each in (moments, merged):
        error = np.max(np.abs(each.covariance - expected)) / np.max(np.abs(expected))
        assert error < ERRORS[offset]
        assert np.linalg.eigvalsh(each.covariance)[0] > 0.0


def test_the_textbook_recursion_cancels():
    rows, _ = sample(500, 4, seed=0)
    rows += 1e8
    mean, second = np.zeros(4), np.zeros((4, 4))
    for n, x in enumerate(rows, start=1):
        mean += (x - mean) / n
        second += (np.outer(x, x) - second) / n
    assert np.linalg.eigvalsh(second - np.outer(mean, mean))[0] < -1.0


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 40),
    p=st.integers(1, 6),
    more=st.integers(0, 3),
)
def test_moments_grow_by_zeros_merge_and_move(seed, n, p, more):
    rows, weights = sample(n, p + more, seed)
    late = n // 2
    rows[:late, p:] = 0.0
    moments = moments_of(rows[:late, :p], weights[:late])
    moments = moments.reindexed(np.arange(p), p + more)
    moments.merge(moments_of(rows[late:], weights[late:]))
    moments.merge(Moments(p + more))
    assert_moments(moments, rows, weights, 1e-11)
    order = np.random.default_rng(seed).permutation(p + more)
    moved = moments.reindexed(np.argsort(order), p + more)
    np.testing.assert_array_equal(moved.covariance, moments.covariance[np.ix_(order, order)])
    again = Moments.from_state(StateReader(moments.get_state(), "moments"), p + more)
    for row, w in zip(rows, weights.tolist(), strict=True):
        again.update(row, w)
        moments.update(row, w)
    np.testing.assert_array_equal(again.covariance, moments.covariance)


def test_few_examples_have_no_covariance():
    row = np.array([0.1, 1e8, -1e-300])
    for n in (0, 1, 100):
        moments = moments_of(np.tile(row, (n, 1)), np.full(n, 2.5))
        np.testing.assert_array_equal(moments.mean, row if n else np.zeros(3))
        np.testing.assert_array_equal(moments.covariance, np.zeros((3, 3)))
        assert moments.variance_along(np.ones(3)) == 0.0


# Merging ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_steps", [0, 1, 7])
def test_steps_on_average_are_gradient_descent_on_all_pairs(n_steps):
    ranker = LinearRanker("psi_s", 0.1, 0.01)
    for x, positive, weight in random_examples(60, 4, seed=1):
        ranker.learn(0.3 * x, positive, weight)
    negative, positive = ranker.moments
    gap, w = positive.mean - negative.mean, ranker.weights
    # The gradient of half the mean of (1 - margin)² over all pairs, by the weight of an example.
    weight = (positive.n + negative.n) / ranker.t
    for _ in range(n_steps):
        variance_gradient = (positive.covariance + negative.covariance) @ w
        gradient = variance_gradient - (1.0 - w @ gap) * gap
        w = w - 0.01 * (weight * gradient + 0.1 * w)
    np.testing.assert_allclose(ranker._after_steps(0.01, n_steps), w, rtol=1e-10)


def test_oaucs_makes_up_for_missed_steps_on_average():
    """A merged model has the weights of gradient descent on the merged loss, for as many steps."""
    x, y = gaussian_stream(400, 3, 0.5, seed=11)
    parts = (OAUCS(lr=2**-11), OAUCS(lr=2**-11))
    one, other = learn(parts[0], x[:200], y[:200]), learn(parts[1], x[200:], y[200:])
    merged = one + other
    moments, p = merged.moments, 3
    gap = moments[True].mean - moments[False].mean
    curvature = moments[True].covariance + moments[False].covariance + np.outer(gap, gap)
    n = [[each.moments[label].n for label in (False, True)] for each in (one, other)]
    size = [a * b / (a + b) for a, b in n]
    share = size[1] / sum(size)
    w = (1 - share) * weights_of(one, p) + share * weights_of(other, p)
    for _ in range(200):
        w = w - merged.lr * (curvature @ w - gap + merged.l2 * w)
    np.testing.assert_allclose(weights_of(merged, p), w, rtol=1e-8)
    # So it is closer to one pass than the average of both parts.
    in_one_pass = weights_of(learn(OAUCS(lr=2**-11), x, y), p)
    average = (weights_of(one, p) + weights_of(other, p)) / 2
    assert np.linalg.norm(w - in_one_pass) < 0.5 * np.linalg.norm(average - in_one_pass)


@pytest.mark.parametrize("kind", [np.float32, fractions.Fraction])
def test_any_number_is_a_constant_step(kind):
    x, y = gaussian_stream(400, 3, 0.5, seed=11)
    weights = []
    for lr in (2**-8, kind(2**-8)):
        parts = (learn(OAUCS(lr=lr), x[::2], y[::2]), learn(OAUCS(lr=lr), x[1::2], y[1::2]))
        weights.append(weights_of(parts[0] + parts[1], 3))
    np.testing.assert_array_equal(*weights)


@both_learners
def test_moments_are_in_the_order_of_the_weights(cls):
    model, rng = cls(), np.random.default_rng(1)
    rows = rng.normal(size=(60, 18))
    for i, row in enumerate(rows.tolist()):
        # The features come one after the other, and are 0 before.
        model.learn_one({f"x{j}": value for j, value in enumerate(row[: 1 + i])}, i % 2 == 0)
    seen = np.where(np.arange(18) <= np.arange(60)[:, np.newaxis], rows, 0.0)
    assert list(model.weights) == [f"x{j}" for j in range(18)]
    for label, own in ((True, seen[::2]), (False, seen[1::2])):
        np.testing.assert_allclose(model.moments[label].mean, own.mean(axis=0), atol=1e-12)
        expected = np.cov(own.T, bias=True)
        np.testing.assert_allclose(model.moments[label].covariance, expected, atol=1e-12)


@both_learners
def test_merging_with_one_class_only_adds_its_moments(cls):
    x, y = gaussian_stream(200, 3, 0.3, seed=12)
    model, lonely = learn(cls(lr=0.01), x, y), learn(cls(lr=0.01), x[~y], y[~y])
    merged = model + lonely
    assert merged.moments[False].n == 2 * np.sum(~y)
    if cls is OAUCM:
        np.testing.assert_allclose(weights_of(merged, 3), weights_of(model, 3), rtol=1e-12)


# Calibration -----------------------------------------------------------------------------------


@both_learners
@pytest.mark.parametrize("seed", range(3))
def test_the_calibration_follows_the_class_means_and_nearly_the_variance(cls, seed):
    n, p = 600, 3
    x, y = gaussian_stream(n, p, 0.15, seed)
    model, offsets, factors = cls(), [], []
    for t in range(1, n + 1):
        model.learn_one(features(x[t - 1]), bool(y[t - 1]))
        if y[:t].all() or not y[:t].any():
            continue
        scores = x[:t] @ weights_of(model, p)
        positive, negative = scores[y[:t]], scores[~y[:t]]
        gap = positive.mean() - negative.mean()
        deviation = math.sqrt((positive.var() + negative.var()) / 2)
        deviation = max(deviation, abs(gap) / 4.0)
        slope = max(gap / deviation, 0.1) / deviation
        middle = (positive.mean() + negative.mean()) / 2
        at_middle = model._ranker.logit(middle, False)
        offsets.append(abs(at_middle))
        factors.append(abs(math.log((model._ranker.logit(middle + 1, False) - at_middle) / slope)))
    # Both are exact at first, and then fitted now and then.
    np.testing.assert_allclose(offsets[:16], 0.0, atol=1e-9)
    np.testing.assert_allclose(factors[:16], 0.0, atol=1e-8)
    assert np.median(offsets[16:]) < 0.05
    assert np.quantile(offsets[16:], 0.95) < 0.5
    assert np.median(factors[16:]) < math.log(1.1)
    assert np.quantile(factors[16:], 0.95) < math.log(2.0)


@pytest.mark.parametrize(
    ("field", "value"), [("slope", -0.1), ("midpoint", 1e102), ("log_odds", -1.1e3)]
)
def test_a_calibration_out_of_bounds_is_refused(field, value):
    ranker = LinearRanker("psi_m", 0.1, None)
    with pytest.raises(ValueError, match=f"{field} is .*, and must be in"):
        ranker.set_state(StateReader({**ranker.get_state(), field: value}, "ranker"))


@pytest.mark.parametrize(
    ("n_fits", "wait"), [(0, 1), (14, 1), (15, 2), (160, 11), (1006, 63), (1007, 64), (10**6, 64)]
)
def test_the_calibration_is_fitted_ever_less_often_but_never_forgotten(n_fits, wait):
    x, y = gaussian_stream(300, 3, 0.3, seed=6)
    ranker = LinearRanker("psi_m", 0.1, None)
    for row, label in zip(x[:100], y[:100].tolist(), strict=True):
        ranker.learn(row, label, 1.0)
    state = {**ranker.get_state(), "n_fits": n_fits, "next_fit": ranker.t + 1}
    ranker.set_state(StateReader(state, "ranker"))
    fast, slopes = accelerate(ranker), [0.0]
    for row, label in zip(x[100:], y[100:].tolist(), strict=True):
        fast.learn(row, label, 1.0)
        slopes.append(fast.get_state()["slope"])
    # Between two fits the midpoint moves, and the slope stays.
    assert np.flatnonzero(np.diff(slopes))[:2].tolist() == [0, wait]


@both_learners
@pytest.mark.parametrize("share", [0.02, 0.2])
def test_empirical_probabilities_mean_frequencies(cls, share):
    x, y = gaussian_stream(8_000, 3, share, seed=5)
    model, predicted = learn(cls(prior="empirical"), x[:4_000], y[:4_000]), []
    for row, label in zip(x[4_000:], y[4_000:].tolist(), strict=True):
        predicted.append(model.predict_proba_one(features(row))[True])
        model.learn_one(features(row), label)
    assert np.mean(predicted) == pytest.approx(y.mean(), rel=0.1)


# The regret bound and the ranking --------------------------------------------------------------


def adversary(kind: str, n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a stream of vectors with a norm of at most 1."""
    rng = np.random.default_rng(0)
    y = rng.random(n) < (0.03 if kind == "rare" else 0.5)
    x = 0.4 * rng.normal(size=(n, p))
    along = np.where(y, 1.0, -1.0)
    if kind in ("separable", "rare", "one class first"):
        x[:, 0] += along
    if kind == "switching":
        x[:, 0] += along * np.where(np.arange(n) // 50 % 2, 1.0, -1.0)
    if kind == "one class first":
        order = np.argsort(y[: n // 2], kind="stable")
        x[: n // 2], y[: n // 2] = x[: n // 2][order], y[: n // 2][order]
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


@pytest.mark.parametrize("kind", ["separable", "noise", "rare", "switching", "one class first"])
@pytest.mark.parametrize("l2", [0.01, 0.1, 1.0])
def test_the_regret_is_within_the_bound_of_the_theorem(kind, l2):
    n, p = 500, 4
    x, y = adversary(kind, n, p)
    model, iterates = OAUCM(l2=l2), []
    for row, label in zip(x, y.tolist(), strict=True):
        iterates.append(weights_of(model, p))
        model.learn_one(features(row), label)
    # The paper has 18, from gradients of norm at most 3. It is at most 2, which makes it 8.
    assert regret(np.array(iterates), x, y, l2) <= 8 * (1 + math.log(n)) / l2


def test_weights_that_do_not_learn_break_the_bound():
    x, y = adversary("separable", 500, 4)
    assert regret(np.zeros((500, 4)), x, y, 1.0) > 18 * (1 + math.log(500))


@both_learners
def test_the_ranking_of_rare_positives_comes_close_to_the_best_possible(cls):
    n, p = 20_000, 5
    x, y = gaussian_stream(n, p, 0.02, seed=6)
    model, auc = learn(cls(), x[: n // 2], y[: n // 2]), ExactROCAUC()
    for row, label in zip(x[n // 2 :], y[n // 2 :].tolist(), strict=True):
        auc.update(label, model.score_one(features(row)))
        model.learn_one(features(row), label)
    best = np.linalg.solve(np.eye(p) + 0.25, np.ones(p))
    assert auc.get() == pytest.approx(stats.norm.cdf(math.sqrt(best.sum() / 2)), abs=0.02)


@both_learners
def test_a_constant_added_to_all_features_changes_nothing_but_rounding(cls):
    x, y = gaussian_stream(300, 4, 0.3, seed=7)
    model, shifted = learn(cls(), x, y), learn(cls(), x + 1e3, y)
    np.testing.assert_allclose(weights_of(shifted, 4), weights_of(model, 4), rtol=1e-9)
    for row in x:
        p = model.predict_proba_one(features(row))[True]
        assert shifted.predict_proba_one(features(row + 1e3))[True] == pytest.approx(p, abs=1e-8)


# Extreme numbers and parameters ----------------------------------------------------------------


@both_learners
def test_importances_of_opposite_sizes_leave_a_finite_model(cls):
    for first, second in ((1e-50, 1e50), (1e50, 1e-50)):
        model = cls(lr=1e-60, prior="empirical")
        model.learn_one({"a": 1.0}, True, first)
        model.learn_one({"a": -1.0}, False, second)
        assert_finite(model)
        assert 0.0 <= model.predict_proba_one({"a": 1.0})[True] <= 1.0


def test_a_step_that_diverges_is_refused_without_a_trace():
    x, y = gaussian_stream(300, 3, 0.5, seed=8)
    model, n_refused = OAUCS(lr=1e3), 0
    for i, (row, label) in enumerate(zip(x, y.tolist(), strict=True)):
        before = state(model)
        try:
            # With a feature that is new every time.
            model.learn_one({**features(row), f"new{i}": 1.0}, label)
        except ValueError as error:
            n_refused += 1
            assert "lower the step size" in str(error)
            assert state(model) == before
        assert_finite(model)
    assert n_refused > 100


@pytest.mark.parametrize("lr", [1e150, 1e300, optim.schedulers.Constant(math.inf)])
@both_learners
@settings(max_examples=5)
@given(weight=st.sampled_from([1.0, 1e50]))
def test_a_step_beyond_all_doubles_is_refused_without_a_warning(cls, lr, weight):
    model = cls(lr=lr)
    model.learn_one({"a": 1e10, "b": 0.0}, True)
    before = state(model)
    with pytest.raises(ValueError, match="step is too large"):
        model.learn_one({"a": -1.0, "b": 0.0}, False, weight)
    assert state(model) == before


NOT_POSITIVE = [-1.0, math.nan, math.inf, True, "1", [1.0], 1j]


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        *(({"l2": bad}, "l2") for bad in [None, *NOT_POSITIVE]),
        *(({"lr": bad}, "lr") for bad in [0.0, *NOT_POSITIVE]),
        ({"l2": 0.0, "lr": None}, "l2"),
        *(({"prior": bad}, "prior") for bad in ("uniform", None, 0.5)),
        *(({"max_features": bad}, "max_features") for bad in (0, 1.0, None)),
    ],
)
@both_learners
def test_a_bad_parameter_is_refused_by_name(cls, parameters, name):
    with pytest.raises(ValueError, match=f"^{name} is "):
        cls(**parameters)


@both_learners
def test_numbers_of_every_type_are_equal_as_parameters(cls):
    x, y = gaussian_stream(50, 2, 0.5, seed=10)
    expected = learn(cls(l2=1.0, lr=1.0), x, y).weights
    for l2, lr in ((1, 1), (np.float64(1.0), np.float64(1.0)), (np.int64(1), np.float32(1.0))):
        assert learn(cls(l2=l2, lr=lr), x, y).weights == expected
    assert any(learn(cls(l2=0.0, lr=optim.schedulers.Constant(0.1)), x, y).weights.values())
