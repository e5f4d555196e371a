"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import pathlib
import uuid

__all__ = ["replace_file"]


def replace_file(path: pathlib.Path, content: bytes) -> None:
    """Write a file in one step: until it has all of the new content, it has the old, or is not.

    Whatever happens in between, nothing else is left behind. A link stays a link.

    Raises
    ------
    OSError
        If the system refuses.

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
        # Nobody has heard of the temporary file.
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)
