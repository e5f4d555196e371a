"""Numbers at the edge of a double, streams without anything to learn, and steps that diverge.

Whatever comes, an example is learned or refused without a trace, and no state is ever infinite.
"""

from __future__ import annotations

import itertools
import math
import pickle
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
    assert_finite,
    each_case,
    each_class,
    learn,
    make_case,
    make_stream,
)

from river_oauc import (
    FTRLAUC,
    KOIL,
    OAM,
    OAUCM,
    OAUCS,
    OKAUCM,
    OKAUCS,
    OLUBAUC,
    OTAUC,
    PAI,
    SOLAM,
    SPAUC,
    AdaOAM,
    AutoOAUC,
    Perceptron,
)
from river_oauc.classifier import OnlineAUCClassifier
from river_oauc.kernels import RBF, Linear, Polynomial
from river_oauc.metrics import ExactROCAUC

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def as_dicts(rows: np.ndarray) -> list[dict[str, float]]:
    return [{f"x{j}": value for j, value in enumerate(row)} for row in rows.tolist()]


def clouds(n: int, seed: int = 1, p: int = 3) -> tuple[np.ndarray, list[bool]]:
    """Return two overlapping clouds of unit variance, three in ten positive."""
    rng = np.random.default_rng(seed)
    labels = rng.random(n) < 0.3
    labels[:2] = True, False
    rows = rng.normal(size=(n, p))
    rows[labels] += 0.8
    return rows, labels.tolist()


def held_out_auc(model: Any, rows: np.ndarray, labels: list[bool], n_learned: int) -> float:
    examples = list(zip(as_dicts(rows), labels, strict=True))
    learn(model, examples[:n_learned])
    auc = ExactROCAUC()
    for x, y in examples[n_learned:]:
        auc.update(y, model.score_one(x))
    return auc.get()


def assert_sound(model: OnlineAUCClassifier, probes: list[dict[str, float]]) -> None:
    """Check that all numbers are finite and all predictions distributions, or refused."""
    assert_finite(model)
    for x in probes:
        try:
            score, p = model.score_one(x), model.predict_proba_one(x)
        except ValueError as refusal:
            assert "scale" in str(refusal)
        else:
            assert math.isfinite(score)
            assert 0.0 <= p[True] <= 1.0 and p[False] == 1.0 - p[True]


ROWS, LABELS = clouds(80)
STREAMS: dict[str, np.ndarray] = {
    "features of 1e-300": ROWS * 1e-300,
    "features of 1e-160": ROWS * 1e-160,
    "an offset of 1e8": ROWS + 1e8,
    "every feature three times": np.column_stack((ROWS, ROWS, ROWS)),
    "the same example every time": np.tile(ROWS[0], (len(ROWS), 1)),
    "nothing but zeros": np.zeros_like(ROWS),
}
# Here a step of some learners is too long: it is refused.
LARGE_STREAMS: dict[str, np.ndarray] = {
    "features of 1e8": ROWS * 1e8,
    "features of 1e25": ROWS * 1e25,
    "features of 1e49": ROWS * 1e49,
    "features of 1e-40, 1 and 1e40": ROWS * [1e-40, 1.0, 1e40],
}


@pytest.mark.parametrize("kind", [*STREAMS, *LARGE_STREAMS])
@each_case
def test_an_example_of_any_size_is_learned_or_refused_without_a_trace(
    make: Factory, kind: str
) -> None:
    model, examples = make(), as_dicts({**STREAMS, **LARGE_STREAMS}[kind])
    for x, y in zip(examples, LABELS, strict=True):
        before = pickle.dumps(model)
        try:
            model.learn_one(x, y)
        except ValueError as refusal:
            assert kind in LARGE_STREAMS
            assert "scale" in str(refusal)
            assert pickle.dumps(model) == before
        assert_finite(model)
    assert_sound(model, [{}, *examples, *as_dicts(ROWS)])


