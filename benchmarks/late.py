"""`python -m benchmarks late`: ranking with late labels, beside LightGBM under the same delay."""

from __future__ import annotations

import argparse
import functools
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from river import compose

from benchmarks.arrays import FloatArray
from benchmarks.markdown import markdown_table
from benchmarks.records.sets import ORDERED, read_set
from river_oauc import AutoOAUC
from river_oauc.cli.console import positive_int, print_table, progress_bar, say
from river_oauc.cli.messages import known_names
from river_oauc.cli.models import Example
from river_oauc.cli.retrained import Retrained
from river_oauc.evaluate import iter_progressive
from river_oauc.files import replace_file
from river_oauc.metrics import exact_auc
from river_oauc.metrics.precision import average_precision

__all__ = ["add_arguments", "run"]

# In the order of time. The first 20,000 records of kdd99_10 have no positive.
_SETS = sorted(ORDERED - {"kdd99_10"})


def _retrained(examples: Sequence[Example], delay: int) -> FloatArray:
    arrivals = np.arange(len(examples)) + delay
    return Retrained("LightGBM").follow(examples, arrivals=arrivals)[0]


def _progressive(
    examples: Sequence[Example], delay: int, lag: int = 0, forgetful: bool = False
) -> FloatArray:
    model: Any = AutoOAUC(lag=lag, seed=1)
    if forgetful:
        # A pipeline keeps nothing of what was served.
        model = compose.Pipeline(model)
    return np.array([score for score, _ in iter_progressive(examples, model, delay)])


_WAYS: dict[str, Callable[[Sequence[Example], int], FloatArray]] = {
    "LightGBM": _retrained,
    "as ever": functools.partial(_progressive, forgetful=True),
    "lag=100": functools.partial(_progressive, lag=100, forgetful=True),
    "as served": _progressive,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("--sets", nargs="+", metavar="SET", default=_SETS)
    parser.add_argument("--delays", nargs="+", type=positive_int, default=[300, 1_000, 5_000])
    parser.add_argument(
        "--limit", type=positive_int, default=20_000, help="records per set (%(default)s)"
    )
    parser.add_argument("--markdown", type=pathlib.Path, help="file to write the table to")


def run(args: argparse.Namespace) -> int:
    """Measure and print the table."""
    sets = known_names("set", args.sets, _SETS)
    rows, cells = [["delay", "set", *_WAYS]], len(sets) * len(args.delays) * len(_WAYS)
    with progress_bar("late labels") as bar:
        task = bar.add_task("", total=cells)
        for delay in args.delays:
            figures: list[list[tuple[float, float]]] = []
            for name in sets:
                examples = read_set(name, args.limit)
                figures.append([])
                for way in _WAYS.values():
                    figures[-1].append(_second_half(way(examples, delay), examples))
                    bar.advance(task)
            means = np.mean(figures, axis=0).tolist()
            for name, own in (*zip(sets, figures, strict=True), ("mean", means)):
                rows.append([f"{delay:,}", name, *(f"{auc:.1f} / {ap:.1f}" for auc, ap in own)])
    console = Console()
    say(console, "AUC / average precision over the second half, in percent")
    print_table(console, rows)
    if args.markdown is not None:
        replace_file(args.markdown, f"{markdown_table(rows)}\n".encode())
    return 0


def _second_half(scores: FloatArray, examples: Sequence[Example]) -> tuple[float, float]:
    half = len(examples) // 2
    labels = np.array([bool(y) for _, y in examples[half:]])
    positives, negatives = scores[half:][labels], scores[half:][~labels]
    precision = average_precision(positives, negatives)
    return 100.0 * exact_auc(positives, negatives), 100.0 * precision
