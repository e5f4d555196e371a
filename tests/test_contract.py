"""What every classifier promises, whatever its method: each test goes through all of them."""

from __future__ import annotations

import gc
import inspect
import itertools
import math
import pathlib
import pickle
import random
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from classifiers import (
    CASES,
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
    make_small,
    make_stream,
    models_at_all_stages,
    scores,
    state,
)
from river import (
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
    optim,
    preprocessing,
)

from river_oauc import OAUCM, OAUCS, OKAUCM, OKAUCS
from river_oauc.classifier import OnlineAUCClassifier
from river_oauc.kernels import RBF

WRITTEN_ONCE = """
learn_one learn_many predict_proba_one predict_proba_many predict_many score_one score_many clone
mutate __getstate__ __setstate__ __add__ __iadd__ __radd__
""".split()


@each_class
def test_no_class_overrides_what_the_base_class_does(cls: type[OnlineAUCClassifier]) -> None:
    """So the many kinds of input need not be tried on every class."""
    assert issubclass(cls, base.MiniBatchClassifier)
    for name in WRITTEN_ONCE:
        assert inspect.getattr_static(cls, name) is vars(OnlineAUCClassifier)[name], name


# river -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "scaler",
    [
        None,
        preprocessing.MinMaxScaler,
        pytest.param(preprocessing.StandardScaler, marks=pytest.mark.slow),
    ],
)
@each_case
def test_river_checks(make: Factory, scaler: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Alone all of them, including those that a class may ask river to skip."""
    # What a model takes is counted from its state, and needs no garbage collector.
    monkeypatch.setattr(gc, "collect", lambda: 0)
    if scaler is not None:
        checks.check_estimator(scaler() | make())
        return
    own_checks = list(checks.yield_checks(make()))
    assert len(own_checks) > 20
    for check in own_checks:
        check(make())


@each_class
def test_works_with_the_tools_of_river(cls: type[OnlineAUCClassifier]) -> None:
    balanced = {"desired_dist": {False: 0.5, True: 0.5}, "seed": 1}
    wrappers = [
        imblearn.RandomUnderSampler(make_case(cls), **balanced),
        imblearn.RandomOverSampler(make_case(cls), **balanced),
        drift.DriftRetrainingClassifier(make_case(cls), drift_detector=drift.binary.DDM()),
        ensemble.BaggingClassifier(make_case(cls), n_models=3, seed=1),
        model_selection.SuccessiveHalvingClassifier(
            [make_case(cls), make_case(cls)], metric=metrics.Accuracy(), budget=1000
        ),
    ]
    for wrapper in wrappers:
        metric = evaluate.progressive_val_score(
            datasets.Phishing().take(300),
            preprocessing.StandardScaler() | wrapper,
            metrics.ROCAUC(n_thresholds=50),
        )
        assert metric.get() > 0.7, wrapper
    model = preprocessing.MinMaxScaler() | multiclass.OneVsRestClassifier(make_case(cls))
    images = datasets.ImageSegments().take(400)
    # One in seven is chance.
    assert evaluate.progressive_val_score(images, model, metrics.Accuracy()).get() > 0.4


@each_class
def test_pipelines_pass_weights_and_frames(cls: type[OnlineAUCClassifier]) -> None:
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

    # A scaler learns the whole batch before the classifier gets it.
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
    {"x0": 1.0},
    {"unknown": 1e6},
    {**PROBES[1], "unknown": 3.0},
    {**PROBES[2], "x2": math.nan},
    dict.fromkeys(PROBES[0], math.nan),
]


@each_case
def test_predictions_are_distributions_and_change_nothing(make: Factory) -> None:
    frames = pd.DataFrame(PROBES), pd.DataFrame({"x1": [1.0, math.nan], "unknown": [1, 2]})
    for stage, model in enumerate(models_at_all_stages(make)):
        before = pickle.dumps(model)
        for x in ODD_QUERIES + PROBES[:5]:
            p = model.predict_proba_one(x)
            assert list(p) == [False, True]
            assert all(type(value) is float and 0.0 < value < 1.0 for value in p.values())
            assert sum(p.values()) == pytest.approx(1.0, abs=1e-15)
            assert model.predict_one(x) is (p[True] > 0.5)
            assert type(model.score_one(x)) is float
            if stage == 0:
                assert (p[True], model.score_one(x)) == (0.5, 0.0)
        for frame in frames:
            model.predict_proba_many(frame)
            model.predict_many(frame)
        assert pickle.dumps(model) == before


@each_case
def test_a_seed_decides_everything_and_predictions_nothing(make: Factory) -> None:
    """Whatever was asked before, and whatever the global generators do, which are left alone."""
    states = []
    for seed in (1, 2):
        random.seed(seed)
        np.random.seed(seed)
        before = random.getstate(), np.random.get_state()[1].tobytes()
        model = make()
        for x, y in make_stream(150):
            if seed == 1:
                model.predict_proba_one(PROBES[0])
                model.predict_one(x)
            model.learn_one(x, y)
        assert (random.getstate(), np.random.get_state()[1].tobytes()) == before
        states.append(state(model))
    assert states[0] == states[1]


@each_case
def test_scores_rank_and_probabilities_increase_with_them(make: Factory) -> None:
    """Strictly, but for scores so close or so far out that a float cannot tell them apart."""
    model = learn(make(), make_stream(300))
    test = make_stream(300, seed=5)
    positives, negatives = (
        scores(model, [x for x, y in test if y is own]) for own in (True, False)
    )
    right = sum(p > n for p, n in itertools.product(positives, negatives))
    assert right > 0.65 * len(positives) * len(negatives)

    resolution = 1e-6 * (max(positives) - min(negatives))
    far = [{name: 1e10 * value for name, value in x.items()} for x, _ in test[:20]]
    queries = [x for x, _ in test] + far
    ranked = sorted((model.score_one(x), model.predict_proba_one(x)[True]) for x in queries)
    for (score, p), (next_score, next_p) in itertools.pairwise(ranked):
        assert p <= next_p
        if next_score - score > resolution and abs(score) + abs(next_score) < 1e6:
            assert p < next_p


# Importance weights ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: OAUCM(lr=0.1),
        lambda: OAUCS(lr=0.1),
        lambda: OKAUCM(RBF(0.5), lr=0.1, budget=200),
        lambda: OKAUCS(RBF(0.5), lr=0.1, budget=200),
    ],
)
def test_an_example_of_weight_three_is_compared_with_as_three(make: Factory) -> None:
    heavy, often = make(), make()
    for (x, _), w in zip(STREAM, itertools.cycle([1, 2, 3]), strict=False):
        heavy.learn_one(x, False, w)
        learn(often, [(x, False)] * w)
    for model in (heavy, often):
        learn(model, [(PROBES[0], True)])
    assert_close(scores(heavy), scores(often))


# Features that come and go ---------------------------------------------------------------------


def takes_records(make: Factory) -> bool:
    """Whether an absent feature is unknown; otherwise it is 0."""
    return isinstance(make(), TAKE_RECORDS)


@each_case
def test_an_absent_feature_is_zero_or_unknown(make: Factory) -> None:
    """For a known name, to the last bit."""
    sparse, dense = learn(make(), STREAM[:10]), learn(make(), STREAM[:10])
    nothing = None if takes_records(make) else 0.0
    rng = random.Random(9)
    for x, y in STREAM[10:]:
        gone = rng.sample(sorted(x), rng.randrange(len(x) + 1))
        sparse.learn_one({name: x[name] for name in x if name not in gone}, y)
        dense.learn_one({name: nothing if name in gone else x[name] for name in x}, y)
    assert state(sparse) == state(dense)


@pytest.mark.parametrize("n_features", [2, 40])
@pytest.mark.parametrize("make", [make for make in CASES.values() if not takes_records(make)])
def test_a_late_feature_has_been_zero_until_then(make: Factory, n_features: int) -> None:
    late, explicit = make(), make()
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
def test_the_order_of_features_does_not_matter(make: Factory) -> None:
    """river's check shuffles once; what rounding does to a tie shows only now and then."""
    expected = scores(learn(make(), STREAM))
    for seed in range(8):
        rng = random.Random(seed)
        shuffled = [(dict(rng.sample(list(x.items()), len(x))), y) for x, y in STREAM]
        assert_close(scores(learn(make(), shuffled)), expected, 1e-7)


# Copies ----------------------------------------------------------------------------------------


MOVED = """
import pickle, sys
from classifiers import PROBES, STREAM, learn, scores, state
import river_oauc
models = pickle.load(sys.stdin.buffer)
result = [(state(model), scores(learn(model, STREAM))) for model in models]
sys.stdout.buffer.write(pickle.dumps((river_oauc.compiled, result)))
"""


@pytest.mark.parametrize("compiled", ["0", ""])
def test_pickles_move_between_compiled_code_and_numpy(
    compiled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every bit of a state arrives, and the next steps agree up to rounding."""
    monkeypatch.setenv("RIVER_OAUC_COMPILED", compiled)
    monkeypatch.setenv("PYTHONPATH", str(pathlib.Path(__file__).parent))
    models = [learn(make(), STREAM) for make in CASES.values()]
    process = subprocess.run(
        [sys.executable, "-c", MOVED], input=pickle.dumps(models), capture_output=True, check=True
    )
    is_compiled, results = pickle.loads(process.stdout)
    assert not (compiled and is_compiled)
    for model, (their_state, their_scores) in zip(models, results, strict=True):
        assert their_state == state(model)
        assert_close(their_scores, scores(learn(model, STREAM)), 1e-6)


@each_class
def test_parameters_may_be_numbers_of_numpy(cls: type[OnlineAUCClassifier]) -> None:
    numbers = {float: np.float64, int: np.int64}
    given = {
        name: numbers[type(value)](value)
        for name in inspect.signature(cls).parameters
        if type(value := getattr(make_case(cls), name)) in numbers and name != "seed"
    }
    model = learn(make_case(cls, **given), STREAM)
    again = pickle.loads(pickle.dumps(model))
    assert scores(again) == scores(model) == scores(learn(make_case(cls), STREAM))


# Refusals --------------------------------------------------------------------------------------

X = {**PROBES[0], "new": 1.0}
REFUSED: list[tuple[str, tuple[Any, ...], str]] = [
    ("learn_one", (X, "fraud"), "the label is 'fraud'"),
    ("learn_one", (X, True, -1.0), "the weight is -1.0: it must be 0, or a number from"),
    ("learn_one", ([1.0, 2.0], True), "a list"),
    ("learn_one", ({**X, "bad": [1.0]}, True), "'bad' is .*, a list"),
    ("learn_one", ({**X, "bad": math.inf}, True), r"'bad' is inf: .* within ±1e\+50; .*clip"),
    ("learn_many", (pd.DataFrame([X, {"x0": 3e50}]), pd.Series([1, 0]), 0.0), "'x0' is .*row 1"),
    ("score_one", ({"x0": 3e50},), "'x0' is "),
    ("predict_proba_one", ({"x0": {}},), "'x0' is .*, a dict"),
    ("score_many", (pd.DataFrame([X, {"x0": 3e50}]),), "'x0' is .*row 1"),
]
# Of those that take numbers only.
NOT_NUMBERS = [
    ("learn_one", ({**X, "bad": math.nan}, True), "'bad' is NaN: leave it out"),
    ("learn_one", ({**X, "bad": "FR"}, True), "'bad' is the string 'FR', a str: put .*RecordEnc"),
    ("score_one", ({**X, "bad": "FR"},), "'bad' is the string 'FR'"),
]


@each_class
def test_what_is_refused_leaves_the_model_as_it_was(cls: type[OnlineAUCClassifier]) -> None:
    refused = REFUSED + (NOT_NUMBERS if cls not in TAKE_RECORDS else [])
    for model in models_at_all_stages(lambda: make_small(cls)):
        before = pickle.dumps(model)
        for method, args, message in refused:
            with pytest.raises(ValueError, match=message) as refusal:
                getattr(model, method)(*args)
            assert len(str(refusal.value)) < 400
            assert pickle.dumps(model) == before, message


class OwnSchedule(optim.base.Scheduler):
    """A learning rate that does something before it is computed."""

    action: Callable[[], Any] = int

    def get(self, t: int) -> float:
        self.action()
        return 0.1


@pytest.mark.parametrize("cls", [OAUCM, OAUCS, OKAUCM, OKAUCS])
def test_a_learning_rate_may_fail_and_ask_but_not_make_the_model_learn(cls: Any) -> None:
    """So may a kernel, which has tests of its own."""
    lr, asked = OwnSchedule(), []
    model = learn(cls(lr=lr), STREAM)
    before = learned_state(model)
    for action, error in (
        (lambda: {}["own"], KeyError),
        (lambda: model.learn_one(X, True), RuntimeError),
        (lambda: model.learn_many(pd.DataFrame([X]), pd.Series([True])), RuntimeError),
    ):
        lr.action = action
        with pytest.raises(error):
            model.learn_one(X, True)
        assert learned_state(model) == before
    lr.action = lambda: asked.append(model.score_one(X))
    model.learn_one(X, True)
    assert asked
    assert learned_state(model) == learned_state(learn(cls(lr=OwnSchedule()), [*STREAM, (X, True)]))
