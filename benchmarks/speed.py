"""`python -m benchmarks speed`: time per example of our learners and two of river's."""

from __future__ import annotations

import argparse
import contextlib
import functools
import gc
import importlib.metadata
import itertools
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from rich.console import Console
from river import base
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from river_oauc import AutoOAUC, compiled
from river_oauc.cli.console import positive_int, print_table, print_wrapped, progress_bar, say
from river_oauc.cli.models import ARF, CONTENDERS, LOGISTIC, Contender, Example
from river_oauc.cli.preparations import RAW

__all__ = ["Stopwatch", "add_arguments", "generate", "generate_records", "measure", "run"]

LINEAR_EXPERTS = Contender(
    "AutoOAUC(linear)", lambda seed: AutoOAUC(experts=("linear",), seed=seed), ours=True
)
# The number of values of each categorical feature.
CATEGORIES = (2, 5, 20, 50, 200)
RECORDS = "records"

FEATURES = (10, 30, 60, 100, 300)
# The second-order learners accept no more by default.
MAX_FEATURES = 5_000
REPEATS = 30

DISTINCT_EXAMPLES = 2_000
WARM_UP = 2_000
MIN_RUN_UP = 5
SECONDS_PER_LAP = 0.003
MIN_LAP = 200


def generate(n_features: int, n_examples: int, seed: int = 42) -> list[Example]:
    """Generate standard normal features; 30 % are positive, with slightly higher means.

    Examples
    --------
    >>> stream = generate(n_features=2, n_examples=1_000)
    >>> len(stream), sum(y for _, y in stream) / len(stream)
    (1000, 0.3...)

    """
    rng = np.random.default_rng(seed)
    labels = rng.random(n_examples) < 0.3
    # The class means are one standard deviation apart for any number of features.
    shift = labels[:, np.newaxis] / np.sqrt(n_features)
    values = rng.standard_normal((n_examples, n_features)) + shift
    names = [f"x{j}" for j in range(n_features)]
    return [
        (dict(zip(names, row, strict=True)), label)
        for row, label in zip(values.tolist(), labels.tolist(), strict=True)
    ]


def generate_records(n_examples: int, seed: int = 42) -> list[Example]:
    """Generate records of ten numbers and five categories, with labels as in `generate`.

    Examples
    --------
    >>> x, y = generate_records(1)[0]
    >>> len(x), x["c4"]
    (15, '86')

    """
    rng = np.random.default_rng(seed)
    categories = rng.integers(CATEGORIES, size=(n_examples, len(CATEGORIES))).tolist()
    return [
        ({**x, **{f"c{j}": str(value) for j, value in enumerate(row)}}, y)
        for (x, y), row in zip(generate(10, n_examples, seed), categories, strict=True)
    ]


