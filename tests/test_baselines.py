"""The linear baselines against their formulas as plain loops, and against river."""

from __future__ import annotations

import collections
import functools
import itertools
import math
import random
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from classifiers import state
from hypothesis import given, settings
from hypothesis import strategies as st
from river import linear_model, optim
from scipy import stats

from river_oauc import FTRLAUC, OAM, OLUBAUC, PAI, SOLAM, SPAUC, AdaOAM, Perceptron
from river_oauc.metrics import ExactROCAUC

Example = tuple[np.ndarray, bool, float]

UPDATES, WEIGHTINGS = ("gradient", "sequential"), ("paper", "constant")

MAKERS: dict[str, Callable[[], Any]] = {
    "Perceptron": Perceptron,
    "PAI": functools.partial(PAI, C=0.3),
    "OLUBAUC": functools.partial(OLUBAUC, l2=0.1, lr=0.05),
    "OLUBAUC-balanced": functools.partial(OLUBAUC, l2=0.5, class_balanced=True),
    "SOLAM": functools.partial(SOLAM, xi=0.3, R=2.0),
    "SPAUC": functools.partial(SPAUC, c=0.1, l2=0.01),
    "OAM": functools.partial(OAM, C=0.05, buffer_size=4, seed=3),
    "OAM-sequential": functools.partial(OAM, 0.05, 4, "sequential", "constant", seed=3),
}
each_baseline = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
each_update = pytest.mark.parametrize("update", UPDATES)


