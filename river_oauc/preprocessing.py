"""Transformers for any model of river: raw records as numbers, and what entities have done."""

from __future__ import annotations

import typing
from collections.abc import Iterator

from river import base

from river_oauc.histories import Histories, SeenRecord
from river_oauc.locks import new_lock
from river_oauc.parameters import check_count
from river_oauc.records.columns import KIND_NAMES
from river_oauc.records.encoder import MixedEncoder
from river_oauc.records.features import NUMBER
from river_oauc.records.labels import parse_label, parse_weight
from river_oauc.records.parse import Name, Record, TimePart, parse_value
from river_oauc.state import State, read_fields

__all__ = ["Histories", "RecordEncoder", "SeenRecord"]


# Pipelines treat a supervised transformer as one only if it is a Transformer as well.
class RecordEncoder(base.SupervisedTransformer, base.Transformer):
    """Turn raw records into numbers, by what came before: for any binary classifier of river.

    A record is what an application has: `{"amount": 12.5, "country": "FR", "device": None}`. Put
    this in front of a model that wants numbers. `AutoOAUC`, `OTAUC` and
    `SparseOAUCM` do not need it, because they encode records themselves.

    - A number stands for itself, unscaled.
    - A category, such as any string that is no number, stands for its log odds: how much more often
      it came with positives than an average example did, among the examples before. So nothing
      leaks from the label of an example, and a thousand categories take one feature. Where its
      latest examples predict better, recent log odds stand beside.
    - A whole number is both, if its values recur and are more than two: ids and codes are often
      written in digits.
    - None, NaN, NaT, NA, an empty string and an absent key all mean unknown: the feature is left
      out. A feature that is known in most examples and unknown now and then has an indicator.
    - A date or a time stands for its hour and its weekday, both as categories.
    - Lists, dicts and other containers are refused with a `ValueError` that names the feature, and
      so are infinity and numbers beyond ±1e50.

    Learning and transforming take O(1) time per value. Memory is about 100 bytes per category, and
    what its value takes itself.

    Parameters
    ----------
    max_categories
        The largest number of categories to remember; `None` is no limit. When there would be more,
        the fifth that has come least often is forgotten.

    Examples
    --------
    >>> from river_oauc.preprocessing import RecordEncoder

    >>> encoder = RecordEncoder()
    >>> payments = [("FR", 12.5, True), ("IT", 3.0, False), ("FR", 20.5, True), ("IT", 14.5, False)]
    >>> for country, amount, fraud in payments:
    ...     encoder.learn_one({"country": country, "amount": amount}, fraud)
    >>> encoder.transform_one({"country": "FR", "amount": 7.5})
    {'amount': 7.5, 'country_log_odds': 1.099}
    >>> encoder.transform_one({"country": "??", "amount": None})
    {'country_log_odds': 0.0}

    It learns after it has transformed, as all transformers in a pipeline of river do:

    >>> from river import linear_model, preprocessing
    >>> model = RecordEncoder() | preprocessing.StandardScaler() | linear_model.LogisticRegression()
    >>> for country, amount, fraud in 100 * payments:
    ...     model.learn_one({"country": country, "amount": amount}, fraud)
    >>> model.predict_proba_one({"country": "FR", "amount": 7.5})[True]
    0.754

    """

    def __init__(self, max_categories: int | None = None) -> None:
        if max_categories is not None:
            check_count("max_categories", max_categories)
        self.max_categories = max_categories
        self._encoder = MixedEncoder(
            sparse=False, is_pair=False, is_prompt=True, max_categories=max_categories
        )
        self._labels: list[Name] = []
        self._lock = new_lock()

    def learn_one(  # type: ignore[override]
        self, x: Record, y: base.typing.ClfTarget, w: float = 1.0
    ) -> None:
        """Update the statistics with one example.

        Parameters
        ----------
        x
            A record.
        y
            A label: a boolean, 0 or 1, or -1 or 1.
        w
            Importance of the example. An example of weight 0 changes nothing.

        """
        positive, weight = parse_label(y), parse_weight(w)
        with self._lock:
            # A ValueError is raised if a value is refused.
            _, added = self._encoder.encode(x, learning=weight > 0.0)
            if added is not None:
                self._encoder.update(added, positive, weight)

    def transform_one(self, x: Record) -> dict[Name, typing.Any]:
        """Return a record as numbers.

        Parameters
        ----------
        x
            A record.

        """
        with self._lock:
            encoder, labels = self._encoder, self._labels
            columns = encoder.columns.columns
            if not columns:
                # Some models, such as river's forests, count the features of the first example.
                encoder = MixedEncoder(sparse=False, is_pair=False, is_prompt=True)
                encoder.encode(x, learning=True)
                columns = encoder.columns.columns
                labels = _labels(encoder)
            elif len(labels) != len(columns):
                labels = self._labels = _labels(encoder)
            numbers = encoder.encode(x)[0].tolist()
        # Without numbers that are unknown, or absent words, which are 0.
        return {
            label: number
            for label, (_, kind), number in zip(labels, columns, numbers, strict=False)
            if number == number
            and (number or kind != NUMBER or not parse_value(label, x.get(label)).number)
        }

    def __getstate__(self) -> State:
        with self._lock:
            return {"max_categories": self.max_categories, "encoder": self._encoder.get_state()}

    def __setstate__(self, state: State) -> None:
        read_fields(state, {"max_categories": typing.Any, "encoder": typing.Any})
        type(self).__init__(self, state["max_categories"])
        self._encoder.set_state(state["encoder"])

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, typing.Any]]:
        yield {}
        yield {"max_categories": 10}


def _labels(encoder: MixedEncoder) -> list[Name]:
    """Return a readable name for each column."""
    columns = [(encoder.features.names[feature], kind) for feature, kind in encoder.columns.columns]
    taken = {name for name, kind in columns if kind == NUMBER}
    labels: list[Name] = []
    for name, kind in columns:
        label = name
        if kind != NUMBER:
            # If another column has that name already, this one keeps its own.
            label = _label(name, KIND_NAMES[kind])
            label = (name, KIND_NAMES[kind]) if label in taken else label
        taken.add(label)
        labels.append(label)
    return labels


def _label(name: Name, kind: str) -> Name:
    """Return a readable name for what a column says about a feature.

    Examples
    --------
    >>> _label(TimePart("when", "hour"), "log odds")
    'when_hour_log_odds'

    """
    if isinstance(name, TimePart):
        return _label(name.feature, f"{name.part} {kind}")
    return f"{name}_{kind.replace(' ', '_')}" if isinstance(name, str) else (name, kind)
