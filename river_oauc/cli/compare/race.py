"""Progressive validation of several learners on one stream, in limited time."""

from __future__ import annotations

import itertools
import math
import pickle
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from river import base

from river_oauc.cli.console.text import one_line, shorten
from river_oauc.cli.models import Contender, Example
from river_oauc.cli.preparations import LINEAR, PREPARATIONS, RAW

# A turn of a learner has at most this many examples, and is about this long.
_MAX_EXAMPLES, _SECONDS = 100, 0.25


class Step(NamedTuple):
    """An example to score, and one to learn afterwards, whose label is known by then.

    Parameters
    ----------
    x
        The record to score.
    known
        The example to learn; None as long as no label has come.

    """

    x: dict[Any, Any]
    known: Example | None


def steps(examples: Sequence[Example], delay: int) -> Iterator[Step]:
    """Yield the steps through a stream whose labels come a number of examples later.

    Examples
    --------
    >>> for step in steps([({"a": 1}, True), ({"a": 2}, False)], delay=1):
    ...     print(step)
    Step(x={'a': 1}, known=None)
    Step(x={'a': 2}, known=({'a': 1}, True))

    """
    for i, (x, _) in enumerate(examples):
        yield Step(x, examples[i - delay] if i >= delay else None)


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
        CPU time of `predict_proba_one` and `learn_one`, the preparation included.
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

    def follow(self, steps: Iterable[Step]) -> None:
        """Go on through the stream."""
        start = time.process_time()
        try:
            for x, known in steps:
                prediction = self.model.predict_proba_one(x)
                # A tree that has seen only negatives leaves out True: its probability is 0.
                p = prediction.get(True, 0.0) if prediction else 0.5
                score = 0.5 if math.isnan(p) else p
                if known is not None:
                    self.model.learn_one(*known)
                self.scores.append(score)
        except Exception as error:
            # Whatever a model raises, the others go on.
            self.error = f"fails at row {len(self.scores) + 1:,}: {_describe(error)}"
        self.seconds += time.process_time() - start

    @property
    def microseconds_per_example(self) -> float:
        """Mean time to predict and learn one example."""
        return 1e6 * self.seconds / max(len(self.scores), 1)

    @property
    def n_bytes(self) -> int | None:
        """The size of the model and its preparation as a pickle; None if there can be none."""
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
    """Learners that go through a stream together, behind one preparation.

    Parameters
    ----------
    preparation
        One of `PREPARATIONS`, or `RAW`. It is done once for all of them.
    contenders
        The learners.
    examples
        The stream.
    delay
        After how many examples labels come.
    seed
        Seed of the random learners.

    """

    def __init__(
        self,
        preparation: str,
        contenders: Sequence[Contender],
        examples: Sequence[Example],
        delay: int = 0,
        seed: int = 42,
    ) -> None:
        self._recorder = _Recorder()
        self._pipeline = None
        if preparation != RAW:
            self._pipeline = PREPARATIONS[preparation]() | self._recorder
        self._steps = steps(examples, delay)
        self.runs = [
            Run(contender, preparation, contender.make(seed), self._pipeline)
            for contender in contenders
        ]
        self.n_rows = 0
        self.seconds = 0.0
        self.is_finished = False

    @property
    def name(self) -> str:
        """The name of the first learner, and how many others there are."""
        n_more = len(self.runs) - 1
        return self.runs[0].contender.name + (f" and {n_more} more" if n_more else "")

    def advance(self) -> None:
        """Take a turn."""
        start, cpu_start = time.perf_counter(), time.process_time()
        pace = self.seconds / self.n_rows if self.n_rows else _SECONDS
        n = min(max(int(_SECONDS / pace), 1), _MAX_EXAMPLES)
        turn = list(itertools.islice(self._steps, n))
        self.is_finished = len(turn) < n
        running = [run for run in self.runs if run.error is None]
        try:
            turn = [self._prepare(step) for step in turn]
        except Exception as error:
            for run in running:
                run.error = f"fails in its preparation: {_describe(error)}"
        else:
            seconds = time.process_time() - cpu_start
            for run in running:
                run.seconds += seconds
                run.follow(turn)
        self.is_finished |= all(run.error for run in self.runs)
        self.n_rows += len(turn)
        self.seconds += time.perf_counter() - start

    def _prepare(self, step: Step) -> Step:
        """Return a step as the pipeline hands it to its last step, in dicts of its own."""
        x, known = dict(step.x), step.known
        if self._pipeline is not None:
            self._pipeline.predict_proba_one(x)
            x = self._recorder.x
        if known is not None:
            known = dict(known[0]), known[1]
            if self._pipeline is not None:
                self._pipeline.learn_one(*known)
                known = self._recorder.x, known[1]
        return Step(x, known)


def make_groups(
    contenders: Sequence[Contender],
    examples: Sequence[Example],
    delay: int = 0,
    seed: int = 42,
) -> list[Group]:
    """Return the groups of the contenders: linear rivals share a preparation, others run alone."""
    linear = [each for each in contenders if each.preparations == LINEAR]
    groups = [
        (name, [each]) for each in contenders if each not in linear for name in each.preparations
    ]
    if linear:
        groups += [(name, linear) for name in LINEAR]
    return [Group(name, members, examples, delay, seed) for name, members in groups]


def race(
    groups: Sequence[Group],
    seconds: float,
    on_turn: Callable[[Group], object] = lambda group: None,
) -> None:
    """Let groups take turns until all have finished or the time is up.

    As far as possible, all are at the same example. Each may take an equal share of the time, and
    what a group does not need goes to the others.

    Parameters
    ----------
    groups
        The groups.
    seconds
        The time for all.
    on_turn
        Called before every turn with the group that runs.

    """
    while waiting := [group for group in groups if not group.is_finished]:
        left = seconds - sum(group.seconds for group in groups if group.is_finished)
        share = left / len(waiting)
        allowed = [group for group in waiting if group.seconds < share]
        if not allowed:
            return
        group = min(allowed, key=lambda group: group.n_rows)
        on_turn(group)
        group.advance()


def _describe(error: Exception) -> str:
    return shorten(one_line(f"{type(error).__name__}: {error}"), width=200)
