"""The paper's protocol: folds, scaling, tuning, and the exact AUC of a held-out fold.

Four random partitions into five stratified folds make the paper's 20 runs; more partitions make
more. A run holds one fold out, learns the others in one pass, in random order, and is scored by the
exact AUC on the fold. Its parameters come from a five-fold cross-validation inside the training
folds. Nothing of the held-out fold is used before the score: the features are scaled to [-1, 1] by
the ranges of the training folds, so that held-out values may lie a little outside. Folds and orders
are the same for all methods.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from river_oauc.datasets import BENCHMARKS
from benchmarks.paper.grids.stack import Stack
from benchmarks.paper.methods import Method, Setting, Table
from river_oauc.inputs.arrays import FloatArray
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

# What a random generator is for. Each use has generators of its own, so that none depends on how
# much another one has drawn.
_PARTITION, _ORDER, _INNER_PARTITION = range(3)

Labels = NDArray[np.bool_]
Rows = NDArray[np.intp]


class Cell(NamedTuple):
    """One run of one method on one set."""

    dataset: str
    method: str
    run: int


class Outcome(NamedTuple):
    """The AUC on the held-out fold, and the setting that was chosen without it."""

    auc: float
    setting: Setting


def run_cell(table: Table, cell: Cell) -> Outcome:
    """The outcome of one run of one method on one of the benchmark sets."""
    X, y = _load(cell.dataset)
    train, test = split(y, cell.run, table.max_examples)
    return evaluate(table.method(cell.method), X, y, train, test, cell.run)


@functools.lru_cache(maxsize=1)
def _load(dataset: str) -> tuple[FloatArray, Labels]:
    return BENCHMARKS[dataset]().to_numpy()


def split(y: Labels, run: int, max_examples: int | None = None) -> tuple[Rows, Rows]:
    """The rows that a run learns, in their order, and those that it holds out.

    Parameters
    ----------
    y
        The labels of the whole set.
    run
        Number of the run, from 0 on; the first five have one partition, and so on.
    max_examples
        How many rows are learned at most.

    """
    partition, fold = divmod(run, N_FOLDS)
    folds = stratified_folds(y, _chance(_PARTITION, partition))
    train = _chance(_ORDER, run).permutation(np.flatnonzero(folds != fold))
    return train[:max_examples], np.flatnonzero(folds == fold)


def stratified_folds(y: Labels, rng: np.random.Generator) -> Rows:
    """The fold of each row: each class, in random order, is dealt out to five folds.

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
    method: Method, X: FloatArray, y: Labels, train: Rows, test: Rows, run: int
) -> Outcome:
    """The outcome of tuning and learning on the training rows, scored on the others."""
    X_train, X_test = scale(X[train], X[test])
    y_train = y[train]
    setting = best_setting(method, X_train, y_train, run)
    stack = method.stack(X.shape[1], [setting], run)
    _learn(stack, X_train, y_train)
    return Outcome(float(exact_aucs(stack.scores(X_test), y[test])[0]), setting)


def scale(train: FloatArray, test: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The rows with the range of each training feature mapped to [-1, 1], a constant one to 0.

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


def best_setting(method: Method, X: FloatArray, y: Labels, run: int) -> Setting:
    """The setting with the best mean AUC in a five-fold cross-validation.

    A setting that diverges on a fold is out of the question. Of equally good ones, the first of
    the grid is taken: the smallest value of its first parameter, then of the next.
    """
    settings = method.settings
    if len(settings) == 1:
        return settings[0]
    folds = stratified_folds(y, _chance(_INNER_PARTITION, run))
    total = np.zeros(len(settings))
    for fold in range(N_FOLDS):
        learned, held_out = folds != fold, folds == fold
        stack = method.stack(X.shape[1], settings, run)
        _learn(stack, X[learned], y[learned])
        total += exact_aucs(stack.scores(X[held_out]), y[held_out])
        total[stack.diverged] = -np.inf
    return settings[int(total.argmax())]


def _learn(stack: Stack, X: FloatArray, y: Labels) -> None:
    for x, positive in zip(X, y.tolist(), strict=True):
        stack.learn(x, positive)


def exact_aucs(scores: FloatArray, y: Labels) -> FloatArray:
    """The AUC of each row of scores, a tie counting one half; one half if a class is missing.

    Examples
    --------
    >>> y = np.array([False, False, True, True])
    >>> exact_aucs(np.array([[0.1, 0.4, 0.35, 0.8], [0.0, 0.0, 0.0, 0.0]]), y)
    array([0.75, 0.5 ])

    """
    return np.array([exact_auc(row[y], row[~y]) for row in scores])


def _chance(use: int, number: int) -> np.random.Generator:
    return np.random.default_rng([SEED, use, number])
