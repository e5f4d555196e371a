"""What every classifier of this package promises, whatever its method.

Nothing here knows how a classifier learns. A classifier joins by being added to `CLASSIFIERS`.
"""

from __future__ import annotations

import collections
import copy
import functools
import inspect
import itertools
import math
import pickle
import random
import re
import types
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from attributes import attributes_of
from conftest import BACKENDS, Backend
from hypothesis import given, settings
from hypothesis import strategies as st
from river import (
    bandit,
    base,
    checks,
    datasets,
    drift,
    ensemble,
    evaluate,
    imblearn,
    linear_model,
    metrics,
    model_selection,
    multiclass,
    optim,
    preprocessing,
)

import river_oauc
from river_oauc import (
    KOIL,
    OAM,
    OAUCM,
    OAUCS,
    OKAUCM,
    OKAUCS,
    OLUBAUC,
    PAI,
    AutoOAUCM,
    AutoOKAUCM,
    Perceptron,
    SparseOAUCM,
)
from river_oauc.base import OnlineAUCClassifier
from river_oauc.calibration import Calibration
from river_oauc.inputs.dense import DenseClassifier
from river_oauc.inputs.vectorizer import Vectorizer
from river_oauc.kernels import RBF, Linear, Polynomial
from river_oauc.learner import Learner

CLASSIFIERS = [
    OAUCM,
    OAUCS,
    OKAUCM,
    OKAUCS,
    KOIL,
    Perceptron,
    PAI,
    OAM,
    OLUBAUC,
    AutoOAUCM,
    AutoOKAUCM,
    SparseOAUCM,
]
# For them None and NaN are values that are not known. For the others they are no values: in
# learning they are refused, and NaN is an absent feature in predicting.
TAKE_MISSING = (AutoOAUCM, AutoOKAUCM)
# For them strings are categories.
TAKE_STRINGS = (SparseOAUCM,)

Factory = Callable[[], OnlineAUCClassifier]
Example = tuple[dict[Any, Any], bool]


def make_case(cls: type[OnlineAUCClassifier], index: int) -> OnlineAUCClassifier:
    """A fresh classifier with the parameters that the class offers for tests, and a seed."""
    params = next(itertools.islice(cls._unit_test_params(), index, None))
    if "seed" in inspect.signature(cls).parameters:
        params = {**params, "seed": 42}
    return cls(**params)


CASES: list[tuple[str, Factory]] = [
    (f"{cls.__name__}-{index}", functools.partial(make_case, cls, index))
    for cls in CLASSIFIERS
    for index, _ in enumerate(cls._unit_test_params())
]


def backend_of(cls: type[OnlineAUCClassifier]) -> type[OnlineAUCClassifier]:
    """The class that says what becomes of the features of an example."""
    return next(ancestor for ancestor in cls.__mro__ if "_learn_frame" in vars(ancestor))


def family_of(cls: type[OnlineAUCClassifier]) -> type[OnlineAUCClassifier]:
    """What is made of the backend: a linear score, or one of kernels."""
    return cls.__mro__[max(cls.__mro__.index(backend_of(cls)) - 1, 0)]


FAMILIES = {family_of(cls): cls for cls in reversed(CLASSIFIERS)}

each_case = pytest.mark.parametrize("make", [pytest.param(make, id=id_) for id_, make in CASES])
# For what depends on the method, but not on its parameters.
each_class = pytest.mark.parametrize(
    "make", [pytest.param(make, id=id_) for id_, make in CASES if id_.endswith("-0")]
)
# For the many kinds of input. The base class and the backend have made them plain before a learner
# sees them, and no learner overrides that: a test says so. One of each family will do.
each_family = pytest.mark.parametrize(
    "make",
    [
        pytest.param(functools.partial(make_case, cls, 0), id=cls.__name__)
        for cls in FAMILIES.values()
    ],
)
# For data frames: of one library for every learner, of the others for one of each family.
each_case_in_frames = pytest.mark.parametrize(
    ("make", "backend"),
    [
        pytest.param(make, backend, id=f"{id_}-{backend.name}")
        for id_, make in CASES
        for backend in BACKENDS
        if backend is BACKENDS[0] or id_ in {f"{cls.__name__}-0" for cls in FAMILIES.values()}
    ],
)


# Tools -----------------------------------------------------------------------------------------


def make_stream(n: int, n_features: int = 4, seed: int = 1) -> list[Example]:
    """Examples of which about a third are positive, and can be ranked, but not perfectly."""
    rng = random.Random(seed)
    examples = []
    for _ in range(n):
        x = {f"x{j}": rng.gauss(0, 1) for j in range(n_features)}
        examples.append((x, sum(x.values()) + rng.gauss(0, 1) > 0.5 * n_features**0.5))
    return examples


STREAM = make_stream(60)
PROBES = [x for x, _ in make_stream(20, seed=2)]


def learn(model: OnlineAUCClassifier, stream: Iterable[Example]) -> OnlineAUCClassifier:
    for x, y in stream:
        model.learn_one(x, y)
    return model


# The moments in the life of a model at which promises are checked.
STAGES: dict[str, list[Example]] = {
    "fresh": [],
    "one class seen": [(x, y) for x, y in STREAM if not y],
    "both classes seen": STREAM,
}


def models_at_all_stages(make: Factory) -> Iterator[OnlineAUCClassifier]:
    for examples in STAGES.values():
        yield learn(make(), examples)


def state(obj: Any) -> Any:
    """All that an object is made of, as plain values that are equal only if every bit is."""
    if isinstance(obj, np.ndarray):
        return obj.dtype.str, obj.shape, obj.tobytes()
    if isinstance(obj, float):
        return float(obj).hex()
    if obj is None or isinstance(obj, int | str | bytes | type | types.FunctionType):
        return obj
    if isinstance(obj, dict):
        return [(state(key), state(value)) for key, value in obj.items()]
    if isinstance(obj, list | tuple | Iterator):
        return [state(item) for item in obj]
    reduced = obj.__reduce_ex__(4)
    return reduced if isinstance(reduced, str) else [state(part) for part in reduced]


def numbers_in(obj: Any) -> Iterator[float]:
    """Every number that is kept in an object, however deep."""
    if isinstance(obj, np.ndarray):
        yield from obj.ravel().tolist()
    elif isinstance(obj, float):
        yield obj
    elif isinstance(obj, dict):
        for value in obj.values():
            yield from numbers_in(value)
    elif isinstance(obj, list | tuple):
        for value in obj:
            yield from numbers_in(value)
    else:
        # The memory of moments is a parameter, which may be endless.
        yield from numbers_in({k: v for k, v in attributes_of(obj).items() if k != "memory"})


def learned_state(model: OnlineAUCClassifier) -> Any:
    """The state without the name of the labels, which only data frames have."""
    attributes = attributes_of(model)
    del attributes["_y_name"]
    return state(attributes)


def scores(model: OnlineAUCClassifier, probes: Iterable[dict[Any, Any]] = PROBES) -> list[float]:
    return [model.score_one(x) for x in probes]


def assert_close(actual: list[float], expected: list[float]) -> None:
    """Equal to rounding, on the scale of the largest."""
    scale = max(map(abs, expected))
    assert scale > 0
    assert actual == pytest.approx(expected, rel=1e-9, abs=1e-9 * scale)


def as_columns(rows: list[dict[str, Any]], names: Iterable[str]) -> dict[str, list[Any]]:
    return {name: [x[name] for x in rows] for name in names}


def probabilities(model: OnlineAUCClassifier, X: Any) -> dict[bool, list[float]]:
    """The columns of `predict_proba_many`, which only pandas names by booleans."""
    frame = model.predict_proba_many(X)
    names = (False, True) if isinstance(frame, pd.DataFrame) else ("False", "True")
    return {label: frame[name].to_numpy().tolist() for label, name in enumerate(names)}


def test_every_public_classifier_is_tested_here() -> None:
    public = (getattr(river_oauc, name) for name in river_oauc.__all__)
    assert {
        item for item in public if isinstance(item, type) and issubclass(item, base.Classifier)
    } == set(CLASSIFIERS)


# What only the base class and the backend do -----------------------------------------------------

# Where a class may have its own way, beside what is abstract.
HOOKS = {"__init__", "__new__", "_learn_many", "_largest_size", "_unit_test_skips"}

ENTRY_POINTS = {
    "learn_one",
    "learn_many",
    "predict_one",
    "predict_many",
    "predict_proba_one",
    "predict_proba_many",
    "score_one",
    "score_many",
    "clone",
    "mutate",
    "__getstate__",
    "__setstate__",
}
BACKEND_METHODS = {"_learn_example", "_score_example", "_learn_frame", "_score_frame"}


