"""Numbers at the edge of what a double can hold, streams without anything to learn, and steps that
lead too far.

Whatever comes, an example is learned or refused without a trace, and no state is ever infinite.
"""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from attributes import attributes_of
from test_contract import CASES, PROBES, STREAM, Factory, each_case, learn, make_stream

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
)
from river_oauc.base import OnlineAUCClassifier
from river_oauc.calibration import Calibration
from river_oauc.kernels import RBF, Linear, Polynomial
from river_oauc.linear.classifier import LinearClassifier, MomentClassifier
from river_oauc.metrics import ExactROCAUC
from river_oauc.stats.moments import ForgettingMoments

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


# Tools -----------------------------------------------------------------------------------------


def not_finite(obj: Any, path: str = "model") -> Iterator[str]:
    """Where in the state of an object there is a NaN or an infinity."""
    if isinstance(obj, float):
        if not math.isfinite(obj):
            yield f"{path} is {obj}"
    elif isinstance(obj, np.ndarray):
        if not np.isfinite(obj).all():
            yield f"{path} is {obj}"
    elif isinstance(obj, dict):
        for key, value in obj.items():
            yield from not_finite(value, f"{path}[{key!r}]")
    elif isinstance(obj, list | tuple):
        for index, value in enumerate(obj):
            yield from not_finite(value, f"{path}[{index}]")
    else:
        for name, value in attributes_of(obj).items():
            # The memory of moments is a parameter, which may be endless.
            if name != "memory":
                yield from not_finite(value, f"{path}.{name}")


def test_what_is_not_finite_is_found_wherever_it_is() -> None:
    model = learn(OKAUCM(budget=3), STREAM)
    assert list(not_finite(model)) == []
    model.support.gram[1, 2] = math.nan
    model._calibration.slope = -math.inf
    assert [path.split(" is ")[0] for path in not_finite(model)] == [
        "model._calibration.slope",
        "model._support.gram",
    ]


def assert_positive_semidefinite(covariance: np.ndarray) -> None:
    """To rounding, whatever the units of the features."""
    deviations = np.sqrt(covariance.diagonal())
    deviations[deviations == 0.0] = 1.0
    correlation = covariance / deviations / deviations[:, np.newaxis]
    assert np.linalg.eigvalsh(correlation)[0] >= -1e-12 * len(covariance)


def assert_sound(model: OnlineAUCClassifier, probes: list[dict[str, float]]) -> None:
    assert list(not_finite(model)) == []
    if isinstance(model, MomentClassifier):
        for moments in model.moments.values():
            assert_positive_semidefinite(moments.covariance)
    for x in probes:
        try:
            score, p = model.score_one(x), model.predict_proba_one(x)[True]
        except ValueError as refusal:
            assert "no finite value" in str(refusal)
        else:
            assert math.isfinite(score)
            assert 0.0 <= p <= 1.0


def as_dicts(rows: np.ndarray) -> list[dict[str, float]]:
    names = [f"x{j}" for j in range(rows.shape[1])]
    return [dict(zip(names, row, strict=True)) for row in rows.tolist()]


def clouds(n: int, p: int = 3, seed: int = 3) -> tuple[np.ndarray, list[bool]]:
    """Two overlapping clouds of unit variance, three in ten positive, and one of each at first."""
    rng = np.random.default_rng(seed)
    labels = rng.random(n) < 0.3
    labels[:2] = True, False
    rows = rng.normal(size=(n, p))
    rows[labels] += 0.8
    return rows, labels.tolist()


def held_out_auc(
    model: OnlineAUCClassifier, rows: np.ndarray, labels: list[bool], n_learned: int
) -> float:
    examples = list(zip(as_dicts(rows), labels, strict=True))
    learn(model, examples[:n_learned])
    auc = ExactROCAUC()
    for x, y in examples[n_learned:]:
        auc.update(y, model.score_one(x))
    return auc.get()


# Sizes and shapes ------------------------------------------------------------------------------

ROWS, LABELS = clouds(80)

