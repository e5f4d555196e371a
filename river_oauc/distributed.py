"""Learn one model from the partitions of a Dask DataFrame in parallel, and score with it."""

from __future__ import annotations

import typing
from collections.abc import Sequence

from river import base, compose

try:
    import dask.dataframe as dd
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        'river_oauc.distributed needs Dask: pip install "river-oauc[distributed]"'
    ) from error

import dask
import pandas as pd
from dask.delayed import Delayed

from river_oauc.classifier import OnlineAUCClassifier
from river_oauc.model_file import to_bytes
from river_oauc.partitions import (
    Columns,
    Model,
    PartitionError,
    columns_of,
    in_pairs,
    learn_partition,
    learn_steps,
    merge,
    score_partition,
    steps_of,
)

__all__ = ["learn", "score"]

# What is raised where a partition cannot be read. It is no error of a worker that was killed.
_READING_ERRORS = (KeyError, OSError, TypeError, ValueError)


def learn(
    frame: dd.DataFrame,
    target: base.typing.FeatureName,
    model: Model,
    weights: base.typing.FeatureName | None = None,
) -> Model:
    """Learn from a Dask DataFrame, which need not fit in memory anywhere.

    A new model learns each partition, from its first row to its last, and the models are merged in
    pairs (`a += b`). The result is an ordinary model that goes on with `learn_one`. The given model
    stays as it is; what it has learned before counts once in the result. The docstring of each
    class says which parts of a merged model equal those of one pass.

    The rows are read once. A pipeline of `StandardScaler`, `MinMaxScaler` or `MaxAbsScaler` and a
    classifier works, too. Each scaler reads the rows once more, and ends as if it had seen row
    after row. All rows are learned at the final scale; in a stream, the scale settles gradually.

    Every partition is learned from scratch, so it should have thousands of rows; a worker needs
    memory for some of them. Partitions have no order: a change from one to the next is not
    followed. They are merged in a fixed order, so the same frame, and a model with a `seed`, always
    give the same result, bit for bit, whatever the scheduler does.

    Dask's scheduler is the current one. Without a `distributed.Client`, that is threads, which
    mostly wait for each other here. To use several cores, make a `Client` first.

    If a value, a label or a weight is refused, a partition lacks a column or cannot be read, a
    ValueError names the partition and the row, both counted from 0.

    Parameters
    ----------
    frame
        The data. All columns but `target` and `weights` are features.
    target
        The column of labels: booleans, 0 and 1, or -1 and 1.
    model
        A classifier of this package that merges, or a pipeline of scalers and one of them. It must
        fit into a [model file][river_oauc.model_file.save].
    weights
        The column of importance weights; all are 1 if left out.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from river import datasets, preprocessing
    >>> from river_oauc import OAUCM
    >>> from river_oauc.distributed import learn
    >>> from river_oauc.metrics import ExactROCAUC

    >>> rows = pd.DataFrame({**x, "phishing": y} for x, y in datasets.Phishing())
    >>> frame = dd.from_pandas(rows, npartitions=4)
    >>> model = learn(frame, "phishing", preprocessing.StandardScaler() | OAUCM())

    >>> auc = ExactROCAUC()
    >>> for x, y in datasets.Phishing():
    ...     auc.update(y, model.predict_proba_one(x))
    >>> auc
    ExactROCAUC: 96.52%

    """
    columns = columns_of(list(_checked(frame).columns), target, weights)
    # Simplified, so that only the needed columns are read. Full optimisation would join small
    # partitions, and change their numbers.
    partitions = frame.simplify().to_delayed(optimize_graph=False)
    return learn_steps(model, lambda sent: _learn(partitions, columns, sent))


def _learn(partitions: Sequence[Delayed], columns: Columns, sent: bytes) -> bytes:
    """Learn the last step of a pipeline from all partitions."""
    shared = [dask.delayed(item, traverse=False) for item in (columns, sent)]
    learned = [
        dask.delayed(learn_partition)(partition, number, *shared)
        for number, partition in enumerate(partitions)
    ]
    try:
        return typing.cast(bytes, in_pairs(dask.delayed(merge), learned).compute())
    except PartitionError:
        raise
    except _READING_ERRORS:
        _check_readable(partitions)
        raise


def _check_readable(partitions: Sequence[Delayed]) -> None:
    """Raise an error that names the first partition that Dask cannot read, if there is one.

    Dask does not say which one it was, so the partitions are bisected.
    """
    start, stop = 0, len(partitions)
    while start < stop:
        middle = (start + stop + 1) // 2
        try:
            dask.compute(*map(dask.delayed(len), partitions[start:middle]))
        except _READING_ERRORS as error:
            if middle == start + 1:
                raise PartitionError(
                    f"partition {start} cannot be read: {type(error).__name__}: {error}"
                ) from error
            stop = middle
        else:
            start = middle


def score(frame: dd.DataFrame, model: OnlineAUCClassifier | compose.Pipeline) -> dd.Series:
    """Return the score of each row of a Dask DataFrame, lazily.

    It is the score of `score_one`: the higher, the more likely a positive. It has no unit;
    `predict_proba_many` gives probabilities in the same order.

    Partitions are scored when the result is computed, and need not fit in memory together. The
    model is copied at once, so that learning on does not change the result, and is sent to each
    worker once. The index stays: `frame.assign(score=score(frame, model))` works.

    Parameters
    ----------
    frame
        The features. Columns that the model does not know are ignored, but scalers take numbers
        only. Nulls are absent features; to `AutoOAUC`, `OTAUC` and `SparseOAUCM` they are unknown
        values.
    model
        A classifier of this package, or a pipeline of scalers and one of them.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from river_oauc import OAUCM
    >>> from river_oauc.distributed import score

    >>> model = OAUCM()
    >>> for x in range(10):
    ...     model.learn_one({"x": float(x)}, x > 4)
    >>> frame = dd.from_pandas(pd.DataFrame({"x": [3.0, 7.0, 5.0]}), npartitions=2)
    >>> score(frame, model).compute().rank().tolist()
    [1.0, 3.0, 2.0]

    """
    steps_of(model)
    meta = pd.Series(dtype=float, name="score", index=_checked(frame)._meta.index)
    return frame.map_partitions(_score, dask.delayed(to_bytes(model)), meta=meta)


def _score(
    partition: pd.DataFrame, sent: bytes, partition_info: dict[str, int]
) -> pd.Series[typing.Any]:
    return score_partition(partition, partition_info["number"], sent)


def _checked(frame: typing.Any) -> dd.DataFrame:
    """Return the frame, or raise a ValueError if it is not a Dask DataFrame."""
    if not isinstance(frame, dd.DataFrame):
        raise ValueError(
            f"the frame is a {type(frame).__name__} of {type(frame).__module__}: it must be a Dask "
            "DataFrame; the learn_many and score_many of a model take those that fit in memory"
        )
    return frame
