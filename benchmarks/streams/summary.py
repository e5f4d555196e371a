"""What the runs have come to: for every model on every stream its best preparation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass

import numpy as np
from scipy import stats

from benchmarks.ranking import Ranking, rank
from benchmarks.streams.progress import Outcome
from benchmarks.streams.results import Cell
from benchmarks.streams.rivals import MODELS

__all__ = ["COSTS", "MEASURES", "Best", "Group", "Means", "means"]

MEASURES = {
    "auc": "Exact AUC",
    "auc_in_windows": "Mean AUC in windows of 500",
    "average_precision": "Average precision",
    "precision_at_top": "Precision among the top 1 %",
}
COSTS = {"microseconds": "µs per example", "kilobytes": "Memory, KiB"}

# The mean outcome over the seeds, by stream, model and scaler.
Means = Mapping[tuple[str, str, str], Outcome]


def means(outcomes: Mapping[Cell, Outcome], cells: Sequence[Cell]) -> Means:
    """The mean outcomes over the seeds of these cells."""
    runs: dict[tuple[str, str, str], list[Outcome]] = {}
    for cell in cells:
        runs.setdefault((cell.stream, cell.model, cell.scaler), []).append(outcomes[cell])
    return {
        key: Outcome(*np.mean([astuple(run) for run in own], axis=0).tolist())
        for key, own in runs.items()
    }


@dataclass(frozen=True)
class Best:
    """A figure of a model on a stream, and what the model stood behind."""

    value: float
    scaler: str


@dataclass(frozen=True)
class Group:
    """Streams that the same models have gone through.

    Parameters
    ----------
    title
        What they have in common.
    streams
        Their names.
    models
        The models.
    means
        The mean outcomes.

    """

    title: str
    streams: Sequence[str]
    models: Sequence[str]
    means: Means

    @property
    def is_ranked(self) -> bool:
        """Whether there are models to rank, one of ours among them."""
        return len(self.models) > 1 and any(MODELS[model].ours for model in self.models)

    def best(self, measure: str, stream: str, model: str) -> Best:
        """The highest figure over the scalers; of a cost, that of the highest AUC."""
        own = {scaler: self.means[stream, model, scaler] for scaler in MODELS[model].scalers}
        judged_by = "auc" if measure in COSTS else measure
        scaler = max(own, key=lambda name: float(getattr(own[name], judged_by)))
        return Best(getattr(own[scaler], measure), scaler)

    def column(self, measure: str, model: str) -> list[float]:
        """The figures of a model, a stream after the other."""
        return [self.best(measure, stream, model).value for stream in self.streams]

    def ranking(self, measure: str) -> Ranking:
        """The average ranks of the models."""
        return rank({model: self.column(measure, model) for model in self.models})

    def chance(self, measure: str) -> float | None:
        """Friedman's p-value, None of two models: how likely such ranks are among equals."""
        if len(self.models) < 3:
            return None
        columns = (self.column(measure, model) for model in self.models)
        return float(stats.friedmanchisquare(*columns).pvalue)

    @property
    def champion(self) -> str:
        """The one of ours with the best average rank by AUC."""
        return next(name for name in self.ranking("auc").ranks if MODELS[name].ours)

    def losses(self, margin: float) -> dict[str, dict[str, float]]:
        """By stream, the rivals with a higher AUC than our champion, and by how many points."""
        losses, champion = {}, self.champion
        for stream in self.streams:
            own = self.best("auc", stream, champion).value
            ahead = {
                model: self.best("auc", stream, model).value - own
                for model in self.models
                if not MODELS[model].ours
            }
            ahead = {model: points for model, points in ahead.items() if points > margin}
            if ahead:
                losses[stream] = dict(sorted(ahead.items(), key=lambda item: -item[1]))
        return losses
