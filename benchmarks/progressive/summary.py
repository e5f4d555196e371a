"""Summary of the runs: for each model and set the figure behind the best scaler."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import stats

from benchmarks.progressive.models import Model
from benchmarks.progressive.validation import Cell, Outcome
from benchmarks.ranking import Ranking, rank

__all__ = ["COSTS", "MEASURES", "Figure", "Group", "Means", "means"]

MEASURES = {
    "auc": "Exact AUC",
    "auc_in_windows": "Mean AUC in windows of 500",
    "auc_of_second_half": "AUC over the second half",
    "average_precision": "Average precision",
    "precision_at_top": "Precision among the top 1 %",
}
COSTS = {"microseconds": "µs per example", "kilobytes": "Memory, KiB"}

# Mean outcomes over the seeds, by set, model and scaler.
Means = Mapping[tuple[str, str, str], Outcome]


def means(outcomes: Mapping[Cell, Outcome], cells: Sequence[Cell]) -> Means:
    """Average the outcomes of these cells over the seeds."""
    runs: dict[tuple[str, str, str], list[Outcome]] = {}
    for cell in cells:
        runs.setdefault((cell.stream, cell.model, cell.scaler), []).append(outcomes[cell])
    return {key: _mean(own) for key, own in runs.items()}


def _mean(runs: Sequence[Outcome]) -> Outcome:
    figures = np.mean([run[:-1] for run in runs], axis=0).tolist()
    stops = [run.stopped_at for run in runs if run.stopped_at is not None]
    return Outcome._make([*figures, min(stops, default=None)])


@dataclass(frozen=True)
class Figure:
    """A figure of a model on a set, the scaler in front of the model, and where it stopped."""

    value: float
    scaler: str
    stopped_at: int | None = None

    @property
    def is_whole(self) -> bool:
        """Whether it is about all examples, and was measured."""
        return self.stopped_at is None and not math.isnan(self.value)


@dataclass(frozen=True)
class Group:
    """Sets that the same models ran on.

    Parameters
    ----------
    title
        Heading of the group.
    sets
        Names of the sets.
    models
        The models by name. The first of ours is compared with the rivals.
    means
        The mean outcomes, once there are some.
    to_rank
        Whether to rank the models; False for sets that are shown apart.

    """

    title: str
    sets: Sequence[str]
    models: Mapping[str, Model]
    means: Means = field(default_factory=dict)
    to_rank: bool = True

    @property
    def titles(self) -> dict[str, str]:
        """The titles of the measures and costs that were taken; older journals lack some."""
        return {
            measure: title
            for measure, title in (MEASURES | COSTS).items()
            if not all(math.isnan(getattr(outcome, measure)) for outcome in self.means.values())
        }

    def best(self, measure: str, name: str, model: str) -> Figure:
        """Return the figure behind the best scaler; for a cost, behind that of the best AUC.

        A run that got to the end comes before one that did not.
        """
        own = {each: self.means[name, model, each] for each in self.models[model].scalers}
        judged_by = "auc" if measure in COSTS else measure
        scaler = max(own, key=lambda s: (own[s].stopped_at is None, getattr(own[s], judged_by)))
        return Figure(getattr(own[scaler], measure), scaler, own[scaler].stopped_at)

    def column(self, measure: str, model: str) -> list[Figure]:
        """Return the figures of a model on the sets, in order."""
        return [self.best(measure, name, model) for name in self.sets]

    def complete(self, measure: str) -> dict[str, list[float]]:
        """Return the figures of the models that got to the end of all sets."""
        columns = {model: self.column(measure, model) for model in self.models}
        return {
            model: [figure.value for figure in column]
            for model, column in columns.items()
            if all(figure.is_whole for figure in column)
        }

    def is_ranked(self, measure: str = "auc") -> bool:
        """Return whether there are two models to rank, one of them our champion."""
        complete = self.complete(measure)
        return self.to_rank and len(complete) > 1 and self.champion in complete

    def ranking(self, measure: str) -> Ranking:
        """Rank the models that got to the end of all sets."""
        return rank(self.complete(measure))

    def friedman_p_value(self, measure: str) -> float | None:
        """Return the p-value of Friedman's test that all models rank alike; None for two models."""
        columns = self.complete(measure).values()
        return float(stats.friedmanchisquare(*columns).pvalue) if len(columns) > 2 else None

    @property
    def champion(self) -> str | None:
        """The model of ours that is compared with the rivals."""
        return next((name for name, model in self.models.items() if model.ours), None)

    @property
    def rivals(self) -> list[str]:
        """The models that are not ours."""
        return [name for name, model in self.models.items() if not model.ours]

    def leads(self, measure: str, rival: str) -> dict[str, float]:
        """Return by how much a rival is ahead of our champion on the sets that both finished."""
        assert self.champion is not None
        pairs = zip(self.column(measure, rival), self.column(measure, self.champion), strict=True)
        return {
            name: theirs.value - own.value
            for name, (theirs, own) in zip(self.sets, pairs, strict=True)
            if theirs.is_whole and own.is_whole
        }
