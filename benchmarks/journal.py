"""An append-only file of outcomes, one JSON object per line.

Each outcome is on the disk before the next run starts. A process that is killed loses at most the
line that it was writing, and the next one to open the file drops what is left of that line.
"""

from __future__ import annotations

import json
import os
import pathlib
import sys
import typing
from collections.abc import Mapping

from river_oauc.cli.messages import UserError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["Journal"]

CellT = typing.TypeVar("CellT", bound=tuple[typing.Any, ...])
OutcomeT = typing.TypeVar("OutcomeT", bound=tuple[typing.Any, ...])


class Journal(typing.Generic[CellT, OutcomeT]):
    """The outcomes of finished runs, in memory and on the disk.

    Opening it, as a context manager, takes a lock that the system releases when the process ends,
    however it ends.

    Parameters
    ----------
    path
        The file; it is created if it does not exist.
    cell
        The named tuple that identifies a run.
    outcome
        The named tuple of its outcome. A field with a default may be missing in the file.
    header
        The settings that the outcomes depend on: the first line of the file. A file with other
        settings is refused. None for a file without such a line.

    Attributes
    ----------
    outcomes
        The outcomes by cell.

    """

    def __init__(
        self,
        path: pathlib.Path,
        cell: type[CellT],
        outcome: type[OutcomeT],
        header: Mapping[str, typing.Any] | None = None,
    ) -> None:
        self.path = path
        self.outcomes: dict[CellT, OutcomeT] = {}
        self._cell: typing.Any = cell
        self._outcome: typing.Any = outcome
        self._header = header

    def __enter__(self) -> typing.Self:
        self._file = self.path.open("a+b")
        try:
            self._lock()
            self._file.seek(0)
            content = self._file.read()
            *lines, unfinished = content.split(b"\n")
            needs_header = self._header is not None and not lines
            if needs_header and not json.dumps(self._header).encode().startswith(unfinished):
                self._check_header(unfinished)
            for number, line in enumerate(lines, start=1):
                if self._header is not None and number == 1:
                    self._check_header(line)
                else:
                    self._read(line, number)
            self._file.truncate(len(content) - len(unfinished))
            if needs_header:
                self._append(typing.cast(Mapping[str, typing.Any], self._header))
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def add(self, cell: CellT, outcome: OutcomeT) -> None:
        """Append an outcome; it is on the disk when this returns."""
        content: typing.Any = (cell, outcome)
        self._append({name: value for part in content for name, value in part._asdict().items()})
        self.outcomes[cell] = outcome

    def _lock(self) -> None:
        try:
            if sys.platform == "win32":
                # Locked bytes cannot be read: take one that no file is long enough to have.
                self._file.seek(2**31 - 2)
                msvcrt.locking(self._file.fileno(), msvcrt.LK_NBLCK, 1)
            else:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            raise UserError(
                f"{self.path}: another run is writing to this file; wait for it, or choose another "
                "--out"
            ) from None

    def _check_header(self, line: bytes) -> None:
        assert self._header is not None
        try:
            found = json.loads(line)
            different = [key for key in self._header if not _agree(found[key], self._header[key])]
        except (ValueError, KeyError, TypeError):
            raise UserError(f"{self.path} is not a file of results; choose another --out") from None
        if different:
            raise UserError(
                f"{self.path} was made with other settings ({', '.join(different)}); "
                "choose another --out"
            )

    def _read(self, line: bytes, number: int) -> None:
        try:
            content = json.loads(line)
            cell, outcome = (
                kind(**{name: content[name] for name in kind._fields if name in content})
                for kind in (self._cell, self._outcome)
            )
            self.outcomes[cell] = outcome
        except (ValueError, KeyError, TypeError):
            raise UserError(
                f"{self.path}: line {number:,} is damaged; remove it to have it computed again"
            ) from None

    def _append(self, content: Mapping[str, typing.Any]) -> None:
        self._file.write(json.dumps(content).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def _agree(found: typing.Any, wanted: typing.Any) -> bool:
    """Whether outcomes made with one setting are valid under another.

    A setting per method may lack methods: their outcomes are not in the file yet.
    """
    if isinstance(found, dict) and isinstance(wanted, dict):
        return found.items() <= wanted.items()
    return bool(found == wanted)
