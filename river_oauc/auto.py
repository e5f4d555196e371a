"""The learner without knobs."""

from __future__ import annotations

import typing

import numpy as np
from scipy.linalg.blas import daxpy, ddot, dscal
from scipy.special import ndtri

from river_oauc import losses
from river_oauc.arrays import FloatArray, resized
from river_oauc.base import divergence
from river_oauc.linear import MomentClassifier
from river_oauc.moments import Moments
from river_oauc.vectorizer import MAX_SQUARED_NORM

__all__ = ["AutoOAUCM"]

# The candidates: three strengths of the regulariser in each of two metrics, the steadier first.
_RIDGES = (3.0, 1e-3)
_L2 = np.array([[4.0, 2**-2, 2**-6], [2**-3, 2**-6, 2**-9]])

# A candidate is judged on about so many examples, each against some recent ones of the other class.
_MEMORY = 2000
_N_RECENT = 32

# A candidate must be ahead of the next steadier one by one example ranked right.
_HANDICAPS = np.arange(_L2.size, dtype=float)

# Before anything is judged, the AUC is one half; that counts as much as so many examples.
_DOUBT = 50.0

# A scaler in front has not found the ranges of the features at first: the t-th example counts as
# t / _WARM_UP examples until t has come this far.
_WARM_UP = 25

# Scores that differ by less than this part of themselves are equal.
_TIE = 1e-9

# The metrics are brought up to date whenever the stream has grown by one part in so many.
_REFRESHES = 20

# No variance counts as less than this part of a typical one, nor a typical one as less than this.
_SMALLEST_PART = 0.1
_SMALLEST_SCALE = 1e-80


