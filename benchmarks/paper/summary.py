"""Summary of the outcomes of a table by set and method."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.paper.methods import Setting, Table
from benchmarks.paper.protocol import Cell, Outcome
from benchmarks.paper.reported import Reported, reported
from benchmarks.ranking import LEVEL, Ranking, rank
from benchmarks.significance import paired_tests

__all__ = ["Entry", "Summary", "describe", "summarise"]


@dataclass(frozen=True)
class Entry:
    """One method on one set. AUCs are in percent.

    Parameters
    ----------
    aucs
        The AUC of each run.
    paper
        The figures that the paper reports, if any.
    chosen
        The setting chosen most often; of several, the first of the grid.
    n_chosen
        The number of runs that chose it.
    p_value
        Of the difference from the reference method; None without it and for itself.
    is_better
        Whether the mean is above that of the reference method.

    """

    aucs: list[float]
    paper: Reported | None
    chosen: Setting
    n_chosen: int
    p_value: float | None
    is_better: bool

    @property
    def mean(self) -> float:
        return statistics.fmean(self.aucs)

    @property
    def std(self) -> float | None:
        """The standard deviation over the runs; None for a single run."""
        return statistics.stdev(self.aucs) if len(self.aucs) > 1 else None

    @property
    def difference(self) -> float | None:
        """The mean minus the paper's mean."""
        return self.mean - self.paper.mean if self.paper else None

    @property
    def is_significant(self) -> bool:
        """Whether the difference from the reference method is significant."""
        return self.p_value is not None and self.p_value <= LEVEL


@dataclass(frozen=True)
class Summary:
    """A table, or the requested part of it.

    Parameters
    ----------
    table
        The table.
    datasets, methods
        Rows and columns.
    n_runs
        The number of runs.
    entries
        The cells by set and method.
    ranking
        The average ranks; None for a single method.

    """

    table: Table
    datasets: Sequence[str]
    methods: Sequence[str]
    n_runs: int
    entries: Mapping[tuple[str, str], Entry]
    ranking: Ranking | None


def summarise(
    table: Table,
    datasets: Sequence[str],
    methods: Sequence[str],
    n_runs: int,
    outcomes: Mapping[Cell, Outcome],
) -> Summary:
    """Summarise the first runs of some methods on some sets."""
    paper = reported(table.name)
    entries: dict[tuple[str, str], Entry] = {}
    for dataset in datasets:
        runs = {
            method: [outcomes[Cell(dataset, method, run)] for run in range(n_runs)]
            for method in methods
        }
        aucs = {
            method: [100.0 * outcome.auc for outcome in outcomes_]
            for method, outcomes_ in runs.items()
        }
        reference = aucs.get(table.reference)
        p_values = paired_tests(aucs, table.reference) if reference else {}
        for method in methods:
            settings = Counter(tuple(outcome.setting.items()) for outcome in runs[method])
            chosen, n_chosen = min(settings.items(), key=lambda item: (-item[1], item[0]))
            entries[dataset, method] = Entry(
                aucs=aucs[method],
                paper=paper.get((dataset, method)),
                chosen=dict(chosen),
                n_chosen=n_chosen,
                p_value=p_values.get(method),
                is_better=reference is not None and sum(aucs[method]) > sum(reference),
            )
    ranking = None
    if len(methods) > 1:
        ranking = rank(
            {method: [entries[dataset, method].mean for dataset in datasets] for method in methods}
        )
    return Summary(table, datasets, methods, n_runs, entries, ranking)


def describe(setting: Setting) -> str:
    """Format a setting of powers of 2.

    Examples
    --------
    >>> describe({"l2": 0.25, "lr": 8.0})
    'l2=2^-2 lr=2^3'

    """
    return " ".join(f"{name}=2^{math.log2(value):g}" for name, value in setting.items())
