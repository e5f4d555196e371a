"""Arrays that grow."""

from __future__ import annotations

import typing

import numpy as np
from numpy.typing import NDArray

__all__ = ["BoolArray", "FloatArray", "resized"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

Scalar = typing.TypeVar("Scalar", bound=np.generic)


def resized(
    array: NDArray[Scalar], *shape: int, order: typing.Literal["C", "F"] = "C"
) -> NDArray[Scalar]:
    """A new array of this shape: what fits of the old one in its corner, and zeros elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.inputs.arrays import resized
    >>> resized(np.array([[1.0, 2.0], [3.0, 4.0]]), 1, 3)
    array([[1., 2., 0.]])

    """
    new = np.zeros(shape, dtype=array.dtype, order=order)
    corner = tuple(slice(min(old, wanted)) for old, wanted in zip(array.shape, shape, strict=True))
    new[corner] = array[corner]
    return new
