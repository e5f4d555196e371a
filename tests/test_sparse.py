"""SparseOAUCM against a plain loop, and the promises that are its own."""

from __future__ import annotations

import gc
import math
import pickle
import random
import time
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from clicks import clicks
from hypothesis import given, settings
from hypothesis import strategies as st
from river import linear_model, optim
from sparse_reference import SparseReference

from river_oauc import SparseOAUCM
from river_oauc.linear.table import FeatureTable
from river_oauc.metrics import exact_auc


def mixed_stream(n, seed=0, n_names=60, weighted=False):
    """Words, categories, booleans, zeros and amounts of all sizes; some of them tell something."""
    rng = random.Random(seed)
    for _ in range(n):
        y = rng.random() < 0.2
        x = {f"word{int(rng.random() ** 2 * n_names)}": rng.choice([1, 2, 0]) for _ in range(5)}
        x["country"] = rng.choice(["FR", "US"]) if y else rng.choice(["IT", "US", "DE"])
        x["amount"] = rng.lognormvariate(1.0 + y, 1.0)
        x["level"] = 5_000 + rng.gauss(50 * y, 50)
        x["new"] = rng.random() < 0.3 + 0.3 * y
        if rng.random() < 0.3:
            del x["amount"]
        yield x, y, rng.choice([0.0, 0.5, 1.0, 3.0]) if weighted else 1.0


def learn(model, stream):
    for x, y, w in stream:
        model.learn_one(x, y, w)
    return model


def auc_of(scores, labels):
    scores, labels = np.array(scores), np.array(labels)
    return exact_auc(scores[labels], scores[~labels])


def progressive_auc(model, stream):
    scores, labels = [], []
    for x, y, w in stream:
        scores.append(model.score_one(x))
        labels.append(y)
        model.learn_one(x, y, w)
    return auc_of(scores, labels)


# Against the reference -------------------------------------------------------------------------

values = st.one_of(
    st.sampled_from([0, 1, 1.0, True, False, 2, -1, 1e-300, -3.5, 1e9, "a", "b", ""]),
    st.floats(-1e6, 1e6),
)
examples = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from("abcdefgh"), values, max_size=6),
        st.booleans(),
        st.sampled_from([1.0, 1.0, 0.5, 4.0, 0.0, 1e-3, 1e3]),
    ),
    max_size=40,
)


@given(examples, st.sampled_from(["balanced", "empirical"]))
@settings(max_examples=150)
def test_it_is_the_plain_loop(stream, prior):
    model, plain = SparseOAUCM(prior), SparseReference(prior)
    for x, y, w in stream:
        if len(x) % 2:
            # What a prediction has found out is used again; the others are learned without.
            assert model.score_one(x) == pytest.approx(plain.score_one(x), abs=1e-12, rel=1e-12)
        model.learn_one(x, y, w)
        plain.learn_one(x, y, w)
        p = plain.predict_proba_one(x)[True]
        assert model.predict_proba_one(x)[True] == pytest.approx(p, abs=1e-12, rel=1e-12)
    assert model.weights == pytest.approx(plain.weights, abs=1e-12, rel=1e-12)


@pytest.mark.parametrize("asked", [False, True])
def test_it_is_the_plain_loop_on_a_longer_stream(asked):
    model, plain = SparseOAUCM(), SparseReference()
    for x, y, w in mixed_stream(2_000, weighted=True):
        if asked:
            assert model.score_one(x) == pytest.approx(plain.score_one(x), abs=1e-12)
        model.learn_one(x, y, w)
        plain.learn_one(x, y, w)
    assert model.weights == pytest.approx(plain.weights, abs=1e-12)


def test_predictions_between_leave_no_trace():
    asked, spared = SparseOAUCM(), SparseOAUCM()
    for x, y, w in mixed_stream(300):
        asked.predict_proba_one({**x, "unknown": 1.0})
        asked.score_one(x)
        asked.learn_one(dict(x), y, w)
        spared.learn_one(x, y, w)
        assert pickle.dumps(asked) == pickle.dumps(spared)


