"""Base class of the ranking metrics, which store all scores and sort them on demand."""

from __future__ import annotations

import abc
import math
import numbers
from typing import Any

import numpy as np
from river import base, metrics

from river_oauc.limits import to_float
from river_oauc.metrics.bag import Entries, ScoreBag


class RankingMetric(metrics.base.BinaryMetric):
    """Base class of binary metrics that depend only on the order of the scores.

    Parameters
    ----------
    pos_val
        Value to treat as "positive". It is also the key of the score in predictions that are dicts;
        a dict without that key has score 0.

    """

    def __init__(self, pos_val: base.typing.ClfTarget = True) -> None:
        self.pos_val = pos_val
        self._positives = ScoreBag("positive")
        self._negatives = ScoreBag("negative")
        self._value: float | None = None

    @property
    def requires_labels(self) -> bool:
        return False

    def works_with(self, model: base.Estimator) -> bool:
        return super().works_with(model) or isinstance(
            model, base.AnomalyDetector | base.AnomalyFilter
        )

    def update(self, y_true: object, y_pred: float | dict[Any, float], w: float = 1.0) -> None:
        """Add an example.

        Parameters
        ----------
        y_true
            The label. Anything that does not equal `pos_val` is negative.
        y_pred
            The score, or a dict with the score under the key `pos_val`.
        w
            The importance weight, finite and at least 0. An example of weight 0 is ignored.

        """
        score, w = self._validate(y_pred, w)
        if w:
            self._bag(y_true).add(score, w)
            self._value = None

    def revert(self, y_true: object, y_pred: float | dict[Any, float], w: float = 1.0) -> None:
        """Remove an example that was added with the same label, score and weight."""
        score, w = self._validate(y_pred, w)
        if w:
            self._bag(y_true).remove(score, w)
            self._value = None

    def get(self) -> float:
        """Return the value over the examples so far."""
        if self._value is None:
            self._value = self._compute(
                self._positives.consolidate(), self._negatives.consolidate()
            )
        return self._value

    @abc.abstractmethod
    def _compute(self, positives: Entries, negatives: Entries) -> float:
        """Compute the value from the sorted entries of each class."""

    def _bag(self, y_true: object) -> ScoreBag:
        return self._positives if y_true == self.pos_val else self._negatives

    def _validate(self, y_pred: float | dict[Any, float], w: float) -> tuple[float, float]:
        """Return the score and the weight as floats, or raise a `ValueError`."""
        score = y_pred.get(self.pos_val, 0.0) if isinstance(y_pred, dict) else y_pred
        if not isinstance(score, float):
            score = _as_float(score, "score")
        if score != score:
            raise ValueError("the score is NaN, which cannot be ranked")
        if w != 1.0:
            w = _as_float(w, "weight")
            if not 0.0 <= w < math.inf:
                raise ValueError(f"the weight must be finite and at least 0, but it is {w}")
        return score, w


def _as_float(value: object, name: str) -> float:
    if not isinstance(value, (numbers.Real, np.bool_)):
        raise ValueError(f"the {name} must be a real number, but it is {value!r}")
    return to_float(value)
