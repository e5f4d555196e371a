"""SparseOAUCM as a plain loop over dicts."""

from __future__ import annotations

from math import hypot, sqrt

from river_oauc.calibration import Calibration


def pull_of(margin, variance):
    """How hard an example with this mean margin over the other class pulls."""
    b = 1.0 - margin
    r = hypot(b, sqrt(variance))
    if r == 0.0:
        return 0.5
    return 0.5 * variance / r / (r - b) if b < 0.0 else 0.5 + 0.5 * b / r


def numbers_of(x):
    """Strings are categories of value 1; zeros are left out."""
    numbers = {}
    for name, value in x.items():
        if isinstance(value, str):
            numbers[name, value] = 1.0
        elif value:
            numbers[name] = float(value)
    return numbers


class SparseReference:
    def __init__(self, prior="balanced"):
        self.weight, self.squares, self.unit = {}, {}, {}
        # Of the scores of the negatives and of the positives.
        self.n, self.mean, self.scatter = [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]
        self.calibration = Calibration(prior)

    def scaled(self, x):
        """The values in their units; unknown features are left out."""
        return {j: v / (self.unit[j] + abs(v)) for j, v in x.items() if j in self.unit}

    def score(self, scaled):
        """The score, and the values that it is made of."""
        length = sqrt(sqrt(sum(v * v for v in scaled.values()))) or 1.0
        divided = {j: v / length for j, v in scaled.items()}
        return sum(self.weight[j] * v for j, v in divided.items()), divided

    def score_one(self, x):
        return self.score(self.scaled(numbers_of(x)))[0]

    def predict_proba_one(self, x):
        p = self.calibration.probability(self.score_one(x))
        return {False: 1.0 - p, True: p}

    def learn_one(self, x, y, w=1.0):
        if w == 0.0:
            return
        x = numbers_of(x)
        for j, v in x.items():
            if j not in self.unit:
                self.weight[j], self.squares[j], self.unit[j] = 0.0, 0.0, abs(v)
        scaled = self.scaled(x)
        score, divided = self.score(scaled)

        own, other, sign = (1, 0, 1.0) if y else (0, 1, -1.0)
        before = self.n[own]
        self.n[own] += w
        if self.n[other] > 0.0:
            variance = self.scatter[other] / self.n[other]
            pull = pull_of(sign * (score - self.mean[other]), variance)
            a = w * min(1.0, self.n[other] / self.n[own])
            for j, v in divided.items():
                self.squares[j] += a * (pull * v) ** 2
                self.weight[j] += sign * a * pull * v / (0.5 + sqrt(self.squares[j]))
        for j, v in scaled.items():
            root = sqrt(self.squares[j])
            self.unit[j] *= (abs(v) + root) / (0.5 + root)

        deviation = score - self.mean[own]
        self.mean[own] += w / self.n[own] * deviation
        self.scatter[own] += w * (before / self.n[own]) * deviation**2
        if self.n[0] and self.n[1]:
            self.calibration.fit(
                mean_positive=self.mean[1],
                mean_negative=self.mean[0],
                variance=0.5 * (self.scatter[0] / self.n[0] + self.scatter[1] / self.n[1]),
                odds=self.n[1] / self.n[0],
            )
