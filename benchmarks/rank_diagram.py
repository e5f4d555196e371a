"""Critical-difference diagrams of average ranks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from benchmarks.ranking import LEVEL, Ranking
from benchmarks.themes import LIGHT, Theme
from river_oauc.cli.figure import new_figure, to_png

__all__ = ["draw_ranks"]

# From Okabe and Ito's colour-blind safe palette.
_BAR: dict[str, Any] = {"color": "#D55E00", "linewidth": 4, "solid_capstyle": "round"}


def draw_ranks(ranking: Ranking, title: str, theme: Theme = LIGHT) -> bytes:
    """Draw the critical-difference diagram as a PNG: a bar joins methods that do not differ.

    Parameters
    ----------
    ranking
        The average ranks.
    title
        Title of the diagram.
    theme
        Its colours.

    """
    names = list(ranking.ranks)
    half = math.ceil(len(names) / 2)
    bars = ranking.cliques
    first_label = -0.55 - 0.3 * len(bars)
    bottom = first_label - 0.45 * (half - 1) - 0.4
    figure = new_figure(9, 0.9 + 0.55 * (1.7 - bottom), theme.background)
    axes = figure.add_subplot()
    axes.set_title(title, loc="left", fontsize=13, fontweight="bold", color=theme.text)
    axes.set_axis_off()
    # The best rank, 1, is on the right.
    axes.set_xlim(len(names) + 1.6, -0.6)
    axes.set_ylim(bottom, 1.7)

    axes.plot([1, len(names)], [0, 0], color=theme.text, linewidth=1.2, clip_on=False)
    # Numbers on every second place if there are too many for all.
    every = 1 if len(names) <= 16 else 2
    for place in range(1, len(names) + 1):
        axes.plot([place, place], [0, 0.1], color=theme.text, linewidth=1.2)
        if place % every == 1 % every:
            axes.text(
                place, 0.18, str(place), ha="center", va="bottom", fontsize=9.5, color=theme.grey
            )
    _draw_critical_difference(axes, ranking, len(names), theme)
    for number, bar in enumerate(bars):
        level = -0.25 - 0.3 * number
        ends = [ranking.ranks[bar[0]] - 0.05, ranking.ranks[bar[-1]] + 0.05]
        axes.plot(ends, [level, level], **_BAR)
    # The better half is labelled on the right, the best at the top; the others on the left.
    _draw_labels(axes, ranking, names[:half], first_label, 0.4, "left", theme)
    _draw_labels(
        axes, ranking, names[: half - 1 : -1], first_label, len(names) + 0.6, "right", theme
    )
    return to_png(figure)


def _draw_critical_difference(axes: Axes, ranking: Ranking, n_methods: int, theme: Theme) -> None:
    # At most as long as the axis.
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
        color=theme.grey,
    )


def _draw_labels(
    axes: Axes,
    ranking: Ranking,
    names: Sequence[str],
    top: float,
    edge: float,
    align: str,
    theme: Theme,
) -> None:
    for number, name in enumerate(names):
        height = top - 0.45 * number
        place = ranking.ranks[name]
        axes.plot([place, place, edge], [0, height, height], color=theme.grey, linewidth=0.9)
        axes.text(
            edge + (-0.08 if align == "left" else 0.08),
            height,
            f"{name}  {place:.2f}",
            ha=align,
            va="center",
            fontsize=10.5,
            color=theme.text,
        )
