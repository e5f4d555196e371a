"""`river-oauc tables`: the paper's tables, computed here and set beside the paper's."""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import pathlib
import re
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.table import Table as Grid

from river_oauc.datasets import BENCHMARKS, DatasetError
from river_oauc.experiments.compare.streams import nearest
from river_oauc.experiments.console.errors import UserError, reason
from river_oauc.experiments.console.files import replace_file
from river_oauc.experiments.console.terminal import positive_int, say
from river_oauc.experiments.paper.live import Forecast, LiveTable
from river_oauc.experiments.paper.methods import TABLES
from river_oauc.experiments.paper.protocol import MAX_RUNS, PAPER_RUNS, Cell
from river_oauc.experiments.paper.report import to_csv, to_markdown
from river_oauc.experiments.paper.results import ResultsFile
from river_oauc.experiments.paper.summary import Summary, summarise
from river_oauc.experiments.paper.workers import run_cells

__all__ = ["add_arguments", "run"]

DEFAULT_OUT = pathlib.Path("river-oauc-tables")
MAX_JOBS_PER_CORE = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `river-oauc tables` takes."""
    parser.description = (
        "Compute one of the paper's tables by its protocol and set it beside the paper's figures. "
        "Every finished run is kept in a file: stopped or killed, the same command goes on where "
        "it was."
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
    parser.add_argument(
        "--jobs", type=positive_int, default=1, metavar="N", help="number of processes (default: 1)"
    )
    parser.add_argument(
        "--grid-step",
        type=positive_int,
        metavar="N",
        help="tune over every N-th power of 2 of the paper's grids (default: "
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
    """Run what is missing, then write the tables and the figures."""
    make = TABLES[args.table]
    table = make(args.grid_step) if args.grid_step else make()
    datasets = _selection("set", args.datasets, list(BENCHMARKS))
    methods = _selection("method", args.methods, [method.name for method in table.methods])
    _check_jobs(args.jobs)
    with _directory(args.out):
        _have_ready(datasets)

    console = Console()
    with ResultsFile(args.out / f"{table.name}-results.jsonl", table) as results:
        cells = [
            Cell(dataset, method, run)
            for dataset in datasets
            for run in range(args.runs)
            for method in methods
        ]
        missing = [cell for cell in cells if cell not in results.outcomes]
        if len(missing) < len(cells):
            say(console, f"{len(cells) - len(missing):,} of {len(cells):,} runs are there already")
        forecast = Forecast(args.jobs, table.max_examples)
        with LiveTable(datasets, methods, args.runs, results.outcomes, forecast) as live:
            for finished in run_cells(table, missing, args.jobs):
                results.add(finished.cell, finished.outcome)
                live.note(finished)
        results.sort()
        summary = summarise(table, datasets, methods, args.runs, results.outcomes)

    console.print(_grid(summary))
    say(console, _legend(summary), style="dim")
    for path in _write(summary, args.out):
        say(console, f"{path}")
    return 0


def _selection(kind: str, wanted: Sequence[str] | None, known: Sequence[str]) -> list[str]:
    """The known names that are wanted, in their own order; all if none is named."""
    if wanted is None:
        return list(known)
    folded = {_fold(name): name for name in known}
    for name in wanted:
        if _fold(name) not in folded:
            raise UserError(
                f"unknown {kind} {name!r}{nearest(name, known)}; the known ones are "
                f"{', '.join(known)}"
            )
    chosen = {folded[_fold(name)] for name in wanted}
    return [name for name in known if name in chosen]


def _fold(name: str) -> str:
    """A name without what is hard to remember, or to type in a shell.

    Examples
    --------
    >>> _fold("OAM (wide)"), _fold("oam-wide")
    ('oamwide', 'oamwide')

    """
    return re.sub(r"[^a-z0-9]", "", name.casefold())


def _check_jobs(jobs: int) -> None:
    """Refuse what would bring the machine down."""
    cores = os.cpu_count() or 1
    if jobs > MAX_JOBS_PER_CORE * cores:
        raise UserError(
            f"--jobs {jobs:,} is too much for a machine of {cores} cores; "
            f"{cores} of them are as fast as it gets"
        )


@contextlib.contextmanager
def _directory(path: pathlib.Path) -> Iterator[None]:
    """Make a directory, and take it away again if it turns out to be of no use."""
    new = [part for part in (path, *path.parents) if not os.path.lexists(part)]
    try:
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"{path} can't be made a directory: {reason(error)}") from error
        yield
    except BaseException:
        for part in new:
            with contextlib.suppress(OSError):
                part.rmdir()
        raise


def _have_ready(datasets: Iterable[str]) -> None:
    """Download what is not here, before several processes try to."""
    for name in datasets:
        dataset = BENCHMARKS[name]()
        if not dataset.is_downloaded:
            try:
                dataset.download()
            except DatasetError as error:
                raise UserError(str(error)) from error


def _write(summary: Summary, directory: pathlib.Path) -> list[pathlib.Path]:
    """Write the tables and the figures; returns the files."""
    # Heavy, and of no use to the other commands.
    from river_oauc.experiments.paper.figures import draw_dots, draw_ranks

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
    paths = [directory / file for file in contents]
    for path, content in zip(paths, contents.values(), strict=True):
        try:
            replace_file(path, content)
        except OSError as error:
            raise UserError(f"{path} can't be written: {reason(error)}") from error
    return paths


def _grid(summary: Summary) -> Grid:
    grid = Grid(box=None, header_style="bold", padding=(0, 1, 0, 0))
    grid.add_column("AUC in %", no_wrap=True)
    for method in summary.methods:
        grid.add_column(method, justify="right", overflow="fold")
    for dataset in summary.datasets:
        entries = [summary.entries[dataset, method] for method in summary.methods]
        grid.add_row(dataset, *(f"{entry.mean:.2f}" for entry in entries))
        grid.add_row(
            "  paper",
            *(f"{entry.paper.mean:.2f}" if entry.paper else "–" for entry in entries),
            style="dim",
        )
    if summary.ranking:
        ranks = summary.ranking.ranks
        grid.add_row("rank", *(f"{ranks[method]:.2f}" for method in summary.methods))
    return grid


def _legend(summary: Summary) -> str:
    table = summary.table
    grids = "the paper's grids"
    if table.grid_step > 1:
        grids = f"one in {table.grid_step} powers of 2 of {grids}"
    limit = f", at most {table.max_examples:,} examples learned" if table.max_examples else ""
    return f"Means of {summary.n_runs} runs, tuned over {grids}{limit}."
