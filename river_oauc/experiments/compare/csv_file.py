"""The user's own CSV file as a stream."""

from __future__ import annotations

import itertools
import pathlib
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from river_oauc.experiments.compare.csv_rows import Row, read_rows
from river_oauc.experiments.compare.streams import Example, Stream, nearest
from river_oauc.experiments.console.errors import UserError
from river_oauc.experiments.console.text import listed, one_line, shorten
from river_oauc.inputs.limits import MAX_NORM

__all__ = ["MAX_CATEGORIES", "MISSING", "csv_stream"]

# What spreadsheets, pandas, R, C and the UCI repository write where a value is missing.
MISSING = frozenset({"", "NA", "N/A", "NaN", "nan", "NAN", "-nan", "NULL", "null", "None", "?"})

# One-hot encoding gives a feature to each distinct text. A name, an identifier or a free text
# would give as many features as rows, and none that is met again.
MAX_CATEGORIES = 50

# How many columns that are left out are named one by one.
_MAX_REASONS = 12


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
    appended in between are not read; any other change is refused. A column is a number if all of
    its cells are; a column of text is left to be encoded, or left out if it has more than
    `MAX_CATEGORIES` distinct values. Columns without a name (an index that was written along) and
    columns without a value are left out. A missing cell is an absent feature.

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
    read_limit = None if shuffle else limit
    survey = _survey(path, target, read_limit)
    _check_target(path, target, positive, survey.labels, read_limit)
    _check_features(path, target, survey)

    examples: Iterator[Example] | list[Example]
    examples = _examples(path, survey, positive)
    size, positives = survey.labels.total(), survey.labels[positive]
    if shuffle:
        examples = list(examples)
        random.Random(seed).shuffle(examples)
        examples = examples[:limit]
        size, positives = len(examples), sum(y for _, y in examples)

    return Stream(
        title=one_line(shorten(path.name, width=50)),
        examples=examples,
        size=size,
        positives=positives,
        text_features=survey.text_features,
        notes=(
            f"{positives:,} of {size:,} rows are positive ({target} = {positive})",
            *_notes(survey, target, positive, shuffle),
        ),
    )


def _notes(survey: _Survey, target: str, positive: str, shuffle: bool) -> Iterator[str]:
    others = [value for value, _ in survey.labels.most_common() if value != positive]
    if len(others) > 1:
        yield f"the other values of {target!r} are negative: {listed(others)}"
    if survey.text_features:
        yield f"one-hot encoded: {listed(survey.text_features)}"
    for why in survey.left_out[:_MAX_REASONS]:
        yield f"left out: {why}"
    if len(survey.left_out) > _MAX_REASONS:
        yield f"left out: {len(survey.left_out) - _MAX_REASONS:,} more columns"
    if survey.is_sorted and not shuffle:
        yield f"the rows are ordered by {target!r}, no fair stream: try --shuffle"


@dataclass(slots=True)
class _Column:
    """What the cells of one column have in common so far."""

    index: int
    name: str
    first_text: str | None = None
    first_text_line: int = 0
    first_excess: str | None = None
    first_excess_line: int = 0
    distinct: set[str] = field(default_factory=set)

    def add(self, cell: str, line: int) -> None:
        if len(self.distinct) <= MAX_CATEGORIES:
            self.distinct.add(cell)
        if self.first_text is None:
            number = _number(cell)
            if number is None:
                self.first_text, self.first_text_line = cell, line
            # Said so that it is true of NaN, too.
            elif self.first_excess is None and not abs(number) <= MAX_NORM:
                self.first_excess, self.first_excess_line = cell, line

    @property
    def is_number(self) -> bool:
        return self.first_text is None

    @property
    def reason_to_leave_out(self) -> str | None:
        if not self.name:
            return f"column {self.index + 1:,}, which has no name"
        if not self.distinct:
            return f"{shorten(self.name)!r}, which has no value"
        if self.first_text is not None and len(self.distinct) > MAX_CATEGORIES:
            return (
                f"{shorten(self.name)!r}, text with more than {MAX_CATEGORIES} distinct values "
                f"(line {self.first_text_line:,}: {shorten(self.first_text)!r})"
            )
        return None


