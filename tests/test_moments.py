"""`Moments` and `Centroid` against numpy over stored data."""

from __future__ import annotations

import pickle
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from river_oauc.stats.moments import Centroid, Moments

SEEDS = st.integers(0, 2**32 - 1)

# Largest error of an entry of the covariance, relative to the largest entry, at each offset of the
# data in standard deviations: the mean is rounded to 1e-16 of the offset at every step.
EARNED_ERROR = {0.0: 1e-13, 1e3: 1e-12, 1e6: 1e-9, 1e8: 1e-7}


def sample(n: int, p: int, seed: int) -> np.ndarray:
    """Correlated features of unit variance."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)) @ rng.normal(size=(p, p))
    return x / np.std(x, axis=0) if n > 1 else x


def sample_weights(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).choice([0.1, 1.0, 1.0, 2.5, 5.0], size=n)


def moments_of(rows: np.ndarray, weights: Iterable[float] | None = None) -> Moments:
    moments = Moments(rows.shape[1])
    for row, w in zip(rows, np.ones(len(rows)) if weights is None else weights, strict=True):
        moments.update(row.copy(), w)
    return moments


def numpy_covariance(rows: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    return np.atleast_2d(np.cov(rows, rowvar=False, bias=True, aweights=weights))


def largest_error(actual: np.ndarray, expected: np.ndarray) -> float:
    return float(np.max(np.abs(actual - expected)) / np.max(np.abs(expected)))


def assert_same_moments(actual: Moments, expected: Moments, tolerance: float = 1e-12) -> None:
    """Equal up to rounding of numbers of the size of the data, which is about one."""
    assert actual.n == pytest.approx(expected.n, rel=tolerance)
    np.testing.assert_allclose(actual.mean, expected.mean, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(
        actual.covariance, expected.covariance, rtol=tolerance, atol=tolerance
    )


def assert_identical(actual: Moments, expected: Moments) -> None:
    assert actual.n == expected.n
    np.testing.assert_array_equal(actual.mean, expected.mean)
    np.testing.assert_array_equal(actual.covariance, expected.covariance)


# The moments are those of the data -----------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offset", EARNED_ERROR)
@pytest.mark.parametrize("seed", range(3))
def test_moments_are_those_of_the_stored_data_at_any_offset(offset, weighted, seed):
    rows = offset + sample(500, 4, seed)
    weights = sample_weights(500, seed) if weighted else np.ones(500)
    moments = moments_of(rows, weights)
    # Taking the offset away again is exact, so that numpy has the same data without it.
    centred = rows - offset
    mean = np.average(centred, axis=0, weights=weights)
    assert moments.n == pytest.approx(weights.sum(), rel=1e-12)
    np.testing.assert_allclose(moments.mean - offset, mean, rtol=0, atol=1e-14 * (1 + offset))
    assert (
        largest_error(moments.covariance, numpy_covariance(centred, weights)) < EARNED_ERROR[offset]
    )


@given(seed=SEEDS, n=st.integers(2, 40), p=st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_moments_of_short_streams(seed, n, p):
    rows, weights = sample(n, p, seed), sample_weights(n, seed)
    moments = moments_of(rows, weights)
    np.testing.assert_allclose(
        moments.mean, np.average(rows, axis=0, weights=weights), rtol=1e-12, atol=1e-13
    )
    assert largest_error(moments.covariance, numpy_covariance(rows, weights)) < 1e-12


def textbook_covariance(rows: np.ndarray) -> np.ndarray:
    """The recursion on second moments about zero: E[xx'] - mm'."""
    mean = np.zeros(rows.shape[1])
    second = np.zeros((rows.shape[1], rows.shape[1]))
    for n, x in enumerate(rows, start=1):
        mean += (x - mean) / n
        second += (np.outer(x, x) - second) / n
    return second - np.outer(mean, mean)


def test_the_textbook_recursion_loses_what_this_one_keeps():
    rows = 1e8 + sample(500, 4, seed=0)
    expected = numpy_covariance(rows - 1e8)
    textbook = textbook_covariance(rows)
    assert largest_error(textbook, expected) > 1.0
    assert np.linalg.eigvalsh(textbook)[0] < -1.0
    ours = moments_of(rows).covariance
    assert largest_error(ours, expected) < EARNED_ERROR[1e8]
    assert np.linalg.eigvalsh(ours)[0] > 0.0


def test_the_two_recursions_agree_where_nothing_cancels():
    rows = sample(200, 4, seed=1)
    assert largest_error(textbook_covariance(rows), moments_of(rows).covariance) < 1e-12


def test_an_integer_weight_is_a_repetition():
    rows = sample(30, 3, seed=2)
    times = np.random.default_rng(2).integers(1, 5, size=30)
    repeated = moments_of(np.repeat(rows, times, axis=0))
    assert_same_moments(moments_of(rows, times.astype(float)), repeated)


def test_weights_of_any_scale_give_the_same_mean_and_covariance():
    rows, weights = sample(50, 3, seed=3), sample_weights(50, seed=3)
    expected = moments_of(rows, weights)
    for scale in (1e-30, 1e-3, 1e50):
        scaled = moments_of(rows, scale * weights)
        np.testing.assert_allclose(scaled.mean, expected.mean, rtol=1e-11, atol=1e-13)
        assert largest_error(scaled.covariance, expected.covariance) < 1e-12


def test_nothing_seen():
    moments = Moments(3)
    assert moments.n == 0.0
    assert moments.size == 3
    np.testing.assert_array_equal(moments.mean, np.zeros(3))
    np.testing.assert_array_equal(moments.covariance, np.zeros((3, 3)))


def test_one_vector_has_no_covariance():
    row = np.array([[1e8, -3.0, 0.0]])
    moments = moments_of(row, [2.5])
    assert moments.n == 2.5
    np.testing.assert_array_equal(moments.mean, row[0])
    np.testing.assert_array_equal(moments.covariance, np.zeros((3, 3)))
    np.testing.assert_array_equal(moments.cov_dot(np.ones(3)), np.zeros(3))


def test_a_constant_stream_has_no_covariance():
    row = np.array([0.1, 1e8, -1e-300])
    moments = moments_of(np.tile(row, (100, 1)))
    np.testing.assert_array_equal(moments.mean, row)
    np.testing.assert_array_equal(moments.covariance, np.zeros((3, 3)))


def test_one_feature():
    rows, weights = sample(40, 1, seed=4), sample_weights(40, seed=4)
    moments = moments_of(rows, weights)
    mean = np.average(rows[:, 0], weights=weights)
    variance = np.average((rows[:, 0] - mean) ** 2, weights=weights)
    np.testing.assert_allclose(moments.mean, [mean], rtol=1e-12)
    np.testing.assert_allclose(moments.covariance, [[variance]], rtol=1e-12)
    np.testing.assert_allclose(moments.cov_dot(np.array([-2.0])), [-2.0 * variance], rtol=1e-12)


@given(
    seed=SEEDS,
    n=st.integers(1, 30),
    p=st.integers(1, 8),
    offset=st.sampled_from(sorted(EARNED_ERROR)),
)
@settings(max_examples=60, deadline=None)
def test_the_covariance_is_symmetric_and_positive_semidefinite_to_rounding(seed, n, p, offset):
    # With fewer vectors than features it is singular: rounding decides on the sign of the rest.
    covariance = moments_of(offset + sample(n, p, seed), sample_weights(n, seed)).covariance
    np.testing.assert_array_equal(covariance, covariance.T)
    eigenvalues = np.linalg.eigvalsh(covariance)
    assert eigenvalues[0] >= -1e-14 * p * eigenvalues[-1]


# The array given to update -------------------------------------------------------------------


def test_update_uses_its_array_up_and_does_not_keep_it():
    rows = sample(20, 3, seed=5)
    expected = moments_of(rows)
    moments = Moments(3)
    for row in rows.copy():
        before = row.copy()
        moments.update(row)
        if moments.n > 1:
            assert not np.array_equal(row, before)
        row[:] = np.nan
    assert_identical(moments, expected)


# Products with the covariance ----------------------------------------------------------------


@given(seed=SEEDS, n=st.integers(1, 30), p=st.integers(1, 8), columns=st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_products_are_those_of_the_whole_matrix(seed, n, p, columns):
    moments = moments_of(3.0 + sample(n, p, seed), sample_weights(n, seed))
    stack = np.random.default_rng(seed).normal(size=(p, columns))
    # C order, Fortran order, and a view with gaps.
    for layout in (stack, np.asfortranarray(stack), np.repeat(stack, 2, axis=1)[:, ::2]):
        expected = moments.covariance @ stack
        untouched = layout.copy()
        np.testing.assert_allclose(
            moments.cov_dot_stack(layout), expected, rtol=1e-12, atol=1e-13 * p
        )
        np.testing.assert_array_equal(layout, untouched)
        for j in range(columns):
            np.testing.assert_allclose(
                moments.cov_dot(layout[:, j]), expected[:, j], rtol=1e-12, atol=1e-13 * p
            )


def test_a_product_is_a_new_array_and_leaves_vector_and_moments_alone():
    moments = moments_of(sample(20, 3, seed=6))
    before = pickle.dumps(moments)
    v = np.ones(3)
    product = moments.cov_dot(v)
    product[:] = np.nan
    np.testing.assert_array_equal(v, np.ones(3))
    assert pickle.dumps(moments) == before


def test_the_covariance_is_a_copy():
    moments = moments_of(sample(20, 3, seed=6))
    before = pickle.dumps(moments)
    moments.covariance[:] = np.nan
    assert pickle.dumps(moments) == before


# Pooling -------------------------------------------------------------------------------------


@given(data=st.data(), seed=SEEDS, n=st.integers(1, 40), p=st.integers(1, 5))
@settings(max_examples=80, deadline=None)
def test_parts_add_up_to_the_whole_in_any_split_and_any_order(data, seed, n, p):
    rows, weights = sample(n, p, seed), sample_weights(n, seed)
    n_parts = data.draw(st.integers(1, 6))  # some of them may get nothing
    part_of = data.draw(st.lists(st.integers(0, n_parts - 1), min_size=n, max_size=n))
    order = data.draw(st.permutations(range(n_parts)))
    pooled = Moments(p)
    for part in order:
        members = np.array(part_of) == part
        pooled += moments_of(rows[members], weights[members])
    assert_same_moments(pooled, moments_of(rows, weights), tolerance=1e-11)


@pytest.mark.parametrize("offset", EARNED_ERROR)
def test_pooling_keeps_the_digits_at_any_offset(offset):
    rows, weights = offset + sample(500, 4, seed=7), sample_weights(500, seed=7)
    pooled = Moments(4)
    for part in np.array_split(np.random.default_rng(7).permutation(500), 9):
        pooled += moments_of(rows[part], weights[part])
    expected = numpy_covariance(rows - offset, weights)
    assert largest_error(pooled.covariance, expected) < EARNED_ERROR[offset]


def test_pooling_leaves_the_other_part_alone_and_independent():
    one, other = moments_of(sample(10, 3, seed=8)), moments_of(1.0 + sample(20, 3, seed=9))
    before = pickle.dumps(other)
    empty = Moments(3)
    empty += other
    one += other
    empty.update(np.ones(3))
    one.update(np.ones(3))
    assert pickle.dumps(other) == before


def test_pooling_with_nothing_changes_nothing():
    moments = moments_of(1e6 + sample(10, 3, seed=10))
    expected = pickle.loads(pickle.dumps(moments))
    moments += Moments(3)
    assert_identical(moments, expected)
    empty = Moments(3)
    empty += expected
    assert_identical(empty, expected)


def test_pooling_with_itself_doubles_the_weights():
    rows = 5.0 + sample(10, 3, seed=11)
    moments = moments_of(rows)
    moments += moments
    assert_same_moments(moments, moments_of(rows, np.full(10, 2.0)))


def test_updates_go_on_after_pooling():
    rows = sample(60, 3, seed=12)
    moments = moments_of(rows[:20])
    moments += moments_of(rows[20:40])
    for row in rows[40:]:
        moments.update(row.copy())
    assert_same_moments(moments, moments_of(rows))


def test_moments_of_different_sizes_are_refused_and_left_alone():
    one, other = moments_of(sample(10, 3, seed=13)), moments_of(sample(10, 2, seed=13))
    before = pickle.dumps(one), pickle.dumps(other)
    with pytest.raises(ValueError, match=r"3 and 2 features"):
        one += other
    assert (pickle.dumps(one), pickle.dumps(other)) == before


# Growth --------------------------------------------------------------------------------------


@given(seed=SEEDS, n=st.integers(1, 30), p=st.integers(1, 5), more=st.integers(0, 4))
@settings(max_examples=60, deadline=None)
def test_growth_equals_explicit_zeros(seed, n, p, more):
    rows, weights = 2.0 + sample(n, p + more, seed), sample_weights(n, seed)
    late = n // 2
    rows[:late, p:] = 0.0
    grown = moments_of(rows[:late, :p], weights[:late])
    grown.resize(p + more)
    assert grown.size == p + more
    for row, w in zip(rows[late:], weights[late:], strict=True):
        grown.update(row.copy(), w)
    assert_same_moments(grown, moments_of(rows, weights))


def test_growth_and_shrinkage_restore():
    moments = moments_of(1e6 + sample(20, 3, seed=14))
    before = pickle.loads(pickle.dumps(moments))
    moments.resize(8)
    moments.resize(3)
    assert_identical(moments, before)
    more = 1e6 + sample(5, 3, seed=15)
    for row in more:
        moments.update(row.copy())
        before.update(row.copy())
    assert_identical(moments, before)


def test_grown_moments_can_be_multiplied_and_pooled():
    small, large = sample(20, 2, seed=16), 1.0 + sample(20, 4, seed=17)
    moments = moments_of(small)
    moments.resize(4)
    v = np.arange(1.0, 5.0)
    np.testing.assert_allclose(moments.cov_dot(v), moments.covariance @ v, rtol=1e-12)
    moments += moments_of(large)
    padded = np.hstack([small, np.zeros((20, 2))])
    assert_same_moments(moments, moments_of(np.vstack([padded, large])))


# Pickling ------------------------------------------------------------------------------------


def test_a_pickled_copy_goes_on_in_place_and_alone():
    rows = sample(40, 4, seed=18)
    moments = moments_of(rows[:20])
    copy = pickle.loads(pickle.dumps(moments))
    assert_identical(copy, moments)
    # BLAS works in place on a matrix of Fortran order only; on another it would do nothing.
    for row in rows[20:]:
        copy.update(row.copy())
    assert_identical(moments, moments_of(rows[:20]))
    assert_identical(copy, moments_of(rows))


# The mean alone ------------------------------------------------------------------------------


@given(seed=SEEDS, n=st.integers(1, 40), p=st.integers(1, 6), more=st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_a_centroid_is_the_weighted_mean_and_grows_with_zeros(seed, n, p, more):
    rows, weights = 100.0 + sample(n, p + more, seed), sample_weights(n, seed)
    late = n // 2
    rows[:late, p:] = 0.0
    centroid = Centroid(p)
    for row, w in zip(rows[:late], weights[:late], strict=True):
        centroid.update(row[:p].copy(), w)
    centroid.resize(p + more)
    assert centroid.size == p + more
    for row, w in zip(rows[late:], weights[late:], strict=True):
        centroid.update(row.copy(), w)
    assert centroid.n == pytest.approx(weights.sum(), rel=1e-12)
    np.testing.assert_allclose(centroid.mean, np.average(rows, axis=0, weights=weights), rtol=1e-12)


def test_a_centroid_has_the_mean_of_the_moments():
    rows, weights = 1e6 + sample(200, 4, seed=19), sample_weights(200, seed=19)
    centroid = Centroid(4)
    for row, w in zip(rows.copy(), weights, strict=True):
        centroid.update(row, w)
    np.testing.assert_array_equal(centroid.mean, moments_of(rows, weights).mean)
    centroid.resize(6)
    centroid.resize(4)
    np.testing.assert_array_equal(centroid.mean, moments_of(rows, weights).mean)
