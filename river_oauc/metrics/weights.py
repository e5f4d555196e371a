"""Sums of weights that neither overflow nor underflow."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from river_oauc.metrics.bag import Entries


def scale_exponent(*classes: Entries) -> int:
    """Compute the power of two by which to divide weights, so that sums and products are finite.

    Dividing by a power of two is exact, so integer weights are still added without rounding. At
    least one class must have entries.
    """
    largest = [
        float(entries.imag.max()) if np.iscomplexobj(entries) else 1.0
        for entries in classes
        if entries.size
    ]
    return math.frexp(max(largest))[1]


def scaled_weights(entries: Entries, exponent: int) -> npt.NDArray[np.float64]:
    """Divide the weights of one class by a power of two."""
    weights = entries.imag if np.iscomplexobj(entries) else np.ones(entries.size)
    scaled: npt.NDArray[np.float64] = np.ldexp(weights, -exponent)
    return scaled


def weights_above(
    entries: Entries, scores: npt.NDArray[np.float64], exponent: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Sum the scaled weights of the sorted entries above each score, and at or above it."""
    # Summed from the highest score down: subtracting from the total would lose small weights.
    summed = np.append(np.cumsum(scaled_weights(entries, exponent)[::-1])[::-1], 0.0)
    at_or_above = summed[np.searchsorted(entries.real, scores)]
    return summed[np.searchsorted(entries.real, scores, side="right")], at_or_above
