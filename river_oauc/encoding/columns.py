"""The columns of arrays that stand for raw records, by what came before.

- A number has a column, which is NaN where the record has no number.
- A category has a column for its log odds, and one for recent log odds where these count; see
  `features`. So a feature of a thousand categories takes one or two columns.
- An unknown value and an absent key are the same. If the feature is known in most examples, they
  are NaN, and a column of its own tells where. Otherwise they are 0: so are absent words.
"""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from river import base

from river_oauc import acceleration
from river_oauc.encoding.kinds import TimePart, Value, read_record
from river_oauc.encoding.statistics import Statistics
from river_oauc.encoding.values import Record
from river_oauc.encoding.vectorizer import Vectorizer
from river_oauc.rankers.base import FloatArray, IntArray

Name = base.typing.FeatureName


@dataclasses.dataclass(frozen=True, slots=True)
class Column:
    """The name of a column that is no number: a feature, and what the column says about it."""

    feature: Name
    kind: str


LOG_ODDS, RECENT, MISSING = KINDS = ("log odds", "recent log odds", "missing")


class RecordColumns:
    """Map raw records to arrays, in which NaN stands for unknown.

    Parameters
    ----------
    statistics
        The statistics of the features. An encoder updates them, and calls `review` afterwards.
    columns
        The positions of the columns.
    max_features
        The largest number of features. There are at most twice as many columns, unless numbers turn
        into strings.

    """

    def __init__(
        self, statistics: Statistics, columns: Vectorizer, max_features: int | None
    ) -> None:
        self.statistics, self.columns, self.max_features = statistics, columns, max_features
        self.lay_out()

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def size(self) -> int:
        """The length of the arrays."""
        return self.columns.size

    def has_room_for(self, n_features: int) -> bool:
        """Return whether a ranker with this number of features can belong to the columns."""
        return self.columns.has_room_for(n_features)

    @property
    def names(self) -> list[Name]:
        """The names of the columns: of a number that of the feature, otherwise a `Column`."""
        return self.columns.names

    def positions(self, names: Iterable[Name]) -> IntArray:
        """Return the positions of columns."""
        return self.columns.positions(names)

    def lay_out(self) -> None:
        """Find the columns of each feature, and the array of a record in which all are absent."""
        index, features = self.columns.index, self.statistics.features
        absent = np.zeros(self.size)
        for name, feature in features.items():
            columns = [index.get(name, -1), *(index.get(Column(name, each), -1) for each in KINDS)]
            feature.columns = tuple(columns)
            if feature.is_mostly_known:
                missing = columns.pop()
                absent[[column for column in columns if column >= 0]] = np.nan
                if missing >= 0:
                    absent[missing] = 1.0
        self._absent, self._n_laid_out = absent, len(features)

    def encode_known(self, record: Record) -> FloatArray:
        """Return the array of a record, without columns that are not there.

        A ValueError is raised if a value is refused.
        """
        array = self._encode_plain(record, learning=False)
        return self._encode(read_record(record)) if array is None else array

    def _encode_plain(self, record: Record, learning: bool) -> FloatArray | None:
        """Return the array of a dict of plain values; None if the slow path is needed."""
        if len(self._absent) != self.size:
            # An interrupt has come after columns were added.
            self.lay_out()
        if acceleration.encode_record is None:
            return None
        features, class_weights = self.statistics.features, self.statistics.class_weights
        array: FloatArray | None = acceleration.encode_record(
            record, features, self.columns.index, self._absent, learning, class_weights
        )
        return array

    def _encode(self, values: Mapping[Name, Value]) -> FloatArray:
        index, features = self.columns.index, self.statistics.features
        prior = self.statistics.prior
        array = self._absent.copy()
        for name, (number, category) in values.items():
            feature = features.get(name)
            if feature is None:
                if name in index and not math.isnan(number):
                    array[index[name]] = number
                continue
            as_number, as_odds, as_recent, as_missing = feature.columns
            has_odds = category is not None and feature.is_category
            if as_number >= 0:
                array[as_number] = number
            if as_odds >= 0:
                array[as_odds] = feature.log_odds(category, prior) if has_odds else np.nan
            if as_recent >= 0:
                array[as_recent] = feature.recent_log_odds(category, prior) if has_odds else np.nan
            if as_missing >= 0:
                array[as_missing] = 0.0
        return array

    def review(self) -> None:
        """Add columns that have come to be useful, if it is time to after an example."""
        if self.statistics.is_review:
            self.statistics.review()
            useful = sorted(self._useful_columns(), key=sort_key)
            n_free = sys.maxsize if self.max_features is None else 2 * self.max_features - len(self)
            self.columns.extend(useful[: max(n_free, 0)])
            self.lay_out()
        elif len(self.statistics.features) != self._n_laid_out:
            self.lay_out()

    def _useful_columns(self) -> Iterable[Name]:
        """Return the columns that features have come to deserve."""
        return (
            column for name in self.statistics.features for column in self.deserved_columns(name)
        )

    def deserved_columns(self, name: Name) -> Iterator[Column]:
        """Yield the columns that a feature with statistics has come to deserve."""
        feature = self.statistics.features[name]
        deserved = {
            LOG_ODDS: feature.is_category,
            RECENT: feature.is_bursty,
            MISSING: self.statistics.is_sometimes_missing(feature),
        }
        for kind, is_deserved in deserved.items():
            if is_deserved and Column(name, kind) not in self.columns.index:
                yield Column(name, kind)

    def decode(self, array: FloatArray) -> dict[Name, float]:
        """Return the entries of an array by the names of their columns."""
        return self.columns.decode(array)

    def sum_by_feature(self, array: FloatArray) -> dict[Name, float]:
        """Return the entries of an array, those of the same feature of a record added up."""
        sums: dict[Name, float] = {}
        for name, entry in self.decode(array).items():
            feature = feature_of(name)
            sums[feature] = sums.get(feature, 0.0) + entry
        return sums


def feature_of(name: Name) -> Name:
    """Return the feature of a record that a column belongs to."""
    while isinstance(name, Column | TimePart):
        name = name.feature
    return name


def sort_key(name: Name) -> str:
    """Return a key that sorts columns in an order that does not depend on that of a record."""
    # Not for other types: a subclass has code of its own.
    if isinstance(name, Column):
        return sort_key(name.feature) + name.kind
    return repr(name) if type(name) in (str, int, TimePart) else ""
