"""What a classifier asks of an algorithm."""

from __future__ import annotations

import typing
from collections.abc import Sequence

from river_oauc.state import FloatArray, Stateful


class Ranker(Stateful):
    """Learn a score from examples, and score others.

    A ranker is the algorithm and nothing else: it gets what the encoder of a classifier makes of a
    record. That is an array with an entry per feature, the rows and values of a sparse example, or
    a pair of both. An example with more features than those before brings features that have been
    0 so far. A ranker that merges has a method `merge` as well: it adds what another ranker has
    learned from another part of the stream, with its features at the same places.
    """

    @property
    def n_features(self) -> typing.Any:
        """The number of features in the arrays."""
        raise NotImplementedError

    def learn(self, example: typing.Any, positive: bool, weight: float) -> typing.Any:
        """Learn from an example. A ValueError is raised before anything has changed."""
        raise NotImplementedError

    def score(self, example: typing.Any) -> float:
        """Return the score of an example."""
        raise NotImplementedError

    def logit(self, score: float, empirical: bool) -> float:
        """Return the log odds of a positive, given its score.

        The classes count as equally frequent, or as frequent as they have been.
        """
        raise NotImplementedError


def learn_with_new_features(
    ranker: Ranker, x: FloatArray, positive: bool, weight: float
) -> typing.Any:
    """Let a ranker learn from an example that is longer than its arrays.

    If the example is refused, the ranker is as it was.
    """
    before = vars(ranker).copy()
    ranker.reindex(None, len(x))
    try:
        return ranker.learn(x, positive, weight)
    except BaseException:
        vars(ranker).update(before)
        raise


def share_of_other(own: Sequence[float], other: Sequence[float]) -> float:
    """Return the weight of the other of two rankers in their average, given their class sizes.

    What a ranker knows depends on both classes, and most on the rarer one: it counts as
    1 / (1 / n₊ + 1 / n₋) examples, so not at all if it has seen one class only. If that is true of
    both, they count by their numbers of examples.

    Examples
    --------
    >>> from river_oauc.rankers.base import share_of_other
    >>> share_of_other((90, 10), (270, 30))
    0.75
    >>> share_of_other((90, 10), (300, 0))
    0.0
    >>> share_of_other((100, 0), (0, 300))
    0.75

    """
    mine, theirs = _effective_size(own), _effective_size(other)
    if not mine + theirs:
        mine, theirs = sum(own), sum(other)
    return theirs / (mine + theirs) if theirs else 0.0


def _effective_size(n: Sequence[float]) -> float:
    return 1.0 / (1.0 / n[0] + 1.0 / n[1]) if n[0] and n[1] else 0.0
