"""The references against the definitions: losses, pairs, finite differences, brute force."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable

import numpy as np
import pytest
import reference
from reference import psi_m, psi_s
from river import linear_model
from scipy import stats


def gaussian_stream(n: int, p: int, seed: int, weighted: bool = False) -> list[tuple]:
    """`(x, y, weight)` triples, a third of them positive, with weights other than 1 on request."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 1 / 3, 1, -1)
    y[:2] = 1, -1
    x = rng.normal(size=(n, p)) + 0.4 * y[:, None]
    weights = rng.choice([0.5, 1.0, 3.0], size=n) if weighted else np.ones(n)
    return [(x[i], int(y[i]), float(weights[i])) for i in range(n)]


def numerical_gradient(
    loss: Callable[[np.ndarray], float], at: np.ndarray, h: float = 1e-5
) -> np.ndarray:
    steps = h * np.eye(len(at))
    return np.array([(loss(at + step) - loss(at - step)) / (2 * h) for step in steps])


def assert_minimiser(objective: Callable[[np.ndarray], float], at: np.ndarray, seed: int) -> None:
    """No random point near or far has a smaller value of a convex objective."""
    rng = np.random.default_rng(seed)
    for scale in (1e-4, 1e-2, 1.0):
        for shift in rng.normal(scale=scale, size=(100, len(at))):
            assert objective(at) <= objective(at + shift) + 1e-12


class ScriptedReservoir:
    """Follows a list of decisions and remembers what it was asked."""

    def __init__(self, decisions: list[int | None]):
        self.decisions = list(decisions)
        self.asked: list[tuple[int, int]] = []

    def keep(self, n_seen: int, capacity: int) -> int | None:
        self.asked.append((n_seen, capacity))
        return self.decisions.pop(0)


# AUC and losses ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_auc_is_the_mann_whitney_statistic(seed):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(60) < 0.3, 1, -1)
    scores = rng.integers(0, 8, size=60).astype(float)  # few values: many ties
    u, _ = stats.mannwhitneyu(scores[y == 1], scores[y == -1])
    pairs = np.sum(y == 1) * np.sum(y == -1)
    assert reference.auc(list(y), list(scores)) == pytest.approx(u / pairs, abs=1e-12)


def test_auc_by_hand():
    assert reference.auc([1, -1], [2.0, 1.0]) == 1
    assert reference.auc([1, -1], [1.0, 2.0]) == 0
    assert reference.auc([1, -1, -1], [0.0, 0.0, 0.0]) == 0.5


def mean_hinge(margins: np.ndarray) -> float:
    return float(np.mean(np.maximum(0, 1 - margins)))


def test_psi_m_bounds_the_mean_hinge_of_every_sample():
    rng = np.random.default_rng(0)
    for _ in range(3000):
        n = rng.integers(1, 12)
        margins = rng.normal(rng.normal(scale=3), rng.exponential(2), size=n)
        assert mean_hinge(margins) <= psi_m(margins.mean(), margins.var()) + 1e-12


@pytest.mark.parametrize("n", [2, 5, 9])
def test_psi_m_is_attained_by_two_point_samples(n):
    spread = 1.7
    for below in range(1, n):
        # The two points with mean loss b, standard deviation `spread` and `below` losses above 0
        # out of n attain the bound when (1 + b / r) / 2 = below / n.
        share = below / n
        b = spread * (2 * share - 1) / math.sqrt(1 - (2 * share - 1) ** 2)
        low = 1 - b - spread * math.sqrt((1 - share) / share)
        high = 1 - b + spread * math.sqrt(share / (1 - share))
        margins = np.array([low] * below + [high] * (n - below))
        assert margins.mean() == pytest.approx(1 - b)
        assert margins.std() == pytest.approx(spread)
        assert mean_hinge(margins) == pytest.approx(psi_m(margins.mean(), margins.var()))


def test_psi_s_is_the_mean_squared_loss():
    rng = np.random.default_rng(1)
    for _ in range(200):
        margins = rng.normal(rng.normal(), 2, size=rng.integers(1, 12))
        expected = np.mean((1 - margins) ** 2)
        assert psi_s(margins.mean(), margins.var()) == pytest.approx(expected)


# Shared conventions --------------------------------------------------------------------------


