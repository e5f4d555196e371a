"""`river-oauc compare`: our learners and the usual alternatives on one stream."""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import pathlib
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from rich.console import Console

from river_oauc.cli.compare import report
from river_oauc.cli.compare.own_file import DEFAULT_LIMIT, file_stream
from river_oauc.cli.compare.race import Group, Run, make_groups, race
from river_oauc.cli.compare.streams import DEFAULT_SET, Stream, known_sets, named_stream
from river_oauc.cli.compare.top import Top
from river_oauc.cli.compare.verdict import Standing, standings
from river_oauc.cli.console.errors import UserError
from river_oauc.cli.console.paths import check_writable
from river_oauc.cli.console.terminal import (
    positive_int,
    print_table,
    print_wrapped,
    progress_bar,
    say,
    status_line,
)
from river_oauc.cli.models import CONTENDERS, find_contenders
from river_oauc.cli.readers.source import STDIN
from river_oauc.files import replace_file

DEFAULT_PLOT = pathlib.Path("river-oauc-compare.png")
# Together with reading and drawing, this is less than two minutes.
DEFAULT_SECONDS = 80

_NAMES = ", ".join(each.name for each in CONTENDERS)
_BY_DEFAULT = ", ".join(each.name for each in CONTENDERS if each.by_default)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument(
        "data",
        nargs="?",
        default=DEFAULT_SET,
        metavar="FILE or SET",
        help="a file: CSV, JSON Lines, Parquet or LIBSVM, plain or compressed with gz, bz2 or xz, "
        "- is standard input; or one of river's sets: ImageSegments (positive is brickface, the "
        f"first of its seven classes by name), Phishing, Bananas, Shuttle (default: {DEFAULT_SET})",
    )
    parser.add_argument("--target", metavar="COLUMN", help="the column of the file with the label")
    parser.add_argument(
        "--positive",
        metavar="VALUE",
        help="the positive label; all others are negative (default: labels are 1 and 0, 1 and -1, "
        "or true and false; in a LIBSVM file, the larger of two)",
    )
    parser.add_argument(
        "--exclude", nargs="+", default=[], metavar="COLUMN", help="columns to leave out"
    )
    parser.add_argument(
        "--models",
        nargs="+",
        metavar="MODEL",
        help=f"which learners, of {_NAMES}; or your own as MODULE:NAME, a river classifier or a "
        f"function that creates one, which gets the raw records (default: {_BY_DEFAULT})",
    )
    parser.add_argument(
        "--seconds",
        type=positive_int,
        default=DEFAULT_SECONDS,
        metavar="S",
        help="time for all learners together, shared equally; what one does not need goes to the "
        f"others (default: {DEFAULT_SECONDS})",
    )
    parser.add_argument(
        "--delay",
        type=positive_int,
        default=0,
        metavar="N",
        help="learn each row N rows after it was scored (default: at once)",
    )
    parser.add_argument(
        "--top",
        type=Top,
        default=Top("1%"),
        metavar="N",
        help="report the precision among the highest scores: a share, such as 1%% (the default), "
        "or a number",
    )
    parser.add_argument(
        "--shuffle",
        action=argparse.BooleanOptionalAction,
        help="shuffle the rows (default: named sets yes, your own files no)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=42,
        metavar="N",
        help="of the shuffle and of random learners (default: 42)",
    )
    parser.add_argument(
        "--limit",
        type=positive_int,
        metavar="N",
        help="use the first N rows, or N random ones with --shuffle (default: "
        f"{DEFAULT_LIMIT}, which are held in memory)",
    )
    parser.add_argument(
        "--plot",
        type=pathlib.Path,
        default=DEFAULT_PLOT,
        metavar="PNG",
        help=f"the figure to write (default: {DEFAULT_PLOT})",
    )
    parser.add_argument(
        "--output",
        type=pathlib.Path,
        metavar="FILE",
        help="write the results to a .csv or .json file as well",
    )


