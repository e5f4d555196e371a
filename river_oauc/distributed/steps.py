"""A model taken apart: the scalers in front, and the classifier that merges."""

from __future__ import annotations

import copy
import typing
from collections.abc import Sequence

import pandas as pd
from river import compose
from river.utils import dataframe

from river_oauc.base import OnlineAUCClassifier
from river_oauc.distributed.scaling import Scaler, Scaling, check_scaler
from river_oauc.inputs.arrays import FloatArray
from river_oauc.inputs.frames import read_features

__all__ = ["Model", "assembled", "scaled", "taken_apart", "values_of"]

Model = typing.TypeVar("Model", bound=OnlineAUCClassifier | compose.Pipeline)


def taken_apart(model: typing.Any) -> tuple[list[Scaler], OnlineAUCClassifier]:
    """The scalers of a pipeline, and its classifier; or a ValueError that says why it cannot be."""
    *front, last = model.steps.values() if isinstance(model, compose.Pipeline) else [model]
    if not isinstance(last, OnlineAUCClassifier):
        raise ValueError(
            f"{type(last).__name__} cannot be learned from partitions, because it does not merge: "
            "take a classifier of river_oauc, or a pipeline that ends in one"
        )
    return [check_scaler(step) for step in front], last


def assembled(model: Model, scalers: Sequence[Scaler], classifier: OnlineAUCClassifier) -> Model:
    """A copy of the model, made of these parts."""
    if not isinstance(model, compose.Pipeline):
        return typing.cast(Model, classifier)
    pipeline = copy.deepcopy(model)
    pipeline.steps.update(zip(pipeline.steps, [*scalers, classifier], strict=True))
    return pipeline


def values_of(features: pd.DataFrame) -> FloatArray:
    """The numbers of a table; NaN where it has none."""
    return read_features(dataframe.into_frame(features))


def scaled(features: pd.DataFrame, scalings: Sequence[Scaling]) -> pd.DataFrame:
    """A table of features as the scalers hand it on; without any, as it is."""
    if not scalings:
        return features
    matrix = values_of(features)
    for scaling in scalings:
        matrix = scaling.apply(matrix)
    return pd.DataFrame(matrix, index=features.index, columns=features.columns)
