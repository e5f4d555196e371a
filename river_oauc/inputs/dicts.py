"""From a dict to a row of numbers in one pass: there is a way only where that is compiled."""

from __future__ import annotations

import typing

from river_oauc.inputs.arrays import FloatArray

__all__ = ["COMPILED", "fill"]

# Whether there is a way.
COMPILED = False


def fill(
    row: FloatArray, x: typing.Any, names: list[typing.Any], positions: dict[typing.Any, int]
) -> bool:
    """Write the values of a dict into a row, or say that it is nothing so simple.

    Which it is not if a name is unknown, or a value no plain number. Some numbers may have been
    written by then.
    """
    raise NotImplementedError
