"""What the kernel learners have in common: a score that is a sum over stored examples."""

from __future__ import annotations

import abc
import math
import typing

import numpy as np

from river_oauc.blas import ddot
from river_oauc.calibration import ScoreStatistics
from river_oauc.inputs.arrays import FloatArray, Size
from river_oauc.inputs.dense import DenseClassifier
from river_oauc.inputs.limits import MAX_SQUARED_NORM, divergence
from river_oauc.inputs.parameters import check_count
from river_oauc.kernel.support import SupportSet
from river_oauc.kernel.width import NARROWEST, fitting_kernel, is_time_to_fit, widest
from river_oauc.kernels import Kernel
from river_oauc.stats.pooling import share_of_other

__all__ = ["KernelClassifier"]


class KernelClassifier(DenseClassifier):
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
            raise ValueError(f"kernel is {kernel!r}: it must be a Kernel, such as RBF(gamma=0.25)")
        pair = budget if isinstance(budget, tuple) else (budget, budget)
        if len(pair) != 2:
            raise ValueError(f"budget is {budget!r}: it must be a whole number, or a pair of them")
        n_positive, n_negative = pair
        check_count("budget", n_positive)
        check_count("budget", n_negative)
        self.kernel = kernel
        self.budget = budget
        self.policy = policy
        self.seed = seed
        self._support = SupportSet(
            kernel or NARROWEST, (n_negative, n_positive), policy, compensation, seed
        )
        self._find_level()
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
        score = self._support.score(self._support.row(x))
        if not math.isfinite(score):
            raise _no_similarity()
        return score

    def _score_many(self, matrix: FloatArray) -> FloatArray:
        return np.array([self._score(x) for x in matrix])

    def _learn(self, x: FloatArray, positive: bool, w: float) -> None:
        support = self._support
        row = support.row(x)
        score = support.score(row)
        itself = support.kernel.of_itself(x)
        if not ddot(row, row) + itself * itself <= MAX_SQUARED_NORM:
            raise _no_similarity()
        coefficients, coefficient = self._step(row, score, positive, w)
        if not ddot(coefficients, coefficients) + coefficient * coefficient <= MAX_SQUARED_NORM:
            raise divergence()
        support.coefficients = coefficients
        support.n_offered[positive] += 1
        if (
            self._stores(coefficient)
            and support.insert(x, row, itself, positive, coefficient, w)
            and self.kernel is None
            and is_time_to_fit(sum(support.n_stored))
        ):
            self._change_width(fitting_kernel(support.stored_vectors()))
        self._statistics.add(score - self._level, positive)
        self._find_level()
        self._statistics.fit(self._calibration, self._level)

    def _stores(self, coefficient: float) -> bool:
        return True

    def _change_width(self, kernel: Kernel) -> None:
        if kernel != self._support.kernel:
            self._support.change_kernel(kernel)

    def _find_level(self) -> None:
        """Find the scores of the stored examples, their class means, and what lies between these.

        From one step to the next, the scores of all examples may rise or fall together. What says
        something is how far a score lies above the others of its time.
        """
        support = self._support
        self._scores = support.scores()
        self._means = [support.mean(self._scores, False), support.mean(self._scores, True)]
        self._level = sum(self._means) / (2 if all(support.n) else 1)

    def _resize(self, size: Size) -> None:
        self._support.resize(size)

    def _pool(self, other: typing.Self) -> None:
        support, theirs = self._support, other._support
        if self.kernel is None:
            self._change_width(widest(support.kernel, theirs.kernel))
        support.pool(theirs, share_of_other(support.n_offered, theirs.n_offered))
        self._statistics += other._statistics
        self._find_level()
        self._statistics.fit(self._calibration, self._level)


def _no_similarity() -> ValueError:
    return ValueError("the kernel has no finite value for these features: scale them")
