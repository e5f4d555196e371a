"""The rules of records and of SparseOAUCM as plain loops over dicts, and a stream of records."""

import copy
import dataclasses
import datetime
import math
import random
import re

from river_oauc.records.parse import read_record

MORNING = datetime.datetime(2024, 2, 29, 8)
WORDS = "win a free prize now call me later at home tonight".split()


def stream(n, seed=0):
    """Yield records of all kinds, some of which tell the label, with gaps and late features."""
    rng, burst = random.Random(seed), "t0"
    for i in range(n):
        y = rng.random() < 0.3
        if i % 40 == 0:
            burst = f"t{rng.randrange(30)}"
        x = {
            "amount": rng.lognormvariate(1.0 + y, 1.0),
            "country": rng.choice(["FR", "US"] if y else ["IT", "US", "DE", "ES", "PT"]),
            "terminal": burst if y else f"t{rng.randrange(30)}",
            "code": rng.choice([3, 5, 5.0, 8]) + y,
            "id": i,
            7: rng.random() < 0.3 + 0.3 * y,
            "rain": rng.choice([0.0, 1.5, "T", 3]),
            "text": " ".join(rng.choices(WORDS, k=4 + rng.randrange(4))),
            "when": MORNING + datetime.timedelta(hours=rng.randrange(500)),
            ("late", 1): rng.choice([1, 2, 3, "x"]) if i > n / 2 else None,
            f"word{int(40 * rng.random() ** 2)}": 1,
        }
        names = list(x)
        for name in rng.sample(names, rng.randrange(4)):
            x[name] = rng.choice([None, math.nan, "", " "])
        for name in rng.sample(names, 3):
            if x[name] is not None and x[name] == x[name]:
                x[name] = str(x[name])
        for name in rng.sample(names, rng.randrange(3)):
            del x[name]
        yield x, y, rng.choice([0.5, 1.0, 1.0, 3.0])


def plain_name(name):
    """Return the name of a feature, that of a part of a time as a tuple."""
    return dataclasses.astuple(name) if dataclasses.is_dataclass(name) else name


def read(x):
    """Return number and category of what is known in a record; see `test_parse`."""
    return {plain_name(name): (number, category) for name, number, category in read_record(x)}


def is_time(name):
    return isinstance(name, tuple) and name[1] in ("hour", "weekday")


def order_of_row(row):
    name, kind, key = row
    key = repr(key) if type(key) in (str, int, bytes) else ""
    return order(name), ["number", "log odds", "category", "size"].index(kind), key


def order(name):
    """Return a key that sorts names: numbers, strings, times; others do not matter."""
    if is_time(name):
        return f"T{name}"
    return repr(name) if isinstance(name, str | int) else ""


def log_odds(counts, shares):
    odds = (counts[1] + 2.0 * shares[1]) / (counts[0] + 2.0 * shares[0])
    return math.log(odds) - math.log(shares[1] / shares[0])


def softplus(z):
    return math.log1p(math.exp(-abs(z))) + max(z, 0.0)


