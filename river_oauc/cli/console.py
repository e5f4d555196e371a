"""Errors, text, names and tables of the commands."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import re
import sys
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn


class UserError(Exception):
    """A problem with the user's request, printed as one line."""


# Control characters and line separators.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def one_line(text: str) -> str:
    """Replace control characters and unpaired surrogates, both of which file names may hold.

    Examples
    --------
    >>> one_line("two\\nlines\\udce9.csv")
    'two lines?.csv'

    """
    return _CONTROL.sub(" ", text).encode(errors="replace").decode()


def shorten(text: str, width: int = 30) -> str:
    """Truncate a long text.

    Examples
    --------
    >>> shorten("a free text", width=8)
    'a fre...'

    """
    return text if len(text) <= width else text[: width - 3] + "..."


def listed(values: Sequence[str], at_most: int = 12) -> str:
    """Join the first of some values, in quotes, and the number of the others.

    Examples
    --------
    >>> listed(["red", "green", "blue"], at_most=2)
    "'red', 'green' and 1 more"

    """
    text = ", ".join(repr(shorten(value)) for value in values[:at_most])
    return text + (f" and {len(values) - at_most:,} more" if len(values) > at_most else "")


def known_name(kind: str, name: str, known: Collection[str]) -> str:
    """Return the known name that matches, ignoring case and punctuation.

    Parameters
    ----------
    kind
        What the name refers to, for the error message.
    name
        The user's input.
    known
        The known names.

    Raises
    ------
    UserError
        If no name matches, or several.

    Examples
    --------
    >>> known_name("method", "oam-wide", ["OAM", "OAM (wide)"])
    'OAM (wide)'
    >>> known_name("set", "hart", ["heart", "german"])
    Traceback (most recent call last):
    river_oauc.cli.console.UserError: unknown set 'hart' (did you mean 'heart'?); the
    known ones are heart, german

    """
    if name in known:
        return name
    alike = [candidate for candidate in known if _fold(candidate) == _fold(name)]
    if len(alike) == 1:
        return alike[0]
    hint = closest_name(name, known)
    raise UserError(f"unknown {kind} {name!r}{hint}; the known ones are {', '.join(known)}")


def known_names(kind: str, names: Iterable[str] | None, known: Collection[str]) -> list[str]:
    """Return the known names that match, in the order of `known`; all of them if None.

    Examples
    --------
    >>> known_names("set", ["GERMAN", "heart"], ["heart", "german", "poker"])
    ['heart', 'german']

    """
    if names is None:
        return list(known)
    meant = {known_name(kind, name, known) for name in names}
    return [name for name in known if name in meant]


def closest_name(name: str, known: Iterable[str]) -> str:
    """Return a hint at the known name with the closest spelling, if any.

    Examples
    --------
    >>> closest_name("Phising", ["Bananas", "Phishing"])
    " (did you mean 'Phishing'?)"
    >>> closest_name("x", ["Bananas", "Phishing"])
    ''

    """
    folded = {candidate.casefold(): candidate for candidate in known}
    close = difflib.get_close_matches(name.casefold(), folded, n=1)
    return f" (did you mean {folded[close[0]]!r}?)" if close else ""


def check_column(where: str, name: str, known: Iterable[str]) -> None:
    """Refuse the name of a column that does not exist.

    Parameters
    ----------
    where
        The file, for the error message.
    name
        The user's input.
    known
        The columns of the file.

    """
    columns = list(known)
    if name not in columns:
        raise UserError(
            f"{where}: no column {name!r}{closest_name(name, columns)}; "
            f"the columns are {listed(columns)}"
        )


def _fold(name: str) -> str:
    """Drop case and punctuation."""
    return re.sub(r"[^a-z0-9]", "", name.casefold())


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
