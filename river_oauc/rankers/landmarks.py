"""The kernel score: ridge regression on the similarities to some landmarks."""

from __future__ import annotations

import typing
from collections.abc import Sequence

import numpy as np
from scipy.spatial.distance import cdist, pdist

from river_oauc.acceleration import accelerated
from river_oauc.rankers.base import share_of_other
from river_oauc.rankers.boosting import ClassBuffer
from river_oauc.rankers.ridge import ClassMoments, ridge, standardize
from river_oauc.state import FloatArray, IntArray, Stateful, damage

# Half of the landmarks are of each class, as soon as there are enough.
N_LANDMARKS = 128

# They are chosen after so many examples, and whenever the stream has doubled, until each class has
# its half. The moments then begin with so many examples of each class.
FIRST_CHOICE, N_REPLAYED = 4, 128

# So many stored examples of each class stand for one of two parts when they merge.
N_REPLAYED_IN_MERGE = 500

STRENGTH = 0.1


class KernelExpert(Stateful):
    """A score that is linear in the Gaussian similarities to 128 landmarks.

    The landmarks are recent examples of each class. The width of the kernel is the median distance
    between them.

    Attributes
    ----------
    landmarks, size
        Standardised examples, and how many there are.
    rate
        The similarity to an example at distance d is exp(-rate · d²).
    moments
        The moments of the similarities.
    weights, bias
        Those of the score.
    next_choice
        After how many examples landmarks are chosen; 0 is never again.

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "landmarks": (float, N_LANDMARKS, "p"), "size": int, "rate": float, "moments": Stateful,
        "weights": (float, N_LANDMARKS), "bias": float, "next_choice": int,
    }  # fmt: skip

    def __init__(self) -> None:
        self.landmarks: FloatArray = np.zeros((N_LANDMARKS, 1))
        self.size, self.rate, self.bias, self.next_choice = 0, 1.0, 0.0, FIRST_CHOICE
        self.moments = ClassMoments(N_LANDMARKS)
        self.weights: FloatArray = np.zeros(N_LANDMARKS)

    @property
    def n_features(self) -> int:
        return len(self.landmarks[0])

    def see(self, z: FloatArray) -> tuple[FloatArray, float]:
        """Return the similarities of a standardised example to the landmarks, and its score."""
        return kernel_score(self.landmarks, self.size, self.rate, self.weights, self.bias, z)

    def contributions(self, z: FloatArray) -> FloatArray:
        """Return by how much the score changes as features become unknown, one after the other."""
        known = np.where(np.tri(len(z) + 1, len(z), -1, dtype=bool), z, 0.0)
        scores = [self.see(each)[1] for each in known]
        return np.diff(scores)

    def choose(self, n_seen: int, buffers: Sequence[ClassBuffer], units: FloatArray) -> bool:
        """Choose the landmarks, if it is time to; return whether it was."""
        if not 0 < self.next_choice <= n_seen:
            return False
        newest = [newest_standardized(buffer, units) for buffer in buffers]
        half = N_LANDMARKS // 2
        n_positive = min(len(newest[1]), max(half, N_LANDMARKS - len(newest[0])))
        chosen = np.concatenate((newest[1][:n_positive], newest[0][: N_LANDMARKS - n_positive]))
        self.size = len(chosen)
        self.landmarks = np.zeros((N_LANDMARKS, chosen.shape[1]))
        self.landmarks[: self.size] = chosen
        distances = pdist(chosen, "sqeuclidean")
        distances = distances[distances > 0.0]
        self.rate = 1.0 / float(np.median(distances)) if len(distances) else 1.0
        self.moments = ClassMoments(N_LANDMARKS)
        for positive, rows in enumerate(newest):
            for row in rows:
                self.moments.add(self.see(row)[0], bool(positive), 1.0)
        self.next_choice = 1 << n_seen.bit_length()
        if min(map(len, newest)) >= half:
            self.next_choice = 0
        return True

    def solve(self) -> None:
        """Compute the score, given examples of both classes."""
        if self.size and self.moments.n.all():
            self.moments.flush()
            landmarks = self.landmarks[: self.size]
            gram = np.exp(-self.rate * cdist(landmarks, landmarks, "sqeuclidean"))
            self.weights[self.size :] = 0.0
            self.weights[: self.size], self.bias = ridge(self.moments, self.size, STRENGTH, gram)

    def merge(
        self,
        other: typing.Self,
        mine: Sequence[ClassBuffer],
        theirs: Sequence[ClassBuffer],
        units: FloatArray,
    ) -> None:
        """Add what has been learned from another part of the stream.

        The landmarks are those of the part that knows more. The stored examples of the other part
        stand for all that it has seen.
        """
        n_other, stored = other.moments.n, theirs
        # At once, from the examples of both, if neither has all its landmarks.
        next_choice = int(bool(self.next_choice and other.next_choice))
        if share_of_other(self.moments.n.tolist(), n_other.tolist()) > 0.5:
            n_other, stored = self.moments.n, mine
            vars(self).update(vars(other))
        for positive, (n, buffer) in enumerate(zip(n_other.tolist(), stored, strict=True)):
            newest = buffer.oldest_first()[-N_REPLAYED_IN_MERGE:]
            weights = buffer.weights[newest] * (n / max(buffer.weights[newest].sum(), 1e-300))
            for row, weight in zip(buffer.rows[newest], weights.tolist(), strict=True):
                if weight:
                    z = standardize(row.astype(float), units)
                    self.moments.add(self.see(z)[0], bool(positive), weight)
        self.next_choice = next_choice

    def reindex(self, positions: IntArray | None, size: int) -> None:
        vars(self).update(self.moved(positions, size))

    def check_state(self) -> None:
        if self.size > N_LANDMARKS or self.moments.mean.shape[1] != N_LANDMARKS or self.rate <= 0.0:
            raise damage("the landmarks are not those of the moments")


def newest_standardized(buffer: ClassBuffer, units: FloatArray) -> FloatArray:
    """Return the newest examples of a class in units of their features, the newest first."""
    rows = buffer.rows[buffer.oldest_first()[: -N_REPLAYED - 1 : -1]].astype(float)
    return np.array([standardize(row, units) for row in rows]).reshape(rows.shape)


@accelerated
def kernel_score(
    landmarks: FloatArray, n: int, rate: float, weights: FloatArray, bias: float, z: FloatArray
) -> tuple[FloatArray, float]:
    """Return similarities exp(-rate · d²) to the first n landmarks at distances d, and the score.

    The similarities to the other landmarks are 0.
    """
    similar = np.zeros(len(landmarks))
    similar[:n] = np.exp(-rate * ((landmarks[:n] - z) ** 2).sum(axis=1))
    return similar, float(weights @ similar) + bias
