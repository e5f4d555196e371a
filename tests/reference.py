"""Plain, slow reference implementations of every learner, written from the formulas alone.

They exist to be compared with: nothing is updated incrementally that can be recomputed. The moments
of a class are taken from all its stored examples at every step, and every kernel value is computed
again at every use. Each class follows the same small interface, on numpy vectors:

- `learn(x, y, weight=1.0)` with `y` either +1 or -1;
- `score(x)`, the number that ranks.

Conventions shared by all of them:

- `t` counts the examples received, the current one included, and counts 1 whatever the weight. An
  example of weight 0 changes nothing at all, `t` included.
- `lr=None` is the step size `1 / (l2 * t)`, a float is a constant step size, and a function is
  called with the number of examples received *before* this one (0, 1, 2, ...).
- The importance weight multiplies the gradient of the loss and never the shrink `1 - eta * l2`.
- Ties go to the vector that arrived first.

"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

Vector = np.ndarray
Kernel = Callable[[Vector, Vector], float]
LearningRate = float | Callable[[int], float] | None
Budget = int | tuple[int, int] | None


# Ranking quality and the two surrogate losses ------------------------------------------------


def auc(y: list[int], scores: list[float]) -> float:
    """Share of (positive, negative) pairs in the right order, a tie counting one half."""
    positives = [s for label, s in zip(y, scores, strict=True) if label == +1]
    negatives = [s for label, s in zip(y, scores, strict=True) if label == -1]
    wins = 0.0
    for p in positives:
        for n in negatives:
            if p > n:
                wins += 1.0
            elif p == n:
                wins += 0.5
    return wins / (len(positives) * len(negatives))


def psi_m(margin: float, variance: float) -> float:
    """Largest mean hinge loss of any margins with this mean and this (biased) variance."""
    b = 1 - margin
    return (b + math.sqrt(b * b + variance)) / 2


def psi_s(margin: float, variance: float) -> float:
    """Mean squared loss `(1 - margin)^2` of margins with this mean and this (biased) variance."""
    b = 1 - margin
    return b * b + variance


# Kernels -------------------------------------------------------------------------------------


def linear(x: Vector, z: Vector) -> float:
    return float(np.dot(x, z))


def rbf(gamma: float) -> Kernel:
    """Gaussian kernel; `gamma` is `1 / sigma^2` where a text writes `exp(-|x - z|^2 / sigma^2)`."""
    return lambda x, z: math.exp(-gamma * float(np.sum((x - z) ** 2)))


def polynomial(degree: int, gamma: float, coef0: float) -> Kernel:
    return lambda x, z: (gamma * float(np.dot(x, z)) + coef0) ** degree


# Pieces that the learners share --------------------------------------------------------------


def weighted_moments(examples: list[tuple[Vector, float]]) -> tuple[Vector, np.ndarray]:
    """Mean and biased covariance of `(vector, weight)` examples, straight from the definitions."""
    total = sum(weight for _, weight in examples)
    mean = sum(weight * x for x, weight in examples) / total
    cov = sum(weight * np.outer(x - mean, x - mean) for x, weight in examples) / total
    return mean, cov


def step_size(lr: LearningRate, l2: float, t: int) -> float:
    """Step size of the `t`-th example, `t` counted from 1."""
    if lr is None:
        return 1 / (l2 * t)
    if callable(lr):
        return lr(t - 1)
    return lr


def capacities(budget: Budget) -> dict[int, float]:
    """Largest number of vectors kept of each class; `None` is no limit."""
    if budget is None:
        return {+1: math.inf, -1: math.inf}
    positive, negative = budget if isinstance(budget, tuple) else (budget, budget)
    return {+1: positive, -1: negative}


class Reservoir(Protocol):
    """The chance in a reservoir, taken out so that a test can script it."""

    def keep(self, n_seen: int, capacity: int) -> int | None:
        """Slot that the newest of `n_seen` examples takes in a full buffer, `None` to drop it."""


class UniformReservoir:
    """Kept with probability `capacity / n_seen`, and then in a slot drawn uniformly."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)

    def keep(self, n_seen: int, capacity: int) -> int | None:
        slot = self.rng.randrange(n_seen)
        return slot if slot < capacity else None


class Learner:
    def __init__(self) -> None:
        self.t = 0

    def learn(self, x: Vector, y: int, weight: float = 1.0) -> None:
        if weight == 0:
            return
        self.t += 1
        self.update(np.array(x, dtype=float), y, weight)

    def update(self, x: Vector, y: int, weight: float) -> None:
        raise NotImplementedError


