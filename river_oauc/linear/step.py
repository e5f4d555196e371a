"""The step of the linear learners of the paper."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from river_oauc import blas
from river_oauc.inputs.arrays import BoolArray, FloatArray
from river_oauc.inputs.limits import MAX_SQUARED_NORM, divergence
from river_oauc.inputs.parameters import LearningRate, step_size
from river_oauc.learner import DenseLearner
from river_oauc.stats.moments import ClassMoments

__all__ = ["GradientStep"]

# The calibration is fitted at every step at first, and every so many steps in the end.
_LONGEST_WAIT = 64

# Others may predict after so many rows of a data frame, or fewer if their squares are more numbers
# than this.
_ROWS, _SQUARES = 64, 1_000_000


class GradientStep(DenseLearner):
    """A gradient step per example, on a loss of its margin over the moments of the other class.

    It is the part of a learner that is compiled: its numbers, and what changes them.
    """

    __fields__ = (
        *DenseLearner.__fields__,
        "l2",
        "lr",
        "_weights",
        "_n_seen",
        "_positive",
        "_negative",
        "_half_gap",
        "_n_fits",
        "_next_fit",
    )

    l2: float
    lr: LearningRate
    _weights: FloatArray
    _n_seen: int
    _positive: ClassMoments
    _negative: ClassMoments
    _half_gap: float
    _n_fits: int
    _next_fit: int

    @staticmethod
    def _coefficients(margin: float, variance: float) -> tuple[float, float]:
        """`pull` and `spread` of the gradient of the loss; see `losses`."""
        raise NotImplementedError

    def _score(self, x: FloatArray) -> float:
        return blas.ddot(self._weights, x)  # type: ignore[no-any-return]

    def _learn(self, x: FloatArray, positive: bool, w: float) -> None:
        if positive:
            own, other, sign = self._positive, self._negative, 1.0
        else:
            own, other, sign = self._negative, self._positive, -1.0
        n_seen = self._n_seen + 1
        if other.n:
            old = self._weights
            size = len(old)
            direction = self._vectorizer.spare
            blas.dcopy(x, direction)
            blas.daxpy(other.mean, direction, size, -1.0)
            spread_direction = other.cov_dot(old)
            variance = blas.ddot(old, spread_direction)
            pull, spread = self._coefficients(
                sign * blas.ddot(old, direction),
                # Rounding can leave a variance of zero a little below it.
                variance if variance > 0.0 else 0.0,
            )
            # The usual steps without a call, which would cost a fourth of a compiled step.
            l2, lr = self.l2, self.lr
            if lr is None:
                step = 1.0 / (l2 * n_seen)
            elif isinstance(lr, float):
                step = lr
            else:
                step = step_size(l2, lr, self._n_seen)
            # weights = (1 - step l2) old + w step (sign pull direction - spread spread_direction),
            # made in the array of the last term: the old weights live until the new ones are found
            # to be sound.
            weights = spread_direction
            shrink = 1.0 - step * l2
            step *= w
            blas.dscal(-step * spread, weights)
            blas.daxpy(old, weights, size, shrink)
            blas.daxpy(direction, weights, size, sign * step * pull)
            if not blas.ddot(weights, weights) <= MAX_SQUARED_NORM:
                raise divergence()
            self._weights = weights
            own.update(x, w)
            if n_seen < self._next_fit:
                # The class means of the scores move together, and their distance changes slowly.
                self._calibration.midpoint = blas.ddot(weights, other.mean) + sign * self._half_gap
            else:
                self._fit_calibration(n_seen, weights)
        else:
            own.update(x, w)
        self._n_seen = n_seen

    def _learn_many(
        self, matrix: FloatArray, labels: BoolArray, weights: FloatArray
    ) -> Iterator[int]:
        """Learn from each row of a matrix in turn, unless its weight is 0.

        It yields now and then how many rows it is through with: then others may predict.
        """
        are_positive, importance = labels.tolist(), weights.tolist()
        n_rows, size = len(matrix), len(self._weights)
        row, spare = 0, np.empty(size)
        while row < n_rows:
            stop = min(row + _ROWS, n_rows, row + 1 + _SQUARES // (size * size))
            try:
                while row < stop:
                    blas.interruptible()
                    if importance[row]:
                        x = blas.row_of(matrix, row, spare)
                        self._learn(x, are_positive[row], importance[row])
                    row += 1
            except BaseException:
                yield row
                raise
            yield row

    def _fit_calibration(self, n_seen: int, weights: FloatArray) -> None:
        """Read the class means and the variance of the scores off the moments."""
        self._n_fits += 1
        self._next_fit = n_seen + min(1 + self._n_fits // 16, _LONGEST_WAIT)
        positive, negative = self._positive, self._negative
        # Both variances count alike, however rare the class.
        variance = 0.5 * (
            blas.ddot(weights, positive.cov_dot(weights))
            + blas.ddot(weights, negative.cov_dot(weights))
        )
        mean_positive = blas.ddot(weights, positive.mean)
        mean_negative = blas.ddot(weights, negative.mean)
        self._half_gap = 0.5 * (mean_positive - mean_negative)
        self._calibration.fit(
            mean_positive, mean_negative, max(variance, 0.0), positive.n / negative.n
        )
