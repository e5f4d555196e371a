"""The baseline for sparse examples: FTRL-AUC."""

from __future__ import annotations

import typing

import numpy as np

from river_oauc.limits import MAX_COEFFICIENT, check_norm, divergence_error
from river_oauc.rankers.base import Ranker
from river_oauc.rankers.sparse import SparseExample, check_scores, scores_logit, update_scores
from river_oauc.state import FloatArray


class FTRLAUCRanker(Ranker):
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
    sums
        For each feature z, from which its weight follows, and n.
    scores
        The moments of the scores of the negatives and of the positives; see `score_moments`.

    """

    FIELDS: typing.ClassVar[dict[str, typing.Any]] = {
        "sums": (float, 2, "p"), "scores": (float, 2, 3)
    }  # fmt: skip
    USED: typing.ClassVar[dict[str, str]] = {"p": "n_features"}

    n_features = 0

    def __init__(self, alpha: float, beta: float, l1: float, l2: float) -> None:
        self.alpha, self.beta, self.l1, self.l2 = alpha, beta, l1, l2
        self.sums, self.scores = np.zeros((2, 1)), np.zeros((2, 3))

    @property
    def weights(self) -> FloatArray:
        """The weight of each feature."""
        return self._weights(*self.sums[:, : self.n_features])

    def _weights(self, z: FloatArray, n: FloatArray) -> FloatArray:
        shrunk = np.sign(z) * np.maximum(np.abs(z) - self.l1, 0.0)
        weights: FloatArray = -shrunk / ((self.beta + np.sqrt(n)) / self.alpha + self.l2)
        return weights

    def score(self, example: SparseExample) -> float:
        rows, values = example
        is_known = rows < self.n_features
        return float(self._weights(*self.sums[:, rows[is_known]]).dot(values[is_known]))

    def logit(self, score: float, empirical: bool) -> float:
        return scores_logit(self.scores, score, empirical)

    def learn(self, example: SparseExample, positive: bool, weight: float) -> None:
        rows, values = example
        n_features = max(self.n_features, int(rows.max(initial=-1)) + 1)
        if n_features > self.sums.shape[1]:
            self.reindex(None, n_features + n_features // 8)
        z, n = self.sums[:, rows]
        weights = self._weights(z, n)
        own, y, score = int(positive), 1.0 if positive else -1.0, float(weights.dot(values))
        n_opposite, opposite_mean, _ = self.scores[1 - own].tolist()
        share_of_opposite = n_opposite / (float(self.scores[own, 0]) + weight + n_opposite)
        slope = 2.0 * weight * share_of_opposite * (score - opposite_mean - y)
        if not abs(slope) <= MAX_COEFFICIENT:
            raise divergence_error()
        gradient = slope * values
        check_norm(gradient, "gradients", MAX_COEFFICIENT)
        after = n + gradient * gradient
        z = z + gradient - (np.sqrt(after) - np.sqrt(n)) / self.alpha * weights
        check_norm(self._weights(z, after))
        check_norm(z, "sums of gradients", MAX_COEFFICIENT)
        # All that can be refused is above this line.
        self.sums[:, rows], self.n_features = (z, after), n_features
        update_scores(self.scores, own, score, weight)

    def check_state(self) -> None:
        check_scores(self.scores)