@dataclass(frozen=True)
class _Survey:
    """What one pass over the file tells about it."""

    header: Row
    target: int
    features: list[_Column]
    left_out: list[str]
    labels: Counter[str]
    is_sorted: bool

    @property
    def text_features(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.features if not column.is_number)


def _survey(path: pathlib.Path, target: str, limit: int | None) -> _Survey:
    rows = read_rows(path)
    try:
        header = next(rows)
    except StopIteration:
        raise UserError(f"{path}: the file is empty") from None
    target_index = _find_target(path, header[1], target)
    columns = [_Column(i, name) for i, name in enumerate(header[1]) if i != target_index]

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
            cell = cells[column.index]
            if cell not in MISSING:
                column.add(cell, line)
    if not labels:
        raise UserError(f"{path}: there is a header but no row below it")

    features, left_out = [], []
    for column in columns:
        reason = column.reason_to_leave_out
        if reason:
            left_out.append(reason)
        else:
            features.append(column)
    return _Survey(
        header, target_index, features, left_out, labels, is_sorted=n_runs == len(labels)
    )


def _find_target(path: pathlib.Path, header: Sequence[str], target: str) -> int:
    repeated = [name for name, n in Counter(header).items() if name and n > 1]
    if repeated:
        raise UserError(
            f"{path}: the column {shorten(repeated[0])!r} stands twice in the header; rename one"
        )
    if target not in header:
        raise UserError(
            f"{path}: no column {target!r}{nearest(target, header)}; "
            f"the columns are {listed(header)}{_hint_at_separator(header)}"
        )
    return header.index(target)


def _hint_at_separator(header: Sequence[str]) -> str:
    for separator, name in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
        if len(header) == 1 and separator in header[0]:
            return f"; separate them by commas, not by {name}"
    return ""


def _check_target(
    path: pathlib.Path, target: str, positive: str, labels: Counter[str], limit: int | None
) -> None:
    where, hint = str(path), ""
    if limit:
        where, hint = f"the first {limit:,} rows of {path}", "; a larger --limit may help"
    if positive not in labels:
        raise UserError(
            f"{where}: {positive!r} never occurs in column {target!r}, "
            f"which holds {listed([value for value, _ in labels.most_common()])}{hint}"
        )
    if len(labels) == 1:
        raise UserError(
            f"{where}: column {target!r} holds one value only, {positive!r}, and nothing to tell "
            f"it from{hint}"
        )


def _check_features(path: pathlib.Path, target: str, survey: _Survey) -> None:
    if not survey.features:
        why = f" ({'; '.join(survey.left_out[:3])})" if survey.left_out else ""
        raise UserError(f"{path}: no column besides {target!r} can serve as a feature{why}")
    for column in survey.features:
        if column.is_number and column.first_excess is not None:
            raise UserError(
                f"{path}: line {column.first_excess_line:,}: {shorten(column.name)!r} is "
                f"{shorten(column.first_excess)}, and numbers must stay within {MAX_NORM:g}; "
                "correct it, or leave the cell empty"
            )


def _examples(path: pathlib.Path, survey: _Survey, positive: str) -> Iterator[Example]:
    """The rows that the survey has seen, as examples."""
    has_changed = UserError(f"{path} has changed while it was read; try again on a copy of it")
    rows = read_rows(path)
    if next(rows, None) != survey.header:
        raise has_changed
    numbers = [(column.index, column.name) for column in survey.features if column.is_number]
    texts = [(column.index, column.name) for column in survey.features if not column.is_number]
    labels: Counter[bool] = Counter()
    for _, cells in itertools.islice(rows, survey.labels.total()):
        try:
            x: dict[str, float | str] = {
                name: float(cells[i]) for i, name in numbers if cells[i] not in MISSING
            }
        except ValueError:
            raise has_changed from None
        x.update((name, cells[i]) for i, name in texts if cells[i] not in MISSING)
        y = cells[survey.target] == positive
        labels[y] += 1
        yield x, y
    if (labels.total(), labels[True]) != (survey.labels.total(), survey.labels[positive]):
        raise has_changed


def _number(cell: str) -> float | None:
    """The number that a cell holds; None if it holds text."""
    try:
        return float(cell)
    except ValueError:
        return None
