"""Files that a command writes: checked, and locked, before the work begins."""

from __future__ import annotations

import contextlib
import glob
import os
import pathlib
import typing
from collections.abc import Iterator

from river_oauc.cli.console.errors import UserError

try:
    import fcntl
except ImportError:
    # Windows has none: nothing is locked there.
    fcntl = None  # type: ignore[assignment]


def check_writable(path: pathlib.Path, what: str) -> pathlib.Path:
    """Return where a file is, links followed; refuse one that cannot be written."""
    file = pathlib.Path(os.path.realpath(path))
    is_other = file.exists() and not file.is_file()
    if is_other or not file.parent.is_dir() or not os.access(file.parent, os.W_OK):
        raise UserError(f"{path}: the {what} cannot be written there")
    return file


@contextlib.contextmanager
def locked(path: pathlib.Path, what: str) -> Iterator[None]:
    """Keep other commands from writing a file meanwhile, and refuse one that they are writing.

    Temporary files of commands that were killed are removed.

    Parameters
    ----------
    path
        The file.
    what
        What it is, for messages.

    """
    file = check_writable(path, what)
    lock = file.with_name(f".{file.name}.lock")
    with lock.open("ab") as opened:
        if _is_taken(opened, lock):
            raise UserError(f"{path}: another command is writing the {what}; try again later")
        try:
            for left in file.parent.glob(f".{glob.escape(file.name)}.*.tmp"):
                left.unlink(missing_ok=True)
            yield
        finally:
            # Windows removes no open file.
            with contextlib.suppress(PermissionError):
                lock.unlink()


def _is_taken(opened: typing.IO[bytes], lock: pathlib.Path) -> bool:
    if fcntl is None:
        return False
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The last owner may have removed it since it was opened.
        return not os.path.samestat(os.fstat(opened.fileno()), lock.stat())
    except (BlockingIOError, FileNotFoundError):
        return True
    except OSError:
        # The file system has no locks.
        return False
