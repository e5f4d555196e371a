"""Learning and scoring on Dask: the same as by hand, whoever computes it, and what is refused."""

from __future__ import annotations

import copy
import functools
import gc
import io
import operator
import os
import pathlib
import pickle
import random
import signal
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from classifiers import each_class, make_case
from hypothesis import given
from hypothesis import strategies as st
from river import base, compose, feature_extraction, linear_model, preprocessing

from river_oauc import OAUCM, SPAUC, AutoOAUC, SparseOAUCM
from river_oauc.metrics import exact_auc

dask = pytest.importorskip("dask", reason='needs the extra "distributed"')
dd = pytest.importorskip("dask.dataframe", reason='needs the extra "distributed"')
distributed = pytest.importorskip("distributed", reason='needs the extra "distributed"')

from river_oauc.distributed import learn, score  # noqa: E402
from river_oauc.distributed.scaling import ColumnStatistics, Scaling, add_statistics  # noqa: E402
from river_oauc.distributed.survey import Survey, prepare, release  # noqa: E402

N_FEATURES = 4
NAMES = [f"x{j}" for j in range(N_FEATURES)]
SCALERS = [preprocessing.StandardScaler, preprocessing.MinMaxScaler, preprocessing.MaxAbsScaler]


def table(n_rows: int, seed: int = 42) -> pd.DataFrame:
    """Rows of features in different units, labels, and weights."""
    rng = np.random.default_rng(seed)
    labels = rng.random(n_rows) < 0.3
    values = rng.standard_normal((n_rows, N_FEATURES)) + labels[:, np.newaxis]
    rows = pd.DataFrame(values * [1.0, 10.0, 0.1, 1.0] + [0.0, 50.0, 0.0, -3.0], columns=NAMES)
    return rows.assign(y=labels, w=rng.integers(0, 4, n_rows).astype(float))


TABLE = table(600)


def frame_of(partitions: Sequence[pd.DataFrame]) -> Any:
    """A Dask DataFrame of just these partitions, which need not be alike."""
    numbers = range(len(partitions))
    return dd.from_map(lambda number: partitions[number], numbers, meta=partitions[0][:0])


def cut(rows: pd.DataFrame, n_partitions: int) -> list[pd.DataFrame]:
    bounds = np.linspace(0, len(rows), n_partitions + 1).astype(int)
    return [rows[a:b] for a, b in zip(bounds, bounds[1:], strict=False)]


def in_pairs(terms: Sequence[Any]) -> Any:
    """Add neighbours, then neighbouring sums, and so on."""
    while len(terms) > 1:
        terms = [functools.reduce(operator.iadd, terms[i : i + 2]) for i in range(0, len(terms), 2)]
    return terms[0]


def by_hand(partitions: Sequence[pd.DataFrame], given: Any) -> Any:
    """Merge models of the partitions."""
    model = given.clone()
    if isinstance(model, AutoOAUC):
        prepare(model, surveyed(partitions))
    models = [copy.deepcopy(model) for _ in partitions]
    for partition, one in zip(partitions, models, strict=True):
        one.learn_many(partition.drop(columns="y"), partition["y"])
    learned = in_pairs(models)
    if isinstance(model, AutoOAUC):
        release(learned)
    return given + learned


def surveyed(partitions: Sequence[pd.DataFrame]) -> Survey:
    surveys = []
    for partition in partitions:
        surveys.append(Survey())
        surveys[-1].add_frame(partition.drop(columns="y"), partition["y"])
    return in_pairs(surveys)


def scores(model: base.Classifier, rows: pd.DataFrame = TABLE) -> list[float]:
    return [model.score_one(x) for x in rows[NAMES].to_dict("records")]


def state(model: Any) -> bytes:
    """All that a model is, bit for bit; but not whether two equal names in it are one object."""
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer)
    pickler.fast = True
    pickler.dump(model)
    return buffer.getvalue()


