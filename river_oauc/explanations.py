"""Classifiers that tell which features moved a score."""

from __future__ import annotations

import abc

from river import base

from river_oauc.classifier import OnlineAUCClassifier
from river_oauc.records.parse import Record

Explanation = dict[base.typing.FeatureName, float]


class ExplainingClassifier(OnlineAUCClassifier):
    """Base class of the classifiers whose scores are sums over the features of a record."""

    @abc.abstractmethod
    def _explain(self, x: Record) -> Explanation:
        """Return by how much each feature moves the score of `x`."""

    def explain_one(self, x: Record) -> Explanation:
        """Return by how much each feature moves the score of `x`.

        The moves add up to the score less a constant that is the same for all records. Those of
        linear and sparse scores are exact. Those of trees go along the path of the record: the
        change of the mean score from a node to its child goes to the feature that split. For
        kernels, features become unknown one after the other.

        Parameters
        ----------
        x
            A dictionary of features.

        """
        with self._lock:
            return self._explain(x)
