"""What is known of each feature of a stream of records, and what its values have come with.

- A category v has log odds, log((n₊ + a q₊) / (n₋ + a q₋)) - log(q₊ / q₋): n₊ and n₋ are the
  positives and negatives that v has come with, q₊ and q₋ are the shares of the classes among all
  examples, and a is `SHRINKAGE`. A new category has 0.
- It has recent log odds as well, in which about its last `RECENT_MEMORY` examples count. They are
  used once they have predicted the labels better, by `MIN_GAIN` in the logarithmic loss.
- Whole numbers are categories, too, if there are more than two, none had a fraction, and they
  recur: at most `MAX_DISTINCT_SHARE` of them are distinct.
- Strings of several words that hardly ever recur are texts.
- If almost nothing recurs in `DROP_IDS_AFTER` values, the feature has no categories any more.
- A feature that has been a string is counted like this from then on, and a number while it is known
  in most examples, which is reviewed after 1, 2, 4, ... examples. So a bag of words, in which most
  numbers are absent, costs next to nothing.

The facts of all features stand in one array of integers, a row each; see the constants.
"""

from __future__ import annotations

import itertools
import math
import typing
from collections.abc import Hashable

import numpy as np

from river_oauc.acceleration import accelerated
from river_oauc.records.parse import MAX_EXACT, Name, TimePart
from river_oauc.state import FloatArray, IntArray, State, damage, read_fields

# Every category is taken to have come with this many examples of average odds before.
SHRINKAGE = 2.0

# Recent log odds are those of about the last five examples of a category: frauds come in bursts at
# one terminal, and the bookings of one agent are cancelled together.
RECENT_MEMORY = 5.0

# Where nothing changes, recent log odds would only add noise.
MIN_GAIN = 10.0

# From `MIN_VALUES` values on, values recur if at most this share of them is distinct.
MAX_DISTINCT_SHARE, MIN_VALUES = 0.9, 100

# After this many values, even an id with ten thousand distinct values has recurred.
DROP_IDS_AFTER = 10_000

# The weights of a few categories are soon known without their log odds.
MAX_CATEGORIES_WITHOUT_ODDS = 4

# A text is a string of at least `TEXT_WORDS` words. Whether a feature is made of texts is decided
# after `MIN_TEXTS` strings.
TEXT_WORDS, MIN_TEXTS = 3, 20

# The columns of `facts`: in how many examples the value of a feature was known, a category that is
# no number, and a string of several words; whether it is counted, whether a number had a fraction,
# whether it was known in most examples when that was last reviewed, whether it is an id that has no
# categories any more, and whether it is part of a time.
N_KNOWN, N_STRINGS, N_TEXTS, IS_COUNTED, HAS_FRACTIONS, IS_MOSTLY_KNOWN, IS_ID, IS_TIME = range(8)
N_FACTS = 8

# When there are too many categories, or rows or features, this share of the limit is kept.
KEPT_SHARE = 0.8

# The columns of `counts`: the weights of the negatives and positives that a category has come with,
# and recent ones.
N_COUNTS = 4

# What a dense column, or a row of sparse examples, may say about a feature. Rows know two more, but
# not the last two of these.
NUMBER, LOG_ODDS, RECENT, MISSING = KINDS = range(4)

# The categories of a feature, and where they are counted; None if it has none (any more).
Categories = dict[Hashable, int] | None

# The features of what is known in a record, their values as numbers (or NaN) and as categories (or
# None).
Values = tuple[IntArray, FloatArray, list[Hashable]]


# The log odds of a category, and the recent ones.
Odds = tuple[float, float]


class Prior(typing.NamedTuple):
    """The shares of the classes among all examples, and the log odds of a positive."""

    negative: float
    positive: float
    log_odds: float

    @classmethod
    def of(cls, class_weights: FloatArray) -> typing.Self:
        """Return the prior after examples of these weights."""
        negative, positive = class_weights.tolist()
        total = negative + positive + 1.0
        negative, positive = (negative + 0.5) / total, (positive + 0.5) / total
        return cls(negative, positive, math.log(positive / negative))


