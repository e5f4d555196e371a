"""Read the user's own CSV file as a stream."""

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

# How spreadsheets, pandas, R, C and the UCI repository write a missing value.
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
    """Read a CSV file with a header row as a stream, in the order of the file.

    The file is read twice, first to find the types of its columns and then for the examples, so
    that it need not fit into memory unless it is shuffled. Rows appended in between are ignored. A
    column is numeric if all of its cells are numbers; a missing number is None. A column of times
    becomes two numbers, the hour of the day and the day of the week, because dates do not recur.
    Any other column is text; a missing text is left out. Columns that look like ids are left out,
    and so are columns without a name (such as a saved row index) or without values.

    Parameters
    ----------
    path
        A comma-separated UTF-8 file, plain, gz, bz2 or xz.
    target
        The column of the label.
    positive
        The positive value of the target, as written in the file; all others are negative.
    exclude
        Columns to leave out.
    include
        Columns to keep even if they look like ids.
    shuffle, seed, limit
        See `Arrangement`.

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
        ("left out because they look like ids (--include keeps them)", survey.ids),
        ("left out because they have no name or no value", survey.empty),
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
    """The columns and labels of a file, found in one pass."""

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
        raise UserError(f"{path}: {target!r} is the target and cannot be excluded")
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
        hint = f"; {listed(ids)} look like ids: --include keeps them" if ids else ""
        raise UserError(f"{path}: no column besides {target!r} can serve as a feature{hint}")
    return _Survey(target_index, features, ids, empty, labels)


def _find_target(path: pathlib.Path, header: Sequence[str], target: str) -> int:
    repeated = [name for name, n in Counter(header).items() if name and n > 1]
    if repeated:
        raise UserError(
            f"{path}: the column {shorten(repeated[0])!r} occurs twice in the header; rename one"
        )
    if target not in header:
        hint = closest_name(target, header)
        separator = "; are they separated by commas?" if len(header) == 1 else ""
        raise UserError(
            f"{path}: no column {target!r}{hint}; the columns are {listed(header)}{separator}"
        )
    return header.index(target)


def _examples(path: pathlib.Path, survey: _Survey, positive: str) -> Iterator[Example]:
    """Yield the surveyed rows as examples."""
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
    """Return the parts of a time that recur.

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
