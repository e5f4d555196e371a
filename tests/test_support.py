"""The support set against plain lists, a Gram matrix made afresh, brute force and chance."""

from __future__ import annotations

import collections
import copy
import itertools
import pickle
import random
import weakref
from typing import Any

import numpy as np
import pytest
import reference
from attributes import attributes_of
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from river_oauc.kernel.support import SupportSet, k_nearest, nearest
from river_oauc.kernels import RBF, Kernel, Linear, Polynomial

KERNELS = {
    "RBF": (RBF(gamma=0.5), reference.rbf(0.5)),
    "Polynomial": (
        Polynomial(degree=3, gamma=0.5, coef0=1.0),
        reference.polynomial(3, 0.5, 1.0),
    ),
    "Linear": (Linear(), reference.linear),
}
POLICIES = ("fifo", "reservoir")
COMPENSATIONS = ("projection", "whole", "none")

each_kernel = pytest.mark.parametrize(("kernel", "formula"), KERNELS.values(), ids=KERNELS)
each_policy = pytest.mark.parametrize("policy", POLICIES)


def offer(
    support: SupportSet, x: np.ndarray, positive: bool, coefficient: float = 1.0, w: float = 1.0
) -> None:
    """Insert a vector as a learner does."""
    support.n_offered[positive] += 1
    squared_norm = support.kernel.of_itself(x)
    support.insert(x, support.row(x), squared_norm, positive, coefficient, w)


def by_age(support: SupportSet, positive: bool) -> np.ndarray:
    """The slots of a class, that of the oldest vector first."""
    slots = np.arange(len(support.vectors))[support.slots(positive)]
    return slots[np.argsort(support.arrival[slots])]


class PlainSupport:
    """The same in lists of `[vector, coefficient, importance]`, oldest first."""

    def __init__(
        self,
        formula: reference.Kernel,
        budgets: tuple[int, int],
        policy: str,
        compensation: str,
        seed: int,
    ) -> None:
        self.formula = formula
        self.budgets = budgets
        self.policy = policy
        self.compensation = compensation
        self.chance = reference.UniformReservoir(seed)
        self.stored: dict[bool, list[list[Any]]] = {False: [], True: []}
        self.n_offered = {False: 0, True: 0}

    def offer(self, x: np.ndarray, positive: bool, coefficient: float, w: float) -> None:
        own, budget = self.stored[positive], self.budgets[positive]
        self.n_offered[positive] += 1
        own.append([x, coefficient, w])
        if len(own) > budget:
            position: int | None = 0
            if self.policy == "reservoir":
                position = self.chance.keep(self.n_offered[positive], budget)
            # The last one is the new one.
            self.pass_on(own.pop(-1 if position is None else position), own)

    def pass_on(self, given_up: list[Any], own: list[list[Any]]) -> None:
        x, coefficient, _ = given_up
        if self.compensation == "projection":
            heir = max(own, key=lambda item: self.kept(x, item[0]))
            if self.kept(x, heir[0]) > 0:
                heir[1] += coefficient * self.formula(x, heir[0]) / self.formula(heir[0], heir[0])
        elif self.compensation == "whole":
            heir = max(own, key=lambda item: self.formula(x, item[0]))
            heir[1] += coefficient

    def kept(self, x: np.ndarray, heir: np.ndarray) -> float:
        squared_norm = self.formula(heir, heir)
        return self.formula(x, heir) ** 2 / squared_norm if squared_norm > 0 else 0.0


def assert_holds(support: SupportSet, plain: PlainSupport) -> None:
    for positive in (False, True):
        expected = plain.stored[positive]
        slots = by_age(support, positive)
        assert support.n[positive] == len(slots) == len(expected)
        if expected:
            vectors, coefficients, importance = zip(*expected, strict=True)
            assert support.vectors[slots].tolist() == [x.tolist() for x in vectors]
            assert support.coefficients[slots] == pytest.approx(coefficients, rel=1e-9, abs=1e-9)
            assert support.importance[positive][slots].tolist() == list(importance)
            assert support.totals[positive] == pytest.approx(sum(importance), rel=1e-14)
        others = np.setdiff1d(np.arange(len(support.vectors)), slots)
        assert not support.importance[positive][others].any()


