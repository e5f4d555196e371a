"""The tables for the terminal, in Markdown and in CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from benchmarks.streams.rivals import MODELS
from benchmarks.streams.summary import COSTS, MEASURES, Group

__all__ = ["LEGEND", "RANKED", "losses_text", "ranks_text", "rows", "to_csv", "to_markdown"]

# Smaller leads of a rival are not listed.
MARGIN = 0.5
RANKED = ("auc", "average_precision")
LEGEND = (
    "A figure is that of the best scaler, chosen afterwards for every stream and measure: "
    "ˢ StandardScaler, ᵐ MinMaxScaler, ᵃ MaxAbsScaler, none without a letter. A cost is that of "
    "the scaler with the best AUC."
)
_LETTERS = {"bare": "", "Standard": "ˢ", "MinMax": "ᵐ", "MaxAbs": "ᵃ"}


def rows(group: Group, measure: str) -> list[list[str]]:
    """Return a row per model and a column per stream, with mean and, if ranked, rank."""
    digits = 0 if measure in COSTS else 1
    table = [["", *group.streams, "mean"]]
    ranks = {}
    if measure in MEASURES and group.is_ranked:
        table[0].append("rank")
        ranks = group.ranking(measure).ranks
    for model in group.models:
        best = [group.best(measure, stream, model) for stream in group.streams]
        cells = [f"{one.value:.{digits}f}{_LETTERS[one.scaler]}" for one in best]
        mean = sum(one.value for one in best) / len(best)
        rank = [f"{ranks[model]:.2f}"] if ranks else []
        table.append([model, *cells, f"{mean:.{digits}f}", *rank])
    return table


def ranks_text(group: Group, measure: str) -> str:
    """Return the average ranks and their critical difference."""
    p_value = group.friedman_p_value(measure)
    test = "" if p_value is None else f" (Friedman's p = {p_value:.1g})"
    title = f"{group.title}. Average ranks, {MEASURES[measure]}{test}"
    return f"{title}\n{group.ranking(measure).text}"


def losses_text(group: Group) -> str:
    """List the rivals that are ahead of the best of ours."""
    lines = [f"{group.title}: rivals more than {MARGIN} points of AUC above {group.champion}."]
    for stream, ahead in group.losses(MARGIN).items():
        rivals = [f"{model} +{points:.1f}" for model, points in ahead.items()]
        lines.append(f"- {stream}: {', '.join(rivals)}")
    return "\n".join(lines if len(lines) > 1 else [*lines, "- none"])


def to_markdown(groups: Sequence[Group], ranked: Sequence[Group]) -> str:
    """Return the average ranks, the losses, and all tables with the best figures in bold."""
    parts = ["# Learners on streams", LEGEND]
    for group in ranked:
        parts += [f"```\n{ranks_text(group, measure)}\n```" for measure in RANKED]
    parts += [losses_text(group) for group in groups if group.is_ranked]
    for group in groups:
        parts.append(f"## {group.title}")
        for measure, title in (MEASURES | COSTS).items():
            parts += [f"### {title}", _markdown_table(group, measure)]
    return "\n\n".join(parts) + "\n"


def _markdown_table(group: Group, measure: str) -> str:
    """Return a table with a row per stream and a column per model."""
    (_, *names), *models = rows(group, measure)
    best = min if measure in COSTS else max
    lines = ["| | " + " | ".join(model for model, *_ in models) + " |"]
    lines.append("|---" + "|--:" * len(models) + "|")
    for name, *cells in zip(names, *(figures for _, *figures in models), strict=True):
        numbers = [float(cell.rstrip("ˢᵐᵃ")) for cell in cells]
        leading = (min if name == "rank" else best)(numbers)
        cells = [
            f"**{cell}**" if number == leading else cell
            for cell, number in zip(cells, numbers, strict=True)
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def to_csv(groups: Sequence[Group]) -> str:
    """Return a line for every model behind every scaler on every stream."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["stream", "model", "scaler", *MEASURES, *COSTS])
    lines = {
        (stream, model, scaler): group.means[stream, model, scaler]
        for group in groups
        for stream in group.streams
        for model in group.models
        for scaler in MODELS[model].scalers
    }
    for key, outcome in lines.items():
        writer.writerow([*key, *(f"{value:.4f}" for value in outcome)])
    return file.getvalue()
