"""Rows of a file as records, whatever the format of the file."""

from __future__ import annotations

import csv
import datetime
import decimal
import functools
import itertools
import json
import math
import typing
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from river_oauc.cli.cells import parse_cell, parse_time
from river_oauc.cli.console.errors import UserError
from river_oauc.cli.console.text import shorten
from river_oauc.cli.readers.source import Source

# The label of a LIBSVM row, beside its features, whose names are numbers.
LIBSVM_TARGET = "label"

SEPARATORS = ",;\t|"

_PARQUET_BATCH = 1_000
_PLAIN = (
    type(None), str, bytes, bool, int, float, decimal.Decimal, datetime.date, datetime.timedelta,
    list,
)  # fmt: skip


class Row(typing.NamedTuple):
    """A row of a file.

    Parameters
    ----------
    line
        The line that it begins in. In a Parquet file, its number.
    record
        Its values by name. A missing value is None.

    """

    line: int
    record: dict[typing.Any, typing.Any]


def read_rows(source: Source, skip: int = 0) -> Iterator[Row]:
    """Yield the rows of a file, but for the first ones.

    Parameters
    ----------
    source
        The open file.
    skip
        Number of rows to skip. They are not parsed.

    """
    return _READERS[source.format](source, skip)


def _read_csv(source: Source, skip: int) -> Iterator[Row]:
    """Yield the rows below the header. Columns without a name, such as a saved index, are left out.

    Blank lines are skipped, and spaces around cells are dropped.
    """
    lines = source.lines()
    first = next(lines, "")
    separator = max(SEPARATORS, key=functools.partial(_n_cells, first))
    next_line = 1
    # If it were not strict, an unclosed quote would swallow the rows below it.
    reader = csv.reader(itertools.chain([first], lines), delimiter=separator, strict=True)
    try:
        header: list[str] = []
        for cells in reader:
            line, next_line = next_line, reader.line_num + 1
            if not cells:
                lines.end_row()
                continue
            if not header:
                header = [cell.strip() for cell in cells]
                _check_header(source, header)
                lines.end_row()
                continue
            if len(cells) != len(header):
                raise UserError(
                    f"{source.name}: line {line:,} has {len(cells):,} cells, the header has "
                    f"{len(header):,}; a cell with {separator!r} in it needs quotes"
                )
            lines.end_row()
            if skip:
                skip -= 1
                continue
            record = {
                name: parse_cell(cell.strip())
                for name, cell in zip(header, cells, strict=True)
                if name
            }
            yield Row(line, record)
    except csv.Error as error:
        raise UserError(
            f"{source.name}: the row that begins in line {next_line:,} is not CSV: {error}; "
            "is a quote not closed, or not doubled?"
        ) from error


def _n_cells(line: str, separator: str) -> int:
    try:
        return len(next(csv.reader([line], delimiter=separator), []))
    except csv.Error:
        # A cell is too long: it is none if this is not the separator.
        return 0


def _check_header(source: Source, header: Sequence[str]) -> None:
    repeated = [name for name, n in Counter(header).items() if name and n > 1]
    if repeated:
        raise UserError(
            f"{source.name}: the column {shorten(repeated[0])!r} occurs twice in the header; "
            "rename one"
        )


def _read_lines(
    parse: Callable[[str], dict[str, typing.Any]], source: Source, skip: int
) -> Iterator[Row]:
    """Yield the record of each line that is neither blank nor a comment."""
    lines = source.lines()
    for number, line in enumerate(lines, start=1):
        if not line.isspace() and not line.lstrip().startswith("#"):
            if skip:
                skip -= 1
            else:
                try:
                    record = parse(line)
                except (ValueError, RecursionError) as error:
                    raise UserError(f"{source.name}: line {number:,}: {error}") from None
                lines.end_row()
                yield Row(number, record)
        lines.end_row()


def _parse_json(line: str) -> dict[str, typing.Any]:
    """Return the object of a line. Objects inside it become features such as `card.country`."""
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"{shorten(line.strip())!r} is not an object")
    record: dict[str, typing.Any] = {}
    for name, item in _flat(value, ""):
        if name in record:
            raise ValueError(f"{shorten(name)!r} occurs twice")
        record[name] = parse_time(item) if isinstance(item, str) else item
    return record


def _flat(value: dict[str, typing.Any], prefix: str) -> Iterator[tuple[str, typing.Any]]:
    for name, item in value.items():
        if isinstance(item, dict):
            yield from _flat(item, f"{prefix}{name}.")
        else:
            yield prefix + name, item


def _parse_libsvm(line: str) -> dict[str, typing.Any]:
    """Return the label and the features, by index. Comments and query ids are skipped."""
    label, *cells = line.partition("#")[0].split()
    record = {LIBSVM_TARGET: _number(label)}
    if math.isnan(record[LIBSVM_TARGET]):
        raise ValueError(f"the label {shorten(label)!r} is not a number")
    for cell in cells:
        index, _, text = cell.partition(":")
        if index == "qid":
            continue
        value = _number(text)
        if math.isnan(value) or not (index.isascii() and index.isdecimal()) or index in record:
            raise ValueError(
                f"{shorten(cell)!r} is not of the form INDEX:VALUE, a whole number that occurs "
                "once and a number"
            )
        record[index] = value
    return record


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan


def _read_parquet(source: Source, skip: int) -> Iterator[Row]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UserError(
            f'{source.name}: Parquet needs pyarrow: `pip install "river-oauc[parquet]"`'
        ) from None
    try:
        file = pyarrow.parquet.ParquetFile(_seekable(source))
        number = 0
        for batch in file.iter_batches(batch_size=_PARQUET_BATCH):
            if number + len(batch) <= skip:
                number += len(batch)
                continue
            for record in batch.to_pylist():
                number += 1
                if number > skip:
                    values = _flat(record, "")
                    yield Row(number, {name: _from_parquet(value) for name, value in values})
    except pyarrow.ArrowException as error:
        raise UserError(f"{source.name}: the Parquet file is damaged: {error}") from error


def _seekable(source: Source) -> typing.BinaryIO:
    """Return the bytes in a file with random access: a Parquet file begins at its end."""
    if source.binary.seekable():
        return source.binary
    import shutil
    import tempfile

    file = tempfile.TemporaryFile()
    shutil.copyfileobj(source.binary, file)
    file.seek(0)
    return typing.cast(typing.BinaryIO, file)


def _from_parquet(value: typing.Any) -> typing.Any:
    """Return a value as another format would have it: times of the day and the like are strings."""
    return value if isinstance(value, _PLAIN) else str(value)


_READERS: dict[str, Callable[[Source, int], Iterator[Row]]] = {
    "csv": _read_csv,
    "jsonl": functools.partial(_read_lines, _parse_json),
    "libsvm": functools.partial(_read_lines, _parse_libsvm),
    "parquet": _read_parquet,
}
