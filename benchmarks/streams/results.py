"""The file that keeps what every finished run has come to: one JSON object per line."""

from __future__ import annotations

import pathlib
import typing
from collections.abc import Sequence
from dataclasses import asdict

from benchmarks.journal import Journal
from benchmarks.streams.progress import Outcome

__all__ = ["Cell", "ResultsFile"]


class Cell(typing.NamedTuple):
    """A run: so many examples of a stream, shuffled with a seed, through a prepared model."""

    stream: str
    examples: int
    seed: int
    model: str
    scaler: str


class ResultsFile(Journal):
    """The outcomes so far, in memory and on the disk.

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
        super().__init__(path)
        self.outcomes: dict[Cell, Outcome] = {}

    def add(self, cell: Cell, outcome: Outcome) -> None:
        """Append an outcome; it is on the disk when this returns."""
        self._append(cell._asdict() | asdict(outcome))
        self.outcomes[cell] = outcome

    def _read(self, lines: Sequence[bytes], rest: bytes) -> None:
        self._take_lines(lines, first=1)

    def _take(self, content: dict[str, typing.Any]) -> None:
        cell = Cell(**{name: content.pop(name) for name in Cell._fields})
        self.outcomes[cell] = Outcome(**content)
