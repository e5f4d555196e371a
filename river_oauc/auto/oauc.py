"""The learner without knobs."""

from __future__ import annotations

import typing

import numpy as np
from scipy.linalg.blas import daxpy, ddot, dscal
from scipy.special import ndtri

from river_oauc import losses
from river_oauc.inputs.arrays import FloatArray, resized
from river_oauc.linear.classifier import MomentClassifier
from river_oauc.stats.moments import ClassMoments
from river_oauc.stats.samples import Recent
from river_oauc.stats.standardizer import Standardizer

__all__ = ["AutoOAUCM"]

# The candidates: two strengths of the regulariser in each of two metrics, the steadier first.
_RIDGES = (3.0, 1e-3)
_L2 = np.array([[2.0, 2**-3], [2**-4, 2**-9]])
# As floats of Python, which are faster one by one.
_L2_OF_CANDIDATES: list[float] = _L2.ravel().tolist()

# A candidate is judged on about so many examples, each against some recent ones of the other class.
_MEMORY = 2000
_N_RECENT = 32
# A product with ones is a faster sum.
_ONES = np.ones(_N_RECENT)

# A candidate must be ahead of the next steadier one by one example ranked right.
_HANDICAPS = np.arange(_L2.size, dtype=float)

# Before anything is judged, the AUC is one half; that counts as much as so many examples.
_DOUBT = 50.0

# Scores are equal if they differ by no more than what rounding leaves of so many times as much: by
# one part in a billion.
_BLUR = 2.0**23

# The metrics are brought up to date whenever the stream has grown by one part in so many.
_REFRESHES = 20

# No feature counts as varying less than this within the two classes together, all examples of one
# class having a variance of 1.
_SMALLEST_VARIANCE = 0.2


