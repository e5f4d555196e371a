"""The tables for the terminal, in Markdown and in CSV, and what they say in words."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence

from benchmarks.markdown import markdown_table
from benchmarks.progressive.summary import COSTS, MEASURES, Figure, Group
from benchmarks.significance import paired_tests

__all__ = ["RANKED", "ranks_text", "rows", "to_csv", "to_markdown"]

RANKED = ("auc", "average_precision")
# Smaller leads of a rival are not listed.
MARGINS = {"auc": 0.5, "average_precision": 2.0}
_LETTERS = {
    "Standard": "ˢ",
    "MinMax": "ᵐ",
    "MaxAbs": "ᵃ",
    "Norm": "ⁿ",
    "one-hot": "ᵒ",
    "one-hot | StandardScaler": "ᵒˢ",
    "RecordEncoder": "ʳ",
    "RecordEncoder | StandardScaler": "ʳˢ",
}


def rows(group: Group, measure: str, bold: str = "") -> list[list[str]]:
    """Return a row per set, with mean and, if ranked, rank, and a column per model.

    Parameters
    ----------
    group
        The sets and models.
    measure
        A measure or a cost.
    bold
        Put before and after the best figure of a row.

    """
    is_cost = measure in COSTS
    form = "{:.0f}" if is_cost else "{:.1f}"
    columns = [group.column(measure, model) for model in group.models]
    table = [["", *group.models]]
    for name, *row in zip(group.sets, *columns, strict=True):
        table.append([name, *_marked(row, form, bold, low=is_cost)])
    averages = [Figure(_mean(column), "bare") for column in columns]
    table.append(["mean", *_marked(averages, form, bold, low=is_cost)])
    if measure in MEASURES and group.is_ranked(measure):
        ranks = group.ranking(measure).ranks
        places = [Figure(ranks.get(model, math.nan), "bare") for model in group.models]
        table.append(["rank", *_marked(places, "{:.2f}", bold, low=True)])
    return table


def _mean(column: Sequence[Figure]) -> float:
    """Return the mean over all sets, or NaN if some were not finished."""
    if not all(figure.is_whole for figure in column):
        return math.nan
    return sum(figure.value for figure in column) / len(column)


def _marked(row: Sequence[Figure], form: str, bold: str, low: bool) -> list[str]:
    """Return the cells of a row, with the lowest or the highest whole figure in bold."""
    texts = [form.format(figure.value) for figure in row]
    numbers = [float(text) for text, figure in zip(texts, row, strict=True) if figure.is_whole]
    leading = (min if low else max)(numbers, default=math.nan)
    cells = []
    for text, figure in zip(texts, row, strict=True):
        cell = "-" if math.isnan(figure.value) else text + _LETTERS.get(figure.scaler, "")
        if figure.stopped_at is not None:
            cell += f" (to {figure.stopped_at:,})"
        elif float(text) == leading:
            cell = f"{bold}{cell}{bold}"
        cells.append(cell)
    return cells


def ranks_text(group: Group, measure: str) -> str:
    """Return the average ranks and their critical difference."""
    p_value = group.friedman_p_value(measure)
    test = "" if p_value is None else f" (Friedman's p = {p_value:.1g})"
    title = f"{group.title}. Average ranks, {MEASURES[measure]}{test}"
    return f"{title}\n{group.ranking(measure).text}"


def comparison_text(group: Group, measure: str) -> str:
    """Say from which rivals our champion differs significantly."""
    ranking, champion = group.ranking(measure), group.champion
    assert champion is not None
    complete = group.complete(measure)
    tested = [champion, *(rival for rival in group.rivals if rival in complete)]
    p_values = paired_tests({name: complete[name] for name in tested}, champion)
    table = [["", "average rank", f"by average rank {champion} is", "is ahead on", "p"]]
    for rival in sorted(group.rivals, key=lambda name: ranking.ranks.get(name, math.inf)):
        leads = group.leads(measure, rival).values()
        wins = f"{sum(lead < 0.0 for lead in leads)} of {len(leads)}"
        if rival not in ranking.ranks:
            table.append([rival, "-", "-", wins, "-"])
            continue
        gap = ranking.ranks[rival] - ranking.ranks[champion]
        significance = "not " if abs(gap) <= ranking.critical_difference else ""
        verdict = f"{significance}significantly {'better' if gap >= 0 else 'worse'}"
        table.append(
            [rival, f"{ranking.ranks[rival]:.2f}", verdict, wins, f"{p_values[rival]:.2g}"]
        )
    about = (
        f"{group.title}, {MEASURES[measure]}: {champion}, whose average rank is "
        f"{ranking.ranks[champion]:.2f}, and each rival. A difference of more than "
        f"{ranking.critical_difference:.2f} is significant (Nemenyi). p: Wilcoxon's signed-rank "
        "test of the pair, with Holm's correction for all rivals. A rival that did not finish "
        "every set has no rank."
    )
    return f"{about}\n\n{markdown_table(table)}"


def losses_text(group: Group, measure: str) -> str:
    """List the sets on which rivals are ahead of our champion, and by how much."""
    margin = MARGINS[measure]
    leads = {rival: group.leads(measure, rival) for rival in group.rivals}
    lines = [
        f"{group.title}: rivals more than {margin:g} points above {group.champion}, "
        f"{MEASURES[measure]}."
    ]
    for name in group.sets:
        own = {rival: lead[name] for rival, lead in leads.items() if lead.get(name, 0.0) > margin}
        if own:
            ahead = sorted(own.items(), key=lambda item: -item[1])
            lines.append(f"- {name}: {', '.join(f'{rival} +{lead:.1f}' for rival, lead in ahead)}")
    return "\n".join(lines if len(lines) > 1 else [*lines, "- none"])


def to_markdown(
    heading: str, notes: Iterable[str], groups: Sequence[Group], ranked: Sequence[Group]
) -> str:
    """Return ranks, comparisons, losses, and all tables with the best figures in bold.

    Parameters
    ----------
    heading
        Title of the page.
    notes
        Paragraphs below it.
    groups
        The groups to show as tables.
    ranked
        The groups to rank.

    """
    parts = [f"# {heading}", *notes]
    for group in ranked:
        parts += [f"```\n{ranks_text(group, measure)}\n```" for measure in RANKED]
    for group in ranked:
        parts += [comparison_text(group, measure) for measure in RANKED]
    for group in groups:
        if group.champion and group.rivals:
            parts += [losses_text(group, measure) for measure in RANKED]
    for group in groups:
        parts.append(f"## {group.title}")
        for measure, title in group.titles.items():
            parts += [f"### {title}", markdown_table(rows(group, measure, bold="**"))]
    return "\n\n".join(parts) + "\n"


def to_csv(groups: Sequence[Group]) -> str:
    """Return a line for every model behind every scaler on every set."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["set", "model", "scaler", *MEASURES, *COSTS, "stopped at"])
    for group in groups:
        for name in group.sets:
            for model, each in group.models.items():
                for scaler in each.scalers:
                    outcome = group.means[name, model, scaler]
                    figures = (getattr(outcome, field) for field in (*MEASURES, *COSTS))
                    texts = ["" if math.isnan(value) else f"{value:.4f}" for value in figures]
                    writer.writerow([name, model, scaler, *texts, outcome.stopped_at or ""])
    return file.getvalue()
