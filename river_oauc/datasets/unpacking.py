"""Decompression of published files, with a size limit."""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from collections.abc import Sequence

from river_oauc.datasets import lzw
from river_oauc.datasets.size_limit import read_limited

# zipfile decompresses other methods in blocks of any size.
_BOUNDED_ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def unpack(source: bytes, limit: int, members: Sequence[str] = ()) -> list[bytes]:
    """Decompress a published file: gzip, `.Z`, a zip archive, or one that is not compressed.

    Parameters
    ----------
    source
        The content of the published file.
    limit
        Maximum size of each unpacked file, in bytes.
    members
        The files to read from a zip archive; empty for other formats.

    Returns
    -------
    The unpacked files: one for each member, or a single one.

    Raises
    ------
    ValueError
        If the file is damaged, lacks a member, or unpacks to more than `limit` bytes.

    """
    try:
        if members:
            with zipfile.ZipFile(io.BytesIO(source)) as archive:
                return [_read_member(archive, member, limit) for member in members]
        if source.startswith(b"\x1f\x8b"):
            with gzip.GzipFile(fileobj=io.BytesIO(source)) as file:
                return [read_limited(file.read, limit)]
    # zipfile raises RuntimeError for encrypted members and unknown compression methods.
    except (EOFError, KeyError, OSError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(str(error)) from error
    if source.startswith(lzw.MAGIC):
        return [lzw.decompress(source, limit)]
    return [source]


def _read_member(archive: zipfile.ZipFile, member: str, limit: int) -> bytes:
    if archive.getinfo(member).compress_type not in _BOUNDED_ZIP_METHODS:
        raise ValueError(f"{member} is not compressed by the deflate method")
    with archive.open(member) as file:
        return read_limited(file.read, limit)
