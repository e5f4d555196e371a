"""How far files have been learned, so that the same command goes on from there."""

from __future__ import annotations

import hashlib
import pathlib
from dataclasses import asdict, dataclass, field
from typing import Any

from river_oauc.cli.readers.source import MAX_BEGINNING


@dataclass(frozen=True)
class Position:
    """How far a file has been learned.

    Parameters
    ----------
    n_bytes
        The length of its beginning.
    sha256
        The hash of its beginning.
    n_rows
        Number of rows that have been learned.

    """

    n_bytes: int
    sha256: str
    n_rows: int


@dataclass
class Positions:
    """How many rows of each file have been learned.

    A file is known by its beginning, not by its name: a log that has been moved or copied is the
    same file, and one that has been started anew is another. A text file may grow. The size of any
    other file counts as part of its beginning.

    Parameters
    ----------
    files
        A position for each file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from river_oauc.cli.positions import Positions

    >>> positions = Positions()
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = pathlib.Path(directory, "log.csv")
    ...     _ = path.write_text("amount,fraud\\n12.5,0\\n")
    ...     positions.set(path, n_rows=1, n_bytes=path.stat().st_size)
    ...     _ = path.write_text("amount,fraud\\n12.5,0\\n99.0,1\\n")
    ...     grown = positions.get(path, can_grow=True)
    ...     _ = path.write_text("amount,fraud\\n99.0,1\\n")
    ...     another = positions.get(path, can_grow=True)
    >>> grown, another
    (1, 0)

    """

    files: list[Position] = field(default_factory=list)

    def get(self, path: pathlib.Path, can_grow: bool) -> int:
        """Return how many rows of a file have been learned."""
        known = self._find(path, can_grow)
        return 0 if known is None else known.n_rows

    def set(self, path: pathlib.Path, n_rows: int, n_bytes: int | None) -> None:
        """Note how far a file has been learned.

        Parameters
        ----------
        path
            The file.
        n_rows
            Number of rows that have been learned.
        n_bytes
            The length of these rows, as far as it is below `MAX_BEGINNING`; None if the file cannot
            grow.

        """
        can_grow = n_bytes is not None
        known = self._find(path, can_grow)
        others = [position for position in self.files if position is not known]
        n_bytes = min(path.stat().st_size, MAX_BEGINNING) if n_bytes is None else n_bytes
        self.files = [*others, Position(n_bytes, _digest(path, n_bytes, can_grow), n_rows)]

    def _find(self, path: pathlib.Path, can_grow: bool) -> Position | None:
        for position in self.files:
            if position.sha256 == _digest(path, position.n_bytes, can_grow):
                return position
        return None

    def to_json(self) -> list[dict[str, Any]]:
        """Return the positions as plain data."""
        return [asdict(position) for position in self.files]

    @classmethod
    def from_json(cls, files: Any) -> Positions:
        """Return the positions of plain data."""
        return cls([Position(int(x["n_bytes"]), str(x["sha256"]), int(x["n_rows"])) for x in files])


def _digest(path: pathlib.Path, n_bytes: int, can_grow: bool) -> str:
    """Return the hash of the beginning of a file, and of its size if it cannot grow."""
    with path.open("rb") as file:
        beginning = file.read(n_bytes)
    size = b"" if can_grow else b"%d" % path.stat().st_size
    return hashlib.sha256(b"%d " % len(beginning) + beginning + size).hexdigest()
