"""Learn from the partitions of a Dask DataFrame in parallel."""

from __future__ import annotations

import copy
import typing
from collections.abc import Sequence

import dask.dataframe as dd
import pandas as pd
from river import base
from river.utils import dataframe

from river_oauc.auto import AutoOAUC
from river_oauc.classifier import OnlineAUCClassifier
from river_oauc.distributed.partitions import Partitions, check_frame
from river_oauc.distributed.pipelines import Model, assemble_model, scale_frame, split_model
from river_oauc.distributed.scaling import ColumnStatistics, Scaling, add_statistics
from river_oauc.distributed.survey import Survey, prepare, release
from river_oauc.encoding.vectorizer import Vectorizer


class _Features(typing.NamedTuple):
    """The roles of the columns of a partition, and how the features are scaled."""

    names: list[base.typing.FeatureName]
    target: base.typing.FeatureName
    weights: base.typing.FeatureName | None
    scalings: Sequence[Scaling]

    def read(self, partition: pd.DataFrame) -> tuple[pd.DataFrame, typing.Any, typing.Any]:
        """Return the features, the labels and the weights of the rows."""
        w = 1.0 if self.weights is None else partition[self.weights]
        return scale_frame(partition[self.names], self.scalings), partition[self.target], w


def learn(
    frame: dd.DataFrame,
    target: base.typing.FeatureName,
    model: Model,
    weights: base.typing.FeatureName | None = None,
    scheduler: typing.Any = None,
    progress: bool | None = None,
) -> Model:
    """Learn from a Dask DataFrame, which need not fit in memory anywhere.

    A new model learns each partition, from its first row to its last, and the models are merged in
    pairs (`a + b`). The result is an ordinary model that goes on with `learn_one`. The given model
    stays as it is; what it has learned before counts once in the result.

    - `AutoOAUC` reads the rows twice: the first pass fixes units and landmarks,
      the second learns. So the class moments of numbers that are always known do not depend on how
      the rows are cut into partitions. The log odds of categories are those of the examples before
      in the same partition; their counts add up.
    - A pipeline of `StandardScaler`, `MinMaxScaler` or `MaxAbsScaler` and a classifier works, too.
      Each scaler has a pass of its own, and ends as if it had seen row after row. All rows are
      learned at the final scale; in a stream, the scale settles gradually.
    - All other classifiers read the rows once. The docstring of each class says which parts of a
      merged model equal those of one pass.

    Every partition is learned from scratch, so it should have thousands of rows; a worker needs
    memory for some of them. Partitions have no order: a change from one to the next is not
    followed. They are merged in a fixed order, so the same frame and model always give the same
    result, bit for bit, whatever the scheduler does.

    Without a `distributed.Client`, Dask uses threads, which mostly wait for each other here. To use
    several cores, make a `Client` first.

    If a value, a label or a weight is refused, or a partition lacks a column, a ValueError names
    the partition and the row, both counted from 0.

    Parameters
    ----------
    frame
        The data. All columns but `target` and `weights` are features.
    target
        The column of labels: booleans, 0 and 1, or -1 and 1.
    model
        A classifier of this package, or a pipeline of scalers and one of them.
    weights
        The column of importance weights; all are 1 if left out.
    scheduler
        A `distributed.Client`, or whatever else `dask.compute` takes; by default the one that Dask
        would use.
    progress
        Whether to show a bar for each pass. The default is to show it on a terminal only.

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
    given_scalers, given = split_model(model)
    names = _feature_names(frame, target, weights)
    needed = [*names, target] if weights is None else [*names, target, weights]
    partitions = Partitions(frame, needed, scheduler, progress)

    # Each pass is computed before the next one starts: in one graph, Dask would keep all partitions
    # in memory for the next pass.
    scalers = []
    features = _Features(names, target, weights, [])
    for scaler in given_scalers:
        statistics = partitions.sum(_column_statistics, features)
        scalers.append(add_statistics(scaler, names, statistics))
        features = features._replace(scalings=[*features.scalings, Scaling(scalers[-1], names)])
    # Without what the given model has learned, which would be learned again in each partition.
    learner = given.clone()
    if isinstance(learner, AutoOAUC):
        prepare(learner, partitions.sum(_survey, features))
    learned = partitions.sum(_learn_partition, features, learner)
    if isinstance(learned, AutoOAUC):
        release(learned)
    return assemble_model(model, scalers, given + learned)


def _feature_names(
    frame: dd.DataFrame,
    target: base.typing.FeatureName,
    weights: base.typing.FeatureName | None,
) -> list[base.typing.FeatureName]:
    columns = list(check_frame(frame).columns)
    for role, name in (("target", target), ("weights", weights)):
        if name is not None and name not in columns:
            raise ValueError(f"{role} is {name!r}, and the frame has no such column: {columns}")
    if target == weights:
        raise ValueError(f"target and weights are both {target!r}")
    return [name for name in columns if name not in (target, weights)]


def _column_statistics(partition: pd.DataFrame, features: _Features) -> ColumnStatistics:
    X, _, _ = features.read(partition)
    # This refuses NaN, because one would spoil a scaler for ever.
    vectorizer = Vectorizer()
    rows = vectorizer.read_frame(dataframe.into_frame(X), learning=True)
    vectorizer.extend(features.names)
    return ColumnStatistics.of(rows.encode_known(vectorizer)[:, : len(features.names)])


def _survey(partition: pd.DataFrame, features: _Features) -> Survey:
    survey = Survey()
    survey.add_frame(*features.read(partition))
    return survey


def _learn_partition(
    partition: pd.DataFrame, features: _Features, learner: OnlineAUCClassifier
) -> OnlineAUCClassifier:
    # A copy: the task may run twice, and all partitions start from the same learner.
    learned = copy.deepcopy(learner)
    learned.learn_many(*features.read(partition))
    return learned