@pytest.mark.parametrize("value", [1.001e50, -1e150, 1.7e308])
@each_class
def test_a_feature_beyond_the_limit_is_refused(
    cls: type[OnlineAUCClassifier], value: float
) -> None:
    X = pd.DataFrame({"x0": [1.0, value], "new": [1.0, 1.0]})
    model = learn(make_case(cls), STREAM)
    before = pickle.dumps(model)
    advice = "clip it, or leave it out" if issubclass(cls, TAKE_RECORDS) else "scale or clip"
    for call in (
        lambda: model.learn_one({"x0": value, "new": 1.0}, True),
        lambda: model.learn_many(X, pd.Series([True, False])),
        lambda: model.predict_proba_one({"x0": value}),
        lambda: model.predict_proba_many(X),
    ):
        with pytest.raises(ValueError, match=rf"'x0' is .* within ±1e\+50; {advice}"):
            call()
    assert pickle.dumps(model) == before


@each_case
def test_a_feature_at_the_limit_is_a_feature(make: Factory) -> None:
    model = make()
    assert model.predict_proba_one({"x0": 1e50})[True] == 0.5
    for y in (True, False):
        try:
            model.learn_one({"x0": -1e50}, y)
        except ValueError as refusal:
            assert "step is too large" in str(refusal) or "no finite value" in str(refusal)
    assert_sound(model, [{"x0": 1e50}, {"x0": -1e50}, {"x0": 1.0}])


# Those that look at differences of examples, and never at an example by itself.
INVARIANT = {
    "AutoOAUC": AutoOAUC(("linear", "kernel")),
    "OAUCM": OAUCM(),
    "OAUCS": OAUCS(),
    "SPAUC": SPAUC(),
    "AdaOAM": AdaOAM(),
    "OAM-gradient": OAM(seed=1),
    "OAM-sequential": OAM(update="sequential", seed=1),
    "OKAUCM": OKAUCM(RBF(0.1), budget=50),
    "OKAUCS": OKAUCS(RBF(0.1), budget=50),
    "KOIL": KOIL(RBF(0.1), budget=50),
}


@pytest.mark.parametrize("untrained", INVARIANT.values(), ids=INVARIANT)
def test_an_offset_of_a_hundred_million_does_not_change_the_ranking(untrained: Any) -> None:
    rows, labels = clouds(600)
    auc = held_out_auc(untrained.clone(), rows, labels, n_learned=400)
    assert auc > 0.6
    shifted = held_out_auc(untrained.clone(), rows + 1e8, labels, n_learned=400)
    assert shifted == pytest.approx(auc, abs=1e-3)


@pytest.mark.parametrize(
    "cls",
    [OAUCM, OAUCS, PAI, OAM, OLUBAUC, Perceptron, SOLAM, SPAUC, AdaOAM, FTRLAUC],
)
def test_copies_of_a_feature_have_equal_weights(cls: Any) -> None:
    rows = STREAMS["every feature three times"]
    model = learn(make_case(cls), zip(as_dicts(rows), LABELS, strict=True))
    weights = np.array(list(model.weights.values())).reshape(3, 3)
    assert np.abs(weights).max() > 0.0
    for copies in weights.T:
        assert copies == pytest.approx(copies[0], rel=1e-9)


@pytest.mark.parametrize("cls", [OAUCM, OAUCS, AdaOAM, SPAUC])
@pytest.mark.parametrize("constant", [0.1, -1e8, 1e-300])
def test_a_constant_feature_has_no_weight_and_no_effect(cls: Any, constant: float) -> None:
    rows = np.column_stack((ROWS, np.full(len(ROWS), constant)))
    model = learn(cls(), zip(as_dicts(rows), LABELS, strict=True))
    *weights, superfluous = model.weights.values()
    assert superfluous == pytest.approx(0.0, abs=1e-12)
    without = learn(cls(), zip(as_dicts(ROWS), LABELS, strict=True))
    assert weights == pytest.approx(list(without.weights.values()), rel=1e-9)


