"""The columns of a file: the label, which of its values are positive, and the features."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from river_oauc.cli.messages import UserError, check_column, listed
from river_oauc.limits import short_repr
from river_oauc.records.parse import UNKNOWN, parse_value

# So many different labels are remembered, for messages.
MAX_LABELS = 20


@dataclass(frozen=True)
class Target:
    """What the user has said about the columns of a file.

    Parameters
    ----------
    column
        The column with the label.
    positive
        Its positive value, as text; all others are negative. If None, labels must be true and
        false, 1 and 0, or 1 and -1.
    exclude
        Columns to leave out.

    """

    column: str
    positive: str | None = None
    exclude: tuple[str, ...] = ()

    def features(self, record: dict[Any, Any]) -> dict[Any, Any]:
        """Return all columns of a row but the label and those to leave out."""
        hidden = (self.column, *self.exclude)
        return {name: value for name, value in record.items() if name not in hidden}

    def check(self, name: str, columns: Collection[str]) -> None:
        """Refuse a file that lacks one of these columns, or has no other one."""
        for column in (self.column, *self.exclude):
            check_column(name, column, columns)
        if self.column in self.exclude:
            raise UserError(f"{name}: {self.column!r} is the target, and not to exclude")
        if not self.features(dict.fromkeys(columns)):
            raise UserError(f"{name}: no column is left to learn from")

    def label(self, record: dict[Any, Any]) -> bool | None:
        """Return whether a row is positive, or None if it has no label.

        Examples
        --------
        >>> Target("fraud").label({"amount": 12.5, "fraud": "1"})
        True
        >>> Target("kind", positive="theft").label({"amount": 12.5, "kind": "loss"})
        False
        >>> Target("fraud").label({"amount": 12.5, "fraud": None}) is None
        True

        """
        label = record.get(self.column)
        meaning = self._meaning(label)
        if meaning is None:
            return None
        if self.positive is not None:
            return bool(meaning == self._meaning(self.positive))
        if meaning not in (-1.0, 0.0, 1.0):
            raise UserError(
                f"{self.column!r} is {short_repr(label)}: unless its values are 1 and 0, 1 and -1, "
                "or true and false, say which one is positive with --positive VALUE"
            )
        return bool(meaning == 1.0)

    def one_class(self, labels: Iterable[Any]) -> str:
        """Say why all rows with these labels may be of one class.

        Examples
        --------
        >>> Target("fraud", positive="ja").one_class(["yes", "no"])
        "'fraud' is never 'ja': it is 'no', 'yes'"
        >>> Target("fraud").one_class(["0"])
        "'fraud' is always '0'"

        """
        values = sorted({str(label) for label in labels})
        if len(values) == 1:
            return f"{self.column!r} is always {listed(values)}"
        return f"{self.column!r} is never {self.positive!r}: it is {listed(values)}"

    def _meaning(self, label: Any) -> Any:
        """Return the number or the category that a label is; None if it is unknown."""
        value = parse_value(self.column, label)
        if value is UNKNOWN:
            return None
        # Of a time, the category is only its hour and its weekday.
        category = str(label) if isinstance(value.category, dict) else value.category
        return value.number if value.number == value.number else category