def assert_gram_is_in_step(support: SupportSet, formula: reference.Kernel) -> None:
    used = np.concatenate([by_age(support, False), by_age(support, True)])
    vectors = support.vectors[used]
    afresh = np.array([[formula(x, z) for z in vectors] for x in vectors])
    scale = np.abs(afresh).max()
    np.testing.assert_allclose(
        support.gram[np.ix_(used, used)], afresh, rtol=1e-12, atol=1e-13 * scale
    )
    free = np.setdiff1d(np.arange(len(support.vectors)), used)
    assert not support.gram[free].any()
    assert not support.gram[:, free].any()
    assert not support.vectors[free].any()
    assert not support.coefficients[free].any()


# Against plain lists -------------------------------------------------------------------------


@each_kernel
@each_policy
@given(
    budgets=st.tuples(st.integers(1, 20), st.integers(1, 20)),
    compensation=st.sampled_from(COMPENSATIONS),
    # Few values, exact in binary, so that vectors come again and similarities tie.
    resolution=st.sampled_from([1, 2, 64]),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=15)
def test_it_holds_what_plain_lists_hold(
    kernel, formula, policy, budgets, compensation, resolution, seed
):
    rng = np.random.default_rng(seed)
    support = SupportSet(kernel, budgets, policy, compensation, seed)
    support.resize(2)
    plain = PlainSupport(formula, budgets, policy, compensation, seed)
    for _ in range(60):
        x = rng.integers(-2 * resolution, 2 * resolution + 1, size=2) / resolution
        positive = bool(rng.random() < 0.4)
        coefficient, w = rng.normal(), rng.choice([0.5, 1.0, 3.0])
        offer(support, x, positive, coefficient, w)
        plain.offer(x, positive, coefficient, w)
        assert_holds(support, plain)
    assert_gram_is_in_step(support, formula)

    probe = rng.normal(size=2)
    expected = sum(
        coefficient * formula(x, probe)
        for x, coefficient, _ in plain.stored[False] + plain.stored[True]
    )
    row = support.row(probe)
    scale = max(1.0, np.abs(support.coefficients) @ np.abs(row))
    assert support.score(row) == pytest.approx(expected, abs=1e-9 * scale)


@each_kernel
@each_policy
def test_the_gram_matrix_is_in_step_after_thousands_of_insertions_and_removals(
    kernel, formula, policy
):
    rng = np.random.default_rng(0)
    support = SupportSet(kernel, (12, 20), policy, seed=0)
    support.resize(3)
    n_insertions = 0
    while n_insertions < 2_000:
        positive = bool(rng.random() < 0.3)
        # The reservoir is told each time that it is young: else it would soon take in no more.
        support.n_offered = list(support.budgets)
        newest = support.arrival.max()
        offer(support, rng.normal(size=3), positive, coefficient=rng.normal())
        n_insertions += support.arrival.max() > newest
        if n_insertions in (1, 10, 100, 1_000):
            assert_gram_is_in_step(support, formula)
    assert support.n == [12, 20]
    assert_gram_is_in_step(support, formula)


