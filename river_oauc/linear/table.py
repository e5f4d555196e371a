"""A few numbers per feature, found by the feature's name."""

from __future__ import annotations

import typing
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from river import base

from river_oauc.inputs import dicts
from river_oauc.inputs.arrays import FloatArray, resized

__all__ = ["FeatureTable", "Rows"]

Rows = NDArray[np.intp]


# What stands in row 0, for all unknown names.
# What stands there is next to nothing in units of 1e300.
_UNKNOWN = {"weights": 0.0, "squares": 0.0, "units": 1e300, "means": 0.0, "counts": 0.0}


class FeatureTable:
    """What is known of every feature: a row per name, and a second one for what varies.

    Row 0 stands for all unknown names, and has a weight of 0 and a huge unit. Whatever the
    number of features, looking up those of an example costs as much as the example has. Memory is
    six doubles per feature and what its name takes in a dict: about 200 bytes for a short string.

    Attributes
    ----------
    weights, squares, units
        The weight of each row, its squared gradients, and the usual size of its values.
    means
        Of a second row, the mean of the feature, from which its values deviate.
    counts
        Of a first row, how often the value was not of the usual size.
    seconds
        Of a first row, the second row of the feature; 0 if it has none.
    n_seconds
        The number of second rows.
    last
        For whoever uses the table to remember what was looked up last. It is no part of the state.
    last_names
        The names that were looked up last: mostly the next example has the same.

    Examples
    --------
    >>> from river_oauc.linear.table import FeatureTable

    >>> table = FeatureTable()
    >>> table.add(["a", "b"], [5.0, 7.0])
    >>> table.rows(("b", "a"))
    array([2, 1])
    >>> table.rows_or_unknown(["c", "a"])
    array([0, 1])
    >>> table.units[table.rows(("b", "a"))]
    array([7., 5.])
    >>> table.add_second(1, mean=4.5, unit=0.5)
    >>> table.seconds[table.rows(("b", "a"))]
    array([0, 3])

    """

    weights: FloatArray
    squares: FloatArray
    units: FloatArray
    means: FloatArray
    counts: FloatArray

    def __init__(self) -> None:
        nothing = np.zeros(0)
        self.__setstate__(([], np.zeros(0, np.intp), nothing, nothing, nothing, nothing, nothing))

    def __getstate__(self) -> tuple[typing.Any, ...]:
        columns = (getattr(self, name)[1 : self._n_rows] for name in _UNKNOWN)
        # The second row of each name, which says the rows of the names as well.
        return self.names, self.seconds[[*self._index.values()]], *columns

    def __setstate__(self, state: tuple[typing.Any, ...]) -> None:
        names, seconds, *columns = state
        for (name, unknown), column in zip(_UNKNOWN.items(), columns, strict=True):
            setattr(self, name, np.concatenate([[unknown], column]))
        self._n_rows = 1 + len(columns[0])
        taken = set(seconds.tolist())
        first_rows = (row for row in range(1, self._n_rows) if row not in taken)
        self._index = dict(zip(names, first_rows, strict=True))
        self.seconds: Rows = np.zeros(self._n_rows, np.intp)
        self.seconds[[*self._index.values()]] = seconds
        self.n_seconds = int(np.count_nonzero(seconds))
        self._ones = np.ones(64)
        self.last: typing.Any = None
        self.last_names: tuple[base.typing.FeatureName, ...] = ()
        self._last_rows: Rows = np.zeros(0, np.intp)

    def __len__(self) -> int:
        return len(self._index)

    @property
    def names(self) -> list[base.typing.FeatureName]:
        """The known names, in the order in which they became known."""
        return list(self._index)

    @property
    def first_rows(self) -> Rows:
        """The rows of the known names, in the same order."""
        return np.fromiter(self._index.values(), np.intp, len(self))

    def ones(self, n: int) -> FloatArray:
        """An array of at least so many ones, not to be changed."""
        if n > len(self._ones):
            self._ones = np.ones(2 * n)
        return self._ones

    def rows(self, names: tuple[base.typing.FeatureName, ...]) -> Rows:
        """The rows of these names, not to be changed; an unknown one is a KeyError."""
        if names != self.last_names:
            self._last_rows = dicts.rows_of(self._index, names)
            self.last_names = names
        return self._last_rows

    def rows_or_unknown(self, names: Iterable[base.typing.FeatureName]) -> Rows:
        """The rows of these names; 0 for an unknown one."""
        return np.array([self._index.get(name, 0) for name in names], np.intp)

    def add(self, names: Iterable[base.typing.FeatureName], units: Iterable[float]) -> None:
        """Give a row with this unit to each of the names that has none."""
        index = self._index
        new = {name: unit for name, unit in zip(names, units, strict=True) if name not in index}
        first = self._make_rows(len(new))
        self.units[first : self._n_rows] = list(new.values())
        index.update(zip(new, range(first, self._n_rows), strict=True))

    def add_second(self, row: int, mean: float, unit: float) -> None:
        """Give a second row to the feature in this row."""
        second = self._make_rows(1)
        self.means[second] = mean
        self.units[second] = unit
        self.seconds[row] = second
        self.n_seconds += 1

    def _make_rows(self, n: int) -> int:
        """Make so many rows of zeros; returns the first of them."""
        first, n_rows = self._n_rows, self._n_rows + n
        if n_rows > len(self.weights):
            # First the memory: if there is none, nothing has changed.
            size = n_rows + n_rows // 4
            columns = {name: resized(getattr(self, name), size) for name in _UNKNOWN}
            seconds = resized(self.seconds, size)
            for name, column in columns.items():
                setattr(self, name, column)
            self.seconds = seconds
        self._n_rows = n_rows
        return first

    def pool(self, other: FeatureTable, first: float, first_deviation: float) -> None:
        """Add what another table has learned of its features from another part of the stream.

        Squared gradients add up, and so do weights times one plus their squared gradients: as means
        of Gaussian posteriors would over a prior of precision 1, in any order. So the weights of
        what is common are averaged, and those of what is rare are added. Units and means are
        averaged by how much they have settled, which is `first` or `first_deviation` and the root
        of the squares.
        """
        names, theirs = other.names, other.first_rows
        self.add(names, other.units[theirs].tolist())
        mine = self.rows(tuple(names))
        self.counts[mine] += other.counts[theirs]
        self._combine(mine, other, theirs, first)
        (numbers,) = other.seconds[theirs].nonzero()
        for row, second in zip(
            mine[numbers].tolist(), other.seconds[theirs[numbers]].tolist(), strict=True
        ):
            if not self.seconds[row]:
                self.add_second(row, other.means.item(second), other.units.item(second))
        self._combine(
            self.seconds[mine[numbers]],
            other,
            other.seconds[theirs[numbers]],
            first_deviation,
        )
        self.last = None

    def _combine(self, mine: Rows, other: FeatureTable, theirs: Rows, first: float) -> None:
        """Pool rows of this table with rows of another one."""
        my_squares, their_squares = self.squares[mine], other.squares[theirs]
        total = (1.0 + my_squares) * self.weights[mine]
        total += (1.0 + their_squares) * other.weights[theirs]
        self.squares[mine] = my_squares + their_squares
        self.weights[mine] = total / (1.0 + my_squares + their_squares)
        my_settled, settled = first + np.sqrt(my_squares), first + np.sqrt(their_squares)
        share = settled / (my_settled + settled)
        self.units[mine] += share * (other.units[theirs] - self.units[mine])
        self.means[mine] += share * (other.means[theirs] - self.means[mine])

    def keep(self, n_names: int) -> None:
        """Forget all but so many features: those with the largest squares, the newest of equals."""
        rows = self.first_rows
        # Row 0, which stands for no second row, has no squares.
        usefulness = self.squares[rows] + self.squares[self.seconds[rows]]
        kept = np.sort(np.argsort(usefulness, kind="stable")[-n_names:])
        names, rows = self.names, rows[kept]
        seconds = self.seconds[rows]
        has_second = seconds > 0
        # The first rows come first, and then the second ones.
        numbers = np.where(has_second, len(rows) + np.cumsum(has_second), 0)
        all_rows = np.concatenate([rows, seconds[has_second]])
        self.__setstate__(
            (
                [names[position] for position in kept.tolist()],
                numbers,
                *(getattr(self, name)[all_rows] for name in _UNKNOWN),
            )
        )
