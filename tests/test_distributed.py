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
import signal
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
import test_survey as parts_of
from hypothesis import given
from hypothesis import strategies as st
from river import base, compose, feature_extraction, linear_model, preprocessing
from test_contract import Factory, each_class

from river_oauc import OAUCM, AutoOAUCM, AutoOKAUCM, SparseOAUCM
from river_oauc.metrics import exact_auc

dask = pytest.importorskip("dask", reason='needs the extra "distributed"')
dd = pytest.importorskip("dask.dataframe", reason='needs the extra "distributed"')
distributed = pytest.importorskip("distributed", reason='needs the extra "distributed"')

from river_oauc.distributed import learn, score  # noqa: E402
from river_oauc.distributed.scaling import Scaling, Spread, with_spread  # noqa: E402

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


def two_and_two(terms: Sequence[Any]) -> Any:
    """The sum of neighbours, then of neighbouring sums, and so on."""
    while len(terms) > 1:
        terms = [functools.reduce(operator.iadd, terms[i : i + 2]) for i in range(0, len(terms), 2)]
    return terms[0]


def by_hand(partitions: Sequence[pd.DataFrame], given: Any) -> Any:
    """Models of the partitions, added up."""
    model = given.clone()
    if isinstance(model, AutoOAUCM | AutoOKAUCM):
        surveys = [model.survey() for _ in partitions]
        for partition, survey in zip(partitions, surveys, strict=True):
            survey.add_frame(partition[NAMES], partition["y"])
        model.prepare(two_and_two(surveys))
    models = [copy.deepcopy(model) for _ in partitions]
    for partition, one in zip(partitions, models, strict=True):
        one.learn_many(partition[NAMES], partition["y"])
    learned = two_and_two(models)
    if isinstance(model, AutoOAUCM | AutoOKAUCM):
        learned.release()
    return given + learned


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
def test_partitions_are_learned_and_merged_two_and_two(make: Factory) -> None:
    partitions = cut(TABLE.drop(columns="w"), 5)
    model = make()
    before = state(model)
    learned = learn(frame_of(partitions), "y", model)
    assert type(learned) is type(model)
    assert state(learned) == state(by_hand(partitions, make()))
    assert state(model) == before
    assert len(set(scores(learned))) > 1


@pytest.mark.parametrize("cls", [AutoOAUCM, AutoOKAUCM])
def test_experts_at_rest_do_not_depend_on_the_partitions(cls: Any) -> None:
    rows, probes = parts_of.frame(1_500), parts_of.frame(100, seed=2).drop(columns="y")
    whole = parts_of.learned_in_parts(cls, [rows])
    expected = parts_of.scores_at_rest(whole, probes)
    for n_partitions in (1, 3, 16):
        frame = frame_of(parts_of.parted(rows, n_partitions, seed=n_partitions))
        found = parts_of.scores_at_rest(learn(frame, "y", cls()), probes)
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-8)


def test_one_partition_is_learned_as_learn_many_would() -> None:
    learned = learn(frame_of([TABLE]), "y", SparseOAUCM(), weights="w")
    plain = SparseOAUCM()
    plain.learn_many(TABLE[NAMES], TABLE["y"], TABLE["w"])
    assert scores(learned) == pytest.approx(scores(plain), rel=1e-12)


def test_what_a_model_has_learned_before_counts_once() -> None:
    earlier, later = table(300, seed=1), cut(TABLE, 3)
    model = SparseOAUCM()
    model.learn_many(earlier[NAMES], earlier["y"])
    before = state(model)
    learned = learn(frame_of(later)[[*NAMES, "y"]], "y", model)
    assert state(model) == before
    assert state(learned) == state(by_hand(later, model))


def test_a_learned_model_goes_on() -> None:
    learned = learn(frame_of(cut(TABLE, 3)), "y", SparseOAUCM(), weights="w")
    before = scores(learned)
    for x, y in zip(TABLE[NAMES].to_dict("records"), TABLE["y"], strict=True):
        learned.learn_one({**x, "late": 1.0}, y)
    assert scores(learned) != before
    assert "late" in learned.weights


