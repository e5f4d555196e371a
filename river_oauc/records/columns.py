"""The columns of dense examples.

A number has a column, which is NaN where the record has no number. A category has a column for its
log odds, and one for recent log odds where these count. So a feature of a thousand categories takes
one or two columns. An unknown value and an absent key are the same: NaN if the feature is known in
most examples, and a column of its own then tells where; 0 otherwise, as for absent words.
"""

from __future__ import annotations

import math
import typing
from collections.abc import Iterable

import numpy as np

from river_oauc.records.features import (
    HAS_FRACTIONS,
    IS_COUNTED,
    IS_MOSTLY_KNOWN,
    KINDS,
    LOG_ODDS,
    MIN_GAIN,
    MISSING,
    N_KNOWN,
    N_STRINGS,
    NUMBER,
    RECENT,
    Categories,
    Features,
    Odds,
    Prior,
    Values,
    are_below,
    is_category,
    longer,
    odds_of,
)
from river_oauc.records.parse import Name, sort_key
from river_oauc.state import FloatArray, IntArray, State, damage, read_fields

# A feature has columns once it has been known this often, and in this share of the examples.
MIN_KNOWN, MIN_KNOWN_SHARE = 5, 0.05

# A column tells where a feature is unknown once it has been in this share of the examples, and this
# often.
MISSING_SHARE, MIN_MISSING = 0.005, 5

KIND_NAMES = ("", "log odds", "recent log odds", "missing")

# A column: its feature, and what it says about it.
Column = tuple[int, int]