def own_methods(cls: type) -> set[str]:
    """The methods that a class itself has, or its compiled half, but for what others write."""
    halves = [cls]
    for half in cls.__bases__:
        if issubclass(half, Learner) and not issubclass(half, OnlineAUCClassifier):
            halves.append(half)
    names = [name for half in halves for name, value in vars(half).items() if callable(value)]
    methods = {name: inspect.getattr_static(cls, name) for name in names}
    return {
        name
        for name, method in methods.items()
        if not getattr(method, "__isabstractmethod__", False)
    }


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_no_class_overrides_what_is_written_once(cls: type[OnlineAUCClassifier]) -> None:
    """So a kind of input that one class of a family takes or refuses, all do alike."""
    backend = backend_of(cls)
    assert BACKEND_METHODS <= own_methods(backend)
    for owner, names in (
        (OnlineAUCClassifier, ENTRY_POINTS | own_methods(OnlineAUCClassifier)),
        (backend, own_methods(backend)),
    ):
        for name in names - HOOKS:
            method = inspect.getattr_static(cls, name)
            assert method is inspect.getattr_static(owner, name), name


@each_case
def test_no_class_replaces_what_it_is_given(make: Factory) -> None:
    model = make()
    assert type(model._calibration) is Calibration
    if isinstance(model, DenseClassifier):
        assert type(model._vectorizer) is Vectorizer


# river -----------------------------------------------------------------------------------------


def every_river_check() -> Iterator[Any]:
    for id_, make in CASES:
        seen: collections.Counter[str] = collections.Counter()
        for check in checks.yield_checks(make()):
            seen[check.__name__] += 1
            yield pytest.param(make, check, id=f"{id_}-{check.__name__}-{seen[check.__name__]}")


@pytest.mark.parametrize(("make", "check"), list(every_river_check()))
def test_river_check(make: Factory, check: Callable[[base.Classifier], None]) -> None:
    """All of river's checks, those included that a class may ask river to skip."""
    check(make())


@pytest.mark.parametrize("scaler", [preprocessing.MinMaxScaler, preprocessing.StandardScaler])
@each_case
def test_river_checks_behind_a_scaler(make: Factory, scaler: type[base.Transformer]) -> None:
    checks.check_estimator(scaler() | make())


@each_case
def test_shuffled_features_have_no_impact_50_times_in_a_row(make: Factory) -> None:
    """river's check shuffles once, and what rounding does to a tie shows only now and then.

    The order in which the names turn up first is all that can make a difference, and only to
    rounding; so the columns of a batch are shuffled, which takes less time.
    """
    examples = list(datasets.Phishing().take(100))
    X, y = pd.DataFrame([x for x, _ in examples]), pd.Series([y for _, y in examples])

    def predicted(names: list[str]) -> np.ndarray:
        model, shuffled = make(), X[names]
        model.learn_many(shuffled[:60], y[:60])
        early = model.predict_proba_many(shuffled[60:])
        model.learn_many(shuffled[60:], y[60:])
        return np.vstack((early, model.predict_proba_many(shuffled[:40])))

    expected = predicted(list(X))
    rng = random.Random(1)
    for _ in range(50):
        # As close as river asks for.
        np.testing.assert_allclose(predicted(rng.sample(list(X), len(X.columns))), expected, 1e-6)


@each_case
def test_is_a_mini_batch_classifier(make: Factory) -> None:
    model = make()
    assert isinstance(model, base.MiniBatchClassifier)
    assert not model._multiclass


@each_case
def test_progressive_val_score_hands_weights_on(make: Factory) -> None:
    weights = [0.5 + i % 3 for i in range(len(STREAM))]
    triples = [(x, y, {"w": w}) for (x, y), w in zip(STREAM, weights, strict=True)]
    pipeline = preprocessing.MinMaxScaler() | make()
    metric = evaluate.progressive_val_score(triples, pipeline, metrics.ROCAUC())

    scaler, model, expected = preprocessing.MinMaxScaler(), make(), metrics.ROCAUC()
    for (x, y), w in zip(STREAM, weights, strict=True):
        expected.update(y, model.predict_proba_one(scaler.transform_one(x)))
        scaler.learn_one(x)
        model.learn_one(scaler.transform_one(x), y, w)

    assert metric.get() == expected.get()
    assert learned_state(pipeline[-1]) == learned_state(model)


def wrappers(make: Factory) -> dict[str, base.Classifier]:
    """What river has to put around a binary classifier."""
    return {
        "under-sampler": imblearn.RandomUnderSampler(
            make(), desired_dist={False: 0.5, True: 0.5}, seed=1
        ),
        "over-sampler": imblearn.RandomOverSampler(
            make(), desired_dist={False: 0.5, True: 0.5}, seed=1
        ),
        "drift retraining": drift.DriftRetrainingClassifier(
            make(), drift_detector=drift.binary.DDM()
        ),
        "bagging": ensemble.BaggingClassifier(make(), n_models=3, seed=1),
        "successive halving": model_selection.SuccessiveHalvingClassifier(
            [make(), make()], metric=metrics.Accuracy(), budget=1000
        ),
        "bandit": model_selection.BanditClassifier(
            [make(), make()],
            metric=metrics.Accuracy(),
            policy=bandit.EpsilonGreedy(epsilon=0.1, seed=1),
        ),
    }


@each_class
def test_works_in_rivers_wrappers(make: Factory) -> None:
    for name, wrapper in wrappers(make).items():
        metric = evaluate.progressive_val_score(
            datasets.Phishing().take(400),
            preprocessing.StandardScaler() | wrapper,
            metrics.ROCAUC(n_thresholds=50),
        )
        assert metric.get() > 0.7, name


@each_class
def test_works_in_one_vs_rest(make: Factory) -> None:
    model = preprocessing.MinMaxScaler() | multiclass.OneVsRestClassifier(make())
    metric = evaluate.progressive_val_score(
        datasets.ImageSegments().take(500), model, metrics.Accuracy()
    )
    # One in seven is chance.
    assert metric.get() > 0.4


@each_case
def test_learn_many_in_a_pipeline(make: Factory) -> None:
    """A scaler learns the whole batch before the classifier gets it."""
    X = pd.DataFrame([x for x, _ in STREAM])
    y = pd.Series([y for _, y in STREAM])
    pipeline = preprocessing.StandardScaler() | make()
    scaler, model = preprocessing.StandardScaler(), make()
    for rows in (slice(0, 25), slice(25, 60)):
        pipeline.learn_many(X[rows], y[rows])
        scaler.learn_many(X[rows])
        model.learn_many(scaler.transform_many(X[rows]), y[rows])
    assert learned_state(pipeline[-1]) == learned_state(model)
    pd.testing.assert_frame_equal(
        pipeline.predict_proba_many(X), model.predict_proba_many(scaler.transform_many(X))
    )


@each_family
def test_learn_many_of_one_hot_columns(make: Factory) -> None:
    """river's encoder emits frames of sparse columns."""
    rng = random.Random(3)
    rows = [{"country": rng.choice("abc"), "device": rng.choice("xyz")} for _ in range(40)]
    labels = [x["country"] == "a" or rng.random() < 0.2 for x in rows]
    encoder = preprocessing.OneHotEncoder()
    encoder.learn_many(pd.DataFrame(rows))
    X = encoder.transform_many(pd.DataFrame(rows))
    many, one = make(), make()
    many.learn_many(X, pd.Series(labels))
    for x, y in zip(X.to_dict("records"), labels, strict=True):
        one.learn_one(x, y)
    assert learned_state(many) == learned_state(one)


# Labels ----------------------------------------------------------------------------------------

LABEL_KINDS = {
    "np.bool_": (np.bool_(False), np.bool_(True)),
    "0/1": (0, 1),
    "-1/1": (-1, 1),
    "floats 0/1": (0.0, 1.0),
    "floats -1/1": (-1.0, 1.0),
    "int8": (np.int8(-1), np.int8(1)),
    "int64": (np.int64(0), np.int64(1)),
    "uint8": (np.uint8(0), np.uint8(1)),
    "float32": (np.float32(-1), np.float32(1)),
    "float64": (np.float64(0), np.float64(1)),
}

REFUSED_LABELS = [
    "fraud",
    "1",
    "True",
    np.str_("1"),
    None,
    2,
    -2,
    0.5,
    math.nan,
    math.inf,
    np.int64(3),
    np.float64("nan"),
    1j,
    [1],
    (True,),
    b"1",
    pd.NA,
]


