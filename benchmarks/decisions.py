"""`python -m benchmarks decisions`: do alerts keep their budget, their rate and their cost?"""

from __future__ import annotations

import argparse
import functools
import pathlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from river import base

from benchmarks.arrays import BoolArray, FloatArray
from benchmarks.examples import examples_of
from benchmarks.markdown import markdown_table
from benchmarks.records.sets import read_set
from river_oauc import AutoOAUC, SparseOAUCM
from river_oauc.cli.console import positive_int, print_table, progress_bar, say
from river_oauc.cli.messages import known_names
from river_oauc.cli.models import Example
from river_oauc.decisions import AlertBudget, FalsePositiveRate, MinimumCost
from river_oauc.files import replace_file

__all__ = [
    "Outcome",
    "add_arguments",
    "least_cost",
    "outcome_of",
    "progressive_scores",
    "run",
    "top_of_windows",
]

_MODELS: dict[str, Callable[[], Any]] = {
    "AutoOAUC": functools.partial(AutoOAUC, seed=1),
    "SparseOAUCM": SparseOAUCM,
}

_STREAMS = (
    "a9a", "ai4i2020", "bank", "census_income", "cover", "diabetes130", "elec2", "hate_speech",
    "kdd99_10", "letter_z", "mammography", "noaa_weather", "nsl_kdd20", "occupancy", "reuters21578",
    "w8a",
)  # fmt: skip
_RECORDS = (
    "adult", "ai4i2020", "bank", "bird_strikes", "census_income", "crash_deaths", "diabetes130",
    "fdh_simulated", "food_inspections", "hotel_bookings", "kdd99_10", "nsl_kdd20", "nyc_flights",
    "shoppers", "taiwan_credit", "weather_aus",
)  # fmt: skip
_SETS = (*_STREAMS, *(f"records/{name}" for name in _RECORDS))

# The constants of the wrappers were chosen on these sets, and on none of the others.
_TUNED = frozenset(
    {
        "a9a", "adult", "bank", "crash_deaths", "elec2", "food_inspections", "hate_speech",
        "kdd99_10", "mammography", "nsl_kdd20", "occupancy", "shoppers", "w8a",
    }
)  # fmt: skip

_RATE = 0.01
_MISS_COSTS = (50.0, 10.0)

# The budget is compared with the true top of windows of this size.
_WINDOW = 5_000

# Shares are those of the second half, if it has at least this many records or negatives.
_MIN_RECORDS, _MIN_NEGATIVES = 10_000, 5_000


class Outcome(NamedTuple):
    """What the wrappers did with one set; shares in percent, NaN where there are too few records.

    The costs are those of the whole stream, per cost of the best fixed threshold.
    """

    share_flagged: float
    precision: float
    precision_of_top: float
    false_positive_rate: float
    cost_50: float
    cost_10: float


class Replay(base.Classifier):
    """A model with scores that have been computed before: records are their numbers."""

    def __init__(self, scores: FloatArray) -> None:
        self.scores = scores

    def learn_one(self, x: Mapping[Any, Any], y: base.typing.ClfTarget) -> None:
        """Do nothing."""

    def predict_proba_one(self, x: Mapping[Any, Any], **_: Any) -> dict[Any, float]:
        """Return nothing: the wrappers use scores."""
        return {}

    def score_one(self, x: Mapping[Any, Any]) -> float:
        """Return the score of a record."""
        return float(self.scores[x["row"]])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"(default: all) {', '.join(_SETS)}")
    parser.add_argument("--model", choices=[*_MODELS], default="AutoOAUC")
    parser.add_argument(
        "--limit", type=positive_int, default=40_000, help="examples per set (%(default)s)"
    )
    parser.add_argument("--markdown", type=pathlib.Path, help="file to write the table to")


