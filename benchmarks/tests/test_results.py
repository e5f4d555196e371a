"""The journal of results: no finished run is lost, and only one process writes."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.paper import protocol
from benchmarks.paper.methods import TABLES, Table
from benchmarks.paper.protocol import Cell, Outcome
from benchmarks.paper.results import header, results_file
from river_oauc.cli.messages import UserError

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
    with results_file(path, table) as results:
        for cell, outcome in OUTCOMES.items():
            results.add(cell, outcome)


def read(path: Path) -> dict[Cell, Outcome]:
    with results_file(path, TABLE) as results:
        return results.outcomes


def test_outcomes_are_read_back(path: Path) -> None:
    fill(path)
    assert read(path) == OUTCOMES


def test_an_outcome_is_on_the_disk_at_once(path: Path) -> None:
    with results_file(path, TABLE) as results:
        results.add(Cell("heart", "OAUC-M", 0), Outcome(0.75, {"l2": 1.0}))
        first, second = path.read_text().splitlines()
    assert json.loads(first) == header(TABLE)
    cell = {"dataset": "heart", "method": "OAUC-M", "run": 0}
    assert json.loads(second) == {**cell, "auc": 0.75, "setting": {"l2": 1.0}}


def test_cut_at_any_byte(path: Path) -> None:
    """Whatever a kill leaves of the file, finished lines count and the rest can be added again."""
    fill(path)
    whole = path.read_bytes()
    n_header = whole.index(b"\n") + 1
    for end in [*range(0, 60, 9), *range(n_header - 2, len(whole) + 1)]:
        path.write_bytes(whole[:end])
        with results_file(path, TABLE) as results:
            n_lines = max(whole[:end].count(b"\n") - 1, 0)
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
        (TABLES["linear"](2), r"grid_step, grids"),
        (TABLES["kernel"](1), r"table, max_examples, grids"),
    ):
        with pytest.raises(UserError, match=rf"other settings \({difference}\)"):
            results_file(path, table).__enter__()
    monkeypatch.setattr(protocol, "SEED", 43)
    with pytest.raises(UserError, match=r"other settings \(seed\); choose"):
        results_file(path, TABLE).__enter__()
    assert path.read_bytes() == before


def test_a_table_may_get_more_methods_but_not_fewer(path: Path) -> None:
    smaller = dataclasses.replace(TABLE, methods=TABLE.methods[:-1])
    with results_file(path, smaller) as results:
        for cell, outcome in OUTCOMES.items():
            results.add(cell, outcome)
    assert read(path) == OUTCOMES

    fill(more := path.with_name("more.jsonl"))
    with pytest.raises(UserError, match=r"other settings \(grids\)"):
        results_file(more, smaller).__enter__()
    assert read(more) == OUTCOMES


@pytest.mark.parametrize("line", [b"", b"{}", b"[]", b"\xff", b'{"dataset": "heart", "meth'])
def test_a_damaged_line_is_named_and_nothing_is_lost(path: Path, line: bytes) -> None:
    fill(path)
    first, *others = path.read_bytes().splitlines()
    damaged = b"\n".join([first, others[0], line, *others[1:], b""])
    path.write_bytes(damaged)
    with pytest.raises(UserError, match=r"line 3 is damaged; remove it"):
        read(path)
    assert path.read_bytes() == damaged


def test_a_second_run_is_refused_until_the_first_ends(path: Path) -> None:
    fill(path)
    before = path.read_bytes()
    with results_file(path, TABLE):
        message = rf"^{re.escape(str(path))}: another run is writing to this file; .* --out$"
        with pytest.raises(UserError, match=message):
            read(path)
        assert path.read_bytes() == before
    assert read(path) == OUTCOMES


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
        with pytest.raises(OSError, match="File too large"):
            with results_file(path, TABLE) as results:
                results.add(cell, outcome)
    assert results.outcomes == read(path) == OUTCOMES
    with results_file(path, TABLE) as results:
        results.add(cell, outcome)
    assert read(path) == {**OUTCOMES, cell: outcome}
