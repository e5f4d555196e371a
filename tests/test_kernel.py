"""OKAUCM, OKAUCS and KOIL against a plain loop, their definition, brute force and bad kernels."""

from __future__ import annotations

import collections
import copy
import itertools
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from classifiers import assert_close, assert_unharmed, state
from hypothesis import given
from hypothesis import strategies as st
from river import optim
from scipy import stats
from test_kernels import Laplacian, rbf

import river_oauc
from river_oauc import KOIL, OAUCM, OAUCS, OKAUCM, OKAUCS
from river_oauc.acceleration import accelerate
from river_oauc.kernels import RBF, Kernel, Linear, Polynomial
from river_oauc.metrics import ExactROCAUC
from river_oauc.rankers.base import share_of_other
from river_oauc.rankers.score_statistics import ScoreStatistics
from river_oauc.rankers.support import SupportSet
from river_oauc.rankers.support_vectors import SupportVectors, largest, projection_target
from river_oauc.rankers.width import choose_kernel
from river_oauc.state import StateReader

Example = tuple[np.ndarray, bool, float]

each_learner = pytest.mark.parametrize("cls", [OKAUCM, OKAUCS, KOIL])
compiled_only = pytest.mark.skipif(not river_oauc.compiled, reason="there is no compiled code")


def features(x: np.ndarray) -> dict[str, float]:
    return {f"x{j}": value for j, value in enumerate(x.tolist())}


def make_stream(n: int, p: int, seed: int, weighted: bool = True) -> list[Example]:
    """Return two classes that overlap, with importance weights."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    x = rng.normal(size=(n, p)) + 0.7 * y[:, None]
    w = rng.choice([0.5, 1.0, 1.0, 3.0], size=n) if weighted else np.ones(n)
    return list(zip(x, y.tolist(), w.tolist(), strict=True))


def make_ties(n: int, seed: int) -> list[Example]:
    """Return few different vectors, exact in binary, which come again and again in both classes."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, size=(n, 2)) / 2
    weights = rng.choice([0.5, 1.0, 2.0], size=n)
    return list(zip(x, (rng.random(n) < 0.4).tolist(), weights.tolist(), strict=True))


