"""The real streams, and `python -m benchmarks streams` and `records`."""

from __future__ import annotations

import csv
import itertools
import json
import lzma
import math
import re

import numpy as np
import pytest
from commands import output, refusal
from scipy import stats

from benchmarks.datasets import STREAMS
from benchmarks.examples import examples_of
from benchmarks.journal import Journal
from benchmarks.progressive.models import RECORD_MODELS
from benchmarks.progressive.models import STREAM_MODELS as MODELS
from benchmarks.progressive.report import rows, to_csv, to_markdown
from benchmarks.progressive.summary import Figure, Group
from benchmarks.progressive.validation import Cell, Outcome, auc_in_windows, outcome_of
from river_oauc.cli import retrained
from river_oauc.cli.messages import UserError


def test_auc_in_windows_is_the_mean_over_windows():
    labels = np.tile([True, False], 500)
    scores = np.where(labels, 0.6, 0.4) + np.repeat([0.0, 10.0], 500)
    scores[labels & (np.arange(1_000) >= 500)] -= 5.0
    assert auc_in_windows(scores, labels) == pytest.approx(0.5)
    assert auc_in_windows(scores[:500], labels[:500]) == 1.0
    assert auc_in_windows(np.zeros(10), np.zeros(10, dtype=bool)) == 0.5


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Make a directory with two small streams."""
    rng = np.random.default_rng(1)
    (tmp_path / "streams").mkdir()
    for name, n_features in (("usenet1", 99), ("sms_spam", 8_704)):
        lines = []
        for _ in range(60):
            y = rng.random() < 0.4
            indices = sorted(rng.choice(n_features, 4, replace=False) + 1)
            pairs = " ".join(f"{index}:{1 + y}" for index in indices)
            lines.append(f"{'+1' if y else '-1'} {pairs}\n")
        with lzma.open(tmp_path / "streams" / f"{name}.svm.xz", "wt") as file:
            file.writelines(lines)
    monkeypatch.setenv("RIVER_OAUC_DATA", str(tmp_path))
    return tmp_path


# The command


LINEAR = ["LR (SGD)", "AutoOAUC", "SparseOAUCM"]


def figures(directory):
    """Return the sorted cells of the results without their times."""
    lines = (directory / "streams.jsonl").read_text().splitlines()
    cells = sorted(map(json.loads, lines), key=lambda cell: [cell[key] for key in Cell._fields])
    return [{key: cell[key] for key in cell if key != "microseconds"} for cell in cells]


def untimed(directory, file):
    """Return a figure, or a table without its times."""
    if file.endswith(".png"):
        return (directory / file).read_bytes()
    if file.endswith(".csv"):
        lines = csv.DictReader((directory / file).read_text().splitlines())
        return [{key: line[key] for key in line if key != "microseconds"} for line in lines]
    return re.sub(r"### µs per example.*?### ", "", (directory / file).read_text(), flags=re.DOTALL)


def test_a_killed_run_ends_with_the_same_files(data):
    arguments = ["streams", "--models", *LINEAR, "--out"]
    whole, broken = data / "whole", data / "broken"
    table = output(*arguments, str(whole))
    assert "Exact AUC" in table and "critical difference" in table
    # Killed in the middle of a line.
    lines = (whole / "streams.jsonl").read_bytes().splitlines(keepends=True)
    assert len(lines) == 2 + 2 * 4 + 1
    broken.mkdir()
    (broken / "streams.jsonl").write_bytes(b"".join(lines[:7]) + lines[7][:-1])
    output(*arguments, str(broken))
    assert figures(broken) == figures(whole)
    for name in {path.name for path in whole.iterdir()} - {"streams.jsonl"}:
        assert untimed(broken, name) == untimed(whole, name)


def test_the_catalogue_is_listed(data, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    lines = output("streams", "--list").splitlines()
    assert [line.split()[0] for line in lines[2:]] == list(STREAMS)
    (line,) = (line for line in lines if line.startswith("usenet1"))
    assert line.split()[:6] == ["usenet1", "1,500", "99", "46.67%", "kept", "yes"]
    assert line.endswith("by hand: http://mlkd.csd.auth.gr/concept_drift.html (none stated)")


def test_journals_without_newer_measures_are_read(tmp_path):
    line = {"stream": "bank", "examples": 9, "seed": 0, "model": "ARF", "scaler": "bare"}
    line |= dict.fromkeys(list(Outcome._fields)[:6], 1.0)
    (tmp_path / "old.jsonl").write_text(json.dumps(line) + "\n")
    with Journal(tmp_path / "old.jsonl", Cell, Outcome) as journal:
        (found,) = journal.outcomes.values()
    assert math.isnan(found.auc_of_second_half)
    assert found.stopped_at is None


def test_without_streams_or_models(tmp_path, monkeypatch):
    monkeypatch.setenv("RIVER_OAUC_DATA", str(tmp_path))
    monkeypatch.setenv("RIVER_DATA", str(tmp_path))
    assert "RIVER_OAUC_DATA" in refusal("streams", "--out", str(tmp_path / "x"))
    monkeypatch.setattr("benchmarks.datasets.Dataset.is_here", True)
    message = refusal("streams", "w8a", "--models", "HAT", "--out", str(tmp_path / "x"))
    assert message == "none of these models runs on w8a"


def test_only_streams_without_order_are_shuffled(data):
    assert examples_of("usenet1", 50, 0) == examples_of("usenet1", 50, 1)
    assert examples_of("sms_spam", 50, 0) != examples_of("sms_spam", 50, 1)


def test_time_that_is_up_stops_a_run_and_more_time_repeats_it(data, monkeypatch):
    """The clock of a thread goes by a minute per example."""
    minutes = itertools.count(0.0, 60.0)
    monkeypatch.setattr("time.thread_time", lambda: next(minutes))
    arguments = ["streams", "usenet1", "--models", "SparseOAUCM", "LR (SGD)", "--full"]
    for limit, n_lines in ((20, 5), (60, 10), (1, 10)):
        output(*arguments, "--minutes", str(limit), "--out", str(data))
        assert len((data / "streams.jsonl").read_text().splitlines()) == n_lines
        page = (data / "streams.md").read_text()
        assert ("(to 21)" in page) == (limit == 20)
        assert ("critical difference" in page) == (limit != 20)


def outcome(auc, microseconds=1.0, stopped_at=None):
    return Outcome(auc, auc, 100.0 - auc, 50.0, microseconds, 1.0, auc, stopped_at)


@pytest.fixture
def group():
    """Two sets on which a higher AUC comes with a lower average precision."""
    scalers = MODELS["LR (SGD)"].scalers
    means = {
        ("a", "SparseOAUCM", "bare"): outcome(90.0),
        ("b", "SparseOAUCM", "bare"): outcome(70.0),
        **{("a", "LR (SGD)", name): outcome(60.0 + k, k) for k, name in enumerate(scalers)},
        **{("b", "LR (SGD)", name): outcome(75.0 - k, k) for k, name in enumerate(scalers)},
    }
    return Group("Toys", ["a", "b"], models("SparseOAUCM", "LR (SGD)"), means)


def models(*names):
    return {name: MODELS[name] for name in names}


def test_a_rival_is_reported_behind_its_best_scaler(group):
    assert group.best("auc", "a", "LR (SGD)") == Figure(63.0, "MaxAbs")
    assert group.best("average_precision", "a", "LR (SGD)") == Figure(40.0, "bare")
    assert group.best("microseconds", "a", "LR (SGD)") == Figure(3.0, "MaxAbs")
    assert group.ranking("auc").ranks == {"SparseOAUCM": 1.5, "LR (SGD)": 1.5}
    page = to_markdown("Toys", [], [group], [group])
    assert "| a | **90.0** | 63.0ᵃ |" in page
    assert "| b | 70.0 | **75.0** |" in page
    assert "0.5 points above SparseOAUCM, Exact AUC.\n- b: LR (SGD) +5.0\n" in page
    assert "2 points above SparseOAUCM, Average precision.\n- a: LR (SGD) +30.0\n" in page
    assert "| LR (SGD) | 1.50 | not significantly better | 1 of 2 | 1 |" in page
    line = "a,LR (SGD),MinMax,62.0000,62.0000,62.0000,38.0000,50.0000,2.0000,1.0000,\n"
    assert line in to_csv([group])


def test_a_model_that_did_not_finish_is_not_ranked():
    names = [str(i) for i in range(30)]
    runs = {"SparseOAUCM": outcome(80.0), "ARF": outcome(70.0), "HAT": outcome(60.0)}
    means = {(name, model, "bare"): run for name in names for model, run in runs.items()}
    means["7", "HAT", "bare"] = outcome(99.0, stopped_at=4_100)
    group = Group("Toys", names, models("SparseOAUCM", "ARF", "HAT"), means)
    assert group.ranking("auc").ranks == {"SparseOAUCM": 1.0, "ARF": 2.0}
    table = {row[0]: row[1:] for row in rows(group, "auc", bold="**")}
    assert table["7"] == ["**80.0**", "70.0", "99.0 (to 4,100)"]
    assert table["mean"] == ["**80.0**", "70.0", "-"]
    assert table["rank"] == ["**1.00**", "2.00", "-"]
    page = to_markdown("Toys", [], [group], [group])
    assert "| ARF | 2.00 | significantly better | 30 of 30 | 4.3e-08 |\n" in page
    assert "| HAT | - | - | 29 of 29 | - |\n" in page
    assert "Exact AUC.\n- none\n" in page
    assert "7,HAT,bare,99.0000,99.0000,99.0000,1.0000,50.0000,1.0000,1.0000,4100\n" in to_csv(
        [group]
    )


def test_friedman_is_its_definition(group):
    assert group.friedman_p_value("auc") is None
    names = ["SparseOAUCM", "AutoOAUC", "ARF"]
    table = np.random.default_rng(3).normal(size=(10, 3)) + [0.0, 1.0, 2.0]
    means = {
        (str(i), name, "bare"): outcome(value)
        for i, row in enumerate(table)
        for name, value in zip(names, row, strict=True)
    }
    group = Group("Toys", [str(i) for i in range(10)], models(*names), means)
    ranks = stats.rankdata(-table, axis=1).mean(axis=0)
    statistic = 12 * 10 / (3 * 4) * (ranks @ ranks - 3 * 4**2 / 4)
    assert group.friedman_p_value("auc") == pytest.approx(stats.chi2.sf(statistic, 2), rel=1e-9)
    assert group.champion == "SparseOAUCM"


# Learners of other packages


def plane(n):
    """Return examples whose positives are beyond a plane."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 3))
    labels = X[:, 0] + 0.3 * X[:, 1] > 0.8
    return [
        (dict(zip("abc", row, strict=True)), y)
        for row, y in zip(X.tolist(), labels.tolist(), strict=True)
    ]


