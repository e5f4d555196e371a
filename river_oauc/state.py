"""The state of a model as plain data, checked when it is read.

A state is a nested dict of numbers, strings, lists, numpy arrays, and names of features. Pickles,
copies and merged models all carry it. The owner of a part of a model writes it with `get_state` and
reads it back through a `StateReader`, which refuses everything that the owner could not work with.
"""

from __future__ import annotations

import math
import random
import typing
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from river_oauc.limits import MAX_NORM, short_repr

State = dict[str, typing.Any]

FloatArray = NDArray[np.float64]
SingleArray = NDArray[np.float32]
IntArray = NDArray[np.int64]

# Counts beyond this are not exact in a double.
_MAX_COUNT = 2**53


def pack_symmetric(matrix: FloatArray) -> FloatArray:
    """Return the upper triangle of a symmetric matrix, row by row."""
    return matrix[np.triu_indices(len(matrix))]


def unpack_symmetric(packed: FloatArray, size: int) -> FloatArray:
    """Return the symmetric matrix with this upper triangle.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.state import unpack_symmetric
    >>> unpack_symmetric(np.array([1.0, 2.0, 3.0]), 2)
    array([[1., 2.],
           [2., 3.]])

    """
    rows, columns = np.triu_indices(size)
    matrix = np.empty((size, size))
    matrix[rows, columns] = packed
    matrix[columns, rows] = packed
    return matrix


