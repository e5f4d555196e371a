"""A stack of settings against the single learners, setting by setting."""

from __future__ import annotations

import gc
import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.paper.grids.first_order import OAMStack, OLUBAUCStack, PAIStack
from benchmarks.paper.grids.koil import KOILStack
from benchmarks.paper.grids.nearest import k_nearest_by_row, nearest_by_row
from benchmarks.paper.grids.oauc import OAUCMStack, OAUCSStack
from benchmarks.paper.grids.okauc import OKAUCMStack, OKAUCSStack
from benchmarks.paper.grids.stack import LARGEST_NORM, Stack
from river_oauc import KOIL, OAM, OAUCM, OAUCS, OKAUCM, OKAUCS, OLUBAUC, PAI
from river_oauc.base import OnlineAUCClassifier
from river_oauc.kernel import support
from river_oauc.kernels import RBF

Stream = tuple[np.ndarray, np.ndarray]

# From far too small to far too large: some of the constant steps diverge.
POWERS = 2.0 ** np.arange(-10, 11, 4)
GAMMAS = 2.0 ** np.arange(-20, 21, 8)
BUDGET = 12


def grid(*values: Sequence[float]) -> list[np.ndarray]:
    return [axis.ravel() for axis in np.meshgrid(*values, indexing="ij")]


@dataclass(frozen=True)
class Case:
    """A stack, and the single learner of each of its settings."""

    name: str
    n_settings: int
    stack: Callable[[int], Stack]
    single: Callable[[int], OnlineAUCClassifier]

    def __str__(self) -> str:
        return self.name


L2, LR = grid(POWERS, POWERS)
K_L2, K_GAMMA = grid(POWERS, GAMMAS)
S_L2, S_LR, S_GAMMA = grid(POWERS[::2], POWERS[::2], GAMMAS[::2])

LINEAR = [
    Case("OAUC-M", 6, lambda p: OAUCMStack(p, POWERS), lambda g: OAUCM(POWERS[g])),
    Case("OAUC-Mc", 36, lambda p: OAUCMStack(p, L2, LR), lambda g: OAUCM(L2[g], LR[g])),
    Case("OAUC-S", 36, lambda p: OAUCSStack(p, L2, LR), lambda g: OAUCS(L2[g], LR[g])),
    Case("PA-I", 6, lambda p: PAIStack(p, POWERS), lambda g: PAI(POWERS[g])),
    Case(
        "OAM",
        6,
        lambda p: OAMStack(p, POWERS, BUDGET, seed=3),
        lambda g: OAM(POWERS[g], BUDGET, seed=3),
    ),
    Case(
        "OAM, constant weighting",
        6,
        lambda p: OAMStack(p, POWERS, BUDGET, "constant", seed=3),
        lambda g: OAM(POWERS[g], BUDGET, weighting="constant", seed=3),
    ),
    Case("OL-UBAUC", 6, lambda p: OLUBAUCStack(p, POWERS), lambda g: OLUBAUC(POWERS[g])),
]
KERNEL = [
    Case(
        "OKAUC-M",
        36,
        lambda p: OKAUCMStack(p, K_GAMMA, K_L2, budget=BUDGET),
        lambda g: OKAUCM(RBF(K_GAMMA[g]), K_L2[g], budget=BUDGET),
    ),
    Case(
        "OKAUC-M, constant step",
        36,
        lambda p: OKAUCMStack(p, K_GAMMA, K_L2, K_L2 / 4, budget=BUDGET),
        lambda g: OKAUCM(RBF(K_GAMMA[g]), K_L2[g], K_L2[g] / 4, budget=BUDGET),
    ),
    Case(
        "OKAUC-S",
        27,
        lambda p: OKAUCSStack(p, S_GAMMA, S_L2, S_LR, budget=BUDGET),
        lambda g: OKAUCS(RBF(S_GAMMA[g]), S_L2[g], S_LR[g], budget=BUDGET),
    ),
    Case(
        "KOIL",
        36,
        lambda p: KOILStack(p, K_GAMMA, K_L2, budget=BUDGET, k=4),
        lambda g: KOIL(RBF(K_GAMMA[g]), K_L2[g], budget=BUDGET, k=4),
    ),
]


