"""A figure of the AUC over time."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Sequence
from typing import Any

from matplotlib.ticker import FuncFormatter

from river_oauc.cli.compare.report import Comparison
from river_oauc.cli.compare.verdict import windows
from river_oauc.cli.figure import GREY, LINE, TEXT, new_figure, to_png

# Okabe and Ito's colour-blind safe palette without yellow, which is invisible on white. Ours are
# thick and solid, the others thin and dashed.
_OURS = ("#D55E00", "#0072B2", "#CC79A7", "#000000")
_OTHERS = ("#009E73", "#E69F00", "#56B4E9", "#000000", "#999999")
_DASHES = ((0, (5, 1.5)), (0, (5, 1.5, 1.2, 1.5)), (0, (1.5, 1.2)))


def draw_curves(comparisons: Sequence[Comparison], *, lines: Sequence[str], subtitle: str) -> bytes:
    """Draw a PNG of the AUC in each window, a panel for each time at which labels come.

    Parameters
    ----------
    comparisons
        How the learners stand. They look the same in all panels, and are in the order of the first.
    lines
        The verdict.
    subtitle
        What the stream is.

    """
    figure = new_figure(11, 5)
    panels = figure.subplots(1, len(comparisons), sharey=True)
    ours, others, dashes = map(itertools.cycle, (_OURS, _OTHERS, _DASHES))
    first, labels = comparisons[0].ranked, comparisons[0].ranked[0].labels
    middles = [(window.start + window.stop) / 2 for window in windows(labels)]
    looks: dict[str, dict[str, Any]] = {
        each.name: {"color": next(ours), "linestyle": "solid", "linewidth": 2.4}
        if each.run.contender.ours
        else {"color": next(others), "linestyle": next(dashes), "linewidth": 1.5}
        for each in first
    }
    for axes, comparison in zip(panels, comparisons, strict=True):
        for rank, each in enumerate(comparison.ranked):
            # Better learners are on top.
            axes.plot(
                middles,
                each.in_windows,
                marker="o",
                markersize=4,
                zorder=3 - rank / len(looks),
                label=each.name,
                **looks.get(each.name, {"color": GREY}),
            )
        axes.set_title(comparison.when.capitalize(), loc="left", fontsize=10.5, color=TEXT)
        axes.set_xlabel("rows seen", color=GREY)
        axes.set_xlim(0, len(labels))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda seen, _: f"{seen:,.0f}"))
        axes.grid(axis="y", color=LINE, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.tick_params(colors=GREY, length=0)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.spines["bottom"].set_color("#B3B3B3")
        low, high = axes.get_ylim()
        if low < 0.5 < high:
            axes.axhline(0.5, color=GREY, linewidth=0.8)
    panels[0].set_ylabel("AUC in windows; 0.5 is chance", color=GREY)
    names = [
        " ".join(
            [*(f"{found.auc:.3f}" for c in comparisons if (found := c.find(each.name))), each.name]
        )
        for each in first
    ]
    handles = [line for each in first for line in panels[0].lines if line.get_label() == each.name]
    # A name may contain dollar signs.
    legend = figure.legend(
        handles,
        [name.replace("$", r"\$") for name in names],
        title="AUC over all rows",
        loc="outside right center",
        frameon=False,
        labelcolor=TEXT,
        fontsize=9.5,
        handlelength=3,
        alignment="left",
    )
    legend.get_title().set_color(GREY)
    heading = "\n".join(textwrap.fill(line, 150) for line in (*lines, subtitle))
    figure.suptitle(heading, x=0.01, ha="left", fontsize=10, color=TEXT, parse_math=False)
    return to_png(figure)
