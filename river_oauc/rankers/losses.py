"""The two surrogates of the AUC, as functions of a mean margin and a variance.

An example is compared with all earlier ones of the opposite class at once. Its margins over them
have a mean and a variance, and either loss depends on nothing else. For a linear score with weights
`w`, the margin over a class with mean `m` and covariance `Σ` has mean `w·d` with `d = y (x - m)`
and variance `w·Σw`, and the gradient of both losses is

    -margin_coef · d + variance_coef · Σw

where the two coefficients depend on mean and variance only.
"""

from __future__ import annotations

import math


def psi_m(margin: float, variance: float) -> float:
    """Return ψ_M, the largest mean hinge loss that margins of this mean and variance can have.

    With b = 1 - margin it is (b + √(b² + variance)) / 2. The worst distribution reaches it, so it
    bounds the mean of max(0, 1 - margin) over all pairs without looking at them one by one.

    Examples
    --------
    >>> from river_oauc.rankers.losses import psi_m
    >>> psi_m(1.0, 0.0), psi_m(1.0, 4.0), psi_m(0.0, 0.0)
    (0.0, 1.0, 1.0)

    """
    b = 1.0 - margin
    r = math.hypot(b, math.sqrt(variance))
    # For b < 0 the sum b + r cancels; variance / (r - b) is the same and does not.
    return 0.5 * variance / (r - b) if b < 0.0 else 0.5 * (b + r)


def psi_m_gradient(margin: float, variance: float) -> tuple[float, float]:
    """Return `margin_coef` and `variance_coef` of the gradient of ψ_M.

    With r = √(b² + variance), they are Φ = (1 + b/r) / 2 and 1 / (2r). This form never divides by
    the variance. Where all margins are exactly 1, the loss has a kink: there they are 1/2 and 0.
    """
    b = 1.0 - margin
    r = math.hypot(b, math.sqrt(variance))
    if r == 0.0:
        return 0.5, 0.0
    # For b < 0 the sum 1 + b/r cancels; variance / (r (r - b)) is the same and does not.
    if b < 0.0:
        return 0.5 * variance / r / (r - b), 0.5 / r
    return 0.5 + 0.5 * b / r, 0.5 / r


def psi_s(margin: float, variance: float) -> float:
    """Return ψ_S / 2, half the mean of (1 - margin)² over all pairs.

    Examples
    --------
    >>> from river_oauc.rankers.losses import psi_s
    >>> psi_s(1.0, 4.0), psi_s(0.0, 0.0)
    (2.0, 0.5)

    """
    b = 1.0 - margin
    return 0.5 * (b * b + variance)


def psi_s_gradient(margin: float, variance: float) -> tuple[float, float]:
    """Return both coefficients of the gradient of ψ_S / 2: 1 - margin, and 1."""
    return 1.0 - margin, 1.0


def sigmoid(logit: float) -> float:
    """Return 1 / (1 + exp(-logit)), the slope of the logistic loss at a margin of -logit.

    Examples
    --------
    >>> from river_oauc.rankers.losses import sigmoid
    >>> sigmoid(0.0), sigmoid(2.0), sigmoid(-1e9)
    (0.5, 0.881, 0.0)

    """
    return 1.0 / (1.0 + math.exp(-logit)) if logit > -700.0 else 0.0
