"""Paired significance tests over runs or sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import stats

__all__ = ["holm", "paired_tests"]


def paired_tests(figures: Mapping[str, Sequence[float]], reference: str) -> dict[str, float]:
    """Test each method against a reference: Wilcoxon's signed-rank test with Holm's correction.

    Parameters
    ----------
    figures
        A figure for each run or set, such as the AUC, in the same order for each method.
    reference
        The method to test the others against.

    Returns
    -------
    The corrected p-value of each of the other methods.

    Examples
    --------
    >>> figures = {"a": [0.8, 0.7, 0.9, 0.6, 0.8, 0.7], "b": [0.7, 0.5, 0.8, 0.5, 0.6, 0.5]}
    >>> paired_tests(figures, reference="a")
    {'b': 0.03125}

    """
    others = [method for method in figures if method != reference]
    p_values = [_wilcoxon(figures[method], figures[reference]) for method in others]
    return dict(zip(others, holm(p_values), strict=True))


def _wilcoxon(first: Sequence[float], second: Sequence[float]) -> float:
    differences = np.subtract(first, second)
    # scipy refuses to rank only zeros.
    if not differences.any():
        return 1.0
    return float(stats.wilcoxon(differences).pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for multiple testing by Holm's step-down method.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]

    """
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for place, index in enumerate(np.argsort(p_values, kind="stable").tolist()):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[index]))
        corrected[index] = largest
    return corrected
