"""Where rows come from: a file or standard input, compressed or not, and in which format."""

from __future__ import annotations

import bz2
import codecs
import contextlib
import gzip
import io
import lzma
import pathlib
import re
import sys
import typing
import zlib
from collections.abc import Callable, Iterator

from river_oauc.cli.console.errors import UserError

# The name of standard input on the command line.
STDIN = "-"

# Format and encoding are detected from this many bytes.
HEAD_BYTES = 2**18

# A file is known by this many of its first bytes.
MAX_BEGINNING = 2**16

# Characters of one row, which may span several lines. It bounds the memory, even if a small
# compressed file expands to a row without end.
MAX_ROW = 2**24

# By the first bytes of a file: its name may have lost the suffix.
_DECOMPRESSORS: dict[bytes, Callable[[typing.Any], typing.Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
_PARQUET = b"PAR1"
_LIBSVM_LINE = re.compile(r"[+-]?[\d.]\S*(\s+(qid|\d+):\S+)*\s*(#.*)?")


class Source:
    """An open file, decompressed on the way.

    Parameters
    ----------
    name
        Its name in messages.
    binary
        The decompressed bytes.
    is_compressed
        Whether the file is compressed.

    Attributes
    ----------
    format
        `"csv"`, `"jsonl"`, `"libsvm"` or `"parquet"`.
    encoding
        The encoding of the text, from its beginning: a byte order mark decides, then whether it is
        UTF-8. Otherwise it is taken for Windows-1252, which spreadsheets write.

    """

    def __init__(self, name: str, binary: io.BufferedReader, is_compressed: bool) -> None:
        self.name = name
        self.binary = binary
        self.is_compressed = is_compressed
        head = binary.peek(HEAD_BYTES)
        self.encoding = _encoding(head)
        self.format = _format(head, self.encoding)
        self._text: TextLines | None = None

    @property
    def can_grow(self) -> bool:
        """Whether rows may be appended to the file."""
        return self.format != "parquet" and not self.is_compressed

    @property
    def has_columns(self) -> bool:
        """Whether every row has the same columns."""
        return self.format in ("csv", "parquet")

    def lines(self) -> TextLines:
        """Return the lines of the text."""
        self._text = TextLines(self.binary, self.encoding, self.name)
        return self._text

    @property
    def n_bytes_read(self) -> int:
        """The length of the rows read so far, if it is less than `MAX_BEGINNING`."""
        return 0 if self._text is None else self._text.n_bytes_read

    def close(self) -> None:
        """Stop reading. The file itself stays open."""
        if self._text is not None:
            self._text.close()


class TextLines:
    """Iterate over the lines of a text, refusing rows longer than `MAX_ROW`.

    Parameters
    ----------
    binary
        The bytes of the text.
    encoding
        Its encoding.
    name
        Its name in messages.

    Attributes
    ----------
    n_bytes_read
        The length of the rows read so far, up to `MAX_BEGINNING`.

    """

    def __init__(self, binary: io.BufferedReader, encoding: str, name: str) -> None:
        # Spreadsheets write a byte order mark, which is not part of the text.
        self._row = binary.read(len(_byte_order_mark(binary.peek(HEAD_BYTES))))
        self._file = io.TextIOWrapper(binary, encoding=encoding, newline="")
        self._encoding = encoding
        self._name = name
        self._room = MAX_ROW
        self.n_bytes_read = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._file.readline(self._room + 1)
        if not line:
            raise StopIteration
        self._room -= len(line)
        if self._room < 0:
            raise UserError(f"{self._name}: a row has more than {MAX_ROW:,} characters")
        if self.n_bytes_read < MAX_BEGINNING:
            self._row += line.encode(self._encoding)
        return line

    def end_row(self) -> None:
        """Note that the row is complete, and that the next line begins a new one."""
        self._room = MAX_ROW
        if self.n_bytes_read < MAX_BEGINNING:
            self.n_bytes_read = min(self.n_bytes_read + len(self._row), MAX_BEGINNING)
            self._row = b""

    def close(self) -> None:
        """Stop reading. The bytes stay open."""
        self._file.detach()


@contextlib.contextmanager
def open_source(path: str) -> Iterator[Source]:
    """Open a file, or standard input if the path is `-`.

    Files compressed with gzip, bzip2 or xz are decompressed. Errors in reading, here or later, are
    `UserError`.

    Parameters
    ----------
    path
        The path as the user wrote it.

    """
    name = "standard input" if path == STDIN else path
    if path != STDIN and not pathlib.Path(path).is_file():
        raise UserError(f"{path}: there is no such file, or it is not a regular one")
    is_compressed = False
    try:
        with contextlib.ExitStack() as stack:
            file = sys.stdin.fileno() if path == STDIN else path
            binary = stack.enter_context(
                typing.cast(io.BufferedReader, open(file, "rb", HEAD_BYTES, closefd=path != STDIN))
            )
            head = binary.peek(HEAD_BYTES)
            for magic, decompress in _DECOMPRESSORS.items():
                if head.startswith(magic):
                    is_compressed = True
                    binary = io.BufferedReader(decompress(binary), HEAD_BYTES)
                    break
            source = Source(name, binary, is_compressed)
            stack.callback(source.close)
            yield source
    except UnicodeDecodeError as error:
        raise UserError(
            f"{name}: not {error.encoding} text any more after its beginning; save it as UTF-8"
        ) from error
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        # Errors of the system have a number, those of decompression have none.
        if not is_compressed or (isinstance(error, OSError) and error.errno is not None):
            raise
        raise UserError(f"{name}: the compressed file is damaged or cut off: {error}") from error


def _byte_order_mark(head: bytes) -> bytes:
    marks = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    return next((mark for mark in marks if head.startswith(mark)), b"")


def _encoding(head: bytes) -> str:
    if head.startswith(codecs.BOM_UTF16_LE):
        return "utf-16-le"
    if head.startswith(codecs.BOM_UTF16_BE):
        return "utf-16-be"
    try:
        # Not to the end, which may be in the middle of a character.
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _format(head: bytes, encoding: str) -> str:
    if head.startswith(_PARQUET):
        return "parquet"
    text = head.decode(encoding, errors="ignore").lstrip("\ufeff").lstrip()
    if text.startswith("{"):
        return "jsonl"
    # The last line may be cut off.
    lines = [line.strip() for line in text.splitlines()[:-1] or text.splitlines()]
    rows = [line for line in lines if line and not line.startswith("#")]
    if rows and all(map(_LIBSVM_LINE.fullmatch, rows)) and any(":" in row for row in rows):
        return "libsvm"
    return "csv"