def clouds(n_examples: int, n_features: int, seed: int) -> Stream:
    """Two clouds in [-1, 1], with duplicates."""
    rng = np.random.default_rng(seed)
    y = rng.random(n_examples) < 0.3
    X = rng.uniform(-1.0, 1.0, (n_examples, n_features))
    X[y] = 0.7 * X[y] + 0.3
    X[n_examples // 2 : n_examples // 2 + 10] = X[:10]
    return X, y


def as_dict(x: np.ndarray) -> dict[int, float]:
    return dict(enumerate(x.tolist()))


def learn(stack: Stack, stream: Stream) -> None:
    for x, positive in zip(*stream, strict=True):
        stack.learn(x, bool(positive))


def parameters_of(model: OnlineAUCClassifier) -> np.ndarray:
    """What is summed up in a score: weights or coefficients."""
    return model.support.coefficients if hasattr(model, "support") else model._weights


def single_scores(model: OnlineAUCClassifier, stream: Stream, probes: np.ndarray) -> list[float]:
    """The scores after the stream, or nothing if the parameters ever were too long."""
    for x, positive in zip(*stream, strict=True):
        try:
            model.learn_one(as_dict(x), bool(positive))
        except ValueError:
            return []
        if np.linalg.norm(parameters_of(model)) > LARGEST_NORM:
            return []
    return [model.score_one(as_dict(x)) for x in probes]


def assert_equal_to_singles(case: Case, stream: Stream, rel: float = 1e-9) -> int:
    """Compare every setting, and return how many have diverged."""
    probes = np.random.default_rng(0).uniform(-1.0, 1.0, (20, stream[0].shape[1]))
    stack = case.stack(stream[0].shape[1])
    learn(stack, stream)
    scores = stack.scores(probes)
    assert scores.shape == (case.n_settings, len(probes))
    for setting, row in enumerate(scores):
        model = case.single(setting)
        expected = single_scores(model, stream, probes)
        assert bool(stack.diverged[setting]) == (not expected)
        if expected:
            # Wide kernels make small scores of large coefficients, which cancel.
            size = max(np.abs(expected).max(), np.abs(parameters_of(model)).max())
            np.testing.assert_allclose(row, expected, rtol=0, atol=rel * size)
        else:
            assert not row.any()
    return int(stack.diverged.sum())


@pytest.mark.parametrize("n_features", [1, 3, 13])
@pytest.mark.parametrize("case", LINEAR, ids=str)
def test_linear_stack_equals_singles(case: Case, n_features: int) -> None:
    n_diverged = assert_equal_to_singles(case, clouds(120, n_features, seed=n_features))
    assert (n_diverged > 0) == (case.name in ("OAUC-Mc", "OAUC-S"))
    assert n_diverged < case.n_settings


@pytest.mark.parametrize("n_features", [2, 6])
@pytest.mark.parametrize("case", KERNEL, ids=str)
def test_kernel_stack_equals_singles(case: Case, n_features: int) -> None:
    n_diverged = assert_equal_to_singles(case, clouds(100, n_features, seed=n_features))
    assert (n_diverged > 0) == (case.name in ("OKAUC-S", "OKAUC-M, constant step"))
    assert n_diverged < case.n_settings


# Few distinct points: many are equal, and many are equally far from a third one.
points = st.tuples(st.integers(-1, 1), st.integers(-1, 1), st.booleans())


@given(st.lists(points, min_size=1, max_size=40))
def test_ties_go_the_same_way(stream: list[tuple[int, int, bool]]) -> None:
    X = np.array([point[:2] for point in stream], dtype=float)
    y = np.array([point[2] for point in stream])
    # The narrowest kernel makes ties of everything but duplicates, and the widest of everything.
    gamma, C = [1e-10, 0.3, 0.3, 1e6], [0.7, 0.7, 30.0, 0.7]
    for case in (
        Case(
            "KOIL",
            4,
            lambda p: KOILStack(p, gamma, C, budget=3, k=2),
            lambda g: KOIL(RBF(gamma[g]), C[g], budget=3, k=2),
        ),
        Case(
            "OKAUC-M",
            4,
            lambda p: OKAUCMStack(p, gamma, C, budget=3),
            lambda g: OKAUCM(RBF(gamma[g]), C[g], budget=3),
        ),
    ):
        assert_equal_to_singles(case, (X, y))


# Values of which some are equal, and some equal but for their rounding.
similarities = st.tuples(st.sampled_from([0.0, 0.3, 0.5]), st.integers(-2, 2)).map(
    lambda value: value[0] * (1.0 + 1e-16 * value[1] + 6e-10 * (value[1] == 2))
)


@given(st.lists(similarities, min_size=4, max_size=8), st.data())
def test_ties_of_a_row_go_the_same_way(row: list[float], data: st.DataObject) -> None:
    arrival = np.array(data.draw(st.permutations(range(len(row)))))
    among = np.array(data.draw(st.lists(st.booleans(), min_size=len(row), max_size=len(row))))
    values = np.array(row)
    assert nearest_by_row(values[np.newaxis], arrival[np.newaxis]) == support.nearest(
        values, arrival
    )
    k = 2
    if among.sum() > k:
        places = np.flatnonzero(among)
        expected = places[support.k_nearest(values[places], arrival[places], k)]
        chosen = k_nearest_by_row(values[np.newaxis], arrival[np.newaxis], among[np.newaxis], k)
        assert np.flatnonzero(chosen).tolist() == sorted(expected)


@pytest.mark.parametrize("kind", [OAUCMStack, OAUCSStack])
def test_a_variance_that_rounds_below_zero(kind: type[OAUCMStack]) -> None:
    """The other class lies on a line, and the weights are at right angles to it."""
    rng = np.random.default_rng(4)
    n_below = 0
    for angle in rng.uniform(0.0, 2.0 * math.pi, 50):
        along = np.array([math.cos(angle), math.sin(angle)])
        stack = kind(2, [1.0], [0.5])
        for step in rng.normal(size=10):
            stack.learn(step * along, False)
        stack.weights[:, 0] = -along[1], along[0]
        n_below += stack.weights[:, 0] @ stack._negative.cov_dot(stack.weights[:, 0]) < 0.0
        stack.learn(np.array([1.0, 1.0]), True)
        assert np.isfinite(stack.weights).all()
    assert n_below > 0


@pytest.mark.parametrize("case", LINEAR + KERNEL, ids=str)
def test_one_class_alone(case: Case) -> None:
    X, _ = clouds(25, 2, seed=1)
    for label in (False, True):
        assert_equal_to_singles(case, (X, np.full(len(X), label)))


@pytest.mark.parametrize("case", LINEAR + KERNEL, ids=str)
def test_nothing_learned_scores_nothing(case: Case) -> None:
    scores = case.stack(2).scores(np.ones((3, 2)))
    assert scores.shape == (case.n_settings, 3)
    assert not scores.any()


@pytest.mark.parametrize("case", LINEAR + KERNEL, ids=str)
def test_learning_leaves_the_example_alone(case: Case) -> None:
    X, y = clouds(30, 3, seed=5)
    before = X.copy()
    learn(case.stack(3), (X, y))
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize(
    "stack",
    [
        OAUCSStack(2, [1.0, 1.0], [0.1, 50.0]),
        OKAUCSStack(2, [1.0, 1.0], [1.0, 1.0], [0.1, 50.0], budget=5),
    ],
    ids=["linear", "kernel"],
)
def test_what_has_diverged_never_moves_again(stack: Stack) -> None:
    stream = clouds(60, 2, seed=2)
    learn(stack, stream)
    assert stack.diverged.tolist() == [False, True]
    before = stack.scores(stream[0])
    learn(stack, clouds(60, 2, seed=3))
    after = stack.scores(stream[0])
    assert (before[0] != after[0]).any()
    assert not after[1].any()
    assert stack.diverged.tolist() == [False, True]


def test_a_long_stack_of_short_weights_has_not_diverged() -> None:
    """The bound on all weights together is passed long before that on each."""
    stack = PAIStack(1, np.full(400, 1e20))
    # The weight becomes 1 / x.
    stack.learn(np.array([1.0 / (0.9 * LARGEST_NORM)]), True)
    assert math.isclose(stack.weights[0, 0], 0.9 * LARGEST_NORM)
    assert not stack.diverged.any()


# Long streams: the buffers turn over many times, and what is kept in step is kept for long.


def runs(n_examples: int, n_features: int, seed: int, share: float) -> Stream:
    """Clouds with this share of positives; a fifth of the examples are one of the last ten."""
    rng = np.random.default_rng(seed)
    y = rng.random(n_examples) < share
    X = rng.uniform(-1.0, 1.0, (n_examples, n_features))
    X[y] = 0.7 * X[y] + 0.3
    for again in np.flatnonzero(rng.random(n_examples) < 0.2):
        X[again] = X[max(again - rng.integers(10), 0)]
    return X, y


@pytest.mark.parametrize("share", [0.03, 0.5])
@pytest.mark.parametrize("case", KERNEL, ids=str)
def test_long_streams(case: Case, share: float) -> None:
    n_diverged = assert_equal_to_singles(case, runs(500, 3, seed=7, share=share))
    assert (n_diverged > 0) == (case.name in ("OKAUC-S", "OKAUC-M, constant step"))


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.02, 0.3])
@pytest.mark.parametrize("n_features", [2, 8])
@pytest.mark.parametrize("case", KERNEL, ids=str)
def test_very_long_streams(case: Case, n_features: int, share: float) -> None:
    assert_equal_to_singles(case, runs(5_000, n_features, seed=8, share=share))


