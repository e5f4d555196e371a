"""Summary, significance tests, ranks, tables and figures of the paper's tables."""

from __future__ import annotations

import csv
import io
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.image import imread

from benchmarks.datasets import BENCHMARKS
from benchmarks.paper.figures import draw_dots
from benchmarks.paper.methods import TABLES
from benchmarks.paper.protocol import Cell, Outcome
from benchmarks.paper.report import to_csv, to_markdown
from benchmarks.paper.reported import SOURCES, reported
from benchmarks.paper.summary import Summary, summarise
from benchmarks.rank_diagram import draw_ranks
from benchmarks.ranking import Ranking, rank
from benchmarks.significance import holm, paired_tests

TABLE = TABLES["linear"]()


def summary_of(
    aucs: dict[tuple[str, str], list[float]], settings: list[dict[str, float]] | None = None
) -> Summary:
    """Summarise AUCs by set and method, with these settings of the runs."""
    n_runs = len(next(iter(aucs.values())))
    outcomes = {
        Cell(dataset, method, run): Outcome(
            auc, settings[run] if settings else TABLE.method(method).settings[0]
        )
        for (dataset, method), values in aucs.items()
        for run, auc in enumerate(values)
    }
    datasets = list(dict.fromkeys(dataset for dataset, _ in aucs))
    methods = list(dict.fromkeys(method for _, method in aucs))
    return summarise(TABLE, datasets, methods, n_runs, outcomes)


BETTER = [0.80, 0.82, 0.84, 0.81, 0.83, 0.85, 0.79]
AUCS = {
    ("heart", "PA-I"): [auc - 0.05 - 0.001 * i for i, auc in enumerate(BETTER)],
    ("heart", "OAM (wide)"): [auc + 0.05 + 0.001 * i for i, auc in enumerate(BETTER)],
    ("heart", "OAUC-M"): BETTER,
    ("german", "PA-I"): BETTER,
    ("german", "OAM (wide)"): BETTER,
    ("german", "OAUC-M"): BETTER,
}


# The paper's figures -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(TABLES))
def test_the_figures_of_the_paper_are_complete(name: str) -> None:
    figures = reported(name)
    methods = {method for _, method in figures}
    assert len(methods) == {"linear": 7, "kernel": 3}[name]
    assert methods <= {method.name for method in TABLES[name]().methods}
    assert figures.keys() == set(itertools.product(BENCHMARKS, methods))
    assert all(50.0 <= figure.mean <= 100.0 for figure in figures.values())
    assert all(0.0 < figure.std < 6.0 for figure in figures.values())
    assert "Luo, Cheng, Zhang" in SOURCES[name]


# Tests and ranks ---------------------------------------------------------------------------------


@given(st.lists(st.floats(0.0, 1.0), max_size=6))
def test_holm_is_its_definition(p_values: list[float]) -> None:
    """The largest of (m - j + 1) p_(j) over all j up to its own position, at most 1."""
    ordered = sorted(p_values)
    for p, corrected in zip(p_values, holm(p_values), strict=True):
        place = max(i for i, other in enumerate(ordered) if other == p)
        bounds = [(len(ordered) - j) * ordered[j] for j in range(place + 1)]
        assert corrected == min(1.0, max(bounds))
        assert corrected >= p


def test_wilcoxon_of_seven_wins() -> None:
    """The smaller sum of ranks is 0: of 2^7 signs, two are as extreme."""
    aucs = {"a": BETTER, "b": [auc - 0.01 * (i + 1) for i, auc in enumerate(BETTER)]}
    assert paired_tests(aucs, "a") == {"b": pytest.approx(2 / 2**7)}
    assert paired_tests(aucs, "b") == {"a": pytest.approx(2 / 2**7)}


def test_correction_counts_the_other_methods() -> None:
    worse = [auc - 0.01 * (i + 1) for i, auc in enumerate(BETTER)]
    alone = paired_tests({"a": BETTER, "b": worse}, "a")["b"]
    # Equal runs do not differ.
    expected = {"b": 2 * alone, "c": 1.0}
    assert paired_tests({"a": BETTER, "b": worse, "c": BETTER}, "a") == expected


# Demšar, 2006, Table 5(a): critical values of the two-tailed Nemenyi test at 0.05.
@pytest.mark.parametrize(
    ("n_methods", "q"),
    [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (7, 2.949), (8, 3.031), (10, 3.164)],
)
def test_critical_difference(n_methods: int, q: float) -> None:
    means = {str(method): [float(method)] * 18 for method in range(n_methods)}
    expected = q * math.sqrt(n_methods * (n_methods + 1) / (6 * 18))
    assert rank(means).critical_difference == pytest.approx(expected, rel=5e-4)


def test_ranks_are_averages_and_ties_share() -> None:
    ranking = rank({"a": [0.9, 0.8], "b": [0.7, 0.8], "c": [0.8, 0.1]})
    assert ranking.ranks == {"a": 1.25, "b": 2.25, "c": 2.5}
    assert list(ranking.ranks) == ["a", "b", "c"]
    assert ranking.n_sets == 2


@given(st.lists(st.floats(1.0, 6.0), min_size=1, max_size=6), st.floats(0.1, 4.0))
def test_cliques_are_the_maximal_groups_that_do_not_differ(
    values: list[float], difference: float
) -> None:
    ranks = {str(i): value for i, value in enumerate(sorted(values))}
    names = list(ranks)
    groups = [
        names[i:j]
        for i in range(len(names))
        for j in range(i + 2, len(names) + 1)
        if ranks[names[j - 1]] <= ranks[names[i]] + difference
    ]
    largest = [group for group in groups if not any(set(group) < set(other) for other in groups)]
    assert Ranking(ranks, difference, n_sets=3).cliques == largest


