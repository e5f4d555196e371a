"""Average ranks of methods over sets, and their critical difference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from benchmarks.arrays import FloatArray

__all__ = ["LEVEL", "Ranking", "rank"]

LEVEL = 0.05


@dataclass(frozen=True)
class Ranking:
    """The average ranks of some methods over some sets.

    Parameters
    ----------
    ranks
        The average rank of each method, the best one first.
    critical_difference
        The smallest significant difference of two average ranks by Nemenyi's test at 5 %.
    n_sets
        The number of sets.

    """

    ranks: dict[str, float]
    critical_difference: float
    n_sets: int

    @property
    def cliques(self) -> list[list[str]]:
        """The maximal groups of two or more methods that do not differ significantly.

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

    @property
    def text(self) -> str:
        """A line per method by rank, with a stroke for each clique that it belongs to.

        Examples
        --------
        >>> print(Ranking({"a": 1.0, "b": 1.9, "c": 2.8, "d": 4.3}, 1.0, n_sets=10).text)
        1.00  a  ┃
        1.90  b  ┃ ┃
        2.80  c    ┃
        4.30  d
        critical difference 1.00 (Nemenyi, p ≤ 0.05, 10 sets); strokes join what does not differ

        """
        width = max(map(len, self.ranks))
        lines = []
        for name, value in self.ranks.items():
            strokes = " ".join("┃" if name in clique else " " for clique in self.cliques)
            lines.append(f"{value:5.2f}  {name:{width}}  {strokes}".rstrip())
        lines.append(
            f"critical difference {self.critical_difference:.2f} (Nemenyi, p ≤ {LEVEL}, "
            f"{self.n_sets} sets); strokes join what does not differ"
        )
        return "\n".join(lines)


def rank(means: Mapping[str, Sequence[float]]) -> Ranking:
    """Rank two or more methods by their mean AUC on each set; ties share their ranks.

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
