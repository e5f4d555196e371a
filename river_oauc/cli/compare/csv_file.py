"""The user's own CSV file as a stream."""

from __future__ import annotations

import datetime
import itertools
import pathlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from river_oauc.cli.compare.columns import MAX_CATEGORIES, Column
from river_oauc.cli.compare.csv_rows import read_rows
from river_oauc.cli.compare.own_file import Arrangement, Labels, file_stream
from river_oauc.cli.compare.streams import Stream, check_columns
from river_oauc.cli.console.errors import UserError
from river_oauc.cli.console.names import closest_name
from river_oauc.cli.console.text import listed, shorten
from river_oauc.cli.models import Example

__all__ = ["MISSING", "csv_stream"]

# What spreadsheets, pandas, R, C and the UCI repository write where a value is missing.
MISSING = frozenset({"", "NA", "N/A", "NaN", "nan", "NAN", "-nan", "NULL", "null", "None", "?"})


def csv_stream(
    path: pathlib.Path,
    *,
    target: str,
    positive: str,
    exclude: Collection[str] = (),
    include: Collection[str] = (),
    shuffle: bool = False,
    seed: int = 42,
    limit: int | None = None,
) -> Stream:
    """A CSV file with a header row as a stream, in the order of the file.

    The file is read twice, once to learn what its columns hold and once by whoever takes the
    examples, so that it need not fit into memory unless it is to be shuffled. Rows that are
    appended in between are not read. A column is a number if all of its cells are, and None where
    the cell is missing. One of times becomes two numbers, the hour of the day and the day of the
    week: the date itself never comes again. Any other is text, and absent where it is missing. What
    looks like ids is left out, and so are columns without a name (an index that was written along)
    and columns without a value.

    Parameters
    ----------
    path
        The file: UTF-8, separated by commas; gz, bz2 and xz are unpacked on the way.
    target
        The column that holds the label.
    positive
        The value of the target, as it is written in the file, that counts as positive. All other
        values count as negative.
    exclude
        Columns to leave out.
    include
        Columns to keep though they look like ids.
    shuffle
        Whether to shuffle the rows.
    seed
        Seed of the shuffle.
    limit
        How many examples to keep, after the shuffle.

    """
    arrangement = Arrangement(shuffle, seed, limit)
    survey = _survey(path, target, exclude, include, arrangement.n_to_read)
    labels = survey.labels
    values = [value for value, _ in labels.counts.most_common()]
    if positive not in values:
        raise UserError(
            f"{path}: {positive!r} never occurs in column {target!r} of {labels.size:,} rows, "
            f"which holds {listed(values)}"
        )

    notes = []
    if len(values) > 2:
        others = [value for value in values if value != positive]
        notes.append(f"the other values of {target!r} are negative: {listed(others)}")
    for what, columns in (
        ("left out, for they look like ids (--include keeps them)", survey.ids),
        ("left out, for want of a name or a value", survey.empty),
        ("times, read as hour and weekday", survey.times),
        ("one-hot encoded", survey.text_features),
        (
            f"more than {MAX_CATEGORIES} distinct texts, left out for learners that keep a matrix",
            survey.many_valued,
        ),
    ):
        if columns:
            notes.append(f"{what}: {listed(columns)}")
    return file_stream(
        path,
        lambda: _examples(path, survey, positive),
        labels,
        positive,
        arrangement,
        target=target,
        written=positive,
        text_features=survey.text_features,
        many_valued=survey.many_valued,
        notes=tuple(notes),
    )


@dataclass(frozen=True)
class _Survey:
    """What one pass over the file tells about it."""

    target: int
    features: list[Column]
    ids: list[str]
    empty: list[str]
    labels: Labels[str]

    @property
    def times(self) -> list[str]:
        return [column.name for column in self.features if column.is_time]

    @property
    def text_features(self) -> tuple[str, ...]:
        return tuple(column.name for column in self._text if not column.is_many_valued)

    @property
    def many_valued(self) -> tuple[str, ...]:
        return tuple(column.name for column in self._text if column.is_many_valued)

    @property
    def _text(self) -> Iterator[Column]:
        return (each for each in self.features if not (each.is_number or each.is_time))


def _survey(
    path: pathlib.Path,
    target: str,
    exclude: Collection[str],
    include: Collection[str],
    limit: int | None,
) -> _Survey:
    rows = read_rows(path)
    _, header = next(rows, (0, None))
    if header is None:
        raise UserError(f"{path}: the file is empty")
    target_index = _find_target(path, header, target)
    if target in exclude:
        raise UserError(f"{path}: {target!r} is the target, and can't be excluded")
    check_columns(str(path), "exclude", exclude, header)
    check_columns(str(path), "include", include, header)
    columns = [
        Column(i, name)
        for i, name in enumerate(header)
        if i != target_index and name not in exclude
    ]

    labels = Labels[str]()
    for line, cells in itertools.islice(rows, limit):
        label = cells[target_index]
        if label in MISSING:
            raise UserError(
                f"{path}: line {line:,}: the target {target!r} is missing ({label!r}); "
                "fill it in or remove the row"
            )
        labels.add(label)
        for column in columns:
            if (cell := cells[column.index]) not in MISSING:
                column.add(cell)
    if not labels.size:
        raise UserError(f"{path}: there is a header but no row below it")

    empty = [
        column.name or f"column {column.index + 1}" for column in columns if not column.is_feature
    ]
    columns = [column for column in columns if column.is_feature]
    ids = [column.name for column in columns if column.is_id and column.name not in include]
    features = [column for column in columns if column.name not in ids]
    if not features:
        but = f" but {listed(ids)}, like ids: --include keeps them" if ids else ""
        raise UserError(f"{path}: no column besides {target!r} can serve as a feature{but}")
    return _Survey(target_index, features, ids, empty, labels)


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
    rows = itertools.islice(read_rows(path), 1, survey.labels.size + 1)
    for _, cells in rows:
        x: dict[str, float | str | None] = {}
        for column in survey.features:
            cell = None if cells[column.index] in MISSING else cells[column.index]
            if column.is_number:
                x[column.name] = None if cell is None else float(cell)
            elif column.is_time:
                x |= _parts(column.name, cell)
            elif cell is not None:
                x[column.name] = cell
        yield x, cells[survey.target] == positive


def _parts(name: str, cell: str | None) -> dict[str, float | None]:
    """What comes again of a time.

    Examples
    --------
    >>> _parts("paid", "2024-02-29 18:30")
    {'paid, hour': 18.5, 'paid, weekday': 3.0}

    """
    hour = weekday = None
    if cell is not None:
        time = datetime.datetime.fromisoformat(cell)
        hour = time.hour + time.minute / 60 + time.second / 3600
        weekday = float(time.weekday())
    return {f"{name}, hour": hour, f"{name}, weekday": weekday}
