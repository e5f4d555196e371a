"""`river-oauc streams`: its measures against scikit-learn, and runs that are resumed."""

from __future__ import annotations

import json
import lzma

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from river_oauc.datasets import DatasetError
from river_oauc.datasets.streams import STREAMS, RealStream
from river_oauc.experiments import cli
from river_oauc.experiments.streams import command
from river_oauc.experiments.streams.progress import auc, auc_in_windows

scored = st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=2, max_size=60).filter(
    lambda pairs: len({y for _, y in pairs}) == 2
)


@given(scored)
def test_auc_is_that_of_scikit_learn(pairs):
    scores = np.array([score / 8 for score, _ in pairs])
    labels = np.array([y for _, y in pairs])
    assert auc(scores, labels) == pytest.approx(roc_auc_score(labels, scores), abs=1e-12)


def test_windows_are_judged_one_by_one():
    labels = np.tile([True, False], 500)
    scores = np.where(labels, 0.6, 0.4) + np.repeat([0.0, 10.0], 500)
    scores[labels & (np.arange(1_000) >= 500)] -= 5.0
    assert auc_in_windows(scores, labels) == pytest.approx(0.5)
    assert auc_in_windows(scores[:500], labels[:500]) == 1.0
    assert auc_in_windows(np.zeros(10), np.zeros(10, dtype=bool)) == 0.5


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A directory with two small streams."""
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


def test_a_narrow_stream_has_its_zeros_and_a_wide_one_none(data):
    (x, _), *rest = RealStream(STREAMS["usenet1"])
    assert len(x) == 99
    assert len(rest) == 59
    assert sum(value != 0.0 for value in x.values()) == 4
    x, _ = next(iter(RealStream(STREAMS["sms_spam"])))
    assert len(x) == 4


def test_a_stream_that_is_not_here_says_where_to_get_it(data):
    with pytest.raises(DatasetError, match="get cover from https://"):
        next(iter(RealStream(STREAMS["cover"])))


def test_a_run_goes_on_where_it_stopped(data, capsys):
    results, page = data / "results.jsonl", data / "page.md"
    arguments = ["streams", "--results", str(results), "--models", "LR, Standard", "AutoOAUCM"]
    assert cli.main([*arguments, "--markdown", str(page)]) == 0
    assert "| | AutoOAUCM | LR, Standard |\n|---|---|---|\n| sms_spam |" in page.read_text()
    whole = results.read_text()
    table = capsys.readouterr().out
    assert "exact AUC" in table
    lines = whole.splitlines(keepends=True)
    assert {json.loads(line)["stream"] for line in lines} == {"usenet1", "sms_spam"}
    # Killed in the midst of a line.
    results.write_text("".join(lines[:2]) + lines[2][:20])
    assert cli.main(arguments) == 0

    def figures(text):
        cells = [json.loads(line) for line in text.splitlines() if line.endswith("}")]
        key = ("stream", "model", "seed", "auc", "average_precision")
        return sorted([cell[name] for name in key] for cell in cells)

    assert figures(results.read_text()) == figures(whole)


def test_without_streams_it_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("RIVER_OAUC_DATA", str(tmp_path))
    assert cli.main(["streams", "--results", str(tmp_path / "x.jsonl")]) == 2
    assert "RIVER_OAUC_DATA" in capsys.readouterr().err


def test_what_is_no_time_series_is_shuffled_by_the_seed(data):
    assert command.examples_of("usenet1", 0, 50) == command.examples_of("usenet1", 1, 50)
    assert command.examples_of("sms_spam", 0, 50) != command.examples_of("sms_spam", 1, 50)