def random_stream(
    n: int, p: int, share: float, seed: int, late: int = 0, weighted: bool = False
) -> list[Example]:
    """Return two classes that overlap; the last features are 0 in the first third."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < share
    x = rng.normal(size=(n, p)) + rng.uniform(-1.0, 1.0, size=p) + 0.7 * y[:, None]
    x[: n // 3, p - late :] = 0.0
    w = rng.choice([0.0, 0.3, 1.0, 1.0, 5.0], size=n) if weighted else np.ones(n)
    return list(zip(x, y.tolist(), w.tolist(), strict=True))


def features(x: np.ndarray) -> dict[str, float]:
    return {f"x{j}": value for j, value in enumerate(x.tolist())}


def learn(model: Any, stream: list[Example]) -> Any:
    for x, y, w in stream:
        # Zeros are left out: an absent feature is 0.
        model.learn_one({name: value for name, value in features(x).items() if value}, y, w)
    return model


def weights_of(model: Any, p: int) -> np.ndarray:
    return np.array([model.weights.get(f"x{j}", 0.0) for j in range(p)])


# The formulas ----------------------------------------------------------------------------------


class PlainPerceptron:
    def __init__(self, p: int) -> None:
        self.w = np.zeros(p)

    def learn(self, x: np.ndarray, y: int, weight: float) -> None:
        if y != (1 if self.w @ x >= 0 else -1):
            self.w = self.w + weight * y * x


class PlainPAI(PlainPerceptron):
    def __init__(self, p: int, cost: float) -> None:
        super().__init__(p)
        self.cost = cost

    def learn(self, x: np.ndarray, y: int, weight: float) -> None:
        loss = max(0.0, 1 - y * (self.w @ x))
        if x.any():
            self.w = self.w + min(self.cost * weight, loss / (x @ x)) * y * x


class PlainOLUBAUC(PlainPerceptron):
    def __init__(self, p: int, l2: float, margin: float, balanced: bool, lr: Any) -> None:
        super().__init__(p)
        self.l2, self.margin, self.balanced, self.lr = l2, margin, balanced, lr
        self.theta, self.labels = 0.0, []

    def learn(self, x: np.ndarray, y: int, weight: float) -> None:
        self.labels.append(y)
        t = len(self.labels)
        eta = 1 / (self.l2 * t) if self.lr is None else self.lr(t - 1)
        violated = y * (self.w @ x - self.theta) < self.margin
        if self.balanced:
            weight *= t / (2 * self.labels.count(y))
        self.w = (1 - eta * self.l2) * self.w + eta * weight * violated * y * x
        self.theta -= eta * weight * violated * y


class PlainOAM(PlainPerceptron):
    def __init__(
        self, p: int, cost: float, capacity: int, update: str, weighting: str, seed: int
    ) -> None:
        super().__init__(p)
        self.cost, self.capacity, self.update, self.weighting = cost, capacity, update, weighting
        self.buffers: dict[int, list[np.ndarray]] = {1: [], -1: []}
        self.n = {1: 0, -1: 0}
        self.rng = random.Random(seed)

    def learn(self, x: np.ndarray, y: int, weight: float) -> None:
        cost = weight * self.cost / 2
        if self.weighting == "paper":
            cost *= max(1, self.n[-y] / self.capacity)
        before = self.w
        for z in self.buffers[-y]:
            d = y * (x - z)
            if self.update == "gradient":
                self.w = self.w + cost * (before @ d <= 1) * d
            elif d.any():
                self.w = self.w + min(cost, max(0.0, 1 - self.w @ d) / (d @ d)) * d
        self.n[y] += 1
        if len(self.buffers[y]) < self.capacity:
            self.buffers[y].append(x)
        else:
            slot = self.rng.randrange(self.n[y])
            if slot < self.capacity:
                self.buffers[y][slot] = x


class Stored(PlainPerceptron):
    """A learner that keeps all examples, and looks at them again at every step."""

    def __init__(self, p: int) -> None:
        super().__init__(p)
        self.xs: list[np.ndarray] = []
        self.ys: list[int] = []
        self.weights: list[float] = []

    def store(self, x: np.ndarray, y: int, weight: float) -> None:
        self.xs.append(x)
        self.ys.append(y)
        self.weights.append(weight)

    @property
    def q(self) -> float:
        """The share of positives."""
        return self.average([y == 1 for y in self.ys])

    def average(self, values: Any, y: int | None = None) -> Any:
        """Return the weighted mean over all examples, or those of a class; 0 if there are none."""
        weights = np.array(self.weights) * [y in (None, each) for each in self.ys]
        return np.average(values, axis=0, weights=weights) if weights.any() else 0.0


class PlainSOLAM(Stored):
    def __init__(self, p: int, xi: float, R: float) -> None:
        super().__init__(p)
        self.xi, self.R = xi, R
        self.iterate, self.a, self.b, self.alpha = np.zeros(p), 0.0, 0.0, 0.0
        self.path: list[tuple[float, np.ndarray]] = []

    @staticmethod
    def gradients(
        w: np.ndarray, a: float, b: float, alpha: float, x: np.ndarray, y: int, q: float
    ) -> tuple[np.ndarray, float, float, float]:
        f = w @ x
        pull = -2 * q * (1 - q) * alpha
        if y == 1:
            of_w = 2 * (1 - q) * (f - a - 1 - alpha) * x
            return of_w, -2 * (1 - q) * (f - a), 0.0, -2 * (1 - q) * f + pull
        return 2 * q * (f - b + 1 + alpha) * x, 0.0, -2 * q * (f - b), 2 * q * f + pull

    def learn(self, x: np.ndarray, y: int, weight: float) -> None:
        self.store(x, y, weight)
        gamma = weight * self.xi / math.sqrt(len(self.xs))
        self.path.append((gamma, self.iterate))
        gradients = self.gradients(self.iterate, self.a, self.b, self.alpha, x, y, self.q)
        w = self.iterate - gamma * gradients[0]
        self.iterate = w * min(1.0, self.R / (np.linalg.norm(w) or 1.0))
        bound = self.R * max(np.linalg.norm(each) for each in self.xs)
        self.a = np.clip(self.a - gamma * gradients[1], -bound, bound)
        self.b = np.clip(self.b - gamma * gradients[2], -bound, bound)
        self.alpha = np.clip(self.alpha + gamma * gradients[3], -2 * bound, 2 * bound)
        self.w = sum(g * w for g, w in self.path) / sum(g for g, _ in self.path)


class PlainSPAUC(Stored):
    def __init__(self, p: int, c: float, l2: float) -> None:
        super().__init__(p)
        self.c, self.l2 = c, l2

    @staticmethod
    def gradient(
        w: np.ndarray, x: np.ndarray, y: int, q: float, u: np.ndarray, v: np.ndarray
    ) -> np.ndarray:
        own = (1 - q) * (w @ (x - u)) * (x - u) if y == 1 else q * (w @ (x - v)) * (x - v)
        return 2 * own + 2 * q * (1 - q) * (1 + w @ (v - u)) * (v - u)

    def learn(self, x: np.ndarray, y: int, weight: float) -> None:
        self.store(x, y, weight)
        u, v = self.average(self.xs, 1), self.average(self.xs, -1)
        eta = self.c / math.sqrt(len(self.xs))
        step = eta * weight * self.gradient(self.w, x, y, self.q, u, v)
        self.w = (self.w - step) / (1 + eta * self.l2)


class PlainAdaOAM(Stored):
    def __init__(self, p: int, l2: float, lr: float) -> None:
        super().__init__(p)
        self.l2, self.lr, self.gradients = l2, lr, [np.zeros(p)]

    def learn(self, x: np.ndarray, y: int, weight: float) -> None:
        if -y in self.ys:
            mean = self.average(self.xs, -y)
            covariance = self.average([np.outer(z - mean, z - mean) for z in self.xs], -y)
            d = y * (x - mean)
            of_loss = -(1 - self.w @ d) * d + covariance @ self.w
            self.gradients.append(self.l2 * self.w + weight * of_loss)
            roots = np.sqrt(np.sum(np.square(self.gradients), axis=0))
            w = self.w - self.lr * self.gradients[-1] / (1e-8 + roots)
            self.w = w / max(1.0, math.sqrt(self.l2) * np.linalg.norm(w))
        self.store(x, y, weight)


class PlainFTRLAUC(Stored):
    def __init__(self, p: int, alpha: float, beta: float, l1: float, l2: float) -> None:
        super().__init__(p)
        self.alpha, self.beta, self.l1, self.l2 = alpha, beta, l1, l2
        self.scores: list[float] = []
        self.gradients = [np.zeros(p)]
        self.path = [np.zeros(p)]

    @staticmethod
    def gradient(w: np.ndarray, x: np.ndarray, y: int, q: float, u: float, v: float) -> np.ndarray:
        s = w @ x
        return (2 * (1 - q) * (s - v - 1) if y == 1 else 2 * q * (s - u + 1)) * x

    def learn(self, x: np.ndarray, y: int, weight: float) -> None:
        self.store(x, y, weight)
        self.scores.append(self.w @ x)
        u, v = self.average(self.scores, 1), self.average(self.scores, -1)
        self.gradients.append(weight * self.gradient(self.w, x, y, self.q, u, v))
        self.path.append(self.w)
        self.w = np.array([self.leader(i) for i in range(len(x))])

    def terms(self, i: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the gradients of a weight, the strengths of the proximal terms, and its path."""
        g = np.array([gradient[i] for gradient in self.gradients])
        strengths = np.diff(np.sqrt(np.cumsum(g * g)), prepend=0.0) / self.alpha
        return g, strengths, np.array([w[i] for w in self.path])

    def loss(self, i: int, w: float) -> float:
        """Return what the leader minimises."""
        g, strengths, path = self.terms(i)
        proximal = strengths @ (w - path) ** 2 + self.beta / self.alpha * w**2
        return g.sum() * w + proximal / 2 + self.l1 * abs(w) + self.l2 / 2 * w**2

    def leader(self, i: int) -> float:
        g, strengths, path = self.terms(i)
        z = g.sum() - strengths @ path
        curvature = (self.beta + math.sqrt(g @ g)) / self.alpha + self.l2
        return 0.0 if abs(z) <= self.l1 else -(z - math.copysign(self.l1, z)) / curvature


