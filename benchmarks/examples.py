"""The examples of streams and sets."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable

from river_oauc.cli.models import Example
from river_oauc.datasets import BENCHMARKS
from river_oauc.datasets.streams import STREAMS, RealStream

__all__ = ["download_missing", "examples_of"]


def download_missing(names: Iterable[str]) -> None:
    """Download what is not on this machine, before several processes try at once."""
    for name in names:
        if name in STREAMS:
            if not (stream := RealStream(name)).is_here:
                stream.download()
        elif not (dataset := BENCHMARKS[name]()).is_downloaded:
            dataset.download()


def examples_of(name: str, limit: int, seed: int) -> list[Example]:
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
