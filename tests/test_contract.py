"""What every classifier promises, whatever its method: tried once per class."""

from __future__ import annotations

import collections
import copy
import inspect
import itertools
import math
import pickle
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from classifiers import (
    CASES,
    CLASSIFIERS,
    PROBES,
    STREAM,
    TAKE_RECORDS,
    Factory,
    assert_close,
    each_case,
    each_class,
    learn,
    learned_state,
    make_case,
    make_stream,
    models_at_all_stages,
    scores,
    state,
)
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
    metrics,
    model_selection,
    multiclass,
    preprocessing,
)

from river_oauc import OTAUC, AutoOAUC, SparseOAUCM
from river_oauc.classifier import OnlineAUCClassifier

WRITTEN_ONCE = {
    "learn_one",
    "learn_many",
    "predict_proba_one",
    "predict_proba_many",
    "predict_many",
    "score_one",
    "score_many",
    "clone",
    "mutate",
    "__getstate__",
    "__setstate__",
    "__add__",
    "__iadd__",
}


@each_class
def test_no_class_overrides_what_the_base_class_does(cls: type[OnlineAUCClassifier]) -> None:
    """So the many kinds of input need not be tried on every class."""
    for name in WRITTEN_ONCE:
        assert inspect.getattr_static(cls, name) is vars(OnlineAUCClassifier)[name], name
    assert len([each for each in cls.__mro__ if each.__module__.startswith("river_oauc")]) <= 4


# river -----------------------------------------------------------------------------------------


def every_river_check() -> Iterator[Any]:
    for id_, make in CASES.items():
        seen: collections.Counter[str] = collections.Counter()
        for check in checks.yield_checks(make()):
            seen[check.__name__] += 1
            yield pytest.param(make, check, id=f"{id_}-{check.__name__}-{seen[check.__name__]}")


@pytest.mark.parametrize(("make", "check"), list(every_river_check()))
def test_river_check(make: Factory, check: Callable[[base.Classifier], None]) -> None:
    """All of river's checks, including those that a class may ask river to skip."""
    check(make())


@pytest.mark.parametrize(
    "scaler",
    [
        preprocessing.MinMaxScaler,
        pytest.param(preprocessing.StandardScaler, marks=pytest.mark.slow),
    ],
)
@each_case
def test_river_checks_behind_a_scaler(make: Factory, scaler: type[base.Transformer]) -> None:
    checks.check_estimator(scaler() | make())


@each_class
def test_shuffled_features_have_no_impact(cls: type[OnlineAUCClassifier]) -> None:
    """river's check shuffles once; what rounding does to a tie shows only now and then."""
    examples = list(datasets.Phishing().take(100))
    X, y = pd.DataFrame([x for x, _ in examples]), pd.Series([y for _, y in examples])

    def predicted(names: list[str]) -> np.ndarray:
        model, shuffled = make_case(cls), X[names]
        model.learn_many(shuffled[:60], y[:60])
        early = model.predict_proba_many(shuffled[60:])
        model.learn_many(shuffled[60:], y[60:])
        return np.vstack((early, model.predict_proba_many(shuffled[:40])))

    expected = predicted(list(X))
    rng = random.Random(1)
    for _ in range(20):
        # As close as river asks for.
        np.testing.assert_allclose(predicted(rng.sample(list(X), len(X.columns))), expected, 1e-6)


@each_class
def test_progressive_val_score_passes_weights(cls: type[OnlineAUCClassifier]) -> None:
    weights = [0.5 + i % 3 for i in range(len(STREAM))]
    triples = [(x, y, {"w": w}) for (x, y), w in zip(STREAM, weights, strict=True)]
    pipeline = preprocessing.MinMaxScaler() | make_case(cls)
    metric = evaluate.progressive_val_score(triples, pipeline, metrics.ROCAUC())

    scaler, model, expected = preprocessing.MinMaxScaler(), make_case(cls), metrics.ROCAUC()
    for (x, y), w in zip(STREAM, weights, strict=True):
        expected.update(y, model.predict_proba_one(scaler.transform_one(x)))
        scaler.learn_one(x)
        model.learn_one(scaler.transform_one(x), y, w)
    assert metric.get() == expected.get()
    assert learned_state(pipeline[-1]) == learned_state(model)


def wrappers(make: Factory) -> dict[str, base.Classifier]:
    """Return what river has to put around a binary classifier."""
    balanced = {"desired_dist": {False: 0.5, True: 0.5}, "seed": 1}
    accuracy = {"metric": metrics.Accuracy()}
    return {
        "under-sampler": imblearn.RandomUnderSampler(make(), **balanced),
        "over-sampler": imblearn.RandomOverSampler(make(), **balanced),
        "drift": drift.DriftRetrainingClassifier(make(), drift_detector=drift.binary.DDM()),
        "bagging": ensemble.BaggingClassifier(make(), n_models=3, seed=1),
        "halving": model_selection.SuccessiveHalvingClassifier(
            [make(), make()], budget=1000, **accuracy
        ),
        "bandit": model_selection.BanditClassifier(
            [make(), make()], policy=bandit.EpsilonGreedy(epsilon=0.1, seed=1), **accuracy
        ),
    }