def test_moments_of_integer_weights_are_those_of_repeated_rows():
    rng = np.random.default_rng(2)
    x = rng.normal(5, 2, size=(7, 3))
    weights = np.array([1, 2, 5, 1, 1, 3, 2])
    repeated = np.repeat(x, weights, axis=0)
    mean, cov = reference.weighted_moments(list(zip(x, weights.astype(float), strict=True)))
    np.testing.assert_allclose(mean, repeated.mean(axis=0))
    np.testing.assert_allclose(cov, np.cov(repeated, rowvar=False, bias=True))


def test_step_size_counts_from_one_and_calls_back_from_zero():
    assert reference.step_size(None, 0.5, 4) == 0.5
    assert reference.step_size(0.3, 0.5, 4) == 0.3
    assert reference.step_size(lambda t: 10.0 + t, 0.5, 1) == 10.0


LEARNERS = {
    "OAUCM": lambda: reference.OAUCM(0.1),
    "OAUCS": lambda: reference.OAUCS(0.1, 0.05),
    "Perceptron": lambda: reference.Perceptron(),
    "PAI": lambda: reference.PAI(0.5),
    "OAM": lambda: reference.OAM(0.1, 4, rng=reference.UniformReservoir(1)),
    "OLUBAUC": lambda: reference.OLUBAUC(0.1, class_balanced=True),
    "OKAUCM": lambda: reference.OKAUCM(reference.rbf(0.5), 0.1, budget=4),
    "OKAUCS": lambda: reference.OKAUCS(reference.rbf(0.5), 0.1, 0.1, budget=4),
    "KOIL": lambda: reference.KOIL(
        reference.rbf(0.5), 10.0, budget=4, policy="reservoir", rng=reference.UniformReservoir(1)
    ),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_weight_zero_changes_nothing(name):
    stream = gaussian_stream(40, 3, seed=3)
    interrupted, plain = LEARNERS[name](), LEARNERS[name]()
    probes = [x for x, _, _ in gaussian_stream(5, 3, seed=4)]
    for i, (x, y, weight) in enumerate(stream):
        interrupted.learn(x + i, -y, 0.0)
        interrupted.learn(x, y, weight)
        plain.learn(x, y, weight)
        interrupted.learn(x - i, y, 0.0)
        assert [interrupted.score(p) for p in probes] == [plain.score(p) for p in probes]
    assert interrupted.t == plain.t == 40


@pytest.mark.parametrize("name", LEARNERS)
def test_every_reference_learns_to_rank(name):
    learner = LEARNERS[name]()
    for x, y, weight in gaussian_stream(200, 3, seed=5):
        learner.learn(x, y, weight)
    test = gaussian_stream(200, 3, seed=6)
    scores = [learner.score(x) for x, _, _ in test]
    assert reference.auc([y for _, y, _ in test], scores) > 0.62


# Linear second-order learners ----------------------------------------------------------------


L2 = 2.0  # keeps the squared loss stable at the large first steps of 1 / (l2 * t)
RATES = {  # the setting, and the step size of the t-th example that it means
    "decreasing": (None, lambda t: 1 / (L2 * t)),
    "constant": (0.07, lambda t: 0.07),
    "schedule": (lambda t: 0.3 / math.sqrt(t + 1), lambda t: 0.3 / math.sqrt(t)),
}
SECOND_ORDER = [
    (reference.OAUCM, reference.OKAUCM, psi_m),
    (reference.OAUCS, reference.OKAUCS, lambda margin, variance: psi_s(margin, variance) / 2),
]


@pytest.mark.parametrize("lr, eta", RATES.values(), ids=RATES)
@pytest.mark.parametrize("linear, _, psi", SECOND_ORDER, ids=["M", "S"])
def test_linear_step_is_the_numerical_gradient_of_the_pairwise_loss(linear, _, psi, lr, eta):
    model = linear(L2, lr)
    received: list[tuple[np.ndarray, int, float]] = []
    moved = 0
    for t, (x, y, weight) in enumerate(gaussian_stream(40, 3, seed=7, weighted=True), start=1):
        before = np.zeros(3) if model.w is None else model.w.copy()
        model.learn(x, y, weight)
        others = [(z, v) for z, label, v in received if label == -y]
        received.append((x, y, weight))
        if not others:
            np.testing.assert_array_equal(model.w, before)
            continue

        def objective(w, x=x, y=y, weight=weight, others=others):
            margins = np.array([y * (w @ (x - z)) for z, _ in others])
            weights = np.array([v for _, v in others])
            mean = np.average(margins, weights=weights)
            variance = np.average((margins - mean) ** 2, weights=weights)
            return weight * psi(mean, variance) + L2 / 2 * (w @ w)

        expected = before - eta(t) * numerical_gradient(objective, before)
        np.testing.assert_allclose(model.w, expected, rtol=1e-7, atol=1e-8)
        moved += 1
    assert moved >= 38


def test_oaucm_at_zero_loss_and_zero_variance():
    model = reference.OAUCM(0.5, 0.1)
    model.learn(np.array([1.0]), -1)
    model.w = np.array([1.0])
    model.learn(np.array([2.0]), +1)
    assert model.w == pytest.approx([(1 - 0.05) * 1.0 + 0.1 * 0.5])


@pytest.mark.parametrize("linear, _, psi", SECOND_ORDER, ids=["M", "S"])
def test_one_class_alone_moves_nothing_but_the_clock(linear, _, psi):
    model = linear(0.5)
    for x, _y, _w in gaussian_stream(5, 2, seed=8):
        model.learn(x, -1)
    np.testing.assert_array_equal(model.w, np.zeros(2))
    assert model.t == 5


# Linear baselines ----------------------------------------------------------------------------


def test_perceptron_by_hand():
    model = reference.Perceptron()
    model.learn(np.array([1.0, 2.0]), +1)  # a score of 0 is a positive prediction: right
    np.testing.assert_array_equal(model.w, [0, 0])
    model.learn(np.array([1.0, 0.0]), -1)
    np.testing.assert_array_equal(model.w, [-1, 0])
    model.learn(np.array([1.0, 1.0]), +1, 2.0)
    np.testing.assert_array_equal(model.w, [1, 2])
    model.learn(np.array([-1.0, 0.0]), -1)  # score -1: right, no step
    np.testing.assert_array_equal(model.w, [1, 2])


def test_pa1_step_solves_its_optimisation_problem():
    cost = 0.2
    model = reference.PAI(cost)
    model.w = np.zeros(3)
    clipped = free = 0
    for i, (x, y, weight) in enumerate(gaussian_stream(40, 3, seed=9, weighted=True)):
        before = model.w.copy()
        model.learn(x, y, weight)

        def objective(w, x=x, y=y, weight=weight, before=before):
            hinge = max(0.0, 1 - y * (w @ x))
            return np.sum((w - before) ** 2) / 2 + cost * weight * hinge

        assert_minimiser(objective, model.w, seed=i)
        moved = not np.array_equal(model.w, before)
        at_cost = np.allclose(model.w, before + cost * weight * y * x)
        clipped += moved and at_cost
        free += moved and not at_cost
    assert clipped > 0 and free > 0


def test_pa1_equals_river_without_intercept():
    model = reference.PAI(0.3)
    river_model = linear_model.PAClassifier(C=0.3, mode=1, learn_intercept=False)
    for x, y, _ in gaussian_stream(100, 3, seed=10):
        model.learn(x, y)
        river_model.learn_one(dict(enumerate(x)), y == 1)
    np.testing.assert_allclose(model.w, [river_model.weights[i] for i in range(3)], rtol=1e-9)


@np.errstate(all="raise")
def test_zero_vectors_and_zero_differences_are_skipped():
    pa = reference.PAI()
    pa.learn(np.zeros(2), +1)
    np.testing.assert_array_equal(pa.w, [0, 0])
    oam = reference.OAM(1.0, 2, "sequential", rng=reference.UniformReservoir(0))
    oam.learn(np.ones(2), -1)
    oam.learn(np.ones(2), +1)
    np.testing.assert_array_equal(oam.w, [0, 0])


def pair_cost(cost: float, weighting: str, n_opposite: int, capacity: int) -> float:
    return cost * n_opposite / capacity if weighting == "paper" and n_opposite > capacity else cost


@pytest.mark.parametrize("weighting", ["paper", "constant"])
def test_oam_gradient_step_descends_the_sum_of_pair_hinges(weighting):
    cost, capacity = 0.02, 4
    model = reference.OAM(cost, capacity, "gradient", weighting, rng=reference.UniformReservoir(3))
    seen = {+1: 0, -1: 0}
    for x, y, weight in gaussian_stream(60, 3, seed=11, weighted=True):
        before = np.zeros(3) if model.w is None else model.w.copy()
        opposite = list(model.buffers[-y])
        seen[y] += 1
        model.learn(x, y, weight)

        def loss(w, x=x, y=y, opposite=opposite):
            return sum(max(0.0, 1 - y * (w @ (x - z))) for z in opposite)

        scale = weight * pair_cost(cost, weighting, seen[-y], capacity) / 2
        expected = before - scale * numerical_gradient(loss, before)
        np.testing.assert_allclose(model.w, expected, atol=1e-9)


@pytest.mark.parametrize("weighting", ["paper", "constant"])
def test_oam_sequential_step_is_pa1_on_the_differences_in_slot_order(weighting):
    cost, capacity = 0.05, 4
    model = reference.OAM(
        cost, capacity, "sequential", weighting, rng=reference.UniformReservoir(3)
    )
    seen = {+1: 0, -1: 0}
    for x, y, weight in gaussian_stream(60, 3, seed=12, weighted=True):
        seen[y] += 1
        pa = reference.PAI(pair_cost(cost, weighting, seen[-y], capacity) / 2)
        pa.w = np.zeros(3) if model.w is None else model.w.copy()
        for z in model.buffers[-y]:
            pa.learn(x - z, y, weight)
        model.learn(x, y, weight)
        np.testing.assert_allclose(model.w, pa.w, atol=1e-12)


def test_oam_counts_a_margin_of_exactly_one_as_a_violation():
    model = reference.OAM(1.0, 2, weighting="constant", rng=reference.UniformReservoir(0))
    model.learn(np.array([0.0]), -1)
    model.w = np.array([1.0])
    model.learn(np.array([1.0]), +1)
    assert model.w == pytest.approx([1.5])


def test_oam_reservoir_is_asked_only_when_full_and_replaces_in_place():
    rng = ScriptedReservoir([1, None, 0])
    model = reference.OAM(0.1, (2, 3), rng=rng)
    for value in range(1, 6):
        model.learn(np.array([float(value)]), +1, 2.0)
    assert rng.asked == [(3, 2), (4, 2), (5, 2)]
    assert [z[0] for z in model.buffers[+1]] == [5, 3]


def test_uniform_reservoir_keeps_every_example_equally_often():
    n, capacity, runs = 8, 3, 4000
    rng = reference.UniformReservoir(7)
    kept = np.zeros((n, capacity))
    for _ in range(runs):
        buffer = list(range(capacity))
        for i in range(capacity, n):
            slot = rng.keep(i + 1, capacity)
            if slot is not None:
                buffer[slot] = i
        for slot, i in enumerate(buffer):
            kept[i, slot] += 1
    expected = runs * capacity / n
    assert np.all(abs(kept.sum(axis=1) - expected) < 5 * math.sqrt(expected))
    # An example that came after the buffer was full is in any of its slots.
    assert np.all(abs(kept[-1] - runs / n) < 5 * math.sqrt(runs / n))


@pytest.mark.parametrize("class_balanced", [False, True])
@pytest.mark.parametrize("margin", [1.0, 0.4])
def test_olubauc_step_is_the_numerical_gradient(margin, class_balanced):
    l2 = 0.8
    model = reference.OLUBAUC(l2, margin, class_balanced)
    labels = []
    for t, (x, y, weight) in enumerate(gaussian_stream(60, 3, seed=13, weighted=True), start=1):
        labels.append(y)
        before = np.zeros(4) if t == 1 else np.append(model.w, model.theta)
        model.learn(x, y, weight)
        balance = t / (2 * labels.count(y)) if class_balanced else 1.0

        def objective(state, x=x, y=y, factor=weight * balance):
            w, theta = state[:3], state[3]
            return factor * max(0.0, margin - y * (w @ x - theta)) + l2 / 2 * (w @ w)

        expected = before - numerical_gradient(objective, before) / (l2 * t)
        np.testing.assert_allclose(np.append(model.w, model.theta), expected, atol=1e-8)


def test_olubauc_score_leaves_the_threshold_out():
    model = reference.OLUBAUC(1.0)
    model.learn(np.array([2.0]), -1)
    assert (model.w, model.theta) == (np.array([-2.0]), 1.0)
    assert model.score(np.array([3.0])) == -6.0


# Kernels -------------------------------------------------------------------------------------


def test_kernels_by_hand():
    x, z = np.array([1.0, 2.0]), np.array([3.0, 1.0])
    assert reference.linear(x, z) == 5
    assert reference.rbf(0.1)(x, z) == pytest.approx(math.exp(-0.5))
    assert reference.polynomial(3, 2.0, 1.0)(x, z) == 11**3


KERNELS = {
    "linear": reference.linear,
    "rbf": reference.rbf(0.6),
    "polynomial": reference.polynomial(2, 0.3, 1.0),
}


def expansion(model: reference.KernelLearner) -> list[reference.SupportVector]:
    return copy.deepcopy(model.vectors[+1] + model.vectors[-1])


def gram(kernel: reference.Kernel, points: list[np.ndarray]) -> np.ndarray:
    return np.array([[kernel(x, z) for z in points] for x in points])


def assert_functional_gradient_step(
    model: reference.KernelLearner,
    before: list[reference.SupportVector],
    x: np.ndarray,
    loss: Callable[[Callable[[np.ndarray], float]], float],
    l2: float,
    eta: float,
) -> None:
    """The score function moved by `-eta` times the gradient of `loss(f) + l2 / 2 |f|^2`.

    With `f = sum_i a_i k(x_i, .)`, the derivative of the objective by `a_i` is the value at `x_i`
    of its gradient in the function space, so it is compared with what the step did to `f(x_i)`.
    """
    points = [v.x for v in before] + [x]
    matrix = gram(model.kernel, points)
    old = np.array([v.alpha for v in before] + [0.0])

    def objective(alpha):
        def f(z):
            return float(alpha @ [model.kernel(point, z) for point in points])

        return loss(f) + l2 / 2 * (alpha @ matrix @ alpha)

    change = np.array([model.score(point) for point in points]) - matrix @ old
    gradient = numerical_gradient(objective, old)
    np.testing.assert_allclose(change, -eta * gradient, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("_, kernelised, psi", SECOND_ORDER, ids=["M", "S"])
def test_kernel_step_is_the_numerical_functional_gradient(_, kernelised, psi, kernel):
    l2, eta = 0.4, 0.05
    model = kernelised(kernel, l2, eta)
    received: list[tuple[np.ndarray, int, float]] = []
    for x, y, weight in gaussian_stream(18, 3, seed=14, weighted=True):
        before = expansion(model)
        opposite = [v.x for v in model.vectors[-y]]
        importance = [v for _, label, v in received if label == -y]
        received.append((x, y, weight))
        model.learn(x, y, weight)
        if not opposite:
            continue

        def loss(f, x=x, y=y, weight=weight, opposite=opposite, importance=importance):
            margins = np.array([y * (f(x) - f(z)) for z in opposite])
            mean = np.average(margins, weights=importance)
            variance = np.average((margins - mean) ** 2, weights=importance)
            return weight * psi(mean, variance)

        assert_functional_gradient_step(model, before, x, loss, l2, eta)


@pytest.mark.parametrize("lr", [lr for lr, _ in RATES.values()], ids=RATES)
@pytest.mark.parametrize("linear, kernelised, _", SECOND_ORDER, ids=["M", "S"])
def test_linear_kernel_without_budget_is_the_linear_learner(linear, kernelised, _, lr):
    primal, dual = linear(L2, lr), kernelised(reference.linear, L2, lr)
    probes = [x for x, _y, _w in gaussian_stream(6, 3, seed=15)]
    for x, y, weight in gaussian_stream(60, 3, seed=16, weighted=True):
        primal.learn(x, y, weight)
        dual.learn(x, y, weight)
        expected = [primal.score(p) for p in probes]
        np.testing.assert_allclose([dual.score(p) for p in probes], expected, atol=1e-10)
    assert max(abs(s) for s in expected) > 0.1


def test_okaucm_at_zero_loss_and_zero_variance():
    model = reference.OKAUCM(reference.linear, 0.5, 0.1)
    model.learn(np.array([1.0]), -1)
    model.vectors[-1][0].alpha = 1.0
    model.learn(np.array([2.0]), +1)
    assert model.vectors[+1][0].alpha == pytest.approx(0.1 * 0.5)
    assert model.vectors[-1][0].alpha == pytest.approx((1 - 0.05) * 1.0 - 0.1 * 0.5)


@pytest.mark.parametrize("_, kernelised, psi", SECOND_ORDER, ids=["M", "S"])
def test_okauc_stores_the_first_class_with_weight_zero(_, kernelised, psi):
    model = kernelised(reference.rbf(1.0), 0.5, budget=(2, 1))
    for value in range(3):
        model.learn(np.array([float(value)]), +1)
    assert [(v.x[0], v.alpha) for v in model.vectors[+1]] == [(1, 0), (2, 0)]
    assert model.t == 3


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_removal_is_the_best_projection_on_one_vector(kernel):
    model = reference.OKAUCM(kernel, 0.3, 0.2, budget=(4, 5))
    removals = 0
    for x, y, weight in gaussian_stream(40, 3, seed=17):
        unlimited = copy.deepcopy(model)
        unlimited.capacity = reference.capacities(None)
        unlimited.learn(x, y, weight)
        model.learn(x, y, weight)
        if len(unlimited.vectors[y]) == len(model.vectors[y]):
            continue
        removals += 1
        removed, *kept = unlimited.vectors[y]
        assert [v.x.tolist() for v in model.vectors[y]] == [v.x.tolist() for v in kept]
        points = [v.x for v in unlimited.vectors[y]]
        matrix = gram(kernel, points)

        def residual(coefficients, matrix=matrix, removed=removed):
            difference = np.append(removed.alpha, -np.asarray(coefficients))
            return difference @ matrix @ difference

        received = [v.alpha - u.alpha for v, u in zip(model.vectors[y], kept, strict=True)]
        assert np.count_nonzero(received) <= 1
        best = min(
            residual(removed.alpha * share * unit)
            for unit in np.eye(len(kept))
            for share in np.linspace(-3, 3, 301)
        )
        assert residual(received) <= best + 1e-12
    assert removals > 20


def test_okauc_removal_ties_go_to_the_older_vector():
    model = reference.OKAUCM(reference.rbf(1.0), 0.5, 0.1, budget=3)
    for value in (0.0, 1.0, -1.0):
        model.learn(np.array([value]), +1)
    for v, alpha in zip(model.vectors[+1], (8.0, 1.0, 1.0), strict=True):
        v.alpha = alpha
    model.learn(np.array([9.0]), +1)  # no opposite vector: no shrink, no loss
    alphas = [v.alpha for v in model.vectors[+1]]
    assert alphas == pytest.approx([1 + 8 * math.exp(-1), 1, 0])


def test_okauc_removal_ignores_vectors_that_span_nothing():
    model = reference.OKAUCM(reference.linear, 0.5, 0.1, budget=2)
    model.learn(np.array([1.0]), +1)
    model.learn(np.array([0.0]), +1)
    model.vectors[+1][0].alpha = 3.0
    model.learn(np.array([2.0]), +1)
    assert [v.alpha for v in model.vectors[+1]] == pytest.approx([0, 1.5])
    assert model.score(np.array([1.0])) == pytest.approx(3.0)


# KOIL ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("loss_name, power", [("l1", 1), ("l2", 2)])
def test_koil_step_is_the_numerical_functional_gradient_over_its_violators(
    loss_name, power, kernel
):
    # Margins pass 1 after a few such steps, so that both violators and others occur.
    cost, eta, k = 2.0, 0.1, 3
    model = reference.KOIL(kernel, cost, eta, None, k, loss_name)
    truncated = satisfied = 0
    for x, y, weight in gaussian_stream(30, 2, seed=18, weighted=True):
        before = expansion(model)
        own, opposite = list(model.vectors[y]), [v.x for v in model.vectors[-y]]
        margin = {id(z): y * (model.score(x) - model.score(z)) for z in opposite}
        violating = [z for z in opposite if margin[id(z)] < 1]
        chosen = violating
        if len(violating) > k:
            # Nothing that was left out is nearer than what was taken.
            distance = {id(z): -kernel(x, z) for z in violating}
            limit = sorted(distance.values())[k - 1]
            chosen = [z for z in violating if distance[id(z)] <= limit]
            truncated += 1
        satisfied += len(violating) < len(opposite)
        model.learn(x, y, weight)
        if not opposite or (not own and not violating):
            continue
        assert len(chosen) <= k

        def loss(f, x=x, y=y, weight=weight, chosen=chosen):
            return cost * weight * sum(max(0.0, 1 - y * (f(x) - f(z))) ** power for z in chosen)

        assert_functional_gradient_step(model, before, x, loss, 1.0, eta)
    assert truncated > 0 and satisfied > 0


def koil(**settings) -> reference.KOIL:
    return reference.KOIL(reference.rbf(1.0), 2.0, 0.1, **settings)


def assert_vectors(model: reference.KOIL, y: int, expected: list[tuple[float, float]]) -> None:
    """The one-dimensional vectors of a class, oldest first, as `(x, alpha)`."""
    actual = [(v.x[0], v.alpha) for v in model.vectors[y]]
    np.testing.assert_allclose(actual, expected, rtol=1e-12)


def test_koil_alone_in_its_class_gets_a_step_of_its_own():
    model = koil()
    model.learn(np.array([0.0]), +1)
    assert_vectors(model, +1, [(0, 0.2)])
    model.learn(np.array([5.0]), +1, 3.0)  # still no opposite vector
    assert_vectors(model, +1, [(0, 0.18), (5, 0.6)])
    model.vectors[+1] = [reference.SupportVector(np.array([0.0]), 50.0)]
    model.learn(np.array([9.0]), -1)  # no own vector and no violator
    assert_vectors(model, -1, [(9, -0.2)])
    assert_vectors(model, +1, [(0, 45)])


def test_koil_stores_no_example_without_violators():
    model = koil()
    model.vectors[+1] = [reference.SupportVector(np.array([0.0]), 50.0)]
    model.vectors[-1] = [reference.SupportVector(np.array([9.0]), -1.0)]
    model.learn(np.array([0.1]), +1)
    assert_vectors(model, +1, [(0, 45)])
    assert_vectors(model, -1, [(9, -0.9)])


def test_koil_prefers_the_older_of_two_equally_near_violators():
    model = koil(k=1)
    model.vectors[-1] = [
        reference.SupportVector(np.array([value]), 0.0) for value in (5.0, 1.0, -1.0)
    ]
    model.learn(np.array([0.0]), +1)
    assert_vectors(model, -1, [(5, 0), (1, -0.2), (-1, 0)])
    assert_vectors(model, +1, [(0, 0.2)])


@pytest.mark.parametrize(
    "compensation, expected",
    [(True, [(1, 0.9 + 7.2), (-1, 1.8), (9, 0.2)]), (False, [(1, 0.9), (-1, 1.8), (9, 0.2)])],
)
def test_koil_fifo_hands_the_whole_weight_to_the_nearest_older_vector(compensation, expected):
    model = koil(budget=3, compensation=compensation)
    model.vectors[+1] = [
        reference.SupportVector(np.array([x]), alpha) for x, alpha in ((0, 8), (1, 1), (-1, 2))
    ]
    model.learn(np.array([9.0]), +1)
    assert_vectors(model, +1, expected)


def test_koil_reservoir_removes_by_age_and_may_discard_the_newcomer():
    rng = ScriptedReservoir([1, None, 0])
    model = koil(budget=2, policy="reservoir", rng=rng)
    model.learn(np.array([0.0]), +1)
    model.learn(np.array([1.0]), +1)
    model.learn(np.array([5.0]), +1)  # replaces 1, whose 0.18 goes to 0
    assert_vectors(model, +1, [(0, 0.162 + 0.18), (5, 0.2)])
    model.learn(np.array([4.0]), +1)  # discarded: its 0.2 goes to 5
    assert_vectors(model, +1, [(0, 0.3078), (5, 0.18 + 0.2)])
    model.learn(np.array([6.0]), +1)  # replaces 0, which is nearest to 5
    assert_vectors(model, +1, [(5, 0.342 + 0.27702), (6, 0.2)])
    assert rng.asked == [(3, 2), (4, 2), (5, 2)]


def test_koil_reservoir_counts_examples_that_it_did_not_store():
    rng = ScriptedReservoir([None])
    model = koil(budget=1, policy="reservoir", rng=rng)
    model.vectors[+1] = [reference.SupportVector(np.array([0.0]), 50.0)]
    model.vectors[-1] = [reference.SupportVector(np.array([9.0]), -1.0)]
    model.learn(np.array([0.1]), +1)  # no violator: not stored, the reservoir is not asked
    model.learn(np.array([9.1]), +1)
    assert rng.asked == [(2, 1)]
