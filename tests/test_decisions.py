"""Alert budgets, false positive rates and costs: wrappers around any classifier."""

from __future__ import annotations

import copy
import math
import pickle
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from river import base, checks, datasets, evaluate, linear_model, metrics, naive_bayes, tree
from river.preprocessing import StandardScaler

from river_oauc import OAUCM, AutoOAUC, SparseOAUCM, decisions
from river_oauc.decisions import AlertBudget, Calibration, FalsePositiveRate, MinimumCost
from river_oauc.decisions import ScoreWindow as Window

PHISHING = list(datasets.Phishing())

WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "AlertBudget": lambda model: AlertBudget(model, rate=0.1, window_size=200, seed=1),
    "FalsePositiveRate": lambda model: FalsePositiveRate(model, 0.1, window_size=200, seed=1),
    "MinimumCost": MinimumCost,
}
MODELS: dict[str, Callable[[], Any]] = {
    "pipeline": lambda: StandardScaler() | linear_model.LogisticRegression(),
    "OAUCM": OAUCM,
    "scaled OAUCM": lambda: StandardScaler() | OAUCM(),
    "AutoOAUC": lambda: AutoOAUC(experts=("linear", "sparse"), seed=1),
    "tree": tree.HoeffdingTreeClassifier,
    "naive Bayes": naive_bayes.GaussianNB,
}
every_wrapper = pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
every_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


class Given(base.Classifier):
    """A model whose score is a feature."""

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        if y not in (True, False):
            raise ValueError("refused")

    def predict_proba_one(self, x: dict[Any, Any], **_: Any) -> dict[Any, float]:
        return {False: 0.5, True: 0.5}

    def score_one(self, x: dict[Any, Any]) -> float:
        return x["score"]


class Constant(base.Classifier):
    """A model that gives everybody the same probability."""

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        pass

    def predict_proba_one(self, x: dict[Any, Any], **_: Any) -> dict[Any, float]:
        return {False: 0.7, True: 0.3}


def flags_of(model: Any, scores: Any, labels: Any = None) -> np.ndarray:
    """Predict and then learn each example."""
    labels = np.zeros(len(scores), dtype=bool) if labels is None else labels
    flags = []
    for score, label in zip(np.asarray(scores).tolist(), labels.tolist(), strict=True):
        flags.append(model.predict_one({"score": score}))
        model.learn_one({"score": score}, label)
    return np.array(flags)


# The contract with river -------------------------------------------------------------------------


def every_check() -> Iterator[Any]:
    for name, wrap in WRAPPERS.items():
        for model in ("pipeline", "OAUCM", "tree"):
            wrapper = wrap(MODELS[model]())
            for check in checks.yield_checks(wrapper):
                if check.__name__ not in wrapper._unit_test_skips():
                    yield pytest.param(wrapper, check, id=f"{name}-{model}-{check.__name__}")


@pytest.mark.parametrize(("wrapper", "check"), list(every_check()))
def test_river_check(wrapper: Any, check: Any) -> None:
    check(wrapper.clone())


@every_wrapper
def test_river_checks_of_a_pipeline(wrap: Callable[[Any], Any]) -> None:
    checks.check_estimator(StandardScaler() | wrap(linear_model.LogisticRegression()))


@every_wrapper
@every_model
def test_all_but_decisions_is_that_of_the_model(
    wrap: Callable[[Any], Any], make: Callable[[], Any]
) -> None:
    wrapper, bare = wrap(make()), make()
    for x, y in PHISHING[:200]:
        assert wrapper.predict_proba_one(x) == bare.predict_proba_one(x)
        assert isinstance(wrapper.predict_one(x), bool)
        wrapper.learn_one(x, y)
        bare.learn_one(x, y)
    p = bare.predict_proba_one(x)
    has_score = make in (MODELS["OAUCM"], MODELS["scaled OAUCM"], MODELS["AutoOAUC"])
    assert wrapper.score_one(x) == (bare.score_one(x) if has_score else p[True])
    assert type(wrapper.model) is type(bare)


