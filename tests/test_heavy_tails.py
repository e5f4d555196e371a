"""A long stream with heavy tails, in which nothing changes: units must not wear out."""

from __future__ import annotations

import numpy as np
import pytest

from river_oauc.metrics import exact_auc
from river_oauc.rankers.mixture.ranker import MixtureRanker

pytestmark = pytest.mark.slow


def heavy_tailed(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return log-normal and Cauchy features, and counts among which 96 and 98 are codes."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n, 6))
    rows = np.empty((n, 7))
    rows[:, :3] = np.exp(hidden[:, :3] * [1.5, 2.0, 2.5])
    rows[:, 3:5] = np.tan(np.arctan(hidden[:, 3:5]) * 1.2)
    rows[:, 3:5] += rng.standard_cauchy(size=(n, 2))
    rows[:, 5:] = rng.poisson(np.exp(0.5 * hidden[:, 5:]), size=(n, 2))
    rows[rng.random(n) < 0.002, 5:] = rng.choice([96.0, 98.0])
    logit = hidden @ [0.8, -0.7, 0.6, 0.7, -0.5, 0.6] - 3.0
    return rows, rng.random(n) < 1.0 / (1.0 + np.exp(-logit))


def test_units_do_not_wear_out() -> None:
    thirds = []
    for seed in range(3):
        rows, labels = heavy_tailed(60_000, seed)
        ranker = MixtureRanker(with_kernels=True)
        scores = [ranker.learn(x, y, 1.0) for x, y in zip(rows, labels.tolist(), strict=True)]
        parts = zip(np.split(np.array(scores), 3), np.split(labels, 3), strict=True)
        thirds.append([exact_auc(part[y], part[~y]) for part, y in parts])
    print(100 * np.array(thirds))
    first, second, last = np.mean(thirds, axis=0)
    assert last >= second
