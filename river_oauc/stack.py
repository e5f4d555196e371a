"""Many settings of one linear learner, learning side by side in one pass.

Class moments and reservoirs do not depend on the weights, so all settings share them. The weights
of the settings are the columns of a matrix, and what a learner does with a vector, a stack does
with that matrix: one product with the covariance serves them all.
"""

from __future__ import annotations

import abc
import random
import typing

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.blas import ddot, dger

from river_oauc import losses
from river_oauc.arrays import FloatArray
from river_oauc.baselines import _Reservoir
from river_oauc.moments import Moments

__all__ = [
    "LARGEST_NORM",
    "LinearStack",
    "OAMStack",
    "OAUCMStack",
    "OAUCSStack",
    "OLUBAUCStack",
    "PAIStack",
    "PerceptronStack",
    "Stack",
]

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
    >>> from river_oauc.stack import OAUCMStack

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
    >>> from river_oauc.stack import OAUCSStack

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


class PerceptronStack(LinearStack):
    """`Perceptron` as a stack of one: it has nothing to set.

    Parameters
    ----------
    size
        Number of features.

    """

    def __init__(self, size: int) -> None:
        super().__init__(size, [1.0])

    def _move(self, x: FloatArray, sign: float) -> None:
        # A score of 0 is a positive prediction.
        wrong = (self._rows @ x >= 0.0) != (sign > 0.0)
        if wrong[0]:
            self._add(x, sign * self._rates)


class PAIStack(LinearStack):
    """Many settings of `PAI`. A step costs two passes over the weights.

    Parameters
    ----------
    size
        Number of features.
    C
        The aggressiveness of each setting.

    """

    def __init__(self, size: int, C: ArrayLike) -> None:
        super().__init__(size, C)

    def _move(self, x: FloatArray, sign: float) -> None:
        squared_length = ddot(x, x)
        # An example of length 0 has no direction to move in.
        if squared_length > 0.0:
            lacking = np.maximum(1.0 - sign * (self._rows @ x), 0.0)
            self._add(x, sign * np.minimum(self._rates, lacking / squared_length))


class OAMStack(LinearStack):
    """Many settings of `OAM`, in its gradient form, over one pair of reservoirs.

    What is stored depends on chance alone, and all settings see the same chance. A pair counts up
    to a margin of 1, and where features have few values a margin can be just that: then its
    rounding decides, and a stack may part ways with `OAM`.

    A step costs two products of the stored vectors with p × G and with G × B matrices.

    Parameters
    ----------
    size
        Number p of features.
    C
        The price of a pair in each setting.
    buffer_size
        Number B of stored vectors of a class.
    weighting
        `"paper"` or `"constant"`; see `OAM`.
    seed
        Seed of the reservoirs.

    """

    def __init__(
        self,
        size: int,
        C: ArrayLike,
        buffer_size: int = 100,
        weighting: typing.Literal["paper", "constant"] = "paper",
        seed: int | None = None,
    ) -> None:
        super().__init__(size, C)
        self._weighting = weighting
        self._rng = random.Random(seed)
        self._positive = _Reservoir(buffer_size, size)
        self._negative = _Reservoir(buffer_size, size)

    def _move(self, x: FloatArray, sign: float) -> None:
        own, other = self._positive, self._negative
        if sign < 0.0:
            own, other = other, own
        if other.n_seen:
            others = other.vectors
            margins = sign * (self._rows @ x[:, np.newaxis] - self._rows @ others.T)
            violating = (margins <= 1.0).astype(float)
            factors = (0.5 * sign) * self._rates
            if self._weighting == "paper":
                # The buffer stands for all examples of the class.
                factors *= max(1.0, other.n_seen / other.capacity)
            self._add(x, factors * violating.sum(axis=1))
            violating *= factors[:, np.newaxis]
            self._rows -= violating @ others
        own.add(x, self._rng)


class OLUBAUCStack(LinearStack):
    """Many settings of `OLUBAUC` with its default margin and schedule.

    A step costs three passes over the weights.

    Parameters
    ----------
    size
        Number of features.
    l2
        The regulariser of each setting.

    """

    def __init__(self, size: int, l2: ArrayLike) -> None:
        self._l2: FloatArray = np.array(l2, dtype=float)
        super().__init__(size, 1.0 / self._l2)
        self._n_seen = 0
        # The steps 1 / (l2 · t) add up to a logarithm: no threshold can diverge.
        self._thresholds: FloatArray = np.zeros(len(self._l2))

    def _move(self, x: FloatArray, sign: float) -> None:
        self._n_seen += 1
        steps = self._rates / self._n_seen
        violating = sign * (self._rows @ x - self._thresholds) < 1.0
        self._rows *= (1.0 - steps * self._l2)[:, np.newaxis]
        steps *= sign * violating
        self._add(x, steps)
        self._thresholds -= steps
