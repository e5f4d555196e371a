"""What a classifier asks of an algorithm."""

from __future__ import annotations

import typing

import numpy as np
from numpy.typing import NDArray

from river_oauc.state import FloatArray as FloatArray
from river_oauc.state import IntArray as IntArray
from river_oauc.state import State, StateReader

# The rows of the features that are not 0, and their values.
SparseExample = tuple[IntArray, FloatArray]

Example = typing.TypeVar("Example", contravariant=True)
Float = typing.TypeVar("Float", np.float32, np.float64)


class ReentranceError(RuntimeError):
    """Code of the user, which a ranker has called while it learned, has made it learn."""

    def __init__(self) -> None:
        super().__init__(
            "the model has changed while its kernel or its learning rate was computed: neither of "
            "them must call learn_one or learn_many"
        )


class LearningRanker(typing.Protocol[Example]):
    """Score examples, learn from them, and give the state away.

    This is all that a compiled twin has to offer. What happens rarely, such as merging, is done by
    the numpy ranker on the same state.

    An example is what the encoder of the classifier makes of a record: a dense array, in which NaN
    stands for unknown if the ranker takes it, or the rows and values of a sparse one. An example
    that is longer than those before brings features that have been 0 so far.
    """

    @property
    def n_features(self) -> typing.Any:
        """The number of features that there is room for, or a pair if an example is a pair."""

    def learn(self, example: Example, positive: bool, weight: float) -> float | None:
        """Learn from an example of positive weight.

        A ValueError is raised before anything has changed. A ranker that computes the score of the
        example before it learns returns it, so that the caller need not do so again.
        """

    def score(self, example: Example) -> float:
        """Return the score of an example."""

    def logit(self, score: float, empirical: bool) -> float:
        """Return the log odds of a positive, given its score.

        The classes count as equally frequent, or as frequent as they have been.
        """

    def get_state(self) -> State:
        """Return a copy of the state."""

    def set_state(self, reader: StateReader) -> None:
        """Take over a state, or raise a ValueError if it is damaged."""


class Ranker(LearningRanker[Example], typing.Protocol[Example]):
    """An algorithm in numpy."""

    def merge(self, other: typing.Self) -> None:
        """Add what another ranker has learned from another part of the stream.

        Features stand at the same places in both. The other ranker is not used afterwards.
        """

    def reindex(self, positions: typing.Any, n_features: typing.Any) -> None:
        """Move feature i to `positions[i]`, in arrays for `n_features` features.

        Both are pairs if an example is a pair.
        """


def reindexed(
    array: NDArray[Float], positions: IntArray, n_features: int, fill: float = 0.0
) -> NDArray[Float]:
    """Return an array whose last axis has entry i at `positions[i]`, and `fill` elsewhere.

    Entries beyond the positions are dropped, because no feature stands there.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.rankers.base import reindexed
    >>> reindexed(np.array([1.0, 2.0, 0.0]), np.array([2, 0]), 4)
    array([2., 0., 1., 0.])

    """
    moved = np.full((*array.shape[:-1], n_features), fill, dtype=array.dtype)
    n = min(len(positions), array.shape[-1])
    moved[..., positions[:n]] = array[..., :n]
    return moved


def learn_longer(ranker: typing.Any, x: FloatArray, positive: bool, weight: float) -> None:
    """Let a ranker learn from an example with features that are new, and have been 0 so far.

    If the example is refused, the ranker is as it was.
    """
    before = vars(ranker).copy()
    ranker.reindex(np.arange(ranker.n_features), len(x))
    try:
        ranker.learn(x, positive, weight)
    except Exception:
        vars(ranker).update(before)
        raise


def share_of_other(own: typing.Sequence[float], other: typing.Sequence[float]) -> float:
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


def _effective_size(n: typing.Sequence[float]) -> float:
    return 1.0 / (1.0 / n[0] + 1.0 / n[1]) if n[0] and n[1] else 0.0
