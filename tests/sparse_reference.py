"""SparseOAUCM as a plain loop over dicts."""

from __future__ import annotations

from math import copysign, exp, hypot, log, log1p, sqrt

from record_reference import Sparse

# A feature that is unusual in one of this many examples varies.
OFTEN = 10
# The unit of a deviation is at least a millionth of that of the level, and never makes 0/0.
FINEST, SMALLEST = 2.0**-20, 2.0**-1022


def pull_of(margin, variance):
    """Return how hard an example with this mean margin over the other class pulls."""
    b = 1.0 - margin
    r = hypot(b, sqrt(variance))
    if r == 0.0:
        return 0.5
    return 0.5 * variance / r / (r - b) if b < 0.0 else 0.5 + 0.5 * b / r


class Feature:
    """A weight, its squared gradients, and the usual size of what it weighs."""

    def __init__(self, unit):
        self.weight, self.squares, self.unit = 0.0, 0.0, unit
        self.n_unusual = 0
        self.deviation = None

    def scaled(self, value):
        return value / (self.unit + abs(value))

    def step(self, sign, w, slopes):
        self.squares += w * sum(a * slope * slope for a, slope in slopes)
        move = w * sum(a * slope for a, slope in slopes)
        self.weight += sign * move / (0.5 + sqrt(self.squares))


class Deviation(Feature):
    """The same for the distance from the feature's own mean."""

    def __init__(self, mean, unit):
        super().__init__(unit)
        self.mean = mean

    def scaled(self, value):
        return super().scaled(value - self.mean)

    def follow(self, z):
        root = sqrt(self.squares)
        self.mean += 0.25 / (0.25 + root) * self.unit * z
        self.unit *= (abs(z) + root) / (0.25 + root)


class SparseReference:
    def __init__(self, prior="balanced"):
        self.features, self.n_seen, self.prior = {}, 0, prior
        self.encoder = Sparse()
        # Of the scores of the negatives and of the positives.
        self.n, self.mean, self.scatter = [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]

    def weights(self, key):
        """Return the weights by name, those of deviations by the key of the name."""
        varying = {name: each for name, each in self.features.items() if each.deviation}
        return {name: each.weight for name, each in self.features.items()} | {
            key(name): each.deviation.weight for name, each in varying.items()
        }

    def inputs(self, x):
        """Return what the weights weigh: known features, and the deviations of those that vary."""
        inputs = []
        for name, value in x.items():
            feature = self.features.get(name)
            if feature is not None:
                inputs.append((feature, feature.scaled(value)))
                if feature.deviation is not None:
                    inputs.append((feature.deviation, feature.deviation.scaled(value)))
        length = sqrt(sqrt(sum(z * z for _, z in inputs))) or 1.0
        return [(feature, z / length) for feature, z in inputs]

    def score_one(self, x):
        return sum(feature.weight * z for feature, z in self.inputs(self.encoder.encode(x)))

    def probability(self, x):
        logit = self.score_one(x)
        if self.n[0] and self.n[1]:
            gap, variance = self.mean[1] - self.mean[0], 0.0
            for n, scatter in zip(self.n, self.scatter, strict=True):
                variance += 0.5 * scatter / n
            deviation = max(sqrt(variance), abs(gap) / 4.0)
            slope = 1.0
            if deviation >= 1e-150:
                slope = min(max(gap / deviation, 0.1), 4.0) / deviation
            logit = slope * (logit - 0.5 * (self.mean[0] + self.mean[1]))
            if self.prior == "empirical":
                logit += log(self.n[1] / self.n[0])
        if abs(logit) > 8.0:
            logit = copysign(8.0 + log1p(abs(logit) - 8.0), logit)
        return 1.0 / (1.0 + exp(-logit))

    def learn_one(self, x, y, w=1.0):
        if w == 0.0:
            return
        record, x = x, self.encoder.encode(x)
        for name, value in x.items():
            if name not in self.features:
                self.features[name] = Feature(abs(value))
        inputs = self.inputs(x)
        score = sum(feature.weight * z for feature, z in inputs)
        before = {name: self.features[name].scaled(value) for name, value in x.items()}
        deviations = {
            name: self.features[name].deviation.scaled(value)
            for name, value in x.items()
            if self.features[name].deviation is not None
        }

        own, other, sign = (1, 0, 1.0) if y else (0, 1, -1.0)
        n_before = self.n[own]
        self.n[own] += w
        if self.n[other] > 0.0:
            variance = self.scatter[other] / self.n[other]
            pull = pull_of(sign * (score - self.mean[other]), variance)
            a = min(1.0, self.n[other] / self.n[own])
            logistic = 1.0 / (1.0 + self.n[own] / self.n[other] * exp(sign * score))
            for feature, z in inputs:
                feature.step(sign, w, [(0.5 * a, pull * z), (0.5, logistic * z)])

        self.n_seen += 1
        for name, value in x.items():
            self.follow(self.features[name], value, abs(before[name]), deviations.get(name))
        gap = score - self.mean[own]
        self.mean[own] += w / self.n[own] * gap
        self.scatter[own] += w * (n_before / self.n[own]) * gap**2
        self.encoder.learn(record, y, w)

    def follow(self, feature, value, size, deviation):
        """Let unit and deviation of a feature follow a value."""
        if deviation is not None:
            feature.deviation.follow(deviation)
        elif size != 0.5:
            feature.n_unusual += 1
            if OFTEN * feature.n_unusual >= self.n_seen:
                smaller = copysign(min(feature.unit, abs(value)), value)
                feature.deviation = Deviation(smaller, 3.0 * abs(abs(value) - feature.unit))
        root = sqrt(feature.squares)
        feature.unit *= (size + root) / (0.5 + root)
        if feature.deviation is not None:
            finest = max(FINEST * feature.unit, SMALLEST)
            feature.deviation.unit = max(feature.deviation.unit, finest)