def make_growing(n: int, p: int, seed: int) -> list[Example]:
    """Return examples whose features arrive one after the other."""
    stream = make_stream(n, p, seed)
    for i, (x, _, _) in enumerate(stream):
        x[2 + i // 2 :] = 0.0
    return stream


def learn(model: Any, stream: list[Example]) -> Any:
    for x, y, w in stream:
        model.learn_one(features(x), y, w)
    return model


def auc(model: Any, stream: list[Example]) -> float:
    metric = ExactROCAUC()
    for x, y, _ in stream:
        metric.update(y, model.predict_proba_one(features(x)))
    return metric.get()


# A plain loop ----------------------------------------------------------------------------------


class Stored:
    def __init__(self, x: np.ndarray, alpha: float, weight: float) -> None:
        self.x, self.alpha, self.weight = x, alpha, weight


class Plain:
    """A kernel learner on lists of stored examples, oldest first, that computes all anew."""

    projects = True

    def __init__(self, kernel: Callable, budget: Any, policy: str = "fifo") -> None:
        self.kernel, self.policy, self.rng = kernel, policy, random.Random(3)
        n_positive, n_negative = budget if isinstance(budget, tuple) else (budget, budget)
        self.budget = {True: n_positive, False: n_negative}
        self.stored: dict[bool, list[Stored]] = {True: [], False: []}
        self.n_learned = {True: 0, False: 0}
        self.gamma: float | None = None
        self.n_stored = 0

    def score(self, x: np.ndarray) -> float:
        return sum(v.alpha * self.kernel(v.x, x) for v in self.stored[True] + self.stored[False])

    def shrink(self, factor: float) -> None:
        for v in self.stored[True] + self.stored[False]:
            v.alpha *= factor

    def learn(self, x: np.ndarray, positive: bool, weight: float) -> None:
        self.n_learned[positive] += 1
        alpha = self.step(x, positive, weight)
        if alpha is None:
            return
        own = self.stored[positive]
        own.append(Stored(x, alpha, weight))
        removed = None
        if len(own) > self.budget[positive]:
            rank = 0
            if self.policy == "reservoir":
                rank = min(self.rng.randrange(self.n_learned[positive]), self.budget[positive])
            removed = own.pop(rank)
            self.add_to_target(removed, own)
        if removed is None or removed.x is not x:
            self.n_stored += 1
            if self.gamma is not None:
                self.choose_width()

    def add_to_target(self, removed: Stored, own: list[Stored]) -> None:
        def suitability(v: Stored) -> float:
            similarity, norm = self.kernel(v.x, removed.x), self.kernel(v.x, v.x)
            if not self.projects:
                return similarity
            return similarity**2 / norm if norm > 0 else 0.0

        # Rounding makes no difference between ties, of which the oldest comes first.
        best = max(map(suitability, own))
        heir = next(v for v in own if suitability(v) >= best - 1e-9 * abs(best))
        if not self.projects:
            heir.alpha += removed.alpha
        elif suitability(heir) > 0:
            share = self.kernel(heir.x, removed.x) / self.kernel(heir.x, heir.x)
            heir.alpha += share * removed.alpha

    def choose_width(self) -> None:
        if self.n_stored not in {2**k for k in range(13)}:
            return
        pairs = list(itertools.combinations(self.stored[True] + self.stored[False], 2))
        gamma = 0.25
        while pairs and np.mean([rbf(gamma)(v.x, u.x) for v, u in pairs]) < 1 / 64:
            gamma /= 2
        self.gamma, self.kernel = gamma, rbf(gamma)


class PlainOKAUC(Plain):
    """The formulas of the paper, with weighted means."""

    def __init__(self, *args: Any, loss: str, l2: float, eta: Callable, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.loss, self.l2, self.eta = loss, l2, eta

    def step(self, x: np.ndarray, positive: bool, weight: float) -> float:
        y, opposite = 1 if positive else -1, self.stored[not positive]
        if not opposite:
            return 0.0
        f = np.array([self.score(v.x) for v in opposite])
        shares = np.array([v.weight for v in opposite])
        shares /= shares.sum()
        mean = shares @ f
        b, eta = 1 - y * (self.score(x) - mean), self.eta(sum(self.n_learned.values()))
        if self.loss == "psi_m":
            r = math.sqrt(b * b + shares @ (f - mean) ** 2)
            p = (b + r) / 2
            alpha, changes = y * p / r, (y * p + (f - mean) / 2) / r
        else:
            alpha, changes = y * b, y * b + (f - mean)
        self.shrink(1 - eta * self.l2)
        for v, change in zip(opposite, eta * weight * shares * changes, strict=True):
            v.alpha -= change
        return eta * weight * alpha


class PlainKOIL(Plain):
    """The nearest violating pairs."""

    projects = False

    def __init__(self, *args: Any, loss: str, C: float, eta: float, k: int, **settings: Any):
        super().__init__(*args, **settings)
        self.loss, self.C, self.eta, self.k = loss, C, eta, k

    def step(self, x: np.ndarray, positive: bool, weight: float) -> float | None:
        y, score = 1 if positive else -1, self.score(x)
        own, opposite = self.stored[positive], self.stored[not positive]
        pairs = [(v, 1 - y * (score - self.score(v.x))) for v in opposite]
        pairs = [(v, excess) for v, excess in pairs if excess > 1e-12]
        # The sort is stable: of those with the same similarity, the oldest come first.
        pairs.sort(key=lambda pair: -round(self.kernel(x, pair[0].x), 10))
        self.shrink(1 - self.eta)
        step = self.eta * self.C * weight * y
        if not opposite or not (own or pairs):
            return step
        alpha = 0.0
        for v, excess in pairs[: self.k]:
            slope = 1.0 if self.loss == "l1" else 2.0 * excess
            v.alpha -= step * slope
            alpha += step * slope
        return alpha if pairs else None


KERNELS = {
    "RBF": (RBF(gamma=0.5), rbf(0.5)),
    "Polynomial": (Polynomial(degree=2, gamma=0.2), lambda x, z: (0.2 * x @ z + 1.0) ** 2),
    "Linear": (Linear(), lambda x, z: float(x @ z)),
}
each_kernel = pytest.mark.parametrize(("kernel", "formula"), KERNELS.values(), ids=KERNELS)


def case(cls: type, params: dict[str, Any], plain: type, **settings: Any) -> tuple[Any, Any]:
    """Return how to make a learner and its plain version, given a kernel and a budget."""
    policy = params.get("policy", "fifo")
    return (
        lambda kernel, budget: cls(kernel, budget=budget, seed=3, **params),
        lambda formula, budget: plain(formula, budget, policy=policy, **settings),
    )


def koil_case(loss: str, policy: str) -> tuple[Any, Any]:
    # Margins pass 1 after a few such steps, so that both violating and other pairs occur.
    settings = {"C": 2.0, "eta": 0.1, "k": 3, "loss": loss}
    return case(KOIL, {**settings, "policy": policy}, PlainKOIL, **settings)


SCHEDULE = optim.schedulers.InverseScaling(0.1)
CASES = {
    "OKAUCM": case(
        OKAUCM, {"l2": 0.1}, PlainOKAUC, loss="psi_m", l2=0.1, eta=lambda t: 1 / (0.1 * t)
    ),
    "OKAUCM-reservoir": case(
        OKAUCM,
        {"l2": 0.02, "lr": 0.2, "policy": "reservoir"},
        PlainOKAUC, loss="psi_m", l2=0.02, eta=lambda t: 0.2,
    ),
    "OKAUCS": case(
        OKAUCS, {"l2": 0.1, "lr": 0.05}, PlainOKAUC, loss="psi_s", l2=0.1, eta=lambda t: 0.05
    ),
    "OKAUCS-schedule": case(
        OKAUCS,
        {"l2": 0.1, "lr": SCHEDULE},
        PlainOKAUC, loss="psi_s", l2=0.1, eta=lambda t: SCHEDULE.get(t - 1),
    ),
    "KOIL-l1": koil_case("l1", "fifo"),
    "KOIL-l2-reservoir": koil_case("l2", "reservoir"),
}  # fmt: skip
each_case = pytest.mark.parametrize(("make", "make_plain"), CASES.values(), ids=CASES)


def assert_follows(model: Any, plain: Plain, stream: list[Example]) -> None:
    """Check after every step that both have stored the same, with the same coefficients."""
    for x, y, w in stream:
        model.learn_one(features(x), y, w)
        plain.learn(x, y, w)
        support = model.support
        expected = [v for label in (False, True) for v in plain.stored[label]]
        assert support.n == (len(plain.stored[False]), len(plain.stored[True]))
        assert support.vectors.tolist() == [v.x.tolist() for v in expected]
        assert support.importance.tolist() == [v.weight for v in expected]
        alphas = np.array([v.alpha for v in expected])
        np.testing.assert_allclose(
            support.coefficients, alphas, rtol=0, atol=1e-9 * np.abs(alphas).max()
        )
    probes = [x + 0.1 for x, _, _ in stream[:5]]
    assert_close(
        [model.score_one(features(x)) for x in probes], [plain.score(x) for x in probes], 1e-8
    )


@each_case
@each_kernel
@pytest.mark.parametrize("budget", [5, (3, 9)])
def test_it_is_the_plain_loop(make, make_plain, kernel, formula, budget):
    assert_follows(make(kernel, budget), make_plain(formula, budget), make_stream(60, 3, seed=0))


@pytest.mark.parametrize(("name", "budget"), list(itertools.product(CASES, [20, 100_000])))
def test_it_is_the_plain_loop_while_arrays_grow(name, budget):
    make, make_plain = CASES[name]
    kernel, formula = KERNELS["RBF"]
    assert_follows(make(kernel, budget), make_plain(formula, budget), make_stream(100, 3, seed=1))


@each_case
@each_kernel
@pytest.mark.parametrize("budget", [1, 5])
def test_ties_go_to_the_older_example(make, make_plain, kernel, formula, budget):
    assert_follows(make(kernel, budget), make_plain(formula, budget), make_ties(60, seed=budget))


@each_case
@pytest.mark.parametrize("make_examples", [make_stream, make_growing])
def test_the_default_width_is_that_of_the_plain_loop(make, make_plain, make_examples):
    model, plain = make(None, (6, 9)), make_plain(rbf(0.25), (6, 9))
    plain.gamma = 0.25
    stream = make_examples(150, 24, seed=3)
    for x, y, w in stream:
        model.learn_one(features(x), y, w)
        plain.learn(x, y, w)
        assert model.support.kernel == RBF(plain.gamma)
    assert plain.gamma < 0.25
    probes = [x for x, _, _ in stream]
    assert_close([model.score_one(features(x)) for x in probes], [plain.score(x) for x in probes])


# The definition --------------------------------------------------------------------------------


@each_kernel
@pytest.mark.parametrize("cls", [OKAUCM, OKAUCS])
def test_a_step_is_the_functional_gradient_of_the_loss_over_all_stored_pairs(cls, kernel, formula):
    """With f = Σ aᵢ k(xᵢ, ·), the derivative by aᵢ is the value at xᵢ of the gradient of f."""
    l2, eta = 0.4, 0.05
    model, stored = cls(kernel, l2=l2, lr=eta, budget=100), []
    for x, y, weight in make_stream(20, 3, seed=14):
        others = [(i, v) for i, (_, label, v) in enumerate(stored) if label != y]
        points = [z for z, _, _ in stored] + [x]
        gram = np.array([[formula(u, v) for v in points] for u in points])
        before = np.array([model.score_one(features(z)) for z in points])
        stored.append((x, y, weight))
        model.learn_one(features(x), y, weight)
        if not others:
            continue
        rows, importance = [i for i, _ in others], [v for _, v in others]

        def objective(
            values, change, rows=rows, importance=importance, y=y, weight=weight, before=before,
            gram=gram,
        ):  # fmt: skip
            margins = (1 if y else -1) * (values[-1] - values[rows])
            mean = np.average(margins, weights=importance)
            variance = np.average((margins - mean) ** 2, weights=importance)
            b = 1 - mean
            psi = b * b + variance if cls is OKAUCS else b + math.sqrt(b * b + variance)
            # |f + Σ changeᵢ k(xᵢ, ·)|², up to a constant.
            return weight * psi / 2 + l2 / 2 * (2 * change @ before + change @ gram @ change)

        h = 1e-5
        gradient = [
            (objective(before + h * gram @ e, h * e) - objective(before - h * gram @ e, -h * e))
            / (2 * h)
            for e in np.eye(len(points))
        ]
        after = np.array([model.score_one(features(z)) for z in points])
        np.testing.assert_allclose(after - before, -eta * np.array(gradient), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("lr", [None, 0.02, optim.schedulers.InverseScaling(0.05)])
@pytest.mark.parametrize(("kernelised", "linear"), [(OKAUCM, OAUCM), (OKAUCS, OAUCS)])
def test_with_the_linear_kernel_and_no_limit_it_is_the_linear_learner(kernelised, linear, lr):
    stream = make_stream(300, 4, seed=5)
    primal, dual = linear(2.0, lr), kernelised(Linear(), 2.0, lr, budget=300)
    for example in stream:
        learn(primal, [example])
        learn(dual, [example])
    probes = [features(x) for x, _, _ in stream[:20]]
    assert_close([dual.score_one(x) for x in probes], [primal.score_one(x) for x in probes], 1e-8)


@pytest.mark.parametrize("l2", [0.01, 1.0])
@pytest.mark.parametrize("kind", ["mixed", "far apart", "one class first"])
def test_the_norm_of_the_score_is_within_the_bound_of_the_lemma(kind, l2):
    stream = make_stream(150, 2, seed=7, weighted=False)
    if kind == "far apart":
        stream = [(x + 100.0 * y, y, w) for x, y, w in stream]
    elif kind == "one class first":
        stream.sort(key=lambda example: example[1])
    model, norm = OKAUCM(RBF(0.5), l2, budget=1_000), 0.0
    for example in stream:
        support = learn(model, [example]).support
        squared_norm = support.coefficients @ support.gram @ support.coefficients
        norm = max(norm, math.sqrt(max(squared_norm, 0.0)))
    assert norm <= (math.sqrt(2.0) + 0.5) / l2
    assert norm > 0.005 / l2


# Budgets ---------------------------------------------------------------------------------------


@each_kernel
@pytest.mark.parametrize("removed", [0, 2, 5])
def test_no_target_and_no_share_change_the_score_less_than_the_projection(kernel, formula, removed):
    """Brute force: the norm of the change, over all heirs and a fine grid of shares."""
    rng = np.random.default_rng(2)
    for _ in range(10):
        vectors, coefficients = rng.normal(size=(9, 2)), rng.normal(size=9)
        gram = np.array([[formula(x, z) for z in vectors] for x in vectors])
        stored = SupportVectors(
            kernel, (3, 5), vectors[:8], coefficients[:8], np.ones(8), gram[:8, :8]
        )
        support = SupportSet.of(stored, (3, 5))
        # One slot more than the budgets, for the next example.
        assert len(support.coefficients) == 9
        after = support.inserted(
            vectors[8], support.row(vectors[8]), gram[8, 8], True, support.coefficients.copy(),
            coefficients[8], 1.0, removed, projects=True,
        ).stored()  # fmt: skip
        gone, kept = 3 + removed, [i for i in range(3, 9) if i != 3 + removed]
        np.testing.assert_array_equal(after.vectors, vectors[[0, 1, 2, *kept]])
        np.testing.assert_array_equal(after.coefficients[:3], coefficients[:3])
        inherited = after.coefficients[3:] - coefficients[kept]
        assert np.count_nonzero(np.abs(inherited) > 1e-12) <= 1

        def change(inherited, gram=gram, kept=kept, gone=gone, lost=coefficients[gone]):
            difference = np.zeros(9)
            difference[kept], difference[gone] = inherited, -lost
            return difference @ gram @ difference

        best = min(
            change(coefficients[gone] * share * heir)
            for heir in np.eye(5)
            for share in np.linspace(-3, 3, 61)
        )
        assert change(inherited) <= best + 1e-12 * gram.max()


@st.composite
def similarities(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Return values with many ties, exact and rounded."""
    values = np.array(draw(st.lists(st.integers(-4, 4), min_size=1, max_size=12)), dtype=float)
    values *= draw(st.sampled_from([1e-20, 0.1, 1.0, 1e20]))
    noise = draw(st.lists(st.integers(-3, 3), min_size=len(values), max_size=len(values)))
    return values, values * (1.0 + 1e-15 * np.array(noise))


@given(similarities(), st.data())
def test_the_largest_values_are_the_first_of_a_stable_sort(drawn, data):
    exact, rounded = drawn
    k = data.draw(st.integers(1, len(exact)))
    expected = sorted(range(len(exact)), key=lambda i: -exact[i])
    assert sorted(largest(rounded, k)) == sorted(expected[:k])
    assert projection_target(rounded, np.ones(len(exact)), projects=False) == (expected[0], 1.0)


@pytest.mark.parametrize(("n", "budget"), [(6, 3), (5, 1)])
def test_every_sample_is_equally_likely_to_be_in_the_reservoir(n, budget):
    drawn = collections.Counter()
    for seed in range(500):
        model = OKAUCM(Linear(), budget=budget, policy="reservoir", seed=seed)
        for value in range(n):
            model.learn_one({"a": float(value)}, False)
        drawn[tuple(model.support.vectors[:, 0].tolist())] += 1
    samples = list(itertools.combinations(map(float, range(n)), budget))
    assert drawn.keys() <= set(samples)
    assert stats.chisquare([drawn[sample] for sample in samples]).pvalue > 1e-3


def test_koil_is_content_with_a_margin_of_exactly_one():
    model = KOIL(Linear(), C=1.0, eta=0.5)
    model.learn_one({"a": 2.0}, True)
    assert model.score_one({"a": 1.0}) == 1.0
    # The margin over the positive is 1: no violation. The first of a class has a step anyway.
    model.learn_one({"a": 1.0}, False)
    assert model.support.coefficients.tolist() == [-0.5, 0.25]


# The default width -----------------------------------------------------------------------------


def test_a_sample_of_the_vectors_stands_for_all_of_them():
    vectors = np.random.default_rng(1).normal(size=(1_100, 20))
    for n, step in ((511, 1), (512, 2), (1_100, 3)):
        # Those that are left out are far away from all others.
        outliers = np.arange(n) % step > 0
        vectors[:n][outliers] = 1e9 * np.arange(1, outliers.sum() + 1)[:, np.newaxis]
        assert choose_kernel(vectors[:n]) == choose_kernel(vectors[:n:step])


@each_learner
def test_by_default_it_ranks_by_many_features(cls):
    """With the narrowest width, every example would be alone."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(1_200, 76))
    odds = x[:, :5].sum(axis=1)
    stream = list(zip(x, (odds > np.quantile(odds, 0.7)).tolist(), [1.0] * 1_200, strict=True))
    assert auc(learn(cls(), stream[:800]), stream[800:]) > 0.65
    fixed = learn(cls(RBF(0.25)), stream[:800])
    assert auc(fixed, stream[800:]) < 0.57


@each_learner
def test_the_width_narrows_again(cls):
    stream = make_stream(200, 3, seed=4)
    model = learn(cls(budget=8), [(100.0 * x, y, w) for x, y, w in stream[:40]])
    assert model.support.kernel.gamma < 0.01
    assert learn(model, stream[40:]).support.kernel == RBF(0.25)


# Merging ---------------------------------------------------------------------------------------


def counts(stream: list[Example]) -> tuple[int, int]:
    n_positive = sum(y for _, y, _ in stream)
    return len(stream) - n_positive, n_positive


@each_learner
def test_a_merged_score_is_the_average_of_both(cls):
    first, second = make_stream(60, 3, seed=1), make_stream(120, 3, seed=2)
    a, b = (learn(cls(RBF(0.5), budget=200), stream) for stream in (first, second))
    share = share_of_other(counts(first), counts(second))
    probes = [features(x) for x, _, _ in make_stream(20, 3, seed=3)]
    expected = [(1 - share) * a.score_one(x) + share * b.score_one(x) for x in probes]
    merged = a + b
    assert_close([merged.score_one(x) for x in probes], expected)
    assert_close([(a + cls(RBF(0.5), budget=200)).score_one(probes[0])], [a.score_one(probes[0])])
    support = merged.support
    for x, row in zip(support.vectors, support.gram, strict=True):
        np.testing.assert_allclose(row, [rbf(0.5)(x, z) for z in support.vectors], rtol=1e-12)


@each_learner
@pytest.mark.parametrize("policy", ["fifo", "reservoir"])
def test_a_merged_model_keeps_to_its_budget_and_passes_coefficients_on(cls, policy):
    a, b = (cls(RBF(0.5), budget=5, policy=policy, seed=1) for _ in range(2))
    streams = make_stream(60, 2, seed=1), make_stream(50, 2, seed=2)
    before = [learn(model, stream).support for model, stream in zip((a, b), streams, strict=True)]
    merged = (a + b).support
    assert merged.n == (5, 5)
    share = share_of_other(*map(counts, streams))
    plain = Plain(rbf(0.5), 5)
    plain.projects = cls is not KOIL
    for positive in (False, True):
        kept = merged.vectors[merged.slots(positive)].tolist()
        own = {tuple(x): Stored(np.array(x), 0.0, 1.0) for x in kept}
        removed = []
        for part, factor in zip(before, (1 - share, share), strict=True):
            rows = part.slots(positive)
            for x, alpha in zip(part.vectors[rows], factor * part.coefficients[rows], strict=True):
                if tuple(x) in own:
                    own[tuple(x)].alpha = alpha
                else:
                    removed.append(Stored(x, alpha, 1.0))
        if policy == "fifo":
            newest = [part.vectors[part.slots(positive)][-2:].tolist() for part in before]
            assert all(x in kept for x in itertools.chain(*newest))
        assert len(removed) == 5
        for one in removed:
            plain.add_to_target(one, list(own.values()))
        np.testing.assert_allclose(
            merged.coefficients[merged.slots(positive)], [v.alpha for v in own.values()], atol=1e-12
        )


@each_learner
def test_a_merged_model_has_the_wider_kernel(cls):
    wide, narrow = learn(cls(), make_stream(100, 60, seed=7)), learn(cls(), make_stream(80, 2, 8))
    gamma = wide.support.kernel.gamma
    assert gamma < narrow.support.kernel.gamma == 0.25
    for merged in (wide + narrow, narrow + wide):
        support = merged.support
        assert support.kernel == RBF(gamma)
        np.testing.assert_allclose(support.gram[0], RBF(gamma)(support.vectors[0], support.vectors))


# Calibration -----------------------------------------------------------------------------------


def fading_weights(n: int, memory: int) -> np.ndarray:
    """Return the weights of n values in an average that value t enters with 1 / min(t, memory)."""
    rates = 1.0 / np.minimum(np.arange(1, n + 1), memory)
    return rates * np.append(np.cumprod((1.0 - rates)[:0:-1])[::-1], 1.0)


@pytest.mark.parametrize("n", [2, 31, 400])
def test_score_statistics_are_fading_averages_in_units_of_the_recent_scores(n):
    rng = np.random.default_rng(n)
    positive = rng.random(n) < 0.4
    positive[:2] = True, False
    importance = rng.uniform(0.5, 2.0, n)
    # The scores grow a hundredfold on the way.
    scores = (rng.normal(size=n) + positive) * np.geomspace(1.0, 100.0, n)
    statistics = ScoreStatistics()
    for example in zip(scores.tolist(), positive.tolist(), importance.tolist(), strict=True):
        statistics = statistics.updated(*example)
    units = [math.sqrt(fading_weights(t, 30) @ scores[:t] ** 2) for t in range(1, n + 1)]
    means, variances = [], []
    for label in (False, True):
        own = (scores / units)[positive == label]
        weights = fading_weights(len(own), 100)
        means.append(weights @ own)
        variances.append(weights @ (own - weights @ own) ** 2)
    assert [each.n for each in statistics.classes] == [np.sum(~positive), np.sum(positive)]
    assert statistics.mean_square == pytest.approx(units[-1] ** 2)
    assert [each.mean for each in statistics.classes] == pytest.approx(means)
    assert [each.variance for each in statistics.classes] == pytest.approx(variances, abs=1e-12)
    middle = units[-1] * sum(means) / 2 + 7.0
    assert statistics.logit(middle, 7.0, empirical=False) == pytest.approx(0.0, abs=1e-9)
    odds = np.sum(importance[positive]) / np.sum(importance[~positive])
    assert statistics.logit(middle, 7.0, empirical=True) == pytest.approx(math.log(odds))


@each_learner
def test_probabilities_are_those_of_scores_relative_to_the_stored_ones_of_their_time(cls):
    model, statistics, level = cls(RBF(0.5), budget=10), ScoreStatistics(), 0.0
    for x, y, w in make_stream(100, 3, seed=22):
        score, p = model.score_one(features(x)), model.predict_proba_one(features(x))[True]
        logit = statistics.logit(score, level, empirical=False)
        # Beyond 8 logits the probability grows more slowly.
        assert math.log(p / (1 - p)) == pytest.approx(logit, rel=1e-6, abs=1e-6) or abs(logit) > 8
        statistics = statistics.updated(score - level, y, w)
        support = learn(model, [(x, y, w)]).support
        scores = support.gram @ support.coefficients
        level = np.mean(
            [
                np.average(scores[rows], weights=support.importance[rows])
                for rows in map(support.slots, (False, True))
                if len(scores[rows])
            ]
        )


# Twins and states ------------------------------------------------------------------------------


def assert_states_close(mine: Any, theirs: Any) -> None:
    if isinstance(mine, dict):
        assert mine.keys() == theirs.keys()
        mine, theirs = list(mine.values()), list(theirs.values())
    if isinstance(mine, list):
        for one, other in zip(mine, theirs, strict=True):
            assert_states_close(one, other)
    elif isinstance(mine, float | np.ndarray):
        scale = np.max(np.abs(theirs), initial=1e-300)
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12 * scale)
    else:
        assert mine == theirs


@compiled_only
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kernel", [None, Laplacian(0.5), *(each for each, _ in KERNELS.values())])
def test_the_compiled_step_is_the_numpy_step(name, kernel):
    make = CASES[name][0]
    stream = make_growing(120, 6, seed=5) if kernel is None else make_stream(120, 3, seed=5)
    for budget in ((4, 7), 40):
        model = make(kernel, budget)
        for x, y, w in stream:
            numpy_ranker = model._numpy_ranker()
            twin = accelerate(model._numpy_ranker())
            assert type(twin) is not type(numpy_ranker)
            # Coefficients of both signs may cancel.
            scale = 1.0 + np.abs(numpy_ranker.support.coefficients).dot(
                np.abs(numpy_ranker.support.row(x[: numpy_ranker.n_features]))
            )
            assert twin.score(x) == pytest.approx(numpy_ranker.score(x), abs=1e-12 * scale)
            numpy_ranker.learn(x, y, w)
            twin.learn(x, y, w)
            score = numpy_ranker.score(x)
            assert twin.logit(score, True) == pytest.approx(numpy_ranker.logit(score, True))
            # The order of the slots is of no importance.
            again = model._new_ranker()
            again.set_state(StateReader(twin.get_state(), "twin"))
            mine, theirs = (
                {
                    **vars(ranker.support.stored()),
                    "statistics": ranker.statistics.get_state(),
                    "n_stored": ranker.n_stored,
                }
                for ranker in (again, numpy_ranker)
            )
            assert_states_close(mine, theirs)
            model.learn_one(features(x), y, w)


@each_learner
def test_a_damaged_state_is_refused(cls):
    model = learn(cls(RBF(0.5), budget=4, seed=1), make_stream(40, 2, seed=1))
    intact = model.__getstate__()["ranker"]["support"]
    n, negatives = len(intact["vectors"]), intact["negatives"]
    classes = model.__getstate__()["ranker"]["statistics"]["classes"]
    for part, changes in [
        ("support", {"negatives": intact["positives"]}),
        ("support", {"negatives": negatives + n}),
        ("support", {"negatives": negatives - n}),
        ("support", {"negatives": negatives[:1]}),
        ("support", {"negatives": np.append(negatives[:-1], n)}),
        ("support", {"positives": np.append(intact["positives"][:-1], n)}),
        ("support", {"negatives": np.arange(n), "positives": np.arange(0)}),
        ("support", {"importance": np.zeros(n)}),
        ("support", {"coefficients": np.full(n, 1e60)}),
        ("support", {"gram": intact["gram"][:-1]}),
        ("statistics", ScoreStatistics().get_state()),
        ("statistics", {"classes": [{**each, "mean": 6.5} for each in classes]}),
    ]:
        damaged = copy.deepcopy(model.__getstate__())
        damaged["ranker"][part].update(changes)
        with pytest.raises(ValueError, match="damaged"):
            cls.__new__(cls).__setstate__(damaged)


@each_learner
def test_the_support_is_a_read_only_copy(cls):
    model = learn(cls(RBF(0.5), budget=4), make_stream(40, 3, seed=1))
    before, support = state(model), model.support
    assert support.vectors.shape == (8, 3)
    np.testing.assert_allclose(
        support.gram, [RBF(0.5)(x, support.vectors) for x in support.vectors], rtol=1e-12
    )
    x = np.array([0.3, 0.2, 0.1])
    score = support.coefficients @ RBF(0.5)(x, support.vectors)
    assert model.score_one(features(x)) == pytest.approx(score)
    for array in (support.vectors, support.coefficients, support.importance, support.gram):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    assert state(model) == before


# Kernels of users ------------------------------------------------------------------------------


class Hooked(RBF):
    """A kernel that calls a function of the test."""

    hook: Any = None

    def __call__(self, x: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        result = super().__call__(x, vectors)
        hook, Hooked.hook = Hooked.hook, None
        return hook(x, vectors, result) if hook else result

    self_similarity = Kernel.self_similarity


def hooked_model(cls: type, n: int = 40, **params: Any) -> Any:
    Hooked.hook = None
    return learn(cls(Hooked(0.5), budget=4, seed=1, **params), make_stream(n, 2, seed=1))


def hooked_learn(model: Any, hook: Any) -> None:
    Hooked.hook = hook
    model.learn_one({"x0": 0.123, "x1": 0.5}, True)


BAD_RESULTS = {
    "a number": lambda x, vectors, result: 1.0,
    "too short": lambda x, vectors, result: result[1:],
    "a column": lambda x, vectors, result: result[:, None],
    "complex": lambda x, vectors, result: result + 1j,
    "text": lambda x, vectors, result: ["a"] * len(vectors),
    "None": lambda x, vectors, result: None,
    "NaN": lambda x, vectors, result: np.full(len(vectors), np.nan),
    "huge": lambda x, vectors, result: np.full(len(vectors), 1e60),
    "writing": lambda x, vectors, result: vectors.fill(0.0),
    "writing x": lambda x, vectors, result: x.fill(0.0),
}


@each_learner
@pytest.mark.parametrize("hook", BAD_RESULTS.values(), ids=BAD_RESULTS)
def test_a_useless_result_of_a_kernel_is_refused(cls, hook):
    model = hooked_model(cls)
    before = state(model)
    with pytest.raises(ValueError, match=r"the kernel Hooked|read-only"):
        hooked_learn(model, hook)
    Hooked.hook = hook
    with pytest.raises(ValueError, match=r"the kernel Hooked|read-only"):
        model.score_one({"x0": 5.0})
    assert state(model) == before


@each_learner
@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("n", [0, 5, 40])
def test_a_kernel_may_raise_anything(cls, error, n):
    def hook(x, vectors, result):
        raise error

    model = hooked_model(cls, n)
    before = state(model)
    with pytest.raises(error):
        hooked_learn(model, hook)
    if n:
        assert state(model) == before
    assert_unharmed(model)


@each_learner
def test_a_kernel_may_reuse_its_result_and_reshape_its_arguments(cls):
    buffer = np.zeros(100)

    def hook(x, vectors, result):
        vectors.shape, x.shape = (vectors.size,), (1, x.size)
        buffer[: len(result)] = result
        return buffer[: len(result)]

    model, expected = hooked_model(cls), hooked_model(cls)
    Hooked.hook = hook
    model.score_one({"x0": 0.123, "x1": 0.5})
    buffer[:] = 7.0
    for one in (model, expected):
        hooked_learn(one, None)
    assert state(model) == state(expected)


@each_learner
@pytest.mark.parametrize("n", [3, 40])
@pytest.mark.parametrize("call", ["learn_one", "score_one"])
def test_a_kernel_must_not_make_the_model_learn(cls, n, call):
    model, expected = hooked_model(cls, n), hooked_model(cls, n)
    inner = [({"x0": 0.7, "x1": 0.1 * i, "new": 1.0}, i % 2 == 0) for i in range(20)]

    def hook(x, vectors, result):
        for example in inner:
            model.learn_one(*example)
        # Whatever happens to the outer example, the inner ones have been learned.
        raise ZeroDivisionError

    Hooked.hook = hook
    with pytest.raises(RuntimeError, match="must call learn_one"):
        getattr(model, call)({"x0": 0.123, "new": 0.5}, *([True] if call == "learn_one" else []))
    for example in inner:
        expected.learn_one(*example)
    assert state(model) == state(expected)
    assert_unharmed(model)


@each_learner
def test_a_kernel_may_make_the_model_predict(cls):
    model, expected = hooked_model(cls), hooked_model(cls)

    def hook(x, vectors, result):
        model.score_one({"x0": 0.7})
        return result

    hooked_learn(model, hook)
    hooked_learn(expected, None)
    assert state(model) == state(expected)


class Meddling(optim.base.Scheduler):
    """A schedule that makes the model learn."""

    model: Any = None

    def get(self, t: int) -> float:
        model, Meddling.model = Meddling.model, None
        if model is not None:
            model.learn_one({"x0": 0.5}, True)
        return 0.1


@pytest.mark.parametrize("cls", [OKAUCM, OKAUCS])
def test_a_schedule_must_not_make_the_model_learn(cls):
    model = learn(cls(lr=Meddling(), budget=4), make_stream(40, 2, seed=1))
    Meddling.model = model
    with pytest.raises(RuntimeError, match="must call learn_one"):
        model.learn_one({"x0": 1.0}, False)
    assert_unharmed(model)


@each_learner
def test_a_kernel_sees_no_example_that_has_been_removed(cls):
    model, seen = hooked_model(cls), []
    Hooked.hook = lambda x, vectors, result: seen.extend(vectors.tolist()) or result
    model.score_one({"x0": 0.123, "x1": 0.5})
    assert {*map(tuple, seen)} == {*map(tuple, model.support.vectors.tolist())}


class Counting(RBF):
    """Counts its calls, on the class and not in the models."""

    n_calls = 0

    def __call__(self, x: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        Counting.n_calls += 1
        return super().__call__(x, vectors)


@each_learner
def test_an_example_that_has_just_been_scored_is_not_compared_again(cls):
    asked, silent = (cls(Counting(0.5), budget=3, seed=0) for _ in range(2))
    for x, y, w in make_stream(60, 3, seed=21):
        learn(silent, [(x, y, w)])
        asked.score_one(features(-x))
        asked.score_one(features(x))
        before = Counting.n_calls
        learn(asked, [(x, y, w)])
        # Only the first example of all comes with new features.
        assert Counting.n_calls == before or sum(asked.support.n) <= 1
        assert state(asked) == state(silent)


# Parameters ------------------------------------------------------------------------------------

NOT_POSITIVE = [0.0, -1.0, math.nan, math.inf, True, "1"]
NOT_BUDGETS = [0, -1, 1.0, True, "1", None, (0, 5), (5, 0), (5, 1.5), (5,), (1, 2, 3), (), [3, 5]]


@pytest.mark.parametrize(
    ("cls", "name", "bad"),
    [
        *((cls, "l2", bad) for cls in (OKAUCM, OKAUCS) for bad in NOT_POSITIVE[1:]),
        *((cls, "lr", bad) for cls in (OKAUCM, OKAUCS) for bad in NOT_POSITIVE),
        (OKAUCM, "l2", 0.0),
        *((cls, "budget", bad) for cls in (OKAUCM, KOIL) for bad in NOT_BUDGETS),
        *((KOIL, name, bad) for name in ("C", "eta") for bad in NOT_POSITIVE),
        *((KOIL, "k", bad) for bad in (0, 1.0, True, None)),
        *((KOIL, "loss", bad) for bad in ("hinge", None)),
        *((cls, name, "random") for cls in (OKAUCM, KOIL) for name in ("policy", "prior")),
        *((cls, "kernel", bad) for cls in (OKAUCM, KOIL) for bad in ("rbf", 1.0, RBF)),
    ],
)
def test_a_bad_parameter_is_refused_by_name(cls, name, bad):
    with pytest.raises(ValueError, match=f"^{name} is "):
        cls(**{name: bad})
