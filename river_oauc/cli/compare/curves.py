"""A figure of the AUC over time."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from river_oauc.cli.compare.verdict import Standing, windows
from river_oauc.cli.console.figure import GREY, LINE, TEXT, new_figure, to_png

# Okabe and Ito's colour-blind safe palette without yellow, which is invisible on white. Ours are
# thick and solid, the others thin and dashed.
_OURS = ("#D55E00", "#0072B2", "#CC79A7", "#000000")
_OTHERS = ("#009E73", "#E69F00", "#56B4E9", "#000000", "#999999")
_DASHES = ((0, (5, 1.5)), (0, (5, 1.5, 1.2, 1.5)), (0, (1.5, 1.2)))


def draw_curves(standings: Sequence[Standing], *, title: str, subtitle: str) -> bytes:
    """Draw a PNG of the AUC in each window, with the learners ordered by AUC.

    Parameters
    ----------
    standings
        The learners, the best first.
    title
        The headline.
    subtitle
        Two lines: the evidence and the stream.

    """
    figure = new_figure(9, 5)
    axes = figure.add_subplot()
    labels = standings[0].labels
    middles = [(window.start + window.stop) / 2 for window in windows(labels)]
    ours, others, dashes = map(itertools.cycle, (_OURS, _OTHERS, _DASHES))
    for rank, each in enumerate(standings):
        look: dict[str, Any] = (
            {"color": next(ours), "linestyle": "solid", "linewidth": 2.4}
            if each.run.contender.ours
            else {"color": next(others), "linestyle": next(dashes), "linewidth": 1.5}
        )
        # Draw better learners on top.
        axes.plot(
            middles,
            each.in_windows,
            marker="o",
            markersize=4,
            zorder=3 - rank / len(standings),
            label=f"{each.auc:.3f}  {each.name}",
            **look,
        )
    axes.set_xlim(0, len(labels))
    _style_axes(axes, title, subtitle)
    return to_png(figure)


def _style_axes(axes: Axes, title: str, subtitle: str) -> None:
    axes.set_title(title, loc="left", fontsize=13, fontweight="bold", color=TEXT, pad=40)
    axes.annotate(
        subtitle,
        xy=(0, 1),
        xytext=(0, 8),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=9.5,
        linespacing=1.4,
        color=GREY,
        # A file name may contain dollar signs.
        parse_math=False,
    )
    low, high = axes.get_ylim()
    if low < 0.5 < high:
        axes.axhline(0.5, color=GREY, linewidth=0.8)
        axes.annotate(
            "chance",
            (0.995, 0.5),
            xycoords=axes.get_yaxis_transform(),
            color=GREY,
            fontsize=8.5,
            ha="right",
            va="bottom",
        )
    legend = axes.legend(
        title="AUC over all windows together",
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        frameon=False,
        labelcolor=TEXT,
        fontsize=9.5,
        handlelength=3,
        labelspacing=0.9,
        alignment="left",
    )
    legend.get_title().set_color(GREY)
    axes.set_xlabel("examples seen", color=GREY)
    axes.set_ylabel("AUC in windows", color=GREY)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda seen, _: f"{seen:,.0f}"))
    axes.grid(axis="y", color=LINE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=GREY, length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color("#B3B3B3")
