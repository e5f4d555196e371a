"""The user's own file as a stream."""

from __future__ import annotations

import itertools
import numbers
import pathlib
import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from river_oauc.cli.compare.streams import Stream
from river_oauc.cli.console.errors import UserError
from river_oauc.cli.console.names import check_column
from river_oauc.cli.console.text import listed, one_line, shorten
from river_oauc.cli.preparations import typed
from river_oauc.cli.readers.rows import LIBSVM_TARGET, Row, read_rows
from river_oauc.cli.readers.source import STDIN, Source, open_source
from river_oauc.cli.target import Target
from river_oauc.limits import short_repr
from river_oauc.records.parse import is_unknown, read_record

# Rows are held in memory, so there is a limit even if the user sets none.
DEFAULT_LIMIT = 100_000

# A column with a larger share of other values is no column of numbers.
_MAX_OTHERS = 0.05
# At most this many of them are named.
_MAX_COLUMNS = 3
# With fewer expected runs of labels than this, half as many may occur by chance.
_FEW_RUNS = 30


def file_stream(
    path: str,
    *,
    target: str | None = None,
    positive: str | None = None,
    exclude: Collection[str] = (),
    shuffle: bool = False,
    seed: int = 42,
    limit: int | None = None,
) -> Stream:
    """Read a file, or standard input.

    Parameters
    ----------
    path
        The path as the user wrote it, or `-`.
    target
        The column with the label. A LIBSVM file needs none.
    positive
        The positive label, as text. By default labels are 1 and 0, 1 and -1, or true and false; in
        a LIBSVM file the larger of two labels.
    exclude
        Columns to leave out.
    shuffle
        Whether to take a random sample in random order rather than the first rows.
    seed
        Seed of the shuffle.
    limit
        Number of rows to keep; by default `DEFAULT_LIMIT`.

    """
    with open_source(path) as source:
        reader = _Reader(source, target, exclude)
        rows: Iterator[Row] = iter(reader)
        n = limit or DEFAULT_LIMIT
        kept = _sample(rows, n, random.Random(seed)) if shuffle else list(itertools.islice(rows, n))
        is_cut = limit is None and (shuffle and reader.n_rows > n or next(rows, None) is not None)
        reader.check_columns()
        if not kept:
            raise UserError(f"{source.name}: there is no row with a label")
        labels = _labels(source, kept, reader.target, positive)
    notes = list(reader.notes())
    if is_cut:
        which = "a random sample of" if shuffle else "the first"
        notes.append(f"{which} {n:,} rows; --limit N takes more")
    if not shuffle and (order := _order(labels, reader.target)):
        notes.append(order)
    title = "standard input" if path == STDIN else pathlib.Path(path).name
    examples = [(reader.features(row.record), y) for row, y in zip(kept, labels, strict=True)]
    return Stream(one_line(shorten(title, width=50)), examples, tuple(notes))


@dataclass(slots=True)
class _Column:
    """What the values of a column are."""

    n_numbers: int = 0
    n_others: int = 0
    first_other: tuple[int, Any] = (0, None)

    def add(self, line: int, value: Any) -> None:
        if isinstance(value, numbers.Number):
            self.n_numbers += 1
        elif value is not None:
            if not self.n_others:
                self.first_other = (line, value)
            self.n_others += 1

    @property
    def is_nearly_of_numbers(self) -> bool:
        return 0 < self.n_others <= _MAX_OTHERS * (self.n_numbers + self.n_others)

    def __str__(self) -> str:
        n = self.n_numbers + self.n_others
        line, value = self.first_other
        return f"{self.n_numbers:,} of {n:,} are numbers; line {line:,} is {short_repr(value)}"