@each_class
def test_partitions_are_learned_and_merged_in_pairs(cls: Any) -> None:
    partitions = cut(TABLE.drop(columns="w"), 5)
    # Its default step is for features between 0 and 1.
    make = functools.partial(make_case, cls, **({"c": 2**-8} if cls is SPAUC else {}))
    model = make()
    before = state(model)
    learned = learn(frame_of(partitions), "y", model)
    assert type(learned) is type(model)
    assert state(learned) == state(by_hand(partitions, make()))
    assert state(model) == before
    assert len(set(scores(learned))) > 1


def test_what_a_model_has_learned_before_counts_once() -> None:
    earlier, later = table(300, seed=1), cut(TABLE, 3)
    model = SparseOAUCM()
    model.learn_many(earlier[NAMES], earlier["y"])
    before = state(model)
    learned = learn(frame_of(later)[[*NAMES, "y"]], "y", model)
    assert state(model) == before
    assert state(learned) == state(by_hand([rows[[*NAMES, "y"]] for rows in later], model))


def test_strings_are_categories_of_sparse_oaucm() -> None:
    rows = TABLE.assign(country=np.where(TABLE["y"], "FR", "US"))[["country", "y"]]
    learned = learn(dd.from_pandas(rows, npartitions=3), "y", SparseOAUCM())
    assert set(learned.weights) == {("country", "FR"), ("country", "US")}
    assert score(dd.from_pandas(rows, npartitions=2), learned).compute().nunique() == 2


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two processes, which do not wait for a killed one."""
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "2s"}),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            local_directory=str(tmp_path_factory.mktemp("dask")),
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def test_the_result_is_the_same_whoever_computes_it(client: Any) -> None:
    rows = dd.from_pandas(TABLE, npartitions=7)
    model = preprocessing.StandardScaler() | SparseOAUCM()
    learned = [
        learn(rows, "y", model, weights="w", scheduler=scheduler)
        for scheduler in ("sync", "threads", client, None)
    ]
    with client.as_current():
        learned.append(learn(rows, "y", model, weights="w"))
    assert len({state(one) for one in learned}) == 1


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL on Windows")
def test_a_killed_worker_changes_nothing(client: Any, tmp_path: pathlib.Path) -> None:
    partitions = cut(TABLE.drop(columns="w"), 16)
    killed = tmp_path / "killed"

    def read(number: int) -> pd.DataFrame:
        if number == 12 and not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return partitions[number]

    frame = dd.from_map(read, range(16), meta=partitions[0][:0])
    learned = learn(frame, "y", SparseOAUCM(), scheduler=client)
    assert killed.exists()
    assert state(learned) == state(by_hand(partitions, SparseOAUCM()))


def test_a_model_is_sent_once(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    n_pickled = 0
    pickled = SparseOAUCM.__getstate__

    def count(model: SparseOAUCM) -> dict[str, Any]:
        nonlocal n_pickled
        n_pickled += 1
        return pickled(model)

    monkeypatch.setattr(SparseOAUCM, "__getstate__", count)
    rows = dd.from_pandas(TABLE, npartitions=30)
    model = learn(rows, "y", SparseOAUCM(), weights="w", scheduler=client)
    score(rows, model).compute(scheduler=client)
    assert n_pickled < 10


def test_progress_is_shown_if_asked_for(client: Any, capsys: pytest.CaptureFixture[str]) -> None:
    rows = dd.from_pandas(TABLE, npartitions=4)
    quiet = learn(rows, "y", SparseOAUCM(), scheduler="sync")
    assert capsys.readouterr() == ("", "")
    for scheduler in ("sync", client):
        learned = learn(rows, "y", SparseOAUCM(), scheduler=scheduler, progress=True)
        assert "] | 100% Completed" in capsys.readouterr().out
        assert state(learned) == state(quiet)


class Live:
    """Counts the partitions that are in memory."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self.lock = threading.Lock()

    def add(self, change: int) -> None:
        with self.lock:
            self.now += change
            self.most = max(self.most, self.now)


LIVE = Live()


