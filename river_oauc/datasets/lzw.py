"""Decompression of `.Z` files (Unix `compress`), which the standard library does not read."""

from __future__ import annotations

from river_oauc.datasets.size_limit import check_size

MAGIC = b"\x1f\x9d"

_MIN_WIDTH = 9
_CLEAR = 256


def decompress(data: bytes, limit: int) -> bytes:
    """Decompress a `.Z` file.

    The file consists of a header of three bytes and Lempel-Ziv-Welch codes, packed from the lowest
    bit up. Codes start at 9 bits and get wider as the dictionary grows. They are written in groups
    of eight; when the width changes, the rest of the current group is padding.

    Parameters
    ----------
    data
        The content of the `.Z` file.
    limit
        Maximum size of the result, in bytes.

    Raises
    ------
    ValueError
        If the data are not in this format or decompress to more than `limit` bytes. A truncated
        file goes unnoticed, because the format stores no length.

    Examples
    --------
    >>> from river_oauc.datasets import lzw

    >>> lzw.decompress(bytes.fromhex("1f9d906102861103"), limit=100)
    b'aaaab'

    """
    if len(data) < 3 or not data.startswith(MAGIC):
        raise ValueError("not a .Z file: its first bytes are wrong")
    max_width, has_clear = data[2] & 0x1F, bool(data[2] & 0x80)
    if not _MIN_WIDTH <= max_width <= 16:
        raise ValueError(f"not a .Z file: its codes have up to {max_width} bits")

    roots = [bytes([byte]) for byte in range(256)] + ([b""] if has_clear else [])
    table, previous = roots.copy(), b""
    width, group_start, n_codes = _MIN_WIDTH, 3, 0
    output = bytearray()
    while True:
        if len(table) == 1 << width and width < max_width:
            group_start += -(-n_codes // 8) * width
            width, n_codes = width + 1, 0
        byte, shift = divmod(n_codes * width, 8)
        byte += group_start
        if 8 * (len(data) - byte) - shift < width:
            return bytes(output)
        code = int.from_bytes(data[byte : byte + 3], "little") >> shift & ((1 << width) - 1)
        n_codes += 1

        if has_clear and code == _CLEAR:
            group_start += -(-n_codes // 8) * width
            table, previous = roots.copy(), b""
            width, n_codes = _MIN_WIDTH, 0
            continue
        if code < len(table):
            entry = table[code]
        elif code == len(table) and previous:
            entry = previous + previous[:1]  # the entry that this very code completes
        else:
            raise ValueError("damaged .Z file: a code points beyond the dictionary")
        if previous and len(table) < 1 << max_width:
            table.append(previous + entry[:1])
        output += entry
        check_size(len(output), limit)
        previous = entry
