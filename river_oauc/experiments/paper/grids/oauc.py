"""Many settings of one linear learner, learning side by side in one pass.

Class moments do not depend on the weights, so all settings share them. The weights of the settings
are the columns of a matrix, and what a learner does with a vector, a stack does with that matrix:
one product with the covariance serves them all.
"""

from __future__ import annotations

import abc

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.blas import ddot, dger

from river_oauc import losses
from river_oauc.inputs.arrays import FloatArray
from river_oauc.stats.moments import Moments

__all__ = ["LARGEST_NORM", "LinearStack", "OAUCMStack", "OAUCSStack", "Stack"]

# Weights longer than this have diverged. The largest weights that ever ranked well, on features
# of about 1, were a thousand times shorter.
LARGEST_NORM = 1e8


class Stack(abc.ABC):
    """G settings of one learner.

    Weights that grow beyond `LARGEST_NORM` have diverged: they are set to zero and never move
    again, so that the setting gives one score to everything and has an AUC of one half.

    Attributes
    ----------
    diverged
        Which of the settings have diverged.

    """

    diverged: NDArray[np.bool_]

    @abc.abstractmethod
    def learn(self, x: FloatArray, positive: bool) -> None:
        """Let every setting learn from one example."""

    @abc.abstractmethod
    def scores(self, matrix: FloatArray) -> FloatArray:
        """The scores of the rows of a matrix: a G × n array, a row a setting."""


class LinearStack(Stack):
    """G settings of one linear learner.

    Parameters
    ----------
    size
        Number p of features.
    rates
        What a step of each setting is proportional to.

    Attributes
    ----------
    weights
        The weights of each setting: a p × G array, a column a setting, in column-major order.

    """

    def __init__(self, size: int, rates: ArrayLike) -> None:
        # A copy: the rate of a setting that has diverged becomes 0.
        self._rates: FloatArray = np.array(rates, dtype=float)
        n_settings = len(self._rates)
        self.weights: FloatArray = np.zeros((size, n_settings), order="F")
        # The same memory, as one row a setting and as one long vector.
        self._rows: FloatArray = self.weights.T
        self._flat: FloatArray = self._rows.reshape(-1)
        self.diverged = np.zeros(n_settings, dtype=bool)

    def learn(self, x: FloatArray, positive: bool) -> None:
        self._move(x, 1.0 if positive else -1.0)
        # The norm of all of them is an upper bound, at a small part of the price.
        if not ddot(self._flat, self._flat) <= LARGEST_NORM**2:
            self._freeze_diverged()

    def scores(self, matrix: FloatArray) -> FloatArray:
        return self._rows @ matrix.T

    @abc.abstractmethod
    def _move(self, x: FloatArray, sign: float) -> None:
        """Change the weights for an example of the class of this sign."""

    def _add(self, x: FloatArray, factors: FloatArray) -> None:
        """Add to the weights of each setting its own multiple of `x`."""
        # alpha, x, y, incx, incy, a, and whether x, y and a are overwritten: a += alpha x yᵀ.
        dger(1.0, x, factors, 1, 1, self.weights, 1, 1, 1)

    def _freeze_diverged(self) -> None:
        diverged = ~(np.einsum("gj,gj->g", self._rows, self._rows) <= LARGEST_NORM**2)
        self._rows[diverged] = 0.0
        self._rates[diverged] = 0.0
        self.diverged |= diverged


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
    >>> from river_oauc.experiments.paper.grids.oauc import OAUCMStack

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
    >>> from river_oauc.experiments.paper.grids.oauc import OAUCSStack

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
