"""The file of results: nothing lost, nothing overwritten, nothing believed that is damaged."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from river_oauc.experiments.console.errors import UserError
from river_oauc.experiments.console.files import replace_file
from river_oauc.experiments.paper import protocol
from river_oauc.experiments.paper.methods import TABLES, Table
from river_oauc.experiments.paper.protocol import Cell, Outcome
from river_oauc.experiments.paper.results import ResultsFile, header

TABLE = TABLES["linear"]()
OUTCOMES = {
    Cell("heart", "OAUC-M", 1): Outcome(0.9012345678901234, {"l2": 0.25}),
    Cell("splice", "OAUC-S", 0): Outcome(0.5, {"l2": 2.0**-10, "lr": 8.0}),
    Cell("heart", "Perceptron", 0): Outcome(1.0, {}),
    Cell("heart", "OAUC-M", 0): Outcome(0.75, {"l2": 1.0}),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "linear-results.jsonl"


def fill(path: Path, table: Table = TABLE) -> None:
    with ResultsFile(path, table) as results:
        for cell, outcome in OUTCOMES.items():
            results.add(cell, outcome)


def read(path: Path) -> dict[Cell, Outcome]:
    with ResultsFile(path, TABLE) as results:
        return results.outcomes


def test_what_is_added_is_there_next_time(path: Path) -> None:
    fill(path)
    assert read(path) == OUTCOMES


def test_an_outcome_is_on_the_disk_at_once(path: Path) -> None:
    with ResultsFile(path, TABLE) as results:
        results.add(Cell("heart", "OAUC-M", 0), Outcome(0.75, {"l2": 1.0}))
        first, second = path.read_text().splitlines()
    assert json.loads(first) == header(TABLE)
    assert json.loads(second) == {
        "dataset": "heart",
        "method": "OAUC-M",
        "run": 0,
        "auc": 0.75,
        "setting": {"l2": 1.0},
    }


def test_sorted_file_does_not_depend_on_the_order(tmp_path: Path) -> None:
    contents = []
    for number, cells in enumerate((list(OUTCOMES), list(reversed(OUTCOMES)))):
        path = tmp_path / f"{number}.jsonl"
        with ResultsFile(path, TABLE) as results:
            for cell in cells:
                results.add(cell, OUTCOMES[cell])
            results.sort()
        contents.append(path.read_bytes())
        assert read(path) == OUTCOMES
    assert contents[0] == contents[1]
    cells = [json.loads(line) for line in contents[0].splitlines()[1:]]
    assert [(cell["dataset"], cell["method"], cell["run"]) for cell in cells] == [
        ("splice", "OAUC-S", 0),
        ("heart", "Perceptron", 0),
        ("heart", "OAUC-M", 0),
        ("heart", "OAUC-M", 1),
    ]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["0.jsonl", "1.jsonl"]


def test_cut_at_any_byte(path: Path) -> None:
    """Whatever a kill leaves of the file, the whole lines count and the rest can be added again."""
    fill(path)
    whole = path.read_bytes()
    n_header = whole.index(b"\n") + 1
    for end in [*range(0, 60), *range(n_header - 2, len(whole) + 1)]:
        path.write_bytes(whole[:end])
        with ResultsFile(path, TABLE) as results:
            # A line that lacks nothing but its end is whole.
            n_lines = max(whole[: end + 1].count(b"\n") - 1, 0)
            assert list(results.outcomes) == list(OUTCOMES)[:n_lines]
            for cell, outcome in OUTCOMES.items():
                if cell not in results.outcomes:
                    results.add(cell, outcome)
        assert path.read_bytes() == whole


@given(st.binary(min_size=1, max_size=200).filter(lambda content: content != b"{"))
def test_any_other_file_is_refused_and_left_alone(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.mktemp("foreign") / "results.jsonl"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"is not a file of results; choose another --out$"):
        read(path)
    assert path.read_bytes() == content


def test_a_file_of_other_settings_is_refused_and_left_alone(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(path)
    before = path.read_bytes()
    for table, difference in (
        (TABLES["linear"](2), r"grid_step 1 there, 2 here, other grids"),
        (TABLES["kernel"](1), r"table linear there, kernel here, .*other grids"),
    ):
        with pytest.raises(UserError, match=rf"other settings \({difference}\)"):
            ResultsFile(path, table).__enter__()
    monkeypatch.setattr(protocol, "SEED", 43)
    with pytest.raises(UserError, match=r"other settings \(seed 42 there, 43 here\); choose"):
        ResultsFile(path, TABLE).__enter__()
    assert path.read_bytes() == before


def test_a_table_may_get_more_methods_but_not_fewer(path: Path) -> None:
    smaller = dataclasses.replace(TABLE, methods=TABLE.methods[:-1])
    with ResultsFile(path, smaller) as results:
        for cell, outcome in OUTCOMES.items():
            results.add(cell, outcome)
        results.sort()
    with ResultsFile(path, TABLE) as results:
        assert results.outcomes == OUTCOMES
        results.sort()
    with pytest.raises(UserError, match=r"other settings \(other grids\)"):
        ResultsFile(path, smaller).__enter__()
    assert read(path) == OUTCOMES


def line_with(**changes: object) -> bytes:
    """The line of an outcome, changed."""
    content = {"dataset": "heart", "method": "OAUC-M", "run": 0, "auc": 0.7, "setting": {"l2": 1.0}}
    return json.dumps(content | changes).encode()


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"\xff",
        b"[" * 100_000,
        line_with()[:-20],
        line_with(dataset="hearts"),
        line_with(dataset=[]),
        line_with(method="OAUC"),
        line_with(method={}),
        line_with(run=1_000),
        line_with(run=-1),
        line_with(run=0.0),
        line_with(run=True),
        line_with(auc=1.7),
        line_with(auc=math.nan),
        line_with(auc=True),
        line_with(auc="x"),
        line_with(setting=1.0),
        line_with(setting={"C": 1.0}),
        line_with(setting={"l2": "x"}),
        line_with(setting={"l2": [1.0]}),
        line_with(setting={"l2": -1.0}),
        line_with(setting={"l2": 3.0}),
        # Both are in the grid, but not together: their product is 2.
        line_with(method="OAUC-Mc", setting={"l2": 1.0, "lr": 2.0}),
        line_with(note="the good one"),
    ],
)
def test_a_damaged_line_is_named_and_nothing_is_lost(path: Path, line: bytes) -> None:
    fill(path)
    first, *others = path.read_bytes().splitlines()
    damaged = b"\n".join([first, others[0], line, *others[1:], b""])
    path.write_bytes(damaged)
    with pytest.raises(UserError, match=r"line 3 is damaged; remove that line"):
        read(path)
    assert path.read_bytes() == damaged


def test_a_line_that_stands_twice_counts_once(path: Path) -> None:
    fill(path)
    whole = path.read_bytes()
    path.write_bytes(whole + b"".join(whole.splitlines(keepends=True)[2:4]))
    with ResultsFile(path, TABLE) as results:
        assert results.outcomes == OUTCOMES
        results.sort()
    assert sorted(path.read_bytes().splitlines()) == sorted(whole.splitlines())


def test_of_two_lines_that_contradict_none_is_dropped(path: Path) -> None:
    fill(path)
    before = path.read_bytes() + line_with(run=1, auc=0.25) + b"\n"
    path.write_bytes(before)
    with pytest.raises(UserError, match="line 6 contradicts line 2; remove one of them"):
        read(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("tail", [b"dear diary", b"\0\0\0", b'{"data": 1}', line_with(auc=2.0)])
def test_an_end_that_is_not_ours_is_left_alone(path: Path, tail: bytes) -> None:
    fill(path)
    before = path.read_bytes() + tail
    path.write_bytes(before)
    with pytest.raises(UserError, match="line 6 is damaged"):
        read(path)
    assert path.read_bytes() == before


@pytest.mark.skipif(sys.platform == "win32", reason="no locks there")
def test_one_process_at_a_time(path: Path) -> None:
    program = (
        "import pathlib, sys\n"
        "from river_oauc.experiments.console.errors import UserError\n"
        "from river_oauc.experiments.paper.methods import TABLES\n"
        "from river_oauc.experiments.paper.results import ResultsFile\n"
        "try:\n"
        "    with ResultsFile(pathlib.Path(sys.argv[1]), TABLES['linear']()):\n"
        "        print('opened')\n"
        "except UserError as error:\n"
        "    print(error)\n"
    )
    command = [sys.executable, "-c", program, str(path)]
    with ResultsFile(path, TABLE):
        refused = subprocess.run(command, capture_output=True, text=True, check=True)
    assert refused.stdout == (
        f"{path} is being written by another process; wait for its end, or choose another --out\n"
    )
    opened = subprocess.run(command, capture_output=True, text=True, check=True)
    assert opened.stdout == "opened\n"


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file" / "results.jsonl", tmp_path / "none" / "r.jsonl"):
        with pytest.raises(UserError, match=r"can't be read or written: (Is|Not|No such)"):
            read(path)


@contextlib.contextmanager
def disk_that_ends_at(size: int) -> Iterator[None]:
    resource = pytest.importorskip("resource", reason="no limits on this system")
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)


def test_a_full_disk_costs_no_result(path: Path) -> None:
    fill(path)
    cell, outcome = Cell("heart", "OAUC-M", 2), Outcome(0.75, {"l2": 1.0})
    # Room for a part of the line.
    with disk_that_ends_at(path.stat().st_size + 10):
        with pytest.raises(UserError, match="can't be read or written: File too large"):
            with ResultsFile(path, TABLE) as results:
                results.add(cell, outcome)
    assert results.outcomes == read(path) == OUTCOMES
    with ResultsFile(path, TABLE) as results:
        results.add(cell, outcome)
    assert read(path) == {**OUTCOMES, cell: outcome}


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_replacing_a_file_leaves_the_old_one_if_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    def fail(file: int) -> None:
        raise error

    path = tmp_path / "table.md"
    replace_file(path, b"old")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(error):
        replace_file(path, b"new")
    assert [file.name for file in tmp_path.iterdir()] == ["table.md"]
    assert path.read_bytes() == b"old"
