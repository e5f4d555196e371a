"""Synthetic clicks: twelve ids each, drawn by power laws, with one positive in a hundred."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

# Number of ids in each field, 500,000 in all.
SIZES = (2, 7, 24, 100, 500, 2_000, 8_000, 30_000, 60_000, 100_000, 150_000, 149_367)


def draw(n, seed=0, share=0.01, exponent=0.6, strength=0.7):
    """Ids, a column per field, and labels.

    In a field, the id of rank r has a probability in proportion to about r^-exponent. Every id has
    a normal effect on the log odds.
    """
    rng = np.random.default_rng(seed)
    ids = np.empty((n, len(SIZES)), dtype=np.int64)
    log_odds = np.zeros(n)
    start, power = 0, 1.0 - exponent
    for field, size in enumerate(SIZES):
        uniform = ((size + 1) ** power - 1.0) * rng.random(n) + 1.0
        rank = np.minimum((uniform ** (1.0 / power)).astype(np.int64) - 1, size - 1)
        log_odds += rng.normal(0.0, strength, size)[rank]
        ids[:, field] = start + rank
        start += size
    low, high = -30.0, 30.0
    for _ in range(50):
        base = 0.5 * (low + high)
        too_many = np.mean(1.0 / (1.0 + np.exp(-log_odds - base))) > share
        low, high = (low, base) if too_many else (base, high)
    return ids, rng.random(n) < 1.0 / (1.0 + np.exp(-log_odds - base))


def clicks(n, **options) -> Iterator[tuple[dict[str, float], bool]]:
    ids, labels = draw(n, **options)
    for row, y in zip(ids, labels.tolist(), strict=True):
        yield {f"id{number}": 1.0 for number in row.tolist()}, y
