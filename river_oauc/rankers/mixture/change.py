"""Notice when the ranking breaks, and compare an older with a younger generation."""

from __future__ import annotations

import typing

import numpy as np

from river_oauc.rankers.mixture.constants import (
    CONFIRMED_SHARE,
    DROP_MEMORY,
    LARGEST_DROP,
    MIN_COMPARED_OF_EACH,
    MIN_COMPARED_TO_CONFIRM,
    TRIAL_LENGTH,
    TRIAL_MEMORY,
)
from river_oauc.rankers.mixture.judge import shares_of
from river_oauc.state import FloatArray, IntArray, Stateful


class ChangeDetector(Stateful):
    """Notice when the win rate of recent examples falls far below the long-run rate.

    Attributes
    ----------
    n_compared
        The number of negatives and of positives that were compared.
    recent_rate, long_run_rate
        Their win rates.

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "n_compared": (int, 2), "recent_rate": float, "long_run_rate": float,
    }  # fmt: skip

    def __init__(self) -> None:
        self.n_compared: IntArray = np.zeros(2, dtype=np.int64)
        self.recent_rate = self.long_run_rate = 0.0

    def update(self, win: float, positive: bool) -> bool:
        """Follow the win rate of a new example, and return whether the ranking breaks."""
        self.n_compared[int(positive)] += 1
        n = int(self.n_compared.sum())
        self.recent_rate += (win - self.recent_rate) / min(n, DROP_MEMORY)
        self.long_run_rate += (win - self.long_run_rate) / n
        has_dropped = self.long_run_rate - self.recent_rate > LARGEST_DROP
        return has_dropped and int(self.n_compared.min()) >= MIN_COMPARED_OF_EACH

    def merge(self, other: ChangeDetector) -> None:
        """Add the comparisons in another part of the stream."""
        n, n_other = int(self.n_compared.sum()), int(other.n_compared.sum())
        if n_other:
            share = n_other / (n + n_other)
            self.recent_rate += share * (other.recent_rate - self.recent_rate)
            self.long_run_rate += share * (other.long_run_rate - self.long_run_rate)
            self.n_compared += other.n_compared


class Trial(Stateful):
    """Compare an older and a younger generation, for a limited number of examples.

    Attributes
    ----------
    shares
        The shares of the two in the score.
    confirmed
        Whether the younger one has been clearly ahead, so that the stream has changed.
    n_left
        How many examples are left of the trial.
    win_rates, n_compared
        The recent win rates of the two, and the weight of the examples that were compared.

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "shares": (float, 2), "confirmed": bool, "n_left": int, "win_rates": (float, 2),
        "n_compared": float,
    }  # fmt: skip

    def __init__(self) -> None:
        self.confirmed = False
        self.n_left = TRIAL_LENGTH
        self.win_rates: FloatArray = np.zeros(2)
        self.n_compared = 0.0
        self.shares: FloatArray = np.full(2, 0.5)

    def update(self, wins: typing.Sequence[float | None], w: float) -> None:
        """Follow the win rates of a new example of importance `w`."""
        older, younger = wins
        if older is not None and younger is not None:
            n_compared = self.n_compared * (1.0 - 1.0 / TRIAL_MEMORY) + w
            gaps = np.array([older, younger]) - self.win_rates
            self.win_rates = self.win_rates + w / n_compared * gaps
            self.n_compared = n_compared
            self.shares = shares_of(self.win_rates, n_compared)
            if n_compared >= MIN_COMPARED_TO_CONFIRM and self.shares[1] > CONFIRMED_SHARE:
                self.confirmed = True
        self.n_left -= 1

    @property
    def is_over(self) -> bool:
        """Whether the trial has ended."""
        return self.n_left <= 0

    @property
    def winner(self) -> int:
        """0 if the older generation ranks at least as well, 1 if the younger one ranks better."""
        return int(self.win_rates[1] > self.win_rates[0])
