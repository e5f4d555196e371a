"""The rows of a CSV file, or a refusal that says why it is not one."""

from __future__ import annotations

import csv
import pathlib
from collections.abc import Iterator
from typing import TextIO

from river_oauc.experiments.console.errors import UserError, reason

__all__ = ["MAX_LINE", "Row", "read_rows"]

# A line is held in memory before it is cut into cells. This is room for a million of them, and
# whatever has longer lines is no table.
MAX_LINE = 2**24

Row = tuple[int, list[str]]


def read_rows(path: pathlib.Path) -> Iterator[Row]:
    """The rows with the lines they begin in, header first, all of one length, cells stripped.

    Blank lines are passed over.

    Parameters
    ----------
    path
        The file: UTF-8, separated by commas.

    """
    width, next_line = 0, 1
    try:
        if path.exists() and not path.is_dir() and not path.is_file():
            # A pipe can be read once only.
            raise UserError(f"{path}: not a regular file; save what it gives to one")
        # Spreadsheets open a UTF-8 file with a byte order mark, which is no part of the header.
        with path.open(encoding="utf-8-sig", newline="") as file:
            # Were it not strict, a quote that is not closed would swallow the rows below it.
            reader = csv.reader(_lines(path, file), strict=True)
            for cells in reader:
                line, next_line = next_line, reader.line_num + 1
                if not cells:
                    continue
                width = width or len(cells)
                if len(cells) != width:
                    many = "cell" if len(cells) == 1 else "cells"
                    hint = "; a cell with a comma in it needs quotes" if len(cells) > width else ""
                    raise UserError(
                        f"{path}: line {line:,} has {len(cells):,} {many}, "
                        f"the header has {width:,}{hint}"
                    )
                yield line, [cell.strip() for cell in cells]
    except OSError as error:
        raise UserError(f"{path}: {reason(error)}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 text; save it as UTF-8") from error
    except csv.Error as error:
        raise UserError(
            f"{path}: the row that begins in line {next_line:,} is not CSV: {error}; "
            "is a quote not closed, or not doubled?"
        ) from error


def _lines(path: pathlib.Path, file: TextIO) -> Iterator[str]:
    """The lines, none of them endless, all of them text."""
    number = 0
    while line := file.readline(MAX_LINE):
        number += 1
        if len(line) == MAX_LINE:
            raise UserError(
                f"{path}: line {number:,} has {MAX_LINE:,} characters or more; is this a table?"
            )
        if "\0" in line:
            raise UserError(
                f"{path}: line {number:,} holds a NUL character: not text, or UTF-16; "
                "save it as UTF-8"
            )
        yield line
