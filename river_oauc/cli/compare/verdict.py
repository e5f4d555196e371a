"""How well learners rank a stream, and which differences are significant."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from river_oauc.cli.compare.runs import Run
from river_oauc.metrics import average_precision, exact_auc, precision_at_k

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# A lead is significant if the bootstrap interval of this confidence for the difference of two AUCs
# is above 0.
CONFIDENCE = 0.99
# Number of blocks and of draws of the block bootstrap. Neighbouring examples, which may depend on
# each other, are in the same block.
BLOCKS = 200
DRAWS = 2_000
# With fewer examples of a class than this, no difference counts as significant.
FEW = 20

# Maximum number of windows, and mean number of examples of the smaller class in a window.
MAX_WINDOWS = 10
IN_A_WINDOW = 10


class Standing:
    """How well a learner ranks the beginning of a stream.

    Parameters
    ----------
    runs
        The runs of the learner that have come so far, one per preparation. The one with the highest
        AUC counts.
    labels
        Which examples are positive.

    Attributes
    ----------
    run
        The run with the highest AUC.
    scores
        Its scores.
    auc
        Its exact AUC, a tie counting one half; NaN if a class is missing.
    in_windows
        Its AUC in each of the `windows`.

    """

    def __init__(self, runs: Sequence[Run], labels: BoolArray) -> None:
        n = len(labels)
        self.run = max(runs, key=lambda run: _auc(np.array(run.scores[:n]), labels))
        self.name = self.run.contender.name
        self.scores: FloatArray = np.array(self.run.scores[:n])
        self.labels = labels
        self.auc = _auc(self.scores, labels)
        self.in_windows = [_auc(self.scores[window], labels[window]) for window in windows(labels)]

    @property
    def mean_in_windows(self) -> float:
        """The mean AUC over the windows that have both classes."""
        known = [auc for auc in self.in_windows if not math.isnan(auc)]
        return sum(known) / len(known) if known else math.nan

    @property
    def average_precision(self) -> float:
        """The average precision."""
        return average_precision(self.scores[self.labels], self.scores[~self.labels])

    def precision_at(self, k: int) -> float:
        """Return the precision among the k highest scores, ties counting in part."""
        return precision_at_k(self.scores[self.labels], self.scores[~self.labels], k)

    @functools.cached_property
    def bootstrap_aucs(self) -> FloatArray:
        """The AUC over each bootstrap sample of blocks, the same samples for all learners."""
        return _bootstrap_aucs(self.scores, self.labels)


def standings(labels: BoolArray, runs: Sequence[Run]) -> tuple[list[Standing], list[Standing]]:
    """Return learners with the highest AUC first, and apart those that did not see all rows.

    Those stand as far as they got. Runs that failed do not count.

    Parameters
    ----------
    labels
        Which examples of the stream are positive.
    runs
        All runs of all learners.

    """
    by_name: dict[str, list[Run]] = {}
    for run in runs:
        if run.error is None:
            by_name.setdefault(run.contender.name, []).append(run)
    ranked: list[Standing] = []
    unranked: list[Standing] = []
    for own_runs in by_name.values():
        n = max(len(run.scores) for run in own_runs)
        found = Standing([run for run in own_runs if len(run.scores) == n], labels[:n])
        (ranked if n == len(labels) else unranked).append(found)
    return sorted(ranked, key=lambda each: each.auc, reverse=True), unranked


def ahead_of(best: Standing, unranked: Sequence[Standing]) -> list[Standing]:
    """Return the learners that lead the best one on the rows that they got through.

    Unless their AUC is higher than that over all rows, their lead must be significant: the first
    rows, before much has been learned, say little.
    """
    found = []
    for each in unranked:
        same = Standing([best.run], each.labels)
        if each.auc > same.auc and (
            each.auc > best.auc or len(not_worse_than_the_best([each, same])) == 1
        ):
            found.append(each)
    return found


def windows(labels: BoolArray) -> list[slice]:
    """Cut a stream into windows of equal length.

    Examples
    --------
    >>> windows(np.arange(1_000) % 25 == 0)
    [slice(0, 250, None), slice(250, 500, None), slice(500, 750, None), slice(750, 1000, None)]

    """
    n_windows = min(max(_n_of_smaller_class(labels) // IN_A_WINDOW, 1), MAX_WINDOWS)
    return _cut(len(labels), n_windows)


def lead(best: Standing, other: Standing) -> tuple[float, float]:
    """Return a paired block bootstrap interval for the difference of two AUCs."""
    difference = best.bootstrap_aucs - other.bootstrap_aucs
    tail = 0.5 * (1.0 - CONFIDENCE)
    low, high = np.nanquantile(difference, [tail, 1.0 - tail])
    return float(low), float(high)


def not_worse_than_the_best(standings: Sequence[Standing]) -> list[Standing]:
    """Return the best learner and those that are not significantly worse."""
    best, *others = standings
    few = _n_of_smaller_class(best.labels) < FEW
    return [best, *(other for other in others if few or lead(best, other)[0] <= 0.0)]


def _bootstrap_aucs(scores: FloatArray, labels: BoolArray) -> FloatArray:
    """Return the AUC over samples of blocks drawn with replacement and a fixed seed."""
    positives_are_rare = bool(2 * labels.sum() <= len(labels))
    is_rare = labels == positives_are_rare
    blocks = _cut(len(labels), min(BLOCKS, len(labels)))
    n_blocks = len(blocks)
    block_of = np.repeat(np.arange(n_blocks), [block.stop - block.start for block in blocks])

    # wins[a, b] counts the pairs of a rare example in block a that scores above a common example in
    # block b. Searching is many times as fast with sorted scores.
    wins = np.empty((n_blocks, n_blocks))
    order = np.argsort(scores[is_rare])
    sorted_scores, their_blocks = scores[is_rare][order], block_of[is_rare][order]
    for b, block in enumerate(blocks):
        common = np.sort(scores[block][~is_rare[block]])
        below = np.searchsorted(common, sorted_scores)
        below += np.searchsorted(common, sorted_scores, "right")
        wins[:, b] = np.bincount(their_blocks, 0.5 * below, minlength=n_blocks)
    n_rare = np.bincount(block_of[is_rare], minlength=n_blocks)
    n_common = np.bincount(block_of[~is_rare], minlength=n_blocks)

    times = np.random.default_rng(0).multinomial(n_blocks, np.full(n_blocks, 1 / n_blocks), DRAWS)
    pairs = (times @ n_rare) * (times @ n_common)
    with np.errstate(invalid="ignore"):
        # NaN if no example of a class was drawn.
        auc: FloatArray = ((times @ wins) * times).sum(axis=1) / pairs
    return auc if positives_are_rare else 1.0 - auc


def _n_of_smaller_class(labels: BoolArray) -> int:
    return int(min(labels.sum(), (~labels).sum()))


def _cut(n: int, n_parts: int) -> list[slice]:
    edges = [n * part // n_parts for part in range(n_parts + 1)]
    return [slice(start, end) for start, end in zip(edges, edges[1:], strict=False)]


def _auc(scores: FloatArray, labels: BoolArray) -> float:
    if labels.all() or not labels.any():
        return math.nan
    return exact_auc(scores[labels], scores[~labels])
