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
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    start = 1
    while start < len(widths):
        stop, width = start + 1, widths[0] + 2 + widths[start]
        while stop < len(widths) and width + 2 + widths[stop] <= console.width:
            width += 2 + widths[stop]
            stop += 1
        if start > 1:
            say(console, "")
        for row in rows:
            cells = "".join(f"  {row[i]:>{widths[i]}}" for i in range(start, stop))
            style = "bold" if row is rows[0] or row[0] in bold else None
            say(console, f"{row[0]:{widths[0]}}{cells}", style)
            if row is rows[0]:
                say(console, "─" * width)
        start = stop
