"""The surrogates against samples of margins, finite differences, and 60-digit arithmetic."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import reference
from hypothesis import example, given, settings
from hypothesis import strategies as st

from river_oauc.losses import psi_m, psi_m_coefficients, psi_s, psi_s_coefficients

LOSSES = [
    pytest.param(psi_m, psi_m_coefficients, id="psi_m"),
    pytest.param(psi_s, psi_s_coefficients, id="psi_s"),
]

MARGINS = st.floats(-1e6, 1e6)
VARIANCES = st.floats(0.0, 1e6)


def mean_hinge(margins: np.ndarray) -> float:
    return float(np.mean(np.maximum(0.0, 1.0 - margins)))


# Values --------------------------------------------------------------------------------------


@given(st.lists(MARGINS, min_size=1, max_size=12))
@settings(max_examples=200, deadline=None)
def test_psi_m_bounds_the_mean_hinge_loss_of_any_sample(margins):
    margins = np.array(margins)
    bound = psi_m(float(margins.mean()), float(margins.var()))
    # Mean and variance are rounded, relative to the largest margin.
    assert mean_hinge(margins) <= bound + 1e-14 * (1.0 + np.max(np.abs(margins)))


@pytest.mark.parametrize("n", [2, 5, 9, 50])
@pytest.mark.parametrize("deviation", [1e-3, 1.7, 1e4])
def test_psi_m_is_attained_by_two_points(n, deviation):
    for below in range(1, n):
        # The worst distribution has (1 + b/r)/2 of its mass on one margin below 1, and the rest on
        # one above; of these shares, this is the b.
        share = below / n
        b = deviation * (2 * share - 1) / math.sqrt(1 - (2 * share - 1) ** 2)
        low = 1 - b - deviation * math.sqrt((1 - share) / share)
        high = 1 - b + deviation * math.sqrt(share / (1 - share))
        margins = np.array([low] * below + [high] * (n - below))
        assert low < 1 < high
        assert margins.std() == pytest.approx(deviation)
        assert psi_m(float(margins.mean()), float(margins.var())) == pytest.approx(
            mean_hinge(margins), rel=1e-8
        )


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=20))
@settings(max_examples=200, deadline=None)
def test_psi_s_is_half_the_mean_squared_loss_of_the_sample(margins):
    n = len(margins)
    mean = Fraction(sum(margins), n)
    variance = sum((m - mean) ** 2 for m in margins) / n
    half_mean_square = sum(Fraction(1 - m) ** 2 for m in margins) / (2 * n)
    # In rational arithmetic the two are equal; the floats round them.
    assert ((1 - mean) ** 2 + variance) / 2 == half_mean_square
    assert psi_s(float(mean), float(variance)) == pytest.approx(float(half_mean_square), rel=1e-13)


@given(margin=MARGINS, variance=VARIANCES)
@settings(max_examples=200, deadline=None)
def test_values_are_those_of_the_plain_formulas(margin, variance):
    rounding = 1e-15 * (1.0 + abs(margin) + math.sqrt(variance))
    assert psi_m(margin, variance) == pytest.approx(
        reference.psi_m(margin, variance), rel=1e-14, abs=rounding
    )
    # The reference has the mean squared loss, of which psi_s is the half.
    assert psi_s(margin, variance) == pytest.approx(
        reference.psi_s(margin, variance) / 2, rel=1e-14
    )


# Gradients -----------------------------------------------------------------------------------


def loss_of_weights(
    loss: Callable[[float, float], float], w: np.ndarray, d: np.ndarray, cov: np.ndarray
) -> float:
    return loss(float(w @ d), float(w @ cov @ w))


def gradient_from_coefficients(
    coefficients: Callable[[float, float], tuple[float, float]],
    w: np.ndarray,
    d: np.ndarray,
    cov: np.ndarray,
) -> np.ndarray:
    pull, spread = coefficients(float(w @ d), float(w @ cov @ w))
    return -pull * d + spread * (cov @ w)


def finite_differences(
    loss: Callable[[float, float], float], w: np.ndarray, d: np.ndarray, cov: np.ndarray
) -> np.ndarray:
    h = 1e-5
    return np.array(
        [
            (loss_of_weights(loss, w + h * e, d, cov) - loss_of_weights(loss, w - h * e, d, cov))
            / (2 * h)
            for e in np.eye(len(w))
        ]
    )


def covariance_of(n_opposite: int, p: int, rng: np.random.Generator) -> np.ndarray:
    return np.atleast_2d(np.cov(rng.normal(size=(n_opposite, p)), rowvar=False, bias=True))


@pytest.mark.parametrize("loss, coefficients", LOSSES)
@pytest.mark.parametrize("n_opposite", [1, 2, 30])
@pytest.mark.parametrize("scale", [0.0, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("p", [1, 4])
def test_gradients_are_finite_differences_of_the_value(loss, coefficients, n_opposite, scale, p):
    # One opposite example has no variance, and weights of scale 0 are where learning starts.
    rng = np.random.default_rng(0)
    compared = 0
    for _ in range(20):
        d, w = rng.normal(size=p), scale * rng.normal(size=p)
        cov = covariance_of(n_opposite, p, rng)
        if math.hypot(1.0 - w @ d, math.sqrt(max(w @ cov @ w, 0.0))) < 0.05:
            continue  # too near the kink for a difference quotient
        compared += 1
        np.testing.assert_allclose(
            gradient_from_coefficients(coefficients, w, d, cov),
            finite_differences(loss, w, d, cov),
            rtol=1e-5,
            atol=1e-6,
        )
    assert compared >= 15


def test_the_first_step_pulls_with_full_force():
    # At w = 0 every margin is 0 and every pair is violated: both gradients are -d.
    for coefficients in (psi_m_coefficients, psi_s_coefficients):
        pull, spread = coefficients(0.0, 0.0)
        assert pull == 1.0
        assert math.isfinite(spread)


def test_without_variance_psi_m_is_the_hinge_loss():
    for margin in (-5.0, 0.0, 0.999):
        assert psi_m(margin, 0.0) == 1.0 - margin
        assert psi_m_coefficients(margin, 0.0)[0] == 1.0
    for margin in (1.001, 3.0, 1e10):
        assert psi_m(margin, 0.0) == 0.0
        assert psi_m_coefficients(margin, 0.0)[0] == 0.0


def test_the_kink():
    # All margins are exactly 1: one half of d is a subgradient, and there is nothing to divide by.
    assert psi_m(1.0, 0.0) == 0.0
    assert psi_m_coefficients(1.0, 0.0) == (0.5, 0.0)
    pull, spread = psi_m_coefficients(np.array([1.0, 0.0]), np.array([0.0, 0.0]))
    np.testing.assert_array_equal(pull, [0.5, 1.0])
    np.testing.assert_array_equal(spread, [0.0, 0.5])


@given(w=st.lists(st.floats(-5.0, 5.0), min_size=3, max_size=3), seed=st.integers(0, 1000))
@settings(max_examples=100, deadline=None)
def test_the_gradient_at_the_kink_is_a_subgradient(w, seed):
    rng = np.random.default_rng(seed)
    d = rng.normal(size=3)
    at_kink = d / (d @ d)
    # Opposite examples that differ only across the weights: their scores have no variance.
    across = np.linalg.svd(d[None, :])[2][1:]
    cov = across.T @ across
    pull, spread = psi_m_coefficients(1.0, 0.0)
    subgradient = -pull * d + spread * (cov @ at_kink)
    linear = subgradient @ (np.array(w) - at_kink)
    assert loss_of_weights(psi_m, np.array(w), d, cov) >= linear - 1e-12


@given(margin=MARGINS, variance=VARIANCES)
@settings(max_examples=200, deadline=None)
def test_the_pull_of_psi_m_is_a_share_of_the_pairs(margin, variance):
    pull, spread = psi_m_coefficients(margin, variance)
    assert 0.0 <= pull <= 1.0
    assert spread >= 0.0


# Digits --------------------------------------------------------------------------------------


def decimal_psi_m(margin: float, variance: float) -> tuple[Decimal, Decimal, Decimal]:
    """Value, pull and spread from the definitions, with digits enough to cancel most of them."""
    with decimal.localcontext() as context:
        context.prec = 400
        b = 1 - Decimal(margin)
        r = (b * b + Decimal(variance)).sqrt()
        return (b + r) / 2, (1 + b / r) / 2, 1 / (2 * r)


DEMANDING = [
    (2.0, 1e-30),
    (3.0, 1e-18),
    (1e4, 1e-12),
    (1e8, 1.0),
    (1e8, 1e-100),
    (1e15, 1e3),
    (1e30, 1e20),
    (1.0 + 2**-52, 1e-20),
    (1.0 - 2**-53, 1e-40),
    (-1e8, 1e-3),
    (0.5, 1e-200),
    (1.0, 1e-300),
]


@pytest.mark.parametrize("margin, variance", DEMANDING)
def test_coefficients_do_not_cancel(margin, variance):
    _, pull, spread = decimal_psi_m(margin, variance)
    assert psi_m_coefficients(margin, variance) == pytest.approx(
        (float(pull), float(spread)), rel=1e-14, abs=0.0
    )


@pytest.mark.parametrize("margin, variance", DEMANDING)
def test_the_value_of_psi_m_does_not_cancel(margin, variance):
    value, _, _ = decimal_psi_m(margin, variance)
    assert psi_m(margin, variance) == pytest.approx(float(value), rel=1e-14, abs=0.0)
    array = psi_m(np.array([margin]), np.array([variance]))
    assert array[0] == pytest.approx(float(value), rel=1e-14, abs=0.0)


@given(margin=st.floats(1.5, 1e12), variance=st.floats(1e-200, 1e12))
@settings(max_examples=100, deadline=None)
def test_a_small_pull_keeps_its_digits(margin, variance):
    _, pull, _ = decimal_psi_m(margin, variance)
    assert psi_m_coefficients(margin, variance)[0] == pytest.approx(
        float(pull), rel=1e-14, abs=1e-300
    )


@pytest.mark.parametrize("margin", [-1e160, -1e100, 0.0, 1.0, 1e100, 1e160])
@pytest.mark.parametrize("variance", [0.0, 1e-300, 1.0, 1e160, 1e300])
def test_nothing_overflows(margin, variance):
    # The square of 1e160 is beyond a double.
    results = [
        (psi_m(margin, variance), *psi_m_coefficients(margin, variance)),
        (
            psi_m(np.array([margin]), np.array([variance])),
            *psi_m_coefficients(np.array([margin]), np.array([variance])),
        ),
        psi_s_coefficients(margin, variance),
    ]
    for numbers in results:
        assert all(np.isfinite(number).all() for number in numbers)
    value, pull, _ = results[0]
    assert 0.0 <= pull <= 1.0
    assert value >= max(0.0, 1.0 - margin) * (1.0 - 1e-15)


# Floats and arrays ---------------------------------------------------------------------------


@pytest.mark.parametrize("loss, coefficients", LOSSES)
@given(
    cases=st.lists(
        st.tuples(
            st.floats(-1e150, 1e150) | st.sampled_from([0.0, 1.0, 1.0 + 2**-52]),
            st.floats(0.0, 1e300) | st.sampled_from([0.0, 5e-324, 1e-300]),
        ),
        min_size=1,
        max_size=8,
    )
)
@example(cases=[(1.0, 0.0), (0.0, 0.0), (2.0, 0.0), (1.0, 5e-324)])
@settings(max_examples=150, deadline=None)
def test_arrays_are_floats_element_by_element(loss, coefficients, cases):
    margins, variances = np.array(cases).T
    values = loss(margins, variances)
    pulls, spreads = coefficients(margins, variances)
    assert values.shape == pulls.shape == spreads.shape == margins.shape
    for i, (margin, variance) in enumerate(cases):
        # numpy's hypot and the C library's may differ in the last place.
        assert values[i] == pytest.approx(loss(margin, variance), rel=1e-14, abs=1e-300)
        pull, spread = coefficients(margin, variance)
        assert pulls[i] == pytest.approx(pull, rel=1e-14, abs=1e-300)
        assert spreads[i] == pytest.approx(spread, rel=1e-14, abs=0.0)


@pytest.mark.parametrize("loss, coefficients", LOSSES)
def test_floats_give_floats_and_arguments_are_left_alone(loss, coefficients):
    results = (loss(0.5, 2.0), *coefficients(0.5, 2.0))
    assert all(type(number) is float for number in results)
    margins, variances = np.array([0.5, 1.0, 3.0]), np.array([2.0, 0.0, 1.0])
    loss(margins, variances)
    coefficients(margins, variances)
    np.testing.assert_array_equal(margins, [0.5, 1.0, 3.0])
    np.testing.assert_array_equal(variances, [2.0, 0.0, 1.0])
