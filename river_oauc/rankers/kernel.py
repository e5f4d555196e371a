"""The kernel learners of the paper: OKAUC-M and OKAUC-S; and what all kernel learners share."""

from __future__ import annotations

import abc
import dataclasses
import operator
import typing

import numpy as np

from river_oauc.kernels import RBF, Kernel, squared_norm
from river_oauc.limits import MAX_COEFFICIENT, MAX_SQUARED_NORM, divergence_error
from river_oauc.parameters import LearningRate, new_random, step_size
from river_oauc.rankers import losses
from river_oauc.rankers.base import (
    FloatArray,
    IntArray,
    ReentranceError,
    reindexed,
    share_of_other,
)
from river_oauc.rankers.samples import draw_from_both, newest_of_both
from river_oauc.rankers.score_statistics import ScoreStatistics
from river_oauc.rankers.support import SupportSet
from river_oauc.rankers.support_vectors import SupportVectors, gram_matrix, merge_support_vectors
from river_oauc.rankers.width import LARGEST_GAMMA, choose_kernel, is_time_to_choose
from river_oauc.state import State, StateReader

# Rounding of a score, relative to the lengths of the two vectors whose product it is.
ROUNDING = 1e-14

# No two examples are so far apart that the default kernel would be wider.
_SMALLEST_GAMMA = 2.0**-400


