"""A stream of raw records, and ways to compare encoders."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import math
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

MORNING = datetime.datetime(2024, 2, 29, 8)
WORDS = "win a free prize now call me later at home tonight".split()


def stream(n: int, seed: int = 0) -> Iterator[tuple[dict[Any, Any], bool, float]]:
    """Yield records of all kinds of plain values, some of which tell the label."""
    rng = random.Random(seed)
    burst = "t0"
    for i in range(n):
        y = rng.random() < 0.3
        if i % 40 == 0:
            burst = f"t{rng.randrange(30)}"
        x = {
            "amount": rng.lognormvariate(1.0 + y, 1.0),
            "country": rng.choice(["FR", "US"])
            if y
            else rng.choice(["IT", "US", "DE", "ES", "PT"]),
            "terminal": burst if y else f"t{rng.randrange(30)}",
            "code": rng.choice([3, 5, 5.0, 8]) + y,
            "id": i,
            "new": rng.random() < 0.3 + 0.3 * y,
            "rain": rng.choice([0.0, 1.5, "T", 3]),
            "text": " ".join(rng.choices(WORDS, k=4 + rng.randrange(4))),
            "when": MORNING + datetime.timedelta(hours=rng.randrange(500)),
            "late": rng.choice([1, 2, 3, "x"]) if i > n / 2 else None,
            f"word{int(40 * rng.random() ** 2)}": 1,
        }
        for name in rng.sample(sorted(x), rng.randrange(4)):
            x[name] = rng.choice([None, math.nan])
        for name in rng.sample(sorted(x), rng.randrange(3)):
            del x[name]
        yield x, y, rng.choice([0.5, 1.0, 1.0, 3.0])


def plain_name(name: Any) -> Any:
    """Return a name without the classes of the package."""
    if dataclasses.is_dataclass(name):
        name = tuple(getattr(name, field.name) for field in dataclasses.fields(name))
    return tuple(map(plain_name, name)) if isinstance(name, tuple) else name


approx = functools.partial(pytest.approx, rel=1e-12, abs=1e-12, nan_ok=True)


def assert_same_data(mine: Any, theirs: Any) -> None:
    """Check that plain data are the same, numbers to 1e-12."""
    assert type(mine) is type(theirs)
    if isinstance(mine, dict):
        assert list(mine) == list(theirs)
        mine, theirs = list(mine.values()), list(theirs.values())
    if isinstance(mine, np.ndarray):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)
    elif isinstance(mine, list):
        assert len(mine) == len(theirs)
        for one, other in zip(mine, theirs, strict=True):
            assert_same_data(one, other)
    else:
        assert mine == (approx(theirs) if isinstance(theirs, float) else theirs)
