"""The command `score`: score the rows of a file with a model file."""

from __future__ import annotations

import argparse
import contextlib
import csv
import heapq
import os
import sys
import typing
from collections.abc import Iterator
from pathlib import Path

from river_oauc.cli.console import positive_int
from river_oauc.cli.messages import UserError, check_column, one_line
from river_oauc.cli.readers.rows import Refusals, read_rows
from river_oauc.cli.readers.source import FORMATS, Source, open_source
from river_oauc.cli.saved import SavedModel
from river_oauc.cli.writing import locked
from river_oauc.explanations import Explanation
from river_oauc.files import replacing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    add = parser.add_argument
    add("model", type=Path, metavar="MODEL", help="the model file")
    add("file", metavar="FILE", help=f"{FORMATS}; - is standard input")
    add("--output", type=Path, metavar="CSV", help="where to write (default: standard output)")
    add("--id", metavar="COLUMN", help="a column to copy, to tell the rows apart")
    add("--reasons", type=positive_int, metavar="N", help="and the N features that moved it most")
    add(
        "--on-error",
        choices=("stop", "skip"),
        default="stop",
        help="stop at a row that cannot be scored (the default), or skip it and count",
    )


def run(args: argparse.Namespace) -> int:
    """Write a line with the score and the probability for each row."""
    saved = SavedModel.read(args.model)
    explain = saved.explain if args.reasons else None
    refusals = Refusals(are_errors=args.on_error == "stop")
    with open_source(args.file) as source, _output(args, source) as file:
        writer = csv.writer(file, lineterminator="\n")
        reasons = ["reasons"] if args.reasons else []
        writer.writerow([args.id or "row", "score", "probability", *reasons])
        for line, record, number in read_rows(source, refusals=refusals):
            if args.id is not None:
                check_column(source.name, args.id, record)
            x = saved.target.features(record)
            try:
                scored = [saved.model.score_one(x), saved.model.predict_proba_one(x)[True]]
                reasons = [_reasons(explain(x), args.reasons)] if explain else []
            except ValueError as error:
                refusals.add(source, line, error)
                continue
            writer.writerow([number if args.id is None else record[args.id], *scored, *reasons])
    if refusals.n:
        print(f"river-oauc: {one_line(f'{args.file}: {refusals}')}", file=sys.stderr)
    return 0


def _reasons(moves: Explanation, n: int) -> str:
    """Write the largest moves of a score.

    Examples
    --------
    >>> _reasons({"amount": 0.5, "country": -1.25, "hour": 0.01}, 2)
    'country -1.25, amount +0.5'

    """
    largest = heapq.nlargest(n, moves.items(), key=lambda item: abs(item[1]))
    return ", ".join(f"{name} {move:+.3g}" for name, move in largest)


@contextlib.contextmanager
def _output(args: argparse.Namespace, source: Source) -> Iterator[typing.IO[str]]:
    path = args.output
    if path is None:
        yield sys.stdout
        return
    if path.exists() and (
        path.samefile(args.model) or os.path.samestat(path.stat(), os.fstat(source.binary.fileno()))
    ):
        raise UserError(f"{path}: the output would replace the model or the input")
    # What UTF-8 cannot hold becomes a question mark.
    options = {"encoding": "utf-8", "errors": "replace", "newline": ""}
    with locked(path, "output"), replacing(path, "x", **options) as file:
        yield file