@each_kernel
def test_the_scores_of_the_stored_vectors_are_those_of_a_fresh_look(kernel, formula):
    rng = np.random.default_rng(1)
    support = SupportSet(kernel, (5, 20))
    support.resize(2)
    for _ in range(60):
        offer(support, rng.normal(size=2), bool(rng.random() < 0.5), rng.normal())
        for positive in (False, True):
            vectors = support.vectors[support.slots(positive)]
            expected = [support.score(support.row(x)) for x in vectors]
            scores = support.scores()[support.slots(positive)]
            assert scores == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_a_mean_is_that_of_a_class_by_importance():
    rng = np.random.default_rng(2)
    support = SupportSet(RBF(), (5, 20))
    support.resize(2)
    assert support.mean(np.ones(len(support.vectors)), True) == 0.0
    for _ in range(60):
        offer(support, rng.normal(size=2), bool(rng.random() < 0.5), w=rng.uniform(0.1, 3.0))
        values = rng.normal(size=len(support.vectors))
        for positive in (False, True):
            slots = by_age(support, positive)
            if len(slots):
                importance = support.importance[positive][slots]
                expected = np.average(values[slots], weights=importance)
                assert support.mean(values, positive) == pytest.approx(expected, rel=1e-9, abs=1e-9)


# What is given up ----------------------------------------------------------------------------


def test_the_oldest_of_a_class_goes_first():
    support = SupportSet(Linear(), (3, 4))
    kept = {False: collections.deque(maxlen=3), True: collections.deque(maxlen=4)}
    chance = random.Random(0)
    for value in range(1, 200):
        positive = chance.random() < 0.4
        offer(support, np.array([float(value)]), positive)
        kept[positive].append(value)
        for label in (False, True):
            assert support.vectors[by_age(support, label), 0].tolist() == list(kept[label])


def sample_of(n: int, budget: int, seed: int) -> list[int]:
    """Which of n vectors of one class are kept in the end, oldest first."""
    support = SupportSet(Linear(), (budget, 1), "reservoir", seed=seed)
    for value in range(n):
        offer(support, np.array([float(value)]), positive=False)
    return [int(value) for value in support.vectors[by_age(support, False), 0]]


@pytest.mark.parametrize(("n", "budget"), [(7, 3), (6, 1), (5, 4)])
def test_every_sample_is_equally_likely_to_be_in_the_reservoir(n, budget):
    drawn = collections.Counter(tuple(sample_of(n, budget, seed)) for seed in range(1000))
    samples = list(itertools.combinations(range(n), budget))
    assert drawn.keys() <= set(samples)
    assert stats.chisquare([drawn[sample] for sample in samples]).pvalue > 1e-3


def test_the_reservoir_counts_what_was_offered_and_not_what_was_stored():
    stays = 0
    for seed in range(500):
        support = SupportSet(Linear(), (1, 1), "reservoir", seed=seed)
        offer(support, np.array([1.0]), True)
        support.n_offered[True] += 8
        offer(support, np.array([2.0]), True)
        stays += support.vectors[support.slots(True), 0].tolist() == [1.0]
    assert stats.binomtest(stays, 500, 0.9).pvalue > 1e-3


def test_the_classes_do_not_touch_each_other():
    support = SupportSet(RBF(), (2, 2))
    for value in (0.0, 1.0):
        offer(support, np.array([value]), False, coefficient=-1.0)
    before = support.vectors[support.slots(False)].copy()
    for value in (0.0, 0.1, 0.9, 1.0, 5.0):
        offer(support, np.array([value]), True)
    np.testing.assert_array_equal(support.vectors[support.slots(False)], before)
    assert support.coefficients[support.slots(False)].tolist() == [-1.0, -1.0]


# What is passed on ---------------------------------------------------------------------------


