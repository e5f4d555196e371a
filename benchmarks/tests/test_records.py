"""The sets of raw records are read, and learned as they are."""

from __future__ import annotations

import pandas as pd
import pytest

from benchmarks.records import sets
from river_oauc import AutoOAUC

# A set that is shuffled is read to its end.
QUICK = [name for name, size in sets.SETS.items() if name in sets.ORDERED or size < 20_000]


@pytest.mark.skipif(sets.directory() is None, reason="RIVER_OAUC_DATA has no records")
@pytest.mark.parametrize("name", QUICK)
def test_a_frame_of_raw_records_is_learned_like_its_rows(name: str) -> None:
    examples = sets.read_set(name, 150)
    one, many = AutoOAUC(seed=1), AutoOAUC(seed=1)
    for part in (examples[:100], examples[100:]):
        X = pd.DataFrame([x for x, _ in part])
        assert [one.score_one(x) for x, _ in part] == list(many.score_many(X))
        many.learn_many(X, pd.Series([y for _, y in part]))
        for x, y in part:
            one.learn_one(x, y)
