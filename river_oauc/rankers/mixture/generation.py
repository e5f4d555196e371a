"""One generation: experts that follow a stream, a judge, and their mixture."""

from __future__ import annotations

import copy
import typing

import numpy as np
from numpy.typing import NDArray

from river_oauc.rankers.base import share_of_other
from river_oauc.rankers.mixture.constants import RECENT_MEMORY, RECENT_STRENGTH, RIDGE_STRENGTHS
from river_oauc.rankers.mixture.judge import Judge
from river_oauc.rankers.mixture.kernels import KERNELS
from river_oauc.rankers.mixture.landmarks import KernelExperts
from river_oauc.rankers.mixture.moments import ForgettingMoments
from river_oauc.rankers.mixture.ridge import ridge
from river_oauc.rankers.mixture.steps import (
    Newton,
    pairwise_step,
    scale_logits,
    tracking_step,
    transform_weights,
    with_bias,
)
from river_oauc.rankers.mixture.units import Units
from river_oauc.state import FloatArray, IntArray, Stateful, damage

_LINEAR = [
    *(f"linear ridge {strength:g}" for strength in RIDGE_STRENGTHS),
    "linear recent",
    "linear Newton",
    "linear tracking",
    "linear pairwise",
]
_KERNEL = [f"{kernel} ridge {strength:g}" for kernel in KERNELS for strength in RIDGE_STRENGTHS]

# The rows of the linear experts.
_N_LINEAR = len(_LINEAR)
_RIDGE = slice(0, len(RIDGE_STRENGTHS))
_RECENT, _NEWTON, _TRACKING, _PAIRWISE = range(len(RIDGE_STRENGTHS), _N_LINEAR)

_ONE = np.ones(1)


