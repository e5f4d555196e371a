"""RecordEncoder: raw records as numbers, in front of any model of river."""

from __future__ import annotations

import copy
import datetime
import math
import pickle
import random
from collections.abc import Iterator
from typing import Any

import pytest
from river import base, checks, datasets, forest, linear_model, preprocessing, tree

from river_oauc.metrics import ExactROCAUC
from river_oauc.preprocessing import RecordEncoder

Payment = tuple[dict[str, Any], bool]


def payments(n: int, seed: int = 1) -> list[Payment]:
    """Return records whose labels depend on country, terminal, and what is missing."""
    rng = random.Random(seed)
    found = []
    for _ in range(n):
        x = {
            "amount": rng.lognormvariate(3.0, 1.0),
            "country": rng.choice("ABCDEFGH"),
            "terminal": rng.randrange(30),
            "age": None if rng.random() < 0.2 else rng.gauss(40.0, 10.0),
        }
        logit = ("ABCDEFGH".index(x["country"]) - 3.5) / 2 + (x["terminal"] % 2) * 2 - 1
        logit += 2 * (x["age"] is None)
        found.append((x, rng.random() < 1 / (1 + math.exp(1 - logit))))
    return found


def every_river_check() -> Iterator[Any]:
    for params in RecordEncoder._unit_test_params():
        encoder = RecordEncoder(**params)
        for check in checks.yield_checks(encoder):
            yield pytest.param(encoder, check, id=f"{params}-{check.__name__}")


@pytest.mark.parametrize(("encoder", "check"), list(every_river_check()))
def test_river_check(encoder: RecordEncoder, check: Any) -> None:
    """river tries supervised transformers on the target of a regression; here it is a class."""
    keywords = getattr(check, "keywords", {})
    if "dataset" in keywords:
        check = type(check)(check.func, dataset=list(datasets.Phishing().take(200)))
    check(encoder.clone())


@pytest.mark.parametrize("last", [linear_model.LogisticRegression, tree.HoeffdingTreeClassifier])
def test_river_models_learn_raw_records(last: type[base.Classifier]) -> None:
    model = RecordEncoder() | preprocessing.StandardScaler() | last()
    auc = ExactROCAUC()
    for x, y in payments(3_000):
        auc.update(y, model.predict_proba_one(x))
        model.learn_one(x, y)
    assert auc.get() > 0.75


def test_river_checks_of_a_pipeline() -> None:
    scaler = preprocessing.StandardScaler()
    checks.check_estimator(RecordEncoder() | scaler | linear_model.LogisticRegression())


def test_outputs_are_known_numbers() -> None:
    encoder = RecordEncoder()
    for x, y in payments(300):
        encoder.learn_one(x, y)
    x = {"amount": 12.5, "country": "A", "terminal": 3, "age": None, "word": 1.0}
    found = encoder.transform_one(x)
    assert found["amount"] == 12.5
    assert found["terminal"] == 3.0
    assert found["country_log_odds"] < 0.0 < found["terminal_log_odds"]
    assert found["age_missing"] == 1.0
    assert not found.keys() & {"age", "word"}
    assert all(math.isfinite(number) for number in found.values())


def test_the_first_example_has_its_features() -> None:
    encoder = RecordEncoder()
    assert encoder.transform_one({"n": 3, "city": "Rome"}) == {"n": 3.0, "city_log_odds": 0.0}
    assert encoder.transform_one({"m": 2.5, "a": "x"}) == {"m": 2.5, "a_log_odds": 0.0}
    # A forest has as many features to choose from as its first example.
    model, auc = RecordEncoder() | forest.ARFClassifier(n_models=3, seed=1), ExactROCAUC()
    for x, y in datasets.Phishing().take(400):
        auc.update(y, model.predict_proba_one(x))
        model.learn_one(x, y)
    assert auc.get() > 0.85


@pytest.mark.parametrize(
    "x",
    [{"a": "x", "a_log_odds": 7.5}, {"a": datetime.date(2024, 2, 29), "a_weekday": "x"}],
)
def test_a_column_gives_way_to_another_of_the_same_name(x: dict[str, Any]) -> None:
    encoder = RecordEncoder()
    encoder.learn_one(x, True)
    found = encoder.transform_one(x)
    assert len(found) == 2
    assert found.get("a_log_odds", 7.5) == 7.5


def test_refusals_and_weight_zero_change_nothing() -> None:
    encoder = RecordEncoder()
    for x, y in payments(50):
        encoder.learn_one(x, y)
    before = pickle.dumps(encoder)
    encoder.learn_one({"amount": 1.0, "country": "A", "terminal": 1, "age": 3.5}, True, w=0.0)
    encoder.learn_one({"never seen": 1.0, "nor this": "A"}, True, w=0.0)
    for x, y in (({"amount": [1]}, True), ({"amount": 1.0}, "fraud"), ([1, 2], True)):
        with pytest.raises(ValueError):
            encoder.learn_one(x, y)
    assert pickle.dumps(encoder) == before


def test_copies_go_on_alike() -> None:
    encoder = RecordEncoder(max_categories=20)
    for i, (x, y) in enumerate(payments(300)):
        if i in (3, 60, 100):
            twin, other = copy.deepcopy(encoder), pickle.loads(pickle.dumps(encoder))
        encoder.learn_one(x, y)
        if i >= 3:
            twin.learn_one(x, y)
            other.learn_one(x, y)
            assert encoder.transform_one(x) == twin.transform_one(x) == other.transform_one(x)
