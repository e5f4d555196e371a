"""The statistics of a feature: what its values have come with so far.

- A category v has log odds, log((n₊ + a q₊) / (n₋ + a q₋)) - log(q₊ / q₋): n₊ and n₋ are the
  positives and negatives that v has come with, q₊ and q₋ are the shares of the classes among all
  examples, and a is `SHRINKAGE`. A new category has 0.
- It has recent log odds as well, in which about its last `RECENT_MEMORY` examples count. They are
  used once they have predicted the labels better, by `MIN_GAIN` in the logarithmic loss.
- Whole numbers are categories, too, if there are more than two, none had a fraction, and they
  recur: at most `MOST_DISTINCT` of them are distinct.
- Strings of several words that hardly ever recur are texts.
- If almost nothing recurs in `GIVE_UP_AFTER` values, the feature has no categories any more.
"""

from __future__ import annotations

import math
import typing
from collections.abc import Hashable

# Every category is taken to have come with this many examples of average odds before.
SHRINKAGE = 2.0

# Recent log odds are those of about the last five examples of a category: frauds come in bursts at
# one terminal, and the bookings of one agent are cancelled together.
RECENT_MEMORY = 5.0

# Where nothing changes, recent log odds would only add noise.
MIN_GAIN = 10.0

# From `MIN_VALUES` values on, values recur if at most this share of them is distinct.
MOST_DISTINCT, MIN_VALUES = 0.9, 100

# After this many values, even an id with ten thousand distinct values has recurred.
GIVE_UP_AFTER = 10_000

# The weights of a few categories are soon known without their log odds.
FEW_CATEGORIES = 4

# A text is a string of at least `TEXT_WORDS` words. Whether a feature is made of texts is decided
# after `MIN_TEXTS` strings.
TEXT_WORDS, MIN_TEXTS = 3, 20


