"""`python -m benchmarks records`: learners on raw records, without any preparation."""

from __future__ import annotations

import argparse
import functools
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks.arrays import BoolArray, FloatArray
from benchmarks.journal import Journal
from benchmarks.markdown import markdown_table
from benchmarks.records.retrained import RETRAINED, Scores, is_installed, scores_of
from benchmarks.records.sets import ORDERED, SETS, TUNED, read_set
from benchmarks.streams.progress import auc, follow
from river_oauc import OTAUC, AutoOAUC, SparseOAUCM
from river_oauc.cli.console.names import known_names
from river_oauc.cli.console.terminal import positive_int, print_table, progress_bar, say
from river_oauc.cli.models import Example
from river_oauc.files import replace_file
from river_oauc.metrics import average_precision

__all__ = ["add_arguments", "run"]

DEFAULT_OUT = pathlib.Path("river-oauc-records")

# They have no part in the means: in the first 20,000 rows of kdd99_10 all positives come last, and
# sms_spam is one column of text.
_NOT_AVERAGED = ("kdd99_10", "sms_spam")


def _progressive(make: Callable[[], Any]) -> Callable[[Sequence[Example]], Scores]:
    return lambda examples: follow(make(), examples)


_MODELS: dict[str, Callable[[Sequence[Example]], Scores]] = {
    "AutoOAUC": _progressive(functools.partial(AutoOAUC, seed=1)),
    "OTAUC": _progressive(lambda: OTAUC(seed=0)),
    "SparseOAUCM": _progressive(SparseOAUCM),
    **{name: functools.partial(scores_of, name) for name in RETRAINED},
}


class Cell(NamedTuple):
    """A run: a model on the first records of a set."""

    set: str
    rows: int
    model: str


class Outcome(NamedTuple):
    """AUC, its value over the second half, and average precision, in percent; and the cost."""

    auc: float
    auc_of_second_half: float
    average_precision: float
    microseconds: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.description = (
        "Run our learners on raw records: each is predicted, then learned. Beside them LightGBM "
        "and CatBoost are retrained on the whole past as the stream grows. Finished runs are kept "
        "in a file: after an interrupt, the same command continues."
    )
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"(default: all) {', '.join(SETS)}")
    parser.add_argument("--models", nargs="+", metavar="MODEL", help=", ".join(_MODELS))
    parser.add_argument(
        "--limit", type=positive_int, default=20_000, metavar="N", help="rows (%(default)s)"
    )
    parser.add_argument(
        "--out",
        type=pathlib.Path,
        default=DEFAULT_OUT,
        metavar="DIR",
        help=f"where results and table go (default: {DEFAULT_OUT})",
    )


def run(args: argparse.Namespace) -> int:
    """Run the missing runs, print the table, and write it."""
    names = known_names("set", args.sets or None, SETS)
    models = known_names("model", args.models, _MODELS)
    if not args.models:
        models = [name for name in models if name not in RETRAINED or is_installed(name)]
    args.out.mkdir(parents=True, exist_ok=True)
    cells = [Cell(name, args.limit, model) for name in names for model in models]
    with Journal(args.out / "records.jsonl", Cell, Outcome) as results:
        missing = [cell for cell in cells if cell not in results.outcomes]
        with progress_bar("records") as bar, threadpool_limits(1):
            for cell in bar.track(missing):
                examples = read_set(cell.set, cell.rows)
                results.add(cell, _outcome(*_MODELS[cell.model](examples)))
        outcomes = dict(results.outcomes)
    rows = _rows(names, models, args.limit, outcomes)
    print_table(Console(), rows)
    replace_file(args.out / "records.md", _markdown(rows).encode())
    say(Console(), f"{args.out / 'records.md'}")
    return 0


def _outcome(scores: FloatArray, labels: BoolArray, seconds: float) -> Outcome:
    half = len(labels) // 2
    return Outcome(
        100.0 * auc(scores, labels),
        100.0 * auc(scores[half:], labels[half:]),
        100.0 * average_precision(scores[labels], scores[~labels]),
        1e6 * seconds / len(labels),
    )


def _rows(
    names: Sequence[str], models: Sequence[str], limit: int, outcomes: Mapping[Cell, Outcome]
) -> list[list[str]]:
    """Return the table: AUC / average precision of each model on each set, and their means."""
    table = [["set", "order", *models]]
    for name in names:
        own = [outcomes[Cell(name, limit, model)] for model in models]
        order = "kept" if name in ORDERED else "shuffled"
        mark = "" if name in TUNED else "*"
        table.append([name + mark, order, *map(_figures, own)])
    averaged = [name for name in names if name not in _NOT_AVERAGED]
    mean = ["mean", ""]
    for model in models:
        own = [outcomes[Cell(name, limit, model)] for name in averaged]
        if own:
            mean.append(_figures(Outcome(*np.mean(own, axis=0).tolist())))
    return [*table, mean]


def _figures(outcome: Outcome) -> str:
    return f"{outcome.auc:.1f} / {outcome.average_precision:.1f}"


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    note = (
        "AUC / average precision, progressive. Sets with a star had no part in tuning. The means "
        f"are without {', '.join(_NOT_AVERAGED)}."
    )
    return f"{markdown_table(rows)}\n\n{note}\n"
