"""Late labels: `evaluate.iter_reviews` against a plain loop, and `feedback.AlertFeedback`."""

from __future__ import annotations

import copy
import datetime
import math
import pickle
import random
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from river import base, checks, datasets, linear_model, tree
from river.preprocessing import StandardScaler
from sklearn.metrics import roc_auc_score

from river_oauc import OAUCM, AutoOAUC
from river_oauc.decisions import AlertBudget
from river_oauc.evaluate import Period, iter_reviews
from river_oauc.feedback import AlertFeedback
from river_oauc.rankers.stack import Stack

PHISHING = list(datasets.Phishing())[:200]
MODELS: dict[str, Callable[[], Any]] = {
    "OAUCM": OAUCM,
    "pipeline": lambda: StandardScaler() | linear_model.LogisticRegression(),
    "tree": lambda: tree.HoeffdingTreeClassifier(grace_period=30),
    "AlertFeedback": lambda: AlertFeedback(OAUCM()),
    "scaled AlertFeedback": lambda: StandardScaler() | AlertFeedback(OAUCM()),
}
every_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
every_policy = pytest.mark.parametrize("learn_from", ["all", "reviewed", "delayed"])


class Given(base.Classifier):
    """A model whose score is a feature; it logs what it is asked and told."""

    def __init__(self) -> None:
        self.log: list[Any] = []

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        self.log.append(("learn", x["id"], y))

    def predict_proba_one(self, x: dict[Any, Any], **_: Any) -> dict[Any, float]:
        return {False: 0.5, True: 0.5}

    def score_one(self, x: dict[Any, Any]) -> float:
        self.log.append(("score", x["id"]))
        return float(x["score"])


