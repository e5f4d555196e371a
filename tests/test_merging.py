"""`a += b` and `a + b`: a model that stands for two parts of a stream."""

from __future__ import annotations

import functools
import operator
import pickle
import random
from typing import Any

import classifiers
import numpy as np
import pytest
from classifiers import MERGING, Example, Factory, assert_close, each_merging_case, learn, scores
from hypothesis import given
from hypothesis import strategies as st

from river_oauc import OAUCM, OKAUCM, AdaOAM
from river_oauc.kernels import RBF
from river_oauc.metrics import exact_auc


def stream(n: int, seed: int = 1, names: str = "abcd") -> list[Example]:
    """Return two clouds of points, the positives being a third."""
    rng = random.Random(seed)
    examples = []
    for _ in range(n):
        y = rng.random() < 1 / 3
        x = {name: rng.gauss(0.7 * y, 1 + 0.2 * k) for k, name in enumerate(names)}
        examples.append((x, y))
    return examples


PROBES = [x for x, _ in stream(20, seed=3)]


def auc(model: Any, examples: list[Example]) -> float:
    found = np.array(scores(model, [x for x, _ in examples]))
    labels = np.array([y for _, y in examples])
    return exact_auc(found[labels], found[~labels])


def test_the_main_learners_merge() -> None:
    expected = "AdaOAM AutoOAUC KOIL OAUCM OAUCS OKAUCM OKAUCS OTAUC SparseOAUCM"
    assert sorted({name.partition("-")[0] for name in MERGING}) == expected.split()


@each_merging_case
def test_merging_with_an_empty_model_changes_no_score(make: Factory) -> None:
    model = learn(make(), stream(200))
    after, before = model + make(), make() + model
    for merged in (after, before):
        assert_close(scores(merged, PROBES), scores(model, PROBES))
    for x in PROBES:
        p = after.predict_proba_one(x)[True]
        assert p == pytest.approx(before.predict_proba_one(x)[True], rel=1e-9)
    begun = learn(make() + make(), stream(50))
    assert_close(scores(begun, PROBES), scores(learn(make(), stream(50)), PROBES))


@each_merging_case
def test_a_merged_model_is_one_like_any_other(make: Factory) -> None:
    model, other = learn(make(), stream(100)), learn(make(), stream(80, seed=2, names="dcxy"))
    before = pickle.dumps(other)
    both = model + other
    model += other
    assert pickle.dumps(other) == before
    learn(other, stream(60, seed=3))
    again = pickle.loads(pickle.dumps(model))
    for x, y in stream(60, seed=4, names="aefy"):
        for one in (both, model, again):
            one.learn_one(x, y)
    assert len({classifiers.learned_state(one) for one in (both, model, again)}) == 1


@each_merging_case
def test_features_are_matched_by_name(make: Factory) -> None:
    one = learn(make(), stream(100))
    turned = [({name: x[name] for name in "dbca"}, y) for x, y in stream(90, seed=2)]
    merged, expected = one + learn(make(), turned), one + learn(make(), stream(90, seed=2))
    # Sums in another order.
    assert_close(scores(merged, PROBES), scores(expected, PROBES), 1e-5)
    wider = one + learn(make(), stream(400, seed=2, names="cdef"))
    probe = {"a": 1.0, "f": 1.0, "c": -1.0}
    # Trees split few examples, and not at every value.
    others = [wider.score_one(probe | {"f": 0.3 * k}) for k in range(-10, 10)]
    assert len({*others}) > 1 and wider.score_one(probe) != one.score_one(probe)


@each_merging_case
def test_what_does_not_merge(make: Factory) -> None:
    model = learn(make(), stream(30))
    before = pickle.dumps(model)
    prior = "balanced" if model.prior == "empirical" else "empirical"
    for other, message in (
        (model.clone({"prior": prior}), "different values of prior: '[be]"),
        (model, "with itself"),
    ):
        for add in (operator.iadd, operator.add):
            with pytest.raises(ValueError, match=message):
                add(model, other)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("cls", [OAUCM, AdaOAM])
def test_too_many_features_together_are_refused(cls: Any) -> None:
    model = learn(cls(max_features=5), stream(30))
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="max_features"):
        model += learn(cls(max_features=5), stream(30, names="cdef"))
    assert pickle.dumps(model) == before


def test_equal_kernels_and_different_seeds_merge() -> None:
    one = OKAUCM(RBF(0.5), policy="reservoir", seed=1)
    one += OKAUCM(RBF(0.5), policy="reservoir", seed=2)
    with pytest.raises(ValueError, match="different values of kernel"):
        one += OKAUCM(RBF(0.25), policy="reservoir", seed=1)


@pytest.mark.parametrize("name", [name for name in MERGING if name.endswith("-0")])
def test_parts_of_a_stream_rank_like_the_whole(name: str) -> None:
    make, train, later, test = MERGING[name], *(stream(n, n) for n in (2_000, 300, 500))
    whole = learn(make(), train)
    once, longer = auc(whole, test), auc(learn(whole, later), test)
    for n in (4, 16):
        merged = sum(learn(make(), train[i::n]) for i in range(n))
        assert auc(merged, test) > once - 0.05
        assert auc(learn(merged, later), test) > longer - 0.05
    # Parts of one class have no pairs to learn from, but the sum has.
    by_class = sum(learn(make(), [(x, y) for x, y in train if y == label]) for label in (0, 1))
    assert auc(learn(by_class, train), test) > 0.65


@given(seed=st.integers(0, 10**6), offset=st.sampled_from([0.0, 1.0, -1e4]))
def test_moments_are_those_of_one_pass(seed: int, offset: float) -> None:
    """Whatever the parts, their vocabularies, and the order in which they are added."""
    rng = random.Random(seed)
    whole, models = [], []
    for _ in range(rng.randrange(1, 7)):
        names, model = rng.sample("abcdef", rng.randrange(1, 7)), OAUCM(lr=1e-30)
        for _ in range(rng.randrange(12)):
            x = {name: offset + rng.gauss(0, 1) for name in names}
            whole.append((x, rng.random() < 0.4, rng.choice([1.0, 1.0, 0.25, 3.0])))
            model.learn_one(*whole[-1])
        models.append(model)
    rng.shuffle(models)
    merged = functools.reduce(operator.add, models)
    names = list(merged.weights)
    assert set(names) == {name for x, _, _ in whole for name in x}
    for positive, moments in merged.moments.items():
        own = [([x.get(name, 0.0) for name in names], w) for x, y, w in whole if y is positive]
        assert moments.n == pytest.approx(sum(w for _, w in own), rel=1e-12)
        if own and names:
            rows, weights = map(np.array, zip(*own, strict=True))
            mean, scale = np.average(rows, axis=0, weights=weights), 1.0 + np.abs(rows).max()
            covariance = (weights * (rows - mean).T) @ (rows - mean) / weights.sum()
            np.testing.assert_allclose(moments.mean, mean, rtol=0, atol=1e-12 * scale)
            np.testing.assert_allclose(
                moments.covariance, covariance, rtol=0, atol=1e-12 * scale**2
            )
