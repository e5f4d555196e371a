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
from collections.abc import Iterator, Mapping, Sequence

from river_oauc.datasets import BENCHMARKS
from river_oauc.experiments.console.errors import UserError, reason
from river_oauc.experiments.console.files import check_replaceable, replace_file
from river_oauc.experiments.console.text import shorten
from river_oauc.experiments.paper import protocol
from river_oauc.experiments.paper.methods import Setting, Table
from river_oauc.experiments.paper.protocol import Cell, Outcome

if sys.platform != "win32":
    import fcntl

__all__ = ["ResultsFile", "header"]

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

    While it is open, no other process can open it. What is not wholly understood is refused, and
    left as it is: no outcome is ever overwritten.

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
        self._n_bytes = 0
        self.outcomes: dict[Cell, Outcome] = {}

    def __enter__(self) -> typing.Self:
        with self._refusals():
            self._open()
            try:
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
        with self._refusals():
            self._file.close()

    def add(self, cell: Cell, outcome: Outcome) -> None:
        """Append an outcome, and return when it is on the disk."""
        with self._refusals():
            self._check_untouched()
            self._append(_outcome_line(cell, outcome))
        self.outcomes[cell] = outcome

    def sort(self) -> None:
        """Bring the lines into the order of the table, whatever order they came in, and close.

        The file is replaced in one step: whoever is killed leaves the old one or the new one.
        """
        datasets = list(BENCHMARKS)
        methods = [method.name for method in self._table.methods]
        cells = sorted(
            self.outcomes,
            key=lambda cell: (datasets.index(cell.dataset), methods.index(cell.method), cell.run),
        )
        lines = [_outcome_line(cell, self.outcomes[cell]) for cell in cells]
        with self._refusals():
            self._check_untouched()
            replace_file(self.path, b"".join([self._first_line, *lines]))
            # The lock is on the old file, which is gone.
            self._file.close()

    def _open(self) -> None:
        """Open the file and lock it."""
        # What can't be sorted in the end is refused in the beginning.
        check_replaceable(self.path)
        while True:
            self._file = self.path.open("a+b")
            try:
                self._lock()
                if self._has_its_name():
                    return
            except BaseException:
                self._file.close()
                raise
            # Whoever held the lock has replaced the file since.
            self._file.close()

    def _lock(self) -> None:
        if sys.platform != "win32":
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UserError(
                    f"{self.path} is being written by another process; wait for its end, or choose "
                    "another --out"
                ) from None

    def _has_its_name(self) -> bool:
        try:
            there = os.stat(self.path)
        except FileNotFoundError:
            return False
        return os.path.samestat(there, os.fstat(self._file.fileno()))

    def _check_untouched(self) -> None:
        """Refuse to write where another program has written, whatever it was."""
        if not self._has_its_name() or os.fstat(self._file.fileno()).st_size != self._n_bytes:
            raise UserError(
                f"{self.path} was changed by another program, and is left as it is now; look at "
                "it before you start again"
            )

    def _append(self, line: bytes) -> None:
        self._file.write(line)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._n_bytes += len(line)

    def _read(self) -> None:
        self._file.seek(0)
        content = self._file.read()
        *lines, tail = content.split(b"\n")
        if not lines and self._first_line.startswith(tail):
            self._file.truncate(0)
            self._append(self._first_line)
            return
        is_cut_short = _is_cut_short(tail)
        if tail and not is_cut_short:
            lines.append(tail)
        self._check_header(lines[0] if lines else b"")
        self._parse_lines(lines[1:])
        self._n_bytes = len(content)
        if is_cut_short:
            self._n_bytes -= len(tail)
            self._file.truncate(self._n_bytes)
        elif tail:
            self._append(b"\n")

    def _parse_lines(self, lines: list[bytes]) -> None:
        settings = {method.name: method.settings for method in self._table.methods}
        numbers: dict[Cell, int] = {}
        for number, line in enumerate(lines, start=2):
            try:
                cell, outcome = _parse(line, settings)
            except (ValueError, KeyError, TypeError, AttributeError):
                raise UserError(
                    f"{self.path}: line {number:,} is damaged; remove that line to have it "
                    "computed again"
                ) from None
            if self.outcomes.setdefault(cell, outcome) != outcome:
                raise UserError(
                    f"{self.path}: line {number:,} contradicts line {numbers[cell]:,}; remove one "
                    "of them"
                )
            numbers.setdefault(cell, number)

    def _check_header(self, line: bytes) -> None:
        here = json.loads(self._first_line)
        try:
            there = _loads(line)
        except ValueError:
            there = None
        if not isinstance(there, dict) or "format" not in there:
            raise UserError(f"{self.path} is not a file of results; choose another --out")
        differences = [
            f"{key} {shorten(str(there.get(key)))} there, {value} here"
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
            raise UserError(f"{self.path} can't be read or written: {reason(error)}") from error


def _line(content: Mapping[str, typing.Any]) -> bytes:
    return json.dumps(content).encode() + b"\n"


def _outcome_line(cell: Cell, outcome: Outcome) -> bytes:
    return _line({**cell._asdict(), **outcome._asdict()})


def _loads(line: bytes) -> typing.Any:
    try:
        return json.loads(line)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _is_cut_short(tail: bytes) -> bool:
    """Whether this is the beginning of an outcome, and not the whole of it."""
    start = b'{"dataset": "'
    if not tail or not (tail.startswith(start) or start.startswith(tail)):
        return False
    try:
        _loads(tail)
    except ValueError:
        return True
    return False


def _parse(line: bytes, settings: Mapping[str, Sequence[Setting]]) -> tuple[Cell, Outcome]:
    """A cell and its outcome, or an error of some kind if the line is not one of ours."""
    content = _loads(line)
    cell = Cell(content["dataset"], content["method"], content["run"])
    outcome = Outcome(content["auc"], content["setting"])
    is_ours = (
        content.keys() == {*Cell._fields, *Outcome._fields}
        and cell.dataset in BENCHMARKS
        and type(cell.run) is int
        and cell.run in range(protocol.MAX_RUNS)
        and type(outcome.auc) is float
        and 0.0 <= outcome.auc <= 1.0
        and outcome.setting in settings[cell.method]
    )
    if not is_ours:
        raise ValueError(line)
    return cell, outcome
