"""Labels and importance weights of single examples."""

from __future__ import annotations

import numbers
import typing

import numpy as np

from river_oauc.limits import MAX_NORM, short_repr, to_float


def parse_label(y: typing.Any) -> bool:
    """Return whether a label is the positive one.

    Examples
    --------
    >>> from river_oauc.records.labels import parse_label
    >>> [parse_label(y) for y in (True, 1, 0, -1)]
    [True, True, False, False]
    >>> parse_label("fraud")
    Traceback (most recent call last):
    ValueError: the label is 'fraud': labels must be booleans, 0 and 1, or -1 and 1; say which class
    is to rank high by writing, for instance, y == 'fraud'

    """
    if isinstance(y, bool | np.bool_):
        return bool(y)
    if isinstance(y, numbers.Real) and y in (-1, 0, 1):
        return bool(y == 1)
    example = short_repr(y) if isinstance(y, str) else "'fraud'"
    raise ValueError(
        f"the label is {short_repr(y)}: labels must be booleans, 0 and 1, or -1 and 1; "
        f"say which class is to rank high by writing, for instance, y == {example}"
    )


def parse_weight(w: typing.Any) -> float:
    """Return an importance weight as a float."""
    if isinstance(w, numbers.Real):
        weight = to_float(w)
        if weight == 0.0 or 1.0 / MAX_NORM <= weight <= MAX_NORM:
            return weight
    raise ValueError(
        f"the weight is {short_repr(w)}: it must be 0, or a number from {1 / MAX_NORM:g} to "
        f"{MAX_NORM:g}"
    )
