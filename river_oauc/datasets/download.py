"""One file over the network, whole or not at all."""

from __future__ import annotations

import posixpath
import sys
from urllib import request

_TIMEOUT_SECONDS = 30
_BLOCK_BYTES = 1 << 16
_BAR_WIDTH = 30


def fetch(url: str, verbose: bool = True) -> bytes:
    """The content of a URL.

    It is kept in memory, since the files in question are a few megabytes at most: whatever goes
    wrong, there is no half-written file to clear away.

    Parameters
    ----------
    url
        What to fetch.
    verbose
        Whether to tell the progress on the standard error: a bar on a terminal, else one line.

    Raises
    ------
    OSError
        If there is no connection, if the server refuses, or if it sends less than it announced.
    http.client.HTTPException
        If the server does not speak HTTP properly.

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
    """What overwrites the current line of the terminal."""
    kilobytes = f"{received / 1000:,.0f} kB"
    if total is None:
        return f"\r{name}  {kilobytes}"
    filled = _BAR_WIDTH * received // total
    bar = "#" * filled + "." * (_BAR_WIDTH - filled)
    return f"\r{name}  [{bar}] {received / total:4.0%}  {kilobytes}"
