"""The encoder of dense and sparse examples, alone and in a classifier."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from classifiers import digest, learned_state, state
from record_streams import MORNING, approx, assert_same_data, stream

from river_oauc import acceleration
from river_oauc.classifier import OnlineAUCClassifier
from river_oauc.encoding import features, statistics
from river_oauc.encoding.auto import AutoEncoder
from river_oauc.encoding.columns import Column, feature_of
from river_oauc.encoding.records import RecordVectorizer
from river_oauc.encoding.sparse import SparseEncoder
from river_oauc.rankers.base import reindexed
from river_oauc.rankers.sparse import SparseRanker
from river_oauc.state import StateReader

needs_compiled = pytest.mark.skipif(not acceleration.compiled, reason="there is no compiled code")
each_side = pytest.mark.parametrize(
    ("dense", "sparse"), [(True, True), (True, False), (False, True)]
)


def encode(encoder: Any, x: dict[Any, Any]) -> Any:
    """Return the example of a record, after its names have been learned."""
    example = encoder.encode(x)
    if example is None:
        encoder.extend(encoder.names_in(x))
        example = encoder.encode(x)
    return example


def learned(n: int, seed: int = 0, max_categories: int | None = None, **params: Any) -> AutoEncoder:
    encoder = AutoEncoder(100, max_categories, **params)
    for x, y, w in stream(n, seed):
        encode(encoder, x)
        encoder.learn(x, y, w)
    return encoder


def restored(encoder: AutoEncoder) -> AutoEncoder:
    twin = AutoEncoder(encoder.max_features, encoder.max_categories, encoder.dense, encoder.sparse)
    twin.set_state(StateReader(encoder.get_state(), "encoder"))
    return twin


def plain(example: Any) -> Any:
    """Return an example as lists."""
    if isinstance(example, np.ndarray):
        return example.tolist()
    return [plain(side) for side in example] if isinstance(example, tuple) else example


# Examples ----------------------------------------------------------------------------------------


@each_side
def test_each_side_is_what_its_own_encoder_makes(dense: bool, sparse: bool) -> None:
    encoder, rows, columns = (
        AutoEncoder(100, None, dense, sparse),
        SparseEncoder(),
        RecordVectorizer(),
    )
    for x, y, w in stream(400):
        example, expected, reference = encode(encoder, x), encode(rows, x), encode(columns, x)
        assert plain(example[1]) == (plain(expected) if sparse else None)
        if dense:
            theirs = columns.decode(reference)
            mine = dict(zip(encoder.names[0], example[0].tolist(), strict=False))
            # A number is counted from the first one that is not 0.
            odd = {name for name in mine if feature_of(name) in ("id", "new", "rain", "late")}
            assert {n: v for n, v in mine.items() if n not in odd} == approx(
                {name: theirs[name] for name in mine.keys() - odd}
            )
        else:
            assert example[0] is None
        for each in (encoder, rows, columns):
            each.learn(x, y, w)
    assert len(encoder.names[0]) > 10 or not dense


@pytest.mark.parametrize("sparse", [True, False])
def test_features_have_columns_once_they_are_known_often_enough(sparse: bool) -> None:
    encoder, n_known, known = AutoEncoder(100, None, sparse=sparse), dict[str, int](), set[str]()
    for i in range(1, 1_000):
        x = {f"every {n}": 1.5 for n in (1, 2, 4, 19, 21, 150) if i % n == 0}
        x |= {"country": f"c{i % 3}"} if i % 10 == 0 else {}
        for name in x:
            n_known[name] = n_known.get(name, 0) + 1
        array, _ = encode(encoder, x)
        columns = {name: at for at, name in enumerate(encoder.names[0])}
        assert {feature_of(name) for name in columns} == known
        assert all(
            array[columns[name]] == x.get(name, 0.0) for name in known & {"every 4", "every 19"}
        )
        encoder.learn(x, i % 3 == 0, 1.0)
        if i % 64 == 0 or i & (i - 1) == 0:
            known |= {name for name, n in n_known.items() if n >= max(5, 0.05 * i)}
    assert known == {"every 1", "every 2", "every 4", "every 19", "country"}
    assert Column("every 2", "missing") in columns and Column("country", "log odds") in columns


def test_the_most_often_known_features_have_columns_and_none_is_refused() -> None:
    encoder = AutoEncoder(3, None)
    for i in range(1, 200):
        x = {f"every {n}": 1.0 for n in range(1, 8) if i % n == 0}
        x |= {"when": MORNING, "late": "a"} if i > 100 else {}
        encode(encoder, x)
        encoder.learn(x, i % 3 == 0, 1.0)
    dense, sparse = encoder.names
    assert {feature_of(name) for name in dense} == {"every 1", "every 2", "every 3"}
    assert {"every 7", ("late", "a")} <= set(sparse)


@each_side
@pytest.mark.parametrize("value", [[1], math.inf, 1j], ids=repr)
def test_a_refused_value_changes_nothing(dense: bool, sparse: bool, value: Any) -> None:
    encoder = learned(100, dense=dense, sparse=sparse)
    before = digest(encoder.get_state())
    for call in (encoder.encode, encoder.encode_known):
        for x in ({"never": "x", "amount": value}, {"amount": value, "country": "FR"}):
            with pytest.raises(ValueError, match="^feature 'amount' is "):
                call(x)
    assert digest(encoder.get_state()) == before


def test_contributions_are_summed_by_the_features_of_the_record() -> None:
    encoder = learned(600)
    x, _, _ = next(stream(1, seed=3))
    x |= {"amount": 12.5, "country": "FR", "text": "win a free prize", "when": MORNING}
    x |= {"new": False, "never": "x"}
    array, (rows, _) = encoder.encode_known(x)
    names = encoder.names[1]
    assert {
        "amount",
        ("amount", "from", 12.0),
        ("country", "FR"),
        ("country", "has", "log odds"),
    } <= {names[row] for row in rows}
    sums = encoder.sum_by_feature(x, (np.ones(len(array)), np.ones(len(rows))))
    dense = encoder.sum_by_feature(x, (np.ones(len(array)), None))
    sparse = encoder.sum_by_feature(x, (None, np.ones(len(rows))))
    assert sums == {name: dense.get(name, 0) + sparse.get(name, 0) for name in dense | sparse}
    assert (dense["amount"], dense["when"], dense["country"]) == (2.0, 4.0, 2.0)
    assert (sparse["amount"], sparse["when"], sparse["country"]) == (2.0, 2.0, 2.0)
    assert sparse["text"] == len(set(x["text"].split())) and "new" not in sparse
    assert sum(sparse.values()) == len(rows) and sum(dense.values()) == len(encoder.names[0])


# Twins, states and merging -----------------------------------------------------------------------


@needs_compiled
@each_side
def test_compiled_encoders_equal_their_twins(
    dense: bool, sparse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled, twins = AutoEncoder(100, 300, dense, sparse), []
    for i, (x, y, w) in enumerate(stream(700, seed=5)):
        first, before = encode(compiled, x), compiled.get_state() if i % 50 == 0 else None
        compiled.learn(x, y, w)
        if before:
            twins.append(
                (AutoEncoder(100, 300, dense, sparse), before, x, y, w, first, compiled.get_state())
            )
    for name in ("encode_record", "encode_sparse", "learn_record"):
        monkeypatch.setattr(acceleration, name, None)
    for name in ("Feature", "Counts"):
        monkeypatch.setattr(statistics, name, getattr(features, name))
    for twin, before, x, y, w, first, after in twins:
        twin.set_state(StateReader(before, "encoder"))
        for mine, theirs in zip(twin.encode(x), first, strict=True):
            assert_same_data(plain(mine), plain(theirs))
        twin.learn(x, y, w)
        assert_same_data(twin.get_state(), after)


@each_side
def test_states(dense: bool, sparse: bool) -> None:
    encoder = learned(200, dense=dense, sparse=sparse)
    twin = restored(encoder)
    for x, y, w in stream(100, seed=1):
        assert digest(plain(encode(twin, x))) == digest(plain(encode(encoder, x)))
        for each in (encoder, twin):
            each.learn(x, y, w)
    assert digest(twin.get_state()) == digest(encoder.get_state())
    for damage in (
        lambda state: state.pop("columns"),
        lambda state: state["columns"].update(size=0),
        lambda state: state["rows"].update(names=[1, 1]),
        lambda state: state["rows"]["statistics"].update(n_seen=-1),
        lambda state: state.update(more=1),
    ):
        damaged, before = copy.deepcopy(encoder.get_state()), digest(twin.get_state())
        damage(damaged)
        with pytest.raises(ValueError, match="is damaged"):
            twin.set_state(StateReader(damaged, "encoder"))
        assert digest(twin.get_state()) == before


@each_side
def test_merging(dense: bool, sparse: bool) -> None:
    whole, one, other = (AutoEncoder(100, None, dense, sparse) for _ in range(3))
    for i, (x, y, w) in enumerate(stream(400)):
        for each in (whole, other if i % 2 else one):
            encode(each, x)
            each.learn(x, y, w)
    before = digest([one.get_state(), other.get_state()])
    for merged in (one.merged(other), other.merged(one)):
        assert merged.statistics.n_seen == 400
        assert merged.statistics.features.keys() == whole.statistics.features.keys()
        assert {*merged.names[1]} == {*one.names[1], *other.names[1]}
        for part in (one, other):
            for positions, names, all_names in zip(
                merged.positions(part.names), part.names, merged.names, strict=True
            ):
                assert [all_names[at] for at in positions] == names
        x = {"country": "FR", "terminal": "t3", "amount": 12.5}
        assert [side is not None for side in merged.encode_known(x)] == [dense, sparse]
    assert digest([one.get_state(), other.get_state()]) == before


@pytest.mark.parametrize("sparse", [True, False])
def test_memory_is_bounded(sparse: bool) -> None:
    encoder = AutoEncoder(10, 50, sparse=sparse)
    for i in range(1_000):
        x = {"amount": i + 0.5, f"word {i}": 1.0, "id": f"id {i}", "country": f"c{i % 3}"}
        encode(encoder, x)
        encoder.learn(x, i % 3 == 0, 1.0)
        if sparse and encoder.size[1] > 50:
            encoder = encoder.keeping(np.arange(encoder.size[1] - 40, encoder.size[1]))
        assert encoder.size[1] <= 51 and encoder.statistics.n_categories <= 50
    assert encoder.names[0] == ["amount", Column("country", "log odds"), Column("id", "log odds")]
    array, _ = encoder.encode_known({"amount": 3.0, "country": "c0"})
    assert array[0] == 3.0 and array[1] > 0.0 and math.isnan(array[2])


# A classifier ------------------------------------------------------------------------------------


class PairRanker:
    """A sparse ranker, and the mean of the arrays."""

    def __init__(self) -> None:
        self.sums, self.rows = np.zeros(1), SparseRanker()

    @property
    def n_features(self) -> tuple[int, int]:
        return len(self.sums), self.rows.n_features

    def learn(self, example: Any, positive: bool, weight: float) -> None:
        array, rows = example
        if (array > 1e6).any():
            raise ValueError("too large")
        self.rows.learn(rows, positive, weight)
        self.sums = np.nan_to_num(array) + reindexed(self.sums, np.arange(len(array)), len(array))

    def score(self, example: Any) -> float:
        return self.rows.score(example[1]) + 1e-3 * math.tanh(np.nansum(example[0]))

    def logit(self, score: float, empirical: bool) -> float:
        return self.rows.logit(score, empirical)

    def merge(self, other: PairRanker) -> None:
        self.sums += other.sums
        self.rows.merge(other.rows)

    def reindex(self, positions: Any, n_features: tuple[int, int]) -> None:
        self.sums = reindexed(self.sums, positions[0], n_features[0])
        self.rows.reindex(positions[1], n_features[1])

    def get_state(self) -> dict[str, Any]:
        return {"sums": self.sums.copy(), "rows": self.rows.get_state()}

    def set_state(self, reader: StateReader) -> None:
        self.sums = reader.array("sums", None)
        self.rows.set_state(reader.reader("rows"))
        reader.finish()


class PairClassifier(OnlineAUCClassifier):
    def __init__(self) -> None:
        super().__init__("balanced")

    def _new_encoder(self) -> AutoEncoder:
        return AutoEncoder(100, None)

    def _new_ranker(self) -> PairRanker:
        return PairRanker()


def test_a_classifier_of_pairs() -> None:
    examples = list(stream(300))
    model, parts = PairClassifier(), (PairClassifier(), PairClassifier())
    for i, (x, y, w) in enumerate(examples):
        model.learn_one(x, y, w)
        parts[i % 2].learn_one(x, y, w)
    again = pickle.loads(pickle.dumps(model))
    assert learned_state(again) == learned_state(model)
    assert again.score_one(examples[0][0]) == model.score_one(examples[0][0])
    merged = parts[0] + parts[1]
    assert merged._ranker.n_features == merged._encoder.size
    total = dict(zip(merged._encoder.names[0], merged._ranker.sums, strict=False))
    sums = [dict(zip(part._encoder.names[0], part._ranker.sums, strict=False)) for part in parts]
    assert total == approx({name: sum(each.get(name, 0.0) for each in sums) for name in total})
    # A refused example leaves nothing behind.
    before = state(model)
    with pytest.raises(ValueError, match="too large"):
        model.learn_one({**examples[0][0], "amount": 1e7, "brand new": 1.0}, True)
    assert state(model) == before
    damaged = model.__getstate__()
    damaged["encoder"]["rows"]["names"] = damaged["encoder"]["rows"]["names"][:-1]
    with pytest.raises(ValueError, match="the ranker has"):
        PairClassifier().__setstate__(damaged)


def test_frames_of_pairs_are_the_loop_over_their_rows() -> None:
    examples = [(x, y) for x, y, _ in stream(150)]
    X, y = pd.DataFrame([x for x, _ in examples]), pd.Series([y for _, y in examples])
    X["country"] = X["country"].astype("category")
    many, one = PairClassifier(), PairClassifier()
    many.learn_many(X, y)
    with pytest.raises(ValueError, match=r"^feature 'text' is .*\(row 99 of the data frame\)$"):
        bad = X.astype({"text": object})
        bad.at[99, "text"] = [1]
        many.learn_many(bad, y)
    for x, label in examples:
        one.learn_one(x, label)
    assert np.asarray(many.score_many(X)).tolist() == approx(
        [one.score_one(x) for x, _ in examples]
    )
