"""`river-oauc compare`: our learners and the usual alternatives on one stream."""

from __future__ import annotations

import argparse
import os
import pathlib
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from rich.console import Console

from river_oauc.cli.compare import report
from river_oauc.cli.compare.leaks import possible_leaks
from river_oauc.cli.compare.report import Comparison
from river_oauc.cli.compare.runs import Arrivals, affordable_rows, make_runs
from river_oauc.cli.compare.streams import SETS, Stream, file_stream, set_stream
from river_oauc.cli.compare.verdict import standings
from river_oauc.cli.console import (
    positive_int,
    print_table,
    print_wrapped,
    progress_bar,
    say,
    status_line,
)
from river_oauc.cli.messages import UserError, closest_name
from river_oauc.cli.models import CONTENDERS, Contender, find_contenders
from river_oauc.cli.readers.source import FORMATS, STDIN
from river_oauc.cli.target import Target
from river_oauc.cli.writing import check_writable
from river_oauc.files import replace_file

DEFAULT_PLOT = pathlib.Path("river-oauc-compare.png")
# Together with reading and drawing, this is less than two minutes on an ordinary machine.
DEFAULT_SECONDS = 80
# Rows are held in memory.
MAX_ROWS = 100_000

# A learner that takes longer for a row gets rows for half of the time, and is not ranked.
SLOW = 2_000.0

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


class Delay(NamedTuple):
    """How late labels come: so many rows, or so many seconds."""

    text: str
    rows: int = 0
    seconds: int = 0

    def arrivals(self, n: int, times: Sequence[float] | None) -> Arrivals:
        """Return after the score of which row each label comes."""
        rows = np.arange(n)
        if self.rows:
            return rows + self.rows
        if times is None:
            raise UserError(f"--label-delay {self.text} needs --time COLUMN")
        due = np.array(times) + self.seconds
        return np.maximum(np.searchsorted(times, due) - 1, rows)


def label_delay(text: str) -> Delay:
    """Parse a number of rows, or a duration.

    Examples
    --------
    >>> label_delay("500"), label_delay("30d")
    (Delay(text='500 rows', rows=500, seconds=0), Delay(text='30d', rows=0, seconds=2592000))

    """
    if match := re.fullmatch(r"([1-9]\d{0,5})([smhd])", text, re.ASCII):
        return Delay(text, seconds=int(match[1]) * _UNITS[match[2]])
    try:
        n = positive_int(text)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither a number of rows nor a duration such as 12h or 30d"
        ) from None
    return Delay(f"{n:,} rows", rows=n)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    add = parser.add_argument
    names = ", ".join(each.name for each in CONTENDERS)
    by_default = ", ".join(each.name for each in CONTENDERS if each.by_default)
    add(
        "data",
        nargs="?",
        default="ImageSegments",
        metavar="FILE or SET",
        help=f"{FORMATS}, - is standard input; or one of river's sets: {', '.join(SETS)} "
        "(default: ImageSegments, of which brickface is positive, the first class by name)",
    )
    add("--target", metavar="COLUMN", help="the column of the file with the label")
    add(
        "--positive",
        metavar="VALUE",
        help="the positive label; all others are negative (default: labels are 1 and 0, 1 and -1, "
        "or true and false)",
    )
    add("--exclude", nargs="+", default=[], metavar="COLUMN", help="columns to leave out")
    add(
        "--models",
        nargs="+",
        metavar="MODEL",
        help=f"which learners, of {names}; or your own as MODULE:NAME, a river classifier or a "
        f"function that creates one, which gets the raw records (default: {by_default})",
    )
    add(
        "--seconds",
        type=positive_int,
        default=DEFAULT_SECONDS,
        metavar="S",
        help="about how long it takes on an ordinary machine: it decides on the number of rows, "
        f"from their width, and all learners get the same ones (default: {DEFAULT_SECONDS})",
    )
    add(
        "--label-delay",
        type=label_delay,
        metavar="N",
        help="how late labels come in the second comparison, in rows or, with --time, as 12h or "
        "30d (default: a tenth of the rows)",
    )
    add("--time", metavar="COLUMN", help="the column with the time, whose order the rows take")
    add(
        "--shuffle",
        action=argparse.BooleanOptionalAction,
        help="random rows in random order (default: named sets yes, your own files no)",
    )
    add("--seed", type=int, default=42, metavar="N", help="of all that is random (default: 42)")
    add("--limit", type=positive_int, default=MAX_ROWS, metavar="N", help="use N rows at most")
    add(
        "--plot",
        type=pathlib.Path,
        default=DEFAULT_PLOT,
        metavar="PNG",
        help=f"the figure to write (default: {DEFAULT_PLOT})",
    )
    add(
        "--output",
        type=pathlib.Path,
        metavar="FILE",
        help="write the results to this .json file, too",
    )


