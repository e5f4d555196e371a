"""Streams to compare learners on: the user's own file, or a set of river."""

from __future__ import annotations

import datetime
import itertools
import pathlib
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from river import datasets

from river_oauc.cli.messages import UserError, check_column, one_line, shorten
from river_oauc.cli.models import Example
from river_oauc.cli.preparations import typed
from river_oauc.cli.readers.rows import LIBSVM_TARGET, Refusals, read_rows
from river_oauc.cli.readers.source import STDIN, Source, open_source
from river_oauc.cli.target import Target
from river_oauc.records.parse import read_record

# The width of the rows is that of the first of them.
FIRST_ROWS = 100

# How many rows to take if a row has this many values.
RowsOfWidth = Callable[[float], int]


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
    times
        When each record came, in seconds, if that is known.

    """

    title: str
    examples: list[Example]
    notes: tuple[str, ...] = ()
    times: tuple[float, ...] | None = None

    @property
    def n_positives(self) -> int:
        """The number of positive examples."""
        return sum(y for _, y in self.examples)


def width(records: Sequence[dict[Any, Any]]) -> float:
    """Return the mean number of known values of a record."""
    n_known = sum(value is not None for record in records for value in record.values())
    return n_known / max(len(records), 1)


def file_stream(
    path: str,
    target: Target,
    rows_of_width: RowsOfWidth,
    *,
    seed: int | None = None,
    time: str | None = None,
) -> Stream:
    """Read a file, or standard input.

    Parameters
    ----------
    path
        The path as the user wrote it, or `-`.
    target
        The columns. In a LIBSVM file, that of the label may be empty.
    rows_of_width
        How many rows to take.
    seed
        If given, take random rows in random order rather than the first ones.
    time
        The column with the time, whose order the rows are brought in.

    """
    with open_source(path) as source:
        if not target.column:
            if source.format != "libsvm":
                raise UserError(f"{source.name}: --target COLUMN says which column is the label")
            target = replace(target, column=LIBSVM_TARGET)
        reader = _Reader(source, target, time)
        rows = iter(reader)
        first = list(itertools.islice(rows, FIRST_ROWS))
        n = rows_of_width(width([row.x for row in first]))
        rows = itertools.chain(first, rows)
        if seed is None:
            kept = list(itertools.islice(rows, n))
            next(rows, None)
        else:
            kept = _sample(rows, n, random.Random(seed))
        reader.check()
    name, notes = source.name, list(reader.notes())
    if not kept:
        raise UserError(f"{name}: there is no row with a label")
    if has_more := reader.n_rows > n:
        which = "the first" if seed is None else "a random sample of"
        notes.append(f"{which} {n:,} rows, as many as --seconds and --limit allow")
    if len({row.y for row in kept}) == 1:
        why = target.one_class(row.label for row in kept)
        remedy = "; --shuffle takes rows of all of the file" if has_more and seed is None else ""
        raise UserError(f"{name}: the {len(kept):,} rows are of one class: {why}{remedy}")
    if time is not None:
        kept.sort(key=lambda row: row.seconds)
    elif seed is None and sum(a.y != b.y for a, b in itertools.pairwise(kept)) == 1:
        notes.append(f"the rows are sorted by {target.column!r}, no fair stream: try --shuffle")
    return Stream(
        one_line(shorten(name if path == STDIN else pathlib.Path(path).name, width=50)),
        [(row.x, row.y) for row in kept],
        tuple(notes),
        None if time is None else tuple(row.seconds for row in kept),
    )


def set_stream(name: str, rows_of_width: RowsOfWidth, *, seed: int | None = None) -> Stream:
    """Load a set of river, of which the rows are in random order if there is a seed.

    Examples
    --------
    >>> stream = set_stream("Phishing", lambda width: 2_000, seed=42)
    >>> stream.title, len(stream.examples), stream.n_positives
    ('Phishing', 1250, 548)

    """
    title, read = SETS[name]
    examples = list(read())
    if seed is not None:
        random.Random(seed).shuffle(examples)
    examples = examples[: rows_of_width(width([x for x, _ in examples[:FIRST_ROWS]]))]
    if len({y for _, y in examples}) == 1:
        raise UserError(f"{title}: the {len(examples):,} rows are of one class")
    return Stream(title, examples)


def _image_segments() -> Iterator[Example]:
    # The first class by name. By the AUC of LogisticRegression it is the fourth of the seven.
    return ((x, y == "brickface") for x, y in datasets.ImageSegments())  # type: ignore[no-untyped-call]


# Sets that come with river, as (title, examples).
SETS: dict[str, tuple[str, Callable[[], Iterable[Example]]]] = {
    "ImageSegments": ("ImageSegments (brickface against the rest)", _image_segments),
    "Phishing": ("Phishing", datasets.Phishing),
    "Bananas": ("Bananas", datasets.Bananas),
    "Shuttle": ("Shuttle (anomalies)", lambda: ((x, y == 1) for x, y in datasets.Shuttle())),
}


class _Labelled(NamedTuple):
    """A row with a label: its features, whether it is positive, the label, and when it came."""

    x: dict[Any, Any]
    y: bool
    label: Any
    seconds: float


class _Reader:
    """Iterate over the rows of a file that can be learned, and count all."""

    def __init__(self, source: Source, target: Target, time: str | None) -> None:
        self._source, self._target, self._time = source, target, time
        self._names: dict[str, None] = {}
        self._refusals = Refusals()
        self.n_rows = self._n_unlabelled = 0

    def __iter__(self) -> Iterator[_Labelled]:
        target, time = self._target, self._time
        for row in read_rows(self._source):
            # Learners of others do not read strings as numbers.
            record = {name: typed(value) for name, value in row.record.items()}
            is_first = not self._names
            self._names.update(dict.fromkeys(record))
            if is_first and self._source.has_columns:
                self.check()
            try:
                y, x = target.label(record), target.features(record)
                read_record(x)
                seconds = 0.0 if time is None else _seconds(record.get(time))
            except ValueError as error:
                self._refusals.add(self._source, row.line, error)
                continue
            except UserError as error:
                raise UserError(f"{self._source.name}: line {row.line:,}: {error}") from None
            if y is None:
                self._n_unlabelled += 1
                continue
            self.n_rows += 1
            yield _Labelled(x, y, record[target.column], seconds)

    def check(self) -> None:
        """Refuse columns that the user names and that do not exist, and a file without features."""
        if not self._names:
            raise UserError(f"{self._source.name}: there is no row in it")
        self._target.check(self._source.name, self._names)
        if self._time is not None:
            check_column(self._source.name, self._time, self._names)

    def notes(self) -> Iterator[str]:
        """Yield what the user should know about the file."""
        if self._n_unlabelled:
            yield f"{self._n_unlabelled:,} rows have no label, and are left out"
        if self._refusals.n:
            yield str(self._refusals)


def _seconds(time: Any) -> float:
    """Return a time in seconds; times without a time zone are those of one clock."""
    if isinstance(time, int | float):
        return float(time)
    if not isinstance(time, datetime.date):
        raise ValueError(f"the time is {time!r}: write 2024-02-29 18:30, or a number of seconds")
    if not isinstance(time, datetime.datetime):
        time = datetime.datetime(time.year, time.month, time.day)
    seconds: float = time.replace(tzinfo=time.tzinfo or datetime.UTC).timestamp()
    return seconds


def _sample(rows: Iterable[_Labelled], n: int, rng: random.Random) -> list[_Labelled]:
    """Return n rows drawn without replacement, in random order."""
    kept: list[_Labelled] = []
    for i, row in enumerate(rows):
        if i < n:
            kept.append(row)
        elif (j := rng.randrange(i + 1)) < n:
            kept[j] = row
    rng.shuffle(kept)
    return kept
