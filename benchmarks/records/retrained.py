"""Gradient boosting that is retrained on the whole past as a stream grows."""

from __future__ import annotations

import datetime
import importlib.util
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.arrays import BoolArray, FloatArray
from benchmarks.streams.progress import auc
from river_oauc.cli.console.errors import UserError
from river_oauc.cli.models import Example

__all__ = ["RETRAINED", "Scores", "is_installed", "scores_of"]

Scores = tuple[FloatArray, BoolArray, float]

# The model is retrained whenever the stream has grown by this share, and by that many examples. The
# first model needs both classes.
GROWTH, MIN_GROWTH, FIRST = 0.15, 500, 300


def _fit_lightgbm(frame: Any, labels: BoolArray) -> Callable[[Any], FloatArray]:
    import lightgbm

    model = lightgbm.LGBMClassifier(verbose=-1, n_jobs=1, random_state=0)
    model.fit(frame, labels)
    return lambda rows: np.asarray(model.predict_proba(rows, raw_score=True))


def _fit_catboost(frame: Any, labels: BoolArray) -> Callable[[Any], FloatArray]:
    import catboost

    model = catboost.CatBoostClassifier(
        verbose=0, thread_count=1, random_seed=0, allow_writing_files=False
    )
    categories = [name for name in frame if frame[name].dtype == "category"]
    # CatBoost takes no missing categories.
    known = {name: frame[name].cat.add_categories("missing") for name in categories}
    filled = {name: column.fillna("missing").astype(str) for name, column in known.items()}
    model.fit(frame.assign(**filled), labels, cat_features=categories)
    return lambda rows: model.predict(
        rows.assign(**{name: rows[name].astype(object).fillna("missing") for name in categories}),
        prediction_type="RawFormulaVal",
    )


# How a model is trained, by its name. It returns the function that scores.
RETRAINED = {"LightGBM": _fit_lightgbm, "CatBoost": _fit_catboost}


def is_installed(name: str) -> bool:
    """Return whether a library is there."""
    return importlib.util.find_spec(name.lower()) is not None


def scores_of(name: str, examples: Sequence[Example]) -> Scores:
    """Return the scores before learning, the labels, and the CPU seconds of training and scoring.

    Until the first model the score is the running log prior odds. Times are left out, or are hour
    and weekday: whichever has the higher AUC in the end.
    """
    if not is_installed(name):
        raise UserError(f"{name} is not installed: pip install {name.lower()}")
    labels = np.array([y for _, y in examples], dtype=bool)
    frames = [_frame(examples, with_times) for with_times in (False, True)]
    if list(frames[0]) == list(frames[1]):
        frames.pop()
    runs = [progressive_scores(RETRAINED[name], frame, labels) for frame in frames]
    scores, seconds = max(runs, key=lambda run: auc(run[0], labels))
    return scores, labels, seconds


def progressive_scores(
    fit: Callable[[Any, BoolArray], Callable[[Any], FloatArray]], frame: Any, labels: BoolArray
) -> tuple[FloatArray, float]:
    """Return the scores before learning, and the CPU seconds."""
    scores = _log_prior_odds(labels)
    started = time.process_time()
    start = FIRST
    while start < len(labels) and len(set(labels[:start].tolist())) < 2:
        start += 1
    while start < len(labels):
        stop = start + max(MIN_GROWTH, math.ceil(GROWTH * start))
        score = fit(frame[:start], labels[:start])
        scores[start:stop] = score(frame[start:stop])
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
