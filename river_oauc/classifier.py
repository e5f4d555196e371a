"""The contract with river, written once for all classifiers of this package."""

from __future__ import annotations

import abc
import inspect
import typing
from collections.abc import Hashable

import numpy as np
from river import base
from river.utils import dataframe

from river_oauc.acceleration import accelerate
from river_oauc.encoding.base import Encoder, Rows
from river_oauc.encoding.frames import Frame, naming_the_row, read_labels, read_weights
from river_oauc.encoding.labels import parse_label, parse_weight
from river_oauc.encoding.values import Record
from river_oauc.locks import new_lock
from river_oauc.parameters import check_choice
from river_oauc.rankers.base import FloatArray, LearningRanker, Ranker, ReentranceError
from river_oauc.rankers.calibration import probability
from river_oauc.state import State, StateReader

if typing.TYPE_CHECKING:
    from narwhals.stable.v2.typing import IntoDataFrame, IntoSeries


# The format of states and pickles. It grows by one whenever older states can no longer be read.
FORMAT = 3


class OnlineAUCClassifier(base.MiniBatchClassifier):
    """Base class of the classifiers that learn a score.

    It has an encoder, which makes examples of records, and a ranker, which learns from them. The
    class itself knows labels, importance weights, data frames, probabilities, threads, pickles and
    merging. A concrete class declares its parameters, and says which encoder and ranker they make.

    One thread may learn while others predict, copy or pickle: a lock serialises learning and
    scoring, so each sees a whole state.

    Parameters
    ----------
    prior
        `"balanced"` or `"empirical"`: whether probabilities take the classes to be equally
        frequent, or as frequent as they have been.

    """

    def __init__(self, prior: str) -> None:
        check_choice("prior", prior, ("balanced", "empirical"))
        self.prior = prior
        self._encoder: Encoder[typing.Any] = self._new_encoder()
        self._ranker: LearningRanker[typing.Any] = accelerate(self._new_ranker())
        # The name of the labels of the last learn_many, by which river calls predictions.
        self._y_name: str | None = None
        self._lock = new_lock()

    @abc.abstractmethod
    def _new_encoder(self) -> Encoder[typing.Any]:
        """Return an encoder that knows nothing yet."""

    @abc.abstractmethod
    def _new_ranker(self) -> Ranker[typing.Any]:
        """Return a numpy ranker that has learned nothing yet."""

    # Learning --------------------------------------------------------------------------------

    def learn_one(self, x: Record, y: base.typing.ClfTarget, w: float = 1.0) -> None:
        """Update the model with one example.

        Parameters
        ----------
        x
            A dictionary of features.
        y
            A label: a boolean, 0 or 1, or -1 or 1.
        w
            Importance of the example. It multiplies the gradient of the example's loss, and its
            weight in all averages. An example of weight 0 changes nothing.

        """
        positive = y if y is True or y is False else parse_label(y)
        if w != 1.0 or type(w) is not float:
            w = parse_weight(w)
        with self._lock:
            example = self._encoder.encode(x)
            if w:
                if example is None:
                    self._learn_new(self._encoder.read(x), 0, positive, w)
                else:
                    self._ranker.learn(example, positive, w)
                    self._encoder.learn(x, positive, w)

    def learn_many(self, X: IntoDataFrame, y: IntoSeries, w: float | IntoSeries = 1.0) -> None:
        """Update the model with each row of `X` in turn, exactly as `learn_one` would.

        If a value, a label or a weight is refused, so is the whole batch. If the step on a row is
        refused, the rows before it have been learned, and the error names the row. An exception of
        another kind, Ctrl-C included, gets a note that names the row.

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
        labels, y_name = read_labels(y, len(frame))
        weights = read_weights(w, len(frame))
        rows = self._encoder.read_frame(frame, learning=True)
        with naming_the_row(len(frame)) as counter:
            for counter.row, (positive, weight) in enumerate(
                zip(labels.tolist(), weights.tolist(), strict=True)
            ):
                if weight:
                    with self._lock:
                        self._learn_row(rows, counter.row, positive, weight)
        self._y_name = y_name

    def _learn_row(self, rows: Rows[typing.Any], row: int, positive: bool, weight: float) -> None:
        example = rows.encode(self._encoder, row)
        if example is None:
            self._learn_new(rows, row, positive, weight)
        else:
            self._ranker.learn(example, positive, weight)
            rows.learn(self._encoder, row, positive, weight)

    def _learn_new(self, rows: Rows[typing.Any], row: int, positive: bool, weight: float) -> None:
        """Learn from an example with new features, and remove them again if it is refused."""
        encoder = self._encoder
        checkpoint = encoder.checkpoint()
        encoder.extend(rows.names_in(encoder, row))
        try:
            self._ranker.learn(rows.encode(encoder, row), positive, weight)
        except ReentranceError:
            # Another example has been learned meanwhile, perhaps with the same names.
            raise
        except Exception:
            # The ranker is larger if it has failed after it has grown, for lack of memory. Ctrl-C
            # is not an Exception: it leaves the new names, which does no harm.
            encoder.truncate(checkpoint, self._ranker.n_features)
            raise
        rows.learn(encoder, row, positive, weight)

    # Predicting ------------------------------------------------------------------------------

    def score_one(self, x: Record) -> float:
        """Return the score of `x`: the higher, the more likely a positive. It has no unit.

        Parameters
        ----------
        x
            A dictionary of features.

        """
        with self._lock:
            return self._ranker.score(self._encoder.encode_known(x))

    def predict_proba_one(
        self, x: Record, **kwargs: typing.Any
    ) -> dict[base.typing.ClfTarget, float]:
        """Return the probability of each label.

        Parameters
        ----------
        x
            A dictionary of features.

        """
        with self._lock:
            ranker = self._ranker
            score = ranker.score(self._encoder.encode_known(x))
            p = probability(ranker.logit(score, self.prior == "empirical"))
        return {False: 1.0 - p, True: p}

    def score_many(self, X: IntoDataFrame) -> IntoSeries:
        """Return the score of each row of `X`, as `score_one` does.

        Parameters
        ----------
        X
            A data frame of features. A null or a missing column is an absent feature.

        """
        frame = dataframe.into_frame(X)
        with self._lock:
            scores = self._scores(frame)
        return dataframe.to_native_series(np.array(scores), name="score", like=frame)

    def predict_proba_many(self, X: IntoDataFrame) -> IntoDataFrame:
        """Return the probability of each label for each row of `X`.

        Parameters
        ----------
        X
            A data frame of features. A null or a missing column is an absent feature.

        """
        frame = dataframe.into_frame(X)
        p = self._probabilities(frame)
        return dataframe.to_native_frame({False: 1.0 - p, True: p}, like=frame)

    def predict_many(self, X: IntoDataFrame) -> IntoSeries:
        """Return the label of each row of `X`.

        Parameters
        ----------
        X
            A data frame of features. A null or a missing column is an absent feature.

        """
        frame = dataframe.into_frame(X)
        labels = self._probabilities(frame) > 0.5
        return dataframe.to_native_series(labels, name=self._y_name, like=frame)

    def _scores(self, frame: Frame) -> list[float]:
        rows = self._encoder.read_frame(frame, learning=False)
        return [self._ranker.score(example) for example in rows.encode_known(self._encoder)]

    def _probabilities(self, frame: Frame) -> FloatArray:
        empirical = self.prior == "empirical"
        with self._lock:
            logits = [self._ranker.logit(score, empirical) for score in self._scores(frame)]
        return np.array([probability(logit) for logit in logits], dtype=float)

    # Merging ---------------------------------------------------------------------------------

    def __iadd__(self, other: typing.Self) -> typing.Self:
        """Add what another model has learned from another part of the stream.

        The result stands for both parts, and goes on learning. Features are matched by name. The
        other model stays as it is. See each class for which parts merge exactly.
        """
        if type(other) is not type(self):
            return NotImplemented
        self._check_mergeable(other)
        # Always in the same order, so that two threads never wait for each other.
        first, second = sorted((self, other), key=lambda model: id(model._lock))
        with first._lock, second._lock:
            encoder, ranker = self._merged(other)
            self._encoder, self._ranker = encoder, ranker
        return self

    def __add__(self, other: typing.Self) -> typing.Self:
        """Return a new model that stands for the parts of the stream of both."""
        if type(other) is not type(self):
            return NotImplemented
        self._check_mergeable(other)
        merged = self.clone(include_attributes=True)
        merged += other
        return merged

    def __radd__(self, other: typing.Any) -> typing.Self:
        """Start a `sum` of models, which adds to 0."""
        if type(other) is int and other == 0:
            return self.clone(include_attributes=True)
        return NotImplemented

    def _merged(self, other: typing.Self) -> tuple[Encoder[typing.Any], LearningRanker[typing.Any]]:
        encoder = self._encoder.merged(other._encoder)
        mine, theirs = self._numpy_ranker(), other._numpy_ranker()
        mine.reindex(encoder.positions(self._encoder.names), encoder.size)
        theirs.reindex(encoder.positions(other._encoder.names), encoder.size)
        mine.merge(theirs)
        return encoder, accelerate(mine)

    def _check_mergeable(self, other: typing.Self) -> None:
        if other is self:
            raise ValueError(
                "a model cannot be merged with itself: every example would count twice"
            )
        mine, theirs = self._get_params(), other._get_params()
        for name in mine.keys() - {"seed"}:
            if mine[name] != theirs[name]:
                raise ValueError(
                    f"cannot merge models with different values of {name}: "
                    f"{getattr(self, name)!r} and {getattr(other, name)!r}"
                )

    def _numpy_ranker(self) -> typing.Any:
        """Return a numpy ranker with a copy of the state."""
        ranker = self._new_ranker()
        ranker.set_state(StateReader(self._ranker.get_state(), type(self).__name__))
        return ranker

    # Copies and pickles ----------------------------------------------------------------------

    def _parameters(self) -> dict[str, typing.Any]:
        """Return the parameters by name, as they were given."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def __getstate__(self) -> State:
        with self._lock:
            return {
                "format": FORMAT,
                "parameters": self._parameters(),
                "y_name": self._y_name,
                "encoder": self._encoder.get_state(),
                "ranker": self._ranker.get_state(),
            }

    def __setstate__(self, state: State) -> None:
        reader = StateReader(state, type(self).__name__)
        version = reader.count("format", minimum=1)
        if version != FORMAT:
            raise ValueError(
                f"this {type(self).__name__} was saved in format {version}, and this version of "
                f"river-oauc reads format {FORMAT}: "
                + ("upgrade river-oauc" if version > FORMAT else "learn it again")
            )
        parameters = reader.take("parameters")
        try:
            type(self).__init__(self, **parameters)
        except TypeError:
            raise reader.error("the parameters are not those of the class") from None
        self._restore(reader)

    def _restore(self, reader: StateReader) -> None:
        """Take over encoder and ranker of a state."""
        y_name = reader.take("y_name")
        if not isinstance(y_name, Hashable):
            raise reader.error("y_name is not hashable")
        encoder, ranker = self._new_encoder(), self._new_ranker()
        try:
            encoder.set_state(reader.reader("encoder"))
            ranker.set_state(reader.reader("ranker"))
        except MemoryError:
            raise reader.error("it needs more memory than there is") from None
        reader.finish()
        if not encoder.has_room_for(ranker.n_features):
            raise reader.error(
                f"the ranker has {ranker.n_features} features, and the encoder {encoder.size}"
            )
        self._encoder, self._ranker = encoder, accelerate(ranker)
        self._y_name = typing.cast(str | None, y_name)

    def clone(
        self, new_params: dict[str, typing.Any] | None = None, include_attributes: bool = False
    ) -> typing.Self:
        """Return a new model with the same parameters.

        Parameters
        ----------
        new_params
            Parameters to override, by name.
        include_attributes
            Whether to copy what has been learned as well.

        """
        twin: typing.Self = super().clone(new_params)
        if include_attributes:
            state = self.__getstate__()
            del state["format"], state["parameters"]
            twin._restore(StateReader(state, type(self).__name__))
        return twin

    def mutate(self, new_attrs: dict[str, typing.Any]) -> None:
        """Change parameters in place: those that the class allows, to what `__init__` allows.

        Parameters
        ----------
        new_attrs
            The new values, by the names of the parameters.

        """
        with self._lock:
            # On a copy: if a value is refused, nothing has changed here.
            twin = self.clone(include_attributes=True)
            base.Base.mutate(twin, new_attrs)
            twin = twin.clone(include_attributes=True)
            super().mutate(new_attrs)
            self._ranker = twin._ranker

    # river -----------------------------------------------------------------------------------

    @property
    def _raw_memory_usage(self) -> int:
        """The memory of the state, in bytes."""
        return _n_bytes(self.__getstate__())

    def _unit_test_skips(self) -> set[str]:
        # It holds for the classifiers themselves. But a pipeline asks its last step what to skip,
        # and a scaler in front of it learns a whole batch before it transforms the first row.
        return {"check_learn_many_matches_learn_one"}


def _n_bytes(value: typing.Any) -> int:
    """Return the size of plain data."""
    if isinstance(value, dict):
        return sum(map(_n_bytes, (*value.keys(), *value.values())))
    if isinstance(value, list | tuple):
        return value.__sizeof__() + sum(map(_n_bytes, value))
    return int(value.__sizeof__())
