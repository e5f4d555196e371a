"""The file that keeps what every finished run has come to: one JSON object per line."""

from __future__ import annotations

import json
import os
import pathlib
import typing
from dataclasses import asdict

from river_oauc.experiments.console.errors import UserError
from river_oauc.experiments.streams.progress import Outcome

__all__ = ["Cell", "ResultsFile"]


class Cell(typing.NamedTuple):
    """A run: so many examples of a stream, shuffled with a seed, through a prepared model."""

    stream: str
    examples: int
    seed: int
    model: str
    scaler: str


class ResultsFile:
    """The outcomes so far, in memory and on the disk.

    Whoever is killed loses at most the line that was being written, which the next one to open the
    file drops.

    Parameters
    ----------
    path
        The file; it is made if there is none.

    Attributes
    ----------
    outcomes
        The outcomes by cell.

    """

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.outcomes: dict[Cell, Outcome] = {}

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
        self._file.write(json.dumps(cell._asdict() | asdict(outcome)).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self.outcomes[cell] = outcome

    def _read(self) -> None:
        self._file.seek(0)
        content = self._file.read()
        # What follows the last line break was cut short.
        end = content.rfind(b"\n") + 1
        self._file.truncate(end)
        for number, line in enumerate(content[:end].splitlines(), start=1):
            try:
                fields = json.loads(line)
                cell = Cell(**{name: fields.pop(name) for name in Cell._fields})
                self.outcomes[cell] = Outcome(**fields)
            except (ValueError, KeyError, TypeError, AttributeError):
                raise UserError(
                    f"{self.path}: line {number:,} is damaged; remove it to have it computed again"
                ) from None
