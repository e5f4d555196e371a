"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import pathlib
import stat
import uuid
from collections.abc import Iterator

__all__ = ["check_replaceable", "replace_file"]


def replace_file(path: pathlib.Path, content: bytes) -> None:
    """Write a file in one step: it has the old content, or none, until it has all of the new.

    Whatever happens in between, nothing else is left behind. A link stays a link.

    Raises
    ------
    OSError
        If the system refuses, or if what is there is write-protected or no regular file.

    """
    destination = _destination(path)
    _check_old(destination)
    with _temporary_beside(destination) as temporary:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(destination)


def check_replaceable(path: pathlib.Path) -> None:
    """Find out whether `replace_file` can write a file, and leave everything as it is.

    Raises
    ------
    OSError
        As `replace_file` would.

    """
    destination = _destination(path)
    _check_old(destination)
    with _temporary_beside(destination) as temporary:
        temporary.touch()


def _destination(path: pathlib.Path) -> pathlib.Path:
    """What the path leads to, if it is a link."""
    return pathlib.Path(os.path.realpath(path))


def _check_old(destination: pathlib.Path) -> None:
    try:
        mode = os.stat(destination).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        # To open a pipe would mean to wait for whoever reads it.
        raise OSError(errno.EINVAL, "Not a regular file")
    destination.open("ab").close()


@contextlib.contextmanager
def _temporary_beside(destination: pathlib.Path) -> Iterator[pathlib.Path]:
    temporary = destination.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)
