"""`river-oauc tables` from the outside, and what runs its cells."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest
from threadpoolctl import threadpool_info

from benchmarks.paper import command as tables
from benchmarks.paper import workers
from benchmarks.paper.methods import TABLES, Table
from benchmarks.paper.protocol import Cell, Outcome, run_cell
from benchmarks.paper.workers import run_cells
from river_oauc.cli.console.errors import UserError
from river_oauc.cli.main import main
from river_oauc.datasets import BENCHMARKS, DatasetError

# `segment` needs no file but river's own.
SMALL = ["--datasets", "segment", "--methods", "perceptron", "pa-i"]
T = TypeVar("T")

FILES = ["linear-ranks.png", "linear-results.jsonl", "linear.csv", "linear.md", "linear.png"]


def command(*arguments: str) -> list[str]:
    program = "import sys; from river_oauc.cli.main import main; sys.exit(main())"
    return [sys.executable, "-c", program, "tables", *arguments]


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def in_order(files: dict[str, bytes]) -> dict[str, object]:
    """The same, but for the order of the lines of results, in which the runs have finished."""
    return {**files, FILES[1]: sorted(files[FILES[1]].splitlines())}


def lines(directory: Path) -> list[bytes]:
    """The finished lines of the file of results, without the first."""
    path = directory / "linear-results.jsonl"
    content = path.read_bytes() if path.exists() else b""
    return content[: content.rfind(b"\n") + 1].splitlines()[1:]


# What it writes ----------------------------------------------------------------------------------


def test_table_is_written_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "directory"
    assert main(["tables", "linear", *SMALL, "--runs", "2", "--out", str(out)]) == 0
    assert sorted(contents(out)) == FILES
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "Perceptron" in shown.out and "segment" in shown.out and "70.35" in shown.out
    assert "Means of 2 runs, tuned over the paper's grids." in shown.out
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


def test_what_is_there_is_not_run_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["tables", "linear", *SMALL, "--out", str(tmp_path)]
    assert main([*arguments, "--runs", "1"]) == 0
    run: list[Cell] = []
    monkeypatch.setattr(
        tables, "run_cells", lambda table, cells, jobs: run.extend(cells) or iter(())
    )
    assert main([*arguments, "--runs", "1"]) == 0
    assert run == []
    assert "2 of 2 runs are there already" in capsys.readouterr().out

    before = contents(tmp_path)
    with pytest.raises(KeyError):
        main([*arguments, "--runs", "2"])
    assert run == [Cell("segment", "Perceptron", 1), Cell("segment", "PA-I", 1)]
    assert contents(tmp_path) == before


def test_numbers_stay_whole_on_a_narrow_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    methods = ["perceptron", "pa-i", "oam-wide", "ol-ubauc"]
    arguments = ["--datasets", "segment", "--methods", *methods, "--runs", "1", "--grid-step", "10"]
    shown = {}
    for width in ("40", "200"):
        monkeypatch.setenv("COLUMNS", width)
        assert main(["tables", "linear", *arguments, "--out", str(tmp_path)]) == 0
        shown[width] = capsys.readouterr().out.partition("Means of")[0]
        assert max(map(len, shown[width].splitlines())) <= int(width)
    numbers = {width: re.findall(r"\d+\.\d+", text) for width, text in shown.items()}
    assert len(numbers["200"]) == 11
    assert sorted(numbers["40"]) == sorted(numbers["200"])


def test_more_methods_later_make_the_same_files(tmp_path: Path) -> None:
    for methods in (["pa-i"], ["perceptron"], ["perceptron", "pa-i"]):
        arguments = ["--datasets", "segment", "--methods", *methods, "--runs", "2"]
        assert main(["tables", "linear", *arguments, "--out", str(tmp_path / "parts")]) == 0
    assert main(["tables", "linear", *SMALL, "--runs", "2", "--out", str(tmp_path / "whole")]) == 0
    assert in_order(contents(tmp_path / "parts")) == in_order(contents(tmp_path / "whole"))


def test_kernel_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if "RIVER_OAUC_DATA" not in os.environ:
        pytest.skip("needs the benchmark sets: set RIVER_OAUC_DATA")
    arguments = ["--datasets", "heart", "--runs", "1", "--grid-step", "10"]
    assert main(["tables", "kernel", *arguments, "--out", str(tmp_path)]) == 0
    assert "one in 10 powers of 2 of the paper's grids, at most 10,000" in capsys.readouterr().out
    assert sorted(contents(tmp_path)) == [file.replace("linear", "kernel") for file in FILES]
    text = contents(tmp_path)["kernel.md"].decode()
    assert "| set | KOIL | OKAUC-S | OKAUC-Mc | OKAUC-M |" in text
    # The paper has no such column.
    paper = text.partition("## The paper's")[2]
    (row,) = re.findall(r"^\| heart \|.*$", paper.partition("##")[0], re.MULTILINE)
    assert [cell.strip() == "–" for cell in row.split("|")[2:-1]] == [False, False, True, False]


# Killed and started again ------------------------------------------------------------------------


NINE_RUNS = ["linear", *SMALL, "oauc-m", "--runs", "3"]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of nine runs in one process."""
    out = tmp_path_factory.mktemp("undisturbed")
    assert main(["tables", *NINE_RUNS, "--out", str(out)]) == 0
    return contents(out)


