"""The kernel experts: ridge scores over the similarities to landmarks from the stream."""

from __future__ import annotations

import typing

import numpy as np

from river_oauc.rankers.base import FloatArray, IntArray
from river_oauc.rankers.mixture.arrays import RecentRows
from river_oauc.rankers.mixture.constants import (
    FIRST_LANDMARKS,
    N_CANDIDATES,
    N_LANDMARKS,
    N_WIDTH_SAMPLE,
    RIDGE_STRENGTHS,
)
from river_oauc.rankers.mixture.kernels import KERNELS, KernelMaps, relevance
from river_oauc.rankers.mixture.moments import ClassPair, ForgettingMoments
from river_oauc.rankers.mixture.ridge import ridge
from river_oauc.rankers.mixture.units import Units
from river_oauc.state import State, StateReader


class KernelExperts:
    """Ridge experts over the similarities to landmarks.

    The landmarks are the latest examples. They are chosen anew after 4, 8, 16, ... examples, with
    units and relevance as they are by then, until half of them are of either class; then they stay.
    The class moments of the similarities start again with the examples that are kept.

    A step costs O(L p + L²) time for L = 256 landmarks of p features, and O(L³) whenever the
    weights are solved for. Memory is 6 L² + 1,536 p + O(L) doubles.

    Parameters
    ----------
    size
        Number p of features.

    """

    def __init__(self, size: int) -> None:
        # The negatives and the positives to choose landmarks from, with their importance.
        self._candidates = tuple(RecentRows(N_CANDIDATES, size, n_tags=1) for _ in range(2))
        self._fit: _Fit | None = None
        # The number of examples at which landmarks are chosen anew; 0 if they stay.
        self._next_choice = FIRST_LANDMARKS

    def similarities(self, z: FloatArray) -> FloatArray | None:
        """Return the similarities of an example to the landmarks, a row per kernel.

        None before there are landmarks.
        """
        if self._fit is None:
            return None
        similarities: FloatArray = self._fit.maps.similarities(z[None])[:, 0]
        return similarities

    def score(self, similarities: FloatArray) -> FloatArray:
        """Return the scores of the experts, by kernel and then by strength of the penalty."""
        fit = self._fit
        assert fit is not None, "similarities come from landmarks"
        scores: FloatArray = np.matmul(fit.weights, similarities[:, :, None])[:, :, 0] - fit.biases
        return scores.ravel()

    def add(self, x: FloatArray, similarities: FloatArray | None, positive: bool, w: float) -> None:
        """Count an example, given as it came and by its similarities."""
        self._candidates[positive].add(x, w)
        if self._fit is not None and similarities is not None:
            for classes, row in zip(self._fit.moments, similarities, strict=True):
                classes[positive].update(row, w)

    def candidates(self) -> list[tuple[FloatArray, bool, float]]:
        """Return the stored examples, their labels and importance, with the classes interleaved."""
        ages, examples = [], []
        for positive, recent in enumerate(self._candidates):
            rows, importance = recent.oldest_first()
            ages += [(i + 0.5) / len(rows) for i in range(len(rows))]
            examples += [
                (x, bool(positive), w) for x, (w,) in zip(rows, importance.tolist(), strict=True)
            ]
        return [examples[i] for i in np.argsort(ages, kind="stable").tolist()]

    def choose_landmarks(self, n_seen: int, units: Units) -> bool:
        """Choose the landmarks anew if it is time to, and return whether it was."""
        if not self._next_choice or n_seen < self._next_choice:
            return False
        negative, positive = (
            units.standardize(each.oldest_first()[0]) for each in self._candidates
        )
        if not (len(negative) and len(positive)):
            return False
        fit = _Fit(_new_maps(negative, positive))
        fit.count(self._candidates, units)
        next_choice = self._next_choice
        while next_choice <= n_seen:
            next_choice *= 2
        if min(len(negative), len(positive)) >= N_LANDMARKS // 2:
            next_choice = 0
        self._fit, self._next_choice = fit, next_choice
        return True

    def prepare(self, negative: FloatArray, positive: FloatArray, units: Units) -> None:
        """Take landmarks from these examples for good, those in front first."""
        maps = _new_maps(units.standardize(negative[::-1]), units.standardize(positive[::-1]))
        self._fit, self._next_choice = _Fit(maps), 0

    def solve(self) -> None:
        """Find the weights of the experts, if there are landmarks."""
        if self._fit is not None:
            self._fit.solve()

    def change_units(self, scale: FloatArray, shift: FloatArray) -> None:
        """Bring the landmarks to units in which a standardised vector is `scale` · z + `shift`."""
        if self._fit is not None:
            self._fit = self._fit.with_maps(self._fit.maps.transformed(scale, shift))

    def merge(self, other: KernelExperts, units: Units) -> None:
        """Add what other experts, in the same units, have learned.

        With the same landmarks, the class moments add up. Otherwise the landmarks under which more
        examples were counted stay, and the candidates of the other experts are counted under them.
        """
        mine, theirs = self._fit, other._fit
        if mine is not None and theirs is not None and mine.maps.same_as(theirs.maps):
            mine.merge(theirs)
        else:
            more, less = (self, other) if self._n_counted >= other._n_counted else (other, self)
            if more._fit is not None:
                more._fit.count(less._candidates, units)
            self._fit, self._next_choice = more._fit, more._next_choice
        for own, others in zip(self._candidates, other._candidates, strict=True):
            own.merge(others)

    @property
    def _n_counted(self) -> float:
        return sum(each.n for each in self._fit.moments[0]) if self._fit is not None else 0.0

    def reindexed(self, positions: IntArray, size: int) -> KernelExperts:
        """Return a copy in which feature i stands at `positions[i]`, and others have been 0."""
        moved = KernelExperts(size)
        moved._candidates = tuple(each.reindexed(positions, size) for each in self._candidates)
        if self._fit is not None:
            moved._fit = self._fit.with_maps(self._fit.maps.reindexed(positions, size))
        moved._next_choice = self._next_choice
        return moved

    def get_state(self) -> State:
        """Return a copy of the state."""
        return {
            "candidates": [each.get_state() for each in self._candidates],
            # At most one.
            "fits": [] if self._fit is None else [self._fit.get_state()],
            "next_choice": self._next_choice,
        }

    @classmethod
    def from_state(cls, reader: StateReader, size: int) -> typing.Self:
        """Return the experts with this state."""
        experts = cls(size)
        experts._candidates = tuple(
            RecentRows.from_state(each, N_CANDIDATES, size, n_tags=1)
            for each in reader.readers("candidates", 2)
        )
        for each in reader.readers("fits")[:1]:
            experts._fit = _Fit.from_state(each, size)
        experts._next_choice = reader.count("next_choice")
        reader.finish()
        return experts