def test_strings_are_categories_of_sparse_oaucm() -> None:
    rows = TABLE.assign(country=np.where(TABLE["y"], "FR", "US"))[["country", "y"]]
    learned = learn(dd.from_pandas(rows, npartitions=3), "y", SparseOAUCM())
    assert set(learned.weights) == {("country", "FR"), ("country", "US")}
    assert score(dd.from_pandas(rows, npartitions=2), learned).compute().nunique() == 2


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two processes."""
    with (
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
def test_pooled_scalers_are_those_of_one_pass(
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
    spreads = [Spread.of(rest[a:b]) for a, b in zip(bounds, bounds[1:], strict=False)]
    pooled = with_spread(given_scaler, ["a", "b"], functools.reduce(lambda x, y: x + y, spreads))
    assert state(given_scaler) == before
    one_pass = river_learned(make(), rows)
    if offset:
        # The deviations are small beside the values, and a double holds only so much of them.
        for vars_ in (getattr(pooled, "vars", {}), getattr(one_pass, "vars", {})):
            for name in vars_:
                vars_[name] = round(vars_[name], 3)
    assert_same_scalers(pooled, one_pass)


def test_a_spread_does_not_depend_on_the_layout() -> None:
    matrix = TABLE[NAMES].to_numpy()
    one, other = (Spread.of(np.array(matrix, order=order)) for order in "CF")
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
    """What learning says of these partitions; the model must stay as it is."""
    model = SparseOAUCM() if model is None else model
    before = state(model)
    with pytest.raises(ValueError) as error:
        learn(frame_of(partitions), "y", model, **kwargs)
    assert state(model) == before
    return str(error.value)


@pytest.mark.parametrize("scheduler", ["sync", "threads"])
def test_a_bad_value_is_told_with_partition_and_row(scheduler: str) -> None:
    partitions = cut(TABLE, 4)
    partitions[2] = partitions[2].assign(x1=partitions[2]["x1"].where(np.arange(150) != 17))
    told = refusal(partitions, scheduler=scheduler)
    assert told.startswith("partition 2 of 4, a data frame of 150 rows: feature 'x1' is NaN")
    assert told.endswith("(row 17 of the data frame)")
    for make in SCALERS:
        assert refusal(partitions, make() | SparseOAUCM(), scheduler=scheduler) == told


def test_a_bad_value_on_a_cluster(client: Any) -> None:
    partitions = cut(TABLE, 4)
    partitions[3] = partitions[3].assign(x0=np.inf)
    told = refusal(partitions, scheduler=client)
    assert told.startswith("partition 3 of 4, a data frame of 150 rows: feature 'x0' is inf")
    assert told.endswith("(row 0 of the data frame)")
    assert refusal(partitions, scheduler=client, progress=True) == told


@pytest.mark.parametrize("label", [2.0, np.nan])
def test_a_label_of_a_third_kind(label: float) -> None:
    partitions = cut(TABLE, 4)
    labels = partitions[1]["y"].astype(float)
    labels.iloc[33] = label
    partitions[1] = partitions[1].assign(y=labels)
    told = refusal(partitions)
    assert told.startswith(f"partition 1 of 4, a data frame of 150 rows: the label is {label!r}")
    assert told.endswith("(row 33 of the data frame)")


def test_a_bad_weight() -> None:
    partitions = cut(TABLE, 4)
    partitions[1] = partitions[1].assign(w=-1.0)
    told = refusal(partitions, weights="w")
    assert told.startswith("partition 1 of 4, a data frame of 150 rows: the weight is -1.0")
    assert told.endswith("(row 0 of the data frame)")


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
    frame = frame.assign(x1=frame["x1"].where(frame["x3"] != TABLE["x3"][350]))
    assert frame.optimize().npartitions < frame.npartitions == 6
    with pytest.raises(ValueError, match=r"^partition 3 of 6, .*\(row 50 of the data frame\)$"):
        learn(frame, "y", SparseOAUCM())


@pytest.mark.parametrize("front", [None, *SCALERS])
@pytest.mark.parametrize("cls", [SparseOAUCM, OAUCM, AutoOKAUCM])
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
def test_partitions_of_one_class(make: Factory) -> None:
    rows = TABLE.drop(columns="w")
    positives, negatives = rows[rows["y"]], rows[~rows["y"]]
    partitions = [*cut(negatives, 3), *cut(positives, 2)]
    learned = learn(frame_of(partitions), "y", preprocessing.StandardScaler() | make())
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
