"""`river-oauc streams`: all learners over all streams that are here, into a file that grows."""

from __future__ import annotations

import argparse
import functools
import itertools
import operator
import pathlib
from collections.abc import Sequence

from rich.console import Console
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from river_oauc.datasets import BENCHMARKS
from river_oauc.datasets.files import replace_file
from river_oauc.datasets.published import check_directory_variable
from river_oauc.datasets.streams import STREAMS, RealStream
from river_oauc.cli.console.errors import UserError
from river_oauc.cli.console.names import known_names
from river_oauc.cli.console.terminal import positive_int, print_table, say
from benchmarks.examples import examples_of
from benchmarks.streams.board import Board
from benchmarks.streams.progress import outcome_of
from benchmarks.streams.report import (
    LEGEND,
    RANKED,
    ranks_text,
    rows,
    to_csv,
    to_markdown,
)
from benchmarks.streams.results import Cell, ResultsFile
from benchmarks.streams.rivals import MODELS
from benchmarks.streams.summary import COSTS, MEASURES, Group, Means, means

__all__ = ["add_arguments", "run"]

DEFAULT_OUT = pathlib.Path("river-oauc-streams")
# Long and wide streams are left to the learners whose steps cost little: those with thousands of
# features, and two whose point comes after 10,000 examples. kdd99_10 has four positives before
# that, and in bank the share of positives climbs to the end.
LONG = frozenset(
    {name for name, facts in STREAMS.items() if facts.is_sparse} | {"bank", "kdd99_10"}
)
LIMIT, LONG_LIMIT = 10_000, 100_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `river-oauc streams` takes."""
    parser.description = (
        "Send our learners and others, each behind the scalers that people would try, through real "
        "streams: every example is predicted, then learned. Every finished run is kept in a file: "
        "stopped or killed, the same command goes on where it was."
    )
    parser.add_argument(
        "streams",
        nargs="*",
        metavar="STREAM",
        help=f"streams, downloaded if need be, or benchmark sets (default: the streams that are "
        f"here); {', '.join(STREAMS)}",
    )
    parser.add_argument(
        "--list", action="store_true", help="only list the streams: what they are, and where"
    )
    parser.add_argument(
        "--models",
        nargs="+",
        metavar="MODEL",
        help=f"which models (default: all that are installed): {', '.join(MODELS)}",
    )
    parser.add_argument(
        "--limit",
        type=positive_int,
        metavar="N",
        help=f"examples per stream (default: {LIMIT:,}, and {LONG_LIMIT:,} of long and wide ones, "
        "where forests would take hours and do not run)",
    )
    parser.add_argument(
        "--seeds",
        type=functools.partial(positive_int, at_most=1_000),
        default=1,
        metavar="N",
        help="shuffles of what is no time series, and seeds of the models (default: 1)",
    )
    parser.add_argument(
        "--out",
        type=pathlib.Path,
        default=DEFAULT_OUT,
        metavar="DIR",
        help=f"where results, tables and figures go (default: {DEFAULT_OUT})",
    )


def run(args: argparse.Namespace) -> int:
    """Run what is missing, then print the tables and write them and the figures."""
    check_directory_variable()
    if args.list:
        return _list()
    names = (
        known_names("stream", args.streams, [*STREAMS, *BENCHMARKS]) if args.streams else _present()
    )
    models = known_names("model", args.models, MODELS)
    if not args.models:
        models = [name for name in models if MODELS[name].is_here]
    args.out.mkdir(parents=True, exist_ok=True)
    cells = [
        Cell(name, _n_examples(name, args.limit), seed, model, scaler)
        for name in names
        for seed in range(args.seeds)
        for model in _models_on([name], models)
        for scaler in MODELS[model].scalers
    ]
    if not cells:
        raise UserError(f"none of these models runs on {', '.join(names)}")
    with ResultsFile(args.out / "streams.jsonl") as results:
        _run_missing(cells, results)
        outcomes = means(results.outcomes, cells)

    _report(names, models, outcomes, args.out)
    return 0


def _list() -> int:
    """Print the catalogue."""
    table = [["stream", "rows", "features", "positives", "order", "here", "positive", "from"]]
    for name, facts in STREAMS.items():
        fetched = "river" if facts.river else "download" if facts.recipe else "by hand"
        table.append(
            [
                name,
                f"{facts.n_samples:,}",
                f"{facts.n_features:,}",
                f"{facts.share:.2%}",
                "kept" if facts.is_ordered else "shuffled",
                "yes" if RealStream(name).is_here else "-",
                facts.positive,
                f"{fetched}: {facts.source} ({facts.licence})",
            ]
        )
    print_table(Console(), table)
    return 0


def _run_missing(cells: Sequence[Cell], results: ResultsFile) -> None:
    missing = [cell for cell in cells if cell not in results.outcomes]
    with Board(len(missing)) as board:
        # A stream is read once for all models: some take longer to read than to learn.
        for (name, size, seed), own in itertools.groupby(missing, operator.itemgetter(0, 1, 2)):
            examples = examples_of(name, seed, size)
            for cell in own:
                board.show(name, results.outcomes)
                with threadpool_limits(1):
                    # No name for the model: it would live on beside the next one.
                    outcome = outcome_of(MODELS[cell.model].prepared(cell.scaler, seed), examples)
                results.add(cell, outcome)
                board.advance()


def _report(
    names: Sequence[str], models: Sequence[str], outcomes: Means, directory: pathlib.Path
) -> None:
    """Print the tables, and write them and the figures."""
    sections = (
        ("Streams that all learners run on", [name for name in names if name not in LONG]),
        ("Long and wide streams", [name for name in names if name in LONG]),
        ("All streams together", names),
    )
    *groups, everywhere = (
        Group(title, own, _models_on(own, models), outcomes) for title, own in sections
    )
    groups = [group for group in groups if group.streams and group.models]
    # Two kinds of streams also have a common ranking, of the models that run on both.
    both = [everywhere] if len(groups) == 2 else []
    ranked = [group for group in (*groups, *both) if group.is_ranked]
    console = Console()
    ours = [name for name in models if MODELS[name].ours]
    for group in groups:
        for measure, title in (MEASURES | COSTS).items():
            say(console, f"\n{group.title}. {title}")
            print_table(console, rows(group, measure), bold=ours)
    say(console, f"\n{LEGEND}")
    for group in ranked:
        for measure in RANKED:
            say(console, f"\n{ranks_text(group, measure)}")
    say(console, "")
    contents = {
        "streams.md": to_markdown(groups, ranked).encode(),
        "streams.csv": to_csv(groups).encode(),
        **_figures([group for group in groups if group.is_ranked]),
    }
    for file, content in contents.items():
        replace_file(directory / file, content)
        say(console, f"{directory / file}")


def _figures(groups: Sequence[Group]) -> dict[str, bytes]:
    """The figures by the names of their files, for light pages and for dark ones."""
    # Heavy, and of no use to the other commands.
    from river_oauc.cli.console.figure import DARK, LIGHT
    from benchmarks.rank_diagram import draw_ranks
    from benchmarks.streams.figures import draw_distances

    figures = {}
    for suffix, theme in (("", LIGHT), ("-dark", DARK)) if groups else ():
        figures[f"streams{suffix}.png"] = draw_distances(groups, theme)
        for number, group in enumerate(groups, start=1):
            title = f"{group.title}: average rank by AUC, 1 is best"
            ranking = group.ranking("auc")
            figures[f"ranks-{number}{suffix}.png"] = draw_ranks(ranking, title, theme)
    return figures


def _present() -> list[str]:
    """The real streams that are here."""
    present = [name for name in STREAMS if RealStream(name).is_here]
    if not present:
        raise UserError(
            "no stream is here: name some to have them downloaded, or set RIVER_OAUC_DATA to a "
            "directory that has some"
        )
    return present


def _models_on(names: Sequence[str], models: Sequence[str]) -> list[str]:
    """Those of the models that run on all of these streams."""
    only_short = LONG.isdisjoint(names)
    return [model for model in models if only_short or MODELS[model].for_long]


def _n_examples(name: str, limit: int | None) -> int:
    """How many examples of a stream are learned."""
    n_samples = (STREAMS[name] if name in STREAMS else BENCHMARKS[name].facts).n_samples
    return min(n_samples, limit or (LONG_LIMIT if name in LONG else LIMIT))