@st.composite
def streams(draw: st.DrawFn) -> list[Example]:
    """Draw streams with any imbalance, importance weights and late features."""
    p = draw(st.integers(1, 6))
    n, share = draw(st.integers(2, 120)), draw(st.sampled_from([0.5, 0.2, 0.05]))
    seed, late = draw(st.integers(0, 2**32 - 1)), draw(st.integers(0, p - 1))
    return random_stream(n, p, share, seed, late, weighted=True)


def assert_follows(model: Any, plain: Any, stream: list[Example], tolerance: float = 1e-10) -> None:
    p = len(plain.w)
    for example in stream:
        x, y, weight = example
        before = plain.w
        learn(model, [example])
        if weight:
            plain.learn(x, 1 if y else -1, weight)
        # A step may end near 0, and its rounding is that of the weights that it began with.
        scale = max(np.linalg.norm(before), np.linalg.norm(plain.w))
        assert np.linalg.norm(weights_of(model, p) - plain.w) <= tolerance * scale


@given(stream=streams())
def test_the_perceptron_is_the_plain_loop(stream):
    assert_follows(Perceptron(), PlainPerceptron(len(stream[0][0])), stream)


@given(stream=streams(), cost=st.sampled_from([2**-6, 0.3, 1.0, 50.0]))
def test_pai_is_the_plain_loop(stream, cost):
    assert_follows(PAI(cost), PlainPAI(len(stream[0][0]), cost), stream)