# The products of up to four numbers underflow, or come close to the end of the range.
STREAMS: dict[str, np.ndarray] = {
    "features of 1e-300": ROWS * 1e-300,
    "features of 1e-160": ROWS * 1e-160,
    "features of 1e-50": ROWS * 1e-50,
    "an offset of 1e8": ROWS + 1e8,
    "one feature": ROWS[:, :1],
    "a constant feature": np.column_stack((ROWS, np.full(len(ROWS), 0.1))),
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
    model = make()
    examples = as_dicts({**STREAMS, **LARGE_STREAMS}[kind])
    for x, y in zip(examples, LABELS, strict=True):
        before = pickle.dumps(model)
        try:
            model.learn_one(x, y)
        except ValueError as refusal:
            assert kind in LARGE_STREAMS
            assert "scale" in str(refusal)
            assert pickle.dumps(model) == before
        assert list(not_finite(model)) == []
    assert_sound(model, [{}, *examples, *as_dicts(ROWS)])


@pytest.mark.parametrize("value", [1.001e50, -1e150, 1.7e308])
@each_case
def test_a_feature_beyond_the_limit_is_refused(make: Factory, value: float) -> None:
    X = pd.DataFrame({"x0": [1.0, value], "new": [1.0, 1.0]})
    model = learn(make(), STREAM)
    before = pickle.dumps(model)
    for call in (
        lambda: model.learn_one({"x0": value, "new": 1.0}, True),
        lambda: model.learn_many(X, pd.Series([True, False])),
        lambda: model.predict_proba_one({"x0": value}),
        lambda: model.predict_proba_many(X),
    ):
        with pytest.raises(ValueError, match=r"'x0' is .* within ±1e\+50; scale or clip"):
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
BLIND_TO_AN_OFFSET: dict[str, OnlineAUCClassifier] = {
    "AutoOAUCM": AutoOAUCM(),
    "AutoOKAUCM": AutoOKAUCM(),
    "OAUCM": OAUCM(),
    "OAUCS": OAUCS(),
    "OAM-gradient": OAM(seed=1),
    "OAM-sequential": OAM(update="sequential", seed=1),
    "OKAUCM": OKAUCM(RBF(0.1), budget=50),
    "OKAUCS": OKAUCS(RBF(0.1), budget=50),
    "KOIL": KOIL(RBF(0.1), budget=50),
}


@pytest.mark.parametrize("untrained", BLIND_TO_AN_OFFSET.values(), ids=BLIND_TO_AN_OFFSET)
def test_an_offset_of_a_hundred_million_does_not_change_the_ranking(
    untrained: OnlineAUCClassifier,
) -> None:
    rows, labels = clouds(600)
    auc = held_out_auc(untrained.clone(), rows, labels, n_learned=400)
    assert auc > 0.6
    shifted_auc = held_out_auc(untrained.clone(), rows + 1e8, labels, n_learned=400)
    assert shifted_auc == pytest.approx(auc, abs=1e-3)


# Nothing to learn ------------------------------------------------------------------------------

LINEAR_CASES = [pytest.param(make, id=id_) for id_, make in CASES if hasattr(make(), "weights")]


@pytest.mark.parametrize("make", LINEAR_CASES)
def test_copies_of_a_feature_have_equal_weights(make: Factory) -> None:
    model = learn(make(), zip(as_dicts(STREAMS["every feature three times"]), LABELS, strict=True))
    weights = np.array(list(model.weights.values())).reshape(3, 3)
    assert np.abs(weights).max() > 0.0
    for copies in weights.T:
        assert copies == pytest.approx(copies[0], rel=1e-9)


@pytest.mark.parametrize("learner", [AutoOAUCM, OAUCM, OAUCS])
@pytest.mark.parametrize("constant", [0.1, -1e8, 1e-300])
def test_a_constant_feature_has_no_weight_and_no_effect(
    learner: type[MomentClassifier], constant: float
) -> None:
    rows = np.column_stack((ROWS, np.full(len(ROWS), constant)))
    model = learn(learner(), zip(as_dicts(rows), LABELS, strict=True))
    *weights, superfluous = model.weights.values()
    assert superfluous == 0.0
    without = learn(learner(), zip(as_dicts(ROWS), LABELS, strict=True))
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
    expected = 0.5 if prior == "balanced" else 0.2
    # What rounding has left of a score counts as one; and those without knobs begin with a hundred
    # scores of each class that they assume, of which the rare class has lost less.
    tolerance = 0.09 if isinstance(model, AutoOAUCM | AutoOKAUCM) else 0.06
    assert model.predict_proba_one(x)[True] == pytest.approx(expected, abs=tolerance)


# One rare positive -----------------------------------------------------------------------------

N_RARE = 100_000


def slow_cases(is_slow: Callable[[str], bool]) -> list[Any]:
    return [
        pytest.param(make, id=id_, marks=pytest.mark.slow if is_slow(id_) else ())
        for id_, make in CASES
    ]


@pytest.mark.parametrize("make", slow_cases(lambda id_: id_ not in ("OAUCM-0", "OLUBAUC-0")))
def test_one_positive_in_a_hundred_thousand(make: Factory) -> None:
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(N_RARE, 4))
    labels = np.arange(N_RARE) == N_RARE // 2
    rows[labels] = 1.5
    names = [f"x{j}" for j in range(4)]
    model = make()
    model.learn_many(pd.DataFrame(rows, columns=names), pd.Series(labels))

    test_rows = rng.normal(size=(400, 4))
    test_labels = np.arange(400) % 2 == 0
    test_rows[test_labels] += 1.5
    assert_sound(model, as_dicts(test_rows))
    auc = held_out_auc(model, test_rows, test_labels.tolist(), n_learned=0)
    # PA-I describes the majority, as its docstring says.
    assert auc > (0.3 if isinstance(model, PAI) else 0.8)