class LinearLearner(Learner):
    """Scores with `w . x`; `w` starts at zero."""

    def __init__(self) -> None:
        super().__init__()
        self.w: Vector | None = None

    def learn(self, x: Vector, y: int, weight: float = 1.0) -> None:
        if self.w is None and weight != 0:
            self.w = np.zeros(len(x))
        super().learn(x, y, weight)

    def score(self, x: Vector) -> float:
        return 0.0 if self.w is None else float(np.dot(self.w, x))


# The second-order linear learners ------------------------------------------------------------


class OAUCM(LinearLearner):
    """Gradient descent on psi_M of the new example against the opposite class.

    While the opposite class is empty the example only enters the moments of its own class.
    """

    def __init__(self, l2: float, lr: LearningRate = None):
        super().__init__()
        self.l2 = l2
        self.lr = lr
        self.examples: dict[int, list[tuple[Vector, float]]] = {+1: [], -1: []}

    def update(self, x: Vector, y: int, weight: float) -> None:
        self.examples[y].append((x, weight))
        if not self.examples[-y]:
            return
        mean, cov = weighted_moments(self.examples[-y])
        eta = step_size(self.lr, self.l2, self.t)
        gradient = self.loss_gradient(y * (x - mean), cov)
        self.w = (1 - eta * self.l2) * self.w - eta * weight * gradient

    def loss_gradient(self, d: Vector, cov: np.ndarray) -> Vector:
        b = 1 - self.w @ d
        u = cov @ self.w
        r = math.sqrt(b * b + max(self.w @ u, 0))
        if r == 0:
            return -d / 2
        return -(1 + b / r) / 2 * d + u / (2 * r)


class OAUCS(OAUCM):
    """Gradient descent on one half of psi_S of the new example against the opposite class."""

    def loss_gradient(self, d: Vector, cov: np.ndarray) -> Vector:
        b = 1 - self.w @ d
        return -b * d + cov @ self.w


# The linear baselines ------------------------------------------------------------------------


class Perceptron(LinearLearner):
    """A step `weight * y * x` on a wrong label, where `w . x = 0` is labelled positive."""

    def update(self, x: Vector, y: int, weight: float) -> None:
        predicted = +1 if self.w @ x >= 0 else -1
        if predicted != y:
            self.w = self.w + weight * y * x


class PAI(LinearLearner):
    """Passive-aggressive step with a slack price of `C * weight`."""

    def __init__(self, C: float = 1.0):
        super().__init__()
        self.C = C

    def update(self, x: Vector, y: int, weight: float) -> None:
        if x @ x > 0:
            loss = max(0.0, 1 - y * (self.w @ x))
            tau = min(self.C * weight, loss / (x @ x))
            self.w = self.w + tau * y * x


class OAM(LinearLearner):
    """Hinge steps on the pairs of the new example with a reservoir of the opposite class.

    A replaced example leaves its slot to the new one, so that the storage order, which is the order
    of the sequential update, is the order of the slots. Class counts are numbers of examples.
    """

    def __init__(
        self,
        C: float,
        buffer_size: int | tuple[int, int],
        update: str = "gradient",
        weighting: str = "paper",
        *,
        rng: Reservoir,
    ):
        super().__init__()
        self.C = C
        self.capacity = capacities(buffer_size)
        self.move = {"gradient": self.gradient_move, "sequential": self.sequential_move}[update]
        self.weighting = weighting
        self.rng = rng
        self.seen = {+1: 0, -1: 0}
        self.buffers: dict[int, list[Vector]] = {+1: [], -1: []}

    def update(self, x: Vector, y: int, weight: float) -> None:
        self.seen[y] += 1
        self.store(x, y)
        self.move(x, y, weight * self.pair_cost(y))

    def pair_cost(self, y: int) -> float:
        """C_t: a full buffer stands for every opposite example seen, not only for those in it."""
        scale = {"paper": max(1, self.seen[-y] / self.capacity[-y]), "constant": 1}
        return self.C * scale[self.weighting]

    def store(self, x: Vector, y: int) -> None:
        if len(self.buffers[y]) < self.capacity[y]:
            self.buffers[y].append(x)
            return
        slot = self.rng.keep(self.seen[y], self.capacity[y])
        if slot is not None:
            self.buffers[y][slot] = x

    def gradient_move(self, x: Vector, y: int, cost: float) -> None:
        old = self.w
        for z in self.buffers[-y]:
            if y * (old @ (x - z)) <= 1:
                self.w = self.w + cost / 2 * y * (x - z)

    def sequential_move(self, x: Vector, y: int, cost: float) -> None:
        for z in self.buffers[-y]:
            d = x - z
            if d @ d > 0:
                loss = max(0.0, 1 - y * (self.w @ d))
                self.w = self.w + min(cost / 2, loss / (d @ d)) * y * d


