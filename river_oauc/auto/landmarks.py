"""The experts over the kernel maps: landmarks from the stream, class moments and weights."""

from __future__ import annotations

import numpy as np

from river_oauc.auto.closed_form import ClassPair, closed_forms
from river_oauc.auto.maps import KernelMaps, relevance
from river_oauc.inputs.arrays import FloatArray
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


class KernelExperts:
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

    def __init__(self, size: int, strengths: tuple[float, ...]) -> None:
        self._strengths = strengths
        self._examples = Recent(_N_KEPT, size), Recent(_N_KEPT, size)
        self._importance = Recent(_N_KEPT, 1), Recent(_N_KEPT, 1)
        self._maps: KernelMaps | None = None
        self._moments: list[ClassPair] = []
        # A matrix per kernel, with a row per expert; and the biases in the same order.
        self._weights: FloatArray = np.zeros((len(KERNELS), len(strengths), 0))
        self._biases: FloatArray = np.zeros(len(KERNELS) * len(strengths))
        self._next_choice = 4

    def similarities(self, z: FloatArray) -> FloatArray | None:
        """The similarities of an example to the landmarks; None while there are none."""
        return None if self._maps is None else self._maps.similarities(z)

    def scores(self, similarities: FloatArray) -> FloatArray:
        """The scores of the experts, by kernel and then by strength."""
        scores: FloatArray = np.matmul(self._weights, similarities[:, :, np.newaxis]).ravel()
        scores -= self._biases
        return scores

    def add(self, x: FloatArray, similarities: FloatArray | None, positive: bool, w: float) -> None:
        """Count an example, given as it came and as its similarities."""
        self._examples[positive].add(x)
        self._importance[positive].add(np.array([w]))
        if similarities is not None:
            for classes, row in zip(self._moments, similarities, strict=True):
                classes[positive].update(row, w)

    def choose_landmarks(self, n_seen: int, units: Units) -> bool:
        """Choose the landmarks anew, if it is time to. There must be examples of both classes."""
        if not self._next_choice or n_seen < self._next_choice:
            return False
        while self._next_choice <= n_seen:
            self._next_choice *= 2
        negative, positive = (
            units.standardized(examples.oldest_first) for examples in self._examples
        )
        half = _N_LANDMARKS // 2
        n_positive = min(len(positive), max(half, _N_LANDMARKS - len(negative)))
        n_negative = min(len(negative), _N_LANDMARKS - n_positive)
        if min(len(negative), len(positive)) >= half:
            # The last choice.
            self._next_choice = 0
        self._maps = KernelMaps(
            np.vstack([positive[-n_positive:], negative[-n_negative:]]),
            np.vstack([positive[-_N_SAMPLED:], negative[-_N_SAMPLED:]]),
            relevance(positive, negative),
        )
        importance = [weights.oldest_first.ravel() for weights in self._importance]
        self._moments = [
            (ForgettingMoments.of(of_negatives, importance[0]),
             ForgettingMoments.of(of_positives, importance[1]))
            for of_negatives, of_positives in zip(
                self._maps.similarities_of_many(negative),
                self._maps.similarities_of_many(positive),
                strict=True,
            )
        ]  # fmt: skip
        shape = len(KERNELS), len(self._strengths), self._maps.n_landmarks
        self._weights = np.zeros(shape)
        return True

    def solve(self) -> None:
        """Find the weights of the experts, if there are landmarks."""
        if self._maps is None:
            return
        solutions = [
            closed_forms(classes, self._strengths, gram)
            for classes, gram in zip(self._moments, self._maps.grams, strict=True)
        ]
        self._weights = np.array([[weights for weights, _ in row] for row in solutions])
        self._biases = np.array([bias for row in solutions for _, bias in row])

    def resize(self, size: int) -> None:
        """Make room for more features, or give up the last ones."""
        for examples in self._examples:
            examples.resize(size)
        if self._maps is not None:
            self._maps.resize(size)
