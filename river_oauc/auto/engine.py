"""One generation: experts over a stream, judged on what is new to them, and mixed."""

from __future__ import annotations

import copy
import math

import numpy as np

from river_oauc import blas, vectors
from river_oauc.auto.closed_form import closed_forms
from river_oauc.auto.experts import Newton, pairwise_step, tracking_step, weights_in
from river_oauc.auto.judge import Judge
from river_oauc.auto.landmarks import KERNELS, KernelExperts
from river_oauc.inputs.arrays import FloatArray, Size, resized
from river_oauc.inputs.records import Record
from river_oauc.stats.moments import ForgettingMoments
from river_oauc.stats.pooling import share_of_other
from river_oauc.stats.units import Units

__all__ = ["Engine"]

# The strengths of the regulariser of the experts at rest, and of the one that forgets.
_STRENGTHS, _FORGETTING_STRENGTH = (0.1, 10.0), 10.0

# The one that forgets remembers about so many examples of each class.
_MEMORY = 20.0

# The rows of the linear experts.
_AT_REST, _FORGETTING, _NEWTON, _TRACKING, _PAIRWISE = range(len(_STRENGTHS)), 2, 3, 4, 5
_LINEAR = [
    *(f"linear, at rest, {strength:g}" for strength in _STRENGTHS),
    "linear, forgetting",
    "linear, Newton",
    "linear, tracking",
    "linear, pairwise",
]
_N_LINEAR = len(_LINEAR)
_KERNEL = [f"{kernel}, at rest, {strength:g}" for kernel in KERNELS for strength in _STRENGTHS]

# Stands in front of the features, for the bias.
_ONE = np.ones(1)


