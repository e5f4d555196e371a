"""Long streams: memory, the time of a step and the weights stay bounded.

Each test prints its measurements at ten points of the stream:

    python -m pytest -m slow -s tests/test_soak.py

takes about ten minutes; `-k "million_one and OKAUCM"` picks one learner. With the environment
variable RIVER_OAUC_SOAK at 0.1, the streams have a tenth of their length; 0.05 is the least.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
import os
import statistics
import time
from collections.abc import Callable

import numpy as np
import pandas as pd
import psutil
import pytest
from classifiers import CLASSIFIERS, assert_finite

from river_oauc import OAUCM
from river_oauc.classifier import OnlineAUCClassifier

pytestmark = pytest.mark.slow

SHARE = float(os.environ.get("RIVER_OAUC_SOAK", "1"))
MILLION = int(SHARE * 1_000_000)

N_DISTINCT = 10_000
N_POINTS = 10
N_LAPS = 50
BATCH = 1_000

# After the first of the points: four bytes an example would be too much.
LARGEST_GROWTH = 3 * 2**20
# Times are measured in units of a piece of work that is done before every lap, as other processes
# slow both down alike. One point out of ten may be disturbed all the same.
LARGEST_RATIO = 1.6
# What really grows has not come down again in the end.
LARGEST_RATIO_IN_THE_END = 1.3


def seconds_for(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def yardstick() -> float:
    """Some work of a known length: dicts and floats, as in the learners."""
    x = {f"x{j}": j / 7 for j in range(10)}
    return sum(math.fsum(dict(x).values()) for _ in range(2000))


def clouds(n_features: int, n_between: int) -> tuple[pd.DataFrame, pd.Series]:
    """Return two overlapping clouds, in which one example in `n_between` is positive."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(N_DISTINCT, n_features))
    labels = np.arange(N_DISTINCT) % n_between == n_between // 2
    rows[labels] += 0.5
    return pd.DataFrame(rows, columns=[f"x{j}" for j in range(n_features)]), pd.Series(labels)


def one_at_a_time(
    model: OnlineAUCClassifier, X: pd.DataFrame, y: pd.Series
) -> Callable[[int], None]:
    """Return a function that learns the next examples, which repeat in a cycle."""
    ring = itertools.cycle(list(zip(X.to_dict("records"), y.tolist(), strict=True)))

    def learn(n_examples: int) -> None:
        for x, label in itertools.islice(ring, n_examples):
            model.learn_one(x, label)

    return learn


def in_batches(model: OnlineAUCClassifier, X: pd.DataFrame, y: pd.Series) -> Callable[[int], None]:
    """The same, by learn_many; the number of examples is a multiple of BATCH."""
    starts = range(0, N_DISTINCT, BATCH)
    ring = itertools.cycle([(X[i : i + BATCH], y[i : i + BATCH]) for i in starts])

    def learn(n_examples: int) -> None:
        for frame, labels in itertools.islice(ring, n_examples // BATCH):
            model.learn_many(frame, labels)

    return learn


def assert_flat(
    model: OnlineAUCClassifier, learn: Callable[[int], None], n_examples: int, step: int = 1
) -> int:
    """See that nothing grows with the examples; returns how many there were, a few less perhaps.

    They are learned in laps, whose length is a multiple of `step`.
    """
    lap = n_examples // (N_POINTS * N_LAPS) // step * step
    assert lap, "RIVER_OAUC_SOAK is too small"
    process = psutil.Process()
    times, sizes = [], []
    print(f"\n{type(model).__name__}\n{'examples':>12} {'µs/example':>12} {'resident MiB':>13}")
    for n_learned in range(N_LAPS * lap, N_POINTS * N_LAPS * lap + 1, N_LAPS * lap):
        units, laps = [], []
        for _ in range(N_LAPS):
            units.append(seconds_for(yardstick))
            laps.append(seconds_for(functools.partial(learn, lap)))
        times.append(statistics.median(map(operator.truediv, laps, units)))
        sizes.append(process.memory_info().rss)
        print(f"{n_learned:12,} {1e6 * min(laps) / lap:12.2f} {sizes[-1] / 2**20:13.1f}")
        assert_finite(model)
    assert max(sizes) - sizes[0] < LARGEST_GROWTH
    assert sorted(times)[-2] < LARGEST_RATIO * statistics.median(times)
    assert min(times[-3:]) < LARGEST_RATIO_IN_THE_END * statistics.median(times[:5])
    return n_learned


@pytest.mark.parametrize("cls", CLASSIFIERS, ids=lambda cls: cls.__name__)
def test_a_million_one_at_a_time(cls: type[OnlineAUCClassifier]) -> None:
    model = cls()
    assert_flat(model, one_at_a_time(model, *clouds(n_features=10, n_between=20)), MILLION)


def test_ten_million_in_batches() -> None:
    model = OAUCM()
    learn = in_batches(model, *clouds(n_features=10, n_between=20))
    n_learned = assert_flat(model, learn, 10 * MILLION, step=BATCH)
    assert model.moments[True].n == n_learned / 20
    assert model.moments[False].n == n_learned - n_learned / 20


def test_a_million_of_which_one_in_a_thousand_is_positive() -> None:
    model = OAUCM()
    learn = one_at_a_time(model, *clouds(n_features=20, n_between=1000))
    n_learned = assert_flat(model, learn, MILLION)
    assert model.moments[True].n == n_learned // 1000
    assert model.moments[False].n == n_learned - n_learned // 1000
    # All features of the positives are higher by the same.
    assert sum(model.weights.values()) > 0.0