RIVALS = ("VW", "MOA", "LightGBM", "CatBoost")


@pytest.mark.parametrize("name", [name for name in MODELS if name.startswith(RIVALS)])
def test_learners_of_other_packages_rank_a_plane(name):
    model = MODELS[name]
    if not model.is_installed:
        with pytest.raises(UserError, match="pip install"):
            model.prepared("bare", 0)
        pytest.skip("not installed")
    result = outcome_of(model.prepared("bare", 0), plane(600))
    assert result.auc_of_second_half > 75.0
    assert result.kilobytes > 0.0


@pytest.mark.parametrize(
    ("name", "scaler"),
    [(name, scaler) for name in ("LR (SGD)", "ARF") for scaler in RECORD_MODELS[name].scalers],
)
def test_prepared_learners_rank_a_plane(name, scaler):
    result = outcome_of(RECORD_MODELS[name].prepared(scaler, 0), plane(600))
    assert result.auc_of_second_half > 85.0


def fit_mean(table, categories, labels):
    """Score by the product with the mean of the positives."""
    dense = np.asarray(table.todense() if hasattr(table, "todense") else table)
    mean = dense[labels].mean(axis=0)
    return mean, lambda rows: np.asarray(rows @ mean)


@pytest.mark.parametrize("window", [None, 1_000])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_retraining_is_the_plain_loop(monkeypatch, window, is_sparse):
    monkeypatch.setattr(retrained, "is_installed", lambda library: True)
    monkeypatch.setitem(retrained._FIT, "LightGBM", fit_mean)
    # There are windows without positives.
    examples = [(x, y and not 3_000 <= i < 5_500) for i, (x, y) in enumerate(plane(8_000))]
    X = np.array([list(x.values()) for x, _ in examples])
    if is_sparse:
        X *= X > -1.0
        examples = [({k: v for k, v in x.items() if v > -1.0}, y) for x, y in examples]
    scores, labels, _ = retrained.Retrained("LightGBM", window).follow(examples)
    assert labels.tolist() == [y for _, y in examples]
    # Before the first model, the running log prior odds.
    start = 300
    n_positive = labels[:start].cumsum() - labels[:start]
    expected = [*np.log((n_positive + 1) / (np.arange(start) - n_positive + 1))]
    while start < len(X):
        past = slice(max(0, start - window) if window else 0, start)
        stop = start + max(500, math.ceil(0.15 * len(X[past])))
        if labels[past].any():
            mean = X[past][labels[past]].mean(axis=0)
        expected += [*(X[start:stop] @ mean)]
        start = stop
    np.testing.assert_allclose(scores, expected)
    # Without time it stops after the first training.
    scores, labels, _ = retrained.Retrained("LightGBM", window).follow(examples, 0.0)
    assert len(scores) == len(labels) == 800


