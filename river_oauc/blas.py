"""The products of vectors and matrices that the learners are made of.

Here they are SciPy's, to be called by position, and numpy's for a row-major matrix times a vector.
Where the package is compiled, `blas.pyx` stands in the place of this module: the same functions
without the price of a call from Python. They do no more than hand arrays on, so whoever uses them
says a formula once:

    from river_oauc import blas
    blas.daxpy(x, y, len(x), 2.0)

Compiled modules say `from river_oauc cimport blas` in their `.pxd` as well.
"""

from __future__ import annotations

import numpy as np
from numpy import dot as matvec
from numpy.typing import NDArray
from scipy.linalg.blas import dasum, daxpy, dcopy, ddot, dscal, dsymv, dsyr, dsyrk, idamax
from scipy.linalg.lapack import dposv

__all__ = [
    "dasum",
    "daxpy",
    "dcopy",
    "ddot",
    "dposv",
    "dscal",
    "dsymv",
    "dsyr",
    "dsyrk",
    "idamax",
    "interruptible",
    "matvec",
    "row_of",
    "symmetric_matvec",
]


def row_of(
    matrix: NDArray[np.float64], row: int, spare: NDArray[np.float64]
) -> NDArray[np.float64]:
    """A row of a matrix, as a view or copied into `spare`: to be used up, and not to be kept."""
    view: NDArray[np.float64] = matrix[row]
    return view


def symmetric_matvec(matrix: NDArray[np.float64], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The product of a row-major symmetric matrix, of which both triangles are there."""
    # BLAS is faster with this triangle than with the other, or with both.
    product: NDArray[np.float64] = dsymv(1.0, matrix.T, x, lower=1)
    return product


def interruptible() -> None:
    """Let Ctrl-C through. Python does so by itself, and compiled loops where they call this."""
