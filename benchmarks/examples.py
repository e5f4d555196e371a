"""The examples of a stream or a set, in the order in which learners meet them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable

from river_oauc.datasets import BENCHMARKS
from river_oauc.datasets.streams import STREAMS, RealStream
from river_oauc.cli.models import Example

__all__ = ["examples_of"]


def examples_of(name: str, seed: int, limit: int) -> list[Example]:
    """The first examples of a stream, or of a shuffled set."""
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