class OLUBAUC(LinearLearner):
    """Regularised hinge loss with a learned threshold `theta`, which is not regularised.

    The score leaves `theta` out. With `class_balanced` the gradient of an example of class s is
    multiplied by N / (2 n_s), where n_s and N are numbers of examples (not sums of weights), of
    class s and of both classes, the current example included; both classes then pull equally hard.
    """

    def __init__(
        self,
        l2: float,
        margin: float = 1.0,
        class_balanced: bool = False,
        lr: LearningRate = None,
    ):
        super().__init__()
        self.l2 = l2
        self.margin = margin
        self.class_balanced = class_balanced
        self.lr = lr
        self.theta = 0.0
        self.seen = {+1: 0, -1: 0}

    def update(self, x: Vector, y: int, weight: float) -> None:
        self.seen[y] += 1
        g = weight if y * (self.w @ x - self.theta) < self.margin else 0.0
        if self.class_balanced:
            g = g * (self.seen[+1] + self.seen[-1]) / (2 * self.seen[y])
        eta = step_size(self.lr, self.l2, self.t)
        self.w = (1 - eta * self.l2) * self.w + eta * g * y * x
        self.theta = self.theta - eta * g * y


# The kernel learners -------------------------------------------------------------------------


@dataclass(eq=False)
class SupportVector:
    x: Vector
    alpha: float
    weight: float = 1.0


class KernelLearner(Learner):
    """Scores with the sum of `alpha * k(x_i, x)` over the vectors of both classes, oldest first."""

    def __init__(self, kernel: Kernel, budget: Budget):
        super().__init__()
        self.kernel = kernel
        self.capacity = capacities(budget)
        self.vectors: dict[int, list[SupportVector]] = {+1: [], -1: []}

    def score(self, x: Vector) -> float:
        return sum(v.alpha * self.kernel(v.x, x) for v in self.vectors[+1] + self.vectors[-1])

    def shrink(self, factor: float) -> None:
        for v in self.vectors[+1] + self.vectors[-1]:
            v.alpha *= factor


def fitting_gamma(vectors: list[Vector]) -> float:
    """One fourth, halved as long as two different vectors are less than 1/64 similar on average."""
    pairs = list(itertools.combinations(vectors, 2))
    gamma = 0.25
    while pairs and sum(rbf(gamma)(x, z) for x, z in pairs) / len(pairs) < 1 / 64:
        gamma /= 2
    return gamma


class FittingWidth(KernelLearner):
    """To be put before a kernel learner: its kernel is the Gaussian one that fits what is stored.

    The width is looked at after every example that is stored, if it is the 2^k-th or the 4096 k-th.
    """

    n_stored = 0
    gamma = 0.25

    def insert(self, new: SupportVector, y: int) -> None:
        super().insert(new, y)  # type: ignore[misc]
        if any(v is new for v in self.vectors[y]):
            self.n_stored += 1
            if self.n_stored % 4096 == 0 or self.n_stored in (2**k for k in range(13)):
                self.gamma = fitting_gamma([v.x for v in self.vectors[+1] + self.vectors[-1]])
                self.kernel = rbf(self.gamma)


