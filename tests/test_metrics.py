"""The ranking metrics against their definitions, scikit-learn, and plain bookkeeping."""

from __future__ import annotations

import collections
import copy
import functools
import itertools
import math
import pickle
import random
import time
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from river import anomaly, datasets, evaluate, linear_model, metrics, preprocessing, utils
from sklearn.metrics import average_precision_score, roc_auc_score

import river_oauc.metrics.bag
from river_oauc.metrics import (
    AveragePrecision,
    ExactROCAUC,
    PartialROCAUC,
    PrecisionAtK,
    RecallAtK,
    average_precision,
    exact_auc,
    precision_at_k,
)

# The definitions, in rational arithmetic; an example is (label, score, weight)


def pairwise_auc(examples):
    right = total = Fraction(0)
    for (y, s, w), (y_other, s_other, w_other) in itertools.product(examples, repeat=2):
        if y and not y_other:
            pair = Fraction(w) * Fraction(w_other)
            total += pair
            right += pair if s > s_other else pair / 2 if s == s_other else 0
    return right / total if total else Fraction(1, 2)


def groups(examples):
    """The positive and the negative weight at each score, from the highest score down."""
    found = collections.defaultdict(lambda: [Fraction(0)] * 2)
    for y, score, w in examples:
        found[score][not y] += Fraction(w)
    return [(p, n) for _, (p, n) in sorted(found.items(), reverse=True) if p + n]


def plain_average_precision(examples):
    hits = alarms = area = Fraction(0)
    for positive, negative in groups(examples):
        hits += positive
        alarms += positive + negative
        area += positive * hits / alarms
    return area / hits if hits else Fraction(0)


def plain_partial(examples, max_fpr, standardized=True):
    """The trapezoids under the curve, the last one cut at the limit."""
    limit = Fraction(max_fpr)
    chance = area = limit**2 / 2
    if {y for y, _, w in examples if w} == {True, False}:
        all_positive, all_negative = map(sum, zip(*groups(examples), strict=True))
        x = y = area = Fraction(0)
        for positive, negative in groups(examples):
            width, height = negative / all_negative, positive / all_positive
            part = min(width, limit - x)
            rise = height * part / width if width else height
            area += part * (y + rise / 2)
            x, y = x + part, y + rise
            if part < width:
                break
    return (1 + (area - chance) / (limit - chance)) / 2 if standardized else area


def plain_at_k(examples, k, recall=False):
    hits, room = Fraction(0), Fraction(k)
    for positive, negative in groups(examples):
        part = min(room, positive + negative)
        hits += positive * part / (positive + negative)
        room -= part
    total = sum(Fraction(w) for y, _, w in examples if y) if recall else k - room
    return hits / total if total else Fraction(0)


METRICS = {
    "AUC": (ExactROCAUC, {}, pairwise_auc),
    "AP": (AveragePrecision, {}, plain_average_precision),
}
for kwargs in ({"max_fpr": m, "standardized": s} for m in (0.05, 0.3, 1.0) for s in (True, False)):
    plain = functools.partial(plain_partial, **kwargs)
    METRICS[f"partial AUC {kwargs}"] = (PartialROCAUC, kwargs, plain)
for k in (1, 4, 100):
    METRICS[f"precision at {k}"] = (PrecisionAtK, {"k": k}, functools.partial(plain_at_k, k=k))
    plain = functools.partial(plain_at_k, k=k, recall=True)
    METRICS[f"recall at {k}"] = (RecallAtK, {"k": k}, plain)
every_metric = pytest.mark.parametrize(
    ("make", "plain"),
    [(functools.partial(cls, **kwargs), plain) for cls, kwargs, plain in METRICS.values()],
    ids=METRICS,
)

# Few distinct scores make many ties; both infinities and both zeros are among them.
SCORES = st.sampled_from([-math.inf, -1.5, -0.0, 0.0, 0.1, 0.1 + 2**-56, 1.0, math.inf])
WEIGHTS = st.sampled_from([0.0, 0.1, 0.2, 1.0, 1.0, 3.0]) | st.floats(1e-3, 1e3)


def examples_of(weights):
    scores = SCORES | st.floats(allow_nan=False)
    return st.lists(st.tuples(st.booleans(), scores, weights), max_size=25)


