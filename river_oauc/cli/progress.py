"""How far files have been learned, so that the same command resumes where it stopped."""

from __future__ import annotations

import hashlib
from typing import Any

from river_oauc.cli.readers.source import Source

# A file was learned to its end, or in part, or it has grown since.
END, PART, OUTGROWN = "end", "part", "outgrown"

# A file that has grown may have copies that have not. So many of the latest ends are remembered
# that files have outgrown.
MAX_OUTGROWN = 1_000


class InputProgress:
    """How many rows of each file have been learned.

    A file is known by its content and not by its name: by the longest beginning that has been
    learned. So a log may grow, be renamed, copied or compressed, and a new file under the name of
    an old one is new. Files with the same content are one file.

    To look a file up takes reading what has been learned of it.

    Parameters
    ----------
    files
        As from `to_json`.

    """

    def __init__(self, files: Any = ()) -> None:
        # By length and SHA-256 of what has been learned: the number of rows, and what became of it.
        self._files = {(int(n), str(sha)): (int(rows), str(kind)) for n, sha, rows, kind in files}
        self._last: tuple[int, str] | None = None

    def to_json(self) -> list[list[Any]]:
        """Return all that is known as plain data."""
        return [[*content, *progress] for content, progress in self._files.items()]

    def find(self, source: Source) -> int:
        """Return how many rows of a file have been learned, before any is read."""
        self._last = None
        hashed, n_bytes = hashlib.sha256(), 0
        for end in sorted({n for n, _ in self._files}):
            while data := source.binary.read(min(end - n_bytes, 2**20)):
                hashed.update(data)
                n_bytes += len(data)
            if n_bytes < end:
                break
            if (end, hashed.hexdigest()) in self._files:
                self._last = end, hashed.hexdigest()
        source.binary.seek(0)
        return self._files[self._last][0] if self._last else 0

    @property
    def kind(self) -> str | None:
        """What became of the file that was looked up last; None if it is new."""
        return self._files[self._last][1] if self._last else None

    def note(self, source: Source, n_rows: int, kind: str) -> None:
        """Note how many rows have been learned of the file that was looked up last."""
        if self._last:
            n_before, kind_before = self._files.pop(self._last)
            if kind_before != PART:
                self._files[self._last] = n_before, OUTGROWN
        self._last = source.content
        self._files[self._last] = n_rows, kind
        outgrown = [content for content, (_, kind) in self._files.items() if kind == OUTGROWN]
        for content in outgrown[:-MAX_OUTGROWN]:
            del self._files[content]
