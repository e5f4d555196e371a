"""Gradient boosting that is retrained on the past as a stream grows."""

from __future__ import annotations

import datetime
import importlib.util
import math
import pickle
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.arrays import BoolArray, FloatArray
from river_oauc.cli.console.errors import UserError
from river_oauc.cli.models import Example
from river_oauc.metrics import exact_auc

__all__ = ["Retrained", "is_installed"]

# The first model needs `FIRST` examples, and both classes. A model is replaced when the new
# examples are this share of those that it was trained on, and at least this many.
FIRST, GROWTH, MIN_GROWTH = 300, 0.15, 500


def _fit_lightgbm(table: Any, labels: BoolArray) -> tuple[Any, Callable[[Any], FloatArray]]:
    import lightgbm

    model = lightgbm.LGBMClassifier(verbose=-1, n_jobs=1, random_state=0)
    model.fit(table, labels)
    return model, lambda rows: np.asarray(model.predict_proba(rows, raw_score=True))


def _fit_catboost(table: Any, labels: BoolArray) -> tuple[Any, Callable[[Any], FloatArray]]:
    import catboost

    model = catboost.CatBoostClassifier(
        verbose=0, thread_count=1, random_seed=0, allow_writing_files=False
    )
    categories = [] if sparse.issparse(table) else list(table.select_dtypes("category"))

    def filled(rows: Any) -> Any:
        """Name missing categories, which CatBoost does not take."""
        known = {name: rows[name].astype(object).fillna("missing") for name in categories}
        return rows.assign(**known) if categories else rows

    model.fit(filled(table), labels, cat_features=categories)
    return model, lambda rows: np.asarray(
        model.predict(filled(rows), prediction_type="RawFormulaVal")
    )


_FIT = {"LightGBM": _fit_lightgbm, "CatBoost": _fit_catboost}


def is_installed(library: str) -> bool:
    """Return whether a library is there."""
    return importlib.util.find_spec(library.lower()) is not None


class Retrained:
    """A library with default settings, trained again and again on the past of a stream.

    Until its first model the score is the running log prior odds. It scores all examples up to the
    next training at once, which costs less than one after the other. Columns of numbers are
    numbers, others are categories. Times are left out, or are hour and weekday: whichever has the
    higher AUC in the end.

    Parameters
    ----------
    library
        "LightGBM" or "CatBoost".
    window
        How many of the latest examples to train on; None for the whole past.

    """

    def __init__(self, library: str, window: int | None = None) -> None:
        if not is_installed(library):
            raise UserError(f"{library} is not installed: pip install {library.lower()}")
        self._fit = _FIT[library]
        self._window = window
        # Of the last training examples and the last model.
        self._raw_memory_usage = 0

    def follow(
        self, examples: Sequence[Example], max_seconds: float = math.inf
    ) -> tuple[FloatArray, BoolArray, float]:
        """Return the scores before learning, the labels, and the CPU seconds of the process.

        Stop after the training during which the seconds are spent.
        """
        labels = np.array([y for _, y in examples], dtype=bool)
        runs = [self.scores(table, labels, max_seconds) for table in _tables(examples)]
        scores, seconds = max(runs, key=lambda run: (len(run[0]), _auc(run[0], labels)))
        return scores, labels[: len(scores)], seconds

    def scores(
        self, table: Any, labels: BoolArray, max_seconds: float = math.inf
    ) -> tuple[FloatArray, float]:
        """Return the scores before learning, and the CPU seconds."""
        scores = _log_prior_odds(labels)
        both = {int(np.argmax(labels)), int(np.argmax(~labels))}
        if len(both) == 1:
            return scores, 0.0
        score: Any = None
        started = time.process_time()
        start, seconds = max(FIRST, *(first + 1 for first in both)), 0.0
        while start < len(labels) and seconds <= max_seconds:
            n_past = min(start, self._window or start)
            past = slice(start - n_past, start)
            stop = start + max(MIN_GROWTH, math.ceil(GROWTH * n_past))
            # A window of one class cannot be learned: the model before it stays.
            if len(set(labels[past].tolist())) == 2:
                model, score = self._fit(table[past], labels[past])
                self._raw_memory_usage = _n_bytes(table[past]) + len(pickle.dumps(model))
            scores[start:stop] = score(table[start:stop])
            start, seconds = stop, time.process_time() - started
        return scores[:start], seconds


def _auc(scores: FloatArray, labels: BoolArray) -> float:
    labels = labels[: len(scores)]
    return exact_auc(scores[labels], scores[~labels])


def _log_prior_odds(labels: BoolArray) -> FloatArray:
    """Return the log odds of a positive before each example, as if one of each had been seen."""
    n_positive = np.concatenate(([0], np.cumsum(labels)[:-1]))
    odds: FloatArray = np.log((n_positive + 1.0) / (np.arange(len(labels)) - n_positive + 1.0))
    return odds


def _n_bytes(table: Any) -> int:
    if sparse.issparse(table):
        return int(table.data.nbytes + table.indices.nbytes + table.indptr.nbytes)
    return int(table.memory_usage(deep=True).sum())


def _tables(examples: Sequence[Example]) -> list[Any]:
    """Return the features as a sparse matrix, or as data frames without and with times."""
    names = examples[0][0].keys()
    if any(x.keys() != names for x, _ in examples):
        return [_sparse_matrix(examples)]
    frames = [_frame(examples, with_times) for with_times in (False, True)]
    return frames[:1] if len(frames[0].columns) == len(frames[1].columns) else frames


def _sparse_matrix(examples: Sequence[Example]) -> Any:
    """Return a matrix of numbers, in which an absent feature is 0."""
    columns: dict[Any, int] = {}
    indices: list[int] = []
    values: list[float] = []
    ends = [0]
    for x, _ in examples:
        indices += [columns.setdefault(name, len(columns)) for name in x]
        values += x.values()
        ends.append(len(values))
    return sparse.csr_matrix(
        (np.array(values, dtype=np.float64), indices, ends), shape=(len(examples), len(columns))
    )


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
