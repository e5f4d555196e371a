"""The `.Z` files of Unix `compress`, which the standard library does not read."""

from __future__ import annotations

MAGIC = b"\x1f\x9d"

_FIRST_WIDTH = 9
_CLEAR = 256


def decompress(data: bytes) -> bytes:
    """The content of a `.Z` file of Unix `compress`.

    The file is a header of three bytes and then Lempel-Ziv-Welch codes, packed from the lowest bit
    up. A code is 9 bits wide at first and grows as the dictionary does. Codes are written eight at
    a time, so a change of width leaves the rest of a group of eight unused.

    Parameters
    ----------
    data
        The whole `.Z` file.

    Raises
    ------
    ValueError
        If the data are not such a file. A file cut short is not noticed: the format has no length.

    Examples
    --------
    >>> from river_oauc.datasets import lzw

    >>> lzw.decompress(bytes.fromhex("1f9d906102861103"))
    b'aaaab'

    """
    if len(data) < 3 or not data.startswith(MAGIC):
        raise ValueError("not a file made by Unix compress: its first bytes are wrong")
    max_width, has_clear = data[2] & 0x1F, bool(data[2] & 0x80)
    if not _FIRST_WIDTH <= max_width <= 16:
        raise ValueError(f"not a file made by Unix compress: codes of up to {max_width} bits")

    roots = [bytes([byte]) for byte in range(256)] + ([b""] if has_clear else [])
    table, previous = roots.copy(), b""
    width, group_start, n_codes = _FIRST_WIDTH, 3, 0
    output: list[bytes] = []
    while True:
        if len(table) == 1 << width and width < max_width:
            group_start += -(-n_codes // 8) * width
            width, n_codes = width + 1, 0
        byte, shift = divmod(n_codes * width, 8)
        byte += group_start
        if 8 * (len(data) - byte) - shift < width:
            return b"".join(output)
        code = int.from_bytes(data[byte : byte + 3], "little") >> shift & ((1 << width) - 1)
        n_codes += 1

        if has_clear and code == _CLEAR:
            group_start += -(-n_codes // 8) * width
            table, previous = roots.copy(), b""
            width, n_codes = _FIRST_WIDTH, 0
            continue
        if code < len(table):
            entry = table[code]
        elif code == len(table) and previous:
            entry = previous + previous[:1]  # the one entry that is used before it is complete
        else:
            raise ValueError("damaged: a code points beyond the dictionary")
        if previous and len(table) < 1 << max_width:
            table.append(previous + entry[:1])
        output.append(entry)
        previous = entry