@pytest.mark.parametrize("kind", LABEL_KINDS)
@each_family
def test_labels_of_every_kind_are_equal_in_effect(make: Factory, kind: str) -> None:
    negative, positive = LABEL_KINDS[kind]
    model = learn(make(), [(x, positive if y else negative) for x, y in STREAM])
    assert state(model) == state(learn(make(), STREAM))


@pytest.mark.parametrize("label", REFUSED_LABELS, ids=repr)
@each_family
def test_other_labels_are_refused(make: Factory, label: Any) -> None:
    x = PROBES[0]
    for model in models_at_all_stages(make):
        before = pickle.dumps(model)
        for example in (x, {**x, "new": 1.0}, {}):
            with pytest.raises(ValueError, match="label") as refusal:
                model.learn_one(example, label)
            assert repr(label) in str(refusal.value)
            assert "y == 'fraud'" in str(refusal.value) or f"y == {label!r}" in str(refusal.value)
            assert pickle.dumps(model) == before


@pytest.mark.parametrize("label", ["fraud", None, 2, math.nan], ids=repr)
@each_family
def test_other_labels_in_a_batch_are_refused(make: Factory, label: Any) -> None:
    X = pd.DataFrame([{**x, "new": 1.0} for x in PROBES[:4]])
    y = pd.Series([True, False, label, True], dtype=object)
    for model in models_at_all_stages(make):
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match=re.escape(repr(label))):
            model.learn_many(X, y)
        assert pickle.dumps(model) == before


@pytest.mark.parametrize("label", [2, -2, 0.5, math.nan], ids=repr)
@each_family
def test_other_numbers_as_labels_of_a_batch_are_refused(
    make: Factory, backend: Backend, label: float
) -> None:
    X = backend.frame({"x0": [1.0, 2.0, 3.0], "new": [1.0, 2.0, 3.0]})
    y = backend.series([type(label)(0), label, type(label)(1)])
    for model in models_at_all_stages(make):
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match=f"the label is {label!r}"):
            model.learn_many(X, y)
        assert pickle.dumps(model) == before


# Features --------------------------------------------------------------------------------------

FEATURE_KINDS: dict[str, Callable[[int], Any]] = {
    "bool": bool,
    "int": int,
    "float": float,
    "np.bool_": lambda value: np.bool_(bool(value)),
    "int8": np.int8,
    "int64": np.int64,
    "float16": np.float16,
    "float32": np.float32,
    "float64": np.float64,
    "longdouble": np.longdouble,
    "Fraction": Fraction,
    "Decimal": Decimal,
}

REFUSED_FEATURES = {
    "string": "red",
    "numeric string": "1.5",
    "numpy string": np.str_("1.5"),
    "empty string": "",
    "bytes": b"1.5",
    "None": None,
    "nan": math.nan,
    "float32 nan": np.float32("nan"),
    "Decimal nan": Decimal("nan"),
    "inf": math.inf,
    "-inf": -math.inf,
    "1e200": 1e200,
    "10**400": 10**400,
    "complex": 1j,
    "timedelta": np.timedelta64(5, "s"),
    "list": [1.0],
    "dict": {},
    "array": np.array([1.0, 2.0]),
    "NA": pd.NA,
}
MISSING = {"nan", "float32 nan", "Decimal nan"}
# In a column that is a value of its own.
MISSING_IN_A_COLUMN = {"None", "NA", *MISSING}


def is_taken(model: OnlineAUCClassifier, kind: str) -> bool:
    """Whether this classifier takes what others refuse."""
    if isinstance(model, TAKE_MISSING):
        return kind in {"None", *MISSING}
    return isinstance(model, TAKE_STRINGS) and "string" in kind


def each_refused_feature(test: Callable[..., None]) -> Callable[..., None]:
    """A value that numpy converts with no more than a warning has to be refused all the same."""
    quiet = pytest.mark.filterwarnings("ignore")
    return quiet(pytest.mark.parametrize("kind", REFUSED_FEATURES)(test))