# The summary -------------------------------------------------------------------------------------


def test_entry() -> None:
    entry = summary_of(AUCS).entries["heart", "OAUC-M"]
    assert entry.mean == pytest.approx(100 * np.mean(BETTER))
    assert entry.std == pytest.approx(100 * np.std(BETTER, ddof=1))
    assert entry.difference == pytest.approx(100 * np.mean(BETTER) - 91.18)
    assert entry.p_value is None
    assert not entry.is_significant


def test_significance() -> None:
    entries = summary_of(AUCS).entries
    worse, better = entries["heart", "PA-I"], entries["heart", "OAM (wide)"]
    assert worse.p_value == better.p_value == pytest.approx(2 * 2 / 2**7)
    assert worse.is_significant and not worse.is_better
    assert better.is_significant and better.is_better
    assert better.paper is None and better.difference is None
    assert entries["german", "PA-I"].p_value == 1.0
    assert not entries["german", "PA-I"].is_significant


def test_the_setting_chosen_most_often() -> None:
    settings = [{"l2": value} for value in (4.0, 0.5, 2.0, 0.5, 2.0, 1.0, 8.0)]
    entry = summary_of({("heart", "OAUC-M"): BETTER}, settings).entries["heart", "OAUC-M"]
    assert (entry.chosen, entry.n_chosen) == ({"l2": 0.5}, 2)


def test_a_single_run_and_a_single_method() -> None:
    summary = summary_of({("heart", "PA-I"): [0.9]})
    assert summary.entries["heart", "PA-I"].std is None
    assert summary.ranking is None
    text = to_markdown(summary)
    assert "| heart | **90.00** |" in text
    assert "rank" not in text
    assert "Tests" not in text
    assert next(csv.DictReader(io.StringIO(to_csv(summary))))["auc_std"] == ""
    assert is_png(draw_dots(summary))


# The reports -------------------------------------------------------------------------------------


def test_csv() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(summary_of(AUCS)))))
    assert [(row["dataset"], row["method"]) for row in rows] == list(AUCS)
    std = f"{100 * np.std(AUCS['heart', 'PA-I'], ddof=1):.2f}"
    assert ",".join(rows[0]) == (
        "dataset,method,runs,auc_mean,auc_std,paper_mean,paper_std,difference,chosen_most_often,"
        "times_chosen,p_value_against_OAUC-M"
    )
    expected = f"heart,PA-I,7,76.70,{std},90.76,1.32,-14.06,C=2^-10,7,0.031"
    assert ",".join(rows[0].values()) == expected
    assert (rows[1]["paper_mean"], rows[1]["difference"]) == ("", "")
    assert rows[2]["p_value_against_OAUC-M"] == ""


def test_markdown() -> None:
    text = to_markdown(summary_of(AUCS))
    lines = text.splitlines()
    stds = {key: 100 * np.std(values, ddof=1) for key, values in AUCS.items()}
    assert (
        f"| heart | 76.70 ± {stds['heart', 'PA-I']:.2f} ▼ "
        f"| **87.30** ± {stds['heart', 'OAM (wide)']:.2f} ▲ | 82.00 ± 2.16 |" in lines
    )
    assert "| german | **82.00** ± 2.16 | **82.00** ± 2.16 | **82.00** ± 2.16 |" in lines
    assert "| heart | 90.76 ± 1.32 (-14.06) | – | 91.18 ± 1.33 (-9.18) |" in lines
    assert "| heart | C=2^-10 (7) | C=2^-24 (7) | l2=2^-10 (7) |" in lines
    assert "| heart | 0.031 | 0.031 | – |" in lines
    assert "| average rank | 2.50 | 1.50 | 2.00 |" in lines
    assert "7 runs, where the paper has 20: " in text
    assert SOURCES["linear"] in text
    assert "powers of 2" not in text
    # All rows of a table have the width of its header.
    for block in text.split("\n\n"):
        rows = [line for line in block.splitlines() if line.startswith("|")]
        assert len({row.count("|") for row in rows}) <= 1


def test_markdown_mentions_coarse_grids_and_limits() -> None:
    table = TABLES["kernel"]()
    outcome = Outcome(0.9, table.method("KOIL").settings[0])
    text = to_markdown(
        summarise(table, ["heart"], ["KOIL"], 1, {Cell("heart", "KOIL", 0): outcome})
    )
    assert "The grids have one in 2 of the paper's powers of 2." in text
    assert "At most 10,000 examples are learned." in text


# The figures -------------------------------------------------------------------------------------


def is_png(content: bytes) -> bool:
    return content.startswith(b"\x89PNG\r\n\x1a\n")


def has_colour(content: bytes, hexadecimal: str) -> bool:
    image = (imread(io.BytesIO(content))[:, :, :3] * 255).round().astype(int)
    wanted = [int(hexadecimal[i : i + 2], 16) for i in (1, 3, 5)]
    return bool((image == wanted).all(axis=2).any())


def test_dots_show_ours_and_the_papers() -> None:
    content = draw_dots(summary_of(AUCS))
    assert is_png(content)
    assert has_colour(content, "#0072B2")
    assert has_colour(content, "#D55E00")
    assert content == draw_dots(summary_of(AUCS))


def test_ranks_are_drawn() -> None:
    ranking = Ranking({f"m{i}": 1.0 + i for i in range(8)}, 1.2, n_sets=18)
    content = draw_ranks(ranking, "title")
    assert is_png(content)
    assert content != draw_ranks(Ranking(ranking.ranks, 0.5, n_sets=18), "title")
