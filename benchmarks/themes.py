"""Colours of the figures that are shown on light and on dark pages."""

from __future__ import annotations

from dataclasses import dataclass

from river_oauc.cli.figure import GREY, LINE, TEXT

__all__ = ["DARK", "LIGHT", "Theme"]


@dataclass(frozen=True)
class Theme:
    """Colours to match a light or a dark page."""

    text: str
    grey: str
    line: str
    background: str


LIGHT = Theme(TEXT, GREY, LINE, "white")
DARK = Theme("#E6EDF3", "#A6B0BA", "#30363D", "#0D1117")
