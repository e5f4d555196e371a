"""Kernels: similarities of two vectors that are inner products in some feature space."""

from __future__ import annotations

import abc

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from river_oauc.limits import MAX_NORM, MAX_SQUARED_NORM, short_repr
from river_oauc.parameters import check_count, check_number

__all__ = ["RBF", "Kernel", "Linear", "Polynomial", "similarities", "squared_norm"]

FloatArray = NDArray[np.float64]


class Kernel(abc.ABC):
    """A positive semidefinite kernel.

    To define another kernel, write a subclass with the method `__call__`. Features that appear late
    are appended as zeros to the vectors that are already stored, and must not change their
    similarities. The arguments are read-only. A kernel must not change the model that calls it.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.kernels import Kernel

    >>> class Cosine(Kernel):
    ...     def __call__(self, x, vectors):
    ...         lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(x)
    ...         return vectors @ x / np.maximum(lengths, 1e-300)

    >>> Cosine()(np.array([1.0, 0.0]), np.array([[2.0, 0.0], [3.0, 4.0]]))
    array([1. , 0.6])

    """

    @abc.abstractmethod
    def __call__(self, x: FloatArray, vectors: FloatArray) -> FloatArray:
        """Return the similarity of `x` to each row of `vectors`."""

    def self_similarity(self, x: FloatArray) -> float:
        """Return the similarity of `x` to itself."""
        return float(similarities(self, x, x[np.newaxis])[0])

    def __repr__(self) -> str:
        parameters = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({parameters})"

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        own, others = vars(self), vars(other)
        # A parameter may be an array.
        return own.keys() == others.keys() and all(
            np.array_equal(own[name], others[name]) for name in own
        )

    def __hash__(self) -> int:
        return hash((type(self), *vars(self)))


class RBF(Kernel):
    """The Gaussian kernel exp(-gamma |x - z|²).

    It can approximate every continuous function. The larger `gamma`, the smaller the neighbourhood
    that an example influences. Where a text writes exp(-|x - z|² / σ²), gamma is 1 / σ².

    Parameters
    ----------
    gamma
        Inverse squared width.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.kernels import RBF

    >>> RBF(gamma=0.5)
    RBF(gamma=0.5)
    >>> RBF(gamma=0.5)(np.array([1.0, 0.0]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    array([1.   , 0.368])

    """

    def __init__(self, gamma: float = 1.0) -> None:
        check_number("gamma", gamma)
        self.gamma = gamma

    def __call__(self, x: FloatArray, vectors: FloatArray) -> FloatArray:
        # The difference comes before the square: equal vectors are at distance 0 exactly, and an
        # offset that all vectors share costs no digits.
        squared_distances = cdist(x[np.newaxis], vectors, "sqeuclidean")[0]
        row: FloatArray = np.exp(-self.gamma * squared_distances)
        return row

    def self_similarity(self, x: FloatArray) -> float:
        return 1.0


class Polynomial(Kernel):
    """The polynomial kernel (gamma x·z + coef0)^degree: products of up to `degree` features.

    Parameters
    ----------
    degree
        Largest number of factors.
    gamma
        Weight of the inner product.
    coef0
        Weight of the products of fewer factors.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.kernels import Polynomial

    >>> Polynomial(degree=2)(np.array([1.0, 2.0]), np.array([[1.0, 1.0], [0.0, 0.0]]))
    array([16.,  1.])

    """

    def __init__(self, degree: int = 2, gamma: float = 1.0, coef0: float = 1.0) -> None:
        check_count("degree", degree)
        check_number("gamma", gamma)
        check_number("coef0", coef0, zero_allowed=True)
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def __call__(self, x: FloatArray, vectors: FloatArray) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):
            row: FloatArray = (self.gamma * vectors.dot(x) + self.coef0) ** self.degree
        return row


class Linear(Kernel):
    """The inner product x·z: a linear score, written as a sum over examples.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.kernels import Linear

    >>> Linear()(np.array([1.0, 2.0]), np.array([[1.0, 1.0], [0.0, 3.0]]))
    array([3., 6.])

    """

    def __call__(self, x: FloatArray, vectors: FloatArray) -> FloatArray:
        row: FloatArray = vectors.dot(x)
        return row


def similarities(kernel: Kernel, x: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return a copy of what a kernel returns, or raise a ValueError if it is of no use.

    The kernel gets read-only views, so it cannot change the arrays, nor their shape.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.kernels import Polynomial, similarities

    >>> similarities(Polynomial(degree=9), np.array([1e40]), np.array([[1e40]]))
    Traceback (most recent call last):
    ValueError: the kernel Polynomial(degree=9, gamma=1.0, coef0=1.0) has no finite value for ...

    """
    if not len(vectors):
        return np.zeros(0)
    result = kernel(_read_only(x), _read_only(vectors))
    try:
        row = np.array(result)
        if row.dtype.char != "d":
            row = row.astype(np.float64, casting="same_kind")
    except (TypeError, ValueError):
        raise ValueError(
            f"the kernel {short_repr(kernel)} must return an array of numbers, and not "
            f"{short_repr(result)}"
        ) from None
    if row.shape != (len(vectors),):
        raise ValueError(
            f"the kernel {short_repr(kernel)} must return one number for each of {len(vectors)} "
            f"vectors, and has returned an array of shape {row.shape}"
        )
    # False for NaN, too. Unlike `dot`, `vdot` does not warn of an overflow.
    if not np.vdot(row, row) <= MAX_SQUARED_NORM:
        raise _overflow_error(kernel)
    return row


def squared_norm(kernel: Kernel, x: FloatArray) -> float:
    """Return the similarity of `x` to itself, or raise a ValueError if it is not finite."""
    value = float(kernel.self_similarity(_read_only(x)))
    if not abs(value) <= MAX_NORM:
        raise _overflow_error(kernel)
    return value


def _overflow_error(kernel: Kernel) -> ValueError:
    return ValueError(
        f"the kernel {short_repr(kernel)} has no finite value for these features: scale them"
    )


def _read_only(array: FloatArray) -> FloatArray:
    view = array.view()
    view.setflags(write=False)
    return view