@each_kernel
@each_policy
def test_no_share_of_no_heir_loses_less_than_the_projection(kernel, formula, policy):
    """Brute force: the norm of what is lost, over all heirs and a fine grid of shares."""
    rng = np.random.default_rng(2)
    support = SupportSet(kernel, (6, 6), policy, "projection", seed=0)
    support.resize(2)
    removals = 0
    for _ in range(80):
        positive = bool(rng.random() < 0.5)
        x, coefficient = rng.normal(size=2), rng.normal()
        slots = by_age(support, positive)
        vectors = [*support.vectors[slots].tolist(), x.tolist()]
        old = [*support.coefficients[slots].tolist(), coefficient]
        offer(support, x, positive, coefficient)

        slots = by_age(support, positive)
        if len(slots) == len(vectors):
            continue
        removals += 1
        kept = support.vectors[slots].tolist()
        (gone,) = (i for i, vector in enumerate(vectors) if vector not in kept)
        points = np.array([vectors[gone], *kept])
        gram = np.array([[formula(z, v) for v in points] for z in points])
        received = support.coefficients[slots] - np.delete(old, gone)

        def lost(inherited, gram=gram, given=old[gone]):
            difference = np.append(given, -np.asarray(inherited))
            return difference @ gram @ difference

        assert np.count_nonzero(np.abs(received) > 1e-12) <= 1
        best = min(
            lost(old[gone] * share * unit)
            for unit in np.eye(len(kept))
            for share in np.linspace(-3, 3, 61)
        )
        assert lost(received) <= best + 1e-12 * gram.max()
        assert lost(received) <= lost(np.zeros(len(kept)))
    assert removals > 15


HEIRS = {
    # The first vector, at 0, is given up for that at 9. At distance 1 and -1 the older inherits.
    "projection": [1.0 + 8.0 * np.exp(-1.0), 1.0, 1.0],
    "whole": [1.0 + 8.0, 1.0, 1.0],
    "none": [1.0, 1.0, 1.0],
}


@pytest.mark.parametrize(("compensation", "expected"), HEIRS.items(), ids=HEIRS)
@pytest.mark.parametrize("sides", [(1.0, -1.0), (-1.0, 1.0)])
def test_of_two_equally_similar_vectors_the_older_inherits(compensation, expected, sides):
    support = SupportSet(RBF(gamma=1.0), (1, 3), compensation=compensation)
    for value, coefficient in zip((0.0, *sides, 9.0), (8.0, 1.0, 1.0, 1.0), strict=True):
        offer(support, np.array([value]), True, coefficient)
    slots = by_age(support, True)
    assert support.vectors[slots, 0].tolist() == [*sides, 9.0]
    assert support.coefficients[slots] == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(("unit", "inherited"), [(1e3, 0.5), (1e-20, 0.5), (1e-26, 0.0)])
def test_the_unit_of_the_features_makes_no_difference_until_they_are_next_to_nothing(
    unit, inherited
):
    support = SupportSet(Linear(), (2, 2))
    for value in (1.0, 2.0, 4.0):
        offer(support, np.array([unit * value]), True, 1.0)
    assert support.coefficients[support.slots(True)] == pytest.approx([1.0, 1.0 + inherited])


def test_a_vector_of_norm_zero_inherits_nothing():
    support = SupportSet(Linear(), (1, 2))
    for value, coefficient in ((1.0, 3.0), (0.0, 0.0), (2.0, 0.0)):
        offer(support, np.array([value]), True, coefficient)
    assert support.coefficients[by_age(support, True)].tolist() == [0.0, 1.5]
    # Where there is no other heir, the coefficient is lost.
    offer(support, np.array([0.0]), True, 5.0)
    offer(support, np.array([0.0]), True, 0.0)
    assert support.coefficients[by_age(support, True)].tolist() == [5.0, 0.0]


@pytest.mark.parametrize("short", [1e-155, 1e-160, 1e-170])
def test_a_vector_whose_norm_has_no_inverse_does_no_harm(short):
    support = SupportSet(Linear(), (1, 1))
    for value in (1.0, short, 2.0, 3.0):
        offer(support, np.array([value]), True)
        assert all(np.isfinite(support.coefficients))
        assert support.vectors[support.slots(True), 0].tolist() == [value]


