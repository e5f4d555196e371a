"""From raw records to dense and sparse examples, by what came before.

Everything that is known of a feature hangs on its number, which one dict finds by name: its facts
and the counts of its categories (see `features`), its dense columns (see `columns`), and the rows
of its entries in sparse examples (see `entries`). So a new name costs O(1).
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Sequence

import numpy as np

from river_oauc.acceleration import accelerated
from river_oauc.records.columns import Columns, encode_dense
from river_oauc.records.entries import RowIndex, SparseExample, encode_sparse
from river_oauc.records.features import (
    KEPT_SHARE,
    N_KNOWN,
    Categories,
    Features,
    Prior,
    Values,
    is_category,
    odds_of,
)
from river_oauc.records.frames import Frame, to_records
from river_oauc.records.parse import Name, ReadRecord, Record, read_record, sort_key
from river_oauc.state import FloatArray, IntArray, State, read_fields

# Columns are reviewed after 1, 2, 4, ... examples, and after every 64th.
REVIEW_EVERY = 64

# The numbers of features, columns and rows, and the length of arrays; and with the values that have
# been read of a record, what `update` and `rollback` need.
Before = tuple[int, int, int, int]
Added = tuple[Values, Before]

# Both sides of an example, and what has been read of the record.
Encoded = tuple[FloatArray | None, SparseExample | None, Values | None]


class Known(typing.NamedTuple):
    """What an encoder knows: of its features, columns and rows."""

    numbers: dict[Name, int]
    facts: IntArray
    known: list[Categories]
    counts: FloatArray
    class_weights: FloatArray
    places: IntArray
    absent: FloatArray | None
    rows: RowIndex | None


class MixedEncoder:
    """Map raw records to arrays, to the rows and values of what is not 0, or to pairs of both.

    Parameters
    ----------
    dense, sparse
        Whether examples have an array, and rows and values.
    is_pair
        Whether an example is a pair of both, of which one may be None; otherwise it is the side
        that there is.
    is_prompt
        Whether a feature gets its first column when it is first learned; see `Columns`.
    max_features
        The largest number of features with columns; None is no limit. Beyond it, a prompt encoder
        refuses a record with a new feature.
    max_categories
        The largest number of categories to remember; None is no limit. When there would be more,
        the fifth that has come least often is forgotten. So are features without a column.

    Examples
    --------
    >>> from river_oauc.records.encoder import MixedEncoder

    >>> encoder = MixedEncoder(max_features=100)
    >>> record = {"country": "FR", "amount": 12.5}
    >>> for i in range(8):
    ...     example, added = encoder.encode(record, learning=True)
    ...     is_full = encoder.update(added, positive=True, weight=1.0)
    >>> encoder.encode(record)[0]
    (array([12.5       ,  1.7]), (array([1, 0, 2]), array([ 1. , 12.5,  1. ])))
    >>> encoder.row_names
    ['amount', ('country', 'FR'), ('amount', 'from', 12.0)]

    """

    def __init__(
        self,
        dense: bool = True,
        sparse: bool = True,
        is_pair: bool = True,
        is_prompt: bool = False,
        max_features: int | None = None,
        max_categories: int | None = None,
    ) -> None:
        self._parameters = dense, sparse, is_pair, is_prompt, max_features, max_categories
        self.dense, self.sparse, self.is_pair, self.is_prompt = dense, sparse, is_pair, is_prompt
        self.max_categories = max_categories
        self.features = Features()
        # Without arrays, no feature takes room for columns.
        self.columns = Columns(self.features if dense else Features(), is_prompt, max_features)
        self.rows_index = RowIndex.empty(0)
        self._collect()

    def _collect(self) -> None:
        """Collect what `encode_record` needs, whenever something has been replaced."""
        features, columns = self.features, self.columns
        self._known = Known(
            features.index,
            features.facts,
            features.known,
            features.counts,
            features.class_weights,
            columns.places,
            columns.absent if self.dense else None,
            self.rows_index if self.sparse else None,
        )

    @property
    def size(self) -> typing.Any:
        """The length of the arrays, the number of rows, or a pair of both."""
        sizes = len(self.columns.absent), len(self.rows_index.entries)
        return sizes if self.is_pair else sizes[not self.dense]

    def read(self, x: Record) -> ReadRecord:
        """Return what a record says, with the log odds that its categories have now."""
        read, features, odds = read_record(x), self.features, []
        prior = Prior.of(features.class_weights)
        for place, (name, _, category) in enumerate(read):
            feature = -1 if category is None else features.index.get(name, -1)
            if feature >= 0:
                own = features.known[feature]
                if is_category(features.facts[feature].tolist(), own):
                    odds.append((place, *odds_of(category, own, features.counts, prior)))
        names, numbers, categories = zip(*read, strict=True) if read else ((), (), ())
        return ReadRecord(names, numbers, categories, tuple(odds))

    def encode(
        self, x: Record | ReadRecord, learning: bool = False
    ) -> tuple[typing.Any, Added | None]:
        """Return the example of a record, and what `update` and `rollback` need.

        A ValueError is raised if a value is refused. In learning, what is new gets numbers, columns
        and rows; otherwise it is left out.
        """
        columns = self.columns
        before = (
            len(self.features), len(columns.columns), len(self.rows_index.entries),
            len(columns.absent),
        )  # fmt: skip
        try:
            while (encoded := encode_record(x, learning, self._known)) is None or (
                self.is_prompt and encoded[2] is not None and columns.add_prompt(encoded[2])
            ):
                # Once more, now that there is room. A copy: another thread may change the record.
                self._make_room()
                x = x if isinstance(x, ReadRecord) else dict(x)
            dense, sparse, values = encoded
            if learning and sparse is not None and len(self.rows_index.entries) - before[2] > 1:
                self._sort_new_rows(before[2], sparse[0])
        except BaseException:
            if learning:
                self._truncate(before)
            raise
        example = (dense, sparse) if self.is_pair else sparse if dense is None else dense
        return example, None if values is None else (values, before)

    def rows(self, frame: Frame) -> tuple[Callable[..., typing.Any], Sequence[typing.Any]]:
        """Return a function that encodes the rows of a data frame, and what it takes for each."""
        return self.encode, to_records(frame)

    def _make_room(self) -> None:
        self.features.make_room()
        self.columns.make_room()
        self.rows_index = self.rows_index.with_room(len(self.features), len(self.features.facts))
        self._collect()

    def _sort_new_rows(self, first: int, rows: IntArray) -> None:
        """Number the rows from `first` on in an order that does not depend on that of a record."""
        index, names = self.rows_index, self.features.names
        new = index.entries[first:]
        keys = [(sort_key(names[feature]), kind, sort_key(key)) for feature, kind, key in new]
        order = sorted(range(len(new)), key=keys.__getitem__)
        index.entries[first:] = [new[i] for i in order]
        for row, entry in enumerate(index.entries[first:], first):
            index.put(entry, row)
        is_new = rows >= first
        rows[is_new] = first + np.argsort(order)[rows[is_new] - first]

    def rollback(self, added: Added | None) -> None:
        """Forget what the last `encode` has added, because the ranker has refused the example."""
        if added is not None:
            self._truncate(added[1])

    def _truncate(self, before: Before) -> None:
        n_features, n_columns, n_rows, length = before
        self.rows_index.truncate(n_features, n_rows)
        self.columns.truncate(n_columns, length)
        self.features.truncate(n_features)
        self._collect()

    def update(self, added: Added, positive: bool, weight: float) -> bool:
        """Update the statistics with an example that has been learned.

        Return whether there is more than the limit allows.
        """
        features, columns, limit = self.features, self.columns, self.max_categories
        absent = columns.absent
        try:
            features.update(added[0], positive, weight)
            n = features.n_seen
            if self.dense and (n % REVIEW_EVERY == 0 or n & (n - 1) == 0):
                columns.review()
            if limit is not None:
                features.forget_rare_categories(limit)
        finally:
            if features.counts is not self._known.counts or columns.absent is not absent:
                self._collect()
        return self.is_full

    @property
    def is_full(self) -> bool:
        """Whether there are more rows, or features without a column, than the limit allows."""
        n_unseen = len(self.features) - len(self.columns.columns)
        n = max(len(self.rows_index.entries), n_unseen)
        return self.max_categories is not None and n > self.max_categories

    def keep(self, rows: IntArray) -> IntArray:
        """Forget all rows but these, and features that were rarely known, if there are too many.

        Return the rows that have been kept.
        """
        n, columns, entries = len(self.features), self.columns.columns, self.rows_index.entries
        limit = typing.cast(int, self.max_categories)
        is_kept = np.ones(n, dtype=bool)
        if n - len(columns) > limit:
            order = np.argsort(self.features.facts[:n, N_KNOWN], kind="stable")
            is_kept[order[: n - int(KEPT_SHARE * limit)]] = False
            is_kept[[feature for feature, _ in columns]] = True
        place = (np.cumsum(is_kept) - 1).tolist()
        rows = np.array([row for row in rows.tolist() if is_kept[entries[row][0]]], np.int64)
        self.features.keep(np.flatnonzero(is_kept))
        self.columns.take(
            [(place[feature], kind) for feature, kind in columns], len(self.columns.absent)
        )
        kept = (entries[row] for row in rows.tolist())
        self._take_rows((place[feature], kind, key) for feature, kind, key in kept)
        return rows

    def _take_rows(self, entries: typing.Iterable[typing.Any]) -> None:
        """Have rows for these entries only."""
        self.rows_index = RowIndex.empty(len(self.features))
        for entry in entries:
            self.rows_index.find(entry, learning=True)
        self._collect()

    def merged(self, other: MixedEncoder) -> tuple[MixedEncoder, typing.Any, typing.Any]:
        """Return an encoder with the statistics of both, and where their columns and rows stand."""
        both = type(self)(*self._parameters)
        both.set_state(self.get_state())
        place = both.features.merge(other.features).tolist()
        both._make_room()
        columns = [(place[feature], kind) for feature, kind in other.columns.columns]
        both.columns.take(
            dict.fromkeys([*self.columns.columns, *columns]), len(both.columns.absent)
        )
        if self.is_prompt:
            both.columns.check_limit()
        rows = [
            both.rows_index.find((place[feature], kind, key), learning=True)
            for feature, kind, key in other.rows_index.entries
        ]
        if both.max_categories is not None:
            both.features.forget_rare_categories(both.max_categories)
        both._collect()
        mine = np.arange(len(self.columns.columns)), np.arange(len(self.rows_index.entries))
        theirs = (
            np.array([both.columns.places[column] for column in columns], np.int64),
            np.array(rows, np.int64),
        )
        if self.is_pair:
            return both, mine, theirs
        return both, mine[not self.dense], theirs[not self.dense]

    def get_state(self) -> State:
        """Return a copy of the state."""
        return {
            "features": self.features.get_state(),
            "columns": self.columns.get_state(),
            "rows": self.rows_index.get_state(),
        }

    def set_state(self, state: typing.Any) -> None:
        """Take over a state, or raise a ValueError if it is damaged."""
        read_fields(state, dict.fromkeys(("features", "columns", "rows"), typing.Any))
        self.features.set_state(state["features"])
        self.columns.set_state(state["columns"])
        self.rows_index = RowIndex.of_state(state["rows"], len(self.features))
        self._collect()

    @property
    def row_names(self) -> list[Name]:
        """The name of each row: that of a number, or a tuple that begins with it."""
        return [
            self.rows_index.name(row, self.features.names)
            for row in range(self.size[1] if self.is_pair else self.size)
        ]

    def sum_by_feature(
        self,
        example: tuple[typing.Any, SparseExample | None],
        contributions: tuple[FloatArray | None, FloatArray | None],
    ) -> dict[Name, float]:
        """Return the sums of contributions to a score by the features of the record.

        Parameters
        ----------
        example
            The pair of both sides of an example; its rows are needed only.
        contributions
            An array with an entry for each column, and one with an entry for each row of the
            example; None where a side is not there.

        """
        of_columns, of_rows = contributions
        features: list[tuple[int, float]] = []
        if of_columns is not None:
            each = (feature for feature, _ in self.columns.columns)
            features += zip(each, of_columns.tolist(), strict=False)
        if of_rows is not None and example[1] is not None:
            entries = self.rows_index.entries
            each = (entries[row][0] for row in example[1][0].tolist())
            features += zip(each, of_rows.tolist(), strict=True)
        sums: dict[Name, float] = {}
        for feature, contribution in features:
            name = self.features.name_in_record(feature)
            sums[name] = sums.get(name, 0.0) + contribution
        return sums


@accelerated
def encode_record(record: Record | ReadRecord, learning: bool, encoder: Known) -> Encoded | None:
    """Return both sides of the example of a record, and in learning what has been read of it.

    In learning, a name that is not in the index gets the next number there. The result is None if
    there is no room for it in the arrays yet. Otherwise, such a name is left out. A ValueError is
    raised if a value is refused. A side is None if the encoder has no `absent`, or no `rows`.
    """
    index, facts, known, counts, class_weights, places, absent, rows = encoder
    read = read_record(record)
    odds = record.odds if isinstance(record, ReadRecord) else ()
    given = {read[place][0]: (all_time, recent) for place, all_time, recent in odds}
    if learning:
        for name, _, _ in read:
            index.setdefault(name, len(index))
        if len(index) > len(known):
            return None
    else:
        read = [value for value in read if value[0] in index]
    features = np.array([index[name] for name, _, _ in read], dtype=np.int64)
    numbers = np.array([number for _, number, _ in read], dtype=float)
    values = features, numbers, [category for _, _, category in read]
    served = {index[name]: each for name, each in given.items() if name in index}
    counted = facts, known, counts, Prior.of(class_weights), served
    return (
        None if absent is None else encode_dense(values, *counted, places, absent),
        None if rows is None else encode_sparse(values, learning, *counted, rows),
        values if learning else None,
    )