class Feature:
    def __init__(self):
        self.n_known = self.n_strings = self.n_texts = 0
        self.counted = self.has_fractions = self.mostly_known = self.is_id = False
        # Negatives, positives, recent negatives, recent positives.
        self.categories, self.gain = {}, 0.0

    def recurs(self):
        return self.n_known < 100 or len(self.categories) <= 0.9 * self.n_known

    def is_text(self):
        several = self.n_strings >= 20 and self.n_texts > self.n_strings / 2
        return several and (self.is_id or len(self.categories) > 0.9 * self.n_strings)

    def is_category(self):
        if self.is_id or not self.counted:
            return False
        if self.n_strings > 0:
            return not self.is_text()
        return not self.has_fractions and len(self.categories) >= 3 and self.recurs()

    def learn(self, number, category, y, w, shares):
        self.n_known += 1
        self.counted |= math.isnan(number)
        if not self.counted:
            return
        if math.isnan(number):
            self.n_strings += 1
            self.n_texts += isinstance(category, str) and len(category.split(" ")) >= 3
        elif number != math.floor(number):
            self.has_fractions = True
        if self.has_fractions and self.n_strings == 0:
            self.categories = {}
        elif category is not None and not self.is_id:
            self.count(category, y, w, shares)

    def count(self, category, y, w, shares):
        if category in self.categories:
            counts, sign = self.categories[category], 1.0 if y else -1.0
            all_time, recent = (
                log_odds(pair, shares) + math.log(shares[1] / shares[0])
                for pair in (counts[:2], counts[2:])
            )
            self.gain += w * (softplus(-sign * all_time) - softplus(-sign * recent))
        elif self.n_known >= 10_000 and not self.recurs():
            self.is_id, self.categories = True, {}
            return
        else:
            counts = self.categories[category] = [0.0, 0.0, 0.0, 0.0]
        counts[2:] = 0.8 * counts[2], 0.8 * counts[3]
        counts[y] += w
        counts[2 + y] += w

    def kinds(self, n, prompt):
        """Return the columns that the feature deserves after n examples."""
        if not prompt and (not self.counted or self.n_known > self.n_strings):
            yield "number"
        if self.is_category():
            yield "log odds"
        if self.counted and self.gain > 10.0 and self.n_strings == self.n_known:
            yield "recent log odds"
        if self.mostly_known and n - self.n_known >= max(5, 0.005 * n + 1e-9):
            yield "missing"


