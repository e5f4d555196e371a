"""Learning and scoring on Dask: the same as by hand, whoever computes it, and what is refused."""

from __future__ import annotations

import functools
import gc
import os
import pathlib
import signal
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from classifiers import Factory, each_merging_case
from hypothesis import given
from hypothesis import strategies as st
from river import linear_model, preprocessing

from river_oauc import OAM, OAUCM, AutoOAUC, SparseOAUCM
from river_oauc.model_file import to_bytes
from river_oauc.scaling import learn_scaler, merge_scalers, scaled

dask = pytest.importorskip("dask", reason='needs the extra "distributed"')
dd = pytest.importorskip("dask.dataframe", reason='needs the extra "distributed"')
distributed = pytest.importorskip("distributed", reason='needs the extra "distributed"')

from river_oauc.distributed import learn, score  # noqa: E402

NAMES = [f"x{j}" for j in range(4)]
SCALERS = [preprocessing.StandardScaler, preprocessing.MinMaxScaler, preprocessing.MaxAbsScaler]


def table(n_rows: int, seed: int = 42) -> pd.DataFrame:
    """Rows of features in different units, labels, and weights."""
    rng = np.random.default_rng(seed)
    labels = rng.random(n_rows) < 0.3
    values = rng.standard_normal((n_rows, len(NAMES))) + labels[:, np.newaxis]
    rows = pd.DataFrame(values * [0.1, 1.0, 0.01, 0.1] + [0.0, 5.0, 0.0, -0.3], columns=NAMES)
    return rows.assign(y=labels, w=rng.integers(0, 4, n_rows).astype(float))


TABLE = table(600)
FRAME = dd.from_pandas(TABLE, npartitions=2)


def frame_of(partitions: Sequence[pd.DataFrame]) -> Any:
    """A Dask DataFrame of just these partitions, which need not be alike."""
    numbers = range(len(partitions))
    return dd.from_map(lambda number: partitions[number], numbers, meta=partitions[0][:0])


def cut(rows: pd.DataFrame, n_partitions: int) -> list[pd.DataFrame]:
    bounds = np.linspace(0, len(rows), n_partitions + 1).astype(int)
    return [rows[a:b] for a, b in zip(bounds, bounds[1:], strict=False)]


def by_hand(partitions: Sequence[pd.DataFrame], model: Any) -> Any:
    """Learn five partitions and merge."""
    a, b, c, d, e = models = [model.clone() for _ in partitions]
    for partition, one in zip(partitions, models, strict=True):
        one.learn_many(partition[NAMES], partition["y"], partition["w"])
    return model + (((a + b) + (c + d)) + e)


def state(model: Any) -> bytes:
    """The checksum at the end of a model file."""
    return to_bytes(model)[-32:]


