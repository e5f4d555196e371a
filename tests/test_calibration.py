"""The map from scores to probabilities: its order, its edges, and what its numbers mean."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression

from river_oauc.calibration import Calibration

# Logits from far below to far above zero, each at least a thousandth away from the next.
MAGNITUDES = np.geomspace(1e-3, 1e6, 20_000)
LOGITS = np.concatenate([-MAGNITUDES[::-1], [0.0], MAGNITUDES])


def fitted(
    mean_positive: float = 1.0,
    mean_negative: float = -1.0,
    variance: float = 1.0,
    odds: float = 1.0,
    prior: str = "balanced",
) -> Calibration:
    calibration = Calibration(prior)
    calibration.fit(mean_positive, mean_negative, variance, odds)
    return calibration


def scores_with_logits(calibration: Calibration, logits: np.ndarray) -> np.ndarray:
    """Scores that lie this many of the map's own units from its midpoint."""
    return calibration.midpoint + logits / calibration.slope


FITS = {
    "before any fit": Calibration(),
    "usual": fitted(),
    "far from zero": fitted(103.0, 97.0, 4.0),
    "overlapping": fitted(0.001, -0.001, 1.0),
    "reversed": fitted(-1.0, 1.0, 1.0),
    "separated": fitted(1.0, -1.0, 1e-12),
    "tiny": fitted(1e-120, -1e-120, 1e-240),
    "huge": fitted(1e90, -1e90, 1e180),
    "rare positives": fitted(odds=1e-3, prior="empirical"),
    "rare negatives": fitted(odds=1e6, prior="empirical"),
}
each_fit = pytest.mark.parametrize("calibration", FITS.values(), ids=FITS.keys())


# Order ---------------------------------------------------------------------------------------


@each_fit
def test_distinct_scores_have_distinct_probabilities_up_to_logits_of_a_million(calibration):
    scores = scores_with_logits(calibration, LOGITS)
    assert np.all(np.diff(scores) > 0.0)
    probabilities = [calibration.probability(score) for score in scores.tolist()]
    assert np.all(np.diff(probabilities) > 0.0)
    assert np.all(np.diff(calibration.probabilities(scores)) > 0.0)
    assert 0.0 < probabilities[0] < probabilities[-1] < 1.0


def test_a_plain_sigmoid_makes_ties_of_them():
    # This is what the logarithmic tails are for.
    with np.errstate(over="ignore"):
        assert np.any(np.diff(1.0 / (1.0 + np.exp(-LOGITS))) == 0.0)


@given(
    gap=st.floats(-1e3, 1e3),
    middle=st.floats(-10.0, 10.0),
    variance=st.floats(1e-6, 1e6),
    logits=st.lists(st.floats(-1e5, 1e5), min_size=2, max_size=2),
)
@settings(max_examples=200, deadline=None)
def test_a_higher_score_never_has_a_lower_probability(gap, middle, variance, logits):
    calibration = fitted(middle + gap / 2, middle - gap / 2, variance)
    low, high = sorted(scores_with_logits(calibration, np.array(logits)).tolist())
    assert calibration.probability(low) <= calibration.probability(high)


@each_fit
def test_the_tails_join_the_middle_without_a_jump(calibration):
    edges = np.arange(-10.0, 10.0, 1e-3)
    probabilities = calibration.probabilities(scores_with_logits(calibration, edges))
    # The sigmoid rises by a quarter per logit at most, and its tails by less.
    assert np.max(np.diff(probabilities)) <= 0.2501e-3


@given(
    score=st.floats(-1e100, 1e100),
    mean_positive=st.floats(-1e100, 1e100),
    mean_negative=st.floats(-1e100, 1e100),
    deviation=st.floats(0.0, 1e100),
    odds=st.floats(1e-50, 1e50),
    prior=st.sampled_from(["balanced", "empirical"]),
)
@settings(max_examples=300, deadline=None)
def test_a_probability_is_one_whatever_the_scores(
    score, mean_positive, mean_negative, deviation, odds, prior
):
    calibration = fitted(mean_positive, mean_negative, deviation**2, odds, prior)
    assert math.isfinite(calibration.slope) and calibration.slope > 0.0
    assert 0.0 <= calibration.probability(score) <= 1.0


