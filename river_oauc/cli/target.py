"""The column with the label, and which of its values are positive."""

from __future__ import annotations

import functools
import typing
from dataclasses import dataclass
from typing import Any

from river_oauc.cli.cells import parse_cell
from river_oauc.cli.console.errors import UserError
from river_oauc.encoding.kinds import is_unknown
from river_oauc.encoding.labels import parse_label
from river_oauc.limits import short_repr

_WORDS = {"true": True, "false": False}


@dataclass(frozen=True)
class Target:
    """What the user has said about the label.

    Parameters
    ----------
    column
        The column with the label.
    positive
        Its positive value, as text; all others are negative. If None, labels must be true and
        false, 1 and 0, or 1 and -1.

    """

    column: str
    positive: str | None = None

    def label(self, record: dict[Any, Any]) -> bool | None:
        """Return whether a row is positive, or None if it has no label.

        Examples
        --------
        >>> Target("fraud").label({"amount": 12.5, "fraud": 1})
        True
        >>> Target("kind", positive="theft").label({"amount": 12.5, "kind": "loss"})
        False
        >>> Target("fraud").label({"amount": 12.5, "fraud": None}) is None
        True

        """
        label = record.get(self.column)
        return None if is_unknown(label) else self._is_positive(label)

    def _is_positive(self, label: Any) -> bool:
        if self.positive is not None:
            return bool(_value(label) == self._positive_value)
        try:
            return parse_label(_value(label))
        except ValueError:
            raise UserError(
                f"{self.column!r} is {short_repr(label)}, neither 1 nor 0: "
                "--positive VALUE says which value is positive"
            ) from None

    @functools.cached_property
    def _positive_value(self) -> Any:
        return _value(parse_cell(typing.cast(str, self.positive)))


def _value(label: Any) -> Any:
    """Return a label, with the words true and false as booleans."""
    return _WORDS.get(label.lower(), label) if isinstance(label, str) else label
