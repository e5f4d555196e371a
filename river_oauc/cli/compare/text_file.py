"""Read the user's own text file, compressed or not, in bounded memory."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import pathlib
import typing
import zlib
from collections.abc import Callable, Iterator

from river_oauc.cli.console.errors import UserError

# Bytes that a compressed file may expand to, as far as it is read.
MAX_DECOMPRESSED = 2**30
# Characters of one row, which may span several lines.
MAX_ROW = 2**24

# By the first bytes of a file: its name may have lost the suffix.
_DECOMPRESSORS: dict[bytes, Callable[[pathlib.Path], typing.Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}


class TextLines:
    """Iterate over the lines of a text file, refusing rows longer than `MAX_ROW`.

    Parameters
    ----------
    file
        The text.
    path
        Its name in messages.

    """

    def __init__(self, file: typing.TextIO, path: pathlib.Path) -> None:
        self._file = file
        self._path = path
        self._room = MAX_ROW

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._file.readline(self._room + 1)
        if not line:
            raise StopIteration
        self._room -= len(line)
        if self._room < 0:
            raise UserError(f"{self._path}: a row has more than {MAX_ROW:,} characters")
        return line

    def end_row(self) -> None:
        """Note that the next line begins a new row."""
        self._room = MAX_ROW


class _LimitedReader(io.RawIOBase):
    """The decompressed bytes of a file, at most `MAX_DECOMPRESSED` of them."""

    def __init__(self, file: typing.Any, path: pathlib.Path) -> None:
        self._file = file
        self._path = path
        self._room = MAX_DECOMPRESSED

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: typing.Any) -> int:
        n_read = int(self._file.readinto(buffer))
        self._room -= n_read
        if self._room < 0:
            raise UserError(
                f"{self._path}: expands to more than {MAX_DECOMPRESSED / 2**30:g} GiB; decompress "
                "it yourself, or use the first rows only with --limit"
            )
        return n_read


@contextlib.contextmanager
def open_text(path: pathlib.Path) -> Iterator[TextLines]:
    """Open a UTF-8 file to read line by line; gz, bz2 and xz are decompressed on the way.

    Errors in reading it, here or later, are `UserError`.

    Parameters
    ----------
    path
        A regular file, which can be read more than once.

    """
    if not path.is_file():
        raise UserError(f"{path}: there is no such file, or it is not a regular one")
    with path.open("rb") as plain:
        beginning = plain.read(max(map(len, _DECOMPRESSORS)))
    matching = (opener for magic, opener in _DECOMPRESSORS.items() if beginning.startswith(magic))
    decompress = next(matching, None)
    try:
        with contextlib.ExitStack() as stack:
            binary: typing.BinaryIO
            if decompress is None:
                binary = stack.enter_context(path.open("rb"))
            else:
                packed = stack.enter_context(decompress(path))
                binary = io.BufferedReader(_LimitedReader(packed, path))
            # Spreadsheets write a byte order mark, which is not part of the text.
            text = stack.enter_context(io.TextIOWrapper(binary, encoding="utf-8-sig", newline=""))
            yield TextLines(text, path)
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 text; save it as UTF-8") from error
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        # Errors of the system have a number, those of decompression have none.
        if decompress is None or (isinstance(error, OSError) and error.errno is not None):
            raise
        raise UserError(f"{path}: the compressed file is damaged or cut off: {error}") from error
