"""Where rows come from: a file or standard input, compressed or not, and in which format."""

from __future__ import annotations

import bz2
import codecs
import contextlib
import gzip
import hashlib
import io
import lzma
import re
import sys
import typing
import zlib
from collections.abc import Callable, Iterator

from river_oauc.cli.messages import UserError

FORMATS = "CSV, JSON Lines, Parquet or LIBSVM, plain or compressed with gz, bz2 or xz"

# The name of standard input on the command line.
STDIN = "-"

# Format and encoding are detected from this many bytes.
HEAD_BYTES = 2**18

# A row may span several lines. The limit bounds the memory, even if a small compressed file expands
# to a row without end, and the time, if it expands to blank lines.
MAX_ROW_BYTES = 2**24

# By the first bytes of a file: its name may have lost the suffix.
_DECOMPRESSORS: dict[bytes, Callable[[typing.Any], typing.Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
_OTHER_ARCHIVES = {b"PK\x03\x04": "zip", b"\x28\xb5\x2f\xfd": "zst"}
# Spreadsheets write these marks, which are not part of the text.
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
# What decoders say at the end of a file, and nowhere else.
_CUT_OFF = ("unexpected end of data", "truncated data")
_LIBSVM_LINE = re.compile(r"[+-]?[\d.]\S*(\s+(qid|\d+):\S+)*\s*(#.*)?")


class Source:
    """An open file, decompressed on the way.

    Parameters
    ----------
    name
        Its name in messages.
    binary
        The decompressed bytes.
    is_file
        Whether it is a file, and can be read again.
    is_growing
        Whether more may be written to it: then a last row without its end is left for later.

    Attributes
    ----------
    head
        The beginning, as far as it was there when the file was opened.
    format
        `"csv"`, `"jsonl"`, `"libsvm"` or `"parquet"`.
    text
        The file as text. A byte order mark decides on the encoding, then whether the beginning is
        UTF-8. Otherwise it is taken for Windows-1252, which spreadsheets write.
    is_cut_off
        Whether a last row was left for later.

    """

    def __init__(self, name: str, binary: typing.Any, is_file: bool, is_growing: bool) -> None:
        self.name = name
        self.binary = binary
        self.is_file = is_file
        self.is_growing = is_growing
        self.is_cut_off = False
        self.head = binary.peek(HEAD_BYTES)
        self._mark, encoding = _encoding(self.head)
        self.format = _format(self.head, encoding)
        self.text = io.TextIOWrapper(binary, encoding, newline="")
        self._row = bytearray()
        self._complete = 0, hashlib.sha256()

    @property
    def has_columns(self) -> bool:
        """Whether every row has the same columns."""
        return self.format in ("csv", "parquet")

    @property
    def content(self) -> tuple[int, str]:
        """The length and the SHA-256 of the rows read so far; of Parquet, of the whole file."""
        n_bytes, hashed = self._complete
        return n_bytes, hashed.hexdigest()

    def lines(self) -> Iterator[str]:
        """Yield the lines of the text. A row that is too long is refused."""
        self.count(self.binary.read(len(self._mark)))
        try:
            while line := self.text.readline(MAX_ROW_BYTES + 1):
                if self.is_growing and line[-1] not in "\r\n" and len(line) <= MAX_ROW_BYTES:
                    self.is_cut_off = True
                    return
                self.count(line.encode(self.text.encoding))
                yield line
        except UnicodeDecodeError as error:
            # A character may be written in parts, too.
            if not self.is_growing or error.reason not in _CUT_OFF:
                raise
            self.is_cut_off = True

    def count(self, data: bytes) -> None:
        """Add what has been read to the row."""
        self._row += data
        if len(self._row) > MAX_ROW_BYTES:
            raise UserError(f"{self.name}: a row has more than {MAX_ROW_BYTES:,} bytes")

    def end_row(self) -> None:
        """Note that the row is complete."""
        n_bytes, hashed = self._complete
        hashed = hashed.copy()
        hashed.update(self._row)
        # In one step: an interrupt may come between any two.
        self._complete = n_bytes + len(self._row), hashed
        self._row.clear()


@contextlib.contextmanager
def open_source(path: str, is_growing: bool = False) -> Iterator[Source]:
    """Open a file, or standard input if the path is `-`.

    Files compressed with gzip, bzip2 or xz are decompressed. What is wrong with the content, found
    here or later, is a `UserError`.

    Parameters
    ----------
    path
        The path as the user wrote it.
    is_growing
        Whether more may be written to the file, unless it is compressed.

    """
    is_stdin, is_compressed = path == STDIN, False
    name = "standard input" if is_stdin else path
    if is_stdin and sys.stdin is None:
        raise UserError(f"{name} is closed")
    try:
        with contextlib.ExitStack() as stack:
            file = open(sys.stdin.fileno() if is_stdin else path, "rb", 0, closefd=not is_stdin)
            is_file = not is_stdin and file.seekable()
            binary = stack.enter_context(io.BufferedReader(file, HEAD_BYTES))
            head = binary.peek(HEAD_BYTES)
            for magic, kind in _OTHER_ARCHIVES.items():
                if head.startswith(magic):
                    raise UserError(
                        f"{name}: a {kind} file; those compressed with gz, bz2 or xz are read, and "
                        "a spreadsheet that is saved as CSV"
                    )
            for magic, decompress in _DECOMPRESSORS.items():
                if head.startswith(magic):
                    is_compressed = True
                    binary = io.BufferedReader(decompress(binary), HEAD_BYTES)
                    break
            source = Source(name, binary, is_file, is_growing and is_file and not is_compressed)
            # Or it would close the bytes, too late.
            stack.callback(source.text.detach)
            yield source
    except UnicodeDecodeError as error:
        raise UserError(
            f"{name}: after its beginning, it is in another encoding; save it as UTF-8"
        ) from error
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        # Errors of the system have a number, those of decompression have none.
        if not is_compressed or (isinstance(error, OSError) and error.errno is not None):
            raise
        raise UserError(f"{name}: the compressed file is damaged or cut off: {error}") from error


def _encoding(head: bytes) -> tuple[bytes, str]:
    """Return the byte order mark, if there is one, and the encoding."""
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if head.startswith(mark):
            return mark, encoding
    try:
        # Not to the end, which may be in the middle of a character.
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return b"", "cp1252"
    return b"", "utf-8"


def _format(head: bytes, encoding: str) -> str:
    if head.startswith(b"PAR1"):
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
