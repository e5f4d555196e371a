"""A few numbers per feature, found by the feature's name."""

from __future__ import annotations

import operator
import struct
import typing
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from river import base

from river_oauc.inputs.arrays import FloatArray, resized

__all__ = ["FeatureTable", "Rows", "packed_doubles"]

Rows = NDArray[np.intp]
Names = Sequence[base.typing.FeatureName]


class _Packers(dict[int, Callable[..., bytes]]):
    """For each number of values, the way to pack them: the fastest one into an array."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self._kind = kind

    def __missing__(self, n: int) -> Callable[..., bytes]:
        pack = self[n] = struct.Struct(f"{n}{self._kind}").pack
        return pack


# By number of values. Doubles refuse strings and None, and take what has a float.
packed_doubles = _Packers("d")
_packed_rows = _Packers("n")


class FeatureTable:
    """The weight, the squared gradients and the unit of every known feature.

    A name has a row; row 0 stands for all unknown names, and has a weight of 0 and an infinite
    unit. Whatever the number of features, looking up those of an example costs as much as the
    example has. Memory is three doubles per feature and what its name takes in a dict: about 170
    bytes for a short string.

    Attributes
    ----------
    weights, squares, units
        The numbers, by row; there is room for more rows than there are names.
    last
        For whoever uses the table to remember what was looked up last. It is no part of the state.

    Examples
    --------
    >>> from river_oauc.linear.table import FeatureTable

    >>> table = FeatureTable()
    >>> table.add(["a", "b"], [5.0, 7.0])
    >>> table.rows(["b", "a"])
    array([2, 1])
    >>> table.rows_or_unknown(["c", "a"])
    array([0, 1])
    >>> table.units[table.rows(["b", "a"])]
    array([7., 5.])

    """

    def __init__(self) -> None:
        nothing = np.zeros(0)
        self.__setstate__(([], nothing, nothing, nothing))

    def __getstate__(self) -> tuple[typing.Any, ...]:
        used = slice(1, 1 + len(self))
        return self.names, self.weights[used], self.squares[used], self.units[used]

    def __setstate__(self, state: tuple[typing.Any, ...]) -> None:
        names, *columns = state
        self._index = {name: row for row, name in enumerate(names, 1)}
        self.weights, self.squares, self.units = (
            np.concatenate([[first], column])
            for first, column in zip((0.0, 0.0, np.inf), columns, strict=True)
        )
        self._ones = np.ones(64)
        self.last: typing.Any = None

    def __len__(self) -> int:
        return len(self._index)

    @property
    def names(self) -> list[base.typing.FeatureName]:
        """The known names, in the order of their rows."""
        return list(self._index)

    def ones(self, n: int) -> FloatArray:
        """An array of at least so many ones, not to be changed."""
        if n > len(self._ones):
            self._ones = np.ones(2 * n)
        return self._ones

    def rows(self, names: Names) -> Rows:
        """The rows of these names; an unknown one is a KeyError."""
        n = len(names)
        if n > 1:
            found = operator.itemgetter(*names)(self._index)
            return np.frombuffer(_packed_rows[n](*found), np.intp)
        return np.array([self._index[name] for name in names], np.intp)

    def rows_or_unknown(self, names: Iterable[base.typing.FeatureName]) -> Rows:
        """The rows of these names; 0 for an unknown one."""
        return np.array([self._index.get(name, 0) for name in names], np.intp)

    def add(self, names: Iterable[base.typing.FeatureName], units: Iterable[float]) -> None:
        """Give a row with this unit to each of the names that has none."""
        index = self._index
        new = {name: unit for name, unit in zip(names, units, strict=True) if name not in index}
        n_rows = 1 + len(self)
        n_needed = n_rows + len(new)
        if n_needed > len(self.weights):
            # First the memory: if there is none, nothing has changed.
            size = n_needed + n_needed // 4
            columns = [resized(column, size) for column in (self.weights, self.squares, self.units)]
            self.weights, self.squares, self.units = columns
        self.units[n_rows:n_needed] = list(new.values())
        index.update(zip(new, range(n_rows, n_needed), strict=True))

    def keep(self, n_names: int) -> None:
        """Forget all but so many features: those with the largest squares, the newest of equals."""
        used = slice(1, 1 + len(self))
        kept = np.sort(np.argsort(self.squares[used], kind="stable")[-n_names:])
        names = self.names
        self.__setstate__(
            (
                [names[row] for row in kept.tolist()],
                *(column[used][kept] for column in (self.weights, self.squares, self.units)),
            )
        )
