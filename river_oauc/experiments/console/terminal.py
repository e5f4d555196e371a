"""What the commands share in talking with the user: argument types, progress bar, tables."""

from __future__ import annotations

import argparse
import sys

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

__all__ = ["plain_table", "positive_int", "progress_bar", "say"]


def positive_int(text: str, at_most: int = sys.maxsize) -> int:
    """A whole number from 1 on.

    Parameters
    ----------
    text
        What the user wrote.
    at_most
        The largest one that can be used; by default the largest that a sequence can have elements.

    Examples
    --------

    >>> positive_int("30")
    30

    """
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    if number > at_most:
        raise argparse.ArgumentTypeError(f"{text!r} is more than {at_most:,}")
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
    )


def plain_table(first: str, *headers: str) -> Table:
    """An empty table of one column of names and columns of figures."""
    table = Table(box=SIMPLE_HEAD)
    table.add_column(first, no_wrap=True)
    for header in headers:
        table.add_column(header, justify="right", no_wrap=True)
    return table


def say(console: Console, text: str, style: str | None = None) -> None:
    """Print text as it is: not folded, which would break file names, and without markup."""
    console.print(text, style=style, soft_wrap=True, markup=False, highlight=False)
