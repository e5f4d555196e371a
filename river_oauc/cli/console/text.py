"""Text that comes from outside, made fit for a message, a table or a figure."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["listed", "one_line", "shorten"]

# What moves the cursor, ends a line or starts a command to the terminal.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def one_line(text: str) -> str:
    """Text without control characters, and without what no encoding can write.

    A file name may hold both.

    Examples
    --------
    >>> one_line("two\\nlines\\udce9.csv")
    'two lines?.csv'

    """
    return _CONTROL.sub(" ", text).encode(errors="replace").decode()


def shorten(text: str, width: int = 30) -> str:
    """The beginning of a long text.

    Examples
    --------
    >>> shorten("a free text", width=8)
    'a fre...'

    """
    return text if len(text) <= width else text[: width - 3] + "..."


def listed(values: Sequence[str], at_most: int = 12) -> str:
    """The first of some values, in quotes, and how many more there are.

    Examples
    --------
    >>> listed(["red", "green", "blue"], at_most=2)
    "'red', 'green' and 1 more"

    """
    shown = ", ".join(repr(shorten(value)) for value in values[:at_most])
    return shown + (f" and {len(values) - at_most:,} more" if len(values) > at_most else "")
