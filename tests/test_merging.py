"""`a += b` and `a + b`: a model that stands for two parts of a stream."""

from __future__ import annotations

import copy
import functools
import operator
import pickle
import random
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_contract import CASES, CLASSIFIERS, Factory, state

from river_oauc import (
    KOIL,
    OAUCM,
    OAUCS,
    OKAUCM,
    OLUBAUC,
    PAI,
    AutoOAUCM,
    AutoOKAUCM,
    SparseOAUCM,
)
from river_oauc.auto.experts import Newton, weights_in
from river_oauc.auto.judge import Judge
from river_oauc.auto.probability import ProgressiveScores
from river_oauc.base import OnlineAUCClassifier
from river_oauc.calibration import ScoreStatistics
from river_oauc.kernel.support import SupportSet
from river_oauc.kernels import RBF, Linear
from river_oauc.linear.classifier import MomentClassifier
from river_oauc.metrics import exact_auc
from river_oauc.stats.moments import ForgettingMoments, Moments
from river_oauc.stats.samples import Recent, Reservoir
from river_oauc.stats.units import Units

Example = tuple[dict[str, float], bool]
every_case = pytest.mark.parametrize("make", [make for _, make in CASES], ids=[n for n, _ in CASES])
every_class = pytest.mark.parametrize("cls", CLASSIFIERS)


def stream(n: int, seed: int = 1, names: str = "abcd") -> list[Example]:
    """Two clouds of points, the positives being a third."""
    rng = random.Random(seed)
    examples = []
    for _ in range(n):
        y = rng.random() < 1 / 3
        x = {name: rng.gauss(0.7 * y, 1 + 0.2 * k) for k, name in enumerate(names)}
        examples.append((x, y))
    return examples


def learned(model: Any, examples: Sequence[Example]) -> Any:
    for x, y in examples:
        model.learn_one(x, y)
    return model


def scores(model: Any, examples: Sequence[Example]) -> list[float]:
    return [model.score_one(x) for x, _ in examples]


def auc(model: Any, examples: Sequence[Example]) -> float:
    found, labels = np.array(scores(model, examples)), np.array([y for _, y in examples])
    return exact_auc(found[labels], found[~labels])


# What holds for all --------------------------------------------------------------------------


@every_case
def test_merged_with_an_empty_model_it_stays_what_it_is(make: Factory) -> None:
    model = learned(make(), stream(200))
    probes = stream(20, seed=2)
    if isinstance(model, MomentClassifier):
        # The variance of the scores is looked at now and then; when models merge, it is.
        model._fit_calibration(200, model._weights)
    expected = [model.predict_proba_one(x)[True] for x, _ in probes]
    for merged in (model + make(), make() + model):
        assert scores(merged, probes) == pytest.approx(scores(model, probes), rel=1e-9, abs=1e-12)
        found = [merged.predict_proba_one(x)[True] for x, _ in probes]
        assert found == pytest.approx(expected, rel=1e-9)


@every_case
def test_two_empty_models_are_an_empty_one(make: Factory) -> None:
    probes = stream(5)
    assert scores(make() + make(), probes) == scores(make(), probes)
    one, other = learned(make() + make(), stream(50)), learned(make(), stream(50))
    assert scores(one, probes) == pytest.approx(scores(other, probes), rel=1e-9)


@every_case
def test_the_other_stays_as_it_is_and_goes_on_by_itself(make: Factory) -> None:
    model, other = learned(make(), stream(100)), learned(make(), stream(80, seed=2, names="dcxy"))
    before = pickle.dumps(other)
    both = model + other
    model += other
    assert pickle.dumps(other) == before
    assert scores(both, stream(10)) == scores(model, stream(10))
    expected = pickle.dumps(model)
    learned(other, stream(60, seed=3))
    assert pickle.dumps(model) == expected


@every_case
def test_features_are_matched_by_name(make: Factory) -> None:
    """Whoever has met them in another order, or has met others, too."""
    one = learned(make(), stream(100))
    turned = [({name: x[name] for name in "dbca"}, y) for x, y in stream(90, seed=2)]
    straight = [({name: x[name] for name in "abcd"}, y) for x, y in turned]
    probes = stream(20, seed=3)
    merged = one + learned(make(), turned)
    expected = one + learned(make(), straight)
    # Sums in another order.
    assert scores(merged, probes) == pytest.approx(scores(expected, probes), rel=1e-5, abs=1e-8)
    wider = one + learned(make(), stream(90, seed=2, names="cdef"))
    probe = {"a": 1.0, "f": 1.0, "c": -1.0}
    assert np.isfinite(wider.score_one(probe))
    if hasattr(wider, "weights"):
        assert {*wider.weights} == {*"abcdef"}


