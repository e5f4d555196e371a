"""What the user's own files have in common, whatever their format."""

from __future__ import annotations

import pathlib
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from river_oauc.cli.compare.streams import DENSE, SPARSE, Stream, is_wide
from river_oauc.cli.console.text import one_line, shorten
from river_oauc.cli.models import Example

__all__ = ["Arrangement", "Labels", "file_stream"]

Label = TypeVar("Label", str, float)

# With fewer runs than this to be expected, chance may halve them.
FEW_RUNS = 30


@dataclass(slots=True)
class Labels(Generic[Label]):
    """The labels of a file, counted in one pass over it."""

    counts: Counter[Label] = field(default_factory=Counter)
    _n_runs: int = 0
    _last: Label | None = None

    def add(self, label: Label) -> None:
        """Count one more."""
        self.counts[label] += 1
        self._n_runs += label != self._last
        self._last = label

    @property
    def size(self) -> int:
        """How many there are."""
        return self.counts.total()

    def order(self, target: str) -> str | None:
        """What the user is to know of their order, if it is far from a random one.

        Where labels come in runs, whoever repeats the last one does well.

        Examples
        --------
        >>> labels = Labels()
        >>> for i in range(1_000):
        ...     labels.add(float(i % 500 < 50))
        >>> labels.order("label")
        "'label' comes in 4 runs, in random order in about 181: if it is not that of time, try
        --shuffle"

        """
        if self._n_runs == len(self.counts):
            return f"the rows are ordered by {target!r}, no fair stream: try --shuffle"
        same = sum(n * n for n in self.counts.values()) / self.size
        usual = 1 + self.size - same
        if self._n_runs >= 0.5 * usual or usual < FEW_RUNS:
            return None
        return (
            f"{target!r} comes in {self._n_runs:,} runs, in random order in about {usual:,.0f}: "
            "if it is not that of time, try --shuffle"
        )


@dataclass(frozen=True)
class Arrangement:
    """The order and the number of the examples that are asked for.

    Parameters
    ----------
    shuffle
        Whether to shuffle the rows, which are then held in memory.
    seed
        Seed of the shuffle.
    limit
        How many examples to keep, after the shuffle.

    """

    shuffle: bool = False
    seed: int = 42
    limit: int | None = None

    @property
    def n_to_read(self) -> int | None:
        """How many rows have to be looked at."""
        return None if self.shuffle else self.limit


def file_stream(
    path: pathlib.Path,
    read: Callable[[], Iterator[Example]],
    labels: Labels[Label],
    positive: Label,
    arrangement: Arrangement,
    *,
    target: str,
    written: str,
    text_features: tuple[str, ...] = (),
    many_valued: tuple[str, ...] = (),
    scalers: tuple[str, ...] = DENSE,
    notes: tuple[str, ...] = (),
) -> Stream:
    """A file as a stream, once it is known what is in it.

    Parameters
    ----------
    path
        The file.
    read
        Reads the examples from the beginning.
    labels
        The labels of these examples.
    positive
        The one that counts as positive.
    arrangement
        Order and number of the examples.
    target
        What the user calls the label.
    written
        The positive label as the user writes it.
    text_features
    many_valued
    scalers
        As those of `Stream`, the last one if it is not wide.
    notes
        What else the user is to know.

    """
    examples: Iterator[Example] | list[Example] = read()
    size, positives = labels.size, labels.counts[positive]
    if arrangement.shuffle:
        examples = list(examples)
        random.Random(arrangement.seed).shuffle(examples)
        examples = examples[: arrangement.limit]
        size, positives = len(examples), sum(y for _, y in examples)
    order: str | None = None if arrangement.shuffle else labels.order(target)
    # Text of many values is for some learners only, and keeps no other from running.
    wide = is_wide(
        ({name: value for name, value in x.items() if name not in many_valued}, y)
        for x, y in read()
    )
    return Stream(
        title=one_line(shorten(path.name, width=50)),
        examples=examples,
        size=size,
        positives=positives,
        text_features=text_features,
        many_valued=many_valued,
        is_wide=wide,
        scalers=SPARSE if wide else scalers,
        notes=(
            f"{positives:,} of {size:,} rows are positive ({target} = {written})",
            *notes,
            *([order] if order else []),
        ),
    )
