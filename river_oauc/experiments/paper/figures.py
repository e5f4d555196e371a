"""The tables as figures: a dot plot beside the paper's figures, and the average ranks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from river_oauc.experiments.console.figure import GREY, LINE, TEXT, new_figure, to_png
from river_oauc.experiments.paper.reported import SOURCES
from river_oauc.experiments.paper.significance import LEVEL, Ranking
from river_oauc.experiments.paper.summary import Summary

__all__ = ["draw_dots", "draw_ranks"]

# Two colours of Okabe and Ito, which people who see fewer colours tell apart; and ours is a filled
# circle, the paper's an open diamond.
_OURS: dict[str, Any] = {"color": "#0072B2", "marker": "o", "markersize": 5, "linewidth": 1.4}
_PAPER: dict[str, Any] = {
    "color": "#D55E00",
    "marker": "D",
    "markersize": 4.5,
    "markerfacecolor": "white",
    "linewidth": 1.1,
}
_BAR: dict[str, Any] = {"color": _PAPER["color"], "linewidth": 4, "solid_capstyle": "round"}
_COLUMNS = 3


def draw_dots(summary: Summary) -> bytes:
    """A PNG with a panel per set: mean and standard deviation of each method, and the paper's."""
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


def draw_ranks(ranking: Ranking, title: str) -> bytes:
    """A PNG of the critical-difference diagram: methods that a bar joins do not differ.

    Parameters
    ----------
    ranking
        The average ranks.
    title
        What was ranked.

    """
    names = list(ranking.ranks)
    half = math.ceil(len(names) / 2)
    bars = ranking.cliques
    first_label = -0.55 - 0.3 * len(bars)
    bottom = first_label - 0.45 * (half - 1) - 0.4
    figure = new_figure(9, 0.9 + 0.55 * (1.7 - bottom))
    axes = figure.add_subplot()
    axes.set_title(title, loc="left", fontsize=13, fontweight="bold", color=TEXT)
    axes.set_axis_off()
    # The best rank, 1, is on the right.
    axes.set_xlim(len(names) + 1.6, -0.6)
    axes.set_ylim(bottom, 1.7)

    axes.plot([1, len(names)], [0, 0], color=TEXT, linewidth=1.2, clip_on=False)
    for place in range(1, len(names) + 1):
        axes.plot([place, place], [0, 0.1], color=TEXT, linewidth=1.2)
        axes.text(place, 0.18, str(place), ha="center", va="bottom", fontsize=9.5, color=GREY)
    _draw_critical_difference(axes, ranking, len(names))
    for number, bar in enumerate(bars):
        level = -0.25 - 0.3 * number
        ends = [ranking.ranks[bar[0]] - 0.05, ranking.ranks[bar[-1]] + 0.05]
        axes.plot(ends, [level, level], **_BAR)
    # The better half is labelled on the right, the best at the top; the others on the left.
    _draw_labels(axes, ranking, names[:half], first_label, edge=0.4, align="left")
    _draw_labels(axes, ranking, names[: half - 1 : -1], first_label, len(names) + 0.6, "right")
    return to_png(figure)


def _draw_critical_difference(axes: Axes, ranking: Ranking, n_methods: int) -> None:
    # As long as it is, or as the axis if that is shorter.
    length = min(ranking.critical_difference, n_methods - 1.0)
    axes.plot([n_methods, n_methods - length], [0.85, 0.85], **_BAR)
    excess = "" if length == ranking.critical_difference else ", longer than the axis"
    axes.text(
        n_methods,
        1.02,
        f"critical difference {ranking.critical_difference:.2f}{excess} "
        f"(Nemenyi, p ≤ {LEVEL}, {ranking.n_sets} sets); bars join what does not differ",
        ha="left",
        va="bottom",
        fontsize=9.5,
        color=GREY,
    )


def _draw_labels(
    axes: Axes, ranking: Ranking, names: Sequence[str], top: float, edge: float, align: str
) -> None:
    for number, name in enumerate(names):
        height = top - 0.45 * number
        place = ranking.ranks[name]
        axes.plot([place, place, edge], [0, height, height], color=GREY, linewidth=0.9)
        axes.text(
            edge + (-0.08 if align == "left" else 0.08),
            height,
            f"{name}  {place:.2f}",
            ha=align,
            va="center",
            fontsize=10.5,
            color=TEXT,
        )
