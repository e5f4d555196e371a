"""Progressive validation: each example of a stream is predicted and then learned."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.arrays import BoolArray, FloatArray
from river_oauc.cli.models import Example
from river_oauc.cli.retrained import Retrained
from river_oauc.metrics import average_precision, exact_auc, precision_at_k

__all__ = ["Cell", "Outcome", "auc", "auc_in_windows", "follow", "outcome_of"]

# Examples per window. Within windows no score gains from a changing share of positives.
WINDOW = 500
# Share of the examples that counts as the top of the ranking.
TOP = 0.01


class Cell(NamedTuple):
    """A run: the first examples of a stream, shuffled with a seed, and a model behind a scaler."""

    stream: str
    examples: int
    seed: int
    model: str
    scaler: str


class Outcome(NamedTuple):
    """The measures of a run, in percent but for time and memory.

    If the time was up before the end of the stream, `stopped_at` is the number of examples that
    the measures are about. The fields with defaults are missing in older journals.
    """

    auc: float
    auc_in_windows: float
    average_precision: float
    precision_at_top: float
    microseconds: float
    kilobytes: float
    auc_of_second_half: float = math.nan
    stopped_at: int | None = None


def follow(
    model: Any, examples: Iterable[Example], max_seconds: float = math.inf
) -> tuple[FloatArray, BoolArray, float]:
    """Return the probabilities before learning, the labels, and the CPU seconds of the thread.

    Stop early when the seconds are spent.
    """
    scores, labels, seconds = [], [], 0.0
    predict, learn, clock = model.predict_proba_one, model.learn_one, time.thread_time
    for x, y in examples:
        start = clock()
        prediction = predict(x)
        learn(x, y)
        seconds += clock() - start
        p = prediction.get(True, 0.0) if prediction else 0.5
        # `MinMaxScaler | LogisticRegression` predicts NaN for the first example.
        scores.append(0.5 if math.isnan(p) else p)
        labels.append(y)
        if seconds > max_seconds:
            break
    return np.array(scores), np.array(labels, dtype=bool), seconds


def outcome_of(model: Any, examples: Sequence[Example], max_seconds: float = math.inf) -> Outcome:
    """Measure an untrained model on a stream, for at most `max_seconds` of CPU time."""
    if isinstance(model, Retrained):
        scores, labels, seconds = model.follow(examples, max_seconds)
    else:
        scores, labels, seconds = follow(model, examples, max_seconds)
    n, half = len(labels), len(labels) // 2
    classes = scores[labels], scores[~labels]
    return Outcome(
        auc=100.0 * auc(scores, labels),
        auc_in_windows=100.0 * auc_in_windows(scores, labels),
        average_precision=100.0 * average_precision(*classes),
        precision_at_top=100.0 * precision_at_k(*classes, max(1, round(TOP * n))),
        microseconds=1e6 * seconds / n,
        kilobytes=model._raw_memory_usage / 1024,
        auc_of_second_half=100.0 * auc(scores[half:], labels[half:]),
        stopped_at=n if n < len(examples) else None,
    )


def auc(scores: FloatArray, labels: BoolArray) -> float:
    """Return the exact AUC, a tie counting one half."""
    return exact_auc(scores[labels], scores[~labels])


def auc_in_windows(scores: FloatArray, labels: BoolArray, window: int = WINDOW) -> float:
    """Return the mean AUC over the windows that have both classes."""
    windows = [slice(start, start + window) for start in range(0, len(labels), window)]
    aucs = [auc(scores[own], labels[own]) for own in windows if len(set(labels[own].tolist())) == 2]
    return float(np.mean(aucs)) if aucs else 0.5
