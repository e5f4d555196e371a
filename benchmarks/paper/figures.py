"""A dot plot of a table and of the paper's figures."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from benchmarks.paper.reported import SOURCES
from benchmarks.paper.summary import Summary
from river_oauc.cli.figure import GREY, LINE, TEXT, new_figure, to_png

__all__ = ["draw_dots"]

# Two colours of Okabe and Ito's colour-blind safe palette; the markers differ, too.
_OURS: dict[str, Any] = {"color": "#0072B2", "marker": "o", "markersize": 5, "linewidth": 1.4}
_PAPER: dict[str, Any] = {
    "color": "#D55E00",
    "marker": "D",
    "markersize": 4.5,
    "markerfacecolor": "white",
    "linewidth": 1.1,
}
_COLUMNS = 3


def draw_dots(summary: Summary) -> bytes:
    """Draw a PNG with a panel per set: mean and standard deviation, ours and the paper's."""
    n_columns = min(_COLUMNS, len(summary.datasets))
    n_rows = math.ceil(len(summary.datasets) / n_columns)
    height = 1.1 + n_rows * (0.55 + 0.23 * len(summary.methods))
    figure = new_figure(9.5, height)
    panels = figure.subplots(n_rows, n_columns, sharey=True, squeeze=False).ravel()
    for axes, dataset in zip(panels, summary.datasets, strict=False):
        _draw_panel(axes, summary, dataset)
    for axes in panels[len(summary.datasets) :]:
        axes.set_visible(False)
    figure.suptitle(
        f"AUC in percent: mean and standard deviation of {summary.n_runs} runs, and the paper's",
        x=0.01,
        ha="left",
        fontsize=13,
        fontweight="bold",
        color=TEXT,
    )
    figure.legend(
        handles=[
            Line2D([], [], label="ours", **_OURS),
            Line2D([], [], label=SOURCES[summary.table.name], **_PAPER),
        ],
        loc="outside lower left",
        ncols=2,
        frameon=False,
        fontsize=9,
        labelcolor=TEXT,
    )
    return to_png(figure)


def _draw_panel(axes: Axes, summary: Summary, dataset: str) -> None:
    # The first method at the top.
    heights = range(len(summary.methods), 0, -1)
    for method, height in zip(summary.methods, heights, strict=True):
        entry = summary.entries[dataset, method]
        if entry.paper:
            axes.errorbar(entry.paper.mean, height - 0.17, xerr=entry.paper.std, **_PAPER)
        axes.errorbar(entry.mean, height + 0.17, xerr=entry.std, **_OURS)
    axes.set_title(dataset, loc="left", fontsize=10.5, fontweight="bold", color=TEXT, pad=4)
    axes.set_yticks(list(heights), list(summary.methods))
    axes.set_ylim(0.4, len(summary.methods) + 0.6)
    axes.locator_params(axis="x", nbins=5)
    axes.grid(color=LINE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=GREY, length=0, labelsize=9)
    axes.spines[:].set_visible(False)
