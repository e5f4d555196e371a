"""The kernel learners: OKAUC-M, OKAUC-S and KOIL."""

from __future__ import annotations

import abc

import numpy as np
from river import optim
from scipy.linalg.blas import dasum, daxpy, ddot, dscal

from river_oauc import losses
from river_oauc.arrays import FloatArray
from river_oauc.base import OnlineAUCClassifier, divergence
from river_oauc.calibration import ScoreStatistics
from river_oauc.kernels import RBF, Kernel
from river_oauc.parameters import (
    LearningRate,
    check_choice,
    check_count,
    check_number,
    check_step,
    step_size,
)
from river_oauc.support import SupportSet, k_nearest
from river_oauc.vectorizer import MAX_SQUARED_NORM

__all__ = ["KOIL", "OKAUCM", "OKAUCS"]

_DEFAULT_KERNEL = RBF(gamma=1.0)


class _KernelLearner(OnlineAUCClassifier):
    """A score that is a sum of similarities to stored examples.

    A method says how an example changes the coefficients of what is stored, and which one it gets.
    """

    def __init__(
        self,
        kernel: Kernel | None,
        budget: int | tuple[int, int],
        policy: str,
        compensation: str,
        prior: str,
        seed: int | None,
    ) -> None:
        super().__init__(prior)
        if not (kernel is None or isinstance(kernel, Kernel)):
            raise ValueError(f"kernel is {kernel!r}: it must be a Kernel, such as RBF(gamma=1.0)")
        n_positive, n_negative = budget if isinstance(budget, tuple) else (budget, budget)
        check_count("budget", n_positive)
        check_count("budget", n_negative)
        self.kernel = kernel
        self.budget = budget
        self.policy = policy
        self.seed = seed
        self._support = SupportSet(
            kernel or _DEFAULT_KERNEL, (n_negative, n_positive), policy, compensation, seed
        )
        self._statistics = ScoreStatistics()

    @property
    def support(self) -> SupportSet:
        """The stored examples with their coefficients."""
        return self._support

    @abc.abstractmethod
    def _step(
        self, row: FloatArray, score: float, positive: bool, w: float
    ) -> tuple[FloatArray, float]:
        """The new coefficients of the stored examples, and that of the new one.

        Parameters
        ----------
        row
            The similarities of the new example to the stored ones.
        score
            Its score.
        positive
            Its label.
        w
            Its importance.

        """

    def _score(self, x: FloatArray) -> float:
        return self._support.score(self._support.row(x))

    def _score_many(self, matrix: FloatArray) -> FloatArray:
        return np.array([self._score(x) for x in matrix])

    def _learn(self, x: FloatArray, positive: bool, w: float) -> None:
        support = self._support
        row = support.row(x)
        score = support.score(row)
        coefficients, coefficient = self._step(row, score, positive, w)
        if not ddot(coefficients, coefficients) + coefficient**2 <= MAX_SQUARED_NORM:
            raise divergence()
        support.coefficients = coefficients
        support.n_offered[positive] += 1
        if self._stores(coefficient):
            support.insert(x, row, positive, coefficient, w)
        self._statistics.add(score, positive)
        self._statistics.fit(self._calibration)

    def _stores(self, coefficient: float) -> bool:
        return True

    def _resize(self, size: int) -> None:
        self._support.resize(size)


