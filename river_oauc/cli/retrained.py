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
from numpy.typing import NDArray
from scipy import sparse

from river_oauc.cli.messages import UserError
from river_oauc.metrics import exact_auc

Example = tuple[dict[Any, Any], bool]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]

# The first model needs `FIRST` examples, and both classes. A model is replaced when the new
# examples are this share of those that it was trained on, and at least this many.
FIRST, GROWTH, MIN_GROWTH = 300, 0.15, 500


def _fit_lightgbm(table: Any, categories: list[int], labels: BoolArray) -> tuple[Any, Any]:
    import lightgbm

    # With more than one thread the sums, and so the trees, depend on the machine.
    options = {"objective": "binary", "verbose": -1, "num_threads": 1, "seed": 0}
    data = lightgbm.Dataset(table, labels, categorical_feature=categories)
    model = lightgbm.train(options, data)
    return model, lambda rows: np.asarray(model.predict(rows, raw_score=True))


def _fit_catboost(table: Any, categories: list[int], labels: BoolArray) -> tuple[Any, Any]:
    import catboost

    def prepared(rows: Any) -> Any:
        """CatBoost takes categories that are whole numbers; a missing one is another category."""
        if not categories:
            return rows
        mixed = rows.astype(object)
        mixed[:, categories] = np.nan_to_num(rows[:, categories], nan=-1.0).astype(int)
        return mixed

    model = catboost.CatBoostClassifier(
        verbose=0, thread_count=1, random_seed=0, allow_writing_files=False
    )
    model.fit(prepared(table), labels, cat_features=categories)
    return model, lambda rows: np.asarray(
        model.predict(prepared(rows), prediction_type="RawFormulaVal")
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
        self._fit: Callable[..., tuple[Any, Any]] = _FIT[library]
        self._window = window
        # Of the last training examples and the last model.
        self._raw_memory_usage = 0

    def follow(
        self,
        examples: Sequence[Example],
        max_seconds: float = math.inf,
        arrivals: IntArray | None = None,
    ) -> tuple[FloatArray, BoolArray, float]:
        """Return the scores before learning, the labels, and the CPU seconds of the process.

        Parameters
        ----------
        examples
            The stream.
        max_seconds
            Stop after the training during which the seconds are spent.
        arrivals
            After the score of which example each label comes; by default at once.

        """
        labels = np.array([y for _, y in examples], dtype=bool)
        n = np.arange(len(labels))
        # How many labels are known before each example.
        n_known = np.searchsorted(n if arrivals is None else arrivals, n)
        runs = [self._scores(*table, labels, n_known, max_seconds) for table in _tables(examples)]
        scores, seconds = max(runs, key=lambda run: (len(run[0]), _auc(run[0], labels)))
        return scores, labels[: len(scores)], seconds

    def _scores(
        self,
        table: Any,
        categories: list[int],
        labels: BoolArray,
        n_known: IntArray,
        max_seconds: float,
    ) -> tuple[FloatArray, float]:
        """Return the scores before learning, and the CPU seconds."""
        n_positive = np.concatenate(([0], np.cumsum(labels)))[n_known]
        scores: FloatArray = np.log((n_positive + 1.0) / (n_known - n_positive + 1.0))
        is_ready = (n_known >= FIRST) & (n_positive > 0) & (n_positive < n_known)
        start, seconds, started = _first(is_ready), 0.0, time.process_time()
        score: Any = None
        while start < len(labels) and seconds <= max_seconds:
            past = slice(max(0, n_known[start] - (self._window or n_known[start])), n_known[start])
            growth = max(MIN_GROWTH, math.ceil(GROWTH * (past.stop - past.start)))
            stop = _first(n_known >= past.stop + growth)
            # A window of one class cannot be learned: the model before it stays.
            if len(set(labels[past].tolist())) == 2:
                model, score = self._fit(table[past], categories, labels[past])
                self._raw_memory_usage = _n_bytes(table[past]) + len(pickle.dumps(model))
            scores[start:stop] = score(table[start:stop])
            start, seconds = stop, time.process_time() - started
        return scores[:start], seconds


def _first(flags: BoolArray) -> int:
    """Return the first index with a flag, or the length if there is none."""
    return int(flags.argmax()) if flags.any() else len(flags)


def _auc(scores: FloatArray, labels: BoolArray) -> float:
    labels = labels[: len(scores)]
    return exact_auc(scores[labels], scores[~labels])


def _n_bytes(table: Any) -> int:
    parts = [table.data, table.indices, table.indptr] if sparse.issparse(table) else [table]
    return sum(part.nbytes for part in parts)


def _tables(examples: Sequence[Example]) -> list[tuple[Any, list[int]]]:
    """Return the features as an array, with which of its columns are categories.

    There is another one with times, if there are any. If records have different features, they are
    a sparse matrix of numbers, in which an absent feature is 0.
    """
    names = list(examples[0][0])
    if any(x.keys() != examples[0][0].keys() for x, _ in examples):
        return [_sparse_matrix(examples)]
    columns: list[tuple[str, FloatArray]] = []
    for name in names:
        values = [x[name] for x, _ in examples]
        known = {value for value in values if value is not None}
        if known and all(isinstance(value, datetime.date) for value in known):
            columns += [("time", part) for part in np.array([*map(_hour_and_weekday, values)]).T]
        elif all(isinstance(value, int | float) for value in known):
            columns.append(("number", np.array(values, dtype=float)))
        else:
            codes = {text: i for i, text in enumerate(sorted(map(str, known)))}
            coded = np.array([codes.get(str(value), math.nan) for value in values])
            columns.append(("category", coded))
    timeless = [column for column in columns if column[0] != "time"]
    return [
        (
            np.column_stack([values for _, values in table]),
            [i for i, (kind, _) in enumerate(table) if kind == "category"],
        )
        for table in ([timeless, columns] if 0 < len(timeless) < len(columns) else [columns])
    ]


def _sparse_matrix(examples: Sequence[Example]) -> tuple[Any, list[int]]:
    positions: dict[Any, int] = {}
    indices: list[int] = []
    values: list[float] = []
    ends = [0]
    for x, _ in examples:
        for name, value in x.items():
            # A category is a feature of its own.
            is_number = isinstance(value, int | float)
            if value is not None:
                key = name if is_number else (name, str(value))
                indices.append(positions.setdefault(key, len(positions)))
                values.append(float(value) if is_number else 1.0)
        ends.append(len(values))
    matrix = sparse.csr_matrix((np.array(values), indices, ends), (len(examples), len(positions)))
    return matrix, []


def _hour_and_weekday(value: datetime.date | None) -> tuple[float, float]:
    if value is None:
        return math.nan, math.nan
    if not isinstance(value, datetime.datetime):
        return 0.0, float(value.weekday())
    return value.hour + value.minute / 60.0, float(value.weekday())
