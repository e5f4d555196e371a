"""Memory: what is refused before it is asked for, what growing costs, and what never grows."""

from __future__ import annotations

import copy
import gc
import inspect
import math
import pickle
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from attributes import attributes_of
from river import compose, preprocessing
from river.utils import pretty

import river_oauc
from river_oauc import OAM, OAUCM, OAUCS, AutoOAUCM, AutoOKAUCM, SparseOAUCM
from river_oauc.base import OnlineAUCClassifier
from river_oauc.inputs import arrays
from river_oauc.linear.classifier import MomentClassifier

# How many p × p matrices they need at most, and how much for each single feature.
QUADRATIC: dict[type[OnlineAUCClassifier], tuple[int, int]] = {
    OAUCM: (2, 2),
    OAUCS: (2, 2),
    AutoOAUCM: (7, 0),
    AutoOKAUCM: (7, 0),
}
CLASSIFIERS: list[type[OnlineAUCClassifier]] = [
    getattr(river_oauc, name) for name in river_oauc.__all__
]

each_quadratic = pytest.mark.parametrize("cls", QUADRATIC)
each_classifier = pytest.mark.parametrize("cls", CLASSIFIERS)

STREAM = [
    ({"a": 1.0, "b": 0.5}, True),
    ({"a": 0.0, "b": 0.7}, False),
    ({"a": 0.8, "b": 0.1}, True),
    ({"a": 0.1, "b": 0.2}, False),
]


def learn(model: OnlineAUCClassifier) -> OnlineAUCClassifier:
    for x, y in STREAM:
        model.learn_one(x, y)
    return model


def seeded(cls: type[OnlineAUCClassifier]) -> OnlineAUCClassifier:
    return cls(seed=1) if "seed" in inspect.signature(cls).parameters else cls()


def wide(n_features: int) -> dict[str, float]:
    return {f"wide{j}": 1.0 for j in range(n_features)}


def n_features(model: OnlineAUCClassifier) -> int:
    return len(model._vectorizer.names)


def allocated(action: Callable[[], Any]) -> tuple[int, int]:
    """The bytes that an action adds for good, and at its peak."""
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


def arrays_of(model: OnlineAUCClassifier) -> list[np.ndarray]:
    """All arrays, none of them twice."""
    found: dict[int, np.ndarray] = {}

    def walk(obj: Any) -> None:
        if isinstance(obj, np.ndarray):
            found[id(obj)] = obj
        elif isinstance(obj, list | tuple):
            for value in obj:
                walk(value)
        else:
            for value in attributes_of(obj).values():
                walk(value)

    walk(model)
    return list(found.values())


def square_sizes(model: OnlineAUCClassifier) -> list[int]:
    """Of the matrices with a row and a column per feature."""
    arrays = [array for array in arrays_of(model) if array.ndim == 2]
    return [len(array) for array in arrays if array.shape[0] == array.shape[1]]


def test_all_that_keep_moments_are_tested_here() -> None:
    with_a_limit = {
        cls for cls in CLASSIFIERS if "max_features" in inspect.signature(cls).parameters
    }
    # SparseOAUCM keeps to its limit by forgetting, and never refuses.
    assert with_a_limit == {*QUADRATIC, SparseOAUCM}
    assert {cls for cls in CLASSIFIERS if issubclass(cls, MomentClassifier)} <= with_a_limit


# The refusal -----------------------------------------------------------------------------------


@each_quadratic
def test_the_limit_is_the_last_parameter(cls: type[OnlineAUCClassifier]) -> None:
    *_, last = inspect.signature(cls).parameters.values()
    assert (last.name, last.default) == ("max_features", 5000)


@pytest.mark.parametrize("limit", [0, -1, 2.5, math.inf, None, "many", True], ids=repr)
@each_quadratic
def test_other_limits_are_refused(cls: type[OnlineAUCClassifier], limit: Any) -> None:
    with pytest.raises(ValueError, match=r"^max_features is .*: it must be a whole number"):
        cls(max_features=limit)


@each_quadratic
def test_a_first_example_that_is_too_wide(cls: type[OnlineAUCClassifier]) -> None:
    """It would take hundreds of megabytes, and the refusal takes next to nothing."""
    model, x = cls(), wide(5001)
    before = pickle.dumps(model)

    def refuse() -> None:
        with pytest.raises(ValueError, match="max_features") as refusal:
            model.learn_one(x, True)
        text = str(refusal.value)
        assert "there would be 5,001 features, and max_features is 5,000" in text
        n_matrices, n_vectors = QUADRATIC[cls]
        memory = pretty.humanize_bytes(8 * (n_matrices * 5001**2 + n_vectors * 5001))
        assert f"{cls.__name__} would need {memory};" in text
        for advice in ("FeatureHasher", "compose.Select", "OAM", "raise max_features"):
            assert advice in text

    _, peak = allocated(refuse)
    assert peak < 2e6
    assert pickle.dumps(model) == before
    assert model.predict_proba_one(x) == {False: 0.5, True: 0.5}


