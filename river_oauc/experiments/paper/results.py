"""The file that keeps the outcome of every finished run.

It has one JSON object per line. The first says with which settings the outcomes were made; every
other one is an outcome, appended and on the disk before the next one is waited for. Whoever is
killed loses at most the line that was being written, which the next one to open the file drops.
"""

from __future__ import annotations

import json
import os
import pathlib
import typing
from collections.abc import Mapping

from river_oauc.experiments.console.errors import UserError
from river_oauc.experiments.paper import protocol
from river_oauc.experiments.paper.methods import Table
from river_oauc.experiments.paper.protocol import Cell, Outcome

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

    What is there is never overwritten, and a file that was made with other settings is refused.

    Parameters
    ----------
    path
        The file; it is made if there is none.
    table
        The table.

    Attributes
    ----------
    outcomes
        The outcomes by cell.

    """

    def __init__(self, path: pathlib.Path, table: Table) -> None:
        self.path = path
        self.outcomes: dict[Cell, Outcome] = {}
        self._header = header(table)

    def __enter__(self) -> typing.Self:
        self._file = self.path.open("a+b")
        try:
            self._read()
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def add(self, cell: Cell, outcome: Outcome) -> None:
        """Append an outcome; it is on the disk when this returns."""
        self._append({**cell._asdict(), **outcome._asdict()})
        self.outcomes[cell] = outcome

    def _append(self, content: Mapping[str, typing.Any]) -> None:
        self._file.write(json.dumps(content).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _read(self) -> None:
        self._file.seek(0)
        content = self._file.read()
        first, *lines = content.split(b"\n")
        if not lines and json.dumps(self._header).encode().startswith(first):
            self._file.truncate(0)
            self._append(self._header)
            return
        self._check_header(first)
        # What follows the last line break was cut short.
        for number, line in enumerate(lines[:-1], start=2):
            try:
                outcome = json.loads(line)
                cell = Cell(outcome["dataset"], outcome["method"], outcome["run"])
                self.outcomes[cell] = Outcome(outcome["auc"], outcome["setting"])
            except (ValueError, KeyError, TypeError):
                raise UserError(
                    f"{self.path}: line {number:,} is damaged; remove it to have it computed again"
                ) from None
        self._file.truncate(content.rindex(b"\n") + 1)

    def _check_header(self, line: bytes) -> None:
        try:
            there = json.loads(line)
            differences = [key for key in self._header if there[key] != self._header[key]]
        except (ValueError, KeyError, TypeError):
            raise UserError(f"{self.path} is not a file of results; choose another --out") from None
        # A method more does no harm to the outcomes of the others.
        if "grids" in differences and there["grids"].items() <= self._header["grids"].items():
            differences.remove("grids")
        if differences:
            raise UserError(
                f"{self.path} was made with other settings ({', '.join(differences)}); "
                "choose another --out"
            )
