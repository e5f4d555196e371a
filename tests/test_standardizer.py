"""The standardizer against numpy over stored examples."""

from __future__ import annotations

import numpy as np
import pytest

from river_oauc.stats.standardizer import Standardizer

MEMORY = 1000


def weights_of(n: int) -> np.ndarray:
    """How much each of n examples counts: alike at first, then less by a thousandth with each."""
    weights = np.ones(0)
    for t in range(1, n + 1):
        rate = 1 / min(t, MEMORY)
        weights = np.append(weights * (1 - rate), rate)
    return weights


@pytest.mark.parametrize("n", [1, 2, 50, 1_000, 2_500])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e8])
def test_mean_and_deviation_are_those_of_the_weighted_examples(n, offset):
    rows = np.random.default_rng(n).normal(size=(n, 3)) * [1.0, 5.0, 0.0] + offset
    standardizer = Standardizer(3)
    for row in rows:
        z = standardizer.update(row)
    weights = weights_of(n)
    centred = rows - offset
    mean = weights @ centred
    variance = weights @ (centred - mean) ** 2
    tolerance = 1e-9 + 1e-14 * offset
    assert standardizer.mean - offset == pytest.approx(mean, abs=tolerance)
    expected = np.divide(1.0, np.sqrt(variance), out=np.zeros(3), where=variance > 0)
    assert standardizer.factors == pytest.approx(expected, rel=1e-6, abs=0.0)
    assert z == pytest.approx((centred[-1] - mean) * expected, abs=1e-6)


def test_the_vector_itself_is_left_alone():
    x = np.array([1.0, 2.0])
    standardizer = Standardizer(2)
    standardizer.update(x)
    standardizer.update(x)
    assert x.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("outlier", [100.0, 1e6])
def test_an_outlier_at_most_doubles_the_variance(outlier):
    rng = np.random.default_rng(1)
    standardizer = Standardizer(2)
    for row in rng.normal(size=(3_000, 2)):
        standardizer.update(row)
    mean, before = standardizer.mean.copy(), standardizer.factors.copy()
    z = standardizer.update(np.array([outlier, 0.0]))
    ratio = (before / standardizer.factors) ** 2
    assert 1.9 < ratio[0] <= 2.0
    assert ratio[1] <= 1.0
    assert abs(standardizer.mean[0] - mean[0]) * before[0] < 0.05
    assert z[0] == pytest.approx(MEMORY**0.5)


def test_a_new_unit_is_learned_in_the_end():
    rng = np.random.default_rng(2)
    standardizer = Standardizer(1)
    for row in rng.normal(size=(2_000, 1)):
        standardizer.update(row)
    for row in rng.normal(size=(20_000, 1)):
        standardizer.update(7.0 + 1e-3 * row)
    assert standardizer.mean[0] == pytest.approx(7.0, abs=1e-3)
    assert 1 / standardizer.factors[0] == pytest.approx(1e-3, rel=0.2)
    # The other way the step is large: a deviation that has been tiny doubles with every example.
    largest = 0.0
    for row in rng.normal(size=(100, 1)):
        largest = max(largest, float(abs(standardizer.update(1e6 * row)[0])))
    assert largest <= MEMORY**0.5
    assert 1 / standardizer.factors[0] > 1e5


def test_features_that_come_late_have_been_zero():
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(60, 3))
    rows[:30, 2] = 0.0
    padded, grown = Standardizer(3), Standardizer(2)
    for t, row in enumerate(rows):
        if t == 30:
            grown.resize(3)
        expected = padded.update(row)
        actual = grown.update(row if t >= 30 else row[:2])
        assert actual.tolist() == expected[: len(actual)].tolist()


@pytest.mark.parametrize("value", [1e-300, 1e-160, 1e49])
def test_extreme_units_leave_everything_finite(value):
    standardizer = Standardizer(1)
    for factor in (0.0, 1.0, -1.0, 1.0, 0.0):
        z = standardizer.update(np.array([factor * value]))
        assert np.isfinite([z[0], standardizer.mean[0], standardizer.factors[0]]).all()
