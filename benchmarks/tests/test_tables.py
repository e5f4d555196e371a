"""`python -m benchmarks tables`, and the processes that run its cells."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest
from threadpoolctl import threadpool_info

from benchmarks.__main__ import main
from benchmarks.datasets import Dataset, data_directory
from benchmarks.paper.methods import TABLES
from benchmarks.paper.protocol import Cell, Outcome, run_cell
from benchmarks.workers import run_cells
from river_oauc.cli.messages import UserError

# `segment` needs no file but river's own.
SMALL = ["--datasets", "segment", "--methods", "perceptron", "pa-i"]
T = TypeVar("T")

FILES = ["linear-ranks.png", "linear-results.jsonl", "linear.csv", "linear.md", "linear.png"]


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


# Output ------------------------------------------------------------------------------------------


def test_table_is_written_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "directory"
    assert main(["tables", "linear", *SMALL, "--runs", "2", "--out", str(out)]) == 0
    assert sorted(contents(out)) == FILES
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "Perceptron" in shown.out and "segment" in shown.out and "70.35" in shown.out
    assert "Means of 2 runs, tuned over powers of 2." in shown.out
    for file in FILES:
        assert (str(out / file) in shown.out) == (file != "linear-results.jsonl")

    cells = [json.loads(line) for line in (out / FILES[1]).read_text().splitlines()[1:]]
    assert [(cell["method"], cell["run"]) for cell in cells] == [
        (method, run) for run in range(2) for method in ("Perceptron", "PA-I")
    ]
    table = TABLES["linear"]()
    for cell in cells:
        outcome = run_cell(table, Cell(cell["dataset"], cell["method"], cell["run"]))
        assert outcome == Outcome(cell["auc"], cell["setting"])


@pytest.mark.skipif(data_directory() is None, reason="RIVER_OAUC_DATA is not set")
def test_kernel_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--datasets", "heart", "--runs", "1", "--grid-step", "10"]
    assert main(["tables", "kernel", *arguments, "--out", str(tmp_path)]) == 0
    assert "one in 10 powers of 2, at most 10,000" in capsys.readouterr().out
    assert sorted(contents(tmp_path)) == [file.replace("linear", "kernel") for file in FILES]
    # OKAUC-Mc is not in the paper.
    paper = contents(tmp_path)["kernel.md"].decode().partition("## The paper's")[2]
    assert re.search(r"^\| heart \| \d.* \| \d.* \| – \| \d.* \|$", paper, re.MULTILINE)


def test_killed_and_resumed_ends_with_the_same_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    arguments = ["tables", "linear", *SMALL, "--runs", "2", "--out"]
    assert main([*arguments, str(whole)]) == 0
    results = (whole / FILES[1]).read_bytes()
    killed.mkdir()
    # In the middle of the third of four runs.
    (killed / FILES[1]).write_bytes(results[: results.rindex(b"\n", 0, -1) - 20])
    assert main([*arguments, str(killed)]) == 0
    assert "2 of 4 runs are there already" in capsys.readouterr().out
    assert contents(killed) == contents(whole)


def test_a_set_that_cannot_be_downloaded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: object) -> None:
        raise UserError("no network")

    monkeypatch.setenv("RIVER_OAUC_DATA", "")
    monkeypatch.setattr("benchmarks.datasets.dataset.CACHE", tmp_path / "nothing")
    monkeypatch.setattr(Dataset, "download", refuse)
    out = tmp_path / "out"
    assert main(["tables", "linear", "--datasets", "heart", "--out", str(out)]) == 2
    assert capsys.readouterr().err == "python -m benchmarks: no network\n"
    assert not out.exists()


# Workers -----------------------------------------------------------------------------------------

CELLS = [Cell("segment", method, run) for run in range(2) for method in ("Perceptron", "PA-I")]


def test_processes_find_what_one_process_finds_in_one_thread() -> None:
    others = set(multiprocessing.active_children())
    alone = list(run_cells(_outcome_and_threads, CELLS, jobs=1))
    assert [cell for cell, _ in alone] == CELLS
    assert {threads for _, (_, threads) in alone} == {1}
    assert dict(run_cells(_outcome_and_threads, CELLS, jobs=2)) == dict(alone)
    assert set(multiprocessing.active_children()) <= others


def _outcome_and_threads(cell: Cell) -> tuple[Outcome, int]:
    threads = max(pool["num_threads"] for pool in threadpool_info())
    return run_cell(TABLES["linear"](), cell), threads


@pytest.mark.slow
def test_a_damaged_set_and_a_killed_worker_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, others = TABLES["linear"](), set(multiprocessing.active_children())
    cells = [Cell("segment", method.name, run) for run in range(2) for method in table.methods]
    finished = run_cells(partial(run_cell, table), cells, jobs=2)
    next(finished)
    victim = (set(multiprocessing.active_children()) - others).pop()
    victim.kill()
    with pytest.raises(UserError, match="a worker process has died"):
        list(finished)

    (tmp_path / "fourclass.svm.xz").write_bytes(b"nonsense")
    monkeypatch.setenv("RIVER_OAUC_DATA", str(tmp_path))
    cells = [Cell("fourclass", "Perceptron", run) for run in range(2)]
    for jobs in (1, 2):
        with pytest.raises(UserError, match=r"fourclass\.svm\.xz is damaged"):
            list(run_cells(partial(run_cell, table), cells, jobs))
    assert set(multiprocessing.active_children()) <= others


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for processes in /proc")
def test_workers_die_with_a_killed_parent(tmp_path: Path) -> None:
    # A cell takes more than a minute.
    arguments = "tables kernel --datasets segment --methods okauc-s --grid-step 1 --jobs 2 --out"
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks", *arguments.split(), tmp_path],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        # multiprocessing starts a resource tracker beside the two workers.
        children = wait_for(lambda: [pid for pid in _children(process.pid) if _is_worker(pid)])
        # By then they have finished importing.
        wait_for(lambda: min(map(_seconds_of_work, children)) > 2.5)
    finally:
        process.kill()
        process.wait()
    wait_for(lambda: not any(map(_is_worker, children)), seconds=20)


def wait_for(condition: Callable[[], T], seconds: float = 60) -> T:
    """Wait until the condition holds and return its value."""
    deadline = time.monotonic() + seconds
    while not (answer := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return answer


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _is_worker(pid: int) -> bool:
    try:
        return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _seconds_of_work(pid: int) -> float:
    ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11]
    return int(ticks) / os.sysconf("SC_CLK_TCK")
