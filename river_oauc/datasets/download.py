"""Download of a single file into memory."""

from __future__ import annotations

import posixpath
import sys
from urllib import request

from river_oauc.datasets.size_limit import check_size

_TIMEOUT_SECONDS = 30
_BLOCK_BYTES = 1 << 16
_BAR_WIDTH = 30


def fetch(url: str, limit: int, verbose: bool = True) -> bytes:
    """Download a file.

    The content is kept in memory, so a failed or interrupted download leaves nothing behind.

    Parameters
    ----------
    url
        Address of the file.
    limit
        Maximum size of the file, in bytes.
    verbose
        Whether to report progress on standard error: a bar on a terminal, otherwise one line.

    Raises
    ------
    OSError
        If there is no connection, the server refuses, or it sends less than it announced.
    http.client.HTTPException
        If the server violates the HTTP protocol.
    ValueError
        If the server sends more than `limit` bytes.

    """
    draws_bar = verbose and sys.stderr.isatty()
    if verbose and not draws_bar:
        print(f"Downloading {url}", file=sys.stderr)
    content = bytearray()
    with request.urlopen(url, timeout=_TIMEOUT_SECONDS) as response:
        total = response.length
        try:
            while block := response.read(_BLOCK_BYTES):
                content += block
                check_size(len(content), limit)
                if draws_bar:
                    line = _progress_line(posixpath.basename(url), len(content), total)
                    print(line, end="", file=sys.stderr, flush=True)
        finally:
            if draws_bar:
                print(file=sys.stderr)
    if total is not None and len(content) != total:
        raise ConnectionError(f"the connection ended after {len(content)} of {total} bytes")
    return bytes(content)


def _progress_line(name: str, received: int, total: int | None) -> str:
    """Format the line that overwrites the current line of the terminal."""
    kilobytes = f"{received / 1000:,.0f} kB"
    if total is None:
        return f"\r{name}  {kilobytes}"
    filled = _BAR_WIDTH * received // total
    bar = "#" * filled + "." * (_BAR_WIDTH - filled)
    return f"\r{name}  [{bar}] {received / total:4.0%}  {kilobytes}"
