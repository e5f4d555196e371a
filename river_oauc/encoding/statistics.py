"""The statistics of all features of a stream of records."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping

import numpy as np
from river import base

from river_oauc import acceleration
from river_oauc.encoding import features
from river_oauc.encoding.features import Prior
from river_oauc.encoding.kinds import Value, read_record
from river_oauc.encoding.values import Record
from river_oauc.rankers.base import IntArray
from river_oauc.state import State, StateReader

Name = base.typing.FeatureName

Counts: type[features.Counts] = acceleration.Counts or features.Counts
Feature: type[features.Feature] = acceleration.Feature or features.Feature

# A column tells where a feature is unknown once it has been in this share of the examples, and this
# often.
MISSING_SHARE, MIN_MISSING = 0.005, 5

# Columns are reviewed after 1, 2, 4, ... examples, and after every 64th.
REVIEW_EVERY = 64

# When there are too many categories, this share of them is kept.
KEPT_SHARE = 0.8


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
    class_weights
        The weights of the negatives and of the positives.

    """

    def __init__(self, max_categories: int | None = None) -> None:
        self.max_categories = max_categories
        self.features: dict[Name, features.Feature] = {}
        self.n_seen, self.class_weights = 0, (0.0, 0.0)
        # In how many examples a number without statistics was known, by its position.
        self._n_known: IntArray = np.zeros(1, np.int64)

    @property
    def prior(self) -> Prior:
        """The shares of the classes among the examples."""
        return Prior.of(*self.class_weights)

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
        before = n_negative, n_positive = self.class_weights
        # First, so that no feature is ever known more often than there were examples.
        self.n_seen, self.class_weights = (
            self.n_seen + 1,
            (n_negative, n_positive + weight) if positive else (n_negative + weight, n_positive),
        )
        rest = record
        if acceleration.learn_record is not None:
            rest = acceleration.learn_record(
                record, self.features, index, self._n_known, positive, weight, before
            )
        if rest:
            self._learn(read_record(rest), index, positive, weight, Prior.of(*before))
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

    def _new_feature(self, name: Name, index: Mapping[Name, int]) -> features.Feature:
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

    def is_sometimes_missing(self, feature: features.Feature) -> bool:
        """Return whether a feature that is mostly known is unknown now and then."""
        n_missing = self.n_seen - feature.n_known
        is_frequent = n_missing >= MIN_MISSING and n_missing > MISSING_SHARE * self.n_seen
        return is_frequent and feature.is_mostly_known

    def often_known(
        self, minimum: float, index: Mapping[Name, int], columns: Iterable[Name]
    ) -> dict[Name, int]:
        """Return how often features were known that were at least so often.

        Parameters
        ----------
        minimum
            The smallest number of examples; at least 1.
        index
            The positions of all names that the encoder knows.
        columns
            Names of numbers without statistics that are left out.

        """
        known = {name: each.n_known for name, each in self.features.items()}
        often = {name: n for name, n in known.items() if n >= minimum}
        n_known = self._n_known[: len(index)]
        positions = set(np.flatnonzero(n_known >= minimum).tolist())
        positions.difference_update(index[name] for name in columns if name in index)
        # All names are listed only if there is a new one among them.
        names = list(index) if positions else []
        return often | {names[position]: int(n_known[position]) for position in positions}

    def most_often_known(self, n: int, index: Mapping[Name, int]) -> IntArray:
        """Return the positions of the numbers without statistics that were known most often."""
        n_known = np.zeros(len(index), np.int64)
        n_known[: len(self._n_known)] = self._n_known[: len(index)]
        return np.sort(np.argsort(n_known, kind="stable")[len(index) - n :])

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
        for feature in self.features.values():
            # They would keep all names in memory.
            feature.rows = None
        twin.n_seen, twin.class_weights = self.n_seen, self.class_weights
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
        for known, n_elsewhere in ((self.features, n_known[1]), (other.features, n_known[0])):
            for name, feature in known.items():
                feature.n_known += int(n_elsewhere[index[name]]) if name in index else 0
        for name, theirs in other.features.items():
            mine = self.features.setdefault(name, theirs)
            if mine is not theirs:
                _merge_features(mine, theirs)
        self._n_known = n_known.sum(axis=0)
        self._n_known[[index[name] for name in self.features if name in index]] = 0
        negative, positive = map(sum, zip(self.class_weights, other.class_weights, strict=True))
        self.n_seen, self.class_weights = self.n_seen + other.n_seen, (negative, positive)
        self._stay_within_limit()
        self.review()

    def get_state(self) -> State:
        """Return a copy of the state."""
        negative, positive = self.class_weights
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
        class_weights = reader.total_weight("negative"), reader.total_weight("positive")
        self.n_seen, self.class_weights = n_seen, class_weights
        self._n_known = reader.integers("n_known", None, maximum=n_seen)
        names = reader.names("names")
        features = [_feature_of(each, n_seen) for each in reader.readers("features", len(names))]
        self.features = dict(zip(names, features, strict=True))
        reader.finish()


_COUNTS = ("negative", "positive", "recent_negative", "recent_positive")
_FEATURE_COUNTS = ("n_known", "n_strings", "n_texts")


def _merge_features(mine: features.Feature, theirs: features.Feature) -> None:
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


def _feature_state(feature: features.Feature) -> State:
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


def _feature_of(reader: StateReader, n_seen: int) -> features.Feature:
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
