"""Streams to compare learners on, and the sets of river that are known by name."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from river import datasets

from river_oauc.cli.console.errors import UserError
from river_oauc.cli.console.names import check_column, known_name
from river_oauc.cli.models import Example

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


def _image_segments() -> Iterator[Example]:
    # The first class by name. By the AUC of LogisticRegression it is the fourth of the seven.
    return ((x, y == "brickface") for x, y in datasets.ImageSegments())  # type: ignore[no-untyped-call]


def _shuttle_anomalies() -> Iterator[Example]:
    return ((x, y == 1) for x, y in datasets.Shuttle())


# Sets that come with river, as (title, examples).
_SETS: dict[str, tuple[str, Callable[[], Iterable[Example]]]] = {
    DEFAULT_SET: ("ImageSegments (brickface against the rest)", _image_segments),
    "Phishing": ("Phishing", datasets.Phishing),
    "Bananas": ("Bananas", datasets.Bananas),
    "Shuttle": ("Shuttle (anomalies)", _shuttle_anomalies),
}


def known_sets() -> list[str]:
    """Return the names that `named_stream` takes."""
    return list(_SETS)


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
    title, read = _SETS[name]
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