class Logged(base.Classifier):
    """Another model, with the list of the scores that it has given."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.scores: list[float] = []

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        self.model.learn_one(x, y)

    def predict_proba_one(self, x: dict[Any, Any], **_: Any) -> dict[Any, float]:
        return self.model.predict_proba_one(x)

    def score_one(self, x: dict[Any, Any]) -> float:
        self.scores.append(self.model.score_one(x))
        return self.scores[-1]


def given(scores: Any, labels: Any) -> list[Any]:
    return [
        ({"id": i, "score": score}, label)
        for i, (score, label) in enumerate(zip(scores, labels, strict=True))
    ]


def random_stream(n: int, seed: int) -> list[Any]:
    rng = random.Random(seed)
    # Whole numbers, so that there are ties.
    return given([rng.randrange(20) for _ in range(n)], [rng.random() < 0.3 for _ in range(n)])


def plain_periods(
    examples: list[Any], model: Any, period: int, delay: int | None, k: int, learn_from: str
) -> list[Period]:
    """The simulation with everything in lists, and the figures by scikit-learn."""
    n = len(examples)
    scores: list[float] = []
    learned: list[int] = []
    reviewed: list[int] = []
    periods = []
    labels = np.array([y for _, y in examples], dtype=bool)
    has_score = "OAUCM" in str(model)
    takes_reviews = "AlertFeedback" in str(model)
    for i, (x, _) in enumerate(examples):
        if has_score:
            scores.append(model.score_one(x))
        else:
            scores.append(model.predict_proba_one(x).get(True, 0.0))
        late = None if delay is None else i - delay
        if learn_from != "reviewed" and late is not None and late >= 0 and late not in learned:
            model.learn_one(*examples[late])
            learned.append(late)
        if (i + 1) % period and i + 1 < n:
            continue
        first = i - i % period
        top = sorted(range(first, i + 1), key=lambda j: (-scores[j], j))[:k]
        reviewed += top
        for j in sorted(top):
            if learn_from != "delayed" and j not in learned:
                model.learn_one(*examples[j], **({"reviewed": True} if takes_reviews else {}))
                learned.append(j)
        here = labels[first : i + 1]
        found = int(labels[top].sum())
        periods.append(
            Period(
                key=i // period,
                n_records=len(here),
                n_reviewed=len(top),
                n_found=found,
                precision=found / len(top),
                recall=labels[reviewed].sum() / labels[: i + 1].sum()
                if any(labels[: i + 1])
                else None,
                auc=roc_auc_score(here, scores[first:]) if 0 < here.sum() < len(here) else None,
            )
        )
    return periods


# The simulation ----------------------------------------------------------------------------------


@every_model
@every_policy
@pytest.mark.parametrize("delay", [0, 7, 60, 10_000, None])
def test_it_is_the_plain_loop(make: Callable[[], Any], learn_from: str, delay: int | None) -> None:
    model, plain = make(), make()
    periods = list(iter_reviews(PHISHING, model, 30, delay, reviewed=4, learn_from=learn_from))
    expected = plain_periods(PHISHING, plain, 30, delay, 4, learn_from)
    assert len(periods) == 7
    for period, other in zip(periods, expected, strict=True):
        assert period == pytest.approx(other, abs=1e-12)
    for x, _ in PHISHING[:50]:
        assert model.predict_proba_one(x) == plain.predict_proba_one(x)


@every_policy
@pytest.mark.parametrize("delay", [0, 3, 25, 1_000, None])
@pytest.mark.parametrize("k", [1, 3, 50])
def test_a_label_is_learned_once_when_it_arrives(
    learn_from: str, delay: int | None, k: int
) -> None:
    """By the definition: what happens to each record, sorted by time."""
    examples, length = random_stream(200, seed=1), 10
    model = Given()
    list(iter_reviews(examples, model, length, delay, reviewed=k, learn_from=learn_from))
    events = []
    for i, (x, y) in enumerate(examples):
        start = i // length * length
        mates = sorted(range(start, start + length), key=lambda j: (-examples[j][0]["score"], j))
        arrivals = []
        if delay is not None and learn_from != "reviewed" and i + delay < len(examples):
            arrivals.append((i + delay, 1, i))
        if i in mates[:k] and learn_from != "delayed":
            arrivals.append((start + length - 1, 2, i))
        events.append(((i, 0, i), ("score", x["id"])))
        events += [(time, ("learn", x["id"], y)) for time in sorted(arrivals)[:1]]
    assert model.log == [event for _, event in sorted(events)]


@pytest.mark.parametrize("make", [OAUCM, lambda: AlertFeedback(OAUCM())])
@pytest.mark.parametrize("delay", [0, 40, None])
@every_policy
def test_labels_that_have_not_arrived_change_nothing(
    make: Callable[[], Any], delay: int | None, learn_from: str
) -> None:
    def scores_of(examples: list[Any]) -> list[float]:
        model = Logged(make())
        list(iter_reviews(examples, model, 20, delay, reviewed=2, learn_from=learn_from))
        return model.scores

    scores = scores_of(PHISHING)
    for n in (20, 93, 181):
        # Reviews of complete periods have arrived when record n is scored, and labels that are old.
        top = {
            i
            for start in range(0, n - n % 20, 20)
            for i in sorted(range(start, start + 20), key=lambda j: (-scores[j], j))[:2]
        }
        flipped = [
            (x, y if i in top or (delay is not None and i + delay < n) else not y)
            for i, (x, y) in enumerate(PHISHING)
        ]
        assert scores_of(flipped)[: n + 1] == scores[: n + 1]
    # It would be noticed: the labels of the first period do change the scores after it.
    if delay is not None or learn_from != "delayed":
        flipped = [(x, y != (i < 20)) for i, (x, y) in enumerate(PHISHING)]
        assert scores_of(flipped) != scores


def test_no_delay_is_progressive_validation() -> None:
    model, progressive = Logged(OAUCM()), Logged(OAUCM())
    list(iter_reviews(PHISHING, model, 50, delay=0))
    for x, y in PHISHING:
        progressive.score_one(x)
        progressive.learn_one(x, y)
    assert model.scores == progressive.scores


def test_figures_of_an_example() -> None:
    examples = given([3, 1, 2, 5, 5, 4, 9], [True, True, False, False, True, False, False])
    first, second, third = iter_reviews(examples, Given(), 3, delay=None, reviewed=1)
    assert first == Period(0, 3, 1, 1, 1.0, 0.5, 0.5)
    # Of two equal scores, the earlier one is reviewed.
    assert second == Period(1, 3, 1, 0, 0.0, 1 / 3, 0.75)
    assert third == Period(2, 1, 1, 0, 0.0, 1 / 3, None)


def test_recall_before_the_first_positive() -> None:
    (period,) = iter_reviews(given([1, 2], [False, False]), Given(), 5, delay=1)
    assert period.recall is None and period.auc is None
    assert list(iter_reviews([], Given(), 5, delay=1)) == []


def test_more_reviews_than_records_find_everything() -> None:
    periods = list(iter_reviews(random_stream(95, seed=2), Given(), 10, delay=5, reviewed=1_000))
    assert [period.n_reviewed for period in periods] == [10] * 9 + [5]
    assert periods[-1].recall == 1.0


@pytest.mark.parametrize(
    ("length", "share", "n"), [(100, 0.01, 1), (100, 0.146, 15), (30, 0.01, 1), (250, 0.1, 25)]
)
def test_share_of_records(length: int, share: float, n: int) -> None:
    periods = iter_reviews(random_stream(500, seed=3), Given(), length, delay=None, reviewed=share)
    assert next(periods).n_reviewed == n


def test_nan_is_the_lowest_score() -> None:
    examples = given([math.nan, 1.0, math.nan, -math.inf], [False, True, False, False])
    (period,) = iter_reviews(examples, Given(), 4, delay=None, reviewed=1)
    assert period.n_found == 1 and period.auc == 1.0


def test_periods_by_a_function_of_the_record() -> None:
    start = datetime.datetime(2026, 1, 1)
    examples = [
        ({**x, "at": start + datetime.timedelta(hours=5 * x["id"])}, y)
        for x, y in random_stream(100, seed=4)
    ]
    model = Given()
    periods = list(iter_reviews(examples, model, lambda x: x["at"].date(), None, reviewed=1))
    days = [x["at"].date() for x, _ in examples]
    assert [period.key for period in periods] == sorted(set(days))
    assert [period.n_records for period in periods] == [days.count(p.key) for p in periods]
    assert sum(event[0] == "learn" for event in model.log) == len(periods)


def test_exploration_is_random_and_seeded() -> None:
    examples = random_stream(20_000, seed=5)

    def run(**kwargs: Any) -> tuple[list[Period], list[Any]]:
        model = Given()
        periods = list(iter_reviews(examples, model, 100, None, reviewed=10, **kwargs))
        return periods, [event for event in model.log if event[0] == "learn"]

    periods, learned = run(explored=0.1, seed=1)
    assert sum(period.n_reviewed for period in periods) == len(learned)
    # 200 periods with 90 others each; the standard deviation is 40.
    assert 200 * (10 + 9) - 160 < len(learned) < 200 * (10 + 9) + 160
    assert run(explored=0.1, seed=1) == (periods, learned)
    assert run(explored=0.1, seed=2) != (periods, learned)
    assert run()[0][0].n_reviewed == 10
    # Every score has its chance, and the top is still there.
    scores = {examples[i][0]["score"] for _, i, _ in learned}
    assert scores == set(range(20))


@pytest.mark.parametrize("delay", [0, 150, None])
@every_policy
def test_memory_is_bounded_by_delay_and_period(delay: int | None, learn_from: str) -> None:
    class Record(dict[Any, Any]):
        __hash__ = object.__hash__  # type: ignore[assignment]
        __eq__ = object.__eq__

    alive: weakref.WeakSet[Any] = weakref.WeakSet()
    most = 0

    def records() -> Iterator[Any]:
        nonlocal most
        for i in range(2_000):
            record = Record(id=i, score=i % 7)
            alive.add(record)
            most = max(most, len(alive))
            yield record, i % 5 == 0

    list(iter_reviews(records(), Given(), 50, delay, reviewed=5, learn_from=learn_from))
    # A period, what was reviewed in the last one, and what is under way.
    assert most <= (delay or 0) + 50 + 5 + 3


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"period": 0}, "period is 0"),
        ({"period": 1.5}, "period is 1.5"),
        ({"period": "day"}, "period is 'day'"),
        ({"delay": -1}, "delay is -1"),
        ({"delay": 0.5}, "delay is 0.5"),
        ({"reviewed": 0}, "reviewed is 0"),
        ({"reviewed": True}, "reviewed is True"),
        ({"reviewed": 1.0}, "reviewed is 1.0"),
        ({"reviewed": math.nan}, "reviewed is nan"),
        ({"explored": 1.0}, "explored is 1.0"),
        ({"explored": -0.1}, "explored is -0.1"),
        ({"learn_from": "alerts"}, "learn_from is 'alerts'"),
    ],
)
def test_bad_parameters_are_refused_at_once(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        iter_reviews(PHISHING, OAUCM(), **({"period": 10, "delay": 10} | parameters))


def test_bad_labels_are_refused() -> None:
    with pytest.raises(ValueError, match="the label is 'fraud'"):
        list(iter_reviews([({"id": 1, "score": 1}, "fraud")], Given(), 10, delay=1))


# AlertFeedback -----------------------------------------------------------------------------------


def every_check() -> Iterator[Any]:
    for model in ("OAUCM", "pipeline", "tree"):
        wrapper = AlertFeedback(MODELS[model]())
        for check in checks.yield_checks(wrapper):
            if check.__name__ not in wrapper._unit_test_skips():
                yield pytest.param(wrapper, check, id=f"{model}-{check.__name__}")


@pytest.mark.parametrize(("wrapper", "check"), list(every_check()))
def test_river_check(wrapper: Any, check: Any) -> None:
    check(wrapper.clone())


def log_odds(model: Any, x: Any) -> float:
    p = min(max(model.predict_proba_one(x)[True], 1e-9), 1 - 1e-9)
    return math.log(p / (1 - p))


@pytest.mark.parametrize(
    ("make", "score"),
    [(OAUCM, lambda model, x: model.score_one(x)), (MODELS["pipeline"], log_odds)],
    ids=["score", "probability"],
)
def test_two_models_and_a_regression_on_the_reviews(
    make: Callable[[], Any], score: Callable[[Any, Any], float]
) -> None:
    model, everything, reviews, stack = (
        AlertFeedback(make()),
        make(),
        make(),
        Stack([1.0, 0.5], 3.0),
    )
    for i, (x, y) in enumerate(PHISHING):
        scores = np.array([score(everything, x), score(reviews, x)])
        expected = float(stack.weights[:-1] @ scores)
        assert model.score_one(x) == pytest.approx(expected, abs=1e-12)
        p = model.predict_proba_one(x)
        assert p[True] == pytest.approx(1 / (1 + math.exp(-expected))) and sum(p.values()) == 1
        reviewed = i % 3 == 0
        model.learn_one(x, y, reviewed=reviewed, w=1.0 + i % 2)
        everything.learn_one(x, y, w=1.0 + i % 2)
        if reviewed:
            reviews.learn_one(x, y, w=1.0 + i % 2)
            stack.learn(scores, y, 1.0 + i % 2)


def test_without_reviews_it_ranks_as_the_model() -> None:
    model, bare = AlertFeedback(OAUCM()), OAUCM()
    for x, y in PHISHING:
        assert model.score_one(x) == bare.score_one(x)
        model.learn_one(x, y)
        bare.learn_one(x, y)


def test_nan_does_not_stay() -> None:
    model = AlertFeedback(Given())
    for i in range(50):
        score = math.nan if i == 20 else i % 2
        model.learn_one({"id": i, "score": score}, i % 2 == 1, reviewed=True)
    assert model.score_one({"id": 50, "score": 1.0}) > model.score_one({"id": 51, "score": 0.0})
    assert model.score_one({"id": 52, "score": math.nan}) == 0.0


def trained() -> Any:
    model = AlertFeedback(AutoOAUC(experts=("linear", "sparse"), seed=1))
    for i, (x, y) in enumerate(PHISHING):
        model.learn_one(x, y, reviewed=i % 4 == 0)
    return model


@pytest.mark.parametrize(
    "duplicate",
    [
        copy.deepcopy,
        lambda model: pickle.loads(pickle.dumps(model)),
        lambda model: model.clone(include_attributes=True),
    ],
    ids=["deepcopy", "pickle", "clone"],
)
def test_copies_go_on_alike(duplicate: Callable[[Any], Any]) -> None:
    model = trained()
    twin = duplicate(model)
    for x, y in PHISHING[:30]:
        assert twin.score_one(x) == model.score_one(x)
        model.learn_one(x, y, reviewed=True)
        twin.learn_one(x, y, reviewed=True)
    fresh = model.clone()
    assert fresh.score_one(x) == 0.0 != model.score_one(x)


@pytest.mark.parametrize(
    ("x", "y", "w"),
    [({"a": math.inf}, True, 1.0), ({"a": 1.0}, "fraud", 1.0), ({"a": 1.0}, True, -1.0)],
)
@pytest.mark.parametrize("reviewed", [True, False])
def test_a_refused_record_changes_nothing(x: Any, y: Any, w: float, reviewed: bool) -> None:
    model = trained()
    before = pickle.dumps(model)
    with pytest.raises(ValueError):
        model.learn_one(x, y, reviewed=reviewed, w=w)
    model.learn_one({"a": 1.0}, True, reviewed=reviewed, w=0.0)
    assert pickle.dumps(model) == before


def test_alerts_to_a_budget() -> None:
    model, feedback = AlertBudget(AlertFeedback(OAUCM()), rate=0.1, seed=1), AlertFeedback(OAUCM())
    for i, (x, y) in enumerate(PHISHING):
        # All alerts may be right, and then only the others tell of negatives.
        reviewed = model.predict_one(x) or i % 20 == 0
        model.observe_one(x)
        model.learn_one(x, y, observed=True, reviewed=reviewed)
        feedback.learn_one(x, y, reviewed=reviewed)
    assert model.score_one(x) == feedback.score_one(x) != feedback.model.score_one(x)


def test_what_is_no_classifier_is_refused() -> None:
    with pytest.raises(ValueError, match="must be a classifier"):
        AlertFeedback(StandardScaler())  # type: ignore[arg-type]


def campaigns(n: int, length: int) -> list[Any]:
    """Fraud at one of 20 shops, which changes every so many records; one record in 20 is there."""
    rng = random.Random(7)
    examples = []
    for i in range(n):
        shop = rng.randrange(20)
        examples.append(({"shop": f"shop {shop}"}, shop == i // length % 20 and rng.random() < 0.9))
    return examples


def test_it_finds_what_old_labels_hide() -> None:
    """Late labels always tell of the last campaign, and reviews alone of the top of the list."""
    examples = campaigns(12_000, length=1_500)

    def found(model: Any, delay: int, learn_from: str) -> int:
        periods = list(
            iter_reviews(
                examples, model, 50, delay, 2, explored=0.02, learn_from=learn_from, seed=1
            )
        )
        return sum(period.n_found for period in periods[len(periods) // 2 :])

    def base_model() -> Any:
        return AutoOAUC(experts=("sparse",), seed=1)

    with_feedback = found(AlertFeedback(base_model()), 1_500, "all")
    for learn_from in ("all", "reviewed", "delayed"):
        assert with_feedback > 1.1 * found(base_model(), 1_500, learn_from)


@pytest.mark.parametrize("wrap", [lambda model: model, lambda model: StandardScaler() | model])
def test_feedback_within_a_decision_learns_reviews(wrap: Callable[[Any], Any]) -> None:
    """Wrappers pass on whether a label comes from a review, so all find the same."""
    plain, inside = AlertFeedback(OAUCM()), AlertFeedback(OAUCM())
    periods = [
        list(iter_reviews(PHISHING, model, 50, delay=100, reviewed=5))
        for model in (wrap(plain), AlertBudget(wrap(inside), rate=0.1, seed=1))
    ]
    assert periods[0] == periods[1]
    assert inside._review_model.weights == plain._review_model.weights != {}


def test_a_bad_seed_is_refused_before_the_first_record() -> None:
    with pytest.raises(ValueError, match="seed is 'x': it must be an integer or None"):
        iter_reviews(PHISHING, OAUCM(), 50, delay=None, seed="x")