def test_killed_and_resumed_ends_with_the_same_bytes(
    tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    """Twice, with one process at work and with two."""
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

    # And a line that was being written.
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
        # multiprocessing has a tracker of resources beside the two workers.
        children = wait_for(lambda: [pid for pid in _children(process.pid) if _is_worker(pid)])
        # By then they have imported what they need, and are at work.
        wait_for(lambda: min(map(_seconds_of_work, children)) > 4.0)
    finally:
        process.kill()
        process.wait()
    wait_for(lambda: not any(map(_is_worker, children)), seconds=20)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for processes in /proc")
def test_interrupted_while_the_workers_start(tmp_path: Path) -> None:
    """A terminal interrupts all of them; none must print what it was just importing."""
    process = subprocess.Popen(
        command("linear", *SMALL, "--jobs", "2", "--out", str(tmp_path)),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Whatever a shell in the background starts ignores interrupts, and so would the command.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        # Whoever waits for both finds them before they have imported anything.
        workers = wait_for(
            lambda: (found := list(filter(_is_worker, _children(process.pid))))[1:] and found
        )
        assert all(map(_never_sees_interrupts, workers))
        os.killpg(process.pid, signal.SIGINT)
        _, error = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, error) == (130, "river-oauc: interrupted\n")
    assert lines(tmp_path) == []
    assert not any(map(_is_worker, workers))


def wait_for(condition: Callable[[], T], seconds: float = 60) -> T:
    """What the condition says as soon as it is not nothing."""
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


def _never_sees_interrupts(pid: int) -> bool:
    status = dict(
        line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    return bool(int(status["SigBlk"], 16) >> (signal.SIGINT - 1) & 1)


def _seconds_of_work(pid: int) -> float:
    ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11]
    return int(ticks) / os.sysconf("SC_CLK_TCK")


def test_interrupted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(table: Table, cells: Sequence[Cell], jobs: int) -> Iterator[Any]:
        yield next(run_cells(table, cells, jobs))
        raise KeyboardInterrupt

    monkeypatch.setattr(tables, "run_cells", interrupted)
    assert main(["tables", "linear", *SMALL, "--runs", "1", "--out", str(tmp_path)]) == 130
    assert "river-oauc: interrupted\n" in capsys.readouterr().err
    assert len(lines(tmp_path)) == 1


# What it refuses ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["linear", "--datasets", "hart"], "unknown set 'hart' (did you mean 'heart'?); the known"),
        (["linear", "--datasets", "heart", "x"], "unknown set 'x'; the known ones are splice, "),
        (["linear", "--datasets", ""], "unknown set ''; the known ones are splice, "),
        (["linear", "--methods", "oauc-x"], "unknown method 'oauc-x' (did you mean 'OAUC-"),
        (["linear", "--methods", "KOIL"], "unknown method 'KOIL'"),
        (["kernel", "--methods", "OAUC-M"], "unknown method 'OAUC-M' (did you mean 'OKAUC-M'?)"),
    ],
)
def test_bad_arguments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["tables", *arguments, "--out", str(tmp_path / "out")]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"river-oauc: {message}")
    assert shown.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["both"],
        ["linear", "--runs", "0"],
        ["linear", "--runs", "1001"],
        ["linear", "--jobs", "x"],
        ["linear", "--datasets"],
    ],
)
def test_what_argparse_refuses(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["tables", *arguments])
    assert exit_.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("river-oauc tables: ")
    assert error.endswith("; see river-oauc tables --help\n")
    assert error.count("\n") == 1


