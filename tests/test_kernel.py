"""OKAUCM, OKAUCS and KOIL against plain loops, the linear learners, a bound and hostile numbers."""

from __future__ import annotations

import copy
import functools
import itertools
import math
import pickle
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import reference
from river import optim
from test_contract import numbers_in
from test_linear import features
from test_support import assert_gram_is_in_step

from river_oauc import KOIL, OAUCM, OAUCS, OKAUCM, OKAUCS
from river_oauc.calibration import Calibration, ScoreStatistics
from river_oauc.kernel.width import fitting_kernel
from river_oauc.kernels import RBF, Kernel, Linear, Polynomial

KernelLearner = OKAUCM | OKAUCS | KOIL
Example = tuple[np.ndarray, bool, float]

UNLIMITED = 100_000
SEED = 3


def random_stream(n: int, p: int, seed: int, weighted: bool = True) -> list[Example]:
    """Two classes that overlap, with importance weights."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    x = rng.normal(size=(n, p)) + 0.7 * y[:, None]
    w = rng.choice([0.0, 0.5, 1.0, 1.0, 3.0], size=n) if weighted else np.ones(n)
    return list(zip(x, y.tolist(), w.tolist(), strict=True))


def stream_with_ties(n: int, seed: int) -> list[Example]:
    """A stream of few vectors, exact in binary, that all come again and again in both classes."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    x = rng.integers(0, 4, size=(n, 2)) / 2
    return list(zip(x, y.tolist(), rng.choice([0.5, 1.0, 2.0], size=n).tolist(), strict=True))


def learn(model: KernelLearner, stream: list[Example]) -> None:
    for x, y, w in stream:
        model.learn_one(features(x), y, w)


def expansion(model: KernelLearner, positive: bool) -> tuple[np.ndarray, np.ndarray]:
    """The stored vectors of a class and their coefficients, oldest first."""
    support = model.support
    slots = np.arange(len(support.vectors))[support.slots(positive)]
    slots = slots[np.argsort(support.arrival[slots])]
    return support.vectors[slots], support.coefficients[slots]


def assert_same_state(model: KernelLearner, other: KernelLearner) -> None:
    """Equal in every number, and in all chance to come."""
    # Copies have no part in what was asked last.
    assert list(numbers_in(copy.deepcopy(model))) == list(numbers_in(copy.deepcopy(other)))
    assert model.support.n == other.support.n
    assert model.support.n_offered == other.support.n_offered
    assert model.support._rng.getstate() == other.support._rng.getstate()


# Step by step against the reference ----------------------------------------------------------


