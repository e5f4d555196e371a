"""`river-oauc compare`: our learners against what one would pick instead, on one stream."""

from __future__ import annotations

import argparse
import os
import pathlib

from rich.console import Console
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from river_oauc.datasets.files import replace_file
from river_oauc.experiments.compare.csv_file import MAX_CATEGORIES, csv_stream
from river_oauc.experiments.compare.race import SCALERS, race
from river_oauc.experiments.compare.report import LEGEND, description, headline, rows, warning
from river_oauc.experiments.compare.streams import DEFAULT_SET, Stream, known_sets, named_stream
from river_oauc.experiments.console.errors import UserError
from river_oauc.experiments.console.names import known_names
from river_oauc.experiments.console.terminal import positive_int, print_table, progress_bar, say
from river_oauc.experiments.models import ARF, CONTENDERS, contenders

__all__ = ["add_arguments", "run"]

DEFAULT_PLOT = pathlib.Path("river-oauc-compare.png")

_NAMES = [contender.name for contender in CONTENDERS]
_BY_DEFAULT = [contender.name for contender in CONTENDERS if contender.by_default]


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
        metavar="MODEL",
        help=f"which learners, of {', '.join(_NAMES)} (default: {', '.join(_BY_DEFAULT)})",
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
    from river_oauc.experiments.compare.curves import Curve, draw_curves

    names = known_names("model", args.models or _BY_DEFAULT, _NAMES)
    _check_plot(args.plot)
    stream = _stream(args)

    console = Console()
    for note in stream.notes:
        say(console, note, style="dim")
    # Threads help with none of these small products, and wait for each other on a busy machine.
    with threadpool_limits(limits=1, user_api="blas"), progress_bar("comparing") as progress:
        task = progress.add_task("", total=stream.size)
        contests = race(
            stream,
            contenders([*names, ARF] if args.arf else names),
            scaler=args.scaler,
            seed=args.seed,
            on_progress=lambda n_examples: progress.advance(task, n_examples),
        )

    say(console, description(stream, args.scaler), style="bold")
    ours = {contest.name for contest in contests if contest.ours}
    print_table(console, rows(contests), bold=ours)
    say(console, LEGEND, style="dim")
    if few := warning(stream):
        say(console, few)
    png = draw_curves(
        [Curve(contest.name, contest.ours, contest.seen, contest.curve) for contest in contests],
        title=headline(contests),
        subtitle=description(stream, args.scaler),
    )
    replace_file(args.plot, png)
    say(console, f"curves written to {args.plot}")
    return 0


def _check_plot(path: pathlib.Path) -> None:
    """Refuse what can't be written at the end, before the work is done."""
    if path.suffix.lower() != ".png":
        raise UserError(f"{path}: the figure is a PNG, its name must end in .png")
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise UserError(f"{path}: the figure can't be written there")


def _stream(args: argparse.Namespace) -> Stream:
    if args.csv is None:
        if args.set not in (None, *known_sets()) and os.path.isfile(args.set):
            raise UserError(
                f"{args.set} is a file: write --csv {args.set} --target COLUMN --positive VALUE"
            )
        if args.target is not None or args.positive is not None:
            raise UserError("--target and --positive go with --csv FILE")
        shuffle = True if args.shuffle is None else args.shuffle
        name = DEFAULT_SET if args.set is None else args.set
        return named_stream(name, shuffle=shuffle, seed=args.seed, limit=args.limit)
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