class Encoder:
    """Records as dicts of columns, (name, kind), and of rows, (name, kind, key)."""

    def __init__(self, prompt=False, max_features=None, max_categories=None):
        self.prompt, self.max_features = prompt, max_features or math.inf
        self.max_categories = max_categories or math.inf
        self.features, self.columns, self.rows = {}, {}, {}
        self.n_seen, self.weights = 0, [0.0, 0.0]

    def shares(self):
        return [(w + 0.5) / (sum(self.weights) + 1.0) for w in self.weights]

    def odds(self, name, category, recent=False):
        counts = self.features[name].categories.get(category)
        return log_odds(counts[2:] if recent else counts, self.shares()) if counts else 0.0

    def encode(self, x, learning=False):
        """Return both sides of a record. In learning, what is new is added before."""
        values = read(x)
        if learning:
            for name, (number, _) in values.items():
                self.features.setdefault(name, Feature())
                if self.prompt:
                    self.columns[name, "log odds" if math.isnan(number) else "number"] = None
        values = {name: values[name] for name in values if name in self.features}
        rows = {}
        for name, value in values.items():
            rows.update({(name, *key): entry for key, entry in self.entries(name, *value)})
        if learning:
            new = [row for row in rows if row not in self.rows]
            self.rows.update(dict.fromkeys(sorted(new, key=order_of_row)))
        columns = {(name, kind): self.entry(name, kind, values) for name, kind in self.columns}
        return columns, {row: rows[row] for row in rows if row in self.rows}

    def entry(self, name, kind, values):
        feature = self.features[name]
        if name not in values:
            unknown = 1.0 if kind == "missing" else math.nan
            return unknown if feature.mostly_known else 0.0
        number, category = values[name]
        if not feature.counted:
            return number if kind == "number" and not math.isnan(number) else 0.0
        if kind in ("number", "missing"):
            return number if kind == "number" else 0.0
        if category is None or not feature.is_category():
            return math.nan
        return self.odds(name, category, kind == "recent log odds")

    def entries(self, name, number, category):
        feature = self.features[name]
        if math.isnan(number) and feature.counted and feature.is_text():
            for word in re.findall(r"\w+", category.lower()):
                yield ("category", word), 1.0
            return
        if number == number and number != 0.0:
            yield ("number", None), number
        if number == number and feature.has_fractions:
            mantissa, exponent = math.frexp(abs(number))
            size = 0.75 if mantissa >= 0.75 else 0.5
            size = math.ldexp(size, min(max(exponent, -31), 32)) if number else 0.0
            yield ("size", math.copysign(size, number)), 1.0
        is_category = category is not None and feature.is_category()
        if is_category or math.isnan(number):
            yield ("category", category), 1.0
        if is_category and len(feature.categories) > 4 and not is_time(name):
            if self.odds(name, category):
                yield ("log odds", None), self.odds(name, category)

    def learn(self, x, y, w):
        shares = self.shares()
        for name, value in read(x).items():
            self.features[name].learn(*value, y, w, shares)
        self.n_seen += 1
        self.weights[y] += w
        is_power = self.n_seen & (self.n_seen - 1) == 0
        for feature in self.features.values() if is_power else ():
            if feature.n_known >= self.n_seen / 2:
                feature.counted = True
            elif feature.counted and not feature.n_strings:
                feature.counted = feature.has_fractions = feature.mostly_known = False
                feature.categories, feature.gain = {}, 0.0
        if is_power or self.n_seen % 64 == 0:
            self.review()
        self.forget_categories()

    def review(self):
        n = self.n_seen
        for feature in self.features.values():
            feature.mostly_known = feature.counted and feature.n_known >= n / 2
        deserved = []
        for name in sorted(self.features, key=lambda f: (-self.features[f].n_known, order(f))):
            feature = self.features[name]
            new = [
                (name, k) for k in feature.kinds(n, self.prompt) if (name, k) not in self.columns
            ]
            is_frequent = self.prompt or feature.n_known >= max(5, 0.05 * n)
            n_columns = len(self.columns) + len(deserved) + len(new)
            if is_frequent and (self.prompt or n_columns <= self.max_features):
                deserved += new
        deserved.sort(key=lambda column: order(column[0]) + column[1].replace("number", ""))
        self.columns.update(dict.fromkeys(deserved))

    def forget_categories(self):
        """Keep four fifths of the limit if there are more: the rarest and oldest go."""
        features, limit = self.features.values(), self.max_categories
        n = sum(len(feature.categories) for feature in features)
        if n > limit:
            counts = [(sum(c[:2]), f, key) for f in features for key, c in f.categories.items()]
            counts.sort(key=lambda count: count[0])
            for _, feature, key in counts[: n - int(0.8 * limit)]:
                del feature.categories[key]

    def keep(self, rows):
        """Forget all rows but these, and the rarest features if there are too many."""
        if len(self.features) - len(self.columns) > self.max_categories:
            names = sorted(self.features, key=lambda name: self.features[name].n_known)
            lost = {*names[: len(names) - int(0.8 * self.max_categories)]}
            for name in lost - {name for name, _ in self.columns}:
                del self.features[name]
        self.rows = {row: None for row in rows if row[0] in self.features}

    def merged(self, other):
        both = copy.deepcopy(self)
        both.n_seen += other.n_seen
        both.weights = [a + b for a, b in zip(self.weights, other.weights, strict=True)]
        for name, theirs in other.features.items():
            mine = both.features.setdefault(name, Feature())
            for field in ("n_known", "n_strings", "n_texts", "gain"):
                setattr(mine, field, getattr(mine, field) + getattr(theirs, field))
            for flag in ("counted", "has_fractions", "is_id"):
                setattr(mine, flag, getattr(mine, flag) or getattr(theirs, flag))
            for key, (*own, old, new) in theirs.categories.items():
                if key in mine.categories:
                    a, b, c, d = mine.categories[key]
                    mine.categories[key] = [a + own[0], b + own[1], (c + old) / 2, (d + new) / 2]
                else:
                    mine.categories[key] = [*own, old, new]
            if mine.is_id or (mine.has_fractions and not mine.n_strings):
                mine.categories = {}
        for feature in both.features.values():
            feature.mostly_known = feature.counted and feature.n_known >= both.n_seen / 2
        both.columns.update(other.columns)
        both.rows.update(other.rows)
        both.forget_categories()
        return both