# Many features ---------------------------------------------------------------------------------


# Those without knobs solve for weights at each of the first examples.
@pytest.mark.parametrize("make", slow_cases(lambda id_: id_.startswith("Auto")))
def test_two_thousand_features(make: Factory) -> None:
    model = make()
    rows = np.random.default_rng(5).normal(size=(6, 2000))
    rows[::2, :1000] += 1.0
    examples = as_dicts(rows)
    learn(model, [(x, i % 2 == 0) for i, x in enumerate(examples)])
    assert list(not_finite(model)) == []
    scores = [model.score_one(x) for x in examples]
    assert min(scores[::2]) > max(scores[1::2])
    assert 0.0 < model.predict_proba_one(examples[0])[True] < 1.0


# Steps that are far too large ------------------------------------------------------------------

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
    "OAM-paper": (OAM(C=1e48, seed=1), {"C": 2**-10}),
    "OAM-constant": (OAM(C=1e48, weighting="constant", seed=1), {"C": 2**-10}),
}


def length(model: OnlineAUCClassifier) -> float:
    """Of what the score is made of."""
    if isinstance(model, LinearClassifier):
        return float(np.linalg.norm(list(model.weights.values())))
    return float(np.linalg.norm(model.support.coefficients))


@pytest.mark.parametrize(("untrained", "cure"), DIVERGING.values(), ids=DIVERGING)
def test_divergence_ends_in_refusals_and_a_smaller_step_ends_the_refusals(
    untrained: OnlineAUCClassifier, cure: dict[str, Any]
) -> None:
    model = untrained.clone()
    n_refused = 0
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
    """No step is longer than the margin asks for, whatever C."""
    model = learn(make(1e300), make_stream(300))
    assert length(model) < 100.0


@pytest.mark.parametrize("learner", [OKAUCM, OKAUCS, KOIL])
def test_a_step_that_nobody_could_take_is_no_warning_but_a_refusal(
    learner: type[OnlineAUCClassifier],
) -> None:
    model = learn(learner(budget=10), STREAM)
    before = pickle.dumps(model)
    name = "eta" if learner is KOIL else "lr"
    model.mutate({name: 1e200})
    with pytest.raises(ValueError, match="step is too large"):
        learn(model, STREAM)
    model.mutate({name: getattr(learner(), name)})
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("weighting", ["paper", "constant"])
def test_a_cost_beyond_all_doubles_is_no_warning_but_a_refusal(weighting: str) -> None:
    model = OAM(C=1e300, weighting=weighting, seed=1)
    model.learn_one({"a": 1.0, "b": 0.0}, True)
    for w in (1.0, 1e50):
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match="step is too large"):
            model.learn_one({"a": -1.0, "b": 0.0}, False, w)
        assert pickle.dumps(model) == before


