"""The map from scores to probabilities: its order, its extremes, and what its numbers mean."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression

import river_oauc
from river_oauc.rankers.calibration import MAX_SLOPE, probability, slope
from river_oauc.rankers.scores import RecentScores

# Log odds from far below to far above zero, each at least a thousandth away from the next.
MAGNITUDES = np.geomspace(1e-3, 1e6, 20_000)
probabilities = np.vectorize(probability)

LOGITS = np.concatenate([-MAGNITUDES[::-1], [0.0], MAGNITUDES])


def test_distinct_logits_have_distinct_probabilities_up_to_a_million():
    p = probabilities(LOGITS)
    assert np.all(np.diff(p) > 0.0)
    assert 0.0 < p[0] < p[-1] < 1.0
    # After a plain sigmoid some would be equal.
    with np.errstate(over="ignore"):
        assert np.any(np.diff(1.0 / (1.0 + np.exp(-LOGITS))) == 0.0)


def test_the_tails_join_the_middle_without_a_jump():
    # The sigmoid rises by a quarter per logit at most, and its tails by less.
    steps = np.diff(probabilities(np.arange(-10.0, 10.0, 1e-3)))
    assert 0.0 < np.min(steps) and np.max(steps) <= 0.2501e-3
    middle = np.linspace(-7.9, 7.9, 100)
    np.testing.assert_allclose(probabilities(middle), 1.0 / (1.0 + np.exp(-middle)), rtol=1e-12)


@pytest.mark.parametrize("logit", [0.0, 1.0, 8.0, 9.0, 1e10, 1e250, math.inf])
def test_every_logit_has_a_probability(logit):
    assert 0.5 <= probability(logit) <= 1.0
    assert probability(-logit) == pytest.approx(1.0 - probability(logit), abs=1e-15)


@given(gap=st.floats(-1e101, 1e101), deviation=st.floats(0.0, 1e101))
def test_every_slope_is_positive_and_finite(gap, deviation):
    assert 0.0 < slope(gap, deviation**2) <= MAX_SLOPE


@pytest.mark.parametrize("gap", [0.0, 5e-324, -1e-300, 1e-279, 1e-151])
@pytest.mark.parametrize("variance", [0.0, 5e-324, 1e-310])
def test_scores_that_hardly_differ_count_as_equal(gap, variance):
    """No slope would be steep enough to tell them apart and still be a double."""
    assert slope(gap, variance) == 1.0


def test_classes_are_at_most_four_and_at_least_a_tenth_of_a_deviation_apart():
    # Beyond four deviations, the class means are at logits of 8 and -8.
    for variance in (0.0, 1e-12, 1e-3):
        assert slope(2.0, variance) == pytest.approx(8.0)
    assert slope(6.0, 4.0) == pytest.approx(1.5)
    for gap in (0.1, 0.01, 0.0):
        assert slope(gap, 1.0) == pytest.approx(0.1)
    # In the wrong order they are as close, but the deviation is at least a fourth of the gap.
    assert slope(-3.0, 1.0) == pytest.approx(0.1)
    assert slope(-40.0, 1.0) == pytest.approx(0.1 / 10.0)


# What the numbers mean -------------------------------------------------------------------------


def gaussian_scores(n_positive: int, n_negative: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    scores = np.concatenate([rng.normal(2.0, 1.5, n_positive), rng.normal(-0.5, 1.5, n_negative)])
    return scores, np.repeat([True, False], [n_positive, n_negative])


def calibrated(scores: np.ndarray, y: np.ndarray, empirical: bool = False) -> np.ndarray:
    positive, negative = scores[y], scores[~y]
    gap, variance = positive.mean() - negative.mean(), (positive.var() + negative.var()) / 2
    logits = slope(gap, variance) * (scores - (positive.mean() + negative.mean()) / 2)
    return probabilities(logits + empirical * math.log(len(positive) / len(negative)))


def test_the_posterior_is_that_of_linear_discriminant_analysis():
    scores, y = gaussian_scores(20_000, 20_000, seed=0)
    analysis = LinearDiscriminantAnalysis(solver="lsqr", priors=[0.5, 0.5])
    expected = analysis.fit(scores[:, None], y).predict_proba(scores[:, None])[:, 1]
    # Outside this range the tails are different.
    within = np.abs(np.log(expected / (1.0 - expected))) < 8.0
    assert np.mean(within) > 0.999
    np.testing.assert_allclose(calibrated(scores, y)[within], expected[within], atol=1e-9)


@pytest.mark.parametrize(("n_positive", "tolerance"), [(20_000, 0.01), (800, 0.03)])
def test_the_empirical_posterior_is_close_to_a_logistic_fit(n_positive, tolerance):
    scores, y = gaussian_scores(n_positive, 40_000 - n_positive, seed=2)
    regression = LogisticRegression(C=1e6).fit(scores[:, None], y)
    expected = regression.predict_proba(scores[:, None])[:, 1]
    np.testing.assert_allclose(calibrated(scores, y, True), expected, atol=tolerance)


@pytest.mark.parametrize("n_positive", [200, 1_000, 10_000, 19_000])
def test_empirical_probabilities_mean_frequencies(n_positive):
    scores, y = gaussian_scores(n_positive, 20_000 - n_positive, seed=3)
    p = calibrated(scores, y, True)
    assert p.mean() == pytest.approx(y.mean(), rel=0.05)
    for group in np.array_split(np.argsort(p), 5):
        noise = math.sqrt(p[group].mean() / len(group))
        assert abs(p[group].mean() - y[group].mean()) < 4 * noise + 0.01


@pytest.mark.parametrize("n_positive", [200, 10_000])
def test_one_half_balances_the_errors_of_the_classes(n_positive):
    scores, y = gaussian_scores(n_positive, 20_000 - n_positive, seed=4)
    predicted = calibrated(scores, y) > 0.5
    missed, false_alarms = np.mean(~predicted[y]), np.mean(predicted[~y])
    assert missed == pytest.approx(false_alarms, abs=4 * math.sqrt(0.2 * 0.8 / n_positive))


# Running statistics ----------------------------------------------------------------------------


def recent(scores):
    statistics = RecentScores()
    for score in scores:
        statistics.update(score, positive=True, weight=2.0)
    return statistics


@pytest.mark.parametrize("n", [0, 1, 20, 60])
def test_statistics_of_few_scores_and_of_two_parts_are_exact(n):
    # All are equally large, so that is the unit.
    scores = 3.0 * np.random.default_rng(n).choice([-1.0, 1.0], size=60, p=[0.3, 0.7])
    merged = recent(scores[:n])
    merged.merge(recent(scores[n:]))
    for statistics in (recent(scores), merged):
        assert statistics.mean_square == pytest.approx(9.0)
        expected = (60, 120.0, scores.mean() / 3.0, scores.var() / 9.0)
        assert statistics.classes[1] == pytest.approx(expected, rel=1e-12)


# The stack of AutoOAUC counts half an example of each class from the beginning.
@pytest.mark.parametrize("name", [name for name in river_oauc.__all__ if name != "AutoOAUC"])
@pytest.mark.parametrize("prior", ["balanced", "empirical"])
@pytest.mark.parametrize("y", [False, True])
def test_a_score_is_the_log_odds_until_both_classes_are_known(name, prior, y):
    model = getattr(river_oauc, name)(prior=prior)
    for a in (0.5, 1.0, -2.0):
        model.learn_one({"a": a, "b": 1.0}, y)
    x = {"a": 3.0, "b": 1.0}
    assert model.predict_proba_one(x)[True] == probability(model.score_one(x))