@every_case
def test_a_merged_model_is_one_like_any_other(make: Factory) -> None:
    model = learned(make(), stream(100)) + learned(make(), stream(90, seed=2, names="bcde"))
    again = pickle.loads(pickle.dumps(model))
    for x, y in stream(60, seed=4, names="aefg"):
        for one in (model, again):
            one.learn_one(x, y)
        assert model.predict_proba_one(x) == again.predict_proba_one(x)
    assert state(model) == state(again)
    fresh = model.clone()
    assert scores(fresh, stream(3)) == scores(make(), stream(3))


@every_class
def test_what_does_not_merge_is_refused_and_changes_nothing(cls: type[OnlineAUCClassifier]) -> None:
    model = learned(cls(), stream(30))
    before = pickle.dumps(model)
    another = OAUCM() if cls is not OAUCM else OAUCS()
    for other, complaint in (
        (cls(prior="empirical"), "another prior do not merge: 'balanced' and 'empirical'"),
        (another, "merges with its like, not with a"),
        (model, "with itself"),
        ({"a": 1.0}, "merges with its like, not with a dict"),
    ):
        with pytest.raises(ValueError, match=complaint):
            model += other
        with pytest.raises(ValueError, match=complaint):
            model + other
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("cls", [OAUCM, OAUCS, AutoOAUCM, AutoOKAUCM])
def test_too_many_features_together_are_refused(cls: Callable[..., OnlineAUCClassifier]) -> None:
    model = learned(cls(max_features=5), stream(30))
    other = learned(cls(max_features=5), stream(30, names="cdef"))
    before = pickle.dumps(model), pickle.dumps(other)
    with pytest.raises(ValueError, match="max_features"):
        model += other
    assert (pickle.dumps(model), pickle.dumps(other)) == before


def test_equal_kernels_and_other_seeds_merge() -> None:
    one = OKAUCM(RBF(0.5), policy="reservoir", seed=1)
    one += OKAUCM(RBF(0.5), policy="reservoir", seed=2)
    with pytest.raises(ValueError, match="another kernel"):
        one += OKAUCM(RBF(0.25), policy="reservoir", seed=1)


