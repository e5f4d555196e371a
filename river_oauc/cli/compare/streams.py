"""Streams to compare learners on: the user's own file, or a set of river."""

from __future__ import annotations

import datetime
import itertools
import pathlib
import random
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from river import datasets

from river_oauc.cli.console.errors import UserError
from river_oauc.cli.console.names import check_column
from river_oauc.cli.console.text import one_line, shorten
from river_oauc.cli.models import Example
from river_oauc.cli.preparations import typed
from river_oauc.cli.readers.rows import LIBSVM_TARGET, Record, Refusals, Row, read_rows
from river_oauc.cli.readers.source import STDIN, Source, open_source
from river_oauc.cli.target import Target
from river_oauc.records.parse import read_record

# The width of the rows is that of the first of them.
FIRST_ROWS = 100
# With fewer expected runs of labels than this, half as many may occur by chance.
_FEW_RUNS = 30

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


def width(records: Sequence[Record]) -> float:
    """Return the mean number of known values of a record."""
    n_known = sum(value is not None for record in records for value in record.values())
    return n_known / max(len(records), 1)


def file_stream(
    path: str,
    target: Target,
    exclude: Collection[str],
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
        The label. In a LIBSVM file its column may be empty.
    exclude
        Columns to leave out.
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
            target = Target(LIBSVM_TARGET, target.positive)
        reader = _Reader(source, target, exclude, time)
        rows = iter(reader)
        first = list(itertools.islice(rows, FIRST_ROWS))
        n = rows_of_width(width([reader.features(row.record) for row in first]))
        rows = itertools.chain(first, rows)
        if seed is None:
            kept, n_more = (
                list(itertools.islice(rows, n)),
                sum(1 for _ in itertools.islice(rows, 1)),
            )
        else:
            kept, n_more = _sample(rows, n, random.Random(seed))
        reader.check()
        if not kept:
            raise UserError(f"{source.name}: there is no row with a label")
        if time is not None:
            kept.sort(key=lambda row: _seconds(row.record[time]))
        labels = _labels(source, kept, target)
    notes = list(reader.notes())
    if n_more:
        which = "the first" if seed is None else "a random sample of"
        notes.append(f"{which} {n:,} rows, as many as there is time for; --seconds S changes that")
    if len(set(labels)) == 1:
        why = target.one_class(row.record[target.column] for row in kept)
        remedy = "; --shuffle takes rows of all of the file" if n_more and seed is None else ""
        raise UserError(f"{source.name}: the {len(kept):,} rows are of one class: {why}{remedy}")
    if seed is None and time is None and (order := _order(labels, target.column)):
        notes.append(order)
    title = "standard input" if path == STDIN else pathlib.Path(path).name
    return Stream(
        one_line(shorten(title, width=50)),
        [(reader.features(row.record), y) for row, y in zip(kept, labels, strict=True)],
        tuple(notes),
        None if time is None else tuple(_seconds(row.record[time]) for row in kept),
    )


def set_stream(
    name: str,
    exclude: Collection[str],
    rows_of_width: RowsOfWidth,
    *,
    seed: int | None = None,
) -> Stream:
    """Load a set of river, of which the rows are in random order if there is a seed.

    Examples
    --------
    >>> stream = set_stream("Phishing", (), lambda width: 2_000, seed=42)
    >>> stream.title, len(stream.examples), stream.n_positives
    ('Phishing', 1250, 548)

    """
    title, read = SETS[name]
    examples = list(read())
    for feature in exclude:
        check_column(title, feature, map(str, examples[0][0]))
    examples = [
        ({feature: x[feature] for feature in x if str(feature) not in exclude}, y)
        for x, y in examples
    ]
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


class _Reader:
    """Iterate over the rows of a file that can be learned, and count the others."""

    def __init__(
        self, source: Source, target: Target, exclude: Collection[str], time: str | None
    ) -> None:
        self._source, self._target, self._time = source, target, time
        self._exclude = tuple(exclude)
        self._names: dict[str, None] = {}
        self._n_unlabelled = 0
        self._refusals = Refusals()

    def __iter__(self) -> Iterator[Row]:
        for row in read_rows(self._source):
            # Learners of others do not read strings as numbers.
            record = {name: typed(value) for name, value in row.record.items()}
            if not self._names and self._source.has_columns:
                self._names.update(dict.fromkeys(record))
                self.check()
            self._names.update(dict.fromkeys(record))
            if record.get(self._target.column) is None:
                self._n_unlabelled += 1
                continue
            try:
                read_record(self.features(record))
                if self._time is not None:
                    _seconds(record.get(self._time))
            except ValueError as error:
                self._refusals.add(self._source, row.line, error)
                continue
            yield row._replace(record=record)

    def check(self) -> None:
        """Refuse columns that the user names and that do not exist, and a file without features."""
        name, columns = self._source.name, [self._target.column, *self._exclude]
        if not self._names:
            raise UserError(f"{name}: there is no row in it")
        for column in (*columns, *([] if self._time is None else [self._time])):
            check_column(name, column, self._names)
        if self._target.column in self._exclude:
            raise UserError(f"{name}: {self._target.column!r} is the target, and not to exclude")
        if not self._names.keys() - set(columns):
            raise UserError(f"{name}: there is no column besides {self._target.column!r}")

    def features(self, record: dict[Any, Any]) -> dict[Any, Any]:
        """Return a record without the label and what is to be left out."""
        hidden = (self._target.column, *self._exclude)
        return {name: value for name, value in record.items() if name not in hidden}

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


def _sample(rows: Iterable[Row], n: int, rng: random.Random) -> tuple[list[Row], int]:
    """Return n rows drawn without replacement, in random order, and how many there are besides."""
    kept: list[Row] = []
    for i, row in enumerate(rows):
        if i < n:
            kept.append(row)
        elif (j := rng.randrange(i + 1)) < n:
            kept[j] = row
    rng.shuffle(kept)
    return kept, max(0, i + 1 - n) if kept else 0


def _labels(source: Source, rows: Sequence[Row], target: Target) -> list[bool]:
    """Return which rows are positive."""
    labels: list[bool] = []
    for row in rows:
        try:
            labels.append(bool(target.label(row.record)))
        except UserError as error:
            raise UserError(f"{source.name}: line {row.line:,}: {error}") from None
    return labels


def _order(labels: Sequence[bool], target: str) -> str | None:
    """Return a warning if the order of the labels is far from random.

    Where labels come in long runs, a model that repeats the last label does well.

    Examples
    --------
    >>> _order([i % 500 < 50 for i in range(1_000)], "fraud")
    "'fraud' comes in 4 runs, and would in about 181 in random order: unless the rows are in order
    of time, try --shuffle"

    """
    n_runs = 1 + sum(a != b for a, b in itertools.pairwise(labels))
    if n_runs == 2:
        return f"the rows are sorted by {target!r}, which is not a fair stream: try --shuffle"
    share = sum(labels) / len(labels)
    expected = 1 + 2 * share * (1 - share) * len(labels)
    if n_runs >= 0.5 * expected or expected < _FEW_RUNS:
        return None
    return (
        f"{target!r} comes in {n_runs:,} runs, and would in about {expected:,.0f} in random order: "
        "unless the rows are in order of time, try --shuffle"
    )
