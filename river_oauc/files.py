"""Atomic replacement of files."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import typing
import uuid
from collections.abc import Iterator


@contextlib.contextmanager
def replacing(
    path: pathlib.Path, mode: str = "xb", **options: typing.Any
) -> Iterator[typing.IO[typing.Any]]:
    """Open a new file that replaces another one in a single step, at the end of the block.

    If the block fails or is interrupted, the previous file is unchanged and no temporary file
    remains. The permissions of the previous file are kept. A symbolic link is followed, not
    replaced.

    Parameters
    ----------
    path
        The file to replace.
    mode
        As for `open`: `"xb"` for bytes, `"x"` for text.
    options
        Other arguments of `open`.

    Raises
    ------
    OSError
        If the file cannot be written.

    """
    destination = pathlib.Path(os.path.realpath(path))
    temporary = destination.with_name(f".{destination.name}.{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open(mode, **options) as file:
            if destination.exists():
                shutil.copymode(destination, temporary)
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(destination)
    except OSError as error:
        if error.filename not in (None, str(temporary)):
            raise
        # Name the file that the caller asked for instead of the temporary one.
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)


def replace_file(path: pathlib.Path, content: bytes) -> None:
    """Replace the content of a file in one step; see `replacing`."""
    with replacing(path) as file:
        file.write(content)
