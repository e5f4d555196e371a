"""What the readers of CSV and LIBSVM files share."""

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

Label = TypeVar("Label", str, float)

# With fewer expected runs than this, half as many may occur by chance.
FEW_RUNS = 30


@dataclass(slots=True)
class Labels(Generic[Label]):
    """The labels of a file, counted in one pass over it."""

    counts: Counter[Label] = field(default_factory=Counter)
    _n_runs: int = 0
    _last: Label | None = None

    def add(self, label: Label) -> None:
        """Count one label."""
        self.counts[label] += 1
        self._n_runs += label != self._last
        self._last = label

    @property
    def size(self) -> int:
        """The number of labels."""
        return self.counts.total()

    def order(self, target: str) -> str | None:
        """Return a note for the user if the order is far from random.

        Where labels come in long runs, a model that repeats the last label does well.

        Examples
        --------
        >>> labels = Labels()
        >>> for i in range(1_000):
        ...     labels.add(float(i % 500 < 50))
        >>> labels.order("label")
        "'label' comes in 4 runs, and would in about 181 in random order: unless the rows are in
        order of time, try --shuffle"

        """
        if self._n_runs == len(self.counts):
            return f"the rows are sorted by {target!r}, which is not a fair stream: try --shuffle"
        same = sum(n * n for n in self.counts.values()) / self.size
        expected = 1 + self.size - same
        if self._n_runs >= 0.5 * expected or expected < FEW_RUNS:
            return None
        return (
            f"{target!r} comes in {self._n_runs:,} runs, and would in about {expected:,.0f} in "
            "random order: unless the rows are in order of time, try --shuffle"
        )


@dataclass(frozen=True)
class Arrangement:
    """The order and number of examples that the user asks for.

    Parameters
    ----------
    shuffle
        Whether to shuffle the rows, which holds them in memory.
    seed
        Seed of the shuffle.
    limit
        Number of examples to keep, after the shuffle.

    """

    shuffle: bool = False
    seed: int = 42
    limit: int | None = None

    @property
    def n_to_read(self) -> int | None:
        """The number of rows to read; None for all."""
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
    """Return a file as a stream, once its columns and labels are known.

    Parameters
    ----------
    path
        The file.
    read
        Reads the examples from the beginning.
    labels
        The labels of these examples.
    positive
        The positive label.
    arrangement
        Order and number of the examples.
    target
        The user's name of the label.
    written
        The positive label as the user writes it.
    text_features, many_valued
        See `Stream`.
    scalers
        The scalers to try if the stream is not wide.
    notes
        Further notes for the user.

    """
    examples: Iterator[Example] | list[Example] = read()
    size, positives = labels.size, labels.counts[positive]
    if arrangement.shuffle:
        examples = list(examples)
        random.Random(arrangement.seed).shuffle(examples)
        examples = examples[: arrangement.limit]
        size, positives = len(examples), sum(y for _, y in examples)
    order: str | None = None if arrangement.shuffle else labels.order(target)
    # Text of many values is left out for most learners, so it does not make the stream wide.
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