class Prior(typing.NamedTuple):
    """The shares of the classes among all examples, and the log odds of a positive."""

    negative: float
    positive: float
    log_odds: float

    @classmethod
    def of(cls, negative: float, positive: float) -> typing.Self:
        """Return the prior after examples of these weights."""
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
    >>> from river_oauc.encoding.features import Prior, log_odds
    >>> prior = Prior.of(negative=50, positive=50)
    >>> log_odds(0.0, 0.0, prior), log_odds(0.0, 2.0, prior), log_odds(9.0, 9.0, prior)
    (0.0, 1.099, 0.0)

    """
    odds = (positive + SHRINKAGE * prior.positive) / (negative + SHRINKAGE * prior.negative)
    return math.log(odds) - prior.log_odds


class Counts:
    """The weights of the negatives and positives that a category has come with, and recent ones."""

    __slots__ = ("negative", "positive", "recent_negative", "recent_positive")

    def __init__(
        self,
        negative: float = 0.0,
        positive: float = 0.0,
        recent_negative: float = 0.0,
        recent_positive: float = 0.0,
    ) -> None:
        self.negative, self.positive = negative, positive
        self.recent_negative, self.recent_positive = recent_negative, recent_positive

    def add(self, positive: bool, weight: float) -> None:
        """Count an example."""
        self.recent_negative *= 1.0 - 1.0 / RECENT_MEMORY
        self.recent_positive *= 1.0 - 1.0 / RECENT_MEMORY
        if positive:
            self.positive += weight
            self.recent_positive += weight
        else:
            self.negative += weight
            self.recent_negative += weight

    def gain_of_recent(self, positive: bool, prior: Prior) -> float:
        """Return by how much recent log odds predict a label better than those of all time."""
        sign = 1.0 if positive else -1.0
        all_time = prior.log_odds + log_odds(self.negative, self.positive, prior)
        recent = prior.log_odds + log_odds(self.recent_negative, self.recent_positive, prior)
        return _softplus(-sign * all_time) - _softplus(-sign * recent)


def _softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


class Feature:
    """The statistics of a feature.

    Attributes
    ----------
    n_known, n_strings, n_texts
        In how many examples its value was known, a category that is no number, and a string of
        several words.
    has_fractions
        Whether a number had a fraction.
    is_mostly_known
        Whether its value was known in most examples, when that was last reviewed.
    categories
        The counts of its categories; None if it has none any more.
    recent_gain
        By how much recent log odds have predicted the labels better than those of all time.
    columns
        Where an encoder puts what it knows about the feature.
    rows
        The rows of the feature that a compiled encoder has found; otherwise None.

    Examples
    --------
    >>> from river_oauc.encoding.features import Feature, Prior

    >>> country, prior = Feature(), Prior.of(negative=50, positive=50)
    >>> for i in range(100):
    ...     country.learn(float("nan"), "FR" if i < 40 else "IT", i < 30, 1.0, prior)
    >>> country.log_odds("FR", prior), country.log_odds("IT", prior), country.log_odds("?", prior)
    (1.036, -4.111, 0.0)

    """

    __slots__ = (
        "categories", "columns", "has_fractions", "is_mostly_known", "n_known", "n_strings",
        "n_texts", "recent_gain", "rows",
    )  # fmt: skip

    def __init__(self) -> None:
        self.n_known = self.n_strings = self.n_texts = 0
        self.has_fractions = self.is_mostly_known = False
        self.categories: dict[Hashable, Counts] | None = {}
        self.recent_gain = 0.0
        self.columns: tuple[int, ...] = (-1, -1, -1, -1)
        self.rows: object = None

    @property
    def has_numbers(self) -> bool:
        """Whether it has been a number."""
        return self.n_known > self.n_strings

    @property
    def is_category(self) -> bool:
        """Whether its categories count."""
        if self.categories is None:
            return False
        if self.n_strings:
            return not self.is_text
        return not self.has_fractions and len(self.categories) > 2 and self._recurs()

    @property
    def is_text(self) -> bool:
        """Whether it is made of texts."""
        n = self.n_strings
        if n < MIN_TEXTS or 2 * self.n_texts <= n:
            return False
        return self.categories is None or len(self.categories) > MOST_DISTINCT * n

    @property
    def is_bursty(self) -> bool:
        """Whether the recent log odds of its categories count."""
        return self.recent_gain > MIN_GAIN and self.n_strings == self.n_known

    def _recurs(self) -> bool:
        n = self.n_known
        return self.categories is not None and (
            n < MIN_VALUES or len(self.categories) <= MOST_DISTINCT * n
        )

    def log_odds(self, category: Hashable, prior: Prior) -> float:
        """Return the log odds of a category."""
        counts = self.categories.get(category) if self.categories else None
        return log_odds(counts.negative, counts.positive, prior) if counts else 0.0

    def recent_log_odds(self, category: Hashable, prior: Prior) -> float:
        """Return the log odds among the last examples of a category."""
        counts = self.categories.get(category) if self.categories else None
        if counts is None:
            return 0.0
        return log_odds(counts.recent_negative, counts.recent_positive, prior)

    def learn(
        self, number: float, category: Hashable, positive: bool, weight: float, prior: Prior
    ) -> None:
        """Count a value that has come with a label.

        Parameters
        ----------
        number
            The value as a number, or NaN.
        category
            The value as a category, or None.
        positive
            The label.
        weight
            The importance of the example.
        prior
            The shares of the classes before the example.

        """
        self.n_known += 1
        if math.isnan(number):
            self.n_strings += 1
            if isinstance(category, str) and category.count(" ") >= TEXT_WORDS - 1:
                self.n_texts += 1
        elif not self.has_fractions and not number.is_integer():
            self.has_fractions = True
            if self.categories and not self.n_strings:
                self.categories = {}
        if self.categories is None or category is None:
            return
        if self.has_fractions and not self.n_strings:
            return
        counts = self.categories.get(category)
        if counts is not None:
            self.recent_gain += weight * counts.gain_of_recent(positive, prior)
        elif self.n_known >= GIVE_UP_AFTER and not self._recurs():
            self.categories = None
            return
        else:
            counts = self.categories[category] = Counts()
        counts.add(positive, weight)
