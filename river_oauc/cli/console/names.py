"""Names that the user types, and what is meant by them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable

from river_oauc.cli.console.errors import UserError

__all__ = ["closest_name", "known_name", "known_names"]


def known_name(kind: str, name: str, known: Collection[str]) -> str:
    """The one of the known names that is meant: upper and lower case and hyphens do not matter.

    Parameters
    ----------
    kind
        What it is a name of.
    name
        What the user wrote.
    known
        What there is.

    Raises
    ------
    UserError
        If it is none of them, or could be several.

    Examples
    --------
    >>> known_name("method", "oam-wide", ["OAM", "OAM (wide)"])
    'OAM (wide)'
    >>> known_name("set", "hart", ["heart", "german"])
    Traceback (most recent call last):
    river_oauc.cli.console.errors.UserError: unknown set 'hart' (did you mean 'heart'?); the
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
    """The known names that are meant, in the order of the known ones; all of them if None.

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
    """A hint at the known name that is spelled most alike, or nothing.

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


def _fold(name: str) -> str:
    """A name without what is hard to remember, or to type in a shell."""
    return re.sub(r"[^a-z0-9]", "", name.casefold())
