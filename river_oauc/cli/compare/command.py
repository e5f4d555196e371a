"""`river-oauc compare`: our learners and the usual alternatives on one stream."""

from __future__ import annotations

import argparse
import os
import pathlib

from rich.console import Console

from river_oauc.cli.compare.csv_file import csv_stream
from river_oauc.cli.compare.libsvm_file import libsvm_stream
from river_oauc.cli.compare.race import SCALERS, race
from river_oauc.cli.compare.report import (
    LEGEND,
    description,
    rows,
    verdict,
    warning,
    window_rows,
)
from river_oauc.cli.compare.streams import DEFAULT_SET, Stream, known_sets, named_stream
from river_oauc.cli.compare.text_file import MAX_DECOMPRESSED
from river_oauc.cli.compare.top import Top
from river_oauc.cli.compare.verdict import standings
from river_oauc.cli.console.errors import UserError
from river_oauc.cli.console.names import known_names
from river_oauc.cli.console.terminal import positive_int, print_table, progress_bar, say
from river_oauc.cli.models import CONTENDERS, contenders
from river_oauc.files import replace_file

DEFAULT_PLOT = pathlib.Path("river-oauc-compare.png")

_NAMES = [contender.name for contender in CONTENDERS]
_BY_DEFAULT = [contender.name for contender in CONTENDERS if contender.by_default]
_FOR_WIDE = [contender.name for contender in CONTENDERS if contender.for_wide]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
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
        help="a UTF-8, comma-separated file with a header row, plain, gz, bz2 or xz (up to "
        f"{MAX_DECOMPRESSED // 2**30} GiB decompressed); text is one-hot encoded for learners that "
        "do not take it, a time becomes hour and weekday, a missing cell is an absent feature, and "
        "columns that look like ids are left out",
    )
    own.add_argument(
        "--libsvm",
        type=pathlib.Path,
        metavar="FILE",
        help="a file of lines LABEL INDEX:VALUE ..., plain, gz, bz2 or xz; the larger of two "
        "labels is positive, unless --positive says otherwise",
    )
    own.add_argument("--target", metavar="COLUMN", help="the column with the label")
    own.add_argument("--positive", metavar="VALUE", help="the label that counts as positive")
    parser.add_argument(
        "--exclude",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="columns, or LIBSVM indices, to leave out",
    )
    own.add_argument(
        "--include",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="columns of a CSV file to keep even if they look like ids",
    )
    parser.add_argument(
        "--models",
        nargs="+",
        metavar="MODEL",
        help=f"which learners, of {', '.join(_NAMES)} (default: {', '.join(_BY_DEFAULT)}; "
        f"for wide streams {', '.join(_FOR_WIDE)})",
    )
    parser.add_argument(
        "--scaler",
        choices=SCALERS,
        help="the scaler in front of each learner that needs one (default: for each rival the best "
        "of none, standard and minmax; of none and maxabs on wide streams; minmax for the paper's "
        "learners)",
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
        help="shuffle the examples (default: named sets yes, your own files no)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=42,
        metavar="N",
        help="of the shuffle and of random learners (default: 42)",
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
    # Here because matplotlib is slow to import.
    from river_oauc.cli.compare.curves import draw_curves

    names = known_names("model", args.models or _BY_DEFAULT, _NAMES)
    _check_plot(args.plot)
    stream = _stream(args)

    notes = list(stream.notes)
    if stream.is_wide and not args.models:
        names = _FOR_WIDE
        left_out = [name for name in _BY_DEFAULT if name not in names]
        notes.append(f"many features, so without {', '.join(left_out)}; --models picks any")
    console = Console()
    for note in notes:
        say(console, note, style="dim")
    with progress_bar("comparing") as progress:
        task = progress.add_task("", total=stream.size)
        labels, runs = race(
            stream,
            contenders(names),
            scaler=args.scaler,
            seed=args.seed,
            on_progress=lambda n_examples: progress.advance(task, n_examples),
        )
    ranked = standings(labels, runs)
    title, evidence = verdict(ranked)

    say(console, description(stream), style="bold")
    ours = {each.name for each in ranked if each.run.contender.ours}
    print_table(console, rows(ranked, str(args.top), args.top.of(stream.size)), bold=ours)
    say(console, "")
    print_table(console, window_rows(ranked), bold=ours)
    say(console, LEGEND, style="dim")
    if few := warning(stream):
        say(console, few)
    say(console, title, style="bold")
    if evidence:
        say(console, evidence)
    png = draw_curves(ranked, title=title, subtitle=f"{evidence}\n{description(stream)}")
    replace_file(args.plot, png)
    say(console, f"curves written to {args.plot}")
    return 0


def _check_plot(path: pathlib.Path) -> None:
    """Refuse a file that cannot be written, before the work is done."""
    if path.suffix.lower() != ".png":
        raise UserError(f"{path}: the figure is a PNG, its name must end in .png")
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise UserError(f"{path}: the figure cannot be written there")


def _stream(args: argparse.Namespace) -> Stream:
    file = args.csv if args.libsvm is None else args.libsvm
    if file is None:
        return _named_stream(args)
    option = "--csv" if args.libsvm is None else "--libsvm"
    if args.csv is not None and args.libsvm is not None:
        raise UserError(f"either --csv {args.csv} or --libsvm {args.libsvm}, not both")
    if args.set is not None:
        raise UserError(f"either the set {args.set!r} or {option} {file}, not both")
    asked = {
        "positive": args.positive,
        "exclude": args.exclude,
        "shuffle": bool(args.shuffle),
        "seed": args.seed,
        "limit": args.limit,
    }
    if option == "--libsvm":
        if args.target is not None:
            raise UserError("--target goes with --csv FILE; a LIBSVM file begins with the label")
        if args.include:
            raise UserError("--include goes with --csv FILE")
        return libsvm_stream(file, **asked)
    if args.target is None or args.positive is None:
        raise UserError("--csv FILE needs --target COLUMN and --positive VALUE")
    return csv_stream(file, target=args.target, include=args.include, **asked)


def _named_stream(args: argparse.Namespace) -> Stream:
    if args.set not in (None, *known_sets()) and os.path.isfile(args.set):
        raise UserError(
            f"{args.set} is a file: write --csv {args.set} --target COLUMN --positive VALUE, "
            f"or --libsvm {args.set}"
        )
    if args.target is not None or args.positive is not None:
        raise UserError("--target goes with --csv FILE, --positive with that or --libsvm FILE")
    if args.include:
        raise UserError("--include goes with --csv FILE")
    return named_stream(
        DEFAULT_SET if args.set is None else args.set,
        shuffle=True if args.shuffle is None else args.shuffle,
        seed=args.seed,
        limit=args.limit,
        exclude=args.exclude,
    )
