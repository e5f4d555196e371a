"""Arrays that grow."""

from __future__ import annotations

import typing

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BoolArray",
    "FloatArray",
    "Places",
    "Size",
    "is_new",
    "resized",
    "resized_triangle",
    "whole",
]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

Scalar = typing.TypeVar("Scalar", bound=np.generic)


class Places:
    """A length of arrays in which what stood at 0, 1, 2, ... gets other places.

    Parameters
    ----------
    places
        The new places of the first entries. The entries after these are given up.
    size
        The new length.

    """

    def __init__(self, places: NDArray[np.intp], size: int) -> None:
        self.places = places
        self.size = size

    def __radd__(self, n_more: int) -> Places:
        """The same after `n_more` entries in front, which stay where they are."""
        return Places(np.append(np.arange(n_more), n_more + self.places), n_more + self.size)


# A length; entries stay where they are, unless it says where they go.
Size = int | Places


def resized(
    array: NDArray[Scalar], *shape: Size, order: typing.Literal["C", "F"] = "C"
) -> NDArray[Scalar]:
    """A new array of this shape: what there is place for of the old one, and zeros elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.inputs.arrays import Places, resized
    >>> resized(np.array([[1.0, 2.0], [3.0, 4.0]]), 1, 3)
    array([[1., 2., 0.]])
    >>> resized(np.array([1.0, 2.0]), Places(np.array([2, 0]), 4))
    array([2., 0., 1., 0.])

    """
    lengths = [wanted.size if isinstance(wanted, Places) else wanted for wanted in shape]
    new = np.zeros(lengths, dtype=array.dtype, order=order)
    if not any(isinstance(wanted, Places) for wanted in shape):
        corner = tuple(map(slice, np.minimum(array.shape, lengths)))
        new[corner] = array[corner]
        return new
    places = [
        wanted.places if isinstance(wanted, Places) else np.arange(min(old, wanted))
        for old, wanted in zip(array.shape, shape, strict=True)
    ]
    new[np.ix_(*places)] = array[tuple(slice(len(those)) for those in places)]
    return new


def whole(upper: FloatArray) -> FloatArray:
    """The symmetric matrix that has this upper triangle, whatever is below it.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.inputs.arrays import whole
    >>> whole(np.array([[1.0, 2.0], [0.0, 3.0]]))
    array([[1., 2.],
           [2., 3.]])

    """
    upper = np.triu(upper)
    return upper + np.triu(upper, 1).T


def resized_triangle(upper: FloatArray, size: Size) -> FloatArray:
    """The same for both sides of a symmetric matrix of which the upper triangle is kept.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.inputs.arrays import Places, resized_triangle
    >>> resized_triangle(np.array([[1.0, 2.0], [0.0, 3.0]]), Places(np.array([1, 0]), 2))
    array([[3., 2.],
           [0., 1.]])

    """
    if isinstance(size, Places):
        # What was above the diagonal may come to stand below it.
        return np.asfortranarray(np.triu(resized(whole(upper), size, size)))
    return resized(upper, size, size, order="F")


def is_new(old_size: int, size: Size) -> BoolArray:
    """Which entries are new in an array that had this length and gets that one.

    Examples
    --------
    >>> from river_oauc.inputs.arrays import is_new
    >>> is_new(2, 4)
    array([False, False,  True,  True])

    """
    return ~resized(np.ones(old_size, dtype=bool), size)