@every_wrapper
def test_weights_reach_the_model(wrap: Callable[[Any], Any]) -> None:
    wrapper, bare = wrap(OAUCM()), OAUCM()
    inside, piped = StandardScaler() | wrap(OAUCM()), StandardScaler() | OAUCM()
    for i, (x, y) in enumerate(PHISHING[:100]):
        for model in (wrapper, bare, inside, piped):
            model.learn_one(x, y, w=1.0 + i % 3)
    assert wrapper.score_one(x) == bare.score_one(x)
    assert inside.score_one(x) == piped.score_one(x)


@every_wrapper
def test_unknown_arguments_are_not_swallowed(wrap: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError):
        wrap(OAUCM()).learn_one({"a": 1.0}, True, weight=2.0)


@every_wrapper
@every_model
def test_prediction_changes_nothing(wrap: Callable[[Any], Any], make: Callable[[], Any]) -> None:
    wrapper = wrap(make())
    for x, y in PHISHING[:50]:
        wrapper.learn_one(x, y)
    before = pickle.dumps(wrapper)
    for x, _ in PHISHING[50:80]:
        assert wrapper.predict_one(x) == wrapper.predict_one(x)
        wrapper.predict_proba_one(x)
        wrapper.score_one(x)
    assert pickle.dumps(wrapper) == before


@every_wrapper
def test_refusals_and_weight_zero_change_nothing(wrap: Callable[[Any], Any]) -> None:
    wrapper = wrap(OAUCM())
    for x, y in PHISHING[:50]:
        wrapper.learn_one(x, y)
    before = pickle.dumps(wrapper)
    wrapper.learn_one(x, y, w=0.0)
    for bad, label, weight in (
        ({"age_of_domain": [1]}, False, 1.0),
        ({"age_of_domain": math.inf}, False, 1.0),
        (x, "phishing", 1.0),
        (x, False, -1.0),
    ):
        with pytest.raises(ValueError):
            wrapper.learn_one(bad, label, w=weight)
    assert pickle.dumps(wrapper) == before


@every_wrapper
def test_copies_go_on_alike(wrap: Callable[[Any], Any]) -> None:
    wrapper = wrap(StandardScaler() | linear_model.LogisticRegression())
    for x, y in PHISHING[:300]:
        wrapper.learn_one(x, y)
    copies = [
        copy.deepcopy(wrapper),
        pickle.loads(pickle.dumps(wrapper)),
        wrapper.clone(include_attributes=True),
    ]
    for x, y in PHISHING[300:600]:
        decision = wrapper.predict_one(x)
        wrapper.learn_one(x, y)
        for twin in copies:
            assert twin.predict_one(x) == decision
            twin.learn_one(x, y)


@every_wrapper
def test_a_clone_has_learned_nothing(wrap: Callable[[Any], Any]) -> None:
    wrapper = wrap(OAUCM())
    fresh = pickle.dumps(wrapper)
    for x, y in PHISHING[:50]:
        wrapper.learn_one(x, y)
    assert pickle.dumps(wrapper.clone()) == fresh


def test_a_clone_takes_new_parameters() -> None:
    model = AlertBudget(OAUCM(), rate=0.1, seed=3)
    model.learn_one({"a": 1.0}, True)
    twin = model.clone({"rate": 0.5, "model": OAUCM(l2=0.5)}, include_attributes=True)
    assert (twin.rate, twin.seed, twin.model.l2) == (0.5, 3, 0.5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AlertBudget(OAUCM(), rate=0.0), "rate is 0.0"),
        (lambda: AlertBudget(OAUCM(), rate=1), "rate is 1"),
        (lambda: AlertBudget(OAUCM(), rate=math.nan), "rate is nan"),
        (lambda: AlertBudget(OAUCM(), rate="1%"), "rate is '1%'"),
        (lambda: AlertBudget(OAUCM(), window_size=0), "window_size is 0"),
        (lambda: AlertBudget(OAUCM), "it must be a classifier"),
        (lambda: AlertBudget(StandardScaler()), "it must be a classifier"),
        (lambda: FalsePositiveRate(OAUCM(), rate=2.0), "rate is 2.0"),
        (lambda: FalsePositiveRate(OAUCM(), window_size=1.5), "window_size is 1.5"),
        (lambda: MinimumCost(OAUCM(), false_positive=0), "false_positive is 0"),
        (lambda: MinimumCost(OAUCM(), false_negative=-1.0), "false_negative is -1.0"),
        (lambda: MinimumCost(OAUCM(), false_negative=None), "false_negative is None"),
    ],
)
def test_parameters_are_checked(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


# The window of scores ----------------------------------------------------------------------------


def test_a_window_without_correction_is_a_quantile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decisions, "_MIN_ALERTS", math.inf)
    monkeypatch.setattr(decisions, "_PATIENCE", math.inf)
    rng = np.random.default_rng(1)
    window, rate = Window(size=99, seed=1), 0.1
    scores = rng.normal(size=500)
    for i, score in enumerate(scores.tolist()):
        if i >= 99:
            # 10 of 100 scores are at the top: this one, or ten of the 99 others.
            latest = scores[i - 99 : i]
            threshold = np.quantile(latest, 1.0 - rate, method="inverted_cdf")
            assert np.count_nonzero(latest >= threshold) == 10
            assert window.is_top(score, rate) == (score > threshold)
            assert not window.is_top(threshold - 1e-9, rate)
            assert window.is_top(threshold + 1e-9, rate)
        window.update(score, rate)
        assert window._sorted == sorted(window._recent)


