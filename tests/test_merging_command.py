"""`python -m benchmarks merging`."""

from __future__ import annotations

import os
import random

import pytest
from commands import output

from benchmarks.merging import held_out_aucs, merged_model
from river_oauc import OAUCM


def stream(n):
    rng = random.Random(1)
    labels = [True, False] * (n // 2)
    rng.shuffle(labels)
    return [({"a": rng.gauss(y, 1), "b": rng.gauss(0, 1)}, y) for y in labels]


def test_shards_hold_all_examples_once():
    examples = stream(200)
    for n in (1, 4, 16):
        model = merged_model(OAUCM, examples, n)
        assert [moments.n for moments in model.moments.values()] == [100, 100]


def test_held_out_aucs():
    aucs = held_out_aucs(OAUCM, stream(1_000), scaled=True)
    assert len(aucs) == 6
    assert all(0.65 < auc < 0.9 for auc in aucs)


@pytest.mark.skipif("RIVER_OAUC_DATA" not in os.environ, reason="RIVER_OAUC_DATA is not set")
def test_the_command_prints_and_writes_a_table(tmp_path):
    table = tmp_path / "merging.md"
    arguments = ["merging", "--models", "OAUCM", "--runs", "1", "--limit", "300"]
    shown = output(*arguments, "--markdown", str(table))
    lines = table.read_text().splitlines()
    assert len(lines) == 2 + 6 + 1
    for line in lines[2:]:
        _, model, name, *figures, _ = (cell.strip() for cell in line.split("|"))
        assert model == "OAUCM"
        assert name in shown
        assert all(40.0 < float(figure) <= 100.0 for figure in figures)
