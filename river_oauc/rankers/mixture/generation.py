"""One generation: experts that follow a stream, a judge, and their mixture."""

from __future__ import annotations

import typing

import numpy as np

from river_oauc.rankers.base import FloatArray, IntArray, reindexed, share_of_other
from river_oauc.rankers.mixture.constants import RECENT_MEMORY, RECENT_STRENGTH, RIDGE_STRENGTHS
from river_oauc.rankers.mixture.judge import Judge
from river_oauc.rankers.mixture.kernels import KERNELS
from river_oauc.rankers.mixture.landmarks import KernelExperts
from river_oauc.rankers.mixture.moments import ClassPair, ForgettingMoments
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
from river_oauc.state import State, StateReader

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


class Generation:
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

    """

    def __init__(self, size: int, with_kernels: bool) -> None:
        self.expert_names = _LINEAR + _KERNEL if with_kernels else _LINEAR
        self.units = Units(size)
        self.judge = Judge(len(self.expert_names))
        self._n_seen = 0
        # Of the negatives and of the positives.
        self._all: ClassPair = ForgettingMoments(size), ForgettingMoments(size)
        self._recent: ClassPair = (
            ForgettingMoments(size, RECENT_MEMORY),
            ForgettingMoments(size, RECENT_MEMORY),
        )
        self._newton = Newton(size)
        # A row per linear expert, with minus the bias in front.
        self._linear: FloatArray = np.zeros((_N_LINEAR, 1 + size))
        self._kernels = KernelExperts(size) if with_kernels else None
        # The numbers of examples at which ridge experts are solved for.
        self._next_ridge = 0
        self._next_recent = 0

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
        linear = self._linear.dot(phi)
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
        weights: FloatArray = self.judge.shares[:_N_LINEAR].dot(self._linear)
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

        self._n_seen += 1
        self._all[positive].update(z, w)
        self._recent[positive].update(z, w)
        if self._kernels is not None:
            self._kernels.add(x, similarities, positive, w)
        n_other = self._all[not positive].n
        win = self.judge.compare(np.concatenate((scores, (score,))), positive, w, n_other)
        if n_other:
            self._step(phi, positive, w)
            self._solve()
        return score, win

    def _step(self, phi: FloatArray, positive: bool, w: float) -> None:
        """Let the experts that go step by step take one."""
        negatives, positives = self._all
        sign, n_other = (1.0, negatives.n) if positive else (-1.0, positives.n)
        # Both classes pull alike.
        c = 2.0 * w * n_other / (negatives.n + positives.n)
        self._newton.step(phi, sign, c)
        self._scale_newton()
        tracking_step(self._linear[_TRACKING], phi, sign, c)
        pairwise_step(self._linear[_PAIRWISE], phi, sign, c, negatives.mean, positives.mean)

    def _scale_newton(self) -> None:
        """Bring the Newton expert from logits to the scale of the others."""
        negatives, positives = self._all
        scaled = scale_logits(self._newton.weights, negatives.mean, positives.mean)
        self._linear[_NEWTON] = scaled

    def _solve(self) -> None:
        """Solve for the ridge experts, if it is time to."""
        n_seen = self._n_seen
        new_landmarks = self._kernels is not None and self._kernels.choose_landmarks(
            n_seen, self.units
        )
        if new_landmarks or n_seen >= self._next_ridge:
            wait = max(1, n_seen // 10, min(n_seen, self.units.n_varying // 4))
            self._set_linear(_RIDGE, *ridge(self._all, RIDGE_STRENGTHS))
            if self._kernels is not None:
                self._kernels.solve()
            self._next_ridge = n_seen + wait
        if n_seen >= self._next_recent:
            wait = min(n_seen, max(4, self.units.n_varying // 8))
            self._set_linear(slice(_RECENT, _RECENT + 1), *ridge(self._recent, (RECENT_STRENGTH,)))
            self._next_recent = n_seen + wait

    def _set_linear(self, rows: slice, weights: FloatArray, biases: FloatArray) -> None:
        self._linear[rows, 0] = -biases
        self._linear[rows, 1:] = weights

    def solve_now(self) -> None:
        """Solve for all ridge experts, if both classes have been seen."""
        if self._all[0].n and self._all[1].n:
            self._scale_newton()
            self._next_ridge = self._next_recent = 0
            self._solve()

    def prepare(self, units: Units, negative: FloatArray, positive: FloatArray) -> None:
        """Use these units, and landmarks from these examples for good."""
        self.units = units
        if self._kernels is not None and len(negative) and len(positive):
            self._kernels.prepare(negative, positive, units)

    def merged(self, other: Generation) -> Generation:
        """Return one of the two, with what both have learned from parts of a stream.

        If one of them still has all of its examples, the other one learns them as if they came
        now. Otherwise what they have learned is added up.
        """
        shorter, longer = sorted((self, other), key=lambda each: each._n_seen)
        examples = shorter._all_examples()
        if examples is None or longer.units.fixed:
            self._add(other)
            return self
        for x, positive, w in examples:
            longer.learn(x, positive, w)
        return longer

    def _all_examples(self) -> list[tuple[FloatArray, bool, float]] | None:
        """Return all examples so far, or None if some are not stored any more."""
        examples = [] if self._kernels is None else self._kernels.candidates()
        return examples if len(examples) == self._n_seen else None

    def _add(self, other: Generation) -> None:
        """Add what another generation has learned from another part of the stream.

        In the same units and with the same landmarks, all class moments add up, so the ridge
        experts are those of one generation for the whole stream.
        """
        share = share_of_other([each.n for each in self._all], [each.n for each in other._all])
        units = self.units.reindexed(np.arange(self.size), self.size)
        if not units.same_as(other.units):
            units.merge(other.units)
        precision, vector = self._change_units(units)
        other_precision, other_vector = other._change_units(units)
        self._newton.set_information(precision + other_precision, vector + other_vector)
        for row in (_TRACKING, _PAIRWISE):
            self._linear[row] += share * (other._linear[row] - self._linear[row])
        for own, others in ((self._all, other._all), (self._recent, other._recent)):
            for mine, theirs in zip(own, others, strict=True):
                mine.merge(theirs)
        self._n_seen += other._n_seen
        if self._kernels is not None and other._kernels is not None:
            self._kernels.merge(other._kernels, units)
        self.judge.merge(other.judge)
        self.solve_now()

    def _change_units(self, units: Units) -> tuple[FloatArray, FloatArray]:
        """Change to other units, and return the information of the Newton expert in these."""
        scale, shift = self.units.change_to(units)
        if not self.units.same_as(units):
            for moments in (*self._all, *self._recent):
                moments.transform(scale, shift)
            for row in (_TRACKING, _PAIRWISE):
                self._linear[row] = transform_weights(self._linear[row], scale, shift)
            if self._kernels is not None:
                self._kernels.change_units(scale, shift)
        self.units = units
        return self._newton.information(scale, shift)

    def reindexed(self, positions: IntArray, size: int) -> Generation:
        """Return a copy in which feature i stands at `positions[i]`, and others have been 0.

        Parts that know no features, such as the judge, are shared with the copy.
        """
        moved = Generation(size, self._kernels is not None)
        moved.units = self.units.reindexed(positions, size)
        moved.judge, moved._n_seen = self.judge, self._n_seen
        moved._all = _reindexed_pair(self._all, positions, size)
        moved._recent = _reindexed_pair(self._recent, positions, size)
        moved._newton = self._newton.reindexed(positions, size)
        moved._linear = reindexed(self._linear, with_bias(positions), 1 + size)
        if self._kernels is not None:
            moved._kernels = self._kernels.reindexed(positions, size)
        moved._next_ridge, moved._next_recent = self._next_ridge, self._next_recent
        return moved

    def get_state(self) -> State:
        """Return a copy of the state."""
        state = {
            "n_seen": self._n_seen,
            "units": self.units.get_state(),
            "judge": self.judge.get_state(),
            "all": [moments.get_state() for moments in self._all],
            "recent": [moments.get_state() for moments in self._recent],
            "newton": self._newton.get_state(),
            "linear": self._linear.copy(),
            "next_ridge": self._next_ridge,
            "next_recent": self._next_recent,
        }
        if self._kernels is not None:
            state["kernels"] = self._kernels.get_state()
        return state

    @classmethod
    def from_state(cls, reader: StateReader, size: int, with_kernels: bool) -> typing.Self:
        """Return the generation with this state."""
        generation = cls(size, with_kernels)
        generation._n_seen = reader.count("n_seen")
        generation.units = Units.from_state(reader.reader("units"), size)
        generation.judge = Judge.from_state(reader.reader("judge"), len(generation.expert_names))
        negative, positive = (
            ForgettingMoments.from_state(each, size) for each in reader.readers("all", 2)
        )
        generation._all = negative, positive
        for moments, n_stored in zip(generation._all, generation.judge.n_stored, strict=True):
            if n_stored and not moments.n:
                raise reader.error("there are scores of a class without examples")
        negative, positive = (
            ForgettingMoments.from_state(each, size, RECENT_MEMORY)
            for each in reader.readers("recent", 2)
        )
        generation._recent = negative, positive
        generation._newton = Newton.from_state(reader.reader("newton"), size)
        generation._linear = reader.array("linear", _N_LINEAR, 1 + size)
        if with_kernels:
            generation._kernels = KernelExperts.from_state(reader.reader("kernels"), size)
        generation._next_ridge = reader.count("next_ridge")
        generation._next_recent = reader.count("next_recent")
        reader.finish()
        return generation


def _reindexed_pair(classes: ClassPair, positions: IntArray, size: int) -> ClassPair:
    negative, positive = classes
    return negative.reindexed(positions, size), positive.reindexed(positions, size)
