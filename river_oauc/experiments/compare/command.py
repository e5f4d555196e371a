"""`river-oauc compare`: our learners against what one would pick instead, on one stream."""

from __future__ import annotations

import argparse
import math
import os
import pathlib
from collections.abc import Sequence

from rich.console import Console
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from river_oauc.datasets.files import replace_file
from river_oauc.experiments.compare.csv_file import MAX_CATEGORIES, csv_stream
from river_oauc.experiments.compare.race import SCALERS, Contest, race
from river_oauc.experiments.compare.streams import DEFAULT_SET, Stream, known_sets, named_stream
from river_oauc.experiments.console.errors import UserError
from river_oauc.experiments.console.names import known_names
from river_oauc.experiments.console.terminal import positive_int, print_table, progress_bar, say
from river_oauc.experiments.models import ARF, CONTENDERS, contenders

__all__ = ["add_arguments", "run"]

DEFAULT_PLOT = pathlib.Path("river-oauc-compare.png")
LEGEND = """\
Predict, score, then learn. ROCAUC(): the same by river.metrics.ROCAUC().
µs/example: mean wall-clock time of predict_proba_one + learn_one of the whole
pipeline, scaler included, nothing subtracted.
memory: of the whole pipeline as river counts it, which is numpy arrays twice."""

# From this many examples of the smaller class on, an AUC is off by 0.05 or less (one standard
# error), and nobody needs to be told.
ENOUGH = 100

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

    say(console, _description(stream, args.scaler), style="bold")
    ours = {contest.name for contest in contests if contest.ours}
    print_table(console, _rows(contests), bold=ours)
    say(console, LEGEND, style="dim")
    if warning := _warning(stream):
        say(console, warning)
    png = draw_curves(
        [Curve(contest.name, contest.ours, contest.seen, contest.curve) for contest in contests],
        title=_headline(contests),
        subtitle=_description(stream, args.scaler),
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


def _ranking(contests: Sequence[Contest]) -> list[Contest]:
    return sorted(contests, key=lambda contest: contest.exact.get(), reverse=True)


def _headline(contests: Sequence[Contest]) -> str:
    best, *others = _ranking(contests)
    verdict = " ranks best" if others else ""
    return f"{best.name}{verdict}: exact AUC {best.exact.get():.3f}"


def _description(stream: Stream, scaler: str) -> str:
    return (
        f"{stream.title}: {stream.size:,} examples, {_share(stream.positives, stream.size)} "
        f"positive, behind {SCALERS[scaler].__name__}"
    )


def _share(part: int, whole: int) -> str:
    """A share in percent, with as many digits as it takes to tell it from none and from all.

    Examples
    --------
    >>> _share(1, 3), _share(1, 3_000), _share(2_999, 3_000)
    ('33.3%', '0.033%', '99.967%')

    """
    rarer = min(part, whole - part) / whole
    return f"{part / whole:.{max(1, -1 - math.floor(math.log10(rarer)))}%}"


def _warning(stream: Stream) -> str | None:
    """What to keep in mind if one class is so small that chance decides.

    The variance of an AUC is at most a quarter of one over the size of the smaller class.
    """
    fewer = min(stream.positives, stream.size - stream.positives)
    if fewer >= ENOUGH:
        return None
    kind = "positive" if fewer == stream.positives else "negative"
    are = "is" if fewer == 1 else "are"
    return (
        f"Only {fewer} of the examples {are} {kind}: chance alone moves an AUC by "
        f"{0.5 / math.sqrt(fewer):.2f} (one standard error, at most)"
    )


def _rows(contests: Sequence[Contest]) -> list[list[str]]:
    """A header and a row per model, the best one first."""
    return [
        ["model", "exact AUC", "ROCAUC()", "µs/example", "memory"],
        *(
            [
                contest.name,
                f"{contest.exact.get():.4f}",
                f"{contest.rocauc.get():.4f}",
                f"{contest.microseconds_per_example:.1f}",
                contest.memory,
            ]
            for contest in _ranking(contests)
        ),
    ]
