"""Progressive validation of several learners on one stream, each rival in several preparations."""

from __future__ import annotations

import itertools
import math
import numbers
import time
from array import array
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from river import base, compose, preprocessing

from river_oauc.cli.compare.streams import Stream
from river_oauc.cli.console.errors import UserError
from river_oauc.cli.models import Contender, Example
from river_oauc.inputs.arrays import BoolArray

__all__ = ["SCALERS", "Run", "pipeline", "race"]

PARTS = 100
SCALERS: dict[str, Callable[[], base.Transformer] | None] = {
    "none": None,
    "standard": preprocessing.StandardScaler,
    "minmax": preprocessing.MinMaxScaler,
    "maxabs": preprocessing.MaxAbsScaler,
}


def pipeline(
    model: base.Classifier, scaler: str, text_features: Sequence[str] = (), takes_text: bool = False
) -> Any:
    """The model behind a scaler or none, with text beside the numbers as the model takes it.

    Examples
    --------
    >>> from river import linear_model

    >>> print(pipeline(linear_model.Perceptron(), "minmax"))
    MinMaxScaler | Perceptron
    >>> print(pipeline(linear_model.Perceptron(), "none"))
    Perceptron

    """
    scale = SCALERS[scaler]
    if not text_features or (takes_text and scale is None):
        return model if scale is None else scale() | model
    # By type: `compose.Select` wants every feature that it was given to be there.
    text: Any = compose.SelectType(str)
    if not takes_text:
        # What is 0 is absent, or an example would be as long as the list of all values.
        text |= preprocessing.OneHotEncoder(drop_zeros=True)
    # Without a scaler not by type: None is to pass, too.
    scaled: Any = compose.Discard(*text_features)
    if scale is not None:
        scaled = compose.SelectType(numbers.Number) | scale()
    return compose.TransformerUnion(scaled, text) | model


@dataclass(eq=False)
class Run:
    """One learner's way through a stream, in one preparation.

    Each example is predicted, the prediction noted, and only then is the example learned.

    Parameters
    ----------
    contender
        The learner.
    scaler
        What is in front of it, one of `SCALERS`.
    model
        A river classifier or a pipeline that ends in one.

    Attributes
    ----------
    scores
        The probabilities of the positive class. One that is missing or undefined (a tree says
        nothing before it has learned, `MinMaxScaler | LogisticRegression` says NaN) is 0.5.
    nanoseconds
        Wall-clock time spent in `predict_proba_one` and `learn_one` of the whole model.

    """

    contender: Contender
    scaler: str
    model: Any
    scores: array[float] = field(default_factory=lambda: array("d"))
    nanoseconds: int = 0

    def follow(self, examples: Sequence[Example]) -> None:
        """Go through the next part of the stream."""
        predict, learn = self.model.predict_proba_one, self.model.learn_one
        clock = time.perf_counter_ns
        for x, y in examples:
            asked = clock()
            prediction = predict(x)
            answered = clock()
            # A tree that has met negatives only leaves True out, which is a probability of 0.
            p = prediction.get(True, 0.0) if prediction else 0.5
            self.scores.append(0.5 if math.isnan(p) else p)
            taught = clock()
            learn(x, y)
            self.nanoseconds += clock() - taught + answered - asked

    @property
    def microseconds_per_example(self) -> float:
        """Mean time of predicting and learning one example."""
        return self.nanoseconds / len(self.scores) / 1e3


def race(
    stream: Stream,
    contenders: Sequence[Contender],
    *,
    scaler: str | None = None,
    seed: int = 42,
    on_progress: Callable[[int], object] = lambda n_examples: None,
) -> tuple[BoolArray, list[Run]]:
    """The labels of a stream, and how each contender fared in each of its preparations.

    All see the same examples in the same order. The stream is cut into about a hundred parts, and
    the contenders take turns at each: the stream is read once, and a disturbance of the machine
    falls on all of them. A preparation that fails on the way (numbers so far apart that a scaler
    makes infinities of them, for one) is out, as long as the contender has another one.

    Parameters
    ----------
    stream
        The examples.
    contenders
        The learners.
    scaler
        The scaler in front of each that needs one, if it is not to be all that suit the stream.
    seed
        Seed of the learners that use chance.
    on_progress
        Called with the number of examples that all contenders have just finished.

    """
    text = (*stream.text_features, *stream.many_valued)
    runs = [
        Run(contender, each, pipeline(contender.make(seed), each, text, contender.takes_text))
        for contender in contenders
        for each in _scalers(contender, stream, scaler)
    ]
    labels: list[bool] = []
    for part in _parts(stream):
        for run in tuple(runs):
            try:
                run.follow(_as_seen_by(run.contender, part, stream.many_valued))
            except (ValueError, ArithmeticError) as error:
                runs.remove(run)
                if not any(other.contender is run.contender for other in runs):
                    raise UserError(_refusal(run, error)) from error
        labels.extend(y for _, y in part)
        on_progress(len(part))
    return np.array(labels), runs


def _scalers(contender: Contender, stream: Stream, asked: str | None) -> Sequence[str]:
    """The preparations of a learner: one for ours, all that suit the stream for the others."""
    if contender.bare:
        return ["none"]
    if asked:
        return [asked]
    return [stream.scalers[-1]] if contender.ours else stream.scalers


def _refusal(run: Run, error: Exception) -> str:
    scale = SCALERS[run.scaler]
    front = "" if scale is None else f" behind {scale.__name__}"
    n = len(run.scores) + 1
    return f"{run.contender.name}{front} can't take example {n:,}: {error}; --models picks others"


def _as_seen_by(
    contender: Contender, examples: Sequence[Example], many_valued: Container[str]
) -> list[Example]:
    """The examples with what the learner can take: it is no part of its time to leave out the rest.

    Our learners with a matrix of all features do without text of many values.
    """
    hidden = many_valued if contender.ours and not contender.takes_text else ()
    return [
        (
            {
                name: value
                for name, value in x.items()
                if (value is not None or contender.takes_none) and name not in hidden
            },
            y,
        )
        for x, y in examples
    ]


def _parts(stream: Stream) -> Iterator[list[Example]]:
    examples = iter(stream.examples)
    step = math.ceil(stream.size / PARTS)
    while part := list(itertools.islice(examples, step)):
        yield part