def read_counted(number: int) -> pd.DataFrame:
    rows = table(20, seed=number)
    LIVE.add(1)
    weakref.finalize(rows, LIVE.add, -1)
    return rows


@pytest.mark.parametrize("scheduler", ["sync", "threads"])
def test_few_partitions_are_in_memory_at_a_time(scheduler: str) -> None:
    gc.collect()
    LIVE.now = LIVE.most = 0
    frame = dd.from_map(read_counted, range(60), meta=TABLE[:0])
    model = preprocessing.StandardScaler() | preprocessing.MinMaxScaler() | SparseOAUCM()
    with dask.config.set(num_workers=2):
        learn(frame, "y", model, scheduler=scheduler)
    gc.collect()
    assert LIVE.now == 0
    assert 1 <= LIVE.most <= 6


# Scalers.


def river_learned(scaler: Any, rows: pd.DataFrame) -> Any:
    for x in rows.to_dict("records"):
        scaler.learn_one(x)
    return scaler


def assert_same_scalers(one: Any, other: Any) -> None:
    """That two scalers keep the same numbers of the same features."""
    assert vars(one).keys() == vars(other).keys()
    for attribute, mine in vars(one).items():
        theirs = vars(other)[attribute]
        if not isinstance(mine, dict):
            assert mine == theirs
            continue
        assert set(mine) == set(theirs)
        for name in mine:
            a, b = (x[name].get() if hasattr(x[name], "get") else x[name] for x in (mine, theirs))
            assert a == pytest.approx(b, rel=1e-9), (attribute, name)


finite = st.floats(-1e3, 1e3)


@pytest.mark.parametrize("make", [*SCALERS, lambda: preprocessing.StandardScaler(with_std=False)])
@given(
    values=st.lists(st.tuples(finite, finite), max_size=30),
    cuts=st.lists(st.integers(0, 30), max_size=5),
    seen=st.integers(0, 30),
    offset=st.sampled_from([0.0, 1e8]),
)
def test_merged_scalers_are_those_of_one_pass(
    make: Callable[[], Any],
    values: list[tuple[float, float]],
    cuts: list[int],
    seen: int,
    offset: float,
) -> None:
    matrix = np.array(values).reshape(-1, 2) + offset
    rows = pd.DataFrame(matrix, columns=["a", "b"])
    given_scaler = river_learned(make(), rows[:seen])
    before = state(given_scaler)
    rest = matrix[seen:]
    bounds = [0, *sorted(min(c, len(rest)) for c in cuts), len(rest)]
    statistics = [ColumnStatistics.of(rest[a:b]) for a, b in zip(bounds, bounds[1:], strict=False)]
    merged = add_statistics(
        given_scaler, ["a", "b"], functools.reduce(lambda x, y: x + y, statistics)
    )
    assert state(given_scaler) == before
    one_pass = river_learned(make(), rows)
    if offset:
        # The deviations are small beside the values, and a double holds only so much of them.
        for vars_ in (getattr(merged, "vars", {}), getattr(one_pass, "vars", {})):
            for name in vars_:
                vars_[name] = round(vars_[name], 3)
    assert_same_scalers(merged, one_pass)


def test_statistics_do_not_depend_on_the_memory_layout() -> None:
    matrix = TABLE[NAMES].to_numpy()
    one, other = (ColumnStatistics.of(np.array(matrix, order=order)) for order in "CF")
    assert state(one) == state(other)


@pytest.mark.parametrize("make", [*SCALERS, lambda: preprocessing.StandardScaler(with_std=False)])
def test_scaled_tables_are_what_transform_one_gives(make: Callable[[], Any]) -> None:
    rows = TABLE[NAMES].assign(constant=3.0)
    scaler = river_learned(make(), rows[:100])
    scaling = Scaling(scaler, [*NAMES, "constant"])
    expected = [list(scaler.transform_one(x).values()) for x in rows.to_dict("records")]
    assert scaling.apply(rows.to_numpy()).tolist() == expected


