"""The file that keeps the outcome of every finished run.

Its first line says with which settings the outcomes were made; every other one is an outcome.
"""

from __future__ import annotations

import json
import pathlib
import typing
from collections.abc import Mapping, Sequence

from river_oauc.cli.console.errors import UserError
from benchmarks.journal import Journal
from benchmarks.paper import protocol
from benchmarks.paper.methods import Table
from benchmarks.paper.protocol import Cell, Outcome

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


class ResultsFile(Journal):
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
        super().__init__(path)
        self.outcomes: dict[Cell, Outcome] = {}
        self._header = header(table)

    def add(self, cell: Cell, outcome: Outcome) -> None:
        """Append an outcome; it is on the disk when this returns."""
        self._append({**cell._asdict(), **outcome._asdict()})
        self.outcomes[cell] = outcome

    def _read(self, lines: Sequence[bytes], rest: bytes) -> Mapping[str, typing.Any] | None:
        if lines:
            self._check_header(lines[0])
            self._take_lines(lines[1:], first=2)
            return None
        if not json.dumps(self._header).encode().startswith(rest):
            self._check_header(rest)
        return self._header

    def _take(self, content: dict[str, typing.Any]) -> None:
        cell = Cell(content["dataset"], content["method"], content["run"])
        self.outcomes[cell] = Outcome(content["auc"], content["setting"])

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
