"""What a number may be, and what is said of one that may not."""

from __future__ import annotations

import math
import numbers
import reprlib
import struct
import typing
from collections.abc import Mapping

import numpy as np
from river import base

__all__ = [
    "CONVERSION_ERRORS",
    "MAX_NORM",
    "MAX_SQUARED_NORM",
    "NOT_REAL",
    "PLAIN_TYPES",
    "Features",
    "complaint_about",
    "divergence",
    "refusal_of",
    "shown",
]

Features = dict[base.typing.FeatureName, typing.Any]

# The learners form products of up to two features and two weights. With every norm below 1e50 no
# such product leaves the range of a double, so a vector that passes can never make an infinity.
MAX_NORM = 1e50
MAX_SQUARED_NORM = MAX_NORM**2

# Whatever float() or struct can say of a value that is not a real number a double can hold.
CONVERSION_ERRORS = (struct.error, TypeError, ValueError, OverflowError)

# Numbers of numpy that are not real, but become floats if asked, with no more than a warning.
NOT_REAL = (np.timedelta64, np.complexfloating)

# Types whose values need no closer look than struct's.
PLAIN_TYPES = {float, int, bool, np.float64, np.float32, np.int64, np.bool_}

_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = 60


def shown(value: typing.Any) -> str:
    """The value as a message shows it: what is too long for a message is cut.

    Examples
    --------
    >>> from river_oauc.inputs.limits import shown
    >>> shown("fraud")
    "'fraud'"
    >>> len(shown("x" * 1_000_000))
    60

    """
    return _short.repr(value)


def complaint_about(value: typing.Any, nan_is_absent: bool = False) -> str | None:
    """What is wrong with the value of a feature, and what to do about it; None if nothing is."""
    if isinstance(value, str):
        return (
            f"is the string {shown(value)}: encode it as a number first, "
            "for instance with preprocessing.OneHotEncoder"
        )
    if value is None:
        return "is None: leave it out, or fill it with preprocessing.StatImputer"
    if isinstance(value, NOT_REAL):
        return f"is {shown(value)}, a {type(value).__name__}: features must be real numbers"
    try:
        (number,) = struct.unpack("d", struct.pack("d", value))
    except CONVERSION_ERRORS:
        if isinstance(value, numbers.Real):
            return "is too large for a float: scale it first"
        return f"is {shown(value)}, a {type(value).__name__}: features must be real numbers"
    if math.isnan(number):
        if nan_is_absent:
            return None
        return (
            "is NaN: leave it out, or replace it before it gets here; if it comes from a scaler, "
            "the scaler has seen a NaN and has to start anew"
        )
    if not abs(number) <= MAX_NORM:
        return (
            f"is {number:g}: features must be within ±{MAX_NORM:g}; "
            "scale or clip it before it gets here"
        )
    return None


def refusal_of(
    x: Features, nan_is_absent: bool = False, strings_are_categories: bool = False
) -> ValueError:
    """The error that names the feature because of which `x` is refused, and says what to do."""
    if not isinstance(x, Mapping):
        return ValueError(
            f"the features are {shown(x)}, a {type(x).__name__}: they must be a dict of names and "
            "values; the rows of a data frame go to learn_many and predict_proba_many"
        )
    for name, value in x.items():
        if strings_are_categories and isinstance(value, str):
            continue
        complaint = complaint_about(value, nan_is_absent)
        if complaint:
            return ValueError(f"feature {shown(name)} {complaint}")
    return ValueError(
        f"the features have a norm above {MAX_NORM:g}, and their squares would overflow: "
        "scale them, for instance with preprocessing.StandardScaler"
    )


def divergence() -> ValueError:
    """The error to raise before weights that have grown too long are put in place."""
    return ValueError(
        f"the weights would grow beyond {MAX_NORM:g}: the step is too large for these features; "
        "scale them, or lower the step size"
    )