def test_a_perceptron_that_would_leave_the_range_is_refused() -> None:
    model = learn(Perceptron(), [({"a": 9e49}, False)])
    with pytest.raises(ValueError, match="step is too large"):
        model.learn_one({"b": 9e49}, False)
    assert_sound(model, [{"a": 9e49}, {"a": 1.0}])


def test_a_threshold_that_would_leave_the_range_is_refused() -> None:
    """Even if the weights stay where they are."""
    model = learn(OLUBAUC(lr=1e30), [({"a": 0.0}, True)])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="step is too large"):
        model.learn_one({"a": 0.0}, False, w=1e30)
    assert pickle.dumps(model) == before
    assert_sound(model, [{"a": 1.0}])


@pytest.mark.parametrize("prior", ["balanced", "empirical"])
@pytest.mark.parametrize("learner", [AutoOAUCM, AutoOKAUCM])
@pytest.mark.parametrize("kind", LARGE_STREAMS)
def test_those_without_knobs_refuse_nothing(
    kind: str, learner: type[OnlineAUCClassifier], prior: str
) -> None:
    """They cannot diverge, whatever the features and their importance."""
    model = learner(prior)
    weights = itertools.cycle([1.0, 1e-50, 1.0, 1.0, 1e50])
    for rows in (LARGE_STREAMS[kind], ROWS * 1e-160, ROWS):
        for x, y, w in zip(as_dicts(rows), LABELS, weights, strict=False):
            model.learn_one(x, y, w)
            assert_sound(model, [x, {"x0": 1e50}, {"x2": -1e50}])


def test_moments_that_forget_are_finite_however_large_the_vectors() -> None:
    """Their weights grow from one vector to the next, and are divided in time."""
    moments = ForgettingMoments(size=2, memory=2.0)
    for t in range(1_500):
        moments.update(np.array([1e50, -1e49 if t % 2 else 1e49]), w=1e50)
        assert np.isfinite(moments.cov_dot(np.array([1.0, 1.0]))).all()
    assert moments.n == pytest.approx(2e50)
    assert moments.covariance.diagonal() == pytest.approx([0.0, 8 / 9 * 1e98])


# Scores beyond the range of their probabilities ------------------------------------------------


def test_an_inheritance_that_would_make_the_coefficients_too_long_is_lost() -> None:
    """Or else every later example would be refused."""
    model = OKAUCM(Linear(), budget=1)
    for value, y, w in ((1e24, True, 1.0), (1e23, False, 1e20), (1e-24, False, 1.0)):
        model.learn_one({"a": value}, y, w)
        assert length(model) <= 1e50
    learn(model, [({"a": float(i % 3)}, i % 2 == 0) for i in range(100)])


@pytest.mark.parametrize("score", [1e304, 1e305, 1e306, 1e308])
def test_any_finite_score_has_a_probability(score: float) -> None:
    calibration = Calibration()
    assert calibration.probability(score) == 1.0
    assert 0.0 <= calibration.probability(-score) < 1e-300
    assert calibration.probabilities(np.array([-score, score])).tolist() == pytest.approx(
        [calibration.probability(-score), 1.0], rel=1e-12
    )
    # Steep enough to make an infinite logit of it.
    calibration.slope = 1e150
    assert calibration.probability(-score) == 0.0
    assert calibration.probabilities(np.array([-score, score])).tolist() == [0.0, 1.0]


def test_a_steep_kernel_predicts_or_refuses_at_any_distance() -> None:
    model = learn(OKAUCM(Polynomial(degree=7)), [({"a": 1.0}, True), ({"a": -1.0}, False)])
    sizes = 10.0 ** np.arange(42.0, 45.0, 0.1)
    assert_sound(model, [{"a": value} for value in (*-sizes, *sizes)])