def log_odds(negative: float, positive: float, prior: Prior) -> float:
    """Return how far the log odds of a category are above those of all examples.

    Parameters
    ----------
    negative, positive
        The weights of the negatives and positives that the category has come with.
    prior
        The shares of the classes among all examples.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.records.features import Prior, log_odds
    >>> prior = Prior.of(np.array([50.0, 50.0]))
    >>> log_odds(0.0, 0.0, prior), log_odds(0.0, 2.0, prior), log_odds(9.0, 9.0, prior)
    (0.0, 1.099, 0.0)

    """
    odds = (positive + SHRINKAGE * prior.positive) / (negative + SHRINKAGE * prior.negative)
    return math.log(odds) - prior.log_odds


def recurs(n: int, categories: Categories) -> bool:
    """Return whether n values, or some of them, come again and again."""
    return categories is not None and (n < MIN_VALUES or len(categories) <= MAX_DISTINCT_SHARE * n)


def is_text(facts: list[int], categories: Categories) -> bool:
    """Return whether a feature is made of texts."""
    n = facts[N_STRINGS]
    if n < MIN_TEXTS or 2 * facts[N_TEXTS] <= n:
        return False
    return categories is None or len(categories) > MAX_DISTINCT_SHARE * n


def is_category(facts: list[int], categories: Categories) -> bool:
    """Return whether the categories of a feature count."""
    if categories is None:
        return False
    if facts[N_STRINGS]:
        return not is_text(facts, categories)
    return not facts[HAS_FRACTIONS] and len(categories) > 2 and recurs(facts[N_KNOWN], categories)


def odds_of(
    category: Hashable,
    categories: Categories,
    counts: FloatArray,
    prior: Prior,
    given: Odds | None = None,
) -> Odds:
    """Return the log odds of a category, and the recent ones; or those that are given."""
    if given is not None:
        return given
    row = (categories or {}).get(category)
    if row is None:
        return 0.0, 0.0
    negative, positive, recent_negative, recent_positive = counts[row].tolist()
    return log_odds(negative, positive, prior), log_odds(recent_negative, recent_positive, prior)


@accelerated
def count_values(
    features: IntArray,
    numbers: FloatArray,
    categories: list[Hashable],
    positive: bool,
    weight: float,
    facts: IntArray,
    gain: FloatArray,
    known: list[Categories],
    counts: FloatArray,
    n_counts: int,
    class_weights: FloatArray,
) -> int:
    """Count the values of a record that has come with a label.

    Return the number of rows of `counts` that are used: each new category takes the next one.
    """
    prior = Prior.of(class_weights)
    for feature, number, category in zip(
        features.tolist(), numbers.tolist(), categories, strict=True
    ):
        fact = facts[feature]
        fact[N_KNOWN] += 1
        is_string = math.isnan(number)
        if not fact[IS_COUNTED]:
            if not is_string:
                continue
            fact[IS_COUNTED], known[feature] = 1, None if fact[IS_ID] else {}
        own = known[feature]
        if is_string:
            fact[N_STRINGS] += 1
            if isinstance(category, str) and category.count(" ") >= TEXT_WORDS - 1:
                fact[N_TEXTS] += 1
        elif not fact[HAS_FRACTIONS] and not number.is_integer():
            fact[HAS_FRACTIONS] = 1
            if own and not fact[N_STRINGS]:
                own = known[feature] = {}
        if own is None or category is None or fact[HAS_FRACTIONS] and not fact[N_STRINGS]:
            continue
        row = own.get(category)
        if row is not None:
            gain[feature] += weight * _gain_of_recent(counts[row].tolist(), positive, prior)
        elif fact[N_KNOWN] >= DROP_IDS_AFTER and not recurs(int(fact[N_KNOWN]), own):
            fact[IS_ID], known[feature] = 1, None
            continue
        else:
            row = own[category] = n_counts
            counts[row] = 0.0
            n_counts += 1
        counts[row, 2:] *= 1.0 - 1.0 / RECENT_MEMORY
        counts[row, [int(positive), 2 + int(positive)]] += weight
    class_weights[int(positive)] += weight
    return n_counts


def _gain_of_recent(counts: list[float], positive: bool, prior: Prior) -> float:
    """Return by how much recent log odds predict a label better than those of all time."""
    sign = 1.0 if positive else -1.0
    all_time = prior.log_odds + log_odds(counts[0], counts[1], prior)
    recent = prior.log_odds + log_odds(counts[2], counts[3], prior)
    return _softplus(-sign * all_time) - _softplus(-sign * recent)


def _softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


