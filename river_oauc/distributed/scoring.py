"""Score the rows of a Dask DataFrame."""

from __future__ import annotations

import copy
import typing
from collections.abc import Sequence

import dask
import dask.dataframe as dd
import pandas as pd
from river import compose

from river_oauc.classifier import OnlineAUCClassifier
from river_oauc.distributed.partitions import check_frame
from river_oauc.distributed.pipelines import scale_frame, split_model
from river_oauc.distributed.scaling import Scaling


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
        The features. Columns that the model does not know are ignored. Nulls are absent features;
        to `AutoOAUC`, `OTAUC` and `SparseOAUCM` they are unknown values.
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
    scalers, classifier = split_model(model)
    columns = list(check_frame(frame).columns)
    scalings = [Scaling(scaler, columns) for scaler in scalers]
    sent = dask.delayed((scalings, copy.deepcopy(classifier)), traverse=False)
    meta = pd.Series(dtype=float, name="score", index=frame._meta.index)
    return frame.map_partitions(_scores, sent, meta=meta)


def _scores(
    partition: pd.DataFrame, sent: tuple[Sequence[Scaling], OnlineAUCClassifier]
) -> pd.Series[typing.Any]:
    scalings, classifier = sent
    return classifier.score_many(scale_frame(partition, scalings))