class KernelRanker(abc.ABC):
    """A score that is a sum of similarities to stored examples of both classes.

    A subclass decides how an example changes the coefficients. If the budget of a class is spent,
    a stored example is removed for each new one, and another one inherits its coefficient.

    Parameters
    ----------
    kernel
        The similarity; None is a Gaussian kernel whose width follows the stored examples.
    budgets
        Largest numbers of negatives and of positives to store.
    policy
        Which example to remove: the oldest (`"fifo"`), or a random one (`"reservoir"`).
    seed
        Seed of the reservoir.

    """

    # Whether a removed example is projected on another one, or its full coefficient goes to the
    # most similar one; see `support_vectors.projection_target`.
    projects: typing.ClassVar[bool]

    def __init__(
        self, kernel: Kernel | None, budgets: tuple[int, int], policy: str, seed: int | None
    ) -> None:
        self.kernel, self.budgets, self.policy = kernel, budgets, policy
        self._rng = new_random(seed)
        none: FloatArray = np.zeros(0)
        stored = SupportVectors(
            kernel or RBF(LARGEST_GAMMA), (0, 0), np.zeros((0, 1)), none, none, np.zeros((0, 0))
        )
        self.support = SupportSet.of(stored, budgets)
        # Of the scores, relative to the level of the stored examples at their time.
        self.statistics = ScoreStatistics()
        self.n_stored = 0
        self._last_row: tuple[bytes, FloatArray] | None = None

    @property
    def n_features(self) -> int:
        return self.support.n_features

    @abc.abstractmethod
    def _step(
        self, support: SupportSet, row: FloatArray, score: float, positive: bool, weight: float
    ) -> tuple[FloatArray, float]:
        """Return new coefficients of the stored examples, by slot, and that of the new one.

        Parameters
        ----------
        support
            The stored examples.
        row
            Similarities of the new example to the stored ones, by slot.
        score
            Score of the new example.
        positive
            Its class.
        weight
            Its importance weight.

        """

    def _stores(self, coefficient: float) -> bool:
        """Return whether to store an example with this coefficient."""
        return True

    def score(self, x: FloatArray) -> float:
        return float(self.support.coefficients.dot(self._row(self.support, x[: self.n_features])))

    def _row(self, support: SupportSet, x: FloatArray) -> FloatArray:
        """Return the similarities to the stored examples.

        An example is mostly learned right after it has been scored, so the last row is kept.
        """
        key = x.tobytes()
        if self._last_row is not None and self._last_row[0] == key:
            return self._last_row[1]
        statistics = self.statistics
        try:
            row = support.row(x)
        finally:
            self._check_unchanged(statistics)
        self._last_row = key, row
        return row

    def _check_unchanged(self, statistics: ScoreStatistics) -> None:
        """Raise a ReentranceError if code of the user has called `learn` meanwhile."""
        if self.statistics is not statistics:
            raise ReentranceError

    def learn(self, x: FloatArray, positive: bool, weight: float) -> None:
        statistics, n_before = self.statistics, self.n_stored
        n_stored = n_before
        support = self.support.with_features(len(x))
        try:
            row = self._row(support, x)
            norm = squared_norm(support.kernel, x)
            score = float(support.coefficients.dot(row))
            coefficients, coefficient = self._step(support, row, score, positive, weight)
        finally:
            self._check_unchanged(statistics)
        # Unlike `dot`, `vdot` does not warn of an overflow.
        squared_length = np.vdot(coefficients, coefficients) + coefficient * coefficient
        if not squared_length <= MAX_SQUARED_NORM:
            raise divergence_error()

        centred = _centred_score(score, support.level, support.coefficients, row)
        statistics = statistics.updated(centred, positive, weight)
        if self._stores(coefficient):
            removed = self._choose_removed(len(support.slots[positive]), statistics, positive)
            n_stored += removed != self.budgets[positive]
            support = support.inserted(
                x, row, norm, positive, coefficients, coefficient, weight, removed, self.projects
            )
        else:
            support = support.with_coefficients(coefficients)
        self.support, self.statistics, self.n_stored, self._last_row = (
            support, statistics, n_stored, None,
        )  # fmt: skip
        if self.kernel is None and n_stored > n_before and is_time_to_choose(n_stored):
            self.choose_width()

    def _choose_removed(self, n: int, statistics: ScoreStatistics, positive: bool) -> int | None:
        """Return which of n stored examples of a class to remove for a new one, by age.

        It is n for the new one itself, and None if there is room for all.
        """
        if n < self.budgets[positive]:
            return None
        if self.policy == "fifo":
            return 0
        # A uniform sample of the class: one draw decides both whether the new example is stored,
        # and in whose place.
        return min(n, self._rng.randrange(statistics.classes[positive].n))

    def choose_width(self) -> None:
        """Choose the width of the default kernel for the stored examples."""
        stored = self.support.stored()
        kernel = choose_kernel(stored.vectors)
        if kernel != self.support.kernel:
            gram = gram_matrix(kernel, stored.vectors)
            stored = dataclasses.replace(stored, kernel=kernel, gram=gram)
            self.support, self._last_row = SupportSet.of(stored, self.budgets), None

    def logit(self, score: float, empirical: bool) -> float:
        return self.statistics.logit(score, self.support.level, empirical)

    def merge(self, other: typing.Self) -> None:
        """Average both scores, weighted by what each ranker knows of the rarer class.

        Each class keeps the newest examples of both rankers, or a uniform sample. The others pass
        their coefficients on.
        """
        counts = [[scores.n for scores in part.statistics.classes] for part in (self, other)]
        kernel = self.support.kernel
        if self.kernel is None:
            # The wider of the two Gaussian kernels.
            kernel = min(kernel, other.support.kernel, key=operator.attrgetter("gamma"))

        def keep(n_mine: int, n_theirs: int, positive: bool) -> list[int]:
            budget = self.budgets[positive]
            if self.policy == "fifo":
                return newest_of_both(n_mine, n_theirs, budget)
            n_seen = counts[0][positive], counts[1][positive]
            return draw_from_both((n_mine, n_theirs), n_seen, budget, self._rng)

        merged = merge_support_vectors(
            self.support.stored(),
            other.support.stored(),
            share_of_other(*counts),
            kernel,
            keep,
            self.projects,
        )
        support, statistics = SupportSet.of(merged, self.budgets), self.statistics
        self.support, self.statistics, self.n_stored, self._last_row = (
            support, statistics.merged(other.statistics), sum(merged.n), None,
        )  # fmt: skip

    def reindex(self, positions: IntArray, n_features: int) -> None:
        stored = self.support.stored()
        vectors = reindexed(stored.vectors, positions, n_features)
        support = SupportSet.of(dataclasses.replace(stored, vectors=vectors), self.budgets)
        self.support, self._last_row = support, None

    def get_state(self) -> State:
        state = {
            "support": self.support.get_state(),
            "statistics": self.statistics.get_state(),
            "n_stored": self.n_stored,
        }
        if self.kernel is None:
            state["gamma"] = typing.cast(RBF, self.support.kernel).gamma
        if self.policy == "reservoir":
            state["rng"] = self._rng.getstate()
        return state

    def set_state(self, reader: StateReader) -> None:
        kernel = self.kernel
        if kernel is None:
            kernel = RBF(reader.number("gamma", _SMALLEST_GAMMA, LARGEST_GAMMA))
        if self.policy == "reservoir":
            self._rng = reader.rng("rng")
        support = SupportSet.from_state(reader.reader("support"), kernel, self.budgets)
        statistics = ScoreStatistics.from_state(reader.reader("statistics"))
        n_stored = sum(map(len, support.slots))
        for slots, scores in zip(support.slots, statistics.classes, strict=True):
            if len(slots) > scores.n:
                raise reader.error(f"it has stored {len(slots)} examples of a class of {scores.n}")
        n_learned = sum(scores.n for scores in statistics.classes)
        self.n_stored = reader.count("n_stored", n_stored, n_learned)
        self.support, self.statistics = support, statistics
        reader.finish()


