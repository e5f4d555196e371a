"""Progressive validation of several learners on the same rows."""

from __future__ import annotations

import collections
import contextlib
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

from river_oauc.cli.messages import one_line, shorten
from river_oauc.cli.models import Contender, Example
from river_oauc.cli.preparations import PREPARATIONS
from river_oauc.cli.retrained import Retrained

# However little time there is.
MIN_ROWS = 1_000

# After how many rows a learner is asked whether it has used up its time.
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
        A classifier of river, behind its preparation. It is not kept after the run.

    Attributes
    ----------
    scores
        The predicted probabilities of the positive class. Missing and undefined ones are 0.5: a
        tree predicts nothing before it has learned, `MinMaxScaler | LogisticRegression` NaN.
    seconds
        CPU time of prediction and learning, the preparation included.
    error
        Why it could not go on, if so.
    n_bytes
        The size of the model as a pickle, its preparation included; None if there is none.

    """

    contender: Contender
    preparation: str
    model: Any
    scores: array[float] = field(default_factory=lambda: array("d"))
    seconds: float = 0.0
    error: str | None = None
    n_bytes: int | None = None
    # What is scored and waits for its label, if that comes late and the model can keep it.
    _served: collections.deque[Any] | None = None

    def follow(
        self,
        examples: Sequence[Example],
        arrivals: Arrivals,
        max_seconds: float = math.inf,
        on_rows: Callable[[int], object] = lambda n: None,
    ) -> None:
        """Go through a stream, for at most so many seconds of CPU time."""
        try:
            if isinstance(self.model, Retrained):
                scores, _, self.seconds = self.model.follow(examples, max_seconds, arrivals)
                self.scores.extend(scores)
                self.n_bytes = self.model._raw_memory_usage
                on_rows(len(examples))
            else:
                is_late = bool((arrivals > np.arange(len(arrivals))).any())
                if is_late and hasattr(self.model, "encode_one"):
                    self._served = collections.deque()
                stream = steps(examples, arrivals)
                while self.seconds <= max_seconds and (turn := [*itertools.islice(stream, _CHUNK)]):
                    start = time.process_time()
                    for step in turn:
                        self._take(step)
                    self.seconds += time.process_time() - start
                    on_rows(len(turn))
                with contextlib.suppress(Exception):
                    self.n_bytes = len(pickle.dumps(self.model))
        except Exception as error:
            # Whatever a model raises, the others go on.
            what = shorten(one_line(f"{type(error).__name__}: {error}"), width=200)
            self.error = f"fails at row {len(self.scores) + 1:,}: {what}"
        self.model = None

    def _take(self, step: Step) -> None:
        # A model may change its record.
        record = dict(step.x)
        if self._served is not None:
            record = self.model.encode_one(record)
            self._served.append(record)
        prediction = self.model.predict_proba_one(record)
        # A tree that has seen only negatives leaves out True: its probability is 0.
        p = prediction.get(True, 0.0) if prediction else 0.5
        for x, y in step.known:
            self.model.learn_one(dict(x) if self._served is None else self._served.popleft(), y)
        self.scores.append(0.5 if math.isnan(p) else p)


def affordable_rows(contenders: Sequence[Contender], seconds: float, width: float) -> int:
    """Return how many rows learners get through twice in a time, on an ordinary machine.

    It follows from the width of the rows alone, so that a busy machine compares on the same rows.

    """
    microseconds = sum(each.cost for each in contenders) * (25.0 + width) / 45.0
    n = int(seconds * 1e6 / (2.0 * microseconds))
    return max(round(n, 2 - len(str(n))), MIN_ROWS)


def make_runs(contenders: Sequence[Contender], seed: int = 42) -> list[Run]:
    """Return a run for each preparation of each learner."""
    return [
        Run(
            each,
            name,
            PREPARATIONS[name]() | each.make(seed) if name in PREPARATIONS else each.make(seed),
        )
        for each in contenders
        for name in each.preparations
    ]
