"""Read the rows of a CSV file."""

from __future__ import annotations

import csv
import pathlib
from collections.abc import Iterator

from river_oauc.cli.compare.text_file import open_text
from river_oauc.cli.console.errors import UserError


def read_rows(path: pathlib.Path) -> Iterator[tuple[int, list[str]]]:
    """Yield each row with the line that it begins in, header first.

    Blank lines are skipped and cells are stripped. All rows have the length of the header.

    Parameters
    ----------
    path
        A comma-separated UTF-8 file; see `open_text`.

    """
    width, next_line = 0, 1
    try:
        with open_text(path) as lines:
            # If it were not strict, an unclosed quote would swallow the rows below it.
            reader = csv.reader(lines, strict=True)
            for cells in reader:
                lines.end_row()
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
