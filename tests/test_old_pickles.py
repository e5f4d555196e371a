"""Models that were pickled once are still read, and say the same.

The pickles are in `tests/fixtures`, a directory per format. Those of the current format are made by

    python tests/fixtures/make.py

and are final once a version with this format has been released. Whoever changes the state after
that raises the format number in `river_oauc/base.py`, lets `__setstate__` translate the older one,
and makes the pickles of the new format; the older ones stay.
"""

from __future__ import annotations

import copy
import json
import math
import pickle
import random
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from attributes import attributes_of

import river_oauc
from river_oauc import OAUCM, base
from river_oauc.base import OnlineAUCClassifier

FIXTURES = Path(__file__).parent / "fixtures"
PICKLES = sorted(FIXTURES.glob("format_*/*.pickle"))
MAKE = runpy.run_path(str(FIXTURES / "make.py"))
# Bytes. The generator of the learners that draw lots takes 4,000 of them. The two without knobs
# keep a few thousand numbers for each feature from the start.
LARGEST, LARGEST_OF_AUTO = 10_000, 90_000

each_pickle = pytest.mark.parametrize(
    "path", PICKLES, ids=[f"{path.parent.name}-{path.stem}" for path in PICKLES]
)
each_classifier = pytest.mark.parametrize("name", river_oauc.__all__)


def load(path: Path) -> OnlineAUCClassifier:
    return pickle.loads(path.read_bytes())


def examples(n: int) -> list[tuple[dict[str, float], bool]]:
    rng = random.Random(3)
    names = ("age", "hour", "amount", "late", "later", "latest")
    return [({name: rng.gauss(i % 2, 1.0) for name in names}, i % 2 == 1) for i in range(n)]


@each_pickle
def test_an_old_model_says_the_same(path: Path) -> None:
    model = load(path)
    assert type(model) is getattr(river_oauc, path.stem)
    known = json.loads((path.parent / "expected.json").read_text())
    expected = known["expected"][path.stem]
    assert len(set(expected["scores"])) > 3
    for x, score, probability in zip(
        known["probes"], expected["scores"], expected["probabilities"], strict=True
    ):
        assert model.score_one(x) == pytest.approx(score, rel=1e-12, abs=1e-12)
        p = model.predict_proba_one(x)
        assert p[True] == pytest.approx(probability, rel=1e-12)
        assert p[False] == pytest.approx(1.0 - probability, rel=1e-12)


@each_pickle
def test_an_old_model_learns_on(path: Path) -> None:
    """One example at a time or many, with features that it has not met."""
    model, twin = load(path), load(path)
    stream = examples(40)
    scores = [model.score_one(x) for x, _ in stream]
    for x, y in stream:
        model.learn_one(x, y)
    twin.learn_many(pd.DataFrame([x for x, _ in stream]), pd.Series([y for _, y in stream]))
    learned = [model.score_one(x) for x, _ in stream]
    assert all(map(math.isfinite, learned))
    assert learned != scores
    assert learned == [twin.score_one(x) for x, _ in stream]


@each_pickle
def test_an_old_model_can_be_cloned_and_pickled_again(path: Path) -> None:
    model = load(path)
    x, _ = examples(1)[0]
    assert model.clone().score_one(x) == 0.0
    assert pickle.loads(pickle.dumps(model)).score_one(x) == model.score_one(x)


@each_pickle
def test_the_format_is_the_one_that_the_directory_names(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    formats = []
    set_state = OnlineAUCClassifier.__setstate__

    def noting(self: OnlineAUCClassifier, state: dict[str, Any]) -> None:
        formats.append(state["_format"])
        set_state(self, state)

    monkeypatch.setattr(OnlineAUCClassifier, "__setstate__", noting)
    load(path)
    assert formats == [int(path.parent.name.removeprefix("format_"))]
    assert 1 <= formats[0] <= base.FORMAT


def test_there_is_a_pickle_of_every_classifier_in_every_format() -> None:
    for number in range(1, base.FORMAT + 1):
        directory = FIXTURES / f"format_{number}"
        found = {path.stem for path in directory.glob("*.pickle")}
        expected = json.loads((directory / "expected.json").read_text())["expected"]
        assert found == set(expected)
        # A classifier of a later version has no pickle of an older format.
        assert found <= set(river_oauc.__all__)
    assert found == set(river_oauc.__all__)


def test_the_files_are_small() -> None:
    for path in PICKLES:
        limit = LARGEST_OF_AUTO if path.stem.startswith("Auto") else LARGEST
        assert path.stat().st_size < limit, path


def test_the_files_are_made_the_same_every_time(tmp_path: Path) -> None:
    for name in ("first", "second"):
        MAKE["write"](tmp_path / name)
    names = sorted(path.name for path in (tmp_path / "first").iterdir())
    assert names == sorted(f.name for f in (FIXTURES / f"format_{base.FORMAT}").iterdir())
    for name in names:
        first, second = (tmp_path / run / name for run in ("first", "second"))
        assert first.read_bytes() == second.read_bytes()


# The number ------------------------------------------------------------------------------------


@each_classifier
def test_a_pickle_from_the_future_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    number = base.FORMAT + 1
    with monkeypatch.context() as future:
        future.setattr(base, "FORMAT", number)
        pickled = pickle.dumps(MAKE["make_model"](name))
    with pytest.raises(
        ValueError,
        match=rf"^this {name} was pickled in format {number}, .*up to {base.FORMAT}: "
        "upgrade river-oauc$",
    ):
        pickle.loads(pickled)


def test_a_pickle_without_a_number_is_refused() -> None:
    state = OAUCM().__getstate__()
    del state["_format"]
    with pytest.raises(ValueError, match="without a format number"):
        OAUCM().__setstate__(state)


def test_a_refused_state_is_left_alone_and_changes_nothing() -> None:
    model = MAKE["make_model"]("OAUCM")
    before = pickle.dumps(model)
    state = OAUCM(l2=1.0).__getstate__() | {"_format": base.FORMAT + 1}
    given = dict(state)
    with pytest.raises(ValueError, match="upgrade"):
        model.__setstate__(state)
    assert state == given
    assert pickle.dumps(model) == before


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))],
    ids=["copy", "deepcopy", "pickle"],
)
@each_classifier
def test_copies_have_the_same_attributes_and_no_other(
    name: str, copied: Callable[[OnlineAUCClassifier], OnlineAUCClassifier]
) -> None:
    model = MAKE["make_model"](name)
    twin = copied(model)
    assert type(twin) is type(model)
    assert attributes_of(twin).keys() == attributes_of(model).keys()
    # A lock is no part of the state: each has its own.
    assert twin._lock is not model._lock
    assert "_lock" not in twin.__getstate__()
    x, _ = examples(1)[0]
    assert twin.predict_proba_one(x) == model.predict_proba_one(x)


@each_classifier
def test_equal_models_have_equal_pickles(name: str) -> None:
    model, twin = MAKE["make_model"](name), MAKE["make_model"](name)
    assert pickle.dumps(model) == pickle.dumps(twin) == pickle.dumps(model)
    (x, y), *_ = examples(1)
    twin.learn_one(x, y)
    assert pickle.dumps(model) != pickle.dumps(twin)
