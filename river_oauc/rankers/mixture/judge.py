"""How well each expert ranks new examples, and its share in the mixture."""

from __future__ import annotations

import math
import typing

import numpy as np

from river_oauc.acceleration import accelerated
from river_oauc.rankers.mixture.arrays import RecentRows
from river_oauc.rankers.mixture.constants import JUDGE_MEMORY, N_COMPARED, NEAR_TIE, SHARPNESS
from river_oauc.state import FloatArray, Stateful, damage


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


class Judge(Stateful):
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
    n_pairs
        The weight of the pairs in these.
    weights
        The recent weight of the negatives and of the positives that were compared.
    recent
        The recent scores of the negatives and of the positives: by experts and mixture.

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "win_rates": (float, "experts"), "shares": (float, "experts"), "aucs": (float, "scores"),
        "n_pairs": float, "weights": (float, 2), "recent": [Stateful],
    }  # fmt: skip

    def __init__(self, n_experts: int) -> None:
        self._n_experts = n_experts
        self.win_rates: FloatArray = np.full(n_experts, 0.5)
        self.shares: FloatArray = np.full(n_experts, 1.0 / n_experts)
        self.aucs: FloatArray = np.full(n_experts + 1, 0.5)
        self.n_pairs = 0.0
        self.weights: FloatArray = np.zeros(2)
        self.recent = [RecentRows(N_COMPARED, n_experts + 1) for _ in range(2)]

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
        others = self.recent[not positive].latest
        if len(others):
            weights = (1.0 - 1.0 / JUDGE_MEMORY) * self.weights
            weights[int(positive)] += w
            # Over the whole stream all pairs count alike.
            n_pairs = self.n_pairs + w * n_other
            win_rates, aucs, win = update_rates(
                self.win_rates,
                self.aucs,
                scores,
                others,
                positive,
                w / float(weights.sum()),
                w * n_other / n_pairs,
            )
            self.weights, self.win_rates, self.n_pairs, self.aucs = (
                weights, win_rates, n_pairs, aucs,
            )  # fmt: skip
            self._set_shares()
        self.recent[positive].add(scores, ())
        return win

    def _set_shares(self) -> None:
        negative, positive = self.weights.tolist()
        total = negative + positive
        # The size of a balanced sample that would be as informative.
        n = 4.0 * negative * positive / total if total else 0.0
        self.shares = shares_of(self.win_rates, n)

    def forget_scores(self) -> None:
        """Compare with no score that was given so far."""
        for recent in self.recent:
            recent.clear()

    def recent_gaps(self) -> FloatArray:
        """Return by how much recent positives score higher than recent negatives, on average."""
        negative, positive = (recent.latest for recent in self.recent)
        if not (len(negative) and len(positive)):
            return np.zeros_like(self.aucs)
        gaps: FloatArray = positive.mean(axis=0) - negative.mean(axis=0)
        return gaps

    @property
    def n_stored(self) -> list[int]:
        """The number of recent scores of the negatives and of the positives."""
        return [recent.n for recent in self.recent]

    def merge(self, other: Judge) -> None:
        """Add the comparisons in another part of the stream, by what is remembered."""
        weight, other_weight = float(self.weights.sum()), float(other.weights.sum())
        if other_weight:
            share = other_weight / (weight + other_weight)
            self.win_rates = self.win_rates + share * (other.win_rates - self.win_rates)
            # The experts had learned from one part only. So the rates are weighted as those of one
            # part, and do not decide as if they were known from both.
            self.weights = self.weights + share * (other.weights - self.weights)
        if other.n_pairs:
            n_pairs = self.n_pairs + other.n_pairs
            self.aucs = self.aucs + other.n_pairs / n_pairs * (other.aucs - self.aucs)
            self.n_pairs = n_pairs
        for mine, theirs in zip(self.recent, other.recent, strict=True):
            mine.merge(theirs)
        self._set_shares()

    def reindex(self, positions: typing.Any, size: typing.Any) -> None:
        """Do nothing: a judge knows no features."""

    def check_state(self) -> None:
        n = self._n_experts
        widths = {len(self.win_rates) + 1, len(self.shares) + 1, len(self.aucs)}
        if widths | {recent.size for recent in self.recent} != {n + 1}:
            raise damage(f"it has not the scores of {n} experts")
        if self.n_pairs < 0.0 or (self.weights < 0.0).any():
            raise damage("a weight is below 0")


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
