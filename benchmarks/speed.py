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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
from rich.console import Console
from river import base
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from river_oauc import compiled
from river_oauc.cli.console.terminal import positive_int, print_table, progress_bar, say
from river_oauc.cli.models import ARF, CONTENDERS, LOGISTIC, Contender, Example

__all__ = ["Stopwatch", "add_arguments", "generate", "measure", "run"]

FEATURES = (10, 30, 60, 100, 300)
# The second-order learners accept no more by default.
MAX_FEATURES = 5_000
REPEATS = 100

DISTINCT_EXAMPLES = 100
WARM_UP = 200
MIN_RUN_UP = 5
SECONDS_PER_LAP = 0.003
MIN_LAP = 10


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


class Stopwatch:
    """Time one learner repeatedly on a cycle of examples.

    The learner is warmed up before the first lap. Each lap follows a run-up of a third of its
    length, because the other learners have emptied the caches, which stay warm when a learner runs
    alone. A lap has at least ten examples and lasts a few milliseconds, so that some laps are
    undisturbed on a busy machine.

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
            sum(x.values())
        predict, learn = self.model.predict_proba_one, self.model.learn_one
        start = time.perf_counter()
        for x, y in examples:
            predict(x)
            learn(x, y)
        return (time.perf_counter() - start) / n_examples


def measure(
    contenders: Sequence[Contender],
    features: Iterable[int],
    repeats: int,
    on_progress: Callable[[], object] = lambda: None,
) -> dict[int, dict[str, float]]:
    """Return microseconds to predict and learn one example, by number of features and name.

    The learners take turns, lap by lap, so that a disturbance of the machine affects all of them.
    The fastest lap counts. BLAS has one thread, and the garbage collector is off.

    Parameters
    ----------
    contenders
        The learners.
    features
        The numbers of features of the generated streams.
    repeats
        Number of laps of each learner at each number of features.
    on_progress
        Called after the warm-up at each number of features, and after each round of laps.

    """
    watches: dict[int, dict[str, Stopwatch]] = {}
    with threadpool_limits(limits=1, user_api="blas"), _no_garbage_collection():
        for n_features in features:
            examples = generate(n_features, DISTINCT_EXAMPLES)
            watches[n_features] = {
                contender.name: Stopwatch(contender.make(42), examples) for contender in contenders
            }
            on_progress()
        for _ in range(repeats):
            for row in watches.values():
                for watch in row.values():
                    watch.lap()
            on_progress()
    return {
        n_features: {name: watch.best * 1e6 for name, watch in row.items()}
        for n_features, row in watches.items()
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
    features = list(dict.fromkeys(args.features))
    with progress_bar("measuring") as progress:
        task = progress.add_task("", total=len(features) + args.repeats)
        costs = measure(contenders, features, args.repeats, lambda: progress.advance(task))

    console = Console()
    say(
        console,
        f"Bare learners without a scaler, warmed up on {WARM_UP} examples; standard normal\n"
        f"features, 30 % positive. The learners take turns, the fastest of {args.repeats} laps\n"
        "counts. One BLAS thread, garbage collection off. "
        f"Python {platform.python_version()},\n"
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
    costs: Mapping[int, Mapping[str, float]], form: str, reference: str | None
) -> list[list[str]]:
    """Return a header and a row per learner, with a column per number of features."""
    rows = [["model", *(f"p={n_features}" for n_features in costs)]]
    for name in next(iter(costs.values())):
        shares = (cost[name] / (cost[reference] if reference else 1.0) for cost in costs.values())
        rows.append([name, *map(form.format, shares)])
    return rows