def run(args: argparse.Namespace) -> int:
    """Measure and print the table."""
    names = known_names("set", args.sets or [*_SETS], [*_SETS])
    outcomes = {}
    with progress_bar("decisions") as bar:
        task = bar.add_task("", total=len(names))
        for name in names:
            outcomes[name] = outcome_of(
                *progressive_scores(_MODELS[args.model](), _examples(name, args.limit))
            )
            bar.advance(task)
    rows = [
        [
            "set",
            "flagged",
            "precision",
            "of the true top",
            "negatives flagged",
            "cost 50",
            "cost 10",
        ]
    ]
    for name, outcome in outcomes.items():
        star = "" if name.removeprefix("records/") in _TUNED else "*"
        rows.append([name + star, *_cells(outcome)])
    rows.append(["mean", *_cells(Outcome(*map(_mean, zip(*outcomes.values(), strict=True))))])
    console = Console()
    say(console, f"{args.model}; flagged, precision and negatives flagged in percent")
    print_table(console, rows)
    if args.markdown is not None:
        replace_file(args.markdown, f"{markdown_table(rows)}\n".encode())
    return 0


def _examples(name: str, limit: int) -> Sequence[Example]:
    if name.startswith("records/"):
        return read_set(name.removeprefix("records/"), limit)
    return examples_of(name, limit, 0)


def _mean(values: Sequence[float]) -> float:
    """Return the mean of what has been measured."""
    measured = [value for value in values if not np.isnan(value)]
    return float(np.mean(measured)) if measured else np.nan


def _cells(outcome: Outcome) -> list[str]:
    decimals = (2, 1, 1, 2, 2, 2)
    return [
        "" if np.isnan(value) else f"{value:.{n}f}"
        for value, n in zip(outcome, decimals, strict=True)
    ]


def progressive_scores(model: Any, examples: Iterable[Example]) -> tuple[FloatArray, BoolArray]:
    """Return the score of each example before it is learned, and the labels."""
    scores, labels = [], []
    for x, y in examples:
        scores.append(model.score_one(x))
        labels.append(y)
        model.learn_one(x, y)
    return np.array(scores), np.array(labels, dtype=bool)


def outcome_of(scores: FloatArray, labels: BoolArray) -> Outcome:
    """Send progressive scores through the wrappers."""
    half = len(labels) // 2
    late = labels[half:]
    share = precision = precision_of_top = false_positive_rate = np.nan
    if len(late) >= _MIN_RECORDS:
        flags = _decisions(AlertBudget(Replay(scores), rate=_RATE, seed=1), labels)[half:]
        share, precision = 100.0 * flags.mean(), 100.0 * late[flags].mean()
        precision_of_top = 100.0 * late[top_of_windows(scores[half:], _RATE, _WINDOW)].mean()
    if np.count_nonzero(~late) >= _MIN_NEGATIVES:
        flags = _decisions(FalsePositiveRate(Replay(scores), rate=_RATE, seed=1), labels)[half:]
        false_positive_rate = 100.0 * flags[~late].mean()
    costs = []
    for miss in _MISS_COSTS:
        flags = _decisions(MinimumCost(Replay(scores), 1.0, miss), labels)
        cost = np.count_nonzero(flags & ~labels) + miss * np.count_nonzero(~flags & labels)
        least = least_cost(scores, labels, miss)
        costs.append(cost / least if least else np.nan)
    return Outcome(share, precision, precision_of_top, false_positive_rate, *costs)


def _decisions(model: Any, labels: BoolArray) -> BoolArray:
    flags = np.zeros(len(labels), dtype=bool)
    for row, label in enumerate(labels.tolist()):
        x = {"row": row}
        flags[row] = model.predict_one(x)
        model.learn_one(x, label)
    return flags


def top_of_windows(scores: FloatArray, rate: float, size: int) -> BoolArray:
    """Return which scores are among the top share of their window of consecutive scores."""
    flags = np.zeros(len(scores), dtype=bool)
    for start in range(0, len(scores), size):
        window = scores[start : start + size]
        top = np.argsort(-window, kind="stable")[: round(rate * len(window))]
        flags[start + top] = True
    return flags


def least_cost(scores: FloatArray, labels: BoolArray, miss: float) -> float:
    """Return the cost of the best fixed threshold, chosen with hindsight; a false alert costs 1."""
    order = np.argsort(-scores, kind="stable")
    descending, labels = scores[order], labels[order]
    n_positives = np.count_nonzero(labels)
    costs = np.cumsum(~labels) + miss * (n_positives - np.cumsum(labels))
    # A threshold does not part equal scores.
    ends = np.append(descending[1:] != descending[:-1], True)
    return float(min(miss * n_positives, costs[ends].min()))