class _Fit:
    """Landmarks, and what has been learned under them.

    Attributes
    ----------
    maps
        The landmarks and their kernels.
    moments
        The class moments of the similarities, by kernel.
    weights
        An array of kernels, strengths and landmarks.
    biases
        A row per kernel, a column per strength.

    """

    def __init__(self, maps: KernelMaps) -> None:
        self.maps = maps
        self.moments: list[ClassPair] = [
            (ForgettingMoments(len(maps)), ForgettingMoments(len(maps))) for _ in KERNELS
        ]
        self.weights: FloatArray = np.zeros((len(KERNELS), len(RIDGE_STRENGTHS), len(maps)))
        self.biases: FloatArray = np.zeros((len(KERNELS), len(RIDGE_STRENGTHS)))

    def with_maps(self, maps: KernelMaps) -> _Fit:
        """Return the same fit under changed maps."""
        fit = _Fit(maps)
        fit.moments, fit.weights, fit.biases = self.moments, self.weights, self.biases
        return fit

    def count(self, candidates: typing.Iterable[RecentRows], units: Units) -> None:
        """Count the given negatives and positives."""
        for positive, recent in enumerate(candidates):
            if len(recent):
                rows, importance = recent.oldest_first()
                similarities = self.maps.similarities(units.standardize(rows))
                for classes, matrix in zip(self.moments, similarities, strict=True):
                    classes[positive].merge(ForgettingMoments.of(matrix, importance[:, 0]))

    def merge(self, other: _Fit) -> None:
        for mine, theirs in zip(self.moments, other.moments, strict=True):
            for own, others in zip(mine, theirs, strict=True):
                own.merge(others)

    def solve(self) -> None:
        solutions = [
            ridge(classes, RIDGE_STRENGTHS, gram)
            for classes, gram in zip(self.moments, self.maps.grams, strict=True)
        ]
        weights = np.array([weights for weights, _ in solutions])
        self.weights, self.biases = weights, np.array([biases for _, biases in solutions])

    def get_state(self) -> State:
        return {
            "maps": self.maps.get_state(),
            "moments": [each.get_state() for classes in self.moments for each in classes],
            "weights": self.weights.copy(),
            "biases": self.biases.copy(),
        }

    @classmethod
    def from_state(cls, reader: StateReader, size: int) -> typing.Self:
        fit = cls(KernelMaps.from_state(reader.reader("maps"), size, N_LANDMARKS))
        moments = [
            ForgettingMoments.from_state(each, len(fit.maps))
            for each in reader.readers("moments", 2 * len(KERNELS))
        ]
        fit.moments = list(zip(moments[::2], moments[1::2], strict=True))
        fit.weights = reader.array("weights", *fit.weights.shape)
        fit.biases = reader.array("biases", *fit.biases.shape)
        reader.finish()
        return fit


def _new_maps(negative: FloatArray, positive: FloatArray) -> KernelMaps:
    """Return kernels with landmarks from the last of these standardised examples."""
    n_positive = min(len(positive), max(N_LANDMARKS // 2, N_LANDMARKS - len(negative)))
    n_negative = min(len(negative), N_LANDMARKS - n_positive)
    return KernelMaps.with_typical_widths(
        np.vstack([positive[-n_positive:], negative[-n_negative:]]),
        relevance(positive, negative),
        np.vstack([positive[-N_WIDTH_SAMPLE:], negative[-N_WIDTH_SAMPLE:]]),
    )
