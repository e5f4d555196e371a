"""SparseOAUCM against a plain loop, and the promises that are its own."""

from __future__ import annotations

import gc
import math
import pickle
import random
import tracemalloc

import numpy as np
import pytest
from classifiers import assert_unharmed, learned_state
from hypothesis import given, settings
from hypothesis import strategies as st
from sparse_reference import SparseReference

from river_oauc import SparseOAUCM, acceleration
from river_oauc.encoding.sparse import SparseEncoder
from river_oauc.metrics import exact_auc
from river_oauc.rankers.sparse import DEVIATION, LEVEL, SQUARES, SparseRanker
from river_oauc.sparse import Deviation
from river_oauc.state import StateReader

needs_compiled = pytest.mark.skipif(not acceleration.compiled, reason="there is no compiled code")


def mixed_stream(n, seed=0, n_names=60, weighted=False):
    """Yield words, categories, booleans, zeros and amounts of all sizes; some are informative."""
    rng = random.Random(seed)
    for _ in range(n):
        y = rng.random() < 0.2
        x = {f"word{int(rng.random() ** 2 * n_names)}": rng.choice([1, 2, 0]) for _ in range(5)}
        x["country"] = rng.choice(["FR", "US"]) if y else rng.choice(["IT", "US", "DE"])
        if rng.random() < 0.7:
            x["amount"] = rng.lognormvariate(1.0 + y, 1.0)
        x["level"] = 5_000 + rng.gauss(50 * y, 50)
        x["new"] = rng.random() < 0.3 + 0.3 * y
        yield x, y, rng.choice([0.0, 0.5, 1.0, 3.0]) if weighted else 1.0


def learn(model, stream):
    for x, y, w in stream:
        model.learn_one(x, y, w)
    return model


# The rule --------------------------------------------------------------------------------------

numbers = st.sampled_from([0, 1, 1.0, True, False, 2, -1, 1e-300, -3.5, 1e9]) | st.floats(-1e6, 1e6)
values = numbers | st.sampled_from(["a", "b", "", "c d e", None, math.nan])
records = st.dictionaries(st.sampled_from("abcdefgh"), values, max_size=6)
weights = st.sampled_from([1.0, 1.0, 0.5, 4.0, 0.0, 1e-3, 1e3])
streams = st.lists(st.tuples(records, st.booleans(), weights), max_size=40)
long_stream = list(mixed_stream(2_000, weighted=True))


@given(streams | st.just(long_stream), st.sampled_from(["balanced", "empirical"]))
@settings(max_examples=150)
def test_it_is_the_plain_loop(stream, prior):
    model, plain = SparseOAUCM(prior), SparseReference(prior)
    for x, y, w in stream:
        assert model.score_one(x) == pytest.approx(plain.score_one(x), abs=1e-12, rel=1e-12)
        model.learn_one(x, y, w)
        plain.learn_one(x, y, w)
        expected = plain.probability(x)
        assert model.predict_proba_one(x)[True] == pytest.approx(expected, abs=1e-12, rel=1e-12)
    assert model.weights == pytest.approx(plain.weights(Deviation), abs=1e-12, rel=1e-12)


examples = st.dictionaries(st.integers(0, 9), st.floats(-1e6, 1e6).filter(bool))


@needs_compiled
@given(st.lists(st.tuples(examples, st.booleans(), weights.filter(bool))))
def test_the_compiled_ranker_is_the_numpy_one(stream):
    ranker = SparseRanker()
    twin = acceleration.accelerate(ranker)
    assert type(twin) is not SparseRanker
    for x, positive, weight in stream:
        example = np.array([*x], np.int64), np.array([*x.values()], float)
        assert twin.score(example) == pytest.approx(ranker.score(example), rel=1e-12, abs=1e-12)
        score = ranker.learn(example, positive, weight)
        assert twin.learn(example, positive, weight) == pytest.approx(score, rel=1e-12, abs=1e-12)
        assert twin.logit(0.3, True) == pytest.approx(ranker.logit(0.3, True), rel=1e-12)
        mine, theirs = ranker.get_state(), twin.get_state()
        for part in ("levels", "deviations"):
            for name, array in mine[part].items():
                assert theirs[part][name] == pytest.approx(array, rel=1e-12, abs=1e-12)
        ranker.set_state(StateReader(theirs, "the twin"))
        assert pickle.dumps(ranker.get_state()) == pickle.dumps(theirs)