class AutoOAUCM(MomentClassifier):
    """Online AUC maximisation without anything to set.

    The one to put behind a scaler and forget. It learns six linear scores side by side on the loss
    of `OAUCM`, and predicts with the one that has ranked best so far.

    - All six share the means and covariances of the two classes, so that six cost little more than
      one. They are three strengths of the regulariser in each of two metrics.
    - A metric multiplies the gradients by the inverse of the classes' covariance, to which a
      multiple of the variances is added. With a small multiple, features that are correlated or
      squeezed by outliers are learned as fast as all others; with a large one, features are merely
      standardised, and few examples do for many of them.
    - A candidate's weights are the metric times the mean of its gradients, divided by its l2. They
      are averaged over time, later ones counting more.
    - A new example is scored by all candidates before it is learned, and its scores are compared
      with those of the 32 most recent examples of the other class. The share of pairs in the right
      order, over the last 2000 examples or so, is the candidate's AUC. The best one is trusted, and
      its AUC says how far from one half probabilities may go.
    - The first 25 examples count less, as the scaler in front is still learning, too.

    The rule was fixed on nine of the 18 benchmark sets (german, heart, ionosphere, letter, segment,
    shuttle, splice, svmguide3, vehicle); the other nine were looked at once, at the end.

    A step costs O(p²) time for p features, about eight times one of `OAUCM`, and predicting costs
    the same as there; memory is 4p² + O(p) doubles.

    Parameters
    ----------
    prior
        What a probability of one half means. `"balanced"`: as likely from either class, were
        they equally frequent. `"empirical"`: as frequent as the classes have been.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_oauc import AutoOAUCM
    >>> from river_oauc.metrics import ExactROCAUC

    >>> model = preprocessing.MinMaxScaler() | AutoOAUCM()
    >>> evaluate.progressive_val_score(
    ...     datasets.Phishing(), model, metrics.ROCAUC() + ExactROCAUC()
    ... )
    ROCAUC: 95.33%
    ExactROCAUC: 95.78%

    Which candidate does it trust?

    >>> for candidate in model["AutoOAUCM"].candidates:
    ...     print(candidate)
    {'ridge': 3.0, 'l2': 4.0, 'auc': 0.960, 'trusted': False}
    {'ridge': 3.0, 'l2': 0.25, 'auc': 0.963, 'trusted': False}
    {'ridge': 3.0, 'l2': 0.016, 'auc': 0.965, 'trusted': True}
    {'ridge': 0.001, 'l2': 0.125, 'auc': 0.964, 'trusted': False}
    {'ridge': 0.001, 'l2': 0.016, 'auc': 0.965, 'trusted': False}
    {'ridge': 0.001, 'l2': 0.002, 'auc': 0.965, 'trusted': False}

    References
    ----------
    [^1]: Luo, J., Cheng, X. and Zhang, C. Online AUC optimization based on second-order surrogate
        loss.
    [^2]: Xiao, L., 2010. Dual averaging methods for regularized stochastic learning and online
        optimization. Journal of Machine Learning Research, 11, pp.2543-2596.

    """

    def __init__(self, prior: str = "balanced") -> None:
        super().__init__(prior)
        size = self._vectorizer.size
        self._n_steps = 0
        self._next_refresh = 0
        self._scale = 1.0
        self._metrics: FloatArray = np.array(
            [np.eye(size) * _metric_of_zeros(ridge, self._scale) for ridge in _RIDGES]
        )
        # A row a candidate, by metric: the mean of its gradients divided by its l2, and then the
        # same averaged over time. Multiplied by the metric, they are its last and averaged weights.
        self._gradients: FloatArray = np.zeros((2, *_L2.shape, size))
        self._multiplied: FloatArray = np.zeros_like(self._gradients)
        self._recent_positive = _Recent(size)
        self._recent_negative = _Recent(size)
        self._aucs: FloatArray = np.full(_L2.size, 0.5)
        self._judged = 0.0
        self._trusted = 0

    @property
    def candidates(self) -> list[dict[str, typing.Any]]:
        """The candidates, with what they are, their progressive AUC, and which one is trusted."""
        return [
            {
                "ridge": ridge,
                "l2": float(l2),
                "auc": float(auc),
                "trusted": index == self._trusted,
            }
            for index, (ridge, l2, auc) in enumerate(
                zip(np.repeat(_RIDGES, _L2.shape[1]).tolist(), _L2.flat, self._aucs, strict=True)
            )
        ]

    def _weights_of_candidates(self, averaged: bool) -> FloatArray:
        """The last or the averaged weights, a row a candidate."""
        weights: FloatArray = self._multiplied[int(averaged)].reshape(_L2.size, -1)
        return weights

    def _learn(self, x: FloatArray, positive: bool, w: float) -> None:
        own, other, sign = self._positive, self._negative, 1.0
        recent, opposite = self._recent_positive, self._recent_negative
        if not positive:
            own, other, sign = other, own, -1.0
            recent, opposite = opposite, recent
        n_seen = self._n_seen + 1
        w *= min(n_seen / _WARM_UP, 1.0)
        if other.n:
            gradients = self._updated_gradients(x, other, sign, w, n_seen)
            multiplied = gradients @ self._metrics
            flat = multiplied.reshape(-1)
            if not ddot(flat, flat) <= MAX_SQUARED_NORM:
                raise divergence()
            self._judge(x, opposite.vectors, sign, w)
            self._gradients, self._multiplied = gradients, multiplied
            self._n_steps += 1
        recent.add(x)
        own.update(x, w)
        self._n_seen = n_seen
        if other.n:
            if n_seen >= self._next_refresh:
                self._refresh_metrics(n_seen)
            self._trust_the_best()
            if n_seen < self._next_fit:
                self._calibration.midpoint = ddot(self._weights, other.mean) + sign * self._half_gap
            else:
                self._fit_calibration(n_seen)

    def _updated_gradients(
        self, x: FloatArray, other: Moments, sign: float, w: float, n_seen: int
    ) -> FloatArray:
        """The gradients of all candidates after an example, as a new array."""
        last = self._weights_of_candidates(averaged=False)
        size = len(x)
        direction = x - other.mean
        gradients = self._gradients.copy()
        newest, averaged = gradients.reshape(2, -1)
        dscal(1.0 - 1.0 / n_seen, newest)
        for weights, gradient, l2 in zip(last, newest.reshape(-1, size), _L2.flat, strict=True):
            spread_direction = other.cov_dot(weights)
            variance = ddot(weights, spread_direction)
            pull, spread = losses.psi_m_coefficients(
                sign * ddot(weights, direction),
                # Rounding can leave a variance of zero a little below it.
                variance if variance > 0.0 else 0.0,
            )
            step = w / (l2 * n_seen)
            daxpy(direction, gradient, size, sign * step * pull)
            daxpy(spread_direction, gradient, size, -step * spread)
        # Later gradients count more: the weight of the t-th is proportional to t.
        rate = 2.0 / (self._n_steps + 2)
        dscal(1.0 - rate, averaged)
        daxpy(newest, averaged, len(averaged), rate)
        return gradients

    def _judge(self, x: FloatArray, opposite: FloatArray, sign: float, w: float) -> None:
        """Compare the scores of a new example with those of recent ones of the other class."""
        averaged = self._weights_of_candidates(averaged=True)
        scores = averaged.dot(x)[:, np.newaxis]
        differences = scores - averaged.dot(opposite.T)
        # Equal examples have equal scores, whichever way they are rounded.
        differences[np.abs(differences) <= _TIE * np.abs(scores)] = 0.0
        n_in_order = sign * np.add.reduce(np.sign(differences), axis=1)
        self._judged = self._judged * (1.0 - 1.0 / _MEMORY) + w
        self._aucs += (w / self._judged) * (0.5 + 0.5 / len(opposite) * n_in_order - self._aucs)

    def _trust_the_best(self) -> None:
        best = int((self._aucs - _HANDICAPS / max(self._judged, 1.0)).argmax())
        if best != self._trusted:
            self._trusted = best
            # Another candidate's scores want another calibration.
            self._next_fit = 0
        self._weights = self._weights_of_candidates(averaged=True)[best].copy()

    def _separation(self) -> float:
        """The distance of two Gaussian classes that would have the AUC of the trusted candidate."""
        auc = self._aucs[self._trusted]
        auc = (auc * self._judged + 0.5 * _DOUBT) / (self._judged + _DOUBT)
        return float(np.sqrt(2.0) * ndtri(auc))

    def _refresh_metrics(self, n_seen: int) -> None:
        """Invert the covariance of the classes, plus a multiple of the variances."""
        self._next_refresh = n_seen + 1 + n_seen // _REFRESHES
        covariance = self._positive.covariance + self._negative.covariance
        gap = self._positive.mean - self._negative.mean
        spread = covariance + np.outer(gap, gap)
        trace = spread.trace()
        if trace > 0.0:
            # A mean of the variances that features that are always 0 do not change.
            self._scale = max(np.vdot(spread, spread) / trace, _SMALLEST_SCALE)
            variances = np.maximum(covariance.diagonal(), _SMALLEST_PART * self._scale)
            self._metrics = np.array(
                [np.linalg.inv(covariance + np.diag(ridge * variances)) for ridge in _RIDGES]
            )
            self._multiplied = self._gradients @ self._metrics

    def _resize(self, size: int) -> None:
        super()._resize(size)
        old_size = self._gradients.shape[-1]
        self._metrics = resized(self._metrics, len(_RIDGES), size, size)
        for metric, ridge in zip(self._metrics, _RIDGES, strict=True):
            # What the inverse has for features that have been 0 so far.
            new = range(old_size, size)
            metric[new, new] = _metric_of_zeros(ridge, self._scale)
        self._gradients = resized(self._gradients, 2, *_L2.shape, size)
        self._multiplied = resized(self._multiplied, 2, *_L2.shape, size)
        self._recent_positive.resize(size)
        self._recent_negative.resize(size)


class _Recent:
    """The most recent vectors of a class."""

    def __init__(self, size: int) -> None:
        self.n_seen = 0
        self._vectors: FloatArray = np.zeros((_N_RECENT, size))

    @property
    def vectors(self) -> FloatArray:
        """The vectors, a row each, in no particular order."""
        return self._vectors[: self.n_seen]

    def add(self, x: FloatArray) -> None:
        """Put a copy of a vector in the place of the oldest."""
        self._vectors[self.n_seen % _N_RECENT] = x
        self.n_seen += 1

    def resize(self, size: int) -> None:
        self._vectors = resized(self._vectors, _N_RECENT, size)


def _metric_of_zeros(ridge: float, scale: float) -> float:
    """What a metric has on its diagonal for a feature that has been 0 so far."""
    return 1.0 / (ridge * _SMALLEST_PART * scale)
