"""A model file of the command line: a model, and how it reads the rows of a file."""

from __future__ import annotations

import pathlib
from dataclasses import dataclass, field
from typing import Any

from river_oauc import model_file
from river_oauc.classifier import OnlineAUCClassifier
from river_oauc.cli.console.errors import UserError
from river_oauc.cli.positions import Positions
from river_oauc.cli.target import Target
from river_oauc.limits import short_repr


@dataclass
class SavedModel:
    """A model and what the command line notes beside it.

    Parameters
    ----------
    model
        The model.
    target
        The label that it learns; None if the command line has not learned it yet.
    exclude
        Columns that are left out.
    n_rows, n_positives
        Number of rows that the command line has learned, and how many of them were positive.
    positions
        How far it has learned its files.

    """

    model: OnlineAUCClassifier
    target: Target | None = None
    exclude: tuple[str, ...] = ()
    n_rows: int = 0
    n_positives: int = 0
    positions: Positions = field(default_factory=Positions)

    @classmethod
    def read(cls, path: pathlib.Path) -> SavedModel:
        """Read a model file. Anything else is refused."""
        try:
            file = model_file.read(path)
        except ValueError as error:
            raise UserError(str(error)) from None
        if not file.notes:
            return cls(file.model)
        try:
            return cls(
                file.model,
                Target(**file.notes["target"]),
                tuple(map(str, file.notes["exclude"])),
                int(file.notes["rows"]),
                int(file.notes["positives"]),
                Positions.from_json(file.notes["files"]),
            )
        except (LookupError, TypeError, ValueError) as error:
            raise UserError(f"{path}: its notes are damaged: {short_repr(error)}") from None

    def write(self, path: pathlib.Path) -> None:
        """Replace the model file in one step."""
        notes: dict[str, Any] = {}
        if self.target is not None:
            notes = {
                "target": {"column": self.target.column, "positive": self.target.positive},
                "exclude": list(self.exclude),
                "rows": self.n_rows,
                "positives": self.n_positives,
                "files": self.positions.to_json(),
            }
        model_file.save(self.model, path, notes)

    def features(self, record: dict[Any, Any]) -> dict[Any, Any]:
        """Return what the model sees of a row: all columns but the label and those left out."""
        hidden = self.exclude if self.target is None else (*self.exclude, self.target.column)
        return {name: value for name, value in record.items() if name not in hidden}


def describe(saved: SavedModel) -> str:
    """Return what a model file holds, in one line."""
    known = (
        ""
        if not saved.n_rows
        else (f", learned from {saved.n_rows:,} rows, {saved.n_positives:,} of them positive")
    )
    return f"{type(saved.model).__name__}{known}"
