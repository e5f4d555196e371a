"""The rows of a CSV file, or a refusal that says why it is not one."""

from __future__ import annotations

import csv
import pathlib
from collections.abc import Iterator

from river_oauc.cli.compare.text_file import open_text
from river_oauc.cli.console.errors import UserError

__all__ = ["read_rows"]


def read_rows(path: pathlib.Path) -> Iterator[tuple[int, list[str]]]:
    """The rows with the lines they begin in, header first, all of one length, cells stripped.

    Blank lines are passed over.

    Parameters
    ----------
    path
        The file: UTF-8, separated by commas; see `open_text`.

    """
    width, next_line = 0, 1
    try:
        with open_text(path) as file:
            # Were it not strict, a quote that is not closed would swallow the rows below it.
            reader = csv.reader(file, strict=True)
            for cells in reader:
                line, next_line = next_line, reader.line_num + 1
                width = width or len(cells)
                if cells and len(cells) != width:
                    raise UserError(
                        f"{path}: line {line:,} has {len(cells):,} cells, the header has "
                        f"{width:,}; a cell with a comma in it needs quotes"
                    )
                if cells:
                    yield line, [cell.strip() for cell in cells]
    except csv.Error as error:
        raise UserError(
            f"{path}: the row that begins in line {next_line:,} is not CSV: {error}; "
            "is a quote not closed, or not doubled?"
        ) from error