class _Reader:
    """Iterate over the rows of a file that can be learned, and note what is special about others.

    Parameters
    ----------
    source
        The open file.
    target
        The column with the label.
    exclude
        Columns to leave out.

    """

    def __init__(self, source: Source, target: str | None, exclude: Collection[str]) -> None:
        if target is None and source.format != "libsvm":
            raise UserError(f"{source.name}: --target COLUMN says which column is the label")
        self.target = target or LIBSVM_TARGET
        self.n_rows = self._n_unlabelled = self._n_refused = 0
        self._first_refusal = ""
        self._source = source
        self._exclude = tuple(exclude)
        self._columns: dict[str, _Column] = {}
        if self.target in self._exclude:
            raise UserError(f"{source.name}: {self.target!r} is the target, and not to exclude")

    def __iter__(self) -> Iterator[Row]:
        for line, strings in read_rows(self._source):
            # Learners of others do not read strings as numbers.
            record = {name: typed(value) for name, value in strings.items()}
            for name, value in record.items():
                self._columns.setdefault(name, _Column()).add(line, value)
            if self._source.has_columns and not self.n_rows:
                self.check_columns()
            if is_unknown(record.get(self.target)):
                self._n_unlabelled += 1
                continue
            try:
                read_record(self.features(record))
            except ValueError as error:
                self._first_refusal = self._first_refusal or f"line {line:,}: {error}"
                self._n_refused += 1
                continue
            self.n_rows += 1
            yield Row(line, record)

    def check_columns(self) -> None:
        """Refuse columns that the user names and that do not exist, and a file without features."""
        if not self._columns:
            raise UserError(f"{self._source.name}: there is no row in it")
        for column in (self.target, *self._exclude):
            check_column(self._source.name, column, self._columns)
        if not self._columns.keys() - {self.target, *self._exclude}:
            raise UserError(f"{self._source.name}: there is no column besides {self.target!r}")

    def features(self, record: dict[Any, Any]) -> dict[Any, Any]:
        """Return a record without the label and what is to be left out."""
        return {
            name: value
            for name, value in record.items()
            if name != self.target and name not in self._exclude
        }

    def notes(self) -> Iterator[str]:
        """Yield what the user should know about the file."""
        if self._n_unlabelled:
            yield f"{self._n_unlabelled:,} rows have no label, and are left out"
        if self._n_refused:
            yield f"{self._n_refused:,} rows are refused; {self._first_refusal}"
        columns = self.features(self._columns)
        nearly = [name for name, column in columns.items() if column.is_nearly_of_numbers]
        for name in nearly[:_MAX_COLUMNS]:
            yield f"{shorten(name)}: {columns[name]}"
        if len(nearly) > _MAX_COLUMNS:
            yield f"{len(nearly) - _MAX_COLUMNS:,} more columns are nearly all numbers"


def _sample(rows: Iterator[Row], n: int, rng: random.Random) -> list[Row]:
    """Return n rows drawn without replacement, in random order, in one pass."""
    kept: list[Row] = []
    for i, row in enumerate(rows):
        if i < n:
            kept.append(row)
        elif (j := rng.randrange(i + 1)) < n:
            kept[j] = row
    rng.shuffle(kept)
    return kept


def _labels(source: Source, rows: Sequence[Row], column: str, positive: str | None) -> list[bool]:
    """Return which rows are positive."""
    if source.format == "libsvm" and positive is None:
        found = sorted({row.record[column] for row in rows})
        if len(found) != 2:
            values = listed([f"{label:g}" for label in found])
            raise UserError(
                f"{source.name}: two labels are needed, not {values}; --positive VALUE picks one, "
                "a larger --limit may find more"
            )
        return [row.record[column] == found[1] for row in rows]
    target = Target(column, positive)
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
    share = sum(labels) / max(len(labels), 1)
    expected = 1 + 2 * share * (1 - share) * len(labels)
    if n_runs >= 0.5 * expected or expected < _FEW_RUNS:
        return None
    return (
        f"{target!r} comes in {n_runs:,} runs, and would in about {expected:,.0f} in random order: "
        "unless the rows are in order of time, try --shuffle"
    )