def test_records_are_reported_like_streams(tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    (tmp_path / "records").mkdir()
    for name in ("telco_churn", "bank", "sms_spam"):
        lines = ["amount,country,when,target"]
        for i in range(150):
            y = int(rng.random() < 0.3)
            country = rng.choice(["FR", "IT", ""])
            lines.append(f"{rng.normal() + y:.3f},{country},2024-01-{i % 28 + 1:02},{y}")
        with lzma.open(tmp_path / "records" / f"{name}.csv.xz", "wt") as file:
            file.write("\n".join(lines))
    monkeypatch.setenv("RIVER_OAUC_DATA", str(tmp_path))
    names = ["SparseOAUCM", "LR (SGD)", "ARF"]
    arguments = ["records", "telco_churn", "bank", "sms_spam", "--models", *names, "--out"]
    out = tmp_path / "out"
    assert "critical difference" in output(*arguments, str(out))
    assert len((out / "records.jsonl").read_text().splitlines()) == 3 * (1 + 4 + 1)
    kinds = {path.name for path in out.iterdir()}
    assert kinds >= {"records.png", "records-dark.png", "ranks-1.png", "ranks-1-dark.png"}
    page = (out / "records.md").read_text()
    ranked, _, apart = page.partition("## Not ranked")
    assert "sms_spam" not in ranked.partition("## Raw records")[2]
    assert "sms_spam" in apart and "rank" not in apart
