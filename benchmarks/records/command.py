"""`python -m benchmarks records`: learners on raw records."""

from __future__ import annotations

import argparse

from benchmarks.progressive.command import (
    Benchmark,
    add_common_arguments,
    chosen_models,
    run_benchmark,
    run_model,
)
from benchmarks.progressive.models import RECORD_MODELS
from benchmarks.progressive.summary import Group
from benchmarks.progressive.validation import Cell, Outcome
from benchmarks.records.sets import ORDERED, SETS, TUNED, read_set
from river_oauc.cli.messages import known_names

__all__ = ["add_arguments", "run", "run_cell"]

LIMIT = 20_000
# They are not ranked: in the first 20,000 rows of kdd99_10 all positives come last, and sms_spam is
# one column of text.
APART = frozenset({"kdd99_10", "sms_spam"})
NOTES = (
    "Ours take the records as they are. A figure of LogisticRegression is that of the best "
    "preparation, chosen afterwards for every set and measure: ᵒ one-hot, ᵒˢ one-hot and "
    "StandardScaler, ʳ RecordEncoder, ʳˢ RecordEncoder and StandardScaler. A cost is that of the "
    "preparation with the best AUC. LightGBM and CatBoost are retrained on the whole past or on "
    "the last 5,000 records as the stream grows, with categorical columns as categories. "
    "(to 1,000) means that the time was up after 1,000 records: such models are not ranked.",
    f"In their order: {', '.join(sorted(ORDERED))}; the others are shuffled. No rule was tuned on "
    f"{', '.join(name for name in SETS if name not in TUNED)}.",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.description = (
        "Run our learners on raw records: each is predicted, then learned. Beside them run "
        "learners of river, encoded, and LightGBM and CatBoost, retrained as the stream grows. "
        "Every finished run is kept in a file: after an interrupt, the same command continues."
    )
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"(default: all) {', '.join(SETS)}")
    add_common_arguments(parser, "records", RECORD_MODELS, f"{LIMIT:,}")


def run(args: argparse.Namespace) -> int:
    """Run the missing runs, print the tables, and write tables and figures."""
    names = known_names("set", args.sets or None, SETS)
    models = chosen_models(args.models, RECORD_MODELS)
    ranked = Group("Raw records", [name for name in names if name not in APART], models)
    apart = Group("Not ranked", [name for name in names if name in APART], models, to_rank=False)
    benchmark = Benchmark(
        "records",
        "Learners on raw records",
        NOTES,
        lambda name: SETS[name] if args.full else min(SETS[name], args.limit or LIMIT),
        run_cell,
    )
    return run_benchmark(benchmark, [ranked, apart], args)


def run_cell(max_seconds: float, cell: Cell) -> Outcome:
    """Run a model on a set, for at most `max_seconds` of CPU time."""
    return run_model(RECORD_MODELS, read_set, max_seconds, cell)
