"""How well each expert ranks what it has not learned, and how they are mixed."""

from __future__ import annotations

import math
import typing

import numpy as np

from river_oauc.blas import daxpy, dscal
from river_oauc.inputs.arrays import FloatArray
from river_oauc.stats.samples import newest_of_both

__all__ = ["Judge", "shares_of"]

# A new example is compared with so many of the other class.
_N_RECENT = 64

# About so many examples count for the shares.
_MEMORY = 2000

# Scores that are closer than this are nearly tied: from here on the win fades to one half. So
# rounding, which makes equal scores differ, decides nothing.
_NEARLY_TIED = 1e-4

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
    shares: FloatArray = leads - max(leads.tolist())
    dscal(_SHARPNESS * math.sqrt(n), shares)
    np.exp(shares, shares)
    dscal(1.0 / math.fsum(shares.tolist()), shares)
    return shares


class Judge:
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
            gaps = scores[:, np.newaxis] - self._recent[other, :, :n_recent]
            dscal(1.0 / _NEARLY_TIED, gaps.ravel())
            np.minimum(gaps, 1.0, out=gaps)
            np.maximum(gaps, -1.0, out=gaps)
            wins = gaps.dot(_ONES[:n_recent])
            dscal((0.5 if positive else -0.5) / n_recent, wins)
            win = 0.5 + wins.item(-1)

            weights = self._weights
            weights[0] *= 1.0 - 1.0 / _MEMORY
            weights[1] *= 1.0 - 1.0 / _MEMORY
            weights[own] += w
            rate = w / (weights[0] + weights[1])
            dscal(1.0 - rate, self.leads)
            daxpy(wins, self.leads, len(self.leads), rate)
            # Over the whole stream all pairs count alike.
            n_new = w * n_other
            self._n_pairs += n_new
            rate = n_new / self._n_pairs
            dscal(1.0 - rate, self.aucs)
            daxpy(wins, self.aucs, len(self.aucs), rate)
        self._recent[own, :, self._n_stored[own] % _N_RECENT] = scores
        self._n_stored[own] += 1
        return win

    def shares(self) -> FloatArray:
        """The share of each expert in the mixture."""
        negative, positive = self._weights
        total = negative + positive
        # As many examples as two balanced classes would have.
        return shares_of(self.leads, 4.0 * negative * positive / total if total else 0.0)