class Features:
    """The features of a stream of records, by number, and what their values have come with.

    Attributes
    ----------
    n_seen
        The number of examples.
    class_weights
        The weights of the negatives and of the positives.
    index, names
        The number of each name, and the name of each number, parts of times included.
    facts, gain
        What is known of each feature, and by how much recent log odds have predicted the labels
        better than those of all time. The arrays have room for more features.
    known, counts
        The categories of each feature, and where they are counted.

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "n_seen": int, "class_weights": (float, 2), "names": list,
        "facts": (np.int64, "f", N_FACTS), "gain": (float, "f"),
        "category_features": (np.int64, "c"), "categories": list, "counts": (float, "c", N_COUNTS),
    }  # fmt: skip

    def __init__(self) -> None:
        self.n_seen, self.class_weights = 0, np.zeros(2)
        self.index: dict[Name, int] = {}
        self.names: list[Name] = []
        self.facts: IntArray = np.zeros((0, N_FACTS), np.int64)
        self.gain: FloatArray = np.zeros(0)
        self.known: list[Categories] = []
        # A row per category that is or was counted.
        self.counts: FloatArray = np.zeros((0, N_COUNTS))
        self._n_counts = 0

    def __len__(self) -> int:
        return len(self.names)

    def name_in_record(self, feature: int) -> Name:
        """Return the name that a feature has in records: a part of a time has that of the time."""
        name = self.names[feature]
        return name.feature if isinstance(name, TimePart) else name

    def make_room(self) -> None:
        """Have room for the names that are new in the index."""
        n_before, n = len(self.names), len(self.index)
        new = list(itertools.islice(reversed(self.index), n - n_before))[::-1]
        if n > len(self.gain):
            self.facts = longer(self.facts, n + n // 8)
            self.gain = longer(self.gain, n + n // 8)
        self.facts[n_before:n, IS_TIME] = [isinstance(name, TimePart) for name in new]
        self.names += new
        self.known += [None] * len(new)

    def truncate(self, n: int) -> None:
        """Forget all but the first features."""
        self.facts[n : len(self.names)] = 0
        del self.names[n:], self.known[n:]
        while len(self.index) > n:
            self.index.popitem()

    def update(self, values: Values, positive: bool, weight: float) -> None:
        """Count the values of a record that has come with a label."""
        n_counts = self._n_counts + len(values[2])
        if n_counts > len(self.counts):
            self.counts = longer(self.counts, n_counts + n_counts // 4)
        self.n_seen += 1
        self._n_counts = count_values(
            *values, positive, weight, self.facts, self.gain, self.known, self.counts,
            self._n_counts, self.class_weights,
        )  # fmt: skip
        if self.n_seen & (self.n_seen - 1) == 0:
            self._choose_counted()

    def _choose_counted(self) -> None:
        """Begin to count numbers that are mostly known, and end it for others."""
        facts = self.facts[: len(self)]
        is_frequent = 2 * facts[:, N_KNOWN] >= self.n_seen
        is_counted = facts[:, IS_COUNTED] == 1
        for feature in np.flatnonzero(is_counted & ~is_frequent & (facts[:, N_STRINGS] == 0)):
            facts[feature, [IS_COUNTED, HAS_FRACTIONS, IS_MOSTLY_KNOWN]] = 0
            self.gain[feature], self.known[feature] = 0.0, None
        for feature in np.flatnonzero(~is_counted & is_frequent):
            facts[feature, IS_COUNTED] = 1
            self.known[feature] = None if facts[feature, IS_ID] else {}

    def review(self) -> None:
        """Find out which features are known in most examples."""
        is_frequent = 2 * self.facts[:, N_KNOWN] >= self.n_seen
        self.facts[:, IS_MOSTLY_KNOWN] = self.facts[:, IS_COUNTED] & is_frequent

    def forget_rare_categories(self, limit: int) -> None:
        """Keep four fifths of a number of categories, if there are more; the rarest go."""
        if self._n_counts <= limit:
            return
        state = self.get_state()
        weights = state["counts"][:, :2].sum(axis=1)
        n = len(weights)
        kept = np.arange(n)
        if n > limit:
            # Of equals, the oldest goes.
            kept = np.sort(np.argsort(weights, kind="stable")[n - int(KEPT_SHARE * limit) :])
        self._set_categories(state, kept)

    def _set_categories(self, state: State, kept: IntArray) -> None:
        """Take over some of the categories of a state, and their counts."""
        self.known = [
            {} if is_counted and not is_id else None
            for is_counted, is_id in self.facts[: len(self), [IS_COUNTED, IS_ID]].tolist()
        ]
        for row, place in enumerate(kept.tolist()):
            own = self.known[state["category_features"][place]]
            if own is not None:
                own[state["categories"][place]] = row
        self.counts, self._n_counts = state["counts"][kept], len(kept)

    def merge(self, other: Features) -> IntArray:
        """Add those of another part of the stream, and return the numbers of its features here."""
        for name in other.names:
            self.index.setdefault(name, len(self.index))
        self.make_room()
        place = np.array([self.index[name] for name in other.names], np.int64)
        n = len(place)
        self.n_seen += other.n_seen
        self.class_weights += other.class_weights
        facts = self.facts[place]
        sums, flags = [N_KNOWN, N_STRINGS, N_TEXTS], [IS_COUNTED, HAS_FRACTIONS, IS_ID]
        facts[:, sums] += other.facts[:n, sums]
        facts[:, flags] |= other.facts[:n, flags]
        self.facts[place] = facts
        self.gain[place] += other.gain[:n]
        self.counts = longer(self.counts, self._n_counts + other._n_counts)
        for feature, fact, theirs in zip(place.tolist(), facts.tolist(), other.known, strict=True):
            is_number = fact[HAS_FRACTIONS] and not fact[N_STRINGS]
            if not fact[IS_COUNTED] or fact[IS_ID] or is_number:
                self.known[feature] = {} if fact[IS_COUNTED] and not fact[IS_ID] else None
                continue
            own = self.known[feature] = self.known[feature] or {}
            for category, row in (theirs or {}).items():
                if category not in own:
                    own[category], self._n_counts = self._n_counts, self._n_counts + 1
                    self.counts[own[category]] = other.counts[row]
                else:
                    self.counts[own[category]] += other.counts[row]
                    # Both are recent: their average remembers as much as either.
                    self.counts[own[category], 2:] *= 0.5
        self.review()
        return place

    def keep(self, kept: IntArray) -> None:
        """Forget all features but these."""
        state, place = self.get_state(), np.full(len(self), -1)
        place[kept] = np.arange(len(kept))
        categories = place[state["category_features"]]
        state["names"] = [self.names[feature] for feature in kept.tolist()]
        state["facts"], state["gain"] = self.facts[kept], self.gain[kept]
        state["category_features"] = categories[categories >= 0]
        state["categories"] = list(itertools.compress(state["categories"], categories >= 0))
        state["counts"] = state["counts"][categories >= 0]
        self.set_state(state)

    def get_state(self) -> State:
        n, known = len(self), [(i, own) for i, own in enumerate(self.known) if own]
        rows = np.array([row for _, own in known for row in own.values()], np.int64)
        return {
            "n_seen": self.n_seen,
            "class_weights": self.class_weights.copy(),
            "names": self.names.copy(),
            "facts": self.facts[:n].copy(),
            "gain": self.gain[:n].copy(),
            "category_features": np.array([i for i, own in known for _ in own], np.int64),
            "categories": [category for _, own in known for category in own],
            "counts": self.counts[rows],
        }

    def set_state(self, state: typing.Any) -> None:
        state = read_fields(state, self.FIELDS)
        features, n = state["category_features"], len(state["facts"])
        if (
            not n == len(state["names"]) == len(set(state["names"]))
            or len(state["categories"]) != len(features)
            or not are_below(n, features)
            or any((state[name] < 0).any() for name in ("class_weights", "facts", "counts"))
            # Further counts would overflow.
            or not max(state["n_seen"], state["facts"].max(initial=0)) <= MAX_EXACT
        ):
            raise damage("what is known of the features does not fit together")
        self.n_seen, self.class_weights = state["n_seen"], state["class_weights"]
        self.names, self.facts, self.gain = state["names"], state["facts"], state["gain"]
        self.index = {name: feature for feature, name in enumerate(self.names)}
        self._set_categories(state, np.arange(len(features)))


def longer(array: typing.Any, length: int, fill: float = 0) -> typing.Any:
    """Return an array with more rows."""
    new = np.full((length, *array.shape[1:]), fill, array.dtype)
    new[: len(array)] = array
    return new


def are_below(limit: int, positions: IntArray) -> bool:
    """Return whether all positions are within a length."""
    return not len(positions) or bool(0 <= positions.min() <= positions.max() < limit)
