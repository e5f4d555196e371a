"""Checks of the learners' parameters."""

from __future__ import annotations

import math
import numbers
import typing

__all__ = ["check_choice", "check_number"]


def check_number(name: str, value: typing.Any, *, zero_allowed: bool = False) -> None:
    """Raise a ValueError unless a parameter is a finite number above 0, or 0 where that is fine."""
    if isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value):
        if value > 0 or (zero_allowed and value == 0):
            return
    bound = "0 or more" if zero_allowed else "above 0"
    raise ValueError(f"{name} is {value!r}: it must be a finite number, {bound}")


def check_choice(name: str, value: typing.Any, choices: typing.Sequence[str]) -> None:
    """Raise a ValueError unless a parameter is one of a few words."""
    if value not in choices:
        raise ValueError(f"{name} is {value!r}: it must be one of {', '.join(map(repr, choices))}")
