"""KOIL: a step on the nearest pairs that are ranked wrongly."""

from __future__ import annotations

import numpy as np

from river_oauc.acceleration import accelerated
from river_oauc.kernels import Kernel
from river_oauc.limits import MAX_SQUARED_NORM, divergence_error
from river_oauc.rankers.kernel import TIE, KernelRanker
from river_oauc.state import FloatArray, IntArray


class KOILRanker(KernelRanker):
    """A step per example on its pairs with the nearest examples of the opposite class.

    Only pairs with a margin below 1 count. An example without such a pair is not stored. The most
    similar example of its class inherits the full coefficient of a removed one.

    Parameters
    ----------
    C
        Weight of the losses against the regulariser.
    eta
        Step size, and shrinkage of the score.
    k
        Number of nearest examples.
    loss
        Hinge loss (`"l1"`) or its square (`"l2"`).
    kernel, budgets, policy, seed
        As in `KernelRanker`.

    """

    projects = stores_all = False

    def __init__(
        self, C: float, eta: float, k: int, loss: str, kernel: Kernel | None,
        budgets: tuple[int, int], policy: str, seed: int | None,
    ) -> None:  # fmt: skip
        super().__init__(kernel, budgets, policy, seed)
        self.C, self.eta, self.k, self.loss = C, eta, k, loss

    def _step(
        self, row: FloatArray, score: float, positive: bool, weight: float
    ) -> tuple[FloatArray, float]:
        return koil_step(
            self.coefficients, self.scores, self.importance, self.arrived, row, score, positive,
            self.eta, self.C * weight, self.k, self.loss == "l2",
        )  # fmt: skip


@accelerated
def koil_step(
    coefficients: FloatArray, scores: FloatArray, importance: FloatArray, arrived: FloatArray,
    row: FloatArray, score: float, positive: bool, eta: float, weight: float, k: int,
    is_squared: bool,
) -> tuple[FloatArray, float]:  # fmt: skip
    """Return new coefficients of the stored examples, and that of a new one with this score.

    The hinge loss of a pair is 1 - y · (score - other score), where that is positive. Of all such
    pairs, the k count in which the stored example is most similar to the new one.
    """
    y, opposite = 1.0 if positive else -1.0, importance[int(not positive)]
    excess = y * (scores - (score - y))
    pairs = ((opposite > 0.0) & (excess > 0.0)).nonzero()[0]
    with np.errstate(over="ignore", invalid="ignore"):
        new, coefficient = (1.0 - eta) * coefficients, eta * weight * y
        # The first examples of a class count without a pair.
        if opposite.any() and (importance[int(positive)].any() or len(pairs)):
            if len(pairs) > k:
                pairs = pairs[arrived[pairs].argsort()]
                pairs = pairs[largest(row[pairs], k)]
            slopes = 2.0 * excess[pairs] if is_squared else np.ones(len(pairs))
            new[pairs] -= coefficient * slopes
            coefficient *= float(slopes.sum())
        if not float(np.vdot(new, new)) + coefficient * coefficient <= MAX_SQUARED_NORM:
            raise divergence_error()
    return new, coefficient


def largest(values: FloatArray, k: int) -> IntArray:
    """Return the positions of the k largest values; of tied ones, the first.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.rankers.koil import largest
    >>> largest(np.array([0.3, 0.5, 0.1 + 0.2]), k=2)
    array([1, 0])

    """
    smallest = np.partition(values, -k)[-k]
    margin = TIE * abs(smallest)
    above = (values > smallest + margin).nonzero()[0]
    tied = (abs(values - smallest) <= margin).nonzero()[0]
    return np.concatenate((above, tied[: k - len(above)]))
