"""`python -m benchmarks tables`: compute the paper's tables and compare the figures."""

from __future__ import annotations

import argparse
import functools
import pathlib

from rich.console import Console

from benchmarks.datasets import BENCHMARKS
from benchmarks.examples import download_missing
from benchmarks.paper.methods import TABLES
from benchmarks.paper.protocol import PAPER_RUNS, Cell, run_cell
from benchmarks.paper.report import to_csv, to_markdown
from benchmarks.paper.results import results_file
from benchmarks.paper.summary import Summary, summarise
from benchmarks.workers import add_jobs_argument, run_cells
from river_oauc.cli.console import positive_int, print_table, progress_bar, say
from river_oauc.cli.messages import known_names
from river_oauc.files import replace_file

__all__ = ["add_arguments", "run"]

DEFAULT_OUT = pathlib.Path("river-oauc-tables")
MAX_RUNS = 1_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.description = (
        "Compute one of the paper's tables by its protocol and compare it with the paper. Every "
        "finished run is kept in a file: after an interrupt, the same command continues."
    )
    parser.add_argument("table", choices=list(TABLES), help="which table: %(choices)s")
    parser.add_argument("--datasets", nargs="+", metavar="SET", help="which sets (default: all)")
    parser.add_argument(
        "--methods",
        nargs="+",
        metavar="METHOD",
        help="which methods (default: all): "
        + "; ".join(
            f"{name}: {', '.join(method.name for method in make().methods)}"
            for name, make in TABLES.items()
        ),
    )
    parser.add_argument(
        "--runs",
        type=functools.partial(positive_int, at_most=MAX_RUNS),
        default=PAPER_RUNS,
        metavar="N",
        help=f"how many runs: five make a partition (default: {PAPER_RUNS}, as in the paper)",
    )
    add_jobs_argument(parser)
    parser.add_argument(
        "--grid-step",
        type=positive_int,
        metavar="N",
        help="tune over every N-th power of 2 of the grids (default: "
        + ", ".join(f"{name} {make().grid_step}" for name, make in TABLES.items())
        + ")",
    )
    parser.add_argument(
        "--out",
        type=pathlib.Path,
        default=DEFAULT_OUT,
        metavar="DIR",
        help=f"where results, tables and figures go (default: {DEFAULT_OUT})",
    )


def run(args: argparse.Namespace) -> int:
    """Run the missing runs, print the table, and write tables and figures."""
    make = TABLES[args.table]
    table = make(args.grid_step) if args.grid_step else make()
    datasets = known_names("set", args.datasets, BENCHMARKS)
    methods = known_names("method", args.methods, [method.name for method in table.methods])
    out = args.out.absolute()
    if not next(path for path in (out, *out.parents) if path.exists()).is_dir():
        # It cannot be created: let the system say why before anything is downloaded.
        args.out.mkdir(parents=True)
    download_missing(datasets)
    args.out.mkdir(parents=True, exist_ok=True)

    console = Console()
    cells = [
        Cell(dataset, method, run)
        for dataset in datasets
        for run in range(args.runs)
        for method in methods
    ]
    with results_file(args.out / f"{table.name}-results.jsonl", table) as results:
        missing = [cell for cell in cells if cell not in results.outcomes]
        if len(missing) < len(cells):
            say(console, f"{len(cells) - len(missing):,} of {len(cells):,} runs are there already")
        with progress_bar("running") as progress:
            # The time of a run grows with the set.
            sizes = {cell: BENCHMARKS[cell.dataset].n_samples for cell in missing}
            task = progress.add_task("", total=sum(sizes.values()))
            run_of_table = functools.partial(run_cell, table)
            for cell, outcome in run_cells(run_of_table, missing, args.jobs):
                results.add(cell, outcome)
                progress.advance(task, sizes[cell])
        summary = summarise(table, datasets, methods, args.runs, results.outcomes)

    print_table(console, _rows(summary))
    say(console, _legend(summary), style="dim")
    for path in _write(summary, args.out):
        say(console, f"{path}")
    return 0


def _write(summary: Summary, directory: pathlib.Path) -> list[pathlib.Path]:
    """Write the tables and the figures and return the files."""
    # Here because matplotlib is slow to import.
    from benchmarks.paper.figures import draw_dots
    from benchmarks.rank_diagram import draw_ranks

    name = summary.table.name
    contents = {
        f"{name}.md": to_markdown(summary).encode(),
        f"{name}.csv": to_csv(summary).encode(),
        f"{name}.png": draw_dots(summary),
    }
    if summary.ranking:
        contents[f"{name}-ranks.png"] = draw_ranks(
            summary.ranking, f"Average rank by AUC, the {name} table: 1 is best"
        )
    for file, content in contents.items():
        replace_file(directory / file, content)
    return [directory / file for file in contents]


def _rows(summary: Summary) -> list[list[str]]:
    """Return the means, the paper's below each of them, and the average ranks."""
    rows = [["AUC in %", *summary.methods]]
    for dataset in summary.datasets:
        entries = [summary.entries[dataset, method] for method in summary.methods]
        rows.append([dataset, *(f"{entry.mean:.2f}" for entry in entries)])
        paper = (f"{entry.paper.mean:.2f}" if entry.paper else "–" for entry in entries)
        rows.append(["  paper", *paper])
    if summary.ranking:
        ranks = summary.ranking.ranks
        rows.append(["rank", *(f"{ranks[method]:.2f}" for method in summary.methods)])
    return rows


def _legend(summary: Summary) -> str:
    table = summary.table
    grids = "powers of 2"
    if table.grid_step > 1:
        grids = f"one in {table.grid_step} {grids}"
    limit = f", at most {table.max_examples:,} examples learned" if table.max_examples else ""
    return f"Means of {summary.n_runs} runs, tuned over {grids}{limit}."