@each_quadratic
def test_the_memory_that_the_refusal_names_is_what_it_takes(cls: type[OnlineAUCClassifier]) -> None:
    """To be kept, or for a moment only, as soon as both classes are there."""
    model = cls()

    def learn_two() -> None:
        model.learn_one(wide(1000), True)
        model.learn_one({name: 2.0 * value for name, value in wide(1000).items()}, False)

    _, peak = allocated(learn_two)
    n_matrices, _ = QUADRATIC[cls]
    # What is in proportion to the features is little beside that at 5,000 of them.
    in_proportion = {AutoOAUCM: 360, AutoOKAUCM: 1_400}.get(cls, 0) * 1000
    assert peak == pytest.approx(8 * (n_matrices * 1000**2 + in_proportion), rel=0.1)


@each_quadratic
def test_as_many_features_as_the_limit_says(cls: type[OnlineAUCClassifier]) -> None:
    model = learn(cls(max_features=7))
    model.learn_one(wide(5), True)
    assert n_features(model) == 7
    before = pickle.dumps(model)
    for x in ({"new": 1.0}, {"a": 1.0, "new": 1.0}, wide(6)):
        with pytest.raises(ValueError, match="there would be 8 features, and max_features is 7"):
            model.learn_one(x, False)
        assert pickle.dumps(model) == before


@each_quadratic
def test_ids_without_end(cls: type[OnlineAUCClassifier]) -> None:
    """One new name an example, as from a one-hot encoder, up to the limit and no further."""
    limit = 60
    model = learn(cls(max_features=limit))
    n_ids = 0
    while n_features(model) < limit:
        model.learn_one({"a": 0.5, f"user={n_ids}": 1}, n_ids % 3 == 0)
        n_ids += 1
        # The slots that are made in advance count, too.
        assert model._vectorizer.size <= limit
        # An expert has its bias beside the features.
        assert all(length <= limit + 1 for length in square_sizes(model))
    assert n_ids == limit - 2

    before = pickle.dumps(model)
    for user in range(n_ids, n_ids + 20):
        x = {"a": 0.5, f"user={user}": 1}
        with pytest.raises(ValueError, match="61 features"):
            model.learn_one(x, True)
        assert model.predict_proba_one(x) == model.predict_proba_one({"a": 0.5})
    assert pickle.dumps(model) == before

    twin = pickle.loads(before)
    for one in (model, twin):
        learn(one)
        one.learn_one({"user=3": 1, "a": 0.1}, True)
    assert pickle.dumps(model) != before
    assert model.score_one({"a": 1.0, "user=3": 1}) == twin.score_one({"a": 1.0, "user=3": 1})


def sparse_frame(n_rows: int, n_columns: int) -> pd.DataFrame:
    """What river's one-hot encoder emits: little memory, as long as nobody copies it."""
    column = pd.arrays.SparseArray(np.zeros(n_rows, dtype=np.uint8))
    return pd.DataFrame({f"user={j}": column for j in range(n_columns)})


@each_quadratic
def test_a_frame_that_is_too_wide(cls: type[OnlineAUCClassifier]) -> None:
    """It is not even copied: that alone would take 8 MB."""
    X = sparse_frame(5000, 201)
    y = pd.Series([True, False] * 2500)
    for model in (cls(max_features=200), learn(cls(max_features=202))):
        before = pickle.dumps(model)

        def refuse(model: OnlineAUCClassifier = model) -> None:
            with pytest.raises(ValueError, match="max_features") as refusal:
                model.learn_many(X, y)
            assert "row" not in str(refusal.value)

        _, peak = allocated(refuse)
        assert peak < 3e6
        assert pickle.dumps(model) == before


@each_quadratic
def test_a_wide_frame_of_known_columns(cls: type[OnlineAUCClassifier]) -> None:
    """What counts is how many names there are together."""
    model = cls(max_features=4)
    y = pd.Series([True, False])
    model.learn_many(pd.DataFrame({"a": [1.0, 2.0], "b": [0.0, 1.0], "c": [1.0, 1.0]}), y)
    model.learn_many(pd.DataFrame({"c": [1.0, 2.0], "d": [0.0, 1.0], "a": [1.0, 1.0]}), y)
    assert model._vectorizer.names == ["a", "b", "c", "d"]
    with pytest.raises(ValueError, match="5 features"):
        model.learn_many(pd.DataFrame({"e": [1.0, 2.0]}), y)


