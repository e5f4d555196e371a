"""Exact area under the ROC curve, full or partial."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from river import base

from river_oauc.metrics.bag import Entries, sorted_entries
from river_oauc.metrics.base import RankingMetric
from river_oauc.metrics.weights import scale_exponent, scaled_weights, weights_above
from river_oauc.parameters import check_share


def exact_auc(positives: npt.ArrayLike, negatives: npt.ArrayLike) -> float:
    """Compute the AUC of the scores of two classes. Ties count one half.

    Parameters
    ----------
    positives, negatives
        The scores of each class, in any order. If a class is empty, the AUC is one half.

    Examples
    --------

    >>> exact_auc([0.35, 0.8], [0.1, 0.4])
    0.75

    """
    return _auc(sorted_entries(positives), sorted_entries(negatives))


class ExactROCAUC(RankingMetric):
    """Exact area under the ROC curve (AUC).

    This is the proportion of (positive, negative) pairs in which the positive example has the
    higher score; ties count one half [^1][^2]. Only the order of the scores matters: they need not
    be probabilities and may be infinite. With importance weights, the weight of a pair is the
    product of the weights of its two examples.

    Use it to compare or to tune models. `metrics.ROCAUC` approximates the curve by ten thresholds
    in [0, 1], which is only accurate if the scores fill that interval. If positives are rare,
    nearly all probabilities are below the second threshold: on a stream with 0.5 % positives, it
    reported 0.554 for a logistic regression whose exact AUC was 0.858. The price of exactness is
    memory, because all scores are stored. Wrap the metric in `utils.Rolling` for endless streams.

    While one of the classes is missing, the value is 0.5, the AUC of a random ranking.
    `metrics.ROCAUC` is 0 then, the AUC of the worst ranking.

    An update takes about half a microsecond and 8 to 9 bytes; once a class has a weight other than
    one, a microsecond and 16 to 17 bytes. `get` sorts the examples since the last `get`, merges
    them with the others, and looks up the scores of the rarer class among those of the other. For
    a million scores, 10 % of them positive, this takes about 30 ms the first time and 10 ms if few
    are new (160 and 30 ms with weights), and memory for one or two copies. The value is cached
    until the next update or revert.

    Without weights the arithmetic is exact and the result is correctly rounded. With weights it is
    exact up to rounding errors of sums.

    A revert undoes an update with the same label, score and weight. It takes one to two
    microseconds, amortised; memory stays below about twice what the remaining examples need, plus
    30 kilobytes. Reverting an example that was never added is a `ValueError`. Since the example is
    not searched for immediately, the error may be raised later: by the next `get`, or by a later
    revert. The unmatched reverts are then discarded, all others are carried out, and the metric can
    be used further.

    Parameters
    ----------
    pos_val
        Value to treat as "positive". It is also the key of the score in predictions that are dicts;
        a dict without that key has score 0.

    Examples
    --------

    >>> from river import metrics
    >>> from river_oauc.metrics import ExactROCAUC

    >>> y_true = [ 0,  0,   1,  1]
    >>> y_pred = [.1, .4, .35, .8]

    >>> metric = metrics.ROCAUC() + ExactROCAUC()

    >>> for yt, yp in zip(y_true, y_pred):
    ...     metric.update(yt, yp)

    >>> metric
    ROCAUC: 87.50%
    ExactROCAUC: 75.00%

    Scores that do not fill the unit interval, but have the same order, change the first value and
    not the second:

    >>> metric = metrics.ROCAUC() + ExactROCAUC()

    >>> for yt, yp in zip(y_true, y_pred):
    ...     metric.update(yt, yp / 100)

    >>> metric
    ROCAUC: 50.00%
    ExactROCAUC: 75.00%

    It works wherever river expects a metric:

    >>> from river import datasets, evaluate, linear_model, preprocessing

    >>> model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    >>> evaluate.progressive_val_score(
    ...     datasets.Phishing(), model, metrics.ROCAUC() + ExactROCAUC()
    ... )
    ROCAUC: 95.07%
    ExactROCAUC: 95.34%

    The AUC over a window:

    >>> from river import utils

    >>> metric = utils.Rolling(ExactROCAUC, window_size=3)

    >>> for yt, yp in zip(y_true, y_pred):
    ...     metric.update(yt, yp)

    >>> metric
    ExactROCAUC: 50.00%

    References
    ----------
    [^1]: Hanley, J.A. and McNeil, B.J., 1982. The meaning and use of the area under a receiver
        operating characteristic (ROC) curve. Radiology, 143(1), pp.29-36.
    [^2]: Fawcett, T., 2006. An introduction to ROC analysis. Pattern Recognition Letters, 27(8),
        pp.861-874.

    """

    def _compute(self, positives: Entries, negatives: Entries) -> float:
        return _auc(positives, negatives)


class PartialROCAUC(RankingMetric):
    """Exact area under the ROC curve up to a false positive rate.

    Use it if only the top of the ranking matters: of a million transactions a day, nobody checks
    more than the first thousand, and the order of the others is irrelevant.

    By default the area is standardised [^1], as in `sklearn.metrics.roc_auc_score(max_fpr=...)`:
    a random ranking, whose area is `max_fpr² / 2`, has the value 0.5, and a perfect one, whose area
    is `max_fpr`, has 1. Ties are interpolated linearly, also at `max_fpr`.

    Updates, reverts, weights and memory are as for `ExactROCAUC`. `get` sorts the new examples and
    looks up the scores of the positives among those of the negatives. While one of the classes is
    missing, the value is that of a random ranking.

    Parameters
    ----------
    max_fpr
        The largest false positive rate, above 0 and at most 1.
    standardized
        Whether to standardise the area.
    pos_val
        Value to treat as "positive", as for `ExactROCAUC`.

    Examples
    --------

    >>> from river import metrics
    >>> from river_oauc.metrics import ExactROCAUC, PartialROCAUC

    One positive has the highest score, and the other one is among the negatives:

    >>> metric = ExactROCAUC() + PartialROCAUC(max_fpr=0.2)

    >>> for i in range(10):
    ...     metric.update(i in (3, 9), i / 10)

    >>> metric
    ExactROCAUC: 68.75%
    PartialROCAUC: 72.22%

    References
    ----------
    [^1]: McClish, D.K., 1989. Analyzing a portion of the ROC curve. Medical Decision Making, 9(3),
        pp.190-195.

    """

    def __init__(
        self,
        max_fpr: float = 0.1,
        standardized: bool = True,
        pos_val: base.typing.ClfTarget = True,
    ) -> None:
        check_share("max_fpr", max_fpr, one_allowed=True)
        super().__init__(pos_val)
        self.max_fpr = max_fpr
        self.standardized = standardized

    def _compute(self, positives: Entries, negatives: Entries) -> float:
        chance = 0.5 * self.max_fpr**2
        area = chance
        if positives.size and negatives.size:
            area = _area(positives, negatives, self.max_fpr)
        if not self.standardized:
            return area
        return 0.5 + 0.5 * (area - chance) / (self.max_fpr - chance)


def _auc(positives: Entries, negatives: Entries) -> float:
    """Compute the proportion of correctly ordered pairs from sorted entries."""
    few, many = sorted((positives, negatives), key=len)
    if not few.size:
        return 0.5

    # In the sum of the two, entries of `many` below a score count twice and ties once.
    left = np.searchsorted(many.real, few.real)
    right = np.searchsorted(many.real, few.real, side="right")

    below: float
    pairs: float
    if np.iscomplexobj(few) or np.iscomplexobj(many):
        weights = scaled_weights(few, scale_exponent(few))
        cumulative = np.concatenate(([0.0], np.cumsum(scaled_weights(many, scale_exponent(many)))))
        pairs = 2.0 * float(weights.sum() * cumulative[-1])
        # Rounding must not make the proportion exceed one.
        below = min(float(weights @ (cumulative[left] + cumulative[right])), pairs)
    else:
        pairs = 2 * few.size * many.size
        below = int(left.sum() + right.sum())
    return (below if few is positives else pairs - below) / pairs


def _area(positives: Entries, negatives: Entries, max_fpr: float) -> float:
    """Compute the area under the ROC curve up to a false positive rate."""
    weights = scaled_weights(positives, scale_exponent(positives))
    exponent = scale_exponent(negatives)
    start, end = weights_above(negatives, positives.real, exponent)
    total = scaled_weights(negatives, exponent).sum()
    limit = max_fpr * total
    # Each positive raises the curve to the right of the false positives above it. Across the
    # negatives that tie with it, the curve rises linearly.
    rising = np.clip(limit, start, end) - start
    ties = end - start
    ramp = np.divide(rising**2, 2.0 * ties, out=np.zeros(ties.size), where=ties > 0.0)
    area = float(weights @ (ramp + np.maximum(limit - end, 0.0)) / (weights.sum() * total))
    # Rounding must not make the area exceed that of a perfect ranking.
    return min(area, max_fpr)