@pytest.mark.parametrize("make", SCALERS)
def test_what_a_scaler_has_never_seen(make: Callable[[], Any]) -> None:
    scaler = make()
    before = state(scaler)
    scaled = Scaling(scaler, ["new"]).apply(np.array([[3.0]])).tolist()
    assert state(scaler) == before
    np.testing.assert_equal(scaled, [[scaler.transform_one({"new": 3.0})["new"]]])


@pytest.mark.parametrize("make", SCALERS)
def test_a_pipeline_learns_at_the_final_scale(make: Callable[[], Any]) -> None:
    partitions = cut(TABLE.drop(columns="w"), 4)
    model = make() | SparseOAUCM()
    learned = learn(frame_of(partitions), "y", model)
    assert list(learned.steps) == list(model.steps)
    *_, scaler = (step for step in learned.steps.values() if isinstance(step, make))
    assert_same_scalers(scaler, river_learned(make(), TABLE[NAMES]))
    at_scale = [
        pd.DataFrame(map(scaler.transform_one, one[NAMES].to_dict("records"))).assign(
            y=one["y"].to_numpy()
        )
        for one in partitions
    ]
    assert state(learned[-1]) == state(by_hand(at_scale, SparseOAUCM()))
    # The given one stays as it was, and the new one goes on.
    assert state(model) == state(make() | SparseOAUCM())
    learned.learn_one({"x0": 1e6}, True)
    assert_same_scalers(
        learned[make.__name__],
        river_learned(river_learned(make(), TABLE[NAMES]), pd.DataFrame({"x0": [1e6]})),
    )


def test_scalers_in_a_row() -> None:
    model = preprocessing.StandardScaler() | preprocessing.MinMaxScaler() | SparseOAUCM()
    learned = learn(dd.from_pandas(TABLE, npartitions=4), "y", model, weights="w")
    values = [learned.transform_one(x) for x in TABLE[NAMES].to_dict("records")]
    assert pd.DataFrame(values).min().tolist() == pytest.approx([0.0] * N_FEATURES)
    assert pd.DataFrame(values).max().tolist() == pytest.approx([1.0] * N_FEATURES)


def test_what_a_scaler_has_learned_before_counts_once() -> None:
    earlier = table(50, seed=1)
    model = preprocessing.StandardScaler() | SparseOAUCM()
    for x, y in zip(earlier[NAMES].to_dict("records"), earlier["y"], strict=True):
        model.learn_one(x, y)
    learned = learn(dd.from_pandas(TABLE, npartitions=3), "y", model, weights="w")
    both = pd.concat([earlier, TABLE])[NAMES]
    assert_same_scalers(
        learned["StandardScaler"], river_learned(preprocessing.StandardScaler(), both)
    )


# Surveys for the Auto learners.

AUTO = pytest.mark.parametrize("cls", [AutoOAUC])


