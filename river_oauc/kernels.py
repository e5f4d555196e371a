"""Kernels: similarities of two vectors that are inner products in some other space."""

from __future__ import annotations

import abc

import numpy as np

from river_oauc.blas import dscal
from river_oauc.inputs.arrays import FloatArray
from river_oauc.inputs.parameters import check_count, check_number
from river_oauc.vectors import squared_distances

__all__ = ["RBF", "Kernel", "Linear", "Polynomial"]


class Kernel(abc.ABC):
    """A positive semidefinite kernel.

    A kernel of one's own is a subclass with one method, `__call__`. Features that turn up late are
    appended as zeros to the vectors that are there already, and must not change their similarities.

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
        """The similarity of `x` to each row of `vectors`."""

    def of_itself(self, x: FloatArray) -> float:
        """The similarity of `x` to itself."""
        return float(self(x, x[np.newaxis])[0])

    def __repr__(self) -> str:
        parameters = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({parameters})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).items()))


class RBF(Kernel):
    """The Gaussian kernel exp(-gamma |x - z|²).

    Every function can be approached with it, and every example is its own neighbourhood: the larger
    `gamma`, the smaller. Where a text writes exp(-|x - z|² / σ²), gamma is 1 / σ².

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
        # Subtracted before squared: equal vectors are at distance 0 exactly, and an offset that all
        # vectors share costs no digits.
        exponents = squared_distances(x, vectors)
        # In place, and at a fifth of the cost of a numpy product of so few numbers.
        dscal(-self.gamma, exponents)
        similarities: FloatArray = np.exp(exponents, out=exponents)
        return similarities

    def of_itself(self, x: FloatArray) -> float:
        return 1.0


class Polynomial(Kernel):
    """The polynomial kernel (gamma x·z + coef0)^degree: products of up to `degree` features.

    Parameters
    ----------
    degree
        The highest number of factors.
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
            similarities: FloatArray = (self.gamma * (vectors @ x) + self.coef0) ** self.degree
        return similarities


class Linear(Kernel):
    """The inner product itself: a linear score, written as a sum over examples.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.kernels import Linear

    >>> Linear()(np.array([1.0, 2.0]), np.array([[1.0, 1.0], [0.0, 3.0]]))
    array([3., 6.])

    """

    def __call__(self, x: FloatArray, vectors: FloatArray) -> FloatArray:
        return vectors @ x