def random_examples(n, seed, share=0.2, weighted=False):
    rng = random.Random(seed)
    labels = [rng.random() < share for _ in range(n)]
    return [(y, round(rng.gauss(y, 1), 2), rng.expovariate(1) if weighted else 1.0) for y in labels]


def filled(metric, examples):
    for example in examples:
        metric.update(*example)
    return metric


def approx(value):
    return pytest.approx(float(value), rel=1e-12, abs=1e-12)


# The value


@every_metric
@given(examples=examples_of(st.just(1.0)) | examples_of(WEIGHTS))
def test_definition(make, plain, examples):
    value = filled(make(), examples).get()
    assert value == approx(plain(examples))
    assert 0.0 <= value <= 1.0


@given(examples_of(st.just(1.0)) | examples_of(st.integers(0, 1000).map(float)))
def test_auc_is_correctly_rounded_for_integer_weights(examples):
    assert filled(ExactROCAUC(), examples).get() == float(pairwise_auc(examples))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("share", [0.005, 0.3, 0.9])
def test_agrees_with_scikit_learn(weighted, share):
    examples = random_examples(5_000, 7, share, weighted)
    y, scores, w = map(np.array, zip(*examples, strict=True))
    expected = {
        AveragePrecision(): average_precision_score(y, scores, sample_weight=w),
        ExactROCAUC(): roc_auc_score(y, scores, sample_weight=w),
    }
    for max_fpr in (0.001, 0.01, 0.1, 0.5, 0.99, 1.0):
        value = roc_auc_score(y, scores, sample_weight=w, max_fpr=max_fpr)
        expected[PartialROCAUC(max_fpr)] = value
    for metric, value in expected.items():
        assert filled(metric, examples).get() == approx(value)
    if not weighted:
        precision, auc = list(expected)[:2]
        assert average_precision(scores[y], scores[~y]) == precision.get()
        assert exact_auc(scores[y], scores[~y]) == auc.get()


@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from([0.1, 0.2, 0.3])), min_size=1, max_size=6),
    st.integers(1, 7),
)
def test_a_tie_at_k_counts_its_expectation(pairs, k):
    # `sorted` keeps the order of ties.
    orders = [sorted(order, key=lambda pair: -pair[1]) for order in itertools.permutations(pairs)]
    hits = np.mean([sum(y for y, _ in order[:k]) for order in orders])
    positives, negatives = ([s for y, s in pairs if y is label] for label in (True, False))
    examples = [(y, score, 1.0) for y, score in pairs]
    precision = filled(PrecisionAtK(k), examples).get()
    assert precision == approx(hits / min(k, len(pairs)))
    assert precision_at_k(positives, negatives, k) == precision
    assert filled(RecallAtK(k), examples).get() == approx(hits / max(len(positives), 1))


@every_metric
@pytest.mark.parametrize("exponent", [-1074, -1000, 1000])
def test_weights_of_any_size(make, plain, exponent):
    examples = random_examples(60, 3, 0.3)
    scaled = [(y, s, math.ldexp(1 + i % 7, exponent)) for i, (y, s, _) in enumerate(examples)]
    assert filled(make(), scaled).get() == approx(plain(scaled))


@every_metric
def test_weights_far_apart_or_in_one_class_only(make, plain):
    far = [(True, 0.7, 1e-300), (True, 0.2, 1e300), (False, 0.5, 1e300), (False, 0.1, 1e300)]
    for label in (True, False):
        one = [(y, s, 2.5 if y is label else 1.0) for y, s, _ in random_examples(200, 3)]
        for examples in (far, one):
            assert filled(make(), examples).get() == approx(plain(examples))


@pytest.mark.parametrize("seed", range(30))
def test_rounding_does_not_leave_the_unit_interval(seed):
    weights = np.random.default_rng(seed).exponential(size=300).tolist()
    best, worst = ([((i < 5) is y, -i, w) for i, w in enumerate(weights)] for y in (True, False))
    area = PartialROCAUC(0.1, standardized=False)
    for metric, most in ((ExactROCAUC(), 1.0), (AveragePrecision(), 1.0), (area, 0.1)):
        assert most - 1e-13 < filled(metric, best).get() <= most
    assert 0.0 <= filled(ExactROCAUC(), worst).get() < 1e-13