def test_only_the_order_of_scores_counts() -> None:
    scores = np.random.default_rng(1).normal(size=5_000)
    flags = [
        flags_of(AlertBudget(Given(), rate=0.02, seed=1), made)
        for made in (scores, np.exp(scores), 1e50 * scores - 3.0)
    ]
    assert flags[0].any()
    assert (flags[0] == flags[1]).all()
    assert (flags[0] == flags[2]).all()


@pytest.mark.parametrize("rate", [0.001, 0.01, 0.2])
def test_the_rate_holds_from_the_start(rate: float) -> None:
    """Without a first rush of alerts while there is nothing to compare with."""
    n = round(30 / rate)
    scores = np.random.default_rng(1).standard_cauchy(n)
    flags = flags_of(AlertBudget(Given(), rate=rate, seed=1), scores)
    assert flags.mean() == pytest.approx(rate, rel=0.3)
    assert np.mean(scores[flags] > np.quantile(scores, 1 - 2 * rate)) > 0.6


def drifts(n: int) -> dict[str, np.ndarray]:
    """Return scores that change."""
    noise, t = np.random.default_rng(1).normal(size=n), np.arange(n) / n
    return {
        "stationary": noise,
        "rising": noise + 20.0 * t,
        "falling": noise - 20.0 * t,
        "jump": noise + 5.0 * (t > 0.6),
        "drop": noise - 5.0 * (t > 0.6),
        "scale grows a thousandfold": noise * 1e3**t,
        "scale shrinks a thousandfold": noise * 1e-3**t,
        "waves": noise + 2.0 * np.sin(40.0 * t),
    }


@pytest.mark.parametrize("kind", drifts(1))
def test_the_rate_holds_through_change(kind: str) -> None:
    scores = drifts(40_000)[kind]
    flags = flags_of(AlertBudget(Given(), rate=0.01, seed=1), scores)
    assert 0.008 < flags[20_000:].mean() < 0.0125


@pytest.mark.parametrize("model", [Constant(), Given()])
def test_equal_scores_are_flagged_at_the_rate(model: base.Classifier) -> None:
    scores = np.full(20_000, 0.3)
    wrapper = AlertBudget(model, rate=0.05, seed=1)
    flags = flags_of(wrapper, scores)
    assert flags.mean() == pytest.approx(0.05, rel=0.1)
    assert (flags_of(AlertBudget(model, rate=0.05, seed=1), scores) == flags).all()
    assert (flags_of(AlertBudget(model, rate=0.05, seed=2), scores) != flags).any()


def test_ties_are_broken_at_the_threshold_only() -> None:
    """Of three values, all of the highest are flagged, some of the middle, none of the lowest."""
    scores = np.random.default_rng(1).choice([0.0, 0.5, 1.0], p=[0.85, 0.1, 0.05], size=20_000)
    flags = flags_of(AlertBudget(Given(), rate=0.1, seed=1), scores)[5_000:]
    scores = scores[5_000:]
    assert flags.mean() == pytest.approx(0.1, rel=0.1)
    assert flags[scores == 1.0].mean() > 0.99
    assert flags[scores == 0.5].mean() == pytest.approx(0.5, abs=0.1)
    assert flags[scores == 0.0].mean() < 0.01


