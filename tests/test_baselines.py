"""The linear baselines against their formulas as plain loops, and against river."""

from __future__ import annotations

import collections
import itertools
import math
import pickle
import random
import tracemalloc
from typing import Any

import numpy as np
import pytest
from river import linear_model, optim
from scipy import stats

from river_oauc import FTRLAUC, OAM, OLUBAUC, PAI, SOLAM, SPAUC, AdaOAM, Perceptron
from river_oauc.rankers.calibration import probability, slope

Example = tuple[np.ndarray, bool, float]


def random_stream(
    n: int, p: int, share: float, seed: int, late: int = 0, weighted: bool = False
) -> list[Example]:
    """Return two classes that overlap; the last features are 0 in the first third."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < share
    x = rng.normal(size=(n, p)) + rng.uniform(-1.0, 1.0, size=p) + 0.7 * y[:, None]
    x[: n // 3, p - late :] = 0.0
    x[rng.random(n) < 0.03] = 0.0
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


class Plain:
    """A learner that keeps all examples, and looks at them again at every step."""

    def __init__(self, p: int, **params: Any) -> None:
        vars(self).update(params)
        self.w = np.zeros(p)
        self.xs: list[np.ndarray] = []
        self.ys: list[int] = []
        self.weights: list[float] = []

    def learn(self, x: np.ndarray, y: int, weight: float) -> None:
        self.xs.append(x)
        self.ys.append(y)
        self.weights.append(weight)
        self.w = self.step(x, y, weight)

    def step(self, x: np.ndarray, y: int, weight: float) -> np.ndarray:
        """Return the weights after the last example, which is this one."""
        raise NotImplementedError

    def check(self, model: Any) -> None:
        """Compare what a model has besides weights."""

    @property
    def t(self) -> int:
        return len(self.xs)

    @property
    def q(self) -> float:
        """The share of positives."""
        return self.average([y == 1 for y in self.ys])

    def average(self, values: Any, y: int | None = None) -> Any:
        """Return the weighted mean over all examples, or those of a class; 0 if there are none."""
        weights = np.array(self.weights) * [y in (None, each) for each in self.ys]
        return np.average(values, axis=0, weights=weights) if weights.any() else 0.0


class PlainPerceptron(Plain):
    def step(self, x: np.ndarray, y: int, weight: float) -> np.ndarray:
        predicted = 1 if self.w @ x >= 0 else -1
        return self.w + weight * (y != predicted) * y * x


class PlainPAI(Plain):
    def step(self, x: np.ndarray, y: int, weight: float) -> np.ndarray:
        loss = max(0.0, 1 - y * (self.w @ x))
        return self.w + min(self.C * weight, loss / (x @ x)) * y * x if x.any() else self.w


class PlainOLUBAUC(Plain):
    theta = 0.0

    def step(self, x: np.ndarray, y: int, weight: float) -> np.ndarray:
        schedule = isinstance(self.lr, optim.base.Scheduler)
        eta = self.lr.get(self.t - 1) if schedule else self.lr or 1 / (self.l2 * self.t)
        violated = y * (self.w @ x - self.theta) < self.margin
        if self.class_balanced:
            weight *= self.t / (2 * self.ys.count(y))
        self.theta -= eta * weight * violated * y
        return (1 - eta * self.l2) * self.w + eta * weight * violated * y * x

    def check(self, model: OLUBAUC) -> None:
        assert model.threshold == pytest.approx(self.theta, rel=1e-10, abs=1e-10)


class PlainOAM(Plain):
    def __init__(self, p: int, **params: Any) -> None:
        super().__init__(p, **params)
        self.buffers: dict[int, list[np.ndarray]] = {1: [], -1: []}
        self.rng = random.Random(self.seed)

    def step(self, x: np.ndarray, y: int, weight: float) -> np.ndarray:
        cost = weight * self.C / 2
        if self.weighting == "paper":
            cost *= max(1, self.ys.count(-y) / self.buffer_size)
        w = self.w
        for z in self.buffers[-y]:
            d = y * (x - z)
            if self.update == "gradient":
                w = w + cost * (self.w @ d <= 1) * d
            elif d.any():
                w = w + min(cost, max(0.0, 1 - w @ d) / (d @ d)) * d
        if len(self.buffers[y]) < self.buffer_size:
            self.buffers[y].append(x)
        else:
            slot = self.rng.randrange(self.ys.count(y))
            if slot < self.buffer_size:
                self.buffers[y][slot] = x
        return w


class PlainSOLAM(Plain):
    def __init__(self, p: int, **params: Any) -> None:
        super().__init__(p, **params)
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

    def step(self, x: np.ndarray, y: int, weight: float) -> np.ndarray:
        gamma = weight * self.xi / math.sqrt(self.t)
        self.path.append((gamma, self.iterate))
        gradients = self.gradients(self.iterate, self.a, self.b, self.alpha, x, y, self.q)
        w = self.iterate - gamma * gradients[0]
        self.iterate = w * min(1.0, self.R / (np.linalg.norm(w) or 1.0))
        bound = self.R * max(np.linalg.norm(each) for each in self.xs)
        self.a = np.clip(self.a - gamma * gradients[1], -bound, bound)
        self.b = np.clip(self.b - gamma * gradients[2], -bound, bound)
        self.alpha = np.clip(self.alpha + gamma * gradients[3], -2 * bound, 2 * bound)
        return sum(g * w for g, w in self.path) / sum(g for g, _ in self.path)


class PlainSPAUC(Plain):
    @staticmethod
    def gradient(
        w: np.ndarray, x: np.ndarray, y: int, q: float, u: np.ndarray, v: np.ndarray
    ) -> np.ndarray:
        own = (1 - q) * (w @ (x - u)) * (x - u) if y == 1 else q * (w @ (x - v)) * (x - v)
        return 2 * own + 2 * q * (1 - q) * (1 + w @ (v - u)) * (v - u)

    def step(self, x: np.ndarray, y: int, weight: float) -> np.ndarray:
        u, v = self.average(self.xs, 1), self.average(self.xs, -1)
        eta = self.c / math.sqrt(self.t)
        step = eta * weight * self.gradient(self.w, x, y, self.q, u, v)
        return (self.w - step) / (1 + eta * self.l2)


class PlainAdaOAM(Plain):
    def __init__(self, p: int, **params: Any) -> None:
        super().__init__(p, **params)
        self.gradients = [np.zeros(p)]

    def step(self, x: np.ndarray, y: int, weight: float) -> np.ndarray:
        if -y not in self.ys:
            return self.w
        mean = self.average(self.xs, -y)
        covariance = self.average([np.outer(z - mean, z - mean) for z in self.xs], -y)
        d = y * (x - mean)
        of_loss = -(1 - self.w @ d) * d + covariance @ self.w
        self.gradients.append(self.l2 * self.w + weight * of_loss)
        roots = np.sqrt(np.sum(np.square(self.gradients), axis=0))
        w = self.w - self.lr * self.gradients[-1] / (1e-8 + roots)
        return w / max(1.0, math.sqrt(self.l2) * np.linalg.norm(w))


class PlainFTRLAUC(Plain):
    def __init__(self, p: int, **params: Any) -> None:
        super().__init__(p, **params)
        self.scores: list[float] = []
        self.gradients, self.path = [np.zeros(p)], [np.zeros(p)]

    @staticmethod
    def gradient(w: np.ndarray, x: np.ndarray, y: int, q: float, u: float, v: float) -> np.ndarray:
        s = w @ x
        return (2 * (1 - q) * (s - v - 1) if y == 1 else 2 * q * (s - u + 1)) * x

    def step(self, x: np.ndarray, y: int, weight: float) -> np.ndarray:
        self.scores.append(self.w @ x)
        u, v = self.average(self.scores, 1), self.average(self.scores, -1)
        self.gradients.append(weight * self.gradient(self.w, x, y, self.q, u, v))
        self.path.append(self.w)
        return np.array([self.leader(i) for i in range(len(x))])

    def leader(self, i: int) -> float:
        """Return the minimiser of Σ g·w + Σ σ/2 (w - w_s)² + β/2α w² + l1 |w| + l2/2 w²."""
        g, path = np.array(self.gradients)[:, i], np.array(self.path)[:, i]
        strengths = np.diff(np.sqrt(np.cumsum(g * g)), prepend=0.0) / self.alpha
        z = g.sum() - strengths @ path
        curvature = (self.beta + math.sqrt(g @ g)) / self.alpha + self.l2
        return 0.0 if abs(z) <= self.l1 else -(z - math.copysign(self.l1, z)) / curvature

    def check(self, model: FTRLAUC) -> None:
        assert np.array_equal(weights_of(model, len(self.w)) == 0.0, self.w == 0.0)
        # Its probabilities come from the moments of the scores.
        if {1, -1} <= {*self.ys}:
            low, high = means = [self.average(self.scores, y) for y in (-1, 1)]
            squares = [(s - means[y > 0]) ** 2 for s, y in zip(self.scores, self.ys, strict=True)]
            variance = (self.average(squares, 1) + self.average(squares, -1)) / 2
            logit = slope(high - low, variance) * (self.w[0] - (low + high) / 2)
            odds = self.q / (1 - self.q)
            for empirical, expected in ((False, logit), (True, logit + math.log(odds))):
                assert model._ranker.logit(self.w[0], empirical) == pytest.approx(expected)


SCHEDULE = optim.schedulers.InverseScaling(0.1)
# The values of the parameters of each learner.
GRIDS: dict[Any, dict[str, list[Any]]] = {
    Perceptron: {},
    PAI: {"C": [2**-6, 0.3, 1.0, 50.0]},
    OLUBAUC: {
        "class_balanced": [False, True], "l2": [1e-2, 0.3, 2.0], "margin": [0.4, 1.0],
        "lr": [None, 0.02, 0.3, SCHEDULE],
    },
    OAM: {
        "C": [2**-10, 0.05, 1.0], "buffer_size": [1, 4, 10, 200], "seed": [0, 1, 2],
        "update": ["gradient", "sequential"], "weighting": ["paper", "constant"],
    },
    SOLAM: {"xi": [0.02, 0.3], "R": [0.05, 1.0, 50.0]},
    SPAUC: {"c": [0.01, 0.1], "l2": [0.0, 0.1, 3.0]},
    AdaOAM: {"l2": [0.0, 0.1, 3.0], "lr": [0.02, 0.3]},
    FTRLAUC: {"alpha": [0.02, 0.3], "beta": [0.5, 1.0], "l1": [0.0, 0.2, 2.0], "l2": [0.0, 0.5]},
}  # fmt: skip


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("cls", GRIDS)
def test_each_learner_is_the_plain_loop(cls, seed):
    rng = random.Random(seed)
    params = {name: rng.choice(grid) for name, grid in GRIDS[cls].items()}
    n, p, share = rng.randint(20, 120), rng.randint(1, 6), rng.choice([0.5, 0.2, 0.05])
    model, plain = cls(**params), globals()[f"Plain{cls.__name__}"](p, **params)
    stream = random_stream(n, p, share, seed, late=rng.randrange(p), weighted=True)
    for t, (x, y, weight) in enumerate(stream):
        before = plain.w
        learn(model, [(x, y, weight)])
        if t % 20 == 0:
            model = pickle.loads(pickle.dumps(model))
        if weight:
            plain.learn(x, 1 if y else -1, weight)
        # A step may end near 0, and its rounding is that of the weights that it began with.
        scale = max(np.linalg.norm(before), np.linalg.norm(plain.w))
        assert np.linalg.norm(weights_of(model, p) - plain.w) <= 1e-11 * scale, params
    plain.check(model)


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


@pytest.mark.parametrize("cost", [0.01, 10.0])
def test_pai_is_that_of_river_without_its_intercept(cost):
    ours, theirs = PAI(cost), linear_model.PAClassifier(C=cost, mode=1, learn_intercept=False)
    for x, y, _ in random_stream(300, 4, 0.3, seed=1):
        # river divides by the length.
        if x.any():
            ours.learn_one(features(x), y)
            theirs.learn_one(features(x), y)
    assert ours.weights == pytest.approx(theirs.weights, rel=1e-10)


# Details ---------------------------------------------------------------------------------------


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


def test_a_margin_of_exactly_one_violates_in_oam():
    model = OAM(C=2.0, buffer_size=5, seed=0)
    model.learn_one({"a": 0.0}, False)
    # A step of C / 2 over a distance of 1, to a margin of 1, and then another.
    for expected in (1.0, 2.0, 2.0):
        model.learn_one({"a": 1.0}, True)
        assert model.weights == {"a": expected}


@pytest.mark.parametrize(("n", "capacity"), [(7, 3), (6, 1), (5, 4)])
def test_every_sample_of_oam_is_equally_likely(n, capacity):
    drawn: collections.Counter[tuple[float, ...]] = collections.Counter()
    for seed in range(1500):
        model = OAM(buffer_size=capacity, seed=seed)
        for i in range(n):
            model.learn_one({"a": float(i)}, True)
        drawn[tuple(sorted(model._ranker.samples[1, :, 0].tolist()))] += 1
    outcomes = list(itertools.combinations(range(n), capacity))
    assert drawn.keys() <= {*outcomes}
    assert stats.chisquare([drawn[outcome] for outcome in outcomes]).pvalue > 1e-3


# Probabilities, refusals -----------------------------------------------------------------------


@pytest.mark.parametrize("prior", ["balanced", "empirical"])
@pytest.mark.parametrize("cls", [PAI, OLUBAUC, SOLAM, SPAUC, OAM])
def test_probabilities_come_from_class_means_and_the_spread_of_recent_scores(cls, prior):
    model, spread, n_scores = cls(prior=prior), np.zeros(2), np.zeros(2)
    stream = [example for example in random_stream(500, 3, 0.5, 3, weighted=True) if example[2]]
    xs, ys, ws = (np.array(values) for values in zip(*stream, strict=True))
    means = np.zeros((2, 3))
    for t, (x, y, weight) in enumerate(stream, start=1):
        w, own = weights_of(model, 3), int(y)
        if means[own].any() and w.any():
            n_scores[own] += 1
            square = (w @ (x - means[own])) ** 2 / (w @ w)
            spread[own] += (square - spread[own]) / min(n_scores[own], 100)
        learn(model, [(x, y, weight)])
        seen = ys[:t] == y
        means[own] = np.average(xs[:t][seen], axis=0, weights=ws[:t][seen])
    assert n_scores.min() > 120
    w = weights_of(model, 3)
    (low, high), variance = means @ w, spread.mean() * (w @ w)
    logit = slope(high - low, variance) * (w @ xs[0] - (low + high) / 2)
    logit += math.log(ws[ys].sum() / ws[~ys].sum()) if prior == "empirical" else 0.0
    p = model.predict_proba_one(features(xs[0]))[True]
    assert p == pytest.approx(probability(logit), rel=1e-9)


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
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="would grow beyond 1e\\+50"):
        model.learn_one({"a": value, "new": value}, False, 1e50)
    assert pickle.dumps(model) == before
    model.learn_one({"a": 1.0}, False)
    # The average of SOLAM is one step behind.
    assert model.weights["a"] < 0.0 or isinstance(model, SOLAM)


@pytest.mark.parametrize("cls", [Perceptron, PAI, OLUBAUC, OAM, SOLAM, SPAUC, FTRLAUC])
def test_baselines_do_not_merge(cls):
    model = cls()
    for other in (cls(), cls(prior="empirical"), model):
        with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+"):
            model + other


def test_adaoam_merges_its_squared_gradients_and_averages_its_weights():
    stream = random_stream(60, 3, 0.5, seed=1)
    one, other = learn(AdaOAM(), stream), learn(AdaOAM(), [(x[::-1], y, w) for x, y, w in stream])
    merged = one + other
    mean = (weights_of(one, 3) + weights_of(other, 3)) / 2
    np.testing.assert_allclose(weights_of(merged, 3), mean, rtol=1e-12)
    squares = [dict(zip(m.weights, m._ranker.squares, strict=True)) for m in (one, other, merged)]
    assert squares[2] == {name: squares[0][name] + squares[1][name] for name in squares[0]}


@pytest.mark.parametrize(
    ("cls", "name", "change"),
    [
        (PAI, "n_examples", np.negative),
        (PAI, "n_scores", np.negative),
        (OAM, "samples", lambda samples: samples[:, :-1]),
    ],
)
def test_a_damaged_state_is_refused(cls, name, change):
    state = learn(cls(), random_stream(20, 3, 0.5, seed=0)).__getstate__()
    state["ranker"][name] = change(state["ranker"][name])
    with pytest.raises(ValueError, match="the state is damaged"):
        cls().__setstate__(state)


POSITIVE = {PAI: ["C"], OLUBAUC: ["l2", "margin"], SOLAM: ["xi", "R"], SPAUC: ["c"], OAM: ["C"]}
POSITIVE |= {AdaOAM: ["lr"], FTRLAUC: ["alpha", "beta"]}


@pytest.mark.parametrize(
    ("cls", "name", "bad"),
    [
        *((cls, name, bad) for cls in POSITIVE for name in POSITIVE[cls] for bad in (0.0, None)),
        *((PAI, "C", bad) for bad in (math.nan, math.inf, -1.0, "1")),
        *((OAM, "buffer_size", bad) for bad in (0, 1.0, True)),
        *((OAM, name, bad) for name in ("update", "weighting") for bad in ("Paper", None)),
        *((cls, "l2", -1.0) for cls in (SPAUC, AdaOAM, FTRLAUC)),
        (FTRLAUC, "l1", -1.0),
        (OLUBAUC, "lr", 0.0),
        (AdaOAM, "lr", SCHEDULE),
    ],
)
def test_a_bad_parameter_is_refused_by_name(cls, name, bad):
    with pytest.raises(ValueError, match=f"^{name} is "):
        cls(**{name: bad})
