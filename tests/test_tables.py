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
from benchmarks.paper import command as tables
from benchmarks.paper.methods import TABLES
from benchmarks.paper.protocol import Cell, Outcome, run_cell
from benchmarks.workers import run_cells
from river_oauc.cli.console.errors import UserError
from river_oauc.datasets import BENCHMARKS, DatasetError

# `segment` needs no file but river's own.
SMALL = ["--datasets", "segment", "--methods", "perceptron", "pa-i"]
T = TypeVar("T")

FILES = ["linear-ranks.png", "linear-results.jsonl", "linear.csv", "linear.md", "linear.png"]


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "benchmarks", "tables", *arguments]


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def in_order(files: dict[str, bytes]) -> dict[str, object]:
    """Sort the lines of the results, which are in the order in which the runs finished."""
    return {**files, FILES[1]: sorted(files[FILES[1]].splitlines())}


def lines(directory: Path) -> list[bytes]:
    """Return the finished lines of the file of results, without the header."""
    path = directory / "linear-results.jsonl"
    content = path.read_bytes() if path.exists() else b""
    return content[: content.rfind(b"\n") + 1].splitlines()[1:]


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

    cells = [json.loads(line) for line in lines(out)]
    assert [(cell["method"], cell["run"]) for cell in cells] == [
        (method, run) for run in range(2) for method in ("Perceptron", "PA-I")
    ]
    table = TABLES["linear"]()
    for cell in cells:
        outcome = run_cell(table, Cell(cell["dataset"], cell["method"], cell["run"]))
        assert outcome == Outcome(cell["auc"], cell["setting"])


def test_finished_runs_are_not_repeated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["tables", "linear", *SMALL, "--out", str(tmp_path)]
    assert main([*arguments, "--runs", "1"]) == 0
    run: list[Cell] = []
    monkeypatch.setattr(
        tables, "run_cells", lambda run_cell, cells, jobs: run.extend(cells) or iter(())
    )
    assert main([*arguments, "--runs", "1"]) == 0
    assert run == []
    assert "2 of 2 runs are there already" in capsys.readouterr().out

    before = contents(tmp_path)
    with pytest.raises(KeyError):
        main([*arguments, "--runs", "2"])
    assert run == [Cell("segment", "Perceptron", 1), Cell("segment", "PA-I", 1)]
    assert contents(tmp_path) == before


def test_kernel_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if "RIVER_OAUC_DATA" not in os.environ:
        pytest.skip("needs the benchmark sets: set RIVER_OAUC_DATA")
    arguments = ["--datasets", "heart", "--runs", "1", "--grid-step", "10"]
    assert main(["tables", "kernel", *arguments, "--out", str(tmp_path)]) == 0
    assert "one in 10 powers of 2, at most 10,000" in capsys.readouterr().out
    assert sorted(contents(tmp_path)) == [file.replace("linear", "kernel") for file in FILES]
    # OKAUC-Mc is not in the paper.
    paper = contents(tmp_path)["kernel.md"].decode().partition("## The paper's")[2]
    assert re.search(r"^\| heart \| \d.* \| \d.* \| – \| \d.* \|$", paper, re.MULTILINE)


# Killed and started again ------------------------------------------------------------------------

NINE_RUNS = ["linear", *SMALL, "oauc-m", "--runs", "3"]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return the files of nine runs in one process."""
    out = tmp_path_factory.mktemp("undisturbed")
    assert main(["tables", *NINE_RUNS, "--out", str(out)]) == 0
    return contents(out)


def test_killed_and_resumed_ends_with_the_same_bytes(
    tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    """Kill it twice, with one process at work and with two."""
    killed = tmp_path / "killed"
    arguments = [*NINE_RUNS, "--out", str(killed), "--jobs"]
    for jobs, n_lines in (("1", 2), ("2", 5)):
        process = subprocess.Popen(
            command(*arguments, jobs), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_for(lambda n_lines=n_lines: len(lines(killed)) >= n_lines)
        process.kill()
        process.wait()
        assert n_lines <= len(lines(killed)) < 9
        assert sorted(contents(killed)) == ["linear-results.jsonl"]

    # And an unfinished line.
    with (killed / "linear-results.jsonl").open("ab") as file:
        file.write(b'{"dataset": "segment", "meth')
    resumed = subprocess.run(command(*arguments, "2"), capture_output=True, text=True)
    assert resumed.returncode == 0, resumed.stderr
    assert "of 9 runs are there already" in resumed.stdout
    assert sorted(contents(killed)) == FILES
    assert in_order(contents(killed)) == in_order(undisturbed)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for processes in /proc")
def test_workers_die_with_a_killed_parent(tmp_path: Path) -> None:
    # A cell takes more than a minute.
    arguments = ["kernel", "--datasets", "segment", "--methods", "okauc-s", "--grid-step", "1"]
    process = subprocess.Popen(
        command(*arguments, "--jobs", "2", "--out", str(tmp_path)),
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


# Failures ----------------------------------------------------------------------------------------


def test_a_set_that_cannot_be_downloaded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: object, verbose: bool = True) -> None:
        raise DatasetError("no network")

    monkeypatch.delenv("RIVER_OAUC_DATA", raising=False)
    monkeypatch.setenv("RIVER_DATA", str(tmp_path / "nothing"))
    monkeypatch.setattr(BENCHMARKS["heart"], "download", refuse)
    out = tmp_path / "out"
    assert main(["tables", "linear", "--datasets", "heart", "--out", str(out)]) == 2
    assert capsys.readouterr().err == "python -m benchmarks: no network\n"
    assert not out.exists()


# Workers -----------------------------------------------------------------------------------------

CELLS = [Cell("segment", method, run) for run in range(2) for method in ("Perceptron", "PA-I")]


def test_processes_find_what_one_process_finds() -> None:
    run, others = partial(run_cell, TABLES["linear"]()), set(multiprocessing.active_children())
    alone = list(run_cells(run, CELLS, jobs=1))
    assert [cell for cell, _ in alone] == CELLS
    assert dict(run_cells(run, CELLS, jobs=2)) == dict(alone)
    assert set(multiprocessing.active_children()) <= others


def test_a_damaged_set_is_reported_by_any_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fourclass.svm.xz").write_bytes(b"nonsense")
    monkeypatch.setenv("RIVER_OAUC_DATA", str(tmp_path))
    cells = [Cell("fourclass", "Perceptron", run) for run in range(2)]
    others = set(multiprocessing.active_children())
    for jobs in (1, 2):
        with pytest.raises(DatasetError, match=r"fourclass\.svm\.xz cannot be used"):
            list(run_cells(partial(run_cell, TABLES["linear"]()), cells, jobs))
    assert set(multiprocessing.active_children()) <= others


def test_a_killed_worker_is_reported() -> None:
    table = TABLES["linear"]()
    cells = [Cell("segment", method.name, run) for run in range(2) for method in table.methods]
    others = set(multiprocessing.active_children())
    finished = run_cells(partial(run_cell, table), cells, jobs=2)
    next(finished)
    victim = (set(multiprocessing.active_children()) - others).pop()
    victim.kill()
    with pytest.raises(UserError, match="a worker process has died"):
        list(finished)
    assert set(multiprocessing.active_children()) <= others


@pytest.mark.parametrize("jobs", [1, 2])
def test_blas_has_one_thread(jobs: int) -> None:
    assert dict(run_cells(_n_threads, CELLS, jobs)) == dict.fromkeys(CELLS, 1)


def _n_threads(cell: Cell) -> int:
    return max(pool["num_threads"] for pool in threadpool_info())