def run(args: argparse.Namespace) -> int:
    """Compare, print the table, draw the figure."""
    # Here because matplotlib is slow to import.
    from river_oauc.cli.compare.curves import draw_curves

    contenders = find_contenders(args.models)
    _check_output(args.plot, "figure", ".png")
    if args.output is not None:
        _check_output(args.output, "output", ".json")
    with status_line():
        stream, max_rows = _stream(args, contenders)
    at_once, late = comparisons = _compare(args, contenders, stream, max_rows)
    leaks = possible_leaks(stream.examples, max(each.auc for each in at_once.ranked))

    lines, description = report.verdicts(comparisons), report.description(stream)
    measured = [report.figures(comparison) for comparison in comparisons]
    late_aucs = {each["model"]: each["auc"] for each in measured[1]}
    console = Console()
    for line in lines:
        print_wrapped(console, line, style="bold")
    print_wrapped(console, f"{description}\n")
    ours = {each.name for each in at_once.ranked if each.run.contender.ours}
    print_table(console, report.table(measured[0], late_aucs), bold=ours)
    say(console, "")
    for note in report.notes(stream, at_once, leaks):
        print_wrapped(console, note)
    print_wrapped(console, report.legend(late.when), style="dim")
    if args.output is not None:
        results = sum(measured, [])
        text = report.to_json(results, verdict=lines, data=description)
        replace_file(args.output, text.encode())
        say(console, f"results written to {args.output}")
    replace_file(args.plot, draw_curves(comparisons, lines=lines, subtitle=description))
    say(console, f"curves written to {args.plot}")
    return 0


def _check_output(path: pathlib.Path, what: str, suffix: str) -> None:
    """Refuse a file of another kind, or one that cannot be written."""
    if path.suffix.lower() != suffix:
        raise UserError(f"{path}: the name of the {what} must end in {suffix}")
    check_writable(path, what)


def _stream(
    args: argparse.Namespace, contenders: Sequence[Contender]
) -> tuple[Stream, dict[str, int]]:
    """Return the stream, and how many of its rows the slow learners get."""
    slow = [each for each in contenders if each.cost > SLOW]
    others = [each for each in contenders if each.cost <= SLOW]
    max_rows: dict[str, int] = {}

    def rows_of_width(width: float) -> int:
        for each in slow:
            max_rows[each.name] = affordable_rows([each], args.seconds / 2, width)
        n = affordable_rows(others, args.seconds, width) if others else max(max_rows.values())
        limit: int = args.limit
        return min(n, limit)

    is_file = args.data == STDIN or args.data not in SETS and os.path.exists(args.data)
    shuffle = not is_file if args.shuffle is None else args.shuffle
    seed = args.seed if shuffle else None
    if not is_file and args.data not in SETS:
        hint = closest_name(args.data, SETS)
        raise UserError(f"{args.data}: no such file or set{hint}; the sets are {', '.join(SETS)}")
    if is_file:
        target = Target(args.target or "", args.positive, tuple(args.exclude))
        stream = file_stream(args.data, target, rows_of_width, seed=seed, time=args.time)
    elif args.target or args.positive or args.exclude or args.time:
        raise UserError(f"{args.data} is a set: --target and the like go with a file")
    else:
        stream = set_stream(args.data, rows_of_width, seed=seed)
    return stream, max_rows


def _compare(
    args: argparse.Namespace,
    contenders: Sequence[Contender],
    stream: Stream,
    max_rows: dict[str, int],
) -> list[Comparison]:
    """Run all learners with labels at once, and with labels that come late."""
    n = len(stream.examples)
    labels = np.array([y for _, y in stream.examples])
    delay = args.label_delay or label_delay(str(max(n // 10, 1)))
    passes = {
        "labels at once": np.arange(n),
        f"labels {delay.text} late": delay.arrivals(n, stream.times),
    }
    comparisons = []
    with progress_bar("{task.description}") as progress:
        task = progress.add_task(
            "", total=2 * n * sum(len(each.preparations) for each in contenders)
        )
        for when, arrivals in passes.items():
            runs = make_runs(contenders, args.seed)
            for run in runs:
                progress.update(task, description=run.contender.name)
                rows = slice(max_rows.get(run.contender.name))
                run.follow(
                    stream.examples[rows],
                    arrivals[rows],
                    args.seconds,
                    lambda n: progress.advance(task, n),
                )
            comparisons.append(Comparison(when, *standings(labels, runs), runs))
            if not comparisons[-1].ranked:
                failed = report.failures(runs) or {"every model": "is too slow; --seconds is more"}
                raise UserError(f"{' '.join(next(iter(failed.items())))}; --models picks others")
    return comparisons
