"""RecordEncoder: raw records as numbers, in front of any model of river."""

from __future__ import annotations

import copy
import datetime
import math
import pickle
from typing import Any

import pytest
from classifiers import state
from record_reference import Encoder, stream
from river import base, checks, datasets, forest, linear_model, preprocessing, tree

from river_oauc.metrics import ExactROCAUC
from river_oauc.preprocessing import RecordEncoder


def learned(examples: Any, **params: Any) -> RecordEncoder:
    encoder = RecordEncoder(**params)
    for x, y, *w in examples:
        encoder.learn_one(x, y, *w)
    return encoder


@pytest.mark.parametrize("limit", [None, 40])
def test_outputs_are_those_of_the_plain_loop(limit: int | None) -> None:
    """Without what is unknown; and copies go on alike."""
    encoder, plain = RecordEncoder(limit), Encoder(prompt=True, max_categories=limit)
    examples = [
        ({str(name): value for name, value in x.items()}, *rest) for x, *rest in stream(300)
    ]
    for i, (x, y, w) in enumerate(examples):
        columns, _ = plain.encode(x, learning=i == 0)
        expected = {}
        for (name, kind), entry in columns.items():
            label = "_".join(name) if isinstance(name, tuple) else name
            is_absent = (
                kind == "number" and not entry and str(x.get(name)) not in ("0", "0.0", "False")
            )
            if entry == entry and not is_absent:
                expected[label if kind == "number" else f"{label}_{kind.replace(' ', '_')}"] = entry
        assert encoder.transform_one(x) == pytest.approx(expected, rel=1e-12, abs=1e-12)
        encoder.learn_one(x, y, w)
        if i:
            plain.encode(x, learning=True)
        plain.learn(x, y, w)
        if i in (3, 150):
            copies = copy.deepcopy(encoder), pickle.loads(pickle.dumps(encoder))
            assert {state(each) for each in copies} == {state(encoder)}
            encoder = copies[i == 3]


def test_the_first_example_has_its_features_and_leaves_no_trace() -> None:
    encoder = RecordEncoder()
    assert encoder.transform_one({"n": 3, "city": "Rome"}) == {"n": 3.0, "city_log_odds": 0.0}
    assert encoder.transform_one({"m": "2.5"}) == {"m": 2.5}
    encoder.learn_one({"b": 2.5}, True)
    assert encoder.transform_one({"b": 3.5, "m": 1}) == {"b": 3.5}
    # A forest has as many features to choose from as its first example.
    model, auc = RecordEncoder() | forest.ARFClassifier(n_models=3, seed=1), ExactROCAUC()
    for x, y in datasets.Phishing().take(400):
        auc.update(y, model.predict_proba_one(x))
        model.learn_one(x, y)
    assert auc.get() > 0.85


def test_unknown_is_as_good_as_absent_and_0_is_not() -> None:
    encoder = learned(
        [({"a": i + 0.5, **({"late": 2.5} if i == 7 else {})}, True) for i in range(20)]
    )
    for absent in ({}, {"late": None}, {"late": ""}, {"late": "text"}, {"late": math.nan}):
        assert encoder.transform_one({"a": 1.5, **absent}) == {"a": 1.5}
    assert encoder.transform_one({"a": 1.5, "late": False}) == {"a": 1.5, "late": 0.0}


@pytest.mark.parametrize(
    "x", [{"a": "x", "a_log_odds": 7.5}, {"a": datetime.date(2024, 2, 29), "a_weekday": "x"}]
)
def test_a_column_gives_way_to_another_of_the_same_name(x: dict[str, Any]) -> None:
    found = learned([(x, True)]).transform_one(x)
    assert len(found) == 2 and found.get("a_log_odds", 7.5) == 7.5


def test_a_refused_record_changes_nothing() -> None:
    encoder = learned(stream(50))
    before = state(encoder)
    for x, y, w, problem in (
        ({"new": "x", "amount": [1]}, True, 1.0, "^feature 'amount' is .*items_0"),
        ({"new": "x"}, "fraud", 1.0, "y == 'fraud'"),
        ({"new": "x"}, True, -1.0, "the weight is -1.0"),
        ([1, 2], True, 1.0, "they must be a dict"),
    ):
        with pytest.raises(ValueError, match=problem):
            encoder.learn_one(x, y, w)
    assert state(encoder) == before and "new_log_odds" not in encoder.transform_one({"new": "x"})
    with pytest.raises(ValueError, match="is damaged"):
        RecordEncoder().__setstate__({**encoder.__getstate__(), "more": 1})


# river -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "check", list(checks.yield_checks(RecordEncoder())), ids=lambda c: c.__name__
)
def test_river_check(check: Any) -> None:
    """river tries supervised transformers on the target of a regression; here it is a class."""
    if "dataset" in getattr(check, "keywords", {}):
        check = type(check)(check.func, dataset=list(datasets.Phishing().take(100)))
    for params in RecordEncoder._unit_test_params():
        check(RecordEncoder(**params))


def test_river_checks_of_a_pipeline() -> None:
    scaler = preprocessing.StandardScaler()
    checks.check_estimator(RecordEncoder() | scaler | linear_model.LogisticRegression())


@pytest.mark.parametrize("last", [linear_model.LogisticRegression, tree.HoeffdingTreeClassifier])
def test_river_models_learn_raw_records(last: type[base.Classifier]) -> None:
    model = RecordEncoder() | preprocessing.StandardScaler() | last()
    auc = ExactROCAUC()
    for x, y, _ in stream(1_000):
        auc.update(y, model.predict_proba_one(x))
        model.learn_one(x, y)
    assert auc.get() > 0.75