@each_class
def test_works_in_rivers_wrappers(cls: type[OnlineAUCClassifier]) -> None:
    for name, wrapper in wrappers(lambda: make_case(cls)).items():
        metric = evaluate.progressive_val_score(
            datasets.Phishing().take(400),
            preprocessing.StandardScaler() | wrapper,
            metrics.ROCAUC(n_thresholds=50),
        )
        assert metric.get() > 0.7, name


@each_class
def test_works_in_one_vs_rest(cls: type[OnlineAUCClassifier]) -> None:
    model = preprocessing.MinMaxScaler() | multiclass.OneVsRestClassifier(make_case(cls))
    metric = evaluate.progressive_val_score(
        datasets.ImageSegments().take(500), model, metrics.Accuracy()
    )
    # One in seven is chance.
    assert metric.get() > 0.4


@each_class
def test_learn_many_in_a_pipeline(cls: type[OnlineAUCClassifier]) -> None:
    """A scaler learns the whole batch before the classifier gets it."""
    X, y = pd.DataFrame([x for x, _ in STREAM]), pd.Series([y for _, y in STREAM])
    pipeline = preprocessing.StandardScaler() | make_case(cls)
    scaler, model = preprocessing.StandardScaler(), make_case(cls)
    for rows in (slice(0, 25), slice(25, 60)):
        pipeline.learn_many(X[rows], y[rows])
        scaler.learn_many(X[rows])
        model.learn_many(scaler.transform_many(X[rows]), y[rows])
    assert learned_state(pipeline[-1]) == learned_state(model)


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


@each_case
def test_predictions_are_distributions_and_change_nothing(make: Factory) -> None:
    frames = pd.DataFrame(PROBES), pd.DataFrame({"x1": [1.0, math.nan], "unknown": [1, 2]})
    for model in models_at_all_stages(make):
        before = pickle.dumps(model)
        for x in ODD_QUERIES + PROBES:
            p = model.predict_proba_one(x)
            assert list(p) == [False, True]
            assert all(type(value) is float and 0.0 < value < 1.0 for value in p.values())
            assert sum(p.values()) == pytest.approx(1.0, abs=1e-15)
            assert model.predict_one(x) is (p[True] > 0.5)
            assert type(model.score_one(x)) is float
        for frame in frames:
            model.predict_proba_many(frame)
            model.predict_many(frame)
        assert pickle.dumps(model) == before


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
        assert model.score_one({**x, "x1": math.nan}) == model.score_one(absent)
        if not isinstance(model, TAKE_RECORDS):
            assert model.score_one({**x, "x1": 0.0}) == model.score_one(absent)
        assert model.score_one({**x, "unknown": 5.0}) == model.score_one(x)
        assert model.score_one({**x, "unknown": math.nan}) == model.score_one(x)
        assert model.score_one({"unknown": 5.0, **absent}) == model.score_one(absent)


@each_case
@settings(max_examples=15)
@given(data=st.data(), bound=st.sampled_from([20.0, 1e49]))
def test_probability_increases_with_the_score(
    make: Factory, data: st.DataObject, bound: float
) -> None:
    """Strictly, but for scores so close or so far out that a float cannot tell them apart."""
    model = learn(make(), STREAM)
    names, usual = list(PROBES[0]), scores(model)
    resolution = 1e-6 * (max(usual) - min(usual)) if bound < 100 else math.inf
    vectors = st.lists(st.floats(-bound, bound), min_size=len(names), max_size=len(names))
    queries = [dict(zip(names, x, strict=True)) for x in data.draw(st.lists(vectors, min_size=2))]
    ranked = sorted((model.score_one(x), model.predict_proba_one(x)[True]) for x in queries)
    for (score, p), (next_score, next_p) in itertools.pairwise(ranked):
        assert p <= next_p
        if next_score - score > resolution:
            assert p < next_p


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


