"""RecordEncoder: raw records as numbers, for any model of river."""

from __future__ import annotations

import typing
from collections.abc import Iterator, Mapping, Sequence

from river import base

from river_oauc.encoding.columns import Column
from river_oauc.encoding.kinds import TimePart
from river_oauc.encoding.labels import parse_label, parse_weight
from river_oauc.encoding.records import RecordVectorizer
from river_oauc.encoding.values import Record
from river_oauc.locks import new_lock
from river_oauc.parameters import check_count
from river_oauc.state import State, StateReader

__all__ = ["RecordEncoder"]

Name = base.typing.FeatureName


# Pipelines treat a supervised transformer as one only if it is a Transformer as well.
class RecordEncoder(base.SupervisedTransformer, base.Transformer):
    """Turn raw records into numbers, by what came before: for any binary classifier of river.

    A record is what an application has: `{"amount": 12.5, "country": "FR", "device": None}`. Put
    this in front of a model that wants numbers. `AutoOAUC`, `OTAUC` and
    `SparseOAUCM` do not need it, because they encode records themselves.

    - A number stands for itself, unscaled.
    - A category (a string, and any other hashable value) stands for its log odds: how much more
      often it came with positives than an average example did, among the examples before. So
      nothing leaks from the label of an example, and a thousand categories take one feature. Where
      its latest examples predict better, recent log odds stand beside.
    - A whole number is both, if its values recur and are more than two: ids and codes are often
      written in digits.
    - None, NaN, NaT, NA and an absent key all mean unknown: the feature is left out. A feature that
      is known in most examples and unknown now and then has an indicator.
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
        self._vectorizer = RecordVectorizer(max_categories=max_categories)
        # The name of each column, and whether it is a number of the record.
        self._labels: list[tuple[Name, bool]] = []
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
            vectorizer = self._vectorizer
            # A copy: another thread may change the record meanwhile.
            x = dict(x) if isinstance(x, Mapping) else x
            # A ValueError is raised if a value is refused.
            array = vectorizer.encode(x)
            if weight:
                if array is None:
                    vectorizer.extend(vectorizer.names_in(x))
                vectorizer.learn(x, positive, weight)

    def transform_one(self, x: Record) -> dict[Name, typing.Any]:
        """Return a record as numbers.

        Parameters
        ----------
        x
            A record.

        """
        with self._lock:
            vectorizer, labels = self._vectorizer, self._labels
            if not len(vectorizer):
                # Some models, such as river's forests, count the features of the first example.
                vectorizer = RecordVectorizer()
                vectorizer.extend(vectorizer.names_in(x))
                labels = _labels(vectorizer.names)
            elif len(labels) != len(vectorizer):
                labels = self._labels = _labels(vectorizer.names)
            numbers = vectorizer.encode_known(x).tolist()
        # Without numbers that are unknown, or absent words, which are 0.
        return {
            label: number
            for (label, is_number), number in zip(labels, numbers, strict=False)
            if number == number and (number or not is_number or label in x)
        }

    def __getstate__(self) -> State:
        with self._lock:
            return {
                "max_categories": self.max_categories, "vectorizer": self._vectorizer.get_state()
            }  # fmt: skip

    def __setstate__(self, state: State) -> None:
        reader = StateReader(state, type(self).__name__)
        type(self).__init__(self, reader.take("max_categories"))
        self._vectorizer.set_state(reader.reader("vectorizer"))
        reader.finish()

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, typing.Any]]:
        yield {}
        yield {"max_categories": 10}


def _labels(names: Sequence[Name]) -> list[tuple[Name, bool]]:
    """Return a readable name for each column, and whether it is a number of the record."""
    numbers = {name for name in names if not isinstance(name, Column)}
    taken = set(numbers)
    labels: list[tuple[Name, bool]] = []
    for name in names:
        label = _label(name)
        # If another column has that name already, this one keeps its own.
        if label in taken and name not in numbers:
            label = name
        taken.add(label)
        labels.append((label, name in numbers))
    return labels


def _label(name: Name) -> Name:
    """Return a readable name for a column.

    Examples
    --------
    >>> _label(Column(TimePart("when", "hour"), "log odds"))
    'when_hour_log_odds'

    """
    if isinstance(name, Column | TimePart):
        feature = _label(name.feature)
        if isinstance(feature, str):
            kind = name.kind if isinstance(name, Column) else name.part
            return f"{feature}_{kind.replace(' ', '_')}"
    return name
