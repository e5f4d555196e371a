"""OKAUCM, OKAUCS and KOIL against a plain loop, their definition and bad kernels."""

from __future__ import annotations

import collections
import dataclasses
import functools
import itertools
import math
import pickle
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from classifiers import assert_close, state
from river import optim
from scipy import stats
from test_kernels import Laplacian

from river_oauc import KOIL, OAUCM, OAUCS, OKAUCM, OKAUCS
from river_oauc.kernels import RBF, Kernel, Linear, Polynomial
from river_oauc.metrics import ExactROCAUC
from river_oauc.rankers.base import share_of_other
from river_oauc.rankers.kernel import OKAUCRanker, store_example
from river_oauc.rankers.koil import koil_step
from river_oauc.rankers.scores import RecentScores
from river_oauc.rankers.width import choose_kernel

Example = tuple[np.ndarray, bool, float]

each_class = pytest.mark.parametrize("cls", [OKAUCM, OKAUCS, KOIL])


def features(x: np.ndarray) -> dict[str, float]:
    return {f"x{j}": value for j, value in enumerate(x.tolist())}


def make_stream(n: int, p: int, seed: int, kind: str = "") -> list[Example]:
    """Return two classes that overlap, with importance weights."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    x = rng.normal(size=(n, p)) + 0.7 * y[:, np.newaxis]
    if kind == "ties":
        # Few different vectors, exact in binary, which come again and again in both classes.
        x = rng.integers(0, 4, size=(n, 2)) / 2
    elif kind == "late":
        # Features arrive one after the other.
        x[np.arange(p) > 1 + np.arange(n)[:, np.newaxis] // 2] = 0.0
    return list(zip(x, y.tolist(), rng.choice([0.5, 1.0, 1.0, 3.0], n).tolist(), strict=True))


def learn(model: Any, stream: list[Example]) -> Any:
    for x, y, w in stream:
        model.learn_one(features(np.trim_zeros(x, "b")), y, w)
    return model


# A plain loop ----------------------------------------------------------------------------------


@dataclasses.dataclass
class Stored:
    x: np.ndarray
    alpha: float
    weight: float


class Plain:
    """A kernel learner on lists of stored examples, oldest first, that computes all anew."""

    def __init__(self, model: Any, kernel: Kernel) -> None:
        self.model, self.kernel, self.rng = model, kernel, random.Random(model.seed)
        budget = model.budget if isinstance(model.budget, tuple) else (model.budget,) * 2
        self.budget = dict(zip((True, False), budget, strict=True))
        self.stored: dict[bool, list[Stored]] = {False: [], True: []}
        self.n_learned, self.n_stored = {False: 0, True: 0}, 0

    def all(self) -> Iterator[Stored]:
        return itertools.chain(*self.stored.values())

    def k(self, x: np.ndarray, stored: list[Stored]) -> list[float]:
        return self.kernel(x, np.array([v.x for v in stored])).tolist() if stored else []

    def score(self, x: np.ndarray) -> float:
        stored = list(self.all())
        return sum(v.alpha * k for v, k in zip(stored, self.k(x, stored), strict=True))

    def learn(self, x: np.ndarray, positive: bool, weight: float) -> None:
        self.n_learned[positive] += 1
        step = self.koil_step if isinstance(self.model, KOIL) else self.gradient_step
        own, new = self.stored[positive], Stored(x, 0.0, weight)
        if not step(new, 1 if positive else -1, own, self.stored[not positive]):
            return
        own.append(new)
        removed = None
        if len(own) > self.budget[positive]:
            rank = 0
            if self.model.policy == "reservoir":
                rank = min(self.rng.randrange(self.n_learned[positive]), self.budget[positive])
            removed = own.pop(rank)
            self.pass_on(removed, own)
        if removed is not new:
            self.n_stored += 1
            if self.model.kernel is None and not self.n_stored & self.n_stored - 1:
                self.choose_width()

    def gradient_step(self, new: Stored, y: int, own: list[Stored], others: list[Stored]) -> bool:
        """Subtract the functional gradient of the loss over all pairs of the new example.

        With f = Σ aᵢ k(xᵢ, ·), it is the derivatives of the loss by the values f(xᵢ), as
        coefficients, and that of the regulariser is λ f. Complex steps are exact.
        """
        if others:
            values = np.array([self.score(v.x) for v in [*others, new]])
            t, weights = sum(self.n_learned.values()), [v.weight for v in others]
            lr, l2 = self.model.lr, self.model.l2
            eta = 1 / (l2 * t) if lr is None else lr.get(t - 1) if lr is SCHEDULE else lr

            def loss(values: np.ndarray) -> complex:
                margins = y * (values[-1] - values[:-1])
                mean = np.average(margins, weights=weights)
                b, variance = 1 - mean, np.average((margins - mean) ** 2, weights=weights)
                psi_s = b * b + variance
                psi = psi_s if isinstance(self.model, OKAUCS) else b + psi_s**0.5
                return new.weight / 2 * psi

            for v in self.all():
                v.alpha *= 1 - eta * l2
            for v, i in zip([*others, new], 1e-30j * np.eye(len(values)), strict=True):
                v.alpha -= eta * loss(values + i).imag / 1e-30
        return True

    def koil_step(self, new: Stored, y: int, own: list[Stored], others: list[Stored]) -> bool:
        """Take the step of KOIL on the nearest pairs with a margin below 1."""
        model, score = self.model, self.score(new.x)
        pairs = [(v, 1 - y * (score - self.score(v.x))) for v in others]
        pairs = [(v, excess) for v, excess in pairs if excess > 1e-12]
        # The sort is stable: of those with the same similarity, the oldest come first.
        pairs.sort(key=lambda pair: -float(f"{self.k(new.x, [pair[0]])[0]:.9e}"))
        for v in self.all():
            v.alpha *= 1 - model.eta
        step = model.eta * model.C * new.weight * y
        is_first = not others or not (own or pairs)
        new.alpha = step * is_first
        for v, excess in pairs[: model.k]:
            slope = 1.0 if model.loss == "l1" else 2.0 * excess
            v.alpha -= step * slope
            new.alpha += step * slope
        return is_first or bool(pairs)

    def pass_on(self, removed: Stored, own: list[Stored]) -> None:
        """Pass a coefficient on: to the most similar one, or such that the score changes least."""
        s = np.array(self.k(removed.x, own))
        shares, suitability = np.ones(len(own)), s
        if not isinstance(self.model, KOIL):
            # The squared norm of the change is |removed|² - 2 share s + share² norm.
            norms = np.array([self.k(v.x, [v])[0] for v in own])
            shares = np.divide(s, norms, out=np.zeros(len(own)), where=norms > 0)
            suitability = 2 * shares * s - shares**2 * norms
        # Rounding makes no difference between ties, of which the oldest comes first.
        best = max(suitability)
        heir = int(np.argmax(suitability >= best - 1e-9 * abs(best)))
        own[heir].alpha += shares[heir] * removed.alpha

    def choose_width(self) -> None:
        gamma, stored = 0.25, list(self.all())
        distances = [math.dist(v.x, u.x) for v, u in itertools.combinations(stored, 2)]
        while distances and np.mean(np.exp(-gamma * np.square(distances))) < 1 / 64:
            gamma /= 2
        self.kernel = RBF(gamma)


SCHEDULE = optim.schedulers.InverseScaling(0.1)
# Margins of KOIL pass 1 after a few such steps, so that both violating and other pairs occur.
KOIL_STEPS = functools.partial(KOIL, C=2.0, eta=0.1, k=3, seed=3)
LEARNERS = {
    "OKAUCM": functools.partial(OKAUCM, l2=0.1),
    "OKAUCM reservoir": functools.partial(OKAUCM, l2=0.02, lr=0.2, policy="reservoir", seed=3),
    "OKAUCS": functools.partial(OKAUCS, l2=0.1, lr=0.05),
    "OKAUCS schedule": functools.partial(OKAUCS, l2=0.1, lr=SCHEDULE, policy="reservoir", seed=3),
    "KOIL": KOIL_STEPS,
    "KOIL reservoir": functools.partial(KOIL_STEPS, loss="l2", policy="reservoir"),
}
KERNELS = [None, RBF(0.5), Polynomial(2, 0.2), Linear(), Laplacian(0.5)]
STREAMS = {
    "a pair of budgets": (make_stream(60, 3, 0), (3, 9), KERNELS),
    "arrays that grow": (make_stream(90, 3, 1), 50, [None]),
    "ties": (make_stream(60, 2, 2, "ties"), 5, KERNELS[1:]),
    "one of each class": (make_stream(60, 2, 3, "ties"), 1, KERNELS[1:3]),
    "late features": (make_stream(120, 40, 4, "late"), (6, 9), [None, Laplacian(0.5)]),
}


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize(
    ("stream", "budget", "kernel"),
    [(stream, budget, kernel) for stream, budget, some in STREAMS.values() for kernel in some],
    ids=[f"{name}, {kernel}" for name, (_, _, some) in STREAMS.items() for kernel in some],
)
def test_it_is_the_plain_loop(name, stream, budget, kernel):
    model = LEARNERS[name](kernel, budget=budget)
    plain = Plain(model, kernel or RBF(0.25))
    for i, example in enumerate(stream):
        learn(model, [example])
        plain.learn(*example)
        support, expected = model.support, list(plain.all())
        assert support.n == (len(plain.stored[False]), len(plain.stored[True]))
        vectors = np.array([v.x for v in expected])
        assert support.vectors.tolist() == vectors[:, : support.vectors.shape[1]].tolist()
        assert support.importance.tolist() == [v.weight for v in expected]
        assert support.kernel == plain.kernel
        alphas = np.array([v.alpha for v in expected])
        tolerance = 1e-9 * np.abs(alphas).max()
        np.testing.assert_allclose(support.coefficients, alphas, rtol=0, atol=tolerance)
        if i % 20 == 10:
            model = pickle.loads(pickle.dumps(model))
    probes = [x + 0.1 * (x != 0) for x, _, _ in stream[:5]]
    expected = [plain.score(x) for x in probes]
    assert_close([model.score_one(features(x)) for x in probes], expected, 1e-8)
    for array in support[2:]:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    assert plain.kernel != RBF(0.25) or len(stream[0][0]) < 40


@pytest.mark.parametrize("lr", [None, 0.02, optim.schedulers.InverseScaling(0.05)])
@pytest.mark.parametrize(("kernelised", "linear"), [(OKAUCM, OAUCM), (OKAUCS, OAUCS)])
def test_with_the_linear_kernel_and_no_limit_it_is_the_linear_learner(kernelised, linear, lr):
    stream = make_stream(300, 4, seed=5)
    primal, dual = learn(linear(2.0, lr), stream), learn(kernelised(Linear(), 2.0, lr, 300), stream)
    probes = [features(x) for x, _, _ in stream[:20]]
    assert_close([dual.score_one(x) for x in probes], [primal.score_one(x) for x in probes], 1e-8)


def test_koil_is_content_with_a_margin_of_exactly_one():
    model = learn(KOIL(Linear(), C=1.0, eta=0.5), [(np.array([2.0]), True, 1.0)])
    assert model.score_one({"x0": 1.0}) == 1.0
    # The margin over the positive is 1: no violation. The first of a class has a step anyway.
    learn(model, [(np.array([1.0]), False, 1.0)])
    assert model.support.coefficients.tolist() == [-0.5, 0.25]


# Budgets ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "budget"), [(6, 3), (5, 1)])
def test_every_sample_is_equally_likely_to_be_in_the_reservoir(n, budget):
    drawn = collections.Counter()
    for seed in range(500):
        model = OKAUCM(Linear(), budget=budget, policy="reservoir", seed=seed)
        learn(model, [(np.array([value]), False, 1.0) for value in range(1, n + 1)])
        drawn[tuple(model.support.vectors[:, 0].tolist())] += 1
    samples = list(itertools.combinations(range(1, n + 1), budget))
    assert drawn.keys() <= set(samples)
    assert stats.chisquare([drawn[sample] for sample in samples]).pvalue > 1e-3


@pytest.mark.parametrize("projects", [False, True])
def test_rounding_makes_no_difference_between_ties_of_which_the_oldest_counts(projects):
    rng = np.random.default_rng(0)
    for _ in range(100):
        exact, ages = 0.1 * rng.integers(1, 4, 9), rng.permutation(np.arange(9.0))
        row = exact * (1.0 + 1e-15 * rng.integers(-3, 4, 9))
        expected = sorted(range(9), key=lambda i, exact=exact, ages=ages: (-exact[i], ages[i]))
        importance, heirs = np.repeat([[0.0], [1.0]], 9, axis=1), np.zeros(9)
        store_example(
            np.zeros((9, 2)), heirs, importance, ages, np.eye(9), np.zeros(2), row, 1.0, True, 1.0,
            1.0, 9.0, 9, projects,
        )  # fmt: skip
        assert heirs.nonzero()[0].tolist() == expected[:1]
        new = np.zeros(9)
        new, _ = koil_step(new, new, importance, ages, row, 0.0, False, 0.1, 1.0, 4, projects)
        assert new.nonzero()[0].tolist() == sorted(expected[:4])


def test_a_coefficient_that_would_become_too_large_is_lost():
    coefficients, importance = np.array([8e49, 7e49]), np.array([[0.0, 0.0], [1.0, 1.0]])
    store_example(
        np.zeros((2, 1)), coefficients, importance, np.arange(2.0), np.ones((2, 2)), np.zeros(1),
        np.ones(2), 1.0, True, 1.0, 0.0, 2.0, 0, False,
    )  # fmt: skip
    assert coefficients.tolist() == [0.0, 7e49]


# The default width -----------------------------------------------------------------------------


def test_a_sample_of_the_vectors_stands_for_all_of_them():
    vectors = np.random.default_rng(1).normal(size=(1_100, 20))
    for n, step in ((511, 1), (512, 2), (1_100, 3)):
        # Those that are left out are far away from all others.
        vectors[:n][np.arange(n) % step > 0] += 1e9 * np.arange(n - len(range(0, n, step)))[:, None]
        assert choose_kernel(vectors[:n]) == choose_kernel(vectors[:n:step])


@each_class
def test_by_default_it_ranks_by_many_features_and_the_width_narrows_again(cls):
    x = np.random.default_rng(1).normal(size=(1_200, 76))
    odds = x[:, :5].sum(axis=1)
    stream = [(z, bool(y), 1.0) for z, y in zip(x, odds > np.quantile(odds, 0.7), strict=True)]
    auc = {}
    # With the narrowest width, every example is alone.
    for kernel in (None, RBF(0.25)):
        model, metric = learn(cls(kernel), stream[:800]), ExactROCAUC()
        for z, y, _ in stream[800:]:
            metric.update(y, model.predict_proba_one(features(z)))
        auc[kernel] = metric.get()
    assert auc[None] > 0.65 and auc[RBF(0.25)] < 0.57
    model = learn(cls(budget=8), [(100.0 * z[:3], y, w) for z, y, w in stream[:40]])
    assert model.support.kernel.gamma < 0.01
    assert learn(model, make_stream(160, 3, seed=4)).support.kernel == RBF(0.25)


# Merging ---------------------------------------------------------------------------------------


@each_class
@pytest.mark.parametrize("policy", ["fifo", "reservoir"])
@pytest.mark.parametrize("budget", [5, 200])
def test_a_merged_score_is_the_average_and_what_is_removed_passes_on(cls, policy, budget):
    a, b = (cls(RBF(0.5), budget=budget, policy=policy, seed=1) for _ in range(2))
    streams = make_stream(60, 2, seed=1), make_stream(50, 2, seed=2)
    before = [learn(model, stream).support for model, stream in zip((a, b), streams, strict=True)]
    model, plain = a + b, Plain(a, RBF(0.5))
    merged = model.support
    n_seen = [np.bincount([y for _, y, _ in stream]).tolist() for stream in streams]
    share = share_of_other(*n_seen)
    for rows in (0, 1):
        both = {}
        for part, factor in zip(before, (1 - share, share), strict=True):
            own = part.slots(bool(rows))
            for x, alpha in zip(part.vectors[own], factor * part.coefficients[own], strict=True):
                both[tuple(x)] = Stored(x, alpha, 1.0)
        own = merged.slots(bool(rows))
        newest = list(both)[len(both) // 2 - 2 : len(both) // 2] + list(both)[-2:]
        kept = [both.pop(tuple(x)) for x in merged.vectors[own]]
        assert len(kept) == min(budget, len(kept) + len(both))
        assert policy == "reservoir" or budget > 5 or not both.keys() & newest
        for removed in both.values():
            plain.pass_on(removed, kept)
        alphas = [v.alpha for v in kept]
        np.testing.assert_allclose(merged.coefficients[own], alphas, atol=1e-12)
    gram = [RBF(0.5)(x, merged.vectors) for x in merged.vectors]
    np.testing.assert_allclose(merged.gram, gram, rtol=1e-12)
    assert model._ranker.t == 110
    assert model._ranker.recent.classes[:, 0].tolist() == np.sum(n_seen, axis=0).tolist()
    # A model that has seen nothing adds nothing.
    empty = cls(RBF(0.5), budget=budget, policy=policy)
    assert_close([(a + empty).score_one({})], [a.score_one({})])


def test_merged_scores_have_the_moments_of_both():
    a, b = (RecentScores() for _ in range(2))
    a.mean_square, a.classes = 1.0, np.array([[2.0, 2.0, 1.0, 3.0], [1.0, 2.0, 3.0, 4.0]])
    b.mean_square, b.classes = 5.0, np.array([[6.0, 9.0, 5.0, 1.0], [0.0, 0.0, 0.0, 0.0]])
    a.merge(b)
    # Of 2 scores around 1 and 6 around 5.
    assert a.mean_square == 11 / 3
    assert a.classes.tolist() == [[8.0, 11.0, 4.0, 4.5], [1.0, 2.0, 3.0, 4.0]]


@each_class
def test_a_merged_model_has_the_wider_kernel(cls):
    wide, narrow = learn(cls(), make_stream(100, 60, seed=7)), learn(cls(), make_stream(80, 2, 8))
    gamma = wide.support.kernel.gamma
    assert gamma < narrow.support.kernel.gamma == 0.25
    for support in ((wide + narrow).support, (narrow + wide).support):
        assert support.kernel == RBF(gamma)
        np.testing.assert_allclose(support.gram[0], RBF(gamma)(support.vectors[0], support.vectors))


# Calibration -----------------------------------------------------------------------------------


def fading_weights(n: int, memory: int) -> np.ndarray:
    """Return the weights of n values in an average that value t enters with 1 / min(t, memory)."""
    rates = 1.0 / np.minimum(np.arange(1, n + 1), memory)
    return rates * np.append(np.cumprod((1.0 - rates)[:0:-1])[::-1], 1.0)


@each_class
def test_probabilities_come_from_fading_averages_of_scores_above_their_level(cls):
    model, stream = cls(RBF(0.5), budget=10, prior="empirical"), make_stream(300, 3, seed=22)
    y, importance = np.array([y for _, y, _ in stream]), np.array([w for _, _, w in stream])
    level, scores = 0.0, np.zeros(0)
    for example in stream[:-1]:
        scores = np.append(scores, model.score_one(features(example[0])) - level)
        support = learn(model, [example]).support
        values, rows = support.gram @ support.coefficients, map(support.slots, (False, True))
        level = np.mean(
            [np.average(values[r], weights=support.importance[r]) for r in rows if len(values[r])]
        )
    # In units of the recent scores of both classes, of which the first is 0.
    units = [fading_weights(t, 30) @ scores[:t] ** 2 for t in range(1, len(scores) + 1)]
    units = np.sqrt(np.maximum(units, 1e-150))
    moments = []
    for label in (False, True):
        own = (scores / units)[y[:-1] == label]
        weights = fading_weights(len(own), 100)
        moments.append((weights @ own, weights @ (own - weights @ own) ** 2))
    means, variances = units[-1] * np.array(moments)[:, 0], units[-1] ** 2 * np.array(moments)[:, 1]
    slope = (means[1] - means[0]) / variances.mean()
    odds = importance[:-1][y[:-1]].sum() / importance[:-1][~y[:-1]].sum()
    x = features(stream[-1][0])
    logit = slope * (model.score_one(x) - level - means.mean()) + math.log(odds)
    p = model.predict_proba_one(x)[True]
    assert abs(logit) < 8 and math.log(p / (1 - p)) == pytest.approx(logit)


# Refusals, and kernels of users ----------------------------------------------------------------


class Hooked(RBF):
    """A kernel that calls a function of the test, and shares its result with all."""

    hook: Any = None

    def __call__(self, x: np.ndarray, vectors: np.ndarray) -> Any:
        result = super().__call__(x, vectors)
        hook, Hooked.hook = Hooked.hook, None
        return hook(x, vectors, result) if hook else result

    self_similarity = Kernel.self_similarity


def interrupt(*arguments: Any) -> None:
    raise KeyboardInterrupt


HOOKS = {
    "a number": lambda x, vectors, result: 1.0,
    "too short": lambda x, vectors, result: result[1:],
    "a column": lambda x, vectors, result: result[:, None],
    "complex": lambda x, vectors, result: result + 1j,
    "text": lambda x, vectors, result: ["a"] * len(vectors),
    "None": lambda x, vectors, result: None,
    "NaN": lambda x, vectors, result: np.full(len(vectors), np.nan),
    "huge": lambda x, vectors, result: np.full(len(vectors), 1e60),
    "writing": lambda x, vectors, result: vectors.fill(0.0),
    "an interrupt": interrupt,
}


@each_class
@pytest.mark.parametrize("hook", HOOKS.values(), ids=HOOKS)
@pytest.mark.parametrize("x", [{"x0": 0.1, "x1": 0.5}, {"x0": 0.1, "new": 0.5}])
def test_a_refused_example_changes_nothing(cls, hook, x):
    model = cls(Hooked(0.5), budget=4, policy="reservoir", seed=1)
    before = state(learn(model, make_stream(40, 2, seed=1)))
    for call in (model.score_one, lambda x: model.learn_one(x, True)):
        Hooked.hook = hook
        with pytest.raises((ValueError, KeyboardInterrupt), match="the kernel Hooked|read-only|^$"):
            call(x)
    Hooked.hook = lambda *arguments: model.learn_one({}, True)
    with pytest.raises(RuntimeError, match="may call learn_one"):
        model.learn_one({"x0": 0.2}, True)
    assert state(model) == before


@pytest.mark.parametrize(
    "model", [OKAUCS(Linear(), lr=1e30), OKAUCM(lr=1e50), KOIL(C=1e50), KOIL(Polynomial(9))]
)
def test_a_step_that_diverges_is_refused_and_changes_nothing(model):
    learn(model, [(np.array([1.0]), True, 1e-50), (np.array([-1.0]), False, 1e-50)])
    before = state(model)
    for x in ({"x0": 1e20}, {"x0": 1e20, "new": 1e6}):
        with pytest.raises(ValueError, match="would grow beyond 1e|has no finite value"):
            model.learn_one(x, True, 1e20)
    assert state(model) == before
    if model.kernel == Polynomial(9):
        with pytest.raises(ValueError, match="has no finite value"):
            model.score_one({"x0": 1e20})


@each_class
def test_a_kernel_compares_each_example_once_with_those_that_are_stored(cls):
    model, seen, shared = cls(Hooked(0.5), budget=(20, 15)), [], np.zeros(40)

    def spy(x: np.ndarray, vectors: np.ndarray, result: np.ndarray) -> np.ndarray:
        seen.append(sorted(vectors.tolist()))
        vectors.shape, shared[: len(result)] = (vectors.size,), result
        return shared[: len(result)]

    learn(model, make_stream(30, 3, seed=21))
    x = np.array([0.1, 0.2, 0.3])
    stored = sorted(model.support.vectors.tolist())
    Hooked.hook = spy
    score = model.score_one(features(x))
    shared[:] = 7.0
    Hooked.hook = spy
    assert learn(model, [(x, True, 1.0)]).support.gram.max() <= 1.0
    # Of an example that has just been scored, only the squared norm is asked for.
    assert seen == [stored, [x.tolist()]] and abs(score) < 5.0


@pytest.mark.parametrize("kernel", [RBF(0.5), Laplacian(0.5)])
def test_an_example_with_unknown_features_is_compared_again_when_they_are_learned(kernel):
    ranker = OKAUCRanker("psi_m", 0.1, None, kernel, (5, 5), "fifo", None)
    x = np.array([1.0, 2.0])
    ranker.learn(x[:1], True, 1.0)
    ranker.learn(-x[:1], False, 1.0)
    assert ranker.score(x[:1]) == ranker.score(x) != 0.0
    ranker.learn(x, False, 1.0)
    assert ranker.gram[2, 0] == kernel(x, np.array([[1.0, 0.0]]))[0]


BAD_BUDGETS = [0, -1, 1.0, True, "1", None, (0, 5), (5, 0), (5, 1.5), (5,), (1, 2, 3), (), [3, 5]]
BAD = {
    OKAUCM: {"l2": [0.0, math.nan], "lr": [0.0, "1"], "kernel": ["rbf", RBF], "seed": [1.5, True]},
    OKAUCS: {"l2": [-1.0, None], "lr": [0.0, math.inf], "budget": BAD_BUDGETS, "prior": ["random"]},
    KOIL: {"C": [0.0], "eta": [0.0], "k": [0, 1.0], "loss": ["hinge"], "policy": ["random", None]},
}


def test_a_bad_parameter_is_refused_by_name():
    for cls, parameters in BAD.items():
        for name, bad in [(name, bad) for name, some in parameters.items() for bad in some]:
            with pytest.raises(ValueError, match=f"^{name} is "):
                cls(**{name: bad})


@each_class
def test_a_damaged_state_is_refused(cls):
    model = learn(cls(budget=4, policy="reservoir"), make_stream(40, 2, seed=1))
    importance = model.__getstate__()["ranker"]["importance"]
    negative, positive = importance.argmax(axis=1)
    both = importance.copy()
    both[0, negative], both[0, positive] = 0.0, 1.0
    for changes in [
        {"importance": importance + importance[::-1]},
        {"importance": -importance},
        {"importance": both},
        {"coefficients": np.full(8, 1e60)},
        {"n_stored": 41},
        {"t": 2**62},
        {"gamma": 0.0},
        {"recent": {"mean_square": 1.0, "classes": np.ones((2, 4))}},
        {"gram": np.zeros((7, 7))},
    ]:
        damaged = model.__getstate__()
        damaged["ranker"].update(changes)
        with pytest.raises(ValueError, match="damaged|gamma is 0"):
            cls.__new__(cls).__setstate__(damaged)
