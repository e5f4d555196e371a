"""A mixture of linear and kernel experts, which follows change."""

from __future__ import annotations

import typing
from collections.abc import Sequence

import numpy as np

from river_oauc.rankers.base import FloatArray, IntArray
from river_oauc.rankers.mixture.arrays import RecentRows
from river_oauc.rankers.mixture.change import ChangeDetector, Trial
from river_oauc.rankers.mixture.constants import N_REPLAYED
from river_oauc.rankers.mixture.generation import Generation
from river_oauc.rankers.mixture.units import Units
from river_oauc.state import State, StateReader


class Expert(typing.TypedDict):
    """An expert: its name, its progressive AUC and its share in the score."""

    expert: str
    auc: float
    share: float


class MixtureRanker:
    """A generation of experts, or two while a younger one is on trial.

    When the ranking breaks, a younger generation starts with the latest examples beside the older
    one. A false alarm costs little: the older one goes on, and the younger has a share only as far
    as it ranks better. After the trial the worse of the two goes.

    Parameters
    ----------
    with_kernels
        Whether there are kernel experts.

    Attributes
    ----------
    drift_detected
        Whether the last example has shown that the stream has changed: the younger generation is
        clearly ahead of the older one.
    n_drifts_detected
        How often that has happened.

    """

    def __init__(self, with_kernels: bool) -> None:
        self.drift_detected = False
        self.n_drifts_detected = 0
        self._with_kernels = with_kernels
        # Whether a younger generation may start.
        self._follows_change = True
        self.n_features = 1
        # The older one first.
        self._generations = [Generation(self.n_features, with_kernels)]
        self._trial: Trial | None = None
        self._detector = ChangeDetector()
        # With importance and label.
        self._latest = RecentRows(N_REPLAYED, 1, n_tags=2)

    @property
    def shared_generations(self) -> list[tuple[Generation, float]]:
        """The generations, the older one first, and their shares in the score."""
        if self._trial is None:
            return [(self._generations[0], 1.0)]
        return list(zip(self._generations, self._trial.shares.tolist(), strict=True))

    @property
    def experts(self) -> list[Expert]:
        """The progressive AUC of each expert, and its share in the score."""
        return [
            {"expert": prefix + name, "auc": auc, "share": generation_share * share}
            for prefix, (generation, generation_share) in zip(
                ("", "younger "), self.shared_generations, strict=False
            )
            for name, auc, share in zip(
                generation.expert_names,
                generation.judge.aucs[:-1].tolist(),
                generation.judge.shares.tolist(),
                strict=True,
            )
        ]

    def contributions(self, x: FloatArray) -> FloatArray:
        """Return by how much each feature moves the score from that of an unknown example.

        A linear score is a sum over the standardised features, of which an unknown one is 0. With
        kernels, the features become unknown one after the other, in order and in reverse, and the
        changes of the score are averaged. So they add up.
        """
        x = x[: self.n_features]
        changes = np.zeros(len(x))
        if not self._with_kernels:
            for generation, share in self.shared_generations:
                z = generation.units.standardize(x)
                changes += share * generation.linear_weights()[1:] * z
            return changes
        for order in (range(len(x)), reversed(range(len(x)))):
            rest, before = x.copy(), self.score(x)
            for j in order:
                rest[j] = np.nan
                score = self.score(rest)
                changes[j] += 0.5 * (before - score)
                before = score
        return changes

    def score(self, x: FloatArray) -> float:
        x = x[: self.n_features]
        if self._trial is None:
            return self._generations[0].score(x)
        return sum(share * generation.score(x) for generation, share in self.shared_generations)

    def learn(self, x: FloatArray, positive: bool, weight: float) -> float:
        if len(x) > self.n_features:
            self.reindex(np.arange(self.n_features), len(x))
        score, wins = 0.0, []
        for generation, share in self.shared_generations:
            generation_score, win = generation.learn(x, positive, weight)
            score += share * generation_score
            wins.append(win)
        self._latest.add(x, weight, positive)
        self._follow_change(wins, positive, weight)
        return score

    def _follow_change(self, wins: Sequence[float | None], positive: bool, weight: float) -> None:
        """Start or end a trial, now that the generations have ranked an example like this."""
        self.drift_detected = False
        trial = self._trial
        if trial is not None:
            was_confirmed = trial.confirmed
            trial.update(wins, weight)
            if trial.confirmed and not was_confirmed:
                self.drift_detected, self.n_drifts_detected = True, self.n_drifts_detected + 1
            if trial.is_over:
                self._keep(trial.winner)
        elif wins[0] is not None and self._detector.update(wins[0], positive):
            if self._follows_change:
                self._start_trial()

    def _start_trial(self) -> None:
        (older,) = self._generations
        younger = Generation(self.n_features, self._with_kernels)
        rows, tags = self._latest.oldest_first()
        for x, (weight, positive) in zip(rows, tags.tolist(), strict=True):
            younger.learn(x, bool(positive), weight)
        # The older one is not compared with scores from before the change.
        older.judge.forget_scores()
        self._generations, self._trial = [older, younger], Trial()

    def _keep(self, number: int) -> None:
        """End the trial, and keep one of the generations."""
        generations = [self._generations[number]]
        self._generations, self._trial, self._detector = generations, None, ChangeDetector()

    def _end_trial(self) -> None:
        if self._trial is not None:
            self._keep(int(self._trial.shares.argmax()))

    def merge(self, other: MixtureRanker) -> None:
        """Merge the generations; a trial ends, and the one with the larger share stays."""
        self._end_trial()
        other._end_trial()
        (mine,), (theirs,) = self._generations, other._generations
        self._generations = [mine.merged(theirs)]
        self.drift_detected = False
        self.n_drifts_detected += other.n_drifts_detected
        self._detector.merge(other._detector)
        self._latest.merge(other._latest)

    def reindex(self, positions: IntArray, n_features: int) -> None:
        generations = [each.reindexed(positions, n_features) for each in self._generations]
        latest = self._latest.reindexed(positions, n_features)
        self._generations, self._latest, self.n_features = generations, latest, n_features

    def prepare(self, units: Units, negative: FloatArray, positive: FloatArray) -> None:
        """Learn a part of a stream: in fixed units, and with landmarks from these examples.

        Rankers of other parts that were prepared alike can be merged exactly. The parts are no time
        series, so a change is not followed.
        """
        self.reindex(np.arange(self.n_features), len(units.mean))
        self._generations[0].prepare(units, negative, positive)
        self._follows_change = False

    def release(self) -> None:
        """Follow a stream again, after `prepare`."""
        for generation in self._generations:
            generation.units.fixed = False
            # Some solutions have been waiting for more examples.
            generation.solve_now()
        self._follows_change = True

    def get_state(self) -> State:
        return {
            "n_features": self.n_features,
            "drift_detected": self.drift_detected,
            "n_drifts_detected": self.n_drifts_detected,
            "follows_change": self._follows_change,
            "generations": [generation.get_state() for generation in self._generations],
            # One, if there are two generations.
            "trials": [] if self._trial is None else [self._trial.get_state()],
            "detector": self._detector.get_state(),
            "latest": self._latest.get_state(),
        }

    def set_state(self, reader: StateReader) -> None:
        self.n_features = size = reader.count("n_features", minimum=1)
        self.drift_detected = reader.flag("drift_detected")
        self.n_drifts_detected = reader.count("n_drifts_detected")
        self._follows_change = reader.flag("follows_change")
        trials = [Trial.from_state(each) for each in reader.readers("trials")]
        if len(trials) > 1:
            raise reader.error(f"it has {len(trials)} trials, and one at most")
        self._trial = trials[0] if trials else None
        self._generations = [
            Generation.from_state(each, size, self._with_kernels)
            for each in reader.readers("generations", 1 + len(trials))
        ]
        self._detector = ChangeDetector.from_state(reader.reader("detector"))
        self._latest = RecentRows.from_state(reader.reader("latest"), N_REPLAYED, size, n_tags=2)
        reader.finish()
