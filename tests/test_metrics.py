"""`ExactROCAUC` against the definition of the AUC, scikit-learn, and plain bookkeeping."""

from __future__ import annotations

import collections
import copy
import itertools
import math
import pickle
import random
import time
import tracemalloc
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import anomaly, datasets, evaluate, linear_model, metrics, preprocessing, utils
from sklearn.metrics import roc_auc_score

import river_oauc.metrics.bag
from river_oauc.metrics import ExactROCAUC

Example = tuple[bool, float, float]


def pairwise_auc(examples: Iterable[Example]) -> Fraction:
    """The definition, pair by pair, in rational arithmetic."""
    examples = list(examples)
    right = total = Fraction(0)
    for (y, s, w), (y_other, s_other, w_other) in itertools.product(examples, repeat=2):
        if y and not y_other:
            pair = Fraction(w) * Fraction(w_other)
            total += pair
            right += pair if s > s_other else pair / 2 if s == s_other else 0
    return right / total if total else Fraction(1, 2)


def filled(examples: Iterable[Example], metric: ExactROCAUC | None = None) -> ExactROCAUC:
    metric = ExactROCAUC() if metric is None else metric
    for example in examples:
        metric.update(*example)
    return metric


def random_examples(n: int, seed: int, weighted: bool = False) -> list[Example]:
    rng = random.Random(seed)
    return [
        (rng.random() < 0.2, round(rng.gauss(0, 1), 2), rng.expovariate(1) if weighted else 1.0)
        for _ in range(n)
    ]


# Few distinct scores make many ties; both infinities and both zeros are among them.
SCORES = st.sampled_from(
    [-math.inf, -1.5, -0.0, 0.0, 0.1, 0.1 + 2**-56, 1.0, math.inf]
) | st.floats(allow_nan=False)
WEIGHTS = st.sampled_from([0.0, 0.1, 0.2, 1.0, 1.0, 3.0]) | st.floats(1e-3, 1e3)


def examples_of(weights: st.SearchStrategy[float]) -> st.SearchStrategy[list[Example]]:
    return st.lists(st.tuples(st.booleans(), SCORES, weights), max_size=25)


# --- the value ---


@settings(deadline=None)
@given(examples_of(st.just(1.0)))
def test_is_the_correctly_rounded_share_of_pairs(examples: list[Example]) -> None:
    assert filled(examples).get() == float(pairwise_auc(examples))


@settings(deadline=None)
@given(examples_of(st.integers(0, 1000).map(float)))
def test_whole_number_weights_are_exact(examples: list[Example]) -> None:
    assert filled(examples).get() == float(pairwise_auc(examples))


@settings(deadline=None)
@given(examples_of(WEIGHTS))
def test_weighted_is_the_weighted_share_of_pairs(examples: list[Example]) -> None:
    value = filled(examples).get()
    assert value == pytest.approx(float(pairwise_auc(examples)), rel=1e-12, abs=1e-15)
    assert 0.0 <= value <= 1.0


@settings(deadline=None)
@given(examples_of(WEIGHTS), st.sampled_from([-1074, -1000, 1000]))
def test_the_scale_of_the_weights_does_not_matter(examples: list[Example], exponent: int) -> None:
    # Small whole numbers, so that the scaled ones are exact even among the subnormals.
    examples = [(y, s, float(round(w) % 8)) for y, s, w in examples]
    scaled = [(y, s, math.ldexp(w, exponent)) for y, s, w in examples]
    assert filled(scaled).get() == filled(examples).get()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("share", [0.005, 0.3, 0.9])
