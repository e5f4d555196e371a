"""The experts over the kernel maps: landmarks from the stream, class moments and weights."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import block_diag

from river_oauc import blas, vectors
from river_oauc.auto.closed_form import ClassPair, closed_forms
from river_oauc.auto.maps import KernelMaps, relevance
from river_oauc.inputs.arrays import FloatArray, Size
from river_oauc.inputs.records import Record
from river_oauc.stats.moments import ForgettingMoments
from river_oauc.stats.samples import Recent
from river_oauc.stats.units import Units

__all__ = ["KERNELS", "KernelExperts"]

KERNELS = ("Laplace", "Gaussian")

# So many landmarks, half of them of each class as soon as there are.
_N_LANDMARKS = 256

# So many recent examples of each class are kept for the next landmarks.
_N_KEPT = 512

# Typical distances are those among so many of each class.
_N_SAMPLED = 100


class KernelExperts(Record):
    """Experts at rest over the similarities to landmarks.

    The landmarks are the latest examples. They are chosen anew after 4, 8, 16, ... examples, with
    units and relevance as they are by then, until half of them are of either class; then they stay.
    The class moments of the similarities start again with the examples that are kept.

    A step costs O(L p + L²) time for L = 256 landmarks of p features, and O(L³) whenever the
    weights are solved for. Memory is 6 L² + 1,536 p + O(L) doubles.

    Parameters
    ----------
    size
        Length p of the vectors.
    strengths
        The strengths of the regulariser.

    """

    __fields__ = (
        "_strengths",
        "_examples",
        "_maps",
        "_moments",
        "_weights",
        "_biases",
        "_next_choice",
    )

    def __init__(self, size: int, strengths: tuple[float, ...]) -> None:
        self._strengths = strengths
        # Of each class, with the importance in front.
        self._examples = Recent(_N_KEPT, 1 + size), Recent(_N_KEPT, 1 + size)
        self._maps: KernelMaps | None = None
        self._moments: list[ClassPair] = []
        # A row per expert, by kernel and then by strength, over the similarities of all kernels:
        # those of another kernel than its own have no weight.
        self._weights: FloatArray = np.zeros((len(KERNELS) * len(strengths), 0))
        self._biases: FloatArray = np.zeros(len(KERNELS) * len(strengths))
        self._next_choice = 4

    def similarities(self, z: FloatArray) -> FloatArray | None:
        """The similarities of an example to the landmarks, kernel after kernel.

        None while there are no landmarks.
        """
        return None if self._maps is None else self._maps.similarities(z)

    def score(self, similarities: FloatArray, scores: FloatArray) -> None:
        """Find the scores of the experts, by kernel and then by strength."""
        blas.matvec(self._weights, similarities, scores)
        blas.daxpy(self._biases, scores, len(scores), -1.0)

    def add(self, x: FloatArray, similarities: FloatArray | None, positive: bool, w: float) -> None:
        """Count an example, given as it came and as its similarities."""
        self._examples[positive].add(vectors.concatenate((np.array([w]), x)))
        if similarities is not None:
            start = 0
            for classes in self._moments:
                moments = classes[positive]
                stop = start + moments.size
                moments.update(vectors.part(similarities, start, stop), w)
                start = stop

    def choose_landmarks(self, n_seen: int, units: Units) -> bool:
        """Choose the landmarks anew, if it is time to. There must be examples of both classes."""
        if not self._next_choice or n_seen < self._next_choice:
            return False
        negative, positive = (examples.oldest_first[:, 1:] for examples in self._examples)
        maps = _maps_of(units.standardized(negative), units.standardized(positive))
        moments = _no_moments(maps)
        self._count_kept(maps, moments, units)
        next_choice = self._next_choice
        while next_choice <= n_seen:
            next_choice *= 2
        if min(len(negative), len(positive)) >= _N_LANDMARKS // 2:
            # That was the last choice.
            next_choice = 0
        self._set_maps(maps, moments, next_choice)
        return True

    def prepare(self, negative: FloatArray, positive: FloatArray, units: Units) -> None:
        """Take landmarks from these examples for good. There must be some of both classes."""
        maps = _maps_of(units.standardized(negative[::-1]), units.standardized(positive[::-1]))
        self._set_maps(maps, _no_moments(maps), next_choice=0)

    def _set_maps(self, maps: KernelMaps, moments: list[ClassPair], next_choice: int) -> None:
        """Have these maps, and what has been counted under them."""
        weights = np.zeros((len(self._biases), len(KERNELS) * maps.n_landmarks))
        # All at once: with some of them only, an interrupt would leave what does not fit together.
        self._maps, self._moments, self._weights = maps, moments, weights
        self._next_choice = next_choice

    def _count_kept(self, maps: KernelMaps, moments: list[ClassPair], units: Units) -> None:
        """Count the examples that are kept, in moments under these maps."""
        for positive, examples in enumerate(self._examples):
            if examples.n_seen:
                kept = examples.oldest_first
                rows = maps.similarities_of_many(units.standardized(kept[:, 1:]))
                for classes, similarities in zip(moments, rows, strict=True):
                    own = classes[positive]
                    own += ForgettingMoments.of(similarities, kept[:, 0])

    def change_units(self, scale: FloatArray, shift: FloatArray) -> None:
        """Bring the landmarks to new units, in which a vector z is `scale` · z + `shift`."""
        if self._maps is not None:
            self._maps.change_units(scale, shift)

    def pool(self, other: KernelExperts, units: Units) -> None:
        """Add what others have learned, who may be used up.

        With the same landmarks, the class moments add up. Otherwise the landmarks of those who have
        counted more examples stay, and what the others have kept is counted under these.
        """
        maps, their_maps = self._maps, other._maps
        if maps is not None and their_maps is not None and maps.has_landmarks_of(their_maps):
            for mine, theirs in zip(self._moments, other._moments, strict=True):
                for own, others in zip(mine, theirs, strict=True):
                    own += others
        else:
            with_more, with_less = (
                (self, other) if self._n_counted() >= other._n_counted() else (other, self)
            )
            if with_more._maps is not None:
                with_less._count_kept(with_more._maps, with_more._moments, units)
            self._maps, self._moments = with_more._maps, with_more._moments
            self._next_choice = with_more._next_choice
        for positive in (False, True):
            self._examples[positive].pool(other._examples[positive])

    def _n_counted(self) -> float:
        return sum(moments.n for moments in self._moments[0]) if self._moments else 0.0

    def solve(self) -> None:
        """Find the weights of the experts, if there are landmarks."""
        if self._maps is None:
            return
        solutions = [
            closed_forms(classes, self._strengths, gram)
            for classes, gram in zip(self._moments, self._maps.grams, strict=True)
        ]
        self._weights = block_diag(*([weights for weights, _ in row] for row in solutions))
        self._biases = np.array([bias for row in solutions for _, bias in row])

    def resize(self, size: Size) -> None:
        """Make room for more features, or give up the last ones."""
        for examples in self._examples:
            examples.resize(1 + size)
        if self._maps is not None:
            self._maps.resize(size)


def _maps_of(negative: FloatArray, positive: FloatArray) -> KernelMaps:
    """Maps with landmarks from the last of these examples, given in units of the features."""
    half = _N_LANDMARKS // 2
    n_positive = min(len(positive), max(half, _N_LANDMARKS - len(negative)))
    n_negative = min(len(negative), _N_LANDMARKS - n_positive)
    return KernelMaps(
        np.vstack([positive[-n_positive:], negative[-n_negative:]]),
        np.vstack([positive[-_N_SAMPLED:], negative[-_N_SAMPLED:]]),
        relevance(positive, negative),
    )


def _no_moments(maps: KernelMaps) -> list[ClassPair]:
    """Class moments by kernel, with nothing counted yet."""
    size = maps.n_landmarks
    return [(ForgettingMoments(size, math.inf), ForgettingMoments(size, math.inf)) for _ in KERNELS]