@each_case
def test_an_example_of_weight_zero_changes_nothing(make: Factory) -> None:
    X = pd.DataFrame([{**x, "new": 1.0} for x in PROBES])
    labels = pd.Series([True, False] * (len(PROBES) // 2))
    for model in models_at_all_stages(make):
        before = pickle.dumps(model)
        for w, y in itertools.product((0, 0.0, -0.0, False, np.float32(0)), (True, False)):
            model.learn_one(PROBES[0], y, w=w)
            model.learn_one({**PROBES[0], "new": 1.0}, y, w=w)
        model.learn_many(X, labels, pd.Series([0.0] * len(X)))
        model.learn_many(X, labels, 0.0)
        assert pickle.dumps(model) == before


@each_case
def test_weights_weigh(make: Factory) -> None:
    light, heavy = learn(make(), STREAM), learn(make(), STREAM)
    for x, y in make_stream(20, seed=6):
        light.learn_one(x, y, 0.1)
        heavy.learn_one(x, y, 3.0)
    assert scores(light) != scores(heavy)


# Data frames -----------------------------------------------------------------------------------


@each_case
def test_learn_many_is_the_loop_of_learn_one(make: Factory) -> None:
    """In chunks of any length, with columns that come, go and change places."""
    rng = random.Random(8)
    stream = iter(make_stream(100, n_features=6))
    names = [f"x{j}" for j in range(6)]
    many, one = make(), make()
    for n_rows in (1, 0, 7, 30, 2, 15):
        rows = list(itertools.islice(stream, n_rows))
        columns = rng.sample(names, rng.randrange(1, 7))
        weights = [rng.choice([0.0, 0.5, 1.0, 3.0]) for _ in rows]
        frame = pd.DataFrame([x for x, _ in rows], columns=columns)
        labels = pd.Series([y for _, y in rows], dtype=bool)
        many.learn_many(frame, labels, pd.Series(weights, dtype=float))
        for (x, y), w in zip(rows, weights, strict=True):
            one.learn_one({name: x[name] for name in columns}, y, w)
        assert learned_state(many) == learned_state(one)
    X = pd.DataFrame([x for x, _ in make_stream(10, 7, seed=3)])
    assert many.score_many(X).tolist() == [one.score_one(x) for x in X.to_dict("records")]
    assert many.predict_proba_many(X)[True].tolist() == [
        one.predict_proba_one(x)[True] for x in X.to_dict("records")
    ]


@each_class
def test_rows_without_columns(cls: type[OnlineAUCClassifier]) -> None:
    """Only pandas has them: they are examples without features."""
    X, labels = pd.DataFrame(index=range(4)), [True, False, False, True]
    many, one = make_case(cls), make_case(cls)
    many.learn_many(X, pd.Series(labels))
    learn(one, [({}, y) for y in labels])
    assert learned_state(many) == learned_state(one)
    assert list(many.predict_many(X)) == [one.predict_one({})] * 4


# Features that come and go ---------------------------------------------------------------------


@each_case
def test_an_absent_feature_is_zero_or_unknown(make: Factory) -> None:
    """For a known name, to the last bit."""
    sparse, dense = learn(make(), STREAM[:10]), learn(make(), STREAM[:10])
    nothing = None if isinstance(sparse, TAKE_RECORDS) else 0.0
    rng = random.Random(9)
    for x, y in STREAM[10:]:
        gone = rng.sample(sorted(x), rng.randrange(len(x) + 1))
        sparse.learn_one({name: x[name] for name in x if name not in gone}, y)
        dense.learn_one({name: nothing if name in gone else x[name] for name in x}, y)
    assert state(sparse) == state(dense)


@pytest.mark.parametrize("n_features", [2, 40])
@each_case
def test_a_late_feature_has_been_zero_until_then(make: Factory, n_features: int) -> None:
    late, explicit = make(), make()
    if isinstance(late, AutoOAUC):
        pytest.skip("A feature counts for its dense experts once it has been known five times")
    if isinstance(late, OTAUC):
        # It draws features, and breaks ties, by position. So the order of arrival has influence.
        n_features = 2
    stream = make_stream(80, n_features, seed=3)
    rng = random.Random(4)
    arrival = {name: rng.randrange(60) for name in stream[0][0]}
    for i, (x, y) in enumerate(stream):
        late.learn_one({name: v for name, v in x.items() if arrival[name] <= i}, y)
        explicit.learn_one({name: v if arrival[name] <= i else 0.0 for name, v in x.items()}, y)
    probes = [x for x, _ in make_stream(20, n_features, seed=5)]
    assert_close(scores(late, probes), scores(explicit, probes))
    assert [late.predict_proba_one(x)[True] for x in probes] == pytest.approx(
        [explicit.predict_proba_one(x)[True] for x in probes], rel=1e-8
    )


@each_case
def test_the_order_of_keys_does_not_matter(make: Factory) -> None:
    rng = random.Random(2)
    shuffled = [(dict(rng.sample(list(x.items()), len(x))), y) for x, y in STREAM]
    assert_close(scores(learn(make(), shuffled)), scores(learn(make(), STREAM)))


@each_case
def test_examples_without_features_are_zeros_or_unknown(make: Factory) -> None:
    model = learn(make(), [({}, True), ({}, False), ({}, True)])
    assert model.predict_proba_one({})[True] == pytest.approx(
        model.predict_proba_one({"a": 1.0})[True]
    )
    learn(model, [*STREAM, ({}, True), ({}, False), *STREAM])
    zeros = dict.fromkeys(STREAM[0][0], None if isinstance(model, TAKE_RECORDS) else 0.0)
    explicit = learn(make(), [(zeros, True), (zeros, False), (zeros, True), *STREAM])
    learn(explicit, [(zeros, True), (zeros, False), *STREAM])
    assert_close(scores(model), scores(explicit))


# Copies ----------------------------------------------------------------------------------------


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
        with pytest.raises(ValueError, match=name):
            model.mutate({name: "none"})
        assert state(model) == before
        if isinstance(value, float) and value:
            model.mutate({name: value / 2})
            assert getattr(model, name) == value / 2
            assert scores(learn(model, STREAM)) != scores(learn(learn(make(), STREAM), STREAM))
    assert model._mutable_attributes <= parameters.keys()


@pytest.mark.parametrize(
    "copied",
    [
        lambda model: pickle.loads(pickle.dumps(model)),
        copy.deepcopy,
        copy.copy,
        lambda model: model.clone(include_attributes=True),
    ],
    ids=["pickle", "deepcopy", "copy", "clone"],
)
@each_case
def test_a_copy_goes_on_bit_for_bit(make: Factory, copied: Callable[[Any], Any]) -> None:
    late = [({**x, "late": x["x0"]}, y) for x, y in make_stream(30, seed=7)]
    for model in models_at_all_stages(make):
        twin = copied(model)
        assert state(twin) == state(model)
        before = pickle.dumps(twin)
        learn(model, late)
        assert pickle.dumps(twin) == before
        assert state(learn(twin, late)) == state(model)
        assert scores(twin) == scores(model)


@each_class
def test_parameters_may_be_numbers_of_numpy(cls: type[OnlineAUCClassifier]) -> None:
    numbers = {float: np.float64, int: np.int64}
    given = {
        name: numbers[type(value)](value)
        for name, value in make_case(cls)._parameters().items()
        if type(value) in numbers and name != "seed"
    }
    model = learn(make_case(cls, **given), STREAM)
    again = pickle.loads(pickle.dumps(model))
    assert scores(again) == scores(model) == scores(learn(make_case(cls), STREAM))


@each_case
def test_repr_shows_every_parameter(make: Factory) -> None:
    model = make()
    for name in inspect.signature(type(model)).parameters:
        assert f" {name}=" in repr(model)
    assert repr(learn(model, STREAM)) == repr(make())


@each_case
def test_two_runs_are_the_same_bit_for_bit(make: Factory) -> None:
    """Whatever the global generators do, which are left alone."""
    states = []
    for seed in (1, 2):
        random.seed(seed)
        np.random.seed(seed)
        before = random.getstate(), np.random.get_state()[1].tobytes()
        model = learn(make(), make_stream(300))
        scores(model)
        assert (random.getstate(), np.random.get_state()[1].tobytes()) == before
        states.append(state(model))
    assert states[0] == states[1]


def make_full(cls: type[OnlineAUCClassifier]) -> OnlineAUCClassifier:
    """Return a classifier whose buffers are soon full."""
    small = {OTAUC: {"buffer_size": 300}, AutoOAUC: {"experts": ("linear", "kernel", "sparse")}}
    return make_case(cls, **small.get(cls, {}))


@each_class
def test_memory_is_bounded(cls: type[OnlineAUCClassifier]) -> None:
    model, stream = make_full(cls), make_stream(3000)
    learn(model, stream[:1000])
    sizes = []
    for start in range(1000, 3000, 100):
        learn(model, stream[start : start + 100])
        sizes.append((len(pickle.dumps(model)), model._raw_memory_usage))
    early, late = np.max(sizes[:10], axis=0), np.max(sizes[10:], axis=0)
    # The smallest number so far is a new size to SparseOAUCM, ever more rarely.
    assert (late <= (1.1 if cls in (AutoOAUC, SparseOAUCM) else 1.02) * early).all()


@pytest.mark.slow
@each_class
def test_memory_is_bounded_over_a_long_stream(cls: type[OnlineAUCClassifier]) -> None:
    model, rng, sizes = make_full(cls), random.Random(1), []
    for i in range(200_000):
        y = rng.random() < 0.02
        model.learn_one({j: rng.gauss(y, 1) for j in range(5)}, y)
        if i % 20_000 == 19_999:
            sizes.append(model._raw_memory_usage)
    assert max(sizes) <= 1.02 * sizes[0]


def test_every_public_class_is_tested_here() -> None:
    assert len(CLASSIFIERS) >= 12
    assert all(issubclass(cls, base.MiniBatchClassifier) for cls in CLASSIFIERS)
