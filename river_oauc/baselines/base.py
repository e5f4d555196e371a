"""A linear score over numeric features: what most of the baselines have in common."""

from __future__ import annotations

from river import base

from river_oauc.classifier import OnlineAUCClassifier
from river_oauc.records.numeric import Vectorizer


class LinearBaseline(OnlineAUCClassifier):
    """A linear score, learned from single examples or from pairs with stored ones."""

    _encoder: Vectorizer

    def _new_encoder(self) -> Vectorizer:
        return Vectorizer()

    @property
    def weights(self) -> dict[base.typing.FeatureName, float]:
        """The weights of the score, by the names of the features."""
        with self._lock:
            return self._encoder.decode(self._ranker.weights)
