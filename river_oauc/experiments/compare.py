"""`river-oauc compare`: our learners against what one would pick instead, on one stream."""

from __future__ import annotations

import argparse
import pathlib
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from river_oauc.experiments.csv_file import MAX_CATEGORIES, csv_stream
from river_oauc.experiments.errors import UserError
from river_oauc.experiments.models import ARF, CONTENDERS, Contender, select
from river_oauc.experiments.race import SCALERS, Contest, race
from river_oauc.experiments.streams import DEFAULT_SET, Stream, named_stream
from river_oauc.experiments.terminal import plain_table, positive_int, progress_bar, say

__all__ = ["add_arguments", "run"]

DEFAULT_PLOT = pathlib.Path("river-oauc-compare.png")
LEGEND = """\
Predict, score, then learn. ROCAUC(): the same by river.metrics.ROCAUC().
µs/example: mean wall-clock time of predict_proba_one + learn_one of the whole
pipeline, scaler included, nothing subtracted.
memory: of the whole pipeline as river counts it, which is numpy arrays twice."""


_BY_DEFAULT = ", ".join(contender.name for contender in CONTENDERS if contender.by_default)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `river-oauc compare` takes."""
    parser.add_argument(
        "set",
        nargs="?",
        metavar="SET",
        help=f"a set that comes with river (ImageSegments with cement as positive, Phishing, "
        f"Bananas, Shuttle) or one of the paper's 18 (default: {DEFAULT_SET})",
    )
    own = parser.add_argument_group("your own data")
    own.add_argument(
        "--csv",
        type=pathlib.Path,
        metavar="FILE",
        help="a UTF-8, comma-separated file with a header row; text columns are one-hot encoded "
        f"(left out above {MAX_CATEGORIES} values), a missing cell is an absent feature",
    )
    own.add_argument("--target", metavar="COLUMN", help="the column with the label")
    own.add_argument("--positive", metavar="VALUE", help="the label that counts as positive")
    parser.add_argument(
        "--models",
        nargs="+",
        choices=[contender.name for contender in CONTENDERS],
        metavar="MODEL",
        help=f"which learners, of %(choices)s (default: {_BY_DEFAULT})",
    )
    parser.add_argument("--arf", action="store_true", help=f"{ARF} too, about 100 times slower")
    parser.add_argument(
        "--scaler",
        choices=list(SCALERS),
        default="minmax",
        help="what stands in front of each learner (default: minmax)",
    )
    parser.add_argument(
        "--shuffle",
        action=argparse.BooleanOptionalAction,
        help="shuffle the examples (default: named sets yes, CSV files no)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=42,
        metavar="N",
        help=f"of the shuffle and of {ARF} (default: 42)",
    )
    parser.add_argument(
        "--limit", type=positive_int, metavar="N", help="use the first N examples only"
    )
    parser.add_argument(
        "--plot",
        type=pathlib.Path,
        default=DEFAULT_PLOT,
        metavar="PNG",
        help=f"the figure to write (default: {DEFAULT_PLOT})",
    )


def run(args: argparse.Namespace) -> int:
    """Compare, print the table, draw the figure."""
    # Heavy, and of no use to the other commands.
    from river_oauc.experiments.curves import Curve, check_writable, draw_curves

    check_writable(args.plot)
    stream = _stream(args)
    contenders = _contenders(args)

    console = Console()
    for note in stream.notes:
        say(console, note, style="dim")
    # Threads help with none of these small products, and wait for each other on a busy machine.
    with threadpool_limits(limits=1, user_api="blas"), progress_bar("comparing") as progress:
        task = progress.add_task("", total=stream.size)
        contests = race(
            stream,
            contenders,
            scaler=args.scaler,
            seed=args.seed,
            on_progress=lambda n_examples: progress.advance(task, n_examples),
        )

    say(console, _description(stream, args.scaler), style="bold")
    console.print(_table(contests))
    say(console, LEGEND, style="dim")
    draw_curves(
        [Curve(contest.name, contest.ours, contest.seen, contest.curve) for contest in contests],
        args.plot,
        title=_headline(contests),
        subtitle=_description(stream, args.scaler),
    )
    say(console, f"curves written to {args.plot}")
    return 0


def _stream(args: argparse.Namespace) -> Stream:
    if args.csv is None:
        if args.target is not None or args.positive is not None:
            raise UserError("--target and --positive go with --csv FILE")
        shuffle = True if args.shuffle is None else args.shuffle
        return named_stream(
            args.set or DEFAULT_SET, shuffle=shuffle, seed=args.seed, limit=args.limit
        )
    if args.set is not None:
        raise UserError(f"either the set {args.set!r} or --csv {args.csv}, not both")
    if args.target is None or args.positive is None:
        raise UserError("--csv FILE needs --target COLUMN and --positive VALUE")
    return csv_stream(
        args.csv,
        target=args.target,
        positive=args.positive,
        shuffle=bool(args.shuffle),
        seed=args.seed,
        limit=args.limit,
    )


def _contenders(args: argparse.Namespace) -> Sequence[Contender]:
    names = args.models or [contender.name for contender in CONTENDERS if contender.by_default]
    return select([*names, ARF] if args.arf else names)


def _ranking(contests: Sequence[Contest]) -> list[Contest]:
    return sorted(contests, key=lambda contest: contest.exact.get(), reverse=True)


def _headline(contests: Sequence[Contest]) -> str:
    best, *others = _ranking(contests)
    verdict = " ranks best" if others else ""
    return f"{best.name}{verdict}: exact AUC {best.exact.get():.3f}"


def _description(stream: Stream, scaler: str) -> str:
    return (
        f"{stream.title}: {stream.size:,} examples, {stream.positives / stream.size:.1%} positive,"
        f" behind {SCALERS[scaler].__name__}"
    )


def _table(contests: Sequence[Contest]) -> Table:
    table = plain_table("model", "exact AUC", "ROCAUC()", "µs/example", "memory")
    for contest in _ranking(contests):
        table.add_row(
            contest.name,
            f"{contest.exact.get():.4f}",
            f"{contest.rocauc.get():.4f}",
            f"{contest.microseconds_per_example:.1f}",
            contest.memory,
            style="bold" if contest.ours else None,
        )
    return table
