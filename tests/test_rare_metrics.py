"""The metrics for rare events against their definitions, scikit-learn, and plain bookkeeping."""

from __future__ import annotations

import collections
import itertools
import math
import pickle
import random
from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import datasets, evaluate, linear_model, preprocessing, utils
from sklearn.metrics import average_precision_score, roc_auc_score

import river_oauc.metrics.bag
from river_oauc.metrics import (
    AveragePrecision,
    ExactROCAUC,
    PartialROCAUC,
    PrecisionAtK,
    RecallAtK,
    average_precision,
    precision_at_k,
)
from river_oauc.metrics.base import RankingMetric

Example = tuple[bool, float, float]
# Positive and negative weight of those that share a score.
Group = tuple[Fraction, Fraction]


def groups(examples: Iterable[Example]) -> list[Group]:
    """What comes at each score, from the highest on, in rational arithmetic."""
    found: dict[float, list[Fraction]] = collections.defaultdict(lambda: [Fraction(0)] * 2)
    for y, score, w in examples:
        found[score][not y] += Fraction(w)
    return [(p, n) for _, (p, n) in sorted(found.items(), reverse=True) if p + n]


def plain_average_precision(examples: list[Example]) -> Fraction:
    hits = alarms = area = Fraction(0)
    for positive, negative in groups(examples):
        hits += positive
        alarms += positive + negative
        area += positive * hits / alarms
    return area / hits if hits else Fraction(0)


def plain_partial_area(examples: list[Example], max_fpr: float) -> Fraction:
    """The trapezoids under the curve, the last one cut at the limit."""
    found = groups(examples)
    all_positive, all_negative = (sum(column) for column in zip(*found, strict=True))
    limit = Fraction(max_fpr)
    x = y = area = Fraction(0)
    for positive, negative in found:
        width, height = Fraction(negative, all_negative), Fraction(positive, all_positive)
        part = min(width, limit - x)
        rise = height * part / width if width else height
        area += part * (y + rise / 2)
        x, y = x + part, y + rise
        if part < width:
            break
    return area


def plain_hits(examples: list[Example], k: int) -> tuple[Fraction, Fraction]:
    """The positive weight among the first k, and how much was there to be taken."""
    hits, room = Fraction(0), Fraction(k)
    for positive, negative in groups(examples):
        part = min(room, positive + negative)
        hits += positive * part / (positive + negative)
        room -= part
    return hits, k - room


def plain_partial(examples: list[Example], max_fpr: float, standardized: bool) -> float:
    chance = Fraction(max_fpr) ** 2 / 2
    both = {y for y, _, w in examples if w} == {True, False}
    area = plain_partial_area(examples, max_fpr) if both else chance
    return float((1 + (area - chance) / (Fraction(max_fpr) - chance)) / 2 if standardized else area)


def plain_precision(examples: list[Example], k: int) -> float:
    hits, taken = plain_hits(examples, k)
    return float(hits / taken) if taken else 0.0


def plain_recall(examples: list[Example], k: int) -> float:
    total = sum(Fraction(w) for y, _, w in examples if y)
    return float(plain_hits(examples, k)[0] / total) if total else 0.0


Case = tuple[Callable[[], RankingMetric], Callable[[list[Example]], float]]
CASES: dict[str, Case] = {
    "AveragePrecision": (AveragePrecision, lambda e: float(plain_average_precision(e))),
    **{
        f"PartialROCAUC({m}, {s})": (
            lambda m=m, s=s: PartialROCAUC(max_fpr=m, standardized=s),
            lambda e, m=m, s=s: plain_partial(e, m, s),
        )
        for m, s in itertools.product([0.05, 0.3, 1.0], [True, False])
    },
    **{
        f"PrecisionAtK({k})": (lambda k=k: PrecisionAtK(k), lambda e, k=k: plain_precision(e, k))
        for k in (1, 4, 100)
    },
    **{
        f"RecallAtK({k})": (lambda k=k: RecallAtK(k), lambda e, k=k: plain_recall(e, k))
        for k in (1, 4, 100)
    },
}
case = pytest.mark.parametrize(("make", "plain"), CASES.values(), ids=CASES.keys())

