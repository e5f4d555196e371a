"""Perceptron, PAI, OAM and OLUBAUC against plain loops, river's own, chance and hostile numbers."""

from __future__ import annotations

import collections
import functools
import itertools
import math
import pickle
from collections.abc import Callable

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from river import linear_model, optim
from scipy import stats
from test_contract import numbers_in
from test_linear import features, weights_of

from river_oauc import OAM, OLUBAUC, PAI, Perceptron

Baseline = Perceptron | PAI | OAM | OLUBAUC
Example = tuple[np.ndarray, bool, float]

UPDATES, WEIGHTINGS = ("gradient", "sequential"), ("paper", "constant")

MAKERS: dict[str, Callable[[], Baseline]] = {
    "Perceptron": Perceptron,
    "PAI": functools.partial(PAI, C=0.3),
    **{
        f"OAM-{update}-{weighting}": functools.partial(
            OAM, C=0.05, buffer_size=4, update=update, weighting=weighting, seed=3
        )
        for update, weighting in itertools.product(UPDATES, WEIGHTINGS)
    },
    "OLUBAUC": functools.partial(OLUBAUC, l2=0.1, lr=0.05),
    "OLUBAUC-balanced": functools.partial(OLUBAUC, l2=0.5, class_balanced=True),
}
each_baseline = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
each_update = pytest.mark.parametrize("update", UPDATES)


