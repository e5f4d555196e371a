"""Streams to compare learners on, and the sets that are known by name."""

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

DEFAULT_SET = "ImageSegments"

# With more features than this, learners of quadratic cost are not run by default.
MANY_FEATURES = 300
FIRST_EXAMPLES = 1_000

# Scalers to try. In sparse streams absent features are 0, and the scaler must keep 0 at 0.
DENSE = ("none", "standard", "minmax")
SPARSE = ("none", "maxabs")


@dataclass(frozen=True)
class Stream:
    """A labelled stream.

    Parameters
    ----------
    title
        Its name in the table and the figure.
    examples
        Pairs of features and label. A missing number is None.
    size
        Number of examples.
    positives
        Number of positive examples.
    text_features
        Text features with few distinct values.
    many_valued
        Text features with too many distinct values for one-hot encoding.
    is_wide
        Whether it has too many features for most learners.
    scalers
        The scalers to try; the paper's learners get the last one.
    notes
        Notes for the user on how the data were read.

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
    """Return the names that `named_stream` takes."""
    return [*_BUNDLED, *BENCHMARKS]


def is_wide(examples: Iterable[Example]) -> bool:
    """Whether the first examples have many features, each distinct text counting as one.

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
    """Refuse to exclude or include unknown columns."""
    for name in names:
        if name not in known:
            raise UserError(
                f"{title}: no column {name!r} to {to}{closest_name(name, known)}; "
                f"the columns are {listed(known)}"
            )


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
        Whether to shuffle the set. The shuffled set is held in memory.
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
