"""`river-oauc distributed`: the table that it writes, and what it prints."""

from __future__ import annotations

import pathlib
import re

import pandas as pd
import pytest
from test_cli import run_python

from benchmarks.distributed import write_table
from river_oauc.cli.main import main
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


def figures(output: str) -> tuple[dict[int, list[float]], float]:
    """Seconds, rows per second, memory and partitions by processes, and the ratio."""
    rows = re.findall(r"^(\d)((?: +[\d.,-]+){5})$", output, re.MULTILINE)
    (ratio,) = re.findall(r"Two processes are ([\d.]+) times as fast as one", output)
    return {int(n): [float(x.replace(",", "")) for x in row.split()] for n, row in rows}, float(
        ratio
    )


def test_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed", reason='needs the extra "distributed"')
    arguments = "--rows 3000 --features 5 --partitions 4 --rounds 1 --model SparseOAUCM"
    assert main(["distributed", *arguments.split()]) == 0
    output, errors = capsys.readouterr()
    assert errors == ""
    assert "SparseOAUCM from 3,000 rows of 5 columns: Parquet in 4 partitions of\n0.0 MiB" in output
    found, ratio = figures(output)
    assert list(found) == [1, 2]
    for seconds, rows_per_second, before, at_most, _ in found.values():
        assert rows_per_second == pytest.approx(3000 / seconds, rel=0.1)
        assert 10 < before <= at_most < 10_000
    assert ratio == pytest.approx(found[1][0] / found[2][0], rel=0.1)


@pytest.mark.slow
def test_two_processes_are_faster_and_memory_is_bounded(capsys: pytest.CaptureFixture[str]) -> None:
    """Two million rows of 20 columns; on a machine with two free cores."""
    pytest.importorskip("distributed", reason='needs the extra "distributed"')
    assert main(["distributed"]) == 0
    found, ratio = figures(capsys.readouterr().out)
    assert ratio >= 1.6
    # Of forty; Arrow alone takes five or six times a partition to read it.
    assert all(partitions < 15 for *_, partitions in found.values())


def test_without_the_extra() -> None:
    done = run_python(
        "import sys; sys.modules['dask'] = None\n"
        "from river_oauc.cli.main import main\n"
        "sys.exit(main(['distributed']))"
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        'river-oauc: install the extra with `pip install "river-oauc[distributed]"`\n'
    )


@pytest.mark.parametrize("option", ["--rows", "--features", "--partitions", "--rounds"])
def test_what_argparse_refuses(capsys: pytest.CaptureFixture[str], option: str) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["distributed", option, "0"])
    assert exit_.value.code == 2
    assert "is not a whole number from 1" in capsys.readouterr().err
