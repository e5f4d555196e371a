"""What is done to short vectors, number by number.

Here the functions are numpy's. Where the package is compiled, `vectors.pyx` stands in the place of
this module: the same without the price of a call from Python, which for thirty numbers is ten times
that of the work. They are for vectors of doubles, and the last argument is where the result goes,
if there is one. `take` and `put` are `x[rows]` and `x[rows] = y`, and `part` is a view.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy import (
    absolute,
    add,
    concatenate,
    count_nonzero,
    divide,
    fmax,
    frombuffer,
    multiply,
    sqrt,
    subtract,
)
from numpy.typing import NDArray

__all__ = [
    "absolute",
    "add",
    "concatenate",
    "copy",
    "count_nonzero",
    "divide",
    "fmax",
    "frombuffer",
    "multiply",
    "nonzero",
    "part",
    "put",
    "sqrt",
    "subtract",
    "take",
]

# Ten times as fast as numpy.copy.
copy: Callable[[NDArray[np.float64]], NDArray[np.float64]] = np.ndarray.copy
take: Callable[[Any, NDArray[np.intp]], Any] = operator.getitem
put: Callable[[Any, NDArray[np.intp], Any], None] = operator.setitem

Vector = TypeVar("Vector", NDArray[np.float64], NDArray[np.intp])


def nonzero(rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Where whole numbers are not 0."""
    return rows.nonzero()[0]


def part(x: Vector, start: int, stop: int) -> Vector:
    """The numbers from one position up to another, which must be there."""
    return x[start:stop]
