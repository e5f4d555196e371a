"""The user's own CSV file as a stream."""

from __future__ import annotations

import itertools
import pathlib
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from river_oauc.experiments.compare.csv_rows import read_rows
from river_oauc.experiments.compare.streams import Stream
from river_oauc.experiments.console.errors import UserError
from river_oauc.experiments.console.names import closest_name
from river_oauc.experiments.console.text import listed, one_line, shorten
from river_oauc.experiments.models import Example

__all__ = ["MAX_CATEGORIES", "MISSING", "csv_stream"]

# What spreadsheets, pandas, R, C and the UCI repository write where a value is missing.
MISSING = frozenset({"", "NA", "N/A", "NaN", "nan", "NAN", "-nan", "NULL", "null", "None", "?"})

# One-hot encoding gives a feature to each distinct text. A name, an identifier or a free text
# would give as many features as rows, and none that is met again.
MAX_CATEGORIES = 50


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
    examples, so that it need not fit into memory unless it is to be shuffled. Rows that are
    appended in between are not read. A column is a number if all of its cells are; a column of
    text is left to be encoded, or left out if it has more than `MAX_CATEGORIES` distinct values.
    Columns without a name (an index that was written along) and columns without a value are left
    out. A missing cell is an absent feature.

    Parameters
    ----------
    path
        The file: UTF-8, separated by commas.
    target
        The column that holds the label.
    positive
        The value of the target, as it is written in the file, that counts as positive. All other
        values count as negative.
    shuffle
        Whether to shuffle the rows.
    seed
        Seed of the shuffle.
    limit
        How many examples to keep, after the shuffle.

    """
    survey = _survey(path, target, None if shuffle else limit)
    values = [value for value, _ in survey.labels.most_common()]
    if positive not in values:
        raise UserError(
            f"{path}: {positive!r} never occurs in column {target!r} of {survey.size:,} rows, "
            f"which holds {listed(values)}"
        )

    examples: Iterator[Example] | list[Example]
    examples = _examples(path, survey, positive)
    size, positives = survey.size, survey.labels[positive]
    if shuffle:
        examples = list(examples)
        random.Random(seed).shuffle(examples)
        examples = examples[:limit]
        size, positives = len(examples), sum(y for _, y in examples)

    notes = [f"{positives:,} of {size:,} rows are positive ({target} = {positive})"]
    if len(values) > 2:
        others = [value for value in values if value != positive]
        notes.append(f"the other values of {target!r} are negative: {listed(others)}")
    if survey.text_features:
        notes.append(f"one-hot encoded: {listed(survey.text_features)}")
    if survey.left_out:
        notes.append(
            f"left out, for want of a name or a value, or with more than {MAX_CATEGORIES} distinct "
            f"texts: {listed(survey.left_out)}"
        )
    if survey.is_sorted and not shuffle:
        notes.append(f"the rows are ordered by {target!r}, no fair stream: try --shuffle")
    return Stream(
        title=one_line(shorten(path.name, width=50)),
        examples=examples,
        size=size,
        positives=positives,
        text_features=survey.text_features,
        notes=tuple(notes),
    )


@dataclass(slots=True)
class _Column:
    """What the cells of one column have in common so far."""

    index: int
    name: str
    is_number: bool = True
    distinct: set[str] = field(default_factory=set)

    def add(self, cell: str) -> None:
        if len(self.distinct) <= MAX_CATEGORIES:
            self.distinct.add(cell)
        if self.is_number:
            try:
                float(cell)
            except ValueError:
                self.is_number = False

    @property
    def is_feature(self) -> bool:
        is_text = not self.is_number and len(self.distinct) > MAX_CATEGORIES
        return bool(self.name and self.distinct) and not is_text


@dataclass(frozen=True)
class _Survey:
    """What one pass over the file tells about it."""

    target: int
    features: list[_Column]
    left_out: list[str]
    labels: Counter[str]
    is_sorted: bool

    @property
    def size(self) -> int:
        return self.labels.total()

    @property
    def text_features(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.features if not column.is_number)


def _survey(path: pathlib.Path, target: str, limit: int | None) -> _Survey:
    rows = read_rows(path)
    _, header = next(rows, (0, None))
    if header is None:
        raise UserError(f"{path}: the file is empty")
    target_index = _find_target(path, header, target)
    columns = [_Column(i, name) for i, name in enumerate(header) if i != target_index]

    labels: Counter[str] = Counter()
    n_runs, last_label = 0, None
    for line, cells in itertools.islice(rows, limit):
        label = cells[target_index]
        if label in MISSING:
            raise UserError(
                f"{path}: line {line:,}: the target {target!r} is missing ({label!r}); "
                "fill it in or remove the row"
            )
        labels[label] += 1
        n_runs, last_label = n_runs + (label != last_label), label
        for column in columns:
            if (cell := cells[column.index]) not in MISSING:
                column.add(cell)
    if not labels:
        raise UserError(f"{path}: there is a header but no row below it")

    features = [column for column in columns if column.is_feature]
    left_out = [
        column.name or f"column {column.index + 1}" for column in columns if not column.is_feature
    ]
    if not features:
        raise UserError(f"{path}: no column besides {target!r} can serve as a feature")
    return _Survey(target_index, features, left_out, labels, is_sorted=n_runs == len(labels))


def _find_target(path: pathlib.Path, header: Sequence[str], target: str) -> int:
    repeated = [name for name, n in Counter(header).items() if name and n > 1]
    if repeated:
        raise UserError(
            f"{path}: the column {shorten(repeated[0])!r} stands twice in the header; rename one"
        )
    if target not in header:
        hint = closest_name(target, header)
        separator = "; are they separated by commas?" if len(header) == 1 else ""
        raise UserError(
            f"{path}: no column {target!r}{hint}; the columns are {listed(header)}{separator}"
        )
    return header.index(target)


def _examples(path: pathlib.Path, survey: _Survey, positive: str) -> Iterator[Example]:
    """The rows that the survey has seen, as examples."""
    rows = itertools.islice(read_rows(path), 1, survey.size + 1)
    for _, cells in rows:
        x = {
            column.name: float(cells[column.index]) if column.is_number else cells[column.index]
            for column in survey.features
            if cells[column.index] not in MISSING
        }
        yield x, cells[survey.target] == positive
