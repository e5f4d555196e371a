"""Progressive validation of several learners on one stream."""

from __future__ import annotations

import itertools
import math
import numbers
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from river import base, compose, metrics, preprocessing

from river_oauc.experiments.compare.streams import Stream
from river_oauc.experiments.console.errors import UserError
from river_oauc.experiments.models import Contender, Example
from river_oauc.metrics import ExactROCAUC

__all__ = ["SCALERS", "Contest", "pipeline", "race"]

CHECKPOINTS = 100
SCALERS: dict[str, Callable[[], base.Transformer]] = {
    "minmax": preprocessing.MinMaxScaler,
    "standard": preprocessing.StandardScaler,
}


def pipeline(model: base.Classifier, scaler: str, text_features: Sequence[str]) -> Any:
    """The model behind a scaler, with text one-hot encoded beside the scaled numbers.

    Examples
    --------
    >>> from river import linear_model

    >>> print(pipeline(linear_model.Perceptron(), "minmax", text_features=()))
    MinMaxScaler | Perceptron

    """
    if not text_features:
        return SCALERS[scaler]() | model
    scaled = compose.SelectType(numbers.Number) | SCALERS[scaler]()
    # By type: `compose.Select` wants every feature that it was given to be there.
    encoded = compose.SelectType(str) | preprocessing.OneHotEncoder()
    return (scaled + encoded) | model


class Contest:
    """One learner's way through a stream by progressive validation.

    Each example is predicted, the prediction scored, and only then is the example learned.

    Parameters
    ----------
    name
        What the table calls the learner.
    model
        A river classifier or a pipeline that ends in one.
    ours
        Whether the learner comes from this package.

    Attributes
    ----------
    exact
        The exact AUC over all examples. A missing or undefined probability (a tree says nothing
        before it has learned, `MinMaxScaler | LogisticRegression` says NaN) is scored as 0.5.
    rocauc
        What `evaluate.progressive_val_score` would report with `metrics.ROCAUC()`.
    nanoseconds
        Wall-clock time spent in `predict_proba_one` and `learn_one` of the whole model.
    n_examples
        The number of examples so far.
    seen
        The number of examples at each checkpoint at which an AUC was defined.
    curve
        The exact AUC at these checkpoints.

    """

    def __init__(self, name: str, model: Any, *, ours: bool = False) -> None:
        self.name = name
        self.model = model
        self.ours = ours
        self.exact = ExactROCAUC()
        self.rocauc: Any = metrics.ROCAUC()  # type: ignore[no-untyped-call]
        self.nanoseconds = 0
        self.seen: list[int] = []
        self.curve: list[float] = []
        self.n_examples = 0
        self._n_positives = 0

    def follow(self, examples: Sequence[Example]) -> None:
        """Go through the next part of the stream and note the AUC at its end."""
        predict, learn = self.model.predict_proba_one, self.model.learn_one
        clock = time.perf_counter_ns
        for x, y in examples:
            asked = clock()
            prediction = predict(x)
            answered = clock()

            if prediction:
                self.rocauc.update(y, prediction)
            # A tree that has met negatives only leaves True out, which is a probability of 0.
            p = prediction.get(True, 0.0) if prediction else 0.5
            self.exact.update(y, 0.5 if math.isnan(p) else p)

            taught = clock()
            learn(x, y)
            self.nanoseconds += clock() - taught + answered - asked
            self.n_examples += 1
            self._n_positives += y

        if 0 < self._n_positives < self.n_examples:
            self.seen.append(self.n_examples)
            self.curve.append(self.exact.get())

    @property
    def microseconds_per_example(self) -> float:
        """Mean time of predicting and learning one example."""
        return self.nanoseconds / self.n_examples / 1e3

    @property
    def memory(self) -> str:
        """River's own count of the model's memory."""
        usage: str = self.model._memory_usage
        return usage


def race(
    stream: Stream,
    contenders: Sequence[Contender],
    *,
    scaler: str = "minmax",
    seed: int = 42,
    on_progress: Callable[[int], object] = lambda n_examples: None,
) -> list[Contest]:
    """How each contender fared on its way through a stream, in the order given.

    All see the same examples in the same order. The stream is cut at about a hundred
    checkpoints, and the contenders take turns at each part: the stream is read once, and a
    disturbance of the machine falls on all of them.

    Parameters
    ----------
    stream
        The examples.
    contenders
        The learners.
    scaler
        The scaler in front of each, one of `SCALERS`.
    seed
        Seed of the learners that use chance.
    on_progress
        Called with the number of examples that all contenders have just finished.

    """
    contests = [
        Contest(
            contender.name,
            pipeline(contender.make(seed), scaler, stream.text_features),
            ours=contender.ours,
        )
        for contender in contenders
    ]
    for part in _parts(stream):
        for contest in contests:
            try:
                contest.follow(part)
            except (ValueError, ArithmeticError) as error:
                # Numbers so far apart that a scaler makes infinities of them, for one.
                raise UserError(
                    f"{contest.name} behind {SCALERS[scaler].__name__} can't take example "
                    f"{contest.n_examples + 1:,}: {error}; --models picks others"
                ) from error
        on_progress(len(part))
    return contests


def _parts(stream: Stream) -> Iterator[list[Example]]:
    examples = iter(stream.examples)
    step = math.ceil(stream.size / CHECKPOINTS)
    while part := list(itertools.islice(examples, step)):
        yield part
