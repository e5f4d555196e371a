"""The examples of streams and sets."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable

from benchmarks.datasets import BENCHMARKS, STREAMS
from river_oauc.cli.models import Example

__all__ = ["SETS", "download_missing", "examples_of"]


SETS = STREAMS | BENCHMARKS


def download_missing(names: Iterable[str]) -> None:
    """Download what is not on this machine, before several processes try at once."""
    for name in names:
        if not SETS[name].is_here:
            SETS[name].download()


def examples_of(name: str, limit: int, seed: int) -> list[Example]:
    """Return the first examples of a stream, shuffled unless it is a time series."""
    if SETS[name].is_ordered:
        return list(itertools.islice(SETS[name], limit))
    shuffled = list(SETS[name])
    random.Random(seed).shuffle(shuffled)
    return shuffled[:limit]
