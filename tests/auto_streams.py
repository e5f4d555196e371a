"""Small streams for the Auto learners, and what to record of a model that learns one.

`fixtures/auto_scores.json` has such records. The streams use `random` only, whose numbers are the
same in all versions of Python.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

Example = tuple[dict[str, Any], bool, float]


def plane(n: int, p: int, seed: int, share: float = 0.3) -> Iterator[tuple[list[float], bool]]:
    """Yield vectors whose positives lie on one side of a noisy plane."""
    rng = random.Random(seed)
    offset = 1.2 * (0.5 - share)
    for _ in range(n):
        x = [rng.gauss(0.0, 1.0) for _ in range(p)]
        yield x, sum(x) / p**0.5 + rng.gauss(0.0, 0.6) > 2.0 * offset


def named(x: list[float]) -> dict[str, Any]:
    return {f"x{j}": value for j, value in enumerate(x)}


def raw_values(n: int = 400) -> Iterator[Example]:
    """Different units, importance weights, unknown and absent values, and outliers."""
    rng = random.Random(1)
    for t, (values, y) in enumerate(plane(n, 4, seed=2)):
        x = named([10.0 ** (j - 1) * value + j for j, value in enumerate(values)])
        if t > 50:
            for name in list(x):
                fate = rng.random()
                if fate < 0.1:
                    x[name] = None if fate < 0.05 else float("nan")
                elif fate < 0.2:
                    del x[name]
                elif fate < 0.21:
                    x[name] = 1e30 * rng.gauss(0.0, 1.0)
        yield x, y, rng.choice([0.5, 1.0, 1.0, 4.0])


def late_features(n: int = 400) -> Iterator[Example]:
    """One class for a long time, and features that arrive late."""
    for t, (values, y) in enumerate(plane(n, 6, seed=3)):
        yield named(values[: 2 + t // 80]), y and t > 90, 1.0


def ties(n: int = 300) -> Iterator[Example]:
    """Whole numbers, a constant feature, and equal examples at first."""
    for t, (values, y) in enumerate(plane(n, 3, seed=4)):
        yield (
            named([float(round(values[0])), 7.0, float(round(values[2]))] if t > 20 else [1.0]),
            y,
            1.0,
        )


def rare(n: int = 1_100) -> Iterator[Example]:
    """More negatives than are kept, while there are too few positives for all landmarks."""
    rng = random.Random(5)
    for t in range(n):
        y = t % 9 == 0
        yield named([rng.gauss(0.7 * y, 1.0) for _ in range(3)]), y, 1.0


def wide(n: int = 160) -> Iterator[Example]:
    """So many features that solutions wait for more examples."""
    for values, y in plane(n, 60, seed=6):
        yield named(values), y, 1.0


def change(n: int = 2_800) -> Iterator[Example]:
    """After 600 examples the order turns round; a trial begins and ends."""
    for t, (values, y) in enumerate(plane(n, 4, seed=7)):
        yield named(values if t < 600 else [-value for value in values]), y, 1.0


def false_alarm(n: int = 2_800) -> Iterator[Example]:
    """After 600 examples the labels are drawn by lot for 100 examples."""
    rng = random.Random(8)
    for t, (values, y) in enumerate(plane(n, 4, seed=9)):
        yield named(values), rng.random() < 0.3 if 600 <= t < 700 else y, 1.0


STREAMS: dict[str, Callable[[], Iterator[Example]]] = {
    stream.__name__: stream
    for stream in (raw_values, late_features, ties, rare, wide, change, false_alarm)
}


def record(model: Any, stream: Iterator[Example]) -> dict[str, list[float]]:
    """Let a model learn a stream, and return some of its scores, probabilities and shares."""
    examples = list(stream)
    found: dict[str, list[float]] = {"scores": [], "probabilities": []}
    for t, (x, y, w) in enumerate(examples):
        if t % (len(examples) // 20) == 19 % (len(examples) // 20):
            found["scores"].append(model.score_one(x))
            found["probabilities"].append(model.predict_proba_one(x)[True])
        model.learn_one(x, y, w)
    found["aucs"] = [expert["auc"] for expert in model.expert_shares]
    found["shares"] = [expert["share"] for expert in model.expert_shares]
    return found


def record_merged(make: Callable[[], Any], stream: Iterator[Example]) -> dict[str, list[float]]:
    """Merge models of the first third and of the second, and record the rest of the stream."""
    examples = list(stream)
    third = len(examples) // 3
    first, second = make(), make()
    for model, part in ((first, examples[:third]), (second, examples[third : 2 * third])):
        for x, y, w in part:
            # Features in another order in each part.
            model.learn_one(dict(sorted(x.items(), reverse=model is second)), y, w)
    return record(first + second, iter(examples[2 * third :]))
