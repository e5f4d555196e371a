"""A stack of settings against the single learners, setting by setting."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.paper.grids.adaptive import AdaOAMStack, FTRLAUCStack
from benchmarks.paper.grids.first_order import OAMStack, OLUBAUCStack, PAIStack
from benchmarks.paper.grids.koil import KOILStack
from benchmarks.paper.grids.nearest import k_nearest_by_row, nearest_by_row
from benchmarks.paper.grids.oauc import OAUCMStack, OAUCSStack
from benchmarks.paper.grids.okauc import OKAUCMStack, OKAUCSStack
from benchmarks.paper.grids.saddle_point import SOLAMStack, SPAUCStack
from benchmarks.paper.grids.stack import LARGEST_NORM, Stack
from river_oauc import (
    FTRLAUC,
    KOIL,
    OAM,
    OAUCM,
    OAUCS,
    OKAUCM,
    OKAUCS,
    OLUBAUC,
    PAI,
    SOLAM,
    SPAUC,
    AdaOAM,
)
from river_oauc.kernels import RBF

Stream = tuple[np.ndarray, np.ndarray]

# From far too small to far too large: some of the constant steps diverge.
POWERS = 2.0 ** np.arange(-10, 11, 4)
GAMMAS = 2.0 ** np.arange(-20, 21, 8)
BUDGET = 12


@dataclasses.dataclass(frozen=True)
class Case:
    """A stack of all combinations of parameters, and its single learner."""

    name: str
    stack_class: Any
    learner: Any
    grid: dict[str, Any]
    fixed: dict[str, Any] = dataclasses.field(default_factory=dict)
    diverges: bool = False

    @property
    def settings(self) -> list[dict[str, float]]:
        values = itertools.product(*self.grid.values())
        return [dict(zip(self.grid, setting, strict=True)) for setting in values]

    def stack(self, size: int) -> Stack:
        arrays = {name: np.array([each[name] for each in self.settings]) for name in self.grid}
        return self.stack_class(size, **arrays, **self.fixed)

    def single(self, setting: int) -> Any:
        parameters = {**self.settings[setting], **self.fixed}
        if "gamma" in parameters:
            parameters["kernel"] = RBF(parameters.pop("gamma"))
        return self.learner(**parameters)


STEPS = {"l2": POWERS, "lr": POWERS}
WIDTHS = {"gamma": GAMMAS, "l2": POWERS}
KERNEL_STEPS = {"gamma": GAMMAS[::2], "l2": POWERS[::2], "lr": POWERS[::2]}
OAM_OPTIONS = {"buffer_size": BUDGET, "seed": 3}
SMALL = {"budget": BUDGET}
LINEAR = [
    Case("OAUC-M", OAUCMStack, OAUCM, {"l2": POWERS}),
    Case("OAUC-Mc", OAUCMStack, OAUCM, STEPS, diverges=True),
    Case("OAUC-S", OAUCSStack, OAUCS, STEPS, diverges=True),
    Case("PA-I", PAIStack, PAI, {"C": POWERS}),
    Case("OAM", OAMStack, OAM, {"C": POWERS}, OAM_OPTIONS),
    Case("OAM-c", OAMStack, OAM, {"C": POWERS}, OAM_OPTIONS | {"weighting": "constant"}),
    Case("OL-UBAUC", OLUBAUCStack, OLUBAUC, {"l2": POWERS}),
    Case("SOLAM", SOLAMStack, SOLAM, {"xi": POWERS, "R": POWERS}),
    Case("SPAUC", SPAUCStack, SPAUC, {"c": POWERS, "l2": POWERS}, diverges=True),
    Case("AdaOAM", AdaOAMStack, AdaOAM, STEPS),
    Case("FTRL-AUC", FTRLAUCStack, FTRLAUC, {"alpha": POWERS, "l1": POWERS}),
]
KERNEL = [
    Case("OKAUC-M", OKAUCMStack, OKAUCM, WIDTHS, SMALL),
    Case("OKAUC-Mc", OKAUCMStack, OKAUCM, KERNEL_STEPS, SMALL, diverges=True),
    Case("OKAUC-S", OKAUCSStack, OKAUCS, KERNEL_STEPS, SMALL, diverges=True),
    Case("KOIL", KOILStack, KOIL, {"gamma": GAMMAS, "C": POWERS}, SMALL | {"k": 4}),
]


def clouds(n_examples: int, n_features: int, seed: int, share: float = 0.3) -> Stream:
    """Draw two clouds in [-1, 1]; a fifth of the examples repeat one of the last ten."""
    rng = np.random.default_rng(seed)
    y = rng.random(n_examples) < share
    X = rng.uniform(-1.0, 1.0, (n_examples, n_features))
    X[y] = 0.7 * X[y] + 0.3
    for again in np.flatnonzero(rng.random(n_examples) < 0.2):
        X[again] = X[max(again - rng.integers(10), 0)]
    return X, y


def as_dict(x: np.ndarray) -> dict[int, float]:
    return dict(enumerate(x.tolist()))


def learn(stack: Stack, stream: Stream) -> None:
    for x, positive in zip(*stream, strict=True):
        stack.learn(x, bool(positive))


def parameters_of(model: Any) -> np.ndarray:
    """Return the weights or coefficients."""
    if isinstance(model, FTRLAUC):
        # Its weights follow from its state.
        return model._ranker.weights
    state = model._ranker.get_state()
    return state["coefficients" if "coefficients" in state else "weights"]


def single_scores(model: Any, stream: Stream, probes: np.ndarray) -> list[float]:
    """Return the scores after the stream, or nothing if the parameters ever were too large."""
    for x, positive in zip(*stream, strict=True):
        try:
            model.learn_one(as_dict(x), bool(positive))
        except ValueError:
            return []
        if np.linalg.norm(parameters_of(model)) > LARGEST_NORM:
            return []
    return [model.score_one(as_dict(x)) for x in probes]


def assert_equal_to_singles(case: Case, stream: Stream, rel: float = 1e-9) -> int:
    """Compare every setting and return the number that have diverged."""
    probes = np.random.default_rng(0).uniform(-1.0, 1.0, (20, stream[0].shape[1]))
    stack = case.stack(stream[0].shape[1])
    assert not stack.scores(probes).any()
    before = stream[0].copy()
    learn(stack, stream)
    np.testing.assert_array_equal(stream[0], before)
    scores = stack.scores(probes)
    assert scores.shape == (len(case.settings), len(probes))
    for setting, row in enumerate(scores):
        model = case.single(setting)
        expected = single_scores(model, stream, probes)
        assert bool(stack.diverged[setting]) == (not expected)
        if expected:
            # Under wide kernels large coefficients cancel in the scores.
            size = max(np.abs(expected).max(), np.abs(parameters_of(model)).max())
            np.testing.assert_allclose(row, expected, rtol=0, atol=rel * size)
        else:
            assert not row.any()
    return int(stack.diverged.sum())


@pytest.mark.parametrize("case", LINEAR + KERNEL, ids=lambda case: case.name)
def test_stack_equals_singles(case: Case) -> None:
    stream = clouds(100, 6, seed=6)
    n_diverged = assert_equal_to_singles(case, stream)
    assert (n_diverged > 0) == case.diverges
    assert n_diverged < len(case.settings)
    # One class alone.
    for label in (False, True):
        assert_equal_to_singles(case, (stream[0][:25], np.full(25, label)))


@pytest.mark.parametrize("case", KERNEL, ids=lambda case: case.name)
def test_full_buffers(case: Case) -> None:
    assert_equal_to_singles(case, clouds(250, 3, seed=7, share=0.1))


# Few distinct points: many are equal, or equally far from a third one.
points = st.tuples(st.integers(-1, 1), st.integers(-1, 1), st.booleans())


@given(st.lists(points, min_size=1, max_size=40))
def test_ties_go_the_same_way(stream: list[tuple[int, int, bool]]) -> None:
    X = np.array([point[:2] for point in stream], dtype=float)
    y = np.array([point[2] for point in stream])
    # Under the widest kernel all points tie, under the narrowest all but duplicates.
    gamma, cost = [1e-10, 0.3, 1e6], [0.7, 30.0]
    for case in (
        Case("KOIL", KOILStack, KOIL, {"gamma": gamma, "C": cost}, {"budget": 3, "k": 2}),
        Case("OKAUC-M", OKAUCMStack, OKAUCM, {"gamma": gamma, "l2": cost}, {"budget": 3}),
    ):
        assert_equal_to_singles(case, (X, y))


# Some values are equal, and some equal up to rounding.
similarities = st.tuples(st.sampled_from([0.0, 0.3, 0.5]), st.integers(-2, 2)).map(
    lambda value: value[0] * (1.0 + 1e-16 * value[1] + 6e-10 * (value[1] == 2))
)


@given(st.lists(similarities, min_size=4, max_size=8), st.data())
def test_ties_of_a_row_go_to_the_oldest(row: list[float], data: st.DataObject) -> None:
    arrival = np.array(data.draw(st.permutations(range(len(row)))))
    among = np.array(data.draw(st.lists(st.booleans(), min_size=len(row), max_size=len(row))))
    # Tied values round to the same number.
    order = sorted(range(len(row)), key=lambda i: (-round(row[i], 8), arrival[i]))
    values = np.array([row])
    assert nearest_by_row(values, arrival[np.newaxis]) == [order[0]]
    if among.sum() > 2:
        chosen = k_nearest_by_row(values, arrival[np.newaxis], among[np.newaxis], k=2)
        assert np.flatnonzero(chosen).tolist() == sorted([i for i in order if among[i]][:2])


@pytest.mark.parametrize("kind", [OAUCMStack, OAUCSStack])
def test_a_variance_that_rounds_below_zero(kind: type[OAUCMStack]) -> None:
    """The opposite class lies on a line that is perpendicular to the weights."""
    rng = np.random.default_rng(4)
    n_below = 0
    for angle in rng.uniform(0.0, 2.0 * math.pi, 50):
        along = np.array([math.cos(angle), math.sin(angle)])
        stack = kind(2, [1.0], [0.5])
        for step in rng.normal(size=10):
            stack.learn(step * along, False)
        stack.weights[:, 0] = -along[1], along[0]
        n_below += stack.weights[:, 0] @ stack._moments[-1.0].scatter @ stack.weights[:, 0] < 0.0
        stack.learn(np.array([1.0, 1.0]), True)
        assert np.isfinite(stack.weights).all()
    assert n_below > 0


@pytest.mark.parametrize(
    "stack",
    [
        OAUCSStack(2, [1.0, 1.0], [0.1, 50.0]),
        OKAUCSStack(2, [1.0, 1.0], [1.0, 1.0], [0.1, 50.0], budget=5),
    ],
    ids=["linear", "kernel"],
)
def test_diverged_settings_stay_at_zero(stack: Stack) -> None:
    stream = clouds(60, 2, seed=2)
    learn(stack, stream)
    assert stack.diverged.tolist() == [False, True]
    before = stack.scores(stream[0])
    learn(stack, clouds(60, 2, seed=3))
    after = stack.scores(stream[0])
    assert (before[0] != after[0]).any()
    assert not after[1].any()
    assert stack.diverged.tolist() == [False, True]


def test_many_settings_below_the_limit_have_not_diverged() -> None:
    """The norm of all weights together exceeds the limit long before that of each."""
    stack = PAIStack(1, np.full(400, 1e20))
    # The weight becomes 1 / x.
    stack.learn(np.array([1.0 / (0.9 * LARGEST_NORM)]), True)
    assert math.isclose(stack.weights[0, 0], 0.9 * LARGEST_NORM)
    assert not stack.diverged.any()


def test_koil_drops_vectors_that_no_setting_stores() -> None:
    stack = KERNEL[-1].stack(2)
    learn(stack, clouds(1_500, 2, seed=9))
    assert len(stack._vectors) <= 512


def test_koil_settings_that_agree_are_one_model() -> None:
    """Scores with small C stay below the margin and differ only by a factor."""
    grid = {"gamma": [0.5, 2.0], "C": [2.0**-10, 2.0**-8, 1.0, 8.0]}
    stack = Case("KOIL", KOILStack, KOIL, grid, SMALL).stack(2)
    stream = clouds(300, 2, seed=3)
    assert len(stack._gamma) == 2
    learn(stack, stream)
    assert 4 < len(stack._gamma) <= 6
    scores = stack.scores(stream[0][:10])
    np.testing.assert_array_equal(4.0 * scores[[0, 4]], scores[[1, 5]])


def test_koil_margins_of_exactly_1() -> None:
    """The first negative has a score of -C / 2: for C = 2, that is the margin."""
    grid, options = {"gamma": [1e6], "C": [1.0, 2.0, 4.0]}, SMALL | {"eta": 0.5}
    stream = np.array([[0.0], [1.0], [-1.0]]), np.array([False, True, True])
    assert_equal_to_singles(Case("KOIL", KOILStack, KOIL, grid, options), stream)


def test_koil_refuses_costs_that_could_diverge() -> None:
    KOILStack(1, [1.0], [LARGEST_NORM / 20.0])
    with pytest.raises(ValueError, match="C is 100000000.0: coefficients may become too large"):
        KOILStack(1, [1.0, 1.0], [1.0, LARGEST_NORM])
