"""Published files: their download, and what they say as LIBSVM text.

The text of a set has its rows in the order of the source, the label +1 for the positive class, and
no zeros. `libsvm`, `numbers` and `table` know how to make it.
"""

from __future__ import annotations

import collections
import csv
import dataclasses
import io
import pathlib
import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

__all__ = ["UCI", "Published", "libsvm", "numbers", "table", "words"]

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"
UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/"

_MISSING = ("", "?")


@dataclasses.dataclass(frozen=True)
class Published:
    """Published files, and how to read them.

    Parameters
    ----------
    urls
        Their addresses, in the order of their rows: plain files, `.gz`, `.Z` or `.zip`.
    lines
        Makes the lines of the text from the contents of the files.
    members
        The files to read from a zip archive, in the order of their rows.

    """

    urls: tuple[str, ...]
    lines: Callable[[Iterable[str]], Iterable[str]]
    members: tuple[str, ...] = ()

    def text(self, cache: pathlib.Path) -> bytes:
        """Return the text. Files that are not in the directory `cache` are downloaded to it."""
        contents = (path.read_bytes().decode() for path in self._fetch(cache))
        return "".join(self.lines(contents)).encode("ascii")

    def _fetch(self, cache: pathlib.Path) -> Iterator[pathlib.Path]:
        # Imported here because files that are on this machine do not need it.
        import pooch

        urls = {posixpath.basename(url): url for url in self.urls}
        files = pooch.create(cache, "", registry=dict.fromkeys(urls), urls=urls, retry_if_failed=2)
        unpack = {".gz": pooch.Decompress(), ".Z": _unlzw, ".zip": pooch.Unzip([*self.members])}
        for name in urls:
            path = files.fetch(name, unpack.get(posixpath.splitext(name)[1]), progressbar=True)
            if self.members:
                yield from (cache / f"{name}.unzip" / member for member in self.members)
            else:
                yield pathlib.Path(path)


def _unlzw(name: str, action: str, files: object) -> str:
    """Unpack a `.Z` file, as pooch's own processors do others."""
    # Imported here because only one set needs it.
    import unlzw3

    unpacked = pathlib.Path(f"{name}.decomp")
    unpacked.write_bytes(unlzw3.unlzw(pathlib.Path(name)))
    return str(unpacked)


def libsvm(*paths: str, positive: str) -> Published:
    """Files of LIBSVM's page, whose values stay as they are written."""

    def lines(contents: Iterable[str]) -> Iterator[str]:
        for label, *pairs in _fields(contents):
            yield _line(label.lstrip("+") == positive, (pair.split(":") for pair in pairs))

    return Published(tuple(LIBSVM + path for path in paths), lines)


def numbers(*paths: str, positive: str, skip: int = 0) -> Published:
    """Tables of numbers at UCI with the class last, whose values stay as they are written.

    The first `skip` columns are left out.
    """

    def lines(contents: Iterable[str]) -> Iterator[str]:
        for *values, label in _fields(contents):
            yield _line(label == positive, enumerate(values[skip:], start=1))

    return Published(tuple(UCI + path for path in paths), lines)


def table(
    *urls: str,
    positive: Collection[str],
    label: int = -1,
    among: Collection[str] | None = None,
    numbers: Sequence[int] = (),
    names: Sequence[int] = (),
    texts: Sequence[int] = (),
    delimiter: str = ",",
    n_header: int = 0,
    sort: int | None = None,
    members: tuple[str, ...] = (),
) -> Published:
    """Tables of numbers, categories and texts.

    Numeric columns come first, rounded to seven digits. Each category and each word gets an index
    of its own after them when it first occurs. Missing values are left out.

    Parameters
    ----------
    urls
        Addresses of the tables.
    positive
        Labels of the positive class.
    label
        Index of the column of the label. Columns are counted from 0.
    among
        Labels of the rows to keep; all if None.
    numbers
        Indices of the numeric columns.
    names
        Indices of the categorical columns.
    texts
        Indices of the columns whose words are counted.
    delimiter
        Character between two fields.
    n_header
        Number of lines before the first row of each table.
    sort
        Index of a column of whole numbers to sort the rows by; None to leave them in their order.
    members
        The files to read from a zip archive.

    """

    def rows(content: str) -> Iterator[list[str]]:
        lines = io.StringIO(content, newline="")
        for number, row in enumerate(csv.reader(lines, delimiter=delimiter, skipinitialspace=True)):
            if number >= n_header and row and (among is None or row[label] in among):
                yield [field.strip() for field in row]

    def lines(contents: Iterable[str]) -> Iterator[str]:
        indices: dict[tuple[int, str], int] = {}
        everything = [row for content in contents for row in rows(content)]
        if sort is not None:
            everything.sort(key=lambda row: int(row[sort]))
        for row in everything:
            values = {
                index: f"{float(row[column]):.7g}"
                for index, column in enumerate(numbers, start=1)
                if row[column] not in _MISSING
            }
            counts = collections.Counter(
                (column, row[column]) for column in names if row[column] not in _MISSING
            )
            counts.update((column, word) for column in texts for word in words(row[column]))
            for name, count in counts.items():
                index = indices.setdefault(name, len(numbers) + len(indices) + 1)
                values[index] = str(count)
            yield _line(row[label] in positive, sorted(values.items()))

    return Published(urls, lines, members)


def words(text: str) -> list[str]:
    """Split a text into its words of two or more characters, in lower case.

    Examples
    --------
    >>> words("Ok lar... Joking wif u oni...")
    ['ok', 'lar', 'joking', 'wif', 'oni']

    """
    return re.findall(r"\b\w\w+\b", text.lower())


def _fields(contents: Iterable[str]) -> Iterator[list[str]]:
    """Yield the fields of each line that is not empty."""
    for content in contents:
        for line in content.splitlines():
            if fields := line.replace(",", " ").split():
                yield fields


def _line(is_positive: bool, pairs: Iterable[Sequence[int | str]]) -> str:
    kept = [f"{index}:{value}" for index, value in pairs if float(value)]
    return " ".join(["+1" if is_positive else "-1", *kept]) + "\n"
