"""What is not 0 in a record: the rows and values of a sparse example.

- A number has a row, in which it stands as it is. A number with fractions has another one for its
  size: half an octave of numbers, such as those from 8 to 12, shares a row with the value 1.
- A category has a row with the value 1. So have whole numbers that count as categories; see
  `features`.
- If a feature has more than `MAX_CATEGORIES_WITHOUT_ODDS`, their log odds have a row. Hours and
  weekdays have none.
- A text has the rows of its words, in lower case.
- An unknown value has no row, as if the feature were absent.
"""

from __future__ import annotations

import math
import re
import typing
from collections.abc import Hashable

import numpy as np

from river_oauc.records.features import (
    HAS_FRACTIONS,
    IS_COUNTED,
    IS_TIME,
    LOG_ODDS,
    MAX_CATEGORIES_WITHOUT_ODDS,
    NUMBER,
    Categories,
    Odds,
    Prior,
    Values,
    are_below,
    is_category,
    is_text,
    longer,
    odds_of,
)
from river_oauc.records.parse import Name
from river_oauc.state import FloatArray, IntArray, State, damage, read_fields

_WORD = re.compile(r"\w+")

# What a row stands for, beside the number and the log odds of a feature: a category, or a size.
CATEGORY, SIZE = 2, 3

# Sizes range from 2⁻³² to 2³², with those beyond counted in, by half octaves of either sign, and 0.
MIN_EXPONENT, MAX_EXPONENT = -31, 32
N_SIZES = 4 * (MAX_EXPONENT - MIN_EXPONENT + 1) + 1

# A row: its feature, what it stands for, and the category, or the size.
Entry = tuple[int, int, Hashable]
SparseExample = tuple[IntArray, FloatArray]


class RowIndex(typing.NamedTuple):
    """The rows of sparse examples, and where to find them.

    Parameters
    ----------
    entries
        What each row stands for.
    single
        For each feature, the rows of its number and of its log odds; -1 is none.
    categories
        For each feature, the rows of its categories, if it has some.
    sizes
        For each feature, the rows of its sizes, if it has some.

    """

    entries: list[Entry]
    single: IntArray
    categories: list[Categories]
    sizes: list[IntArray | None]

    def find(self, entry: Entry, learning: bool) -> int:
        """Return the row of an entry. In learning, a new one gets the next row; otherwise, -1."""
        feature, kind, key = entry
        if kind == CATEGORY:
            row = (self.categories[feature] or {}).get(key, -1)
        elif kind == SIZE:
            sizes = self.sizes[feature]
            row = -1 if sizes is None else int(sizes[typing.cast(int, key)])
        else:
            row = int(self.single[feature, kind])
        if row < 0 and learning:
            row = len(self.entries)
            self.entries.append(entry)
            self.put(entry, row)
        return row

    @classmethod
    def empty(cls, n_features: int) -> RowIndex:
        """Return an index without rows."""
        return cls([], np.full((n_features, 2), -1), [None] * n_features, [None] * n_features)

    def with_room(self, n_features: int, room: int) -> RowIndex:
        """Return an index for more features."""
        n_new = n_features - len(self.categories)
        self.categories.extend([None] * n_new)
        self.sizes.extend([None] * n_new)
        single = self.single if n_features <= len(self.single) else longer(self.single, room, -1)
        return self._replace(single=single)

    def truncate(self, n_features: int, n_rows: int) -> None:
        """Forget all but the first features and rows."""
        for entry in self.entries[n_rows:]:
            self.put(entry, -1)
        del self.entries[n_rows:], self.categories[n_features:], self.sizes[n_features:]

    def name(self, row: int, names: list[Name]) -> Name:
        """Return the name of a row: that of a number, or a tuple that begins with it."""
        feature, kind, key = self.entries[row]
        name = names[feature]
        if kind == CATEGORY:
            return name, key
        if kind == SIZE:
            return name, "from", smallest_of(typing.cast(int, key))
        return (name, "has", "log odds") if kind == LOG_ODDS else name

    def get_state(self) -> State:
        """Return a copy of the state."""
        entries = np.array([entry[:2] for entry in self.entries], np.int64).reshape(-1, 2)
        return {"entries": entries, "keys": [key for _, _, key in self.entries]}

    @classmethod
    def of_state(cls, state: typing.Any, n_features: int) -> RowIndex:
        """Return the rows with this state, or raise a ValueError if it is damaged."""
        state = read_fields(state, {"entries": (np.int64, "r", 2), "keys": list})
        (features, kinds), keys = state["entries"].T, state["keys"]
        sizes = [key for kind, key in zip(kinds.tolist(), keys, strict=False) if kind == SIZE]
        if (
            len(keys) != len(kinds)
            or not are_below(n_features, features)
            or not are_below(SIZE + 1, kinds)
            or any(type(size) is not int or not 0 <= size < N_SIZES for size in sizes)
        ):
            raise damage("there are rows of nothing")
        index = cls.empty(n_features)
        for feature, kind, key in zip(features.tolist(), kinds.tolist(), keys, strict=True):
            index.find((feature, kind, key), learning=True)
        if len(index.entries) < len(keys):
            raise damage("there is a row twice")
        return index

    def put(self, entry: Entry, row: int) -> None:
        """Give a row to an entry; -1 takes it away."""
        feature, kind, key = entry
        if kind == CATEGORY:
            own = self.categories[feature]
            if own is None:
                own = self.categories[feature] = {}
            own[key] = row
            if row < 0:
                del own[key]
        elif kind == SIZE:
            sizes = self.sizes[feature]
            if sizes is None:
                sizes = self.sizes[feature] = np.full(N_SIZES, -1)
            sizes[typing.cast(int, key)] = row
        else:
            self.single[feature, kind] = row


