"""A hint at text that was meant as numbers or dates."""

from __future__ import annotations

import re
from collections.abc import Sequence

from river_oauc.cli.messages import shorten
from river_oauc.records.parse import parse_text

_LOOKS = (
    # A decimal comma, separators of thousands, a currency or a percent sign.
    ("a number", "1250.50", r"[+-]?([$€£¥₹] ?[\d.,']*\d|[\d.,']*\d ?[$€£¥₹%]|[\d.]*\d,\d+)"),
    ("a number", "1250.50", r"[+-]?\d{1,3}([ ,'\u00a0\u202f]\d{3})+(\.\d+)?"),
    ("a date", "2024-02-29", r"(\d\d?([/-])\d\d?\2|\d\d?\.\d\d?\.(?=\d{4}))\d\d(\d\d)?\b.*"),
    ("a date", "2024-02-29", r"\d{4}[/.]\d\d?[/.]\d\d?\b.*"),
)


def text_hint(values: Sequence[str]) -> str | None:
    """Return what to write instead if most of what is text looks like a number or a date.

    Examples
    --------
    >>> text_hint(["1,250.50", "75"])
    "text such as '1,250.50': if it is a number, write 1250.50"
    >>> text_hint(["29/02/2024", "1/3/2024 18:30"])
    "text such as '29/02/2024': if it is a date, write 2024-02-29"
    >>> text_hint(["red, blue", "FR", "10.0.0.1", "A-12", "2024-02-29"]) is None
    True

    """
    texts = [text for text in (parse_text(value).category for value in values) if type(text) is str]
    for kind, instead, pattern in _LOOKS:
        alike = [text for text in texts if re.fullmatch(pattern, text, re.ASCII)]
        if len(alike) > len(texts) / 2:
            return f"text such as {shorten(alike[0])!r}: if it is {kind}, write {instead}"
    return None