def spoiled_examples(value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Examples with a value that is to be refused, and the name of its feature."""
    x = PROBES[0]
    yield "x1", {**x, "x1": value}
    yield "x1", {"x1": value}
    yield "x3", {**x, "x3": value, "new": 1.0}
    yield "x3", {"new": 1.0, **x, "x3": value}
    yield "new", {**x, "new": value}
    yield "new", {"new": value}


@pytest.mark.parametrize("kind", FEATURE_KINDS)
@each_family
def test_features_of_every_kind_are_equal_in_effect(make: Factory, kind: str) -> None:
    convert = FEATURE_KINDS[kind]
    bits = [({name: int(value > 0) for name, value in x.items()}, y) for x, y in STREAM]
    model = learn(make(), [({k: convert(v) for k, v in x.items()}, y) for x, y in bits])
    assert state(model) == state(learn(make(), bits))
    x = bits[0][0]
    assert model.score_one({k: convert(v) for k, v in x.items()}) == model.score_one(x)


@each_refused_feature
@each_family
def test_other_features_are_refused(make: Factory, kind: str) -> None:
    value = REFUSED_FEATURES[kind]
    if is_taken(make(), kind):
        return
    for model in models_at_all_stages(make):
        before = pickle.dumps(model)
        for name, x in spoiled_examples(value):
            for y in (False, True):
                with pytest.raises(ValueError, match=f"^feature {name!r} is "):
                    model.learn_one(x, y)
                assert pickle.dumps(model) == before


@pytest.mark.parametrize("kind", ["None", *sorted(MISSING)])
@pytest.mark.parametrize("cls", TAKE_MISSING)
def test_values_that_are_not_known_are_equal_in_effect(
    cls: type[OnlineAUCClassifier], kind: str
) -> None:
    value = REFUSED_FEATURES[kind]
    for model in models_at_all_stages(cls):
        twin = copy.deepcopy(model)
        for name, x in spoiled_examples(value):
            for y in (False, True):
                nan = {**x, name: math.nan}
                assert model.score_one(x) == twin.score_one(nan)
                model.learn_one(x, y)
                twin.learn_one(nan, y)
        assert state(model) == state(twin)


@pytest.mark.parametrize("missing", [None, math.nan])
@each_family
def test_a_refusal_names_the_feature_that_is_to_blame(make: Factory, missing: Any) -> None:
    """And not one that is only not known."""
    model = learn(make(), STREAM)
    missing_is_fine = isinstance(model, TAKE_MISSING)
    for value in ("red", math.inf, 1j, [1.0]):
        if isinstance(model, TAKE_STRINGS) and value == "red":
            continue
        x = {**PROBES[0], "x1": missing, "x2": value}
        with pytest.raises(ValueError, match="^feature 'x[12]' is ") as refusal:
            model.learn_one(x, True)
        assert "'x2'" in str(refusal.value) or not missing_is_fine
        with pytest.raises(ValueError, match="^feature 'x[12]' is ") as refusal:
            model.predict_proba_one(x)
        assert "'x2'" in str(refusal.value) or missing is None and not missing_is_fine


@each_refused_feature
@each_family
def test_other_features_are_refused_in_predictions(make: Factory, kind: str) -> None:
    value = REFUSED_FEATURES[kind]
    if isinstance(make(), TAKE_STRINGS) and is_taken(make(), kind):
        return
    for model in models_at_all_stages(make):
        before = pickle.dumps(model)
        for name, x in spoiled_examples(value):
            for predict in (model.predict_proba_one, model.predict_one, model.score_one):
                if isinstance(model, TAKE_MISSING) and kind in {"None", *MISSING}:
                    assert predict(x) == predict({**x, name: math.nan})
                elif kind in MISSING:
                    without = {key: v for key, v in x.items() if key != name}
                    assert predict(x) == predict(without)
                else:
                    with pytest.raises(ValueError, match=f"^feature {name!r} is "):
                        predict(x)
        assert pickle.dumps(model) == before


@pytest.mark.parametrize(
    ("kind", "advice"),
    [
        ("string", "OneHotEncoder"),
        ("numeric string", "OneHotEncoder"),
        ("None", "StatImputer"),
        ("nan", "the scaler has seen a NaN"),
        ("inf", "scale or clip"),
        ("1e200", "scale or clip"),
        ("10**400", "too large"),
    ],
)
@each_family
def test_a_refusal_says_what_to_do(make: Factory, kind: str, advice: str) -> None:
    if is_taken(make(), kind):
        return
    with pytest.raises(ValueError, match=advice) as refusal:
        make().learn_one({"x0": REFUSED_FEATURES[kind]}, True)
    assert len(str(refusal.value)) < 200


@each_case
def test_features_too_large_together_are_refused(make: Factory) -> None:
    for model in models_at_all_stages(make):
        before = pickle.dumps(model)
        for x in (dict.fromkeys(PROBES[0], 8e49), {"new": 8e49, "newer": -8e49}):
            with pytest.raises(ValueError, match="norm"):
                model.learn_one(x, True)
            with pytest.raises(ValueError, match="norm"):
                model.predict_proba_one(x)
        assert pickle.dumps(model) == before


@each_refused_feature
@each_family
def test_other_features_in_a_batch_are_refused(make: Factory, kind: str) -> None:
    """The row is named too, and the rows before it are not learned either."""
    value = REFUSED_FEATURES[kind]
    is_not_known = isinstance(make(), TAKE_MISSING) and kind in MISSING_IN_A_COLUMN
    if isinstance(make(), TAKE_STRINGS) and is_taken(make(), kind):
        return
    X = pd.DataFrame(
        {"new": [1.0] * 4, "x1": pd.Series([1.0, 2.0, value, value], dtype=object), "x0": [0.0] * 4}
    )
    y = pd.Series([True, False, True, False])
    for model in models_at_all_stages(make):
        if is_not_known:
            assert_learns_what_is_not_known(model, X, y)
            continue
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match=r"^feature 'x1' is .*row 2"):
            model.learn_many(X, y)
        assert pickle.dumps(model) == before


def assert_learns_what_is_not_known(model: OnlineAUCClassifier, X: Any, y: Any) -> None:
    """As rows with NaN."""
    model, twin = copy.deepcopy(model), copy.deepcopy(model)
    model.learn_many(X, y)
    rows = X.to_pylist() if isinstance(X, pa.Table) else nw.from_native(X).rows(named=True)
    labels = y.to_pylist() if isinstance(y, pa.ChunkedArray) else list(y)
    for x, label in zip(rows, labels, strict=True):
        x = {k: math.nan if v is None or v is pd.NA else v for k, v in x.items()}
        twin.learn_one(x, label)
    assert learned_state(model) == learned_state(twin)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e200, None], ids=repr)
@each_family
def test_other_numbers_in_a_batch_are_refused(make: Factory, value: Any, backend: Backend) -> None:
    X = backend.frame({"x0": [1.0, 2.0, 3.0], "x1": [1.0, value, 3.0], "new": [1, 2, 3]})
    y = backend.series([True, False, True])
    for model in models_at_all_stages(make):
        if isinstance(model, TAKE_MISSING) and (value is None or math.isnan(value)):
            assert_learns_what_is_not_known(model, X, y)
            continue
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match=r"^feature 'x1' is .*row 1"):
            model.learn_many(X, y)
        assert pickle.dumps(model) == before


@each_family
def test_strings_in_a_batch_are_refused(make: Factory, backend: Backend) -> None:
    X = backend.frame({"x0": [1.0, 2.0], "new": [1, 2], "x1": ["1.5", "2.5"]})
    y = backend.series([True, False])
    if isinstance(make(), TAKE_STRINGS):
        return
    for model in models_at_all_stages(make):
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match=r"^feature 'x1' is .*OneHotEncoder.*row 0"):
            model.learn_many(X, y)
        with pytest.raises(ValueError, match=r"^feature 'x1' is .*OneHotEncoder.*row 0"):
            model.predict_proba_many(X)
        assert pickle.dumps(model) == before


finite_floats = st.floats(-1e50, 1e50)
examples_of_any_size = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from("abc"), finite_floats, max_size=3),
        st.booleans(),
        st.just(1.0) | st.floats(0.0, 1e50),
    ),
    max_size=8,
)


@each_case
@settings(max_examples=20)
@given(examples=examples_of_any_size)
def test_whatever_is_learned_predictions_are_finite(
    make: Factory, examples: list[tuple[dict[str, float], bool, float]]
) -> None:
    """An example is either learned, or refused without a trace."""
    model = make()
    for x, y, w in examples:
        before = pickle.dumps(model)
        try:
            model.learn_one(x, y, w)
        except ValueError:
            assert pickle.dumps(model) == before
    for x in [{"a": 1.0, "b": -2.0}, {"c": 1e50}, {}, *[x for x, _, _ in examples]]:
        try:
            p = model.predict_proba_one(x)
        except ValueError as refusal:
            assert "norm" in str(refusal)
        else:
            assert math.isfinite(model.score_one(x))
            assert 0.0 <= p[True] <= 1.0


@each_class
@settings(max_examples=20)
@given(examples=examples_of_any_size)
def test_a_batch_is_learned_up_to_the_row_that_is_refused(
    make: Factory, examples: list[tuple[dict[str, float], bool, float]]
) -> None:
    """Bad values are refused with the whole batch, a step that is too long with its row."""
    X = pd.DataFrame([{name: x.get(name, 0.0) for name in "abc"} for x, _, _ in examples])
    y = pd.Series([y for _, y, _ in examples], dtype=bool)
    w = pd.Series([w for _, _, w in examples], dtype=float)
    many, one = make(), make()
    n_learned = len(examples)
    try:
        many.learn_many(X, y, w)
    except ValueError as refusal:
        named = re.search(r"row (\d+) of the data frame", str(refusal))
        assert named or "the weight is" in str(refusal)
        is_of_the_row = "step" in str(refusal) or "kernel" in str(refusal)
        n_learned = int(named[1]) if named and is_of_the_row else 0
    for row, label, weight in itertools.islice(
        zip(X.to_dict("records"), y, w, strict=True), n_learned
    ):
        one.learn_one(row, label, weight)
    assert learned_state(many) == learned_state(one)


# Predictions -----------------------------------------------------------------------------------

ODD_QUERIES: list[dict[Any, Any]] = [
    {},
    PROBES[0],
    {"x0": 1.0},
    {"unknown": 1e6},
    {**PROBES[1], "unknown": 3.0},
    {**PROBES[2], "x2": math.nan},
    dict.fromkeys(PROBES[0], math.nan),
]


@each_case
def test_predictions_are_even_before_anything_is_known(make: Factory) -> None:
    model = make()
    for x in ODD_QUERIES:
        assert model.predict_proba_one(x) == {False: 0.5, True: 0.5}
        assert model.score_one(x) == 0.0
        assert model.predict_one(x) is False


@each_case_in_frames
def test_predictions_are_distributions_and_leave_no_trace(make: Factory, backend: Backend) -> None:
    X = backend.frame(as_columns(PROBES, PROBES[0]))
    X_odd = backend.frame({"x1": [1.0, math.nan], "unknown": [1, 2]})
    for model in models_at_all_stages(make):
        before = pickle.dumps(model)
        memory = model._raw_memory_usage
        for x in ODD_QUERIES + PROBES:
            p = model.predict_proba_one(x)
            assert list(p) == [False, True]
            assert all(type(value) is float and 0.0 < value < 1.0 for value in p.values())
            assert sum(p.values()) == pytest.approx(1.0, abs=1e-15)
            assert model.predict_one(x) is (p[True] > 0.5)
            assert type(model.score_one(x)) is float
            assert math.isfinite(model.score_one(x))
        for frame in (X, X_odd):
            model.predict_proba_many(frame)
            model.predict_many(frame)
        assert pickle.dumps(model) == before
        # A kernel learner remembers the last similarities that it was asked for, and a sparse one
        # the last example.
        assert model._raw_memory_usage < memory + 2000


@each_case
def test_no_learner_keeps_the_array_that_it_is_given(make: Factory) -> None:
    """The next example is written into it, and anything into the spare one."""
    if not isinstance(make(), DenseClassifier):
        return
    for model in models_at_all_stages(make):
        twin = model.clone(include_attributes=True)
        array = np.linspace(-1.0, 2.0, model._vectorizer.size)
        for positive in (False, True, False):
            twin._learn(array.copy(), positive, 1.5)
            given = array.copy()
            model._learn(given, positive, 1.5)
            given[:] = math.nan
            model._vectorizer.spare[:] = math.nan
            assert learned_state(model) == learned_state(twin)


@each_case
def test_what_was_predicted_before_makes_no_difference(make: Factory) -> None:
    asked, silent = make(), make()
    for x, y in STREAM:
        asked.predict_proba_one(x)
        asked.learn_one(x, y)
        silent.learn_one(x, y)
    assert pickle.dumps(asked) == pickle.dumps(silent)


@each_case
def test_nan_and_unknown_features_count_as_absent(make: Factory) -> None:
    model = learn(make(), STREAM)
    for x in PROBES:
        absent = {name: value for name, value in x.items() if name != "x1"}
        if not isinstance(model, TAKE_MISSING):
            assert model.score_one({**x, "x1": math.nan}) == model.score_one(absent)
        assert model.score_one({**x, "x1": 0.0}) == model.score_one(absent)
        assert model.score_one({**x, "unknown": 5.0}) == model.score_one(x)
        assert model.score_one({**x, "unknown": math.nan}) == model.score_one(x)
        assert model.score_one({"unknown": 5.0, **absent}) == model.score_one(absent)


@functools.cache
def trained(make: Factory) -> OnlineAUCClassifier:
    return learn(make(), make_stream(200))


def queries(bound: float) -> st.SearchStrategy[list[dict[str, float]]]:
    names = list(PROBES[0])
    x = st.lists(st.floats(-bound, bound), min_size=len(names), max_size=len(names))
    return st.lists(x.map(lambda values: dict(zip(names, values, strict=True))), min_size=2)


@each_case
@settings(max_examples=20)
@given(queries=queries(20.0))
def test_probability_is_strictly_increasing_in_the_score(
    make: Factory, queries: list[dict[str, float]]
) -> None:
    """But for scores so close that a float cannot tell their probabilities apart."""
    model = trained(make)
    usual = scores(model)
    resolution = 1e-6 * (max(usual) - min(usual))
    ranked = sorted((model.score_one(x), model.predict_proba_one(x)[True]) for x in queries)
    for (score, p), (next_score, next_p) in itertools.pairwise(ranked):
        assert p <= next_p
        if score == next_score:
            assert p == next_p
        if next_score - score > resolution:
            assert p < next_p


@each_case
@settings(max_examples=10)
@given(queries=queries(1e49))
def test_probability_never_decreases_in_the_score(
    make: Factory, queries: list[dict[str, float]]
) -> None:
    model = trained(make)
    ranked = sorted((model.score_one(x), model.predict_proba_one(x)[True]) for x in queries)
    assert all(p <= next_p for (_, p), (_, next_p) in itertools.pairwise(ranked))


@each_case
def test_scores_rank(make: Factory) -> None:
    """A contract that a constant would keep is worth nothing."""
    model = learn(make(), make_stream(300))
    test = make_stream(300, seed=5)
    positives = [model.score_one(x) for x, y in test if y]
    negatives = [model.score_one(x) for x, y in test if not y]
    right = sum(p > n for p, n in itertools.product(positives, negatives))
    assert right / (len(positives) * len(negatives)) > 0.65


# Importance weights ----------------------------------------------------------------------------

REFUSED_WEIGHTS = [-1, -1e-9, math.nan, math.inf, -math.inf, "1", "heavy", None, 1j, [1.0], 10**400]


@each_case
def test_an_example_of_weight_zero_changes_nothing(make: Factory) -> None:
    zeros = pd.Series([0.0] * len(PROBES))
    X = pd.DataFrame([{**x, "new": 1.0} for x in PROBES])
    labels = pd.Series([True, False] * (len(PROBES) // 2))
    for model in models_at_all_stages(make):
        before = pickle.dumps(model)
        for w, y in itertools.product((0, 0.0, -0.0, False, np.float32(0)), (True, False)):
            model.learn_one(PROBES[0], y, w=w)
            model.learn_one({**PROBES[0], "new": 1.0}, y, w=w)
        model.learn_many(X, labels, zeros)
        model.learn_many(X, labels, 0.0)
        assert pickle.dumps(model) == before


@each_family
def test_a_weight_of_one_is_the_default(make: Factory) -> None:
    expected = state(learn(make(), STREAM))
    for w in (1, 1.0, True, np.float64(1), np.float32(1), np.int64(1), Fraction(1)):
        model = make()
        for x, y in STREAM:
            model.learn_one(x, y, w)
        assert state(model) == expected


@each_family
def test_weights_of_every_kind_are_equal_in_effect(make: Factory) -> None:
    models = []
    for w in (2.0, 2, np.float64(2), np.float32(2), np.int8(2), Fraction(2)):
        model = make()
        for x, y in STREAM:
            model.learn_one(x, y, w)
        models.append(state(model))
    assert all(model == models[0] for model in models)


@each_case
def test_weights_weigh(make: Factory) -> None:
    light, heavy = learn(make(), STREAM), learn(make(), STREAM)
    for x, y in make_stream(20, seed=6):
        light.learn_one(x, y, 0.1)
        heavy.learn_one(x, y, 3.0)
    assert scores(light) != scores(heavy)


@pytest.mark.parametrize("w", REFUSED_WEIGHTS, ids=lambda w: repr(w)[:10])
@each_family
def test_other_weights_are_refused(make: Factory, w: Any) -> None:
    X = pd.DataFrame([{**x, "new": 1.0} for x in PROBES[:3]])
    y = pd.Series([True, False, True])
    for model in models_at_all_stages(make):
        before = pickle.dumps(model)
        for x in (PROBES[0], {**PROBES[0], "new": 1.0}):
            with pytest.raises(ValueError, match="weight"):
                model.learn_one(x, True, w)
        with pytest.raises(ValueError, match="weight"):
            model.learn_many(X, y, pd.Series([1.0, 1.0, w], dtype=object))
        assert pickle.dumps(model) == before


# Refusals --------------------------------------------------------------------------------------


@each_case
def test_refused_examples_between_others_change_nothing_and_take_no_chance(make: Factory) -> None:
    model, unharmed = make(), make()
    for i, (x, y) in enumerate(STREAM):
        model.learn_one(x, y)
        unharmed.learn_one(x, y)
        for bad in ({"x0": math.nan}, {"x0": "1"}, {**x, f"new{i}": math.inf}):
            if isinstance(model, TAKE_MISSING) and bad["x0"] is math.nan:
                continue
            if isinstance(model, TAKE_STRINGS) and bad["x0"] == "1":
                continue
            with pytest.raises(ValueError, match="feature"):
                model.learn_one(bad, y)
        with pytest.raises(ValueError, match="label"):
            model.learn_one(x, "yes")
        with pytest.raises(ValueError, match="weight"):
            model.learn_one(x, y, -1.0)
        assert state(model) == state(unharmed)


def powers_of_ten(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high).map(lambda exponent: 10.0**exponent)


SIZES = powers_of_ten(-20, 20)
LEARNING_RATES = SIZES | st.just(optim.schedulers.InverseScaling(0.1))
KERNELS = st.one_of(
    st.builds(RBF, SIZES),
    st.just(Linear()),
    st.builds(Polynomial, st.integers(1, 5), SIZES, SIZES | st.just(0.0)),
)
POLICIES = st.sampled_from(["fifo", "reservoir"])
BUDGETS = st.sampled_from([1, 2, (1, 3), 20])
WILD_PARAMETERS: dict[type[OnlineAUCClassifier], dict[str, st.SearchStrategy[Any]]] = {
    AutoOAUCM: {},
    AutoOKAUCM: {},
    SparseOAUCM: {},
    OAUCM: {"l2": SIZES, "lr": st.none() | LEARNING_RATES},
    OAUCS: {"l2": SIZES, "lr": LEARNING_RATES},
    OKAUCM: {
        "kernel": KERNELS,
        "l2": SIZES,
        "lr": st.none() | LEARNING_RATES,
        "budget": BUDGETS,
        "policy": POLICIES,
    },
    OKAUCS: {
        "kernel": KERNELS,
        "l2": SIZES,
        "lr": LEARNING_RATES,
        "budget": BUDGETS,
        "policy": POLICIES,
    },
    KOIL: {
        "kernel": KERNELS,
        "C": SIZES,
        "eta": SIZES,
        "budget": BUDGETS,
        "k": st.integers(1, 3),
        "loss": st.sampled_from(["l1", "l2"]),
        "policy": POLICIES,
    },
    Perceptron: {},
    PAI: {"C": SIZES},
    OAM: {
        "C": SIZES,
        "buffer_size": st.integers(1, 3),
        "update": st.sampled_from(["gradient", "sequential"]),
        "weighting": st.sampled_from(["paper", "constant"]),
    },
    OLUBAUC: {
        "l2": SIZES,
        "margin": SIZES,
        "class_balanced": st.booleans(),
        "lr": st.none() | LEARNING_RATES,
    },
}

WILD_SIZES = powers_of_ten(-300, 50) | powers_of_ten(45, 50) | powers_of_ten(-165, -130)
WILD_VALUES = st.sampled_from([0.0, 1.0]) | st.builds(
    math.copysign, WILD_SIZES, st.sampled_from([-1.0, 1.0])
)
WILD_WEIGHTS = st.sampled_from([0.0, 1.0, 1e50]) | powers_of_ten(-323, 50) | powers_of_ten(-3, 3)
WILD_EXAMPLES = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from("abc"), WILD_VALUES, max_size=3),
        st.booleans(),
        WILD_WEIGHTS,
    ),
    min_size=2,
    max_size=10,
)


def test_every_classifier_has_wild_parameters() -> None:
    assert set(WILD_PARAMETERS) == set(CLASSIFIERS)


@pytest.mark.parametrize("cls", CLASSIFIERS)
@given(data=st.data(), stream=WILD_EXAMPLES)
def test_after_any_finite_example_a_model_is_finite_or_unchanged(
    cls: type[OnlineAUCClassifier], data: st.DataObject, stream: list[tuple[Any, bool, float]]
) -> None:
    parameters = data.draw(st.fixed_dictionaries(WILD_PARAMETERS[cls]))
    parameters["prior"] = data.draw(st.sampled_from(["balanced", "empirical"]))
    if "seed" in inspect.signature(cls).parameters:
        parameters["seed"] = 0
    model = cls(**parameters)
    for x, y, w in stream:
        before = pickle.dumps(model)
        try:
            model.learn_one(x, y, w)
        except ValueError as refusal:
            # What is too large is to be scaled, be it the features or the step.
            assert any(word in str(refusal) for word in ("scale", "weight is"))
            assert pickle.dumps(model) == before
        assert all(math.isfinite(number) for number in numbers_in(model))
        try:
            p = model.predict_proba_one(x)
        except ValueError as refusal:
            assert "scale" in str(refusal)
        else:
            assert 0.0 <= p[True] <= 1.0
            assert p[False] == 1.0 - p[True]
        assert 0.0 <= model.predict_proba_one({})[True] <= 1.0


# Data frames -----------------------------------------------------------------------------------

chunks_of_columns = st.lists(
    st.tuples(
        st.integers(0, 15),
        st.lists(st.sampled_from([f"x{j}" for j in range(6)]), unique=True, min_size=1),
    ),
    min_size=1,
    max_size=6,
)


@each_case_in_frames
@settings(max_examples=8)
@given(chunks=chunks_of_columns)
def test_learn_many_is_the_loop_of_learn_one(
    make: Factory, backend: Backend, chunks: list[tuple[int, list[str]]]
) -> None:
    """In chunks of any length, with columns that come, go and change places."""
    rng = random.Random(8)
    stream = iter(make_stream(100, n_features=6))
    many, one = make(), make()
    for n_rows, names in chunks:
        rows = list(itertools.islice(stream, n_rows))
        weights = [rng.choice([0.0, 0.5, 1.0, 3.0]) for _ in rows]
        many.learn_many(
            backend.frame(as_columns([x for x, _ in rows], names)),
            backend.series([y for _, y in rows]),
            backend.series(weights),
        )
        for (x, y), w in zip(rows, weights, strict=True):
            one.learn_one({name: x[name] for name in names}, y, w)
        assert learned_state(many) == learned_state(one)


@pytest.mark.parametrize("n_features", [1, 2, 7, 33, 100])
@each_case
def test_learn_many_is_the_loop_for_many_features(make: Factory, n_features: int) -> None:
    stream = make_stream(40, n_features)
    many = make()
    X = pd.DataFrame([x for x, _ in stream])
    many.learn_many(X, pd.Series([y for _, y in stream]))
    assert learned_state(many) == learned_state(learn(make(), stream))


@pytest.mark.parametrize("w", [1.0, 2, 0.5, np.float32(0.5)], ids=repr)
@each_family
def test_learn_many_with_one_weight_for_all(make: Factory, backend: Backend, w: float) -> None:
    many, one = make(), make()
    many.learn_many(
        backend.frame(as_columns([x for x, _ in STREAM], STREAM[0][0])),
        backend.series([y for _, y in STREAM]),
        w,
    )
    for x, y in STREAM:
        one.learn_one(x, y, w)
    assert learned_state(many) == learned_state(one)


def frames_of_odd_types() -> dict[str, Any]:
    """Frames of the same few integers, so that every type can hold them."""
    rng = random.Random(4)
    a, b, c = ([rng.choice(values) for _ in range(30)] for values in ([-2, 1], [0, 1], [-1, 2]))
    bits = [bool(value) for value in b]
    decimals = [Decimal(value) for value in a]
    return {
        "pandas int, bool, float32": pd.DataFrame(
            {"a": a, "b": bits, "c": np.array(c, np.float32)}
        ),
        "pandas int8, uint64, float16": pd.DataFrame(
            {"a": np.array(a, np.int8), "b": np.array(b, np.uint64), "c": np.array(c, np.float16)}
        ),
        "pandas nullable": pd.DataFrame(
            {
                "a": pd.array(a, "Int64"),
                "b": pd.array(bits, "boolean"),
                "c": pd.array(c, "Float32"),
            }
        ),
        "pandas on arrow": pd.DataFrame(
            {"a": pd.array(a, "int64[pyarrow]"), "b": pd.array(bits, "bool[pyarrow]"), "c": c}
        ),
        "pandas object": pd.DataFrame({"a": decimals, "b": bits, "c": c}, dtype=object),
        "pandas object and float": pd.DataFrame(
            {"a": pd.Series(decimals, dtype=object), "b": bits, "c": np.array(c, float)}
        ),
        "pandas sparse": pd.DataFrame(
            {"a": pd.arrays.SparseArray(a), "b": bits, "c": pd.arrays.SparseArray(c, dtype=float)}
        ),
        "pandas categorical": pd.DataFrame({"a": pd.Categorical(a), "b": bits, "c": c}),
        "polars int, bool, float": pl.DataFrame({"a": a, "b": bits, "c": [float(v) for v in c]}),
        "polars int8, uint64, float32": pl.DataFrame(
            {"a": a, "b": b, "c": c}, schema={"a": pl.Int8, "b": pl.UInt64, "c": pl.Float32}
        ),
        "polars decimal": pl.DataFrame({"a": decimals, "b": bits, "c": c}),
        "polars object": pl.DataFrame(
            {"a": [Fraction(v) for v in a], "b": bits, "c": c},
            schema_overrides={"a": pl.Object},
        ),
        "pyarrow int, bool, float": pa.table({"a": a, "b": bits, "c": [float(v) for v in c]}),
        "pyarrow int8, bool, float32": pa.table(
            {"a": pa.array(a, pa.int8()), "b": bits, "c": pa.array(c, pa.float32())}
        ),
        "pyarrow decimal": pa.table({"a": decimals, "b": bits, "c": c}),
        "pyarrow in pieces": pa.concat_tables(
            pa.table({"a": a, "b": bits, "c": c}).slice(start, length)
            for start, length in ((0, 7), (7, 0), (7, 23))
        ),
    }


@pytest.mark.parametrize("kind", frames_of_odd_types())
@each_family
def test_columns_of_any_numeric_type(make: Factory, kind: str) -> None:
    X, plain = frames_of_odd_types()[kind], frames_of_odd_types()["pandas int, bool, float32"]
    y = pd.Series([i % 3 == 0 for i in range(len(plain))])
    many = make()
    many.learn_many(X, y)
    one = learn(make(), zip(plain.to_dict("records"), y, strict=True))
    assert learned_state(many) == learned_state(one)
    assert probabilities(many, X)[True] == pytest.approx(
        [one.predict_proba_one(x)[True] for x in plain.to_dict("records")], rel=1e-12
    )


@each_case_in_frames
def test_frames_without_rows(make: Factory, backend: Backend) -> None:
    X, y = backend.frame({"new": [], "x0": []}), backend.series([])
    for model in models_at_all_stages(make):
        before = learned_state(model)
        model.learn_many(X, y)
        model.learn_many(X, y, y)
        assert learned_state(model) == before
        assert len(model.predict_many(X)) == 0
        assert len(model.predict_proba_many(X)) == 0


@each_family
def test_frames_without_columns(make: Factory, backend: Backend) -> None:
    X, y = backend.frame({}), backend.series([])
    for model in models_at_all_stages(make):
        before = learned_state(model)
        model.learn_many(X, y)
        assert learned_state(model) == before
        assert len(model.predict_many(X)) == 0


@each_case
def test_rows_without_columns(make: Factory) -> None:
    """Only pandas has them: they are examples without features."""
    X = pd.DataFrame(index=range(4))
    labels = [True, False, False, True]
    for many, one in zip(models_at_all_stages(make), models_at_all_stages(make), strict=True):
        many.learn_many(X, pd.Series(labels))
        learn(one, [({}, y) for y in labels])
        assert learned_state(many) == learned_state(one)
        assert list(many.predict_many(X)) == [one.predict_one({})] * 4


@each_family
def test_wrong_lengths_are_refused(make: Factory, backend: Backend) -> None:
    X = backend.frame({"x0": [1.0, 2.0], "new": [1.0, 2.0]})
    two, three = [True, False], [True, False, True]
    for model in models_at_all_stages(make):
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match="y has 3 values for the 2 rows"):
            model.learn_many(X, backend.series(three))
        with pytest.raises(ValueError, match="w has 3 values for the 2 rows"):
            model.learn_many(X, backend.series(two), backend.series([1.0, 1.0, 1.0]))
        assert pickle.dumps(model) == before


@each_family
def test_frames_are_left_as_they_were(make: Factory, backend: Backend) -> None:
    X = backend.frame(as_columns([x for x, _ in STREAM], STREAM[0][0]))
    y = backend.series([y for _, y in STREAM])
    X_before, y_before = copy.deepcopy(X), copy.deepcopy(y)
    model = make()
    model.learn_many(X, y)
    model.predict_many(X)
    assert X.equals(X_before)
    assert y.equals(y_before)


@each_case
def test_no_batch_is_kept_alive(make: Factory) -> None:
    """Not even by a view of one of its rows."""
    model = make()
    model.learn_many(pd.DataFrame([x for x, _ in STREAM]), pd.Series([y for _, y in STREAM]), w=1.0)

    def arrays(obj: Any) -> Iterator[np.ndarray]:
        if isinstance(obj, np.ndarray):
            yield obj
        elif isinstance(obj, dict):
            for value in obj.values():
                yield from arrays(value)
        elif isinstance(obj, list | tuple | collections.deque):
            for value in obj:
                yield from arrays(value)
        else:
            yield from arrays(attributes_of(obj))

    found = list(arrays(model))
    assert found
    for array in found:
        # What it is a view of may be bytes.
        assert array.base is None or memoryview(array.base).nbytes <= array.nbytes


@each_case_in_frames
def test_predict_many_is_predict_one_of_each_row(make: Factory, backend: Backend) -> None:
    for model in models_at_all_stages(make):
        for names in (list(PROBES[0]), ["x2", "x0"], ["x3", "unknown", "x1"], ["unknown"]):
            rows = [{name: x.get(name, 7.0) for name in names} for x in PROBES]
            X = backend.frame(as_columns(rows, names))
            for label, column in probabilities(model, X).items():
                expected = [model.predict_proba_one(x)[label] for x in rows]
                assert column == pytest.approx(expected, rel=1e-12)
            labels = np.asarray(model.predict_many(X)).tolist()
            assert labels == [model.predict_one(x) for x in rows]


@each_family
def test_missing_values_are_absent_in_predictions(make: Factory, backend: Backend) -> None:
    model = learn(make(), STREAM)
    absent = model.predict_proba_one(
        {"x0": 1.0, "x1": None} if isinstance(model, TAKE_MISSING) else {"x0": 1.0}
    )[True]
    for x1 in ([2.0, None], [2.0, math.nan], [True, None], [None, None]):
        X = backend.frame({"x0": [1.0, 1.0], "x1": x1, "x2": [0, 0]})
        assert probabilities(model, X)[True][1] == pytest.approx(absent, rel=1e-12)


@pytest.mark.parametrize("missing", [None, math.nan, pd.NA], ids=repr)
@pytest.mark.parametrize("dtype", ["object", "Int64", "Float64", "boolean"])
@each_family
def test_missing_values_of_pandas_are_absent_in_predictions(
    make: Factory, dtype: str, missing: Any
) -> None:
    model = learn(make(), STREAM)
    absent = model.predict_proba_one(
        {"x0": 1.0, "x1": None} if isinstance(model, TAKE_MISSING) else {"x0": 1.0}
    )[True]
    X = pd.DataFrame({"x0": [1.0, 1.0], "x1": pd.Series([1, missing], dtype=object)})
    X["x1"] = X["x1"].astype(dtype)
    assert probabilities(model, X)[True][1] == pytest.approx(absent, rel=1e-12)


@pytest.mark.parametrize("value", [math.inf, -math.inf, 1e200])
@each_family
def test_infinities_are_refused_in_predictions_for_batches(
    make: Factory, backend: Backend, value: float
) -> None:
    X = backend.frame({"x0": [1.0, 2.0], "x1": [2.0, value]})
    for model in models_at_all_stages(make):
        before = pickle.dumps(model)
        for predict in (model.predict_proba_many, model.predict_many, model.score_many):
            with pytest.raises(ValueError, match=r"^feature 'x1' is .*row 1"):
                predict(X)
        assert pickle.dumps(model) == before


def conventions(result: Any) -> tuple[Any, ...]:
    """Everything about a frame or a series but its values."""
    match result:
        case pd.DataFrame():
            return "frame", list(result.columns), list(result.dtypes), result.index.tolist()
        case pd.Series():
            return "series", result.name, result.dtype, result.index.tolist()
        case pl.DataFrame():
            return "polars frame", result.schema, len(result)
        case pl.Series():
            return "polars series", result.name, result.dtype, len(result)
        case pa.Table():
            return "table", result.schema, len(result)
        case pa.ChunkedArray():
            return "chunked array", result.type, len(result)
    raise TypeError(type(result))


def batches() -> dict[str, tuple[Any, Any]]:
    columns = {"x0": [1.0, -1.0, 2.0], "x1": [0.0, 1.0, 1.0]}
    labels = [True, False, True]
    return {
        "pandas": (pd.DataFrame(columns), pd.Series(labels, name="target")),
        "pandas, unnamed": (pd.DataFrame(columns), pd.Series(labels)),
        "pandas, name is a number": (pd.DataFrame(columns), pd.Series(labels, name=3)),
        "pandas, index of strings": (
            pd.DataFrame(columns, index=list("abc")),
            pd.Series(labels, index=list("abc"), name="target"),
        ),
        "pandas, index of times": (
            pd.DataFrame(columns, index=pd.date_range("2024-01-01", periods=3)),
            pd.Series(labels),
        ),
        "pandas, columns are numbers": (
            pd.DataFrame(np.array([[1.0, 2.0], [0.0, 1.0], [1.0, 1.0]])),
            pd.Series(labels),
        ),
        "polars": (pl.DataFrame(columns), pl.Series("target", labels)),
        "polars, unnamed": (pl.DataFrame(columns), pl.Series(labels)),
        "pyarrow": (pa.table(columns), pa.chunked_array([labels])),
    }


@pytest.mark.parametrize("kind", batches())
@each_family
def test_conventions_are_those_of_logistic_regression(make: Factory, kind: str) -> None:
    X, y = batches()[kind]
    model, theirs = make(), linear_model.LogisticRegression()
    for _ in range(2):
        assert conventions(model.predict_proba_many(X)) == conventions(theirs.predict_proba_many(X))
        assert conventions(model.predict_many(X)) == conventions(theirs.predict_many(X))
        assert model.learn_many(X, y) is None
        theirs.learn_many(X, y)
    no_rows = X[:0]
    assert conventions(model.predict_proba_many(no_rows)) == conventions(
        theirs.predict_proba_many(no_rows)
    )
    assert conventions(model.predict_many(no_rows)) == conventions(theirs.predict_many(no_rows))


@each_case_in_frames
def test_scores_of_rows_are_those_of_score_one(make: Factory, backend: Backend) -> None:
    model = learn(make(), STREAM)
    rows = [x for x, _ in STREAM]
    scores = model.score_many(backend.frame(as_columns(rows, rows[0])))
    assert scores.to_numpy().tolist() == pytest.approx([model.score_one(x) for x in rows])


@pytest.mark.parametrize("kind", batches())
def test_scores_have_the_conventions_of_labels(kind: str) -> None:
    X, y = batches()[kind]
    model = OAUCM()
    model.learn_many(X, y)
    scores, labels = conventions(model.score_many(X)), conventions(model.predict_many(X))
    assert (scores[0], scores[-1]) == (labels[0], labels[-1])
    if scores[0] != "chunked array":
        assert scores[1] == "score"


@each_family
def test_columns_named_by_numbers(make: Factory) -> None:
    rows = [{j: x[f"x{j}"] for j in range(4)} for x, _ in STREAM]
    labels = [y for _, y in STREAM]
    one = learn(make(), zip(rows, labels, strict=True))
    for dtype in (float, object):
        many = make()
        many.learn_many(pd.DataFrame(rows, dtype=dtype), pd.Series(labels))
        assert learned_state(many) == learned_state(one)


# Features that come and go ---------------------------------------------------------------------


@each_case
def test_an_absent_feature_is_zero(make: Factory) -> None:
    """For a known name, to the last bit."""
    sparse, dense = learn(make(), STREAM[:10]), learn(make(), STREAM[:10])
    rng = random.Random(9)
    for x, y in STREAM[10:]:
        gone = rng.sample(sorted(x), rng.randrange(len(x) + 1))
        sparse.learn_one({name: x[name] for name in x if name not in gone}, y)
        dense.learn_one({name: 0.0 if name in gone else x[name] for name in x}, y)
    assert state(sparse) == state(dense)


@pytest.mark.parametrize("n_features", [2, 5, 40])
@each_case
def test_a_late_feature_has_been_zero_until_then(make: Factory, n_features: int) -> None:
    stream = make_stream(80, n_features, seed=3)
    rng = random.Random(4)
    arrival = {name: rng.randrange(60) for name in stream[0][0]}
    late, explicit = make(), make()
    for i, (x, y) in enumerate(stream):
        late.learn_one({name: v for name, v in x.items() if arrival[name] <= i}, y)
        explicit.learn_one({name: v if arrival[name] <= i else 0.0 for name, v in x.items()}, y)
    probes = [x for x, _ in make_stream(20, n_features, seed=5)]
    assert_close(scores(late, probes), scores(explicit, probes))
    assert [late.predict_proba_one(x)[True] for x in probes] == pytest.approx(
        [explicit.predict_proba_one(x)[True] for x in probes], rel=1e-8
    )


@each_case
def test_features_may_vanish_for_good(make: Factory) -> None:
    stream = [({name: x[name] for name in ("x0", "x1")}, y) for x, y in make_stream(200, seed=3)]
    model = learn(make(), STREAM)
    explicit = learn(make(), STREAM)
    learn(model, stream)
    learn(explicit, [({"x3": 0, "x2": 0, **x}, y) for x, y in stream])
    assert state(model) == state(explicit)


@each_case
def test_the_order_of_keys_does_not_matter(make: Factory) -> None:
    rng = random.Random(2)
    shuffled = [(dict(rng.sample(list(x.items()), len(x))), y) for x, y in STREAM]
    assert_close(scores(learn(make(), shuffled)), scores(learn(make(), STREAM)))
    if not isinstance(make(), DenseClassifier):
        return
    # Once the names are known, the order makes no difference at all.
    in_order, out_of_order = learn(make(), STREAM[:5]), learn(make(), STREAM[:5])
    assert state(learn(in_order, STREAM)) == state(learn(out_of_order, shuffled))


MIXED_NAMES = [0, "a", (1, 2), None, frozenset({3}), 1.5, b"x", ("b", None)]


@pytest.mark.parametrize(
    "names",
    [[0, 1, 2, 3], [(0, "a"), (1, "b"), (0, "c"), (2,)], MIXED_NAMES[:4], MIXED_NAMES[4:]],
    ids=["ints", "tuples", "mixed", "more mixed"],
)
@each_family
def test_names_are_any_hashable(make: Factory, names: list[Any]) -> None:
    def renamed(x: dict[str, float]) -> dict[Any, float]:
        return dict(zip(names, x.values(), strict=True))

    model = learn(make(), [(renamed(x), y) for x, y in STREAM])
    assert scores(model, map(renamed, PROBES)) == scores(learn(make(), STREAM))
    with pytest.raises(ValueError, match=re.escape(f"feature {names[1]!r} is")):
        model.learn_one({names[0]: 1.0, names[1]: math.inf}, True)


@each_case
def test_examples_without_features(make: Factory) -> None:
    model = learn(make(), [({}, True), ({}, False), ({}, True)])
    assert model.predict_proba_one({})[True] == pytest.approx(
        model.predict_proba_one({"a": 1.0})[True]
    )
    # An example without features is one whose features all are zero.
    learn(model, [*STREAM, ({}, True), ({}, False), *STREAM])
    zeros = dict.fromkeys(STREAM[0][0], 0.0)
    explicit = learn(make(), [(zeros, True), (zeros, False), (zeros, True), *STREAM])
    learn(explicit, [(zeros, True), (zeros, False), *STREAM])
    assert_close(scores(model), scores(explicit))


@each_case
def test_one_feature(make: Factory) -> None:
    model = make()
    rng = random.Random(1)
    for i in range(100):
        model.learn_one({"a": rng.gauss(i % 2, 0.5)}, i % 2)
    assert (
        model.predict_proba_one({"a": -1.0})[True] < 0.5 < model.predict_proba_one({"a": 2})[True]
    )


@pytest.mark.parametrize(
    "mapping",
    [
        collections.OrderedDict,
        collections.Counter,
        lambda x: collections.defaultdict(float, x),
        collections.ChainMap,
        types.MappingProxyType,
    ],
    ids=["OrderedDict", "Counter", "defaultdict", "ChainMap", "MappingProxyType"],
)
@each_family
def test_an_example_may_be_any_mapping(make: Factory, mapping: Callable[..., Any]) -> None:
    """As many new names as there are old ones must not be taken for the old ones."""
    stream = [({"a": 1, "b": 2}, True), ({"a": 2, "b": 1}, False), ({"c": 5, "d": 3}, True)]
    stream += [({"a": 2, "b": 1, "c": 1, "e": 4}, False)]
    model = make()
    for x, y in stream:
        given = mapping(x)
        model.score_one(given)
        model.learn_one(given, y)
        assert dict(given) == x
    assert state(model) == state(learn(make(), stream))


# The life of a model ---------------------------------------------------------------------------


@each_case
def test_a_clone_is_as_new(make: Factory) -> None:
    model = learn(make(), STREAM)
    before = pickle.dumps(model)
    clone = model.clone()
    assert state(clone) == state(make())
    learn(clone, STREAM)
    assert state(clone) == state(model)
    learn(clone, STREAM)
    assert pickle.dumps(model) == before


@each_case
def test_mutable_attributes_can_be_mutated(make: Factory) -> None:
    parameters = inspect.signature(type(make())).parameters
    for name in parameters:
        model = learn(make(), STREAM)
        value = getattr(model, name)
        if name not in model._mutable_attributes:
            with pytest.raises(ValueError, match=name):
                model.mutate({name: value})
            continue
        before = state(model)
        model.mutate({name: value})
        assert state(model) == before
        if isinstance(value, float) and value:
            model.mutate({name: value / 2})
            assert getattr(model, name) == value / 2
            assert scores(learn(model, STREAM)) != scores(learn(learn(make(), STREAM), STREAM))
    assert model._mutable_attributes <= parameters.keys()


@pytest.mark.parametrize(
    "copied",
    [lambda model: pickle.loads(pickle.dumps(model)), copy.deepcopy],
    ids=["pickle", "deepcopy"],
)
@each_case
def test_a_copy_goes_on_bit_for_bit(
    make: Factory, copied: Callable[[OnlineAUCClassifier], OnlineAUCClassifier]
) -> None:
    late = [({**x, "late": x["x0"]}, y) for x, y in make_stream(30, seed=7)]
    for model in models_at_all_stages(make):
        twin = copied(model)
        assert state(twin) == state(model)
        before = pickle.dumps(twin)
        learn(model, late)
        assert pickle.dumps(twin) == before
        assert state(learn(twin, late)) == state(model)
        assert scores(twin) == scores(model)


@each_case
def test_repr_shows_every_parameter(make: Factory) -> None:
    model = make()
    for name in inspect.signature(type(model)).parameters:
        assert f" {name}=" in repr(model)
    assert repr(learn(model, STREAM)) == repr(make())


@each_case
def test_two_runs_are_the_same_bit_for_bit(make: Factory) -> None:
    """Whatever the global generators do, which are left alone."""
    random.seed(1)
    np.random.seed(1)
    first = learn(make(), make_stream(300))
    random.seed(2)
    np.random.seed(2)
    before = random.getstate(), state(np.random.get_state())
    second = learn(make(), make_stream(300))
    scores(second)
    assert (random.getstate(), state(np.random.get_state())) == before
    assert state(first) == state(second)


@each_case
def test_memory_is_bounded(make: Factory) -> None:
    model = make()
    stream = make_stream(3000)
    learn(model, stream[:1000])
    # In this order: pickling makes python give each object the dict that is then measured.
    size, memory = len(pickle.dumps(model)), model._raw_memory_usage
    learn(model, stream[1000:])
    assert model._raw_memory_usage <= 1.02 * memory
    assert len(pickle.dumps(model)) <= 1.02 * size


@pytest.mark.slow
@each_case
def test_memory_is_bounded_over_a_long_stream(make: Factory) -> None:
    model = make()
    rng = random.Random(1)
    sizes = []
    for i in range(200_000):
        y = rng.random() < 0.02
        model.learn_one({j: rng.gauss(y, 1) for j in range(5)}, y)
        if i % 20_000 == 19_999:
            sizes.append(model._raw_memory_usage)
    assert max(sizes) <= 1.02 * sizes[0]
    assert all(map(math.isfinite, (model.score_one({j: 1.0}) for j in range(5))))
