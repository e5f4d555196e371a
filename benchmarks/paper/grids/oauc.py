"""Many settings of `OAUCM` or `OAUCS`, learning side by side in one pass.

Class moments do not depend on the weights, so all settings share them. The weights of the settings
are the columns of a matrix, and what a learner does with a vector, a stack does with that matrix:
one product with the covariance serves them all.
"""

from __future__ import annotations

import abc

import numpy as np
from numpy.typing import ArrayLike

from river_oauc import losses
from benchmarks.paper.grids.stack import LinearStack
from river_oauc.inputs.arrays import FloatArray
from river_oauc.stats.moments import Moments

__all__ = ["OAUCMStack", "OAUCSStack"]


class _MomentStack(LinearStack):
    """Settings of a learner that takes a gradient step on a loss of class moments.

    Parameters
    ----------
    size
        Number of features.
    l2
        The regulariser of each setting.
    lr
        The constant step of each setting; None is 1 / (l2 · t) for the t-th example.

    """

    def __init__(self, size: int, l2: ArrayLike, lr: ArrayLike | None) -> None:
        self._l2: FloatArray = np.array(l2, dtype=float)
        super().__init__(size, 1.0 / self._l2 if lr is None else lr)
        self._is_decaying = lr is None
        self._n_seen = 0
        self._positive = Moments(size)
        self._negative = Moments(size)

    @staticmethod
    @abc.abstractmethod
    def _coefficients(margin: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """`pull` and `spread` of the gradient of the loss; see `losses`."""

    def _move(self, x: FloatArray, sign: float) -> None:
        own, other = self._positive, self._negative
        if sign < 0.0:
            own, other = other, own
        self._n_seen += 1
        if other.n:
            rows = self._rows
            direction = x - other.mean
            spread_directions = other.cov_dot_stack(self.weights).T
            variances = np.einsum("gj,gj->g", rows, spread_directions)
            # Rounding can leave a variance of zero a little below it.
            np.maximum(variances, 0.0, out=variances)
            margins = rows @ direction
            margins *= sign
            pulls, spreads = self._coefficients(margins, variances)

            steps = self._rates / self._n_seen if self._is_decaying else self._rates
            rows *= (1.0 - steps * self._l2)[:, np.newaxis]
            spreads *= steps
            spread_directions *= spreads[:, np.newaxis]
            rows -= spread_directions
            pulls *= steps
            pulls *= sign
            self._add(direction, pulls)
        own.update(x.copy())


class OAUCMStack(_MomentStack):
    """Many settings of `OAUCM` over one pair of class moments.

    A step costs one product of the p × p covariance with the p × G weights, and a few passes over
    the weights. At G = 441 that is, for each setting, less than a thirtieth of what a step of
    `OAUCM` costs for 10 features, and less than a twelfth for 60.

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

    def __init__(self, size: int, l2: ArrayLike, lr: ArrayLike | None = None) -> None:
        super().__init__(size, l2, lr)

    _coefficients = staticmethod(losses.psi_m_coefficients)


class OAUCSStack(_MomentStack):
    """Many settings of `OAUCS` over one pair of class moments.

    A step costs what one of `OAUCMStack` costs.

    Parameters
    ----------
    size
        Number of features.
    l2
        The regulariser of each setting.
    lr
        The constant step of each setting.

    Examples
    --------
    A step that is too large for the features ends in zeros:

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

    def __init__(self, size: int, l2: ArrayLike, lr: ArrayLike) -> None:
        super().__init__(size, l2, lr)

    _coefficients = staticmethod(losses.psi_s_coefficients)
