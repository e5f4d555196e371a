"""Random sequences of calls on every classifier.

A classifier and a twin learn the same examples, each in its own way: the twin is a copy, learns one
at a time what the classifier learns as a batch, and is spared what must leave no trace, which is
predictions and refused examples. After every call both are equal bit for bit, and finite.

The default run is short and always the same. With the environment variable RIVER_OAUC_LIVES, the
number of random sequences per classifier is drawn anew each time:

    RIVER_OAUC_LIVES=20000 python -m pytest "tests/test_stateful.py::test_any_life[OAUCM]"
"""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import math
import os
import pickle
import random
from collections.abc import Callable
from datetime import date
from typing import Any

import pandas as pd
import pytest
from classifiers import CLASSIFIERS, TAKE_RECORDS, assert_finite, state
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
from river import optim

from river_oauc import (
    FTRLAUC,
    KOIL,
    OAM,
    OAUCM,
    OAUCS,
    OKAUCM,
    OKAUCS,
    OLUBAUC,
    PAI,
    SOLAM,
    SPAUC,
    AdaOAM,
)
from river_oauc.classifier import OnlineAUCClassifier
from river_oauc.kernels import RBF, Linear, Polynomial

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

N_LIVES = int(os.environ.get("RIVER_OAUC_LIVES", "0"))
SETTINGS = settings(
    max_examples=N_LIVES or 20,
    stateful_step_count=12,
    derandomize=not N_LIVES,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)

# Beside the parameters that a class offers for tests: small budgets, schedulers, steep kernels, and
# steps that diverge.
PARAMETERS: dict[type[OnlineAUCClassifier], list[dict[str, Any]]] = {
    OAUCM: [{"l2": 0.0, "lr": optim.schedulers.InverseScaling(1.0)}, {"lr": 1e20}],
    OAUCS: [{"lr": optim.schedulers.Optimal(optim.losses.Hinge())}, {"lr": 1e20}],
    OKAUCM: [
        {"budget": 1},
        {"kernel": Polynomial(degree=3), "budget": (2, 1), "lr": 0.1},
        {"budget": 3, "lr": 1e20},
    ],
    OKAUCS: [
        {"budget": 2, "policy": "reservoir"},
        {"kernel": Linear(), "budget": 3, "lr": 1e-3},
        {"budget": 3, "lr": 1e20},
    ],
    KOIL: [
        {"budget": (1, 2), "k": 1},
        {"kernel": RBF(4.0), "budget": 3, "eta": 0.5, "loss": "l2"},
        {"budget": 3, "policy": "reservoir", "eta": 1e20},
    ],
    PAI: [{"C": 2**-8}, {"C": 100.0}],
    OAM: [{"buffer_size": 3, "update": "sequential", "C": 1.0}, {"buffer_size": 1, "C": 1e48}],
    SOLAM: [{"xi": 100.0, "R": 1e-3}, {"xi": 1e20, "R": 1e60}],
    SPAUC: [{"l2": 4.0}, {"c": 1e20}],
    AdaOAM: [{"l2": 4.0, "lr": 10.0}, {"l2": 0.0, "lr": 1e20}],
    FTRLAUC: [{"alpha": 100.0, "l1": 1e-3}, {"alpha": 1e20, "beta": 1e-20}],
    OLUBAUC: [{"l2": 2**-10, "lr": optim.schedulers.InverseScaling(0.1)}, {"lr": 1e20}],
}

NAMES = "abcdefgh"
TAME_VALUES = st.floats(-5.0, 5.0) | st.sampled_from([0, 1, True, 2.5, -1e3, 1e-300])
WILD_VALUES = st.sampled_from([1e-160, 1e8, -1e25, 1e40, -9e49, 1e50, 3e50, -1e150, 1e308])
TAME_WEIGHTS = st.sampled_from([1.0, 1.0, 1.0, 0.0, 1e-6, 0.5, 7, 1e3])
WILD_WEIGHTS = st.sampled_from([1e-50, 1e-20, 1e20, 1e50])
LABELS = st.sampled_from([(True, False), (True, False), (True,), (False,)])
# The same in short, for the rows of a batch.
TAME_SIZES, WILD_SIZES = (0.0, 1.0, 1.0, 30.0), (1e-160, 1.0, 1e8, 1e25, 1e45)
TAME_ROW_WEIGHTS, WILD_ROW_WEIGHTS = (1.0, 1.0, 0.0, 0.5, 3.0), (1.0, 0.0, 1e-50, 1e50)