@needs_compiled
@pytest.mark.parametrize(
    "example", [None, (), (None, None), ([0], [1.0]), (np.zeros(2, int), np.zeros(1))]
)
def test_the_compiled_ranker_refuses_other_examples(example):
    ranker = acceleration.accelerate(SparseRanker())
    for call in (ranker.score, lambda example: ranker.learn(example, True, 1.0)):
        with pytest.raises((TypeError, ValueError)):
            call(example)
    for row in (-1, 2**63 - 1):
        with pytest.raises(ValueError, match="is no row"):
            ranker.learn((np.array([row]), np.ones(1)), True, 1.0)
    assert ranker.score((np.array([-1, 2**40]), np.ones(2))) == 0.0
    assert ranker.get_state()["n_seen"] == 0


def outcome(encode, record):
    try:
        example = encode(record)
    except ValueError as error:
        return str(error)
    return example and [array.tolist() for array in example]


odd = st.sampled_from(["x", np.float32(2), np.int64(3), np.str_("x"), math.nan, math.inf, 10**400])
names = st.sampled_from(["a", "b", 7, ("a", "x"), 2.5, None])


@needs_compiled
@given(st.dictionaries(names, numbers | odd))
def test_the_compiled_encoder_is_the_python_one(record):
    encoder = SparseEncoder()
    encoder.extend(["a", ("b", "x"), 7, ("a", "x"), 2.5])
    for encode in (encoder.encode, encoder.encode_known):
        compiled = outcome(encode, record)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(acceleration, "encode_sparse", None)
            assert outcome(encode, record) == compiled


@pytest.mark.parametrize("level", [0.0, 10.0, 5_000.0])
@pytest.mark.parametrize("outlier_at", [None, 0, 1, 100])
def test_a_level_or_an_outlier_costs_little(level, outlier_at):
    aucs = []
    for seed in range(5):
        rng, stream = random.Random(seed), []
        for i in range(1_000):
            y = rng.random() < 0.3
            x = {f"f{j}": rng.gauss(level + 0.7 * y, 1.0) for j in range(3)}
            stream.append((x | {"f0": 1e9} if i == outlier_at else x, y))
        model, labels = SparseOAUCM(), np.array([y for _, y in stream])
        scores = np.array([(model.score_one(x), model.learn_one(x, y))[0] for x, y in stream])
        aucs.append(exact_auc(scores[labels], scores[~labels]))
    assert np.mean(aucs) > 0.74


# Records and weights ---------------------------------------------------------------------------


def test_strings_are_categories_and_zeros_are_absent():
    model = SparseOAUCM()
    model.learn_one({"country": "FR", "amount": 12.5, "new": True, "old": False}, False)
    model.learn_one({"country": "IT", "amount": "12.50", "zero": 0.0}, True)
    known = {("country", "FR"), "amount", "new", ("country", "IT"), ("amount", "12.50")}
    assert set(model.weights) == known
    category = model._encoder.encode_known({"country": "IT", "never": "IT"})
    assert [each.tolist() for each in category] == [[3], [1.0]]
    score = model.score_one({"country": "IT", "amount": 5.0})
    absent = {"never": 7.0, "old": 2.0, "country ": "IT", "new": math.nan}
    assert model.score_one({"country": "IT", "amount": 5.0, **absent}) == score > 0.0
    # A name that numpy would compare with all parts of a pair.
    assert model.score_one({np.int64(7): 1.0}) == 0.0
    with pytest.raises(ValueError, match="which makes it the feature"):
        model.learn_one({"country": "FR", ("country", "FR"): 1.0}, True)


def test_frames_of_strings_and_numbers_are_the_loop_over_records(backend):
    stream = [
        ({"country": x["country"], "level": x["level"], "word": x.get("word0", 0)}, y, w)
        for x, y, w in mixed_stream(60)
    ]
    frame = backend.frame({name: [x[name] for x, _, _ in stream] for name in stream[0][0]})
    # Most features are forgotten again between the rows.
    model = SparseOAUCM(max_features=4)
    model.learn_many(frame, backend.series([y for _, y, _ in stream]))
    twin = learn(SparseOAUCM(max_features=4), stream)
    assert learned_state(model) == learned_state(twin)
    assert [*np.array(model.score_many(frame))] == [twin.score_one(x) for x, _, _ in stream]


