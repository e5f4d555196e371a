"""From raw records to arrays in which every feature has columns of its own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from river import base

from river_oauc.encoding.columns import LOG_ODDS, Column, RecordColumns, feature_of, sort_key
from river_oauc.encoding.frames import Frame
from river_oauc.encoding.kinds import Value, read_record
from river_oauc.encoding.rows import RecordRows
from river_oauc.encoding.statistics import Statistics
from river_oauc.encoding.values import Record
from river_oauc.encoding.vectorizer import Vectorizer, check_room
from river_oauc.rankers.base import FloatArray
from river_oauc.state import State, StateReader

Name = base.typing.FeatureName


class RecordVectorizer(RecordColumns):
    """Map raw records to arrays, with a column for every feature that has been learned.

    Parameters
    ----------
    max_features
        The largest number of features. Beyond it, an example with a new one is refused. There are
        at most twice as many columns, unless numbers turn into strings.
    max_categories
        The largest number of categories to remember; see `Statistics`.

    Examples
    --------
    >>> from river_oauc.encoding.records import RecordVectorizer

    >>> vectorizer = RecordVectorizer()
    >>> record = {"country": "FR", "amount": 12.5}
    >>> vectorizer.encode(record) is None
    True
    >>> vectorizer.extend(vectorizer.names_in(record))
    >>> vectorizer.encode(record)
    array([12.5,  0. ])
    >>> vectorizer.learn(record, positive=True, weight=1.0)
    >>> vectorizer.encode(record), vectorizer.encode({"country": None})
    (array([12.5  ,  0.511]), array([nan, nan]))

    """

    def __init__(self, max_features: int | None = None, max_categories: int | None = None) -> None:
        super().__init__(Statistics(max_categories), Vectorizer(), max_features)

    def encode(self, record: Record) -> FloatArray | None:
        """Return the array of a record, or None if it needs a column that is not there yet.

        A ValueError is raised if a value is refused.
        """
        array = self._encode_plain(record, learning=True)
        if array is None:
            values = read_record(record)
            if not self._new_names(values):
                array = self._encode(values)
        return array

    def _new_names(self, values: Mapping[Name, Value]) -> list[Name]:
        """Return the names of the columns that a record needs and that are not there yet."""
        needed = (
            Column(name, LOG_ODDS) if math.isnan(number) else name
            for name, (number, _) in values.items()
        )
        return sorted((name for name in needed if name not in self.columns.index), key=sort_key)

    def names_in(self, record: Record) -> list[Name]:
        """Return the names of the columns that a record needs and that are not there yet."""
        return self._new_names(read_record(record))

    def read(self, record: Record) -> RecordRows:
        """Return a record that is to be learned, as the only row of a data frame."""
        return RecordRows([dict(record)])

    def read_frame(self, frame: Frame, learning: bool) -> RecordRows:
        """Return the rows of a data frame, or raise a ValueError if a value is refused."""
        if learning and self.max_features is not None:
            known = {feature_of(name) for name in self.names}
            if len(known) + len(frame.columns) > self.max_features:
                columns = (frame.get_column(name) for name in frame.columns)
                known.update(each.name for each in columns if not each.is_null().all())
                check_room(len(known), self.max_features)
        return RecordRows.of_frame(frame)

    def learn(self, record: Record, positive: bool, weight: float) -> None:
        """Update the statistics with an example that has been encoded."""
        self.statistics.learn(record, self.columns.index, positive, weight)
        self.review()

    def extend(self, names: Iterable[Name]) -> None:
        """Add columns, or raise a ValueError if there are too many features."""
        names = list(names)
        if self.max_features is not None:
            check_room(len({feature_of(name) for name in (*self.names, *names)}), self.max_features)
        self.columns.extend(names)
        self.lay_out()

    def checkpoint(self) -> tuple[int, int]:
        """Return the number of columns and the length of the arrays, for `truncate`."""
        return self.columns.checkpoint()

    def truncate(self, checkpoint: tuple[int, int], n_features: int) -> None:
        """Remove the columns since a checkpoint; arrays stay as long as those of the ranker."""
        self.columns.truncate(checkpoint, n_features)
        self.lay_out()

    def merged(self, other: RecordVectorizer) -> RecordVectorizer:
        """Return a vectorizer with the columns of both, and the statistics of both streams."""
        twin, theirs = self._copy(), other._copy()
        twin.extend(other.names)
        positions = twin.positions(other.names)
        twin.statistics.merge(theirs.statistics, twin.columns.index, positions)
        twin.lay_out()
        return twin

    def _copy(self) -> RecordVectorizer:
        twin = RecordVectorizer(self.max_features, self.statistics.max_categories)
        twin.set_state(StateReader(self.get_state(), "encoder"))
        return twin

    def get_state(self) -> State:
        """Return a copy of the state."""
        return {"columns": self.columns.get_state(), "statistics": self.statistics.get_state()}

    def set_state(self, reader: StateReader) -> None:
        """Take over a state, or raise a ValueError if it is damaged."""
        self.columns.set_state(reader.reader("columns"))
        self.statistics.set_state(reader.reader("statistics"))
        reader.finish()
        self.lay_out()
