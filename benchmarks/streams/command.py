"""`python -m benchmarks streams`: all learners on all streams."""

from __future__ import annotations

import argparse
import functools

from rich.console import Console

from benchmarks.datasets import STREAMS
from benchmarks.examples import SETS, download_missing, examples_of
from benchmarks.progressive.command import (
    Benchmark,
    add_common_arguments,
    chosen_models,
    run_benchmark,
    run_model,
)
from benchmarks.progressive.models import STREAM_MODELS
from benchmarks.progressive.summary import Group
from benchmarks.progressive.validation import Cell, Outcome
from river_oauc.cli.console import print_table
from river_oauc.cli.messages import UserError, known_names

__all__ = ["add_arguments", "run", "run_cell"]

LEGEND = (
    "A figure is that of the best scaler, chosen afterwards for every stream and measure: "
    "ˢ StandardScaler, ᵐ MinMaxScaler, ᵃ MaxAbsScaler, ⁿ Normalizer, none without a letter. A cost "
    "is that of the scaler with the best AUC. (to 1,000) means that the time was up after 1,000 "
    "examples: such models are not ranked."
)
# Only models with cheap steps run on streams with thousands of features.
WIDE = frozenset(name for name, stream in STREAMS.items() if stream.is_sparse)
# Nor on two that need more than 10,000 examples, unless all streams are run in full. kdd99_10 has
# four positives before that, and in bank the share of positives rises to the end.
LONG = frozenset({"bank", "kdd99_10"})
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
    limit = f"{LIMIT:,}, and {LONG_LIMIT:,} of long and wide ones, without forests"
    add_common_arguments(parser, "streams", STREAM_MODELS, limit)


def run(args: argparse.Namespace) -> int:
    """Run the missing runs, print the tables, and write tables and figures."""
    if args.list:
        return _list()
    names = known_names("stream", args.streams, SETS) if args.streams else _present()
    models = chosen_models(args.models, STREAM_MODELS)
    download_missing(names)
    cheap = {name: model for name, model in models.items() if model.for_wide}
    few, title = (WIDE, "Wide streams") if args.full else (WIDE | LONG, "Long and wide streams")
    some = [name for name in names if name not in few]
    others = [name for name in names if name in few]
    groups = [Group("Streams that all learners run on", some, models), Group(title, others, cheap)]
    # With both kinds of streams there is a third ranking, of the models that run on all of them.
    both = [Group("All streams together", names, cheap)] if some and others else []
    benchmark = Benchmark(
        "streams",
        "Learners on streams",
        [LEGEND],
        functools.partial(_n_examples, args),
        run_cell,
    )
    return run_benchmark(benchmark, groups, args, together=both)


def _list() -> int:
    """Print the catalogue."""
    table = [["stream", "rows", "features", "positives", "order", "here", "positive", "from"]]
    for name, stream in STREAMS.items():
        fetched = "river" if stream.river else "download" if stream.published else "by hand"
        table.append(
            [
                name,
                f"{stream.n_samples:,}",
                f"{stream.n_features:,}",
                f"{stream.n_positives / stream.n_samples:.2%}",
                "kept" if stream.is_ordered else "shuffled",
                "yes" if stream.is_here else "-",
                stream.positive,
                f"{fetched}: {stream.source} ({stream.licence})",
            ]
        )
    print_table(Console(), table)
    return 0


def _present() -> list[str]:
    """Return the real streams that are on this machine."""
    present = [name for name, stream in STREAMS.items() if stream.is_here]
    if not present:
        raise UserError(
            "no stream is on this machine: name some to download them, or set RIVER_OAUC_DATA to a "
            "directory that has some"
        )
    return present


def _n_examples(args: argparse.Namespace, name: str) -> int:
    """Return the number of examples to learn of a stream."""
    limit = args.limit or (LONG_LIMIT if name in WIDE | LONG else LIMIT)
    return SETS[name].n_samples if args.full else min(SETS[name].n_samples, limit)


def run_cell(max_seconds: float, cell: Cell) -> Outcome:
    """Run a model on a set, for at most `max_seconds` of CPU time."""
    return run_model(STREAM_MODELS, examples_of, max_seconds, cell)
