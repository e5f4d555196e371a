"""A file of outcomes that grows, one JSON object per line.

An outcome is appended and on the disk before the next one is waited for. Whoever is killed loses at
most the line that was being written, which the next one to open the file drops.
"""

from __future__ import annotations

import abc
import json
import os
import pathlib
import typing
from collections.abc import Mapping, Sequence

from river_oauc.cli.console.errors import UserError

__all__ = ["Journal"]


class Journal(abc.ABC):
    """What has been written so far, in memory and on the disk; nothing is ever overwritten.

    Parameters
    ----------
    path
        The file; it is made if there is none.

    """

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path

    def __enter__(self) -> typing.Self:
        self._file = self.path.open("a+b")
        try:
            self._file.seek(0)
            content = self._file.read()
            *lines, rest = content.split(b"\n")
            beginning = self._read(lines, rest)
            # What follows the last line break was cut short.
            self._file.truncate(len(content) - len(rest))
            if beginning is not None:
                self._append(beginning)
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    @abc.abstractmethod
    def _read(self, lines: Sequence[bytes], rest: bytes) -> Mapping[str, typing.Any] | None:
        """Take what is in the file: its lines, and the beginning of one that was cut short.

        Returns what is to be written before all outcomes, if that is still missing.
        """

    @abc.abstractmethod
    def _take(self, content: dict[str, typing.Any]) -> None:
        """Take what was written on a line."""

    def _take_lines(self, lines: Sequence[bytes], first: int) -> None:
        """Take the lines, the first of which has this number."""
        for number, line in enumerate(lines, start=first):
            try:
                self._take(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError):
                raise UserError(
                    f"{self.path}: line {number:,} is damaged; remove it to have it computed again"
                ) from None

    def _append(self, content: Mapping[str, typing.Any]) -> None:
        """Write a line; it is on the disk when this returns."""
        self._file.write(json.dumps(content).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