@pytest.mark.parametrize("compensation", ["projection", "whole"])
def test_a_new_vector_that_is_not_kept_leaves_its_coefficient_behind(compensation):
    seed = next(s for s in range(100) if random.Random(s).randrange(3) == 2)
    support = SupportSet(Linear(), (1, 2), "reservoir", compensation, seed)
    for value, coefficient in ((1.0, 10.0), (-4.0, 20.0), (2.0, 6.0)):
        offer(support, np.array([value]), True, coefficient)
    slots = by_age(support, True)
    assert support.vectors[slots, 0].tolist() == [1.0, -4.0]
    # 2 is twice 1; projected on either vector it loses nothing, and the older one inherits.
    expected = [10.0 + 12.0, 20.0] if compensation == "projection" else [16.0, 20.0]
    assert support.coefficients[slots].tolist() == expected


def test_a_budget_of_one_leaves_all_to_the_new_vector():
    for compensation, expected in (("projection", 1.0 + 3.0 / 2.0), ("whole", 4.0), ("none", 1.0)):
        support = SupportSet(Linear(), (1, 1), compensation=compensation)
        offer(support, np.array([1.0]), True, 3.0)
        offer(support, np.array([2.0]), True, 1.0)
        assert support.vectors[support.slots(True), 0].tolist() == [2.0]
        assert support.coefficients[support.slots(True)].tolist() == [expected]


# Room ----------------------------------------------------------------------------------------

SIZES = (1, 2, 15, 16, 17, 100)


@pytest.mark.parametrize("budgets", [*zip(SIZES, SIZES, strict=True), (1, 100), (100, 17), (15, 2)])
def test_growing_by_doubling_keeps_everything(budgets):
    kernel, formula = KERNELS["RBF"]
    chance = np.random.default_rng(3)
    support = SupportSet(kernel, budgets)
    support.resize(2)
    plain = PlainSupport(formula, budgets, "fifo", "projection", seed=0)
    sizes = set()
    for t in range(250):
        x, positive = chance.normal(size=2), bool(chance.random() < 0.4)
        # A coefficient of 0, as the projections are not the matter here.
        offer(support, x, positive, 0.0, 1.0 + t)
        plain.offer(x, positive, 0.0, 1.0 + t)
        assert len(support.vectors) <= sum(budgets)
        assert len(support.vectors) <= sum(2 * n + 16 for n in support.n)
        if len(support.vectors) not in sizes:
            sizes.add(len(support.vectors))
            assert_holds(support, plain)
            assert_gram_is_in_step(support, formula)
    assert_holds(support, plain)
    assert_gram_is_in_step(support, formula)
    # Doubling is rare.
    assert len(sizes) <= 7


def test_memory_is_that_of_the_vectors_and_the_gram_matrix():
    budget, p = 100, 30
    rng = np.random.default_rng(4)
    support = SupportSet(RBF(), (budget, budget))
    support.resize(p)

    def bytes_held() -> int:
        arrays = [
            value for value in attributes_of(support).values() if isinstance(value, np.ndarray)
        ]
        arrays += support.importance
        assert all(array.base is None for array in arrays)
        return sum(array.nbytes for array in arrays)

    for _ in range(2 * budget):
        offer(support, rng.normal(size=p), False)
        offer(support, rng.normal(size=p), True)
    steady = bytes_held()
    lists = 5 * 2 * budget
    assert steady == 8 * (2 * budget * p + 4 * budget**2 + lists)
    for _ in range(1_000):
        offer(support, rng.normal(size=p), bool(rng.random() < 0.5))
    assert bytes_held() == steady


def test_a_large_budget_costs_nothing_before_it_is_used():
    support = SupportSet(RBF(), (10**9, 10**9))
    offer(support, np.array([1.0]), True)
    assert support.gram.nbytes < 10_000


