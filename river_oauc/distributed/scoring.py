"""Scores for a Dask DataFrame."""

from __future__ import annotations

import copy
import typing
from collections.abc import Sequence

import dask
import dask.dataframe as dd
import pandas as pd
from river import compose

from river_oauc.base import OnlineAUCClassifier
from river_oauc.distributed.partitions import check_frame
from river_oauc.distributed.scaling import Scaling
from river_oauc.distributed.steps import scaled, taken_apart

__all__ = ["score"]


def score(frame: dd.DataFrame, model: OnlineAUCClassifier | compose.Pipeline) -> dd.Series:
    """The score of each row of a Dask DataFrame, lazily, partition by partition.

    It is what `score_one` gives: the higher, the more likely a positive. It ranks, and has no unit;
    probabilities of the same order come from `predict_proba_many`.

    Nothing is computed before the result is asked for, and it never has to fit in memory as a
    whole. The model is copied at once, so that learning on does not change the result, and is sent
    to each worker once. The index stays: `frame.assign(score=score(frame, model))` works.

    Parameters
    ----------
    frame
        The features. Columns that the model does not know count for nothing, and neither do nulls
        (in the Auto learners they stand for what is usual).
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
    scalers, classifier = taken_apart(model)
    columns = list(check_frame(frame).columns)
    scalings = [Scaling(scaler, columns) for scaler in scalers]
    sent = dask.delayed((scalings, copy.deepcopy(classifier)), traverse=False)
    meta = pd.Series(dtype=float, name="score", index=frame._meta.index)
    return frame.map_partitions(_scores, sent, meta=meta)


def _scores(
    partition: pd.DataFrame, sent: tuple[Sequence[Scaling], OnlineAUCClassifier]
) -> pd.Series[typing.Any]:
    scalings, classifier = sent
    return classifier.score_many(scaled(partition, scalings))