# Few distinct scores make many ties; both infinities and both zeros are among them.
SCORES = st.sampled_from([-math.inf, -1.5, -0.0, 0.0, 0.1, 0.1 + 2**-56, 1.0, math.inf])
WEIGHTS = st.sampled_from([0.0, 0.1, 0.2, 1.0, 1.0, 3.0]) | st.floats(1e-3, 1e3)


def examples_of(weights: st.SearchStrategy[float]) -> st.SearchStrategy[list[Example]]:
    scores = SCORES | st.floats(allow_nan=False)
    return st.lists(st.tuples(st.booleans(), scores, weights), max_size=25)


def filled(metric: RankingMetric, examples: Iterable[Example]) -> RankingMetric:
    for example in examples:
        metric.update(*example)
    return metric


def random_examples(n: int, seed: int, share: float, weighted: bool) -> list[Example]:
    rng = random.Random(seed)
    labels = [rng.random() < share for _ in range(n)]
    return [(y, round(rng.gauss(y, 1), 2), rng.expovariate(1) if weighted else 1.0) for y in labels]


# --- the value -----------------------------------------------------------------------------------


@case
@settings(deadline=None)
@given(examples=examples_of(st.just(1.0)) | examples_of(WEIGHTS))
def test_is_the_definition(make, plain, examples: list[Example]) -> None:
    value = filled(make(), examples).get()
    assert value == pytest.approx(plain(examples), rel=1e-12, abs=1e-12)
    assert 0.0 <= value <= 1.0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("share", [0.005, 0.3, 0.9])
def test_agrees_with_scikit_learn(weighted: bool, share: float) -> None:
    examples = random_examples(5_000, 7, share, weighted)
    y, scores, w = map(np.array, zip(*examples, strict=True))
    expected = average_precision_score(y, scores, sample_weight=w)
    assert filled(AveragePrecision(), examples).get() == pytest.approx(expected, abs=1e-12)
    for max_fpr in (0.001, 0.01, 0.1, 0.5, 0.99, 1.0):
        expected = roc_auc_score(y, scores, sample_weight=w, max_fpr=max_fpr)
        value = filled(PartialROCAUC(max_fpr), examples).get()
        assert value == pytest.approx(expected, abs=1e-12)
    whole = filled(PartialROCAUC(1.0), examples).get()
    assert whole == pytest.approx(filled(ExactROCAUC(), examples).get(), abs=1e-12)
    if not weighted:
        assert (
            average_precision(scores[y], scores[~y]) == filled(AveragePrecision(), examples).get()
        )


@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from([0.1, 0.2, 0.3])), min_size=1, max_size=6),
    st.integers(1, 7),
)
def test_a_tie_at_k_counts_as_it_would_on_average(pairs: list[tuple[bool, float]], k: int) -> None:
    orders = [
        sorted(order, key=lambda pair: -pair[1]) for order in itertools.permutations(pairs)
    ]  # `sorted` keeps the order of what ties.
    hits = np.mean([sum(y for y, _ in order[:k]) for order in orders])
    examples = [(y, score, 1.0) for y, score in pairs]
    precision = filled(PrecisionAtK(k), examples).get()
    assert precision == pytest.approx(hits / min(k, len(pairs)), abs=1e-12)
    n_positive = sum(y for y, _ in pairs)
    recall = filled(RecallAtK(k), examples).get()
    assert recall == pytest.approx(hits / n_positive if n_positive else 0.0, abs=1e-12)
    positives, negatives = ([s for y, s in pairs if y is wanted] for wanted in (True, False))
    assert precision_at_k(positives, negatives, k) == precision


@case
@settings(deadline=None)
@given(examples=examples_of(st.integers(0, 4).map(float)))
def test_a_whole_weight_is_so_many_examples(make, plain, examples: list[Example]) -> None:
    repeated = [(y, s, 1.0) for y, s, w in examples for _ in range(int(w))]
    expected = filled(make(), repeated).get()
    assert filled(make(), examples).get() == pytest.approx(expected, rel=1e-12, abs=1e-12)


@case
@pytest.mark.parametrize("exponent", [-1070, -1000, 1000])
def test_weights_of_any_size(make, plain, exponent: int) -> None:
    examples = random_examples(60, 3, 0.3, weighted=False)
    scaled = [(y, s, math.ldexp(1 + i % 7, exponent)) for i, (y, s, _) in enumerate(examples)]
    assert filled(make(), scaled).get() == pytest.approx(plain(scaled), abs=1e-12)


