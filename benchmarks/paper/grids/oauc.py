"""Many settings of `OAUCM` or `OAUCS`, trained side by side in one pass.

The class moments do not depend on the weights, so all settings share them, and one product of the
covariance with the matrix of all weights serves every setting.
"""

from __future__ import annotations

import typing

import numpy as np
from numpy.typing import ArrayLike

from benchmarks.arrays import FloatArray
from benchmarks.paper.grids.losses import psi_m_gradient, psi_s_gradient
from benchmarks.paper.grids.stack import LinearStack

__all__ = ["OAUCMStack", "OAUCSStack"]


class Moments:
    """Count, mean and scatter matrix of the vectors of a class, by Welford's recursion."""

    def __init__(self, size: int) -> None:
        self.n = 0
        self.mean: FloatArray = np.zeros(size)
        self.scatter: FloatArray = np.zeros((size, size))

    def update(self, x: FloatArray) -> None:
        deviation = x - self.mean
        self.n += 1
        self.mean += deviation / self.n
        self.scatter += np.outer(deviation, deviation * ((self.n - 1) / self.n))


class _MomentStack(LinearStack):
    """Settings of a learner that takes gradient steps on a loss of class moments.

    A step costs one product of the p × p covariance with the p × G weights and a few passes over
    the weights.

    Parameters
    ----------
    size
        Number p of features.
    l2
        The regulariser of each setting.
    lr
        The constant step of each setting; None is 1 / (l2 · t) for the t-th example.

    """

    _gradient: typing.ClassVar[
        staticmethod[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]
    ]

    def __init__(self, size: int, l2: ArrayLike, lr: ArrayLike | None = None) -> None:
        self._l2: FloatArray = np.array(l2, dtype=float)
        super().__init__(size, 1.0 / self._l2 if lr is None else lr)
        self._is_decaying = lr is None
        self._n_seen = 0
        self._moments = {1.0: Moments(size), -1.0: Moments(size)}

    def _step(self, x: FloatArray, y: float) -> None:
        self._n_seen += 1
        opposite = self._moments[-y]
        if opposite.n:
            rows = self._rows
            direction = x - opposite.mean
            cov_w = rows @ opposite.scatter
            cov_w /= opposite.n
            # Rounding can leave a variance of zero a little below it.
            variances = np.maximum(np.einsum("gj,gj->g", rows, cov_w), 0.0)
            pulls, spreads = self._gradient(y * (rows @ direction), variances)

            steps = self._rates / self._n_seen if self._is_decaying else self._rates
            rows *= (1.0 - steps * self._l2)[:, np.newaxis]
            cov_w *= (steps * spreads)[:, np.newaxis]
            rows -= cov_w
            self._add(direction, y * steps * pulls)
        self._moments[y].update(x)


class OAUCMStack(_MomentStack):
    """Many settings of `OAUCM` over one pair of class moments.

    At G = 441 settings, each costs less than a thirtieth of a step of `OAUCM` at 10 features, and
    less than a twelfth at 60.

    Parameters
    ----------
    size
        Number p of features.
    l2
        The regulariser of each setting.
    lr
        The constant step of each setting; None is 1 / (l2 · t) for the t-th example.

    Examples
    --------
    >>> import numpy as np
    >>> from benchmarks.paper.grids.oauc import OAUCMStack

    >>> stack = OAUCMStack(size=1, l2=[2**-5, 1.0])
    >>> for value, positive in [(0.0, False), (1.0, True), (0.2, False)]:
    ...     stack.learn(np.array([value]), positive)
    >>> stack.weights
    array([[10.667,  0.6  ]])
    >>> stack.scores(np.array([[0.9], [0.1]]))
    array([[9.6  , 1.067],
           [0.54 , 0.06 ]])

    """

    _gradient = staticmethod(psi_m_gradient)


class OAUCSStack(_MomentStack):
    """Many settings of `OAUCS` over one pair of class moments.

    Parameters
    ----------
    size
        Number of features.
    l2
        The regulariser of each setting.
    lr
        The constant step of each setting; None is 1 / (l2 · t) for the t-th example.

    Examples
    --------
    A step that is too large for the features diverges:

    >>> import numpy as np
    >>> from benchmarks.paper.grids.oauc import OAUCSStack

    >>> stack = OAUCSStack(size=1, l2=[0.5, 0.5], lr=[0.1, 100.0])
    >>> for value, positive in [(-1.0, False), (1.0, True)] * 10:
    ...     stack.learn(np.array([value]), positive)
    >>> stack.diverged
    array([False,  True])
    >>> stack.weights
    array([[0.444, 0.   ]])

    """

    _gradient = staticmethod(psi_s_gradient)
