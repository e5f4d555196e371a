"""The parts of a model: the scalers in front, and the classifier that merges."""

from __future__ import annotations

import copy
import typing
from collections.abc import Sequence

import pandas as pd
from river import compose
from river.utils import dataframe

from river_oauc.classifier import OnlineAUCClassifier
from river_oauc.distributed.scaling import Scaler, Scaling, check_scaler
from river_oauc.encoding.frames import read_features

Model = typing.TypeVar("Model", bound=OnlineAUCClassifier | compose.Pipeline)


def split_model(model: typing.Any) -> tuple[list[Scaler], OnlineAUCClassifier]:
    """Return the scalers of a pipeline and its classifier, or raise a ValueError."""
    *front, last = model.steps.values() if isinstance(model, compose.Pipeline) else [model]
    if not isinstance(last, OnlineAUCClassifier):
        raise ValueError(
            f"{type(last).__name__} cannot be learned from partitions, because it does not merge: "
            "take a classifier of river_oauc, or a pipeline that ends in one"
        )
    return [check_scaler(step) for step in front], last


def assemble_model(
    model: Model, scalers: Sequence[Scaler], classifier: OnlineAUCClassifier
) -> Model:
    """Return a copy of the model with these parts."""
    if not isinstance(model, compose.Pipeline):
        return typing.cast(Model, classifier)
    pipeline = copy.deepcopy(model)
    pipeline.steps.update(zip(pipeline.steps, [*scalers, classifier], strict=True))
    return pipeline


def scale_frame(features: pd.DataFrame, scalings: Sequence[Scaling]) -> pd.DataFrame:
    """Return the features after all scalers; without any, the frame itself."""
    if not scalings:
        return features
    matrix = read_features(dataframe.into_frame(features))
    for scaling in scalings:
        matrix = scaling.apply(matrix)
    return pd.DataFrame(matrix, index=features.index, columns=features.columns)
