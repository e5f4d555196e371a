"""Labelled streams to compare learners on: sets by name, and what is known of them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from river import datasets

from river_oauc.cli.console.errors import UserError
from river_oauc.cli.console.names import closest_name, known_name
from river_oauc.cli.console.text import listed
from river_oauc.cli.models import Example
from river_oauc.datasets import BENCHMARKS

__all__ = [
    "DEFAULT_SET",
    "DENSE",
    "SPARSE",
    "Stream",
    "check_columns",
    "is_wide",
    "known_sets",
    "named_stream",
]

DEFAULT_SET = "ImageSegments"

# From about here on, what costs in proportion to the square of the features is not waited for.
MANY_FEATURES = 300
FIRST_EXAMPLES = 1_000

# What may stand in front of a learner: where what is absent is 0, as in text and most of what is
# wide, 0 is to stay 0.
DENSE = ("none", "standard", "minmax")
SPARSE = ("none", "maxabs")


@dataclass(frozen=True)
class Stream:
    """A stream of examples in the order in which every learner sees them.

    Parameters
    ----------
    title
        What the table and the figure call it.
    examples
        Pairs of features and label. None is a number that is missing.
    size
        The number of examples.
    positives
        How many of them are positive.
    text_features
        The features that hold text of few values.
    many_valued
        The features that hold text of too many values for a matrix of all of them.
    is_wide
        Whether it has so many features that most learners are too slow for it.
    scalers
        What one would put in front of a learner on it; the paper's learners take the last.
    notes
        What was decided in reading it, one line each, for the user to know.

    """

    title: str
    examples: Iterable[Example]
    size: int
    positives: int
    text_features: tuple[str, ...] = ()
    many_valued: tuple[str, ...] = ()
    is_wide: bool = False
    scalers: tuple[str, ...] = DENSE
    notes: tuple[str, ...] = ()

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
    """The names that `named_stream` takes."""
    return [*_BUNDLED, *BENCHMARKS]


def is_wide(examples: Iterable[Example]) -> bool:
    """Whether there are many features among the first examples, each text counting as one.

    Examples
    --------
    >>> is_wide([({"word": f"w{i}"}, True) for i in range(300)])
    False
    >>> is_wide([({"word": f"w{i}"}, True) for i in range(301)])
    True

    """
    features: set[Any] = set()
    for x, _ in itertools.islice(examples, FIRST_EXAMPLES):
        features.update(
            (name, value) if isinstance(value, str) else name for name, value in x.items()
        )
    return len(features) > MANY_FEATURES


def check_columns(title: str, to: str, names: Iterable[str], known: Sequence[str]) -> None:
    """Refuse to exclude, or to include, what is not there: it may be misspelled."""
    for name in names:
        if name not in known:
            raise UserError(
                f"{title}: nothing to {to} under {name!r}{closest_name(name, known)}; "
                f"there are {listed(known)}"
            )


def named_stream(
    name: str,
    *,
    shuffle: bool = True,
    seed: int = 42,
    limit: int | None = None,
    exclude: Collection[str] = (),
) -> Stream:
    """A set by its name, shuffled unless its own order is asked for.

    The named sets are no time series, and some stand ordered by class, which no learner that
    is judged on the next example can be expected to like.

    Parameters
    ----------
    name
        One of `known_sets`.
    shuffle
        Whether to shuffle the set. The shuffled set is held in memory.
    seed
        Seed of the shuffle.
    limit
        How many examples to keep, after the shuffle.
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
    if exclude:
        check_columns(title, "exclude", exclude, [str(feature) for feature in examples[0][0]])
        examples = [
            ({feature: x[feature] for feature in x if str(feature) not in exclude}, y)
            for x, y in examples
        ]
    if shuffle:
        random.Random(seed).shuffle(examples)
    examples = examples[:limit]
    wide = is_wide(examples)
    return Stream(
        title=title,
        examples=examples,
        size=len(examples),
        positives=sum(y for _, y in examples),
        is_wide=wide,
        scalers=SPARSE if wide else DENSE,
    )
