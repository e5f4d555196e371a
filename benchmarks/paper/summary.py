"""What the outcomes of a table come to, set by set and method by method."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.paper.methods import Setting, Table
from benchmarks.paper.protocol import Cell, Outcome
from benchmarks.paper.reported import Reported, reported
from benchmarks.paper.significance import paired_tests
from benchmarks.ranking import LEVEL, Ranking, rank

__all__ = ["Entry", "Summary", "describe", "summarise"]


@dataclass(frozen=True)
class Entry:
    """One method on one set. AUCs are in percent.

    Parameters
    ----------
    aucs
        The AUC of each run.
    paper
        What the paper reports; None where it reports nothing.
    chosen
        The setting that was chosen most often, the first of the grid where several were.
    n_chosen
        In how many runs it was.
    p_value
        Of the difference from the reference method; None if that is not there, or is this one.
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
        """The standard deviation over the runs; None of a single one."""
        return statistics.stdev(self.aucs) if len(self.aucs) > 1 else None

    @property
    def difference(self) -> float | None:
        """How far the mean is above the paper's."""
        return self.mean - self.paper.mean if self.paper else None

    @property
    def is_significant(self) -> bool:
        """Whether the difference from the reference method is."""
        return self.p_value is not None and self.p_value <= LEVEL


@dataclass(frozen=True)
class Summary:
    """A table, or the part of it that was asked for.

    Parameters
    ----------
    table
        The table.
    datasets, methods
        Rows and columns.
    n_runs
        The number of runs.
    entries
        What stands in them.
    ranking
        The average ranks; None of a single method, which has no rank.

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
    """The sum of the first runs of some methods on some sets."""
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
    """A setting of powers of 2 in short.

    Examples
    --------
    >>> describe({"l2": 0.25, "lr": 8.0})
    'l2=2^-2 lr=2^3'

    """
    return " ".join(f"{name}=2^{math.log2(value):g}" for name, value in setting.items())
