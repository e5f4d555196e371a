"""Progressive validation of several learners on one stream."""

from __future__ import annotations

import itertools
import math
import numbers
import time
from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any

from river import base, compose, metrics, preprocessing

from river_oauc.experiments.compare.streams import Stream
from river_oauc.experiments.console.errors import UserError
from river_oauc.experiments.models import Contender, Example
from river_oauc.metrics import ExactROCAUC

__all__ = ["BARE", "SCALERS", "Contest", "pipeline", "race"]

CHECKPOINTS = 100
SCALERS: dict[str, Callable[[], base.Transformer]] = {
    "minmax": preprocessing.MinMaxScaler,
    "standard": preprocessing.StandardScaler,
    "maxabs": preprocessing.MaxAbsScaler,
}
BARE = "none"


def pipeline(model: base.Classifier, scaler: str, text_features: Sequence[str]) -> Any:
    """The model behind a scaler or none, with text one-hot encoded beside the numbers.

    Examples
    --------
    >>> from river import linear_model

    >>> print(pipeline(linear_model.Perceptron(), "minmax", text_features=()))
    MinMaxScaler | Perceptron
    >>> print(pipeline(linear_model.Perceptron(), "none", text_features=()))
    Perceptron

    """
    if not text_features:
        return model if scaler == BARE else SCALERS[scaler]() | model
    # By type: `compose.Select` wants every feature that it was given to be there.
    encoded = compose.SelectType(str) | preprocessing.OneHotEncoder()
    if scaler == BARE:
        # Not by type: None is to pass, too.
        return compose.TransformerUnion(compose.Discard(*text_features), encoded) | model
    scaled = compose.SelectType(numbers.Number) | SCALERS[scaler]()
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
    scaler
        What the table calls the scaler in front.

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

    def __init__(self, name: str, model: Any, *, ours: bool = False, scaler: str = BARE) -> None:
        self.name = name
        self.model = model
        self.ours = ours
        self.scaler = scaler
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
    scaler: str | None = None,
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
        The scaler in front of each that needs one: one of `SCALERS`, `BARE` for none, or None for
        the one that suits the stream.
    seed
        Seed of the learners that use chance.
    on_progress
        Called with the number of examples that all contenders have just finished.

    """
    entries = [
        (contender, _contest(contender, stream, scaler or stream.scaler, seed))
        for contender in contenders
    ]
    for part in _parts(stream):
        for contender, contest in entries:
            examples = _as_seen_by(contender, part, frozenset(stream.many_valued))
            try:
                contest.follow(examples)
            except (ValueError, ArithmeticError) as error:
                # Numbers so far apart that a scaler makes infinities of them, for one.
                bare = contest.scaler == BARE
                front = "" if bare else f" behind {SCALERS[contest.scaler].__name__}"
                raise UserError(
                    f"{contest.name}{front} can't take example "
                    f"{contest.n_examples + 1:,}: {error}; --models picks others"
                ) from error
        on_progress(len(part))
    return [contest for _, contest in entries]


def _contest(contender: Contender, stream: Stream, scaler: str, seed: int) -> Contest:
    scaler = BARE if contender.bare else scaler
    text_features = () if contender.takes_text else stream.text_features
    return Contest(
        contender.name,
        pipeline(contender.make(seed), scaler, text_features),
        ours=contender.ours,
        scaler=scaler,
    )


def _as_seen_by(
    contender: Contender, examples: Sequence[Example], many_valued: Container[str]
) -> list[Example]:
    """The examples with what the learner can take: it is no part of its time to leave out the rest.

    A number that is missing is None for learners that take it so, and absent for the others. Text
    of many values is for learners that take text.
    """
    hidden = () if contender.takes_text else many_valued
    takes_none = contender.bare and not contender.takes_text
    return [
        (
            {
                name: value
                for name, value in x.items()
                if (value is not None or takes_none) and name not in hidden
            },
            y,
        )
        for x, y in examples
    ]


def _parts(stream: Stream) -> Iterator[list[Example]]:
    examples = iter(stream.examples)
    step = math.ceil(stream.size / CHECKPOINTS)
    while part := list(itertools.islice(examples, step)):
        yield part