@pytest.mark.parametrize(("gap", "is_one_score"), [(1e-149, False), (1e-151, True)])
def test_scores_that_hardly_differ_are_one_score(gap, is_one_score):
    """No slope would be steep enough to tell them apart and still a double."""
    # Of one score, a plain sigmoid is all that can be made.
    assert (fitted(gap, -gap, variance=gap**2).slope == 1.0) is is_one_score


# One score or many ---------------------------------------------------------------------------


@each_fit
def test_many_scores_are_mapped_as_one(calibration):
    logits = np.concatenate([LOGITS[::100], [-8.0, 8.0, np.nextafter(8.0, 9.0)], [-1e15, 1e15]])
    scores = scores_with_logits(calibration, logits)
    expected = [calibration.probability(score) for score in scores.tolist()]
    np.testing.assert_allclose(calibration.probabilities(scores), expected, rtol=1e-12)


@pytest.mark.parametrize("score", [-1e100, -1e30, -1e28, -1.0, 0.0, 1.0, 1e28, 1e30, 1e100])
@pytest.mark.parametrize("mean", [1e-279, 1e-200, 1e-100])
def test_scores_far_beyond_tiny_classes_have_probabilities(score, mean):
    # A score is a product of features and weights, all of them below 1e50: 1e100 is the largest.
    calibration = fitted(mean, -mean, 0.0)
    p = calibration.probability(score)
    assert 0.0 <= p <= 1.0
    assert (p > 0.5) == (score > 0.0)
    np.testing.assert_allclose(calibration.probabilities(np.array([score])), [p], rtol=1e-9)


def test_the_scores_given_are_left_alone():
    scores = np.array([-20.0, 0.0, 20.0])
    fitted().probabilities(scores)
    np.testing.assert_array_equal(scores, [-20.0, 0.0, 20.0])


# Degenerate classes --------------------------------------------------------------------------


def test_nothing_known():
    calibration = Calibration()
    assert calibration.probability(0.0) == 0.5
    assert calibration.probability(1.0) == pytest.approx(1.0 / (1.0 + math.exp(-1.0)))


@pytest.mark.parametrize(
    "gap, variance",
    [
        (0.0, 0.0),
        (0.0, 1.0),
        (1.0, 0.0),
        (-1.0, 0.0),
        (-1.0, 1.0),
        (5e-324, 0.0),
        (0.0, 5e-324),
        (5e-324, 5e-324),
        (1e-300, 1e-310),
        (-1e-300, 1e-310),
        (1e-279, 0.0),
        (1e-140, 1e-308),
        (1e100, 0.0),
        (1e100, 1e-308),
        (0.0, 1e200),
    ],
)
def test_degenerate_classes_still_give_an_increasing_map(gap, variance):
    calibration = fitted(gap, 0.0, variance)
    assert math.isfinite(calibration.slope)
    assert calibration.slope > 0.0
    assert calibration.probability(calibration.midpoint) == 0.5
    scores = scores_with_logits(calibration, np.array([-100.0, -1.0, 0.0, 1.0, 100.0]))
    assert np.all(np.diff(calibration.probabilities(scores)) > 0.0)


@pytest.mark.parametrize("variance", [0.0, 1e-12, 1e-3])
def test_separated_classes_do_not_make_a_step(variance):
    # The classes count as four deviations apart: their means are at logits of 8 and -8.
    calibration = fitted(3.0, 1.0, variance)
    assert calibration.probability(3.0) == pytest.approx(1.0 / (1.0 + math.exp(-8.0)))
    assert calibration.probability(1.0) == pytest.approx(1.0 / (1.0 + math.exp(8.0)))