@case
def test_while_a_class_is_missing(make, plain) -> None:
    for y in (True, False):
        metric, examples = make(), []
        assert metric.get() == pytest.approx(plain([]))
        for w in (1.0, 2.5):
            examples.append((y, 0.5, w))
            metric.update(*examples[-1])
            assert metric.get() == pytest.approx(plain(examples))
        for example in examples:
            metric.revert(*example)
        assert metric.get() == pytest.approx(plain([]))


# --- revert --------------------------------------------------------------------------------------


@case
@settings(deadline=None)
@given(
    examples=examples_of(WEIGHTS) | examples_of(st.just(1.0)),
    rng=st.randoms(use_true_random=False),
    min_backlog=st.sampled_from([0, 3, 1024]),
)
def test_reverts_leave_the_other_examples(
    make, plain, examples: list[Example], rng: random.Random, min_backlog: int
) -> None:
    metric, kept = make(), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(river_oauc.metrics.bag, "_MIN_BACKLOG", min_backlog)
        for example in examples:
            metric.update(*example)
            kept.append(example)
            while kept and rng.random() < 0.45:
                metric.revert(*kept.pop(rng.randrange(len(kept))))
            if rng.random() < 0.3:
                assert metric.get() == pytest.approx(plain(kept), rel=1e-12, abs=1e-12)
    assert metric.get() == pytest.approx(plain(kept), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("cls", "parameters"),
    [
        (AveragePrecision, {}),
        (PartialROCAUC, {"max_fpr": 0.2}),
        (PrecisionAtK, {"k": 5}),
        (RecallAtK, {"k": 5}),
    ],
)
def test_rolling_is_the_value_over_the_window(cls, parameters, weighted: bool) -> None:
    rolling = utils.Rolling(cls, window_size=50, **parameters)
    window: collections.deque[Example] = collections.deque(maxlen=50)
    for i, example in enumerate(random_examples(3_000, 2, 0.2, weighted)):
        rolling.update(*example)
        window.append(example)
        if i % 37 == 0:
            expected = filled(cls(**parameters), window).get()
            assert rolling.get() == pytest.approx(expected, rel=1e-12)


# --- a river metric ------------------------------------------------------------------------------


@case
def test_copies_clones_and_pickles(make, plain) -> None:
    examples = random_examples(100, 8, 0.3, weighted=True)
    metric = filled(make(), examples[:50])
    metric.get()
    twin = pickle.loads(pickle.dumps(metric))
    assert filled(twin, examples[50:]).get() == pytest.approx(plain(examples), abs=1e-12)
    assert metric.get() == pytest.approx(plain(examples[:50]), abs=1e-12)
    clone = metric.clone()
    assert clone.get() == make().get()
    assert filled(clone, examples).get() == twin.get()
    assert metric.bigger_is_better and not metric.requires_labels and metric.works_with_weights


def test_progressive_validation_with_all_of_them() -> None:
    model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    examples, reference = [], model.clone()
    for x, y in datasets.Phishing().take(400):
        examples.append((y, reference.predict_proba_one(x)[True], 1.0))
        reference.learn_one(x, y)
    made = AveragePrecision() + PartialROCAUC(0.05) + PrecisionAtK(20) + RecallAtK(20)
    values = evaluate.progressive_val_score(datasets.Phishing().take(400), model, made).get()
    assert values == pytest.approx(
        [
            float(plain_average_precision(examples)),
            plain_partial(examples, 0.05, True),
            plain_precision(examples, 20),
            plain_recall(examples, 20),
        ],
        abs=1e-12,
    )


@pytest.mark.parametrize("k", [0, -3, 2.0, 0.01, "5", None])
def test_k_is_a_whole_number(k) -> None:
    for ask in (PrecisionAtK, RecallAtK, lambda k: precision_at_k([1.0], [0.0], k)):
        with pytest.raises(ValueError, match="k must be a whole number from 1 on, but it is"):
            ask(k)


@pytest.mark.parametrize("max_fpr", [0.0, -0.1, 1.1, math.nan])
def test_max_fpr_is_a_rate(max_fpr: float) -> None:
    with pytest.raises(ValueError, match="max_fpr must be above 0 and at most 1, but it is"):
        PartialROCAUC(max_fpr)
