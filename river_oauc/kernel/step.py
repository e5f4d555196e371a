"""The steps of the kernel learners."""

from __future__ import annotations

import math

import numpy as np

from river_oauc import blas, vectors
from river_oauc.calibration import ScoreStatistics
from river_oauc.inputs.arrays import FloatArray
from river_oauc.inputs.limits import MAX_SQUARED_NORM, divergence
from river_oauc.inputs.parameters import LearningRate, step_size
from river_oauc.kernel.support import SupportSet, k_nearest
from river_oauc.kernel.width import fitting_kernel, is_time_to_fit
from river_oauc.kernels import Kernel
from river_oauc.learner import DenseLearner

__all__ = ["KernelStep", "MomentStep", "NearestStep"]

# Stands for scores of the stored examples that are to be found anew.
_OUT_OF_DATE: FloatArray = np.zeros(0)


class KernelStep(DenseLearner):
    """What an example does to a score that is a sum of similarities to stored ones.

    It is the part of a learner that is compiled: its numbers, and what changes them.
    """

    __fields__ = (
        *DenseLearner.__fields__,
        "kernel",
        "_support",
        "_statistics",
        "_scores",
        "_means",
        "_level",
    )

    kernel: Kernel | None
    _support: SupportSet
    _statistics: ScoreStatistics
    _scores: FloatArray
    _means: list[float]
    _level: float

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
        raise NotImplementedError

    def _stores(self, coefficient: float) -> bool:
        """Whether an example with this coefficient is stored."""
        return True

    def _score(self, x: FloatArray) -> float:
        support = self._support
        score = support.score(support.row(x))
        if not math.isfinite(score):
            raise _no_similarity()
        return score

    def _learn(self, x: FloatArray, positive: bool, w: float) -> None:
        support = self._support
        if len(self._scores) != len(support.coefficients):
            self._find_level()
        row = support.row(x)
        score = support.score(row)
        itself = support.kernel.of_itself(x)
        if not blas.ddot(row, row) + itself * itself <= MAX_SQUARED_NORM:
            raise _no_similarity()
        coefficients, coefficient = self._step(row, score, positive, w)
        squared_length = blas.ddot(coefficients, coefficients) + coefficient * coefficient
        if not squared_length <= MAX_SQUARED_NORM:
            raise divergence()
        # Should an interrupt come before the scores are found anew, the next step will find them.
        self._scores = _OUT_OF_DATE
        support.coefficients = coefficients
        support.n_offered[positive] += 1
        self._statistics.add(score - self._level, positive)
        if (
            self._stores(coefficient)
            and support.insert(x, row, itself, positive, coefficient, w)
            and self.kernel is None
            and is_time_to_fit(support.n_stored[False] + support.n_stored[True])
        ):
            self._change_width(fitting_kernel(support.stored_vectors()))
        self._find_level()
        self._statistics.fit(self._calibration, self._level)

    def _change_width(self, kernel: Kernel) -> None:
        if kernel != self._support.kernel:
            self._support.change_kernel(kernel)

    def _find_level(self) -> None:
        """Find the scores of the stored examples, their class means, and what lies between these.

        From one step to the next, the scores of all examples may rise or fall together. What says
        something is how far a score lies above the others of its time.
        """
        support = self._support
        scores = support.scores()
        negative, positive = support.mean(scores, False), support.mean(scores, True)
        self._scores = scores
        self._means = [negative, positive]
        n_classes = 2.0 if support.n[False] and support.n[True] else 1.0
        self._level = (negative + positive) / n_classes


class MomentStep(KernelStep):
    """A functional gradient step per example, on a loss of its margin over the other class."""

    __fields__ = (*KernelStep.__fields__, "l2", "lr")

    l2: float
    lr: LearningRate

    @staticmethod
    def _coefficients(margin: float, variance: float) -> tuple[float, float]:
        """`pull` and `spread` of the gradient of the loss; see `losses`."""
        raise NotImplementedError

    def _step(
        self, row: FloatArray, score: float, positive: bool, w: float
    ) -> tuple[FloatArray, float]:
        support = self._support
        other = not positive
        if not support.n[other]:
            return support.coefficients, 0.0
        sign = 1.0 if positive else -1.0
        # Of the other class: in all other slots this is 0, and what they have does not matter.
        importance = support.importance[other]
        total, mean = support.totals[other], self._means[other]
        deviations = vectors.add(self._scores, -mean)
        weighted_deviations = vectors.multiply(importance, deviations)
        variance = blas.ddot(weighted_deviations, deviations) / total
        pull, spread = self._coefficients(sign * (score - mean), variance)

        l2 = self.l2
        step = step_size(l2, self.lr, support.n_offered[False] + support.n_offered[True])
        shrink = 1.0 - step * l2
        step *= w
        coefficient = sign * step * pull
        # The mean moves against the new example, and what deviates from it moves towards it.
        coefficients = weighted_deviations
        n_slots = len(coefficients)
        blas.dscal(-step * spread / total, coefficients)
        blas.daxpy(importance, coefficients, n_slots, -coefficient / total)
        blas.daxpy(support.coefficients, coefficients, n_slots, shrink)
        return coefficients, coefficient


class NearestStep(KernelStep):
    """A step per example, on the losses of its pairs with the nearest that it does not rank."""

    __fields__ = (*KernelStep.__fields__, "C", "eta", "k", "loss")

    C: float
    eta: float
    k: int
    loss: str

    def _step(
        self, row: FloatArray, score: float, positive: bool, w: float
    ) -> tuple[FloatArray, float]:
        support = self._support
        sign = 1.0 if positive else -1.0
        step = self.eta * self.C * w * sign
        coefficients = vectors.copy(support.coefficients)
        blas.dscal(1.0 - self.eta, coefficients)
        if not support.n[not positive]:
            return coefficients, step
        # Where a score of the other class has to be for a margin of 1.
        bound = score - sign
        other = support.slots(not positive)
        scores = self._scores[other]
        (violating,) = (scores > bound if positive else scores < bound).nonzero()
        if not (support.n[positive] or len(violating)):
            return coefficients, step
        violating += other.start
        if len(violating) > self.k:
            violating = violating[k_nearest(row[violating], support.arrival[violating], self.k)]
        if self.loss == "l1":
            coefficients[violating] -= step
            return coefficients, step * len(violating)
        pulls = 2.0 * sign * (self._scores[violating] - bound)
        coefficients[violating] -= step * pulls
        return coefficients, step * float(pulls.sum())

    def _stores(self, coefficient: float) -> bool:
        # What is ranked well enough already is not kept.
        return coefficient != 0.0


def _no_similarity() -> ValueError:
    return ValueError("the kernel has no finite value for these features: scale them")
