"""How well each expert ranks what it has not learned, and how they are mixed."""

from __future__ import annotations

import math
import typing

import numpy as np

from river_oauc import blas, vectors
from river_oauc.inputs.arrays import FloatArray
from river_oauc.inputs.records import Record
from river_oauc.stats.samples import newest_of_both

__all__ = ["Judge", "shares_of"]

# A new example is compared with so many of the other class.
_N_RECENT = 64

# About so many examples count for the shares.
_MEMORY = 2000

# Scores that are closer than this are nearly tied: from here on the win fades to one half. So
# rounding, which makes equal scores differ, decides nothing.
_NEARLY_TIED = 1e-4

# What a clear win counts, over one half, for a gap of so much.
_WON = 0.5 / _NEARLY_TIED

# How fast a share falls behind: the leads are known to about one over the root of the number.
_SHARPNESS = 4.0

_ONES = np.ones(_N_RECENT)


def shares_of(leads: FloatArray, n: float) -> FloatArray:
    """The shares of competitors whose win rates, over so many comparisons, have these leads.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.auto.judge import shares_of
    >>> shares_of(np.array([0.40, 0.38, 0.30]), n=100.0)
    array([0.682, 0.306, 0.012])

    """
    shares: FloatArray = vectors.add(leads, -vectors.largest(leads))
    blas.dscal(_SHARPNESS * math.sqrt(n), shares)
    vectors.exp(shares, shares)
    blas.dscal(1.0 / blas.dasum(shares), shares)
    return shares


class Judge(Record):
    """Compares scores with those that recent examples of the other class got when they came.

    All scores were given before their examples were learned, so what is overfitted has no
    advantage. A competitor's win rate is the share of the comparisons that it gets right.

    Parameters
    ----------
    n_competitors
        The number of experts; one more row is judged, that of their mixture.

    Attributes
    ----------
    leads
        Recent win rate of each expert, less one half.
    aucs
        The progressive AUC of each expert and of the mixture over the whole stream, less one half.

    """

    __fields__ = ("leads", "aucs", "_n_pairs", "_weights", "_recent", "_n_stored")

    def __init__(self, n_competitors: int) -> None:
        self.leads: FloatArray = np.zeros(n_competitors)
        self.aucs: FloatArray = np.zeros(n_competitors + 1)
        self._n_pairs = 0.0
        # The recent weight of the judged negatives and positives.
        self._weights = [0.0, 0.0]
        # The recent scores of the negatives and of the positives, a row per competitor.
        self._recent: FloatArray = np.zeros((2, n_competitors + 1, _N_RECENT))
        self._n_stored = [0, 0]

    def forget_scores(self) -> None:
        """Compare with nothing that was scored so far."""
        self._n_stored = [0, 0]

    def __iadd__(self, other: typing.Self) -> typing.Self:
        """Pool with what has been judged in another part of the stream, by what is remembered."""
        weight, other_weight = sum(self._weights), sum(other._weights)
        if other_weight:
            share = other_weight / (weight + other_weight)
            self.leads += share * (other.leads - self.leads)
            # The leads are those of experts who had learned from one part only. So they count as
            # those of one part, and do not decide as if they were known from both.
            for of_class in (0, 1):
                self._weights[of_class] += share * (
                    other._weights[of_class] - self._weights[of_class]
                )
        if other._n_pairs:
            self._n_pairs += other._n_pairs
            self.aucs += other._n_pairs / self._n_pairs * (other.aucs - self.aucs)
        for of_class in (0, 1):
            mine, theirs = self._oldest_first(of_class), other._oldest_first(of_class)
            kept = newest_of_both(mine.shape[1], theirs.shape[1], _N_RECENT)
            self._recent[of_class, :, : len(kept)] = np.hstack([mine, theirs])[:, kept]
            self._n_stored[of_class] = len(kept)
        return self

    def _oldest_first(self, of_class: int) -> FloatArray:
        """The recent scores of a class, a row per competitor."""
        n_stored = self._n_stored[of_class]
        if n_stored <= _N_RECENT:
            return self._recent[of_class, :, :n_stored]
        return np.roll(self._recent[of_class], -(n_stored % _N_RECENT), axis=1)

    def compare(self, scores: FloatArray, positive: bool, w: float, n_other: float) -> float | None:
        """Judge the scores of a new example, and keep them.

        `n_other` is the weight of all earlier examples of the other class. Returns the win rate of
        the mixture, or None if there is nothing to compare with.
        """
        win = None
        own, other = (1, 0) if positive else (0, 1)
        n_recent = self._n_stored[other]
        if n_recent:
            n_recent = n_recent if n_recent < _N_RECENT else _N_RECENT
            gaps = vectors.gaps(scores, vectors.row(self._recent, other), n_recent)
            vectors.fmin(gaps, _NEARLY_TIED, gaps)
            vectors.fmax(gaps, -_NEARLY_TIED, gaps)
            wins = blas.matvec(gaps, vectors.part(_ONES, 0, n_recent))
            blas.dscal((_WON if positive else -_WON) / n_recent, wins)
            win = 0.5 + wins.item(-1)

            weights = self._weights
            weights[0] *= 1.0 - 1.0 / _MEMORY
            weights[1] *= 1.0 - 1.0 / _MEMORY
            weights[own] += w
            rate = w / (weights[0] + weights[1])
            blas.dscal(1.0 - rate, self.leads)
            blas.daxpy(wins, self.leads, len(self.leads), rate)
            # Over the whole stream all pairs count alike.
            n_new = w * n_other
            self._n_pairs += n_new
            rate = n_new / self._n_pairs
            blas.dscal(1.0 - rate, self.aucs)
            blas.daxpy(wins, self.aucs, len(self.aucs), rate)
        slot = self._n_stored[own] % _N_RECENT
        vectors.set_column(vectors.row(self._recent, own), slot, scores)
        self._n_stored[own] += 1
        return win

    def shares(self) -> FloatArray:
        """The share of each expert in the mixture."""
        negative, positive = self._weights
        total = negative + positive
        # As many examples as two balanced classes would have.
        return shares_of(self.leads, 4.0 * negative * positive / total if total else 0.0)
