"""`a += b` and `a + b`: a model that stands for two parts of a stream."""

from __future__ import annotations

import functools
import operator
import pickle
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from classifiers import (
    TAKE_RECORDS,
    Example,
    Factory,
    each_case,
    each_class,
    learn,
    learned_state,
    make_case,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from river_oauc import (
    FTRLAUC,
    KOIL,
    OAUCM,
    OAUCS,
    OKAUCM,
    OLUBAUC,
    OTAUC,
    PAI,
    SOLAM,
    SPAUC,
    AdaOAM,
    AutoOAUC,
    SparseOAUCM,
)
from river_oauc.classifier import OnlineAUCClassifier
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


def scores(model: Any, examples: Sequence[Example]) -> list[float]:
    return [model.score_one(x) for x, _ in examples]


def auc(model: Any, examples: Sequence[Example]) -> float:
    found, labels = np.array(scores(model, examples)), np.array([y for _, y in examples])
    return exact_auc(found[labels], found[~labels])


@each_case
def test_merging_with_an_empty_model_changes_no_score(make: Factory) -> None:
    model, probes = learn(make(), stream(200)), stream(20, seed=2)
    after, before = model + make(), make() + model
    for merged in (after, before):
        assert scores(merged, probes) == pytest.approx(scores(model, probes), rel=1e-9, abs=1e-12)
    assert [after.predict_proba_one(x)[True] for x, _ in probes] == pytest.approx(
        [before.predict_proba_one(x)[True] for x, _ in probes], rel=1e-9
    )
    empty = make() + make()
    assert scores(empty, probes) == scores(make(), probes)
    assert scores(learn(empty, stream(50)), probes) == pytest.approx(
        scores(learn(make(), stream(50)), probes), rel=1e-9
    )


@each_case
def test_the_other_model_stays_as_it_is(make: Factory) -> None:
    model, other = learn(make(), stream(100)), learn(make(), stream(80, seed=2, names="dcxy"))
    before = pickle.dumps(other)
    both = model + other
    model += other
    assert pickle.dumps(other) == before
    assert learned_state(both) == learned_state(model)
    expected = pickle.dumps(model)
    learn(other, stream(60, seed=3))
    assert pickle.dumps(model) == expected


@each_case
def test_features_are_matched_by_name(make: Factory) -> None:
    one, probes = learn(make(), stream(100)), stream(20, seed=3)
    turned = [({name: x[name] for name in "dbca"}, y) for x, y in stream(90, seed=2)]
    straight = [({name: x[name] for name in "abcd"}, y) for x, y in turned]
    merged, expected = one + learn(make(), turned), one + learn(make(), straight)
    # Sums in another order.
    assert scores(merged, probes) == pytest.approx(scores(expected, probes), rel=1e-5, abs=1e-8)
    wider = one + learn(make(), stream(90, seed=2, names="cdef"))
    # Those of raw records have rows for sizes and categories beside them.
    all_names = wider._encoder.names
    # AutoOAUC has columns and rows.
    all_names = all_names[1] if isinstance(all_names, tuple) else all_names
    names = [name for name in all_names if isinstance(name, str)]
    assert set(names) == set("abcdef")
    assert names == all_names or isinstance(wider, TAKE_RECORDS)
    assert np.isfinite(wider.score_one({"a": 1.0, "f": 1.0, "c": -1.0}))


@each_case
def test_a_merged_model_is_one_like_any_other(make: Factory) -> None:
    model = learn(make(), stream(100)) + learn(make(), stream(90, seed=2, names="bcde"))
    again = pickle.loads(pickle.dumps(model))
    for x, y in stream(60, seed=4, names="aefg"):
        for one in (model, again):
            one.learn_one(x, y)
        assert model.predict_proba_one(x) == again.predict_proba_one(x)
    assert learned_state(model) == learned_state(again)


@each_class
def test_different_parameters_do_not_merge(cls: type[OnlineAUCClassifier]) -> None:
    model = learn(make_case(cls), stream(30))
    before = pickle.dumps(model)
    for other, message in (
        (make_case(cls, prior="empirical"), "different values of prior: 'balanced' and 'emp"),
        (model, "with itself"),
    ):
        with pytest.raises(ValueError, match=message):
            model += other
        with pytest.raises(ValueError, match=message):
            model + other
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("cls", [OAUCM, OAUCS, AdaOAM, OTAUC])
def test_too_many_features_together_are_refused(cls: Any) -> None:
    model = learn(cls(max_features=5), stream(30))
    other = learn(cls(max_features=5), stream(30, names="cdef"))
    before = pickle.dumps(model), pickle.dumps(other)
    with pytest.raises(ValueError, match="max_features"):
        model += other
    assert (pickle.dumps(model), pickle.dumps(other)) == before


def test_equal_kernels_and_different_seeds_merge() -> None:
    one = OKAUCM(RBF(0.5), policy="reservoir", seed=1)
    one += OKAUCM(RBF(0.5), policy="reservoir", seed=2)
    with pytest.raises(ValueError, match="different values of kernel"):
        one += OKAUCM(RBF(0.25), policy="reservoir", seed=1)


@pytest.mark.parametrize(
    "make",
    [OAUCM, OAUCS, PAI, OLUBAUC, SOLAM, SPAUC, AdaOAM, FTRLAUC]
    + [AutoOAUC, SparseOAUCM, OKAUCM, KOIL, OTAUC],
)
def test_parts_of_a_stream_rank_like_the_whole(make: Any) -> None:
    train, test = stream(2_000), stream(500, seed=2)
    whole = learn(make(), train)
    for n in (4, 16):
        merged = sum(learn(make(), train[i::n]) for i in range(n))
        assert auc(merged, test) > auc(whole, test) - 0.02
    assert auc(learn(merged, train), test) > auc(learn(whole, train), test) - 0.02


@given(data=st.data(), offset=st.sampled_from([0.0, 1.0, -1e4, 1e8]))
@settings(max_examples=40)
def test_moments_are_those_of_one_pass(data: st.DataObject, offset: float) -> None:
    """Whatever the parts, their vocabularies, and the order in which they are added."""
    rng = random.Random(data.draw(st.integers(0, 10**6)))
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
    names = merged._encoder.names
    assert set(names) == {name for x, _, _ in whole for name in x}
    for positive in (False, True):
        own = [(x, w) for x, y, w in whole if y is positive]
        moments = merged.moments[positive]
        assert moments.n == pytest.approx(sum(w for _, w in own), rel=1e-12)
        if own and names:
            # With more digits: a mean of 1e8 squared has none left for a variance of 1.
            rows = np.array([[x.get(name, 0.0) for name in names] for x, _ in own], np.longdouble)
            weights = np.array([w for _, w in own], dtype=np.longdouble)
            mean = weights @ rows / weights.sum()
            covariance = (weights * (rows - mean).T) @ (rows - mean) / weights.sum()
            size, largest = len(names), np.abs(rows).max()
            deviation = 1.0 + np.sqrt(covariance.max())
            assert np.abs(moments.mean[:size] - mean).max() <= 1e-9 * largest
            error = np.abs(moments.covariance[:size, :size] - covariance).max()
            # A mean of 1e8 is known to 1e-8, and so is the gap between two means.
            assert error <= 1e-9 * (deviation + largest * 1e-7) * deviation
