"""A long stream: nothing grows, neither the weights nor the memory."""

from __future__ import annotations

import itertools
import math

import numpy as np
import psutil
import pytest

from river_oauc import OAUCM

N_EXAMPLES = 1_000_000
N_FEATURES = 20
N_DISTINCT = 10_000
LARGEST_GROWTH = 2 * 2**20  # bytes


@pytest.mark.slow
def test_a_million_examples_of_which_one_in_a_thousand_is_positive():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(N_DISTINCT, N_FEATURES))
    labels = np.arange(N_DISTINCT) % 1000 == 500
    rows[labels] += 0.5
    names = [f"x{j}" for j in range(N_FEATURES)]
    examples = [
        (dict(zip(names, row, strict=True)), label)
        for row, label in zip(rows.tolist(), labels.tolist(), strict=True)
    ]

    model = OAUCM()
    process = psutil.Process()
    stream = itertools.islice(itertools.cycle(examples), N_EXAMPLES)
    for x, y in itertools.islice(stream, 1000):
        model.learn_one(x, y)
    resident = process.memory_info().rss
    for n_seen, (x, y) in enumerate(stream, start=1001):
        model.learn_one(x, y)
        if n_seen % 50_000 == 0:
            assert process.memory_info().rss - resident < LARGEST_GROWTH
            assert all(math.isfinite(weight) for weight in model.weights.values())

    assert model.moments[True].n == N_EXAMPLES / 1000
    assert model.moments[False].n == N_EXAMPLES - N_EXAMPLES / 1000
    # All features of the positives are higher by the same.
    assert sum(model.weights.values()) > 0.0
