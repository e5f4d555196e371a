"""What the commands share in talking with the user: argument types, progress bar, tables."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Container, Sequence

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

__all__ = ["positive_int", "print_table", "progress_bar", "say"]

# A run of a table can take minutes, and the time left is judged by what this long a past took.
_SECONDS_TO_JUDGE_BY = 600.0


def positive_int(text: str, at_most: int = sys.maxsize) -> int:
    """A whole number from 1 on.

    Parameters
    ----------
    text
        What the user wrote.
    at_most
        The largest one that can be used; by default the largest number of elements of a sequence.

    Examples
    --------
    >>> positive_int("30")
    30

    """
    try:
        number = int(text)
    except ValueError:
        number = 0
    if not 1 <= number <= at_most:
        limit = "" if at_most == sys.maxsize else f" to {at_most:,}"
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1{limit or ' on'}")
    return number


def progress_bar(label: str) -> Progress:
    """A bar with the time left, on the error stream, so that the output can be piped.

    On anything but a terminal nothing is shown.
    """
    console = Console(stderr=True)
    return Progress(
        TextColumn(label),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
        speed_estimate_period=_SECONDS_TO_JUDGE_BY,
    )


def say(console: Console, text: str, style: str | None = None) -> None:
    """Print text as it is: not folded, which would break file names, and without markup."""
    console.print(text, style=style, soft_wrap=True, markup=False, highlight=False)


def print_table(console: Console, rows: Sequence[Sequence[str]], bold: Container[str] = ()) -> None:
    """Print a table of one column of names and columns of figures, which are never cut.

    The columns that the terminal has no room for go below, beside the names once more.

    Parameters
    ----------
    console
        Where to.
    rows
        The cells, those of the header first.
    bold
        The names whose rows are printed in bold.

    Examples
    --------
    >>> rows = [["model", "AUC", "memory"], ["OAUCM", "0.9062", "715 KiB"]]
    >>> print_table(Console(width=40), rows)
    model     AUC   memory
    ──────────────────────
    OAUCM  0.9062  715 KiB
    >>> print_table(Console(width=20), rows)
    model     AUC
    ─────────────
    OAUCM  0.9062
    <BLANKLINE>
    model   memory
    ──────────────
    OAUCM  715 KiB

    """
    first, *others = (max(map(len, column)) for column in zip(*rows, strict=True))
    blocks: list[list[int]] = []
    room = 0
    for column, width in enumerate(others, start=1):
        if room < width + 2:
            blocks.append([])
            room = console.width - first
        blocks[-1].append(column)
        room -= width + 2
    for number, block in enumerate(blocks):
        if number:
            say(console, "")
        rule = "─" * (first + sum(others[column - 1] + 2 for column in block))
        for row in rows:
            cells = "".join(f"  {row[column]:>{others[column - 1]}}" for column in block)
            is_bold = row is rows[0] or row[0] in bold
            say(console, f"{row[0]:{first}}{cells}", style="bold" if is_bold else None)
            if row is rows[0]:
                say(console, rule)