def test_resizing_adds_zeros_and_takes_them_away_again():
    rng = np.random.default_rng(5)
    support = SupportSet(RBF(), (3, 20))
    support.resize(2)
    for _ in range(30):
        offer(support, rng.normal(size=2), bool(rng.random() < 0.8))
    vectors, gram = support.vectors.copy(), support.gram.copy()
    support.resize(5)
    np.testing.assert_array_equal(support.vectors, np.pad(vectors, ((0, 0), (0, 3))))
    np.testing.assert_array_equal(support.gram, gram)
    x = rng.normal(size=5)
    assert_gram_is_in_step(support, reference.rbf(1.0))
    support.resize(2)
    np.testing.assert_array_equal(support.vectors, vectors)
    support.resize(5)
    offer(support, x, True)
    assert support.vectors[by_age(support, True)[-1]].tolist() == x.tolist()
    assert_gram_is_in_step(support, reference.rbf(1.0))


def test_an_empty_set_scores_nothing():
    support = SupportSet(RBF(), (3, 5))
    row = support.row(np.array([1.0]))
    assert not row.any()
    assert support.score(row) == 0.0
    assert not support.scores().any()


@each_policy
def test_pickling_keeps_everything_chance_included(policy):
    rng = np.random.default_rng(6)
    support = SupportSet(RBF(), (4, 20), policy, seed=7)
    support.resize(2)
    examples = [(rng.normal(size=2), bool(rng.random() < 0.5), rng.normal()) for _ in range(100)]
    for x, positive, coefficient in examples[:50]:
        offer(support, x.copy(), positive, coefficient)
    restored = pickle.loads(pickle.dumps(support))
    for x, positive, coefficient in examples[50:]:
        offer(support, x.copy(), positive, coefficient)
        offer(restored, x.copy(), positive, coefficient)
    for name in ("vectors", "gram", "coefficients", "importance", "arrival"):
        np.testing.assert_array_equal(getattr(restored, name), getattr(support, name))


