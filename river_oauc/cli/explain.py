"""The command `explain`: what a model file holds, and what moves its scores."""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path
from typing import Any

from rich.console import Console

from river_oauc.cli.console import positive_int, print_table, say
from river_oauc.cli.messages import UserError, one_line, shorten
from river_oauc.cli.readers.rows import STOP, read_rows
from river_oauc.cli.readers.source import open_source
from river_oauc.cli.saved import SavedModel


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="the model file")
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="rows whose scores to explain, as for `score`"
    )
    parser.add_argument(
        "--limit", type=positive_int, default=1_000, metavar="N", help="first N rows (1000)"
    )
    parser.add_argument(
        "--top", type=positive_int, default=20, metavar="N", help="show N features (20)"
    )


def run(args: argparse.Namespace) -> int:
    """Print the model, its experts, and the features that move the scores of some rows."""
    saved = SavedModel.read(args.model)
    console = Console()
    say(console, f"{args.model}: {saved}", style="bold")
    say(console, repr(saved.model))
    experts = sorted(getattr(saved.model, "expert_shares", ()), key=lambda each: -each["share"])
    if experts:
        rows = [[each["expert"], f"{each['auc']:.3f}", f"{each['share']:.2f}"] for each in experts]
        say(console, "")
        print_table(console, [["expert", "AUC", "share"], *rows])
    if args.file is not None:
        n, rows = _feature_rows(saved, args.file, args.limit)
        say(console, "")
        say(console, f"moves of the score over {n:,} rows of {args.file}", style="bold")
        print_table(console, [["feature", "mean |move|", "lowest", "highest"], *rows[: args.top]])
    return 0


def _feature_rows(saved: SavedModel, path: str, limit: int) -> tuple[int, list[list[str]]]:
    """Return the number of rows, and how far each feature moves their scores."""
    explain, n = saved.explain, 0
    # The sum of the absolute moves, the lowest and the highest.
    moves: dict[Any, tuple[float, float, float]] = {}
    with open_source(path) as source:
        for line, record, _ in itertools.islice(read_rows(source), limit):
            try:
                explanation = explain(saved.target.features(record))
            except ValueError as error:
                STOP.add(source, line, error)
            for name, move in explanation.items():
                total, low, high = moves.get(name, (0.0, move, move))
                moves[name] = total + abs(move), min(low, move), max(high, move)
            n += 1
    if not n:
        raise UserError(f"{path}: there is no row in it")
    return n, [
        [one_line(shorten(str(name))), f"{total / n:.4f}", f"{low:+.4f}", f"{high:+.4f}"]
        for name, (total, low, high) in sorted(moves.items(), key=lambda item: -item[1][0])
    ]
