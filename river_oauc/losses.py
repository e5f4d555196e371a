"""The two surrogates of the AUC, as functions of a mean margin and a variance.

An example is compared with all earlier ones of the other class at once. Its margins over them have
a mean and a variance, and that is all that either loss looks at. For a linear score with weights
`w`, the margin over a class with mean `m` and covariance `S` has mean `w·d` with `d = y (x - m)`
and variance `w·Sw`, and the gradient of both losses is

    -pull · d + spread · Sw

where the two coefficients depend on mean and variance only. All functions take floats, for one
model, or arrays, for a stack of models.
"""

from __future__ import annotations

import math
import typing

import numpy as np

from river_oauc.inputs.arrays import FloatArray

__all__ = [
    "psi_m",
    "psi_m_coefficients",
    "psi_m_pair",
    "psi_s",
    "psi_s_coefficients",
    "psi_s_pair",
]

Number = typing.TypeVar("Number", float, FloatArray)


def psi_m(margin: Number, variance: Number) -> Number:
    """The largest mean hinge loss that margins of this mean and variance can have.

    With b = 1 - margin it is (b + √(b² + variance)) / 2: what the worst distribution reaches, so it
    bounds the mean of max(0, 1 - margin) over the pairs without looking at them one by one.

    Examples
    --------
    >>> from river_oauc.losses import psi_m
    >>> psi_m(1.0, 0.0), psi_m(1.0, 4.0), psi_m(0.0, 0.0)
    (0.0, 1.0, 1.0)

    """
    b = 1.0 - margin
    # For b < 0 the sum b + r cancels; variance / (r - b) is the same and does not.
    if isinstance(b, float):
        r = math.hypot(b, math.sqrt(variance))
        return 0.5 * variance / (r - b) if b < 0.0 else 0.5 * (b + r)
    r = np.hypot(b, np.sqrt(variance))
    return np.where(b < 0.0, 0.5 * variance / np.where(b < 0.0, r - b, 1.0), 0.5 * (b + r))


def psi_m_coefficients(margin: Number, variance: Number) -> tuple[Number, Number]:
    """`pull` and `spread` of the gradient of `psi_m`.

    With r = √(b² + variance), pull is (1 + b/r) / 2 and spread is 1 / (2r). This form never divides
    by the variance, and is smooth where all margins are equal but not 1. Where they are all exactly
    1 the loss has a kink: there pull is one half and spread is nothing.
    """
    if isinstance(margin, float):
        return psi_m_pair(margin, variance)
    b = 1.0 - margin
    r = np.hypot(b, np.sqrt(variance))
    kink = r == 0.0
    r = np.where(kink, 1.0, r)
    pull = np.where(b < 0.0, 0.5 * variance / r / (r + np.abs(b)), 0.5 + 0.5 * b / r)
    return pull, np.where(kink, 0.0, 0.5 / r)


def psi_m_pair(margin: float, variance: float) -> tuple[float, float]:
    """`psi_m_coefficients` of floats."""
    b = 1.0 - margin
    r = math.hypot(b, math.sqrt(variance))
    if r == 0.0:
        return 0.5, 0.0
    # For b < 0 the sum 1 + b/r cancels; variance / (r (r - b)) is the same and does not.
    if b < 0.0:
        return 0.5 * variance / r / (r - b), 0.5 / r
    return 0.5 + 0.5 * b / r, 0.5 / r


def psi_s(margin: Number, variance: Number) -> Number:
    """Half the mean squared loss: half the mean of (1 - margin)² over the pairs.

    Examples
    --------
    >>> from river_oauc.losses import psi_s
    >>> psi_s(1.0, 4.0), psi_s(0.0, 0.0)
    (2.0, 0.5)

    """
    b = 1.0 - margin
    return 0.5 * (b * b + variance)


def psi_s_coefficients(margin: Number, variance: Number) -> tuple[Number, Number]:
    """`pull` and `spread` of the gradient of `psi_s`: 1 - margin, and 1."""
    if isinstance(margin, float):
        return psi_s_pair(margin, variance)
    return 1.0 - margin, np.ones_like(margin)


def psi_s_pair(margin: float, variance: float) -> tuple[float, float]:
    """`psi_s_coefficients` of floats."""
    return 1.0 - margin, 1.0
