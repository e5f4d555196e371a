"""What the commands share in talking with the user: argument types, progress bar, tables."""

from __future__ import annotations

import argparse

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

__all__ = ["plain_table", "positive_int", "progress_bar", "say"]


def positive_int(text: str) -> int:
    """A whole number from 1 on.

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
    return number


def progress_bar(label: str) -> Progress:
    """A bar with the time left, on the error stream, so that the output can be piped."""
    return Progress(
        TextColumn(label),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
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
