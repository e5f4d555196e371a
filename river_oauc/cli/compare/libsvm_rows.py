"""The rows of a LIBSVM file, or a refusal that says in which line it is none."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Iterator, Sequence

from river_oauc.cli.compare.text_file import open_text
from river_oauc.cli.console.errors import UserError
from river_oauc.cli.console.text import shorten

__all__ = ["read_rows"]


def read_rows(path: pathlib.Path) -> Iterator[tuple[float, dict[str, float]]]:
    """The rows as label and features, whose names are the indices.

    Blank lines, comments (from # on) and query ids (qid:N) are passed over.

    Parameters
    ----------
    path
        The file: lines of the form `LABEL INDEX:VALUE ...`; see `open_text`.

    """
    with open_text(path) as file:
        for number, line in enumerate(file, start=1):
            cells = line.partition("#")[0].split()
            if not cells:
                continue
            try:
                row = _number(cells[0]), _features(cells[1:])
            except ValueError as error:
                raise UserError(f"{path}: line {number:,}: {error}") from None
            yield row


def _number(cell: str) -> float:
    """A label.

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
    """Values by indices.

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
            raise ValueError(f"the index {shorten(index)} stands there twice")
        x[index] = value
    return x
