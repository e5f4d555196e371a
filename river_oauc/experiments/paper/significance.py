"""Which differences are real: paired tests over the runs, and average ranks over the sets."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from river_oauc.inputs.arrays import FloatArray

__all__ = ["LEVEL", "Ranking", "holm", "paired_tests", "rank"]

LEVEL = 0.05


def paired_tests(aucs: Mapping[str, Sequence[float]], reference: str) -> dict[str, float]:
    """Wilcoxon's signed-rank test of each method against one, corrected after Holm.

    Parameters
    ----------
    aucs
        The AUC of each run, the same runs in the same order for each method.
    reference
        The method to test the others against.

    Returns
    -------
    The corrected p-value of each of the other methods.

    Examples
    --------
    >>> aucs = {"a": [0.8, 0.7, 0.9, 0.6, 0.8, 0.7], "b": [0.7, 0.5, 0.8, 0.5, 0.6, 0.5]}
    >>> paired_tests(aucs, reference="a")
    {'b': 0.03125}

    """
    others = [method for method in aucs if method != reference]
    p_values = [_wilcoxon(aucs[method], aucs[reference]) for method in others]
    return dict(zip(others, holm(p_values), strict=True))


def _wilcoxon(first: Sequence[float], second: Sequence[float]) -> float:
    differences = np.subtract(first, second)
    # There is nothing to be ranked then.
    if not differences.any():
        return 1.0
    return float(stats.wilcoxon(differences).pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values corrected for their number, by Holm's step-down method.

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


@dataclass(frozen=True)
class Ranking:
    """The average ranks of some methods over some sets.

    Parameters
    ----------
    ranks
        The average rank of each method, the best one first.
    critical_difference
        The least difference of two average ranks that is significant at the level of 5 %, after
        Nemenyi.
    n_sets
        The number of sets.

    """

    ranks: dict[str, float]
    critical_difference: float
    n_sets: int

    @property
    def cliques(self) -> list[list[str]]:
        """The largest groups of methods, two or more, that do not differ significantly.

        Examples
        --------
        >>> ranking = Ranking({"a": 1.0, "b": 1.9, "c": 2.8, "d": 4.3}, 1.0, n_sets=10)
        >>> ranking.cliques
        [['a', 'b'], ['b', 'c']]

        """
        names, values = list(self.ranks), list(self.ranks.values())
        groups: list[list[str]] = []
        last_end = 0
        for start, best in enumerate(values):
            end = sum(value <= best + self.critical_difference for value in values)
            if end > last_end and end - start > 1:
                groups.append(names[start:end])
            last_end = max(last_end, end)
        return groups


def rank(means: Mapping[str, Sequence[float]]) -> Ranking:
    """The ranking of two or more methods by their mean AUC on each set, a tie sharing its ranks.

    Parameters
    ----------
    means
        The mean AUC on each set, the same sets in the same order for each method.

    Examples
    --------
    >>> rank({"a": [0.8, 0.7, 0.9], "b": [0.9, 0.8, 0.9]}).ranks
    {'b': 1.167, 'a': 1.833}

    """
    matrix: FloatArray = np.array(list(means.values()))
    n_methods, n_sets = matrix.shape
    average = stats.rankdata(-matrix, axis=0).mean(axis=1).tolist()
    ranks = dict(sorted(zip(means, average, strict=True), key=lambda item: item[1]))
    quantile = float(stats.studentized_range.ppf(1.0 - LEVEL, n_methods, np.inf)) / math.sqrt(2.0)
    return Ranking(
        ranks, quantile * math.sqrt(n_methods * (n_methods + 1) / (6.0 * n_sets)), n_sets
    )
