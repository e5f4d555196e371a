"""`ForgettingMoments` against numpy over stored data, with the weights written out."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from river_oauc.stats.moments import ForgettingMoments, Moments

SEEDS = st.integers(0, 2**32 - 1)


def sample(n: int, p: int, seed: int, offset: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Correlated vectors, and importance weights."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + offset
    return rows, rng.choice([0.1, 1.0, 2.5], size=n)


def moments_of(rows: np.ndarray, weights: np.ndarray, memory: float) -> ForgettingMoments:
    moments = ForgettingMoments(rows.shape[1], memory)
    for row, w in zip(rows, weights, strict=True):
        moments.update(row.copy(), float(w))
    return moments


def assert_moments(
    moments: ForgettingMoments, rows: np.ndarray, weights: np.ndarray, tolerance: float = 1e-10
) -> None:
    """They are the moments of these vectors with these weights."""
    mean = weights @ rows / weights.sum()
    deviations = rows - mean
    covariance = (weights[:, np.newaxis] * deviations).T @ deviations / weights.sum()
    scale = np.abs(covariance).max() + 1.0
    assert moments.n == pytest.approx(weights.sum(), rel=tolerance)
    np.testing.assert_allclose(moments.mean, mean, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(moments.covariance, covariance, atol=tolerance * scale)
    stack = np.random.default_rng(1).normal(size=(rows.shape[1], 3))
    np.testing.assert_allclose(
        moments.cov_dot_stack(stack), covariance @ stack, atol=10 * tolerance * scale
    )
    np.testing.assert_allclose(
        moments.cov_dot(stack[:, 0]), covariance @ stack[:, 0], atol=10 * tolerance * scale
    )


def ages(n: int) -> np.ndarray:
    return np.arange(n)[::-1]


@given(SEEDS, st.integers(1, 60), st.integers(1, 5), st.sampled_from([1.5, 2.0, 10.0, 300.0]))
def test_every_vector_makes_the_earlier_ones_count_less(seed, n, p, memory):
    rows, weights = sample(n, p, seed)
    moments = moments_of(rows, weights, memory)
    assert_moments(moments, rows, weights * (1.0 - 1.0 / memory) ** ages(n))


def test_a_long_stream_is_remembered_for_as_long_as_the_memory_says():
    """So long that the growing weights have to be divided more than once."""
    rows, weights = sample(2_000, 2, seed=3)
    moments = moments_of(rows, np.ones(2_000), memory=4.0)
    assert moments.n == pytest.approx(4.0)
    assert_moments(moments, rows[-200:], 0.75 ** ages(200))


def test_an_offset_costs_no_digits():
    rows, weights = sample(500, 3, seed=4, offset=1e6)
    moments = moments_of(rows, weights, memory=50.0)
    assert_moments(moments, rows, weights * 0.98 ** ages(500), tolerance=1e-8)


def test_with_an_endless_memory_they_are_the_full_moments():
    rows, weights = sample(100, 4, seed=5)
    moments, full = moments_of(rows, weights, memory=1e15), Moments(4)
    for row, w in zip(rows, weights, strict=True):
        full.update(row.copy(), w)
    assert_moments(moments, rows, weights)
    np.testing.assert_allclose(moments.covariance, full.covariance, rtol=1e-9)


@pytest.mark.parametrize("n_other", [0, 1, 7, 1_500])
@pytest.mark.parametrize("n", [0, 1, 30, 1_500])
def test_pooled_they_are_what_both_remember(n, n_other):
    kept = 0.75
    rows, weights = sample(n, 3, seed=6)
    other_rows, other_weights = sample(n_other, 3, seed=7)
    moments, other = moments_of(rows, weights, 4.0), moments_of(other_rows, other_weights, 4.0)
    before = pickle.dumps(other)
    moments += other
    assert pickle.dumps(other) == before
    if n + n_other:
        pooled_rows = np.concatenate([rows, other_rows])
        pooled = np.concatenate([weights * kept ** ages(n), other_weights * kept ** ages(n_other)])
        assert_moments(moments, pooled_rows, pooled)
        new = np.array([1.0, -2.0, 0.5])
        moments.update(new.copy())
        assert_moments(moments, np.vstack([pooled_rows, new]), np.append(pooled * kept, 1.0))


def test_other_memories_and_sizes_are_refused_and_left_alone():
    moments = moments_of(*sample(5, 2, seed=8), memory=4.0)
    before = pickle.dumps(moments)
    for other in (ForgettingMoments(2, 5.0), ForgettingMoments(3, 4.0)):
        with pytest.raises(ValueError, match="cannot pool moments"):
            moments += other
    assert pickle.dumps(moments) == before


def test_growth_equals_explicit_zeros():
    rows, weights = sample(40, 3, seed=9)
    moments = moments_of(rows[:, :2], weights, memory=10.0)
    moments.resize(3)
    rows[:, 2] = 0.0
    assert_moments(moments, rows, weights * 0.9 ** ages(40))


@pytest.mark.parametrize("memory", [1.0, 0.0, -3.0, float("nan")])
def test_a_memory_of_one_vector_or_less_is_refused(memory):
    with pytest.raises(ValueError, match="^memory is .*above 1$"):
        ForgettingMoments(2, memory)


def test_nothing_is_forgotten_with_an_endless_memory():
    rows, weights = sample(200, 3, seed=10)
    assert_moments(moments_of(rows, weights, memory=math.inf), rows, weights, tolerance=1e-12)


@pytest.mark.parametrize("n", [1, 2, 40, 200])
def test_of_a_matrix_they_are_those_of_its_rows(n):
    rows, weights = sample(n, 3, seed=11)
    moments = ForgettingMoments.of(rows, weights)
    assert_moments(moments, rows, weights)
    # They go on like others, and leave the matrix alone.
    more, more_weights = sample(70, 3, seed=12)
    for row, w in zip(more, more_weights, strict=True):
        moments.update(row.copy(), float(w))
    assert_moments(moments, np.vstack([rows, more]), np.append(weights, more_weights))
    np.testing.assert_array_equal(rows, sample(n, 3, seed=11)[0])


@pytest.mark.parametrize("memory", [20.0, math.inf])
@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 66, 129, 200])
def test_terms_that_are_waiting_count(n, memory):
    """However many there are, and however often they are asked for."""
    rows, weights = sample(n, 3, seed=13)
    moments, asked = moments_of(rows, weights, memory), ForgettingMoments(3, memory)
    for row, w in zip(rows, weights, strict=True):
        asked.update(row.copy(), float(w))
        asked.upper_covariance()
    upper = moments.upper_covariance()
    assert upper.flags.f_contiguous
    np.testing.assert_array_equal(upper, np.triu(upper))
    np.testing.assert_allclose(upper, np.triu(moments.covariance), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(upper, asked.upper_covariance(), rtol=1e-9, atol=1e-12)
    assert_moments(moments, rows, weights * (1.0 - 1.0 / memory) ** ages(n))
    # It is a new array.
    upper[:] = 0.0
    assert_moments(moments, rows, weights * (1.0 - 1.0 / memory) ** ages(n))


def test_terms_are_waiting_while_features_come_and_others_are_pooled():
    rows, weights = sample(100, 3, seed=14)
    rows[:90, 2] = 0.0
    moments = moments_of(rows[:90, :2], weights[:90], memory=math.inf)
    moments.resize(3)
    for row, w in zip(rows[90:], weights[90:], strict=True):
        moments.update(row.copy(), float(w))
    other_rows, other_weights = sample(30, 3, seed=15)
    moments += moments_of(other_rows, other_weights, memory=math.inf)
    assert_moments(moments, np.vstack([rows, other_rows]), np.append(weights, other_weights))