def test_all_settings_may_diverge() -> None:
    stack = OKAUCSStack(2, [1.0, 4.0], [0.01, 0.01], [50.0, 50.0], budget=5)
    learn(stack, clouds(200, 2, seed=2))
    assert stack.diverged.all()
    assert not stack.scores(np.ones((3, 2))).any()


def test_koil_forgets_what_no_setting_has_stored() -> None:
    stack = KOILStack(2, K_GAMMA, K_L2, budget=BUDGET)
    learn(stack, clouds(4_000, 2, seed=9))
    assert len(stack._vectors) <= 512


def test_koil_settings_that_agree_are_one_model() -> None:
    """Scores far below the margin: small C part from nobody, and differ by their size alone."""
    gamma, C = grid([0.5, 2.0], [2.0**-10, 2.0**-8, 1.0, 8.0])
    stack = KOILStack(2, gamma, C, budget=BUDGET)
    stream = clouds(300, 2, seed=3)
    assert len(stack._gamma) == 2
    learn(stack, stream)
    assert 4 < len(stack._gamma) <= 6
    scores = stack.scores(stream[0][:10])
    np.testing.assert_array_equal(4.0 * scores[[0, 4]], scores[[1, 5]])


def test_koil_margins_that_are_just_1() -> None:
    """The first negative has a score of -C / 2: for C = 2, that is the margin."""
    C = [1.0, 2.0, 4.0]
    assert_equal_to_singles(
        Case(
            "KOIL",
            3,
            lambda p: KOILStack(p, np.full(3, 1e6), C, eta=0.5, budget=BUDGET),
            lambda g: KOIL(RBF(1e6), C[g], eta=0.5, budget=BUDGET),
        ),
        (np.array([[0.0], [1.0], [-1.0]]), np.array([False, True, True])),
    )


