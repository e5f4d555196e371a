"""Learning from the partitions of a Dask DataFrame side by side."""

from __future__ import annotations

import copy
import typing
from collections.abc import Sequence

import dask.dataframe as dd
import pandas as pd
from river import base

from river_oauc.auto.classifier import AutoOAUCM, AutoOKAUCM
from river_oauc.auto.survey import Survey
from river_oauc.base import OnlineAUCClassifier
from river_oauc.distributed.partitions import Partitions, check_frame
from river_oauc.distributed.scaling import Scaling, Spread, with_spread
from river_oauc.distributed.steps import Model, assembled, scaled, taken_apart, values_of
from river_oauc.inputs.vectorizer import Vectorizer

__all__ = ["learn"]


# They want to see all rows once before they learn the first of them.
_Surveyor = AutoOAUCM | AutoOKAUCM


class _Features(typing.NamedTuple):
    """Which columns of a partition mean what, and how the features are scaled."""

    names: list[base.typing.FeatureName]
    target: base.typing.FeatureName
    weights: base.typing.FeatureName | None
    scalings: Sequence[Scaling]

    def read(self, partition: pd.DataFrame) -> tuple[pd.DataFrame, typing.Any, typing.Any]:
        """The features, the labels and the weights of the rows."""
        w = 1.0 if self.weights is None else partition[self.weights]
        return scaled(partition[self.names], self.scalings), partition[self.target], w


def learn(
    frame: dd.DataFrame,
    target: base.typing.FeatureName,
    model: Model,
    weights: base.typing.FeatureName | None = None,
    scheduler: typing.Any = None,
    progress: bool | None = None,
) -> Model:
    """Learn from a Dask DataFrame, which need not fit in memory anywhere.

    Each partition is learned by a model of its own, from its first row to its last, and the models
    are merged, two and two (`a + b`). What comes back is an ordinary model that goes on with
    `learn_one`. The given one stays as it is; whatever it has learned before counts in the
    result, once.

    - `AutoOAUCM` and `AutoOKAUCM` see the rows twice: the first pass fixes units and landmarks, the
      second learns. So what they know of the classes does not depend on how the rows are cut into
      partitions.
    - A pipeline of `StandardScaler`, `MinMaxScaler` or `MaxAbsScaler` and a classifier works, too:
      each scaler has a pass of its own, and comes back as if it had seen row after row. All rows
      are learned at the final scale, where a stream would see it settle.
    - All others see the rows once. What a merged model has in common with that of one pass stands
      in the docstrings of the classifiers.

    Each partition is learned from nothing, so it should have thousands of rows; a worker needs room
    for some of them. Partitions have no order: a change from one to the next is not followed. They
    are merged in a fixed order, and so the same frame and model give the same result, bit for bit,
    whoever computed what, and however often.

    Dask's default scheduler without a `distributed.Client` is threads, which take turns in most of
    the work here; for several cores, make a `Client` first.

    A value, a label or a weight to be refused, or a column that a partition does not have, ends it
    all with a ValueError that names the partition and the row, both counted from 0.

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
        Whether to show a bar for each pass. By default it is shown on a terminal only.

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
    given_scalers, given = taken_apart(model)
    names = _feature_names(frame, target, weights)
    needed = [*names, target] if weights is None else [*names, target, weights]
    partitions = Partitions(frame, needed, scheduler, progress)

    # A pass is computed before the next one is asked for: in one graph, Dask would keep all
    # partitions in memory for the next pass.
    scalers = []
    features = _Features(names, target, weights, [])
    for scaler in given_scalers:
        scalers.append(with_spread(scaler, names, partitions.total(_spread, features)))
        features = features._replace(scalings=[*features.scalings, Scaling(scalers[-1], names)])
    # What the given model has learned must not be learned again in each partition.
    learner = given.clone()
    if isinstance(learner, _Surveyor):
        learner.prepare(partitions.total(_survey, features, learner))
    learned = partitions.total(_learned, features, learner)
    if isinstance(learned, _Surveyor):
        learned.release()
    return assembled(model, scalers, given + learned)


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


def _spread(partition: pd.DataFrame, features: _Features) -> Spread:
    X, _, _ = features.read(partition)
    matrix = values_of(X)
    # One NaN would spoil a scaler for ever.
    Vectorizer(takes_missing=False).check_matrix(matrix, features.names)
    return Spread.of(matrix)


def _survey(partition: pd.DataFrame, features: _Features, learner: _Surveyor) -> Survey:
    survey = learner.survey()
    survey.add_frame(*features.read(partition))
    return survey


def _learned(
    partition: pd.DataFrame, features: _Features, learner: OnlineAUCClassifier
) -> OnlineAUCClassifier:
    # The task may run twice, and others start from the same learner.
    learned = copy.deepcopy(learner)
    learned.learn_many(*features.read(partition))
    return learned