def random_stream(
    n: int, p: int, share: float, seed: int, late: int = 0, weighted: bool = False
) -> list[Example]:
    """Two classes that overlap. The last features are 0 in the first third of the stream."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < share
    x = rng.normal(size=(n, p)) + rng.uniform(-1.0, 1.0, size=p) + 0.7 * y[:, None]
    x[: n // 3, p - late :] = 0.0
    w = rng.choice([0.0, 0.3, 1.0, 1.0, 5.0], size=n) if weighted else np.ones(n)
    return list(zip(x, y.tolist(), w.tolist(), strict=True))


def learn(model: Baseline, stream: list[Example]) -> None:
    for x, y, w in stream:
        # Zeros are left out: an absent feature is one.
        model.learn_one({name: value for name, value in features(x).items() if value}, y, w)


def assert_same_state(model: Baseline, other: Baseline) -> None:
    """Equal in every number, and in all chance to come."""
    assert list(numbers_in(model)) == list(numbers_in(other))
    if isinstance(model, OAM):
        assert model._rng.getstate() == other._rng.getstate()


# Step by step against the reference ----------------------------------------------------------


@st.composite
def streams(draw: st.DrawFn) -> list[Example]:
    """Streams with a random imbalance, importance weights and late features."""
    p = draw(st.integers(1, 6))
    return random_stream(
        n=draw(st.integers(2, 120)),
        p=p,
        share=draw(st.sampled_from([0.5, 0.2, 0.05])),
        seed=draw(st.integers(0, 2**32 - 1)),
        late=draw(st.integers(0, p - 1)),
        weighted=True,
    )


def learned(model: Baseline, p: int) -> np.ndarray:
    """The weights, and the threshold if there is one."""
    weights = weights_of(model, p)
    return np.append(weights, model.threshold) if isinstance(model, OLUBAUC) else weights


def expected(slow: reference.LinearLearner, p: int) -> np.ndarray:
    weights = np.zeros(p) if slow.w is None else slow.w
    return np.append(weights, slow.theta) if isinstance(slow, reference.OLUBAUC) else weights


def assert_follows(model: Baseline, slow: reference.LinearLearner, stream: list[Example]) -> None:
    p = len(stream[0][0])
    for example in stream:
        x, y, w = example
        before = expected(slow, p)
        learn(model, [example])
        slow.learn(x, 1 if y else -1, w)
        after = expected(slow, p)
        # A step can end near zero, and its rounding is that of the weights that it began with.
        scale = max(np.linalg.norm(before), np.linalg.norm(after))
        assert np.linalg.norm(learned(model, p) - after) <= 1e-10 * scale


@given(stream=streams())
def test_the_perceptron_is_the_plain_loop(stream):
    assert_follows(Perceptron(), reference.Perceptron(), stream)


@given(stream=streams(), cost=st.sampled_from([2**-6, 0.3, 1.0, 50.0]))
def test_pai_is_the_plain_loop(stream, cost):
    assert_follows(PAI(cost), reference.PAI(cost), stream)


@each_update
@pytest.mark.parametrize("weighting", WEIGHTINGS)
@given(
    stream=streams(),
    cost=st.sampled_from([2**-10, 0.05, 1.0]),
    buffer_size=st.sampled_from([1, 4, 10, 200]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=25)
def test_oam_is_the_plain_loop(update, weighting, stream, cost, buffer_size, seed):
    model = OAM(cost, buffer_size, update, weighting, seed=seed)
    chance = reference.UniformReservoir(seed)
    slow = reference.OAM(cost, buffer_size, update, weighting, rng=chance)
    assert_follows(model, slow, stream)
    # Chance has fallen out alike: the same examples are in the same slots.
    for buffer, y in ((model._positive_buffer, +1), (model._negative_buffer, -1)):
        assert len(buffer.vectors) == len(slow.buffers[y])
        for vector, z in zip(buffer.vectors, slow.buffers[y], strict=True):
            assert [value for value in vector if value] == [value for value in z if value]


@pytest.mark.parametrize("class_balanced", [False, True])
@given(
    stream=streams(),
    l2=st.sampled_from([1e-2, 2**-5, 0.3, 2.0]),
    margin=st.sampled_from([0.4, 1.0]),
    lr=st.sampled_from([None, 0.02, 0.3, optim.schedulers.InverseScaling(0.1)]),
)
def test_olubauc_and_its_threshold_are_the_plain_loop(class_balanced, stream, l2, margin, lr):
    slow_lr = lr.get if isinstance(lr, optim.base.Scheduler) else lr
    slow = reference.OLUBAUC(l2, margin, class_balanced, slow_lr)
    assert_follows(OLUBAUC(l2, margin, class_balanced, lr), slow, stream)


# What each is known for ----------------------------------------------------------------------


def test_the_perceptron_takes_a_score_of_zero_for_a_positive_prediction():
    model = Perceptron()
    model.learn_one({"a": 1.0, "b": 2.0}, True)
    assert model.weights == {"a": 0.0, "b": 0.0}
    model.learn_one({"a": 1.0, "b": 0.0}, False)
    assert model.weights == {"a": -1.0, "b": 0.0}
    model.learn_one({"a": 1.0, "b": 1.0}, True, 2.0)
    assert model.weights == {"a": 1.0, "b": 2.0}


@pytest.mark.parametrize("weighted", [False, True])
def test_the_perceptron_is_that_of_river_without_its_intercept(weighted):
    theirs = linear_model.Perceptron()
    theirs.intercept_lr = optim.schedulers.Constant(0.0)
    ours = Perceptron()
    # At a score of 0 river moves for a positive too, and both begin there: so a negative comes
    # first, and no score is 0 after that.
    stream = random_stream(500, 4, 0.4, seed=0, weighted=weighted)
    for x, y, w in itertools.dropwhile(lambda example: example[1] or not example[2], stream):
        ours.learn_one(features(x), y, w)
        theirs.learn_one(features(x), y, w)
        assert ours.weights == pytest.approx(theirs.weights, rel=1e-10, abs=1e-10)
    assert theirs.intercept == 0.0


@pytest.mark.parametrize("cost", [0.01, 0.3, 10.0])
def test_pai_is_that_of_river_without_its_intercept(cost):
    theirs = linear_model.PAClassifier(C=cost, mode=1, learn_intercept=False)
    ours = PAI(cost)
    for x, y, _ in random_stream(500, 4, 0.3, seed=1):
        ours.learn_one(features(x), y)
        theirs.learn_one(features(x), y)
        assert ours.weights == pytest.approx(theirs.weights, rel=1e-10, abs=1e-10)


def test_pai_leaves_an_example_with_a_margin_of_one_behind():
    model = PAI(C=1e6)
    for x, y, _ in random_stream(50, 3, 0.5, seed=2):
        model.learn_one(features(x), y)
        assert (model.score_one(features(x)) if y else -model.score_one(features(x))) >= 1 - 1e-9


@each_baseline
@pytest.mark.parametrize("zero", [{}, {"x0": 0.0, "x1": 0.0}])
def test_a_zero_example_leaves_finite_weights(make, zero):
    model = make()
    model.learn_one(zero, True)
    learn(model, random_stream(20, 2, 0.5, seed=3))
    model.learn_one(zero, False)
    model.learn_one(zero, True)
    assert all(math.isfinite(number) for number in numbers_in(model))


@pytest.mark.parametrize("zero", [{}, {"x0": 0.0, "x1": -0.0}, {"new": 0.0}])
@pytest.mark.parametrize("y", [False, True])
def test_a_zero_example_does_not_change_the_weights_of_pai(zero, y):
    model = PAI()
    model.learn_one(zero, y)
    assert not any(model.weights.values())
    learn(model, random_stream(20, 2, 0.5, seed=3))
    before = model.weights
    model.learn_one(zero, y)
    assert before.items() <= model.weights.items()
    assert model.weights.get("new", 0.0) == 0.0


@pytest.mark.parametrize("class_balanced", [False, True])
def test_olubauc_by_hand(class_balanced):
    model = OLUBAUC(l2=0.5, class_balanced=class_balanced)
    # The first step is 1 / 0.5 = 2; balanced, a class that is alone counts half.
    model.learn_one({"a": 3.0}, False)
    factor = 0.5 if class_balanced else 1.0
    assert model.weights == {"a": -6.0 * factor}
    assert model.threshold == 2.0 * factor
    # The second is 1, and half of the old weight is left.
    model.learn_one({"a": 1.0}, True, 4.0)
    assert model.weights == {"a": -3.0 * factor + 4.0}
    assert model.threshold == 2.0 * factor - 4.0
    # The score knows nothing of the threshold.
    assert model.score_one({"a": 2.0}) == 2.0 * model.weights["a"]


@each_baseline
def test_each_learns_to_rank(make):
    model = make()
    learn(model, random_stream(500, 3, 0.3, seed=4))
    test = random_stream(300, 3, 0.3, seed=4)
    scores = [model.score_one(features(x)) for x, _, _ in test]
    # The perceptron is content with any weights that are seldom wrong, and ranks accordingly.
    assert reference.auc([1 if y else -1 for _, y, _ in test], scores) > 0.6


# The buffers of OAM --------------------------------------------------------------------------


def buffer_of(n: int, capacity: int, seed: int) -> list[int]:
    """Which of n examples of one class are in the buffer in the end, by slot."""
    model = OAM(buffer_size=capacity, seed=seed)
    for i in range(n):
        model.learn_one({"a": float(i)}, True)
    return [int(value) for value in model._positive_buffer.vectors[:, 0]]


@pytest.mark.parametrize(("n", "capacity"), [(7, 3), (6, 1), (5, 4)])
def test_every_sample_is_equally_likely_to_be_in_the_buffer(n, capacity):
    runs = 1500
    drawn = collections.Counter(tuple(sorted(buffer_of(n, capacity, seed))) for seed in range(runs))
    samples = list(itertools.combinations(range(n), capacity))
    assert drawn.keys() <= set(samples)
    assert stats.chisquare([drawn[sample] for sample in samples]).pvalue > 1e-3


def test_every_slot_is_equally_likely_to_be_replaced():
    capacity, runs = 4, 1500
    outcomes = collections.Counter()
    for seed in range(runs):
        buffer = buffer_of(capacity + 1, capacity, seed)
        outcomes[buffer.index(capacity) if capacity in buffer else None] += 1
    assert outcomes.keys() == {None, 0, 1, 2, 3}
    assert stats.chisquare(list(outcomes.values())).pvalue > 1e-3


def test_the_two_classes_have_a_buffer_each():
    model = OAM(buffer_size=3, seed=0)
    for i in range(50):
        model.learn_one({"a": float(i)}, i % 5 == 0)
    positives, negatives = model._positive_buffer.vectors, model._negative_buffer.vectors
    assert len(positives) == len(negatives) == 3
    assert all(value % 5 == 0 for value in positives[:, 0])
    assert all(value % 5 != 0 for value in negatives[:, 0])


@each_update
def test_no_pair_is_formed_with_an_empty_slot(update):
    cost, capacity = 2**-8, 100
    model = OAM(cost, capacity, update, seed=0)
    x, z = np.array([1.0, 3.0]), np.array([2.0, -1.0])
    model.learn_one(features(z), False)
    assert not any(model.weights.values())
    model.learn_one(features(x), True)
    # From 0, and with so low a price, both updates take the same step.
    on_the_pair = cost / 2 * (x - z)
    on_empty_slots_too = on_the_pair + (capacity - 1) * cost / 2 * x
    assert weights_of(model, 2) == pytest.approx(on_the_pair, rel=1e-12)
    assert weights_of(model, 2) != pytest.approx(on_empty_slots_too, rel=0.1)

    # The next negative meets one positive, though two vectors are stored.
    model.learn_one(features(x + 1.0), False)
    on_the_pair += cost / 2 * -np.array([1.0, 1.0])
    assert weights_of(model, 2) == pytest.approx(on_the_pair, rel=1e-12)


def test_a_margin_of_exactly_one_is_not_enough_for_oam():
    model = OAM(C=2.0, buffer_size=5, seed=0)
    model.learn_one({"a": 0.0}, False)
    # A step of C / 2 over a distance of 1, to a margin of 1, and then another.
    for expected in (1.0, 2.0, 2.0):
        model.learn_one({"a": 1.0}, True)
        assert model.weights == {"a": expected}


@each_update
def test_a_buffer_that_is_not_full_stands_for_itself_and_a_full_one_for_all(update):
    steps = []
    for n_negatives in (2, 3, 30):
        model = OAM(2**-8, 3, update, "paper", seed=0)
        for _ in range(n_negatives):
            model.learn_one({"a": 1.0}, False)
        model.learn_one({"a": 2.0}, True)
        steps.append(model.weights["a"] / 2**-9)
    assert steps == pytest.approx([2.0, 3.0, 30.0])


@each_update
def test_what_is_stored_does_not_change_afterwards(update):
    model = OAM(0.1, 5, update, seed=0)
    stream = random_stream(8, 3, 0.5, seed=5)
    learn(model, stream)
    for buffer, label in ((model._positive_buffer, True), (model._negative_buffer, False)):
        stored = [x.tolist() for x, y, _ in stream if y == label]
        assert len(stored) <= 5
        assert buffer.vectors.tolist() == stored


def test_chance_is_that_of_the_seed():
    stream = random_stream(200, 3, 0.3, seed=6)
    models = [OAM(buffer_size=5, seed=seed) for seed in (1, 1, 2)]
    for model in models:
        learn(model, stream)
    assert models[0].weights == models[1].weights != models[2].weights


# Pickling and refusals -----------------------------------------------------------------------


@each_baseline
def test_a_pickled_model_goes_on_bit_for_bit(make):
    stream = random_stream(120, 4, 0.3, seed=7, late=2, weighted=True)
    model = make()
    learn(model, stream[:60])
    restored = pickle.loads(pickle.dumps(model))
    for example in stream[60:]:
        learn(model, [example])
        learn(restored, [example])
        assert restored.weights == model.weights
    assert_same_state(restored, model)
    assert restored.predict_proba_one(features(stream[0][0])) == model.predict_proba_one(
        features(stream[0][0])
    )


# A passive-aggressive step is long only for a short vector, and the others for a long one.
LONG_STEPS = {
    "Perceptron": (Perceptron(), 1e40),
    "PAI": (PAI(C=1e60), 1e-55),
    "OAM-gradient": (OAM(seed=0), 1e40),
    "OAM-sequential": (OAM(C=1e60, update="sequential", seed=0), 1e-55),
    "OLUBAUC": (OLUBAUC(), 1e40),
    "OLUBAUC-balanced": (OLUBAUC(class_balanced=True, lr=0.1), 1e40),
    # Here it is the threshold that would go too far.
    "OLUBAUC-threshold": (OLUBAUC(lr=1e10), 1e-50),
}


@pytest.mark.parametrize(("untrained", "value"), LONG_STEPS.values(), ids=LONG_STEPS)
def test_a_step_that_leads_too_far_is_refused_before_it_does_harm(untrained, value):
    model = untrained.clone()
    model.learn_one({"a": 0.0}, True)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="would grow beyond 1e\\+50"):
        model.learn_one({"a": value, "new": value}, False, 1e50)
    assert pickle.dumps(model) == before
    assert model.weights.keys() == {"a"}
    model.learn_one({"a": 1.0}, False)
    assert model.weights["a"] < 0.0


# Calibration ---------------------------------------------------------------------------------


@each_baseline
@pytest.mark.parametrize("seed", range(3))
def test_the_class_means_of_the_scores_are_exact_at_every_step(make, seed):
    p = 3
    stream = [e for e in random_stream(200, p, 0.2, seed, weighted=True) if e[2]]
    model = make()
    for t, example in enumerate(stream):
        learn(model, [example])
        weights = weights_of(model, p)
        means = {}
        for label, centroid in ((True, model._positive), (False, model._negative)):
            own = [(x, w) for x, y, w in stream[: t + 1] if y == label]
            if own:
                rows, importances = zip(*own, strict=True)
                means[label] = np.average(rows, axis=0, weights=importances)
                scale = np.linalg.norm(weights) * np.linalg.norm(rows, axis=1).max()
                assert centroid.mean_score == pytest.approx(
                    weights @ means[label], abs=1e-12 * scale
                )
        if len(means) == 2:
            # Half way between the classes the probability is one half.
            middle = features((means[True] + means[False]) / 2)
            assert model.predict_proba_one(middle)[True] == pytest.approx(0.5, abs=1e-9)


@each_baseline
def test_the_slope_is_about_that_of_the_stored_examples(make):
    p = 3
    stream = random_stream(600, p, 0.3, seed=10)
    x = np.array([example[0] for example in stream])
    y = np.array([example[1] for example in stream])
    model = make()
    factors = []
    for t, example in enumerate(stream):
        learn(model, [example])
        if t < 200:
            continue
        scores = x[: t + 1] @ weights_of(model, p)
        positive, negative = scores[y[: t + 1]], scores[~y[: t + 1]]
        gap = positive.mean() - negative.mean()
        deviation = math.sqrt((positive.var() + negative.var()) / 2)
        # As documented: classes are at least a tenth of a deviation apart.
        slope = max(gap / deviation, 0.1) / deviation
        factors.append(model._calibration.slope / slope)
    factors = np.exp(np.abs(np.log(factors)))
    assert np.median(factors) < 1.5
    assert np.quantile(factors, 0.95) < 2.5


def test_the_first_example_of_a_class_says_nothing_of_its_spread():
    """There is no mean yet that it could deviate from."""
    model = Perceptron()
    for _ in range(2):
        model.learn_one({"a": 3.0}, False)
    model.learn_one({"a": -5.0}, True)
    assert model._positive.spread == 0.0
    model.learn_one({"a": -4.0}, True)
    assert model._positive.spread == pytest.approx(1.0)


def test_the_spread_of_the_scores_is_that_of_the_last_hundred_or_so():
    scored_class = Perceptron()._positive
    for _ in range(1_000):
        scored_class.add_score(2.0, squared_norm=1.0)
    assert scored_class.spread == pytest.approx(4.0)
    for _ in range(100):
        scored_class.add_score(0.0, squared_norm=1.0)
    assert scored_class.spread == pytest.approx(4.0 * 0.99**100)


@each_baseline
def test_the_probability_is_an_increasing_function_of_the_score(make):
    stream = random_stream(300, 3, 0.2, seed=11)
    model = make()
    learn(model, stream)
    scores = [model.score_one(features(x)) for x, _, _ in stream]
    probabilities = [model.predict_proba_one(features(x))[True] for x, _, _ in stream]
    np.testing.assert_array_equal(np.argsort(scores), np.argsort(probabilities))


# Parameters ----------------------------------------------------------------------------------

NOT_POSITIVE = [0.0, -1.0, math.nan, math.inf, True, "1", [1.0], 1j]
NOT_COUNTS = [0, -1, 1.0, 2.5, True, "1", None, (1, 1)]


@pytest.mark.parametrize(
    ("learner", "name", "bad"),
    [
        *((PAI, "C", bad) for bad in [*NOT_POSITIVE, None]),
        *((OAM, "C", bad) for bad in [*NOT_POSITIVE, None]),
        *((OAM, "buffer_size", bad) for bad in NOT_COUNTS),
        *((OAM, "update", bad) for bad in ("Gradient", "", None, 1)),
        *((OAM, "weighting", bad) for bad in ("uniform", "", None, 1)),
        *((OLUBAUC, "l2", bad) for bad in [*NOT_POSITIVE, None]),
        *((OLUBAUC, "margin", bad) for bad in [*NOT_POSITIVE, None]),
        *((OLUBAUC, "lr", bad) for bad in NOT_POSITIVE),
        *((learner, "prior", "uniform") for learner in (Perceptron, PAI, OAM, OLUBAUC)),
    ],
)
def test_a_bad_parameter_is_refused_by_name(learner, name, bad):
    with pytest.raises(ValueError, match=f"^{name} is "):
        learner(**{name: bad})


def test_an_l2_of_zero_needs_a_step_size_of_its_own():
    with pytest.raises(ValueError, match="^l2 is "):
        OLUBAUC(l2=0.0)
    model = OLUBAUC(l2=0.0, lr=0.1)
    learn(model, random_stream(20, 2, 0.5, seed=12))
    assert any(model.weights.values())


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        (PAI(), {"C": 0.5}),
        (OAM(), {"C": 0.5}),
        (OLUBAUC(), {"l2": 0.5, "lr": 0.1}),
    ],
)
def test_what_can_be_tuned_on_the_way_can_be_mutated(model, changes):
    model.mutate(changes)
    assert changes.items() <= model._get_params().items()
