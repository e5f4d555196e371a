"""The exact area under the ROC curve of a stream, all of it or its beginning."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from river import base

from river_oauc.metrics.bag import Entries, exponent_of, weights_above, weights_of
from river_oauc.metrics.base import RankingMetric

__all__ = ["ExactROCAUC", "PartialROCAUC", "exact_auc"]


def exact_auc(positives: npt.ArrayLike, negatives: npt.ArrayLike) -> float:
    """The AUC of the scores of two classes, a tie counting one half.

    Parameters
    ----------
    positives, negatives
        The scores of each class, in any order. If one is empty, the AUC is one half.

    Examples
    --------

    >>> exact_auc([0.35, 0.8], [0.1, 0.4])
    0.75

    """
    return _auc(np.sort(np.asarray(positives, float)), np.sort(np.asarray(negatives, float)))


class ExactROCAUC(RankingMetric):
    """Exact area under the ROC curve, over the whole stream.

    This is the share of the (positive, negative) pairs in which the positive example has the
    higher score, a tie counting one half [^1][^2]. Only the order of the scores matters: they need
    not be probabilities, and may be infinite. With importance weights, each pair weighs as much
    as the product of its two examples' weights.

    Use it to compare or to tune models. `metrics.ROCAUC` reads the curve at ten thresholds spread
    over [0, 1] and joins the dots, which is only right if the scores fill that interval. A model
    of rare positives keeps nearly all its probabilities below the second threshold: on a stream
    with 0.5 % positives, a logistic regression read 0.554 there when its exact AUC was 0.858. The
    price of exactness is memory: all scores are kept. Wrap the metric in `utils.Rolling` if the
    stream does not end.

    While one of the classes is missing there are no pairs, nothing is known, and the value is
    0.5, the level of chance. `metrics.ROCAUC` says 0 then, as if the model ranked at its worst.

    An update takes about half a microsecond and stores 8 to 9 bytes; in a class that has seen a
    weight other than one, a microsecond and 16 to 17 bytes. `get` sorts what came since the last
    `get`, merges it into what was sorted before, and looks the scores of the rarer class up in
    those of the other. For a million scores, one in ten positive, that is some 30 ms at first and
    10 ms if few are new (160 and 30 with weights), and room for a copy or two. The value is kept
    until the next update or revert.

    Without weights the arithmetic is exact, and the result the correctly rounded quotient. With
    weights it is right up to the rounding of sums.

    A revert undoes an update of the same label, score and weight. It takes one to two microseconds,
    amortised, and the memory stays below about twice what the remaining examples need, plus some 30
    kilobytes. Reverting what was never added is a `ValueError`. To look for each example at once
    would cost a search, so the error may come later than the mistake: at the next `get`, or at a
    revert that has to clean up or finds fewer examples than reverts. The reverts without an update
    are forgotten then and all others are done, so the metric goes on as if they had not been made.

    Parameters
    ----------
    pos_val
        Value to treat as "positive". If predictions are dicts, it is also the key under which the
        score is found; a dict without that key has score 0.

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

    Scores that rank just as well but do not fill the unit interval change the first value, and
    not the second:

    >>> metric = metrics.ROCAUC() + ExactROCAUC()

    >>> for yt, yp in zip(y_true, y_pred):
    ...     metric.update(yt, yp / 100)

    >>> metric
    ROCAUC: 50.00%
    ExactROCAUC: 75.00%

    It goes wherever river takes a metric:

    >>> from river import datasets, evaluate, linear_model, preprocessing

    >>> model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    >>> evaluate.progressive_val_score(
    ...     datasets.Phishing(), model, metrics.ROCAUC() + ExactROCAUC()
    ... )
    ROCAUC: 95.07%
    ExactROCAUC: 95.34%

    The value over the last examples only:

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
    """Exact area under the ROC curve up to a false-positive rate, over the whole stream.

    Use it where only the head of the ranking will ever be looked at: of a million transactions a
    day, nobody checks those below the first thousand, and what happens there should not count.

    By default the area is standardised [^1]: 1 is a perfect head, 0.5 is chance, as in
    `sklearn.metrics.roc_auc_score(max_fpr=...)`. It is mapped linearly: chance has the area
    `max_fpr² / 2`, perfection has `max_fpr`. Within a tie the curve is a straight line, and is cut
    at `max_fpr` wherever that falls.

    Updates, reverts, weights and memory are those of `ExactROCAUC`. `get` sorts what is new and
    looks the scores of the positives up in those of the negatives. While one of the classes is
    missing the value is that of chance.

    Parameters
    ----------
    max_fpr
        The false-positive rate up to which the curve counts, above 0 and at most 1.
    standardized
        Whether to say 0.5 for chance and 1 for perfection; if not, the value is the mere area.
    pos_val
        Value to treat as "positive", as for `ExactROCAUC`.

    Examples
    --------

    >>> from river import metrics
    >>> from river_oauc.metrics import ExactROCAUC, PartialROCAUC

    The highest score is a positive, and the other positive is lost among the negatives:

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
        if not 0.0 < max_fpr <= 1.0:
            raise ValueError(f"max_fpr must be above 0 and at most 1, but it is {max_fpr!r}")
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
    """The share of the pairs that are in the right order, from sorted entries."""
    few, many = sorted((positives, negatives), key=len)
    if not few.size:
        return 0.5

    # Entries of `many` below a score count twice in these, and those that tie with it once.
    left = np.searchsorted(many.real, few.real)
    right = np.searchsorted(many.real, few.real, side="right")

    below: float
    pairs: float
    if np.iscomplexobj(few) or np.iscomplexobj(many):
        weights = weights_of(few, exponent_of(few))
        cumulated = np.concatenate(([0.0], np.cumsum(weights_of(many, exponent_of(many)))))
        pairs = 2.0 * float(weights.sum() * cumulated[-1])
        # Rounding may let the part exceed the whole.
        below = min(float(weights @ (cumulated[left] + cumulated[right])), pairs)
    else:
        pairs = 2 * few.size * many.size
        below = int(left.sum() + right.sum())
    return (below if few is positives else pairs - below) / pairs


def _area(positives: Entries, negatives: Entries, max_fpr: float) -> float:
    """The area under the ROC curve up to a false-positive rate."""
    weights = weights_of(positives, exponent_of(positives))
    exponent = exponent_of(negatives)
    start, end = weights_above(negatives, positives.real, exponent)
    total = weights_of(negatives, exponent).sum()
    limit = max_fpr * total
    # A positive example lifts the curve from the false positives above it on. While those that tie
    # with it come in, the curve rises evenly.
    rising = np.clip(limit, start, end) - start
    ties = end - start
    ramp = np.divide(rising**2, 2.0 * ties, out=np.zeros(ties.size), where=ties > 0.0)
    area = float(weights @ (ramp + np.maximum(limit - end, 0.0)) / (weights.sum() * total))
    # Rounding may let the part exceed the whole.
    return min(area, max_fpr)
