"""The statistics and encodings of raw records as plain loops over dicts and lists."""

from __future__ import annotations

import datetime
import math
import re


def read(x):
    """Return the values that are known as (number, category); times as their parts."""
    values = {}
    for name, value in x.items():
        if isinstance(value, datetime.date):
            if isinstance(value, datetime.datetime):
                values[name, "hour"] = math.nan, value.hour
            values[name, "weekday"] = math.nan, value.weekday()
        elif isinstance(value, str):
            values[name] = math.nan, value
        elif value is not None and value == value:
            is_whole = not isinstance(value, bool) and value == math.floor(value)
            values[name] = float(value), int(value) if is_whole else None
    return values


def softplus(z):
    return math.log1p(math.exp(-abs(z))) + max(z, 0.0)


class Feature:
    def __init__(self, n_known):
        self.n_known, self.n_strings, self.n_texts = n_known, 0, 0
        self.has_fractions = self.mostly_known = False
        # Negatives, positives, recent negatives, recent positives.
        self.categories, self.gain = {}, 0.0

    def recurs(self):
        return self.n_known < 100 or len(self.categories) <= 0.9 * self.n_known

    def is_text(self):
        several = self.n_strings >= 20 and self.n_texts > self.n_strings / 2
        return several and (self.categories is None or len(self.categories) > 0.9 * self.n_strings)

    def is_category(self):
        if self.categories is None:
            return False
        if self.n_strings > 0:
            return not self.is_text()
        return not self.has_fractions and len(self.categories) >= 3 and self.recurs()

    def learn(self, number, category, y, w, shares):
        self.n_known += 1
        if math.isnan(number):
            self.n_strings += 1
            self.n_texts += isinstance(category, str) and len(category.split(" ")) >= 3
        elif number != math.floor(number) and not self.has_fractions:
            self.has_fractions = True
            if self.n_strings == 0 and self.categories is not None:
                self.categories = {}
        only_numbers = self.has_fractions and self.n_strings == 0
        if self.categories is None or category is None or only_numbers:
            return
        if category in self.categories:
            counts = self.categories[category]
            sign = 1.0 if y else -1.0
            all_time, recent = (
                log_odds(pair, shares) + math.log(shares[1] / shares[0])
                for pair in (counts[:2], counts[2:])
            )
            self.gain += w * (softplus(-sign * all_time) - softplus(-sign * recent))
        elif self.n_known >= 10_000 and not self.recurs():
            self.categories = None
            return
        else:
            counts = self.categories[category] = [0.0, 0.0, 0.0, 0.0]
        counts[2] *= 0.8
        counts[3] *= 0.8
        counts[bool(y)] += w
        counts[2 + bool(y)] += w


def log_odds(counts, shares):
    odds = (counts[1] + 2.0 * shares[1]) / (counts[0] + 2.0 * shares[0])
    return math.log(odds) - math.log(shares[1] / shares[0])


class Statistics:
    def __init__(self):
        self.features, self.others = {}, {}
        self.n_seen, self.weights = 0, [0.0, 0.0]

    def shares(self):
        return [(w + 0.5) / (sum(self.weights) + 1.0) for w in self.weights]

    def odds(self, name, category, recent=False):
        """Return the log odds of a category, NaN if it is none."""
        feature = self.features[name]
        if category is None or not feature.is_category():
            return math.nan
        counts = feature.categories.get(category)
        return log_odds(counts[2:] if recent else counts, self.shares()) if counts else 0.0

    def learn(self, x, y, w, known):
        """Count an example; `known` are the names that the encoder knows."""
        shares = self.shares()
        for name, (number, category) in read(x).items():
            if name not in self.features and math.isnan(number):
                self.features[name] = Feature(self.others.pop(name, 0))
            if name in self.features:
                self.features[name].learn(number, category, y, w, shares)
            elif name in known:
                self.others[name] = self.others.get(name, 0) + 1
        self.n_seen += 1
        self.weights[bool(y)] += w
        if self.n_seen & (self.n_seen - 1) == 0:
            for name, feature in list(self.features.items()):
                if not feature.n_strings and feature.n_known < self.n_seen / 2:
                    self.others[name] = self.features.pop(name).n_known
            for name, n in list(self.others.items()):
                if n >= self.n_seen / 2:
                    self.features[name] = Feature(self.others.pop(name))


class Dense:
    """Records as dicts of columns: `name`, or `(name, kind)`."""

    def __init__(self):
        self.statistics, self.columns = Statistics(), {}

    def encode(self, x):
        """Return the columns of a record, after those that it needs have been added."""
        values = read(x)
        for name, (number, _) in values.items():
            self.columns[(name, "log odds") if math.isnan(number) else name] = None
        return {column: self.entry(column, values) for column in self.columns}

    def entry(self, column, values):
        features, name, kind = self.statistics.features, column, "number"
        if isinstance(column, tuple) and column[1] in ("log odds", "recent log odds", "missing"):
            name, kind = column
        if name not in values:
            if name not in features or not features[name].mostly_known:
                return 0.0
            return 1.0 if kind == "missing" else math.nan
        number, category = values[name]
        if name not in features:
            # The first string of a rare number is 0 as well.
            return 0.0 if math.isnan(number) or kind != "number" else number
        if kind == "number":
            return number
        if kind == "missing":
            return 0.0
        return self.statistics.odds(name, category, recent=kind == "recent log odds")

    def learn(self, x, y, w):
        statistics = self.statistics
        statistics.learn(x, y, w, self.columns)
        n = statistics.n_seen
        if n % 64 == 0 or n & (n - 1) == 0:
            for name, feature in statistics.features.items():
                feature.mostly_known = feature.n_known >= n / 2
                n_missing = n - feature.n_known
                deserved = {
                    "log odds": feature.is_category(),
                    "recent log odds": feature.gain > 10.0 and feature.n_strings == feature.n_known,
                    "missing": feature.mostly_known and n_missing >= max(5, 0.005 * n + 1e-9),
                }
                self.columns.update({(name, kind): None for kind in deserved if deserved[kind]})


class Sparse:
    """Records as dicts of rows: `name`, `(name, category)`, and what numbers and odds add."""

    def __init__(self):
        self.statistics, self.rows = Statistics(), {}

    def encode(self, x):
        entries, features = {}, self.statistics.features
        for name, (number, category) in read(x).items():
            feature = features.get(name)
            if math.isnan(number):
                if feature and feature.is_text():
                    words = re.findall(r"\w+", category.lower())
                    entries.update({(name, word): 1.0 for word in words})
                    continue
                entries[name, category] = 1.0
            elif number != 0.0:
                entries[name] = number
            if feature is None:
                continue
            if feature.has_fractions and not math.isnan(number):
                mantissa, exponent = math.frexp(abs(number))
                size = math.ldexp(0.75 if mantissa >= 0.75 else 0.5, exponent) if number else 0.0
                entries[name, "from", math.copysign(size, number)] = 1.0
            if category is not None and feature.is_category():
                entries[name, category] = 1.0
                is_time = isinstance(name, tuple) and name[1] in ("hour", "weekday")
                odds = self.statistics.odds(name, category)
                if len(feature.categories) > 4 and not is_time and odds:
                    entries[name, "has", "log odds"] = odds
        return entries

    def learn(self, x, y, w):
        self.rows.update(dict.fromkeys(self.encode(x)))
        self.statistics.learn(x, y, w, self.rows)
