"""Units and landmarks for the parts of a stream: the same however it is parted."""

from __future__ import annotations

import copy
import functools
import operator
import pickle
import random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from river_oauc import AutoOAUCM, AutoOKAUCM
from river_oauc.auto.engine import Engine
from river_oauc.auto.survey import Survey
from river_oauc.metrics import exact_auc

AUTO = pytest.mark.parametrize("cls", [AutoOAUCM, AutoOKAUCM])


def frame(n: int, seed: int = 1) -> pd.DataFrame:
    """A ring of positives, a noisy plane, an offset, values that are not known, and a rare flag."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (np.hypot(X[:, 0], X[:, 1]) > 1.7) ^ (rng.random(n) < 0.05)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table["d"] = 1e6 + 3.0 * y + rng.normal(size=n)
    table["e"] = np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n))
    table["flag"] = (rng.random(n) < 2 / n).astype(float)
    table["y"] = y
    return table


def surveyed(parts: list[pd.DataFrame]) -> Survey:
    surveys = []
    for part in parts:
        survey = Survey()
        survey.add_frame(part.drop(columns="y"), part["y"])
        surveys.append(survey)
    return functools.reduce(operator.iadd, surveys, Survey())


def learned_in_parts(cls: Any, parts: list[pd.DataFrame]) -> Any:
    model = cls()
    model.prepare(surveyed(parts))
    models = []
    for part in parts:
        models.append(copy.deepcopy(model))
        models[-1].learn_many(part.drop(columns="y"), part["y"])
    model = functools.reduce(operator.iadd, models)
    model.release()
    return model


def parted(table: pd.DataFrame, n: int, seed: int) -> list[pd.DataFrame]:
    shuffled = table.sample(frac=1.0, random_state=seed)
    cuts = sorted(random.Random(seed).sample(range(1, len(table)), n - 1))
    return [shuffled.iloc[i:j] for i, j in zip([0, *cuts], [*cuts, len(table)], strict=True)]


def scores_at_rest(model: Any, rows: pd.DataFrame) -> np.ndarray:
    (engine,) = model._generations.engines
    assert isinstance(engine, Engine)
    at_rest = [j for j, name in enumerate(engine.names) if "at rest" in name]
    scores = []
    for x in rows.to_dict("records"):
        z = engine.units.standardized(model._vectorizer.encode(x, True))
        scores.append(engine._expert_scores(z)[0][at_rest])
    return np.array(scores)


@AUTO
def test_the_experts_at_rest_do_not_depend_on_the_parts(cls: Any) -> None:
    table, probes = frame(1_500), frame(100, seed=2).drop(columns="y")
    whole = learned_in_parts(cls, [table])
    expected = scores_at_rest(whole, probes)
    assert np.ptp(expected, axis=0).min() > 0.1
    for n in (1, 3, 16):
        model = learned_in_parts(cls, parted(table, n, seed=n))
        np.testing.assert_allclose(scores_at_rest(model, probes), expected, rtol=0.0, atol=1e-8)


@AUTO
def test_parts_rank_as_well_as_one_pass(cls: Any) -> None:
    table, test = frame(2_000), frame(1_000, seed=3)
    whole = cls()
    whole.learn_many(table.drop(columns="y"), table["y"])
    aucs = []
    for model in (whole, learned_in_parts(cls, parted(table, 8, seed=1))):
        p = model.predict_proba_many(test.drop(columns="y"))[True].to_numpy()
        aucs.append(exact_auc(p[test["y"]], p[~test["y"]]))
    assert aucs[1] > aucs[0] - 0.01


@AUTO
def test_after_release_it_follows_the_stream(cls: Any) -> None:
    model = learned_in_parts(cls, parted(frame(1_200), 4, seed=1))
    mean = model._generations.engines[0].units.mean.copy()
    moved = frame(1_500, seed=4)
    moved["d"] += 50.0
    # The other way round: a change.
    moved["y"] = ~moved["y"]
    for x, y in zip(moved.drop(columns="y").to_dict("records"), moved["y"], strict=True):
        model.learn_one(x, bool(y))
    assert (model._generations.engines[0].units.mean != mean).any()
    test = frame(500, seed=5)
    test["d"] += 50.0
    p = model.predict_proba_many(test.drop(columns="y"))[True].to_numpy()
    assert exact_auc(p[~test["y"]], p[test["y"]]) > 0.75


def test_a_survey_is_what_numpy_says() -> None:
    table = frame(3_000)
    survey = surveyed(parted(table, 5, seed=1))
    X = table.drop(columns="y")
    assert survey.n == 3_000
    order = [survey.names.index(name) for name in X.columns]
    np.testing.assert_allclose(survey._mean[order], X.mean(), rtol=1e-12)
    variance = survey._squares / survey._n_known
    np.testing.assert_allclose(variance[order], X.var(ddof=0), rtol=1e-9)
    assert survey._n_known[order].tolist() == X.notna().sum().tolist()
    # The flag, which a sample of a thousand may well miss, is in its units, too.
    assert survey.units().factors[survey.names.index("flag")] > 0.0


def test_the_samples_are_examples_and_do_not_depend_on_the_parts() -> None:
    table = frame(3_000).fillna(7.0)
    one, other = surveyed([table]), surveyed(parted(table, 7, seed=2))
    places = [one.names.index(name) for name in other.names]
    for mine, theirs in zip(one.samples(), other.samples(), strict=True):
        assert len(mine) == 512
        np.testing.assert_array_equal(mine[:, places], theirs[:, : len(places)])
    columns = table.drop(columns="y")[one.names]
    for positive, rows in zip((False, True), one.samples(), strict=True):
        own = {tuple(row) for row in columns[table["y"] == positive].to_numpy()}
        assert {tuple(row[: columns.shape[1]]) for row in rows} <= own


def test_samples_are_uniform() -> None:
    rng = np.random.default_rng(6)
    survey = Survey()
    values = rng.normal(size=20_000)
    survey.add_frame(pd.DataFrame({"a": values}), pd.Series(np.arange(20_000) % 2))
    for rows in survey.samples():
        assert abs(rows[:, 0].mean()) < 4.0 / 512**0.5
        assert abs(rows[:, 0].std() - 1.0) < 4.0 / (2 * 512) ** 0.5


def test_an_outlier_has_no_say_in_the_units() -> None:
    table = frame(3_000)
    before = surveyed([table]).units().factors
    table.loc[0, "a"] = 1e30
    after = surveyed([table]).units().factors
    np.testing.assert_allclose(after, before, rtol=0.5)


def test_equal_rows_do_not_crowd_the_samples() -> None:
    table = frame(200)
    survey = surveyed([pd.concat([table, *[table.iloc[:1]] * 5_000])])
    assert [len(rows) for rows in survey.samples()] == [
        (table["y"] == positive).sum() for positive in (False, True)
    ]


def test_parts_with_their_own_columns_and_rows_without_weight() -> None:
    survey = Survey()
    survey.add_frame(pd.DataFrame({"a": [1.0, 3.0]}), pd.Series([0, 1]))
    other = Survey()
    other.add_frame(
        pl.DataFrame({"b": [4.0, 1e300], "a": [5.0, 0.0]}).with_columns(b=pl.Series([4.0, 9.0])),
        pl.Series([1, 1]),
        pl.Series([1.0, 0.0]),
    )
    survey += other
    survey += Survey()
    assert survey.n == 3
    assert survey.names == ["a", "b"]
    np.testing.assert_allclose(survey._mean, [3.0, 4.0 / 3.0])
    np.testing.assert_allclose(survey._squares / survey._n_known, [8.0 / 3.0, 32.0 / 9.0])


@AUTO
def test_no_rows_or_one_class_only(cls: Any) -> None:
    table = frame(60)
    for parts in ([table.iloc[:0]], [table[table["y"]]], [table, table.iloc[:0]]):
        model = learned_in_parts(cls, parts)
        model.learn_one({"a": 1.0}, True)
        assert 0.0 <= model.predict_proba_one({"a": 1.0})[True] <= 1.0


@AUTO
def test_what_is_refused_changes_nothing(cls: Any) -> None:
    model = cls()
    model.learn_one({"a": 1.0}, True)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="has learned already"):
        model.prepare(surveyed([frame(10)]))
    assert pickle.dumps(model) == before
    narrow = cls(max_features=3)
    with pytest.raises(ValueError, match="max_features"):
        narrow.prepare(surveyed([frame(10)]))
    survey = surveyed([frame(10)])
    before = pickle.dumps(survey)
    for bad in (
        pd.DataFrame({"a": [1.0, np.inf]}),
        pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}),
    ):
        with pytest.raises(ValueError):
            survey.add_frame(pd.DataFrame(bad), pd.Series([0, 1]))
    with pytest.raises(ValueError):
        survey.add_frame(pd.DataFrame({"a": [1.0, 2.0]}), pd.Series([0, 2]))
    assert pickle.dumps(survey) == before
