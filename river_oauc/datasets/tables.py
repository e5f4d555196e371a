"""How a stream is made from a table of numbers, names and texts.

Its canonical text is LIBSVM lines: the numbers come first, to seven digits; behind them every name
of a nominal column, and every word of a text, has an index of its own, given when it first turns
up. Zeros and what is missing are left out.
"""

from __future__ import annotations

import collections
import csv
import dataclasses
import gzip
import io
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence

from river_oauc.datasets.recipes import PublishedFiles

__all__ = ["TableRecipe", "words"]

Row = list[str]


def words(text: str) -> list[str]:
    """The words of two and more characters, in lower case.

    Examples
    --------
    >>> words("Ok lar... Joking wif u oni...")
    ['ok', 'lar', 'joking', 'wif', 'oni']

    """
    return re.findall(r"\b\w\w+\b", text.lower())


@dataclasses.dataclass(frozen=True)
class TableRecipe(PublishedFiles):
    """Published tables, and how to make the canonical text of a stream from them.

    Parameters
    ----------
    urls
        Where the tables are; they may be gzip files or zip archives.
    is_positive
        Whether a row is of the positive class.
    numbers
        The columns of numbers, counted from 0.
    names
        The nominal columns.
    texts
        The columns whose words are counted.
    members
        The files to read of each archive, in the order of their rows.
    delimiter
        What stands between two fields.
    n_header
        Number of lines in front of the rows of each table.
    keep
        Which rows belong to the stream; all if None.
    order
        What the rows are sorted by; if None, they stay in the order of the table.

    """

    is_positive: Callable[[Row], bool]
    numbers: Sequence[int] = ()
    names: Sequence[int] = ()
    texts: Sequence[int] = ()
    members: tuple[str, ...] = ()
    delimiter: str = ","
    n_header: int = 0
    keep: Callable[[Row], bool] | None = None
    order: Callable[[Row], int] | None = None

    def canonical_text(self, sources: Sequence[bytes]) -> bytes:
        """The canonical text, from the contents of the files.

        Raises
        ------
        ValueError
            If a file is not of the expected form.

        """
        try:
            rows = [row for source in sources for row in self._rows(source)]
            if self.order is not None:
                rows.sort(key=self.order)
            indices: dict[tuple[int, str], int] = {}
            return "".join(self._line(row, indices) for row in rows).encode("ascii")
        except (IndexError, KeyError, EOFError, OSError, zipfile.BadZipFile, csv.Error) as error:
            raise ValueError(str(error)) from error

    def _rows(self, source: bytes) -> Iterator[Row]:
        for table in self._tables(source):
            lines = io.StringIO(table.decode("utf-8"), newline="")
            reader = csv.reader(lines, delimiter=self.delimiter, skipinitialspace=True)
            for number, row in enumerate(reader):
                if number >= self.n_header and row and (self.keep is None or self.keep(row)):
                    yield [field.strip() for field in row]

    def _tables(self, source: bytes) -> list[bytes]:
        if self.members:
            with zipfile.ZipFile(io.BytesIO(source)) as archive:
                return [archive.read(member) for member in self.members]
        return [gzip.decompress(source) if source.startswith(b"\x1f\x8b") else source]

    def _line(self, row: Row, indices: dict[tuple[int, str], int]) -> str:
        values = {
            place: float(row[column])
            for place, column in enumerate(self.numbers, start=1)
            if row[column] not in ("", "?")
        }
        counts = collections.Counter(
            (column, row[column]) for column in self.names if row[column] not in ("", "?")
        )
        for column in self.texts:
            counts.update((column, word) for word in words(row[column]))
        for name, count in counts.items():
            values[indices.setdefault(name, len(self.numbers) + len(indices) + 1)] = count
        pairs = [f"{index}:{values[index]:.7g}" for index in sorted(values) if values[index]]
        return " ".join(["+1" if self.is_positive(row) else "-1", *pairs]) + "\n"
