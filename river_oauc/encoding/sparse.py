"""From raw records to the rows and values of sparse examples.

- A number has a row, in which it stands as it is. A number with fractions has another one for its
  size: half an octave of numbers, such as those from 8 to 12, shares a row with the value 1.
- A category has a row with the value 1, which is `(feature, category)`. So have whole numbers that
  count as categories; see `features`.
- If a feature has more than `FEW_CATEGORIES`, their log odds stand in a row of the feature. Hours
  and weekdays have none.
- A text has the rows of its words, `(feature, word)`, in lower case.
- An unknown value has no row, as if the feature were absent.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping

import numpy as np
from river import base

from river_oauc import acceleration
from river_oauc.encoding.columns import LOG_ODDS, feature_of
from river_oauc.encoding.features import FEW_CATEGORIES
from river_oauc.encoding.frames import Frame
from river_oauc.encoding.kinds import TimePart, Value, read_record
from river_oauc.encoding.rows import RecordRows
from river_oauc.encoding.statistics import Statistics
from river_oauc.encoding.values import Record
from river_oauc.limits import short_repr
from river_oauc.rankers.base import FloatArray, IntArray, SparseExample
from river_oauc.state import State, StateReader

Name = base.typing.FeatureName

_WORD = re.compile(r"\w+")


class SparseEncoder:
    """Map records to the rows and values of what is not 0.

    A name gets the next free row when it is first learned.

    Parameters
    ----------
    max_categories
        The largest number of categories whose log odds are remembered; None is no limit.

    Attributes
    ----------
    index
        The row of each name, in the order of the rows.

    Examples
    --------
    >>> from river_oauc.encoding.sparse import SparseEncoder

    >>> encoder = SparseEncoder()
    >>> record = {"country": "FR", "amount": 12.5, "new": False, "device": None}
    >>> encoder.encode(record) is None
    True
    >>> encoder.extend(encoder.names_in(record))
    >>> encoder.names
    [('country', 'FR'), 'amount']
    >>> encoder.encode(record)
    (array([0, 1]), array([ 1. , 12.5]))

    In prediction names that are unknown are left out.

    >>> encoder.encode_known({"country": "IT", "amount": 3})
    (array([1]), array([3.]))

    """

    def __init__(self, max_categories: int | None = None) -> None:
        self.index: dict[Name, int] = {}
        self.statistics = Statistics(max_categories)

    def __len__(self) -> int:
        return len(self.index)

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.index)

    @property
    def names(self) -> list[Name]:
        """The known names, by row."""
        return list(self.index)

    def encode(self, record: Record) -> SparseExample | None:
        """Return the example of a record, or None if it has a name that is not known yet.

        A ValueError is raised if a value is refused.
        """
        example, unknown = self._encode(record)
        return None if unknown else example

    def encode_known(self, record: Record) -> SparseExample:
        """Return the example of a record for a prediction, without the names that are unknown."""
        return self._encode(record)[0]

    def names_in(self, record: Record) -> list[Name]:
        """Return the names of what is not 0 in a record and not known yet."""
        return self._encode(record)[1]

    def _encode(self, record: Record) -> tuple[SparseExample, list[Name]]:
        """Return the example of the names that are known, and the names that are not."""
        if acceleration.encode_sparse is not None:
            statistics = self.statistics
            encoded: tuple[SparseExample, list[Name]] | None = acceleration.encode_sparse(
                record, statistics.features, self.index, statistics.class_weights
            )
            if encoded is not None:
                return encoded
        entries = self._entries(read_record(record))
        unknown = [name for name in entries if name not in self.index]
        for name in unknown:
            del entries[name]
        rows = np.fromiter(map(self.index.__getitem__, entries), np.int64, len(entries))
        return (rows, np.fromiter(entries.values(), float, len(entries))), unknown

    def _entries(self, values: Mapping[Name, Value]) -> dict[Name, float]:
        """Return the names and values of what is not 0."""
        return {row: entry for name in values for row, entry in self._entries_of(name, values)}

    def _entries_of(self, name: Name, values: Mapping[Name, Value]) -> Iterator[tuple[Name, float]]:
        """Yield the names and values of what is not 0 in a feature of a record."""
        feature = self.statistics.features.get(name)
        number, category = values[name]
        if math.isnan(number):
            if feature is not None and feature.is_text:
                for word in _WORD.findall(str(category).lower()):
                    yield _category(name, word, values), 1.0
                return
            yield _category(name, category, values), 1.0
        elif number:
            yield name, number
        if feature is None:
            return
        if feature.has_fractions and not math.isnan(number):
            yield size_of(name, number), 1.0
        if category is not None and feature.is_category:
            yield _category(name, category, values), 1.0
            n_categories = len(feature.categories or ())
            if n_categories > FEW_CATEGORIES and not isinstance(name, TimePart):
                odds = feature.log_odds(category, self.statistics.prior)
                if odds:
                    yield (name, "has", LOG_ODDS), odds

    def sum_by_feature(self, record: Record, array: FloatArray) -> dict[Name, float]:
        """Return the entries of an array, those of the same feature of the record added up.

        The array has an entry for each row of `encode_known(record)`.
        """
        values = read_record(record)
        features = {row: name for name in values for row, _ in self._entries_of(name, values)}
        known = (feature_of(name) for row, name in features.items() if row in self.index)
        sums: dict[Name, float] = {}
        for name, entry in zip(known, array.tolist(), strict=True):
            sums[name] = sums.get(name, 0.0) + entry
        return sums

    def read(self, record: Record) -> RecordRows:
        """Return a record that is to be learned, as the only row of a data frame."""
        return RecordRows([dict(record)])

    def read_frame(self, frame: Frame, learning: bool) -> RecordRows:
        """Return the rows of a data frame, or raise a ValueError if a value is refused."""
        return RecordRows.of_frame(frame)

    def learn(self, record: Record, positive: bool, weight: float) -> None:
        """Update the statistics with an example that has been encoded."""
        self.statistics.learn(record, self.index, positive, weight)

    def extend(self, names: Iterable[Name]) -> None:
        """Learn the names that are not known yet."""
        new = dict.fromkeys(name for name in names if name not in self.index)
        self.index.update(zip(new, itertools.count(len(self.index)), strict=False))

    def checkpoint(self) -> int:
        """Return the number of names, for `truncate`."""
        return len(self.index)

    def truncate(self, checkpoint: int, n_features: int) -> None:
        """Forget the names since a checkpoint, but for those that the ranker has learned."""
        n_names = max(checkpoint, n_features)
        self.index = dict(itertools.islice(self.index.items(), n_names))

    def has_room_for(self, n_features: int) -> bool:
        """Return whether a ranker with this number of features can belong to the encoder."""
        return n_features <= len(self.index)

    def keeping(self, rows: IntArray) -> SparseEncoder:
        """Return an encoder that knows the names in these rows only."""
        twin, names = SparseEncoder(self.statistics.max_categories), self.names
        twin.index = {names[row]: position for position, row in enumerate(rows.tolist())}
        twin.statistics = self.statistics.keeping(rows)
        return twin

    def positions(self, names: Iterable[Name]) -> IntArray:
        """Return the rows of known names."""
        return np.array([self.index[name] for name in names], dtype=np.int64)

    def merged(self, other: SparseEncoder) -> SparseEncoder:
        """Return an encoder with the names and the statistics of both."""
        twin, theirs = self._copy(), other._copy()
        twin.extend(other.index)
        twin.statistics.merge(theirs.statistics, twin.index, twin.positions(other.index))
        return twin

    def _copy(self) -> SparseEncoder:
        twin = SparseEncoder(self.statistics.max_categories)
        twin.set_state(StateReader(self.get_state(), "encoder"))
        return twin

    def get_state(self) -> State:
        """Return a copy of the state."""
        return {"names": self.names, "statistics": self.statistics.get_state()}

    def set_state(self, reader: StateReader) -> None:
        """Take over a state, or raise a ValueError if it is damaged."""
        names = reader.names("names")
        self.statistics.set_state(reader.reader("statistics"))
        reader.finish()
        self.index = {name: row for row, name in enumerate(names)}


def size_of(name: Name, number: float) -> tuple[Name, str, float]:
    """Return the name of the row of all numbers of about this size.

    Examples
    --------
    >>> from river_oauc.encoding.sparse import size_of
    >>> size_of("amount", 9.99), size_of("amount", 12.5), size_of("amount", -0.3)
    (('amount', 'from', 8.0), ('amount', 'from', 12.0), ('amount', 'from', -0.25))

    """
    mantissa, exponent = math.frexp(number)
    if mantissa:
        mantissa = math.copysign(0.75 if abs(mantissa) >= 0.75 else 0.5, mantissa)
    return name, "from", math.ldexp(mantissa, exponent)


def _category(name: Name, category: Hashable, values: Mapping[Name, Value]) -> Name:
    """Return the name of the row of a category."""
    pair = (name, category)
    if pair in values:
        raise ValueError(
            f"feature {short_repr(name)} is {short_repr(category)}, which makes it the feature "
            f"{short_repr(pair)}, and that is there as well: rename one of the two"
        )
    return pair
