"""What is done to short vectors, number by number.

Here the functions are numpy's. Where the package is compiled, `vectors.pyx` stands in the place of
this module: the same without the price of a call from Python, which for thirty numbers is ten times
that of the work. They are for vectors of doubles, and the last argument is where the result goes,
if there is one. `take` and `put` are `x[rows]` and `x[rows] = y`; `part` and `row` are views.
`fmin`, `fmax` and `exp` take a matrix as well.
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
    exp,
    fmax,
    fmin,
    frombuffer,
    multiply,
    sqrt,
    subtract,
)
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

__all__ = [
    "absolute",
    "add",
    "argmax",
    "at_least",
    "city_distances",
    "concatenate",
    "copy",
    "count_nonzero",
    "divide",
    "exp",
    "fmax",
    "fmin",
    "frombuffer",
    "gaps",
    "largest",
    "multiply",
    "nonzero",
    "part",
    "put",
    "row",
    "set_column",
    "set_row",
    "sqrt",
    "squared_distances",
    "subtract",
    "take",
]

# Ten times as fast as numpy.copy.
copy: Callable[[NDArray[np.float64]], NDArray[np.float64]] = np.ndarray.copy
argmax: Callable[[NDArray[np.float64]], int] = np.ndarray.argmax  # type: ignore[assignment]
take: Callable[[Any, NDArray[np.intp]], Any] = operator.getitem
# A row of a matrix, or one of several matrices, as a view.
row: Callable[[Any, int], NDArray[np.float64]] = operator.getitem
put: Callable[[Any, NDArray[np.intp], Any], None] = operator.setitem
set_row: Callable[[Any, int, NDArray[np.float64]], None] = operator.setitem

Vector = TypeVar("Vector", NDArray[np.float64], NDArray[np.intp])


def nonzero(rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Where whole numbers are not 0."""
    return rows.nonzero()[0]


def at_least(x: NDArray[np.float64], bound: float) -> NDArray[np.intp]:
    """Where numbers are not below a bound."""
    return (x >= bound).nonzero()[0]


def part(x: Vector, start: int, stop: int) -> Vector:
    """The numbers from one position up to another, which must be there."""
    return x[start:stop]


def set_column(matrix: NDArray[np.float64], number: int, x: NDArray[np.float64]) -> None:
    """Put a vector into a column of a matrix."""
    matrix[:, number] = x


def gaps(x: NDArray[np.float64], matrix: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """By how much a number per row is larger than the first so many of each row of a matrix."""
    differences: NDArray[np.float64] = x[:, np.newaxis] - matrix[:, :n]
    return differences


def largest(x: NDArray[np.float64]) -> float:
    """The largest of a few numbers."""
    numbers: list[float] = x.tolist()
    return max(numbers)


def city_distances(
    x: NDArray[np.float64], matrix: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """The sums of the absolute differences of a vector and each row of a matrix."""
    cdist(x[np.newaxis], matrix, "cityblock", out=out[np.newaxis])


def squared_distances(x: NDArray[np.float64], matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sums of the squared differences of a vector and each row of a matrix."""
    distances: NDArray[np.float64] = cdist(x[np.newaxis], matrix, "sqeuclidean")[0]
    return distances
