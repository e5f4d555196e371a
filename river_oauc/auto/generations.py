"""Change: when the ranking breaks, a younger engine starts beside the elder."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from river_oauc.auto.engine import Engine
from river_oauc.auto.judge import shares_of
from river_oauc.inputs.arrays import FloatArray, Size, resized
from river_oauc.inputs.records import Record
from river_oauc.stats.samples import newest_of_both
from river_oauc.stats.units import Units

__all__ = ["Generations"]

# The ranking breaks if the win rate of the last hundred examples or so is so far below the long-run
# one; of each class there must have been so many.
_N_RECENT, _DROP, _N_OF_EACH = 100, 0.1, 32

# The younger engine starts on so many recent examples, and has so many more to prove itself.
_N_REPLAYED, _TRIAL = 100, 2000

# The two are mixed by their win rates over about so many examples.
_MEMORY = 300


class Generations(Record):
    """An engine, or two of them while a younger one is on trial.

    A false alarm costs little: the elder goes on, and the younger has a share only as far as it
    ranks better. After the trial the worse of the two goes.

    Parameters
    ----------
    size
        Length of the vectors.
    with_kernels
        Whether the engines have experts over similarities to landmarks.

    Attributes
    ----------
    engines
        The engines, the elder first.
    shares
        Their shares in the score.

    """

    __fields__ = (
        "_with_kernels",
        "_looks_for_change",
        "engines",
        "shares",
        "_latest",
        "_n_judged",
        "_recent_rate",
        "_long_run_rate",
        "_trial",
        "_leads",
        "_n_compared",
    )

    def __init__(self, size: int, with_kernels: bool) -> None:
        self._with_kernels = with_kernels
        # Whether a younger engine may start.
        self._looks_for_change = True
        self.engines = [Engine(size, with_kernels)]
        self.shares: FloatArray = np.ones(1)
        self._latest: list[tuple[FloatArray, bool, float]] = []
        self._watch()

    def _watch(self) -> None:
        """Begin to watch one engine."""
        self._n_judged = [0, 0]
        self._recent_rate = 0.0
        self._long_run_rate = 0.0
        self._trial = 0
        self._leads: FloatArray = np.zeros(2)
        self._n_compared = 0.0

    def prepare(self, units: Units, negative: FloatArray, positive: FloatArray) -> None:
        """Learn a part of a stream, in fixed units and with landmarks from these examples.

        The parts of a stream are no time series: no change is looked for.
        """
        (engine,) = self.engines
        engine.prepare(units, negative, positive)
        self._looks_for_change = False

    def release(self) -> None:
        """Follow a stream again."""
        for engine in self.engines:
            engine.units.set_free()
            # What waits for more examples to come is solved for.
            engine.solve_anew()
        self._looks_for_change = True

    def shared(self) -> Iterator[tuple[Engine, float]]:
        """The engines, the elder first, with their shares in the score."""
        return zip(self.engines, self.shares.tolist(), strict=True)

    def score(self, x: FloatArray) -> float:
        """The score of an example."""
        engine = self.engines[0]
        if len(self.engines) == 1:
            return engine.score(x)
        score = 0.0
        for engine, share in self.shared():
            score += share * engine.score(x)
        return score

    def learn(self, x: FloatArray, positive: bool, w: float) -> float:
        """Learn from an example; returns its score before. The array is kept."""
        results = []
        for engine in self.engines:
            results.append(engine.learn(x, positive, w))
        self._latest.append((x, positive, w))
        if len(self._latest) > _N_REPLAYED:
            del self._latest[0]
        if len(results) == 1:
            ((score, win),) = results
            if win is not None and self._breaks(win, positive) and self._looks_for_change:
                self._start_trial()
            return score
        scores, wins = zip(*results, strict=True)
        score = float(self.shares.dot(scores))
        self._compare(wins, w)
        return score

    def _breaks(self, win: float, positive: bool) -> bool:
        """Whether the ranking breaks, now that the latest example has this win rate."""
        n_judged = self._n_judged
        n_judged[positive] += 1
        n = n_judged[0] + n_judged[1]
        self._recent_rate += (win - self._recent_rate) / (n if n < _N_RECENT else _N_RECENT)
        self._long_run_rate += (win - self._long_run_rate) / n
        return self._long_run_rate - self._recent_rate > _DROP and min(n_judged) >= _N_OF_EACH

    def _start_trial(self) -> None:
        (elder,) = self.engines
        younger = Engine(elder.size, self._with_kernels)
        for x, positive, w in self._latest:
            younger.learn(x, positive, w)
        # The elder is no longer compared with what it scored before the change.
        elder.judge.forget_scores()
        self.engines = [elder, younger]
        self.shares = np.full(2, 0.5)
        self._trial = _TRIAL

    def _compare(self, wins: tuple[float | None, ...], w: float) -> None:
        """Share the score between the two engines by how they rank, and end the trial in time."""
        if None not in wins:
            self._n_compared = self._n_compared * (1.0 - 1.0 / _MEMORY) + w
            self._leads += w / self._n_compared * (np.array(wins, float) - self._leads)
            self.shares = shares_of(self._leads, self._n_compared)
        self._trial -= 1
        if self._trial <= 0:
            self._keep(int(self._leads[1] > self._leads[0]))

    def pool(self, other: Generations) -> None:
        """Add what others have learned from another part of the stream, who are used up.

        A trial ends: of two engines the one with the larger share stays.
        """
        self._end_trial()
        other._end_trial()
        (mine,), (theirs,) = self.engines, other.engines
        if not mine.has_learned:
            self.engines = [theirs]
        elif theirs.has_learned:
            mine.pool(theirs)
        n, n_other = sum(self._n_judged), sum(other._n_judged)
        if n_other:
            share = n_other / (n + n_other)
            self._recent_rate += share * (other._recent_rate - self._recent_rate)
            self._long_run_rate += share * (other._long_run_rate - self._long_run_rate)
            for of_class in (0, 1):
                self._n_judged[of_class] += other._n_judged[of_class]
        both = self._latest + other._latest
        kept = newest_of_both(len(self._latest), len(other._latest), _N_REPLAYED)
        self._latest = [both[position] for position in kept]

    def _end_trial(self) -> None:
        if len(self.engines) == 2:
            self._keep(int(self.shares.argmax()))

    def _keep(self, number: int) -> None:
        """Keep one of two engines."""
        self.engines = [self.engines[number]]
        self.shares = np.ones(1)
        self._watch()

    def resize(self, size: Size) -> None:
        """Make room for more features, which have been 0 so far, or give up the last ones."""
        for engine in self.engines:
            engine.resize(size)
        self._latest = [(resized(x, size), positive, w) for x, positive, w in self._latest]