class StateReader:
    """Take the fields out of a state one by one, each checked and copied.

    Arrays come out contiguous, writable and owned by the reader, wherever they came from: a
    memory-mapped file, the buffers of a pickle, another model.

    Parameters
    ----------
    state
        A dict of fields.
    path
        The name of the state in error messages.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.state import StateReader

    >>> reader = StateReader({"n": 3, "mean": np.array([1.0, np.nan])}, "moments")
    >>> reader.count("n")
    3
    >>> reader.array("mean", 2)
    Traceback (most recent call last):
    ValueError: the state of moments is damaged: mean has numbers that are not finite

    """

    def __init__(self, state: typing.Any, path: str) -> None:
        self.path = path
        if type(state) is not dict:
            raise self.error(f"it is a {type(state).__name__}, not a dict")
        self._fields = dict(state)

    def error(self, message: str) -> ValueError:
        """Return the error to raise for a damaged state."""
        return ValueError(f"the state of {self.path} is damaged: {message}")

    def take(self, name: str) -> typing.Any:
        """Take a field as it is."""
        if name not in self._fields:
            raise self.error(f"{name} is missing")
        return self._fields.pop(name)

    def number(self, name: str, minimum: float = -math.inf, maximum: float = math.inf) -> float:
        """Take a finite number between two bounds."""
        value = self.take(name)
        # A parameter may have been a number of numpy, and so what was computed with it.
        if isinstance(value, float) or type(value) is int and abs(value) <= _MAX_COUNT:
            value = float(value)
        if type(value) is not float or not math.isfinite(value):
            raise self.error(f"{name} is {short_repr(value)}, not a finite number")
        if not minimum <= value <= maximum:
            raise self.error(f"{name} is {value:g}, and must be in [{minimum:g}, {maximum:g}]")
        return value

    def total_weight(self, name: str) -> float:
        """Take a sum of importance weights: 0, or at least the smallest weight."""
        total = self.number(name, minimum=0.0, maximum=_MAX_COUNT * MAX_NORM)
        if 0.0 < total < 1.0 / MAX_NORM:
            raise self.error(f"{name} is {total:g}, and no weight is so small")
        return total

    def count(self, name: str, minimum: int = 0, maximum: int = _MAX_COUNT) -> int:
        """Take a whole number between two bounds."""
        value = self.take(name)
        if type(value) is not int or not minimum <= value <= maximum:
            raise self.error(
                f"{name} is {short_repr(value)}, not a whole number in [{minimum}, {maximum}]"
            )
        return value

    def flag(self, name: str) -> bool:
        """Take a boolean."""
        value = self.take(name)
        if type(value) is not bool:
            raise self.error(f"{name} is {short_repr(value)}, not a boolean")
        return value

    def array(
        self,
        name: str,
        *shape: int | None,
        minimum: float = -math.inf,
        maximum: float = math.inf,
        nan_allowed: bool = False,
    ) -> FloatArray:
        """Take an array of finite doubles; a length of None may be anything."""
        array: FloatArray = self._array(name, np.float64, shape)
        self._check_finite(name, array, nan_allowed, minimum, maximum)
        return array

    def singles(self, name: str, *shape: int | None, nan_allowed: bool = False) -> SingleArray:
        """Take an array of finite numbers in single precision."""
        array: SingleArray = self._array(name, np.float32, shape)
        self._check_finite(name, array, nan_allowed)
        return array

    def _check_finite(
        self,
        name: str,
        array: NDArray[typing.Any],
        nan_allowed: bool,
        minimum: float = -math.inf,
        maximum: float = math.inf,
    ) -> None:
        numbers = array[~np.isnan(array)] if nan_allowed else array
        if not np.isfinite(numbers).all():
            raise self.error(f"{name} has numbers that are not finite")
        self._check_bounds(name, numbers, minimum, maximum)

    def vector(self, name: str, size: int | None = None) -> FloatArray:
        """Take a vector of weights or features, of a given length or any but 0."""
        # A mean of vectors may be longer than all of them, by rounding.
        array = self.array(name, size, minimum=-2.0 * MAX_NORM, maximum=2.0 * MAX_NORM)
        if not len(array):
            raise self.error(f"{name} is empty")
        return array

    def integers(
        self, name: str, *shape: int | None, minimum: int = 0, maximum: int = _MAX_COUNT
    ) -> IntArray:
        """Take an array of integers; a length of None may be anything."""
        array: IntArray = self._array(name, np.int64, shape)
        self._check_bounds(name, array, minimum, maximum)
        return array

    def _array(self, name: str, dtype: type, shape: Sequence[int | None]) -> typing.Any:
        value = self.take(name)
        if not isinstance(value, np.ndarray) or value.dtype.newbyteorder("=") != dtype:
            raise self.error(f"{name} is not an array of {np.dtype(dtype).name}")
        if value.ndim != len(shape) or any(
            wanted not in (None, length) for wanted, length in zip(shape, value.shape, strict=True)
        ):
            raise self.error(f"{name} has the shape {value.shape}, and must have {tuple(shape)}")
        # Not a subclass such as memmap, and in the byte order of this machine.
        return np.array(value, dtype=dtype, order="C", subok=False)

    def _check_bounds(
        self, name: str, array: NDArray[typing.Any], minimum: float, maximum: float
    ) -> None:
        if array.size and not (array.min() >= minimum and array.max() <= maximum):
            raise self.error(f"{name} has numbers outside [{minimum:g}, {maximum:g}]")

    def symmetric(
        self, name: str, size: int, minimum: float = -math.inf, maximum: float = math.inf
    ) -> FloatArray:
        """Take a symmetric matrix that was packed by `pack_symmetric`."""
        packed = self.array(name, size * (size + 1) // 2, minimum=minimum, maximum=maximum)
        return unpack_symmetric(packed, size)

    def names(self, name: str) -> list[Hashable]:
        """Take a list of different hashable names."""
        value = self.take(name)
        if type(value) is not list:
            raise self.error(f"{name} is a {type(value).__name__}, not a list")
        try:
            n_different = len(set(value))
        except TypeError:
            raise self.error(f"{name} has a name that is not hashable") from None
        if n_different < len(value):
            raise self.error(f"{name} has a name twice")
        return list(value)

    def rng(self, name: str) -> random.Random:
        """Take the state of a random generator, as `random.Random.getstate` gives it."""
        value = self.take(name)
        rng = random.Random()
        try:
            rng.setstate(value)
        except (TypeError, ValueError, LookupError, OverflowError):
            raise self.error(f"{name} is not the state of a random generator") from None
        return rng

    def reader(self, name: str) -> StateReader:
        """Take a nested state."""
        return StateReader(self.take(name), f"{self.path}.{name}")

    def readers(self, name: str, n: int | None = None) -> list[StateReader]:
        """Take a list of nested states, of a given length or any."""
        value = self.take(name)
        if type(value) is not list or n not in (None, len(value)):
            raise self.error(f"{name} is not a list of {'states' if n is None else n}")
        return [StateReader(item, f"{self.path}.{name}[{i}]") for i, item in enumerate(value)]

    def finish(self) -> None:
        """Refuse fields that nobody has taken."""
        if self._fields:
            raise self.error(f"it has unknown fields: {short_repr(sorted(map(str, self._fields)))}")
