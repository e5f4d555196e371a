"""Average precision, and precision and recall at k."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from river import base

from river_oauc.metrics.bag import Entries, sorted_entries
from river_oauc.metrics.base import RankingMetric
from river_oauc.metrics.weights import scale_exponent, scaled_weights, weights_above
from river_oauc.parameters import check_count


def average_precision(positives: npt.ArrayLike, negatives: npt.ArrayLike) -> float:
    """Compute the average precision of the scores of two classes. Ties are taken together.

    Parameters
    ----------
    positives, negatives
        The scores of each class, in any order. Without positives, the value is 0.

    Examples
    --------

    >>> average_precision([0.35, 0.8], [0.1, 0.4])
    0.8333...

    """
    return _average_precision(sorted_entries(positives), sorted_entries(negatives))


def precision_at_k(positives: npt.ArrayLike, negatives: npt.ArrayLike, k: int) -> float:
    """Compute the proportion of positives among the k highest scores, like `PrecisionAtK`.

    Parameters
    ----------
    positives, negatives
        The scores of each class, in any order.
    k
        Number of highest scores.

    Examples
    --------

    >>> precision_at_k([0.35, 0.8], [0.1, 0.4], k=3)
    0.6666...

    """
    check_count("k", k)
    return _at_k(sorted_entries(positives), sorted_entries(negatives), k)[0]


class AveragePrecision(RankingMetric):
    """Exact average precision.

    This is the mean, over the positives, of the precision at their score: the area under the
    precision-recall curve, without interpolation [^1]. Ties are taken together. The value equals
    `sklearn.metrics.average_precision_score`.

    Use it beside `ExactROCAUC` if positives are rare and false alarms are expensive: a false alarm
    for every hundredth negative hardly changes the AUC, but with one positive in a thousand only
    one alarm in eleven is right. A random ranking has the proportion of positives as its value, so
    streams with different proportions cannot be compared.

    Updates, reverts, weights and memory are as for `ExactROCAUC`. `get` sorts the new examples and
    looks up the scores of the positives among those of the negatives; it takes as long as for
    `ExactROCAUC` the first time, and twice as long if few are new. Without positives the value is
    0.

    Parameters
    ----------
    pos_val
        Value to treat as "positive", as for `ExactROCAUC`.

    Examples
    --------

    >>> from river_oauc.metrics import AveragePrecision

    >>> metric = AveragePrecision()

    >>> for y_true, y_pred in zip([0, 0, 1, 1], [.1, .4, .35, .8]):
    ...     metric.update(y_true, y_pred)

    >>> metric
    AveragePrecision: 83.33%

    It works wherever river expects a metric:

    >>> from river import datasets, evaluate, linear_model, preprocessing

    >>> model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, AveragePrecision())
    AveragePrecision: 93.66%

    References
    ----------
    [^1]: Davis, J. and Goadrich, M., 2006. The relationship between precision-recall and ROC
        curves. International Conference on Machine Learning, pp.233-240.

    """

    def _compute(self, positives: Entries, negatives: Entries) -> float:
        return _average_precision(positives, negatives)


class _AtK(RankingMetric):
    """Base class of the metrics of the k highest scores."""

    def __init__(self, k: int = 100, pos_val: base.typing.ClfTarget = True) -> None:
        super().__init__(pos_val)
        check_count("k", k)
        self.k = k


class PrecisionAtK(_AtK):
    """Exact proportion of positives among the k highest scores.

    Use it if only k cases can be inspected: if an analyst checks fifty alarms, it is the proportion
    that was worth checking.

    If the k-th score is tied, the value is its expectation over random orders of the tied examples.
    An example of weight w counts as w examples. With fewer than k examples, all of them count;
    without examples the value is 0.

    Updates, reverts, weights and memory are as for `ExactROCAUC`. `get` sorts the new examples and
    then needs only k scores of each class, or all scores if there are weights.

    Parameters
    ----------
    k
        Number of highest scores.
    pos_val
        Value to treat as "positive", as for `ExactROCAUC`.

    Examples
    --------

    >>> from river_oauc.metrics import PrecisionAtK, RecallAtK

    >>> metric = PrecisionAtK(k=3) + RecallAtK(k=3)

    >>> for y_true, y_pred in zip([1, 0, 0, 1, 0, 1], [.9, .8, .3, .3, .3, .1]):
    ...     metric.update(y_true, y_pred)

    The third place is shared by three examples, one of them positive, and counts one third:

    >>> metric
    PrecisionAtK: 44.44%
    RecallAtK: 44.44%

    Over a window:

    >>> from river import utils

    >>> rolling = utils.Rolling(PrecisionAtK, window_size=3, k=1)

    >>> for y_true, y_pred in zip([1, 0, 0, 1, 0, 1], [.9, .8, .3, .4, .3, .1]):
    ...     rolling.update(y_true, y_pred)

    >>> rolling
    PrecisionAtK: 100.00%

    """

    def _compute(self, positives: Entries, negatives: Entries) -> float:
        return _at_k(positives, negatives, self.k)[0]


class RecallAtK(_AtK):
    """Exact proportion of the positives that are among the k highest scores.

    Use it if only k cases can be inspected, to know how many positives are found. It increases with
    k, and is below one if there are more than k positives. Ties, weights and cost are as for
    `PrecisionAtK`. Without positives the value is 0.

    Parameters
    ----------
    k
        Number of highest scores.
    pos_val
        Value to treat as "positive", as for `ExactROCAUC`.

    Examples
    --------

    >>> from river_oauc.metrics import RecallAtK

    >>> metric = RecallAtK(k=2)

    >>> for y_true, y_pred in zip([1, 0, 0, 1, 0], [.9, .8, .3, .2, .1]):
    ...     metric.update(y_true, y_pred)

    >>> metric
    RecallAtK: 50.00%

    """

    def _compute(self, positives: Entries, negatives: Entries) -> float:
        return _at_k(positives, negatives, self.k)[1]


def _average_precision(positives: Entries, negatives: Entries) -> float:
    """Compute the mean over the positives of the precision at their score."""
    if not positives.size:
        return 0.0
    exponent = scale_exponent(positives, negatives)
    scores = positives.real[np.append(True, positives.real[1:] != positives.real[:-1])]
    above, hits = weights_above(positives, scores, exponent)
    alarms = hits + weights_above(negatives, scores, exponent)[1]
    # Weights that are tiny relative to the largest one may underflow to zero.
    precision = np.divide(hits, alarms, out=np.zeros(hits.size), where=alarms > 0.0)
    return _ratio(float((hits - above) @ precision), float(hits[0]))


def _at_k(positives: Entries, negatives: Entries, k: int) -> tuple[float, float]:
    """Compute precision and recall at k."""
    if not positives.size + negatives.size:
        return 0.0, 0.0
    exponent = scale_exponent(positives, negatives)
    with np.errstate(over="ignore"):
        # Infinite if the weights are tiny, which is right: all examples count then.
        wanted = float(np.ldexp(float(k), -exponent))

    # Find the k-th highest score. Without weights it is among the k highest of each class.
    weighted = np.iscomplexobj(positives) or np.iscomplexobj(negatives)
    highest = [entries if weighted else entries[-k:] for entries in (positives, negatives)]
    scores = np.concatenate([entries.real for entries in highest])
    weights = np.concatenate([scaled_weights(entries, exponent) for entries in highest])
    order = np.argsort(scores)[::-1]
    position = int(np.searchsorted(np.cumsum(weights[order]), wanted))
    threshold = scores[order[min(position, order.size - 1)]]

    hits, hits_and_tied = map(float, weights_above(positives, threshold, exponent))
    false, false_and_tied = map(float, weights_above(negatives, threshold, exponent))
    taken = min(wanted, hits_and_tied + false_and_tied)
    tied_hits = hits_and_tied - hits
    tied = tied_hits + false_and_tied - false
    if tied > 0.0:
        # The remaining places go to the tied examples, in proportion.
        hits += max(taken - hits - false, 0.0) * tied_hits / tied
    total = float(scaled_weights(positives, exponent).sum())
    return _ratio(hits, taken), _ratio(hits, total)


def _ratio(part: float, total: float) -> float:
    # Rounding must not make the ratio exceed one.
    return min(part / total, 1.0) if total > 0.0 else 0.0