def test_weights_show_levels_and_deviations():
    model, rng = SparseOAUCM(), random.Random(0)
    for _ in range(500):
        y = rng.random() < 0.3
        model.learn_one({"age": 40.0 + rng.gauss(5.0 * y, 5.0), "one": 1.0}, y)
    weights = model.weights
    sizes = [name for name in weights if isinstance(name, tuple)]
    assert list(weights) == ["age", "one", *sizes, Deviation("age")]
    assert {("age", "from", 32.0), ("age", "from", 48.0)} <= set(sizes)
    assert model.largest_weights(1) == {Deviation("age"): max(weights.values())}
    assert model.largest_weights(99).keys() == weights.keys()
    with pytest.raises(ValueError, match="k is 0"):
        model.largest_weights(0)


# Bounded memory --------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 2, 5, 50])
def test_no_more_features_than_allowed(limit):
    model = SparseOAUCM(max_features=limit)
    for example in mixed_stream(300):
        learn(model, [example])
        assert len(model._encoder) == model._ranker.n_features <= limit
    assert len((model + model.clone(include_attributes=True))._encoder) <= limit
    assert_unharmed(model)


def test_features_with_the_smallest_gradients_go_and_of_equals_the_oldest():
    ranker = SparseRanker()
    ranker.learn((np.arange(5), np.arange(1.0, 6.0)), True, 1.0)
    ranker.terms[SQUARES, LEVEL, :5] = [0.0, 3.0, 0.0, 0.0, 1.0]
    ranker.terms[SQUARES, DEVIATION, 2] = 2.0
    before = ranker.terms.copy()
    assert ranker.keep(4).tolist() == [1, 2, 3, 4]
    assert ranker.keep(3).tolist() == [0, 1, 3]
    assert ranker.terms[:, :, :3].tolist() == before[:, :, [1, 2, 4]].tolist()


def test_memory_per_feature():
    gc.collect()
    tracemalloc.start()
    model = SparseOAUCM()
    for i in range(0, 100_000, 100):
        model.learn_one({f"feature number {i + j}": 1.0 for j in range(100)}, i % 200 == 0)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(model._encoder) == 100_000
    assert size < 270 * 100_000


# Merging and states ----------------------------------------------------------------------------


def test_merging_is_by_name_and_symmetric_and_moments_of_scores_add_up():
    one = learn(SparseOAUCM(), mixed_stream(200, seed=1, weighted=True))
    other = learn(SparseOAUCM(), [({**x, "only here": 1.0}, y, w) for x, y, w in mixed_stream(150)])
    merged, reverse = one + other, other + one
    assert merged.weights == pytest.approx(reverse.weights, rel=1e-12)
    assert merged.weights["only here"] == pytest.approx(other.weights["only here"])
    states = [model._ranker.get_state()["scores"] for model in (one, other, merged)]
    for a, b, both in zip(*states, strict=True):
        mean = (a["n"] * a["mean"] + b["n"] * b["mean"]) / (a["n"] + b["n"])
        scatter = sum(each["scatter"] + each["n"] * (each["mean"] - mean) ** 2 for each in (a, b))
        assert [*both.values()] == pytest.approx([a["n"] + b["n"], mean, scatter])


def test_names_that_were_never_learned_do_no_harm():
    """As after an interrupt between the two steps of learning a name."""
    model, twin = (learn(SparseOAUCM(), mixed_stream(50)) for _ in range(2))
    model._encoder.extend(["lost", "also lost"])
    for x, y, w in mixed_stream(50, seed=1):
        x = {**x, "late": 2.0, "lost": 3.0}
        # A term that is 0 may change the order in which numpy adds up the others.
        assert model.score_one(x) == pytest.approx(twin.score_one(x), rel=1e-12)
        model.learn_one(x, y, w)
        twin.learn_one(x, y, w)
    assert model.weights == pytest.approx({**twin.weights, "also lost": 0.0}, rel=1e-12)
    assert (model + twin).weights == pytest.approx((twin + model).weights)
    assert_unharmed(model)


@pytest.mark.parametrize(
    ("part", "field", "damaged"),
    [
        ("deviations", "features", np.array([0, 0])),
        ("deviations", "features", np.array([0, 10**6])),
        ("deviations", "units", np.zeros(2)),
        ("levels", "squares", np.full(2, -1.0)),
        ("levels", "weights", np.zeros(1)),
    ],
)
def test_damaged_states_are_refused(part, field, damaged):
    stream = [({"a": 1.0 + i % 2, "b": -1 - i % 2}, i % 2 == 0, 1.0) for i in range(9)]
    state = learn(SparseOAUCM(), stream).__getstate__()
    assert len(state["ranker"][part][field]) == 2
    state["ranker"][part][field] = damaged
    with pytest.raises(ValueError, match="damaged"):
        SparseOAUCM().__setstate__(state)
