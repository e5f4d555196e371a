"""What the value of a numeric feature may be, and what an error says about others."""

from __future__ import annotations

import math
import numbers
import struct
import typing
from collections.abc import Mapping

import numpy as np
from river import base

from river_oauc.limits import MAX_NORM, short_repr

Record = Mapping[base.typing.FeatureName, typing.Any]

# What float() and struct raise for a value that is not a real number that a double can hold.
CONVERSION_ERRORS = (struct.error, TypeError, ValueError, OverflowError)

# Numbers of these types convert to a double as they are.
PLAIN_TYPES = {float, int, bool, np.float64, np.float32, np.int64, np.bool_}


def is_not_real(value: typing.Any) -> bool:
    """Return whether numpy would convert a value that is not real with no more than a warning."""
    return isinstance(value, (np.timedelta64, np.complexfloating))


def problem_with(value: typing.Any, nan_allowed: bool = False) -> str | None:
    """Return what is wrong with the value of a feature and what to do about it, or None."""
    if isinstance(value, str):
        return (
            f"is the string {short_repr(value)}: put river_oauc.preprocessing.RecordEncoder in "
            "front, or take a learner for raw records, such as SparseOAUCM"
        )
    if value is None:
        return (
            "is None: leave it out, fill it with preprocessing.StatImputer, or put "
            "river_oauc.preprocessing.RecordEncoder in front"
        )
    if is_not_real(value):
        return f"is {short_repr(value)}, a {type(value).__name__}: features must be real numbers"
    try:
        (number,) = struct.unpack("d", struct.pack("d", value))
    except CONVERSION_ERRORS:
        if isinstance(value, numbers.Real):
            return "is too large for a float: scale it first"
        return f"is {short_repr(value)}, a {type(value).__name__}: features must be real numbers"
    if math.isnan(number):
        if nan_allowed:
            return None
        return (
            "is NaN: leave it out, or replace it before it gets here; if it comes from a scaler, "
            "the scaler has seen a NaN and must be replaced by a new one"
        )
    if not abs(number) <= MAX_NORM:
        return (
            f"is {number:g}: features must be within ±{MAX_NORM:g}; "
            "scale or clip it before it gets here"
        )
    return None


def record_type_error(x: typing.Any) -> ValueError:
    """Return the error for something that is no record at all."""
    return ValueError(
        f"the features are {short_repr(x)}, a {type(x).__name__}: they must be a dict of names "
        "and values; the rows of a data frame go to learn_many and predict_proba_many"
    )


def record_error(x: Record, nan_allowed: bool = False) -> ValueError:
    """Return the error for a refused record, naming the feature at fault."""
    for name, value in x.items():
        problem = problem_with(value, nan_allowed)
        if problem:
            return ValueError(f"feature {short_repr(name)} {problem}")
    return ValueError(
        f"the features have a norm above {MAX_NORM:g}, and their squares would overflow: "
        "scale them, for instance with preprocessing.StandardScaler"
    )
