"""How a benchmark set is made from the files that LIBSVM and UCI publish.

A set has one canonical text, in which label +1 is the positive class: LIBSVM lines in the order of
the source, values as the source writes them, zeros left out. A recipe says which published files
to read, one after another, and which of their labels is the positive one. It does not know whether
the publisher still has the files that the experiments were made with: the checksum of the
canonical text, which each set has among its facts, decides that.
"""

from __future__ import annotations

import dataclasses
import functools
import posixpath
from collections.abc import Callable, Sequence

from river_oauc.datasets import lzw

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"
UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/"

Row = tuple[str, list[tuple[int, str]]]


@dataclasses.dataclass(frozen=True)
class PublishedFiles:
    """Files that somebody publishes.

    Parameters
    ----------
    urls
        Where the files are.

    """

    urls: tuple[str, ...]

    @property
    def filenames(self) -> tuple[str, ...]:
        """The names of the published files."""
        return tuple(posixpath.basename(url) for url in self.urls)


@dataclasses.dataclass(frozen=True)
class Recipe(PublishedFiles):
    """Published files, and how to make the canonical text of a set from them.

    Parameters
    ----------
    urls
        Where the files are, in the order of their rows in the set.
    positive
        The label of the positive class, as the files write it, without a plus sign.
    read_row
        Turns the fields of one line into its label and its (index, value) pairs, indices from 1.

    """

    positive: str
    read_row: Callable[[list[str]], Row]

    def canonical_text(self, sources: Sequence[bytes]) -> bytes:
        """The canonical text, from the contents of the files, which may be `.Z` compressed.

        Raises
        ------
        ValueError
            If a file is not of the expected form.

        """
        lines = []
        for source in sources:
            text = lzw.decompress(source) if source.startswith(lzw.MAGIC) else source
            for line in text.decode("ascii").splitlines():
                if fields := line.replace(",", " ").split():
                    label, pairs = self.read_row(fields)
                    sign = "+1" if label.lstrip("+") == self.positive else "-1"
                    kept = [f"{index}:{value}" for index, value in pairs if float(value) != 0]
                    lines.append(" ".join([sign, *kept]) + "\n")
        return "".join(lines).encode("ascii")


def from_libsvm(*paths: str, positive: str) -> Recipe:
    """The recipe of a set whose source is one or more LIBSVM files."""
    return Recipe(tuple(LIBSVM + path for path in paths), positive, _libsvm_row)


def from_uci(*paths: str, positive: str, n_leading: int = 0) -> Recipe:
    """The recipe of a set whose source is one or more UCI tables.

    Parameters
    ----------
    paths
        Tables of values separated by commas or spaces, with the class in the last column.
    positive
        The positive class.
    n_leading
        Number of columns in front of the features, which are left out.

    """
    read_row = functools.partial(_table_row, n_leading=n_leading)
    return Recipe(tuple(UCI + path for path in paths), positive, read_row)


def _libsvm_row(fields: list[str]) -> Row:
    label, *pairs = fields
    split = (pair.split(":") for pair in pairs)
    return label, [(int(index), value) for index, value in split]


def _table_row(fields: list[str], n_leading: int) -> Row:
    return fields[-1], list(enumerate(fields[n_leading:-1], start=1))
