"""The scores of one class: a multiset that takes updates and reverts, and sorts when asked."""

from __future__ import annotations

import math
from array import array
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Entries", "ScoreBag", "exponent_of", "weights_above", "weights_of"]

# Doubles of reverted examples that a class may hold whatever its size: to cancel them takes tens
# of microseconds at least, which a small window must not pay at every other step.
_MIN_BACKLOG = 1024

# One number per example: its score as float64 where all weights are one; where not, a complex128
# with the score as real and the weight as imaginary part. numpy orders complex numbers by the
# real, then by the imaginary part, so the same lines sort, search and delete either kind.
Entries = npt.NDArray[Any]


class ScoreBag:
    """The examples of one class: a multiset of scores with their weights.

    Adding and removing append to flat arrays of doubles; the work is left to `settle`.

    """

    __slots__ = ("name", "ranked", "recent", "reverted", "weighted")

    def __init__(self, name: str) -> None:
        self.name = name
        self.ranked: Entries = np.empty(0)  # sorted, with nothing left to cancel
        self.recent = array("d")  # added since
        self.reverted = array("d")  # removed since, to be cancelled against the two others
        self.weighted = False  # whether an example is a (score, weight) pair or a mere score

    def add(self, score: float, w: float) -> None:
        if w != 1.0 and not self.weighted:
            self._store_weights()
        if self.weighted:
            # One call for both, lest an interrupt leave half an example behind.
            self.recent.extend((score, w))
        else:
            self.recent.append(score)

    def remove(self, score: float, w: float) -> None:
        if w != 1.0 and not self.weighted:
            raise ValueError(f"cannot revert {self._describe(score, w)}, which was never added")
        if self.weighted:
            self.reverted.extend((score, w))
        else:
            self.reverted.append(score)
        # Both count doubles, not examples.
        backlog = len(self.reverted)
        remaining = self.ranked.nbytes // 8 + len(self.recent) - backlog
        if remaining < 0 or backlog > max(remaining // 2, _MIN_BACKLOG):
            self.settle()

    def settle(self) -> Entries:
        """Cancel what was reverted; returns the other examples in sorted order."""
        if self.recent:
            # Timsort merges two sorted runs in linear time, but takes many times as long as
            # numpy's default sort for a random one; so each does what it is good at.
            recent = self._entries(self.recent)
            recent.sort()
            merged = np.concatenate((self.ranked, recent))
            merged.sort(kind="stable")
            self.ranked, self.recent = merged, array("d")
        if self.reverted:
            reverted = self._entries(self.reverted)
            reverted.sort()
            remaining, unmatched = _cancel(self.ranked, reverted)
            self.ranked, self.reverted = remaining, array("d")
            self._refuse(unmatched)
        return self.ranked

    def _entries(self, doubles: array[float]) -> Entries:
        # A copy: an array cannot grow while numpy looks at its memory, and after an interrupt a
        # traceback may keep the look for long.
        return np.array(doubles).view(np.complex128 if self.weighted else np.float64)

    def _store_weights(self) -> None:
        """Give every example the weight of one that it has had all along."""
        ranked = self.ranked + 1j
        recent = array("d", (self._entries(self.recent) + 1j).tobytes())
        reverted = array("d", (self._entries(self.reverted) + 1j).tobytes())
        self.ranked, self.recent, self.reverted, self.weighted = ranked, recent, reverted, True

    def _refuse(self, reverted: Entries) -> None:
        """Raise if there is anything that was reverted and never added."""
        if reverted.size:
            first = reverted[0]
            example = self._describe(float(first.real), float(first.imag) if self.weighted else 1.0)
            others = f", nor were {reverted.size - 1} others" if reverted.size > 1 else ""
            raise ValueError(f"cannot revert {example}, which was never added{others}")

    def _describe(self, score: float, w: float) -> str:
        return f"a {self.name} example of score {score} and weight {w}"


def _cancel(entries: Entries, reverted: Entries) -> tuple[Entries, Entries]:
    """The multiset difference of two sorted arrays, and the reverted without a match."""
    # The k-th of several equal reverts takes the k-th of the equal entries.
    nth = np.arange(reverted.size) - np.searchsorted(reverted, reverted)
    place = np.searchsorted(entries, reverted) + nth
    matched = place < np.searchsorted(entries, reverted, side="right")
    return np.delete(entries, place[matched]), reverted[~matched]


def exponent_of(*classes: Entries) -> int:
    """The power of two that the weights are divided by, so that sums and products are finite.

    A power of two, so that whole numbers are still summed without any rounding. There must be an
    entry in one of the classes.
    """
    largest = [
        float(entries.imag.max()) if np.iscomplexobj(entries) else 1.0
        for entries in classes
        if entries.size
    ]
    return math.frexp(max(largest))[1]


def weights_of(entries: Entries, exponent: int) -> npt.NDArray[np.float64]:
    """The weights of one class, divided by a power of two."""
    weights = entries.imag if np.iscomplexobj(entries) else np.ones(entries.size)
    scaled: npt.NDArray[np.float64] = np.ldexp(weights, -exponent)
    return scaled


def weights_above(
    entries: Entries, scores: npt.NDArray[np.float64], exponent: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The weight of the sorted entries above each score, and of those at or above it."""
    # Summed from the highest: as a difference from the total, a small weight would be lost.
    summed = np.append(np.cumsum(weights_of(entries, exponent)[::-1])[::-1], 0.0)
    at_or_above = summed[np.searchsorted(entries.real, scores)]
    return summed[np.searchsorted(entries.real, scores, side="right")], at_or_above
