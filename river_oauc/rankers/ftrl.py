"""The baseline for sparse examples: FTRL-AUC."""

from __future__ import annotations

import typing

import numpy as np

from river_oauc.limits import MAX_COEFFICIENT, MAX_NORM, MAX_SQUARED_NORM, divergence_error
from river_oauc.rankers.base import FloatArray, IntArray, SparseExample
from river_oauc.rankers.score_moments import ScoreMoments, logit
from river_oauc.state import State, StateReader

# No squared gradient may be larger than this.
_MAX_SQUARES = MAX_COEFFICIENT**2

# Sums of many gradients, or of several rankers, may be larger than one gradient by this factor.
_MANY = 1e6


class FTRLAUCRanker:
    """Follow the regularised leader on the saddle point of the squared loss of all pairs.

    The class means of the scores are those of the scores that examples had before they were
    learned. So a step touches the features of its example only.

    Parameters
    ----------
    alpha, beta
        The step of a weight is α / (β + √n), with the sum n of its squared gradients.
    l1, l2
        Strengths of the regularisers.

    Attributes
    ----------
    n_features
        Number of features. The array is longer, and its last column is always free.
    sums
        An array of two rows: for each feature z, from which its weight follows, and n.
    scores
        Moments of the scores of the negatives and of the positives.

    """

    def __init__(self, alpha: float, beta: float, l1: float, l2: float) -> None:
        self.alpha, self.beta, self.l1, self.l2 = alpha, beta, l1, l2
        self.n_features = 0
        self.sums: FloatArray = np.zeros((2, 1))
        self.scores = [ScoreMoments(), ScoreMoments()]

    @property
    def weights(self) -> FloatArray:
        """The weight of each feature."""
        return self._weights(*self.sums[:, : self.n_features])

    def _weights(self, z: FloatArray, n: FloatArray) -> FloatArray:
        shrunk = np.sign(z) * np.maximum(np.abs(z) - self.l1, 0.0)
        weights: FloatArray = -shrunk / self._curvature(n)
        return weights

    def _curvature(self, n: FloatArray) -> FloatArray:
        curvature: FloatArray = (self.beta + np.sqrt(n)) / self.alpha + self.l2
        return curvature

    def score(self, example: SparseExample) -> float:
        rows, values = example
        # An unknown row becomes the last one, which is free.
        return float(self._weights(*self.sums.take(rows, 1, mode="clip")).dot(values))

    def learn(self, example: SparseExample, positive: bool, weight: float) -> float:
        rows, values = example
        z, n = self.sums.take(rows, 1, mode="clip")
        weights = self._weights(z, n)
        score = float(weights.dot(values))
        own, opposite = self.scores[positive].updated(score, weight), self.scores[not positive]
        y = 1.0 if positive else -1.0
        share_of_opposite = opposite.n / (own.n + opposite.n)
        slope = 2.0 * weight * share_of_opposite * (score - opposite.mean - y)
        if not abs(slope) <= MAX_COEFFICIENT:
            raise divergence_error()
        gradient = slope * values
        # Unlike products, `vdot` does not warn of an overflow.
        if not float(np.vdot(gradient, gradient)) <= _MAX_SQUARES:
            raise divergence_error("squared gradients", _MAX_SQUARES)
        after = n + gradient * gradient
        z = z + gradient - (np.sqrt(after) - np.sqrt(n)) / self.alpha * weights
        moved = self._weights(z, after)
        if not float(np.vdot(moved, moved)) <= MAX_SQUARED_NORM:
            raise divergence_error()
        if not float(np.vdot(z, z)) <= _MAX_SQUARES:
            raise divergence_error("sum of gradients", MAX_COEFFICIENT)

        n_features = max(self.n_features, int(rows.max()) + 1) if len(rows) else self.n_features
        # An interrupt between any two lines leaves arrays that belong together.
        self._make_room(n_features)
        self.n_features = n_features
        self.sums[:, rows] = z, after
        self.scores[positive] = own
        return score

    def _make_room(self, n_features: int) -> None:
        """Make the array longer, by an eighth at least, if it has no room for a free column."""
        size = self.sums.shape[1]
        if n_features >= size:
            more = np.zeros((2, n_features + n_features // 8 + 1 - size))
            self.sums = np.concatenate((self.sums, more), axis=1)

    def logit(self, score: float, empirical: bool) -> float:
        return logit(self.scores, score, empirical)

    def merge(self, other: typing.Self) -> None:
        """Add the sums of squared gradients and the scores, and merge the weights.

        A weight counts by its curvature (β + √n) / α + λ₂, of which β / α + λ₂ is there from the
        start and counts once. So weights of frequent features are averaged, and those of rare ones
        are added.
        """
        (my_z, my_n), (their_z, their_n) = self.sums, other.sums
        n = my_n + their_n
        both = self._curvature(my_n) + self._curvature(their_n) - self._curvature(np.zeros(1))
        self.sums = np.array(((my_z + their_z) * (self._curvature(n) / both), n))
        self.scores = [a.merged(b) for a, b in zip(self.scores, other.scores, strict=True)]

    def reindex(self, positions: IntArray, n_features: int) -> None:
        sums = np.zeros((2, n_features + 1))
        sums[:, positions[: self.n_features]] = self.sums[:, : self.n_features]
        self.sums, self.n_features = sums, n_features

    def get_state(self) -> State:
        z, n = self.sums[:, : self.n_features]
        return {
            "scores": [each._asdict() for each in self.scores],
            "z": z.copy(),
            "n": n.copy(),
        }

    def set_state(self, reader: StateReader) -> None:
        bound = _MANY * MAX_COEFFICIENT
        z = reader.array("z", None, minimum=-bound, maximum=bound)
        n = reader.array("n", len(z), minimum=0.0, maximum=_MANY * _MAX_SQUARES)
        scores = [
            ScoreMoments.from_state(each, _MANY * MAX_SQUARED_NORM)
            for each in reader.readers("scores", 2)
        ]
        reader.finish()
        if not np.abs(self._weights(z, n)).max(initial=0.0) <= _MANY * MAX_NORM:
            raise reader.error("z has numbers that are too large for the weights")
        self.n_features, self.scores = len(z), scores
        self.sums = np.zeros((2, len(z) + 1))
        self.sums[:, : len(z)] = z, n
