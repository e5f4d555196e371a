"""What two learners that have seen different examples count for when they are averaged."""

from __future__ import annotations

import typing
from collections.abc import Sequence

from river_oauc.inputs.arrays import FloatArray

__all__ = ["pooled", "share_of_other"]


Number = typing.TypeVar("Number", float, FloatArray)


def share_of_other(own: Sequence[float], other: Sequence[float]) -> float:
    """The share of the other of two learners, given the numbers of examples of their classes.

    What a learner knows of a ranking depends on both classes, and most on the rarer one: it counts
    as 1 / (1 / n₊ + 1 / n₋) examples, and so not at all if it has seen one class only. If that is
    so of both learners, they count by all that they have seen.

    Examples
    --------
    >>> from river_oauc.stats.pooling import share_of_other
    >>> share_of_other((90, 10), (270, 30))
    0.75
    >>> share_of_other((90, 10), (300, 0))
    0.0
    >>> share_of_other((100, 0), (0, 300))
    0.75

    """
    mine, theirs = _balanced(own), _balanced(other)
    if not mine + theirs:
        mine, theirs = sum(own), sum(other)
    return theirs / (mine + theirs) if theirs else 0.0


def pooled(
    mean: Number, variance: Number, other_mean: Number, other_variance: Number, share: Number
) -> tuple[Number, Number]:
    """Mean and variance of two samples together, of which the other one has this share.

    Examples
    --------
    >>> from river_oauc.stats.pooling import pooled
    >>> pooled(0.0, 1.0, 4.0, 2.0, share=0.25)
    (1.0, 4.25)

    """
    gap = other_mean - mean
    between = share * (1.0 - share) * gap * gap
    return mean + share * gap, variance + share * (other_variance - variance) + between


def _balanced(n: Sequence[float]) -> float:
    return 1.0 / (1.0 / n[0] + 1.0 / n[1]) if n[0] and n[1] else 0.0