def test_what_was_scored_is_not_mistaken_for_something_else():
    """The same values under other names, the same names with other values."""
    model, twin = SparseOAUCM(), SparseOAUCM()
    for x, y, w in mixed_stream(50):
        for m in (model, twin):
            m.learn_one(x, y, w)
    for scored, learned in [
        ({"a": 1.0, "b": 2.0}, {"b": 1.0, "a": 2.0}),
        ({"word0": 1.0, "word1": 2.0}, {"word1": 1.0, "word0": 2.0}),
        ({"country": "FR"}, {"country": "US"}),
        ({"word0": 1.0}, {"word0": 1.0, "word1": 1.0}),
    ]:
        model.score_one(scored)
        model.learn_one(learned, True)
        twin.learn_one(learned, True)
    assert pickle.dumps(model) == pickle.dumps(twin)


# Symmetries and outliers -----------------------------------------------------------------------


@given(st.dictionaries(st.sampled_from(["amount", "level", "word0"]), st.integers(-60, 60)))
@settings(max_examples=20)
def test_a_feature_times_a_power_of_two_changes_nothing(powers):
    def scaled(x):
        return {
            name: v * 2.0 ** powers.get(name, 0) if name in powers else v for name, v in x.items()
        }

    model, other = SparseOAUCM(), SparseOAUCM()
    for x, y, w in mixed_stream(120, n_names=5):
        assert model.score_one(x) == other.score_one(scaled(x))
        model.learn_one(x, y, w)
        other.learn_one(scaled(x), y, w)


def test_swapped_labels_turn_the_score_round():
    model, other = SparseOAUCM(), SparseOAUCM()
    for x, y, w in mixed_stream(500):
        assert model.score_one(x) == -other.score_one(x)
        model.learn_one(x, y, w)
        other.learn_one(x, not y, w)


@pytest.mark.parametrize("level", [0.0, 1.0, 10.0, 5_000.0])
def test_numbers_may_have_a_level(level):
    """Ages, years, degrees: what they have in common is no news."""
    aucs = []
    for start in (0.0, level):
        rng = random.Random(1)
        stream = []
        for _ in range(2_000):
            y = rng.random() < 0.3
            stream.append(({f"f{j}": rng.gauss(start + 0.7 * y, 1.0) for j in range(3)}, y, 1.0))
        aucs.append(progressive_auc(SparseOAUCM(), stream))
    assert aucs[0] > 0.76
    assert aucs[1] > aucs[0] - 0.02


@pytest.mark.parametrize("position", [0, 1, 5, 100, 500])
def test_one_huge_value_costs_little(position):
    aucs = []
    for huge in (False, True):
        spoiled = 0.0
        for seed in range(5):
            rng = random.Random(seed)
            stream = []
            for i in range(1_000):
                y = rng.random() < 0.3
                x = {f"f{j}": rng.gauss(0.7 * y, 1.0) for j in range(3)}
                if huge and i == position:
                    x["f0"] = 1e9
                stream.append((x, y, 1.0))
            spoiled += progressive_auc(SparseOAUCM(), stream) / 5
        aucs.append(spoiled)
    assert aucs[1] > aucs[0] - 0.01
    assert aucs[0] > 0.75


@pytest.mark.parametrize("value", [5e49, 1e-300, 5e-324, -5e49])
@pytest.mark.parametrize("w", [1e-50, 1.0, 1e50])
def test_it_stays_finite(value, w):
    model = SparseOAUCM()
    for i in range(60):
        model.learn_one({"a": value, "b": 1.0, f"c{i}": value}, i % 2 == 0, w)
        model.learn_one({"a": -value}, i % 3 == 0, 1.0)
    assert all(map(math.isfinite, model.weights.values()))
    assert 0.0 <= model.predict_proba_one({"a": value, "b": 2.0})[True] <= 1.0


# What it is fed --------------------------------------------------------------------------------


def test_strings_are_categories_and_booleans_numbers():
    model = SparseOAUCM()
    model.learn_one({"country": "FR", "amount": 12.5, "new": True, "old": False}, True)
    model.learn_one({"country": "IT", "amount": "12.50"}, False)
    assert set(model.weights) == {
        ("country", "FR"), "amount", "new", ("country", "IT"), ("amount", "12.50"),
    }  # fmt: skip


