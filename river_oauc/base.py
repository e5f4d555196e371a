"""The contract with river, written once for all learners of this package."""

from __future__ import annotations

import abc
import contextlib
import sys
import typing
from collections.abc import Iterable, Iterator

import numpy as np
from river import base
from river.utils import dataframe

from river_oauc.calibration import Calibration
from river_oauc.inputs.arrays import FloatArray
from river_oauc.inputs.frames import (
    parse_label,
    parse_weight,
    read_features,
    read_labels,
    read_weights,
)
from river_oauc.inputs.vectorizer import MAX_NORM, Features, Vectorizer
from river_oauc.interrupts import HeldInterrupts

if typing.TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    from narwhals.stable.v2.typing import IntoDataFrame, IntoSeries

__all__ = ["OnlineAUCClassifier", "divergence"]

# The format of pickled classifiers. It goes up by one when the attributes of a classifier, or of
# what it is made of, change so that an older state cannot be taken as it is; `__setstate__` then
# translates the older ones.
_FORMAT = 1

# The weight of an example that is given none: this very object needs no check.
_UNIT = 1.0


class OnlineAUCClassifier(base.MiniBatchClassifier):
    """Base of the classifiers that learn a score.

    It checks labels, weights and features, turns dicts and data frames into arrays, and scores into
    probabilities. A method says how it scores one array (`_score`) and many (`_score_many`), how it
    learns from one (`_learn`), and how it makes room for more features (`_resize`).

    A refused example leaves the model as it was: `_learn` refuses before it changes anything.

    Parameters
    ----------
    prior
        `"balanced"` or `"empirical"`; see `calibration.Calibration`.

    """

    def __init__(self, prior: str) -> None:
        self.prior = prior
        self._calibration = Calibration(prior)
        self._vectorizer = Vectorizer()
        # river names what predict_many returns after the labels of the last learn_many.
        self._y_name: str | None = None

    def __getstate__(self) -> dict[str, typing.Any]:
        return {"_format": _FORMAT, **vars(self)}

    def __setstate__(self, state: dict[str, typing.Any]) -> None:
        attributes = dict(state)
        number = attributes.pop("_format", 0)
        if not number:
            raise ValueError(
                f"this {type(self).__name__} was pickled without a format number, before the first "
                "release, and cannot be read any more"
            )
        if number > _FORMAT:
            raise ValueError(
                f"this {type(self).__name__} was pickled in format {number}, and this version of "
                f"river-oauc reads formats up to {_FORMAT}: upgrade river-oauc"
            )
        for name, value in attributes.items():
            # Not by vars(self).update: setattr interns the names, as Python's own loading does, and
            # equal models then have equal pickles.
            setattr(self, name, value)

    @abc.abstractmethod
    def _score(self, x: FloatArray) -> float:
        """The score of one example."""

    @abc.abstractmethod
    def _score_many(self, matrix: FloatArray) -> FloatArray:
        """The scores of the rows of a matrix."""

    @abc.abstractmethod
    def _learn(self, x: FloatArray, positive: bool, w: float) -> None:
        """Learn from one example with a weight above 0, or raise a ValueError and change nothing.

        The array may be changed, but not kept: the next example may be written into it.
        """

    @abc.abstractmethod
    def _resize(self, size: int) -> None:
        """Make all state fit arrays of this length: pad with zeros, or cut zeros off."""

    def _largest_size(self, n_features: int) -> int:
        """The length that arrays may have at most, or a ValueError if these are too many features.

        For learners that need more memory than in proportion to the features.
        """
        return sys.maxsize

    def _unit_test_skips(self) -> set[str]:
        # It holds for the learners themselves. But a pipeline asks its last step what to skip, and
        # a scaler in front of it learns a whole batch before it transforms the first row.
        return {"check_learn_many_matches_learn_one"}

    def learn_one(self, x: Features, y: base.typing.ClfTarget, w: float = _UNIT) -> None:
        """Update the model with the features `x` and the label `y`.

        Parameters
        ----------
        x
            A dictionary of features: finite real numbers.
        y
            A label: a boolean, 0 or 1, or -1 or 1.
        w
            Importance of the example. It multiplies the gradient of the example's loss, and its
            weight in whatever is averaged. An example of weight 0 changes nothing.

        """
        positive = y if y is True or y is False else parse_label(y)
        if w is not _UNIT:
            w = parse_weight(w)
        array = self._vectorizer.encode(x)
        if array is not None:
            if w:
                self._learn(array, positive, w)
        elif w:
            with self._room_for(x):
                self._learn(self._vectorizer.encode(x, True), positive, w)

    def score_one(self, x: Features) -> float:
        """The score of `x`: the higher, the more likely a positive. It ranks, and has no unit.

        Parameters
        ----------
        x
            A dictionary of features. A NaN counts as an absent feature.

        """
        return self._score(self._vectorizer.encode(x, True))

    def predict_proba_one(
        self, x: Features, **kwargs: typing.Any
    ) -> dict[base.typing.ClfTarget, float]:
        """Predict the probability of each label for a dictionary of features `x`.

        Parameters
        ----------
        x
            A dictionary of features. A NaN counts as an absent feature.

        """
        p = self._calibration.probability(self._score(self._vectorizer.encode(x, True)))
        return {False: 1.0 - p, True: p}

    def learn_many(self, X: IntoDataFrame, y: IntoSeries, w: float | IntoSeries = 1.0) -> None:
        """Update the model with each row of `X` in turn, exactly as `learn_one` would.

        A batch with a value, a label or a weight to be refused is refused as a whole. If the step
        on a row is refused, the rows before it have been learned, and the error says which row.

        Whatever else ends it early, it has learned a whole number of rows, and a note on the
        exception says how many. In the main thread, a KeyboardInterrupt waits for the row to be
        finished; without a note, it has come before the first row. `learn_one` cannot afford that,
        and can be cut in half.

        Parameters
        ----------
        X
            A data frame of features (pandas, polars, pyarrow). A column that is missing is a
            feature that is absent.
        y
            A series of labels.
        w
            Importance of the examples: a series, or one number for all of them.

        """
        frame = dataframe.into_frame(X)
        columns = frame.columns
        labels, y_name = read_labels(y, len(frame))
        weights = read_weights(w, len(frame))
        rows = [row for row, weight in enumerate(weights) if weight]
        if rows:
            # A frame that is too wide is refused before it is copied.
            self._largest_size_with(columns)
        matrix = read_features(frame)
        self._vectorizer.check_matrix(matrix, columns)

        # All rows before this one have been learned.
        row = 0
        try:
            with HeldInterrupts() as interrupts:
                if rows:
                    row, *rest = rows
                    with self._room_for(columns):
                        matrix = self._vectorizer.encode_columns(matrix, columns)
                        self._learn(matrix[row], labels[row], weights[row])
                    for row in rest:
                        if interrupts.arrived:
                            interrupts.deliver()
                        self._learn(matrix[row], labels[row], weights[row])
                    row = len(frame)
                self._y_name = y_name
        except ValueError as refusal:
            learned = "the rows before it have" if row else "no row has"
            raise ValueError(
                f"{refusal} (row {row} of the data frame; {learned} been learned)"
            ) from refusal
        except BaseException as error:
            error.add_note(f"learn_many had learned {row} of {len(frame)} rows")
            raise

    def predict_proba_many(self, X: IntoDataFrame) -> IntoDataFrame:
        """Predict the probability of each label for each row of `X`.

        Parameters
        ----------
        X
            A data frame of features. A NaN, a null or a missing column is an absent feature.

        """
        frame = dataframe.into_frame(X)
        p = self._probabilities(frame)
        return dataframe.to_native_frame({False: 1.0 - p, True: p}, like=frame)

    def predict_many(self, X: IntoDataFrame) -> IntoSeries:
        """Predict the label of each row of `X`.

        Parameters
        ----------
        X
            A data frame of features. A NaN, a null or a missing column is an absent feature.

        """
        frame = dataframe.into_frame(X)
        labels = self._probabilities(frame) > 0.5
        return dataframe.to_native_series(labels, name=self._y_name, like=frame)

    def _probabilities(self, frame: nw.DataFrame[typing.Any]) -> FloatArray:
        matrix = read_features(frame)
        matrix = np.where(np.isnan(matrix), 0.0, matrix)
        self._vectorizer.check_matrix(matrix, frame.columns)
        scores = self._score_many(self._vectorizer.encode_columns(matrix, frame.columns))
        return self._calibration.probabilities(scores)

    def _largest_size_with(self, names: Iterable[base.typing.FeatureName]) -> int:
        """`_largest_size` for the names that are known together with these."""
        vectorizer = self._vectorizer
        return self._largest_size(len(vectorizer.names) + len(vectorizer.unknown(names)))

    @contextlib.contextmanager
    def _room_for(self, names: Iterable[base.typing.FeatureName]) -> Iterator[None]:
        """Learn new names for an example, and forget them again if it is refused."""
        vectorizer = self._vectorizer
        n_names, size = len(vectorizer.names), vectorizer.size
        vectorizer.extend(names, self._largest_size_with(names))
        try:
            if vectorizer.size != size:
                self._resize(vectorizer.size)
            yield
        except BaseException:
            is_resized = vectorizer.size != size
            vectorizer.truncate(n_names, size)
            if is_resized:
                self._resize(size)
            raise


def divergence() -> ValueError:
    """What to raise before weights that have grown too long are put in place."""
    return ValueError(
        f"the weights would grow beyond {MAX_NORM:g}: the step is too large for these features; "
        "scale them, or lower the step size"
    )