class _KernelMomentLearner(_KernelLearner):
    """A functional gradient step an example, on a loss of its margin over the other class."""

    def __init__(
        self,
        kernel: Kernel | None,
        l2: float,
        lr: LearningRate,
        budget: int | tuple[int, int],
        policy: str,
        prior: str,
        seed: int | None,
    ) -> None:
        super().__init__(kernel, budget, policy, "projection", prior, seed)
        check_step(l2, lr)
        self.l2 = l2
        self.lr = lr
        self._n_seen = 0

    @staticmethod
    @abc.abstractmethod
    def _coefficients(margin: float, variance: float) -> tuple[float, float]:
        """`pull` and `spread` of the gradient of the loss; see `losses`."""

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"l2", "lr"}

    def _learn(self, x: FloatArray, positive: bool, w: float) -> None:
        super()._learn(x, positive, w)
        self._n_seen += 1

    def _step(
        self, row: FloatArray, score: float, positive: bool, w: float
    ) -> tuple[FloatArray, float]:
        support = self._support
        if not support.n[not positive]:
            return support.coefficients, 0.0
        sign = 1.0 if positive else -1.0
        other = support.slots(not positive)
        importance = support.importance[other]
        total = dasum(importance)
        deviations = support.scores(not positive)
        mean = ddot(importance, deviations) / total
        deviations -= mean
        weighted_deviations = importance * deviations
        variance = ddot(weighted_deviations, deviations) / total
        pull, spread = self._coefficients(sign * (score - mean), variance)

        step = step_size(self.l2, self.lr, self._n_seen)
        coefficients = support.coefficients.copy()
        dscal(1.0 - step * self.l2, coefficients)
        step *= w
        coefficient = sign * step * pull
        # The mean moves against the new example, and what deviates from it moves towards it.
        others = coefficients[other]
        daxpy(importance, others, len(others), -coefficient / total)
        daxpy(weighted_deviations, others, len(others), -step * spread / total)
        return coefficients, coefficient


class OKAUCM(_KernelMomentLearner):
    """x"""

    def __init__(
        self,
        kernel: Kernel | None = None,
        l2: float = 2**-6,
        lr: LearningRate = None,
        budget: int | tuple[int, int] = 100,
        policy: str = "fifo",
        prior: str = "balanced",
        seed: int | None = None,
    ) -> None:
        super().__init__(kernel, l2, lr, budget, policy, prior, seed)

    _coefficients = staticmethod(losses.psi_m_coefficients)


class OKAUCS(_KernelMomentLearner):
    """x"""

    def __init__(
        self,
        kernel: Kernel | None = None,
        l2: float = 2**-6,
        lr: float | optim.base.Scheduler = 2**-4,
        budget: int | tuple[int, int] = 100,
        policy: str = "fifo",
        prior: str = "balanced",
        seed: int | None = None,
    ) -> None:
        super().__init__(kernel, l2, lr, budget, policy, prior, seed)

    _coefficients = staticmethod(losses.psi_s_coefficients)


class KOIL(_KernelLearner):
    """x"""

    def __init__(
        self,
        kernel: Kernel | None = None,
        C: float = 1.0,
        eta: float = 0.01,
        budget: int | tuple[int, int] = 100,
        k: int = 10,
        loss: str = "l1",
        policy: str = "fifo",
        prior: str = "balanced",
        seed: int | None = None,
    ) -> None:
        super().__init__(kernel, budget, policy, "whole", prior, seed)
        check_number("C", C)
        check_number("eta", eta)
        check_count("k", k)
        check_choice("loss", loss, ("l1", "l2"))
        self.C = C
        self.eta = eta
        self.k = k
        self.loss = loss

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"C", "eta"}

    def _step(
        self, row: FloatArray, score: float, positive: bool, w: float
    ) -> tuple[FloatArray, float]:
        support = self._support
        sign = 1.0 if positive else -1.0
        step = self.eta * self.C * w * sign
        coefficients = support.coefficients.copy()
        dscal(1.0 - self.eta, coefficients)
        other = support.slots(not positive)
        # lacking = 1 - sign (score - scores): what the pairs want for a margin of 1.
        lacking = support.scores(not positive)
        lacking -= score - sign
        lacking *= sign
        violating = np.flatnonzero(lacking > 0.0)
        if not support.n[not positive] or not (support.n[positive] or len(violating)):
            return coefficients, step
        if len(violating) > self.k:
            similarities, arrival = row[other][violating], support.arrival[other][violating]
            violating = violating[k_nearest(similarities, arrival, self.k)]
        pulls = 2.0 * lacking[violating] if self.loss == "l2" else np.ones(len(violating))
        coefficients[other.start + violating] -= step * pulls
        return coefficients, step * float(pulls.sum())

    def _stores(self, coefficient: float) -> bool:
        # What is ranked well enough already is not kept.
        return coefficient != 0.0