def size_of(number: float) -> int:
    """Return the size of a number, from 0 to `N_SIZES` - 1.

    Examples
    --------
    >>> from river_oauc.records.entries import size_of, smallest_of
    >>> [smallest_of(size_of(number)) for number in (9.99, 12.5, -0.3, 0.0)]
    [8.0, 12.0, -0.25, 0.0]

    """
    if not number:
        return N_SIZES - 1
    mantissa, exponent = math.frexp(number)
    exponent = min(max(exponent, MIN_EXPONENT), MAX_EXPONENT)
    size = 2 * (exponent - MIN_EXPONENT) + (abs(mantissa) >= 0.75)
    return size + (N_SIZES // 2 if number < 0.0 else 0)


def smallest_of(size: int) -> float:
    """Return the number of a size that is closest to 0."""
    if size == N_SIZES - 1:
        return 0.0
    sign = -1.0 if size >= N_SIZES // 2 else 1.0
    exponent, half = divmod(size % (N_SIZES // 2), 2)
    return sign * math.ldexp(0.75 if half else 0.5, exponent + MIN_EXPONENT)


def words(text: Hashable) -> list[str]:
    """Return the different words of a text, in lower case."""
    return list(dict.fromkeys(_WORD.findall(str(text).lower())))


def encode_sparse(
    values: Values,
    learning: bool,
    facts: IntArray,
    known: list[Categories],
    counts: FloatArray,
    prior: Prior,
    given: dict[int, Odds],
    index: RowIndex,
) -> SparseExample:
    """Return rows and values of what is not 0 in a record.

    In learning, what has no row yet gets the next one. Otherwise it is left out. `given` has log
    odds of some features that are not those of now.
    """
    rows: list[int] = []
    entries: list[float] = []

    def add(entry: Entry, value: float) -> None:
        row = index.find(entry, learning)
        if row >= 0:
            rows.append(row)
            entries.append(value)

    features, numbers, categories = values
    for feature, number, category, fact in zip(
        features.tolist(), numbers.tolist(), categories, facts[features].tolist(), strict=True
    ):
        own, is_counted = known[feature], fact[IS_COUNTED]
        if math.isnan(number):
            if is_counted and is_text(fact, own):
                for word in words(category):
                    add((feature, CATEGORY, word), 1.0)
                continue
        else:
            if number:
                add((feature, NUMBER, None), number)
            if is_counted and fact[HAS_FRACTIONS]:
                add((feature, SIZE, size_of(number)), 1.0)
        has_odds = is_counted and category is not None and is_category(fact, own)
        if has_odds or math.isnan(number):
            add((feature, CATEGORY, category), 1.0)
        if has_odds and len(own or ()) > MAX_CATEGORIES_WITHOUT_ODDS and not fact[IS_TIME]:
            odds, _ = odds_of(category, own, counts, prior, given.get(feature))
            if odds:
                add((feature, LOG_ODDS, None), odds)
    return np.array(rows, dtype=np.int64), np.array(entries, dtype=float)
