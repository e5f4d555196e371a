"""Summary of the runs: for each model and stream the figure behind the best scaler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from benchmarks.ranking import Ranking, rank
from benchmarks.streams.progress import Cell, Outcome
from benchmarks.streams.rivals import MODELS

__all__ = ["COSTS", "MEASURES", "Best", "Group", "Means", "means"]

MEASURES = {
    "auc": "Exact AUC",
    "auc_in_windows": "Mean AUC in windows of 500",
    "average_precision": "Average precision",
    "precision_at_top": "Precision among the top 1 %",
}
COSTS = {"microseconds": "µs per example", "kilobytes": "Memory, KiB"}

# Mean outcomes over the seeds, by stream, model and scaler.
Means = Mapping[tuple[str, str, str], Outcome]


def means(outcomes: Mapping[Cell, Outcome], cells: Sequence[Cell]) -> Means:
    """Average the outcomes of these cells over the seeds."""
    runs: dict[tuple[str, str, str], list[Outcome]] = {}
    for cell in cells:
        runs.setdefault((cell.stream, cell.model, cell.scaler), []).append(outcomes[cell])
    return {key: Outcome(*np.mean(own, axis=0).tolist()) for key, own in runs.items()}


@dataclass(frozen=True)
class Best:
    """A figure of a model on a stream, and the scaler in front of the model."""

    value: float
    scaler: str


@dataclass(frozen=True)
class Group:
    """Streams that the same models ran on.

    Parameters
    ----------
    title
        Heading of the group.
    streams
        Names of the streams.
    models
        Names of the models.
    means
        The mean outcomes.

    """

    title: str
    streams: Sequence[str]
    models: Sequence[str]
    means: Means

    @property
    def is_ranked(self) -> bool:
        """Whether there are at least two models, one of them ours."""
        return len(self.models) > 1 and any(MODELS[model].ours for model in self.models)

    def best(self, measure: str, stream: str, model: str) -> Best:
        """Return the figure behind the best scaler; for a cost, behind that of the best AUC."""
        own = {scaler: self.means[stream, model, scaler] for scaler in MODELS[model].scalers}
        judged_by = "auc" if measure in COSTS else measure
        scaler = max(own, key=lambda name: float(getattr(own[name], judged_by)))
        return Best(getattr(own[scaler], measure), scaler)

    def column(self, measure: str, model: str) -> list[float]:
        """Return the figures of a model on the streams, in order."""
        return [self.best(measure, stream, model).value for stream in self.streams]

    def ranking(self, measure: str) -> Ranking:
        """Rank the models."""
        return rank({model: self.column(measure, model) for model in self.models})

    def friedman_p_value(self, measure: str) -> float | None:
        """Return the p-value of Friedman's test that all models rank alike; None for two models."""
        if len(self.models) < 3:
            return None
        columns = (self.column(measure, model) for model in self.models)
        return float(stats.friedmanchisquare(*columns).pvalue)

    @property
    def champion(self) -> str:
        """Our model with the best average rank by AUC."""
        return next(name for name in self.ranking("auc").ranks if MODELS[name].ours)

    def losses(self, margin: float) -> dict[str, dict[str, float]]:
        """Return by stream the rivals with a higher AUC than our champion, and their leads."""
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
