"""From raw records to dense and sparse examples side by side, with one set of statistics.

Dense columns are for features that are known often enough; see `AutoColumns`. The sparse example
has everything; see `sparse`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import numpy as np
from river import base

from river_oauc.encoding.columns import RecordColumns, feature_of, sort_key
from river_oauc.encoding.frames import Frame
from river_oauc.encoding.rows import RecordRows
from river_oauc.encoding.sparse import SparseEncoder
from river_oauc.encoding.statistics import KEPT_SHARE, Statistics
from river_oauc.encoding.values import Record
from river_oauc.encoding.vectorizer import Vectorizer
from river_oauc.rankers.base import FloatArray, IntArray, SparseExample
from river_oauc.state import State, StateReader

Name = base.typing.FeatureName

# A feature has dense columns once it has been known this often, and in this share of the examples.
MIN_KNOWN, MIN_KNOWN_SHARE = 5, 0.05

# Of an example, each side is None if it is switched off.
AutoExample = tuple[FloatArray | None, SparseExample | None]


class AutoColumns(RecordColumns):
    """The columns of features that are known often enough.

    A feature gets them at a review. If there are too many, those that are known most often come
    first, and the others have none.

    Parameters
    ----------
    rows
        The encoder whose statistics are shared.
    columns
        The positions of the columns.
    max_features
        The largest number of features.

    """

    def __init__(self, rows: SparseEncoder, columns: Vectorizer, max_features: int) -> None:
        super().__init__(rows.statistics, columns, max_features)
        self._rows, self._max_features = rows, max_features

    def lay_out(self) -> None:
        """Find the columns of each feature. Those that are still free are unknown."""
        super().lay_out()
        self._absent[len(self.columns) :] = np.nan

    def _useful_columns(self) -> Iterator[Name]:
        index, features = self.columns.index, self.statistics.features
        minimum = max(MIN_KNOWN, MIN_KNOWN_SHARE * self.statistics.n_seen)
        known = self.statistics.often_known(minimum, self._rows.index, index)
        admitted = {feature_of(name) for name in index}
        for name in sorted(known, key=lambda name: (-known[name], sort_key(name))):
            new: list[Name] = []
            if name in features:
                new += self.deserved_columns(name)
            if name not in index and (name not in features or features[name].has_numbers):
                new.append(name)
            if new and (feature_of(name) in admitted or len(admitted) < self._max_features):
                admitted.add(feature_of(name))
                yield from new


class AutoEncoder:
    """Map raw records to pairs of an array, and the rows and values of what is not 0.

    Names, sizes and positions are pairs as well. On a side that is switched off, they stand for
    nothing that a ranker could need.

    Parameters
    ----------
    max_features
        The largest number of features with dense columns. There are at most twice as many columns.
    max_categories
        The largest number of categories to remember; see `Statistics`.
    dense, sparse
        Whether examples have this side. Otherwise it is None.

    Examples
    --------
    >>> from river_oauc.encoding.auto import AutoEncoder

    >>> encoder = AutoEncoder(max_features=100, max_categories=None)
    >>> record = {"country": "FR", "amount": 12.5}
    >>> encoder.extend(encoder.names_in(record))
    >>> encoder.encode(record)
    (array([nan]), (array([0, 1]), array([ 1. , 12.5])))
    >>> for i in range(8):
    ...     encoder.learn(record, positive=True, weight=1.0)
    >>> encoder.names
    (['amount', Column(feature='country', kind='log odds')], [('country', 'FR'), 'amount'])
    >>> encoder.encode_known(record)
    (array([12.5  ,  1.655]), (array([0, 1]), array([ 1. , 12.5])))

    """

    def __init__(
        self, max_features: int, max_categories: int | None, dense: bool = True, sparse: bool = True
    ) -> None:
        self.max_features, self.max_categories = max_features, max_categories
        self.dense, self.sparse = dense, sparse
        # Without a sparse side, it has the names of numbers, to count how often they are known.
        self._set(SparseEncoder(max_categories), Vectorizer())

    def _set(self, rows: SparseEncoder, columns: Vectorizer) -> None:
        self._rows, self._columns = rows, AutoColumns(rows, columns, self.max_features)

    @property
    def statistics(self) -> Statistics:
        """The statistics of the features."""
        return self._rows.statistics

    @property
    def size(self) -> tuple[int, int]:
        """The length of the arrays, and the number of rows."""
        return self._columns.size, self._rows.size

    def has_room_for(self, n_features: tuple[int, int]) -> bool:
        """Return whether a ranker with these numbers of features can belong to the encoder."""
        n_dense, n_sparse = n_features
        return self._columns.has_room_for(n_dense) and self._rows.has_room_for(n_sparse)

    @property
    def names(self) -> tuple[list[Name], list[Name]]:
        """The names of the columns and of the rows."""
        return self._columns.names, self._rows.names

    def positions(self, names: tuple[list[Name], list[Name]]) -> tuple[IntArray, IntArray]:
        """Return the positions of columns and of rows."""
        columns, rows = names
        return self._columns.positions(columns), self._rows.positions(rows)

    def encode(self, record: Record) -> AutoExample | None:
        """Return the example of a record, or None if it has a row that is not known yet.

        A ValueError is raised if a value is refused.
        """
        example = self._rows.encode(record) if self.sparse else None
        if example is None and self.sparse:
            return None
        return self._columns.encode_known(record) if self.dense else None, example

    def encode_known(self, record: Record) -> AutoExample:
        """Return the example of a record for a prediction, without what is not known yet."""
        return (
            self._columns.encode_known(record) if self.dense else None,
            self._rows.encode_known(record) if self.sparse else None,
        )

    def names_in(self, record: Record) -> Collection[Name]:
        """Return the names of the rows of a record that are not known yet."""
        return self._rows.names_in(record)

    def read(self, record: Record) -> RecordRows:
        """Return a record that is to be learned, as the only row of a data frame."""
        return self._rows.read(record)

    def read_frame(self, frame: Frame, learning: bool) -> RecordRows:
        """Return the rows of a data frame, or raise a ValueError if a value is refused."""
        return self._rows.read_frame(frame, learning)

    def learn(self, record: Record, positive: bool, weight: float) -> None:
        """Update the statistics with an example that has been encoded, and review the columns."""
        if not self.sparse:
            self._extend_by_numbers(record)
        self._rows.learn(record, positive, weight)
        if self.dense:
            self._columns.review()

    def _extend_by_numbers(self, record: Record) -> None:
        """Add rows that only count how often a number is known."""
        # A copy: another thread may change the record meanwhile.
        names, features = list(record), self.statistics.features
        if not features.keys() >= set(names):
            self._rows.extend(name for name in names if name not in features)
        if self.max_categories is not None and self._rows.size > self.max_categories:
            n_kept = int(KEPT_SHARE * self.max_categories)
            kept = self.statistics.most_often_known(n_kept, self._rows.index)
            self._set(self._rows.keeping(kept), self._columns.columns)

    def add_columns(self, names: Collection[Name]) -> IntArray:
        """Add columns before the first example, and return their positions."""
        self._columns.columns.extend(names)
        self._columns.lay_out()
        return self._columns.positions(names)

    def extend(self, names: Iterable[Name]) -> None:
        """Add rows."""
        self._rows.extend(names)

    def checkpoint(self) -> int:
        """Return the number of rows, for `truncate`."""
        return self._rows.checkpoint()

    def truncate(self, checkpoint: int, n_features: tuple[int, int]) -> None:
        """Remove the rows since a checkpoint, but for those that the ranker has learned."""
        self._rows.truncate(checkpoint, n_features[1])

    def keeping(self, rows: IntArray) -> AutoEncoder:
        """Return an encoder that knows these rows only, and all columns."""
        twin = self._new()
        twin._set(self._rows.keeping(rows), self._columns.columns)
        return twin

    def merged(self, other: AutoEncoder) -> AutoEncoder:
        """Return an encoder with the columns, rows and statistics of both."""
        twin, columns = self._new(), self._columns.columns.merged(other._columns.columns)
        twin._set(self._rows.merged(other._rows), columns)
        return twin

    def _new(self) -> AutoEncoder:
        return AutoEncoder(self.max_features, self.max_categories, self.dense, self.sparse)

    def sum_by_feature(
        self, record: Record, contributions: tuple[FloatArray | None, FloatArray | None]
    ) -> dict[Name, float]:
        """Return the sums of contributions to a score by the features of the record.

        Parameters
        ----------
        record
            The features.
        contributions
            An array with an entry for each column, and one with an entry for each row of
            `encode_known(record)`; None where a side is switched off.

        """
        of_columns, of_rows = contributions
        sums = {} if of_columns is None else self._columns.sum_by_feature(of_columns)
        if of_rows is not None:
            for name, entry in self._rows.sum_by_feature(record, of_rows).items():
                sums[name] = sums.get(name, 0.0) + entry
        return sums

    def get_state(self) -> State:
        """Return a copy of the state."""
        return {"columns": self._columns.columns.get_state(), "rows": self._rows.get_state()}

    def set_state(self, reader: StateReader) -> None:
        """Take over a state, or raise a ValueError if it is damaged."""
        rows, columns = SparseEncoder(self.max_categories), Vectorizer()
        columns.set_state(reader.reader("columns"))
        rows.set_state(reader.reader("rows"))
        reader.finish()
        self._set(rows, columns)
