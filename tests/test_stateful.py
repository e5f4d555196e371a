"""Random sequences of calls on every classifier.

A classifier and a twin learn the same examples, each in its own way: the twin is a copy, learns one
at a time what the classifier learns as a batch, and is spared what must leave no trace, which is
predictions and refused examples. After every call both are equal bit for bit, and finite.

The default run is short and always the same. With the environment variable RIVER_OAUC_TRIES, there
are that many times as many sequences, drawn anew each time:

    RIVER_OAUC_TRIES=1000 python -m pytest "tests/test_stateful.py::test_any_life[OAUCM]"
"""

from __future__ import annotations

import contextlib
import copy
import functools
import math
import pickle
import random
from typing import Any

import pytest
from classifiers import TAKE_RECORDS, TRIES, assert_finite, each_class, make_small, state
from conftest import BACKENDS, Backend
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from river_oauc.classifier import OnlineAUCClassifier

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

SETTINGS = settings(
    max_examples=12 * TRIES,
    stateful_step_count=12,
    derandomize=TRIES == 1,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)

NAMES = "abcdefgh"
TAME = st.floats(-5.0, 5.0) | st.sampled_from([0, True, 2.5, "1e3", 1e-300])
WILD = TAME | st.sampled_from([1e-160, -1e25, 9e49, 3e50, -1e150, 1e308])
RAW = st.sampled_from([None, math.nan, "x", "some words here", b"x", 4, 2**60, "2024-02-29"])
WEIGHTS = (1.0, 1.0, 1.0, 0.0, 0.5, 7)
WILD_WEIGHTS = (*WEIGHTS, 1e-50, 1e20, 1e50)
LABELS = st.sampled_from([(True, False), (True, False), (1,), (-1,)])
# What a classifier may have against an example that is sound in itself.
GROUNDS = ("step is too large", "no finite value", "norm above", "must be within")
PROBES: list[dict[Any, Any]] = [
    {},
    {"a": 1.0, "b": -1.0, "c": 3.0, "d": 0.5},
    {"h": -2.0, "never seen": 3.0, "b": math.nan},
]


COPIES = [
    copy.copy,
    copy.deepcopy,
    lambda model: pickle.loads(pickle.dumps(model)),
    lambda model: model.clone(include_attributes=True),
]


