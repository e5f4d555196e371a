"""Requests that one makes by mistake: each is refused in words that help, and changes nothing."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from river import optim, preprocessing

from river_oauc import KOIL, OAM, OAUCM, OAUCS, OKAUCM, OLUBAUC, PAI


def trained(model=None):
    model = model or OAUCM()
    for i in range(10):
        model.learn_one({"a": float(i), "b": 1.0 - i}, i % 2 == 0)
    return model


# Not a dict ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "x",
    [pd.Series({"a": 1.0, "b": 2.0}), [1.0, 2.0], None, 3.0, np.zeros(2), "ab", {1.0, 2.0}],
    ids=lambda x: type(x).__name__,
)
def test_features_that_are_no_dict(x):
    model = trained()
    before = pickle.dumps(model)
    for ask in (model.predict_proba_one, model.score_one, lambda x: model.learn_one(x, True)):
        with pytest.raises(ValueError, match=f"a {type(x).__name__}: they must be a dict"):
            ask(x)
    assert pickle.dumps(model) == before


# Not a real number -----------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "value",
    [np.timedelta64(5, "s"), np.timedelta64(5), np.complex128(1 + 2j), np.complex64(1), 1j],
    ids=repr,
)
def test_numbers_that_are_not_real(value):
    for model, x in ((OAUCM(), {"a": value}), (trained(), {"a": 1.0, "new": value})):
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match=f"a {type(value).__name__}: features must be real"):
            model.learn_one(x, True)
        assert pickle.dumps(model) == before


@pytest.mark.parametrize(
    "column", [[1j, 2j], pd.to_timedelta([1, 2])], ids=["complex", "timedelta"]
)
def test_columns_that_are_not_real(column):
    with pytest.raises(ValueError, match="^feature 'a' is .*: features must be real numbers"):
        OAUCM().learn_many(pd.DataFrame({"a": column}), pd.Series([True, False]))


# Long values -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "long", ["x" * 2**20, b"x" * 2**20, list(range(2**17))], ids=["s", "b", "l"]
)
def test_a_value_of_a_megabyte_is_cut_in_the_message(long):
    requests = [
        lambda: OAUCM().learn_one({"a": long}, True),
        lambda: OAUCM().learn_one({"a": 1.0}, long),
        lambda: OAUCM().learn_one({"a": 1.0}, True, w=long),
        lambda: OAUCM().learn_one(long, True),
        lambda: OAUCM().learn_one({str(long): math.nan}, True),
    ]
    for request in requests:
        with pytest.raises(ValueError) as refusal:
            request()
        assert len(str(refusal.value)) < 400


# NaN -------------------------------------------------------------------------------------------


def test_a_scaler_that_has_seen_a_nan_is_named():
    """River's scaler then has NaN for ever: its owner should look there."""
    model = preprocessing.StandardScaler() | OAUCM()
    for i in range(5):
        model.learn_one({"a": float(i)}, i % 2 == 0)
    for value in (math.nan, 1.0):
        with pytest.raises(ValueError, match="feature 'a' is NaN: .*the scaler has seen a NaN"):
            model.learn_one({"a": value}, True)


def test_no_advice_to_impute_a_nan():
    """River's StatImputer fills None, and leaves NaN as it is."""
    imputer = preprocessing.StatImputer()
    imputer.learn_one({"a": 1.0})
    assert math.isnan(imputer.transform_one({"a": math.nan})["a"])
    with pytest.raises(ValueError) as refusal:
        OAUCM().learn_one({"a": math.nan}, True)
    assert "StatImputer" not in str(refusal.value)


# Parameters changed later ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "change", "complaint"),
    [
        (OAUCM(), {"l2": 0.0}, "l2 is 0.0"),
        (OAUCM(), {"l2": "1"}, "l2 is '1'"),
        (OAUCM(lr=0.1), {"lr": -1.0}, "lr is -1.0"),
        (OAUCS(l2=0.0), {"lr": None}, "l2 is 0.0"),
        (OKAUCM(), {"l2": math.nan}, "l2 is nan"),
        (KOIL(), {"eta": 0.0}, "eta is 0.0"),
        (PAI(), {"C": math.inf}, "C is inf"),
        (OAM(), {"C": None}, "C is None"),
        (OLUBAUC(), {"l2": -1.0}, "l2 is -1.0"),
        (OAUCM(), {"l2": 0.5, "lr": "fast"}, "lr is 'fast'"),
        (OAUCM(), {"l2": 0.5, "prior": "empirical"}, "'prior' is not a mutable attribute"),
        (OAUCM(), {"l2": 0.5, "l3": 1.0}, "'l3' is not an attribute"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else None,
)
def test_mutate_refuses_what_a_new_model_would_refuse(model, change, complaint):
    trained(model)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=complaint):
        model.mutate(change)
    assert pickle.dumps(model) == before
    pipeline = preprocessing.MinMaxScaler() | model
    with pytest.raises(ValueError, match=complaint):
        pipeline.mutate({type(model).__name__: change})
    assert pickle.dumps(model) == before


def test_mutate_changes_what_may_be_changed():
    model = trained(OAUCM(lr=optim.schedulers.Constant(0.1)))
    weights = model.weights
    model.mutate({"l2": 0.5, "lr": 0.25})
    assert (model.l2, model.lr) == (0.5, 0.25)
    assert model.weights == weights
