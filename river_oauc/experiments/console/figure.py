"""What the figures share: their colours, and how they become a file."""

from __future__ import annotations

import io
import warnings

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

__all__ = ["GREY", "LINE", "TEXT", "new_figure", "to_png"]

TEXT, GREY, LINE = "#262626", "#595959", "#E5E5E5"


def new_figure(width: float, height: float) -> Figure:
    """An empty figure that opens no window, whatever backend matplotlib is set to."""
    figure = Figure(figsize=(width, height), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def to_png(figure: Figure) -> bytes:
    """The content of a PNG file."""
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        # A file name may have characters that the font lacks: an empty box will do.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(buffer, format="png")
    return buffer.getvalue()