@every_metric
def test_a_missing_class(make, plain):
    for y in (True, False):
        metric, examples = make(), []
        assert metric.get() == approx(plain([]))
        for w in (1.0, 2.5):
            examples.append((y, 0.5, w))
            metric.update(*examples[-1])
            assert metric.get() == approx(plain(examples))
        for example in examples:
            metric.revert(*example)
        assert metric.get() == approx(plain([]))


# Labels, scores and parameters


def test_dicts_hold_the_score_under_the_positive_label():
    examples = random_examples(100, 5)
    metric = ExactROCAUC(pos_val="spam")
    for y, s, _ in examples:
        metric.update("spam" if y else "ham", {"ham": 1 - s, "spam": s} if s else {"ham": 1})
    metric.update("spam", {"ham": 1.0})
    assert metric.get() == filled(ExactROCAUC(), [*examples, (True, 0.0, 1.0)]).get()


@pytest.mark.parametrize("convert", [int, float, bool, np.bool_, np.int8, np.float32, Fraction])
def test_any_real_number_is_a_label_a_score_and_a_weight(convert):
    examples = [(convert(y), convert(s), convert(1)) for y, s in ((1, 1), (0, 0), (0, 1), (1, 0))]
    assert filled(ExactROCAUC(), examples[:2]).get() == 1.0
    assert filled(ExactROCAUC(), examples).get() == 0.5


@pytest.mark.parametrize("method", ["update", "revert"])
@pytest.mark.parametrize(
    ("score", "w", "message"),
    [
        (math.nan, 1.0, "score is NaN"),
        (np.float32("nan"), 1.0, "score is NaN"),
        ({False: 0.5, True: math.nan}, 1.0, "score is NaN"),
        ("0.5", 1.0, "score must be a real number, but it is '0.5'"),
        ({True: 1j}, 1.0, "score must be a real number, but it is 1j"),
        (0.5, math.nan, "weight must be finite and at least 0, but it is nan"),
        (0.5, math.inf, "weight must be finite and at least 0, but it is inf"),
        (0.5, 10**400, "weight must be finite and at least 0, but it is inf"),
        (0.5, -1, "weight must be finite and at least 0, but it is -1"),
        (0.5, "2", "weight must be a real number, but it is '2'"),
    ],
)
def test_bad_input_leaves_no_trace(method, score, w, message):
    metric = filled(ExactROCAUC(), random_examples(50, 1))
    metric.get()
    before = pickle.dumps(metric)
    getattr(metric, method)(True, 0.5, 0)
    with pytest.raises(ValueError, match=message):
        getattr(metric, method)(True, score, w)
    assert pickle.dumps(metric) == before


@pytest.mark.parametrize("k", [0, -3, 2.0, 0.01, "5", None, True])
def test_k_must_be_a_positive_integer(k):
    for call in (PrecisionAtK, RecallAtK, lambda k: precision_at_k([1.0], [0.0], k)):
        with pytest.raises(ValueError, match=r"k is .*: it must be a whole number from 1"):
            call(k)


@pytest.mark.parametrize("max_fpr", [0.0, -0.1, 1.1, math.nan, "0.1", True])
def test_max_fpr_must_be_a_rate(max_fpr):
    with pytest.raises(ValueError, match="max_fpr is .*: it must be a number above 0 and at"):
        PartialROCAUC(max_fpr)


# Reverts


@every_metric
@given(
    examples=examples_of(WEIGHTS) | examples_of(st.just(1.0)),
    rng=st.randoms(use_true_random=False),
    min_backlog=st.sampled_from([0, 3, 1024]),
)
def test_reverts_leave_the_other_examples(make, plain, examples, rng, min_backlog):
    metric, kept = make(), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(river_oauc.metrics.bag, "_MIN_BACKLOG", min_backlog)
        for example in examples:
            metric.update(*example)
            kept.append(example)
            while kept and rng.random() < 0.45:
                metric.revert(*kept.pop(rng.randrange(len(kept))))
            if rng.random() < 0.3:
                assert metric.get() == approx(plain(kept))
    assert metric.get() == approx(plain(kept))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("cls", "kwargs", "window_size"),
    [
        (ExactROCAUC, {}, 1),
        (ExactROCAUC, {}, 200),
        (AveragePrecision, {}, 50),
        (PartialROCAUC, {"max_fpr": 0.2}, 50),
        (PrecisionAtK, {"k": 5}, 50),
        (RecallAtK, {"k": 5}, 50),
    ],
)
def test_rolling(cls, kwargs, window_size, weighted):
    rolling = utils.Rolling(cls, window_size=window_size, **kwargs)
    window = collections.deque(maxlen=window_size)
    for i, example in enumerate(random_examples(6_000, 2, weighted=weighted)):
        rolling.update(*example)
        window.append(example)
        # Rarely at first, so that reverts pile up until a revert cancels them.
        if i % (2500 if i < 5000 else 37) == 0:
            assert rolling.get() == approx(filled(cls(**kwargs), window).get())