class Columns:
    """The columns of the features of a stream of records.

    Parameters
    ----------
    features
        The features.
    is_prompt
        Whether a feature gets its first column when it is first learned. Otherwise it gets columns
        at a review, once it has been known often enough; those known most often come first.
    max_features
        The largest number of columns, or if they are prompt, of features with columns; None is no
        limit.

    Attributes
    ----------
    columns
        What each column stands for.
    names
        The names of the features with columns, as they are in records.
    places
        The column of each feature and kind; -1 is none. The array has room for more features.
    absent
        The array of a record in which all is absent. Once columns have come late, it is a little
        longer than their number: they take free places, and when none is left, it grows by an
        eighth. It has one place at least, so that an example without features is a vector, too.

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {"columns": (np.int64, "d", 2), "length": int}
    columns: list[Column]
    names: set[Name]
    places: IntArray
    absent: FloatArray

    def __init__(self, features: Features, is_prompt: bool, max_features: int | None) -> None:
        self.features, self.is_prompt, self.max_features = features, is_prompt, max_features
        self.take((), 1)

    def make_room(self) -> None:
        """Have places for all features."""
        if len(self.features) > len(self.places):
            self.places = longer(self.places, len(self.features.facts), -1)

    def truncate(self, n: int, length: int) -> None:
        """Forget all but the first columns; arrays have this length again."""
        if len(self.columns) > n:
            self.take(self.columns[:n], length)

    def add_prompt(self, values: Values) -> bool:
        """Add the columns that a record needs, or raise a ValueError if there are too many.

        Return whether there were some to add.
        """
        features, numbers, _ = values
        kinds = np.where(np.isnan(numbers), LOG_ODDS, NUMBER)
        is_new = self.places[features, kinds] < 0
        if not is_new.any():
            return False
        new = zip(features[is_new].tolist(), kinds[is_new].tolist(), strict=True)
        self.add(sorted(new, key=self._order_of))
        self.check_limit()
        return True

    def check_limit(self) -> None:
        """Raise a ValueError if more features have columns than may."""
        if self.max_features is not None and len(self.names) > self.max_features:
            raise ValueError(
                f"there would be {len(self.names):,} features, and max_features is "
                f"{self.max_features:,}: pick some with compose.Select, take SparseOAUCM, "
                "whose memory grows in proportion to their number, or raise max_features"
            )

    def _order_of(self, column: Column) -> str:
        """Return a key that sorts columns in an order that does not depend on that of a record."""
        return sort_key(self.features.names[column[0]]) + KIND_NAMES[column[1]]

    def add(self, columns: Iterable[Column]) -> None:
        """Add columns."""
        new = list(columns)
        n, length = len(self.columns) + len(new), len(self.absent)
        if n > length:
            # First, so that no interrupt leaves a column beyond it. There are free places as well.
            fill = 0.0 if self.is_prompt else math.nan
            self.absent = longer(self.absent, max(n, length + length // 8), fill)
        for column in new:
            self.columns.append(column)
            self.places[column] = len(self.columns) - 1
        self.names.update(self.features.name_in_record(feature) for feature, _ in new)
        self._fill(new)

    def _fill(self, columns: list[Column]) -> None:
        """Find what some columns have in a record in which all is absent."""
        features, kinds = np.array(columns, np.int64).reshape(-1, 2).T
        unknown = np.where(kinds == MISSING, 1.0, math.nan)
        is_mostly_known = self.features.facts[features, IS_MOSTLY_KNOWN] == 1
        self.absent[self.places[features, kinds]] = np.where(is_mostly_known, unknown, 0.0)

    def review(self) -> None:
        """Add the columns that have come to be useful."""
        features, n = self.features, len(self.features)
        features.review()
        facts, n_known = features.facts[:n], features.facts[:n, N_KNOWN]
        is_counted, n_strings = facts[:, IS_COUNTED] == 1, facts[:, N_STRINGS]
        n_missing = features.n_seen - n_known
        useful = np.zeros((n, len(KINDS)), dtype=bool)
        if not self.is_prompt:
            useful[:, NUMBER] = ~is_counted | (n_known > n_strings)
        # Whether their categories count is left to be seen.
        useful[:, LOG_ODDS] = is_counted & ((n_strings > 0) | (facts[:, HAS_FRACTIONS] == 0))
        useful[:, RECENT] = is_counted & (features.gain[:n] > MIN_GAIN) & (n_strings == n_known)
        useful[:, MISSING] = (facts[:, IS_MOSTLY_KNOWN] == 1) & (
            n_missing > max(MIN_MISSING - 1, MISSING_SHARE * features.n_seen)
        )
        minimum = 0 if self.is_prompt else max(MIN_KNOWN, MIN_KNOWN_SHARE * features.n_seen)
        useful &= (self.places[:n] < 0) & (n_known >= minimum)[:, np.newaxis]
        candidates = np.flatnonzero(useful.any(axis=1)).tolist()
        if candidates:
            self.add(self._deserved(candidates, useful))
        self._fill(self.columns)

    def _deserved(self, candidates: list[int], useful: typing.Any) -> list[Column]:
        """Return the columns that some features have come to deserve, within the limit."""
        features, deserved = self.features, list[Column]()
        n_free = math.inf
        if self.max_features is not None and not self.is_prompt:
            n_free = self.max_features - len(self.columns)
        for feature in sorted(
            candidates, key=lambda each: (-features.facts[each, N_KNOWN], self._order_of((each, 0)))
        ):
            facts, own = features.facts[feature].tolist(), features.known[feature]
            useful[feature, LOG_ODDS] &= is_category(facts, own)
            own_columns = [(feature, kind) for kind in np.flatnonzero(useful[feature]).tolist()]
            if len(deserved) + len(own_columns) <= n_free:
                deserved += own_columns
        return sorted(deserved, key=self._order_of)

    def take(self, columns: Iterable[Column], length: int) -> None:
        """Have these columns only, of features that may have other numbers than before."""
        self.columns, self.names = [], set()
        self.places = np.full((len(self.features), len(KINDS)), -1)
        self.absent = np.full(length, 0.0 if self.is_prompt else math.nan)
        self.add(columns)

    def get_state(self) -> State:
        """Return a copy of the state."""
        columns = np.array(self.columns, np.int64).reshape(-1, 2)
        return {"columns": columns, "length": len(self.absent)}

    def set_state(self, state: typing.Any) -> None:
        """Take over a state, or raise a ValueError if it is damaged."""
        state = read_fields(state, self.FIELDS)
        features, kinds = state["columns"].T
        if (
            not are_below(len(self.features), features)
            or not are_below(len(KINDS), kinds)
            or not max(1, len(kinds)) <= state["length"] <= 2 * max(8, len(kinds))
        ):
            raise damage("there are columns of nothing")
        self.take(map(tuple, state["columns"].tolist()), state["length"])


def encode_dense(
    values: Values,
    facts: IntArray,
    known: list[Categories],
    counts: FloatArray,
    prior: Prior,
    given: dict[int, Odds],
    places: IntArray,
    absent: FloatArray,
) -> FloatArray:
    """Return the array of a record, given that of a record in which all is absent.

    `given` has log odds of some features that are not those of now.
    """
    array, (features, numbers, categories) = absent.copy(), values
    for feature, number, category, fact, own in zip(
        features.tolist(), numbers.tolist(), categories, facts[features].tolist(),
        places[features].tolist(), strict=True,
    ):  # fmt: skip
        if not fact[IS_COUNTED]:
            if own[NUMBER] >= 0 and number == number:
                array[own[NUMBER]] = number
            continue
        odds = math.nan, math.nan
        if category is not None and is_category(fact, known[feature]):
            odds = odds_of(category, known[feature], counts, prior, given.get(feature))
        for column, entry in zip(own, (number, *odds, 0.0), strict=True):
            if column >= 0:
                array[column] = entry
    return array
