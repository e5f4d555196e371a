"""Notice when the ranking breaks, and compare an older with a younger generation."""

from __future__ import annotations

import typing

import numpy as np

from river_oauc.rankers.base import FloatArray
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
from river_oauc.state import State, StateReader


class ChangeDetector:
    """Notice when the win rate of recent examples falls far below the long-run rate."""

    def __init__(self) -> None:
        # The number of negatives and of positives that were compared.
        self._n_compared = [0, 0]
        self._recent_rate = 0.0
        self._long_run_rate = 0.0

    def update(self, win: float, positive: bool) -> bool:
        """Follow the win rate of a new example, and return whether the ranking breaks."""
        self._n_compared[positive] += 1
        n = sum(self._n_compared)
        self._recent_rate += (win - self._recent_rate) / min(n, DROP_MEMORY)
        self._long_run_rate += (win - self._long_run_rate) / n
        return (
            self._long_run_rate - self._recent_rate > LARGEST_DROP
            and min(self._n_compared) >= MIN_COMPARED_OF_EACH
        )

    def merge(self, other: ChangeDetector) -> None:
        """Add the comparisons in another part of the stream."""
        n, n_other = sum(self._n_compared), sum(other._n_compared)
        if n_other:
            share = n_other / (n + n_other)
            self._recent_rate += share * (other._recent_rate - self._recent_rate)
            self._long_run_rate += share * (other._long_run_rate - self._long_run_rate)
            self._n_compared = [
                mine + theirs
                for mine, theirs in zip(self._n_compared, other._n_compared, strict=True)
            ]

    def get_state(self) -> State:
        """Return a copy of the state."""
        return {
            "n_compared": np.array(self._n_compared, dtype=np.int64),
            "recent_rate": self._recent_rate,
            "long_run_rate": self._long_run_rate,
        }

    @classmethod
    def from_state(cls, reader: StateReader) -> typing.Self:
        """Return the detector with this state."""
        detector = cls()
        detector._n_compared = reader.integers("n_compared", 2).tolist()
        detector._recent_rate = reader.number("recent_rate")
        detector._long_run_rate = reader.number("long_run_rate")
        reader.finish()
        return detector


class Trial:
    """Compare an older and a younger generation, for a limited number of examples.

    Attributes
    ----------
    shares
        The shares of the two in the score.
    confirmed
        Whether the younger one has been clearly ahead, so that the stream has changed.

    """

    def __init__(self) -> None:
        self.confirmed = False
        self._n_left = TRIAL_LENGTH
        self._win_rates: FloatArray = np.zeros(2)
        self._n_compared = 0.0
        self.shares: FloatArray = np.full(2, 0.5)

    def update(self, wins: typing.Sequence[float | None], w: float) -> None:
        """Follow the win rates of a new example of importance `w`."""
        older, younger = wins
        if older is not None and younger is not None:
            n_compared = self._n_compared * (1.0 - 1.0 / TRIAL_MEMORY) + w
            gaps = np.array([older, younger]) - self._win_rates
            self._win_rates = self._win_rates + w / n_compared * gaps
            self._n_compared = n_compared
            self.shares = shares_of(self._win_rates, n_compared)
            if n_compared >= MIN_COMPARED_TO_CONFIRM and self.shares[1] > CONFIRMED_SHARE:
                self.confirmed = True
        self._n_left -= 1

    @property
    def is_over(self) -> bool:
        """Whether the trial has ended."""
        return self._n_left <= 0

    @property
    def winner(self) -> int:
        """0 if the older generation ranks at least as well, 1 if the younger one ranks better."""
        return int(self._win_rates[1] > self._win_rates[0])

    def get_state(self) -> State:
        """Return a copy of the state."""
        return {
            "confirmed": self.confirmed,
            "n_left": self._n_left,
            "win_rates": self._win_rates.copy(),
            "n_compared": self._n_compared,
        }

    @classmethod
    def from_state(cls, reader: StateReader) -> typing.Self:
        """Return the trial with this state."""
        trial = cls()
        trial.confirmed = reader.flag("confirmed")
        trial._n_left = reader.count("n_left", maximum=TRIAL_LENGTH)
        trial._win_rates = reader.array("win_rates", 2)
        trial._n_compared = reader.number("n_compared", minimum=0.0)
        trial.shares = shares_of(trial._win_rates, trial._n_compared)
        reader.finish()
        return trial