def test_weights_cancel_without_residue():
    # 0.1 + 0.2 + 0.3 - 0.1 - 0.2 - 0.3 is not 0 in floating point.
    weights = (0.1, 0.2, 0.3)
    metric = filled(ExactROCAUC(), [(False, 0.2, 1.0), *((True, 0.5, w) for w in weights)])
    for w in weights:
        metric.revert(True, 0.5, w)
    assert metric.get() == 0.5
    metric.update(True, 0.1)
    assert metric.get() == 0.0


@pytest.mark.parametrize(("n", "y", "w"), [(0, True, 1.0), (50, False, 2.0)])
def test_an_impossible_revert_is_refused_immediately(n, y, w):
    metric = filled(ExactROCAUC(), random_examples(n, 1))
    before = pickle.dumps(metric)
    name = "positive" if y else "negative"
    with pytest.raises(ValueError, match=f"{name} example of score 0.5 and weight {w}, which"):
        metric.revert(y, 0.5, w)
    assert pickle.dumps(metric) == before


@pytest.mark.parametrize("weighted", [False, True])
def test_unmatched_reverts_are_refused_by_get(weighted):
    examples = random_examples(50, 1, weighted=weighted)
    metric = filled(ExactROCAUC(), [*examples, (True, 0.3, 1.0)])
    for y, s in ((True, 77.0), (True, 0.3), (True, 78.0), (False, 79.0)):
        metric.revert(y, s)
    message = "positive example of score 77.0 and weight 1.0, which was never added, nor were 1 oth"
    with pytest.raises(ValueError, match=message):
        metric.get()
    with pytest.raises(ValueError, match="negative example of score 79.0 and weight 1.0, which"):
        metric.get()
    assert metric.get() == approx(pairwise_auc(examples))


def test_the_weight_of_a_revert_must_match():
    metric = filled(ExactROCAUC(), [(True, 0.3, 2.0), (False, 0.1, 1.0)])
    metric.revert(True, 0.3, 1.5)
    with pytest.raises(ValueError, match="score 0.3 and weight 1.5"):
        metric.get()
    assert metric.get() == 1.0


def test_more_reverts_than_updates():
    metric = filled(ExactROCAUC(), [(True, 0.3, 1.0), (False, 0.1, 1.0)])
    metric.revert(True, 0.4)
    # The error concerns the first revert; the second one is carried out. The metric must take
    # updates while the error, and all that its traceback refers to, is still in memory.
    with pytest.raises(ValueError, match="positive example of score 0.4") as error:
        metric.revert(True, 0.3)
    assert filled(metric, [(True, 0.2, 1.0), (False, 0.2, 1.0)]).get() == 0.75
    del error


# `get`


def test_the_value_is_cached(monkeypatch):
    metric = filled(ExactROCAUC(), random_examples(50, 4))
    value = metric.get()
    with monkeypatch.context() as patch:
        patch.setattr(ExactROCAUC, "_compute", None)
        patch.setattr(river_oauc.metrics.bag.ScoreBag, "consolidate", None)
        assert metric.get() == value
    metric.update(True, 5.0)
    assert metric.get() > value
    metric.revert(True, 5.0)
    assert metric.get() == value


