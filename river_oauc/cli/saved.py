"""A model file of the command line: a model, and how it reads the rows of a file."""

from __future__ import annotations

import collections
import pathlib
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from river_oauc import model_file
from river_oauc.classifier import OnlineAUCClassifier
from river_oauc.cli.messages import UserError, listed, shorten
from river_oauc.cli.progress import InputProgress
from river_oauc.cli.target import Target
from river_oauc.explanations import ExplainingClassifier, Explanation
from river_oauc.limits import short_repr
from river_oauc.records.parse import parse_value

# So many features are noted. A feature is of a kind if that is true of this share of its values.
MAX_NOTED, OF_A_KIND = 1_000, 0.9


@dataclass
class SavedModel:
    """A model and what the command line notes beside it.

    Parameters
    ----------
    model
        The model.
    target
        The columns that it learns; that of the label is empty if it has not learned from a file.
    n_rows, n_positives
        Number of rows that the command line has learned, and how many of them were positive.
    progress
        How far it has learned its files.
    kinds
        What the values of each feature are: a number, a time, text. Empty if it varies.

    """

    model: OnlineAUCClassifier
    target: Target = Target("")
    n_rows: int = 0
    n_positives: int = 0
    progress: InputProgress = field(default_factory=InputProgress)
    kinds: dict[str, str] = field(default_factory=dict)

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
            exclude = tuple(map(str, notes.get("target", {}).get("exclude", ())))
            return cls(
                model,
                Target(**{"column": "", **notes.get("target", {}), "exclude": exclude}),
                int(notes.get("rows", 0)),
                int(notes.get("positives", 0)),
                InputProgress(notes.get("files", ())),
                dict(notes.get("kinds", {})),
            )
        except (TypeError, ValueError) as error:
            raise UserError(f"{path}: its notes are damaged: {short_repr(error)}") from None

    def write(self, path: pathlib.Path) -> None:
        """Replace the model file in one step."""
        notes = {
            "target": asdict(self.target) | {"exclude": list(self.target.exclude)},
            "rows": self.n_rows,
            "positives": self.n_positives,
            "files": self.progress.to_json(),
            "kinds": self.kinds,
        }
        model_file.save(self.model, path, notes)

    def check_features(self, name: str, records: Iterable[Any], share: float, allow: bool) -> None:
        """Refuse records that are unlike those that the model has learned, and note what they are.

        Parameters
        ----------
        name
            The file, for messages.
        records
            The first rows of the file.
        share
            The share of the known features that they must have; they must have one at least.
        allow
            Whether to refuse nothing.

        """
        kinds = _kinds(map(self.target.features, records))
        remedy = "if it is meant, --allow-new-features learns it"
        shared = [feature for feature in self.kinds if feature in kinds]
        if self.kinds and not allow and len(shared) < max(1, share * len(self.kinds)):
            raise UserError(
                f"{name}: it has {len(shared):,} of the {len(self.kinds):,} features of the model, "
                f"which are {listed(list(self.kinds), 5)}; {remedy}"
            )
        for feature in shared:
            before, now = self.kinds[feature], kinds[feature]
            if before and now and before != now and not allow:
                raise UserError(
                    f"{name}: {shorten(feature)!r} is {now}, and was {before} in what the model "
                    f"has learned; {remedy}"
                )
        # What is allowed is what it is from now on.
        known = self.kinds | kinds if allow else kinds | self.kinds
        self.kinds = dict(list(known.items())[:MAX_NOTED])

    @property
    def explain(self) -> Callable[[dict[Any, Any]], Explanation]:
        """What tells how far each feature moves the score of a row."""
        if not isinstance(self.model, ExplainingClassifier):
            raise UserError(f"a {type(self.model).__name__} does not explain its scores")
        return self.model.explain_one

    def __str__(self) -> str:
        known = f", learned from {self.n_rows:,} rows, {self.n_positives:,} of them positive"
        return f"{type(self.model).__name__}{known if self.n_rows else ''}"


def _kinds(records: Iterable[dict[Any, Any]]) -> dict[str, str]:
    """Return what each feature is.

    Examples
    --------
    >>> _kinds([{"amount": "12.5", "at": "2024-02-29"}, {"amount": "7", "at": None, "n": ""}])
    {'amount': 'a number', 'at': 'a time', 'n': ''}

    """
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for record in records:
        for name, value in record.items():
            counts[name][_kind(name, value)] += 1
    kinds = {}
    for name, count in counts.items():
        del count[""]
        kind, n = (count.most_common(1) or [("", 0)])[0]
        kinds[name] = kind if n >= OF_A_KIND * count.total() else ""
    return kinds


def _kind(name: str, value: Any) -> str:
    """Return what a value is; an empty string if it is unknown or refused."""
    try:
        number, category = parse_value(name, value)
    except ValueError:
        return ""
    if number == number:
        is_truth = category is None and number in (0.0, 1.0) and not isinstance(value, float)
        return "a truth value" if is_truth else "a number"
    if category is None:
        return ""
    return "a time" if isinstance(category, dict) else "text"
