"""`river-oauc streams`: all learners over all streams that are here, into a file that grows."""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import operator
import pathlib
import random
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from rich.console import Console
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from river_oauc.datasets import BENCHMARKS
from river_oauc.datasets.files import replace_file
from river_oauc.datasets.streams import STREAMS, RealStream
from river_oauc.experiments.console.errors import UserError
from river_oauc.experiments.console.names import known_names
from river_oauc.experiments.console.terminal import (
    positive_int,
    print_table,
    progress_bar,
    say,
)
from river_oauc.experiments.models import Example
from river_oauc.experiments.streams.progress import outcome_of
from river_oauc.experiments.streams.rivals import (
    OURS,
    RIVALS,
    SPARSE_RIVALS,
    VOWPAL_WABBIT,
)

__all__ = ["add_arguments", "examples_of", "run"]

_MODELS = OURS | RIVALS | SPARSE_RIVALS | VOWPAL_WABBIT
_MEASURES = {
    "auc": "exact AUC",
    "auc_in_windows": "AUC in windows of 500",
    "average_precision": "average precision",
    "precision_at_top": "precision among the top 1 %",
    "microseconds": "µs per example",
    "kilobytes": "memory, KiB",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument(
        "streams", nargs="*", metavar="STREAM", help="streams or benchmark sets (all that are here)"
    )
    parser.add_argument("--models", nargs="+", metavar="MODEL", default=[*OURS, *RIVALS])
    parser.add_argument(
        "--limit", type=positive_int, default=10_000, help="examples per stream (%(default)s)"
    )
    parser.add_argument(
        "--seeds",
        type=functools.partial(positive_int, at_most=1_000),
        default=1,
        help="shuffles of what is no time series, and seeds of the models (%(default)s)",
    )
    parser.add_argument(
        "--results", type=pathlib.Path, default=pathlib.Path("streams.jsonl"),
        help="file of finished runs, which the command goes on with (%(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--markdown", type=pathlib.Path, help="file to write the tables to, as Markdown"
    )


def run(args: argparse.Namespace) -> int:
    """Run what is missing, and print the tables."""
    console = Console()
    names = (
        known_names("stream", args.streams, [*STREAMS, *BENCHMARKS]) if args.streams else _present()
    )
    models = known_names("model", args.models, [*_MODELS])
    done = read_results(args.results)
    cells = [
        (name, seed, model)
        for name in names
        for seed in range(args.seeds)
        for model in models
        if (name, args.limit, model, seed) not in done
    ]
    with progress_bar("streams") as bar, args.results.open("a", encoding="utf-8") as lines:
        # A run that was killed may have left half a line.
        lines.write("" if _ends_a_line(args.results) else "\n")
        task = bar.add_task("", total=len(cells))
        # A stream is read once for all models: some take longer to read than to learn.
        for (name, seed), own in itertools.groupby(cells, key=operator.itemgetter(0, 1)):
            examples = examples_of(name, seed, args.limit)
            for *_, model in own:
                with threadpool_limits(1):
                    outcome = outcome_of(_MODELS[model](seed), examples)
                line = {"stream": name, "limit": args.limit, "model": model, "seed": seed}
                lines.write(json.dumps(line | asdict(outcome)) + "\n")
                lines.flush()
                bar.advance(task)
    results = read_results(args.results)
    tables = {
        title: _rows(results, names, models, args, measure) for measure, title in _MEASURES.items()
    }
    for title, rows in tables.items():
        say(console, f"\n{title}")
        print_table(console, rows, bold=tuple(OURS))
    if args.markdown is not None:
        replace_file(args.markdown, "\n".join(map(_markdown, tables, tables.values())).encode())
    return 0


def _markdown(title: str, rows: list[list[str]]) -> str:
    """A table with a row per stream and a column per model, the highest figure in bold."""
    (_, *names), *models = rows
    lines = ["| | " + " | ".join(model for model, *_ in models) + " |"]
    lines.append("|---" * (len(models) + 1) + "|")
    for name, *cells in zip(names, *(figures for _, *figures in models), strict=True):
        largest = max(cells, key=float)
        cells = [f"**{cell}**" if cell == largest else cell for cell in cells]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return f"## {title}\n\n" + "\n".join(lines) + "\n"


def _present() -> list[str]:
    """The real streams whose files are here."""
    present = [name for name, facts in STREAMS.items() if RealStream(facts).path is not None]
    if not present:
        raise UserError("no stream is here: set RIVER_OAUC_DATA to a directory that has some")
    return present


def examples_of(name: str, seed: int, limit: int) -> list[Example]:
    """The first examples of a stream, or of a shuffled set."""
    examples: Iterable[Example]
    if name in STREAMS:
        facts = STREAMS[name]
        examples, is_ordered = RealStream(facts), facts.is_ordered
    else:
        examples, is_ordered = BENCHMARKS[name](), False
    if is_ordered:
        return [example for example, _ in zip(examples, range(limit), strict=False)]
    shuffled = list(examples)
    random.Random(seed).shuffle(shuffled)
    return shuffled[:limit]


def read_results(path: pathlib.Path) -> dict[tuple[str, int, str, int], dict[str, Any]]:
    """The finished runs; a last line that is cut short does not count."""
    results = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                cell = json.loads(line)
            except json.JSONDecodeError:
                continue
            results[cell["stream"], cell["limit"], cell["model"], cell["seed"]] = cell
    return results


def _ends_a_line(path: pathlib.Path) -> bool:
    text = path.read_bytes()
    return not text or text.endswith(b"\n")


def _rows(
    results: dict[tuple[str, int, str, int], dict[str, Any]],
    names: Sequence[str],
    models: Sequence[str],
    args: argparse.Namespace,
    measure: str,
) -> list[list[str]]:
    """A row per model and a column per stream, with the means over the seeds, and their mean."""
    rows = [["", *names, "mean"]]
    for model in models:
        means = [
            np.mean([results[name, args.limit, model, seed][measure] for seed in range(args.seeds)])
            for name in names
        ]
        rows.append([model, *(f"{mean:.1f}" for mean in (*means, np.mean(means)))])
    return rows