def test_an_interrupted_get_can_be_repeated(monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    examples = random_examples(50, 4)
    metric = filled(ExactROCAUC(), examples)
    with monkeypatch.context() as patch:
        patch.setattr(np, "concatenate", interrupt)
        with pytest.raises(KeyboardInterrupt) as interruption:
            metric.get()
    metric.update(True, 0.3)
    # An interactive session keeps the traceback, and all that its frames refer to.
    assert interruption.tb is not None
    assert metric.get() == float(pairwise_auc([*examples, (True, 0.3, 1.0)]))


# river


@every_metric
@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
@pytest.mark.parametrize("weighted", [False, True])
def test_copies_and_clones_are_independent(make, plain, duplicate, weighted):
    examples = random_examples(120, 8, 0.3, weighted)
    metric = filled(make(), examples[:50])
    metric.get()
    filled(metric, examples[50:80]).revert(*examples[10])
    twin = duplicate(metric)
    assert filled(twin, examples[80:]).get() == approx(plain(examples[:10] + examples[11:]))
    assert metric.get() == approx(plain(examples[:10] + examples[11:80]))
    assert metric.clone(include_attributes=True).get() == metric.get()
    clone = metric.clone()
    assert clone.get() == make().get()
    assert filled(clone, examples).get() == approx(plain(examples))
    assert metric.bigger_is_better and not metric.requires_labels and metric.works_with_weights


def test_progressive_validation_of_a_classifier():
    model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    examples, reference = [], model.clone()
    for x, y in datasets.Phishing().take(400):
        examples.append((y, reference.predict_proba_one(x)[True], 1.0))
        reference.learn_one(x, y)
    ours = {
        ExactROCAUC(): pairwise_auc,
        AveragePrecision(): plain_average_precision,
        PartialROCAUC(0.05): functools.partial(plain_partial, max_fpr=0.05),
        PrecisionAtK(20): functools.partial(plain_at_k, k=20),
        RecallAtK(20): functools.partial(plain_at_k, k=20, recall=True),
    }
    both = metrics.base.Metrics([metrics.Accuracy(), *ours])
    stream = datasets.Phishing().take(400)
    for step in evaluate.iter_progressive_val_score(stream, model, both, step=100):
        expected = [float(plain(examples[: step["Step"]])) for plain in ours.values()]
        assert both.get()[1:] == pytest.approx(expected, abs=1e-12)


def test_works_with_what_rocauc_works_with():
    trees = anomaly.HalfSpaceTrees()
    for model in (linear_model.LogisticRegression(), trees, anomaly.QuantileFilter(trees, q=0.9)):
        assert ExactROCAUC().works_with(model)
    assert not ExactROCAUC().works_with(linear_model.LinearRegression())


# Cost


@pytest.mark.parametrize(("weight", "most"), [(1.0, (9, 9)), (2.0, (17.1, 16.1))])
def test_bytes_per_example(weight, most):
    n, rng, metric, measured = 200_000, random.Random(0), ExactROCAUC(), []
    tracemalloc.start()
    try:
        for i in range(n):
            metric.update(i % 50 == 0, rng.random(), weight)
        measured.append(tracemalloc.get_traced_memory()[0] / n)
        metric.get()
        measured.append(tracemalloc.get_traced_memory()[0] / n)
    finally:
        tracemalloc.stop()
    assert 8 < measured[0] < most[0] and 8 < measured[1] < most[1]


@pytest.mark.parametrize(("weighted", "width"), [(False, 8), (True, 16)])
def test_memory_of_a_window_does_not_grow(weighted, width):
    rolling, largest = utils.Rolling(ExactROCAUC, window_size=5000), 0
    for i, example in enumerate(random_examples(60_000, 9, weighted=weighted)):
        rolling.update(*example)
        if i % 500 == 0:
            largest = max(largest, len(pickle.dumps(rolling.obj)))
    assert largest < 2 * width * 5000 + 2 * 2 * 8 * river_oauc.metrics.bag._MIN_BACKLOG + 2000


@pytest.mark.slow
def test_update_takes_about_half_a_microsecond():
    examples = [(y, {False: -s, True: s}) for y, s, _ in random_examples(100_000, 10)]
    fastest = math.inf
    for _ in range(7):
        update = ExactROCAUC().update
        start = time.perf_counter()
        for y, prediction in examples:
            update(y, prediction)
        fastest = min(fastest, time.perf_counter() - start)
    assert fastest / len(examples) < 2e-6