class Engine(Record):
    """Experts, their judge and their mixture.

    An expert is a linear score near -1 and 1, over the features in their units or over similarities
    to landmarks. A new example is scored by all of them, judged, and then learned by all.

    - At rest: the closed form over all examples, solved for whenever the stream has grown by a
      tenth.
    - Forgetting: the closed form over about the last 20 examples of each class.
    - Newton, tracking and pairwise: a step per example.

    Solutions wait in proportion to the number p of features that vary, so that a step costs O(p²)
    time on average. Memory is 5 p² + O(p) doubles, and what `KernelExperts` take.

    Parameters
    ----------
    size
        Length of the vectors.
    with_kernels
        Whether there are experts over similarities to landmarks.

    Attributes
    ----------
    names
        What the experts are.
    shares
        Their shares in the mixture.

    """

    __fields__ = (
        "units",
        "names",
        "judge",
        "shares",
        "_n_seen",
        "_n",
        "_at_rest",
        "_recent",
        "_newton",
        "_linear",
        "_kernel",
        "_next_at_rest",
        "_next_forgetting",
    )

    def __init__(self, size: int, with_kernels: bool) -> None:
        self.units = Units(size)
        self.names = _LINEAR + _KERNEL if with_kernels else _LINEAR
        self.judge = Judge(len(self.names))
        self.shares: FloatArray = np.full(len(self.names), 1.0 / len(self.names))
        self._n_seen = 0
        # The weight of the negatives and of the positives.
        self._n = [0.0, 0.0]
        self._at_rest = ForgettingMoments(size, math.inf), ForgettingMoments(size, math.inf)
        self._recent = ForgettingMoments(size, _MEMORY), ForgettingMoments(size, _MEMORY)
        self._newton = Newton(1 + size)
        # A row per linear expert, with minus the bias in front.
        self._linear: FloatArray = np.zeros((_N_LINEAR, 1 + size))
        self._kernel = KernelExperts(size, _STRENGTHS) if with_kernels else None
        self._next_at_rest = 0
        self._next_forgetting = 0

    @property
    def size(self) -> int:
        return len(self.units.mean)

    @property
    def has_learned(self) -> bool:
        return self._n_seen > 0

    def score(self, x: FloatArray) -> float:
        """The score of an example; NaN stands for what is not known."""
        scores, _, _ = self._expert_scores(self.units.standardized(x))
        return blas.ddot(self.shares, scores)  # type: ignore[no-any-return]

    def _expert_scores(self, z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray | None]:
        """The scores of all experts, a free place for the mixture's, and what they are made of."""
        with_one = vectors.concatenate((_ONE, z))
        scores = np.zeros(len(self.names) + 1)
        blas.matvec(self._linear, with_one, vectors.part(scores, 0, _N_LINEAR))
        similarities = None
        if self._kernel is not None:
            similarities = self._kernel.similarities(z)
            if similarities is not None:
                self._kernel.score(similarities, vectors.part(scores, _N_LINEAR, len(scores) - 1))
        return scores, with_one, similarities

    def linear_weights(self) -> FloatArray:
        """The weights of the mixture of the linear experts, minus the bias in front."""
        weights: FloatArray = self.shares[:_N_LINEAR].dot(self._linear)
        return weights

    def learn(self, x: FloatArray, positive: bool, w: float) -> tuple[float, float | None]:
        """Learn from an example; NaN stands for what is not known.

        Returns its score before, and the share of recent examples of the other class that the score
        ranks it right against, or None if there were none.
        """
        self._n_seen += 1
        units = self.units
        units.update(x)
        z = units.standardized(x)
        scores, with_one, similarities = self._expert_scores(z)
        scores[-1] = score = blas.ddot(self.shares, scores)
        other = 0 if positive else 1
        win = self.judge.compare(scores, positive, w, self._n[other])

        self._n[positive] += w
        # Each uses up the vector it is given.
        moments = self._at_rest[positive]
        moments.update(vectors.copy(z), w)
        moments = self._recent[positive]
        moments.update(z, w)
        if self._kernel is not None:
            self._kernel.add(x, similarities, positive, w)
        if self._n[other]:
            self._step(with_one, positive, w)
            self._solve()
            self.shares = self.judge.shares()
        return score, win

    def _step(self, with_one: FloatArray, positive: bool, w: float) -> None:
        """Let the experts that go step by step take one."""
        sign, n_other = (1.0, self._n[0]) if positive else (-1.0, self._n[1])
        # Both classes pull alike, as hard as two balanced ones that are known as well.
        c = 2.0 * w * n_other / (self._n[0] + self._n[1])
        negative, positives = self._at_rest
        self._newton.step(with_one, sign, c)
        self._scale_newton()
        tracking_step(vectors.row(self._linear, _TRACKING), with_one, sign, c)
        z = vectors.part(with_one, 1, len(with_one))
        pairwise_step(
            vectors.row(self._linear, _PAIRWISE), z, sign, c, (negative.mean, positives.mean)
        )

    def _scale_newton(self) -> None:
        """Bring the Newton expert from logits to the scale of the others."""
        negative, positive = self._at_rest
        newton = self._newton.weights
        weights = vectors.part(newton, 1, len(newton))
        gap = blas.ddot(positive.mean, weights) - blas.ddot(negative.mean, weights)
        scaled = vectors.row(self._linear, _NEWTON)
        blas.dcopy(newton, scaled)
        blas.dscal(1.0 / (1.0 + 0.5 * gap) if gap > 0.0 else 1.0, scaled)

    def _solve(self) -> None:
        """Solve for the experts in closed form, if it is time to."""
        n_seen = self._n_seen
        if self._kernel is not None and self._kernel.choose_landmarks(n_seen, self.units):
            self._next_at_rest = n_seen
        if n_seen >= self._next_at_rest:
            wait = min(n_seen, self.units.n_varying // 4)
            self._next_at_rest = n_seen + max(1, n_seen // 10, wait)
            for row, solution in zip(
                _AT_REST, closed_forms(self._at_rest, _STRENGTHS), strict=True
            ):
                self._set_linear(row, *solution)
            if self._kernel is not None:
                self._kernel.solve()
        if n_seen >= self._next_forgetting:
            wait = max(4, self.units.n_varying // 8)
            self._next_forgetting = n_seen + min(n_seen, wait)
            (solution,) = closed_forms(self._recent, (_FORGETTING_STRENGTH,))
            self._set_linear(_FORGETTING, *solution)

    def _set_linear(self, row: int, weights: FloatArray, bias: float) -> None:
        self._linear[row, 0] = -bias
        self._linear[row, 1:] = weights

    def prepare(self, units: Units, negative: FloatArray, positive: FloatArray) -> None:
        """Measure in fixed units, and with landmarks from these examples for good."""
        self.units = units
        if self._kernel is not None and len(negative) and len(positive):
            self._kernel.prepare(negative, positive, units)

    def pool(self, other: Engine) -> None:
        """Add what another engine has learned from another part of the stream, which is used up.

        In the same units, and with the same landmarks, all class moments add up, and so the experts
        at rest are those of one engine for the whole stream.
        """
        share = share_of_other(self._n, other._n)
        units = copy.deepcopy(self.units)
        if not units.same_as(other.units):
            units += other.units
        gained = self._change_units(units), other._change_units(units)
        self._newton.set_information(gained[0][0] + gained[1][0], gained[0][1] + gained[1][1])
        for row in (_TRACKING, _PAIRWISE):
            self._linear[row] += share * (other._linear[row] - self._linear[row])
        for positive in (False, True):
            self._n[positive] += other._n[positive]
            for own, others in ((self._at_rest, other._at_rest), (self._recent, other._recent)):
                moments = own[positive]
                moments += others[positive]
        self._n_seen += other._n_seen
        if self._kernel is not None and other._kernel is not None:
            self._kernel.pool(other._kernel, self.units)
        self.judge += other.judge
        self.solve_anew()

    def _change_units(self, units: Units) -> tuple[FloatArray, FloatArray]:
        """Measure in other units; returns what the Newton expert has learned, in these."""
        scale, shift = self.units.change_to(units)
        if not self.units.same_as(units):
            for moments in (*self._at_rest, *self._recent):
                moments.transform(scale, shift)
            for row in (_TRACKING, _PAIRWISE):
                self._linear[row] = weights_in(self._linear[row], scale, shift)
            if self._kernel is not None:
                self._kernel.change_units(scale, shift)
            self.units = units
        return self._newton.information(scale, shift)

    def solve_anew(self) -> None:
        """Solve for all experts in closed form now, if there are examples of both classes."""
        if self._n[0] and self._n[1]:
            self._scale_newton()
            self._next_at_rest = self._next_forgetting = 0
            self._solve()
            self.shares = self.judge.shares()

    def resize(self, size: Size) -> None:
        """Make room for more features, which have been 0 so far, or give up the last ones."""
        self.units.resize(size)
        for moments in (*self._at_rest, *self._recent):
            moments.resize(size)
        self._newton.resize(1 + size)
        self._linear = resized(self._linear, _N_LINEAR, 1 + size)
        if self._kernel is not None:
            self._kernel.resize(size)
