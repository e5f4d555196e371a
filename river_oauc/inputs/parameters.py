"""Checks of the learners' parameters, and the step size that two of them make."""

from __future__ import annotations

import math
import numbers
import typing

from river import optim
from river.utils import pretty

__all__ = [
    "LearningRate",
    "check_choice",
    "check_count",
    "check_n_features",
    "check_number",
    "check_step",
    "step_size",
]

LearningRate = float | optim.base.Scheduler | None


def check_number(name: str, value: typing.Any, *, zero_allowed: bool = False) -> None:
    """Raise a ValueError unless a parameter is a finite number above 0, or 0 where that is fine."""
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        number = float(value)
        if 0 < number < math.inf or (zero_allowed and number == 0):
            return
    bound = "0 or more" if zero_allowed else "above 0"
    raise ValueError(f"{name} is {value!r}: it must be a finite number, {bound}")


def check_count(name: str, value: typing.Any) -> None:
    """Raise a ValueError unless a parameter is a whole number of 1 or more."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} is {value!r}: it must be a whole number, 1 or more")


def check_n_features(model: str, n_features: int, max_features: int, n_doubles: int) -> int:
    """The largest number of features, or a ValueError if there would be more.

    For models that need more memory than in proportion to the features: so many doubles.
    """
    if n_features > max_features:
        memory = pretty.humanize_bytes(8 * n_doubles)
        raise ValueError(
            f"there would be {n_features:,} features, and max_features is {max_features:,}: "
            f"{model} would need {memory}; hash the features with preprocessing.FeatureHasher or "
            "pick some with compose.Select, take OAM, whose memory is in proportion to their "
            "number, or raise max_features"
        )
    return max_features


def check_choice(name: str, value: typing.Any, choices: typing.Sequence[str]) -> None:
    """Raise a ValueError unless a parameter is one of a few words."""
    if value not in choices:
        raise ValueError(f"{name} is {value!r}: it must be one of {', '.join(map(repr, choices))}")


def check_step(l2: float, lr: LearningRate) -> None:
    """Raise a ValueError unless `step_size` can make something of these two."""
    # Without a regulariser there is no step 1 / (l2 · t).
    check_number("l2", l2, zero_allowed=lr is not None)
    if not (lr is None or isinstance(lr, optim.base.Scheduler)):
        check_number("lr", lr)


def step_size(l2: float, lr: LearningRate, n_before: int) -> float:
    """The size of the gradient step after so many examples: 1 / (l2 · t) unless `lr` says."""
    if lr is None:
        return 1.0 / (l2 * (n_before + 1))
    if isinstance(lr, optim.base.Scheduler):
        return float(lr.get(n_before))
    return float(lr)