# What the numbers mean -----------------------------------------------------------------------


def gaussian_scores(n_positive: int, n_negative: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    scores = np.concatenate([rng.normal(2.0, 1.5, n_positive), rng.normal(-0.5, 1.5, n_negative)])
    return scores, np.repeat([True, False], [n_positive, n_negative])


def fitted_to(scores: np.ndarray, y: np.ndarray, prior: str = "balanced") -> Calibration:
    positive, negative = scores[y], scores[~y]
    return fitted(
        positive.mean(),
        negative.mean(),
        0.5 * (positive.var() + negative.var()),
        len(positive) / len(negative),
        prior,
    )


def test_the_posterior_is_that_of_linear_discriminant_analysis():
    scores, y = gaussian_scores(20_000, 20_000, seed=0)
    analysis = LinearDiscriminantAnalysis(solver="lsqr", priors=[0.5, 0.5])
    expected = analysis.fit(scores[:, None], y).predict_proba(scores[:, None])[:, 1]
    # Outside this range the tails are ours.
    within = np.abs(np.log(expected / (1.0 - expected))) < 8.0
    assert np.mean(within) > 0.999
    np.testing.assert_allclose(
        fitted_to(scores, y).probabilities(scores)[within], expected[within], atol=1e-9
    )


def test_the_posterior_is_close_to_a_logistic_fit():
    scores, y = gaussian_scores(20_000, 20_000, seed=1)
    regression = LogisticRegression(C=1e6).fit(scores[:, None], y)
    expected = regression.predict_proba(scores[:, None])[:, 1]
    np.testing.assert_allclose(fitted_to(scores, y).probabilities(scores), expected, atol=0.01)


def test_the_empirical_posterior_is_close_to_a_logistic_fit_of_rare_positives():
    scores, y = gaussian_scores(2_000, 98_000, seed=2)
    regression = LogisticRegression(C=1e6).fit(scores[:, None], y)
    expected = regression.predict_proba(scores[:, None])[:, 1]
    p = fitted_to(scores, y, "empirical").probabilities(scores)
    np.testing.assert_allclose(p, expected, atol=0.03)


@pytest.mark.parametrize("n_positive", [200, 1_000, 10_000, 19_000])
def test_empirical_probabilities_mean_frequencies(n_positive):
    scores, y = gaussian_scores(n_positive, 20_000 - n_positive, seed=3)
    p = fitted_to(scores, y, "empirical").probabilities(scores)
    assert p.mean() == pytest.approx(y.mean(), rel=0.05)
    # So do they in groups of like probability, not only on the whole.
    for group in np.array_split(np.argsort(p), 5):
        frequency = y[group].mean()
        noise = math.sqrt(p[group].mean() / len(group))
        assert abs(p[group].mean() - frequency) < 4 * noise + 0.01


@pytest.mark.parametrize("n_positive", [200, 10_000])
def test_one_half_balances_the_errors_of_the_classes(n_positive):
    scores, y = gaussian_scores(n_positive, 20_000 - n_positive, seed=4)
    predicted = fitted_to(scores, y).probabilities(scores) > 0.5
    missed, false_alarms = np.mean(~predicted[y]), np.mean(predicted[~y])
    assert missed == pytest.approx(false_alarms, abs=4 * math.sqrt(0.2 * 0.8 / n_positive))


def test_the_balanced_prior_ignores_the_odds():
    scores = np.linspace(-3.0, 3.0, 7)
    for odds in (1e-6, 0.5, 1e6):
        np.testing.assert_array_equal(
            fitted(odds=odds).probabilities(scores), fitted().probabilities(scores)
        )


@pytest.mark.parametrize("prior", ["uniform", "Balanced", "", None, 0.5, True])
def test_a_prior_that_there_is_not_is_refused(prior):
    with pytest.raises(ValueError, match="prior"):
        Calibration(prior)
