"""The figure of a monitor. matplotlib is imported only to draw it."""

from __future__ import annotations

import math
import typing
from collections.abc import Sequence

import numpy as np

from river_oauc.state import FloatArray

if typing.TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from river_oauc.monitor import ReliabilityBin, Snapshot

# Colours of Okabe and Ito that stand out from white and from black, for people who see fewer
# colours as well. Dashes tell the lines apart without colours.
_LINE_STYLES = (("#0072B2", "solid"), ("#D55E00", (0, (5, 1.5))), ("#009E73", (0, (1.5, 1.2))))
_GREY = "#888888"

# The panels over time, and the names of their lines.
_PANELS = {
    "Ranking": {"auc": "AUC", "average_precision": "average precision"},
    "Alerts": {"alert_precision": "precision", "alert_recall": "recall"},
    "Shares": {
        "positive_rate": "positives",
        "mean_probability": "mean probability",
        "alert_rate": "alerts",
    },
}
_COUNTS = {
    "n_observed": "records",
    "n_labelled": "labelled",
    "n_pending": "pending",
    "n_unmatched": "unmatched labels",
    "n_drifts": "drifts",
}


def draw(
    history: Sequence[Snapshot], drifts: Sequence[int], bins: Sequence[ReliabilityBin]
) -> Figure:
    """Draw the history in panels below each other; beside them, the reliability curve and counts.

    Without decisions there is no panel of alerts, and without probabilities no reliability curve.
    """
    from matplotlib.figure import Figure

    columns = dict(zip(history[0]._fields, np.array(history, float).T, strict=True))
    panels = list(_PANELS)
    if np.isnan(columns["alert_rate"]).all():
        panels.remove("Alerts")
    beside = ["Calibration"] * (len(panels) - 1) if bins else []
    beside += ["Counts"] * (len(panels) - len(beside))

    figure = Figure(figsize=(10, 0.5 + 2 * len(panels)), layout="constrained")
    axes_by_name: dict[str, Axes] = figure.subplot_mosaic(
        [list(row) for row in zip(panels, beside, strict=True)],
        width_ratios=(5, 2 if bins else 1),
    )
    bottom = axes_by_name[panels[-1]]
    for panel in panels:
        _draw_history(axes_by_name[panel], panel, columns, drifts)
        if panel != panels[-1]:
            axes_by_name[panel].sharex(bottom)
            axes_by_name[panel].tick_params(labelbottom=False)
    bottom.set(xlim=(0, max(history[-1].n_observed, 1)), xlabel="records")
    bottom.xaxis.set_major_formatter("{x:,.0f}")
    _use_logarithms(bottom, "y", np.concatenate([columns[name] for name in _PANELS["Shares"]]))
    if bins:
        _draw_reliability(axes_by_name["Calibration"], bins)
    _write_counts(axes_by_name["Counts"], history[-1])
    return figure


def _draw_history(
    axes: Axes, panel: str, columns: dict[str, FloatArray], drifts: Sequence[int]
) -> None:
    _style_axes(axes, panel)
    for (name, label), (color, dashes) in zip(_PANELS[panel].items(), _LINE_STYLES, strict=False):
        values = columns[name]
        if not np.isnan(values).all():
            label = f"{label} {values[-1]:.1%}"
            axes.plot(columns["n_observed"], values, color=color, linestyle=dashes, label=label)
    bottom, top = axes.get_ylim()
    axes.set_ylim(max(bottom, 0.0), min(top, 1.0))
    if drifts:
        label = "drift" if panel == "Ranking" else ""
        from_bottom_to_top = axes.get_xaxis_transform()
        axes.vlines(drifts, 0, 1, _GREY, label=label, linewidth=1, transform=from_bottom_to_top)
    if axes.lines:
        axes.legend(
            loc="lower right", bbox_to_anchor=(1, 1), ncols=3, frameon=False, borderaxespad=0
        )


def _draw_reliability(axes: Axes, bins: Sequence[ReliabilityBin]) -> None:
    n, predicted, observed = np.array(bins).T
    # If the probabilities are right, about 95 % of the bars meet the diagonal.
    margin = 1.96 * np.sqrt(predicted * (1.0 - predicted) / n)
    _style_axes(axes, "Calibration")
    shares = np.concatenate((predicted, observed))
    _use_logarithms(axes, "x", shares)
    _use_logarithms(axes, "y", shares)
    axes.plot(axes.get_xlim(), axes.get_xlim(), color=_GREY, linewidth=1)
    axes.errorbar(
        predicted, observed, margin, color=_LINE_STYLES[0][0], fmt="o", markersize=5, elinewidth=1
    )
    axes.set(xlabel="predicted probability", ylabel="share of positives", box_aspect=1, anchor="N")


def _write_counts(axes: Axes, now: Snapshot) -> None:
    axes.axis("off")
    axes.text(0.4, 1, "\n".join(_COUNTS.values()), va="top", linespacing=1.6)
    numbers = (f"{getattr(now, name):,}" for name in _COUNTS)
    axes.text(0.3, 1, "\n".join(numbers), va="top", ha="right", linespacing=1.6)


def _use_logarithms(axes: Axes, axis: typing.Literal["x", "y"], shares: FloatArray) -> None:
    """Show shares on a logarithmic scale, between powers of ten, and at most four of them."""
    from matplotlib.ticker import LogLocator, NullLocator

    positive = shares[shares > 0.0]
    high = math.ceil(math.log10(max(positive, default=1.0)))
    low = math.floor(math.log10(min(positive, default=0.1)))
    limits = 10.0 ** min(max(low, high - 4), high - 1), 10.0**high
    axes.set(**{f"{axis}scale": "log", f"{axis}lim": limits})
    ticks = axes.xaxis if axis == "x" else axes.yaxis
    ticks.set_major_locator(LogLocator(subs=(1,) if axis == "x" else (1, 3)))
    ticks.set_minor_locator(NullLocator())
    ticks.set_major_formatter(lambda share, _: f"{100 * share:g}%")


def _style_axes(axes: Axes, title: str) -> None:
    from matplotlib.ticker import PercentFormatter

    axes.set_title(title, loc="left", fontweight="bold", fontsize="medium")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.grid(axis="y", color=_GREY, alpha=0.3, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