def test_scores_that_are_no_numbers_do_no_harm() -> None:
    scores = np.random.default_rng(1).normal(size=10_000)
    scores[3::101], scores[5::103], scores[::7] = np.inf, -np.inf, np.nan
    flags = flags_of(AlertBudget(Given(), rate=0.05, seed=1), scores)
    assert flags.mean() == pytest.approx(0.05, rel=0.1)
    # Once there is something to compare with.
    assert not flags[700::7].any()


def test_an_interrupted_update_is_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    window = Window(size=20, seed=1)
    rng = random.Random(1)
    for step in range(200):
        if step % 10 == 5:
            with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
                patch.setattr(decisions.bisect, "insort", _interrupt)
                window.update(rng.random(), 0.1)
        window.is_top(rng.random(), 0.1)
        window.update(rng.random(), 0.1)
        assert window._sorted == sorted(window._recent)


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def test_one_thread_learns_while_another_copies() -> None:
    wrapper = AlertBudget(Given(), window_size=500, seed=1)
    errors: list[BaseException] = []

    def learn() -> None:
        try:
            flags_of(wrapper, np.random.default_rng(1).normal(size=5_000))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=learn)
    thread.start()
    while thread.is_alive():
        twin = pickle.loads(pickle.dumps(wrapper))
        assert len(twin._window._sorted) == len(twin._window._recent)
        wrapper.predict_one({"score": 0.0})
    thread.join()
    assert not errors


# Alert budgets -----------------------------------------------------------------------------------


def test_a_budget_needs_no_labels() -> None:
    model = AlertBudget(Given(), rate=0.02, seed=1)
    flags = []
    for score in np.random.default_rng(1).normal(size=20_000).tolist():
        flags.append(model.predict_one({"score": score}))
        model.observe_one({"score": score})
    assert np.mean(flags) == pytest.approx(0.02, rel=0.1)


def test_an_observed_record_counts_once() -> None:
    model, inside = AlertBudget(OAUCM(), seed=1), StandardScaler() | AlertBudget(OAUCM(), seed=1)
    for x, _ in PHISHING[:100]:
        model.observe_one(x)
    assert len(model._window._recent) == 100
    counted = pickle.dumps(model._window)
    for x, y in PHISHING[:100]:
        model.learn_one(x, y, observed=True)
        inside.learn_one(x, y, observed=True, w=2.0)
    assert pickle.dumps(model._window) == counted
    assert not inside["AlertBudget"]._window._recent
    assert model.score_one(PHISHING[0][0]) != 0.0
    model.learn_one(x, y)
    assert len(model._window._recent) == 101


def test_a_refused_record_is_not_observed() -> None:
    model = AlertBudget(SparseOAUCM(), seed=1)
    before = pickle.dumps(model)
    with pytest.raises(ValueError):
        model.observe_one([1, 2])  # type: ignore[arg-type]
    assert pickle.dumps(model) == before


@pytest.mark.parametrize(
    "model",
    [
        AlertBudget(StandardScaler() | linear_model.LogisticRegression(), rate=0.2, seed=1),
        StandardScaler() | AlertBudget(linear_model.LogisticRegression(), rate=0.2, seed=1),
        AlertBudget(AlertBudget(OAUCM()), rate=0.2, seed=1),
    ],
    ids=["around", "inside", "nested"],
)
def test_a_budget_in_progressive_validation(model: Any) -> None:
    metric = metrics.ConfusionMatrix()
    evaluate.progressive_val_score(PHISHING, model.clone(), metric)
    flagged = metric.sum_col[True]
    # The scores of a young model grow or shrink.
    assert 0.15 < flagged / len(PHISHING) < 0.25
    assert metric[True][True] / flagged > 0.9


# False positive rates ----------------------------------------------------------------------------


