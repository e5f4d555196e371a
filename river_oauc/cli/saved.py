"""A model file of the command line: a model, and how it reads the rows of a file."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from river_oauc import model_file
from river_oauc.classifier import OnlineAUCClassifier
from river_oauc.cli.console.errors import UserError
from river_oauc.cli.progress import InputProgress
from river_oauc.cli.target import Target
from river_oauc.explanations import ExplainingClassifier, Explanation
from river_oauc.limits import short_repr


@dataclass
class SavedModel:
    """A model and what the command line notes beside it.

    Parameters
    ----------
    model
        The model.
    target
        The label that it learns; its column is empty if the command line has not learned it yet.
    exclude
        Columns that are left out.
    n_rows, n_positives
        Number of rows that the command line has learned, and how many of them were positive.
    progress
        How far it has learned its files.

    """

    model: OnlineAUCClassifier
    target: Target = Target("")
    exclude: tuple[str, ...] = ()
    n_rows: int = 0
    n_positives: int = 0
    progress: InputProgress = field(default_factory=InputProgress)

    @classmethod
    def read(cls, path: pathlib.Path) -> SavedModel:
        """Read a model file. Anything else is refused."""
        if path.exists() and not path.is_file():
            raise UserError(f"{path}: not a file")
        try:
            model, notes, _ = model_file.read(path)
        except ValueError as error:
            raise UserError(str(error)) from None
        if not isinstance(model, OnlineAUCClassifier):
            raise UserError(f"{path}: it holds a {type(model).__name__}, which is no learner")
        try:
            return cls(
                model,
                Target(**notes.get("target", {"column": ""})),
                tuple(map(str, notes.get("exclude", ()))),
                int(notes.get("rows", 0)),
                int(notes.get("positives", 0)),
                InputProgress(notes.get("files", ())),
            )
        except (TypeError, ValueError) as error:
            raise UserError(f"{path}: its notes are damaged: {short_repr(error)}") from None

    def write(self, path: pathlib.Path) -> None:
        """Replace the model file in one step."""
        notes = {
            "target": asdict(self.target),
            "exclude": list(self.exclude),
            "rows": self.n_rows,
            "positives": self.n_positives,
            "files": self.progress.to_json(),
        }
        model_file.save(self.model, path, notes)

    def features(self, record: dict[Any, Any]) -> dict[Any, Any]:
        """Return what the model sees of a row: all columns but the label and those left out."""
        hidden = {self.target.column, *self.exclude}
        return {name: value for name, value in record.items() if name not in hidden}

    @property
    def explain(self) -> Callable[[dict[Any, Any]], Explanation]:
        """What tells how far each feature moves the score of a row."""
        if not isinstance(self.model, ExplainingClassifier):
            raise UserError(f"a {type(self.model).__name__} does not explain its scores")
        return self.model.explain_one

    def __str__(self) -> str:
        known = f", learned from {self.n_rows:,} rows, {self.n_positives:,} of them positive"
        return f"{type(self.model).__name__}{known if self.n_rows else ''}"
