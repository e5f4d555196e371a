"""Support vectors as plain arrays: how they are merged, and how one inherits from another."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from river_oauc.kernels import Kernel, similarities, squared_norm
from river_oauc.limits import MAX_SQUARED_NORM
from river_oauc.rankers.base import FloatArray, IntArray

# Similarities that differ by less than this part are ties: one number, rounded in two ways.
TIE = 1e-9

# A vector with a smaller squared norm is nobody's heir: its share would be too large a number.
SMALLEST_SQUARED_NORM = 1e-50


@dataclasses.dataclass(frozen=True)
class SupportVectors:
    """Stored examples and their coefficients: the score Σ coefficientᵢ · k(vectorᵢ, x).

    The negatives come first and then the positives, each class oldest first.

    Parameters
    ----------
    kernel
        The kernel k.
    n
        Numbers of negatives and of positives.
    vectors
        The examples, one per row.
    coefficients
        Their coefficients.
    importance
        Their importance weights.
    gram
        The similarities of all pairs.

    """

    kernel: Kernel
    n: tuple[int, int]
    vectors: FloatArray
    coefficients: FloatArray
    importance: FloatArray
    gram: FloatArray

    def slots(self, positive: bool) -> slice:
        """Return the rows of a class."""
        return slice(self.n[0], None) if positive else slice(0, self.n[0])

    def snapshot(self, n_features: int) -> SupportVectors:
        """Return read-only views, with the first features only."""
        arrays = self.vectors[:, :n_features], self.coefficients, self.importance, self.gram
        views = [array.view() for array in arrays]
        for view in views:
            view.setflags(write=False)
        return SupportVectors(self.kernel, self.n, *views)


def gram_matrix(kernel: Kernel, vectors: FloatArray) -> FloatArray:
    """Return the similarities of all pairs of vectors."""
    gram = np.empty((len(vectors), len(vectors)))
    for i, x in enumerate(vectors):
        gram[i, :i] = gram[:i, i] = similarities(kernel, x, vectors[:i])
        gram[i, i] = squared_norm(kernel, x)
    return gram


def inverted(squared_norms: FloatArray) -> FloatArray:
    """Return inverse squared norms; 0 for a vector that is too short to be an heir."""
    is_long = squared_norms > SMALLEST_SQUARED_NORM
    return np.where(is_long, 1.0 / np.where(is_long, squared_norms, 1.0), 0.0)


def largest(values: FloatArray, k: int) -> IntArray:
    """Return the positions of the k largest values; of tied ones, the first.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.rankers.support_vectors import largest
    >>> largest(np.array([0.3, 0.5, 0.1 + 0.2]), k=2)
    array([1, 0])

    """
    smallest = np.partition(values, -k)[-k]
    margin = TIE * abs(smallest)
    above = (values > smallest + margin).nonzero()[0]
    tied = (abs(values - smallest) <= margin).nonzero()[0]
    return np.concatenate((above, tied[: k - len(above)]))


def _first_largest(values: FloatArray) -> int:
    """Return the position of the largest value; of tied ones, the first."""
    maximum = values[values.argmax()]
    return int((values >= maximum - TIE * abs(maximum)).argmax())


def projection_target(
    similarities: FloatArray, inverse_norms: FloatArray, projects: bool
) -> tuple[int, float]:
    """Return which vector gets the coefficient of a removed one, and what share of it.

    With `projects`, it is the change that alters the score least: the projection of k(removed, ·)
    on k(target, ·) is share · k(target, ·), and its squared norm is similarity² / squared norm of
    the target. Otherwise the most similar vector gets the full coefficient. Of tied ones, it is the
    first.

    Parameters
    ----------
    similarities
        Similarities of the removed vector to the others.
    inverse_norms
        Inverse squared norms of the others.
    projects
        Whether to project.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.rankers.support_vectors import projection_target
    >>> projection_target(np.array([0.5, 2.0]), np.array([1.0, 0.25]), projects=True)
    (1, 0.5)

    """
    if not projects:
        return _first_largest(similarities), 1.0
    shares = similarities * inverse_norms
    position = _first_largest(shares * similarities)
    return position, float(shares[position])


def add_to_target(
    coefficient: float,
    coefficients: FloatArray,
    slots: IntArray,
    similarities: FloatArray,
    inverse_norms: FloatArray,
    projects: bool,
) -> None:
    """Add the coefficient of a removed vector to that of one of its class.

    Parameters
    ----------
    coefficient
        The coefficient of the removed vector.
    coefficients
        The coefficients by slot, which are changed in place.
    slots
        The slots of its class.
    similarities
        Its similarities to the vectors there.
    inverse_norms
        The inverse squared norms of these vectors.
    projects
        Whether to project; see `projection_target`.

    """
    position, share = projection_target(similarities, inverse_norms, projects)
    slot = slots[position]
    before = coefficients[slot]
    coefficients[slot] += share * coefficient
    # If the coefficients became too large, no later example could be learned.
    if not coefficients.dot(coefficients) <= MAX_SQUARED_NORM:
        coefficients[slot] = before


def merge_support_vectors(
    mine: SupportVectors,
    theirs: SupportVectors,
    share: float,
    kernel: Kernel,
    keep: Callable[[int, int, bool], list[int]],
    projects: bool,
) -> SupportVectors:
    """Return support vectors whose score is the average of two scores.

    Parameters
    ----------
    mine, theirs
        The two sets of support vectors.
    share
        Weight of the second score in the average.
    kernel
        The kernel of the merged score.
    keep
        Given the numbers of vectors of a class in both sets, return the positions of those to
        keep, the oldest first.
    projects
        How the coefficients of vectors that are not kept pass on; see `projection_target`.

    """
    vectors = np.concatenate((mine.vectors, theirs.vectors))
    importance = np.concatenate((mine.importance, theirs.importance))
    coefficients = np.concatenate(((1.0 - share) * mine.coefficients, share * theirs.coefficients))
    rows = np.split(np.arange(len(vectors)), np.cumsum((*mine.n, theirs.n[0])))
    kept, removed = [], []
    for positive in (False, True):
        own = np.concatenate((rows[positive], rows[2 + positive]))
        positions = keep(mine.n[positive], theirs.n[positive], positive)
        kept.append(own[positions])
        removed.append(np.delete(own, positions))
    order = np.concatenate(kept)
    gram = gram_matrix(kernel, vectors[order])
    merged = SupportVectors(
        kernel,
        (len(kept[0]), len(kept[1])),
        vectors[order],
        coefficients[order],
        importance[order],
        gram,
    )
    inverse_norms = inverted(gram.diagonal())
    for positive in (False, True):
        own = np.arange(len(order))[merged.slots(positive)]
        for i in removed[positive]:
            to_removed = similarities(kernel, vectors[i], merged.vectors[own])
            add_to_target(
                coefficients[i], merged.coefficients, own, to_removed, inverse_norms[own], projects
            )
    return merged
