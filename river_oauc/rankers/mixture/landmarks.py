"""The kernel experts: ridge scores over the similarities to landmarks from the stream."""

from __future__ import annotations

import copy
import typing

import numpy as np

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
from river_oauc.state import FloatArray, Stateful, damage


class KernelExperts(Stateful):
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

    Attributes
    ----------
    candidates
        The negatives and the positives to choose landmarks from, with their importance.
    fits
        The landmarks and what was learned under them, if there are landmarks.
    next_choice
        The number of examples at which landmarks are chosen anew; 0 if they stay.

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "candidates": [Stateful], "fits": [Stateful], "next_choice": int,
    }  # fmt: skip

    def __init__(self, size: int) -> None:
        self.candidates = [RecentRows(N_CANDIDATES, size, n_extras=1) for _ in range(2)]
        self.fits: list[Fit] = []
        self.next_choice = FIRST_LANDMARKS

    @property
    def size(self) -> int:
        return self.candidates[0].size

    @property
    def fit(self) -> Fit | None:
        return self.fits[0] if self.fits else None

    def similarities(self, z: FloatArray) -> FloatArray | None:
        """Return the similarities of an example to the landmarks, a row per kernel.

        None before there are landmarks.
        """
        if self.fit is None:
            return None
        similarities: FloatArray = self.fit.maps.similarities(z[None])[:, 0]
        return similarities

    def score(self, similarities: FloatArray) -> FloatArray:
        """Return the scores of the experts, by kernel and then by strength of the penalty."""
        (fit,) = self.fits
        scores: FloatArray = np.matmul(fit.weights, similarities[:, :, None])[:, :, 0] - fit.biases
        return scores.ravel()

    def add(self, x: FloatArray, similarities: FloatArray | None, positive: bool, w: float) -> None:
        """Count an example, given as it came and by its similarities."""
        self.candidates[positive].add(x, w)
        if self.fit is not None and similarities is not None:
            for classes, row in zip(self.fit.by_kernel, similarities, strict=True):
                classes[positive].update(row, w)

    def interleaved(self) -> list[tuple[FloatArray, bool, float]]:
        """Return the stored examples, their labels and importance, with the classes interleaved."""
        ages, examples = [], []
        for positive, recent in enumerate(self.candidates):
            rows, importance = recent.in_order()
            ages += [(i + 0.5) / len(rows) for i in range(len(rows))]
            examples += [
                (x, bool(positive), w) for x, (w,) in zip(rows, importance.tolist(), strict=True)
            ]
        return [examples[i] for i in np.argsort(ages, kind="stable").tolist()]

    def choose_landmarks(self, n_seen: int, units: Units) -> bool:
        """Choose the landmarks anew if it is time to, and return whether it was."""
        if not self.next_choice or n_seen < self.next_choice:
            return False
        negative, positive = (units.standardize(each.in_order()[0]) for each in self.candidates)
        if not (len(negative) and len(positive)):
            return False
        fit = Fit(_new_maps(negative, positive))
        fit.count(self.candidates, units)
        next_choice = self.next_choice
        while next_choice <= n_seen:
            next_choice *= 2
        if min(len(negative), len(positive)) >= N_LANDMARKS // 2:
            next_choice = 0
        self.fits, self.next_choice = [fit], next_choice
        return True

    def solve(self) -> None:
        """Find the weights of the experts, if there are landmarks."""
        for fit in self.fits:
            fit.solve()

    def change_units(self, scale: FloatArray, shift: FloatArray) -> None:
        """Bring the landmarks to units in which a standardised vector is `scale` · z + `shift`."""
        for fit in self.fits:
            fit.maps = fit.maps.transformed(scale, shift)

    def merge(self, other: KernelExperts, units: Units) -> None:
        """Add what other experts, in the same units, have learned.

        With the same landmarks, the class moments add up. Otherwise the landmarks under which more
        examples were counted stay, and the candidates of the other experts are counted under them.
        """
        mine, theirs = self.fit, other.fit
        if mine is not None and theirs is not None and mine.maps.same_as(theirs.maps):
            mine.merge(theirs)
        else:
            more, less = (self, other) if self._n_counted >= other._n_counted else (other, self)
            for fit in more.fits:
                fit.count(less.candidates, units)
            self.fits, self.next_choice = more.fits, more.next_choice
        for own, others in zip(self.candidates, other.candidates, strict=True):
            own.merge(others)

    @property
    def _n_counted(self) -> float:
        return sum(each.n for fit in self.fits for each in fit.moments[:2])

    def set_state(self, state: typing.Any) -> None:
        # It has none before there are landmarks.
        if type(state) is dict and isinstance(state.get("fits"), list):
            self.fits = [Fit(KernelMaps(np.zeros((1, 1)), np.ones(1), 1.0, 1.0))][
                : len(state["fits"])
            ]
        super().set_state(state)

    def check_state(self) -> None:
        sizes = {each.size for each in self.candidates}
        sizes |= {len(fit.maps.relevance) for fit in self.fits}
        if len(sizes) > 1 or self.next_choice < 0:
            raise damage(f"next_choice is {self.next_choice}, or the parts are of different sizes")


