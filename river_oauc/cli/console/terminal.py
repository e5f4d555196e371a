"""Argument types, progress bars and tables of the commands."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Container, Iterator, Sequence

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

# The time left is estimated from this many past seconds, because one run may take minutes.
_SPEED_ESTIMATE_SECONDS = 600.0


def positive_int(text: str, at_most: int = sys.maxsize) -> int:
    """Parse a positive integer.

    Parameters
    ----------
    text
        The user's input.
    at_most
        The largest value; by default that of an index.

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
        limit = "" if at_most == sys.maxsize else f" up to {at_most:,}"
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer{limit}")
    return number


def progress_bar(label: str) -> Progress:
    """Create a progress bar on the error stream, shown only on a terminal."""
    console = Console(stderr=True)
    return Progress(
        TextColumn(label),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
        speed_estimate_period=_SPEED_ESTIMATE_SECONDS,
    )


@contextlib.contextmanager
def status_line() -> Iterator[Callable[[str], object]]:
    """Show a changing line on the error stream if it is a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda text: None
        return
    with console.status("reading") as status:
        yield lambda text: status.update(escape(text))


def say(console: Console, text: str, style: str | None = None) -> None:
    """Print text without markup and without wrapping, which would break file names."""
    console.print(text, style=style, soft_wrap=True, markup=False, highlight=False)


def print_wrapped(console: Console, text: str, style: str | None = None) -> None:
    """Print text without markup, wrapped between words."""
    console.print(text, style=style, markup=False, highlight=False)


def print_table(console: Console, rows: Sequence[Sequence[str]], bold: Container[str] = ()) -> None:
    """Print a table with names in the first column and figures, never truncated, in the others.

    Columns that do not fit into the terminal go below, next to the names again.

    Parameters
    ----------
    console
        Where to print.
    rows
        The cells, header first.
    bold
        Names of the rows to print in bold.

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