class Life(RuleBasedStateMachine):
    """A classifier and its twin, who live through the same."""

    def __init__(self, cls: type[OnlineAUCClassifier]) -> None:
        super().__init__()
        self.cls = cls

    @initialize(
        data=st.data(), prior=st.sampled_from(["balanced", "empirical"]), wild=st.booleans()
    )
    def begin(self, data: st.DataObject, prior: str, wild: bool) -> None:
        parameters = data.draw(st.sampled_from(list(self.cls._unit_test_params())))
        if wild and "lr" in parameters:
            parameters |= {"lr": 1e20}
        self.wild, self.model = wild, make_small(self.cls, **parameters | {"prior": prior})
        self.twin = self.model.clone()

    @invariant()
    def both_are_the_same_and_finite_and_predict(self) -> None:
        before = pickle.dumps(self.model)
        # The bytes of equal states may differ: one of two equal strings may be a reference.
        assert before == pickle.dumps(self.twin) or state(self.model) == state(self.twin)
        assert_finite(self.model)
        for x in PROBES:
            try:
                score, p = self.model.score_one(x), self.model.predict_proba_one(x)
            except ValueError as refusal:
                assert any(ground in str(refusal) for ground in GROUNDS)
            else:
                assert math.isfinite(score) and p[False] == 1.0 - p[True]
                assert self.model.predict_one(x) is (p[True] > 0.5)
        assert pickle.dumps(self.model) == before

    def learn_both(self, x: dict[Any, Any], y: Any, w: float) -> None:
        """Or the model refuses, without a trace: then the twin is spared."""
        try:
            self.model.learn_one(x, y, w)
        except ValueError as refusal:
            assert any(ground in str(refusal) for ground in GROUNDS)
            assert state(self.model) == state(self.twin)
        else:
            if w:
                self.twin.learn_one(x, y, w)

    @rule(data=st.data(), y=st.sampled_from([True, False, 1, -1]))
    def learn_one(self, data: st.DataObject, y: Any) -> None:
        values = (WILD if self.wild else TAME) | (RAW if self.cls in TAKE_RECORDS else TAME)
        x = data.draw(st.dictionaries(st.sampled_from(NAMES), values, max_size=5))
        self.learn_both(x, y, data.draw(st.sampled_from(WILD_WEIGHTS if self.wild else WEIGHTS)))

    @rule(n=st.integers(1, 20), labels=LABELS, seed=st.integers(0, 10**6))
    def learn_a_few(self, n: int, labels: tuple[bool, ...], seed: int) -> None:
        """With features that come and go."""
        rng = random.Random(seed)
        for _ in range(n):
            x = {name: rng.gauss(0, 1) for name in rng.sample(NAMES, rng.randrange(5))}
            self.learn_both(x, rng.choice(labels), rng.choice(WEIGHTS))

    @rule(
        columns=st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True),
        n_rows=st.integers(0, 40),
        labels=LABELS,
        backend=st.sampled_from(BACKENDS),
        seed=st.integers(0, 10**6),
    )
    def learn_many(
        self, columns: list[str], n_rows: int, labels: tuple[bool, ...], backend: Backend, seed: int
    ) -> None:
        """The twin learns the rows one by one, up to the first that it refuses."""
        rng = random.Random(seed)
        sizes = (1e-160, 1.0, 1e25, 1e45) if self.wild else (0.0, 1.0, 30.0)
        X = {name: [rng.gauss(0, 1) * rng.choice(sizes) for _ in range(n_rows)] for name in columns}
        if self.cls in TAKE_RECORDS:
            X["text"] = [rng.choice(("x", None, "some words here")) for _ in range(n_rows)]
        y = [rng.choice(labels) for _ in range(n_rows)]
        w = [float(rng.choice(WEIGHTS)) for _ in range(n_rows)]
        is_refused = False
        try:
            self.model.learn_many(backend.frame(X), backend.series(y), backend.series(w))
        except ValueError as refusal:
            assert any(ground in str(refusal) for ground in GROUNDS)
            is_refused = True
        for row in range(n_rows):
            try:
                self.twin.learn_one({name: X[name][row] for name in X}, y[row], w[row])
            except ValueError:
                assert is_refused
                break
        # Only a series has a name.
        self.twin._y_name = self.model._y_name

    @rule(
        x=st.dictionaries(st.sampled_from(NAMES), TAME, max_size=5),
        name=st.sampled_from(NAMES),
        bad=st.sampled_from([math.inf, -math.inf, 1e200, 10**400, 1j, [1.0]]),
    )
    def refuse(self, x: dict[Any, Any], name: str, bad: Any) -> None:
        for arguments in (({**x, name: bad}, True), (x, "fraud"), (x, True, -1.0), ([x], True)):
            with pytest.raises(ValueError):
                self.model.learn_one(*arguments)

    @rule(copied=st.sampled_from(COPIES))
    def go_on_as_a_copy(self, copied: Any) -> None:
        """It takes the place of the model, and the model that of the twin."""
        other, before = copied(self.model), pickle.dumps(self.model)
        with contextlib.suppress(ValueError):
            other.learn_one({"a": 1.0, "new": 2.0}, True)
        assert pickle.dumps(self.model) == before
        self.model, self.twin = copied(self.model), self.model

    @rule(n=st.integers(0, 20), swapped=st.booleans(), seed=st.integers(0, 10**6))
    def merge(self, n: int, swapped: bool, seed: int) -> None:
        """With a model that has learned from another stream, in both ways of saying so."""
        other = Life(self.cls)
        other.model, other.twin = self.model.clone(), self.model.clone()
        other.learn_a_few(n, (True, False), seed)
        if not hasattr(self.model._ranker, "merge"):
            with pytest.raises(TypeError, match="unsupported operand"):
                self.model + other.model
        elif swapped:
            self.model, self.twin = other.model + self.model, other.twin + self.twin
        else:
            self.model += other.model
            self.twin = self.twin + other.model
        assert state(other.model) == state(other.twin)

    @rule(value=st.sampled_from([1e-3, 0.1, 10.0]))
    def mutate(self, value: float) -> None:
        with pytest.raises(ValueError, match="prior"):
            self.model.mutate({"prior": "empirical"})
        for name in sorted(self.model._mutable_attributes)[:1]:
            with pytest.raises(ValueError, match=name):
                self.model.mutate({name: "none"})
            self.model.mutate({name: value})
            assert getattr(self.model, name) == value
            self.twin.mutate({name: value})


@each_class
def test_any_life(cls: type[OnlineAUCClassifier]) -> None:
    run_state_machine_as_test(functools.partial(Life, cls), settings=SETTINGS)