class OKAUCRanker(KernelRanker):
    """A functional gradient step per example on the second-order surrogate of the opposite class.

    This is the kernel algorithm of the paper: OKAUC-M with the loss ψ_M, OKAUC-S with ψ_S. Every
    example is stored. The coefficient of a removed one is projected on another of its class.

    Parameters
    ----------
    loss
        `"psi_m"` or `"psi_s"`.
    l2
        Strength λ of the regulariser.
    lr
        Step size η: None is 1 / (λ t).
    kernel, budgets, policy, seed
        As in `KernelRanker`.

    """

    projects = True

    def __init__(
        self,
        loss: str,
        l2: float,
        lr: LearningRate,
        kernel: Kernel | None,
        budgets: tuple[int, int],
        policy: str,
        seed: int | None,
    ) -> None:
        super().__init__(kernel, budgets, policy, seed)
        self.loss, self.l2, self.lr = loss, l2, lr
        self.gradient = losses.psi_m_gradient if loss == "psi_m" else losses.psi_s_gradient

    def _step(
        self, support: SupportSet, row: FloatArray, score: float, positive: bool, weight: float
    ) -> tuple[FloatArray, float]:
        if not len(support.slots[not positive]):
            return support.coefficients.copy(), 0.0
        y = 1.0 if positive else -1.0
        # Mean and variance of the scores of the opposite class; `shares` is 0 in all other slots.
        shares, mean = support.shares[int(not positive)], support.means[not positive]
        deviations = support.scores - mean
        weighted_deviations = shares * deviations
        variance = float(weighted_deviations.dot(deviations))
        # Φ and 1 / (2r) for ψ_M.
        pull, spread = self.gradient(y * (score - mean), variance)
        t = 1 + sum(scores.n for scores in self.statistics.classes)
        eta = step_size(self.l2, self.lr, t)
        shrink, alpha, spread = 1.0 - eta * self.l2, eta * weight * y * pull, eta * weight * spread
        if not abs(shrink) + abs(alpha) + spread <= MAX_COEFFICIENT:
            raise divergence_error()
        coefficients = shrink * support.coefficients
        coefficients -= alpha * shares + spread * weighted_deviations
        return coefficients, alpha


def _centred_score(score: float, level: float, coefficients: FloatArray, row: FloatArray) -> float:
    """Return the score minus the level; 0 if the difference may be rounding."""
    centred = score - level
    scale = float(coefficients.dot(coefficients) * row.dot(row))
    return centred if centred * centred > ROUNDING**2 * scale else 0.0
