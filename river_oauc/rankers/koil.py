"""KOIL: a step on the nearest pairs that are ranked wrongly."""

from __future__ import annotations

from river_oauc.kernels import Kernel
from river_oauc.limits import MAX_COEFFICIENT, divergence_error
from river_oauc.rankers.base import FloatArray
from river_oauc.rankers.kernel import KernelRanker
from river_oauc.rankers.support import SupportSet
from river_oauc.rankers.support_vectors import largest


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

    projects = False

    def __init__(
        self,
        C: float,
        eta: float,
        k: int,
        loss: str,
        kernel: Kernel | None,
        budgets: tuple[int, int],
        policy: str,
        seed: int | None,
    ) -> None:
        super().__init__(kernel, budgets, policy, seed)
        self.C, self.eta, self.k, self.loss = C, eta, k, loss

    def _step(
        self, support: SupportSet, row: FloatArray, score: float, positive: bool, weight: float
    ) -> tuple[FloatArray, float]:
        y = 1.0 if positive else -1.0
        step = self.eta * self.C * weight * y
        if not self.eta + abs(step) <= MAX_COEFFICIENT:
            raise divergence_error()
        coefficients = (1.0 - self.eta) * support.coefficients
        own, opposite = support.slots[positive], support.slots[not positive]
        # The hinge loss of each pair, 1 - y · (score - other score), where it is positive.
        excess = y * (support.scores[opposite] - (score - y))
        is_violating = excess > 0.0
        violating, excess = opposite[is_violating], excess[is_violating]
        if not len(opposite) or not (len(own) or len(violating)):
            # The first examples of a class count without a pair.
            return coefficients, step
        if len(violating) > self.k:
            nearest = largest(row[violating], self.k)
            violating, excess = violating[nearest], excess[nearest]
        if self.loss == "l1":
            coefficients[violating] -= step
            return coefficients, step * len(violating)
        coefficients[violating] -= 2.0 * step * excess
        return coefficients, 2.0 * step * float(excess.sum())

    def _stores(self, coefficient: float) -> bool:
        return coefficient != 0.0