class Fit(Stateful):
    """Landmarks, and what has been learned under them.

    Attributes
    ----------
    maps
        The landmarks and their kernels.
    moments
        The moments of the similarities of negatives and positives, by kernel.
    weights
        An array of kernels, strengths and landmarks.
    biases
        A row per kernel, a column per strength.

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "maps": Stateful, "moments": [Stateful],
        "weights": (float, len(KERNELS), len(RIDGE_STRENGTHS), "landmarks"),
        "biases": (float, len(KERNELS), len(RIDGE_STRENGTHS)),
    }  # fmt: skip

    def __init__(self, maps: KernelMaps) -> None:
        self.maps = maps
        self.moments = [ForgettingMoments(len(maps)) for _ in range(2 * len(KERNELS))]
        self.weights: FloatArray = np.zeros((len(KERNELS), len(RIDGE_STRENGTHS), len(maps)))
        self.biases: FloatArray = np.zeros((len(KERNELS), len(RIDGE_STRENGTHS)))

    @property
    def by_kernel(self) -> list[ClassPair]:
        """The moments of both classes, for each kernel."""
        return list(zip(self.moments[::2], self.moments[1::2], strict=True))

    def count(self, candidates: typing.Iterable[RecentRows], units: Units) -> None:
        """Count the given negatives and positives."""
        for positive, recent in enumerate(candidates):
            if recent.n:
                rows, importance = recent.in_order()
                similarities = self.maps.similarities(units.standardize(rows))
                for classes, matrix in zip(self.by_kernel, similarities, strict=True):
                    classes[positive].merge(ForgettingMoments.of(matrix, importance[:, 0]))

    def merge(self, other: Fit) -> None:
        for mine, theirs in zip(self.moments, other.moments, strict=True):
            mine.merge(theirs)

    def solve(self) -> None:
        solutions = [
            ridge(classes, RIDGE_STRENGTHS, gram)
            for classes, gram in zip(self.by_kernel, self.maps.grams, strict=True)
        ]
        weights = np.array([weights for weights, _ in solutions])
        self.weights, self.biases = weights, np.array([biases for _, biases in solutions])

    def reindex(self, positions: typing.Any, size: typing.Any) -> None:
        # The moments are those of similarities.
        maps = copy.copy(self.maps)
        maps.reindex(positions, size)
        self.maps = maps

    def check_state(self) -> None:
        widths = {len(each.mean) for each in self.moments} | {self.weights.shape[-1]}
        if widths != {len(self.maps)}:
            raise damage("moments or weights are not those of the landmarks")


def _new_maps(negative: FloatArray, positive: FloatArray) -> KernelMaps:
    """Return kernels with landmarks from the last of these standardised examples."""
    n_positive = min(len(positive), max(N_LANDMARKS // 2, N_LANDMARKS - len(negative)))
    n_negative = min(len(negative), N_LANDMARKS - n_positive)
    return KernelMaps.with_typical_widths(
        np.vstack([positive[-n_positive:], negative[-n_negative:]]),
        relevance(positive, negative),
        np.vstack([positive[-N_WIDTH_SAMPLE:], negative[-N_WIDTH_SAMPLE:]]),
    )
