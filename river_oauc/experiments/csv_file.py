"""The user's own CSV file as a stream."""

from __future__ import annotations

import csv
import itertools
import math
import pathlib
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from river_oauc.experiments.errors import UserError
from river_oauc.experiments.streams import Example, Stream, nearest

__all__ = ["MAX_CATEGORIES", "MISSING", "csv_stream"]

# What spreadsheets, pandas, R and the UCI repository write where a value is missing.
MISSING = frozenset({"", "NA", "N/A", "NaN", "nan", "NULL", "null", "?"})

# One-hot encoding gives a feature to each distinct text. A name, an identifier or a free text
# would give as many features as rows, and none that is met again.
MAX_CATEGORIES = 50

_Row = tuple[int, list[str]]


def csv_stream(
    path: pathlib.Path,
    *,
    target: str,
    positive: str,
    shuffle: bool = False,
    seed: int = 42,
    limit: int | None = None,
) -> Stream:
    """A CSV file with a header row as a stream, in the order of the file.

    The file is read twice, once to learn what its columns hold and once by whoever takes the
    examples, so that it need not fit into memory unless it is to be shuffled. A column is a
    number if all of its cells are; a column of text is left to be encoded, or left out if it has
    more than `MAX_CATEGORIES` distinct values. Columns without a name (an index that was
    written along) and columns without a value are left out. A missing cell is an absent feature.

    Parameters
    ----------
    path
        The file: UTF-8, separated by commas.
    target
        The column that holds the label.
    positive
        The value of the target, as it is written in the file, that counts as positive.
    shuffle
        Whether to shuffle the rows.
    seed
        Seed of the shuffle.
    limit
        How many examples to keep, after the shuffle.

    """
    read_limit = None if shuffle else limit
    survey = _survey(path, target, read_limit)
    where = f"the first {read_limit:,} rows of {path}" if read_limit else str(path)
    _check_target(where, target, positive, survey.labels)
    if not survey.features:
        raise UserError(f"{path}: no column besides {target!r} can serve as a feature")

    examples: Iterator[Example] | list[Example]
    examples = _examples(path, survey, positive, read_limit)
    size, positives = survey.labels.total(), survey.labels[positive]
    if shuffle:
        examples = list(examples)
        random.Random(seed).shuffle(examples)
        examples = examples[:limit]
        size, positives = len(examples), sum(y for _, y in examples)

    text_features = tuple(column.name for column in survey.features if not column.is_number)
    notes = [f"{positives:,} of {size:,} rows are positive ({target} = {positive})"]
    if text_features:
        notes.append(f"one-hot encoded: {', '.join(map(repr, text_features))}")
    notes.extend(f"left out: {reason}" for reason in survey.left_out)
    if survey.is_sorted and not shuffle:
        notes.append(f"the rows are ordered by {target!r}, no fair stream: try --shuffle")
    return Stream(
        title=path.name,
        examples=examples,
        size=size,
        positives=positives,
        text_features=text_features,
        notes=tuple(notes),
    )


@dataclass
class _Column:
    """What the cells of one column have in common so far."""

    index: int
    name: str
    first_text: str | None = None
    first_text_line: int = 0
    distinct: set[str] = field(default_factory=set)

    def add(self, cell: str, line: int) -> None:
        if len(self.distinct) <= MAX_CATEGORIES:
            self.distinct.add(cell)
        if self.first_text is None and not _is_number(cell):
            self.first_text, self.first_text_line = cell, line

    @property
    def is_number(self) -> bool:
        return self.first_text is None

    @property
    def reason_to_leave_out(self) -> str | None:
        if not self.name:
            return f"column {self.index + 1}, which has no name"
        if not self.distinct:
            return f"{self.name!r}, which has no value"
        if not self.is_number and len(self.distinct) > MAX_CATEGORIES:
            return (
                f"{self.name!r}, text with more than {MAX_CATEGORIES} distinct values "
                f"(line {self.first_text_line}: {_shorten(self.first_text)})"
            )
        return None


