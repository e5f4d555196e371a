"""Colours and output of the figures."""

from __future__ import annotations

import io
import warnings

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

TEXT, GREY, LINE = "#262626", "#595959", "#E5E5E5"


def new_figure(width: float, height: float, background: str = "white") -> Figure:
    """Create an empty figure that opens no window, whatever the backend of matplotlib."""
    figure = Figure(figsize=(width, height), dpi=150, layout="constrained", facecolor=background)
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
