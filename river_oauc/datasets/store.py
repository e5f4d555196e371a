"""Canonical texts on disk: xz-compressed, checked when read, written in one stroke."""

from __future__ import annotations

import hashlib
import lzma
import pathlib

from river_oauc.datasets.files import replace_file


def is_canonical(text: bytes, sha256: str) -> bool:
    """Whether a text is the one with this checksum, in hexadecimal digits."""
    return hashlib.sha256(text).hexdigest() == sha256


def read(path: pathlib.Path, sha256: str) -> bytes:
    """The text in an xz file.

    Raises
    ------
    ValueError
        If the file is not xz, is cut short or holds another text.

    """
    try:
        text = lzma.decompress(path.read_bytes())
    except lzma.LZMAError as error:
        raise ValueError(f"not a whole xz file ({error})") from error
    if not is_canonical(text, sha256):
        raise ValueError("its text is another one (wrong sha256)")
    return text


def write(path: pathlib.Path, text: bytes) -> None:
    """Write a text to an xz file, which appears complete or not at all.

    Raises
    ------
    OSError
        If the directory cannot be made or written to.

    """
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, lzma.compress(text))
