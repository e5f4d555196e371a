"""The exact area under the ROC curve of a stream."""

from __future__ import annotations

import math
import numbers
from array import array
from typing import Any

import numpy as np
import numpy.typing as npt
from river import base, metrics

__all__ = ["ExactROCAUC", "exact_auc"]

# Doubles of reverted examples that a class may hold whatever its size: to cancel them takes tens
# of microseconds at least, which a small window must not pay at every other step.
_MIN_BACKLOG = 1024

# One number per example: its score as float64 where all weights are one; where not, a complex128
# with the score as real and the weight as imaginary part. numpy orders complex numbers by the
# real, then by the imaginary part, so the same lines sort, search and delete either kind.
_Entries = npt.NDArray[Any]


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


class ExactROCAUC(metrics.base.BinaryMetric):
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

    def __init__(self, pos_val: base.typing.ClfTarget = True) -> None:
        self.pos_val = pos_val
        self._positives = _ScoreBag("positive")
        self._negatives = _ScoreBag("negative")
        self._value: float | None = None

    @property
    def requires_labels(self) -> bool:
        return False

    def works_with(self, model: base.Estimator) -> bool:
        return super().works_with(model) or isinstance(
            model, base.AnomalyDetector | base.AnomalyFilter
        )

    def update(self, y_true: object, y_pred: float | dict[Any, float], w: float = 1.0) -> None:
        """Add an example.

        Parameters
        ----------
        y_true
            The label; whatever does not equal `pos_val` is negative.
        y_pred
            The score, or a dict with the score under the key `pos_val`.
        w
            The importance weight, finite and at least 0. An example of weight 0 is as none.

        """
        score, w = self._checked(y_pred, w)
        if w:
            self._bag(y_true).add(score, w)
            self._value = None

    def revert(self, y_true: object, y_pred: float | dict[Any, float], w: float = 1.0) -> None:
        """Take an example back that was added with the same label, score and weight."""
        score, w = self._checked(y_pred, w)
        if w:
            self._bag(y_true).remove(score, w)
            self._value = None

    def get(self) -> float:
        """The AUC of the examples seen so far, 0.5 while one of the classes is missing."""
        if self._value is None:
            self._value = _auc(self._positives.settle(), self._negatives.settle())
        return self._value

    def _bag(self, y_true: object) -> _ScoreBag:
        return self._positives if y_true == self.pos_val else self._negatives

    def _checked(self, y_pred: float | dict[Any, float], w: float) -> tuple[float, float]:
        """Score and weight, or a `ValueError` that says what is wrong with them."""
        score = y_pred.get(self.pos_val, 0.0) if isinstance(y_pred, dict) else y_pred
        if not isinstance(score, float):
            score = _as_float(score, "score")
        if score != score:
            raise ValueError("the score is NaN, which has no place in a ranking")
        if w != 1.0:
            w = _as_float(w, "weight")
            if not 0.0 <= w < math.inf:
                raise ValueError(f"the weight must be finite and at least 0, but it is {w}")
        return score, w


