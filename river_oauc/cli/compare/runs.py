"""Progressive validation of several learners on the same rows."""

from __future__ import annotations

import itertools
import math
import pickle
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from river import base

from river_oauc.cli.console.text import one_line, shorten
from river_oauc.cli.models import Contender, Example
from river_oauc.cli.preparations import LINEAR, PREPARATIONS
from river_oauc.cli.retrained import Retrained

# However little time there is.
MIN_ROWS = 1_000

# After how many rows learners are asked whether they have used up their time.
_CHUNK = 100

Arrivals = NDArray[np.int64]


class Step(NamedTuple):
    """An example to score, and those to learn afterwards, whose labels have come by then."""

    x: dict[Any, Any]
    known: Sequence[Example]


def steps(examples: Sequence[Example], arrivals: Arrivals) -> Iterator[Step]:
    """Yield the steps through a stream.

    Parameters
    ----------
    examples
        The stream.
    arrivals
        After the score of which example each label comes, in order.

    Examples
    --------
    >>> for step in steps([({"a": 1}, True), ({"a": 2}, False)], np.array([1, 2])):
    ...     print(step)
    Step(x={'a': 1}, known=[])
    Step(x={'a': 2}, known=[({'a': 1}, True)])

    """
    ends = np.searchsorted(arrivals, np.arange(len(examples)), "right").tolist()
    for (x, _), start, end in zip(examples, [0, *ends], ends, strict=False):
        yield Step(x, examples[start:end])


@dataclass(eq=False)
class Run:
    """The progressive validation of one learner behind one preparation.

    Parameters
    ----------
    contender
        The learner.
    preparation
        The name of the preparation.
    model
        A river classifier.
    pipeline
        The transformers in front of it; None if it takes raw records.

    Attributes
    ----------
    scores
        The predicted probabilities of the positive class. Missing and undefined ones are 0.5: a
        tree predicts nothing before it has learned, `MinMaxScaler | LogisticRegression` NaN.
    seconds
        CPU time of prediction and learning, the preparation included.
    error
        Why it could not go on, if so.

    """

    contender: Contender
    preparation: str
    model: Any
    pipeline: Any = None
    scores: array[float] = field(default_factory=lambda: array("d"))
    seconds: float = 0.0
    error: str | None = None

    def follow(self, steps: Sequence[Step]) -> None:
        """Go on through the stream."""
        start = time.process_time()
        try:
            for x, known in steps:
                prediction = self.model.predict_proba_one(x)
                # A tree that has seen only negatives leaves out True: its probability is 0.
                p = prediction.get(True, 0.0) if prediction else 0.5
                for example in known:
                    self.model.learn_one(*example)
                self.scores.append(0.5 if math.isnan(p) else p)
        except Exception as error:
            # Whatever a model raises, the others go on.
            self.error = f"fails at row {len(self.scores) + 1:,}: {_describe(error)}"
        self.seconds += time.process_time() - start

    @property
    def n_bytes(self) -> int | None:
        """The size of the model and its preparation as a pickle; None if there can be none."""
        if isinstance(self.model, Retrained):
            return self.model._raw_memory_usage
        try:
            return len(pickle.dumps((self.pipeline, self.model)))
        except Exception:
            return None


class _Recorder(base.Classifier):
    """The last step of a pipeline, which notes what it is given."""

    def __init__(self) -> None:
        self.x: dict[Any, Any] = {}

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        self.x = x
        return {}

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        self.x = x


class Group:
    """Learners that go through a stream together, behind one preparation, done once for all.

    Parameters
    ----------
    preparation
        One of `PREPARATIONS`; any other name is none.
    contenders
        The learners.
    seed
        Seed of the random learners.

    """

    def __init__(self, preparation: str, contenders: Sequence[Contender], seed: int = 42) -> None:
        self._recorder = _Recorder()
        self._pipeline = None
        if preparation in PREPARATIONS:
            self._pipeline = PREPARATIONS[preparation]() | self._recorder
        self.runs = [Run(each, preparation, each.make(seed), self._pipeline) for each in contenders]
        self.name = ", ".join(each.name for each in contenders)

    def follow(
        self,
        examples: Sequence[Example],
        arrivals: Arrivals,
        max_seconds: float = math.inf,
        on_rows: Callable[[int], object] = lambda n: None,
    ) -> None:
        """Go through a stream, for at most so many seconds of CPU time for each learner."""
        (run, *others) = self.runs
        if isinstance(run.model, Retrained):
            try:
                scores, _, run.seconds = run.model.follow(examples, max_seconds, arrivals)
                run.scores.extend(scores)
            except Exception as error:
                run.error = f"fails: {_describe(error)}"
            on_rows(len(examples))
            return
        stream = steps(examples, arrivals)
        limit = max_seconds * (1 + len(others))
        while turn := list(itertools.islice(stream, _CHUNK)):
            start = time.process_time()
            running = [run for run in self.runs if run.error is None]
            if not running or sum(run.seconds for run in running) > limit:
                return
            try:
                turn = [self._prepare(step) for step in turn]
            except Exception as error:
                for run in running:
                    run.error = f"fails in its preparation: {_describe(error)}"
                return
            seconds = time.process_time() - start
            for run in running:
                run.seconds += seconds
                run.follow(turn)
            on_rows(len(turn))

    def _prepare(self, step: Step) -> Step:
        """Return a step as the pipeline hands it to its last step, in dicts of its own."""
        x, known = dict(step.x), [(dict(x), y) for x, y in step.known]
        if self._pipeline is None:
            return Step(x, known)
        self._pipeline.predict_proba_one(x)
        x = self._recorder.x
        learned = []
        for example in known:
            self._pipeline.learn_one(*example)
            learned.append((self._recorder.x, example[1]))
        return Step(x, learned)


def affordable_rows(contenders: Sequence[Contender], seconds: float, width: float) -> int:
    """Return how many rows learners get through twice in a time, on an ordinary machine.

    It follows from the width of the rows alone, so that a busy machine compares on the same rows.

    """
    microseconds = sum(each.cost for each in contenders) * (25.0 + width) / 45.0
    n = int(seconds * 1e6 / (2.0 * microseconds))
    return max(round(n, 2 - len(str(n))), MIN_ROWS)


def make_groups(contenders: Sequence[Contender], seed: int = 42) -> list[Group]:
    """Return the groups of the contenders: linear rivals share a preparation, others run alone."""
    linear = [each for each in contenders if each.preparations == LINEAR]
    groups = [
        (name, [each]) for each in contenders if each not in linear for name in each.preparations
    ]
    groups += [(name, linear) for name in LINEAR if linear]
    return [Group(name, members, seed) for name, members in groups]


def _describe(error: Exception) -> str:
    return shorten(one_line(f"{type(error).__name__}: {error}"), width=200)
