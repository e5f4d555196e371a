"""The losses of boosted trees, as functions of the scores of stored examples.

A loss returns its first and second derivatives by the score of each example, the negatives first.
The logistic loss is that of the odds against an average example. The other two are the losses of
the paper. Each example is compared with all of the opposite class at once, through the mean and the
variance of their scores. These depend on all scores of a class, and so do the derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from river_oauc.state import FloatArray

# The least second derivative of the logistic loss, per unit of weight.
MIN_CURVATURE = 1e-6

Derivatives = tuple[FloatArray, FloatArray]


def logistic(
    scores: Sequence[FloatArray], weights: Sequence[FloatArray], odds: float
) -> Derivatives:
    """Return the derivatives of the logistic loss, both classes being as frequent as they are.

    Parameters
    ----------
    scores
        Of the negatives and of the positives.
    weights
        Their importance weights.
    odds
        Weight of all negatives over that of all positives of the stream. The negatives count by
        this factor more than the positives, however many are stored.

    """
    scale = odds * weights[1].sum() / weights[0].sum()
    w = np.concatenate((scale * weights[0], weights[1]))
    logits = np.concatenate(scores) - math.log(odds)
    decay = np.exp(-np.abs(logits))
    p = np.where(logits >= 0.0, 1.0, decay) / (1.0 + decay)
    y = np.repeat((0.0, 1.0), (len(weights[0]), len(weights[1])))
    return w * (p - y), w * np.maximum(p * (1.0 - p), MIN_CURVATURE)


def psi_m(scores: Sequence[FloatArray], weights: Sequence[FloatArray], odds: float) -> Derivatives:
    """Return the derivatives of ψ_M, as `losses.psi_m` has it."""

    def derivatives(b: FloatArray, variance: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        r = np.sqrt(b * b + variance)
        safe = np.where(r > 0.0, r, 1.0)
        spread = np.where(r > 0.0, 0.5 / safe, 0.0)
        # For b < 0 the sum 1 + b/r cancels.
        pull = np.where(b < 0.0, variance / (safe * (safe + np.abs(b))), 1.0 + b / safe)
        return 0.5 * pull, spread, spread * variance / (safe * safe)

    return _pairwise(scores, weights, derivatives)


def psi_s(scores: Sequence[FloatArray], weights: Sequence[FloatArray], odds: float) -> Derivatives:
    """Return the derivatives of ψ_S / 2, as `losses.psi_s` has it."""

    def derivatives(b: FloatArray, variance: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        return b, np.ones(len(b)), np.ones(len(b))

    return _pairwise(scores, weights, derivatives)


def _pairwise(
    scores: Sequence[FloatArray],
    weights: Sequence[FloatArray],
    derivatives: Callable[[FloatArray, float], tuple[FloatArray, FloatArray, FloatArray]],
) -> Derivatives:
    """Return the derivatives of a loss of the margins over the opposite class.

    With b = 1 - margin, `derivatives` returns `pull` and `spread` as in `losses`, and the
    derivative of `pull` by b. Both classes have the same weight. Of the second derivatives, those
    by two different scores are left out.
    """
    shares = [w / w.sum() for w in weights]
    # A mean over pairs is worth as many examples as the harmonic mean of the class sizes. With the
    # factor 1/8, the second derivative of ψ_S is 1/4 per example, the largest of the logistic loss.
    size = 2.0 / sum(1.0 / w.sum() for w in weights) / 8.0
    means = [float(share.dot(f)) for share, f in zip(shares, scores, strict=True)]
    variances = [
        float(share.dot((f - mean) ** 2))
        for share, f, mean in zip(shares, scores, means, strict=True)
    ]
    parts = [
        derivatives(1.0 - sign * (f - means[not own]), variances[not own])
        for own, (sign, f) in enumerate(zip((-1.0, 1.0), scores, strict=True))
    ]
    g, h = [], []
    for own, sign in enumerate((-1.0, 1.0)):
        pull, _, curvature = parts[own]
        # How the other class is drawn to the mean of this one, and away from its variance.
        opposite_pull = float(shares[not own].dot(parts[not own][0]))
        opposite_spread = float(shares[not own].dot(parts[not own][1]))
        deviation = scores[own] - means[own]
        g.append(size * shares[own] * (opposite_spread * deviation - sign * (pull + opposite_pull)))
        h.append(size * shares[own] * (curvature + opposite_spread))
    return np.concatenate(g), np.concatenate(h)


LOSSES = {"logistic": logistic, "psi_m": psi_m, "psi_s": psi_s}