def test_koil_refuses_what_could_diverge() -> None:
    KOILStack(1, [1.0], [LARGEST_NORM / 20.0])
    with pytest.raises(ValueError, match="C is 100000000.0: coefficients may become too long"):
        KOILStack(1, [1.0, 1.0], [1.0, LARGEST_NORM])


def _best_lap(learn_one: Callable[[np.ndarray, bool], None], stream: Stream, n: int) -> float:
    X, y = stream[0][:n], stream[1][:n].tolist()
    start = time.perf_counter()
    for x, positive in zip(X, y, strict=True):
        learn_one(x, positive)
    return (time.perf_counter() - start) / n


@pytest.mark.slow
@pytest.mark.parametrize(("n_features", "share"), [(10, 30), (60, 12)])
def test_a_setting_costs_a_small_part_of_a_learner(n_features: int, share: int) -> None:
    """At 441 settings, array in; laps of the two take turns, the fastest counts."""
    threadpoolctl = pytest.importorskip("threadpoolctl")
    stream = clouds(200, n_features, seed=1)
    l2, _ = grid(2.0 ** np.arange(-10, 11), 2.0 ** np.arange(-10, 11))
    stack = OAUCMStack(n_features, l2)
    single = OAUCM()
    single.learn_one(as_dict(stream[0][0]), False)
    seconds = {"single": math.inf, "stack": math.inf}
    gc.disable()
    try:
        with threadpoolctl.threadpool_limits(limits=1):
            for _ in itertools.repeat(None, 100):
                lap = _best_lap(lambda x, y: single._learn(x.copy(), y, 1.0), stream, 100)
                seconds["single"] = min(seconds["single"], lap)
                seconds["stack"] = min(seconds["stack"], _best_lap(stack.learn, stream, 20))
    finally:
        gc.enable()
    assert seconds["stack"] / len(l2) <= seconds["single"] / share