# What some learners take beside numbers.
RAW_VALUES = st.sampled_from(
    [None, math.nan, pd.NA, "x", "y", "some words here", b"x", 3, 4, 2**60, date(2024, 2, 29)]
)
RAW_CELLS = ("x", None, "some words here")

NOT_FEATURES = [math.nan, math.inf, -math.inf, "1.5", None, 1e200, 10**400, 1j, [1.0], pd.NA]
NOT_LABELS = ["fraud", None, 2, 0.5, math.nan, [True], pd.NA]
NOT_WEIGHTS = [-1.0, math.nan, math.inf, "1", None, 1e51, 1e-51]

# What a classifier may have against an example that is sound in itself.
GROUNDS = ("step is too large", "no finite value", "norm above", "must be within")

PROBES: list[dict[Any, Any]] = [
    {},
    {"a": 1.0, "b": -1.0, "c": 3.0, "d": 0.5},
    {"h": -2.0, "never seen": 3.0, "b": math.nan},
]


def examples(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[Any, Any]]:
    return st.dictionaries(st.sampled_from(NAMES), values, max_size=5)


def same(model: OnlineAUCClassifier, other: OnlineAUCClassifier) -> bool:
    # Equal bytes are equal states. The bytes of equal states may differ: one of two equal strings
    # may be written as a reference to the other.
    return pickle.dumps(model) == pickle.dumps(other) or state(model) == state(other)


def assert_on_known_grounds(refusal: ValueError) -> None:
    assert any(ground in str(refusal) for ground in GROUNDS), refusal


def assert_predicts(model: OnlineAUCClassifier, x: dict[Any, Any]) -> None:
    """A distribution, or a refusal if the features are too large."""
    try:
        score, p = model.score_one(x), model.predict_proba_one(x)
    except ValueError as refusal:
        assert_on_known_grounds(refusal)
    else:
        assert math.isfinite(score)
        assert p.keys() == {False, True}
        assert all(0.0 <= value <= 1.0 for value in p.values())
        assert abs(p[False] + p[True] - 1.0) <= 1e-15
        assert model.predict_one(x) is (p[True] > 0.5)


