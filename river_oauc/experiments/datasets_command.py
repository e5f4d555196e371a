"""`river-oauc datasets`: the benchmark sets, and which of them are here."""

from __future__ import annotations

import argparse

from rich.console import Console
from rich.table import Table

from river_oauc import datasets
from river_oauc.datasets.base import DIRECTORY_VARIABLE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command, which takes no arguments."""
    parser.description = (
        "List the benchmark sets: their size, negatives per positive (IR) beside the paper's, and "
        f"the file. Files are looked for in ${DIRECTORY_VARIABLE}, then in river's data directory. "
        "Nothing is downloaded."
    )


def run(args: argparse.Namespace) -> int:
    """Print the table, and below it the directories of the files.

    The directories have lines of their own, numbered, because a column of the table would break
    them.
    """
    benchmarks = [dataset_class() for dataset_class in datasets.BENCHMARKS.values()]
    present = [dataset for dataset in benchmarks if dataset.is_downloaded]
    numbers: dict[str, int] = {}
    for dataset in present:
        numbers.setdefault(str(dataset.path.parent), len(numbers) + 1)

    console = Console()
    console.print(_table(benchmarks, numbers))
    for directory, number in numbers.items():
        console.print(f"({number}) {directory}", soft_wrap=True, markup=False, highlight=False)
    if n_missing := len(benchmarks) - len(present):
        console.print(f"{n_missing} sets are not here; each is downloaded when it is first used.")
    return 0


def _table(benchmarks: list[datasets.BenchmarkDataset], numbers: dict[str, int]) -> Table:
    table = Table(caption="*: not the paper's ratio; the docstring of the set's class says why")
    table.add_column("set", no_wrap=True)
    for heading in ("instances", "features", "positives", "IR", "paper's"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("file", no_wrap=True)
    for dataset in benchmarks:
        facts = dataset.facts
        ratio, paper_ratio = f"{facts.imbalance_ratio:.2f}", f"{facts.paper_imbalance_ratio:.2f}"
        table.add_row(
            type(dataset).__name__.lower(),
            f"{facts.n_samples:,}",
            f"{facts.n_features}",
            f"{facts.n_positives:,}",
            ratio,
            paper_ratio if ratio == paper_ratio else f"* {paper_ratio}",
            f"({numbers[str(dataset.path.parent)]})" if dataset.is_downloaded else "-",
        )
    return table