@each_quadratic
def test_what_has_no_weight_needs_no_room(cls: type[OnlineAUCClassifier]) -> None:
    model = learn(cls(max_features=2))
    before = pickle.dumps(model)
    model.learn_one(wide(3), True, w=0)
    model.learn_many(pd.DataFrame([wide(3)]), pd.Series([True]), w=0.0)
    model.learn_many(pd.DataFrame([wide(3)])[:0], pd.Series([], dtype=bool))
    assert pickle.dumps(model) == before


@pytest.mark.parametrize(
    "copied",
    [
        lambda model: model.clone(),
        lambda model: model.clone(include_attributes=True),
        copy.copy,
        copy.deepcopy,
        lambda model: pickle.loads(pickle.dumps(model)),
    ],
    ids=["clone", "clone with attributes", "copy", "deepcopy", "pickle"],
)
@each_quadratic
def test_copies_have_the_limit(
    cls: type[OnlineAUCClassifier], copied: Callable[[OnlineAUCClassifier], OnlineAUCClassifier]
) -> None:
    model = copied(learn(cls(max_features=3)))
    assert model.max_features == 3
    learn(model).learn_one({"c": 1.0}, True)
    with pytest.raises(ValueError, match="4 features, and max_features is 3"):
        model.learn_one({"d": 1.0}, True)


# What the refusal advises ----------------------------------------------------------------------


@each_quadratic
def test_hashed_or_selected_features_stay_within_the_limit(cls: type[OnlineAUCClassifier]) -> None:
    for reducer in (
        preprocessing.FeatureHasher(n_features=30, seed=1),
        compose.Select("amount"),
    ):
        model = reducer | cls(max_features=30)
        for i in range(100):
            model.learn_one({"amount": i % 5, f"user={i}": 1}, i % 2 == 0)
        assert 1 <= n_features(model[-1]) <= 30


def test_the_memory_of_oam_is_in_proportion() -> None:
    model = OAM(buffer_size=10, seed=1)
    for n_features in (5001, 10_002):
        kept, _ = allocated(lambda n=n_features: model.learn_one(wide(n), n % 2 == 0))
        assert kept < 5e6


# Growth ----------------------------------------------------------------------------------------


@each_quadratic
def test_growing_needs_no_more_than_the_old_and_the_new_arrays(
    cls: type[OnlineAUCClassifier],
) -> None:
    model = cls()
    model.learn_one(wide(400), True)
    old = sum(array.nbytes for array in arrays_of(model))
    _, peak = allocated(lambda: model.learn_one({"late": 1.0}, True))
    new = sum(array.nbytes for array in arrays_of(model))
    assert model._vectorizer.size == 450
    assert new > 1.2 * old
    # The old arrays are not counted: they were there before. Names take a little as well.
    assert peak <= new + 2e5


@each_classifier
def test_no_memory_to_grow(cls: type[OnlineAUCClassifier], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever array the memory gives out for, the model is as before, and can go on."""
    model = learn(seeded(cls))
    before = pickle.dumps(model)
    resized, n_left = arrays.resized, 0

    def rationed(*args: Any, **kwargs: Any) -> Any:
        nonlocal n_left
        n_left -= 1
        if n_left == 0:
            raise MemoryError
        return resized(*args, **kwargs)

    for name, module in list(sys.modules.items()):
        if name.startswith("river_oauc.") and hasattr(module, "resized"):
            monkeypatch.setattr(module, "resized", rationed)

    n_failures = 0
    for n_granted in range(60):
        n_left = n_granted + 1
        try:
            model.learn_one({"a": 1.0, "late": 1.0}, True)
        except MemoryError:
            n_failures += 1
            assert pickle.dumps(model) == before
        else:
            break
    assert 1 <= n_failures < 60
    monkeypatch.undo()
    expected = learn(seeded(cls))
    expected.learn_one({"a": 1.0, "late": 1.0}, True)
    assert model.score_one({"a": 2.0, "late": 1.0}) == expected.score_one({"a": 2.0, "late": 1.0})


# Prediction ------------------------------------------------------------------------------------


@each_classifier
def test_predictions_with_unseen_features_never_grow_the_state(
    cls: type[OnlineAUCClassifier],
) -> None:
    model = learn(seeded(cls))
    before, probability = pickle.dumps(model), model.predict_proba_one({"a": 0.3})
    rows = [{"a": 0.3, **{f"unseen{i}-{j}": 1.0 for j in range(200)}} for i in range(5)]
    X = pd.DataFrame([{"a": 0.3, **wide(1000)}])

    def predict() -> None:
        for x in rows:
            assert model.predict_proba_one(x) == probability
            model.predict_one(x)
            model.score_one(x)
        model.predict_proba_many(X)
        model.predict_many(X)

    predict()
    kept, _ = allocated(predict)
    assert kept < 1e5
    assert pickle.dumps(model) == before
