"""How well each expert ranks new examples, and its share in the mixture."""

from __future__ import annotations

import math
import typing

import numpy as np

from river_oauc.acceleration import accelerated
from river_oauc.rankers.base import FloatArray
from river_oauc.rankers.mixture.arrays import RecentRows
from river_oauc.rankers.mixture.constants import JUDGE_MEMORY, N_COMPARED, NEAR_TIE, SHARPNESS
from river_oauc.state import State, StateReader


@accelerated
def shares_of(win_rates: FloatArray, n: float) -> FloatArray:
    """Return the shares of competitors with these win rates over n comparisons.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.rankers.mixture.judge import shares_of
    >>> shares_of(np.array([0.90, 0.88, 0.80]), n=100.0)
    array([0.682, 0.306, 0.012])

    """
    shares: FloatArray = np.exp(SHARPNESS * math.sqrt(n) * (win_rates - win_rates.max()))
    shares /= shares.sum()
    return shares


class Judge:
    """Compare scores with those that recent examples of the other class got when they arrived.

    All scores were given before their examples were learned, so overfitting brings no advantage.
    The win rate of an expert is the share of the comparisons in which the positive scores higher.

    Parameters
    ----------
    n_experts
        The number of experts.

    Attributes
    ----------
    win_rates
        Recent win rate of each expert.
    shares
        Share of each expert in the mixture.
    aucs
        Progressive AUC of each expert, and of the mixture at the end, over the whole stream.

    """

    def __init__(self, n_experts: int) -> None:
        self.win_rates: FloatArray = np.full(n_experts, 0.5)
        self.shares: FloatArray = np.full(n_experts, 1.0 / n_experts)
        self.aucs: FloatArray = np.full(n_experts + 1, 0.5)
        self._n_pairs = 0.0
        # The recent weight of the negatives and of the positives that were compared.
        self._weights = [0.0, 0.0]
        # The recent scores of the negatives and of the positives: by experts and mixture.
        self._recent = RecentRows(N_COMPARED, n_experts + 1), RecentRows(N_COMPARED, n_experts + 1)

    def compare(self, scores: FloatArray, positive: bool, w: float, n_other: float) -> float | None:
        """Compare the scores of a new example with earlier ones, and keep them.

        Parameters
        ----------
        scores
            The scores of the experts and, at the end, of the mixture.
        positive
            The class of the example.
        w
            Its importance.
        n_other
            The total weight of all earlier examples of the other class.

        Returns
        -------
        The win rate of the mixture, or None if there was nothing to compare with.

        """
        win = None
        others = self._recent[not positive].rows
        if len(others):
            kept, (negatives, positives) = 1.0 - 1.0 / JUDGE_MEMORY, self._weights
            weights = [kept * negatives, kept * positives]
            weights[positive] += w
            # Over the whole stream all pairs count alike.
            n_pairs = self._n_pairs + w * n_other
            win_rates, aucs, win = update_rates(
                self.win_rates,
                self.aucs,
                scores,
                others,
                positive,
                w / sum(weights),
                w * n_other / n_pairs,
            )
            self._weights, self.win_rates, self._n_pairs, self.aucs = (
                weights, win_rates, n_pairs, aucs,
            )  # fmt: skip
            self._set_shares()
        self._recent[positive].add(scores)
        return win

    def _set_shares(self) -> None:
        negative, positive = self._weights
        total = negative + positive
        # The size of a balanced sample that would be as informative.
        n = 4.0 * negative * positive / total if total else 0.0
        self.shares = shares_of(self.win_rates, n)

    def forget_scores(self) -> None:
        """Compare with no score that was given so far."""
        for recent in self._recent:
            recent.clear()

    def recent_gaps(self) -> FloatArray:
        """Return by how much recent positives score higher than recent negatives, on average."""
        negative, positive = (recent.rows for recent in self._recent)
        if not (len(negative) and len(positive)):
            return np.zeros_like(self.aucs)
        gaps: FloatArray = positive.mean(axis=0) - negative.mean(axis=0)
        return gaps

    @property
    def n_stored(self) -> list[int]:
        """The number of recent scores of the negatives and of the positives."""
        return [len(recent) for recent in self._recent]

    def merge(self, other: Judge) -> None:
        """Add the comparisons in another part of the stream, by what is remembered."""
        weight, other_weight = sum(self._weights), sum(other._weights)
        if other_weight:
            share = other_weight / (weight + other_weight)
            self.win_rates = self.win_rates + share * (other.win_rates - self.win_rates)
            # The experts had learned from one part only. So the rates are weighted as those of one
            # part, and do not decide as if they were known from both.
            self._weights = [
                mine + share * (theirs - mine)
                for mine, theirs in zip(self._weights, other._weights, strict=True)
            ]
        if other._n_pairs:
            n_pairs = self._n_pairs + other._n_pairs
            self.aucs = self.aucs + other._n_pairs / n_pairs * (other.aucs - self.aucs)
            self._n_pairs = n_pairs
        for mine, theirs in zip(self._recent, other._recent, strict=True):
            mine.merge(theirs)
        self._set_shares()

    def get_state(self) -> State:
        """Return a copy of the state."""
        return {
            "win_rates": self.win_rates.copy(),
            "aucs": self.aucs.copy(),
            "n_pairs": self._n_pairs,
            "weights": np.array(self._weights),
            "recent": [recent.get_state() for recent in self._recent],
        }

    @classmethod
    def from_state(cls, reader: StateReader, n_experts: int) -> typing.Self:
        """Return the judge with this state."""
        judge = cls(n_experts)
        judge.win_rates = reader.array("win_rates", n_experts)
        judge.aucs = reader.array("aucs", n_experts + 1)
        judge._n_pairs = reader.number("n_pairs", minimum=0.0)
        judge._weights = reader.array("weights", 2, minimum=0.0).tolist()
        negative, positive = (
            RecentRows.from_state(each, N_COMPARED, n_experts + 1)
            for each in reader.readers("recent", 2)
        )
        judge._recent = negative, positive
        judge._set_shares()
        reader.finish()
        return judge


@accelerated
def update_rates(
    win_rates: FloatArray,
    aucs: FloatArray,
    scores: FloatArray,
    others: FloatArray,
    positive: bool,
    rate: float,
    auc_rate: float,
) -> tuple[FloatArray, FloatArray, float]:
    """Compare the scores of an example with those of others, a row for each.

    Returns
    -------
    The first two arguments after a step towards the shares of the others over which the example
    wins, and its share for the last score.

    """
    gaps = scores - others if positive else others - scores
    wins = 0.5 + 0.5 / NEAR_TIE * np.clip(gaps, -NEAR_TIE, NEAR_TIE).mean(axis=0)
    return (
        win_rates + rate * (wins[:-1] - win_rates),
        aucs + auc_rate * (wins - aucs),
        float(wins[-1]),
    )
