"""Memory: what is refused before it is asked for, and what never grows; nor does a step's time."""

from __future__ import annotations

import gc
import inspect
import os
import pickle
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pytest
from classifiers import (
    CLASSIFIERS,
    STREAM,
    TRIES,
    assert_finite,
    each_class,
    learn,
    make_case,
    make_stream,
)

from river_oauc import OAUCM, OAUCS, OTAUC, AdaOAM, AutoOAUC
from river_oauc.classifier import OnlineAUCClassifier

# They keep matrices with a row and a column per feature, or thousands of numbers per feature.
LIMITED: list[Any] = [OAUCM, OAUCS, AdaOAM, OTAUC]


def make_full(cls: type[OnlineAUCClassifier]) -> OnlineAUCClassifier:
    """Return a classifier whose buffers are soon full."""
    small = {OTAUC: {"buffer_size": 300}, AutoOAUC: {"experts": ("linear", "kernel", "sparse")}}
    return make_case(cls, **small.get(cls, {}))


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


@each_class
def test_a_state_does_not_grow_with_the_stream(cls: type[OnlineAUCClassifier]) -> None:
    model, stream = make_full(cls), make_stream(2400)
    learn(model, stream[:1000])
    early = len(pickle.dumps(model)), model._raw_memory_usage
    learn(model, stream[1000:])
    # The smallest number so far is a new size to the sparse learners, ever more rarely.
    assert len(pickle.dumps(model)) < 1.2 * early[0]
    assert model._raw_memory_usage < 1.2 * early[1]


@pytest.mark.slow
@each_class
def test_neither_the_process_nor_a_step_grows_over_a_long_stream(
    cls: type[OnlineAUCClassifier],
) -> None:
    """RIVER_OAUC_TRIES=10 makes it a million."""
    model, rng = make_full(cls), np.random.default_rng(1)
    times, sizes = [], []
    for _ in range(10):
        y = rng.random(10_000 * TRIES) < 0.02
        X = pd.DataFrame(rng.normal(size=(len(y), 5)) + y[:, np.newaxis])
        start = time.process_time()
        model.learn_many(X, pd.Series(y))
        times.append(time.process_time() - start)
        sizes.append(psutil.Process(os.getpid()).memory_info().rss)
        assert_finite(model)
    print(f"\n{cls.__name__}: {np.round(times, 2)} s, {np.array(sizes) // 2**20} MiB")
    assert max(sizes[5:]) - max(sizes[:5]) < 3 * 2**20
    assert min(times[5:]) < 1.5 * np.median(times[:5])


@each_class
def test_unseen_features_never_grow_the_state(cls: type[OnlineAUCClassifier]) -> None:
    model = learn(make_case(cls), STREAM)
    before = pickle.dumps(model)
    rows = [{"x0": 0.3, **{f"unseen{i}-{j}": 1.0 for j in range(200)}} for i in range(5)]
    X = pd.DataFrame(rows[:1])

    def predict() -> None:
        for x in rows:
            assert model.predict_proba_one(x) == model.predict_proba_one({"x0": 0.3})
        model.predict_many(X)

    predict()
    kept, _ = allocated(predict)
    assert kept < 1e5
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("cls", LIMITED)
def test_too_many_features_are_refused_before_memory_is_asked_for(cls: Any) -> None:
    """A matrix for all of them would take hundreds of megabytes."""
    model, x = learn(cls(), STREAM), {f"wide{j}": 1.0 for j in range(4997)}
    before = pickle.dumps(model)

    def refuse() -> None:
        with pytest.raises(
            ValueError, match="5,001 features, .*compose.Select.*raise max_features"
        ):
            model.learn_one(x, True)

    assert allocated(refuse)[1] < 5e6
    assert pickle.dumps(model) == before
    # Up to the limit, with one new name an example, and no further.
    model = cls(max_features=60)
    for user in range(59):
        model.learn_one({"x0": 0.5, f"user={user}": 1}, user % 3 == 0)
    with pytest.raises(ValueError, match="61 features, and max_features is 60"):
        model.learn_one({"x0": 0.5, "user": 1}, True)
    assert model.predict_proba_one({"x0": 0.5, "user": 1}) == model.predict_proba_one({"x0": 0.5})
    model.learn_one({"x0": 0.5, "user=3": 1}, True)


def test_all_that_have_a_limit_are_tested_here() -> None:
    limited = {cls for cls in CLASSIFIERS if "max_features" in inspect.signature(cls).parameters}
    # It keeps to its limit without refusing anything.
    assert limited == {*LIMITED, AutoOAUC}
