"""The paper's protocol: folds, scaling, tuning, and the exact AUC of a held-out fold.

Four random partitions into five stratified folds make the paper's 20 runs; further runs use further
partitions. A run holds out one fold, learns the others in one pass in random order, and reports the
exact AUC on the held-out fold. Its parameters come from a five-fold cross-validation within the
training folds. The held-out fold is used for nothing else: features are scaled to [-1, 1] by the
ranges of the training folds, so held-out values may lie slightly outside. All methods share the
folds and the orders.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from benchmarks.arrays import BoolArray, FloatArray, IndexArray
from benchmarks.datasets import BENCHMARKS
from benchmarks.paper.grids.stack import Stack
from benchmarks.paper.methods import Method, Setting, Table
from river_oauc.metrics import exact_auc

__all__ = [
    "N_FOLDS",
    "PAPER_RUNS",
    "SEED",
    "Cell",
    "Outcome",
    "best_setting",
    "evaluate",
    "exact_aucs",
    "run_cell",
    "scale",
    "split",
    "stratified_folds",
]

SEED = 42
N_FOLDS = 5
PAPER_RUNS = 4 * N_FOLDS

# Each use of randomness has its own generators, so that none depends on the draws of another.
_PARTITION, _ORDER, _INNER_PARTITION = range(3)


class Cell(NamedTuple):
    """One run of one method on one set."""

    dataset: str
    method: str
    run: int


class Outcome(NamedTuple):
    """The AUC on the held-out fold and the setting chosen by cross-validation."""

    auc: float
    setting: Setting


def run_cell(table: Table, cell: Cell) -> Outcome:
    """Run one method once on one benchmark set."""
    X, y = _load(cell.dataset)
    train, test = split(y, cell.run, table.max_examples)
    return evaluate(table.method(cell.method), X, y, train, test, cell.run)


@functools.lru_cache(maxsize=1)
def _load(dataset: str) -> tuple[FloatArray, BoolArray]:
    return BENCHMARKS[dataset].to_numpy()


def split(y: BoolArray, run: int, max_examples: int | None = None) -> tuple[IndexArray, IndexArray]:
    """Return the training rows of a run, in order, and the held-out rows.

    Parameters
    ----------
    y
        The labels of the whole set.
    run
        Number of the run, from 0; each five consecutive runs share a partition.
    max_examples
        Maximum number of training rows.

    """
    partition, fold = divmod(run, N_FOLDS)
    folds = stratified_folds(y, _generator(_PARTITION, partition))
    train = _generator(_ORDER, run).permutation(np.flatnonzero(folds != fold))
    return train[:max_examples], np.flatnonzero(folds == fold)


def stratified_folds(y: BoolArray, rng: np.random.Generator) -> IndexArray:
    """Return the fold of each row, with each class spread evenly over five folds.

    Examples
    --------
    >>> y = np.arange(12) < 5
    >>> folds = stratified_folds(y, np.random.default_rng(1))
    >>> np.bincount(folds[y]), np.bincount(folds)
    (array([1, 1, 1, 1, 1]), array([3, 3, 2, 2, 2]))

    """
    rows = np.concatenate([rng.permutation(np.flatnonzero(y == label)) for label in (True, False)])
    folds = np.empty(len(y), dtype=np.intp)
    folds[rows] = np.arange(len(y)) % N_FOLDS
    return folds


def evaluate(
    method: Method, X: FloatArray, y: BoolArray, train: IndexArray, test: IndexArray, run: int
) -> Outcome:
    """Tune and train on the training rows, and score the held-out rows."""
    X_train, X_test = scale(X[train], X[test])
    y_train = y[train]
    setting = best_setting(method, X_train, y_train, run)
    stack = method.stack(X.shape[1], [setting], run)
    _learn(stack, X_train, y_train)
    return Outcome(float(exact_aucs(stack.scores(X_test), y[test])[0]), setting)


def scale(train: FloatArray, test: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Map the range of each training feature to [-1, 1], and a constant feature to 0.

    Examples
    --------
    >>> train, test = scale(np.array([[1.0, 7.0], [3.0, 7.0]]), np.array([[4.0, 8.0]]))
    >>> train
    array([[-1.,  0.],
           [ 1.,  0.]])
    >>> test
    array([[2., 0.]])

    """
    low, high = train.min(axis=0), train.max(axis=0)
    is_constant = high == low
    factors = np.where(is_constant, 0.0, 2.0 / np.where(is_constant, 1.0, high - low))
    middle = (low + high) / 2.0
    return (train - middle) * factors, (test - middle) * factors


def best_setting(method: Method, X: FloatArray, y: BoolArray, run: int) -> Setting:
    """Find the setting with the best mean AUC in a five-fold cross-validation.

    Settings that diverge on a fold are excluded. Ties go to the first setting of the grid: the
    smallest value of the first parameter, then of the next.
    """
    settings = method.settings
    if len(settings) == 1:
        return settings[0]
    folds = stratified_folds(y, _generator(_INNER_PARTITION, run))
    total = np.zeros(len(settings))
    for fold in range(N_FOLDS):
        learned, held_out = folds != fold, folds == fold
        stack = method.stack(X.shape[1], settings, run)
        _learn(stack, X[learned], y[learned])
        total += exact_aucs(stack.scores(X[held_out]), y[held_out])
        total[stack.diverged] = -np.inf
    return settings[int(total.argmax())]


def _learn(stack: Stack, X: FloatArray, y: BoolArray) -> None:
    for x, positive in zip(X, y.tolist(), strict=True):
        stack.learn(x, positive)


def exact_aucs(scores: FloatArray, y: BoolArray) -> FloatArray:
    """Return the exact AUC of each row of scores; 1/2 if a class is missing.

    Examples
    --------
    >>> y = np.array([False, False, True, True])
    >>> exact_aucs(np.array([[0.1, 0.4, 0.35, 0.8], [0.0, 0.0, 0.0, 0.0]]), y)
    array([0.75, 0.5 ])

    """
    return np.array([exact_auc(row[y], row[~y]) for row in scores])


def _generator(use: int, number: int) -> np.random.Generator:
    return np.random.default_rng([SEED, use, number])
