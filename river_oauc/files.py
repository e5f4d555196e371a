"""Atomic replacement of files."""

from __future__ import annotations

import os
import pathlib
import uuid


def replace_file(path: pathlib.Path, content: bytes) -> None:
    """Write a file atomically.

    If writing fails or is interrupted, the previous file is unchanged and no temporary file
    remains. A symbolic link is followed, not replaced.

    Raises
    ------
    OSError
        If the file cannot be written.

    """
    destination = pathlib.Path(os.path.realpath(path))
    temporary = destination.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(destination)
    except OSError as error:
        # Name the file that the caller asked for instead of the temporary one.
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)