class Counting(Kernel):
    """Counts the similarities that it is asked for."""

    def __init__(self) -> None:
        self.n_asked = 0

    def __call__(self, x: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        self.n_asked += len(vectors)
        return vectors @ x


@each_policy
def test_only_the_similarities_of_the_new_vector_are_computed(policy):
    kernel = Counting()
    support = SupportSet(kernel, (5, 40), policy, seed=0)
    for value in range(200):
        before = kernel.n_asked
        n_stored = sum(support.n)
        offer(support, np.array([float(value)]), value % 3 > 0)
        # One with each stored vector, and one with itself.
        assert kernel.n_asked - before <= n_stored + 1


# The last row --------------------------------------------------------------------------------


def filled(kernel: Kernel, seed: int = 0) -> SupportSet:
    rng = np.random.default_rng(seed)
    support = SupportSet(kernel, (3, 3))
    support.resize(2)
    for i in range(10):
        offer(support, rng.normal(size=2), i % 2 > 0, rng.normal())
    return support


def fresh_row(support: SupportSet, x: np.ndarray) -> list[float]:
    """Of a set without free slots."""
    return support.kernel(x, support.vectors).tolist()


def test_a_row_is_computed_once_until_another_vector_is_stored():
    kernel = Counting()
    support = filled(kernel)
    x, z = np.array([1.0, -2.0]), np.array([0.5, 3.0])
    rows = [fresh_row(support, x)]
    for _ in range(3):
        offer(support, z, True)
        z = -2.0 * z
        before = kernel.n_asked
        rows += [support.row(x.copy()).tolist() for _ in range(3)]
        assert kernel.n_asked - before == 6
        assert rows[-3:] == [fresh_row(support, x)] * 3
        assert rows[-3] != rows[-4]
        # Another example has another row.
        assert support.row(z).tolist() == fresh_row(support, z) != rows[-1]
        assert support.row(x).tolist() == rows[-1]


def test_a_row_is_computed_again_for_more_features():
    support = filled(RBF())
    support.row(np.array([1.0, 2.0]))
    support.resize(3)
    for x in (np.array([1.0, 2.0, 0.0]), np.array([1.0, 2.0, 5.0])):
        assert support.row(x).tolist() == fresh_row(support, x)


@pytest.mark.parametrize(
    "copied",
    [lambda support: pickle.loads(pickle.dumps(support)), copy.deepcopy],
    ids=["pickle", "deepcopy"],
)
def test_no_set_is_given_the_row_of_another_one(copied):
    first, x = filled(RBF()), np.array([1.0, 2.0])
    second, third = copied(first), filled(RBF(), seed=1)
    offer(first, np.array([9.0, 9.0]), True)
    offer(second, np.array([1.0, 2.0]), True)
    offer(third, np.array([1.0, 1.0]), True)
    assert first.n_stored == second.n_stored == third.n_stored
    rows = [support.row(x).tolist() for support in (first, second, third, first, second)]
    assert rows == [fresh_row(support, x) for support in (first, second, third, first, second)]
    assert len({tuple(row) for row in rows}) == 3


def test_being_asked_for_a_row_leaves_no_trace():
    support = filled(RBF())
    attributes, before = list(attributes_of(support)), pickle.dumps(support)
    support.row(np.array([1.0, 2.0]))
    assert list(attributes_of(support)) == attributes
    assert pickle.dumps(support) == before
    alive = weakref.ref(support)
    del support
    assert alive() is None


class Meddling(RBF):
    """Calls something the next time that it is asked for similarities, but after they are known."""

    meddle: Any = None

    def __call__(self, x: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        row = super().__call__(x, vectors)
        meddle, Meddling.meddle = Meddling.meddle, None
        if meddle:
            meddle()
        return row


def test_a_row_that_is_out_of_date_when_it_is_ready_is_not_kept():
    support = filled(Meddling())
    x, z = np.array([1.0, 2.0]), np.array([0.5, 3.0])
    Meddling.meddle = lambda: offer(support, z, True)
    obsolete = support.row(x).tolist()
    assert support.row(x).tolist() == fresh_row(support, x) != obsolete


# Nearest -------------------------------------------------------------------------------------


@st.composite
def similarities(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values with many ties, the same but for rounding, and an order of arrival."""
    n = draw(st.integers(1, 12))
    values = np.array(draw(st.lists(st.integers(-4, 4), min_size=n, max_size=n)), dtype=float)
    values *= draw(st.sampled_from([1e-20, 0.1, 1.0, 1e20]))
    noise = draw(st.lists(st.integers(-3, 3), min_size=n, max_size=n))
    rounded = values * (1.0 + 1e-15 * np.array(noise))
    arrival = np.array(draw(st.permutations(range(n))), dtype=np.intp)
    return values, rounded, arrival


@given(similarities())
def test_nearest_is_the_first_of_a_stable_sort(drawn):
    values, rounded, arrival = drawn
    expected = min(range(len(values)), key=lambda i: (-values[i], arrival[i]))
    assert nearest(values, arrival) == expected
    assert nearest(rounded, arrival) == expected
    assert type(nearest(values, arrival)) is int


@given(similarities(), st.data())
@settings(max_examples=200)
def test_k_nearest_are_the_first_of_a_stable_sort(drawn, data):
    values, rounded, arrival = drawn
    k = data.draw(st.integers(1, len(values)))
    expected = sorted(range(len(values)), key=lambda i: (-values[i], arrival[i]))[:k]
    assert sorted(k_nearest(values, arrival, k)) == sorted(expected)
    assert sorted(k_nearest(rounded, arrival, k)) == sorted(expected)


def test_values_that_differ_by_more_than_rounding_are_no_ties():
    arrival = np.array([0, 1, 2])
    assert nearest(np.array([1.0, 1.0 + 1e-6, 0.5]), arrival) == 1
    assert sorted(k_nearest(np.array([1.0, 1.0 + 1e-6, 1.0 + 2e-6]), arrival, 2)) == [1, 2]


# Parameters ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["policy", "compensation"])
@pytest.mark.parametrize("bad", ["FIFO", "", None, 1])
def test_a_bad_word_is_refused_by_name(name, bad):
    with pytest.raises(ValueError, match=f"^{name} is "):
        SupportSet(RBF(), (1, 1), **{name: bad})