def test_only_negatives_count() -> None:
    """Half of the records are positives all of a sudden, and the negatives do not notice."""
    rng = np.random.default_rng(1)
    n = 40_000
    labels = rng.random(n) < np.where(np.arange(n) < n // 2, 0.01, 0.5)
    scores = rng.normal(size=n) + 2.5 * labels
    flags = flags_of(FalsePositiveRate(Given(), rate=0.01, seed=1), scores, labels)
    late, negatives = flags[n // 2 :], ~labels[n // 2 :]
    assert 0.008 < late[negatives].mean() < 0.0125
    # A threshold of 2.33 is where one normal in a hundred is above.
    assert late[~negatives].mean() == pytest.approx(0.57, abs=0.05)


def test_positives_leave_the_threshold_where_it_is() -> None:
    model = FalsePositiveRate(Given(), rate=0.1, seed=1)
    flags_of(model, np.random.default_rng(1).normal(size=300))
    before = pickle.dumps(model)
    model.learn_one({"score": 9.0}, True)
    model.learn_one({"score": 9.0}, 1)
    assert pickle.dumps(model) == before
    model.learn_one({"score": 9.0}, 0)
    assert pickle.dumps(model) != before


# Costs -------------------------------------------------------------------------------------------


def two_normals(n: int, share: Any, gap: float = 2.0, seed: int = 1) -> tuple[Any, Any]:
    """Return scores and labels whose log odds are gap · (score - gap / 2) + log prior odds."""
    rng = np.random.default_rng(seed)
    labels = rng.random(n) < share
    return rng.normal(size=n) + gap * labels, labels


def cost_of(flags: Any, labels: Any, miss: float) -> float:
    return np.count_nonzero(flags & ~labels) + miss * np.count_nonzero(~flags & labels)


def least_cost(scores: Any, labels: Any, miss: float) -> float:
    """Return the cost of the best of many fixed thresholds."""
    thresholds = np.quantile(scores, np.linspace(0.0, 1.0, 1_001))
    return min(cost_of(scores > threshold, labels, miss) for threshold in thresholds)


@pytest.mark.parametrize(("share", "miss"), [(0.02, 50.0), (0.02, 10.0), (0.3, 2.0)])
def test_costs_are_near_the_least(share: float, miss: float) -> None:
    scores, labels = two_normals(20_000, share)
    flags = flags_of(MinimumCost(Given(), 1.0, miss), scores, labels)
    assert cost_of(flags, labels, miss) < 1.08 * least_cost(scores, labels, miss)


def test_costs_follow_the_share_of_positives() -> None:
    """A fixed threshold, even the best one with hindsight, cannot."""
    n, miss = 40_000, 10.0
    share = np.where(np.arange(n) < n // 2, 0.01, 0.3)
    scores, labels = two_normals(n, share)
    flags = flags_of(MinimumCost(Given(), 1.0, miss), scores, labels)
    assert cost_of(flags, labels, miss) < 0.97 * least_cost(scores, labels, miss)


def test_the_unit_of_cost_does_not_matter() -> None:
    scores, labels = two_normals(2_000, 0.05)
    flags = flags_of(MinimumCost(Given(), 1.0, 20.0), scores, labels)
    assert (flags_of(MinimumCost(Given(), 100.0, 2e3), scores, labels) == flags).all()


def test_the_unit_of_scores_does_not_matter() -> None:
    scores, labels = two_normals(2_000, 0.05)
    flags = flags_of(MinimumCost(Given()), scores, labels)
    assert np.mean(flags_of(MinimumCost(Given()), 1e6 * scores + 5e5, labels) == flags) > 0.999


def test_log_odds_are_right_where_alerts_begin_to_pay() -> None:
    scores, labels = two_normals(20_000, 0.05)
    calibration = Calibration()
    for score, label in zip(scores.tolist(), labels.tolist(), strict=True):
        calibration = calibration.updated(score, label, 1.0, math.log(20.0))
    for log_odds in (-4.0, -3.0, -2.0):
        score = (log_odds - math.log(0.05 / 0.95)) / 2.0 + 1.0
        assert calibration.log_odds(score) == pytest.approx(log_odds, abs=0.6)


def test_weights_make_up_for_undersampling() -> None:
    scores, labels = two_normals(40_000, 0.02)
    kept = labels | (np.random.default_rng(2).random(len(labels)) < 0.1)
    model = MinimumCost(Weighted(), 1.0, 20.0)
    flags = []
    for score, label, is_kept in zip(scores.tolist(), labels.tolist(), kept.tolist(), strict=True):
        flags.append(model.predict_one({"score": score}))
        if is_kept:
            model.learn_one({"score": score}, label, w=1.0 if label else 10.0)
    assert cost_of(np.array(flags), labels, 20.0) < 1.15 * least_cost(scores, labels, 20.0)


class Weighted(Given):
    """A model whose score is a feature, and which takes weights."""

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        pass


def test_costs_may_be_features() -> None:
    scores, labels = two_normals(10_000, 0.05)
    amounts = np.random.default_rng(2).lognormal(3.0, 1.0, size=len(labels))
    costs = []
    for miss in ("amount", float(amounts.mean())):
        model = MinimumCost(Given(), 10.0, miss)
        cost = 0.0
        for score, label, amount in zip(scores.tolist(), labels.tolist(), amounts, strict=True):
            x = {"score": score, "amount": amount}
            flagged = model.predict_one(x)
            cost += (0.0 if label else 10.0) if flagged else (amount if label else 0.0)
            model.learn_one(x, label)
        costs.append(cost)
    assert costs[0] < 0.95 * costs[1]


@pytest.mark.parametrize("amount", [None, "12", -1.0, math.nan, math.inf, 10**400])
def test_a_cost_must_be_a_number(amount: Any) -> None:
    model = MinimumCost(Given(), false_negative="amount")
    model.learn_one({"score": 1.0, "amount": 0.0}, True)
    before = pickle.dumps(model)
    for x in ({"score": 1.0, "amount": amount}, {"score": 1.0}):
        with pytest.raises(ValueError, match="false_negative is the feature 'amount', which is"):
            model.learn_one(x, True)
        with pytest.raises(ValueError, match="it must be a finite number, 0 or more"):
            model.predict_one(x)
    assert pickle.dumps(model) == before


def test_nothing_is_risked_where_nothing_can_be_lost() -> None:
    model = MinimumCost(Given(), "alert", "amount")
    for _ in range(20):
        model.learn_one({"score": 1.0, "alert": 1.0, "amount": 0.0}, True)
        model.learn_one({"score": 1.0, "alert": 0.0, "amount": 0.0}, False)
    assert not model.predict_one({"score": 1.0, "alert": 1.0, "amount": 0.0})
    assert model.predict_one({"score": 1.0, "alert": 0.0, "amount": 1e-9})


def test_extremes_leave_the_calibration_finite() -> None:
    rng = random.Random(1)
    model = MinimumCost(Weighted(), "alert", "amount")
    for _ in range(3_000):
        x = {
            "score": rng.choice([0.0, 1e300, -1e300, 1e-300, math.nan, math.inf, rng.gauss(0, 1)]),
            "alert": rng.choice([0.0, 1e-300, 1.0, 1e300]),
            "amount": rng.choice([0.0, 1e-300, 1.0, 1e300]),
        }
        model.predict_one(x)
        model.learn_one(x, rng.random() < 0.5, w=rng.choice([1e-9, 1.0, 1e9]))
        for value in model._calibration:
            assert np.isfinite(value).all()
            assert np.abs(value).max() < 1e210


def test_probabilities_do_when_there_is_no_score() -> None:
    model = MinimumCost(StandardScaler() | linear_model.LogisticRegression(), 1.0, 10.0)
    metric = metrics.ConfusionMatrix()
    evaluate.progressive_val_score(PHISHING, model, metric)
    # Flagging everything would cost 1 for each negative.
    negatives = metric[False][False] + metric[False][True]
    assert metric[False][True] + 10.0 * metric[True][False] < 0.7 * negatives


def test_a_clone_keeps_the_latest_scores_of_a_smaller_window() -> None:
    model = AlertBudget(Given(), rate=0.1, window_size=100, seed=1)
    for score in range(50):
        model.observe_one({"score": float(score)})
    twin = model.clone({"window_size": 10}, include_attributes=True)
    assert twin._window.size == twin.window_size == 10
    assert twin._window._sorted == [float(score) for score in range(40, 50)]
    assert model._window.size == 100
