"""Colours and output of the figures."""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

TEXT, GREY, LINE = "#262626", "#595959", "#E5E5E5"


@dataclass(frozen=True)
class Theme:
    """Colours to match a light or a dark page."""

    text: str
    grey: str
    line: str
    background: str


LIGHT = Theme(TEXT, GREY, LINE, "white")
DARK = Theme("#E6EDF3", "#A6B0BA", "#30363D", "#0D1117")


def new_figure(width: float, height: float, theme: Theme = LIGHT) -> Figure:
    """Create an empty figure that opens no window, whatever the backend of matplotlib."""
    figure = Figure(
        figsize=(width, height), dpi=150, layout="constrained", facecolor=theme.background
    )
    FigureCanvasAgg(figure)
    return figure


def to_png(figure: Figure) -> bytes:
    """Render a figure as the content of a PNG file."""
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        # A file name may have characters that the font lacks; they are drawn as boxes.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(buffer, format="png")
    return buffer.getvalue()
