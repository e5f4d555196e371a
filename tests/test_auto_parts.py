"""What AutoOAUCM and AutoOKAUCM are made of, each part against a direct computation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from auto_reference import relevance as plain_relevance
from scipy.optimize import minimize
from scipy.spatial.distance import pdist
from sklearn.metrics import roc_auc_score

from river_oauc.auto.closed_form import closed_forms
from river_oauc.auto.experts import Newton, implicit_margin, pairwise_step, tracking_step
from river_oauc.auto.generations import Generations
from river_oauc.auto.judge import Judge, shares_of
from river_oauc.auto.landmarks import KernelExperts
from river_oauc.auto.maps import KernelMaps, relevance
from river_oauc.auto.probability import ProgressiveScores
from river_oauc.calibration import Calibration
from river_oauc.stats.moments import ForgettingMoments
from river_oauc.stats.units import Units

# Units -----------------------------------------------------------------------------------------


class PlainUnits:
    """One feature."""

    def __init__(self) -> None:
        self.n = 0
        self.mean = self.variance = 0.0

    def update(self, x: float) -> None:
        if math.isnan(x):
            return
        self.n += 1
        rate = 1 / min(self.n, 1000)
        furthest = math.sqrt(1000 * self.variance)
        gap = x - self.mean
        if self.variance:
            gap = min(max(gap, -furthest), furthest)
        self.mean += rate * gap
        self.variance = (1 - rate) * (self.variance + rate * gap**2)

    def standardized(self, x: float) -> float:
        if math.isnan(x) or not self.variance:
            return 0.0
        z = (x - self.mean) / math.sqrt(self.variance)
        return z / math.sqrt(1 + z**2 / 16)


@pytest.mark.parametrize("share_missing", [0.0, 0.3])
def test_units_are_those_of_a_loop_over_the_features(share_missing: float) -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(2_500, 4)) * [1e-3, 1.0, 1e6, 0.0] + [5.0, 0.0, 1e6, 3.0]
    rows[::50, 1] *= 1e4
    rows[1_000:, 2] *= 3.0
    rows[rng.random(rows.shape) < share_missing] = math.nan
    units, plain = Units(4), [PlainUnits() for _ in range(4)]
    for t, row in enumerate(rows):
        units.update(row)
        for feature, x in zip(plain, row, strict=True):
            feature.update(x)
        if t % 100 == 0:
            expected = [feature.standardized(x) for feature, x in zip(plain, row, strict=True)]
            np.testing.assert_allclose(units.standardized(row), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(units.mean, [feature.mean for feature in plain], rtol=1e-9)
    assert units.n_varying == 3
    deviations = [math.sqrt(feature.variance) for feature in plain[:3]]
    np.testing.assert_allclose(1.0 / units.factors[:3], deviations, rtol=1e-9)
    assert units.factors[3] == 0.0
    matrix = units.standardized(rows[:30])
    np.testing.assert_array_equal(matrix, [units.standardized(row) for row in rows[:30]])
    assert np.abs(matrix).max() < 4.0


def test_units_leave_what_they_are_given_alone() -> None:
    units, x = Units(2), np.array([1.0, math.nan])
    for _ in range(3):
        units.update(x)
        units.standardized(x)
    np.testing.assert_array_equal(x, [1.0, math.nan])


def test_units_grow_by_features_that_have_been_zero() -> None:
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(60, 3))
    rows[:30, 2] = 0.0
    late, explicit = Units(2), Units(3)
    for t, row in enumerate(rows):
        if t == 30:
            late.resize(3)
        late.update(row[: len(late.mean)].copy())
        explicit.update(row)
    np.testing.assert_allclose(late.mean, explicit.mean, rtol=1e-12)
    np.testing.assert_allclose(late.factors, explicit.factors, rtol=1e-12)


# The closed form -------------------------------------------------------------------------------


def two_classes(n: int, p: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 4 == 0
    rows = rng.normal(size=(n, p)) @ rng.normal(size=(p, p))
    rows[labels] += rng.normal(size=p)
    return rows, labels, rng.choice([0.5, 1.0, 3.0], size=n)


def moments_of(rows: np.ndarray, weights: np.ndarray) -> ForgettingMoments:
    moments = ForgettingMoments(rows.shape[1], math.inf)
    for row, w in zip(rows, weights.tolist(), strict=True):
        moments.update(row.copy(), w)
    return moments


@pytest.mark.parametrize("with_metric", [False, True])
def test_the_closed_form_is_the_minimiser_over_stored_examples(with_metric: bool) -> None:
    """Least squares towards -1 and 1, the classes counting alike, as augmented normal equations."""
    p = 5
    rows, labels, importance = two_classes(80, p, seed=3)
    classes = tuple(moments_of(rows[labels == k], importance[labels == k]) for k in (False, True))
    n_negative, n_positive = importance[~labels].sum(), importance[labels].sum()
    n = 4 / (1 / n_negative + 1 / n_positive)
    metric = None
    if with_metric:
        root = np.random.default_rng(4).normal(size=(p, p))
        metric = np.asfortranarray(root @ root.T)
    strengths = (0.1, 10.0)
    total = classes[0].covariance + classes[1].covariance
    for strength, (weights, bias) in zip(
        strengths, closed_forms(classes, strengths, metric), strict=True
    ):
        if metric is None:
            ridge = 0.5 * np.trace(total) * (strength / n + 1e-8) * np.eye(p)
        else:
            ridge = metric * strength / n + 1e-8 * np.eye(p)
        balance = np.where(labels, importance / n_positive, importance / n_negative)
        design = np.column_stack([rows, -np.ones(len(rows))]) * np.sqrt(balance)[:, np.newaxis]
        target = np.where(labels, 1.0, -1.0) * np.sqrt(balance)
        # A ridge on the weights, none on the bias, as further rows.
        penalty = np.column_stack([np.linalg.cholesky(ridge).T, np.zeros(p)])
        expected, *_ = np.linalg.lstsq(
            np.vstack([design, penalty]), np.append(target, np.zeros(p)), rcond=None
        )
        np.testing.assert_allclose(np.append(weights, bias), expected, rtol=1e-7)


def test_the_closed_form_of_classes_that_do_not_vary_or_differ() -> None:
    same = np.full((3, 2), 0.7)
    ((weights, bias),) = closed_forms((moments_of(same, np.ones(3)),) * 2, (0.1,))
    assert weights.tolist() == [0.0, 0.0]
    assert bias == 0.0
    apart = moments_of(same, np.ones(3)), moments_of(same + 1.0, np.ones(3))
    ((weights, bias),) = closed_forms(apart, (0.1,))
    assert weights @ same[0] - bias == pytest.approx(-1.0)
    assert weights @ same[0] + weights.sum() - bias == pytest.approx(1.0)


# The experts that step -------------------------------------------------------------------------


@pytest.mark.parametrize("pull", [0.0, 1e-9, 0.3, 5.0, 1e3, 1e12])
@pytest.mark.parametrize("margin", [-1e6, -800.0, -30.0, -1.0, 0.0, 0.5, 20.0, 800.0])
def test_the_implicit_margin_solves_its_equation(margin: float, pull: float) -> None:
    root = implicit_margin(margin, pull)
    error = 1.0 / (1.0 + math.exp(root)) if root < 700.0 else 0.0
    assert root == pytest.approx(margin + pull * error, rel=1e-9, abs=1e-9)


def test_a_newton_step_minimises_loss_and_distance() -> None:
    rng = np.random.default_rng(5)
    newton = Newton(4)
    covariance = np.diag([1.0] + [1 / 1.5] * 3)
    for t in range(12):
        phi = np.append(1.0, 2.0 * rng.normal(size=3))
        sign, c = (1.0, 0.7) if t % 3 else (-1.0, 1.6)
        precision, old = np.linalg.inv(covariance), newton.weights.copy()

        def loss(v: np.ndarray, phi=phi, sign=sign, c=c, precision=precision, old=old) -> float:
            gap = v - old
            return c * np.logaddexp(0.0, -sign * (phi @ v)) + 0.5 * gap @ precision @ gap

        newton.step(phi, sign, c)
        found = minimize(loss, old, method="BFGS", options={"gtol": 1e-9})
        np.testing.assert_allclose(newton.weights, found.x, atol=1e-5)
        p = 1.0 / (1.0 + math.exp(-(phi @ newton.weights)))
        covariance = np.linalg.inv(precision + c * p * (1 - p) * np.outer(phi, phi))
        upper = np.triu(newton._covariance)
        np.testing.assert_allclose(upper, np.triu(covariance), rtol=1e-9, atol=1e-12)


def test_newton_grows_by_features_at_their_prior() -> None:
    rng = np.random.default_rng(6)
    late, explicit = Newton(3), Newton(4)
    for t in range(20):
        phi = np.append(1.0, rng.normal(size=3))
        if t < 10:
            phi[3] = 0.0
        elif t == 10:
            late.resize(4)
        late.step(phi[: len(late.weights)].copy(), 1.0 if t % 2 else -1.0, 1.0)
        explicit.step(phi, 1.0 if t % 2 else -1.0, 1.0)
    np.testing.assert_allclose(late.weights, explicit.weights, rtol=1e-12)


@pytest.mark.parametrize(("c", "part"), [(0.5, 0.1), (2.0, 0.4), (5.0, 1.0), (100.0, 1.0)])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_tracking_step_goes_a_part_of_the_way(sign: float, c: float, part: float) -> None:
    weights, phi = np.array([0.3, -1.0, 2.0]), np.array([1.0, 0.4, -0.7])
    before = weights @ phi
    tracking_step(weights, phi, sign, c)
    assert weights @ phi == pytest.approx(before + part * (sign - before))


@pytest.mark.parametrize(("c", "part"), [(0.5, 0.075), (2.0, 0.3), (10.0, 1.0)])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_pairwise_step_goes_a_part_of_the_way(sign: float, c: float, part: float) -> None:
    weights, z = np.array([9.0, -1.0, 2.0]), np.array([0.4, -0.7])
    means = np.array([-1.0, 0.5]), np.array([0.7, 0.2])
    direction = z - (means[0] if sign > 0 else means[1])
    before = weights[1:] @ direction
    pairwise_step(weights, z, sign, c, means)
    after = weights[1:] @ direction
    assert after == pytest.approx(before + part * (2.0 * sign - before), rel=1e-6)
    assert weights[0] == pytest.approx(-weights[1:] @ (means[0] + means[1]) / 2.0)


# The judge -------------------------------------------------------------------------------------


def test_shares_add_up_and_are_in_proportion() -> None:
    leads = np.array([0.3, 0.1, 0.3])
    before = leads.copy()
    shares = shares_of(leads, 25.0)
    assert leads.tolist() == before.tolist()
    assert shares.sum() == pytest.approx(1.0)
    assert shares[0] == shares[2]
    assert shares[0] / shares[1] == pytest.approx(math.exp(4.0 * 5.0 * 0.2))
    assert shares_of(leads, 0.0).tolist() == pytest.approx([1 / 3] * 3)
    assert np.isfinite(shares_of(np.array([0.5, -0.5]), 1e100)).all()


def wins_by_force(scores: np.ndarray, others: list[np.ndarray], positive: bool) -> np.ndarray:
    """The share of the comparisons that each competitor gets right; ties and near ties in part."""
    sign = 1.0 if positive else -1.0
    wins = []
    for row, score in enumerate(scores):
        gaps = [sign * (score - other[row]) for other in others]
        wins.append(np.mean([min(max(0.5 + gap / 2e-4, 0.0), 1.0) for gap in gaps]))
    return np.array(wins)


def test_the_judge_counts_wins_against_the_latest_of_the_other_class() -> None:
    rng = np.random.default_rng(7)
    judge = Judge(3)
    seen: tuple[list[np.ndarray], list[np.ndarray]] = [], []
    n, judged = [0.0, 0.0], [0.0, 0.0]
    leads = np.zeros(3)
    for t in range(600):
        positive = bool(rng.random() < 0.3)
        w = float(rng.choice([0.5, 1.0, 4.0]))
        # Some scores are tied, and some nearly.
        scores = np.round(rng.normal(size=4) + 0.5 * positive, 1) + 5e-5 * rng.integers(0, 2)
        others = seen[not positive][-64:]
        win = judge.compare(scores, positive, w, n[not positive])
        if t == 300:
            judge.forget_scores()
            seen[0].clear()
            seen[1].clear()
        if not others:
            assert win is None
        else:
            wins = wins_by_force(scores, others, positive)
            assert win == pytest.approx(wins[-1], abs=1e-9)
            judged = [value * (1 - 1 / 2000) for value in judged]
            judged[positive] += w
            leads += w / sum(judged) * (wins[:-1] - 0.5 - leads)
            np.testing.assert_allclose(judge.leads, leads, atol=1e-10)
            balanced = 4.0 * judged[0] * judged[1] / sum(judged)
            np.testing.assert_allclose(judge.shares(), shares_of(leads, balanced), atol=1e-10)
        if t != 300:
            seen[positive].append(scores)
        n[positive] += w


def test_the_judge_counts_all_pairs_of_a_short_stream_exactly() -> None:
    rng = np.random.default_rng(8)
    judge = Judge(2)
    labels = rng.random(100) < 0.4
    scores = rng.normal(size=(100, 3)) + labels[:, np.newaxis]
    n = [0, 0]
    for row, positive in zip(scores, labels.tolist(), strict=True):
        judge.compare(row, positive, 1.0, n[not positive])
        n[positive] += 1
    assert max(n) <= 64
    exact = [roc_auc_score(labels, column) for column in scores.T]
    np.testing.assert_allclose(0.5 + judge.aucs, exact, atol=1e-3)


# The kernel maps -------------------------------------------------------------------------------


def make_maps(seed: int) -> tuple[KernelMaps, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    landmarks, sample = rng.normal(size=(7, 3)), rng.normal(size=(30, 3))
    relevances = np.array([0.5, 0.2, 1.1])
    return KernelMaps(landmarks, sample, relevances), landmarks, sample, relevances


def test_similarities_are_those_of_the_formula() -> None:
    maps, landmarks, sample, relevances = make_maps(9)
    laplace = 0.7 / np.median(pdist(sample * relevances, "cityblock"))
    gaussian = 1.0 / np.median(pdist(sample, "sqeuclidean"))
    rows = np.random.default_rng(10).normal(size=(5, 3))
    many = maps.similarities_of_many(rows)
    for i, z in enumerate(rows):
        expected = np.array(
            [
                [math.exp(-laplace * np.sum(relevances * np.abs(z - one))) for one in landmarks],
                [math.exp(-gaussian * np.sum((z - one) ** 2)) for one in landmarks],
            ]
        )
        np.testing.assert_allclose(maps.similarities(z), expected.ravel(), rtol=1e-12)
        np.testing.assert_allclose([matrix[i] for matrix in many], expected, rtol=1e-12)
    for gram, expected in zip(maps.grams, maps.similarities_of_many(landmarks), strict=True):
        np.testing.assert_array_equal(gram, expected)
        assert gram.flags.f_contiguous
    assert maps.n_landmarks == 7


def test_maps_grow_by_features_that_are_zero_in_all_landmarks() -> None:
    maps, landmarks, _, relevances = make_maps(11)
    before = [gram.copy() for gram in maps.grams]
    maps.resize(4)
    z = np.array([0.3, -1.0, 0.2, 0.0])
    longer = np.column_stack([landmarks, np.zeros(7)])
    small, _, _, _ = make_maps(11)
    np.testing.assert_allclose(maps.similarities(z), small.similarities(z[:3]), rtol=1e-12)
    z[3] = 2.0
    ratio = (maps.similarities(z) / small.similarities(z[:3])).reshape(2, 7)
    assert np.ptp(ratio, axis=1) == pytest.approx([0.0, 0.0], abs=1e-12)
    laplace = math.exp(-maps._laplace * math.sqrt(0.02) * 2.0)
    np.testing.assert_allclose(ratio[:, 0], [laplace, math.exp(-4.0 * maps._gaussian)], rtol=1e-9)
    np.testing.assert_allclose(
        maps.similarities_of_many(z[np.newaxis])[0][0], maps.similarities(z)[:7]
    )
    assert len(longer) == maps.n_landmarks
    for gram, old in zip(maps.grams, before, strict=True):
        np.testing.assert_array_equal(gram, old)


def test_a_sample_of_equal_vectors_has_a_width() -> None:
    maps = KernelMaps(np.zeros((2, 2)), np.zeros((4, 2)), np.ones(2))
    found = maps.similarities(np.array([1.0, 0.0]))
    np.testing.assert_allclose(found, [math.exp(-0.7)] * 2 + [math.exp(-1.0)] * 2)


def test_relevance_is_that_of_a_loop_over_the_features() -> None:
    rng = np.random.default_rng(12)
    positives, negatives = rng.normal(size=(70, 5)), rng.normal(size=(211, 5))
    positives[:, 1] += 2.0
    positives[:, 2] *= 3.0
    positives[:, 3], negatives[:, 3] = 1.0, 1.0
    for rows in (positives, negatives):
        rows[:, 4] = np.round(rows[:, 4])
    found = relevance(positives, negatives)
    np.testing.assert_allclose(found, plain_relevance(positives, negatives), rtol=1e-12)
    assert found[3] == pytest.approx(math.sqrt(0.02))
    assert found[1] > 0.5 > 0.3 > found[0]


def test_landmarks_are_the_latest_and_half_of_each_class_in_the_end() -> None:
    rng = np.random.default_rng(13)
    units, kernel = Units(2), KernelExperts(2, (0.1, 10.0))
    n, choices = [0, 0], []
    for t in range(1, 1_500):
        x, positive = rng.normal(size=2), bool(t % 9 == 0)
        units.update(x)
        z = units.standardized(x)
        kernel.add(x, kernel.similarities(z), positive, 1.0)
        n[positive] += 1
        if all(n) and kernel.choose_landmarks(t, units):
            choices.append((t, n[1], kernel._maps.n_landmarks))
            kernel.solve()
    # Too few positives at 1,024: more negatives stand in for them.
    sizes = [(9, 9), *((n, min(n, 256)) for n in (16, 32, 64, 128, 256, 512, 1_024))]
    assert choices == [(t, t // 9, size) for t, size in sizes]
    assert 108 < 1_024 // 9 < 128
    assert kernel._next_choice == 2_048


# Generations and probabilities -------------------------------------------------------------------


def test_one_engine_is_no_copy_and_two_are_mixed() -> None:
    generations = Generations(2, with_kernels=False)
    x = np.array([1.0, 2.0])
    generations.learn(x.copy(), True, 1.0)
    generations.learn(-x, False, 1.0)
    (engine,) = generations.engines
    assert generations.score(x) == engine.score(x)
    generations._start_trial()
    elder, younger = generations.engines
    assert elder is engine
    generations.shares = np.array([0.25, 0.75])
    expected = 0.25 * elder.score(x) + 0.75 * younger.score(x)
    assert generations.score(x) == pytest.approx(expected)


@pytest.mark.parametrize("rare", [False, True])
def test_the_ranking_breaks_when_there_are_enough_of_each_class(rare: bool) -> None:
    generations = Generations(1, with_kernels=False)
    assert not any(generations._breaks(1.0, not rare) for _ in range(1_000))
    # The recent rate is far below by then.
    assert [generations._breaks(0.0, rare) for _ in range(32)] == [False] * 31 + [True]


def test_the_ranking_breaks_when_the_recent_rate_has_fallen_far_enough() -> None:
    generations = Generations(1, with_kernels=False)
    recent = long_run = 0.0
    n_broken = 0
    for n, win in enumerate([1.0] * 150 + [0.8, 0.9] * 200, 1):
        recent += (win - recent) / min(n, 100)
        long_run += (win - long_run) / n
        breaks = generations._breaks(win, n % 2 == 0)
        assert breaks == (long_run - recent > 0.1)
        n_broken += breaks
    assert n_broken == 0
    for n in range(551, 600):
        recent += (0.5 - recent) / 100
        long_run += (0.5 - long_run) / n
        breaks = generations._breaks(0.5, n % 2 == 0)
        assert breaks == (long_run - recent > 0.1)
        n_broken += breaks
    assert 10 < n_broken < 49


@pytest.mark.parametrize("positive", [False, True])
def test_one_class_for_ever_leaves_a_probability(positive: bool) -> None:
    """Rounding makes the recent share of the other class nothing at all."""
    scores, calibration = ProgressiveScores(), Calibration("empirical")
    for _ in range(800):
        scores.add(0.0, positive, 1e3, False)
    scores._share = float(positive)
    scores.set(calibration)
    p = calibration.probability(0.0)
    assert 0.0 < p < 1.0
    assert (p > 0.99) == positive


def test_probabilities_are_even_half_way_between_the_class_means() -> None:
    rng = np.random.default_rng(14)
    scores, calibration = ProgressiveScores(), Calibration("balanced")
    for t in range(4_000):
        positive = bool(t % 4 == 0)
        scores.add(0.3 + 0.1 * rng.normal() + positive * 0.6, positive, 1.0, True)
    scores.set(calibration)
    assert calibration.midpoint == pytest.approx(0.6, abs=0.03)
    assert calibration.slope == 4.0
    assert calibration.log_odds == 0.0
    empirical = Calibration("empirical")
    scores.set(empirical)
    assert 11.0 < empirical.slope < 12.0
    assert empirical.log_odds == pytest.approx(math.log(1 / 3), abs=0.05)


@pytest.mark.parametrize("sign", [-1.0, 0.0])
def test_empirical_probabilities_are_never_flatter_than_so(sign: float) -> None:
    """Though the scores say nothing, or the opposite."""
    scores, calibration = ProgressiveScores(), Calibration("empirical")
    for t in range(9_000):
        scores.add(sign * (t % 2) + 0.1 * (t % 3), bool(t % 2), 1.0, True)
    scores.set(calibration)
    assert calibration.slope == pytest.approx(1.0, abs=0.01)
