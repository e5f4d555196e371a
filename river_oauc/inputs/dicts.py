"""From dicts to arrays of numbers. Where the package is compiled, `dicts.pyx` does it at once."""

from __future__ import annotations

import operator
import struct
import typing
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from river_oauc.inputs.arrays import FloatArray

__all__ = ["COMPILED", "fill", "is_same", "names_of", "packed", "rows_of"]

# Whether there are `fill` and `is_same`.
COMPILED = False


def fill(
    row: FloatArray, x: typing.Any, names: list[typing.Any], positions: dict[typing.Any, int]
) -> bool:
    """Write the values of a dict into a row, or say that it is nothing so simple.

    Which it is not if a name is unknown, or a value no plain number. Some numbers may have been
    written by then.
    """
    raise NotImplementedError


def is_same(x: typing.Any, names: tuple[typing.Any, ...], data: bytes) -> bool:
    """Whether a dict has just these floats under these names; if not, it may still be so."""
    raise NotImplementedError


def names_of(x: typing.Any, usual: tuple[typing.Any, ...]) -> tuple[typing.Any, ...]:
    """The names of a dict; if they are the usual ones, it may be that very tuple."""
    return tuple(x)


class _Packers(dict[int, Callable[..., bytes]]):
    """For each number of values, the way to pack them: the fastest one into an array."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self._kind = kind

    def __missing__(self, n: int) -> Callable[..., bytes]:
        pack = self[n] = struct.Struct(f"{n}{self._kind}").pack
        return pack


_packed_doubles = _Packers("d")
_packed_rows = _Packers("n")


def packed(x: dict[typing.Any, typing.Any]) -> bytes:
    """The values of a dict as the bytes of doubles; an error that says little, if it has others.

    Strings and None are refused, and what has a float is taken.
    """
    return _packed_doubles[len(x)](*x.values())


def rows_of(index: dict[typing.Any, int], names: Sequence[typing.Any]) -> NDArray[np.intp]:
    """What a dict has for each of the names; an unknown one is a KeyError."""
    n = len(names)
    if n > 1:
        found = operator.itemgetter(*names)(index)
        return np.frombuffer(_packed_rows[n](*found), np.intp)
    return np.array([index[name] for name in names], np.intp)
