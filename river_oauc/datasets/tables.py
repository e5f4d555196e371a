"""Conversion of tables of numbers, categories and texts into the text of a stream.

Numeric columns come first, rounded to seven digits. Each category and each word gets an index of
its own after them when it first occurs. Zeros and missing values are left out.
"""

from __future__ import annotations

import collections
import csv
import dataclasses
import io
import re
from collections.abc import Callable, Iterator, Sequence

from river_oauc.datasets.recipes import Recipe

Row = list[str]

_MISSING = ("", "?")


def words(text: str) -> list[str]:
    """Split a text into its words of two or more characters, in lower case.

    Examples
    --------
    >>> words("Ok lar... Joking wif u oni...")
    ['ok', 'lar', 'joking', 'wif', 'oni']

    """
    return re.findall(r"\b\w\w+\b", text.lower())


@dataclasses.dataclass(frozen=True)
class TableRecipe(Recipe):
    """Published tables and their conversion into the canonical text of a stream.

    Parameters
    ----------
    urls
        Addresses of the tables. They may be gzip files or zip archives.
    is_positive
        Whether a row belongs to the positive class.
    numbers
        Indices of the numeric columns, counted from 0.
    names
        Indices of the categorical columns.
    texts
        Indices of the columns whose words are counted.
    members
        The files to read from each zip archive, in the order of their rows; empty for other files.
    delimiter
        Character between two fields.
    n_header
        Number of lines before the first row of each table.
    keep
        Which rows belong to the stream; all if None.
    order
        Sort key of the rows; if None, they stay in the order of the table.

    """

    is_positive: Callable[[Row], bool]
    numbers: Sequence[int] = ()
    names: Sequence[int] = ()
    texts: Sequence[int] = ()
    delimiter: str = ","
    n_header: int = 0
    keep: Callable[[Row], bool] | None = None
    order: Callable[[Row], int] | None = None

    def _lines(self, files: Sequence[str]) -> Iterator[str]:
        rows = [row for file in files for row in self._rows(file)]
        if self.order is not None:
            rows.sort(key=self.order)
        indices: dict[tuple[int, str], int] = {}
        for row in rows:
            yield self._line(row, indices)

    def _rows(self, file: str) -> Iterator[Row]:
        lines = io.StringIO(file, newline="")
        reader = csv.reader(lines, delimiter=self.delimiter, skipinitialspace=True)
        for number, row in enumerate(reader):
            if number >= self.n_header and row and (self.keep is None or self.keep(row)):
                yield [field.strip() for field in row]

    def _line(self, row: Row, indices: dict[tuple[int, str], int]) -> str:
        """Format a row, and add its new categories and words to `indices`."""
        values = {
            index: float(row[column])
            for index, column in enumerate(self.numbers, start=1)
            if row[column] not in _MISSING
        }
        counts = collections.Counter(
            (column, row[column]) for column in self.names if row[column] not in _MISSING
        )
        for column in self.texts:
            counts.update((column, word) for word in words(row[column]))
        for name, count in counts.items():
            values[indices.setdefault(name, len(self.numbers) + len(indices) + 1)] = count
        pairs = [f"{index}:{values[index]:.7g}" for index in sorted(values) if values[index]]
        return " ".join(["+1" if self.is_positive(row) else "-1", *pairs]) + "\n"