@pytest.mark.parametrize("balanced", [False, True])
@given(
    stream=streams(),
    l2=st.sampled_from([1e-2, 0.3, 2.0]),
    margin=st.sampled_from([0.4, 1.0]),
    lr=st.sampled_from([None, 0.02, 0.3, optim.schedulers.InverseScaling(0.1)]),
)
def test_olubauc_is_the_plain_loop(balanced, stream, l2, margin, lr):
    as_function = lr.get if isinstance(lr, optim.base.Scheduler) else lr and (lambda t: lr)
    plain = PlainOLUBAUC(len(stream[0][0]), l2, margin, balanced, as_function)
    model = OLUBAUC(l2, margin, balanced, lr)
    assert_follows(model, plain, stream)
    assert model.threshold == pytest.approx(plain.theta, rel=1e-10, abs=1e-10)


@each_update
@pytest.mark.parametrize("weighting", WEIGHTINGS)
@given(
    stream=streams(),
    cost=st.sampled_from([2**-10, 0.05, 1.0]),
    capacity=st.sampled_from([1, 4, 10, 200]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=25)
def test_oam_is_the_plain_loop(update, weighting, stream, cost, capacity, seed):
    p = len(stream[0][0])
    plain = PlainOAM(p, cost, capacity, update, weighting, seed)
    model = OAM(cost, capacity, update, weighting, seed=seed)
    assert_follows(model, plain, stream)
    # The same examples are in the same slots.
    for positive, y in ((True, 1), (False, -1)):
        sample = sampled(model, positive)[:, : len(model.weights)].tolist()
        stored = [z.tolist() for z in plain.buffers[y]]
        known = [[row[int(name[1:])] for name in model.weights] for row in stored]
        assert sample == known


@given(stream=streams(), xi=st.sampled_from([0.02, 0.3]), R=st.sampled_from([0.05, 1.0, 50.0]))
@settings(max_examples=40)
def test_solam_is_the_plain_loop(stream, xi, R):
    assert_follows(SOLAM(xi, R), PlainSOLAM(len(stream[0][0]), xi, R), stream, 1e-12)


@given(stream=streams(), c=st.sampled_from([0.01, 0.1]), l2=st.sampled_from([0.0, 0.1, 3.0]))
@settings(max_examples=40)
def test_spauc_is_the_plain_loop(stream, c, l2):
    assert_follows(SPAUC(c, l2), PlainSPAUC(len(stream[0][0]), c, l2), stream, 1e-12)


@given(stream=streams(), l2=st.sampled_from([0.0, 0.1, 3.0]), lr=st.sampled_from([0.02, 0.3]))
@settings(max_examples=40)
def test_adaoam_is_the_plain_loop(stream, l2, lr):
    assert_follows(AdaOAM(l2, lr), PlainAdaOAM(len(stream[0][0]), l2, lr), stream, 1e-12)


@given(
    stream=streams(),
    alpha=st.sampled_from([0.02, 0.3]),
    beta=st.sampled_from([0.5, 1.0]),
    l1=st.sampled_from([0.0, 0.2, 2.0]),
    l2=st.sampled_from([0.0, 0.5]),
)
@settings(max_examples=40)
def test_ftrl_auc_is_the_plain_loop(stream, alpha, beta, l1, l2):
    p = len(stream[0][0])
    plain = PlainFTRLAUC(p, alpha, beta, l1, l2)
    assert_follows(FTRLAUC(alpha, beta, l1, l2), plain, stream, 1e-12)
    # Its weights are the best so far.
    for i, w in enumerate(plain.w):
        for other in (w - 1e-3, w + 1e-3, 0.0):
            assert plain.loss(i, w) <= plain.loss(i, other) + 1e-12


def test_the_mean_gradients_are_those_of_the_squared_loss_of_all_pairs():
    stream = random_stream(60, 3, 0.3, seed=5)
    xs, ys = np.array([x for x, _, _ in stream]), [1 if y else -1 for _, y, _ in stream]
    positives, negatives = xs[np.array(ys) == 1], xs[np.array(ys) == -1]
    q, u, v = len(positives) / len(xs), positives.mean(axis=0), negatives.mean(axis=0)

    def loss(w: np.ndarray) -> float:
        return q * (1 - q) * np.mean((1 - np.subtract.outer(positives @ w, negatives @ w)) ** 2)

    w = np.array([0.3, -0.2, 0.5])
    expected = [(loss(w + h) - loss(w - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
    a, b = w @ u, w @ v
    for gradient in (
        lambda x, y: PlainSOLAM.gradients(w, a, b, b - a, x, y, q)[0],
        lambda x, y: PlainSPAUC.gradient(w, x, y, q, u, v),
        lambda x, y: PlainFTRLAUC.gradient(w, x, y, q, a, b),
    ):
        mean = np.mean([gradient(x, y) for x, y in zip(xs, ys, strict=True)], axis=0)
        np.testing.assert_allclose(mean, expected, rtol=1e-7)


def test_an_l1_leaves_weights_of_rare_features_at_zero():
    model = FTRLAUC(l1=3.0)
    for i in range(300):
        model.learn_one({"often": float(i % 3 == 0), f"rare{i % 100}": 1.0}, i % 3 == 0)
    zeros = [name for name, weight in model.weights.items() if weight == 0.0]
    assert len(model.weights) == 101 and len(zeros) == 100
    assert model.weights["often"] > 0.0


def test_a_step_of_ftrl_auc_touches_the_features_of_its_example_only():
    model, known = FTRLAUC(), 20_000
    for y in (True, False):
        model.learn_one({f"x{j}": 1.0 for j in range(known)}, y)
    before = model.weights
    tracemalloc.start()
    model.learn_one({"x3": 2.0, "x7": 0.0}, True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # No array with a number for each of them.
    assert peak < known
    assert {name for name, weight in model.weights.items() if weight != before[name]} == {"x3"}


def sampled(model: OAM, positive: bool) -> np.ndarray:
    return model.__getstate__()["ranker"]["classes"][positive]["sample"]


@pytest.mark.parametrize("weighted", [False, True])
def test_the_perceptron_is_that_of_river_without_its_intercept(weighted):
    theirs = linear_model.Perceptron()
    theirs.intercept_lr = optim.schedulers.Constant(0.0)
    ours = Perceptron()
    # At a score of 0 river also moves for a positive: so a negative comes first, and no score is 0
    # after that.
    stream = random_stream(300, 4, 0.4, seed=0, weighted=weighted)
    for x, y, w in itertools.dropwhile(lambda example: example[1] or not example[2], stream):
        ours.learn_one(features(x), y, w)
        theirs.learn_one(features(x), y, w)
        assert ours.weights == pytest.approx(theirs.weights, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("cost", [0.01, 0.3, 10.0])
def test_pai_is_that_of_river_without_its_intercept(cost):
    theirs = linear_model.PAClassifier(C=cost, mode=1, learn_intercept=False)
    ours = PAI(cost)
    for x, y, _ in random_stream(300, 4, 0.3, seed=1):
        ours.learn_one(features(x), y)
        theirs.learn_one(features(x), y)
        assert ours.weights == pytest.approx(theirs.weights, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("zero", [{}, {"x0": 0.0, "x1": -0.0}, {"new": 0.0}])
@pytest.mark.parametrize("y", [False, True])
def test_an_example_of_length_zero_does_not_change_the_weights_of_pai(zero, y):
    model = PAI()
    for _ in range(2):
        before = model.weights
        model.learn_one(zero, y)
        assert model.weights == {**dict.fromkeys(zero, 0.0), **before}
        learn(model, random_stream(20, 2, 0.5, seed=3))


def test_a_margin_of_exactly_one_violates_in_oam():
    model = OAM(C=2.0, buffer_size=5, seed=0)
    model.learn_one({"a": 0.0}, False)
    # A step of C / 2 over a distance of 1, to a margin of 1, and then another.
    for expected in (1.0, 2.0, 2.0):
        model.learn_one({"a": 1.0}, True)
        assert model.weights == {"a": expected}


@each_baseline
def test_each_learns_to_rank(make):
    model = learn(make(), random_stream(500, 3, 0.3, seed=4))
    auc = ExactROCAUC()
    for x, y, _ in random_stream(300, 3, 0.3, seed=4):
        auc.update(y, model.score_one(features(x)))
    # The perceptron accepts any weights that are rarely wrong, and ranks accordingly.
    assert auc.get() > 0.6


# The reservoirs of OAM -------------------------------------------------------------------------


def kept_of(n: int, capacity: int, seed: int) -> tuple[int, ...]:
    """Return which of n examples of one class are in the reservoir in the end, by slot."""
    model = OAM(buffer_size=capacity, seed=seed)
    for i in range(n):
        model.learn_one({"a": float(i)}, True)
    return tuple(map(int, sampled(model, True)[:, 0]))


def assert_uniform(drawn: collections.Counter[Any], outcomes: list[Any]) -> None:
    assert drawn.keys() <= set(outcomes)
    assert stats.chisquare([drawn[outcome] for outcome in outcomes]).pvalue > 1e-3


@pytest.mark.parametrize(("n", "capacity"), [(7, 3), (6, 1), (5, 4)])
def test_every_sample_is_equally_likely(n, capacity):
    drawn = collections.Counter(tuple(sorted(kept_of(n, capacity, seed))) for seed in range(1500))
    assert_uniform(drawn, list(itertools.combinations(range(n), capacity)))


def test_every_slot_is_equally_likely_to_be_replaced():
    samples = (kept_of(5, 4, seed) for seed in range(1500))
    drawn = collections.Counter(sample.index(4) if 4 in sample else None for sample in samples)
    assert_uniform(drawn, [None, 0, 1, 2, 3])


def test_a_merged_sample_is_uniform_over_both_parts():
    drawn: collections.Counter[tuple[int, ...]] = collections.Counter()
    for seed in range(1500):
        parts = OAM(buffer_size=2, seed=seed), OAM(buffer_size=2, seed=seed + 10_000)
        for i in range(6):
            parts[i >= 4].learn_one({"a": float(i)}, True)
        merged = parts[0] + parts[1]
        drawn[tuple(sorted(map(int, sampled(merged, True)[:, 0])))] += 1
    assert_uniform(drawn, list(itertools.combinations(range(6), 2)))


def test_chance_is_that_of_the_seed():
    stream = random_stream(200, 3, 0.3, seed=6)
    models = [learn(OAM(buffer_size=5, seed=seed), stream) for seed in (1, 1, 2)]
    assert models[0].weights == models[1].weights != models[2].weights


# Refusals, merging, calibration ----------------------------------------------------------------

# A passive-aggressive step is long for a short vector only, and the others for a long one.
LONG_STEPS = {
    "Perceptron": (Perceptron(), 1e40),
    "PAI": (PAI(C=1e60), 1e-55),
    "OAM": (OAM(seed=0), 1e40),
    "OAM-sequential": (OAM(C=1e60, update="sequential", seed=0), 1e-55),
    "OLUBAUC": (OLUBAUC(), 1e40),
    # So rare a positive takes back the importance of the negative.
    "SOLAM": (SOLAM(xi=1e30), 1e40),
    "SPAUC": (SPAUC(c=1e30), 1e40),
    # Here each weight moves by the step, whatever the example.
    "AdaOAM": (AdaOAM(lr=8e49), 1e10),
    "FTRLAUC": (FTRLAUC(alpha=8e49), 1e10),
    # Here the threshold would go too far.
    "OLUBAUC-threshold": (OLUBAUC(lr=1e10), 1e-50),
}


@pytest.mark.parametrize(("untrained", "value"), LONG_STEPS.values(), ids=LONG_STEPS)
def test_a_step_that_is_too_large_is_refused_without_a_trace(untrained, value):
    model = untrained.clone()
    model.learn_one({"a": 0.0}, True)
    before = state(model)
    with pytest.raises(ValueError, match="would grow beyond 1e\\+50"):
        model.learn_one({"a": value, "new": value}, False, 1e50)
    assert state(model) == before
    model.learn_one({"a": 1.0}, False)
    # The average of SOLAM is one step behind.
    assert model.weights["a"] < 0.0 or isinstance(model, SOLAM)


@each_baseline
def test_merging_averages_by_the_rarer_class_and_adds_the_classes(make):
    stream = random_stream(90, 3, 0.4, seed=8, weighted=True)
    one, other = learn(make(), stream[:30]), learn(make(), stream[30:])
    sizes = []
    for part in (stream[:30], stream[30:]):
        n = [sum(w for _, y, w in part if y is label) for label in (False, True)]
        sizes.append(1 / (1 / n[0] + 1 / n[1]))
    share = sizes[1] / sum(sizes)
    merged = one + other
    expected = (1 - share) * weights_of(one, 3) + share * weights_of(other, 3)
    np.testing.assert_allclose(weights_of(merged, 3), expected, rtol=1e-12)
    if isinstance(merged, OLUBAUC):
        threshold = (1 - share) * one.threshold + share * other.threshold
        assert merged.threshold == pytest.approx(threshold)
    in_one_pass = learn(make(), stream).__getstate__()["ranker"]["classes"]
    for mine, theirs in zip(merged.__getstate__()["ranker"]["classes"], in_one_pass, strict=True):
        assert mine["n"] == pytest.approx(theirs["n"])
        assert mine["n_examples"] == theirs["n_examples"]
        np.testing.assert_allclose(mine["total"], theirs["total"], rtol=1e-12)


@each_baseline
def test_halfway_between_the_class_means_the_probability_is_one_half(make):
    stream = [example for example in random_stream(200, 3, 0.2, 3, weighted=True) if example[2]]
    model = make()
    compared = 0
    for t, example in enumerate(stream, start=1):
        learn(model, [example])
        classes = [[(x, w) for x, y, w in stream[:t] if y is label] for label in (False, True)]
        if all(classes):
            means = [
                np.average([x for x, _ in own], axis=0, weights=[w for _, w in own])
                for own in classes
            ]
            p = model.predict_proba_one(features((means[0] + means[1]) / 2))[True]
            assert p == pytest.approx(0.5, abs=1e-9)
            compared += 1
    assert compared > 100


@each_baseline
def test_the_slope_is_about_that_of_all_examples(make):
    stream = random_stream(600, 3, 0.3, seed=10)
    x, y = np.array([x for x, _, _ in stream]), np.array([y for _, y, _ in stream])
    model = make()
    factors = []
    for t, example in enumerate(stream, start=1):
        learn(model, [example])
        if t > 200:
            scores = x[:t] @ weights_of(model, 3)
            positive, negative = scores[y[:t]], scores[~y[:t]]
            gap = positive.mean() - negative.mean()
            deviation = math.sqrt((positive.var() + negative.var()) / 2)
            expected = max(gap / deviation, 0.1) / deviation
            ranker = model._numpy_ranker()
            slope = ranker.logit(1.0, False) - ranker.logit(0.0, False)
            factors.append(abs(math.log(slope / expected)))
    assert np.median(factors) < math.log(1.5)
    assert np.quantile(factors, 0.95) < math.log(2.5)


@pytest.mark.parametrize(
    ("cls", "name", "bad"),
    [
        *((cls, "C", bad) for cls in (PAI, OAM) for bad in (0.0, math.nan, math.inf, "1", None)),
        *((OAM, "buffer_size", bad) for bad in (0, -1, 1.0, True, None)),
        *((OAM, name, bad) for name in ("update", "weighting") for bad in ("Paper", None, 1)),
        *((OLUBAUC, name, bad) for name in ("l2", "margin") for bad in (0.0, -1.0, None)),
        *((SOLAM, name, bad) for name in ("xi", "R") for bad in (0.0, -1.0, None)),
        *((SPAUC, "c", bad) for bad in (0.0, -1.0, None)),
        *((AdaOAM, "lr", bad) for bad in (0.0, -1.0, None, optim.schedulers.Constant(1.0))),
        *((FTRLAUC, name, bad) for name in ("alpha", "beta") for bad in (0.0, -1.0, None)),
        *((SPAUC, "l2", bad) for bad in (-1.0, None)),
        *((FTRLAUC, name, bad) for name in ("l1", "l2") for bad in (-1.0, None)),
        *((OLUBAUC, "lr", bad) for bad in (0.0, -1.0, True, "1")),
    ],
)
def test_a_bad_parameter_is_refused_by_name(cls, name, bad):
    with pytest.raises(ValueError, match=f"^{name} is "):
        cls(**{name: bad})
