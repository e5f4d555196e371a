"""What happens for every example: the part of the contract that is compiled."""

from __future__ import annotations

import typing

from river import base

from river_oauc.calibration import Calibration
from river_oauc.inputs.arrays import FloatArray
from river_oauc.inputs.labels import parse_label, parse_weight
from river_oauc.inputs.limits import Features
from river_oauc.inputs.records import Record
from river_oauc.inputs.vectorizer import Vectorizer

__all__ = ["DenseLearner", "Learner"]

# The weight of an example that is given none: this very object needs no check.
_UNIT = 1.0


class Learner(Record):
    """Learns and scores one example after another, each while no other is.

    The other half of `base.OnlineAUCClassifier`, which says what an example is.
    """

    __fields__: typing.ClassVar[tuple[str, ...]] = ("_calibration",)

    _calibration: Calibration
    _lock: typing.Any

    def learn_one(self, x: Features, y: base.typing.ClfTarget, w: float = _UNIT) -> None:
        """Update the model with the features `x` and the label `y`.

        Parameters
        ----------
        x
            A dictionary of features.
        y
            A label: a boolean, 0 or 1, or -1 or 1.
        w
            Importance of the example. It multiplies the gradient of the example's loss, and its
            weight in whatever is averaged. An example of weight 0 changes nothing.

        """
        positive = y if y is True or y is False else parse_label(y)
        if w is not _UNIT:
            w = parse_weight(w)
        # Not by `with`, which takes twice as long.
        lock = self._lock
        lock.acquire()
        try:
            self._learn_example(x, positive, w)
        finally:
            lock.release()

    def score_one(self, x: Features) -> float:
        """The score of `x`: the higher, the more likely a positive. It ranks, and has no unit.

        Parameters
        ----------
        x
            A dictionary of features.

        """
        with self._lock:
            return self._score_example(x)

    def predict_proba_one(
        self, x: Features, **kwargs: typing.Any
    ) -> dict[base.typing.ClfTarget, float]:
        """The probability of each label for a dictionary of features `x`.

        Parameters
        ----------
        x
            A dictionary of features.

        """
        lock = self._lock
        lock.acquire()
        try:
            p = self._calibration.probability(self._score_example(x))
        finally:
            lock.release()
        return {False: 1.0 - p, True: p}

    def _learn_example(self, x: Features, positive: bool, w: float) -> None:
        """Learn from one example, or raise a ValueError and change nothing.

        An example of weight 0 is checked, and changes nothing.
        """
        raise NotImplementedError

    def _score_example(self, x: Features) -> float:
        """The score of one example."""
        raise NotImplementedError


class DenseLearner(Learner):
    """The same for examples that become arrays; the other half of `dense.DenseClassifier`."""

    __fields__ = (*Learner.__fields__, "_vectorizer")

    _vectorizer: Vectorizer

    def _learn_example(self, x: Features, positive: bool, w: float) -> None:
        array = self._vectorizer.encode(x)
        if array is not None:
            if w:
                self._learn(array, positive, w)
        elif w:
            self._learn_with_new_names(x, positive, w)

    def _score_example(self, x: Features) -> float:
        return self._score(self._vectorizer.encode(x, True))  # type: ignore[arg-type]

    def _learn(self, x: FloatArray, positive: bool, w: float) -> None:
        """Learn from one example with a weight above 0, or raise a ValueError and change nothing.

        The array may be changed, but not kept: the next example is written into it.
        """
        raise NotImplementedError

    def _score(self, x: FloatArray) -> float:
        """The score of one example. The array may not be kept."""
        raise NotImplementedError

    def _learn_with_new_names(self, x: Features, positive: bool, w: float) -> None:
        """Learn from an example with names that are not known yet."""
        raise NotImplementedError
