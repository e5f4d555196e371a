"""The progressive AUC curves as a figure."""

from __future__ import annotations

import contextlib
import io
import itertools
import pathlib
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from river_oauc.experiments.console.errors import UserError, reason
from river_oauc.experiments.console.files import check_replaceable, replace_file

__all__ = ["Curve", "check_writable", "draw_curves"]

# The colours of Okabe and Ito, which people who see fewer colours tell apart, without their
# yellow, which nobody sees on white. Ours are thick and solid, the others thin and dashed.
_OURS = ("#D55E00", "#0072B2", "#CC79A7")
_OTHERS = ("#009E73", "#E69F00", "#56B4E9", "#000000", "#999999")
_DASHES = ((0, (5, 1.5)), (0, (5, 1.5, 1.2, 1.5)), (0, (1.5, 1.2)))
_TEXT = "#262626"
_GREY = "#595959"


@dataclass(frozen=True)
class Curve:
    """A learner's exact AUC over the predictions so far, at some points of the stream."""

    name: str
    ours: bool
    seen: Sequence[int]
    auc: Sequence[float]


def check_writable(path: pathlib.Path) -> None:
    """Refuse a file that the figure could not be written to, before the work is done.

    Nothing is left behind, and a file that is there is left as it is.
    """
    if path.suffix.lower() != ".png":
        raise UserError(f"{path}: the figure is a PNG, its name must end in .png")
    with _refusals(path):
        check_replaceable(path)


def draw_curves(curves: Sequence[Curve], path: pathlib.Path, *, title: str, subtitle: str) -> None:
    """Draw the curves into a PNG file, each labelled at its end.

    No window is opened, whatever backend matplotlib is set to.

    Parameters
    ----------
    curves
        The curves, each with at least one point. Colours are given out in this order.
    path
        The file to write.
    title
        What there is to see.
    subtitle
        What it was measured on.

    """
    figure = Figure(figsize=(9, 5), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    looks = _looks(curves)
    for curve, look in zip(curves, looks, strict=True):
        # Where curves cross, the better one lies on top.
        axes.plot(curve.seen, curve.auc, zorder=2 + curve.auc[-1], **look)
    low, high = _auc_range(curves)
    axes.set_ylim(low, high)
    axes.set_xlim(0, max(curve.seen[-1] for curve in curves))
    _label_ends(axes, curves, looks)
    _dress(axes, title, subtitle)
    png = io.BytesIO()
    with warnings.catch_warnings():
        # A file name may have characters that the font lacks: an empty box will do.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(png, format="png")
    with _refusals(path):
        replace_file(path, png.getvalue())


@contextlib.contextmanager
def _refusals(path: pathlib.Path) -> Iterator[None]:
    """Say what the system refuses in one line."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{path}: the figure can't be written: {reason(error)}") from error


def _looks(curves: Sequence[Curve]) -> list[dict[str, Any]]:
    """Line properties of each curve, no two alike among the first three of ours and 15 others."""
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
    heights = _spread([curve.auc[-1] for curve, _ in ends], 0.05 * (high - low), low)
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
            color=_TEXT,
            fontweight="bold" if curve.ours else "normal",
            fontsize=9.5,
            va="center",
            annotation_clip=False,
        )


def _spread(values: Sequence[float], gap: float, low: float) -> list[float]:
    """Move descending values apart to at least `gap`, none below `low`, as little as need be.

    Examples
    --------

    >>> _spread([0.9, 0.89, 0.5], gap=0.1, low=0.0)
    [0.945, 0.845, 0.5]
    >>> _spread([0.1, 0.05, 0.0], gap=0.1, low=0.0)
    [0.2, 0.1, 0.0]

    """
    # Groups of values that touch; each keeps its centre, and swallows the group above it when
    # they come too near.
    groups: list[list[float]] = []
    heights: list[list[float]] = []

    def placed(group: list[float]) -> list[float]:
        centre = sum(group) / len(group)
        bottom = max(centre - gap * (len(group) - 1) / 2, low)
        return [bottom + gap * k for k in reversed(range(len(group)))]

    for value in values:
        groups.append([value])
        heights.append(placed(groups[-1]))
        while len(groups) > 1 and heights[-2][-1] - heights[-1][0] < gap:
            merged = groups[-2] + groups[-1]
            groups[-2:] = [merged]
            heights[-2:] = [placed(merged)]
    return [height for group in heights for height in group]


def _dress(axes: Axes, title: str, subtitle: str) -> None:
    axes.set_title(title, loc="left", fontsize=13, fontweight="bold", color=_TEXT, pad=24)
    axes.annotate(
        subtitle,
        xy=(0, 1),
        xytext=(0, 8),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=9.5,
        color=_GREY,
        # A file name may have dollar signs.
        parse_math=False,
    )
    low, high = axes.get_ylim()
    if low < 0.5 < high:
        axes.axhline(0.5, color=_GREY, linewidth=0.8)
        axes.annotate(
            "chance",
            (0.995, 0.5),
            xycoords=axes.get_yaxis_transform(),
            color=_GREY,
            fontsize=8.5,
            ha="right",
            va="bottom",
        )
    axes.set_xlabel("examples seen", color=_GREY)
    axes.set_ylabel("exact AUC so far", color=_GREY)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda seen, _: f"{seen:,.0f}"))
    axes.grid(axis="y", color="#E5E5E5", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=_GREY, length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color("#B3B3B3")