def run(args: argparse.Namespace) -> int:
    """Compare, print the table, draw the figure."""
    # Here because matplotlib is slow to import.
    from river_oauc.cli.compare.curves import draw_curves

    contenders = find_contenders(args.models)
    _check_output(args.plot, "figure", [".png"])
    if args.output is not None:
        _check_output(args.output, "output", [".csv", ".json"])
    with status_line():
        stream = _stream(args)
    labels = np.array([y for _, y in stream.examples])
    groups = make_groups(contenders, stream.examples, args.delay, args.seed)
    runs = [run for group in groups for run in group.runs]
    is_interrupted = False
    try:
        with _progress(groups, stream.size, args.seconds) as on_turn:
            race(groups, args.seconds, on_turn)
    except KeyboardInterrupt:
        is_interrupted = True
    ranked, unranked = standings(labels, runs)
    _check_ranked(ranked, runs, is_interrupted)

    title, evidence = report.verdict(ranked)
    description = report.description(stream, len(ranked[0].labels))
    measured = [report.figures(each, True, args.top) for each in ranked]
    measured += [report.figures(each, False, args.top) for each in unranked]
    console = Console()
    say(console, title, style="bold")
    print_wrapped(console, f"{evidence}\n{description}\n".lstrip())
    ours = {each.name for each in ranked if each.run.contender.ours}
    print_table(console, report.table(measured, args.top), bold=ours)
    say(console, "")
    for note in report.notes(stream, ranked, unranked, runs, is_interrupted):
        print_wrapped(console, note)
    print_wrapped(console, report.legend(args.top, args.delay), style="dim")
    if args.output is not None:
        text = (
            report.to_csv(measured)
            if args.output.suffix.lower() == ".csv"
            else report.to_json(measured, verdict=title, evidence=evidence, data=description)
        )
        replace_file(args.output, text.encode())
        say(console, f"results written to {args.output}")
    replace_file(args.plot, draw_curves(ranked, title=title, subtitle=f"{evidence}\n{description}"))
    say(console, f"curves written to {args.plot}")
    return 130 if is_interrupted else 0


def _check_ranked(ranked: Sequence[Standing], runs: Sequence[Run], is_interrupted: bool) -> None:
    """Refuse to report nothing."""
    if not ranked:
        name, error = next(iter(report.failures(runs).items()))
        raise UserError(f"{name} {error}; --models picks others")
    if math.isnan(ranked[0].auc):
        if is_interrupted:
            raise KeyboardInterrupt
        raise UserError("out of time before there were both classes; --seconds S gives more")


def _check_output(path: pathlib.Path, what: str, suffixes: Sequence[str]) -> None:
    """Refuse a file of another kind, or one that cannot be written."""
    if path.suffix.lower() not in suffixes:
        raise UserError(f"{path}: the name of the {what} must end in {' or '.join(suffixes)}")
    check_writable(path, what)


def _stream(args: argparse.Namespace) -> Stream:
    asked = {"exclude": args.exclude, "seed": args.seed, "limit": args.limit}
    is_file = args.data == STDIN or os.path.isfile(args.data)
    if args.data not in known_sets() and is_file:
        return file_stream(
            args.data,
            target=args.target,
            positive=args.positive,
            shuffle=bool(args.shuffle),
            **asked,
        )
    if args.target is not None or args.positive is not None:
        raise UserError(f"--target and --positive go with a file, and {args.data!r} is none")
    return named_stream(args.data, shuffle=args.shuffle is not False, **asked)


@contextlib.contextmanager
def _progress(
    groups: Sequence[Group], n_rows: int, seconds: float
) -> Iterator[Callable[[Group], object]]:
    """Show how far all groups are, and which one runs."""
    with progress_bar("{task.description}") as progress:
        task = progress.add_task("")

        def show(group: Group) -> None:
            done = sum(group.n_rows for group in groups) / (n_rows * len(groups))
            spent = sum(group.seconds for group in groups) / seconds
            progress.update(task, description=group.name, completed=100 * max(done, spent))

        yield show