class Term:
    """A weight, its second derivatives, and unit and mean of what it weighs."""

    def __init__(self, usual, unit, mean=0.0):
        self.usual, self.unit, self.mean = usual, unit, mean
        self.weight = self.squares = 0.0

    def scaled(self, value):
        return (value - self.mean) / (self.unit + abs(value - self.mean))

    def step(self, pull, curvature, z):
        self.squares += curvature * z * z
        self.weight += pull * z / (0.5 + self.squares**0.75)

    def follow(self, z):
        root = math.sqrt(self.squares)
        if self.usual == 0.25:
            self.mean += 0.25 / (0.25 + root) * self.unit * z
        self.unit *= (abs(z) + root) / (self.usual + root)


class SparseLoop:
    """The step of SparseOAUCM on dicts: a level for each row, and a deviation if it varies."""

    def __init__(self):
        self.n_seen, self.levels, self.deviations, self.n_unusual = 0, {}, {}, {}
        # Of the scores of the negatives and of the positives.
        self.n, self.mean, self.scatter = [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]

    def inputs(self, example):
        """Return the terms of an example, and what they weigh."""
        terms = [(each.get(row), row) for row in example for each in (self.levels, self.deviations)]
        return [(term, term.scaled(example[row])) for term, row in terms if term]

    def score(self, example):
        inputs = self.inputs(example)
        length = math.sqrt(math.sqrt(sum(z * z for _, z in inputs))) or 1.0
        return sum(term.weight * z for term, z in inputs) / length

    def logit(self, score, empirical):
        if not self.n[0] or not self.n[1]:
            return score
        gap = self.mean[1] - self.mean[0]
        variance = 0.5 * (self.scatter[0] / self.n[0] + self.scatter[1] / self.n[1])
        deviation = max(math.sqrt(variance), abs(gap) / 4.0)
        slope = min(max(gap / deviation, 0.1), 4.0) / deviation if deviation >= 1e-150 else 1.0
        logit = slope * (score - 0.5 * (self.mean[0] + self.mean[1]))
        return logit + math.log(self.n[1] / self.n[0]) if empirical else logit

    def learn(self, example, y, w):
        self.n_seen += 1
        for row, value in example.items():
            self.levels.setdefault(row, Term(0.5, abs(value)))
        inputs, score, sign = self.inputs(example), self.score(example), 1.0 if y else -1.0
        length = math.sqrt(math.sqrt(sum(z * z for _, z in inputs))) or 1.0
        n_own, n_other = self.n[y] + w, self.n[not y]
        if n_other:
            b = 1.0 - sign * (score - self.mean[not y])
            r = math.hypot(b, math.sqrt(self.scatter[not y] / n_other))
            pairwise = 0.5 if r == 0.0 else 0.5 * (1.0 + b / r)
            logistic = 1.0 / (1.0 + n_own / n_other * math.exp(sign * score))
            pull = 0.25 * min(1.0, n_other / n_own) * pairwise + 0.75 * logistic
            for term, z in inputs:
                term.step(sign * w * pull, w * logistic * (1.0 - logistic), z / length)
        for row, value in example.items():
            unit = self.levels[row].unit
            if row not in self.deviations and abs(self.levels[row].scaled(value)) != 0.5:
                self.n_unusual[row] = self.n_unusual.get(row, 0) + 1
                if 10 * self.n_unusual[row] >= self.n_seen:
                    mean = math.copysign(min(unit, abs(value)), value)
                    self.deviations[row] = Term(0.25, 3.0 * abs(abs(value) - unit), mean)
        for term, z in inputs:
            term.follow(z)
        for row in self.deviations.keys() & example.keys():
            term = self.deviations[row]
            term.unit = max(term.unit, 2.0**-20 * self.levels[row].unit, 2.0**-1022)
        gap = score - self.mean[y]
        self.mean[y] += w / n_own * gap
        self.scatter[y] += w * (self.n[y] / n_own) * gap * gap
        self.n[y] = n_own
        return score