def test_a_directory_that_cannot_be_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    for out, reason in ((tmp_path / "file", "File exists"), (tmp_path / "file" / "x", "Not a dir")):
        assert main(["tables", "linear", *SMALL, "--out", str(out)]) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"river-oauc: {out}: {reason}")
        assert error.count("\n") == 1


@pytest.mark.parametrize(
    "content", [b"dear diary\n", b'{"format": 1, "table": "linear", "seed": 41}\n']
)
def test_a_foreign_file_of_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    path = tmp_path / "linear-results.jsonl"
    path.write_bytes(content)
    assert main(["tables", "linear", *SMALL, "--runs", "1", "--out", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"river-oauc: {path} ") and error.endswith("choose another --out\n")
    assert error.count("\n") == 1
    assert contents(tmp_path) == {path.name: content}


def test_other_settings_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["tables", "linear", *SMALL, "--runs", "1", "--out", str(tmp_path)]
    assert main(arguments) == 0
    before = contents(tmp_path)
    capsys.readouterr()
    assert main([*arguments, "--grid-step", "2"]) == 2
    assert "(grid_step, grids); choose another --out" in capsys.readouterr().err
    assert contents(tmp_path) == before


def test_a_figure_that_cannot_be_written_costs_no_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "linear.png").mkdir()
    assert main(["tables", "linear", *SMALL, "--runs", "1", "--out", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error == f"river-oauc: {tmp_path / 'linear.png'}: Is a directory\n"
    assert len(lines(tmp_path)) == 2


def test_a_set_that_is_not_to_be_had(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: object, verbose: bool = True) -> None:
        raise DatasetError("no network")

    monkeypatch.delenv("RIVER_OAUC_DATA", raising=False)
    monkeypatch.setenv("RIVER_DATA", str(tmp_path / "nothing"))
    monkeypatch.setattr(BENCHMARKS["heart"], "download", refuse)
    out = tmp_path / "out"
    assert main(["tables", "linear", "--datasets", "heart", "--out", str(out)]) == 2
    assert capsys.readouterr().err == "river-oauc: no network\n"
    assert not out.exists()


# Workers -----------------------------------------------------------------------------------------

CELLS = [Cell("segment", method, run) for run in range(2) for method in ("Perceptron", "PA-I")]


def test_processes_find_what_one_process_finds() -> None:
    table = TABLES["linear"]()
    alone = list(run_cells(table, CELLS, jobs=1))
    assert [cell for cell, _ in alone] == CELLS
    assert dict(run_cells(table, CELLS, jobs=2)) == dict(alone)
    assert multiprocessing.active_children() == []


def test_nothing_to_run() -> None:
    assert list(run_cells(TABLES["linear"](), [], jobs=2)) == []


def test_a_damaged_set_is_said_by_any_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fourclass.svm.xz").write_bytes(b"nonsense")
    monkeypatch.setenv("RIVER_OAUC_DATA", str(tmp_path))
    cells = [Cell("fourclass", "Perceptron", run) for run in range(2)]
    for jobs in (1, 2):
        with pytest.raises(DatasetError, match=r"fourclass\.svm\.xz cannot be used"):
            list(run_cells(TABLES["linear"](), cells, jobs))
    assert multiprocessing.active_children() == []


def test_a_worker_that_is_killed_is_said() -> None:
    table = TABLES["linear"]()
    cells = [Cell("segment", method.name, run) for run in range(2) for method in table.methods]
    finished = run_cells(table, cells, jobs=2)
    next(finished)
    victim = multiprocessing.active_children()[0]
    os.kill(victim.pid, signal.SIGKILL)
    with pytest.raises(UserError, match="a worker process has died"):
        list(finished)
    assert multiprocessing.active_children() == []


def test_blas_has_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def count(table: Table, cell: Cell) -> Outcome:
        threads = [pool["num_threads"] for pool in threadpool_info()]
        return Outcome(float(max(threads)), {})

    monkeypatch.setattr(workers, "run_cell", count)
    ((_, outcome),) = run_cells(TABLES["linear"](), CELLS[:1], jobs=1)
    assert outcome.auc == 1.0
