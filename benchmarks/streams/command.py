"""`python -m benchmarks streams`: all learners on all streams."""

from __future__ import annotations

import argparse
import functools
import itertools
import operator
import pathlib
from collections.abc import Sequence

from rich.console import Console
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks.examples import examples_of
from benchmarks.journal import Journal
from benchmarks.streams.board import Board
from benchmarks.streams.progress import Cell, Outcome, outcome_of
from benchmarks.streams.report import (
    LEGEND,
    RANKED,
    ranks_text,
    rows,
    to_csv,
    to_markdown,
)
from benchmarks.streams.rivals import MODELS
from benchmarks.streams.summary import COSTS, MEASURES, Group, Means, means
from river_oauc.cli.console.errors import UserError
from river_oauc.cli.console.names import known_names
from river_oauc.cli.console.terminal import positive_int, print_table, say
from river_oauc.datasets import BENCHMARKS
from river_oauc.datasets.published import check_directory_variable
from river_oauc.datasets.streams import STREAMS, RealStream
from river_oauc.files import replace_file

__all__ = ["add_arguments", "run"]

DEFAULT_OUT = pathlib.Path("river-oauc-streams")
# Only learners with cheap steps run on long and wide streams: those with thousands of features, and
# two that need more than 10,000 examples. kdd99_10 has four positives before that, and in bank the
# share of positives rises to the end.
LONG = frozenset(
    {name for name, facts in STREAMS.items() if facts.is_sparse} | {"bank", "kdd99_10"}
)
LIMIT, LONG_LIMIT = 10_000, 100_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.description = (
        "Run our learners and others, each behind the usual scalers, on real streams: each example "
        "is predicted, then learned. Every finished run is kept in a file: after an interrupt, the "
        "same command continues."
    )
    parser.add_argument(
        "streams",
        nargs="*",
        metavar="STREAM",
        help="streams, downloaded if necessary, or benchmark sets (default: the streams on this "
        f"machine); {', '.join(STREAMS)}",
    )
    parser.add_argument(
        "--list", action="store_true", help="only list the streams and their sources"
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
        "where forests would take hours and are left out)",
    )
    parser.add_argument(
        "--seeds",
        type=functools.partial(positive_int, at_most=1_000),
        default=1,
        metavar="N",
        help="shuffles of streams without order, and seeds of the models (default: 1)",
    )
    parser.add_argument(
        "--out",
        type=pathlib.Path,
        default=DEFAULT_OUT,
        metavar="DIR",
        help=f"where results, tables and figures go (default: {DEFAULT_OUT})",
    )


def run(args: argparse.Namespace) -> int:
    """Run the missing runs, print the tables, and write tables and figures."""
    check_directory_variable()
    if args.list:
        return _list()
    names = (
        known_names("stream", args.streams, [*STREAMS, *BENCHMARKS]) if args.streams else _present()
    )
    models = known_names("model", args.models, MODELS)
    if not args.models:
        models = [name for name in models if MODELS[name].is_installed]
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
    with Journal(args.out / "streams.jsonl", Cell, Outcome) as results:
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


def _run_missing(cells: Sequence[Cell], results: Journal[Cell, Outcome]) -> None:
    missing = [cell for cell in cells if cell not in results.outcomes]
    with Board(len(missing)) as board:
        # Read each stream once for all models: some take longer to read than to learn.
        for (name, size, seed), own in itertools.groupby(missing, operator.itemgetter(0, 1, 2)):
            examples = examples_of(name, seed, size)
            for cell in own:
                board.show(name, results.outcomes)
                with threadpool_limits(1):
                    # No variable for the model: it would stay in memory beside the next one.
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
    # With both kinds of streams there is a third ranking, of the models that run on all of them.
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
    """Draw the figures, by file name, for light and for dark pages."""
    # Here because matplotlib is slow to import.
    from benchmarks.rank_diagram import draw_ranks
    from benchmarks.streams.figures import draw_distances
    from river_oauc.cli.console.figure import DARK, LIGHT

    figures = {}
    for suffix, theme in (("", LIGHT), ("-dark", DARK)) if groups else ():
        figures[f"streams{suffix}.png"] = draw_distances(groups, theme)
        for number, group in enumerate(groups, start=1):
            title = f"{group.title}: average rank by AUC, 1 is best"
            ranking = group.ranking("auc")
            figures[f"ranks-{number}{suffix}.png"] = draw_ranks(ranking, title, theme)
    return figures


def _present() -> list[str]:
    """Return the real streams that are on this machine."""
    present = [name for name in STREAMS if RealStream(name).is_here]
    if not present:
        raise UserError(
            "no stream is on this machine: name some to download them, or set RIVER_OAUC_DATA to a "
            "directory that has some"
        )
    return present


def _models_on(names: Sequence[str], models: Sequence[str]) -> list[str]:
    """Return the models that run on all of these streams."""
    only_short = LONG.isdisjoint(names)
    return [model for model in models if only_short or MODELS[model].for_long]


def _n_examples(name: str, limit: int | None) -> int:
    """Return the number of examples to learn of a stream."""
    n_samples = (STREAMS[name] if name in STREAMS else BENCHMARKS[name].facts).n_samples
    return min(n_samples, limit or (LONG_LIMIT if name in LONG else LIMIT))