class OKAUCM(KernelLearner):
    """Functional gradient descent on psi_M of the new example against the opposite buffer.

    The new example is always stored. In a full buffer the oldest vector of its class makes room,
    and its part of the score is projected on the vector of that class which loses the least by it.
    In the mean and the variance of the scores of the opposite buffer a vector counts with the
    importance weight with which it was learned.
    """

    def __init__(self, kernel: Kernel, l2: float, lr: LearningRate = None, budget: Budget = None):
        super().__init__(kernel, budget)
        self.l2 = l2
        self.lr = lr

    def update(self, x: Vector, y: int, weight: float) -> None:
        opposite = self.vectors[-y]
        new = SupportVector(x, 0.0, weight)
        if opposite:
            eta = step_size(self.lr, self.l2, self.t)
            f = np.array([self.score(v.x) for v in opposite])
            shares = np.array([v.weight for v in opposite]) / sum(v.weight for v in opposite)
            slope, slopes = self.loss_slopes(y, self.score(x), f, shares)
            self.shrink(1 - eta * self.l2)
            new.alpha = -eta * weight * slope
            for v, slope_v in zip(opposite, slopes, strict=True):
                v.alpha -= eta * weight * slope_v
        self.insert(new, y)

    def loss_slopes(
        self, y: int, f_t: float, f: np.ndarray, shares: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """Derivatives of the loss by the score of the new example and by those of the opposite.

        The shares in which the opposite scores `f` enter their mean and variance sum to 1.
        """
        deviation = f - shares @ f
        b = 1 - y * (f_t - shares @ f)
        r = math.sqrt(b * b + shares @ deviation**2)
        if r == 0:
            return -y / 2, shares * y / 2
        p = (b + r) / 2
        return -y * p / r, shares * (y * p + deviation / 2) / r

    def insert(self, new: SupportVector, y: int) -> None:
        own = self.vectors[y]
        own.append(new)
        if len(own) <= self.capacity[y]:
            return
        oldest = own.pop(0)
        heir = max(own, key=lambda v: self.projection_gain(v.x, oldest.x))
        if self.projection_gain(heir.x, oldest.x) > 0:
            overlap = self.kernel(heir.x, oldest.x) / self.kernel(heir.x, heir.x)
            heir.alpha += oldest.alpha * overlap

    def projection_gain(self, x: Vector, removed: Vector) -> float:
        """Squared norm that the projection on k(x, .) keeps of k(removed, .)."""
        norm2 = self.kernel(x, x)
        return self.kernel(x, removed) ** 2 / norm2 if norm2 > 0 else 0.0


class OKAUCS(OKAUCM):
    """Functional gradient descent on one half of psi_S against the opposite buffer."""

    def loss_slopes(
        self, y: int, f_t: float, f: np.ndarray, shares: np.ndarray
    ) -> tuple[float, np.ndarray]:
        b = 1 - y * (f_t - shares @ f)
        return -y * b, shares * (y * b + f - shares @ f)


class KOIL(KernelLearner):
    """Hinge steps on the pairs of the new example with its `k` nearest violators.

    Vectors are kept oldest first. The slot that the reservoir names is a position in that order:
    the vector there is removed and the new one goes to the end.
    """

    def __init__(
        self,
        kernel: Kernel,
        C: float,
        eta: float = 0.01,
        budget: Budget = 100,
        k: int = 10,
        loss: str = "l1",
        policy: str = "fifo",
        compensation: bool = True,
        rng: Reservoir | None = None,
    ):
        super().__init__(kernel, budget)
        self.C = C
        self.eta = eta
        self.k = k
        self.loss_slope = {"l1": lambda excess: 1.0, "l2": lambda excess: 2 * excess}[loss]
        self.choose_slot = {"fifo": self.oldest_slot, "reservoir": self.random_slot}[policy]
        self.compensation = compensation
        self.rng = rng
        self.seen = {+1: 0, -1: 0}

    def update(self, x: Vector, y: int, weight: float) -> None:
        self.seen[y] += 1
        step = self.eta * self.C * weight * y
        violators = self.nearest_violators(x, y)
        self.shrink(1 - self.eta)
        if not self.vectors[-y] or (not self.vectors[y] and not violators):
            alpha = step
        else:
            slopes = [self.loss_slope(excess) for _, excess in violators]
            alpha = step * sum(slopes)
            for (v, _), slope in zip(violators, slopes, strict=True):
                v.alpha -= step * slope
        if alpha != 0:
            self.insert(SupportVector(x, alpha), y)

    def nearest_violators(self, x: Vector, y: int) -> list[tuple[SupportVector, float]]:
        """Opposite vectors whose pair with `x` has a margin below 1, each with what it lacks."""
        violators = []
        for v in self.vectors[-y]:
            margin = y * (self.score(x) - self.score(v.x))
            if margin < 1:
                violators.append((v, 1 - margin))
        if len(violators) <= self.k:
            return violators
        nearest_first = sorted(violators, key=lambda pair: -self.kernel(x, pair[0].x))
        return nearest_first[: self.k]

    def insert(self, new: SupportVector, y: int) -> None:
        own = self.vectors[y]
        if len(own) < self.capacity[y]:
            own.append(new)
            return
        slot = self.choose_slot(y)
        if slot is None:
            discarded = new
        else:
            discarded = own.pop(slot)
            own.append(new)
        if self.compensation:
            heir = max(own, key=lambda v: self.kernel(discarded.x, v.x))
            heir.alpha += discarded.alpha

    def oldest_slot(self, y: int) -> int:
        return 0

    def random_slot(self, y: int) -> int | None:
        return self.rng.keep(self.seen[y], self.capacity[y])