def test_two_threads_that_add_each_other_end() -> None:
    one, other = learned(OAUCM(), stream(50)), learned(OAUCM(), stream(50, seed=2))

    def add(mine: OAUCM, theirs: OAUCM) -> None:
        # So often that the number of examples, which doubles, does not reach 2^63.
        for _ in range(25):
            mine += theirs

    threads = [
        threading.Thread(target=add, args=pair, daemon=True)
        for pair in ((one, other), (other, one))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive()


@pytest.mark.parametrize(
    "make",
    [OAUCM, OAUCS, PAI, OLUBAUC, AutoOAUCM, AutoOKAUCM, SparseOAUCM, OKAUCM, KOIL],
)
def test_parts_of_a_stream_rank_like_the_whole(make: Factory) -> None:
    train, test = stream(2_000), stream(500, seed=2)
    whole = learned(make(), train)
    for n in (4, 16):
        shards = [learned(make(), train[i::n]) for i in range(n)]
        merged = functools.reduce(operator.add, shards)
        # A kernel learner's own budget is a part of the stream, too.
        assert auc(merged, test) > auc(whole, test) - 0.02
    assert auc(learned(merged, train), test) > auc(learned(whole, train), test) - 0.02


# Moments ---------------------------------------------------------------------------------------


@st.composite
def parted_streams(draw: st.DrawFn) -> list[list[tuple[dict[str, float], bool, float]]]:
    """Examples with weights in parts that have their own vocabularies, and offsets up to 1e8."""
    offset = draw(st.sampled_from([0.0, 1.0, -1e4, 1e8]))
    rng = random.Random(draw(st.integers(0, 10**6)))
    parts = []
    for _ in range(draw(st.integers(1, 6))):
        names = rng.sample("abcdef", rng.randrange(1, 7))
        part = []
        for _ in range(rng.randrange(12)):
            x = {name: offset + rng.gauss(0, 1) for name in names}
            part.append((x, rng.random() < 0.4, rng.choice([1.0, 1.0, 0.25, 3.0])))
        parts.append(part)
    return parts


def nested(models: list[Any], rng: random.Random) -> Any:
    """All of them added up, in any order and nesting."""
    while len(models) > 1:
        rng.shuffle(models)
        one, other = models.pop(), models.pop()
        models.append(one + other)
    return models[0]


@given(parts=parted_streams(), seed=st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_moments_are_those_of_one_pass(
    parts: list[list[tuple[dict[str, float], bool, float]]], seed: int
) -> None:
    models = []
    for part in parts:
        model = OAUCM(lr=1e-30)
        for x, y, w in part:
            model.learn_one(x, y, w)
        models.append(model)
    merged = nested(models, random.Random(seed))
    names = merged._vectorizer.names
    whole = [example for part in parts for example in part]
    assert {*names} == {name for x, _, _ in whole for name in x}
    for positive in (False, True):
        own = [(x, w) for x, y, w in whole if y is positive]
        moments = merged.moments[positive]
        assert moments.n == pytest.approx(sum(w for _, w in own), rel=1e-12)
        if not own or not names:
            continue
        # With all digits: a mean of 1e8 squared has none left for a variance of 1.
        rows = np.array([[x.get(name, 0.0) for name in names] for x, _ in own], dtype=np.longdouble)
        weights = np.array([w for _, w in own], dtype=np.longdouble)
        mean = weights @ rows / weights.sum()
        covariance = (weights * (rows - mean).T) @ (rows - mean) / weights.sum()
        size = len(names)
        assert np.abs(moments.mean[:size] - mean).max() <= 1e-9 * np.abs(rows).max()
        error = np.abs(moments.covariance[:size, :size] - covariance).max()
        # A mean of 1e8 is known to 1e-8, and so is the gap between two means.
        unit = 1.0 + np.sqrt(covariance.max()) + np.abs(rows).max() * 1e-7
        assert error <= 1e-9 * unit * (1.0 + np.sqrt(covariance.max()))


def test_forgetting_moments_pool_by_what_they_remember() -> None:
    rng = np.random.default_rng(1)
    parts = [ForgettingMoments(3, memory=10.0) for _ in range(2)]
    rows, weights = [], []
    for part, n in zip(parts, (70, 200), strict=True):
        for age in range(n - 1, -1, -1):
            x = rng.normal(size=3)
            rows.append(x.copy())
            weights.append(0.9**age)
            part.update(x)
    parts[0] += parts[1]
    w = np.array(weights) / sum(weights)
    mean = w @ np.array(rows)
    deviations = np.array(rows) - mean
    np.testing.assert_allclose(parts[0].n, sum(weights), rtol=1e-12)
    np.testing.assert_allclose(parts[0].mean, mean, rtol=1e-9)
    np.testing.assert_allclose(parts[0].covariance, (w * deviations.T) @ deviations, rtol=1e-9)


@pytest.mark.parametrize("n", [10, 64, 150])
def test_transformed_moments_are_those_of_transformed_vectors(n: int) -> None:
    rng = np.random.default_rng(2)
    scale, shift = np.array([2.0, -0.5, 1.0]), np.array([0.0, 3.0, -1.0])
    before, after = ForgettingMoments(3, 20.0), ForgettingMoments(3, 20.0)
    for _ in range(n):
        x = rng.normal(size=3)
        after.update(scale * x + shift)
        before.update(x)
    before.transform(scale, shift)
    np.testing.assert_allclose(before.mean, after.mean, rtol=1e-12)
    np.testing.assert_allclose(before.covariance, after.covariance, rtol=1e-12)


# Linear learners -------------------------------------------------------------------------------


def test_weights_are_averaged_by_what_the_rarer_class_says() -> None:
    one, other = learned(OAUCM(), stream(300)), learned(OAUCM(), stream(100, seed=2))
    merged = one + other
    known = [
        1.0 / sum(1.0 / moments.n for moments in model.moments.values()) for model in (one, other)
    ]
    for name in "abcd":
        expected = (known[0] * one.weights[name] + known[1] * other.weights[name]) / sum(known)
        assert merged.weights[name] == pytest.approx(expected, rel=1e-12)


def test_a_part_with_one_class_adds_its_moments_only() -> None:
    model = learned(OAUCM(), stream(100))
    negatives = learned(OAUCM(), [(x, False) for x, _ in stream(50, seed=2)])
    merged = model + negatives
    assert merged.weights == pytest.approx(model.weights)
    assert merged.moments[False].n == model.moments[False].n + 50
    positives = learned(OAUCM(), [(x, True) for x, _ in stream(50, seed=3)])
    both = learned(negatives + positives, stream(20))
    assert all(np.isfinite(list(both.weights.values())))


def test_probabilities_after_merging_are_those_of_the_pooled_moments() -> None:
    merged = learned(OAUCM(), stream(300)) + learned(OAUCM(), stream(200, seed=2))
    weights = np.array([merged.weights[name] for name in "abcd"])
    negative, positive = (merged.moments[y] for y in (False, True))
    middle = 0.5 * weights @ (negative.mean + positive.mean)[:4]
    assert merged._calibration.midpoint == pytest.approx(middle)


def test_constant_steps_get_as_far_as_in_one_pass() -> None:
    """On average: over many streams, the weights of shards come to those of the whole."""
    gaps = []
    for seed in range(20):
        train = stream(400, seed=seed)
        whole = learned(OAUCS(), train)
        shards = [learned(OAUCS(), train[i::8]) for i in range(8)]
        merged = functools.reduce(operator.add, shards)
        sizes = [np.linalg.norm([*model.weights.values()]) for model in (whole, merged, shards[0])]
        gaps.append((sizes[1] / sizes[0], sizes[2] / sizes[0]))
    merged_part, shard_part = np.mean(gaps, axis=0)
    assert shard_part < 0.7
    assert 0.95 < merged_part < 1.05


def test_many_average_steps_are_that_many_steps() -> None:
    model = learned(OAUCS(l2=0.1, lr=0.01), stream(100))
    positive, negative = model.moments[True], model.moments[False]
    gap = positive.mean - negative.mean
    weights = model._weights.copy()
    for _ in range(37):
        slope = gap - (positive.covariance + negative.covariance) @ weights - gap * (gap @ weights)
        weights += 0.01 * (slope - 0.1 * weights)
    np.testing.assert_allclose(model._after_steps(0.01, 37), weights, rtol=1e-9)


# Samples and kernels ---------------------------------------------------------------------------


def test_a_pooled_reservoir_is_a_uniform_sample() -> None:
    counts = np.zeros(40)
    rng = random.Random(1)
    for _ in range(3_000):
        parts = Reservoir(5, 1), Reservoir(5, 1)
        for value in range(40):
            parts[value >= 30].add(np.array([float(value)]), rng)
        parts[0].pool(parts[1], rng)
        assert parts[0].n_seen == 40
        counts[parts[0].vectors.ravel().astype(int)] += 1
    # 375 each, with a deviation of 18.
    assert counts.sum() == 15_000
    assert np.abs(counts - 375).max() < 5 * 18


def test_pooled_recent_vectors_are_the_newest_of_both() -> None:
    one, other = Recent(4, 1), Recent(4, 1)
    for value in range(7):
        one.add(np.array([float(value)]))
    other.add(np.array([100.0]))
    one.pool(other)
    assert one.oldest_first.ravel().tolist() == [4.0, 5.0, 100.0, 6.0]
    one.add(np.array([7.0]))
    assert 4.0 not in one.oldest_first


def test_within_the_budget_the_score_is_the_average() -> None:
    one, other = learned(OKAUCM(), stream(40)), learned(OKAUCM(), stream(30, seed=2))
    merged = one + other
    n = [model.support.n_offered for model in (one, other)]
    known = [1.0 / (1.0 / a + 1.0 / b) for a, b in n]
    probes = stream(10, seed=3)
    expected = np.average([scores(one, probes), scores(other, probes)], axis=0, weights=known)
    assert scores(merged, probes) == pytest.approx(expected, rel=1e-9)
    assert merged.support.n_offered == [a + b for a, b in zip(*n, strict=True)]
    # All that is kept of the sets agrees with its definition.
    support = merged.support
    slots = [*range(support.slots(False).stop), *range(*support.slots(True).indices(10**6))]
    vectors = support.vectors[slots]
    expected_gram = [[float(support.kernel(x, y[np.newaxis])[0]) for y in vectors] for x in vectors]
    np.testing.assert_allclose(support.gram[np.ix_(slots, slots)], expected_gram, rtol=1e-12)


@pytest.mark.parametrize("policy", ["fifo", "reservoir"])
def test_beyond_the_budget_coefficients_pass_on(policy: str) -> None:
    sets = []
    for value in (1.0, 3.0):
        support = SupportSet(Linear(), (2, 2), policy, seed=1)
        for k in range(2):
            x = np.array([value + k])
            support.n_offered[True] += 1
            support.insert(x, support.row(x), support.kernel.of_itself(x), True, 1.0)
        sets.append(support)
    sets[0].pool(sets[1], 0.5)
    assert sets[0].n == [0, 2]
    assert sets[0].n_offered == [0, 4]
    # On a line nothing is lost: the function is ½ (1 + 2) + ½ (3 + 4) times x.
    x = np.array([1.0])
    assert sets[0].score(sets[0].row(x)) == pytest.approx(5.0)
    if policy == "fifo":
        assert sorted(sets[0].vectors[sets[0].slots(True)].ravel().tolist()) == [2.0, 4.0]


def test_score_statistics_pool() -> None:
    rng = random.Random(3)
    whole, parts = ScoreStatistics(), (ScoreStatistics(), ScoreStatistics())
    for t in range(60):
        score, positive = rng.gauss(0, 1), rng.random() < 0.5
        parts[t % 2].add(score + positive, positive)
        whole.add(score + positive, positive)
    parts[0].__iadd__(parts[1])
    assert parts[0]._positive.n == whole._positive.n
    assert parts[0]._positive.mean == pytest.approx(whole._positive.mean, abs=0.3)
    assert parts[0]._positive.variance == pytest.approx(whole._positive.variance, rel=0.5)


# The learners without anything to set --------------------------------------------------------


def test_units_pool_like_samples() -> None:
    rng = np.random.default_rng(4)
    parts, rows = (Units(3), Units(3)), rng.normal(size=(300, 3)) * [1.0, 5.0, 0.0] + [1, -2, 7]
    rows[::7, 1] = np.nan
    for t, row in enumerate(rows):
        parts[t >= 200].update(row)
    pooled = parts[0]
    pooled += parts[1]
    np.testing.assert_allclose(pooled.mean, np.nanmean(rows, axis=0), rtol=1e-9)
    deviations = np.nanstd(rows, axis=0)
    np.testing.assert_allclose(pooled.factors[:2], 1.0 / deviations[:2], rtol=1e-9)
    assert pooled.factors[2] == 0.0


def test_vectors_change_units_about_the_mean() -> None:
    old, new = Units(3), Units(3)
    rng = np.random.default_rng(5)
    for _ in range(100):
        row = rng.normal(size=3)
        row[2] = 7.0
        old.update(row)
        new.update(row * [3.0, 1.0, 1.0] + [1.0, -2.0, 0.0])
    scale, shift = old.change_to(new)
    x = old.mean + [1e-4, -1e-4, 0.0]
    np.testing.assert_allclose(
        scale * old.standardized(x) + shift, new.standardized(x), rtol=1e-6, atol=1e-8
    )


def test_weights_in_other_units_give_the_same_scores() -> None:
    rng = np.random.default_rng(6)
    weights, scale, shift, z = rng.normal(size=4), rng.normal(size=3), *rng.normal(size=(2, 3))
    changed = weights_in(weights, scale, shift)
    assert changed @ [1.0, *(scale * z + shift)] == pytest.approx(weights @ [1.0, *z])


def test_posteriors_of_two_parts_multiply() -> None:
    """The product of two Gaussians over one prior, in numpy."""
    rng = np.random.default_rng(7)
    experts = Newton(4), Newton(4)
    for expert in experts:
        for _ in range(50):
            z = rng.normal(size=3)
            expert.step(np.array([1.0, *z]), 1.0 if z[0] > 0.0 else -1.0, 1.0)
    prior = np.diag([1.0, 1.5, 1.5, 1.5])
    precisions, means = [], []
    for expert in experts:
        covariance = np.triu(expert._covariance) + np.triu(expert._covariance, 1).T
        precisions.append(np.linalg.inv(covariance))
        means.append(expert.weights.copy())
    precision = precisions[0] + precisions[1] - prior
    mean = np.linalg.solve(precision, precisions[0] @ means[0] + precisions[1] @ means[1])
    unchanged = np.ones(3), np.zeros(3)
    gained = [expert.information(*unchanged) for expert in experts]
    experts[0].set_information(gained[0][0] + gained[1][0], gained[0][1] + gained[1][1])
    np.testing.assert_allclose(experts[0].weights, mean, rtol=1e-9)
    np.testing.assert_allclose(
        np.triu(experts[0]._covariance), np.triu(np.linalg.inv(precision)), rtol=1e-9, atol=1e-12
    )


def test_a_posterior_in_other_units_is_the_same_one() -> None:
    rng = np.random.default_rng(8)
    scale, shift = np.array([2.0, 0.5]), np.array([1.0, -3.0])
    expert = Newton(3)
    for _ in range(40):
        z = rng.normal(size=2)
        expert.step(np.array([1.0, *z]), 1.0 if z[1] > 0.0 else -1.0, 1.0)
    weights = expert.weights.copy()
    gained, vector = expert.information(scale, shift)
    # Nothing is known but what the examples have said: so the prior of the old units goes along.
    change = np.array([[1.0, 0.0, 0.0], [1.0, 2.0, 0.0], [-3.0, 0.0, 0.5]])
    precision = gained + change @ np.diag([1.0, 1.5, 1.5]) @ change.T
    np.testing.assert_allclose(
        np.linalg.solve(precision, vector), weights_in(weights, scale, shift), rtol=1e-9
    )


def test_judges_pool_by_what_they_remember() -> None:
    rng = np.random.default_rng(9)
    judges = Judge(2), Judge(2)
    for judge, n in zip(judges, (150, 50), strict=True):
        for _ in range(n):
            positive = bool(rng.random() < 0.5)
            judge.compare(rng.normal(size=3) + [positive, 0.0, positive], positive, 1.0, 10.0)
    weights = [sum(judge._weights) for judge in judges]
    leads = np.average([judge.leads for judge in judges], axis=0, weights=weights)
    aucs = np.average([j.aucs for j in judges], axis=0, weights=[j._n_pairs for j in judges])
    newest = judges[0]._oldest_first(1)[:, -1], judges[1]._oldest_first(1)[:, -1]
    judges[0].__iadd__(judges[1])
    np.testing.assert_allclose(judges[0].leads, leads, rtol=1e-12)
    np.testing.assert_allclose(judges[0].aucs, aucs, rtol=1e-12)
    assert min(weights) <= sum(judges[0]._weights) <= max(weights)
    kept = judges[0]._oldest_first(1)[:, -2:].T
    assert sorted(map(tuple, kept)) == sorted(map(tuple, newest))


def test_progressive_scores_pool() -> None:
    parts = ProgressiveScores(), ProgressiveScores()
    rng = random.Random(10)
    for part, n in zip(parts, (100, 300), strict=True):
        for _ in range(n):
            positive = rng.random() < 0.25
            part.add(rng.gauss(0.3 if positive else -0.4, 0.2), positive, 1.0, True)
    before = copy.deepcopy(parts)
    parts[0].__iadd__(parts[1])
    for of_class in (0, 1):
        low, high = sorted(part._means[of_class] for part in before)
        assert low <= parts[0]._means[of_class] <= high
        assert parts[0]._n[of_class] == sum(part._n[of_class] for part in before) - 100
    assert parts[0]._total == pytest.approx(before[0]._total + before[1]._total)


def test_a_trial_ends_when_models_merge() -> None:
    model = AutoOAUCM()
    for t, (x, y) in enumerate(stream(3_000)):
        model.learn_one(x, y if t < 1_500 else not y)
        if t > 1_500 and len(model._generations.engines) == 2:
            break
    assert len(model._generations.engines) == 2
    model += learned(AutoOAUCM(), stream(100))
    assert len(model._generations.engines) == 1
    assert len(model.experts) == 6


def test_shards_that_are_far_apart_rank_in_both_places() -> None:
    """Another level and another unit in each shard, as two countries may have."""
    rng = random.Random(11)
    shards = []
    for level, unit in ((0.0, 1.0), (1_000.0, 30.0)):
        part = []
        for _ in range(800):
            y = rng.random() < 0.3
            x = {"a": level + unit * rng.gauss(1.5 * y, 1), "b": rng.gauss(1.0 * y, 1.0)}
            part.append((x, y))
        shards.append(part)
    for make in (AutoOAUCM, AutoOKAUCM):
        merged = learned(make(), shards[0]) + learned(make(), shards[1])
        for part in shards:
            assert auc(merged, part) > 0.7


def test_moments_of_two_kinds_do_not_pool() -> None:
    with pytest.raises(ValueError, match="resize"):
        Moments(2).__iadd__(Moments(3))
