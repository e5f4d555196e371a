"""OAUCM and OAUCS against loops that store everything, the paper's bound, and hostile numbers."""

from __future__ import annotations

import math
import os
import pickle
import random

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from river import evaluate, metrics, optim, preprocessing
from scipy import optimize, stats
from test_contract import numbers_in

from river_oauc import OAUCM, OAUCS
from river_oauc.datasets import BENCHMARKS
from river_oauc.metrics import ExactROCAUC

both_learners = pytest.mark.parametrize("learner", [OAUCM, OAUCS])
REFERENCES = {OAUCM: reference.OAUCM, OAUCS: reference.OAUCS}

Example = tuple[np.ndarray, bool, float]


def features(x: np.ndarray) -> dict[str, float]:
    return {f"x{j}": value for j, value in enumerate(x.tolist())}


def weights_of(model: OAUCM | OAUCS, p: int) -> np.ndarray:
    """The weights by position; a feature that has not turned up yet has none, that is 0."""
    return np.array([model.weights.get(f"x{j}", 0.0) for j in range(p)])


def gaussian_stream(n: int, p: int, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes with one covariance, their means one standard deviation apart in each feature."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < share
    x = rng.normal(size=(n, p)) + 0.5 * rng.normal(size=(n, 1))
    return x + y[:, None], y


def learn(model: OAUCM | OAUCS, x: np.ndarray, y: np.ndarray) -> None:
    for row, label in zip(x, y.tolist(), strict=True):
        model.learn_one(features(row), label)


# Step by step against the reference ----------------------------------------------------------


@st.composite
def streams(draw: st.DrawFn) -> list[Example]:
    """Streams with a random imbalance, weights, a first class that is alone, and late features."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    p, n = draw(st.integers(1, 6)), draw(st.integers(1, 120))
    share = draw(st.sampled_from([0.5, 0.2, 0.05]))
    alone = draw(st.sampled_from([0, 0, 10, 50]))
    late = draw(st.integers(0, p))
    first_class = draw(st.booleans())
    y = rng.random(n) < share
    y[:alone] = first_class
    x = rng.uniform(-1.0, 1.0, size=(n, p)) + rng.uniform(-1.0, 1.0, size=p) + 0.5 * y[:, None]
    x[: n // 2, p - late :] = 0.0
    w = rng.choice([0.0, 0.3, 1.0, 1.0, 1.0, 5.0], size=n)
    return list(zip(x, y.tolist(), w.tolist(), strict=True))


LEARNING_RATES = st.sampled_from(
    [None, 0.001, 0.02, 0.1, optim.schedulers.InverseScaling(0.1), optim.schedulers.Constant(0.01)]
)


def assert_follows_the_reference(
    learner: type[OAUCM | OAUCS],
    stream: list[Example],
    l2: float,
    lr: float | optim.base.Scheduler | None,
) -> None:
    model = learner(l2=l2, lr=lr)
    slow = REFERENCES[learner](l2, lr.get if isinstance(lr, optim.base.Scheduler) else lr)
    p = len(stream[0][0])
    before = np.zeros(p)
    for x, y, w in stream:
        # Zeros are left out: an absent feature is one.
        model.learn_one({name: value for name, value in features(x).items() if value}, y, w)
        slow.learn(x, 1 if y else -1, w)
        expected = np.zeros(p) if slow.w is None else slow.w
        # A step can end near zero, and its rounding is that of the weights that it began with.
        scale = max(np.linalg.norm(before), np.linalg.norm(expected))
        assert np.linalg.norm(weights_of(model, p) - expected) <= 1e-8 * scale
        before = expected


@given(stream=streams(), l2=st.sampled_from([1e-3, 2**-5, 0.3, 1.0, 8.0]), lr=LEARNING_RATES)
@settings(max_examples=60, deadline=None)
def test_oaucm_is_the_loop_that_stores_all_examples(stream, l2, lr):
    assert_follows_the_reference(OAUCM, stream, l2, lr)


@given(
    stream=streams(),
    l2=st.sampled_from([0.0, 2**-5, 0.3, 1.0]),
    lr=LEARNING_RATES.filter(lambda lr: lr is not None),
)
@settings(max_examples=60, deadline=None)
def test_oaucs_is_the_loop_that_stores_all_examples(stream, l2, lr):
    assert_follows_the_reference(OAUCS, stream, l2, lr)


def test_oaucs_with_the_decreasing_step_is_the_loop_too():
    x, y = gaussian_stream(100, 3, 0.3, seed=0)
    stream = list(zip(x, y.tolist(), [1.0] * 100, strict=True))
    assert_follows_the_reference(OAUCS, stream, l2=2.0, lr=None)


@both_learners
def test_one_feature_by_hand(learner):
    model = learner(l2=0.25, lr=None)
    model.learn_one({"a": 0.0}, False)
    assert model.weights == {"a": 0.0}
    # Step 1/(0.25 · 2), from 0: the pull is 1, over a distance of 1.
    model.learn_one({"a": 1.0}, True)
    assert model.weights["a"] == pytest.approx(2.0)
    # The margin over the one positive is 2 · (1 - 0.2) = 1.6; the hinge is content, the square not.
    model.learn_one({"a": 0.2}, False)
    step = 1 / (0.25 * 3)
    weight = 2 * (1 - step * 0.25)
    if learner is OAUCS:
        weight += step * (1 - 1.6) * 0.8
    assert model.weights["a"] == pytest.approx(weight)
    # The negatives have mean 0.1 and variance 0.01. The step is 1/(0.25 · 4) = 1.
    model.learn_one({"a": 0.5}, True)
    b, variance = 1 - 0.4 * weight, 0.01 * weight**2
    r = math.sqrt(b**2 + variance)
    pull, spread = ((1 + b / r) / 2, 1 / (2 * r)) if learner is OAUCM else (b, 1)
    assert model.weights["a"] == pytest.approx(0.75 * weight + pull * 0.4 - spread * 0.01 * weight)


@both_learners
def test_one_class_alone_does_not_move_the_weights(learner):
    model = learner()
    x, _ = gaussian_stream(50, 3, 0.0, seed=1)
    learn(model, x, np.zeros(50, dtype=bool))
    assert list(model.weights.values()) == [0.0, 0.0, 0.0]
    assert model.moments[False].n == 50
    assert model.moments[True].n == 0
    assert model.predict_proba_one(features(x[0])) == {False: 0.5, True: 0.5}


@both_learners
def test_a_variance_that_rounds_below_zero(learner):
    """The negatives lie on a line, and the weights are at right angles to it."""
    line = np.array([0.3, -1.1, 0.7])
    n_below_zero = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        model = learner()
        learn(model, rng.normal(size=(20, 1)) * line, np.zeros(20, dtype=bool))
        model._weights = weights = np.cross(line, rng.normal(size=3))
        n_below_zero += weights @ model.moments[False].cov_dot(weights) < 0.0
        model.learn_one(features(rng.normal(size=3)), True)
        assert all(map(math.isfinite, numbers_in(model)))
    assert n_below_zero


# What is public ------------------------------------------------------------------------------


@both_learners
def test_weights_scores_and_moments_can_be_read(learner):
    x, y = gaussian_stream(200, 3, 0.2, seed=2)
    names = ["a", ("a", 1), 7]
    model = learner()
    for row, label in zip(x, y.tolist(), strict=True):
        model.learn_one(dict(zip(names, row.tolist(), strict=True)), label)

    assert list(model.weights) == names
    assert all(type(weight) is float for weight in model.weights.values())
    example = dict(zip(names, x[0].tolist(), strict=True))
    score = sum(model.weights[name] * value for name, value in example.items())
    assert model.score_one(example) == pytest.approx(score, rel=1e-12)
    assert model.score_one({}) == 0.0
    assert model.score_one({"unknown": 3.0, 7: 2.0}) == pytest.approx(2.0 * model.weights[7])

    assert model.moments.keys() == {False, True}
    for label, moments in model.moments.items():
        assert moments.n == np.sum(y == label)
        np.testing.assert_allclose(moments.mean, x[y == label].mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(
            moments.covariance, np.cov(x[y == label], rowvar=False, bias=True), rtol=1e-11
        )


@both_learners
def test_to_change_the_dict_of_weights_does_not_change_the_model(learner):
    model = learner()
    learn(model, *gaussian_stream(50, 2, 0.5, seed=3))
    before = model.weights
    model.weights["x0"] = 1e6
    assert model.weights == before


@both_learners
def test_the_probability_is_an_increasing_function_of_the_score(learner):
    x, y = gaussian_stream(300, 3, 0.2, seed=4)
    model = learner()
    learn(model, x, y)
    scores = [model.score_one(features(row)) for row in x]
    probabilities = [model.predict_proba_one(features(row))[True] for row in x]
    np.testing.assert_array_equal(np.argsort(scores), np.argsort(probabilities))


# Calibration ---------------------------------------------------------------------------------


def logit(p: float) -> float:
    return math.log(p / (1.0 - p))


def exact_map(w: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
    """A point with the midpoint of the class means, and the slope, both from stored examples."""
    scores = x @ w
    gap = scores[y].mean() - scores[~y].mean()
    deviation = math.sqrt((scores[y].var() + scores[~y].var()) / 2)
    # As documented: at most 4 deviations apart, and at least a tenth of one.
    deviation = max(deviation, abs(gap) / 4.0)
    middle = (x[y].mean(axis=0) + x[~y].mean(axis=0)) / 2
    return middle, max(gap / deviation, 0.1) / deviation


@both_learners
@pytest.mark.parametrize("seed", range(3))
def test_the_calibration_follows_the_class_means_and_nearly_the_variance(learner, seed):
    n, p = 600, 3
    x, y = gaussian_stream(n, p, 0.15, seed)
    model = learner()
    offsets, ratios = [], []
    for t in range(n):
        model.learn_one(features(x[t]), bool(y[t]))
        if y[: t + 1].all() or not y[: t + 1].any():
            continue
        w = weights_of(model, p)
        middle, slope = exact_map(w, x[: t + 1], y[: t + 1])
        # In logits, one half is where the classes balance, and a tenth of a logit above it is there
        # where it would be if the slope were exact.
        at_middle = logit(model.predict_proba_one(features(middle))[True])
        above = middle + 0.1 * w / (w @ w) / slope
        at_above = logit(model.predict_proba_one(features(above))[True])
        offsets.append(abs(at_middle))
        ratios.append((at_above - at_middle) / 0.1)
    # Both are exact at first, and then fitted now and then. The slope is far off only where a step
    # between two fits has all but turned the ranking round.
    factors = np.exp(np.abs(np.log(ratios)))
    assert len(factors) > 500
    np.testing.assert_allclose(offsets[:16], 0.0, atol=1e-9)
    assert np.median(offsets[16:]) < 0.05
    assert np.quantile(offsets[16:], 0.95) < 0.5
    np.testing.assert_allclose(factors[:16], 1.0, rtol=1e-8)
    assert np.median(factors[16:]) < 1.1
    assert np.quantile(factors[16:], 0.95) < 2.0


@pytest.mark.parametrize(
    ("n_fits", "wait"), [(0, 1), (14, 1), (15, 2), (160, 11), (1006, 63), (1007, 64), (10**6, 64)]
)
@both_learners
def test_the_calibration_is_fitted_ever_less_often_but_never_forgotten(learner, n_fits, wait):
    """The longest wait is reached after more than 30,000 examples: here the count is set."""
    x, y = gaussian_stream(300, 3, 0.3, seed=6)
    model = learner()
    learn(model, x[:100], y[:100])
    fits = []
    for t in range(100, 300):
        # Between two fits the midpoint moves, and the slope stays.
        slope = model._calibration.slope
        if not fits:
            model._n_fits = n_fits
        learn(model, x[t : t + 1], y[t : t + 1])
        if model._calibration.slope != slope:
            fits.append(t)
    assert fits[1] - fits[0] == wait


@both_learners
@pytest.mark.parametrize("share", [0.02, 0.2])
def test_empirical_probabilities_mean_frequencies(learner, share):
    n = 8_000
    x, y = gaussian_stream(n, 3, share, seed=5)
    model = learner(prior="empirical")
    learn(model, x[: n // 2], y[: n // 2])
    predicted = []
    for row, label in zip(x[n // 2 :], y[n // 2 :].tolist(), strict=True):
        predicted.append(model.predict_proba_one(features(row))[True])
        model.learn_one(features(row), label)
    assert np.mean(predicted) == pytest.approx(y.mean(), rel=0.1)


# The regret bound ----------------------------------------------------------------------------


def adversary(kind: str, n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """A stream of vectors with a norm of at most 1."""
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


class Regret:
    """The losses of the steps of a stream, each against all earlier examples of the other class."""

    def __init__(self, x: np.ndarray, y: np.ndarray, l2: float) -> None:
        self.l2, self.n = l2, len(x)
        d, covariances = [], []
        for t in range(len(x)):
            opposite = x[:t][y[:t] != y[t]]
            if len(opposite):
                sign = 1.0 if y[t] else -1.0
                d.append(sign * (x[t] - opposite.mean(axis=0)))
                covariances.append(np.cov(opposite, rowvar=False, bias=True))
        self.d, self.covariances = np.array(d), np.array(covariances)
        self.paired = np.array([bool(np.any(y[:t] != y[t])) for t in range(len(x))])

    def of(self, iterates: np.ndarray) -> float:
        """An upper bound of the regret of the weights before each step."""
        w = iterates[self.paired]
        b = 1.0 - np.einsum("ti,ti->t", w, self.d)
        variance = np.einsum("ti,tij,tj->t", w, self.covariances, w)
        losses = (b + np.sqrt(b**2 + variance)) / 2
        return losses.sum() + self.l2 / 2 * np.sum(iterates**2) - self.minimum()

    def minimum(self) -> float:
        """A lower bound of what the best fixed weights pay."""
        best = optimize.minimize(self.total, np.zeros(self.d.shape[1]), jac=True, method="BFGS")
        # The total is strongly convex, with this modulus: so far below can the minimum lie.
        slack = float(best.jac @ best.jac) / (2 * self.n * self.l2)
        assert slack < 1e-3
        return float(best.fun) - slack

    def total(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        b = 1.0 - self.d @ w
        u = self.covariances @ w
        r = np.sqrt(b**2 + u @ w)
        value = np.sum(b + r) / 2 + self.n * self.l2 / 2 * (w @ w)
        gradient = np.sum(-(1 + b / r)[:, None] / 2 * self.d + u / (2 * r)[:, None], axis=0)
        return value, gradient + self.n * self.l2 * w


KINDS = ["separable", "noise", "rare", "switching", "one class first"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("l2", [0.01, 0.1, 1.0])
def test_the_regret_is_within_the_bound_of_the_theorem(kind, l2):
    n, p = 500, 4
    x, y = adversary(kind, n, p)
    assert np.linalg.norm(x, axis=1).max() <= 1.0 + 1e-15
    model = OAUCM(l2=l2)
    iterates = []
    for row, label in zip(x, y.tolist(), strict=True):
        iterates.append(weights_of(model, p))
        model.learn_one(features(row), label)
    regret = Regret(x, y, l2).of(np.array(iterates))
    assert regret <= 18 * (1 + math.log(n)) / l2
    # The 18 comes from gradients of a norm of at most 3. It is at most 2, which makes it 8.
    assert regret <= 8 * (1 + math.log(n)) / l2


def test_weights_that_do_not_learn_break_the_bound():
    n, p, l2 = 500, 4, 1.0
    x, y = adversary("separable", n, p)
    assert Regret(x, y, l2).of(np.zeros((n, p))) > 18 * (1 + math.log(n)) / l2


# Ranking -------------------------------------------------------------------------------------


@both_learners
def test_the_ranking_of_rare_positives_comes_close_to_the_best_possible(learner):
    n, p = 20_000, 5
    x, y = gaussian_stream(n, p, 0.02, seed=6)
    model = learner()
    learn(model, x[: n // 2], y[: n // 2])
    auc, best_auc = ExactROCAUC(), ExactROCAUC()
    best = np.linalg.solve(np.eye(p) + 0.25, np.ones(p))
    for row, label in zip(x[n // 2 :], y[n // 2 :].tolist(), strict=True):
        auc.update(label, model.score_one(features(row)))
        best_auc.update(label, float(best @ row))
        model.learn_one(features(row), label)
    bayes_auc = stats.norm.cdf(math.sqrt(np.ones(p) @ best / 2))
    assert auc.get() == pytest.approx(bayes_auc, abs=0.02)
    assert auc.get() == pytest.approx(best_auc.get(), abs=0.01)


@both_learners
def test_a_constant_added_to_all_features_changes_nothing_but_rounding(learner):
    x, y = gaussian_stream(300, 4, 0.3, seed=7)
    model, shifted = learner(), learner()
    for row, label in zip(x, y.tolist(), strict=True):
        model.learn_one(features(row), label)
        shifted.learn_one(features(row + 1e3), label)
        w = weights_of(model, 4)
        error = np.linalg.norm(weights_of(shifted, 4) - w)
        assert error <= 1e-9 * np.linalg.norm(w)
    for row in x:
        assert shifted.predict_proba_one(features(row + 1e3))[True] == pytest.approx(
            model.predict_proba_one(features(row))[True], abs=1e-8
        )


@pytest.mark.parametrize(
    "name",
    [
        "segment",
        *(
            pytest.param(
                name,
                marks=pytest.mark.skipif(
                    "RIVER_OAUC_DATA" not in os.environ, reason="RIVER_OAUC_DATA is not set"
                ),
            )
            for name in ("german", "vehicle", "satimage", "letter")
        ),
    ],
)
def test_the_ten_thresholds_of_river_read_the_ranking(name):
    examples = list(BENCHMARKS[name]())
    random.Random(0).shuffle(examples)
    model = preprocessing.MinMaxScaler() | OAUCM()
    approximate, exact = metrics.ROCAUC(), ExactROCAUC()
    evaluate.progressive_val_score(examples, model, approximate + exact)
    assert approximate.get() == pytest.approx(exact.get(), abs=0.015)
    assert exact.get() > 0.65


# Numbers at the edge -------------------------------------------------------------------------


@pytest.mark.parametrize("w", [5e-324, 1e-51, 1e51])
@both_learners
def test_an_importance_whose_inverse_is_out_of_reach_is_refused(learner, w):
    model = learner()
    model.learn_one({"a": 1.0}, True)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="the weight is .* from 1e-50 to 1e\\+50"):
        model.learn_one({"a": -1.0}, False, w)
    assert pickle.dumps(model) == before


@both_learners
def test_importances_of_opposite_sizes_leave_a_finite_model(learner):
    for first, second in ((1e-50, 1e50), (1e50, 1e-50)):
        model = learner(lr=1e-60, prior="empirical")
        model.learn_one({"a": 1.0}, True, first)
        model.learn_one({"a": -1.0}, False, second)
        assert all(math.isfinite(number) for number in numbers_in(model))
        assert 0.0 <= model.predict_proba_one({"a": 1.0})[True] <= 1.0


def test_a_step_that_is_far_too_large_is_refused_before_it_does_harm():
    x, y = gaussian_stream(300, 3, 0.5, seed=8)
    model = OAUCS(lr=1e3)
    refusals = 0
    for row, label in zip(x, y.tolist(), strict=True):
        before = pickle.dumps(model)
        try:
            model.learn_one(features(row), label)
        except ValueError as refusal:
            refusals += 1
            assert "lr" in str(refusal) or "step size" in str(refusal)
            assert pickle.dumps(model) == before
        assert all(math.isfinite(number) for number in numbers_in(model))
    assert refusals > 100


def test_a_refused_example_takes_its_new_features_with_it():
    model = OAUCS(lr=1e30)
    model.learn_one({"a": 1.0}, True)
    model.learn_one({"a": -1.0}, False)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="step size"):
        model.learn_one({"a": 1e10, "b": 1e10}, True)
    assert pickle.dumps(model) == before
    assert model.weights.keys() == {"a"}


# Parameters ----------------------------------------------------------------------------------

NOT_POSITIVE = [-1.0, -1e-300, math.nan, math.inf, -math.inf, True, False, "1", None, [1.0], 1j]


@both_learners
@pytest.mark.parametrize("l2", NOT_POSITIVE)
def test_a_bad_l2_is_refused_by_name(learner, l2):
    for lr in (None, 0.1):
        with pytest.raises(ValueError, match="^l2 "):
            learner(l2=l2, lr=lr)


@both_learners
def test_an_l2_of_zero_needs_a_step_size_of_its_own(learner):
    with pytest.raises(ValueError, match="^l2 "):
        learner(l2=0.0, lr=None)
    for lr in (0.1, 1, optim.schedulers.Constant(0.1)):
        model = learner(l2=0.0, lr=lr)
        learn(model, *gaussian_stream(20, 2, 0.5, seed=9))
        assert any(model.weights.values())


@both_learners
@pytest.mark.parametrize("lr", [0, 0.0, *(lr for lr in NOT_POSITIVE if lr is not None)])
def test_a_bad_lr_is_refused_by_name(learner, lr):
    with pytest.raises(ValueError, match="^lr "):
        learner(lr=lr)


@both_learners
@pytest.mark.parametrize("prior", ["uniform", "", None, 0.5])
def test_a_bad_prior_is_refused_by_name(learner, prior):
    with pytest.raises(ValueError, match="^prior "):
        learner(prior=prior)


@both_learners
def test_whole_numbers_and_numpy_numbers_are_numbers(learner):
    x, y = gaussian_stream(50, 2, 0.5, seed=10)
    expected = learner(l2=1.0, lr=1.0)
    learn(expected, x, y)
    for l2, lr in ((1, 1), (np.float64(1.0), np.float64(1.0)), (np.int64(1), np.float32(1.0))):
        model = learner(l2=l2, lr=lr)
        learn(model, x, y)
        assert model.weights == expected.weights
