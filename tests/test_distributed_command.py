"""`python -m benchmarks distributed`."""

from __future__ import annotations

import pathlib
import re

import pandas as pd
import pytest
from commands import output

from benchmarks.distributed import write_table
from river_oauc.metrics import ExactROCAUC


def test_the_table_has_a_signal(tmp_path: pathlib.Path) -> None:
    written: list[int] = []
    size = write_table(tmp_path, 5000, 20, 3, lambda: written.append(len(list(tmp_path.iterdir()))))
    assert written == [1, 2, 3]
    partitions = [pd.read_parquet(path) for path in sorted(tmp_path.iterdir())]
    assert [len(partition) for partition in partitions] == [1667, 1667, 1666]
    # Twenty doubles and a boolean per row, and the index.
    assert size == pytest.approx(1667 * 161, rel=0.01)
    rows = pd.concat(partitions)
    assert rows["y"].mean() == pytest.approx(0.3, abs=0.02)
    assert not rows.duplicated().any()
    auc = ExactROCAUC()
    for y, total in zip(rows.pop("y"), rows.sum(axis=1), strict=True):
        auc.update(y, total)
    # Two unit normals one standard deviation apart: Phi(1 / sqrt(2)).
    assert auc.get() == pytest.approx(0.76, abs=0.02)


def figures(text: str) -> tuple[dict[int, list[float]], float]:
    """Return seconds, rows per second, memory and partitions by processes, and the ratio."""
    rows = re.findall(r"^(\d)((?: +[\d.,-]+){5})$", text, re.MULTILINE)
    (ratio,) = re.findall(r"Two processes are ([\d.]+) times as fast as one", text)
    return {int(n): [float(x.replace(",", "")) for x in row.split()] for n, row in rows}, float(
        ratio
    )


def test_the_printed_figures() -> None:
    pytest.importorskip("distributed", reason='needs the extra "distributed"')
    arguments = "--rows 3000 --features 5 --partitions 4 --rounds 1 --model SparseOAUCM"
    text = output("distributed", *arguments.split())
    assert "SparseOAUCM from 3,000 rows of 5 columns: Parquet in 4 partitions of\n0.0 MiB" in text
    found, ratio = figures(text)
    assert list(found) == [1, 2]
    for seconds, rows_per_second, before, at_most, _ in found.values():
        assert rows_per_second == pytest.approx(3000 / seconds, rel=0.1)
        assert 10 < before <= at_most < 10_000
    assert ratio == pytest.approx(found[1][0] / found[2][0], rel=0.1)


@pytest.mark.slow
def test_two_processes_are_faster_and_memory_is_bounded() -> None:
    """Learn two million rows of 20 columns, on a machine with two free cores."""
    pytest.importorskip("distributed", reason='needs the extra "distributed"')
    found, ratio = figures(output("distributed"))
    assert ratio >= 1.6
    # Of forty; Arrow alone takes five or six times a partition to read it.
    assert all(partitions < 15 for *_, partitions in found.values())
