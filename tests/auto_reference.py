"""The rule of AutoOAUCM and AutoOKAUCM in plain numpy: slow, and with nothing but the rule.

It is written independently of the package, from which it takes nothing. An example is an array in
which every feature has its place from the start: an absent one is 0, and NaN is not known.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.spatial.distance import cdist

STRENGTHS = (0.1, 10.0)
N_LINEAR = len(STRENGTHS) + 4
N_LANDMARKS = 256
TRIAL = 2000


class Units:
    """Recent mean and deviation of each feature, over about a thousand known values."""

    def __init__(self, p):
        self.n_known = np.zeros(p)
        self.mean, self.variance, self.factor = np.zeros(p), np.zeros(p), np.zeros(p)

    def update(self, x):
        known = ~np.isnan(x)
        self.n_known = self.n_known + known
        rate = 1 / np.clip(self.n_known, 1, 1000)
        gap = np.where(known, x - self.mean, 0.0)
        gap = gap / np.maximum(np.abs(gap * self.factor) / math.sqrt(1000), 1.0)
        self.mean = self.mean + rate * gap
        variance = (1 - rate) * (self.variance + rate * gap**2)
        self.variance = np.where(known, variance, self.variance)
        self.factor = np.sqrt(self.variance) / (self.variance + 1e-200)

    def standardized(self, x):
        z = np.where(np.isnan(x), 0.0, (x - self.mean) * self.factor)
        return z / np.sqrt(1 + (z / 4) ** 2)


class Moments:
    """Weighted count, mean and scatter matrix; a part of them is kept at each new vector."""

    def __init__(self, p, kept=1.0):
        self.n, self.mean, self.scatter = 0.0, np.zeros(p), np.zeros((p, p))
        self.kept = kept

    def add(self, x, w):
        before = self.n * self.kept
        self.n = before + w
        gap = x - self.mean
        self.mean = self.mean + w / self.n * gap
        self.scatter = self.scatter * self.kept + w * before / self.n * np.outer(gap, gap)


def closed_form(negative, positive, strength, metric=None):
    """Weights and bias of the exact minimiser of the squared loss."""
    n = 4 / (1 / positive.n + 1 / negative.n)
    matrix = positive.scatter / positive.n + negative.scatter / negative.n
    identity = np.eye(len(matrix))
    if metric is None:
        matrix = matrix + (0.5 * np.trace(matrix) + 1e-12) * (strength / n + 1e-8) * identity
    else:
        matrix = matrix + strength / n * metric + 1e-8 * identity
    gap = positive.mean - negative.mean
    weights = np.linalg.solve(matrix, gap)
    weights = weights * 2 / (2 + gap @ weights)
    return weights, weights @ (positive.mean + negative.mean) / 2


class KernelMap:
    """Similarities to landmarks; the width is set by the median distance of a sample."""

    def __init__(self, kind, landmarks, sample, relevances):
        self.kind, self.landmarks, self.relevances = kind, landmarks, relevances
        distances = self.distances(sample, sample)
        distances = distances[distances > 0]
        median = np.median(distances) if len(distances) else 1.0
        self.rate = (0.7 if kind == "Laplace" else 1.0) / median
        self.gram = self(landmarks)

    def distances(self, rows, others):
        if self.kind == "Laplace":
            return cdist(rows * self.relevances, others * self.relevances, "cityblock")
        return cdist(rows, others, "sqeuclidean")

    def __call__(self, rows):
        return np.exp(-self.rate * self.distances(rows, self.landmarks))


def relevance(positives, negatives):
    """How far the class histograms of each feature are apart, beyond what chance makes of it."""
    found = []
    for p, n in zip(positives.T, negatives.T, strict=True):
        edges = np.quantile(np.concatenate([p, n]), np.arange(1, 8) / 8)
        p_share, n_share = (
            np.bincount(np.searchsorted(edges, values), minlength=8) / len(values)
            for values in (p, n)
        )
        used = p_share + n_share > 0
        apart = 0.5 * np.sum((p_share - n_share)[used] ** 2 / (p_share + n_share)[used])
        by_chance = 0.25 * (used.sum() - 1) * (1 / len(p) + 1 / len(n))
        found.append(math.sqrt(max(apart - by_chance, 0.02)))
    return np.array(found)


def sigmoid(a):
    return 1 / (1 + math.exp(-a)) if a > -700 else 0.0


def implicit_margin(margin, pull):
    """The root e of e = margin + pull · sigmoid(-e), which rises from margin to margin + pull."""
    low, high = margin, margin + pull
    root = margin + pull * sigmoid(-margin) / (1 + 0.25 * pull)
    for _ in range(100):
        error = sigmoid(-root)
        rest = root - margin - pull * error
        low, high = (low, root) if rest > 0 else (root, high)
        new = root - rest / (1 + pull * error * (1 - error))
        if not low <= new <= high:
            new = (low + high) / 2
        change, root = abs(new - root), new
        if change <= 1e-14 * (1 + abs(root)):
            break
    return root


class Newton:
    """Logistic regression as a Gaussian posterior; the bias is last."""

    def __init__(self, p):
        self.weights = np.zeros(p + 1)
        self.covariance = np.diag([1 / 1.5] * p + [1.0])

    def step(self, z, sign, c):
        phi = np.append(z, 1.0)
        direction = self.covariance @ phi
        spread = phi @ direction
        error = sigmoid(-implicit_margin(sign * (phi @ self.weights), c * spread))
        curvature = c * error * (1 - error)
        self.weights = self.weights + sign * c * error * direction
        outer = np.outer(direction, direction)
        self.covariance = self.covariance - curvature / (1 + curvature * spread) * outer

    def on_common_scale(self, gap):
        shrink = 1 / (1 + max(gap @ self.weights[:-1], 0.0) / 2)
        return shrink * self.weights[:-1], -shrink * self.weights[-1]


def shares_of(leads, n):
    shares = np.exp(4 * math.sqrt(n) * (leads - leads.max()))
    return shares / shares.sum()


class Judge:
    """Win rates against the latest 64 scores of the other class; the mixture is the last row."""

    def __init__(self, n_experts):
        self.stored = ([], [])
        self.leads, self.weights = np.zeros(n_experts), np.zeros(2)
        self.aucs, self.n_pairs = np.full(n_experts + 1, 0.5), 0.0

    def compare(self, scores, k, w, n_other):
        win = None
        if self.stored[1 - k]:
            gaps = scores[:, np.newaxis] - np.array(self.stored[1 - k]).T
            sign = 1 if k else -1
            wins = 0.5 + 0.5 * sign * np.clip(gaps / 1e-4, -1, 1).mean(axis=1)
            self.weights = self.weights * (1 - 1 / 2000)
            self.weights[k] += w
            self.leads = self.leads + w / self.weights.sum() * (wins[:-1] - 0.5 - self.leads)
            self.n_pairs += w * n_other
            self.aucs = self.aucs + w * n_other / self.n_pairs * (wins - self.aucs)
            win = wins[-1]
        self.stored[k].append(scores)
        del self.stored[k][:-64]
        return win

    def shares(self):
        a, b = self.weights
        return shares_of(self.leads, 4 * a * b / (a + b) if a + b else 0.0)


class Engine:
    """One generation."""

    def __init__(self, p, kernels):
        self.kernels = kernels
        self.units = Units(p)
        self.t, self.count, self.n = 0, [0, 0], [0.0, 0.0]
        self.at_rest = Moments(p), Moments(p)
        self.recent = Moments(p, 0.95), Moments(p, 0.95)
        self.newton = Newton(p)
        self.weights, self.biases = np.zeros((N_LINEAR, p)), np.zeros(N_LINEAR)
        # By kernel: the map, the moments of both classes, weights and biases.
        self.maps, self.map_moments, self.map_weights, self.map_biases = [], [], [], []
        self.buffers = ([], [])
        self.frozen, self.next_landmarks, self.next_rest, self.next_recent = False, 4, 0, 0
        n_experts = N_LINEAR + len(STRENGTHS) * len(kernels)
        self.judge = Judge(n_experts)
        self.shares = np.full(n_experts, 1 / n_experts)

    def expert_scores(self, z):
        scores = np.zeros(len(self.shares))
        scores[:N_LINEAR] = self.weights @ z - self.biases
        for i, kernel_map in enumerate(self.maps):
            first = N_LINEAR + len(STRENGTHS) * i
            similarities = kernel_map(z[np.newaxis])[0]
            scores[first : first + len(STRENGTHS)] = (
                self.map_weights[i] @ similarities - self.map_biases[i]
            )
        return scores

    def score(self, x):
        return self.shares @ self.expert_scores(self.units.standardized(x))

    def learn(self, x, k, w):
        """Score, judge, learn. Returns the score, and the win rate of the mixture or None."""
        self.t += 1
        self.units.update(x)
        z = self.units.standardized(x)
        scores = self.expert_scores(z)
        score = self.shares @ scores
        win = self.judge.compare(np.append(scores, score), k, w, self.n[1 - k])
        self.count[k] += 1
        self.n[k] += w
        self.at_rest[k].add(z, w)
        self.recent[k].add(z, w)
        for kernel_map, moments in zip(self.maps, self.map_moments, strict=True):
            moments[k].add(kernel_map(z[np.newaxis])[0], w)
        self.buffers[k].append((x, w))
        del self.buffers[k][:-512]
        if all(self.count):
            self.take_steps(z, k, w)
            self.solve()
            self.shares = self.judge.shares()
        return score, win

    def take_steps(self, z, k, w):
        sign = 1 if k else -1
        c = 2 * w * self.n[1 - k] / sum(self.n)
        negative, positive = (moments.mean for moments in self.at_rest)
        self.newton.step(z, sign, c)
        self.weights[3], self.biases[3] = self.newton.on_common_scale(positive - negative)
        gap = sign - (self.weights[4] @ z - self.biases[4])
        step = min(0.2 * c, 1) * gap / (1 + z @ z)
        self.weights[4] += step * z
        self.biases[4] -= step
        direction = z - (negative if k else positive)
        gap = 2 * sign - self.weights[5] @ direction
        step = min(0.15 * c, 1) * gap / (1e-9 + direction @ direction)
        self.weights[5] += step * direction
        self.biases[5] = self.weights[5] @ (negative + positive) / 2

    def solve(self):
        n_varying = np.count_nonzero(self.units.factor)
        if self.kernels and not self.frozen and self.t >= self.next_landmarks:
            self.choose_landmarks()
            self.next_rest = self.t
        if self.t >= self.next_rest:
            self.next_rest = self.t + max(1, self.t // 10, min(self.t, n_varying // 4))
            for j, strength in enumerate(STRENGTHS):
                self.weights[j], self.biases[j] = closed_form(*self.at_rest, strength)
                for i, kernel_map in enumerate(self.maps):
                    self.map_weights[i][j], self.map_biases[i][j] = closed_form(
                        *self.map_moments[i], strength, kernel_map.gram
                    )
        if self.t >= self.next_recent:
            self.next_recent = self.t + min(self.t, max(4, n_varying // 8))
            self.weights[2], self.biases[2] = closed_form(*self.recent, 10.0)

    def choose_landmarks(self):
        while self.next_landmarks <= self.t:
            self.next_landmarks *= 2
        half = N_LANDMARKS // 2
        self.frozen = min(self.count) >= half
        n_positive = min(self.count[1], max(half, N_LANDMARKS - self.count[0]))
        n_negative = min(self.count[0], N_LANDMARKS - n_positive)
        rows = [
            self.units.standardized(np.array([x for x, _ in buffer])) for buffer in self.buffers
        ]
        landmarks = np.vstack([rows[1][-n_positive:], rows[0][-n_negative:]])
        sample = np.vstack([rows[1][-100:], rows[0][-100:]])
        relevances = relevance(rows[1], rows[0])
        self.maps = [KernelMap(kind, landmarks, sample, relevances) for kind in self.kernels]
        self.map_moments = []
        for kernel_map in self.maps:
            pair = Moments(len(landmarks)), Moments(len(landmarks))
            for moments, of_class, buffer in zip(pair, rows, self.buffers, strict=True):
                for similarities, (_, w) in zip(kernel_map(of_class), buffer, strict=True):
                    moments.add(similarities, w)
            self.map_moments.append(pair)
        self.map_weights = [np.zeros((len(STRENGTHS), len(landmarks))) for _ in self.maps]
        self.map_biases = [np.zeros(len(STRENGTHS)) for _ in self.maps]


class Probability:
    """Class means and variances of recent scores, and the recent share of positives."""

    def __init__(self, prior):
        self.prior = prior
        self.n, self.means, self.variances = [100, 100], [-0.5, 0.5], [0.25, 0.25]
        self.total, self.share, self.slope = 0.0, 0.5, 4.0

    def add(self, score, k, w, both_seen):
        self.total = self.total * (1 - 1 / 1000) + w
        self.share += w / (self.total + 1) * (k - self.share)
        if both_seen:
            self.n[k] += 1
            rate = 1 / min(self.n[k], 300)
            gap = score - self.means[k]
            self.means[k] += rate * gap
            self.variances[k] += rate * ((1 - rate) * gap**2 - self.variances[k])
            slope = (self.means[1] - self.means[0]) / max(sum(self.variances) / 2, 1e-6)
            self.slope += (min(max(slope, 1), 12) - self.slope) / 1000

    def of(self, score):
        logit = score - sum(self.means) / 2
        if self.prior == "balanced":
            logit *= 4
        else:
            share = min(max(self.share, 1e-12), 1 - 1e-12)
            logit = self.slope * logit + math.log(share / (1 - share))
        if abs(logit) > 8:
            logit = math.copysign(8 + math.log1p(abs(logit) - 8), logit)
        return sigmoid(logit)


class PlainAuto:
    """The learner: an engine, and a younger one beside it when the ranking breaks."""

    def __init__(self, with_kernels, p, prior="balanced"):
        self.p, self.kernels = p, ("Laplace", "Gaussian") if with_kernels else ()
        self.engines, self.shares = [Engine(p, self.kernels)], np.ones(1)
        self.probability = Probability(prior)
        self.latest = []
        self.count = [0, 0]
        self.watch()

    def watch(self):
        self.n_judged, self.recent_rate, self.long_run_rate = [0, 0], 0.0, 0.0

    def score(self, x):
        pairs = zip(self.shares, self.engines, strict=True)
        return float(sum(share * engine.score(x) for share, engine in pairs))

    def predict(self, x):
        return self.probability.of(self.score(x))

    def learn(self, x, y, w=1.0):
        k, x = int(y), np.array(x, dtype=float)
        scores, wins = zip(*(engine.learn(x, k, w) for engine in self.engines), strict=True)
        self.count[k] += 1
        self.probability.add(float(self.shares @ scores), k, w, all(self.count))
        self.latest.append((x, k, w))
        del self.latest[:-100]
        if len(self.engines) == 2:
            self.compare(wins, w)
        elif wins[0] is not None and self.breaks(wins[0], k):
            self.start_trial()

    def breaks(self, win, k):
        self.n_judged[k] += 1
        n = sum(self.n_judged)
        self.recent_rate += (win - self.recent_rate) / min(n, 100)
        self.long_run_rate += (win - self.long_run_rate) / n
        drop = self.long_run_rate - self.recent_rate
        return n >= 100 and min(self.n_judged) >= 32 and drop > 0.1

    def start_trial(self):
        self.engines[0].judge.stored = ([], [])
        younger = Engine(self.p, self.kernels)
        for example in self.latest:
            younger.learn(*example)
        self.engines.append(younger)
        self.shares, self.leads, self.n_compared = np.full(2, 0.5), np.zeros(2), 0.0
        self.n_left = TRIAL

    def compare(self, wins, w):
        if None not in wins:
            self.n_compared = self.n_compared * (1 - 1 / 300) + w
            self.leads = self.leads + w / self.n_compared * (np.array(wins) - self.leads)
            self.shares = shares_of(self.leads, self.n_compared)
        self.n_left -= 1
        if self.n_left == 0:
            self.engines = [self.engines[1 if self.leads[1] > self.leads[0] else 0]]
            self.shares = np.ones(1)
            self.watch()

    @property
    def experts(self):
        """AUC and share of each expert of each engine."""
        return [
            (auc, of_engine * share)
            for of_engine, engine in zip(self.shares, self.engines, strict=True)
            for auc, share in zip(engine.judge.aucs[:-1], engine.shares, strict=True)
        ]
