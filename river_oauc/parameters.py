"""Checks of parameters, and the step size that `l2` and `lr` define."""

from __future__ import annotations

import math
import numbers
import random
import sys
import typing
from collections.abc import Sequence

from river import optim

from river_oauc.limits import short_repr, to_float

LearningRate = float | optim.base.Scheduler | None


def check_number(name: str, value: typing.Any, *, zero_allowed: bool = False) -> None:
    """Raise a ValueError unless a parameter is a finite positive number, or 0 where allowed."""
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        number = to_float(value)
        if 0 < number < math.inf or (zero_allowed and number == 0):
            return
    bound = "0 or more" if zero_allowed else "above 0"
    raise ValueError(f"{name} is {short_repr(value)}: it must be a finite number, {bound}")


def check_share(name: str, value: typing.Any, *, one_allowed: bool = False) -> None:
    """Raise a ValueError unless a parameter is a number above 0 and below 1, or 1 where allowed."""
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        share = to_float(value)
        if 0 < share < 1 or (one_allowed and share == 1):
            return
    bound = "at most" if one_allowed else "below"
    raise ValueError(f"{name} is {short_repr(value)}: it must be a number above 0 and {bound} 1")


def check_count(name: str, value: typing.Any) -> None:
    """Raise a ValueError unless a parameter is a positive integer, not too large for an index."""
    is_integer = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not is_integer or not 1 <= value <= sys.maxsize:
        raise ValueError(
            f"{name} is {short_repr(value)}: it must be a whole number from 1 to sys.maxsize"
        )


def check_choice(name: str, value: typing.Any, choices: Sequence[str]) -> None:
    """Raise a ValueError unless a parameter is one of the given strings."""
    if not isinstance(value, str) or value not in choices:
        allowed = ", ".join(map(repr, choices))
        raise ValueError(f"{name} is {short_repr(value)}: it must be one of {allowed}")


def new_random(seed: int | None) -> random.Random:
    """Return a random generator, or raise a ValueError unless the seed is an integer or None."""
    if seed is not None and (not isinstance(seed, numbers.Integral) or isinstance(seed, bool)):
        raise ValueError(f"seed is {short_repr(seed)}: it must be an integer or None")
    return random.Random(None if seed is None else int(seed))


def check_step(l2: float, lr: LearningRate) -> None:
    """Raise a ValueError unless `l2` and `lr` define a step size."""
    # The schedule 1 / (l2 · t) needs a regulariser.
    check_number("l2", l2, zero_allowed=lr is not None)
    if not (lr is None or isinstance(lr, optim.base.Scheduler)):
        check_number("lr", lr)


def step_size(l2: float, lr: LearningRate, t: int) -> float:
    """Return the size of the gradient step on example t, counted from 1.

    It is 1 / (l2 · t) if `lr` is None.
    """
    if lr is None:
        return 1.0 / (l2 * t)
    if isinstance(lr, optim.base.Scheduler):
        return float(lr.get(t - 1))
    return float(lr)