class Life(RuleBasedStateMachine):
    """A classifier and its twin, who live through the same."""

    def __init__(self, cls: type[OnlineAUCClassifier]) -> None:
        super().__init__()
        self.cls = cls

    @initialize(
        data=st.data(), prior=st.sampled_from(["balanced", "empirical"]), wild=st.booleans()
    )
    def begin(self, data: st.DataObject, prior: str, wild: bool) -> None:
        choices = [*self.cls._unit_test_params(), *PARAMETERS.get(self.cls, [])]
        parameters = {**data.draw(st.sampled_from(choices)), "prior": prior}
        if "seed" in inspect.signature(self.cls).parameters:
            parameters["seed"] = 42
        self.wild = wild
        self.model, self.twin = self.cls(**parameters), self.cls(**parameters)

    @invariant()
    def both_are_the_same_and_finite_and_predict(self) -> None:
        assert same(self.model, self.twin)
        assert_finite(self.model)
        before = pickle.dumps(self.model)
        for x in PROBES:
            assert_predicts(self.model, x)
        assert pickle.dumps(self.model) == before

    # Learning ------------------------------------------------------------------------------------

    def both_learn(self, x: dict[Any, Any], y: Any, w: float) -> None:
        """Or the model refuses, without a trace: then the twin is spared."""
        try:
            self.model.learn_one(x, y, w)
        except ValueError as refusal:
            assert_on_known_grounds(refusal)
            assert same(self.model, self.twin)
        else:
            if w:
                self.twin.learn_one(x, y, w)

    @rule(data=st.data(), y=st.sampled_from([True, False, 1, -1]))
    def learn_one(self, data: st.DataObject, y: Any) -> None:
        values = TAME_VALUES | WILD_VALUES if self.wild else TAME_VALUES
        if issubclass(self.cls, TAKE_RECORDS):
            values |= RAW_VALUES
        x = data.draw(examples(values))
        w = data.draw(TAME_WEIGHTS | WILD_WEIGHTS if self.wild else TAME_WEIGHTS)
        self.both_learn(x, y, w)

    @rule(n=st.integers(1, 20), labels=LABELS, seed=st.integers(0, 10**6))
    def learn_a_few(self, n: int, labels: tuple[bool, ...], seed: int) -> None:
        """With features that come and go."""
        rng = random.Random(seed)
        for _ in range(n):
            x = {name: rng.gauss(0, 1) for name in rng.sample(NAMES, rng.randrange(5))}
            self.both_learn(x, rng.choice(labels), rng.choice(TAME_ROW_WEIGHTS))

    @rule(
        columns=st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True),
        n_rows=st.integers(0, 40),
        labels=LABELS,
        backend=st.sampled_from([*BACKENDS[:1] * 3, *BACKENDS]),
        seed=st.integers(0, 10**6),
    )
    def learn_many(
        self, columns: list[str], n_rows: int, labels: tuple[bool, ...], backend: Backend, seed: int
    ) -> None:
        """The twin learns the rows one by one, up to the first that it refuses."""
        rng = random.Random(seed)
        sizes = WILD_SIZES if self.wild and seed % 2 else TAME_SIZES
        weights = WILD_ROW_WEIGHTS if self.wild and seed % 3 else TAME_ROW_WEIGHTS
        X = {name: [rng.gauss(0, 1) * rng.choice(sizes) for _ in range(n_rows)] for name in columns}
        if issubclass(self.cls, TAKE_RECORDS):
            for values in X.values():
                values[::7] = [math.nan] * len(values[::7])
            X["when"] = [
                None if rng.random() < 0.2 else date(2024, 2, 1 + i % 7) for i in range(n_rows)
            ]
            X["text"] = [rng.choice(RAW_CELLS) for _ in range(n_rows)]
        y = [rng.choice(labels) for _ in range(n_rows)]
        w = [rng.choice(weights) for _ in range(n_rows)]

        is_refused = False
        try:
            self.model.learn_many(backend.frame(X), backend.series(y), backend.series(w))
        except ValueError as refusal:
            assert_on_known_grounds(refusal)
            is_refused = True
        for row in range(n_rows):
            before = pickle.dumps(self.twin) if is_refused else None
            try:
                self.twin.learn_one({name: X[name][row] for name in X}, y[row], w[row])
            except ValueError:
                assert pickle.dumps(self.twin) == before
                break
        else:
            assert not is_refused
        # Only a series has a name.
        self.twin._y_name = self.model._y_name

    def takes(self, value: Any) -> bool:
        """Whether it is a value that is not known, and may be, or a category."""
        is_missing = value is None or value is pd.NA or value != value
        return (is_missing or isinstance(value, str)) and issubclass(self.cls, TAKE_RECORDS)

    # What leaves no trace ------------------------------------------------------------------------

    @rule(
        x=examples(TAME_VALUES),
        y=st.booleans(),
        bad_feature=st.none() | st.tuples(st.sampled_from(NAMES), st.sampled_from(NOT_FEATURES)),
        bad_label=st.sampled_from(NOT_LABELS),
        bad_weight=st.sampled_from(NOT_WEIGHTS),
    )
    def refuse_one(
        self,
        x: dict[Any, Any],
        y: bool,
        bad_feature: tuple[str, Any] | None,
        bad_label: Any,
        bad_weight: Any,
    ) -> None:
        for arguments in ((x, bad_label), (x, y, bad_weight), (x, bad_label, bad_weight)):
            with pytest.raises(ValueError):
                self.model.learn_one(*arguments)
        if bad_feature and not self.takes(bad_feature[1]):
            name, value = bad_feature
            with pytest.raises(ValueError):
                self.model.learn_one({**x, name: value}, y)

    @rule(
        row=st.integers(0, 2),
        where=st.sampled_from(["X", "y", "w"]),
        bad=st.sampled_from([math.nan, math.inf, "2", None, -2]),
    )
    def refuse_many(self, row: int, where: str, bad: Any) -> None:
        if where == "X" and self.takes(bad):
            return
        columns: dict[str, list[Any]] = {"X": [1, 2, 3], "y": [1, 0, 1], "w": [1, 1, 2]}
        columns[where][row] = 1e60 if (where, bad) == ("X", -2) else bad
        X = pd.DataFrame({"a": [0.0] * 3, "b": columns["X"], "new": [1.0] * 3})
        y, w = (pd.Series(columns[key], dtype=object) for key in "yw")
        with pytest.raises(ValueError):
            self.model.learn_many(X, y, w)

    @rule(x=examples(TAME_VALUES | WILD_VALUES | st.just(math.nan)))
    def predict_one(self, x: dict[Any, Any]) -> None:
        assert_predicts(self.model, x)
        assert_predicts(self.model, {**x, "never seen": 1.0})

    @rule(
        columns=st.lists(st.sampled_from([*NAMES, "never seen"]), min_size=1, max_size=3),
        backend=st.sampled_from(BACKENDS),
    )
    def predict_many(self, columns: list[str], backend: Backend) -> None:
        X = backend.frame({name: [0.0, 1.0, math.nan, -3.0] for name in columns})
        frame = self.model.predict_proba_many(X)
        names = (False, True) if isinstance(frame, pd.DataFrame) else ("False", "True")
        negative, positive = (frame[name].to_numpy() for name in names)
        assert ((positive >= 0.0) & (positive <= 1.0)).all()
        assert (abs(negative + positive - 1.0) <= 1e-15).all()
        assert self.model.predict_many(X).to_numpy().tolist() == (positive > 0.5).tolist()

    # The life of a model -------------------------------------------------------------------------

    def assert_shares_nothing(self, other: OnlineAUCClassifier) -> None:
        before = pickle.dumps(self.model)
        for x, y in (({"a": 1.0, "new": 2.0}, True), ({"a": -1.0}, False)):
            with contextlib.suppress(ValueError):
                other.learn_one(x, y)
        assert pickle.dumps(self.model) == before

    @rule(copied=st.sampled_from([lambda model: pickle.loads(pickle.dumps(model)), copy.deepcopy]))
    def go_on_as_a_copy(self, copied: Callable[[OnlineAUCClassifier], OnlineAUCClassifier]) -> None:
        """It takes the place of the model, and the model that of the twin."""
        self.assert_shares_nothing(copied(self.model))
        self.model, self.twin = copied(self.model), self.model

    @rule(n=st.integers(0, 20), labels=LABELS, swapped=st.booleans(), seed=st.integers(0, 10**6))
    def merge(self, n: int, labels: tuple[bool, ...], swapped: bool, seed: int) -> None:
        """With a model that has learned from another stream, in both ways of saying so."""
        rng = random.Random(seed)
        other = self.model.clone()
        for _ in range(n):
            x = {name: rng.gauss(0, 1) for name in rng.sample(NAMES, rng.randrange(5))}
            with contextlib.suppress(ValueError):
                other.learn_one(x, rng.choice(labels))
        before = state(other)
        if swapped:
            self.model, self.twin = other + self.model, copy.deepcopy(other) + self.twin
        else:
            self.model += other
            self.twin = self.twin + copy.deepcopy(other)
        assert state(other) == before

    @rule(start_again=st.sampled_from([False, False, False, True]))
    def clone(self, start_again: bool) -> None:
        clone = self.model.clone()
        names = inspect.signature(self.cls).parameters
        assert same(clone, self.cls(**{name: getattr(self.model, name) for name in names}))
        self.assert_shares_nothing(clone)
        if start_again:
            self.model, self.twin = clone.clone(), clone.clone()

    @rule(data=st.data())
    def mutate(self, data: st.DataObject) -> None:
        with pytest.raises(ValueError, match="prior"):
            self.model.mutate({"prior": "empirical"})
        names = sorted(self.model._mutable_attributes)
        if names:
            name = data.draw(st.sampled_from(names))
            values: list[Any] = [1e-3, 0.1, 1.0, 10.0]
            if self.wild:
                values += [1e-20, 1e20]
            if name == "lr":
                values.append(optim.schedulers.InverseScaling(0.3))
            value = data.draw(st.sampled_from(values))
            self.model.mutate({name: value})
            self.twin.mutate({name: value})


@pytest.mark.parametrize("cls", CLASSIFIERS, ids=lambda cls: cls.__name__)
def test_any_life(cls: type[OnlineAUCClassifier]) -> None:
    run_state_machine_as_test(functools.partial(Life, cls), settings=SETTINGS)