def test_a_category_that_is_also_a_feature_is_refused():
    model = SparseOAUCM()
    with pytest.raises(ValueError, match="which makes it the feature"):
        model.learn_one({"country": "FR", ("country", "FR"): 1.0}, True)


BAD = [None, math.nan, math.inf, -math.inf, 1e51, [1.0], {}, 1j, b"x", 10**400, np.complex128(1j)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("bad", BAD, ids=lambda value: repr(value)[:12])
@pytest.mark.parametrize("stage", [0, 40])
def test_bad_values_change_nothing(bad, stage):
    model = learn(SparseOAUCM(), mixed_stream(stage))
    before = pickle.dumps(model)
    for x in ({"word0": bad}, {"country": "FR", "word0": bad}, {"unheard": 1.0, "odd": bad}):
        with pytest.raises(ValueError, match="^feature '(word0|odd)' is "):
            model.learn_one(x, True)
        assert pickle.dumps(model) == before


def test_zeros_are_as_good_as_absent():
    model, twin = SparseOAUCM(), SparseOAUCM()
    for x, y, w in mixed_stream(200):
        model.learn_one({**x, "zero": 0.0, "word1": x.get("word1", 0)}, y, w)
        twin.learn_one({name: v for name, v in x.items() if v}, y, w)
    assert "zero" not in model.weights
    assert model.weights == pytest.approx(twin.weights, rel=1e-12)


def test_unknown_features_count_nothing():
    model = learn(SparseOAUCM(), mixed_stream(200))
    x = {"word0": 1.0, "amount": 5.0}
    assert model.score_one({**x, "never": 7.0, "country": "ZZ"}) == pytest.approx(
        model.score_one(x)
    )
    assert model.score_one({"never": 1.0}) == model.score_one({}) == 0.0


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_with_strings_and_wide_ones(frame):
    rows = [
        {"country": x["country"], "level": x["level"], "new": x["new"], "word": x.get("word0", 0)}
        for x, _, _ in mixed_stream(60)
    ]
    labels = [y for _, y, _ in mixed_stream(60)]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    series = pd.Series if frame is pd.DataFrame else pl.Series
    model, twin = SparseOAUCM(), SparseOAUCM()
    model.learn_many(frame(columns), series(labels))
    for x, y in zip(rows, labels, strict=True):
        twin.learn_one(x, y)
    assert pickle.dumps(model._table) == pickle.dumps(twin._table)
    p = model.predict_proba_many(frame(columns))
    expected = [twin.predict_proba_one(x)[True] for x in rows]
    assert list(p[True if frame is pd.DataFrame else "True"]) == pytest.approx(expected, rel=1e-12)


def test_what_is_absent_in_a_prediction_is_refused_in_learning():
    model = learn(SparseOAUCM(), mixed_stream(50))
    x = {"word0": 1.0, "level": math.nan}
    assert model.score_one(x) == model.score_one({"word0": 1.0})
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="feature 'level' is NaN"):
        model.learn_one(x, True)
    assert pickle.dumps(model) == before


def test_a_frame_with_a_bad_cell_is_refused_as_a_whole():
    model = learn(SparseOAUCM(), mixed_stream(20))
    before = pickle.dumps(model)
    for column in (["a", None, "b"], [1.0, math.nan, 2.0], [1.0, math.inf, 2.0]):
        with pytest.raises(ValueError, match=r"^feature 'x' is .*\(row 1 of the data frame\)"):
            model.learn_many(pd.DataFrame({"x": column}), pd.Series([True, False, True]))
    assert pickle.dumps(model) == before


# What it shows ---------------------------------------------------------------------------------


def test_the_largest_weights():
    model = learn(SparseOAUCM(), mixed_stream(500))
    weights = model.weights
    largest = model.largest_weights(3)
    assert list(largest) == sorted(weights, key=lambda name: -abs(weights[name]))[:3]
    assert all(weights[name] == value for name, value in largest.items())
    assert model.largest_weights(10**6).keys() == weights.keys()
    with pytest.raises(ValueError, match="k is 0"):
        model.largest_weights(0)


