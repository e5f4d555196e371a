"""How well learners rank a stream, and whether one is ahead by more than chance."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from river_oauc.cli.compare.race import Run
from river_oauc.inputs.arrays import BoolArray, FloatArray
from river_oauc.metrics import average_precision, exact_auc, precision_at_k

__all__ = ["CONFIDENCE", "FEW", "Standing", "lead", "level_with_the_best", "standings", "windows"]

# A learner is ahead if the interval of this confidence for the difference of two AUCs is above 0.
CONFIDENCE = 0.99
# The stream is cut into so many blocks, of which as many are drawn anew. What is alike because it
# is close in time is in one block, and does not pass for independent.
BLOCKS = 200
DRAWS = 2_000
# With fewer examples of a class than this, their scatter says too little about chance.
FEW = 20

# At most so many windows, with on average so many examples of the smaller class in each.
MAX_WINDOWS = 10
IN_A_WINDOW = 10


class Standing:
    """A learner in its best preparation, the one with the highest AUC.

    Parameters
    ----------
    runs
        The learner's way through a stream in each preparation.
    labels
        Which examples of the stream are positive.

    Attributes
    ----------
    run
        The best of the runs.
    scores
        Its scores.
    auc
        Its exact AUC over the whole stream, a tie counting one half.
    in_windows
        The same in each of the `windows`, NaN where a class is missing.

    """

    def __init__(self, runs: Sequence[Run], labels: BoolArray) -> None:
        self.run = max(runs, key=lambda run: _auc(np.array(run.scores), labels))
        self.name = self.run.contender.name
        self.scores: FloatArray = np.array(self.run.scores)
        self.labels = labels
        self.auc = _auc(self.scores, labels)
        self.in_windows = [
            _auc(self.scores[window], labels[window])
            if len(set(labels[window].tolist())) == 2
            else np.nan
            for window in windows(labels)
        ]

    @property
    def mean_in_windows(self) -> float:
        """The mean AUC in windows: scores of different times are not compared."""
        known = [auc for auc in self.in_windows if not np.isnan(auc)]
        return float(np.mean(known)) if known else np.nan

    @property
    def average_precision(self) -> float:
        """The average precision over the whole stream."""
        return average_precision(self.scores[self.labels], self.scores[~self.labels])

    def precision_at(self, k: int) -> float:
        """The precision among the k highest scores, ties counting in part."""
        return precision_at_k(self.scores[self.labels], self.scores[~self.labels], k)

    @functools.cached_property
    def redrawn_aucs(self) -> FloatArray:
        """The AUC over each of many streams of redrawn blocks, the same for all learners."""
        return _redrawn_aucs(self.scores, self.labels)


def standings(labels: BoolArray, runs: Sequence[Run]) -> list[Standing]:
    """Every learner in its best preparation, the highest AUC first."""
    by_name: dict[str, list[Run]] = {}
    for run in runs:
        by_name.setdefault(run.contender.name, []).append(run)
    found = [Standing(own, labels) for own in by_name.values()]
    return sorted(found, key=lambda standing: standing.auc, reverse=True)


def windows(labels: BoolArray) -> list[slice]:
    """The parts of a stream in which the AUC is told, of one length.

    Examples
    --------
    >>> windows(np.arange(1_000) % 25 == 0)
    [slice(0, 250, None), slice(250, 500, None), slice(500, 750, None), slice(750, 1000, None)]

    """
    n_windows = min(max(_n_of_smaller_class(labels) // IN_A_WINDOW, 1), MAX_WINDOWS)
    return _cut(len(labels), n_windows)


def lead(best: Standing, other: Standing) -> tuple[float, float]:
    """An interval for the lead of one learner over another, in AUC over the whole stream.

    It is a bootstrap interval: the same blocks of the stream, with the scores that they got, are
    drawn for both.
    """
    difference = best.redrawn_aucs - other.redrawn_aucs
    tail = 0.5 * (1.0 - CONFIDENCE)
    low, high = np.nanquantile(difference, [tail, 1.0 - tail])
    return float(low), float(high)


def level_with_the_best(standings: Sequence[Standing]) -> list[Standing]:
    """The learners, from the best on, that may owe it to chance that they are behind it."""
    best, *others = standings
    few = _n_of_smaller_class(best.labels) < FEW
    return [best, *(other for other in others if few or lead(best, other)[0] <= 0.0)]


def _redrawn_aucs(scores: FloatArray, labels: BoolArray) -> FloatArray:
    """The AUC over streams of blocks that are drawn with replacement, the same ones each time."""
    rare = bool(2 * labels.sum() <= len(labels))
    few = labels == rare
    blocks = _cut(len(labels), min(BLOCKS, len(labels)))
    n_blocks = len(blocks)
    block_of = np.repeat(np.arange(n_blocks), [block.stop - block.start for block in blocks])

    # wins[a, b]: pairs of one of the few in block a above one of the many in block b. Sorted, they
    # are looked up many times as fast.
    wins = np.empty((n_blocks, n_blocks))
    order = np.argsort(scores[few])
    sorted_scores, their_blocks = scores[few][order], block_of[few][order]
    for b, block in enumerate(blocks):
        many = np.sort(scores[block][~few[block]])
        below = np.searchsorted(many, sorted_scores) + np.searchsorted(many, sorted_scores, "right")
        wins[:, b] = np.bincount(their_blocks, 0.5 * below, minlength=n_blocks)
    n_few = np.bincount(block_of[few], minlength=n_blocks)
    n_many = np.bincount(block_of[~few], minlength=n_blocks)

    times = np.random.default_rng(0).multinomial(n_blocks, np.full(n_blocks, 1 / n_blocks), DRAWS)
    pairs = (times @ n_few) * (times @ n_many)
    with np.errstate(invalid="ignore"):
        # NaN if a class was not drawn.
        auc: FloatArray = ((times @ wins) * times).sum(axis=1) / pairs
    return auc if rare else 1.0 - auc


def _n_of_smaller_class(labels: BoolArray) -> int:
    return int(min(labels.sum(), (~labels).sum()))


def _cut(n: int, n_parts: int) -> list[slice]:
    edges = [n * part // n_parts for part in range(n_parts + 1)]
    return [slice(start, end) for start, end in zip(edges, edges[1:], strict=False)]


def _auc(scores: FloatArray, labels: BoolArray) -> float:
    return exact_auc(scores[labels], scores[~labels])