class _ScoreBag:
    """The examples of one class: a multiset of scores with their weights.

    Adding and removing append to flat arrays of doubles; the work is left to `settle`.

    """

    __slots__ = ("name", "ranked", "recent", "reverted", "weighted")

    def __init__(self, name: str) -> None:
        self.name = name
        self.ranked: _Entries = np.empty(0)  # sorted, with nothing left to cancel
        self.recent = array("d")  # added since
        self.reverted = array("d")  # removed since, to be cancelled against the two others
        self.weighted = False  # whether an example is a (score, weight) pair or a mere score

    def add(self, score: float, w: float) -> None:
        if w != 1.0 and not self.weighted:
            self._store_weights()
        if self.weighted:
            # One call for both, lest an interrupt leave half an example behind.
            self.recent.extend((score, w))
        else:
            self.recent.append(score)

    def remove(self, score: float, w: float) -> None:
        if w != 1.0 and not self.weighted:
            raise ValueError(f"cannot revert {self._describe(score, w)}, which was never added")
        if self.weighted:
            self.reverted.extend((score, w))
        else:
            self.reverted.append(score)
        # Both count doubles, not examples.
        backlog = len(self.reverted)
        remaining = self.ranked.nbytes // 8 + len(self.recent) - backlog
        if remaining < 0 or backlog > max(remaining // 2, _MIN_BACKLOG):
            self.settle()

    def settle(self) -> _Entries:
        """Cancel what was reverted; returns the other examples in sorted order."""
        if self.recent:
            # Timsort merges two sorted runs in linear time, but takes many times as long as
            # numpy's default sort for a random one; so each does what it is good at.
            recent = self._entries(self.recent)
            recent.sort()
            merged = np.concatenate((self.ranked, recent))
            merged.sort(kind="stable")
            self.ranked, self.recent = merged, array("d")
        if self.reverted:
            reverted = self._entries(self.reverted)
            reverted.sort()
            remaining, unmatched = _cancel(self.ranked, reverted)
            self.ranked, self.reverted = remaining, array("d")
            self._refuse(unmatched)
        return self.ranked

    def _entries(self, doubles: array[float]) -> _Entries:
        # A copy: an array cannot grow while numpy looks at its memory, and after an interrupt a
        # traceback may keep the look for long.
        return np.array(doubles).view(np.complex128 if self.weighted else np.float64)

    def _store_weights(self) -> None:
        """Give every example the weight of one that it has had all along."""
        ranked = self.ranked + 1j
        recent = array("d", (self._entries(self.recent) + 1j).tobytes())
        reverted = array("d", (self._entries(self.reverted) + 1j).tobytes())
        self.ranked, self.recent, self.reverted, self.weighted = ranked, recent, reverted, True

    def _refuse(self, reverted: _Entries) -> None:
        """Raise if there is anything that was reverted and never added."""
        if reverted.size:
            first = reverted[0]
            example = self._describe(float(first.real), float(first.imag) if self.weighted else 1.0)
            others = f", nor were {reverted.size - 1} others" if reverted.size > 1 else ""
            raise ValueError(f"cannot revert {example}, which was never added{others}")

    def _describe(self, score: float, w: float) -> str:
        return f"a {self.name} example of score {score} and weight {w}"


def _as_float(value: object, name: str) -> float:
    if not isinstance(value, (float, numbers.Real, np.bool_)):
        raise ValueError(f"the {name} must be a real number, but it is {value!r}")
    return float(value)


def _cancel(entries: _Entries, reverted: _Entries) -> tuple[_Entries, _Entries]:
    """The multiset difference of two sorted arrays, and the reverted without a match."""
    # The k-th of several equal reverts takes the k-th of the equal entries.
    nth = np.arange(reverted.size) - np.searchsorted(reverted, reverted)
    place = np.searchsorted(entries, reverted) + nth
    matched = place < np.searchsorted(entries, reverted, side="right")
    return np.delete(entries, place[matched]), reverted[~matched]


def _auc(positives: _Entries, negatives: _Entries) -> float:
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
        weights = _weights(few)
        cumulated = np.concatenate(([0.0], np.cumsum(_weights(many))))
        pairs = 2.0 * float(weights.sum() * cumulated[-1])
        # Rounding may let the part exceed the whole.
        below = min(float(weights @ (cumulated[left] + cumulated[right])), pairs)
    else:
        pairs = 2 * few.size * many.size
        below = int(left.sum() + right.sum())
    return (below if few is positives else pairs - below) / pairs


def _weights(entries: _Entries) -> npt.NDArray[np.float64]:
    """The weights of one class, up to a common factor that keeps their products finite."""
    if not np.iscomplexobj(entries):
        return np.ones(entries.size)
    # A power of two, so that whole numbers are still summed without any rounding.
    exponent = math.frexp(float(entries.imag.max()))[1]
    weights: npt.NDArray[np.float64] = np.ldexp(entries.imag, -exponent)
    return weights