class AutoOAUCM(MomentClassifier):
    """Online AUC maximisation without anything to set.

    The one to put behind a scaler and forget. It learns four linear scores side by side on the loss
    of `OAUCM`, and predicts with the one that has ranked best so far.

    - Features are measured in their own recent deviations, so that a scaler in front may go on
      changing its ranges, and outliers do little.
    - All candidates share the means and covariances of the two classes, so that four cost little
      more than one. They are two strengths of the regulariser in each of two metrics.
    - A metric multiplies the gradients by the inverse of the classes' covariance, to which a
      multiple of the variances is added. With a small multiple, features that are correlated are
      learned as fast as all others; with a large one, few examples do for many features.
    - A candidate's weights are the metric times the mean of its gradients, divided by its l2. They
      are averaged over time. Everywhere, the t-th example counts in proportion to t.
    - A new example is scored by all candidates before it is learned, and its scores are compared
      with those of the 32 most recent examples of the other class. The share of pairs in the right
      order, over the last 2000 examples or so, is the candidate's AUC. The best one is trusted, and
      its AUC says how far from one half probabilities may go.

    The rule was fixed on nine of the 18 benchmark sets: german, heart, ionosphere, letter, segment,
    shuttle, splice, svmguide3, vehicle. It is the third version of it; the other nine were looked
    at after each version, and none of its figures was chosen by them.

    A step costs O(p²) time for p features, some seven times one of `OAUCM`, and O(p³) whenever the
    stream has grown by a twentieth; predicting costs the same as there. Memory is 4p² + O(p)
    doubles. Its weights cannot diverge: they are bounded whatever the features and their
    importance. Its `moments` are those of the standardised features.

    Parameters
    ----------
    prior
        What a probability of one half means. `"balanced"`: as likely from either class, were
        they equally frequent. `"empirical"`: as frequent as the classes have been.
    max_features
        Number of features beyond which an example with a new one is refused, before any memory is
        asked for. 5,000 features take 800 MB, and 1.8 GB for the moments in which the metrics are
        brought up to date.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_oauc import AutoOAUCM
    >>> from river_oauc.metrics import ExactROCAUC

    >>> model = preprocessing.MinMaxScaler() | AutoOAUCM()
    >>> evaluate.progressive_val_score(
    ...     datasets.Phishing(), model, metrics.ROCAUC() + ExactROCAUC()
    ... )
    ROCAUC: 95.15%
    ExactROCAUC: 95.65%

    Which candidate does it trust?

    >>> for candidate in model["AutoOAUCM"].candidates:
    ...     print(candidate)
    {'ridge': 3.0, 'l2': 2.0, 'auc': 0.961, 'trusted': False}
    {'ridge': 3.0, 'l2': 0.125, 'auc': 0.963, 'trusted': True}
    {'ridge': 0.001, 'l2': 0.062, 'auc': 0.964, 'trusted': False}
    {'ridge': 0.001, 'l2': 0.002, 'auc': 0.963, 'trusted': False}

    References
    ----------
    [^1]: Luo, J., Cheng, X. and Zhang, C. Online AUC optimization based on second-order surrogate
        loss.
    [^2]: Xiao, L., 2010. Dual averaging methods for regularized stochastic learning and online
        optimization. Journal of Machine Learning Research, 11, pp.2543-2596.

    """

    def __init__(self, prior: str = "balanced", max_features: int = 5_000) -> None:
        super().__init__(prior, max_features)
        size = self._vectorizer.size
        self._standardizer = Standardizer(size)
        self._n_steps = 0
        self._next_refresh = 0
        self._metrics: FloatArray = np.array(
            [np.eye(size) * _metric_of_zeros(ridge) for ridge in _RIDGES]
        )
        # A row a candidate, by metric: the mean of its gradients divided by its l2, and then the
        # same averaged over time. Multiplied by the metric, they are its last and averaged weights,
        # which have a row a candidate.
        self._gradients: FloatArray = np.zeros((2, *_L2.shape, size))
        self._candidates: FloatArray = np.zeros((2, _L2.size, size))
        self._recent_positive = Recent(_N_RECENT, size)
        self._recent_negative = Recent(_N_RECENT, size)
        # By how much the AUC of each candidate is above one half.
        self._leads: FloatArray = np.zeros(_L2.size)
        self._judged = 0.0
        self._trusted = 0

    @property
    def candidates(self) -> list[dict[str, typing.Any]]:
        """The candidates, with what they are, their progressive AUC, and which one is trusted."""
        return [
            {
                "ridge": ridge,
                "l2": l2,
                "auc": 0.5 + lead,
                "trusted": index == self._trusted,
            }
            for index, (ridge, l2, lead) in enumerate(
                zip(
                    np.repeat(_RIDGES, _L2.shape[1]).tolist(),
                    _L2_OF_CANDIDATES,
                    self._leads.tolist(),
                    strict=True,
                )
            )
        ]

    def _n_doubles(self, n_features: int) -> int:
        return super()._n_doubles(n_features) + len(_RIDGES) * n_features**2

    def _multiply(self) -> None:
        """Find the weights of the candidates."""
        self._candidates = (self._gradients @ self._metrics).reshape(self._candidates.shape)

    def _learn(self, x: FloatArray, positive: bool, w: float) -> None:
        own, other, sign = self._positive, self._negative, 1.0
        recent, opposite = self._recent_positive, self._recent_negative
        if not positive:
            own, other, sign = other, own, -1.0
            recent, opposite = opposite, recent
        self._n_seen = n_seen = self._n_seen + 1
        z = self._standardizer.update(x)
        # Later examples count more: a scaler in front is still learning, and so are the units.
        weight = w * n_seen
        if other.n:
            self._judge(z, opposite.vectors, sign, w)
            self._step(z, other, sign, weight / (own.n + other.n + weight))
        recent.add(z)
        own.update(z, weight)
        if other.n:
            if n_seen >= self._next_refresh:
                self._refresh_metrics(n_seen)
            self._trust_the_best(n_seen, other, sign)

    def _step(self, z: FloatArray, other: ClassMoments, sign: float, rate: float) -> None:
        """Take the gradient at an example into the means of all candidates."""
        size = len(z)
        direction = z - other.mean
        gradients = self._gradients.reshape(2, -1)
        newest, averaged = gradients[0], gradients[1]
        dscal(1.0 - rate, newest)
        for weights, gradient, l2 in zip(
            self._candidates[0], newest.reshape(-1, size), _L2_OF_CANDIDATES, strict=True
        ):
            spread_direction = other.cov_dot(weights)
            variance = ddot(weights, spread_direction)
            pull, spread = losses.psi_m_coefficients(
                sign * ddot(weights, direction),
                # Rounding can leave a variance of zero a little below it.
                variance if variance > 0.0 else 0.0,
            )
            step = rate / l2
            daxpy(direction, gradient, size, sign * step * pull)
            daxpy(spread_direction, gradient, size, -step * spread)
        # Later gradients count more here, too: the t-th in proportion to t.
        self._n_steps += 1
        rate = 2.0 / (self._n_steps + 1)
        dscal(1.0 - rate, averaged)
        daxpy(newest, averaged, len(averaged), rate)
        self._multiply()

    def _judge(self, z: FloatArray, opposite: FloatArray, sign: float, w: float) -> None:
        """Compare the scores of a new example with those of recent ones of the other class."""
        averaged = self._candidates[1]
        scores = averaged.dot(z)
        differences = scores[:, np.newaxis] - averaged.dot(opposite.T)
        # Equal examples have equal scores, whichever way they were rounded: beside a number that is
        # so much larger, a difference in the last digits vanishes.
        large = np.abs(scores)
        dscal(_BLUR, large)
        differences += large[:, np.newaxis]
        differences -= large[:, np.newaxis]
        n_in_order = np.sign(differences).dot(_ONES[: len(opposite)])
        self._judged = self._judged * (1.0 - 1.0 / _MEMORY) + w
        rate = w / self._judged
        dscal(1.0 - rate, self._leads)
        daxpy(n_in_order, self._leads, _L2.size, sign * rate * 0.5 / len(opposite))

    def _trust_the_best(self, n_seen: int, other: ClassMoments, sign: float) -> None:
        """Put the weights of the best candidate in place, in the units of the features."""
        handicapped = self._leads.copy()
        daxpy(_HANDICAPS, handicapped, _L2.size, -1.0 / max(self._judged, 1.0))
        best = int(handicapped.argmax())
        if best != self._trusted:
            self._trusted = best
            # Another candidate's scores want another calibration.
            self._next_fit = 0
        weights = self._candidates[1, best]
        self._weights = weights * self._standardizer.factors
        if n_seen < self._next_fit:
            self._calibration.midpoint = ddot(weights, other.mean) + sign * self._half_gap
        else:
            self._fit_calibration(n_seen, weights)
        # The moments are those of standardised features, whose origin is the mean.
        self._calibration.midpoint += ddot(self._weights, self._standardizer.mean)

    def _separation(self) -> float:
        """The distance of two Gaussian classes that would have the AUC of the trusted candidate."""
        auc = 0.5 + self._leads[self._trusted] * self._judged / (self._judged + _DOUBT)
        return float(np.sqrt(2.0) * ndtri(auc))

    def _refresh_metrics(self, n_seen: int) -> None:
        """Invert the covariance of the classes, plus a multiple of the variances."""
        self._next_refresh = n_seen + 1 + n_seen // _REFRESHES
        covariance = self._positive.covariance + self._negative.covariance
        variances = np.maximum(covariance.diagonal(), _SMALLEST_VARIANCE)
        self._metrics = np.array(
            [np.linalg.inv(covariance + np.diag(ridge * variances)) for ridge in _RIDGES]
        )
        self._multiply()

    def _resize(self, size: int) -> None:
        super()._resize(size)
        self._standardizer.resize(size)
        old_size = self._gradients.shape[-1]
        self._metrics = resized(self._metrics, len(_RIDGES), size, size)
        for metric, ridge in zip(self._metrics, _RIDGES, strict=True):
            # What the inverse has for features that have been 0 so far.
            new = range(old_size, size)
            metric[new, new] = _metric_of_zeros(ridge)
        self._gradients = resized(self._gradients, 2, *_L2.shape, size)
        self._candidates = resized(self._candidates, 2, _L2.size, size)
        self._recent_positive.resize(size)
        self._recent_negative.resize(size)


def _metric_of_zeros(ridge: float) -> float:
    """What a metric has on its diagonal for a feature that has been 0 so far."""
    return 1.0 / (ridge * _SMALLEST_VARIANCE)
