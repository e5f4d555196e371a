"""Gradients of the paper's two surrogate losses, for arrays of models.

An example of class `y` is compared with the mean `m` and the covariance `S` of the opposite class.
Under the weights `w` its margin has the mean `w·d` with `d = y (x - m)` and the variance `w·Sw`.
Both losses depend on these two numbers only, and their gradient is `-pull · d + spread · Sw`.
"""

from __future__ import annotations

import numpy as np

from benchmarks.arrays import FloatArray

__all__ = ["psi_m_gradient", "psi_s_gradient"]


def psi_m_gradient(margin: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return `pull` and `spread` of ψ_M, the worst-case mean hinge loss.

    With b = 1 - margin and r = √(b² + variance), pull is (1 + b/r) / 2 and spread is 1 / (2r). At
    r = 0 the loss has a kink: pull is 1/2 and spread is 0.
    """
    b = 1.0 - margin
    r = np.hypot(b, np.sqrt(variance))
    kink = r == 0.0
    r = np.where(kink, 1.0, r)
    # For b < 0 the sum 1 + b/r cancels; variance / (r (r - b)) is the same and does not.
    pull = np.where(b < 0.0, 0.5 * variance / r / (r + np.abs(b)), 0.5 + 0.5 * b / r)
    return pull, np.where(kink, 0.0, 0.5 / r)


def psi_s_gradient(margin: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return `pull` and `spread` of ψ_S, half the mean squared loss: 1 - margin, and 1."""
    return 1.0 - margin, np.ones_like(margin)
