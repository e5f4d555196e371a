"""The contract with river, written once for all classifiers of this package."""

from __future__ import annotations

import abc
import inspect
import time
import typing
from collections.abc import Callable, Hashable, Sequence

import numpy as np
from river import base
from river.utils import dataframe

from river_oauc import locks
from river_oauc.parameters import check_choice
from river_oauc.rankers.base import Ranker
from river_oauc.rankers.calibration import probability
from river_oauc.records.frames import Frame, read_labels, read_weights
from river_oauc.records.labels import parse_label, parse_weight
from river_oauc.records.parse import Record
from river_oauc.state import FloatArray, State, damage, n_bytes

if typing.TYPE_CHECKING:
    from narwhals.stable.v2.typing import IntoDataFrame, IntoSeries


# The format of states and pickles. It grows by one whenever older states can no longer be read.
FORMAT = 4

# A data frame is scored in turns of this many seconds. Between two of them, others get theirs.
_TURN = 0.002


class Encoder(typing.Protocol):
    """Make examples of records: arrays, or whatever else the ranker of a classifier learns from."""

    @property
    def size(self) -> typing.Any:
        """The number of features in an example, or a pair of them if an example is a pair."""

    def encode(self, x: Record, learning: bool = False) -> tuple[typing.Any, typing.Any]:
        """Return the example of a record, and what `update` and `rollback` need; None if nothing.

        A ValueError is raised if a value is refused. In learning, the encoder makes room for names
        that are new; in prediction, it leaves them out.
        """

    def rows(self, frame: Frame) -> tuple[Callable[..., typing.Any], Sequence[typing.Any]]:
        """Return a function that encodes the rows of a data frame, and what it takes for each."""

    def rollback(self, added: typing.Any) -> None:
        """Forget what the last `encode` has added, because the ranker has refused the example."""

    def update(self, added: typing.Any, positive: bool, weight: float) -> bool:
        """Update statistics with an example that the ranker has learned.

        Return whether there is more than the encoder may remember.
        """

    @property
    def is_full(self) -> bool:
        """Whether there is more than the encoder may remember."""

    def merged(self, other: typing.Any) -> tuple[typing.Any, typing.Any, typing.Any]:
        """Return an encoder that knows the features of both, and where theirs stand in it."""

    def get_state(self) -> State:
        """Return a copy of the state."""

    def set_state(self, state: typing.Any) -> None:
        """Take over a state, or raise a ValueError if it is damaged."""


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
        What a probability of one half means. `"balanced"`: as likely from either class, were they
        equally frequent. `"empirical"`: as frequent as the classes have been.

    """

    def __init__(self, prior: str) -> None:
        check_choice("prior", prior, ("balanced", "empirical"))
        self.prior = prior
        self._encoder = self._new_encoder()
        self._ranker = self._new_ranker()
        # The name of the labels of the last learn_many, by which river calls predictions.
        self._y_name: str | None = None
        self._lock = locks.new_lock()
        # The process in which a step is being taken. A fork has nothing to do with that step.
        self._learning_in: object = None

    @abc.abstractmethod
    def _new_encoder(self) -> typing.Any:
        """Return an encoder that knows nothing yet."""

    @abc.abstractmethod
    def _new_ranker(self) -> typing.Any:
        """Return a ranker that has learned nothing yet."""

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
        if type(w) is not float or w != 1.0:
            w = parse_weight(w)
        self._learn(self._encoder.encode, x, positive, w)

    def learn_many(self, X: IntoDataFrame, y: IntoSeries, w: float | IntoSeries = 1.0) -> None:
        """Update the model with each row of `X` in turn, exactly as `learn_one` would.

        If a row is refused, the rows before it have been learned, and the error names the row.

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
        encode, records = self._encoder.rows(frame)
        for row, (record, positive, weight) in enumerate(
            zip(records, labels.tolist(), weights.tolist(), strict=True)
        ):
            try:
                self._learn(encode, record, positive, weight)
            except ValueError as error:
                raise ValueError(
                    f"{error} (learning has stopped at row {row} of the data frame)"
                ) from error
        self._y_name = y_name

    def _learn(
        self,
        encode: Callable[..., typing.Any],
        record: typing.Any,
        positive: bool,
        weight: float,
        *served: typing.Any,
    ) -> None:
        """Learn from a record, given how to encode it, and what else the ranker is to know."""
        with self._lock:
            if self._learning_in is locks.process:
                raise RuntimeError(
                    "the model is learning already: neither a kernel nor a learning rate may call "
                    "learn_one or learn_many"
                )
            added = None
            try:
                self._learning_in = locks.process
                example, added = encode(record, weight > 0.0)
                if weight:
                    self._ranker.learn(example, positive, weight, *served)
            except BaseException:
                self._encoder.rollback(added)
                if not self._ranker_fits():
                    # It was interrupted, and has learned the new features.
                    encode(record, True)
                raise
            finally:
                self._learning_in = None
            if added is not None and weight and self._encoder.update(added, positive, weight):
                self._forget()

    def _forget(self) -> None:
        """Forget what is least important, because the encoder remembers too much."""

    # Predicting ------------------------------------------------------------------------------

    def score_one(self, x: Record) -> float:
        """Return the score of `x`: the higher, the more likely a positive. It has no unit.

        Parameters
        ----------
        x
            A dictionary of features.

        """
        with self._lock:
            return self._score(x)

    def _score(self, x: typing.Any) -> float:
        score: float = self._ranker.score(self._encoder.encode(x)[0])
        return score

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
            p = probability(self._ranker.logit(self._score(x), self.prior == "empirical"))
        return {False: 1.0 - p, True: p}

    def score_many(self, X: IntoDataFrame) -> IntoSeries:
        """Return the score of each row of `X`, as `score_one` does.

        Parameters
        ----------
        X
            A data frame of features. A null or a missing column is an absent feature.

        """
        frame = dataframe.into_frame(X)
        scores = self._score_rows(frame, lambda score: score)
        return dataframe.to_native_series(scores, name="score", like=frame)

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

    def _probabilities(self, frame: Frame) -> FloatArray:
        empirical = self.prior == "empirical"
        return self._score_rows(
            frame, lambda score: probability(self._ranker.logit(score, empirical))
        )

    def _score_rows(self, frame: Frame, result: Callable[[float], float]) -> FloatArray:
        """Return a result of the score of each row."""
        (encode, records), results, row = self._encoder.rows(frame), np.zeros(len(frame)), 0
        while row < len(frame):
            with self._lock:
                end = time.monotonic() + _TURN
                while row < len(frame) and (row % 8 or time.monotonic() < end):
                    try:
                        example, _ = encode(records[row], False)
                    except ValueError as error:
                        raise ValueError(f"{error} (row {row} of the data frame)") from None
                    results[row] = result(self._ranker.score(example))
                    row += 1
            if row < len(frame):
                # A lock that is taken again at once is never free for those who wait.
                time.sleep(1e-6)
        return results

    # Merging ---------------------------------------------------------------------------------

    def __iadd__(self, other: typing.Self) -> typing.Self:
        """Add what another model has learned from another part of the stream.

        The result stands for both parts, and goes on learning. Features are matched by name. The
        other model stays as it is. See each class for which parts merge exactly.
        """
        if type(other) is not type(self) or not hasattr(self._ranker, "merge"):
            return NotImplemented
        self._check_mergeable(other)
        # Always in the same order, so that two threads never wait for each other.
        first, second = sorted((self, other), key=lambda model: id(model._lock))
        with first._lock, second._lock:
            encoder, mine, theirs = self._encoder.merged(other._encoder)
            ranker, other_ranker = self._copied_ranker(), other._copied_ranker()
            ranker.reindex(mine, encoder.size)
            other_ranker.reindex(theirs, encoder.size)
            ranker.merge(other_ranker)
            self._encoder, self._ranker = encoder, ranker
            if encoder.is_full:
                self._forget()
        return self

    def __add__(self, other: typing.Self) -> typing.Self:
        """Return a new model that stands for the parts of the stream of both."""
        if type(other) is not type(self) or not hasattr(self._ranker, "merge"):
            return NotImplemented
        self._check_mergeable(other)
        return self.clone(include_attributes=True).__iadd__(other)

    def __radd__(self, other: typing.Any) -> typing.Self:
        """Start a `sum` of models, which adds to 0."""
        if type(other) is int and other == 0:
            return self.clone(include_attributes=True)
        return NotImplemented

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

    def _copied_ranker(self) -> typing.Any:
        ranker: Ranker = self._new_ranker()
        ranker.set_state(self._ranker.get_state())
        return ranker

    # Copies and pickles ----------------------------------------------------------------------

    def __getstate__(self) -> State:
        with self._lock:
            return {
                "format": FORMAT,
                "parameters": {
                    name: getattr(self, name) for name in inspect.signature(type(self)).parameters
                },
                "y_name": self._y_name,
                "encoder": self._encoder.get_state(),
                "ranker": self._ranker.get_state(),
            }

    def __setstate__(self, state: State) -> None:
        if type(state) is not dict or type(state.get("format")) is not int:
            raise damage("it has no format")
        if state["format"] != FORMAT:
            raise ValueError(
                f"this {type(self).__name__} was saved in format {state['format']}, and this "
                f"version of river-oauc reads format {FORMAT}: "
                + ("upgrade river-oauc" if state["format"] > FORMAT else "learn it again")
            )
        if state.keys() != {"format", "parameters", "y_name", "encoder", "ranker"}:
            raise damage(f"it has not the fields of a {type(self).__name__}")
        try:
            type(self).__init__(self, **state["parameters"])
        except (TypeError, MemoryError):
            raise damage("the parameters are not those of the class, or too large") from None
        self._set_learned(state)

    def _set_learned(self, state: State) -> None:
        """Take over all of a state but the parameters."""
        if not isinstance(state["y_name"], Hashable):
            raise damage("y_name is not hashable")
        self._y_name = typing.cast(str | None, state["y_name"])
        self._encoder.set_state(state["encoder"])
        self._ranker.set_state(state["ranker"])
        if not self._ranker_fits():
            raise damage("the ranker has more features than the encoder")

    def _ranker_fits(self) -> bool:
        """Whether the encoder knows all features that the ranker has."""
        return bool(np.all(np.asarray(self._ranker.n_features) <= np.asarray(self._encoder.size)))

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
            twin._set_learned(self.__getstate__())
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
            changed = self.clone()
            base.Base.mutate(changed, new_attrs)
            changed = changed.clone()
            changed._set_learned(self.__getstate__())
            super().mutate(new_attrs)
            self._ranker = changed._ranker

    # river -----------------------------------------------------------------------------------

    @property
    def _raw_memory_usage(self) -> int:
        """The memory of the state, in bytes."""
        return n_bytes(self.__getstate__())

    def _unit_test_skips(self) -> set[str]:
        # It holds for the classifiers themselves. But a pipeline asks its last step what to skip,
        # and a scaler in front of it learns a whole batch before it transforms the first row.
        return {"check_learn_many_matches_learn_one"}
