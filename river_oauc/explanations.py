"""Classifiers that tell which features moved a score."""

from __future__ import annotations

import abc
import typing
from collections.abc import Iterable

from river import base

from river_oauc.classifier import OnlineAUCClassifier
from river_oauc.encoding.values import Record

Explanation = dict[base.typing.FeatureName, float]


class ExplainingClassifier(OnlineAUCClassifier):
    """Base class of the classifiers whose scores are sums over the features of a record."""

    @abc.abstractmethod
    def _explain(self, ranker: typing.Any, x: Record) -> Explanation:
        """Return by how much each feature moves the score of `x`, given the numpy ranker."""

    def explain_one(self, x: Record) -> Explanation:
        """Return by how much each feature moves the score of `x`.

        The moves add up to the score less a constant that is the same for all records. Those of
        linear and sparse scores are exact. Those of trees go along the path of the record: the
        change of the mean score from a node to its child goes to the feature that split. For
        kernels, features become unknown one after the other.

        This copies the model. If there are many records, `explain_each` does so once.

        Parameters
        ----------
        x
            A dictionary of features.

        """
        return self.explain_each([x])[0]

    def explain_each(self, records: Iterable[Record]) -> list[Explanation]:
        """Return for each record what `explain_one` returns.

        Parameters
        ----------
        records
            Dictionaries of features.

        """
        # First, because the records may come from a thread that learns this model.
        records = list(records)
        with self._lock:
            ranker = self._numpy_ranker()
            return [self._explain(ranker, x) for x in records]
