"""Memory: what is refused before it is asked for, and what never grows."""

from __future__ import annotations

import gc
import inspect
import pickle
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from classifiers import CLASSIFIERS, STREAM, each_class, learn, make_case
from river import compose, preprocessing

from river_oauc import FTRLAUC, OAM, OAUCM, OAUCS, OTAUC, AdaOAM, AutoOAUC, SparseOAUCM
from river_oauc.classifier import OnlineAUCClassifier

# They keep matrices with a row and a column per feature, or thousands of numbers per feature.
LIMITED = [OAUCM, OAUCS, AdaOAM, OTAUC]
# They keep a row of numbers per name, and none for the names to come.
SPARSE = [FTRLAUC, SparseOAUCM]
each_limited = pytest.mark.parametrize("cls", LIMITED)


def wide(n_features: int) -> dict[str, float]:
    return {f"wide{j}": 1.0 for j in range(n_features)}


def allocated(action: Callable[[], Any]) -> tuple[int, int]:
    """Return the bytes that an action adds for good, and at its peak."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        action()
        _, peak = tracemalloc.get_traced_memory()
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return after - before, peak - before


def test_all_that_have_a_limit_are_tested_here() -> None:
    limited = {cls for cls in CLASSIFIERS if "max_features" in inspect.signature(cls).parameters}
    # These keep to their limits without refusing anything.
    assert limited == {*LIMITED, AutoOAUC, SparseOAUCM}


@each_limited
def test_a_first_example_that_is_too_wide(cls: type[OnlineAUCClassifier]) -> None:
    """It would take hundreds of megabytes, and the refusal takes next to nothing."""
    model, x = cls(), wide(5001)
    before = pickle.dumps(model)

    def refuse() -> None:
        with pytest.raises(ValueError, match="5,001 features, and max_features is 5,000") as error:
            model.learn_one(x, True)
        for advice in ("FeatureHasher", "compose.Select", "OAM", "raise max_features"):
            assert advice in str(error.value)

    _, peak = allocated(refuse)
    assert peak < 2e6
    assert pickle.dumps(model) == before


@each_limited
def test_ids_without_end(cls: type[OnlineAUCClassifier]) -> None:
    """One new name an example, as from a one-hot encoder, up to the limit and no further."""
    model = learn(cls(max_features=60), STREAM)
    for user in range(56):
        model.learn_one({"x0": 0.5, f"user={user}": 1}, user % 3 == 0)
        assert model._encoder.size <= 66
    before = pickle.dumps(model)
    for user in range(56, 66):
        x = {"x0": 0.5, f"user={user}": 1}
        with pytest.raises(ValueError, match="there would be 61 features, and max_features is 60"):
            model.learn_one(x, True)
        assert model.predict_proba_one(x) == model.predict_proba_one({"x0": 0.5})
    assert pickle.dumps(model) == before
    twin = pickle.loads(before)
    for one in (model, twin):
        one.learn_one({"user=3": 1, "x0": 0.1}, True)
    assert model.score_one({"user=3": 1}) == twin.score_one({"user=3": 1})


@each_limited
def test_a_frame_that_is_too_wide_is_not_copied(cls: type[OnlineAUCClassifier]) -> None:
    """A copy alone would take 8 MB."""
    column = pd.arrays.SparseArray(np.zeros(5000, dtype=np.uint8))
    X = pd.DataFrame({f"user={j}": column for j in range(201)})
    y = pd.Series([True, False] * 2500)
    for model in (cls(max_features=200), learn(cls(max_features=204), STREAM)):
        before = pickle.dumps(model)

        def refuse(model: OnlineAUCClassifier = model) -> None:
            with pytest.raises(ValueError, match="max_features"):
                model.learn_many(X, y)

        _, peak = allocated(refuse)
        assert peak < 3e6
        assert pickle.dumps(model) == before


@each_limited
def test_known_columns_need_no_room(cls: type[OnlineAUCClassifier]) -> None:
    model, y = cls(max_features=4), pd.Series([True, False])
    model.learn_many(pd.DataFrame({"a": [1.0, 2.0], "b": [0.0, 1.0], "c": [1.0, 1.0]}), y)
    model.learn_many(pd.DataFrame({"c": [1.0, 2.0], "d": [0.0, 1.0], "a": [1.0, 1.0]}), y)
    with pytest.raises(ValueError, match="5 features"):
        model.learn_many(pd.DataFrame({"e": [1.0, 2.0]}), y)


@each_limited
def test_hashed_or_selected_features_stay_within_the_limit(cls: type[OnlineAUCClassifier]) -> None:
    for reducer in (preprocessing.FeatureHasher(n_features=30, seed=1), compose.Select("amount")):
        model = reducer | cls(max_features=30)
        learn(model, [({"amount": i % 5, f"user={i}": 1}, i % 2 == 0) for i in range(100)])
        assert 1 <= model[-1]._encoder.size <= 60


def test_the_memory_of_oam_is_in_proportion_to_the_features() -> None:
    model = OAM(buffer_size=10, seed=1)
    for n_features in (5001, 10_002):
        kept, _ = allocated(lambda n=n_features: model.learn_one(wide(n), n % 2 == 0))
        assert kept < 5e6


@pytest.mark.parametrize("cls", [cls for cls in CLASSIFIERS if cls not in SPARSE])
def test_late_features_cost_constant_time_on_average(cls: type[OnlineAUCClassifier]) -> None:
    """Arrays grow by an eighth at a time, not with every name."""
    model, sizes = make_case(cls), set()
    if cls is AutoOAUC:
        pytest.skip("rare features have no dense columns, and the rows are those of SparseOAUCM")
    for i in range(200):
        model.learn_one({f"late{i}": 1.0}, i % 2 == 0)
        assert model._ranker.n_features == model._encoder.size
        sizes.add(model._encoder.size)
    assert 200 <= max(sizes) <= 260
    assert len(sizes) < 60


@each_class
def test_predictions_with_unseen_features_never_grow_the_state(
    cls: type[OnlineAUCClassifier],
) -> None:
    model = learn(make_case(cls), STREAM)
    before = pickle.dumps(model)
    rows = [{"x0": 0.3, **{f"unseen{i}-{j}": 1.0 for j in range(200)}} for i in range(5)]
    X = pd.DataFrame([{"x0": 0.3, **wide(1000)}])

    def predict() -> None:
        for x in rows:
            assert model.predict_proba_one(x) == model.predict_proba_one({"x0": 0.3})
        model.predict_many(X)

    predict()
    kept, _ = allocated(predict)
    assert kept < 1e5
    assert pickle.dumps(model) == before
