"""Rows of a file as records, whatever the format of the file.

What a value means is not decided here: a cell of a CSV file stays a string.
"""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import json
import re
import tempfile
import typing
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from river_oauc.cli.messages import UserError, shorten
from river_oauc.cli.readers.source import HEAD_BYTES, MAX_ROW_BYTES, Source

# The label of a LIBSVM row, beside its features, whose names are numbers.
LIBSVM_TARGET = "label"

_SEPARATORS = ",;\t|"
_PARQUET_BATCH = 100

Record = dict[str, typing.Any]


class Row(typing.NamedTuple):
    """A row of a file.

    Parameters
    ----------
    line
        The line that it begins in. In a Parquet file, its number.
    record
        Its values by name.
    number
        Its number.

    """

    line: int
    record: Record
    number: int


@dataclass
class Refusals:
    """Rows that cannot be used: how many there are, and what is wrong with the first one.

    Parameters
    ----------
    are_errors
        Whether to stop at the first one.

    """

    are_errors: bool = False
    n: int = 0
    first: str = ""

    def add(self, source: Source, line: int, error: Exception) -> None:
        """Count a row, or stop at it."""
        what = f"line {line:,}: {error}"
        if self.are_errors:
            raise UserError(f"{source.name}: {what}") from None
        self.first = self.first or what
        self.n += 1

    def __str__(self) -> str:
        return f"{self.n:,} rows were refused; the first: {self.first}"


STOP = Refusals(are_errors=True)


def read_rows(source: Source, skip: int = 0, refusals: Refusals = STOP) -> Iterator[Row]:
    """Yield the rows of a file.

    Parameters
    ----------
    source
        The open file.
    skip
        Number of rows to skip, without parsing them.
    refusals
        Counts rows that cannot be parsed; by default, they are errors.

    """
    read, parse = _FORMATS[source.format]
    for number, (line, content) in enumerate(read(source), start=1):
        record: Record | None = None
        if number > skip:
            try:
                record = parse(content)
            except (ValueError, RecursionError) as error:
                refusals.add(source, line, error)
        source.end_row()
        if record is not None:
            yield Row(line, record, number)


def first_records(source: Source, n: int) -> list[Record]:
    """Return the first n records, as far as they have been read ahead. Of Parquet, none has."""
    records: list[Record] = []
    head = io.BufferedReader(io.BytesIO(source.head), HEAD_BYTES)
    if source.format != "parquet":
        # What is wrong with a row is said when it is read.
        with contextlib.suppress(UserError, UnicodeDecodeError):
            rows = read_rows(Source(source.name, head, False, True), refusals=Refusals())
            records.extend(row.record for row in itertools.islice(rows, n))
    return records


def _read_csv(source: Source) -> Iterator[tuple[int, tuple[list[str], list[str]]]]:
    """Yield the header and the cells of each row below it. Blank lines are skipped."""
    lines = source.lines()
    first = next(lines, "")
    separator = max(_SEPARATORS, key=re.sub('"[^"]*"', "", first).count)
    # If it were not strict, an unclosed quote would swallow the rows below it.
    reader = csv.reader(itertools.chain([first], lines), delimiter=separator, strict=True)
    header: list[str] = []
    line = 1
    try:
        for cells in reader:
            if header and cells:
                yield line, (header, cells)
            elif cells:
                header = [cell.strip() for cell in cells]
                ((name, n),) = Counter(filter(None, header)).most_common(1) or [("", 0)]
                if n > 1:
                    raise UserError(
                        f"{source.name}: the column {shorten(name)!r} occurs twice in the header; "
                        "rename one"
                    )
            line = reader.line_num + 1
    except csv.Error as error:
        source.is_cut_off = source.is_growing and "end of data" in str(error)
        if not source.is_cut_off:
            raise UserError(
                f"{source.name}: the row that begins in line {line:,} is not CSV: {error}; "
                "is a quote not closed, or not doubled?"
            ) from error


def _parse_cells(row: tuple[list[str], list[str]]) -> Record:
    """Return the cells by name. Columns without a name, such as a saved index, are left out."""
    header, cells = row
    if len(cells) != len(header):
        raise ValueError(
            f"{len(cells):,} cells below a header of {len(header):,}; a cell that holds the "
            "separator needs quotes"
        )
    return {name: cell for name, cell in zip(header, cells, strict=True) if name}