class SampledOKAUCM(reference.OKAUCM):
    """The reference with a reservoir, whose slots are positions in the order of arrival."""

    def __init__(self, *args: Any, rng: reference.Reservoir, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.rng = rng
        self.seen = {+1: 0, -1: 0}

    def insert(self, new: reference.SupportVector, y: int) -> None:
        own, capacity = self.vectors[y], self.capacity[y]
        self.seen[y] += 1
        if len(own) == capacity:
            slot = self.rng.keep(self.seen[y], capacity)
            own.append(new)
            # What goes is moved to where it is looked for.
            own.insert(0, own.pop(-1 if slot is None else slot))
            new = own.pop()
        super().insert(new, y)


Fast = Callable[[Kernel, int | tuple[int, int]], KernelLearner]
Slow = Callable[[reference.Kernel, int | tuple[int, int]], reference.KernelLearner]


def koil_case(loss: str, policy: str) -> tuple[Fast, Slow]:
    # Margins pass 1 after a few such steps, so that both violators and others occur.
    return (
        lambda kernel, budget: KOIL(kernel, 2.0, 0.1, budget, 3, loss, policy, seed=SEED),
        lambda formula, budget: reference.KOIL(
            formula, 2.0, 0.1, budget, 3, loss, policy, rng=reference.UniformReservoir(SEED)
        ),
    )


CASES: dict[str, tuple[Fast, Slow]] = {
    "OKAUCM": (
        lambda kernel, budget: OKAUCM(kernel, 0.1, None, budget),
        lambda formula, budget: reference.OKAUCM(formula, 0.1, None, budget),
    ),
    "OKAUCM-constant": (
        lambda kernel, budget: OKAUCM(kernel, 0.02, 0.2, budget),
        lambda formula, budget: reference.OKAUCM(formula, 0.02, 0.2, budget),
    ),
    "OKAUCM-reservoir": (
        lambda kernel, budget: OKAUCM(kernel, 0.1, None, budget, "reservoir", seed=SEED),
        lambda formula, budget: SampledOKAUCM(
            formula, 0.1, None, budget, rng=reference.UniformReservoir(SEED)
        ),
    ),
    "OKAUCS": (
        lambda kernel, budget: OKAUCS(kernel, 0.1, 0.05, budget),
        lambda formula, budget: reference.OKAUCS(formula, 0.1, 0.05, budget),
    ),
    "OKAUCS-scheduled": (
        lambda kernel, budget: OKAUCS(kernel, 0.1, optim.schedulers.InverseScaling(0.1), budget),
        lambda formula, budget: reference.OKAUCS(
            formula, 0.1, optim.schedulers.InverseScaling(0.1).get, budget
        ),
    ),
    **{
        f"KOIL-{loss}-{policy}": koil_case(loss, policy)
        for loss, policy in itertools.product(("l1", "l2"), ("fifo", "reservoir"))
    },
}
each_case = pytest.mark.parametrize(("make", "make_slow"), CASES.values(), ids=CASES)


def rbf(gamma: float) -> reference.Kernel:
    """A faster way to write the formula."""
    return lambda x, z: math.exp(-gamma * math.dist(x, z) ** 2)


KERNELS = {
    "RBF": (RBF(gamma=0.5), rbf(0.5)),
    "Polynomial": (Polynomial(degree=2, gamma=0.2), reference.polynomial(2, 0.2, 1.0)),
    "Linear": (Linear(), reference.linear),
}


def assert_follows(
    model: KernelLearner, slow: reference.KernelLearner, stream: list[Example]
) -> None:
    for x, y, w in stream:
        learn(model, [(x, y, w)])
        slow.learn(x, 1 if y else -1, w)
        size = max((abs(v.alpha) for v in slow.vectors[+1] + slow.vectors[-1]), default=0.0)
        for label, sign in ((True, +1), (False, -1)):
            vectors, coefficients = expansion(model, label)
            expected = slow.vectors[sign]
            assert vectors.tolist() == [v.x.tolist() for v in expected]
            np.testing.assert_allclose(
                coefficients, [v.alpha for v in expected], rtol=0, atol=1e-8 * size
            )
    probes = np.random.default_rng(9).normal(size=(5, len(stream[0][0])))
    scores = [slow.score(probe) for probe in probes]
    assert max(map(abs, scores)) > 1e-3
    assert [model.score_one(features(probe)) for probe in probes] == pytest.approx(
        scores, rel=1e-8, abs=1e-8 * max(map(abs, scores))
    )


@each_case
@pytest.mark.parametrize("budget", [5, (3, 9)])
@pytest.mark.parametrize(("kernel", "formula"), KERNELS.values(), ids=KERNELS)
def test_with_a_small_budget_it_is_the_plain_loop(make, make_slow, budget, kernel, formula):
    n = 400 if budget == 5 and isinstance(kernel, RBF) else 60
    assert_follows(make(kernel, budget), make_slow(formula, budget), random_stream(n, 3, seed=0))


# The plain loop is slow: what is left out here is among the long checks.
QUICK = ("OKAUCM", "OKAUCS", "KOIL-l1-fifo", "KOIL-l2-reservoir")


@pytest.mark.parametrize(
    ("name", "n"),
    [(name, 150) for name in QUICK]
    + [pytest.param(name, 400, marks=pytest.mark.slow) for name in CASES],
)
def test_with_a_budget_of_twenty_it_is_the_plain_loop(name, n):
    make, make_slow = CASES[name]
    kernel, formula = KERNELS["RBF"]
    model = make(kernel, 20)
    assert_follows(model, make_slow(formula, 20), random_stream(n, 3, seed=1))
    assert model.support.n == [20, 20]


@pytest.mark.parametrize("n", [100, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["OKAUCM", "OKAUCS", "KOIL-l1-fifo", "KOIL-l2-fifo"])
def test_without_a_limit_it_is_the_plain_loop(name, n):
    make, make_slow = CASES[name]
    kernel, formula = KERNELS["RBF"]
    stream = random_stream(n, 3, seed=2)
    assert_follows(make(kernel, UNLIMITED), make_slow(formula, UNLIMITED), stream)


@each_case
@pytest.mark.parametrize("budget", [2, 5])
@pytest.mark.parametrize(
    ("kernel", "formula"),
    [
        (RBF(gamma=0.5), reference.rbf(0.5)),
        (Polynomial(degree=2), reference.polynomial(2, 1.0, 1.0)),
        (Linear(), reference.linear),
    ],
)
def test_ties_go_to_the_older_vector_as_in_the_plain_loop(make, make_slow, budget, kernel, formula):
    stream = stream_with_ties(80, seed=budget)
    assert len({tuple(x) for x, _, _ in stream}) == 16
    assert_follows(make(kernel, budget), make_slow(formula, budget), stream)


# The default width ---------------------------------------------------------------------------


def growing_stream(n: int, p: int, seed: int) -> list[Example]:
    """Features that turn up late, so that distances grow."""
    stream = random_stream(n, p, seed)
    for i, (x, _, _) in enumerate(stream):
        x[2 + i // 2 :] = 0.0
    return stream


@each_case
@pytest.mark.parametrize("make_stream", [random_stream, growing_stream])
def test_the_default_width_is_that_of_the_plain_loop(make, make_slow, make_stream):
    model, slow = make(None, (6, 9)), make_slow(rbf(0.25), (6, 9))
    slow.__class__ = type("Fitting", (reference.FittingWidth, type(slow)), {})
    stream = make_stream(150, 24, seed=3)
    assert_follows(model, slow, stream)
    scores = [slow.score(x) for x, _, _ in stream]
    assert [model.score_one(features(x)) for x, _, _ in stream] == pytest.approx(
        scores, rel=1e-12, abs=1e-12 * max(map(abs, scores))
    )
    assert model.support.kernel == RBF(slow.gamma)
    assert slow.gamma < 0.25


each_learner = pytest.mark.parametrize("learner", [OKAUCM, OKAUCS, KOIL])


@each_learner
def test_by_default_it_ranks_by_many_features(learner):
    """Where, with the narrowest width, every example is alone."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(1_200, 76))
    odds = x[:, :5].sum(axis=1)
    y = odds > np.quantile(odds, 0.7)
    stream = list(zip(x, y.tolist(), [1.0] * len(x), strict=True))
    aucs = []
    for model in (learner(), learner(RBF(0.25))):
        learn(model, stream[:800])
        scores = [model.score_one(features(z)) for z in x[800:]]
        aucs.append(reference.auc([1 if label else -1 for label in y[800:]], scores))
    assert aucs[0] > 0.65
    assert aucs[1] < 0.57


@each_learner
def test_a_kernel_that_is_given_stays(learner):
    model = learner(RBF(0.25))
    learn(model, random_stream(70, 60, seed=1))
    assert model.kernel == model.support.kernel == RBF(0.25)


def test_the_width_is_that_of_a_sample_if_very_many_examples_are_stored():
    vectors = np.random.default_rng(2).normal(size=(2_000, 30))
    vectors[1::2] *= 1e6
    assert fitting_kernel(vectors) == fitting_kernel(vectors[::4]) != fitting_kernel(vectors[1::4])


@each_learner
def test_the_width_narrows_again(learner):
    """It knows nothing but what is stored."""
    model = learner(budget=8)
    stream = random_stream(200, 3, seed=4)
    learn(model, [(100.0 * x, y, w) for x, y, w in stream[:40]])
    assert model.support.kernel.gamma < 0.01
    learn(model, stream[40:])
    assert model.support.kernel == RBF(0.25)


@each_learner
def test_a_refused_example_does_not_change_the_width(learner):
    model = learner()
    learn(model, random_stream(63, 5, seed=5, weighted=False))
    before = pickle.dumps(model)
    wide = {f"late{j}": 1e3 for j in range(50)}
    for bad in ({**wide, "nan": math.nan}, {**wide, "text": "a"}):
        with pytest.raises(ValueError, match=r"nan|text"):
            model.learn_one(bad, True)
    assert pickle.dumps(model) == before


@each_learner
def test_names_do_not_matter_to_the_width(learner):
    """Neither their number nor their order."""
    stream = random_stream(100, 30, seed=6)
    order = np.random.default_rng(0).permutation(30)
    models = [learner() for _ in range(3)]
    for x, y, w in stream:
        usual = features(x)
        names = list(usual)
        models[0].learn_one(usual, y, w)
        models[1].learn_one({names[j]: usual[names[j]] for j in order}, y, w)
        models[2].learn_one({**{f"zero{j}": 0.0 for j in range(200)}, **usual}, y, w)
    expected = [models[0].score_one(features(x)) for x, _, _ in stream]
    for other in models[1:]:
        assert other.support.kernel == models[0].support.kernel != RBF(0.25)
        assert [other.score_one(features(x)) for x, _, _ in stream] == pytest.approx(
            expected, rel=1e-9, abs=1e-9
        )


@each_learner
def test_a_merged_model_is_as_wide_as_both_need(learner):
    wide, narrow, empty = learner(), learner(), learner()
    learn(wide, random_stream(100, 60, seed=7))
    learn(narrow, random_stream(80, 2, seed=8))
    width = wide.support.kernel.gamma
    assert width < narrow.support.kernel.gamma == 0.25
    probes = [features(x) for x, _, _ in random_stream(20, 60, seed=9)]
    for merged in (wide + narrow, narrow + wide):
        assert merged.support.kernel.gamma == width
        assert_gram_is_in_step(merged.support, rbf(width))
    for merged in (wide + empty, empty + wide):
        assert [merged.score_one(x) for x in probes] == pytest.approx(
            [wide.score_one(x) for x in probes], rel=1e-9
        )


# The two halves of the paper -----------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("lr", [None, 0.02, optim.schedulers.InverseScaling(0.05)])
@pytest.mark.parametrize(("kernelised", "linear"), [(OKAUCM, OAUCM), (OKAUCS, OAUCS)])
def test_with_the_linear_kernel_and_no_limit_it_is_the_linear_learner(
    kernelised, linear, lr, weighted
):
    l2, n, p = 2.0, 300, 4
    primal, dual = linear(l2, lr), kernelised(Linear(), l2, lr, budget=n)
    probes = np.random.default_rng(4).normal(size=(6, p))
    largest = 0.0
    for x, y, w in random_stream(n, p, seed=5, weighted=weighted):
        for model in (primal, dual):
            model.learn_one(features(x), y, w)
        expected = np.array([primal.score_one(features(probe)) for probe in probes])
        scores = [dual.score_one(features(probe)) for probe in probes]
        largest = max(largest, np.abs(expected).max())
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-8 * largest)
    assert np.abs(expected).max() > 0.1


# The paper's bound ---------------------------------------------------------------------------


def streams_of_many_kinds() -> dict[str, list[Example]]:
    rng = np.random.default_rng(6)
    mixed = random_stream(250, 2, seed=7, weighted=False)
    far_apart = [(x + 100.0 * y, y, w) for x, y, w in mixed]
    return {
        "mixed": mixed,
        "far apart": far_apart,
        "one class first": sorted(mixed, key=lambda example: example[1]),
        "rare": [(x, y, w) for x, y, w in mixed if not y or rng.random() < 0.1],
        "two points": [(np.array([float(i % 2), 0.0]), bool(i % 2), 1.0) for i in range(250)],
    }


@pytest.mark.parametrize("l2", [0.01, 1.0])
@pytest.mark.parametrize("kind", streams_of_many_kinds())
def test_the_norm_of_the_score_is_within_the_bound_of_the_lemma(kind, l2):
    gamma = 0.5
    model = OKAUCM(RBF(gamma), l2, budget=UNLIMITED)
    largest = 0.0
    for example in streams_of_many_kinds()[kind]:
        learn(model, [example])
        pieces = [expansion(model, label) for label in (False, True)]
        vectors = np.concatenate([vectors for vectors, _ in pieces])
        coefficients = np.concatenate([coefficients for _, coefficients in pieces])
        distances = ((vectors[:, None] - vectors) ** 2).sum(axis=2)
        squared_norm = coefficients @ np.exp(-gamma * distances) @ coefficients
        largest = max(largest, math.sqrt(max(squared_norm, 0.0)))
    bound = (math.sqrt(2.0) + 0.5) / l2
    assert largest <= bound
    # Of the same size as the bound, unless the first step, and with it all, comes late.
    assert largest > (0.1 if kind in ("mixed", "far apart", "two points") else 0.001) * bound


def test_a_step_that_ignores_the_regulariser_breaks_the_bound():
    l2 = 1.0
    model = OKAUCM(RBF(0.5), l2, lr=1.9, budget=UNLIMITED)
    learn(model, streams_of_many_kinds()["mixed"])
    support = model.support
    squared_norm = support.coefficients @ support.gram @ support.coefficients
    assert math.sqrt(squared_norm) > (math.sqrt(2.0) + 0.5) / l2


# Features, chance, pickling ------------------------------------------------------------------

MODELS: dict[str, Callable[[], KernelLearner]] = {
    "OKAUCM": lambda: OKAUCM(RBF(0.5), budget=20, seed=1),
    "OKAUCM-reservoir": lambda: OKAUCM(
        Polynomial(), 0.5, budget=(4, 7), policy="reservoir", seed=1
    ),
    "OKAUCS": lambda: OKAUCS(RBF(0.5), budget=20, seed=1),
    "OKAUCS-reservoir": lambda: OKAUCS(Linear(), lr=0.01, budget=6, policy="reservoir", seed=1),
    "KOIL": lambda: KOIL(RBF(0.5), budget=20, seed=1),
    "KOIL-reservoir": lambda: KOIL(RBF(0.5), budget=5, loss="l2", policy="reservoir", seed=1),
}
each_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


@each_model
def test_a_late_feature_has_been_zero_all_along(make):
    stream = random_stream(120, 4, seed=8)
    for x, _, _ in stream[:60]:
        x[2:] = 0.0
    late, all_along = make(), make()
    for x, y, w in stream:
        late.learn_one({name: value for name, value in features(x).items() if value}, y, w)
        all_along.learn_one(features(x), y, w)
        expected = all_along.score_one(features(x))
        assert late.score_one(features(x)) == pytest.approx(expected, rel=1e-9)
    assert expected != 0.0
    assert late.score_one({}) == pytest.approx(all_along.score_one(features(np.zeros(4))))


@each_model
def test_a_pickled_model_goes_on_bit_for_bit(make):
    stream = random_stream(200, 3, seed=9)
    model = make()
    learn(model, stream[:100])
    restored = pickle.loads(pickle.dumps(model))
    for x, y, w in stream[100:]:
        for one in (model, restored):
            one.learn_one({**features(x), "late": 1.0}, y, w)
        assert restored.predict_proba_one(features(x)) == model.predict_proba_one(features(x))
    assert_same_state(restored, model)


@pytest.mark.parametrize("learner", [OKAUCM, OKAUCS, KOIL])
def test_chance_is_that_of_the_seed(learner):
    stream = random_stream(150, 2, seed=10)
    models = [learner(budget=5, policy="reservoir", seed=seed) for seed in (1, 1, 2)]
    for model in models:
        learn(model, stream)
    probe = features(stream[0][0])
    first, again, other = (model.score_one(probe) for model in models)
    assert first == again != other


@pytest.mark.parametrize("learner", [OKAUCM, OKAUCS, KOIL])
def test_a_pair_of_budgets_is_of_positives_and_of_negatives(learner):
    model = learner(budget=(3, 7))
    learn(model, random_stream(100, 2, seed=11))
    assert len(expansion(model, True)[0]) == 3
    assert len(expansion(model, False)[0]) == 7


@pytest.mark.parametrize("learner", [OKAUCM, OKAUCS])
def test_one_class_alone_is_stored_and_has_no_say(learner):
    model = learner(budget=5)
    for x, _, w in random_stream(30, 2, seed=12):
        model.learn_one(features(x), False, w)
    vectors, coefficients = expansion(model, False)
    assert len(vectors) == 5
    assert not coefficients.any()
    assert model.predict_proba_one({"x0": 1.0}) == {False: 0.5, True: 0.5}


def test_koil_does_not_store_what_it_ranks_well_enough():
    model = KOIL(RBF(1.0), C=1e4)
    model.learn_one({"a": 0.0}, True)
    model.learn_one({"a": 9.0}, False)
    assert model.support.n == [1, 1]
    model.learn_one({"a": 0.1}, True)
    model.learn_one({"a": 9.1}, False)
    assert model.support.n == [1, 1]
    assert model.support.n_offered == [2, 2]
    model.learn_one({"a": 0.0}, False)
    assert model.support.n == [2, 1]


def test_koil_is_content_with_a_margin_of_exactly_one():
    model = KOIL(Linear(), C=1.0, eta=0.5)
    # Each step is 0.5 from an empty class, and halves what is there.
    model.learn_one({"a": 2.0}, True)
    assert model.score_one({"a": 1.0}) == 1.0
    # The first negative has a margin of exactly 1 to the one positive: it is no violator, but the
    # first of its class.
    model.learn_one({"a": 1.0}, False)
    assert expansion(model, True)[1].tolist() == [0.25]
    assert expansion(model, False)[1].tolist() == [-0.5]


@each_model
def test_the_probability_is_an_increasing_function_of_the_score(make):
    stream = random_stream(150, 3, seed=13)
    model = make()
    learn(model, stream)
    scores = [model.score_one(features(x)) for x, _, _ in stream]
    probabilities = [model.predict_proba_one(features(x))[True] for x, _, _ in stream]
    np.testing.assert_array_equal(np.argsort(scores), np.argsort(probabilities))


def rings(n: int, seed: int) -> list[Example]:
    """The negatives lie around the positives: no linear score can rank them."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    radii = np.where(y, 0.5, 1.5) + 0.2 * rng.normal(size=n)
    angles = rng.uniform(0.0, 2.0 * np.pi, size=n)
    x = radii[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    return list(zip(x, y.tolist(), [1.0] * n, strict=True))


@pytest.mark.parametrize("policy", ["fifo", "reservoir"])
@pytest.mark.parametrize("learner", [OKAUCM, OKAUCS, KOIL])
def test_each_ranks_what_no_plane_can_part(learner, policy):
    model, linear = learner(RBF(1.0), budget=30, policy=policy, seed=0), OAUCM()
    for one in (model, linear):
        learn(one, rings(600, seed=0))
    labels = [1 if y else -1 for _, y, _ in rings(300, seed=1)]
    aucs = [
        reference.auc(labels, [one.score_one(features(x)) for x, _, _ in rings(300, seed=1)])
        for one in (model, linear)
    ]
    assert aucs[0] > 0.97
    assert aucs[1] < 0.7


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["fifo", "reservoir"])
@pytest.mark.parametrize("learner", [OKAUCM, OKAUCS, KOIL])
def test_the_cost_of_a_step_does_not_grow_with_the_stream(learner, policy):
    model = learner(policy=policy, seed=0)
    stream = [(features(x), y) for x, y, _ in random_stream(2500, 30, seed=14, weighted=False)]
    seconds = []
    for x, y in stream:
        start = time.perf_counter()
        model.predict_proba_one(x)
        model.learn_one(x, y)
        seconds.append(time.perf_counter() - start)
    # The quicker steps, as other work on the machine slows down some.
    early, late = np.quantile(seconds[500:1000], 0.1), np.quantile(seconds[2000:2500], 0.1)
    assert late < 1.5 * early


@each_model
def test_the_level_is_half_way_between_the_class_means_of_the_stored_scores(make):
    model = make()
    for example in random_stream(80, 3, seed=20):
        learn(model, [example])
        means = []
        for label in (False, True):
            slots = np.arange(len(model.support.vectors))[model.support.slots(label)]
            if len(slots):
                scores = [model.score_one(features(x)) for x in model.support.vectors[slots]]
                means.append(np.average(scores, weights=model.support.importance[label][slots]))
        assert model._level == pytest.approx(np.mean(means or [0.0]), rel=1e-9, abs=1e-12)


def fading_weights(n: int, memory: int) -> np.ndarray:
    """Of n values in an average that a new value enters with 1/t, but with 1/memory at least."""
    rates = 1.0 / np.minimum(np.arange(1, n + 1), memory)
    return rates * np.append(np.cumprod((1.0 - rates)[:0:-1])[::-1], 1.0)


@pytest.mark.parametrize("learner", [OKAUCM, OKAUCS, KOIL])
def test_probabilities_are_those_of_scores_above_the_level_of_their_time(learner):
    """A score counts as it was before its example was learned, and above the level of then."""
    model, statistics, expected = learner(RBF(0.5), budget=10), ScoreStatistics(), Calibration()
    for x, y, w in random_stream(150, 3, seed=22):
        if w:
            statistics.add(model.score_one(features(x)) - model._level, y)
            learn(model, [(x, y, w)])
            statistics.fit(expected, model._level)
        for name in ("slope", "midpoint"):
            assert getattr(model._calibration, name) == pytest.approx(getattr(expected, name))


@pytest.mark.parametrize("n", [2, 29, 31, 400])
@pytest.mark.parametrize("level", [0.0, -3.0])
def test_statistics_of_scores_are_fading_averages_in_units_of_the_recent_scores(n, level):
    rng = np.random.default_rng(n)
    positive = rng.random(n) < 0.4
    positive[:2] = True, False
    # The scores grow a hundredfold on the way.
    scores = (rng.normal(size=n) + positive) * np.geomspace(1.0, 100.0, n)
    statistics = ScoreStatistics()
    calibration, expected = Calibration("empirical"), Calibration("empirical")
    for score, label in zip(scores.tolist(), positive.tolist(), strict=True):
        statistics.add(score, label)
    statistics.fit(calibration, level)

    units = [math.sqrt(fading_weights(t, 30) @ scores[:t] ** 2) for t in range(1, n + 1)]
    means, variances = {}, {}
    for label in (False, True):
        own = (scores / units)[positive == label]
        weights = fading_weights(len(own), 100)
        assert weights.sum() == pytest.approx(1.0)
        means[label] = level + units[-1] * (weights @ own)
        variances[label] = units[-1] ** 2 * (weights @ (own - weights @ own) ** 2)
    odds = positive.sum() / (~positive).sum()
    expected.fit(means[True], means[False], (variances[False] + variances[True]) / 2, odds)
    for name in ("slope", "midpoint", "log_odds"):
        assert getattr(calibration, name) == pytest.approx(getattr(expected, name), rel=1e-9)


class Counting(RBF):
    """Counts how often it is asked for similarities, on the class and not in the models."""

    n_calls = 0

    def __call__(self, x: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        Counting.n_calls += 1
        return super().__call__(x, vectors)


@pytest.mark.parametrize("learner", [OKAUCM, OKAUCS, KOIL])
def test_an_example_that_has_just_been_scored_is_not_compared_again(learner):
    Counting.n_calls = 0
    asked, spared = (learner(Counting(0.5), budget=3, seed=0) for _ in range(2))
    for x, y, w in random_stream(60, 3, seed=21):
        learn(spared, [(x, y, w)])
        asked.predict_proba_one(features(-x))
        asked.predict_proba_one(features(x))
        before = Counting.n_calls
        learn(asked, [(x, y, w)])
        assert Counting.n_calls == before
        assert_same_state(asked, spared)
    assert Counting.n_calls > 100


# Refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [RBF(0.5), Linear(), Polynomial(degree=3)])
@pytest.mark.parametrize("policy", ["fifo", "reservoir"])
@pytest.mark.parametrize("lr", [1e3, 1e30])
def test_a_step_that_is_far_too_large_is_refused_before_it_does_harm(kernel, policy, lr):
    model = OKAUCS(kernel, lr=lr, budget=10, policy=policy, seed=0)
    refusals = 0
    for x, y, _ in random_stream(200, 3, seed=16):
        before = pickle.dumps(model)
        try:
            model.learn_one({**features(x), f"new{refusals}": 1.0}, y)
        except ValueError as refusal:
            refusals += 1
            assert "step size" in str(refusal)
            assert pickle.dumps(model) == before
        assert all(math.isfinite(number) for number in numbers_in(model))
    assert refusals > 50


# Learners with a kernel that overflows, and steps that are short enough for it.
STEEP = Polynomial(degree=5)
STEEP_MODELS = {
    "OKAUCM": functools.partial(OKAUCM, STEEP, budget=5),
    "OKAUCS": functools.partial(OKAUCS, STEEP, lr=1e-9, budget=5),
    "KOIL": functools.partial(KOIL, STEEP, budget=5),
}
each_steep_model = pytest.mark.parametrize("make", STEEP_MODELS.values(), ids=STEEP_MODELS)


@each_steep_model
@pytest.mark.parametrize("value", [1e50, 1e40, 1e31])
@pytest.mark.parametrize("y", [False, True])
def test_similarities_that_overflow_are_refused(make, value, y):
    for n_before in (0, 1, 40):
        model = make()
        learn(model, random_stream(n_before, 2, seed=17, weighted=False))
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match="scale"):
            model.learn_one({"x0": value, "new": value}, y)
        assert pickle.dumps(model) == before
        learn(model, random_stream(20, 2, seed=18))
        assert all(math.isfinite(number) for number in numbers_in(model))
        assert 0.0 <= model.predict_proba_one({"x0": 1.0})[True] <= 1.0


@each_steep_model
@pytest.mark.parametrize("value", [1e10, 1e20, 1e28])
def test_similarities_whose_products_overflow_leave_the_model_finite_or_unchanged(make, value):
    model = make()
    for x, y in itertools.product((value, 2.0, -value, -value, 1.0), (True, False)):
        before = pickle.dumps(model)
        try:
            model.learn_one({"a": x}, y)
        except ValueError as refusal:
            assert "scale" in str(refusal)
            assert pickle.dumps(model) == before
        assert all(math.isfinite(number) for number in numbers_in(model))


@each_steep_model
def test_a_prediction_that_overflows_is_a_refusal_or_a_probability(make):
    model = make()
    learn(model, random_stream(60, 2, seed=17))
    for x in ({"x0": 1e50, "x1": -1e50}, {"x0": -1e50}, {"x1": 1e49}):
        try:
            probability = model.predict_proba_one(x)[True]
        except ValueError as refusal:
            assert "scale" in str(refusal)
        else:
            assert 0.0 <= probability <= 1.0


class Broken(Kernel):
    """A kernel that is not a number where it is asked for a 7."""

    def __call__(self, x: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        return np.where((vectors[:, 0] == 7.0) | (x[0] == 7.0), np.nan, vectors @ x)


@pytest.mark.parametrize("learner", [OKAUCM, OKAUCS, KOIL])
def test_a_similarity_that_is_not_a_number_is_refused(learner):
    model = learner(Broken(), budget=3)
    for value in (7.0, 1.0, 2.0, -1.0, 3.0):
        for y in (False, True):
            before = pickle.dumps(model)
            if value == 7.0:
                with pytest.raises(ValueError):
                    model.learn_one({"a": value}, y)
                assert pickle.dumps(model) == before
            else:
                model.learn_one({"a": value}, y)
                with pytest.raises(ValueError):
                    model.learn_one({"a": 7.0}, y)
                assert all(math.isfinite(number) for number in numbers_in(copy.deepcopy(model)))


# Parameters ----------------------------------------------------------------------------------

NOT_POSITIVE = [0.0, -1.0, math.nan, math.inf, True, "1", [1.0], 1j]
NOT_BUDGETS = [0, -1, 1.0, True, "1", None, (0, 5), (5, 0), (5, 1.5), (5,), (1, 2, 3), (), [3, 5]]


@pytest.mark.parametrize(
    ("learner", "name", "bad"),
    [
        *((learner, "l2", bad) for learner in (OKAUCM, OKAUCS) for bad in NOT_POSITIVE[1:]),
        *((learner, "lr", bad) for learner in (OKAUCM, OKAUCS) for bad in NOT_POSITIVE),
        (OKAUCM, "l2", 0.0),
        *((learner, "budget", bad) for learner in (OKAUCM, KOIL) for bad in NOT_BUDGETS),
        *((KOIL, name, bad) for name in ("C", "eta") for bad in [*NOT_POSITIVE, None]),
        *((KOIL, "k", bad) for bad in (0, -1, 1.0, True, "1", None)),
        *((KOIL, "loss", bad) for bad in ("hinge", "", None, 1)),
        *((learner, "policy", "random") for learner in (OKAUCM, OKAUCS, KOIL)),
        *((learner, "prior", "uniform") for learner in (OKAUCM, OKAUCS, KOIL)),
    ],
)
def test_a_bad_parameter_is_refused_by_name(learner, name, bad):
    with pytest.raises(ValueError, match=f"^{name} is "):
        learner(**{name: bad})


@pytest.mark.parametrize("learner", [OKAUCM, OKAUCS])
def test_an_l2_of_zero_needs_a_step_size_of_its_own(learner):
    with pytest.raises(ValueError, match="^l2 is "):
        learner(l2=0.0, lr=None)
    model = learner(l2=0.0, lr=0.1)
    learn(model, random_stream(20, 2, seed=19))
    assert model.score_one({"x0": 1.0}) != 0.0


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        (OKAUCM(), {"l2": 0.5, "lr": 0.1}),
        (OKAUCS(), {"l2": 0.5, "lr": 0.1}),
        (KOIL(), {"C": 0.5, "eta": 0.1}),
    ],
)
def test_what_can_be_tuned_on_the_way_can_be_mutated(model, changes):
    model.mutate(changes)
    assert changes.items() <= model._get_params().items()
