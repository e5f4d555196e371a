"""A figure of how far each model is behind the best, with a dot per set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from benchmarks.progressive.summary import Group
from benchmarks.themes import DARK, LIGHT, Theme
from river_oauc.cli.figure import new_figure, to_png

__all__ = ["draw_distances"]

# Two blues of Okabe and Ito's colour-blind safe palette.
_OURS = {LIGHT: "#0072B2", DARK: "#56B4E9"}
_TICKS = (0.0, 0.5, 2.0, 5.0, 10.0, 20.0, 40.0)


def draw_distances(groups: Sequence[Group], theme: Theme) -> bytes:
    """Draw a PNG with a panel per group, a row per model by rank, and a dot per set."""
    sizes = [len(group.complete("auc")) for group in groups]
    figure = new_figure(8, 0.9 + 0.85 * len(groups) + 0.26 * sum(sizes), theme.background)
    panels = figure.subplots(
        len(groups), 1, squeeze=False, height_ratios=sizes, sharex=True
    ).ravel()
    for axes, group in zip(panels, groups, strict=True):
        _draw_panel(axes, group, theme)
    # A square-root scale shows both half a point and forty.
    panels[0].set_xscale("function", functions=(_root, np.square))
    panels[0].set_xlim(0.0, max(_TICKS[-1], *(float(axes.dataLim.x1) for axes in panels)))
    panels[0].set_xticks(_TICKS, [f"{tick:g}" for tick in _TICKS])
    figure.suptitle(
        "How far behind the best model? A dot per set, in points of AUC",
        x=0.01, ha="left", fontsize=13, fontweight="bold", color=theme.text,
    )  # fmt: skip
    panels[-1].set_xlabel(
        "points of exact AUC behind the best of the models on that set; | is the mean.\n"
        "In brackets: the average rank. Blue: ours, without preparation.\n"
        "Others: with the best preparation for each set.",
        fontsize=9.5, color=theme.grey, loc="left",
    )  # fmt: skip
    return to_png(figure)


def _draw_panel(axes: Axes, group: Group, theme: Theme) -> None:
    ranks, aucs = group.ranking("auc").ranks, group.complete("auc")
    best = np.max(list(aucs.values()), axis=0)
    # The first model at the top.
    heights = range(len(ranks), 0, -1)
    for model, height in zip(ranks, heights, strict=True):
        behind = best - aucs[model]
        color = _OURS[theme] if group.models[model].ours else theme.grey
        axes.plot(
            behind, [height] * len(behind), "o", color=color, markersize=6, alpha=0.55,
            markeredgewidth=0, clip_on=False,
        )  # fmt: skip
        axes.plot(behind.mean(), height, "|", color=color, markersize=13, markeredgewidth=2.5)
    axes.set_facecolor(theme.background)
    axes.set_title(
        f"{group.title} ({len(group.sets)})",
        loc="left", fontsize=10.5, fontweight="bold", color=theme.text,
    )  # fmt: skip
    axes.set_yticks(list(heights), [f"{model}  ({place:.1f})" for model, place in ranks.items()])
    for model, label in zip(ranks, axes.get_yticklabels(), strict=True):
        ours = group.models[model].ours
        label.set_color(_OURS[theme] if ours else theme.text)
        label.set_fontweight("bold" if ours else "normal")
    axes.set_ylim(0.4, len(ranks) + 0.6)
    axes.tick_params(length=0, labelsize=10)
    axes.tick_params(axis="x", colors=theme.grey, labelbottom=True)
    axes.tick_params(axis="y", pad=9)
    axes.grid(axis="x", color=theme.line, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)


def _root(values: np.typing.ArrayLike) -> np.typing.NDArray[np.float64]:
    return np.sqrt(np.maximum(values, 0.0))