# Bounded memory --------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 2, 5, 50])
def test_no_more_features_than_allowed(limit):
    model = SparseOAUCM(max_features=limit)
    for x, y, w in mixed_stream(300):
        model.learn_one(x, y, w)
        assert len(model.weights) <= limit


def test_what_has_pulled_least_goes_and_of_equals_the_oldest():
    table = FeatureTable()
    table.add(list("abcde"), [1.0, 2.0, 3.0, 4.0, 5.0])
    table.squares[1:6] = [0.0, 3.0, 0.0, 0.0, 1.0]
    table.weights[1:6] = [1.0, 2.0, 3.0, 4.0, 5.0]
    # What the second row of a feature has pulled counts with it, and goes with it.
    table.add_second(int(table.rows(("c",))[0]), mean=7.0, unit=8.0)
    table.squares[6] = 2.0
    table.add_second(int(table.rows(("a",))[0]), mean=9.0, unit=9.0)
    table.keep(3)
    assert table.names == ["b", "c", "e"]
    assert table.weights[table.first_rows].tolist() == [2.0, 3.0, 5.0]
    assert table.units[table.rows(("e", "b"))].tolist() == [5.0, 2.0]
    (second,) = table.seconds[table.rows(("c",))]
    assert (table.means[second], table.units[second], table.squares[second]) == (7.0, 8.0, 2.0)
    assert table.n_seconds == 1
    table.add(["z"], [9.0])
    assert table.rows_or_unknown(["z", "a"]).tolist() == [5, 0]


def test_a_pickled_table_is_the_same_with_second_rows_between_the_first():
    table = FeatureTable()
    table.add(["a", "b"], [1.0, 2.0])
    table.add_second(1, mean=0.5, unit=0.25)
    table.add(["c"], [3.0])
    table.add_second(4, mean=2.5, unit=0.125)
    copied = pickle.loads(pickle.dumps(table))
    assert copied.names == ["a", "b", "c"]
    for name in "abc":
        row, other = table.rows((name,))[0], copied.rows((name,))[0]
        assert copied.units[other] == table.units[row]
        assert copied.means[copied.seconds[other]] == table.means[table.seconds[row]]
    assert pickle.dumps(copied) == pickle.dumps(table)


def test_a_limit_that_is_never_reached_changes_nothing():
    model, limited = SparseOAUCM(), SparseOAUCM(max_features=10_000)
    learn(model, mixed_stream(200))
    learn(limited, mixed_stream(200))
    assert model.weights == limited.weights


