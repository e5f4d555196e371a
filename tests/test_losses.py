"""The surrogates against samples, a linear programme, finite differences and decimals."""

from __future__ import annotations

import decimal
import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from river_oauc.rankers.losses import psi_m, psi_m_gradient, psi_s, psi_s_gradient

both_losses = pytest.mark.parametrize(
    ("loss", "gradient"), [(psi_m, psi_m_gradient), (psi_s, psi_s_gradient)], ids=["psi_m", "psi_s"]
)


def mean_hinge(margins: np.ndarray) -> float:
    return float(np.mean(np.maximum(0.0, 1.0 - margins)))


# Values ----------------------------------------------------------------------------------------


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12))
def test_psi_m_bounds_the_mean_hinge_loss_of_any_sample(margins):
    margins = np.array(margins)
    bound = psi_m(float(margins.mean()), float(margins.var()))
    # Mean and variance are rounded, relative to the largest margin.
    assert mean_hinge(margins) <= bound + 1e-14 * (1.0 + np.max(np.abs(margins)))


@pytest.mark.parametrize(
    ("mean", "deviation"), [(-2.0, 1.0), (0.5, 2.0), (1.0, 0.7), (1.5, 1.0), (3.0, 2.0)]
)
def test_psi_m_is_the_worst_of_all_distributions(mean, deviation):
    """The largest mean hinge loss is a linear programme over distributions on a fine grid."""
    grid = np.linspace(mean - 8 * deviation, mean + 8 * deviation, 4001)
    moments = np.vstack([np.ones_like(grid), grid - mean, (grid - mean) ** 2])
    worst = optimize.linprog(
        -np.maximum(0.0, 1.0 - grid), A_eq=moments, b_eq=[1.0, 0.0, deviation**2]
    )
    assert -worst.fun == pytest.approx(psi_m(mean, deviation**2), rel=1e-4)


@pytest.mark.parametrize("n", [2, 5, 9])
@pytest.mark.parametrize("deviation", [1e-3, 1.7, 1e4])
def test_psi_m_is_attained_by_two_points(n, deviation):
    for below in range(1, n):
        # The worst distribution has a share of (1 + b/r)/2 on one margin below 1; this is the b.
        share = below / n
        b = deviation * (2 * share - 1) / math.sqrt(1 - (2 * share - 1) ** 2)
        low = 1 - b - deviation * math.sqrt((1 - share) / share)
        high = 1 - b + deviation * math.sqrt(share / (1 - share))
        margins = np.array([low] * below + [high] * (n - below))
        bound = psi_m(float(margins.mean()), float(margins.var()))
        assert bound == pytest.approx(mean_hinge(margins), rel=1e-8)


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=20))
def test_psi_s_is_half_the_mean_squared_loss_of_the_sample(margins):
    margins = np.array(margins, dtype=float)
    expected = np.mean((1 - margins) ** 2) / 2
    assert psi_s(margins.mean(), margins.var()) == pytest.approx(expected, rel=1e-12)


# Gradients -------------------------------------------------------------------------------------


@both_losses
@pytest.mark.parametrize("n_opposite", [1, 2, 30])
@pytest.mark.parametrize("scale", [0.0, 0.1, 1.0, 10.0])
def test_gradients_are_finite_differences_of_the_value(loss, gradient, n_opposite, scale):
    # One opposite example has no variance, and weights of scale 0 are where learning starts.
    rng, p, h = np.random.default_rng(0), 4, 1e-5
    compared = 0
    while compared < 15:
        d, w = rng.normal(size=p), scale * rng.normal(size=p)
        cov = np.cov(rng.normal(size=(n_opposite, p)), rowvar=False, bias=True)

        def value(w, d=d, cov=cov):
            return loss(float(w @ d), max(float(w @ cov @ w), 0.0))

        if math.hypot(1.0 - w @ d, math.sqrt(max(w @ cov @ w, 0.0))) < 0.05:
            continue  # Too close to the kink for a difference quotient.
        pull, spread = gradient(float(w @ d), max(float(w @ cov @ w), 0.0))
        differences = [(value(w + h * e) - value(w - h * e)) / (2 * h) for e in np.eye(p)]
        np.testing.assert_allclose(
            -pull * d + spread * (cov @ w), differences, rtol=1e-5, atol=1e-6
        )
        compared += 1


def test_without_variance_psi_m_is_the_hinge_loss():
    for margin in (-5.0, 0.0, 0.999):
        assert psi_m(margin, 0.0) == 1.0 - margin
        assert psi_m_gradient(margin, 0.0)[0] == 1.0
    for margin in (1.001, 3.0, 1e10):
        assert psi_m(margin, 0.0) == 0.0
        assert psi_m_gradient(margin, 0.0)[0] == 0.0
    # At the kink, one half of d is a subgradient.
    assert psi_m(1.0, 0.0) == 0.0
    assert psi_m_gradient(1.0, 0.0) == (0.5, 0.0)


# Digits and extremes ---------------------------------------------------------------------------


def decimal_psi_m(margin: float, variance: float) -> tuple[float, float, float]:
    """Return value, pull and spread from their definitions, with enough digits to cancel most."""
    with decimal.localcontext() as context:
        context.prec = 400
        b = 1 - Decimal(margin)
        r = (b * b + Decimal(variance)).sqrt()
        return float((b + r) / 2), float((1 + b / r) / 2), float(1 / (2 * r))


@given(
    margin=st.floats(-1e12, 1e12) | st.sampled_from([1e30, 1.0 + 2**-52, 1.0 - 2**-53, 1.0]),
    variance=st.floats(1e-300, 1e20),
)
def test_nothing_cancels(margin, variance):
    value, pull, spread = decimal_psi_m(margin, variance)
    # A square root below 1e-150 is not squared to full precision.
    assert psi_m(margin, variance) == pytest.approx(value, rel=1e-14, abs=1e-300)
    assert psi_m_gradient(margin, variance) == pytest.approx((pull, spread), rel=1e-14, abs=1e-300)


@pytest.mark.parametrize("margin", [-1e160, -1e100, 0.0, 1.0, 1e100, 1e160])
@pytest.mark.parametrize("variance", [0.0, 5e-324, 1e-300, 1.0, 1e160, 1e300])
def test_nothing_overflows(margin, variance):
    # The square of 1e160 is not a double.
    value, (pull, spread) = psi_m(margin, variance), psi_m_gradient(margin, variance)
    assert math.isfinite(value) and math.isfinite(spread)
    assert 0.0 <= pull <= 1.0 and spread >= 0.0
    assert value >= max(0.0, 1.0 - margin) * (1.0 - 1e-15)