def mixed_table(n: int, seed: int = 1) -> pd.DataFrame:
    """A ring of positives, a large offset, unknown values, and a rare flag."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = (np.hypot(X[:, 0], X[:, 1]) > 1.7) ^ (rng.random(n) < 0.05)
    rows = pd.DataFrame(X, columns=["a", "b"])
    rows["c"] = 1e6 + 3.0 * y + rng.normal(size=n)
    rows["d"] = np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n))
    return rows.assign(flag=(rng.random(n) < 2 / n).astype(float), y=y)


def shuffled_parts(rows: pd.DataFrame, n: int, seed: int) -> list[pd.DataFrame]:
    shuffled = rows.sample(frac=1.0, random_state=seed)
    cuts = sorted(random.Random(seed).sample(range(1, len(rows)), n - 1))
    return [shuffled.iloc[i:j] for i, j in zip([0, *cuts], [*cuts, len(rows)], strict=True)]


def ridge_scores(model: Any, rows: pd.DataFrame) -> np.ndarray:
    ((generation, _),) = model._ranker.mixture.shared_generations
    ridge = ["ridge" in name for name in generation.expert_names]
    examples = [model._encoder.encode_known(x)[0] for x in rows.to_dict("records")]
    standardized = map(generation.units.standardize, examples)
    return np.array([generation._expert_scores(z)[0][ridge] for z in standardized])


@AUTO
def test_ridge_experts_do_not_depend_on_the_partitions(cls: Any) -> None:
    # When the column of an indicator begins depends on the partitions.
    rows, probes = (mixed_table(n, n).fillna(0.5) for n in (1_500, 100))
    probes = probes.drop(columns="y")
    expected = ridge_scores(by_hand([rows], cls()), probes)
    assert np.ptp(expected, axis=0).min() > 0.1
    for n in (3, 8):
        learned = learn(frame_of(shuffled_parts(rows, n, seed=n)), "y", cls())
        np.testing.assert_allclose(ridge_scores(learned, probes), expected, rtol=0.0, atol=1e-8)


@AUTO
def test_partitions_rank_as_well_as_one_pass_and_change_is_followed_again(cls: Any) -> None:
    rows, test = mixed_table(2_000), mixed_table(1_000, seed=3)
    one_pass = cls()
    one_pass.learn_many(rows.drop(columns="y"), rows["y"])
    learned = by_hand(shuffled_parts(rows, 8, seed=1), cls())
    aucs = []
    for model in (one_pass, learned):
        p = model.predict_proba_many(test.drop(columns="y"))[True].to_numpy()
        aucs.append(exact_auc(p[test["y"]], p[~test["y"]]))
    assert aucs[1] > aucs[0] - 0.01
    later = mixed_table(1_500, seed=4)
    later["c"] += 50.0
    learned.learn_many(later.drop(columns="y"), ~later["y"])
    p = learned.predict_proba_many(later.drop(columns="y"))[True].to_numpy()
    assert exact_auc(p[~later["y"]], p[later["y"]]) > 0.75


def test_a_survey_does_not_depend_on_the_partitions() -> None:
    rows = mixed_table(3_000).fillna(0.5)
    one, other = surveyed([rows]), surveyed(shuffled_parts(rows, 7, seed=2))
    X = rows.drop(columns="y")
    assert one.n == other.n == 3_000
    for survey in (one, other):
        order = [survey.names.index(name) for name in X.columns]
        np.testing.assert_allclose(survey._mean[order], X.mean(), rtol=1e-12)
        variance = survey._scatter / survey._n_known
        np.testing.assert_allclose(variance[order], X.var(ddof=0), rtol=1e-9)
        assert survey._n_known[order].tolist() == X.notna().sum().tolist()
        # A sample of a thousand may well miss the flag.
        assert survey.units().factors[survey.names.index("flag")] > 0.0
    columns = [other.names.index(name) for name in one.names]
    for positive, mine, theirs in zip(
        (False, True), one.class_samples(), other.class_samples(), strict=True
    ):
        np.testing.assert_array_equal(mine[:, : len(columns)], theirs[:, columns])
        of_class = X[one.names][rows["y"] == positive].fillna(7.0).to_numpy()
        sampled = {tuple(row) for row in np.nan_to_num(mine[:, : len(columns)], nan=7.0)}
        assert len(sampled) == min(512, len(of_class))
        assert sampled <= {tuple(row) for row in of_class}


def test_samples_are_uniform_and_outliers_and_copies_count_little() -> None:
    survey = Survey()
    values = np.random.default_rng(6).normal(size=20_000)
    survey.add_frame(pd.DataFrame({"a": values}), pd.Series(np.arange(20_000) % 2))
    for rows in survey.class_samples():
        assert abs(rows[:, 0].mean()) < 4.0 / 512**0.5
        assert abs(rows[:, 0].std() - 1.0) < 4.0 / (2 * 512) ** 0.5
    table_ = mixed_table(3_000)
    before = surveyed([table_]).units().factors
    table_.loc[0, "a"] = 1e30
    np.testing.assert_allclose(surveyed([table_]).units().factors, before, rtol=0.5)
    crowd = surveyed([pd.concat([table_[:200], *[table_[:1]] * 5_000])])
    assert sum(map(len, crowd.class_samples())) == 200


def test_surveys_of_other_columns_and_rows_without_weight() -> None:
    survey, other = Survey(), Survey()
    survey.add_frame(pd.DataFrame({"a": [1.0, 3.0]}), pd.Series([0, 1]))
    other.add_frame(
        pl.DataFrame({"b": [4.0, 9.0], "a": [5.0, 0.0]}), pl.Series([1, 1]), pl.Series([1.0, 0.0])
    )
    survey += other
    survey += Survey()
    assert (survey.n, survey.names) == (3, ["a", "b"])
    np.testing.assert_allclose(survey._mean, [3.0, 4.0 / 3.0])
    np.testing.assert_allclose(survey._scatter / survey._n_known, [8.0 / 3.0, 32.0 / 9.0])


@AUTO
def test_few_rows_of_both_classes_or_of_one(cls: Any) -> None:
    rows = mixed_table(60)
    for parts in ([rows[:0]], [rows[rows["y"]]], [rows, rows[:0]], [rows[:1], rows[1:2]]):
        model = by_hand(parts, cls())
        model.learn_one({"a": 1.0}, True)
        model.learn_one({"a": 2.0}, False)
        assert 0.0 < model.predict_proba_one({"a": 1.0})[True] < 1.0


@pytest.mark.parametrize("n_seen", [1, 30])
@AUTO
def test_models_of_one_class_with_different_landmarks_merge(cls: Any, n_seen: int) -> None:
    """Prepared by surveys of many and of few rows, they have learned negatives only."""
    models = []
    for n_surveyed, n_learned in ((1_000, 5), (4, n_seen)):
        rows = mixed_table(n_surveyed, seed=7)
        models.append(cls())
        prepare(models[-1], surveyed([rows.assign(y=[0, 1] * (n_surveyed // 2))]))
        rows = mixed_table(n_learned, seed=8)
        models[-1].learn_many(rows.drop(columns="y"), pd.Series(np.zeros(n_learned)))
    later = mixed_table(300)
    X, y = later.drop(columns="y"), later["y"]
    for merged in (models[0] + models[1], models[1] + models[0]):
        release(merged)
        for one in (merged, pickle.loads(pickle.dumps(merged))):
            one.learn_many(X, y)
            p = one.predict_proba_many(X)[True].to_numpy()
            assert exact_auc(p[y], p[~y]) > 0.7


@AUTO
def test_a_refused_survey_changes_nothing(cls: Any) -> None:
    model, survey = cls(max_features=3), surveyed([mixed_table(10)])
    before = state(model), pickle.dumps(survey)
    for frame, labels in (
        (pd.DataFrame({"a": [1.0, np.inf]}), [0, 1]),
        (pd.DataFrame({"a": [1.0, 2.0], "b": [[1.0], [2.0]]}), [0, 1]),
        (pd.DataFrame({"a": [1.0, 2.0]}), [0, 2]),
    ):
        with pytest.raises(ValueError):
            survey.add_frame(frame, pd.Series(labels))
    assert (state(model), pickle.dumps(survey)) == before


# Scores.


@pytest.mark.parametrize("front", [None, *SCALERS])
def test_scores_are_those_of_score_one(front: Any) -> None:
    model: Any = front() | SparseOAUCM() if front else SparseOAUCM()
    for x, y in zip(TABLE[NAMES].to_dict("records"), TABLE["y"], strict=True):
        model.learn_one(x, y)
    rows = TABLE[NAMES].set_index(TABLE.index[::-1])
    # Nulls are absent features.
    rows.iloc[3, 1] = np.nan
    frame = dd.from_pandas(rows, npartitions=4, sort=False)
    result = score(frame, model)
    expected = [model.score_one(x) for x in rows.to_dict("records")]
    assert (result.name, result.dtype, result.npartitions) == ("score", float, 4)
    # The model may learn on before anybody computes.
    model.learn_one({"x0": 3.0}, True)
    computed = result.compute()
    assert computed.tolist() == pytest.approx(expected, rel=1e-12)
    assert computed.index.equals(rows.index)
    beside = frame.assign(score=result).compute()
    assert beside["score"].equals(computed)


def test_scoring_is_lazy(client: Any) -> None:
    def read(number: int) -> pd.DataFrame:
        raise RuntimeError(f"partition {number} was read")

    model = SparseOAUCM()
    result = score(dd.from_map(read, range(3), meta=TABLE[NAMES][:0]), model)
    with pytest.raises(RuntimeError, match="was read"):
        result.compute(scheduler="sync")
    frame = dd.from_pandas(TABLE[NAMES], npartitions=3)
    assert score(frame, model).compute(scheduler=client).tolist() == [0.0] * len(TABLE)


# Faults.


def refusal(partitions: Sequence[pd.DataFrame], model: Any = None, **kwargs: Any) -> str:
    """Return the error of learning these partitions; the model must stay as it is."""
    model = SparseOAUCM() if model is None else model
    before = state(model)
    with pytest.raises(ValueError) as error:
        learn(frame_of(partitions), "y", model, **kwargs)
    assert state(model) == before
    return str(error.value)


@pytest.mark.parametrize(
    ("column", "row", "value", "complaint"),
    [
        ("x1", 17, 1e60, "feature 'x1' is 1e+60"),
        ("x0", 0, np.inf, "feature 'x0' is inf"),
        ("y", 33, 2.0, "the label is 2.0"),
        ("y", 33, np.nan, "the label is nan"),
        ("w", 149, -1.0, "the weight is -1.0"),
    ],
)
def test_an_error_names_partition_and_row(
    column: str, row: int, value: float, complaint: str, client: Any
) -> None:
    partitions = cut(TABLE.astype(float), 4)
    partitions[2].iloc[row, partitions[2].columns.get_loc(column)] = value
    told = refusal(partitions, weights="w", scheduler="sync")
    assert told.startswith(f"partition 2 of 4, a data frame of 150 rows: {complaint}")
    assert told.endswith(f"(row {row} of the data frame)")
    for scheduler in ("threads", client):
        assert refusal(partitions, weights="w", scheduler=scheduler) == told
    for make in SCALERS:
        told = refusal(partitions, make() | SparseOAUCM(), weights="w")
        assert complaint in told and told.endswith(f"(row {row} of the data frame)")


@pytest.mark.parametrize("column", ["x2", "y"])
def test_a_missing_column(column: str) -> None:
    partitions = cut(TABLE, 4)
    partitions[3] = partitions[3].drop(columns=column)
    assert refusal(partitions) == f"partition 3 of 4 has no column {column!r}"


@pytest.mark.parametrize("bad", [1, 2, 5])
def test_a_file_that_cannot_be_read_is_found(tmp_path: pathlib.Path, bad: int) -> None:
    for number, partition in enumerate(cut(TABLE, 6)):
        missing = ["x1"] if number == bad else []
        path = tmp_path / f"part-{number}.parquet"
        partition.drop(columns=missing).to_parquet(path)
    frame = dd.read_parquet(sorted(tmp_path.glob("*")), columns=list(TABLE.columns))
    with pytest.raises(ValueError, match=f"^partition {bad} of 6 cannot be read: .*x1"):
        learn(frame, "y", SparseOAUCM())


def test_other_errors_stay_what_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> None:
        raise TypeError("a mistake of ours")

    monkeypatch.setattr(SparseOAUCM, "learn_many", fail)
    with pytest.raises(TypeError, match="a mistake of ours"):
        learn(dd.from_pandas(TABLE, npartitions=3), "y", SparseOAUCM())


def test_numbers_of_partitions_are_those_of_the_frame(tmp_path: pathlib.Path) -> None:
    """Dask would join the files, because of many columns few are read."""
    wide = TABLE.assign(**{f"unused{j}": 0.5 * j + TABLE["x0"] for j in range(30)})
    dd.from_pandas(wide, npartitions=6).to_parquet(tmp_path, write_index=False)
    frame = dd.read_parquet(tmp_path)[[*NAMES, "y"]]
    frame = frame.assign(x1=frame["x1"].where(frame["x3"] != TABLE["x3"][350], 1e60))
    assert frame.optimize().npartitions < frame.npartitions == 6
    with pytest.raises(ValueError, match=r"^partition 3 of 6, .*\(row 50 of the data frame\)$"):
        learn(frame, "y", SparseOAUCM())


@pytest.mark.parametrize("front", [None, *SCALERS])
@pytest.mark.parametrize("cls", [SparseOAUCM, OAUCM, AutoOAUC])
def test_empty_partitions_change_nothing(cls: Any, front: Any) -> None:
    def model() -> Any:
        return front() | cls() if front else cls()

    rows = TABLE.drop(columns="w")
    a, b = cut(rows, 2)
    empty = rows[:0]
    expected = learn(frame_of([a, b]), "y", model())
    learned = learn(frame_of([empty, a, empty, empty, b, empty.astype(object)]), "y", model())
    assert scores(learned) == pytest.approx(scores(expected), rel=1e-12)
    nothing = learn(frame_of([empty, empty]), "y", model())
    assert nothing.predict_proba_one({"x0": 1.0}) == {False: 0.5, True: 0.5}


@each_class
def test_partitions_of_one_class(cls: Any) -> None:
    rows = TABLE.drop(columns="w")
    positives, negatives = rows[rows["y"]], rows[~rows["y"]]
    partitions = [*cut(negatives, 3), *cut(positives, 2)]
    learned = learn(frame_of(partitions), "y", preprocessing.StandardScaler() | make_case(cls))
    assert np.isfinite(scores(learned)).all()
    learned.learn_many(TABLE[NAMES], TABLE["y"])
    p = learned.predict_proba_many(TABLE[NAMES])[True].to_numpy()
    assert exact_auc(p[TABLE["y"]], p[~TABLE["y"]]) > 0.7


@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        (linear_model.LogisticRegression(), "LogisticRegression cannot be learned from partitions"),
        (preprocessing.RobustScaler() | OAUCM(), "RobustScaler cannot be learned from partitions"),
        (
            feature_extraction.PolynomialExtender() | OAUCM(),
            "PolynomialExtender cannot be learned from partitions",
        ),
        (compose.Select("x0") | OAUCM(), "Select cannot be learned from partitions"),
        (preprocessing.StandardScaler(), "StandardScaler cannot be learned from partitions"),
        (preprocessing.MinMaxScaler(window_size=9) | OAUCM(), "a MinMaxScaler with a window_size"),
    ],
)
def test_models_that_are_refused(model: Any, complaint: str) -> None:
    frame = dd.from_pandas(TABLE, npartitions=2)
    for ask in (lambda: learn(frame, "y", model), lambda: score(frame, model)):
        with pytest.raises(ValueError, match=f"^{complaint}"):
            ask()


@pytest.mark.parametrize("frame", [TABLE, TABLE.to_dict(), dd.from_pandas(TABLE, 2)["x0"]])
def test_other_frames_are_refused(frame: Any) -> None:
    for ask in (lambda: learn(frame, "y", OAUCM()), lambda: score(frame, OAUCM())):
        with pytest.raises(ValueError, match=r"^the frame is a \w+ of .*: it must be a Dask "):
            ask()


def test_columns_that_are_not_there() -> None:
    frame = dd.from_pandas(TABLE, npartitions=2)
    with pytest.raises(ValueError, match="^target is 'label', and the frame has no such column"):
        learn(frame, "label", OAUCM())
    with pytest.raises(ValueError, match="^weights is 'v', and the frame has no such column"):
        learn(frame, "y", OAUCM(), weights="v")
    with pytest.raises(ValueError, match="^target and weights are both 'y'"):
        learn(frame, "y", OAUCM(), weights="y")
