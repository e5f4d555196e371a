"""Read the rows of a LIBSVM file."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Iterator, Sequence

from river_oauc.cli.compare.text_file import open_text
from river_oauc.cli.console.errors import UserError
from river_oauc.cli.console.text import shorten


def read_rows(path: pathlib.Path) -> Iterator[tuple[float, dict[str, float]]]:
    """Yield the label and the features, by index, of each row.

    Blank lines, comments (from # on) and query ids (qid:N) are skipped.

    Parameters
    ----------
    path
        A file of lines `LABEL INDEX:VALUE ...`; see `open_text`.

    """
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            lines.end_row()
            cells = line.partition("#")[0].split()
            if not cells:
                continue
            try:
                row = _number(cells[0]), _features(cells[1:])
            except ValueError as error:
                raise UserError(f"{path}: line {number:,}: {error}") from None
            yield row


def _number(cell: str) -> float:
    """Parse a label.

    Examples
    --------
    >>> _number("+1")
    1.0
    >>> _number("1,2")
    Traceback (most recent call last):
    ValueError: the label '1,2' is not a number

    """
    try:
        label = float(cell)
    except ValueError:
        label = math.nan
    if not math.isfinite(label):
        raise ValueError(f"the label {shorten(cell)!r} is not a number")
    return label


def _features(cells: Sequence[str]) -> dict[str, float]:
    """Parse the values by index.

    Examples
    --------
    >>> _features(["qid:7", "1:0.5", "12:-3"])
    {'1': 0.5, '12': -3.0}
    >>> _features(["1:0.5", "x:1"])
    Traceback (most recent call last):
    ValueError: 'x:1' is not of the form INDEX:VALUE, a whole number and a number

    """
    x: dict[str, float] = {}
    for cell in cells:
        index, _, text = cell.partition(":")
        if index == "qid":
            continue
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and index.isascii() and index.isdecimal()):
            raise ValueError(
                f"{shorten(cell)!r} is not of the form INDEX:VALUE, a whole number and a number"
            )
        if index in x:
            raise ValueError(f"the index {shorten(index)} occurs twice")
        x[index] = value
    return x