@pytest.mark.parametrize("prior", ["balanced", "empirical"])
@pytest.mark.parametrize("x", [{"a": 1.0, "b": -2.0, "c": 3.0}, {"a": 0.0}, {}], ids=repr)
@each_case
def test_of_identical_examples_only_the_frequency_is_known(
    make: Factory, x: dict[str, float], prior: str
) -> None:
    model = make().clone({"prior": prior})
    learn(model, [(x, i % 5 == 0) for i in range(200)])
    assert_sound(model, [x, *PROBES])
    # The Auto learners start from a hundred assumed scores of each class.
    tolerance = 0.09 if isinstance(model, AutoOAUC) else 0.06
    expected = 0.5 if prior == "balanced" else 0.2
    assert model.predict_proba_one(x)[True] == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(
            make, id=id_, marks=() if id_ in ("OAUCM-0", "OLUBAUC-0") else pytest.mark.slow
        )
        for id_, make in CASES.items()
    ],
)
def test_one_positive_in_a_hundred_thousand(make: Factory) -> None:
    rng = np.random.default_rng(3)
    rows, labels = rng.normal(size=(100_000, 4)), np.arange(100_000) == 50_000
    rows[labels] = 1.5
    model = make()
    model.learn_many(pd.DataFrame(rows, columns=[f"x{j}" for j in range(4)]), pd.Series(labels))
    test_rows, test_labels = rng.normal(size=(400, 4)), np.arange(400) % 2 == 0
    test_rows[test_labels] += 1.5
    assert_sound(model, as_dicts(test_rows))
    auc = held_out_auc(model, test_rows, test_labels.tolist(), n_learned=0)
    # PA-I describes the majority, as its docstring says.
    assert auc > (0.3 if isinstance(model, PAI) else 0.8)


# Their default steps on a squared loss are too long for examples as long as these.
SHORT_STEPS = {AdaOAM: {"lr": 2**-10}, FTRLAUC: {"alpha": 2**-10}, SOLAM: {"xi": 2**-10}}


@each_class
def test_a_thousand_features(cls: type[OnlineAUCClassifier]) -> None:
    model = make_case(cls, **SHORT_STEPS.get(cls, {}))
    rows = np.random.default_rng(5).normal(size=(6, 1000))
    rows[::2, :500] += 1.0
    examples = as_dicts(rows)
    # A tree needs some examples on either side of a split.
    n_passes = 5 if cls is OTAUC else 1
    learn(model, [(x, i % 2 == 0) for i, x in enumerate(examples)] * n_passes)
    assert_finite(model)
    scores = [model.score_one(x) for x in examples]
    assert min(scores[::2]) > max(scores[1::2])


# A learner with a step on which it diverges, and what to change to make it stop.
DIVERGING: dict[str, tuple[OnlineAUCClassifier, dict[str, Any]]] = {
    "OAUCM": (OAUCM(lr=1e3), {"lr": None}),
    "OAUCS": (OAUCS(lr=1e3), {"lr": 2**-8}),
    "OKAUCM": (OKAUCM(lr=1e3, budget=10), {"lr": None}),
    "OKAUCM-linear": (OKAUCM(Linear(), lr=1e3, budget=10), {"lr": None}),
    "OKAUCS": (OKAUCS(lr=1e3, budget=3, policy="reservoir", seed=1), {"lr": 2**-2}),
    "KOIL-l1": (KOIL(eta=1e3, budget=10), {"eta": 0.01}),
    "KOIL-l2": (KOIL(eta=30.0, C=1.0, loss="l2", budget=10), {"eta": 0.01}),
    "OLUBAUC": (OLUBAUC(lr=1e3), {"lr": None}),
    "OLUBAUC-balanced": (OLUBAUC(lr=1e3, class_balanced=True), {"lr": None}),
    "SPAUC": (SPAUC(c=1e3), {"c": 2**-4, "l2": 1.0}),
    "OAM-paper": (OAM(C=1e48, seed=1), {"C": 2**-10}),
    "OAM-constant": (OAM(C=1e48, weighting="constant", seed=1), {"C": 2**-10}),
}


def length(model: Any) -> float:
    """Return the length of what the score is made of."""
    if hasattr(model, "weights"):
        return float(np.linalg.norm(list(model.weights.values())))
    return float(np.linalg.norm(model.support.coefficients))


