"""What the kernel learners have in common: a score that is a sum over stored examples."""

from __future__ import annotations

import typing

import numpy as np

from river_oauc.calibration import ScoreStatistics
from river_oauc.inputs.arrays import FloatArray, Size
from river_oauc.inputs.dense import DenseClassifier
from river_oauc.inputs.parameters import check_count
from river_oauc.kernel.step import KernelStep
from river_oauc.kernel.support import SupportSet
from river_oauc.kernel.width import NARROWEST, widest
from river_oauc.kernels import Kernel
from river_oauc.stats.pooling import share_of_other

__all__ = ["KernelClassifier"]


class KernelClassifier(KernelStep, DenseClassifier):
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

    def _score_many(self, matrix: FloatArray) -> FloatArray:
        return np.array([self._score(x) for x in matrix])

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
