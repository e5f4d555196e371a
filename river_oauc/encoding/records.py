"""From raw records to arrays of numbers, by what came before.

- A number has a column, which is NaN where the record has no number.
- A category has a column for its log odds, and one for recent log odds where these count; see
  `statistics`. So a feature of a thousand categories takes one or two columns.
- An unknown value and an absent key are the same. If the feature is known in most examples, they
  are NaN, and a column of its own tells where. Otherwise they are 0: so are absent words.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import sys
import typing
from collections.abc import Iterable, Mapping

import numpy as np
from river import base

from river_oauc import acceleration
from river_oauc.encoding import statistics
from river_oauc.encoding.frames import Frame
from river_oauc.encoding.kinds import TimePart, Value, read_record
from river_oauc.encoding.rows import RecordRows
from river_oauc.encoding.statistics import Prior
from river_oauc.encoding.values import Record
from river_oauc.encoding.vectorizer import Vectorizer, check_room
from river_oauc.rankers.base import FloatArray, IntArray
from river_oauc.state import State, StateReader

Name = base.typing.FeatureName

Counts: type[statistics.Counts] = acceleration.Counts or statistics.Counts
Feature: type[statistics.Feature] = acceleration.Feature or statistics.Feature

# A column tells where a feature is unknown once it has been in this share of the examples, and this
# often.
MISSING_SHARE, MIN_MISSING = 0.005, 5

# Columns are reviewed after 1, 2, 4, ... examples, and every so many.
REVIEW_EVERY = 64

# When there are too many categories, this share of them is kept.
KEPT_SHARE = 0.8


@dataclasses.dataclass(frozen=True, slots=True)
class Column:
    """The name of a column that is no number: a feature, and what the column says about it."""

    feature: Name
    kind: str


LOG_ODDS, RECENT, MISSING = KINDS = ("log odds", "recent log odds", "missing")


class Statistics:
    """The statistics of the features of records, by name.

    A number has statistics while it is known in most examples, which is reviewed after 1, 2, 4, ...
    examples. So a bag of words, in which most are absent, costs next to nothing.

    Parameters
    ----------
    max_categories
        The largest number of categories to remember; None is no limit. When there would be more,
        the fifth with the smallest weights is forgotten, of equals the oldest.

    Attributes
    ----------
    features
        The statistics of features that have been strings, and of numbers that are mostly known.
    n_seen
        The number of examples.
    prior
        The shares of the classes among the examples.

    """

    def __init__(self, max_categories: int | None = None) -> None:
        self.max_categories = max_categories
        self.features: dict[Name, statistics.Feature] = {}
        self._set(0, 0.0, 0.0)
        # In how many examples a number without statistics was known, by its position.
        self._n_known: IntArray = np.zeros(1, np.int64)

    def _set(self, n_seen: int, negative: float, positive: float) -> None:
        self.n_seen, self._weights = n_seen, (negative, positive)
        self.prior = Prior.of(negative, positive)

    def learn(
        self, record: Record, index: Mapping[Name, int], positive: bool, weight: float
    ) -> None:
        """Update the statistics with an example that has been encoded, so that it is not refused.

        Parameters
        ----------
        record
            The features.
        index
            The positions of all names that the encoder knows, in order.
        positive
            The label.
        weight
            The importance of the example.

        """
        if len(index) > len(self._n_known):
            self._n_known = np.append(self._n_known, np.zeros(len(index), np.int64))
        prior, (negative_weight, positive_weight) = self.prior, self._weights
        if positive:
            positive_weight += weight
        else:
            negative_weight += weight
        # First, so that no feature is ever known more often than there were examples.
        self._set(self.n_seen + 1, negative_weight, positive_weight)
        if acceleration.learn_record is None or not acceleration.learn_record(
            record, self.features, index, self._n_known, positive, weight, prior
        ):
            self._learn(read_record(record), index, positive, weight, prior)
        self._stay_within_limit()
        if self.n_seen & (self.n_seen - 1) == 0:
            self._choose_features(index)

    def _learn(
        self,
        values: Mapping[Name, Value],
        index: Mapping[Name, int],
        positive: bool,
        weight: float,
        prior: Prior,
    ) -> None:
        for name, (number, category) in values.items():
            feature = self.features.get(name)
            if feature is None and math.isnan(number):
                feature = self.features[name] = self._new_feature(name, index)
            if feature is not None:
                feature.learn(number, category, positive, weight, prior)
            elif name in index:
                self._n_known[index[name]] += 1

    def _new_feature(self, name: Name, index: Mapping[Name, int]) -> statistics.Feature:
        feature = Feature()
        if name in index:
            feature.n_known = int(self._n_known[index[name]])
            self._n_known[index[name]] = 0
        return feature

    @property
    def n_categories(self) -> int:
        """The number of categories that are remembered."""
        return sum(len(feature.categories or ()) for feature in self.features.values())

    @property
    def is_review(self) -> bool:
        """Whether it is time for an encoder to review its columns."""
        n = self.n_seen
        return n % REVIEW_EVERY == 0 or n & (n - 1) == 0

    def is_sometimes_missing(self, feature: statistics.Feature) -> bool:
        """Return whether a feature that is mostly known is unknown now and then."""
        n_missing = self.n_seen - feature.n_known
        is_frequent = n_missing >= MIN_MISSING and n_missing > MISSING_SHARE * self.n_seen
        return is_frequent and feature.is_mostly_known

    def review(self) -> None:
        """Find out which features are known in most examples."""
        for feature in self.features.values():
            feature.is_mostly_known = 2 * feature.n_known >= self.n_seen

    def _choose_features(self, index: Mapping[Name, int]) -> None:
        """Begin statistics of numbers that are mostly known, and end those of others."""
        for name, feature in list(self.features.items()):
            if not feature.n_strings and 2 * feature.n_known < self.n_seen:
                if name in index:
                    self._n_known[index[name]] = feature.n_known
                del self.features[name]
        mostly_known = np.flatnonzero(2 * self._n_known[: len(index)] >= self.n_seen)
        if len(mostly_known):
            names = list(index)
            for name in (names[position] for position in mostly_known.tolist()):
                if name not in self.features:
                    self.features[name] = self._new_feature(name, index)

    def _stay_within_limit(self) -> None:
        """Forget the categories with the smallest weights if there are too many."""
        if self.max_categories is None or self.n_categories <= self.max_categories:
            return
        features = [feature for feature in self.features.values() if feature.categories]
        counts = [each for feature in features for each in (feature.categories or {}).values()]
        order = np.argsort([each.negative + each.positive for each in counts], kind="stable")
        kept = np.zeros(len(counts), dtype=bool)
        kept[order[len(counts) - int(KEPT_SHARE * self.max_categories) :]] = True
        mask = iter(kept.tolist())
        for feature in features:
            feature.categories = dict(itertools.compress((feature.categories or {}).items(), mask))

    def keeping(self, rows: IntArray) -> Statistics:
        """Return the same statistics for an encoder that knows the names in these rows only."""
        twin = Statistics(self.max_categories)
        twin.features = self.features
        twin._set(self.n_seen, *self._weights)
        n_known = np.append(self._n_known, np.zeros(len(rows), np.int64))
        twin._n_known = n_known[np.minimum(rows, len(self._n_known))]
        return twin

    def merge(self, other: Statistics, index: Mapping[Name, int], positions: IntArray) -> None:
        """Add the statistics of another part of the stream, whose counts are used up.

        Parameters
        ----------
        other
            The other statistics.
        index
            The positions of all names that the merged encoder knows.
        positions
            The position of each name of the other encoder.

        """
        n_known = np.zeros((2, len(index) + 1), np.int64)
        n = min(len(index), len(self._n_known))
        n_known[0, :n] = self._n_known[:n]
        n = min(len(positions), len(other._n_known))
        n_known[1, positions[:n]] = other._n_known[:n]
        # A number may have statistics in one part only.
        for features, n_elsewhere in ((self.features, n_known[1]), (other.features, n_known[0])):
            for name, feature in features.items():
                feature.n_known += int(n_elsewhere[index[name]]) if name in index else 0
        for name, theirs in other.features.items():
            mine = self.features.setdefault(name, theirs)
            if mine is not theirs:
                _merge_features(mine, theirs)
        self._n_known = n_known.sum(axis=0)
        negative, positive = (a + b for a, b in zip(self._weights, other._weights, strict=True))
        self._set(self.n_seen + other.n_seen, negative, positive)
        self._stay_within_limit()
        self.review()

    def get_state(self) -> State:
        """Return a copy of the state."""
        negative, positive = self._weights
        return {
            "n_seen": self.n_seen,
            "negative": negative,
            "positive": positive,
            "n_known": self._n_known.copy(),
            "names": list(self.features),
            "features": [_feature_state(feature) for feature in self.features.values()],
        }

    def set_state(self, reader: StateReader) -> None:
        """Take over a state, or raise a ValueError if it is damaged."""
        n_seen = reader.count("n_seen")
        self._set(n_seen, reader.total_weight("negative"), reader.total_weight("positive"))
        self._n_known = reader.integers("n_known", None, maximum=n_seen)
        names = reader.names("names")
        features = [_feature_of(each, n_seen) for each in reader.readers("features", len(names))]
        self.features = dict(zip(names, features, strict=True))
        reader.finish()


_COUNTS = ("negative", "positive", "recent_negative", "recent_positive")
_FEATURE_COUNTS = ("n_known", "n_strings", "n_texts")


def _merge_features(mine: statistics.Feature, theirs: statistics.Feature) -> None:
    """Add the statistics of a feature in another part of the stream."""
    for field in (*_FEATURE_COUNTS, "recent_gain"):
        setattr(mine, field, getattr(mine, field) + getattr(theirs, field))
    mine.has_fractions = mine.has_fractions or theirs.has_fractions
    if mine.categories is None or theirs.categories is None:
        mine.categories = None
        return
    for category, other in theirs.categories.items():
        own = mine.categories.setdefault(category, other)
        if own is not other:
            own.negative += other.negative
            own.positive += other.positive
            # Both are recent: their average remembers as much as either.
            own.recent_negative = 0.5 * (own.recent_negative + other.recent_negative)
            own.recent_positive = 0.5 * (own.recent_positive + other.recent_positive)


def _feature_state(feature: statistics.Feature) -> State:
    categories = feature.categories or {}
    counts = [[getattr(each, field) for field in _COUNTS] for each in categories.values()]
    return {
        **{field: getattr(feature, field) for field in _FEATURE_COUNTS},
        "has_fractions": feature.has_fractions,
        "is_mostly_known": feature.is_mostly_known,
        "recent_gain": feature.recent_gain,
        "has_categories": feature.categories is not None,
        "categories": list(categories),
        "counts": np.array(counts, dtype=float).reshape(-1, len(_COUNTS)),
    }


def _feature_of(reader: StateReader, n_seen: int) -> statistics.Feature:
    feature = Feature()
    # No feature was known more often than there were examples.
    for field in _FEATURE_COUNTS:
        setattr(feature, field, reader.count(field, maximum=n_seen))
    feature.has_fractions = reader.flag("has_fractions")
    feature.is_mostly_known = reader.flag("is_mostly_known")
    feature.recent_gain = reader.number("recent_gain")
    has_categories = reader.flag("has_categories")
    categories = reader.names("categories")
    counts = reader.array("counts", len(categories), len(_COUNTS), minimum=0.0)
    feature.categories = None
    if has_categories:
        each = itertools.starmap(Counts, counts.tolist())
        feature.categories = dict(zip(categories, each, strict=True))
    reader.finish()
    return feature


class RecordVectorizer:
    """Map raw records to arrays, in which NaN stands for unknown.

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
        self.max_features = max_features
        self._columns = Vectorizer()
        self._statistics = Statistics(max_categories)
        self._lay_out()

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def size(self) -> int:
        """The length of the arrays."""
        return self._columns.size

    @property
    def names(self) -> list[Name]:
        """The names of the columns: of a number that of the feature, otherwise a `Column`."""
        return self._columns.names

    def _lay_out(self) -> None:
        """Find the columns of each feature, and the array of a record in which all are absent."""
        index = self._columns.index
        absent = np.zeros(self.size)
        for name, feature in self._statistics.features.items():
            columns = [index.get(name, -1), *(index.get(Column(name, each), -1) for each in KINDS)]
            feature.columns = tuple(columns)
            if feature.is_mostly_known:
                missing = columns.pop()
                absent[[column for column in columns if column >= 0]] = np.nan
                if missing >= 0:
                    absent[missing] = 1.0
        self._absent = absent

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

    def encode_known(self, record: Record) -> FloatArray:
        """Return the array of a record for a prediction, without columns that are not there."""
        array = self._encode_plain(record, learning=False)
        return self._encode(read_record(record)) if array is None else array

    def _encode_plain(self, record: Record, learning: bool) -> FloatArray | None:
        """Return the array of a dict of plain values; None if the slow path is needed."""
        if len(self._absent) != self.size:
            # An interrupt has come after columns were added.
            self._lay_out()
        if acceleration.encode_record is None:
            return None
        features, prior = self._statistics.features, self._statistics.prior
        array: FloatArray | None = acceleration.encode_record(
            record, features, self._columns.index, self._absent, learning, prior
        )
        return array

    def _encode(self, values: Mapping[Name, Value]) -> FloatArray:
        index, features = self._columns.index, self._statistics.features
        prior = self._statistics.prior
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

    def _new_names(self, values: Mapping[Name, Value]) -> list[Name]:
        """Return the names of the columns that a record needs and that are not there yet."""
        index = self._columns.index
        needed = (
            Column(name, LOG_ODDS) if math.isnan(number) else name
            for name, (number, _) in values.items()
        )
        # In an order that does not depend on the record's.
        return sorted((name for name in needed if name not in index), key=_sort_key)

    def names_in(self, record: Record) -> list[Name]:
        """Return the names of the columns that a record needs and that are not there yet."""
        return self._new_names(read_record(record))

    def read(self, record: Record) -> RecordRows:
        """Return a record that is to be learned, as the only row of a data frame."""
        return RecordRows([dict(record)])

    def read_frame(self, frame: Frame, learning: bool) -> RecordRows:
        """Return the rows of a data frame, or raise a ValueError if a value is refused."""
        if learning and self.max_features is not None:
            known = {_feature(name) for name in self.names}
            if len(known) + len(frame.columns) > self.max_features:
                columns = (frame.get_column(name) for name in frame.columns)
                known.update(each.name for each in columns if not each.is_null().all())
                check_room(len(known), self.max_features)
        return RecordRows.of_frame(frame)

    def learn(self, record: Record, positive: bool, weight: float) -> None:
        """Update the statistics with an example that has been encoded."""
        statistics = self._statistics
        n_features = len(statistics.features)
        statistics.learn(record, self._columns.index, positive, weight)
        if statistics.is_review:
            statistics.review()
            useful = sorted(self._useful_columns(), key=_sort_key)
            n_free = sys.maxsize if self.max_features is None else 2 * self.max_features - len(self)
            self._columns.extend(useful[: max(n_free, 0)])
            self._lay_out()
        elif len(statistics.features) > n_features:
            self._lay_out()

    def _useful_columns(self) -> typing.Iterator[Column]:
        """Yield the columns that known features have come to deserve."""
        index, statistics = self._columns.index, self._statistics
        for name, feature in statistics.features.items():
            deserved = {
                LOG_ODDS: feature.is_category,
                RECENT: feature.is_bursty,
                MISSING: statistics.is_sometimes_missing(feature),
            }
            for kind, is_deserved in deserved.items():
                if is_deserved and Column(name, kind) not in index:
                    yield Column(name, kind)

    def extend(self, names: Iterable[Name]) -> None:
        """Add columns, or raise a ValueError if there are too many features."""
        names = list(names)
        if self.max_features is not None:
            check_room(len({_feature(name) for name in (*self.names, *names)}), self.max_features)
        self._columns.extend(names)
        self._lay_out()

    def truncate(self, n_names: int, size: int) -> None:
        """Remove all columns but the first ones: undoes `extend`."""
        self._columns.truncate(n_names, size)
        self._lay_out()

    def positions(self, names: Iterable[Name]) -> IntArray:
        """Return the positions of columns."""
        return self._columns.positions(names)

    def merged(self, other: RecordVectorizer) -> RecordVectorizer:
        """Return a vectorizer with the columns of both, and the statistics of both streams."""
        twin, theirs = self._copy(), other._copy()
        twin.extend(other.names)
        positions = twin.positions(other.names)
        twin._statistics.merge(theirs._statistics, twin._columns.index, positions)
        twin._lay_out()
        return twin

    def _copy(self) -> RecordVectorizer:
        twin = RecordVectorizer(self.max_features, self._statistics.max_categories)
        twin.set_state(StateReader(self.get_state(), "encoder"))
        return twin

    def decode(self, array: FloatArray) -> dict[Name, float]:
        """Return the entries of an array by the names of their columns."""
        return self._columns.decode(array)

    def sum_by_feature(self, array: FloatArray) -> dict[Name, float]:
        """Return the entries of an array, those of the same feature of a record added up."""
        sums: dict[Name, float] = {}
        for name, entry in self.decode(array).items():
            feature = _feature(name)
            sums[feature] = sums.get(feature, 0.0) + entry
        return sums

    def get_state(self) -> State:
        """Return a copy of the state."""
        return {"columns": self._columns.get_state(), "statistics": self._statistics.get_state()}

    def set_state(self, reader: StateReader) -> None:
        """Take over a state, or raise a ValueError if it is damaged."""
        self._columns.set_state(reader.reader("columns"))
        self._statistics.set_state(reader.reader("statistics"))
        reader.finish()
        self._lay_out()


def _feature(name: Name) -> Name:
    """Return the feature of a record that a column belongs to."""
    while isinstance(name, Column | TimePart):
        name = name.feature
    return name


def _sort_key(name: Name) -> str:
    # Not for other types: a subclass has code of its own.
    if isinstance(name, Column):
        return _sort_key(name.feature) + name.kind
    return repr(name) if type(name) in (str, int, TimePart) else ""
