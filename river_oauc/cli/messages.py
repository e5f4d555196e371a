"""Errors, and text that is fit for a message: names, lists, one line."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Sequence


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
    river_oauc.cli.messages.UserError: unknown set 'hart' (did you mean 'heart'?); the
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