def test_half_of_the_vocabulary_is_nearly_as_good():
    stream = [(x, y, 1.0) for x, y in clicks(4_000, share=0.2, exponent=1.2, strength=1.0)]
    whole = SparseOAUCM()
    auc = progressive_auc(whole, stream)
    limited = progressive_auc(SparseOAUCM(max_features=len(whole.weights) // 2), stream)
    assert limited > auc - 0.01


# Merging ---------------------------------------------------------------------------------------


def test_parts_of_a_stream_rank_like_the_whole():
    stream = list(mixed_stream(8_000, n_names=400))
    train, test = stream[:6_000], stream[6_000:]

    def held_out(model):
        return auc_of([model.score_one(x) for x, _, _ in test], [y for _, y, _ in test])

    shards = [learn(SparseOAUCM(), train[i::4]) for i in range(4)]
    merged = (shards[0] + shards[1]) + (shards[2] + shards[3])
    assert held_out(merged) > held_out(learn(SparseOAUCM(), train)) - 0.01
    assert held_out(merged) > np.mean([held_out(shard) for shard in shards])
    # It goes on learning.
    whole = learn(learn(SparseOAUCM(), train), test)
    assert held_out(learn(merged, test)) > held_out(whole) - 0.01


def test_merging_is_by_name_and_the_same_either_way_round():
    one = learn(SparseOAUCM(), mixed_stream(200, seed=1))
    other = learn(SparseOAUCM(), [({**x, "only here": 1.0}, y, w) for x, y, w in mixed_stream(150)])
    before = pickle.dumps(other)
    there, back = one + other, other + one
    assert pickle.dumps(other) == before
    assert there.weights.keys() == back.weights.keys() == one.weights.keys() | other.weights.keys()
    for name, weight in there.weights.items():
        assert back.weights[name] == pytest.approx(weight, rel=1e-12)
    assert there.weights["only here"] == pytest.approx(other.weights["only here"])
    x, _, _ = next(mixed_stream(1, seed=9))
    assert there.predict_proba_one(x)[True] == pytest.approx(back.predict_proba_one(x)[True])


def test_moments_of_scores_pool_exactly():
    parts = [learn(SparseOAUCM(), mixed_stream(n, seed=n, weighted=True)) for n in (80, 50)]
    merged = parts[0] + parts[1]
    for positive in (0, 1):
        n = [part._n[positive] for part in parts]
        mean = sum(part._n[positive] * part._mean[positive] for part in parts) / sum(n)
        scatter = sum(
            part._scatter[positive] + part._n[positive] * (part._mean[positive] - mean) ** 2
            for part in parts
        )
        assert merged._n[positive] == pytest.approx(sum(n))
        assert merged._mean[positive] == pytest.approx(mean)
        assert merged._scatter[positive] == pytest.approx(scatter)


def test_a_merged_model_keeps_to_its_limit():
    parts = [learn(SparseOAUCM(max_features=40), mixed_stream(200, seed=i)) for i in range(2)]
    assert len((parts[0] + parts[1]).weights) <= 40


# Cost ------------------------------------------------------------------------------------------


def test_memory_per_feature():
    gc.collect()
    tracemalloc.start()
    model = SparseOAUCM()
    for start in range(0, 100_000, 100):
        model.learn_one(
            {f"feature number {i}": 1.0 for i in range(start, start + 100)}, start % 200 == 0
        )
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size < 260 * 100_000


@pytest.mark.slow
def test_memory_and_time_with_a_million_features():
    tracemalloc.start()
    model = SparseOAUCM()
    for start in range(0, 10**6, 100):
        model.learn_one({f"feature{i}": 1.0 for i in range(start, start + 100)}, start % 200 == 0)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(f"a million features: {size / 1e6:.0f} MB")
    assert size < 260e6

    small = SparseOAUCM()
    for start in range(0, 10**4, 100):
        small.learn_one({f"feature{i}": 1.0 for i in range(start, start + 100)}, start % 200 == 0)
    rng = random.Random(1)
    examples = [{f"feature{rng.randrange(10**4)}": 1.0 for _ in range(30)} for _ in range(200)]
    fastest = {id(model): math.inf, id(small): math.inf}
    for _ in range(30):
        for one in (model, small):
            start = time.perf_counter()
            for x in examples:
                one.predict_proba_one(x)
                one.learn_one(x, True)
            fastest[id(one)] = min(fastest[id(one)], time.perf_counter() - start)
    ratio = fastest[id(model)] / fastest[id(small)]
    print(f"a million known features against ten thousand: {ratio:.2f} times")
    assert ratio < 4 / 3


@pytest.mark.slow
def test_a_million_clicks():
    ours = SparseOAUCM()
    rival = linear_model.LogisticRegression(optim.AdaGrad())
    scores, labels, sizes = {"ours": [], "rival": []}, [], []
    for t, (x, y) in enumerate(clicks(1_000_000)):
        scores["ours"].append(ours.predict_proba_one(x)[True])
        scores["rival"].append(rival.predict_proba_one(x)[True])
        labels.append(y)
        ours.learn_one(x, y)
        rival.learn_one(x, y)
        if t % 200_000 == 199_999:
            sizes.append(len(ours._table))
    auc = {name: auc_of(mine, labels) for name, mine in scores.items()}
    print(f"a million clicks: {auc}; known after each fifth: {sizes}")
    assert auc["ours"] > auc["rival"] + 0.01
