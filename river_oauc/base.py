"""The contract with river, written once for all learners of this package."""

from __future__ import annotations

import abc
import copy
import threading
import typing

from river import base
from river.utils import dataframe

from river_oauc.calibration import Calibration
from river_oauc.inputs.arrays import BoolArray, FloatArray
from river_oauc.inputs.frames import read_labels, read_weights
from river_oauc.inputs.limits import Features
from river_oauc.learner import Learner

if typing.TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    from narwhals.stable.v2.typing import IntoDataFrame, IntoSeries

__all__ = ["FORMAT", "OnlineAUCClassifier"]

# The format of pickled classifiers. It goes up by one when the attributes of a classifier, or of
# what it is made of, change so that an older state cannot be taken as it is; `__setstate__` then
# translates the older ones.
FORMAT = 1


class _Lock(type(threading.RLock())):  # type: ignore[misc]
    """A lock of which every copy is a new one."""

    def __reduce__(self) -> tuple[type[_Lock], tuple[()]]:
        return _Lock, ()


class OnlineAUCClassifier(Learner, base.MiniBatchClassifier):
    """Base of the classifiers that learn a score.

    It knows labels, importance weights, probabilities, pickles and threads, and nothing of how an
    example is stored. A backend checks features and brings them into the form that its learners
    work on: it says how an example is learned (`_learn_example`) and scored (`_score_example`), and
    the same for the rows of a data frame (`_learn_frame`, `_score_frame`). `inputs.dense` is the
    backend of arrays.

    One thread may learn while others predict: a prediction waits for the example that is just being
    learned, and so comes from a whole state.

    Parameters
    ----------
    prior
        `"balanced"` or `"empirical"`; see `calibration.Calibration`.

    """

    def __init__(self, prior: str) -> None:
        self.prior = prior
        self._calibration = Calibration(prior)
        # river names what predict_many returns after the labels of the last learn_many.
        self._y_name: str | None = None
        self._lock = _Lock()

    def __getstate__(self) -> dict[str, typing.Any]:
        state = {"_format": FORMAT, **super().__getstate__()}
        state.pop("_lock", None)
        return state

    def __setstate__(self, state: dict[str, typing.Any]) -> None:
        attributes = dict(state)
        number = attributes.pop("_format", 0)
        if not number:
            raise ValueError(
                f"this {type(self).__name__} was pickled without a format number, before the first "
                "release, and cannot be read any more"
            )
        if number > FORMAT:
            raise ValueError(
                f"this {type(self).__name__} was pickled in format {number}, and this version of "
                f"river-oauc reads formats up to {FORMAT}: upgrade river-oauc"
            )
        super().__setstate__(attributes)
        self._lock = _Lock()

    @abc.abstractmethod
    def _learn_example(self, x: Features, positive: bool, w: float) -> None:
        """Learn from one example, or raise a ValueError and change nothing.

        An example of weight 0 is checked, and changes nothing.
        """

    @abc.abstractmethod
    def _score_example(self, x: Features) -> float:
        """The score of one example."""

    @abc.abstractmethod
    def _learn_frame(
        self, frame: nw.DataFrame[typing.Any], labels: BoolArray, weights: FloatArray
    ) -> None:
        """Learn from each row in turn, as `_learn_example` would.

        All values are checked before the first row is learned. If the step on a row is refused, or
        anything else ends the learning early, the exception says in which row (`frames.RowCount`).
        """

    @abc.abstractmethod
    def _score_frame(self, frame: nw.DataFrame[typing.Any]) -> FloatArray:
        """The scores of the rows."""

    @abc.abstractmethod
    def _absorb(self, other: typing.Self) -> None:
        """Add what a model with the same parameters has learned, which must not change.

        Raises a ValueError and changes nothing if both together are too much.
        """

    def __iadd__(self, other: typing.Self) -> typing.Self:
        """Add what another model has learned from another part of the stream.

        The result stands for both parts, and goes on learning. Features are matched by name. What
        is exact, and what is not, says the class. The other model stays as it is.
        """
        self._check_merges(other)
        # In one order whoever adds whom, so that two threads never wait for each other.
        first, second = sorted((self, other), key=id)
        with first._lock, second._lock:
            self._absorb(other)
        return self

    def __add__(self, other: typing.Self) -> typing.Self:
        """A new model that stands for the parts of the stream of both."""
        self._check_merges(other)
        with self._lock:
            merged = copy.deepcopy(self)
        merged += other
        return merged

    def _check_merges(self, other: OnlineAUCClassifier) -> None:
        if type(other) is not type(self):
            raise ValueError(
                f"a {type(self).__name__} merges with its like, not with a {type(other).__name__}"
            )
        if other is self:
            raise ValueError("a model cannot be merged with itself: that would count all twice")
        theirs = other._get_params()
        for name, value in self._get_params().items():
            if name != "seed" and not _alike(value, theirs[name]):
                raise ValueError(
                    f"models with another {name} do not merge: {value!r} and {theirs[name]!r}"
                )

    def _unit_test_skips(self) -> set[str]:
        # It holds for the learners themselves. But a pipeline asks its last step what to skip, and
        # a scaler in front of it learns a whole batch before it transforms the first row.
        return {"check_learn_many_matches_learn_one"}

    def clone(
        self, new_params: dict[str, typing.Any] | None = None, include_attributes: bool = False
    ) -> typing.Self:
        """A new model with the same parameters.

        Parameters
        ----------
        new_params
            Parameters to be others, by name.
        include_attributes
            Whether to copy what has been learned as well.

        """
        twin: typing.Self = super().clone(new_params, include_attributes)
        if include_attributes:
            # What river does with the dict of an object.
            for name in self.__fields__:
                if name not in self._get_params():
                    setattr(twin, name, copy.deepcopy(getattr(self, name)))
        return twin

    def mutate(self, new_attrs: dict[str, typing.Any]) -> None:
        """Change parameters in place: those that the class allows, to what `__init__` allows.

        Parameters
        ----------
        new_attrs
            The new values, by the names of the parameters.

        """
        # A trial on a model that has learned nothing: what it refuses changes nothing here.
        trial = self.clone()
        base.Base.mutate(trial, new_attrs)
        trial.clone()
        super().mutate(new_attrs)

    def learn_many(self, X: IntoDataFrame, y: IntoSeries, w: float | IntoSeries = 1.0) -> None:
        """Update the model with each row of `X` in turn, exactly as `learn_one` would.

        A batch with a value, a label or a weight to be refused is refused as a whole. If the step
        on a row is refused, the rows before it have been learned, and the error says which row.
        Whatever else ends it early, Ctrl-C included, carries a note that says in which row.

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
        self._learn_frame(frame, labels, read_weights(w, len(frame)))
        self._y_name = y_name

    def score_many(self, X: IntoDataFrame) -> IntoSeries:
        """The score of each row of `X`, as `score_one` gives it.

        Parameters
        ----------
        X
            A data frame of features. A null or a missing column is an absent feature.

        """
        frame = dataframe.into_frame(X)
        with self._lock:
            scores = self._score_frame(frame)
        return dataframe.to_native_series(scores, name="score", like=frame)

    def predict_proba_many(self, X: IntoDataFrame) -> IntoDataFrame:
        """The probability of each label for each row of `X`.

        Parameters
        ----------
        X
            A data frame of features. A null or a missing column is an absent feature.

        """
        frame = dataframe.into_frame(X)
        p = self._probabilities(frame)
        return dataframe.to_native_frame({False: 1.0 - p, True: p}, like=frame)

    def predict_many(self, X: IntoDataFrame) -> IntoSeries:
        """The label of each row of `X`.

        Parameters
        ----------
        X
            A data frame of features. A null or a missing column is an absent feature.

        """
        frame = dataframe.into_frame(X)
        labels = self._probabilities(frame) > 0.5
        return dataframe.to_native_series(labels, name=self._y_name, like=frame)

    def _probabilities(self, frame: nw.DataFrame[typing.Any]) -> FloatArray:
        with self._lock:
            return self._calibration.probabilities(self._score_frame(frame))


def _alike(mine: typing.Any, theirs: typing.Any) -> bool:
    """Whether two parameters are the same: two equal kernels, or schedulers, are."""
    if mine is theirs or mine == theirs:
        return True
    return type(mine) is type(theirs) and hasattr(mine, "__dict__") and vars(mine) == vars(theirs)
