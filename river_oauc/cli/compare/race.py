"""Progressive validation of several learners on one stream, behind one or more scalers each."""

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
from numpy.typing import NDArray
from river import base, compose, preprocessing

from river_oauc.cli.compare.streams import Stream
from river_oauc.cli.console.errors import UserError
from river_oauc.cli.models import Contender, Example

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
    """Return the model behind a scaler or none, with text encoded if the model needs it.

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
    # By type, because `compose.Select` fails on absent features.
    text: Any = compose.SelectType(str)
    if not takes_text:
        # Drop zeros, or each example would have a feature for every known value.
        text |= preprocessing.OneHotEncoder(drop_zeros=True)
    # Without a scaler, None passes through.
    scaled: Any = compose.Discard(*text_features)
    if scale is not None:
        scaled = compose.SelectType(numbers.Number) | scale()
    return compose.TransformerUnion(scaled, text) | model


@dataclass(eq=False)
class Run:
    """The progressive validation of one learner behind one scaler.

    Parameters
    ----------
    contender
        The learner.
    scaler
        One of `SCALERS`.
    model
        A river classifier or a pipeline that ends in one.

    Attributes
    ----------
    scores
        The predicted probabilities of the positive class. Missing and undefined ones are 0.5: a
        tree predicts nothing before it has learned, `MinMaxScaler | LogisticRegression` NaN.
    nanoseconds
        Wall-clock time in `predict_proba_one` and `learn_one` of the pipeline.

    """

    contender: Contender
    scaler: str
    model: Any
    scores: array[float] = field(default_factory=lambda: array("d"))
    nanoseconds: int = 0

    def follow(self, examples: Sequence[Example]) -> None:
        """Predict and then learn the next examples of the stream."""
        predict, learn = self.model.predict_proba_one, self.model.learn_one
        clock = time.perf_counter_ns
        for x, y in examples:
            before_predict = clock()
            prediction = predict(x)
            after_predict = clock()
            # A tree that has seen only negatives leaves out True: its probability is 0.
            p = prediction.get(True, 0.0) if prediction else 0.5
            self.scores.append(0.5 if math.isnan(p) else p)
            before_learn = clock()
            learn(x, y)
            self.nanoseconds += clock() - before_learn + after_predict - before_predict

    @property
    def microseconds_per_example(self) -> float:
        """Mean time to predict and learn one example."""
        return self.nanoseconds / len(self.scores) / 1e3


def race(
    stream: Stream,
    contenders: Sequence[Contender],
    *,
    scaler: str | None = None,
    seed: int = 42,
    on_progress: Callable[[int], object] = lambda n_examples: None,
) -> tuple[NDArray[np.bool_], list[Run]]:
    """Run each contender behind each of its scalers, and return the labels and the runs.

    All see the same examples in the same order. They take turns on about a hundred parts of the
    stream, so that it is read once and a disturbance of the machine affects all of them. A run that
    fails (for example because a scaler overflows) is dropped if the contender has another scaler.

    Parameters
    ----------
    stream
        The examples.
    contenders
        The learners.
    scaler
        The scaler for learners that need one; by default all that suit the stream.
    seed
        Seed of the random learners.
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
    """Return the scalers to try: one for ours, all that suit the stream for others."""
    if contender.bare:
        return ["none"]
    if asked:
        return [asked]
    return [stream.scalers[-1]] if contender.ours else stream.scalers


def _refusal(run: Run, error: Exception) -> str:
    scale = SCALERS[run.scaler]
    front = "" if scale is None else f" behind {scale.__name__}"
    n = len(run.scores) + 1
    return f"{run.contender.name}{front} refuses example {n:,}: {error}; --models picks others"


def _as_seen_by(
    contender: Contender, examples: Sequence[Example], many_valued: Container[str]
) -> list[Example]:
    """Return the examples without the values that the learner cannot take, which is not timed.

    Our learners that keep a matrix get no text of many values.
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