def test_agrees_with_scikit_learn(weighted: bool, share: float) -> None:
    rng = np.random.default_rng(7)
    y = rng.random(5000) < share
    score = np.round(rng.normal(size=5000) + y, 2)
    w = rng.exponential(size=5000) if weighted else np.ones(5000)

    metric = filled(zip(y, score, w, strict=True))

    assert metric.get() == pytest.approx(roc_auc_score(y, score, sample_weight=w), rel=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_rounding_does_not_leave_the_unit_interval(seed: int) -> None:
    rng = np.random.default_rng(seed)
    perfect, reversed_ = ExactROCAUC(), ExactROCAUC()
    for i, w in enumerate(rng.exponential(size=300)):
        perfect.update(i < 5, -i, w)
        reversed_.update(i >= 5, -i, w)
    assert 1 - 1e-13 < perfect.get() <= 1.0
    assert 0.0 <= reversed_.get() < 1e-13


def test_weights_far_apart() -> None:
    examples = [(True, 0.7, 1e-300), (True, 0.2, 1e300), (False, 0.5, 1e300), (False, 0.1, 1e300)]
    assert filled(examples).get() == 0.5


def test_one_class_with_weights_and_one_without() -> None:
    examples = [(y, s, 2.5 if y else 1.0) for y, s, _ in random_examples(200, seed=3)]
    assert filled(examples).get() == pytest.approx(float(pairwise_auc(examples)), rel=1e-13)


def test_weight_zero_is_no_example() -> None:
    metric = filled(random_examples(50, seed=0))
    before = pickle.dumps(metric)
    metric.update(True, 0.3, 0)
    metric.revert(False, 12.0, 0.0)
    assert pickle.dumps(metric) == before


def test_half_while_a_class_is_missing() -> None:
    metric = ExactROCAUC()
    assert metric.get() == 0.5
    metric.update(True, 0.9)
    metric.update(True, 0.8, 3.0)
    assert metric.get() == 0.5
    metric.update(False, 0.1)
    assert metric.get() == 1.0
    metric.revert(False, 0.1)
    assert metric.get() == 0.5


def test_rare_positives_that_ten_thresholds_cannot_see() -> None:
    # Scores N(0, 1) and N(1.5, 1): the AUC is Phi(1.5 / sqrt 2) = 0.8556. As probabilities of a
    # model that knows how rare positives are, nearly all fall below the second threshold.
    rng = random.Random(0)
    both = metrics.ROCAUC() + ExactROCAUC()
    for i in range(40_000):
        y = i % 200 == 0
        both.update(y, 1 / (1 + math.exp(6 - rng.gauss(1.5 * y, 1))))
    read, exact = both.get()
    assert exact == pytest.approx(0.8556, abs=0.03)
    assert read < 0.6


# --- labels and predictions ---


def test_reads_the_score_of_the_positive_label_from_a_dict() -> None:
    examples = random_examples(100, seed=5)
    by_label = ExactROCAUC(pos_val="spam")
    for y, s, _ in examples:
        by_label.update("spam" if y else "ham", {"ham": 1 - s, "spam": s})
    assert by_label.get() == filled(examples).get()


def test_a_dict_without_the_positive_label_scores_zero() -> None:
    metric = ExactROCAUC()
    metric.update(False, {False: 1.0})
    metric.update(True, {False: 1.0, True: 0.0})
    assert metric.get() == 0.5
    metric.update(False, {True: -0.1})
    assert metric.get() == 0.75


@pytest.mark.parametrize("convert", [int, np.bool_, np.int64, float])
def test_any_label_that_equals_the_positive_one(convert: type) -> None:
    examples = random_examples(100, seed=6)
    assert filled((convert(y), s, w) for y, s, w in examples).get() == filled(examples).get()


@pytest.mark.parametrize("convert", [int, bool, np.bool_, np.int8, np.float32, Fraction])
def test_any_real_number_is_a_score_and_a_weight(convert: type) -> None:
    metric = ExactROCAUC()
    metric.update(True, convert(1), convert(1))
    metric.update(False, convert(0), convert(1))
    assert metric.get() == 1.0


# --- refusals ---


@pytest.mark.parametrize("method", ["update", "revert"])
@pytest.mark.parametrize(
    ("score", "w", "message"),
    [
        (math.nan, 1.0, "score is NaN"),
        (np.float32("nan"), 1.0, "score is NaN"),
        ({False: 0.5, True: math.nan}, 1.0, "score is NaN"),
        ("0.5", 1.0, "score must be a real number, but it is '0.5'"),
        (None, 1.0, "score must be a real number, but it is None"),
        ({True: 1j}, 1.0, "score must be a real number, but it is 1j"),
        (0.5, math.nan, "weight must be finite and at least 0, but it is nan"),
        (0.5, math.inf, "weight must be finite and at least 0, but it is inf"),
        (0.5, -1, "weight must be finite and at least 0, but it is -1"),
        (0.5, "2", "weight must be a real number, but it is '2'"),
        (0.5, None, "weight must be a real number, but it is None"),
    ],
)
def test_bad_input_is_refused_and_leaves_no_trace(
    method: str, score: object, w: object, message: str
) -> None:
    metric = filled(random_examples(50, seed=1))
    metric.get()
    before = pickle.dumps(metric)
    with pytest.raises(ValueError, match=message):
        getattr(metric, method)(True, score, w)
    assert pickle.dumps(metric) == before


def test_nothing_to_revert_is_refused_at_once() -> None:
    metric = ExactROCAUC()
    before = pickle.dumps(metric)
    with pytest.raises(ValueError, match="positive example of score 0.5 and weight 1.0, which"):
        metric.revert(True, 0.5)
    assert pickle.dumps(metric) == before


def test_a_weight_never_seen_is_refused_at_once() -> None:
    metric = filled(random_examples(50, seed=1))
    before = pickle.dumps(metric)
    with pytest.raises(ValueError, match="negative example of score 0.5 and weight 2.0, which"):
        metric.revert(False, 0.5, 2.0)
    assert pickle.dumps(metric) == before


@pytest.mark.parametrize("weighted", [False, True])
def test_a_revert_of_what_was_never_added_is_refused_by_get(weighted: bool) -> None:
    examples = random_examples(50, seed=1, weighted=weighted)
    metric = filled(examples)
    metric.revert(True, 77.0)
    metric.revert(*examples[0])
    metric.revert(True, 78.0)
    metric.revert(False, 79.0)

    message = "positive example of score 77.0 and weight 1.0, which was never added, nor were 1 oth"
    with pytest.raises(ValueError, match=message):
        metric.get()
    with pytest.raises(ValueError, match="negative example of score 79.0 and weight 1.0, which"):
        metric.get()

    assert metric.get() == pytest.approx(float(pairwise_auc(examples[1:])), rel=1e-13)


def test_more_reverts_than_updates_name_the_one_too_many() -> None:
    metric = filled([(True, 0.3, 1.0), (False, 0.1, 1.0)])
    metric.revert(True, 0.4)
    # The refusal is of the former revert: this one is right, and is carried out. The metric must
    # take updates even while the error, and all that its traceback refers to, is still around.
    with pytest.raises(ValueError, match="positive example of score 0.4") as refusal:
        metric.revert(True, 0.3)
    metric.update(True, 0.2)
    metric.update(False, 0.2)
    assert metric.get() == 0.75
    del refusal


def test_a_weight_must_match_to_be_reverted() -> None:
    metric = filled([(True, 0.3, 2.0), (False, 0.1, 1.0)])
    metric.revert(True, 0.3, 1.5)
    with pytest.raises(ValueError, match="score 0.3 and weight 1.5"):
        metric.get()
    assert metric.get() == 1.0


# --- revert ---


@settings(deadline=None)
@given(
    examples=examples_of(WEIGHTS) | examples_of(st.just(1.0)),
    rng=st.randoms(use_true_random=False),
    min_backlog=st.sampled_from([0, 3, 1024]),
)
def test_reverts_leave_the_other_examples(
    examples: list[Example], rng: random.Random, min_backlog: int
) -> None:
    metric = ExactROCAUC()
    kept: list[Example] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(river_oauc.metrics.bag, "_MIN_BACKLOG", min_backlog)
        for example in examples:
            metric.update(*example)
            kept.append(example)
            while kept and rng.random() < 0.45:
                metric.revert(*kept.pop(rng.randrange(len(kept))))
            if rng.random() < 0.3:
                expected = float(pairwise_auc(kept))
                assert metric.get() == pytest.approx(expected, rel=1e-12, abs=1e-15)
    assert metric.get() == pytest.approx(float(pairwise_auc(kept)), rel=1e-12, abs=1e-15)
    if all(w == 1.0 for _, _, w in examples):
        assert metric.get() == float(pairwise_auc(kept))


def test_weights_that_do_not_add_up_in_binary_cancel_without_residue() -> None:
    # 0.1 + 0.2 + 0.3 - 0.1 - 0.2 - 0.3 is not 0 in floating point.
    metric = filled([(True, 0.5, 0.1), (True, 0.5, 0.2), (True, 0.5, 0.3), (False, 0.2, 1.0)])
    for w in (0.1, 0.2, 0.3):
        metric.revert(True, 0.5, w)
    assert metric.get() == 0.5
    metric.update(True, 0.1)
    assert metric.get() == 0.0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("window_size", [1, 10, 200])
def test_rolling_is_the_value_over_the_window(window_size: int, weighted: bool) -> None:
    examples = random_examples(6000, seed=2, weighted=weighted)
    rolling = utils.Rolling(ExactROCAUC, window_size=window_size)
    window: collections.deque[Example] = collections.deque(maxlen=window_size)
    for i, example in enumerate(examples):
        rolling.update(*example)
        window.append(example)
        # Rarely at first, so that reverts pile up until they are cleaned up without a `get`.
        if i % (2500 if i < 5000 else 37) == 0:
            fresh = filled(window).get()
            assert rolling.get() == (pytest.approx(fresh, rel=1e-12) if weighted else fresh)


def test_rolling_around_an_instance() -> None:
    with pytest.warns(DeprecationWarning):
        rolling = utils.Rolling(ExactROCAUC(pos_val=1), window_size=3)
    for y, s in [(0, 0.1), (0, 0.4), (1, 0.35), (1, 0.8)]:
        rolling.update(y, s)
    assert repr(rolling) == "ExactROCAUC: 50.00%"


# --- get ---


@settings(deadline=None)
@given(examples_of(WEIGHTS), st.data())
def test_get_changes_nothing(examples: list[Example], data: st.DataObject) -> None:
    asked, unasked = ExactROCAUC(), ExactROCAUC()
    for example in examples:
        asked.update(*example)
        unasked.update(*example)
        if data.draw(st.booleans()):
            assert asked.get() == asked.get()
    assert asked.get() == unasked.get()


def test_the_value_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    metric = filled(random_examples(50, seed=4))
    value = metric.get()

    def no_work(*args: object) -> float:
        raise AssertionError("computed again")

    with monkeypatch.context() as patch:
        patch.setattr(river_oauc.metrics.roc, "_auc", no_work)
        patch.setattr(river_oauc.metrics.bag.ScoreBag, "settle", no_work)
        assert metric.get() == value
        metric.update(True, 5.0, 0.0)
        assert metric.get() == value

    metric.update(True, 5.0)
    raised = metric.get()
    assert raised > value
    metric.revert(True, 5.0)
    assert metric.get() == value


def test_an_interrupted_get_can_be_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    examples = random_examples(50, seed=4)
    metric = filled(examples)

    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(np, "concatenate", interrupt)
        with pytest.raises(KeyboardInterrupt) as interruption:
            metric.get()
    # An interactive session keeps the traceback, and with it all that the frames refer to.
    assert interruption.tb is not None
    metric.update(True, 0.3)
    assert metric.get() == float(pairwise_auc([*examples, (True, 0.3, 1.0)]))


# --- a river metric ---


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_go_on_by_themselves(duplicate, weighted: bool) -> None:
    examples = random_examples(120, seed=8, weighted=weighted)
    metric = filled(examples[:50])
    metric.get()
    filled(examples[50:80], metric)
    metric.revert(*examples[10])

    twin = duplicate(metric)
    expected = filled(examples[80:], metric).get()

    assert twin.get() != expected
    assert filled(examples[80:], twin).get() == expected


def test_clone_is_empty_and_keeps_the_parameter() -> None:
    metric = filled([("a", 0.4, 1.0), ("b", 0.3, 1.0)], ExactROCAUC(pos_val="a"))
    clone = metric.clone()
    assert (metric.get(), clone.get(), clone.pos_val) == (1.0, 0.5, "a")
    assert metric.clone(include_attributes=True).get() == 1.0


def test_repr_and_comparison() -> None:
    worse = filled([(True, 0.4, 1.0), (False, 0.4, 3.0), (False, 0.3, 1.0)])
    assert repr(worse) == str(worse) == "ExactROCAUC: 62.50%"
    better = filled([(True, 0.4, 1.0), (False, 0.3, 1.0)])
    assert better.bigger_is_better
    assert better > worse


def test_adds_up_with_other_metrics() -> None:
    both = ExactROCAUC() + metrics.Accuracy() + metrics.ROCAUC()
    model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    evaluate.progressive_val_score(datasets.Phishing().take(300), model, both)
    exact, accuracy, approximate = both.get()
    assert exact == pytest.approx(approximate, abs=0.05)
    assert 0.5 < accuracy < 1.0


def test_progressive_validation_of_a_classifier() -> None:
    model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    seen: list[tuple[bool, float]] = []
    reference = model.clone()
    for x, y in datasets.Phishing():
        seen.append((y, reference.predict_proba_one(x)[True]))
        reference.learn_one(x, y)

    steps = evaluate.iter_progressive_val_score(datasets.Phishing(), model, ExactROCAUC(), step=250)

    curve = [(step["Step"], step["ExactROCAUC"].get()) for step in steps]
    assert [n for n, _ in curve] == [250, 500, 750, 1000, 1250]
    for n, value in curve:
        labels, scores = zip(*seen[:n], strict=True)
        assert value == pytest.approx(roc_auc_score(labels, scores), rel=1e-12)


def test_progressive_validation_of_anomaly_detectors() -> None:
    detector = anomaly.HalfSpaceTrees(n_trees=3, height=4, window_size=50, seed=1)
    stream = [({"a": math.sin(i), "b": float(i % 97 == 0)}, i % 97 == 0) for i in range(500)]
    value = evaluate.progressive_val_score(stream, detector, ExactROCAUC()).get()

    reference = detector.clone()
    scores = []
    for x, _ in stream:
        scores.append(reference.score_one(x))
        reference.learn_one(x)
    assert value == pytest.approx(roc_auc_score([y for _, y in stream], scores), rel=1e-12)


def test_works_with_what_rocauc_works_with() -> None:
    metric = ExactROCAUC()
    assert not metric.requires_labels
    assert metric.works_with_weights
    assert metric.works_with(linear_model.LogisticRegression())
    assert metric.works_with(anomaly.HalfSpaceTrees())
    assert metric.works_with(anomaly.QuantileFilter(anomaly.HalfSpaceTrees(), q=0.9))
    assert not metric.works_with(linear_model.LinearRegression())


# --- cost ---


@pytest.mark.parametrize(
    ("weighted", "most_streamed", "most_settled"), [(False, 9, 9), (True, 17.1, 16.1)]
)
def test_bytes_an_example(weighted: bool, most_streamed: float, most_settled: float) -> None:
    n = 200_000
    rng = random.Random(0)
    metric = ExactROCAUC()
    tracemalloc.start()
    try:
        for i in range(n):
            metric.update(i % 50 == 0, rng.random(), 2.0 if weighted else 1.0)
        streamed, _ = tracemalloc.get_traced_memory()
        metric.get()
        settled, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 8 < streamed / n < most_streamed
    assert 8 < settled / n < most_settled


@pytest.mark.parametrize(("weighted", "width"), [(False, 8), (True, 16)])
def test_memory_of_a_window_does_not_grow(weighted: bool, width: int) -> None:
    window_size = 5000
    rolling = utils.Rolling(ExactROCAUC, window_size=window_size)
    largest = 0
    for i, example in enumerate(random_examples(60_000, seed=9, weighted=weighted)):
        rolling.update(*example)
        if i % 500 == 0:
            largest = max(largest, len(pickle.dumps(rolling.obj)))
    constant = 2 * 2 * 8 * river_oauc.metrics.bag._MIN_BACKLOG + 2000
    assert largest < 2 * width * window_size + constant


@pytest.mark.slow
def test_update_takes_about_half_a_microsecond() -> None:
    examples = [(y, {False: -s, True: s}) for y, s, _ in random_examples(100_000, seed=10)]
    fastest = math.inf
    for _ in range(7):
        update = ExactROCAUC().update
        start = time.perf_counter()
        for y, prediction in examples:
            update(y, prediction)
        fastest = min(fastest, time.perf_counter() - start)
    assert fastest / len(examples) < 2e-6
