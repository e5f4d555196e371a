"""The progressive AUC curves as a figure."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from river_oauc.experiments.console.figure import GREY, LINE, TEXT, new_figure, to_png

__all__ = ["Curve", "draw_curves"]

# The colours of Okabe and Ito, which people who see fewer colours tell apart, without their
# yellow, which nobody sees on white. Ours are thick and solid, the others thin and dashed.
_OURS = ("#D55E00", "#0072B2", "#CC79A7", "#000000")
_OTHERS = ("#009E73", "#E69F00", "#56B4E9", "#000000", "#999999")
_DASHES = ((0, (5, 1.5)), (0, (5, 1.5, 1.2, 1.5)), (0, (1.5, 1.2)))


@dataclass(frozen=True)
class Curve:
    """A learner's exact AUC over the predictions so far, at some points of the stream."""

    name: str
    ours: bool
    seen: Sequence[int]
    auc: Sequence[float]


def draw_curves(curves: Sequence[Curve], *, title: str, subtitle: str) -> bytes:
    """A PNG of the curves, each labelled at its end.

    Parameters
    ----------
    curves
        The curves, each with at least one point. Colours are given out in this order.
    title
        What there is to see.
    subtitle
        What it was measured on.

    """
    figure = new_figure(9, 5)
    axes = figure.add_subplot()
    looks = _looks(curves)
    for curve, look in zip(curves, looks, strict=True):
        # Where curves cross, the better one lies on top.
        axes.plot(curve.seen, curve.auc, zorder=2 + curve.auc[-1], **look)
    axes.set_ylim(*_auc_range(curves))
    axes.set_xlim(0, max(curve.seen[-1] for curve in curves))
    _label_ends(axes, curves, looks)
    _dress(axes, title, subtitle)
    return to_png(figure)


def _looks(curves: Sequence[Curve]) -> list[dict[str, Any]]:
    """Line properties of each curve, no two alike among the first four of ours and 15 others."""
    ours, others = itertools.cycle(_OURS), itertools.cycle(_OTHERS)
    dashes = itertools.cycle(_DASHES)
    return [
        {"color": next(ours), "linestyle": "solid", "linewidth": 2.4}
        if curve.ours
        else {"color": next(others), "linestyle": next(dashes), "linewidth": 1.5}
        for curve in curves
    ]


def _auc_range(curves: Sequence[Curve]) -> tuple[float, float]:
    """The range that the curves move in once the first, erratic tenth of the stream is over."""
    settled = [
        auc
        for curve in curves
        for seen, auc in zip(curve.seen, curve.auc, strict=True)
        if seen >= curve.seen[-1] / 10
    ]
    low, high = min(settled), max(settled)
    margin = max(0.05 * (high - low), 0.005)
    return max(low - margin, 0.0), min(high + margin, 1.0 + margin / 2)


def _label_ends(axes: Axes, curves: Sequence[Curve], looks: Sequence[dict[str, Any]]) -> None:
    """Write each curve's name and last value beside its end, moved apart where they collide."""
    low, high = axes.get_ylim()
    ends = sorted(zip(curves, looks, strict=True), key=lambda end: end[0].auc[-1], reverse=True)
    heights = _spread([curve.auc[-1] for curve, _ in ends], 0.05 * (high - low), low, high)
    for (curve, look), height in zip(ends, heights, strict=True):
        axes.annotate(
            f"{curve.name}  {curve.auc[-1]:.3f}",
            xy=(1, curve.auc[-1]),
            xytext=(1.045, height),
            xycoords=axes.get_yaxis_transform(),
            textcoords=axes.get_yaxis_transform(),
            arrowprops={
                "arrowstyle": "-",
                "color": look["color"],
                "linewidth": 0.8,
                "relpos": (0, 0.5),
                "shrinkA": 0,
                "shrinkB": 0,
            },
            color=TEXT,
            fontweight="bold" if curve.ours else "normal",
            fontsize=9.5,
            va="center",
            annotation_clip=False,
        )


def _spread(values: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Descending values, moved apart to at least `gap` between `low` and `high`.

    Examples
    --------
    >>> _spread([0.9, 0.89, 0.5], gap=0.1, low=0.0, high=1.0)
    [0.99, 0.89, 0.5]
    >>> _spread([1.0, 0.95, 0.0], gap=0.1, low=0.0, high=1.0)
    [1.0, 0.9, 0.0]

    """
    heights = list(values)
    # Up from the lowest, and whatever is too high then down again.
    for i in reversed(range(len(heights))):
        heights[i] = max(heights[i], low if i == len(heights) - 1 else heights[i + 1] + gap)
    for i in range(len(heights)):
        heights[i] = min(heights[i], high if i == 0 else heights[i - 1] - gap)
    return heights


def _dress(axes: Axes, title: str, subtitle: str) -> None:
    axes.set_title(title, loc="left", fontsize=13, fontweight="bold", color=TEXT, pad=24)
    axes.annotate(
        subtitle,
        xy=(0, 1),
        xytext=(0, 8),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=9.5,
        color=GREY,
        # A file name may have dollar signs.
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
    axes.set_xlabel("examples seen", color=GREY)
    axes.set_ylabel("exact AUC so far", color=GREY)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda seen, _: f"{seen:,.0f}"))
    axes.grid(axis="y", color=LINE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=GREY, length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color("#B3B3B3")
