"""What the wrappers around a classifier have in common."""

from __future__ import annotations

import copy
import typing
from collections.abc import Iterator

from river import base

from river_oauc.limits import short_repr
from river_oauc.records.labels import parse_weight


class ClassifierWrapper(base.Wrapper[base.Classifier], base.Classifier):
    """Base class of the wrappers around a binary classifier.

    Parameters
    ----------
    model
        A binary classifier, or a pipeline that ends in one.

    """

    def __init__(self, model: base.Classifier) -> None:
        if not isinstance(model, base.Estimator) or not hasattr(model, "predict_proba_one"):
            raise ValueError(f"model is {short_repr(model)}: it must be a classifier")
        self.model = model

    @property
    def _wrapped_model(self) -> base.Classifier:
        return self.model

    @property
    def _multiclass(self) -> bool:
        return False

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, typing.Any]]:
        from river import linear_model, preprocessing

        yield {"model": preprocessing.StandardScaler() | linear_model.LogisticRegression()}
        yield {"model": linear_model.LogisticRegression()}

    def _unit_test_skips(self) -> set[str]:
        # The probabilities of a model for any number of classes lack labels that it has not seen.
        skips: set[str] = self.model._unit_test_skips()
        return skips | ({"check_predict_proba_one_binary"} if self.model._multiclass else set())

    def clone(
        self, new_params: dict[str, typing.Any] | None = None, include_attributes: bool = False
    ) -> typing.Self:
        """Return a new wrapper with the same parameters around a clone of the model.

        Parameters
        ----------
        new_params
            Parameters to override, by name.
        include_attributes
            Whether to copy what has been learned as well.

        """
        twin: typing.Self = super().clone(new_params, include_attributes)
        if include_attributes and "model" not in (new_params or {}):
            # river clones a model that is a parameter without what it has learned.
            twin.model = copy.deepcopy(self.model)
        return twin


def importance_weight(kwargs: dict[str, typing.Any]) -> float:
    """Return the importance weight among the arguments of `learn_one`."""
    return parse_weight(kwargs["w"]) if "w" in kwargs else 1.0
