"""With labels that come late, what was served is worth keeping."""

from __future__ import annotations

import collections
from typing import Any

import pytest

from benchmarks.records.sets import directory, read_set
from river_oauc import AutoOAUC
from river_oauc.metrics import exact_auc

pytestmark = pytest.mark.skipif(directory() is None, reason="needs $RIVER_OAUC_DATA/records")


def auc(examples: Any, delay: int, lag: int = 0, served: bool = False) -> float:
    """Return the AUC over the second half."""
    model = AutoOAUC(("linear", "trees", "sparse"), lag=lag, seed=1)
    pending: collections.deque[Any] = collections.deque()
    scores: dict[bool, list[float]] = {False: [], True: []}
    for t, (x, y) in enumerate(examples):
        record = model.encode_one(x) if served else x
        if 2 * t > len(examples):
            scores[y].append(model.score_one(record))
        pending.append((record, y))
        if len(pending) > delay:
            model.learn_one(*pending.popleft())
    return exact_auc(scores[True], scores[False])


def test_waiting_pays_where_records_come_in_bursts() -> None:
    examples = read_set("hotel_bookings", 8_000)
    as_ever = auc(examples, 1_000)
    assert auc(examples, 1_000, served=True) > as_ever + 0.005
    assert auc(examples, 1_000, lag=100) > as_ever + 0.005
    assert auc(examples, 0, served=True) == auc(examples, 0) > auc(examples, 0, lag=100)
