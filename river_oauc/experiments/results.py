"""The file that keeps the outcome of every finished run.

It has one JSON object a line. The first says with which settings the outcomes were made; every
other one is an outcome, appended and on the disk before the next one is waited for. Whoever is
killed loses at most the line that was being written, which the next one to open the file drops.
Times and machines stay out of it: the same settings make the same bytes.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import sys
import types
import typing
from collections.abc import Iterator, Mapping

from river_oauc.datasets import BENCHMARKS
from river_oauc.experiments import protocol
from river_oauc.experiments.errors import UserError
from river_oauc.experiments.methods import Table
from river_oauc.experiments.protocol import Cell, Outcome

if sys.platform != "win32":
    import fcntl

__all__ = ["ResultsFile", "header", "replace_file"]

FORMAT = 1


def header(table: Table) -> dict[str, typing.Any]:
    """What the outcomes of a table depend on."""
    return {
        "format": FORMAT,
        "table": table.name,
        "seed": protocol.SEED,
        "folds": protocol.N_FOLDS,
        "max_examples": table.max_examples,
        "grid_step": table.grid_step,
        "grids": {
            method.name: {name: list(values) for name, values in method.grid.items()}
            for method in table.methods
        },
    }


class ResultsFile:
    """The outcomes of a table so far, in memory and on the disk.

    While it is open, no other process can open it.

    Parameters
    ----------
    path
        The file; it is made if there is none.
    table
        The table. A file that was made for another one, or on other grids, is refused.

    Attributes
    ----------
    outcomes
        The outcomes by cell.

    """

    def __init__(self, path: pathlib.Path, table: Table) -> None:
        self.path = path
        self._table = table
        self._first_line = _line(header(table))
        self.outcomes: dict[Cell, Outcome] = {}

    def __enter__(self) -> typing.Self:
        with self._refusals():
            self._file = self.path.open("a+b")
        try:
            self._lock()
            self._read()
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: types.TracebackType | None,
    ) -> None:
        self._file.close()

    def add(self, cell: Cell, outcome: Outcome) -> None:
        """Append an outcome, and return when it is on the disk."""
        with self._refusals():
            self._append(_outcome_line(cell, outcome))
        self.outcomes[cell] = outcome

    def sort(self) -> None:
        """Bring the lines into the order of the table, whatever order they came in.

        The file is replaced in one step: whoever is killed leaves the old one or the new one.
        """
        datasets = list(BENCHMARKS)
        methods = [method.name for method in self._table.methods]
        cells = sorted(
            self.outcomes,
            key=lambda cell: (datasets.index(cell.dataset), methods.index(cell.method), cell.run),
        )
        lines = [_outcome_line(cell, self.outcomes[cell]) for cell in cells]
        content = b"".join([self._first_line, *lines])
        with self._refusals():
            replace_file(self.path, content)

    def _append(self, line: bytes) -> None:
        self._file.write(line)
        self._file.flush()
        os.fsync(self._file.fileno())

    def _lock(self) -> None:
        if sys.platform != "win32":
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UserError(f"{self.path} is being written by another process") from None

    def _read(self) -> None:
        with self._refusals():
            self._file.seek(0)
            content = self._file.read()
        # What stands behind the last end of a line was cut short by a kill.
        end = content.rfind(b"\n") + 1
        is_new = end == 0 and self._first_line.startswith(content)
        if not is_new:
            self._parse_lines(content[:end].splitlines())
        with self._refusals():
            self._file.truncate(end)
            if is_new:
                self._append(self._first_line)

    def _parse_lines(self, lines: list[bytes]) -> None:
        self._check_header(lines[0] if lines else b"")
        for number, line in enumerate(lines[1:], start=2):
            try:
                cell, outcome = _parse(line, self._table)
            except (ValueError, KeyError, TypeError, AttributeError):
                raise UserError(
                    f"{self.path}: line {number} is damaged; remove that line to have it computed "
                    "again"
                ) from None
            self.outcomes[cell] = outcome

    def _check_header(self, line: bytes) -> None:
        here = json.loads(self._first_line)
        try:
            there = json.loads(line)
        except ValueError:
            there = None
        if not isinstance(there, dict) or "format" not in there:
            raise UserError(f"{self.path} is not a file of results; choose another --out")
        differences = [
            f"{key} {there.get(key)} there, {value} here"
            for key, value in here.items()
            if key != "grids" and there.get(key) != value
        ]
        # A method more does no harm to the outcomes of the others.
        grids = there.get("grids")
        if not isinstance(grids, dict) or not grids.items() <= here["grids"].items():
            differences.append("other grids")
        if differences:
            raise UserError(
                f"{self.path} was made with other settings ({', '.join(differences)}); "
                "choose another --out"
            )

    @contextlib.contextmanager
    def _refusals(self) -> Iterator[None]:
        """Say what the system refuses in one line."""
        try:
            yield
        except OSError as error:
            raise UserError(f"{self.path} can't be read or written: {error.strerror}") from error


def replace_file(path: pathlib.Path, content: bytes) -> None:
    """Write a file in one step: it has the old content, or none, until it has all of the new."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _line(content: Mapping[str, typing.Any]) -> bytes:
    return json.dumps(content).encode() + b"\n"


def _outcome_line(cell: Cell, outcome: Outcome) -> bytes:
    return _line({**cell._asdict(), **outcome._asdict()})


def _parse(line: bytes, table: Table) -> tuple[Cell, Outcome]:
    """A cell and its outcome, or an error of some kind if the line is not one of ours."""
    content = json.loads(line)
    cell = Cell(content["dataset"], content["method"], content["run"])
    outcome = Outcome(content["auc"], content["setting"])
    grids = {method.name: method.grid for method in table.methods}
    is_ours = (
        cell.dataset in BENCHMARKS
        and cell.run in range(protocol.N_RUNS)
        and 0.0 <= outcome.auc <= 1.0
        and outcome.setting.keys() == grids[cell.method].keys()
    )
    if not is_ours:
        raise ValueError(line)
    return cell, outcome