class Generation(Stateful):
    """A mixture of experts whose scores lie near -1 and 1.

    A new example is scored by all experts, judged, and then learned by all. Ridge experts are
    solved for whenever the stream has grown by a tenth, the recent one more often; the others take
    a step per example. Solutions wait in proportion to the number p of features that vary, so a
    step costs O(p²) time on average. Memory is 5 p² + O(p) doubles, and that of `KernelExperts`.

    Parameters
    ----------
    size
        Number of features.
    with_kernels
        Whether there are kernel experts.

    Attributes
    ----------
    expert_names
        The names of the experts.
    judge
        The win rates of the experts, and their shares.
    units
        The units of the features.
    moments, recent_moments
        The moments of negatives and positives: of all, and of the latest.
    newton, linear
        The Newton expert, and a row of weights for each linear expert, minus the bias in front.
    kernel_experts
        The kernel experts, if there are some.
    next_ridge, next_recent
        The numbers of examples at which ridge experts are solved for.

    """

    # Here `p` counts the bias as well.
    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "n_seen": int, "units": Stateful, "judge": Stateful, "moments": [Stateful],
        "recent_moments": [Stateful], "newton": Stateful, "linear": (float, _N_LINEAR, "p"),
        "kernel_experts": [Stateful], "next_ridge": int, "next_recent": int,
    }  # fmt: skip

    def __init__(self, size: int, with_kernels: bool) -> None:
        self.expert_names = _LINEAR + _KERNEL if with_kernels else _LINEAR
        self.units = Units(size)
        self.judge = Judge(len(self.expert_names))
        self.n_seen = 0
        self.moments = [ForgettingMoments(size) for _ in range(2)]
        self.recent_moments = [ForgettingMoments(size, RECENT_MEMORY) for _ in range(2)]
        self.newton = Newton(size)
        self.linear: FloatArray = np.zeros((_N_LINEAR, 1 + size))
        self.kernel_experts = [KernelExperts(size)] if with_kernels else []
        self.next_ridge = self.next_recent = 0

    @property
    def _kernels(self) -> KernelExperts | None:
        return self.kernel_experts[0] if self.kernel_experts else None

    @property
    def size(self) -> int:
        return len(self.units.mean)

    def score(self, x: FloatArray) -> float:
        """Return the score of an example, in which NaN stands for unknown."""
        scores, _, _ = self._expert_scores(self.units.standardize(x))
        return float(self.judge.shares.dot(scores))

    def _expert_scores(self, z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray | None]:
        """Return the scores of all experts, φ = (1, z), and the similarities to landmarks."""
        phi = np.concatenate((_ONE, z))
        linear = self.linear.dot(phi)
        if self._kernels is None:
            return linear, phi, None
        scores = np.zeros(len(self.expert_names))
        scores[:_N_LINEAR] = linear
        similarities = self._kernels.similarities(z)
        if similarities is not None:
            scores[_N_LINEAR:] = self._kernels.score(similarities)
        return scores, phi, similarities

    def linear_weights(self) -> FloatArray:
        """Return the weights of the mixture of the linear experts, with minus the bias in front."""
        weights: FloatArray = self.judge.shares[:_N_LINEAR].dot(self.linear)
        return weights

    def learn(self, x: FloatArray, positive: bool, w: float) -> tuple[float, float | None]:
        """Learn from an example, in which NaN stands for unknown.

        Returns
        -------
        The score before, and the share of recent examples of the other class over which it ranks
        the example correctly; None if there were none.

        """
        self.units.update(x)
        z = self.units.standardize(x)
        scores, phi, similarities = self._expert_scores(z)
        score = float(self.judge.shares.dot(scores))

        self.n_seen += 1
        self.moments[positive].update(z, w)
        self.recent_moments[positive].update(z, w)
        if self._kernels is not None:
            self._kernels.add(x, similarities, positive, w)
        n_other = self.moments[not positive].n
        win = self.judge.compare(np.concatenate((scores, (score,))), positive, w, n_other)
        if n_other:
            self._step(phi, positive, w)
            self._solve()
        return score, win

    def _step(self, phi: FloatArray, positive: bool, w: float) -> None:
        """Let the experts that go step by step take one."""
        negatives, positives = self.moments
        sign, n_other = (1.0, negatives.n) if positive else (-1.0, positives.n)
        # Both classes pull alike.
        c = 2.0 * w * n_other / (negatives.n + positives.n)
        self.newton.step(phi, sign, c)
        self._scale_newton()
        tracking_step(self.linear[_TRACKING], phi, sign, c)
        pairwise_step(self.linear[_PAIRWISE], phi, sign, c, negatives.mean, positives.mean)

    def _scale_newton(self) -> None:
        """Bring the Newton expert from logits to the scale of the others."""
        negatives, positives = self.moments
        scaled = scale_logits(self.newton.weights, negatives.mean, positives.mean)
        self.linear[_NEWTON] = scaled

    def _solve(self) -> None:
        """Solve for the ridge experts, if it is time to."""
        n_seen = self.n_seen
        new_landmarks = self._kernels is not None and self._kernels.choose_landmarks(
            n_seen, self.units
        )
        if new_landmarks or n_seen >= self.next_ridge:
            wait = max(1, n_seen // 10, min(n_seen, self.units.n_varying // 4))
            self._set_linear(_RIDGE, *ridge(self.moments, RIDGE_STRENGTHS))
            if self._kernels is not None:
                self._kernels.solve()
            self.next_ridge = n_seen + wait
        if n_seen >= self.next_recent:
            wait = min(n_seen, max(4, self.units.n_varying // 8))
            self._set_linear(
                slice(_RECENT, _RECENT + 1), *ridge(self.recent_moments, (RECENT_STRENGTH,))
            )
            self.next_recent = n_seen + wait

    def _set_linear(self, rows: slice, weights: FloatArray, biases: FloatArray) -> None:
        self.linear[rows, 0] = -biases
        self.linear[rows, 1:] = weights

    def solve_now(self) -> None:
        """Solve for all ridge experts, if both classes have been seen."""
        if self.moments[0].n and self.moments[1].n:
            self._scale_newton()
            self.next_ridge = self.next_recent = 0
            self._solve()

    def merged(self, other: Generation) -> Generation:
        """Return one of the two, with what both have learned from parts of a stream.

        If one of them still has all of its examples, the other one learns them as if they came
        now. Otherwise what they have learned is added up.
        """
        shorter, longer = sorted((self, other), key=lambda each: each.n_seen)
        examples = shorter._all_examples()
        if examples is None:
            self._add(other)
            return self
        for x, positive, w in examples:
            longer.learn(x, positive, w)
        return longer

    def _all_examples(self) -> list[tuple[FloatArray, bool, float]] | None:
        """Return all examples so far, or None if some are not stored any more."""
        examples = [] if self._kernels is None else self._kernels.interleaved()
        return examples if len(examples) == self.n_seen else None

    def _add(self, other: Generation) -> None:
        """Add what another generation has learned from another part of the stream.

        In the same units and with the same landmarks, all class moments add up, so the ridge
        experts are those of one generation for the whole stream.
        """
        share = share_of_other(
            [each.n for each in self.moments], [each.n for each in other.moments]
        )
        units = copy.deepcopy(self.units)
        if not units.same_as(other.units):
            units.merge(other.units)
        precision, vector = self._change_units(units)
        other_precision, other_vector = other._change_units(units)
        self.newton.set_information(precision + other_precision, vector + other_vector)
        for row in (_TRACKING, _PAIRWISE):
            self.linear[row] += share * (other.linear[row] - self.linear[row])
        for mine, theirs in zip(
            self.moments + self.recent_moments, other.moments + other.recent_moments, strict=True
        ):
            mine.merge(theirs)
        self.n_seen += other.n_seen
        if self._kernels is not None and other._kernels is not None:
            self._kernels.merge(other._kernels, units)
        self.judge.merge(other.judge)
        self.solve_now()

    def _change_units(self, units: Units) -> tuple[FloatArray, FloatArray]:
        """Change to other units, and return the information of the Newton expert in these."""
        scale, shift = self.units.change_to(units)
        if not self.units.same_as(units):
            for moments in (*self.moments, *self.recent_moments):
                moments.transform(scale, shift)
            for row in (_TRACKING, _PAIRWISE):
                self.linear[row] = transform_weights(self.linear[row], scale, shift)
            if self._kernels is not None:
                self._kernels.change_units(scale, shift)
        self.units = units
        return self.newton.information(scale, shift)

    def moved(self, positions: IntArray | None, size: int) -> dict[str, NDArray[typing.Any]]:
        return super().moved(None if positions is None else with_bias(positions), 1 + size)

    def check_state(self) -> None:
        sizes = {len(each.mean) for each in (*self.moments, *self.recent_moments)}
        sizes |= {len(self.newton.weights) - 1, self.linear.shape[1] - 1}
        sizes |= {kernels.size for kernels in self.kernel_experts}
        if sizes != {self.size}:
            raise damage("the parts have different numbers of features")
        for moments, n_stored in zip(self.moments, self.judge.n_stored, strict=True):
            if n_stored and not moments.n:
                raise damage("there are scores of a class without examples")
