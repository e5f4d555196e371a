"""What the tests of all classifiers share: the cases, a stream, and ways to compare models."""

from __future__ import annotations

import functools
import hashlib
import inspect
import itertools
import math
import os
import pickle
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest

import river_oauc
from river_oauc import OTAUC, AutoOAUC, SparseOAUCM
from river_oauc.classifier import OnlineAUCClassifier

CLASSIFIERS: list[type[OnlineAUCClassifier]] = [
    getattr(river_oauc, name)
    for name in river_oauc.__all__
    if inspect.isclass(getattr(river_oauc, name))
]
# These take raw records: strings are categories, and None and NaN are as good as no key. The others
# take numbers only; they refuse NaN in learning, and in prediction it is an absent feature.
TAKE_RECORDS = (AutoOAUC, OTAUC, SparseOAUCM)

# It multiplies the number of random trials.
TRIES = int(os.environ.get("RIVER_OAUC_TRIES", "1"))

Factory = Callable[[], OnlineAUCClassifier]
Example = tuple[dict[Any, Any], bool]


def make_case(cls: type[OnlineAUCClassifier], index: int = 0, **params: Any) -> OnlineAUCClassifier:
    """Return a classifier with one of the parameter sets that its class offers, and a seed."""
    params = next(itertools.islice(cls._unit_test_params(), index, None)) | params
    if "seed" in inspect.signature(cls).parameters:
        params = {"seed": 42} | params
    return cls(**params)


def make_small(cls: type[OnlineAUCClassifier], **params: Any) -> OnlineAUCClassifier:
    """Return a classifier with small budgets, so that examples are soon given up."""
    known = inspect.signature(cls).parameters
    small = {"budget": 3, "buffer_size": 3, "seed": 1} | params
    return cls(**{name: value for name, value in small.items() if name in known})


CASES: dict[str, Factory] = {
    f"{cls.__name__}-{index}": functools.partial(make_case, cls, index)
    for cls in CLASSIFIERS
    for index, _ in enumerate(cls._unit_test_params())
}

# Those that merge, which baselines but AdaOAM do not.
MERGING = {name: make for name, make in CASES.items() if hasattr(make()._ranker, "merge")}

each_case = pytest.mark.parametrize("make", CASES.values(), ids=CASES)
each_merging_case = pytest.mark.parametrize("make", MERGING.values(), ids=MERGING)
each_class = pytest.mark.parametrize("cls", CLASSIFIERS, ids=lambda cls: cls.__name__)
# One classifier for each way of encoding records. No classifier overrides what the base class does
# with inputs, so the many kinds of input are tried on these only.
ENCODINGS = {
    "dense": functools.partial(make_case, river_oauc.OAUCM),
    "sparse": functools.partial(make_case, river_oauc.FTRLAUC),
    "dense records": functools.partial(make_case, OTAUC),
    "dense and sparse records": functools.partial(make_case, AutoOAUC),
    "sparse records": functools.partial(make_case, SparseOAUCM),
}
each_encoding = pytest.mark.parametrize("make", ENCODINGS.values(), ids=ENCODINGS)


def make_stream(n: int, n_features: int = 4, seed: int = 1) -> list[Example]:
    """Return examples of which about a third are positive, and can be ranked, but not perfectly."""
    rng = random.Random(seed)
    examples = []
    for _ in range(n):
        x = {f"x{j}": rng.gauss(0, 1) for j in range(n_features)}
        examples.append((x, sum(x.values()) + rng.gauss(0, 1) > 0.5 * n_features**0.5))
    return examples


STREAM = make_stream(60)
PROBES = [x for x, _ in make_stream(20, seed=2)]


def learn(model: Any, stream: Iterable[Example]) -> Any:
    for x, y in stream:
        model.learn_one(x, y)
    return model


def models_at_all_stages(make: Factory) -> Iterator[OnlineAUCClassifier]:
    """Yield a model that has learned nothing, one class, and both classes."""
    for examples in ([], [(x, y) for x, y in STREAM if not y], STREAM):
        yield learn(make(), examples)


def scores(model: Any, probes: Iterable[dict[Any, Any]] = PROBES) -> list[float]:
    return [model.score_one(x) for x in probes]


def assert_close(actual: list[float], expected: list[float], tolerance: float = 1e-9) -> None:
    """Check that scores are equal up to rounding, on the scale of the largest."""
    scale = max(map(abs, expected))
    assert scale > 0
    assert actual == pytest.approx(expected, rel=tolerance, abs=tolerance * scale)


def plain(value: Any) -> Any:
    """Return data in a form that is equal only if every bit is."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, dict):
        return [(plain(key), plain(item)) for key, item in value.items()]
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, int | str | bytes | type(None) | type):
        return value
    return type(value), plain(getattr(value, "__dict__", repr(value)))


def digest(value: Any) -> str:
    """Return a hash of plain data: pytest takes minutes to show how two large states differ."""
    return hashlib.sha256(repr(plain(value)).encode()).hexdigest()


def state(model: OnlineAUCClassifier) -> str:
    return digest(model.__getstate__())


def learned_state(model: OnlineAUCClassifier) -> str:
    """Return what a model has learned, without the name of the labels, which only frames have."""
    state = model.__getstate__()
    return digest([state["encoder"], state["ranker"]])


def arrays_in(value: Any) -> Iterator[np.ndarray]:
    """Yield all arrays and floats in plain data."""
    if isinstance(value, np.ndarray | float):
        yield np.asarray(value)
    elif isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from arrays_in(item)


def assert_finite(model: OnlineAUCClassifier) -> None:
    """Check that every number in a model is finite; stored examples may have unknown values."""
    for array in arrays_in(model.__getstate__()["ranker"]):
        is_unknown = np.isnan(array) & isinstance(model, TAKE_RECORDS)
        assert (np.isfinite(array) | is_unknown).all()


def assert_unharmed(model: OnlineAUCClassifier) -> None:
    """Check that a model can be pickled and unpickled, predicts, and goes on."""
    again = pickle.loads(pickle.dumps(model))
    assert learned_state(again) == learned_state(model)
    for one in (model, again):
        for x, y in STREAM[:5]:
            assert 0.0 <= one.predict_proba_one(x)[True] <= 1.0
            one.learn_one(x, y)
        assert math.isfinite(one.score_one({**PROBES[0], "never seen": 1.0}))
