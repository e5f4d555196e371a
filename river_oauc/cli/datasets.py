"""`river-oauc datasets`: the benchmark sets, and which of them are on this machine."""

from __future__ import annotations

import argparse

from rich.console import Console

from river_oauc.cli.console.names import known_names
from river_oauc.cli.console.terminal import print_table, say
from river_oauc.datasets import BENCHMARKS, BenchmarkDataset
from river_oauc.datasets.published import DIRECTORY_VARIABLE, check_directory_variable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.description = (
        "List the benchmark sets: their size, negatives per positive (IR) beside the paper's, and "
        f"the file. Files are looked for in ${DIRECTORY_VARIABLE}, then in river's data directory, "
        "and are checked for damage. Nothing is downloaded."
    )
    parser.add_argument("sets", nargs="*", metavar="SET", help="which sets (default: all)")


def run(args: argparse.Namespace) -> int:
    """Print the table, and below it the numbered directories, which are too long for a column."""
    check_directory_variable()
    names = known_names("set", args.sets or None, BENCHMARKS)
    numbers: dict[str, int] = {}
    rows = [["set", "instances", "features", "positives", "IR", "paper's", "file"]]
    for name in names:
        dataset = BENCHMARKS[name]()
        rows.append([name, *_figures(dataset), _file(dataset, numbers)])

    console = Console()
    print_table(console, rows)
    say(console, "*: differs from the paper's ratio; see the docstring of the set's class")
    for directory, number in numbers.items():
        say(console, f"({number}) {directory}")
    files = [row[-1] for row in rows]
    if n_missing := files.count("-"):
        say(console, f"{n_missing} sets are not on this machine; each is downloaded on first use.")
    if n_damaged := files.count("damaged"):
        say(console, f"{n_damaged} files are damaged; delete them to have them downloaded again.")
    return 0


def _figures(dataset: BenchmarkDataset) -> list[str]:
    facts = dataset.facts
    ratio, paper_ratio = f"{facts.imbalance_ratio:.2f}", f"{facts.paper_imbalance_ratio:.2f}"
    return [
        f"{facts.n_samples:,}",
        f"{facts.n_features}",
        f"{facts.n_positives:,}",
        ratio,
        paper_ratio if ratio == paper_ratio else f"* {paper_ratio}",
    ]


def _file(dataset: BenchmarkDataset, numbers: dict[str, int]) -> str:
    """Return the number of the file's directory, adding the directory if it is new."""
    if not dataset.is_downloaded:
        return "-"
    if not dataset.is_intact:
        return "damaged"
    return f"({numbers.setdefault(str(dataset.path.parent), len(numbers) + 1)})"
