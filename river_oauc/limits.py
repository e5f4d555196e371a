"""How large numbers may become, and how a message shows a value."""

from __future__ import annotations

import math
import reprlib
import typing

import numpy as np
from numpy.typing import NDArray

# The learners multiply up to two features and two weights. With every norm below 1e50 no such
# product leaves the range of a double, so finite input never makes an infinity.
MAX_NORM = 1e50
MAX_SQUARED_NORM = MAX_NORM**2

# A step adds multiples of vectors with norms up to 1e150. No step with a larger coefficient than
# this is accepted, so that none overflows.
MAX_COEFFICIENT = 1e150

_repr = reprlib.Repr()
_repr.maxstring = _repr.maxother = _repr.maxlong = 60


def short_repr(value: typing.Any) -> str:
    """Return the `repr` of a value, cut to the length of a message.

    Examples
    --------
    >>> from river_oauc.limits import short_repr
    >>> short_repr("fraud")
    "'fraud'"
    >>> len(short_repr("x" * 1_000_000))
    60

    """
    return _repr.repr(value)


def to_float(number: typing.Any) -> float:
    """Return a real number as a float, infinite if it is too large for one.

    Examples
    --------
    >>> from river_oauc.limits import to_float
    >>> to_float(2), to_float(-(10**400))
    (2.0, -inf)

    """
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def clipped(value: float, bound: float) -> float:
    """Return the value between -bound and bound that is closest.

    Examples
    --------
    >>> from river_oauc.limits import clipped
    >>> clipped(-5.0, 2.0)
    -2.0

    """
    return min(max(value, -bound), bound)


def divergence_error(what: str = "weights", limit: float = MAX_NORM) -> ValueError:
    """Return the error for a step after which the weights, or other sums, would be too large."""
    return ValueError(
        f"the {what} would grow beyond {limit:g}: the step is too large for these features; "
        "scale them, or lower the step size"
    )


def check_norm(vector: NDArray[np.float64], what: str = "weights", limit: float = MAX_NORM) -> None:
    """Raise a ValueError if a vector is longer than a limit, or not finite."""
    # Unlike `dot` and products, `vdot` does not warn of an overflow.
    if not float(np.vdot(vector, vector)) <= limit * limit:
        raise divergence_error(what, limit)