class Stopwatch:
    """Time one learner repeatedly on a cycle of examples.

    The learner is warmed up before the first lap. Each lap follows a run-up of a third of its
    length, because the other learners have emptied the caches, which stay warm when a learner runs
    alone. A lap lasts a few milliseconds, so that some laps are undisturbed on a busy machine. It
    has at least 200 examples, so that what a learner does now and then, such as growing a tree,
    counts.

    Parameters
    ----------
    model
        The learner, without a scaler.
    examples
        The examples to repeat.

    Attributes
    ----------
    best
        Seconds to predict and learn one example in the fastest lap so far.

    """

    def __init__(self, model: base.Classifier, examples: Sequence[Example]) -> None:
        self.model = model
        self._examples = itertools.cycle(examples)
        warm_up = self._seconds_per_example(WARM_UP)
        self.lap_length = max(MIN_LAP, round(SECONDS_PER_LAP / warm_up))
        self.best = float("inf")

    def lap(self) -> None:
        """Time one lap."""
        self._seconds_per_example(max(MIN_RUN_UP, self.lap_length // 3))
        self.best = min(self.best, self._seconds_per_example(self.lap_length))

    def _seconds_per_example(self, n_examples: int) -> float:
        examples = list(itertools.islice(self._examples, n_examples))
        for x, _ in examples:
            # Touch the values: a dict that comes from a parser or a scaler is in the cache.
            hash(tuple(x.values()))
        predict, learn = self.model.predict_proba_one, self.model.learn_one
        start = time.perf_counter()
        for x, y in examples:
            predict(x)
            learn(x, y)
        return (time.perf_counter() - start) / n_examples


def measure(
    contenders: Sequence[Contender],
    streams: Mapping[str, Sequence[Example]],
    repeats: int,
    on_progress: Callable[[], object] = lambda: None,
) -> dict[str, dict[str, float]]:
    """Return microseconds to predict and learn one example, by stream and learner.

    The learners take turns, lap by lap, so that a disturbance of the machine affects all of them.
    The fastest lap counts. BLAS has one thread, and the garbage collector is off.

    Parameters
    ----------
    contenders
        The learners. Those that need a preparation are left out on `RECORDS`.
    streams
        The examples of each stream.
    repeats
        Number of laps of each learner on each stream.
    on_progress
        Called after the warm-up on each stream, and after each round of laps.

    """
    watches: dict[str, dict[str, Stopwatch]] = {}
    with threadpool_limits(limits=1, user_api="blas"), _no_garbage_collection():
        for title, examples in streams.items():
            watches[title] = {
                contender.name: Stopwatch(contender.make(42), examples)
                for contender in contenders
                if title != RECORDS or contender.preparations == (RAW,)
            }
            on_progress()
        for _ in range(repeats):
            for row in watches.values():
                for watch in row.values():
                    watch.lap()
            on_progress()
    return {
        title: {name: watch.best * 1e6 for name, watch in row.items()}
        for title, row in watches.items()
    }


@contextlib.contextmanager
def _no_garbage_collection() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument(
        "--features",
        nargs="+",
        type=functools.partial(positive_int, at_most=MAX_FEATURES),
        default=list(FEATURES),
        metavar="P",
        help=f"numbers of features (default: {' '.join(map(str, FEATURES))})",
    )
    parser.add_argument(
        "--repeats",
        type=positive_int,
        default=REPEATS,
        metavar="N",
        help=f"laps of each learner, of which the fastest counts (default: {REPEATS})",
    )


def run(args: argparse.Namespace) -> int:
    """Measure and print microseconds and ratios."""
    contenders = [
        contender for contender in CONTENDERS if contender.ours or contender.name in (LOGISTIC, ARF)
    ]
    contenders.insert(1, LINEAR_EXPERTS)
    streams = {f"p={n}": generate(n, DISTINCT_EXAMPLES) for n in args.features}
    streams[RECORDS] = generate_records(DISTINCT_EXAMPLES)
    with progress_bar("measuring") as progress:
        task = progress.add_task("", total=len(streams) + args.repeats)
        costs = measure(contenders, streams, args.repeats, lambda: progress.advance(task))

    console = Console()
    print_wrapped(
        console,
        "Bare learners, without a scaler; standard normal features, 30 % positive; records have "
        f"ten of these features and five categories. After {WARM_UP} examples, the learners take "
        f"turns, and the fastest of {args.repeats} laps counts. One BLAS thread, garbage "
        f"collection off. Python {platform.python_version()}, "
        f"river {importlib.metadata.version('river')}, numpy {np.__version__}, "
        f"river-oauc {'' if compiled else 'not '}compiled.\n",
        style="dim",
    )
    for title, form, reference in (
        ("µs for predict_proba_one + learn_one", "{:.2f}", None),
        (f"ratio to {LOGISTIC}", "{:.2f}", LOGISTIC),
        (f"ratio to {ARF} with 10 trees", "{:.4f}", ARF),
    ):
        say(console, title, style="bold")
        print_table(console, _rows(costs, form, reference))
        say(console, "")
    return 0


def _rows(
    costs: Mapping[str, Mapping[str, float]], form: str, reference: str | None
) -> list[list[str]]:
    """Return a header and a row per learner, with a column per stream."""
    rows = [["model", *costs]]
    for name in next(iter(costs.values())):
        row = [name]
        for cost in costs.values():
            is_known = name in cost and reference in (None, *cost)
            unit = cost[reference] if is_known and reference else 1.0
            row.append(form.format(cost[name] / unit) if is_known else "-")
        rows.append(row)
    return rows
