"""The command `score`: score the rows of a file with a model file."""

from __future__ import annotations

import argparse
import contextlib
import csv
import heapq
import itertools
import pathlib
import sys
from collections.abc import Iterator
from typing import Any, TextIO

from river_oauc.cli.console.errors import UserError
from river_oauc.cli.console.names import check_column
from river_oauc.cli.console.terminal import positive_int
from river_oauc.cli.readers.rows import Row, read_rows
from river_oauc.cli.readers.source import Source, open_source
from river_oauc.cli.saved import SavedModel
from river_oauc.explanations import ExplainingClassifier, Explanation

# The model is copied once for the explanations of this many rows.
_BATCH = 1_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("model", type=pathlib.Path, metavar="MODEL", help="the model file")
    parser.add_argument(
        "file",
        metavar="FILE",
        help="CSV, JSON Lines, Parquet or LIBSVM, plain or compressed; - is standard input",
    )
    parser.add_argument(
        "--output",
        type=pathlib.Path,
        metavar="CSV",
        help="the file to write (default: standard output)",
    )
    parser.add_argument(
        "--id", metavar="COLUMN", help="a column to copy to the output, to tell the rows apart"
    )
    parser.add_argument(
        "--reasons",
        type=positive_int,
        metavar="N",
        help="also write the N features that moved the score of a row most, and by how much",
    )


def run(args: argparse.Namespace) -> int:
    """Write a line with the score and the probability for each row."""
    saved = SavedModel.read(args.model)
    explaining = saved.model if isinstance(saved.model, ExplainingClassifier) else None
    if args.reasons and explaining is None:
        raise UserError(f"{args.model}: a {type(saved.model).__name__} gives no --reasons")
    with open_source(args.file) as source, _output(args.output) as file:
        writer = csv.writer(file, lineterminator="\n")
        reasons = ["reasons"] if args.reasons else []
        writer.writerow([args.id or "row", "score", "probability", *reasons])
        rows = read_rows(source)
        for number in itertools.count(0, _BATCH):
            batch = list(itertools.islice(rows, _BATCH))
            if not batch:
                break
            records = [saved.features(row.record) for row in batch]
            lines = list(_lines(saved, source, batch, records, number, args.id))
            if args.reasons and explaining:
                # Now that no row has been refused.
                for line, moves in zip(lines, explaining.explain_each(records), strict=True):
                    line.append(_reasons(moves, args.reasons))
            writer.writerows(lines)
    return 0


def _lines(
    saved: SavedModel,
    source: Source,
    rows: list[Row],
    records: list[dict[Any, Any]],
    n_before: int,
    id_column: str | None,
) -> Iterator[list[Any]]:
    """Yield the lines of the output for some rows, without reasons."""
    for i, (row, x) in enumerate(zip(rows, records, strict=True)):
        if id_column is not None:
            check_column(source.name, id_column, row.record)
        try:
            yield [
                n_before + i + 1 if id_column is None else row.record[id_column],
                saved.model.score_one(x),
                saved.model.predict_proba_one(x)[True],
            ]
        except ValueError as error:
            raise UserError(f"{source.name}: line {row.line:,}: {error}") from None


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
def _output(path: pathlib.Path | None) -> Iterator[TextIO]:
    if path is None:
        yield sys.stdout
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            yield file
