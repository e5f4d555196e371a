"""A table as Markdown and as CSV, with the paper's figures."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

from benchmarks.markdown import markdown_table
from benchmarks.paper.protocol import N_FOLDS, PAPER_RUNS
from benchmarks.paper.reported import SOURCES
from benchmarks.paper.summary import Summary, describe
from benchmarks.ranking import LEVEL

__all__ = ["to_csv", "to_markdown"]

_NOTHING = "–"


def to_csv(summary: Summary) -> str:
    """Return CSV with a row per set and method."""
    rows = [
        {
            "dataset": dataset,
            "method": method,
            "runs": summary.n_runs,
            "auc_mean": f"{entry.mean:.2f}",
            "auc_std": _number(entry.std, ".2f"),
            "paper_mean": _number(entry.paper and entry.paper.mean, ".2f"),
            "paper_std": _number(entry.paper and entry.paper.std, ".2f"),
            "difference": _number(entry.difference, "+.2f"),
            "chosen_most_often": describe(entry.chosen),
            "times_chosen": entry.n_chosen,
            f"p_value_against_{summary.table.reference}": _number(entry.p_value, ".2g"),
        }
        for (dataset, method), entry in summary.entries.items()
    ]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def to_markdown(summary: Summary) -> str:
    """Return tables of means, the paper's figures, the chosen settings and the tests."""
    table = summary.table
    is_tested = table.reference in summary.methods and len(summary.methods) > 1
    parts = [
        f"# AUC in percent: the {table.name} table",
        _protocol(summary),
        "## Ours",
        "Mean ± standard deviation over the runs, which are folds. The best mean of a set is bold."
        + (f" ▲ and ▼: above and below {table.reference}, p ≤ {LEVEL} below." if is_tested else ""),
        _grid(summary, _ours) + _ranks(summary),
        "## The paper's",
        f"{SOURCES[table.name]}. In brackets, ours minus the paper's.",
        _grid(summary, _paper),
        "## The settings chosen most often",
        f"In brackets, in how many of the {summary.n_runs} runs.",
        _grid(summary, _chosen),
    ]
    if is_tested:
        parts += [
            f"## Tests against {table.reference}",
            "p-values of Wilcoxon's signed-rank test over the runs, two-sided, corrected after "
            "Holm for the number of methods on the set. The runs share training examples and are "
            "not independent, so a value just below the level proves little.",
            _grid(summary, _p_value),
        ]
    return "\n\n".join(parts) + "\n"


def _protocol(summary: Summary) -> str:
    table = summary.table
    other_number = "" if summary.n_runs == PAPER_RUNS else f", where the paper has {PAPER_RUNS}"
    sentences = [
        f"{summary.n_runs} runs{other_number}: random stratified partitions into {N_FOLDS} folds, "
        "one fold held out in each run, one pass over the others in random order.",
        "Features are scaled to [-1, 1] by the ranges of what is learned.",
        f"Parameters come from a {N_FOLDS}-fold cross-validation inside the training folds.",
        "The AUC is exact, a tie counting one half.",
    ]
    if table.grid_step > 1:
        sentences.append(f"The grids have one in {table.grid_step} of the paper's powers of 2.")
    if table.max_examples:
        sentences.append(f"At most {table.max_examples:,} examples are learned.")
    return " ".join(sentences)


def _grid(summary: Summary, show: Callable[[Summary, str, str], str]) -> str:
    """Return a Markdown table with a row per set and a column per method."""
    rows = [
        [dataset, *(show(summary, dataset, method) for method in summary.methods)]
        for dataset in summary.datasets
    ]
    return markdown_table([["set", *summary.methods], *rows])


def _ranks(summary: Summary) -> str:
    """Return a last row of average ranks and its legend; nothing for a single method."""
    if not (ranking := summary.ranking):
        return ""
    ranks = " | ".join(f"{ranking.ranks[method]:.2f}" for method in summary.methods)
    return (
        f"\n| average rank | {ranks} |\n\n"
        f"Average ranks over {ranking.n_sets} sets differ significantly if they are more than "
        f"{ranking.critical_difference:.2f} apart (Nemenyi, p ≤ {LEVEL})."
    )


def _ours(summary: Summary, dataset: str, method: str) -> str:
    entry = summary.entries[dataset, method]
    best = max(summary.entries[dataset, other].mean for other in summary.methods)
    mean = f"**{entry.mean:.2f}**" if entry.mean == best else f"{entry.mean:.2f}"
    spread = "" if entry.std is None else f" ± {entry.std:.2f}"
    mark = (" ▲" if entry.is_better else " ▼") if entry.is_significant else ""
    return mean + spread + mark


def _paper(summary: Summary, dataset: str, method: str) -> str:
    entry = summary.entries[dataset, method]
    if not entry.paper:
        return _NOTHING
    return f"{entry.paper.mean:.2f} ± {entry.paper.std:.2f} ({entry.difference:+.2f})"


def _chosen(summary: Summary, dataset: str, method: str) -> str:
    entry = summary.entries[dataset, method]
    return f"{describe(entry.chosen)} ({entry.n_chosen})" if entry.chosen else _NOTHING


def _p_value(summary: Summary, dataset: str, method: str) -> str:
    return _number(summary.entries[dataset, method].p_value, ".2g") or _NOTHING


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
