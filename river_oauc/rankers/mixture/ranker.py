"""A mixture of linear and kernel experts, which follows change."""

from __future__ import annotations

import typing
from collections.abc import Sequence

import numpy as np

from river_oauc.rankers.base import Ranker, learn_with_new_features
from river_oauc.rankers.mixture.arrays import RecentRows
from river_oauc.rankers.mixture.change import ChangeDetector, Trial
from river_oauc.rankers.mixture.constants import N_REPLAYED
from river_oauc.rankers.mixture.generation import Generation
from river_oauc.state import FloatArray, Stateful, damage


class Expert(typing.TypedDict):
    """An expert: its name, its progressive AUC and its share in the score."""

    expert: str
    auc: float
    share: float


class MixtureRanker(Ranker):
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
    generations, trials
        The generations, the older one first, and the trial of the younger one, if there is one.
    detector
        What starts a trial.
    latest
        The latest examples, with importance and label.

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "drift_detected": bool, "n_drifts_detected": int, "generations": [Stateful],
        "trials": [Stateful], "detector": Stateful, "latest": Stateful,
    }  # fmt: skip

    def __init__(self, with_kernels: bool) -> None:
        self._with_kernels = with_kernels
        self.drift_detected = False
        self.n_drifts_detected = 0
        self.generations = [Generation(1, with_kernels)]
        self.trials: list[Trial] = []
        self.detector = ChangeDetector()
        self.latest = RecentRows(N_REPLAYED, 1, n_extras=2)

    @property
    def n_features(self) -> int:
        return self.generations[0].size

    @property
    def shared_generations(self) -> list[tuple[Generation, float]]:
        """The generations, the older one first, and their shares in the score."""
        if not self.trials:
            return [(self.generations[0], 1.0)]
        return list(zip(self.generations, self.trials[0].shares.tolist(), strict=True))

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
        if not self.trials:
            return self.generations[0].score(x)
        return sum(share * generation.score(x) for generation, share in self.shared_generations)

    def learn(self, x: FloatArray, positive: bool, weight: float) -> float:
        """Learn from an example, and return the score that it had before."""
        if len(x) > self.n_features:
            return float(learn_with_new_features(self, x, positive, weight))
        score, wins = 0.0, []
        for generation, share in self.shared_generations:
            generation_score, win = generation.learn(x, positive, weight)
            score += share * generation_score
            wins.append(win)
        self.latest.add(x, (weight, positive))
        self._follow_change(wins, positive, weight)
        return score

    def _follow_change(self, wins: Sequence[float | None], positive: bool, weight: float) -> None:
        """Start or end a trial, now that the generations have ranked an example like this."""
        self.drift_detected = False
        for trial in self.trials:
            was_confirmed = trial.confirmed
            trial.update(wins, weight)
            if trial.confirmed and not was_confirmed:
                self.drift_detected, self.n_drifts_detected = True, self.n_drifts_detected + 1
            if trial.is_over:
                self._keep(trial.winner)
            return
        if wins[0] is not None and self.detector.update(wins[0], positive):
            self._start_trial()

    def _start_trial(self) -> None:
        (older,) = self.generations
        younger = Generation(self.n_features, self._with_kernels)
        rows, extras = self.latest.in_order()
        for x, (weight, positive) in zip(rows, extras.tolist(), strict=True):
            younger.learn(x, bool(positive), weight)
        # The older one is not compared with scores from before the change.
        older.judge.forget_scores()
        self.generations, self.trials = [older, younger], [Trial()]

    def _keep(self, number: int) -> None:
        """End the trial, and keep one of the generations."""
        self.generations, self.trials = [self.generations[number]], []
        self.detector = ChangeDetector()

    def _end_trial(self) -> None:
        for trial in self.trials:
            self._keep(int(trial.shares.argmax()))

    def merge(self, other: MixtureRanker) -> None:
        """Merge the generations; a trial ends, and the one with the larger share stays."""
        self._end_trial()
        other._end_trial()
        (mine,), (theirs,) = self.generations, other.generations
        self.generations = [mine.merged(theirs)]
        self.drift_detected = False
        self.n_drifts_detected += other.n_drifts_detected
        self.detector.merge(other.detector)
        self.latest.merge(other.latest)

    def set_state(self, state: typing.Any) -> None:
        # A trial is one of two generations.
        if type(state) is dict and isinstance(state.get("trials"), list) and state["trials"]:
            self.trials = [Trial()]
            self.generations = [Generation(1, self._with_kernels) for _ in range(2)]
        super().set_state(state)

    def check_state(self) -> None:
        if {self.latest.size, *(each.size for each in self.generations)} != {self.n_features}:
            raise damage("the parts have different numbers of features")
