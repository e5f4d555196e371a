"""Streams to compare learners on, and the sets that are known by name."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from river import datasets

from river_oauc.cli.console.errors import UserError
from river_oauc.cli.console.names import check_column, known_name
from river_oauc.cli.models import Example
from river_oauc.datasets import BENCHMARKS

DEFAULT_SET = "ImageSegments"


@dataclass(frozen=True)
class Stream:
    """A labelled stream.

    Parameters
    ----------
    title
        Its name in the table and the figure.
    examples
        Pairs of a record and its label.
    notes
        Notes for the user on how the data were read.

    """

    title: str
    examples: list[Example]
    notes: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """The number of examples."""
        return len(self.examples)

    @property
    def positives(self) -> int:
        """The number of positive examples."""
        return sum(y for _, y in self.examples)

    def __post_init__(self) -> None:
        if self.positives in (0, self.size):
            which = "none" if self.positives == 0 else "each"
            raise UserError(
                f"{self.title}: {which} of the {self.size:,} examples is positive; "
                "a larger --limit may help"
            )


def _cement_segments() -> Iterator[Example]:
    return ((x, y == "cement") for x, y in datasets.ImageSegments())  # type: ignore[no-untyped-call]


def _shuttle_anomalies() -> Iterator[Example]:
    return ((x, y == 1) for x, y in datasets.Shuttle())


# Sets that come with river, as (title, examples).
_BUNDLED: dict[str, tuple[str, Callable[[], Iterable[Example]]]] = {
    DEFAULT_SET: ("ImageSegments (cement against the rest)", _cement_segments),
    "Phishing": ("Phishing", datasets.Phishing),
    "Bananas": ("Bananas", datasets.Bananas),
    "Shuttle": ("Shuttle (anomalies)", _shuttle_anomalies),
}


def known_sets() -> list[str]:
    """Return the names that `named_stream` takes."""
    return [*_BUNDLED, *BENCHMARKS]


def named_stream(
    name: str,
    *,
    shuffle: bool = True,
    seed: int = 42,
    limit: int | None = None,
    exclude: Collection[str] = (),
) -> Stream:
    """Load a set by name.

    It is shuffled by default because the named sets are not time series, and some are sorted by
    class.

    Parameters
    ----------
    name
        One of `known_sets`.
    shuffle
        Whether to shuffle the set.
    seed
        Seed of the shuffle.
    limit
        Number of examples to keep, after the shuffle.
    exclude
        Features to leave out.

    Examples
    --------
    >>> stream = named_stream("Phishing")
    >>> stream.title, stream.size, stream.positives
    ('Phishing', 1250, 548)

    """
    name = known_name("set", name, known_sets())
    title, read = _BUNDLED[name] if name in _BUNDLED else (name, BENCHMARKS[name])
    examples = list(read())
    for feature in exclude:
        check_column(title, feature, map(str, examples[0][0]))
    examples = [
        ({feature: x[feature] for feature in x if str(feature) not in exclude}, y)
        for x, y in examples
    ]
    if shuffle:
        random.Random(seed).shuffle(examples)
    return Stream(title, examples[:limit])