@each_merging_case
def test_partitions_are_learned_and_merged_in_pairs(make: Factory) -> None:
    model, partitions = make(), cut(TABLE[100:], 5)
    model.learn_many(TABLE[NAMES][:100], TABLE["y"][:100])
    before = state(model)
    learned = learn(frame_of(partitions), "y", model, weights="w")
    assert state(learned) == state(by_hand(partitions, model))
    assert state(model) == before


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two processes, which do not wait for a killed one."""
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    directory = str(tmp_path_factory.mktemp("dask"))
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "2s"}),
        distributed.LocalCluster(local_directory=directory, **options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL on Windows")
def test_the_result_is_the_same_whoever_computes_it(client: Any, tmp_path: pathlib.Path) -> None:
    partitions, killed, test = cut(TABLE, 16), tmp_path / "killed", os.getpid()

    def read(number: int) -> pd.DataFrame:
        if number == 12 and os.getpid() != test and not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return partitions[number]

    frame = dd.from_map(read, range(16), meta=TABLE[:0])
    model, states = preprocessing.StandardScaler() | AutoOAUC(seed=1), set()
    for scheduler in ("sync", "threads", client, client):
        with dask.config.set(scheduler=scheduler):
            states.add(state(learn(frame, "y", model, weights="w")))
    assert killed.exists()
    assert len(states) == 1


N_LIVE: list[int] = []


def read_counted(number: int) -> pd.DataFrame:
    rows = table(20, seed=number)
    N_LIVE.append(+1)
    weakref.finalize(rows, N_LIVE.append, -1)
    return rows


def test_few_partitions_are_in_memory_at_a_time() -> None:
    frame = dd.from_map(read_counted, range(60), meta=TABLE[:0])
    with dask.config.set(scheduler="threads", num_workers=2):
        learn(frame, "y", preprocessing.StandardScaler() | SparseOAUCM())
    gc.collect()
    assert N_LIVE.count(+1) == N_LIVE.count(-1) == 120
    assert max(np.cumsum(N_LIVE)) <= 6


# Scalers.


def numbers_in(scaler: Any) -> dict[Any, float]:
    return {
        (kind, name): value.get() if hasattr(value, "get") else value
        for kind, values in vars(scaler).items()
        if isinstance(values, dict)
        for name, value in values.items()
    }


@pytest.mark.parametrize("make", SCALERS)
@given(
    values=st.lists(st.tuples(*2 * [st.none() | st.floats(-1e3, 1e3)]), max_size=30),
    cuts=st.lists(st.integers(0, 30), max_size=5),
    offset=st.sampled_from([0.0, 1e6]),
)
def test_merged_scalers_are_those_of_one_pass(
    make: Any, values: list[tuple[float | None, ...]], cuts: list[int], offset: float
) -> None:
    rows = pd.DataFrame(values, columns=["a", "b"], dtype=float) + offset
    merged, one_pass, bounds = make(), make(), [0, *sorted(cuts), 30]
    for start, stop in zip(bounds, bounds[1:], strict=False):
        part = make()
        learn_scaler(part, rows[start:stop])
        merge_scalers(merged, part)
    records = [{name: x for name, x in row.items() if x == x} for row in rows.to_dict("records")]
    for x in records:
        one_pass.learn_one(x)
    # The deviations are small beside the values, and a double holds only so much of them.
    assert numbers_in(merged) == pytest.approx(numbers_in(one_pass), rel=1e-9, abs=1e-9 * offset)
    for x, found in zip(records, scaled(rows, [one_pass]).to_dict("records"), strict=True):
        assert {name: found[name] for name in x} == one_pass.transform_one(x)


@pytest.mark.parametrize("make", SCALERS)
def test_a_pipeline_learns_at_the_final_scale(make: Any) -> None:
    model, partitions = make() | preprocessing.MinMaxScaler() | SparseOAUCM(), cut(TABLE[100:], 5)
    learn_scaler(model[0], TABLE[NAMES][:100])
    before, one_pass = state(model), make()
    learned = learn(frame_of(partitions), "y", model, weights="w")
    assert (list(learned.steps), state(model)) == (list(model.steps), before)
    first, second, classifier = learned.steps.values()
    learn_scaler(one_pass, TABLE[NAMES])
    assert numbers_in(first) == pytest.approx(numbers_in(one_pass))
    at_scale = [rows.assign(**scaled(rows[NAMES], [first, second])) for rows in partitions]
    all_rows = pd.concat(at_scale)[NAMES]
    assert [*all_rows.min(), *all_rows.max()] == pytest.approx([0.0] * 4 + [1.0] * 4)
    assert state(classifier) == state(by_hand(at_scale, SparseOAUCM()))


# Scores.


@pytest.mark.parametrize("front", [None, *SCALERS])
def test_scores_are_those_of_score_one(front: Any, client: Any) -> None:
    model: Any = front() | SparseOAUCM() if front else SparseOAUCM()
    for x, y in zip(TABLE[NAMES].to_dict("records"), TABLE["y"], strict=True):
        model.learn_one(x, y)
    rows = TABLE[NAMES].set_index(TABLE.index[::-1])
    # Nulls are absent features.
    rows.iloc[3, 1] = np.nan
    frame = dd.from_pandas(rows, npartitions=4, sort=False)
    result = score(frame, model)
    expected = pd.Series(map(model.score_one, rows.to_dict("records")), rows.index, name="score")
    # The model may learn on before anybody computes.
    model.learn_one({"x0": 3.0}, True)
    assert result.compute().equals(expected)
    assert frame.assign(score=result).compute(scheduler=client)["score"].equals(expected)


# Faults.


@pytest.mark.parametrize(
    ("column", "row", "value", "complaint"),
    [
        ("x1", 17, 1e60, "feature 'x1' is 1e.60"),
        ("x0", 0, np.inf, "feature 'x0' is inf"),
        ("x0", 3, "FR", "feature 'x0' is the string 'FR'"),
        ("y", 33, 2.0, "the label is 2.0"),
        ("y", 33, np.nan, "the label is nan"),
        ("y", 33, -1.0, "the labels are"),
        ("w", 149, -1.0, "the weight is -1.0"),
    ],
)
def test_an_error_names_partition_and_row(
    column: str, row: int, value: Any, complaint: str, client: Any
) -> None:
    partitions = cut(TABLE.astype({"y": float}), 4)
    partitions[2] = partitions[2].astype({"x0": object if value == "FR" else float})
    partitions[2].iloc[row, partitions[2].columns.get_loc(column)] = value
    frame, message = frame_of(partitions), rf"^partition 2: {complaint}.*row {row} of the data"
    for scheduler, front in (("sync", None), (client, None), *(("sync", each) for each in SCALERS)):
        model = front() | OAUCM() if front else OAUCM()
        before = state(model)
        with dask.config.set(scheduler=scheduler), pytest.raises(ValueError, match=message):
            learn(frame, "y", model, weights="w")
        assert state(model) == before
        if column in NAMES:
            with pytest.raises(ValueError, match=message):
                score(frame, model).compute()


@pytest.mark.parametrize("bad", [1, 2, 5])
def test_a_partition_without_the_target(tmp_path: pathlib.Path, bad: int) -> None:
    partitions = cut(TABLE, 6)
    partitions[bad] = partitions[bad].drop(columns="y")
    with pytest.raises(ValueError, match=f"^partition {bad}: it has no column 'y'$"):
        learn(frame_of(partitions), "y", SparseOAUCM())
    for number, partition in enumerate(partitions):
        partition.to_parquet(tmp_path / f"part-{number}.parquet")
    frame = dd.read_parquet(sorted(tmp_path.glob("*")), columns=list(TABLE.columns))
    with pytest.raises(ValueError, match=f"^partition {bad} cannot be read: KeyError: .*'y'"):
        learn(frame, "y", SparseOAUCM())


def test_numbers_of_partitions_are_those_of_the_frame(tmp_path: pathlib.Path) -> None:
    """Dask would join the files, because of many columns few are read."""
    wide = TABLE.assign(**{f"unused{j}": 0.5 * j + TABLE["x0"] for j in range(30)})
    dd.from_pandas(wide, npartitions=6).to_parquet(tmp_path, write_index=False)
    frame = dd.read_parquet(tmp_path)[[*NAMES, "y"]]
    frame = frame.assign(x1=frame["x1"].where(frame["x3"] != TABLE["x3"][350], 1e60))
    assert frame.optimize().npartitions < frame.npartitions == 6
    with pytest.raises(ValueError, match=r"^partition 3: .*row 50 of the data frame"):
        learn(frame, "y", SparseOAUCM())


@pytest.mark.parametrize("front", [None, *SCALERS])
@pytest.mark.parametrize("classifier", [OAUCM(), SparseOAUCM(), AutoOAUC(seed=1)])
def test_empty_partitions_change_nothing(classifier: Any, front: Any) -> None:
    model = front() | classifier.clone() if front else classifier
    (a, b), empty = cut(TABLE, 2), TABLE[:0]
    partitions = [empty, a, empty, empty, b, empty.astype(object)]
    learned, expected = (
        score(FRAME, learn(frame_of(each), "y", model)).compute() for each in (partitions, [a, b])
    )
    np.testing.assert_allclose(learned, expected, rtol=1e-9, atol=1e-12)
    nothing = learn(frame_of([empty, empty]), "y", model)
    assert nothing.predict_proba_one({"x0": 1.0}) == {False: 0.5, True: 0.5}


def test_other_errors_stay_what_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparseOAUCM, "learn_many", lambda: None)
    with pytest.raises(TypeError, match="takes 0 positional arguments"):
        learn(FRAME, "y", SparseOAUCM())


@pytest.mark.parametrize(
    ("ask", "complaint"),
    [
        (lambda: learn(TABLE, "y", OAUCM()), r"the frame is a DataFrame of pandas.*Dask DataFrame"),
        (lambda: score(FRAME["x0"], OAUCM()), r"the frame is a Series of dask.*Dask DataFrame"),
        (lambda: learn(FRAME, "label", OAUCM()), "target is 'label', and the frame has no such"),
        (lambda: learn(FRAME, "y", OAUCM(), "v"), "weights is 'v', and the frame has no such"),
        (lambda: learn(FRAME, "y", OAUCM(), "y"), "target and weights are both 'y'"),
        (lambda: learn(FRAME, "y", OAM()), "OAM does not merge"),
        *(
            (functools.partial(ask, model), complaint)
            for ask in (lambda model: learn(FRAME, "y", model), lambda model: score(FRAME, model))
            for model, complaint in (
                (linear_model.LogisticRegression(), "LogisticRegression does not work"),
                (preprocessing.RobustScaler() | OAUCM(), "RobustScaler does not work"),
                (preprocessing.MinMaxScaler(9) | OAUCM(), "MinMaxScaler .* without a window_size"),
            )
        ),
    ],
)
def test_what_is_refused(ask: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=f"^{complaint}"):
        ask()
