"""Gradient boosting that is retrained on the whole past as a stream grows."""

from __future__ import annotations

import datetime
import importlib.util
import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.arrays import BoolArray, FloatArray
from benchmarks.streams.progress import auc
from river_oauc.cli.console.errors import UserError
from river_oauc.cli.models import Example

__all__ = ["IS_INSTALLED", "scores_of_lightgbm"]

IS_INSTALLED = importlib.util.find_spec("lightgbm") is not None

# The model is retrained whenever the stream has grown by this share, and by that many examples. The
# first model needs both classes.
GROWTH, MIN_GROWTH, FIRST = 0.15, 500, 300


def scores_of_lightgbm(examples: Sequence[Example]) -> tuple[FloatArray, BoolArray, float]:
    """Return the scores before learning, the labels, and the CPU seconds of training and scoring.

    Until the first model the score is the running log prior odds. Times are left out, or are hour
    and weekday: whichever has the higher AUC in the end.
    """
    if not IS_INSTALLED:
        raise UserError("LightGBM is not installed: pip install lightgbm")
    labels = np.array([y for _, y in examples], dtype=bool)
    frames = [_frame(examples, with_times) for with_times in (False, True)]
    if list(frames[0]) == list(frames[1]):
        frames.pop()
    runs = [_progressive_scores(frame, labels) for frame in frames]
    scores, seconds = max(runs, key=lambda run: auc(run[0], labels))
    return scores, labels, seconds


def _progressive_scores(frame: Any, labels: BoolArray) -> tuple[FloatArray, float]:
    import lightgbm

    scores = _log_prior_odds(labels)
    started = time.process_time()
    start = FIRST
    while start < len(labels) and len(set(labels[:start].tolist())) < 2:
        start += 1
    while start < len(labels):
        stop = start + max(MIN_GROWTH, math.ceil(GROWTH * start))
        model = lightgbm.LGBMClassifier(verbose=-1, n_jobs=1, random_state=0)
        model.fit(frame[:start], labels[:start])
        scores[start:stop] = model.predict_proba(frame[start:stop], raw_score=True)
        start = stop
    return scores, time.process_time() - started


def _log_prior_odds(labels: BoolArray) -> FloatArray:
    """Return the log odds of a positive before each example, as if one of each had been seen."""
    n_positive = np.concatenate(([0], np.cumsum(labels)[:-1]))
    odds: FloatArray = np.log((n_positive + 1.0) / (np.arange(len(labels)) - n_positive + 1.0))
    return odds


def _frame(examples: Sequence[Example], with_times: bool) -> Any:
    """Return the features: columns of numbers as they are, and others as categories."""
    import pandas as pd

    columns = {}
    for name in examples[0][0]:
        values = [x[name] for x, _ in examples]
        known = [value for value in values if value is not None]
        if known and all(isinstance(value, datetime.date) for value in known):
            if with_times:
                parts = zip(*map(_hour_and_weekday, values), strict=True)
                for part, numbers in zip(("hour", "weekday"), parts, strict=True):
                    columns[name, part] = pd.Series(numbers, dtype=float)
        elif all(isinstance(value, int | float) for value in known):
            columns[name, ""] = pd.Series(values, dtype=float)
        else:
            texts = [None if value is None else str(value) for value in values]
            columns[name, ""] = pd.Series(texts, dtype="category")
    # LightGBM refuses some characters in names.
    return pd.DataFrame({f"feature{i}": column for i, column in enumerate(columns.values())})


def _hour_and_weekday(value: Any) -> tuple[float, float]:
    if value is None:
        return math.nan, math.nan
    if not isinstance(value, datetime.datetime):
        return 0.0, float(value.weekday())
    return value.hour + value.minute / 60.0, float(value.weekday())
