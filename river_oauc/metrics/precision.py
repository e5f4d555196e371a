"""What the head of a ranking is worth: average precision, and precision and recall at k."""

from __future__ import annotations

import numbers
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from river import base

from river_oauc.metrics.bag import Entries, exponent_of, weights_above, weights_of
from river_oauc.metrics.base import RankingMetric

__all__ = [
    "AveragePrecision",
    "PrecisionAtK",
    "RecallAtK",
    "average_precision",
    "precision_at_k",
]


def average_precision(positives: npt.ArrayLike, negatives: npt.ArrayLike) -> float:
    """The average precision of the scores of two classes, those of a tie taken together.

    Parameters
    ----------
    positives, negatives
        The scores of each class, in any order. Without positives, the value is 0.

    Examples
    --------

    >>> average_precision([0.35, 0.8], [0.1, 0.4])
    0.8333...

    """
    return _average_precision(_sorted(positives), _sorted(negatives))


def precision_at_k(positives: npt.ArrayLike, negatives: npt.ArrayLike, k: int) -> float:
    """The share of positives among the k highest scores, as `PrecisionAtK` has it.

    Parameters
    ----------
    positives, negatives
        The scores of each class, in any order.
    k
        How many of the highest to look at.

    Examples
    --------

    >>> precision_at_k([0.35, 0.8], [0.1, 0.4], k=3)
    0.6666...

    """
    return _head(_sorted(positives), _sorted(negatives), _checked(k)).precision


class AveragePrecision(RankingMetric):
    """Exact average precision, over the whole stream.

    Going down the ranking, this is the mean over the positive examples of the precision down to
    each: the area under the precision-recall curve, without interpolation [^1]. Examples that tie
    are taken together. It is the same as `sklearn.metrics.average_precision_score`.

    Use it beside `ExactROCAUC` where positives are rare and their alarms cost something: one false
    alarm per hundred negatives hardly moves the AUC, and with one positive in a thousand it leaves
    one alarm in eleven that is right. Chance gives the share of positives, and not one half: values
    of streams with different shares do not compare.

    Updates, reverts, weights and memory are those of `ExactROCAUC`. `get` sorts what is new and
    looks the scores of the positives up in those of the negatives: it takes as long as there at
    first, and twice as long if few are new. Without positives the value is 0.

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

    It goes wherever river takes a metric, and over the last examples only with `utils.Rolling`:

    >>> from river import datasets, evaluate, linear_model, preprocessing, utils

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
    """A metric of the k highest scores."""

    def __init__(self, k: int = 100, pos_val: base.typing.ClfTarget = True) -> None:
        super().__init__(pos_val)
        self.k = _checked(k)


class PrecisionAtK(_AtK):
    """Exact share of positives among the k highest scores of the stream.

    Use it where only so many cases can be looked at: if an analyst checks fifty alarms, this is how
    many of them are worth it.

    Where the k-th place is within a tie, the value is what is to be expected if the tied come in
    random order: so many of them as there is room for, each as positive as they are on average. An
    example of weight w counts as w examples. While there are fewer than k, all of them count; 0 if
    there are none.

    Updates, reverts, weights and memory are those of `ExactROCAUC`. `get` sorts what is new, and
    then looks at k scores of each class only, or at all if there are weights.

    Parameters
    ----------
    k
        How many of the highest scores to look at.
    pos_val
        Value to treat as "positive", as for `ExactROCAUC`.

    Examples
    --------

    >>> from river_oauc.metrics import PrecisionAtK, RecallAtK

    >>> metric = PrecisionAtK(k=3) + RecallAtK(k=3)

    >>> for y_true, y_pred in zip([1, 0, 0, 1, 0, 1], [.9, .8, .3, .3, .3, .1]):
    ...     metric.update(y_true, y_pred)

    One of the three that tie at 0.3 is third, and it is positive with probability one third:

    >>> metric
    PrecisionAtK: 44.44%
    RecallAtK: 44.44%

    Over the last examples only:

    >>> from river import utils

    >>> rolling = utils.Rolling(PrecisionAtK, window_size=3, k=1)

    >>> for y_true, y_pred in zip([1, 0, 0, 1, 0, 1], [.9, .8, .3, .4, .3, .1]):
    ...     rolling.update(y_true, y_pred)

    >>> rolling
    PrecisionAtK: 100.00%

    """

    def _compute(self, positives: Entries, negatives: Entries) -> float:
        return _head(positives, negatives, self.k).precision


class RecallAtK(_AtK):
    """Exact share of all positives that are among the k highest scores of the stream.

    Use it where only so many cases can be looked at, to know how many slip through. It grows with
    k, and stays below one if there are more than k positives. Ties, weights and cost are those of
    `PrecisionAtK`; without positives the value is 0.

    Parameters
    ----------
    k
        How many of the highest scores to look at.
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
        return _head(positives, negatives, self.k).recall


def _checked(k: int) -> int:
    if not isinstance(k, numbers.Integral) or k < 1:
        raise ValueError(f"k must be a whole number from 1 on, but it is {k!r}")
    return k


def _sorted(scores: npt.ArrayLike) -> Entries:
    return np.sort(np.asarray(scores, float))


def _average_precision(positives: Entries, negatives: Entries) -> float:
    """The mean over the positives of the precision down to their score."""
    if not positives.size:
        return 0.0
    exponent = exponent_of(positives, negatives)
    scores = positives.real[np.append(True, positives.real[1:] != positives.real[:-1])]
    above, hits = weights_above(positives, scores, exponent)
    alarms = hits + weights_above(negatives, scores, exponent)[1]
    # A weight may be too small beside the largest one to be seen at all.
    precision = np.divide(hits, alarms, out=np.zeros(hits.size), where=alarms > 0.0)
    return _share(float((hits - above) @ precision), float(hits[0]))


class _Head(NamedTuple):
    precision: float
    recall: float


def _head(positives: Entries, negatives: Entries, k: int) -> _Head:
    """Precision and recall of the k highest."""
    if not positives.size + negatives.size:
        return _Head(0.0, 0.0)
    exponent = exponent_of(positives, negatives)
    with np.errstate(over="ignore"):
        # More than there are, if the weights are so small that this is infinite.
        wanted = float(np.ldexp(float(k), -exponent))

    # The score at the k-th place. Without weights it is among the k highest of each class.
    weighted = np.iscomplexobj(positives) or np.iscomplexobj(negatives)
    highest = [entries if weighted else entries[-k:] for entries in (positives, negatives)]
    scores = np.concatenate([entries.real for entries in highest])
    weights = np.concatenate([weights_of(entries, exponent) for entries in highest])
    order = np.argsort(scores)[::-1]
    place = int(np.searchsorted(np.cumsum(weights[order]), wanted))
    threshold = scores[order[min(place, order.size - 1)]]

    hits, hits_and_tied = map(float, weights_above(positives, threshold, exponent))
    false, false_and_tied = map(float, weights_above(negatives, threshold, exponent))
    taken = min(wanted, hits_and_tied + false_and_tied)
    tied_hits = hits_and_tied - hits
    tied = tied_hits + false_and_tied - false
    if tied > 0.0:
        # As many of the tied as there is room for, each as positive as they are on average.
        hits += max(taken - hits - false, 0.0) * tied_hits / tied
    total = float(weights_of(positives, exponent).sum())
    # Rounding may let the part exceed the whole.
    return _Head(_share(hits, taken), _share(hits, total))


def _share(part: float, whole: float) -> float:
    return min(part / whole, 1.0) if whole > 0.0 else 0.0
