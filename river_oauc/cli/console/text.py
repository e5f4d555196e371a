"""Make text from outside fit for a message, a table or a figure."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
