"""The score of any classifier of river."""

from __future__ import annotations

import math
import typing

from river import base, compose

# Probabilities closer to 0 and 1 have no usable log odds.
_SMALLEST_PROBABILITY = 1e-9

Features = dict[base.typing.FeatureName, typing.Any]


def last_step(model: base.Estimator) -> base.Estimator:
    """Return the last step of a pipeline, or the model if it is none."""
    while isinstance(model, compose.Pipeline):
        model = model._last_step
    return model


def has_score(model: base.Estimator) -> bool:
    """Return whether a model has `score_one`."""
    # A pipeline always has the method, and its last step may not.
    return hasattr(last_step(model), "score_one")


def score_of(model: typing.Any, x: Features, **kwargs: typing.Any) -> float:
    """Return the score of a record, or the probability of True if the model has no `score_one`.

    Examples
    --------
    >>> from river import linear_model
    >>> from river_oauc.scores import score_of
    >>> score_of(linear_model.LogisticRegression(), {"amount": 12.5})
    0.5

    """
    if has_score(model):
        return float(model.score_one(x, **kwargs))
    return float(model.predict_proba_one(x, **kwargs).get(True, 0.0))


def unbounded_score(model: typing.Any, x: Features, **kwargs: typing.Any) -> float:
    """Return the score of a record, or its log odds if the model has probabilities only."""
    score = score_of(model, x, **kwargs)
    if has_score(model):
        return score
    p = min(max(score, _SMALLEST_PROBABILITY), 1.0 - _SMALLEST_PROBABILITY)
    return math.log(p / (1.0 - p))


def sortable(score: float) -> float:
    """Return a score that can be sorted: NaN counts as the lowest."""
    return score if score == score else -math.inf
