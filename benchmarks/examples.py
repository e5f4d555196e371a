"""The examples of streams and sets."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable

from river_oauc.cli.models import Example
from river_oauc.datasets import BENCHMARKS
from river_oauc.datasets.streams import STREAMS, RealStream

__all__ = ["examples_of"]


def examples_of(name: str, seed: int, limit: int) -> list[Example]:
    """Return the first examples of a stream, shuffled unless it is a time series."""
    examples: Iterable[Example]
    if name in STREAMS:
        examples, is_ordered = RealStream(name), STREAMS[name].is_ordered
    else:
        examples, is_ordered = BENCHMARKS[name](), False
    if is_ordered:
        return list(itertools.islice(examples, limit))
    shuffled = list(examples)
    random.Random(seed).shuffle(shuffled)
    return shuffled[:limit]
