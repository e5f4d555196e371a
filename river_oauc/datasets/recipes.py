"""Conversion of published files into the text of a dataset.

Every dataset has one canonical text: LIBSVM lines in the order of the source, where +1 is the
positive class and zeros are left out. A recipe knows the published files and how to convert them.
Publishers may change their files; the checksum of the canonical text shows whether they have.
"""

from __future__ import annotations

import abc
import csv
import dataclasses
import functools
import posixpath
from collections.abc import Callable, Iterator, Sequence

from river_oauc.datasets.unpacking import unpack

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"
UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/"

Row = tuple[str, list[tuple[int, str]]]


@dataclasses.dataclass(frozen=True)
class Recipe(abc.ABC):
    """Published files and their conversion into the canonical text.

    Parameters
    ----------
    urls
        Addresses of the files, in the order of their rows in the dataset. They may be compressed.
    members
        The files to read from each zip archive, in the order of their rows; empty for other files.

    """

    urls: tuple[str, ...]
    members: tuple[str, ...] = dataclasses.field(default=(), kw_only=True)

    @property
    def filenames(self) -> tuple[str, ...]:
        """Names of the published files."""
        return tuple(posixpath.basename(url) for url in self.urls)

    def canonical_text(self, sources: Sequence[bytes], limit: int) -> bytes:
        """Convert the contents of the published files.

        Parameters
        ----------
        sources
            The contents of the files.
        limit
            Maximum size of each file after decompression, in bytes.

        Raises
        ------
        ValueError
            If a file does not have the expected format or is too large.

        """
        files = [file for source in sources for file in unpack(source, limit, self.members)]
        try:
            return "".join(self._lines([file.decode() for file in files])).encode("ascii")
        except (IndexError, csv.Error) as error:
            raise ValueError(str(error)) from error

    @abc.abstractmethod
    def _lines(self, files: Sequence[str]) -> Iterator[str]:
        """Yield the lines of the canonical text."""


@dataclasses.dataclass(frozen=True)
class NumericRecipe(Recipe):
    """Files of numbers, which the canonical text keeps as they are written.

    Parameters
    ----------
    urls
        Addresses of the files, in the order of their rows in the dataset. They may be compressed.
    positive
        Label of the positive class in the files, without a plus sign.
    read_row
        Function from the fields of a line to its label and its (index, value) pairs.

    """

    positive: str
    read_row: Callable[[list[str]], Row]

    def _lines(self, files: Sequence[str]) -> Iterator[str]:
        for file in files:
            for line in file.splitlines():
                if fields := line.replace(",", " ").split():
                    label, pairs = self.read_row(fields)
                    sign = "+1" if label.lstrip("+") == self.positive else "-1"
                    kept = [f"{index}:{value}" for index, value in pairs if float(value) != 0]
                    yield " ".join([sign, *kept]) + "\n"


def from_libsvm(*paths: str, positive: str) -> NumericRecipe:
    """Create the recipe of a dataset that LIBSVM publishes."""
    return NumericRecipe(tuple(LIBSVM + path for path in paths), positive, _libsvm_row)


def from_uci(*paths: str, positive: str, n_leading: int = 0) -> NumericRecipe:
    """Create the recipe of a dataset that UCI publishes as a table of numbers.

    Parameters
    ----------
    paths
        Tables of values separated by commas or spaces, with the class in the last column.
    positive
        The positive class.
    n_leading
        Number of leading columns that are not features.

    """
    read_row = functools.partial(_table_row, n_leading=n_leading)
    return NumericRecipe(tuple(UCI + path for path in paths), positive, read_row)


def _libsvm_row(fields: list[str]) -> Row:
    label, *pairs = fields
    split = (pair.split(":") for pair in pairs)
    return label, [(int(index), value) for index, value in split]


def _table_row(fields: list[str], n_leading: int) -> Row:
    return fields[-1], list(enumerate(fields[n_leading:-1], start=1))