@dataclass(frozen=True)
class _Survey:
    """What one pass over the file tells about it."""

    target: int
    features: list[_Column]
    left_out: list[str]
    labels: Counter[str]
    is_sorted: bool


def _survey(path: pathlib.Path, target: str, limit: int | None) -> _Survey:
    rows = _rows(path)
    try:
        _, header = next(rows)
    except StopIteration:
        raise UserError(f"{path}: the file is empty") from None
    target_index = _find_target(path, header, target)
    columns = [_Column(i, name) for i, name in enumerate(header) if i != target_index]

    labels: Counter[str] = Counter()
    n_runs, last_label = 0, None
    for line, cells in itertools.islice(rows, limit):
        label = cells[target_index]
        if label in MISSING:
            raise UserError(f"{path}: line {line}: the target {target!r} is missing")
        labels[label] += 1
        n_runs, last_label = n_runs + (label != last_label), label
        for column in columns:
            cell = cells[column.index]
            if cell not in MISSING:
                column.add(cell, line)
    if not labels:
        raise UserError(f"{path}: there is a header but no row below it")

    left_out = [reason for column in columns if (reason := column.reason_to_leave_out)]
    features = [column for column in columns if not column.reason_to_leave_out]
    return _Survey(target_index, features, left_out, labels, is_sorted=n_runs == len(labels))


def _rows(path: pathlib.Path) -> Iterator[_Row]:
    """The rows with their line numbers, header first, all of one length, cells stripped."""
    if path.exists() and not path.is_dir() and not path.is_file():
        # A pipe can be read once only.
        raise UserError(f"{path}: not a regular file")
    width = 0
    try:
        # Spreadsheets open a UTF-8 file with a byte order mark, which is no part of the header.
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            for cells in reader:
                if not cells:
                    continue
                width = width or len(cells)
                if len(cells) != width:
                    raise UserError(
                        f"{path}: line {reader.line_num} has {len(cells)} cells, "
                        f"the header has {width}"
                    )
                yield reader.line_num, [cell.strip() for cell in cells]
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 text") from error
    except csv.Error as error:
        raise UserError(f"{path}: line {reader.line_num}: not CSV: {error}") from error


def _find_target(path: pathlib.Path, header: Sequence[str], target: str) -> int:
    repeated = [name for name, n in Counter(header).items() if name and n > 1]
    if repeated:
        raise UserError(f"{path}: the column {repeated[0]!r} stands twice in the header")
    if target not in header:
        raise UserError(
            f"{path}: no column {target!r}{nearest(target, header)}; "
            f"the columns are {_enumerate(header)}"
        )
    return header.index(target)


def _check_target(where: str, target: str, positive: str, labels: Counter[str]) -> None:
    if positive not in labels:
        raise UserError(
            f"{where}: {positive!r} never occurs in column {target!r}, "
            f"which holds {_enumerate([value for value, _ in labels.most_common()])}"
        )
    if len(labels) == 1:
        raise UserError(f"{where}: column {target!r} holds one value only, {positive!r}")


def _examples(
    path: pathlib.Path, survey: _Survey, positive: str, limit: int | None
) -> Iterator[Example]:
    numbers = [(column.index, column.name) for column in survey.features if column.is_number]
    texts = [(column.index, column.name) for column in survey.features if not column.is_number]
    for _, cells in itertools.islice(_rows(path), 1, None if limit is None else limit + 1):
        x: dict[str, float | str] = {
            name: float(cells[i]) for i, name in numbers if cells[i] not in MISSING
        }
        x.update((name, cells[i]) for i, name in texts if cells[i] not in MISSING)
        yield x, cells[survey.target] == positive


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def _shorten(text: str | None, width: int = 30) -> str:
    return repr(text if text is None or len(text) <= width else text[: width - 3] + "...")


def _enumerate(values: Sequence[str], at_most: int = 12) -> str:
    shown = ", ".join(_shorten(value) for value in values[:at_most])
    return shown + (f" and {len(values) - at_most} more" if len(values) > at_most else "")
