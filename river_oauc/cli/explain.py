"""The command `explain`: what a model file holds, and what moves its scores."""

from __future__ import annotations

import argparse
import collections
import itertools
import pathlib
import typing
from collections.abc import Iterator

from rich.console import Console

from river_oauc import AutoOAUC
from river_oauc.cli.console.errors import UserError
from river_oauc.cli.console.terminal import positive_int, print_table, say
from river_oauc.cli.console.text import one_line, shorten
from river_oauc.cli.readers.rows import read_rows
from river_oauc.cli.readers.source import open_source
from river_oauc.cli.saved import SavedModel, describe
from river_oauc.explanations import ExplainingClassifier


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("model", type=pathlib.Path, metavar="MODEL", help="the model file")
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="rows whose scores to explain, as for `score`"
    )
    parser.add_argument(
        "--limit",
        type=positive_int,
        default=1_000,
        metavar="N",
        help="explain the first N rows (default: 1000)",
    )
    parser.add_argument(
        "--top", type=positive_int, default=20, metavar="N", help="show N features (default: 20)"
    )


def run(args: argparse.Namespace) -> int:
    """Print the model, its experts, and the features that move the scores of some rows."""
    saved = SavedModel.read(args.model)
    console = Console()
    say(console, f"{args.model}: {describe(saved)}", style="bold")
    say(console, repr(saved.model))
    if isinstance(saved.model, AutoOAUC):
        say(console, "")
        print_table(console, list(_expert_rows(saved.model)))
    if args.file is not None:
        rows, n = _feature_rows(saved, args.file, args.limit)
        say(console, "")
        say(console, f"moves of the score over {n:,} rows of {args.file}", style="bold")
        print_table(console, rows[: args.top + 1])
    return 0


def _expert_rows(model: AutoOAUC) -> Iterator[list[str]]:
    yield ["expert", "AUC", "share"]
    for expert in sorted(model.expert_shares, key=lambda expert: -expert["share"]):
        yield [expert["expert"], f"{expert['auc']:.3f}", f"{expert['share']:.2f}"]


def _feature_rows(saved: SavedModel, path: str, limit: int) -> tuple[list[list[str]], int]:
    """Return a table of the mean move of each feature, and the number of rows it is made of."""
    if not isinstance(saved.model, ExplainingClassifier):
        raise UserError(f"a {type(saved.model).__name__} does not explain its scores")
    with open_source(path) as source:
        rows = list(itertools.islice(read_rows(source), limit))
    if not rows:
        raise UserError(f"{path}: there is no row in it")
    try:
        explanations = saved.model.explain_each(saved.features(row.record) for row in rows)
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None
    moves: collections.defaultdict[typing.Any, list[float]] = collections.defaultdict(list)
    for explanation in explanations:
        for name, move in explanation.items():
            moves[name].append(move)
    table = [["feature", "mean |move|", "lowest", "highest"]]
    for name, each in sorted(moves.items(), key=lambda item: -sum(map(abs, item[1]))):
        mean = sum(map(abs, each)) / len(rows)
        table.append(
            [one_line(shorten(str(name))), f"{mean:.4f}", f"{min(each):+.4f}", f"{max(each):+.4f}"]
        )
    return table, len(rows)
