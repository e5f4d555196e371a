"""Multisets of scores that take updates and reverts, and sort on demand."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
import numpy.typing as npt

# Number of doubles that a class may hold for reverted examples, whatever its size. Cancelling them
# takes tens of microseconds, which a small window must not pay at every other step.
_MIN_BACKLOG = 1024

# One number per example. If all weights are one, it is the score, as float64. Otherwise it is a
# complex128 with the score as real part and the weight as imaginary part. numpy orders complex
# numbers by real part, then by imaginary part, so the same code sorts and searches both.
Entries = npt.NDArray[Any]


class ScoreBag:
    """A multiset of the scores and weights of one class.

    Adding and removing only append to arrays of doubles. `consolidate` does the work.

    """

    __slots__ = ("name", "ranked", "recent", "reverted", "weighted")

    def __init__(self, name: str) -> None:
        self.name = name
        self.ranked: Entries = np.empty(0)  # sorted
        self.recent = array("d")  # added since the last sort
        self.reverted = array("d")  # removed since the last sort
        self.weighted = False  # whether the arrays hold (score, weight) pairs or only scores

    def add(self, score: float, w: float) -> None:
        if w != 1.0 and not self.weighted:
            self._store_weights()
        if self.weighted:
            # A single call, so that an interrupt cannot leave half an example behind.
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
            self.consolidate()

    def consolidate(self) -> Entries:
        """Sort the added examples, cancel the reverted ones, and return what remains, sorted."""
        if self.recent:
            # Timsort merges two sorted runs in linear time, but numpy's default sort is many times
            # faster on unsorted data.
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
            self._check_none_unmatched(unmatched)
        return self.ranked

    def _entries(self, doubles: array[float]) -> Entries:
        # Copy: an array cannot grow while numpy refers to its memory, and after an interrupt a
        # traceback may keep such a reference.
        return np.array(doubles).view(np.complex128 if self.weighted else np.float64)

    def _store_weights(self) -> None:
        """Switch to (score, weight) pairs; the weight of all examples so far is one."""
        ranked = self.ranked + 1j
        recent = array("d", (self._entries(self.recent) + 1j).tobytes())
        reverted = array("d", (self._entries(self.reverted) + 1j).tobytes())
        self.ranked, self.recent, self.reverted, self.weighted = ranked, recent, reverted, True

    def _check_none_unmatched(self, unmatched: Entries) -> None:
        """Raise an error if an example was reverted but never added."""
        if unmatched.size:
            first = unmatched[0]
            example = self._describe(float(first.real), float(first.imag) if self.weighted else 1.0)
            others = f", nor were {unmatched.size - 1} others" if unmatched.size > 1 else ""
            raise ValueError(f"cannot revert {example}, which was never added{others}")

    def _describe(self, score: float, w: float) -> str:
        return f"a {self.name} example of score {score} and weight {w}"


def _cancel(entries: Entries, reverted: Entries) -> tuple[Entries, Entries]:
    """Subtract a sorted multiset from another; also return the reverted without a match."""
    # The k-th of several equal reverts cancels the k-th of the equal entries.
    nth = np.arange(reverted.size) - np.searchsorted(reverted, reverted)
    position = np.searchsorted(entries, reverted) + nth
    matched = position < np.searchsorted(entries, reverted, side="right")
    return np.delete(entries, position[matched]), reverted[~matched]


def sorted_entries(scores: npt.ArrayLike) -> Entries:
    """Convert scores of weight one to sorted entries."""
    return np.sort(np.asarray(scores, float))
