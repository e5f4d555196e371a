"""From a dict of numbers to the rows and values of what is not 0."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from river_oauc.encoding.values import Record
from river_oauc.encoding.vectorizer import ArrayRows, Name, Vectorizer
from river_oauc.rankers.base import FloatArray, SparseExample


class SparseVectorizer(Vectorizer):
    """Map feature dicts to the rows and values of what is not 0.

    It takes what `Vectorizer` takes, in time proportional to the features of a dict, however many
    are known. A feature gets a row when it is first learned with a value that is not 0.

    Examples
    --------
    >>> from river_oauc.encoding.sparse_vectorizer import SparseVectorizer

    >>> vectorizer = SparseVectorizer()
    >>> vectorizer.extend(["a", "b"])
    >>> vectorizer.encode({"b": 5, "c": 0.0})
    (array([1]), array([5.]))
    >>> vectorizer.encode({"b": 5, "c": 2.0}) is None
    True
    >>> vectorizer.encode_known({"b": 5, "c": 2.0})
    (array([1]), array([5.]))

    """

    def encode(  # type: ignore[override]
        self, x: Record, learning: bool = True
    ) -> SparseExample | None:
        """Return the example of `x`, or None if it has a name that is not known yet.

        A ValueError is raised if a value, under a known name or not, is not a finite number.
        """
        x, values = self._read(x, learning)
        return self.encode_row(list(x), values, learning)

    def encode_row(
        self, names: Sequence[Name], values: FloatArray, learning: bool
    ) -> SparseExample | None:
        """Return the example of valid values, or None if it is to be learned and has a new name."""
        index = self.index
        rows = np.array([index.get(name, -1) for name in names], dtype=np.int64)
        known = rows >= 0
        if learning and values[~known].any():
            return None
        kept = known & (values != 0.0)
        return rows[kept], values[kept]

    def encode_known(self, x: Record) -> SparseExample:  # type: ignore[override]
        """Return the example of `x` for a prediction, in which unknown names count as absent."""
        return self.encode(x, learning=False)  # type: ignore[return-value]

    def _new_rows(self, matrix: FloatArray, columns: Sequence[Name]) -> ArrayRows:
        return _SparseRows(matrix, columns)


class _SparseRows(ArrayRows):
    """The rows of a data frame as sparse examples."""

    def encode(  # type: ignore[override]
        self, vectorizer: SparseVectorizer, row: int
    ) -> SparseExample | None:
        return vectorizer.encode_row(self._columns, self._matrix[row], learning=True)

    def encode_known(  # type: ignore[override]
        self, vectorizer: SparseVectorizer
    ) -> Iterator[SparseExample | None]:
        for values in self._matrix:
            yield vectorizer.encode_row(self._columns, values, learning=False)

    def names_in(self, vectorizer: Vectorizer, row: int) -> Sequence[Name]:
        """Return the names of what is not 0 in a row."""
        values = self._matrix[row].tolist()
        return [name for name, value in zip(self._columns, values, strict=True) if value]