@pytest.mark.parametrize(("untrained", "cure"), DIVERGING.values(), ids=DIVERGING)
def test_divergence_ends_in_refusals_and_a_smaller_step_ends_the_refusals(
    untrained: OnlineAUCClassifier, cure: dict[str, Any]
) -> None:
    model, n_refused = untrained.clone(), 0
    for x, y in make_stream(300):
        before = pickle.dumps(model)
        try:
            model.learn_one({**x, f"new{n_refused}": 1.0}, y)
        except ValueError as refusal:
            n_refused += 1
            assert "would grow beyond 1e+50: the step is too large" in str(refusal)
            assert pickle.dumps(model) == before
        assert_sound(model, PROBES[:2])
    assert n_refused
    assert length(model) > 1e40
    model.mutate(cure)
    before_the_cure = length(model)
    learn(model, make_stream(200, seed=9))
    assert length(model) <= before_the_cure
    assert_sound(model, PROBES)


@pytest.mark.parametrize("make", [PAI, lambda C: OAM(C, update="sequential", seed=1)])
def test_a_passive_aggressive_step_cannot_diverge(make: Any) -> None:
    assert length(learn(make(1e300), make_stream(300))) < 100.0


@pytest.mark.parametrize("cls", [OKAUCM, OKAUCS, KOIL])
def test_a_step_that_nobody_could_take_is_refused_without_a_warning(cls: Any) -> None:
    model = learn(cls(budget=10), STREAM)
    before = pickle.dumps(model)
    name = "eta" if cls is KOIL else "lr"
    model.mutate({name: 1e200})
    with pytest.raises(ValueError, match="step is too large"):
        learn(model, STREAM)
    model.mutate({name: getattr(cls(), name)})
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("weighting", ["paper", "constant"])
def test_a_cost_beyond_all_doubles_is_refused_without_a_warning(weighting: str) -> None:
    model = OAM(C=1e300, weighting=weighting, seed=1)
    model.learn_one({"a": 1.0, "b": 0.0}, True)
    for w in (1.0, 1e50):
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match="step is too large"):
            model.learn_one({"a": -1.0, "b": 0.0}, False, w)
        assert pickle.dumps(model) == before


def test_weights_and_thresholds_that_would_leave_the_range_are_refused() -> None:
    perceptron = learn(Perceptron(), [({"a": 9e49}, False)])
    with pytest.raises(ValueError, match="step is too large"):
        perceptron.learn_one({"b": 9e49}, False)
    assert_sound(perceptron, [{"a": 9e49}, {"a": 1.0}])
    # A threshold may leave the range even if the weights stay where they are.
    model = learn(OLUBAUC(lr=1e30), [({"a": 0.0}, True)])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="step is too large"):
        model.learn_one({"a": 0.0}, False, w=1e30)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("prior", ["balanced", "empirical"])
@pytest.mark.parametrize("kind", LARGE_STREAMS)
def test_auto_refuses_nothing(kind: str, prior: str) -> None:
    """It cannot diverge, whatever the features and their importance."""
    model = AutoOAUC(prior=prior, seed=1)
    weights = itertools.cycle([1.0, 1e-50, 1.0, 1.0, 1e50])
    for rows in (LARGE_STREAMS[kind], ROWS * 1e-160, ROWS):
        for x, y, w in zip(as_dicts(rows[:40]), LABELS, weights, strict=False):
            model.learn_one(x, y, w)
            assert_sound(model, [x, {"x0": 1e50}, {"x2": -1e50}])


def test_an_inheritance_that_would_make_the_coefficients_too_long_is_lost() -> None:
    """Otherwise every later example would be refused."""
    model = OKAUCM(Linear(), budget=1)
    for value, y, w in ((1e24, True, 1.0), (1e23, False, 1e20), (1e-24, False, 1.0)):
        model.learn_one({"a": value}, y, w)
        assert length(model) <= 1e50
    learn(model, [({"a": float(i % 3)}, i % 2 == 0) for i in range(100)])


def test_a_steep_kernel_predicts_or_refuses_at_any_distance() -> None:
    model = learn(OKAUCM(Polynomial(degree=7)), [({"a": 1.0}, True), ({"a": -1.0}, False)])
    sizes = 10.0 ** np.arange(42.0, 45.0, 0.1)
    assert_sound(model, [{"a": value} for value in (*-sizes, *sizes)])
