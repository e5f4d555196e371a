"""Files that a command writes, checked and locked before, and Ctrl-C that waits for the end."""

from __future__ import annotations

import contextlib
import glob
import os
import pathlib
import signal
import typing
from collections.abc import Iterator

from river_oauc.cli.messages import UserError

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


class Interrupts:
    """Hold Ctrl-C back inside a `with` block, and raise it at the end of the block."""

    def __init__(self) -> None:
        self._holding = self._pending = False

    def handle(self, *args: object) -> None:
        """Raise KeyboardInterrupt now, or at the end of the block. A signal handler."""
        if not self._holding:
            raise KeyboardInterrupt
        self._pending = True

    def __enter__(self) -> None:
        self._holding = True

    def __exit__(self, *args: object) -> None:
        self._holding = False
        if self._pending:
            self._pending = False
            raise KeyboardInterrupt


@contextlib.contextmanager
def interrupts_held() -> Iterator[Interrupts]:
    """Let blocks of `Interrupts` hold back Ctrl-C, and the signal that stops a service."""
    interrupts = Interrupts()
    previous = {
        number: signal.signal(number, interrupts.handle)
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield interrupts
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