def _read_lines(source: Source) -> Iterator[tuple[int, str]]:
    """Yield each line that is neither blank nor a comment."""
    for number, line in enumerate(source.lines(), start=1):
        if not line.isspace() and not line.lstrip().startswith("#"):
            yield number, line


def _parse_json(line: str) -> Record:
    """Return the object of a line. Objects inside it become features such as `card.country`."""
    try:
        record = json.loads(line, object_pairs_hook=_flat)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from None
    if not isinstance(record, dict):
        raise ValueError(f"{shorten(line.strip())!r} is not an object")
    return record


def _parse_libsvm(line: str) -> Record:
    """Return the label and the features, by index. Comments and query ids are skipped."""
    label, *cells = line.partition("#")[0].split()
    items = [(LIBSVM_TARGET, float(label))]
    for cell in cells:
        index, _, number = cell.partition(":")
        if index != "qid":
            items.append((index, float(number)))
    return _flat(items)


def _flat(items: Iterable[tuple[str, typing.Any]]) -> Record:
    """Return values by name. Those of an object inside have both names."""
    record: Record = {}
    n_characters = 0
    for outer, value in items:
        for inner, each in value.items() if isinstance(value, dict) else ((None, value),):
            name = outer if inner is None else f"{outer}.{inner}"
            n_characters += len(name)
            if name in record:
                raise ValueError(f"{shorten(name)!r} occurs twice")
            if n_characters > MAX_ROW_BYTES:
                raise ValueError(f"its names have more than {MAX_ROW_BYTES:,} characters")
            record[name] = each
    return record


def _read_parquet(source: Source) -> Iterator[tuple[int, Iterable[tuple[str, typing.Any]]]]:
    """Yield the names and the values of each row."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UserError(
            f'{source.name}: Parquet needs pyarrow: `pip install "river-oauc[parquet]"`'
        ) from None
    # A Parquet file begins at its end.
    binary = source.binary if source.is_file else tempfile.TemporaryFile()
    while data := source.binary.read(2**20):
        source.count(data)
        source.end_row()
        if not source.is_file:
            binary.write(data)
    try:
        file = pyarrow.parquet.ParquetFile(binary)
        for group in map(file.metadata.row_group, range(file.num_row_groups)):
            # Repeated values take next to no bytes.
            n_values = max(group.column(i).num_values for i in range(group.num_columns))
            n_batches = max(1.0, group.num_rows / _PARQUET_BATCH)
            if max(n_values, group.total_byte_size) > n_batches * MAX_ROW_BYTES:
                raise UserError(f"{source.name}: a row has more than {MAX_ROW_BYTES:,} bytes")
        batches = file.iter_batches(_PARQUET_BATCH)
        yield from enumerate(itertools.chain.from_iterable(map(_batch_rows, batches)), start=1)
    except pyarrow.ArrowException as error:
        raise UserError(f"{source.name}: the Parquet file is damaged: {error}") from error


def _batch_rows(batch: typing.Any) -> Iterator[Iterable[tuple[str, typing.Any]]]:
    import pyarrow

    table = pyarrow.Table.from_batches([batch])
    while any(map(pyarrow.types.is_struct, table.schema.types)):
        table = table.flatten()
    names = table.column_names
    return (zip(names, row, strict=True) for row in zip(*map(_values, table.columns), strict=True))


def _values(column: typing.Any) -> list[typing.Any]:
    """Return the values of a column of a Parquet file."""
    import pyarrow

    kind = column.type
    if pyarrow.types.is_timestamp(kind) and kind.unit == "ns":
        # Python has no nanoseconds.
        column = column.cast(pyarrow.timestamp("us", kind.tz), safe=False)
    try:
        return list(column.to_pylist())
    except (OverflowError, ValueError):
        # A time is out of Python's range.
        return list(column.to_numpy())


# How rows are read, and what makes a record of one.
_FORMATS: dict[str, tuple[Callable[..., Iterator[tuple[int, typing.Any]]], Callable[..., Record]]]
_FORMATS = {
    "csv": (_read_csv, _parse_cells),
    "jsonl": (_read_lines, _parse_json),
    "libsvm": (_read_lines, _parse_libsvm),
    "parquet": (_read_parquet, _flat),
}
