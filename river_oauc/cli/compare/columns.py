"""Find out whether a column of a table holds numbers, text, times or ids."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass, field

# With more distinct texts than this, one-hot encoding has too many features for a matrix.
MAX_CATEGORIES = 50
# A column is made of ids if this share of its first cells is distinct. Keeping all cells would take
# as much memory as the file.
DISTINCT_IN_IDS = 0.99
MAX_COUNTED = 10_000

# `id`, `user_id`, `userId`, `UUID`; not `paid`.
_NAMED_ID = re.compile(r"(?:^|[^a-zA-Z])(?i:(?:uu|gu)?id)$|[a-z]I[dD]$")


@dataclass(slots=True)
class Column:
    """The type of a column, from its cells so far.

    Parameters
    ----------
    index
        Its position in a row.
    name
        Its name in the header.

    """

    index: int
    name: str
    is_number: bool = True
    _is_time: bool = True
    _is_whole: bool = True
    _rises: bool = True
    _falls: bool = True
    _last: float | None = None
    _distinct: set[str] = field(default_factory=set)
    _n_counted: int = 0

    def add(self, cell: str) -> None:
        """Update with one cell, which is not missing."""
        if self.is_number:
            try:
                self._add_number(float(cell))
            except ValueError:
                self.is_number = False
        if self._is_time:
            try:
                datetime.datetime.fromisoformat(cell)
            except ValueError:
                self._is_time = False
        few = len(self._distinct) <= MAX_CATEGORIES
        counts = not self.is_number or self._is_named_id
        if few or (counts and self._n_counted < MAX_COUNTED):
            self._n_counted += 1
            self._distinct.add(cell)

    def _add_number(self, value: float) -> None:
        self._is_whole = self._is_whole and value.is_integer()
        if self._last is not None:
            self._rises = self._rises and value > self._last
            self._falls = self._falls and value < self._last
        self._last = value

    @property
    def _is_named_id(self) -> bool:
        return _NAMED_ID.search(self.name) is not None

    @property
    def is_feature(self) -> bool:
        """Whether it has a name and a value."""
        return bool(self.name and self._distinct)

    @property
    def is_time(self) -> bool:
        """Whether every cell is a date, or a date and a time, in ISO 8601 format."""
        return self._is_time and not self.is_number

    @property
    def is_many_valued(self) -> bool:
        """Whether it is text with too many distinct values for one-hot encoding."""
        return not self.is_number and len(self._distinct) > MAX_CATEGORIES

    @property
    def is_id(self) -> bool:
        """Whether it looks like ids, row numbers or free text, whose values do not recur.

        Examples
        --------
        >>> def of(name, cells):
        ...     column = Column(0, name)
        ...     for cell in cells:
        ...         column.add(str(cell))
        ...     return column

        >>> of("row", range(100)).is_id, of("seconds", [i // 2 for i in range(100)]).is_id
        (True, False)
        >>> of("who", [f"u{i}" for i in range(100)]).is_id
        True
        >>> shuffled = [7 * i % 101 for i in range(100)]
        >>> of("cardId", shuffled).is_id, of("paid", shuffled).is_id
        (True, False)

        """
        if self.is_time or len(self._distinct) <= MAX_CATEGORIES:
            return False
        is_distinct = len(self._distinct) >= DISTINCT_IN_IDS * self._n_counted
        if self.is_number:
            is_counter = self._rises or self._falls
            return self._is_whole and (is_counter or (self._is_named_id and is_distinct))
        return is_distinct
