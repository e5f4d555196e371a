"""The user's own text file, compressed or not."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import pathlib
import zlib
from collections.abc import Callable, Iterator
from typing import Any, TextIO, cast

from river_oauc.cli.console.errors import UserError

__all__ = ["open_text"]

# By what a file begins with: its ending may have been lost on the way.
_COMPRESSED: dict[bytes, Callable[..., Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}


@contextlib.contextmanager
def open_text(path: pathlib.Path) -> Iterator[TextIO]:
    """A UTF-8 file to read line by line; gz, bz2 and xz are unpacked on the way.

    What goes wrong in reading it, here or later on, is said in the user's terms.

    Parameters
    ----------
    path
        The file. It must be one that can be read twice.

    """
    if not path.is_file():
        raise UserError(f"{path}: there is no such file, or it is not a regular one")
    with path.open("rb") as file:
        beginning = file.read(max(map(len, _COMPRESSED)))
    found = (opened for start, opened in _COMPRESSED.items() if beginning.startswith(start))
    unpack = next(found, open)
    try:
        # Spreadsheets open a UTF-8 file with a byte order mark, which is no part of the text.
        with unpack(path, "rt", encoding="utf-8-sig", newline="") as text:
            yield cast(TextIO, text)
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 text; save it as UTF-8") from error
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        # What the system refuses has a number, what does not unpack has none.
        if unpack is open or (isinstance(error, OSError) and error.errno is not None):
            raise
        raise UserError(f"{path}: the compressed file is damaged or cut off: {error}") from error
