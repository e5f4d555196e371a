"""Size limits of files, so that a small archive cannot fill the memory."""

from __future__ import annotations

from collections.abc import Callable


def check_size(n_bytes: int, limit: int) -> None:
    """Raise a `ValueError` if a file has more than `limit` bytes."""
    if n_bytes > limit:
        raise ValueError(f"it has more than {limit:,} bytes, the limit for this file")


def read_limited(read: Callable[[int], bytes], limit: int) -> bytes:
    """Read a file to its end by its method `read`, or raise a `ValueError` after `limit` bytes."""
    content = read(limit + 1)
    check_size(len(content), limit)
    return content
