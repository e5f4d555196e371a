"""SparseOAUCM against a plain loop, and the promises that are its own."""

from __future__ import annotations

import gc
import math
import random
import tracemalloc
from typing import Any

import numpy as np
import pytest
from classifiers import assert_unharmed
from hypothesis import given
from hypothesis import strategies as st
from record_reference import SparseLoop, stream

from river_oauc import SparseOAUCM
from river_oauc.rankers.sparse import DEVIATION, LEVEL, SQUARES, UNIT, UNSEEN, SparseRanker
from river_oauc.sparse import Deviation

approx = lambda expected: pytest.approx(expected, rel=1e-9, abs=1e-9)  # noqa: E731


def learn(model: Any, examples: Any) -> Any:
    for x, y, w in examples:
        model.learn_one(x, y, w)
    return model


values = st.sampled_from([1.0, 2.0, -1.0, 1e-300, -3.5, 1e3]) | st.floats(-1e2, 1e2).filter(bool)
examples = st.dictionaries(st.integers(0, 5), values, max_size=4)
weights = st.sampled_from([1.0, 1.0, 0.5, 4.0, 1e-3, 1e3])


@given(st.lists(st.tuples(examples, st.booleans(), weights), max_size=40))
def test_the_step_is_that_of_the_plain_loop(stream: Any) -> None:
    ranker, plain = SparseRanker(), SparseLoop()
    for x, positive, weight in stream:
        example = np.array(list(x), np.int64), np.array(list(x.values()), float)
        assert ranker.score(example) == approx(plain.score(x))
        found, _ = ranker.learn(example, positive, weight)
        assert found == approx(plain.learn(x, positive, weight))
        for empirical in (True, False):
            assert ranker.logit(0.3, empirical) == approx(plain.logit(0.3, empirical))
        assert ranker.contributions(example).sum() == approx(ranker.score(example))
    for row, terms in enumerate(ranker.terms[: ranker.n_features].tolist()):
        for each, found in zip((plain.levels, plain.deviations), terms, strict=True):
            term = each.get(row)
            assert (found[UNIT] == UNSEEN) == (term is None)
            assert term is None or found == approx(
                [term.weight, term.squares, term.unit, term.mean]
            )


def test_weights_and_what_moves_a_score() -> None:
    model, rng = SparseOAUCM(), random.Random(0)
    for _ in range(500):
        y = rng.random() < 0.3
        x = {"age": 40.0 + rng.gauss(5.0 * y, 5.0), "one": True, "to": "FR" if y else "IT"}
        model.learn_one(x, y)
    weights = model.weights
    sizes = {("age", "from", 32.0), ("age", "from", 48.0)}
    assert weights.keys() >= {"age", Deviation("age"), *sizes, "one", ("to", "FR"), ("to", "IT")}
    largest = sorted(weights, key=lambda name: -abs(weights[name]))
    assert list(model.largest_weights(3)) == largest[:3]
    assert model.largest_weights(99) == weights
    with pytest.raises(ValueError, match="k is 0"):
        model.largest_weights(0)
    moves = model.explain_one({**x, "to": "FR", "never": "x", "nor": 1.5})
    assert moves.keys() == {"age", "one", "to"} and moves["to"] > 0.0
    assert sum(moves.values()) == approx(model.score_one({**x, "to": "FR"}))
    assert model.explain_one({"never": "x", "one": False, "age": None}) == {}


@pytest.mark.parametrize("limit", [1, 2, 5, 50])
def test_no_more_categories_than_allowed(limit: int) -> None:
    model = SparseOAUCM(max_categories=limit)
    for example in stream(200):
        learn(model, [example])
        assert len(model._encoder.row_names) == model._ranker.n_features <= limit
        assert len(model._encoder.features.names) <= limit
    both = model + learn(SparseOAUCM(max_categories=limit), stream(50, seed=1))
    assert len(both._encoder.row_names) <= limit
    assert_unharmed(both)


def test_rows_with_the_smallest_gradients_go_and_of_equals_the_oldest() -> None:
    ranker = SparseRanker()
    ranker.learn((np.arange(5), np.arange(1.0, 6.0)), True, 1.0)
    ranker.terms[:5, LEVEL, SQUARES] = [0.0, 3.0, 0.0, 0.0, 1.0]
    ranker.terms[2, DEVIATION, SQUARES] = 2.0
    before = ranker.terms.copy()
    assert ranker.best_rows(4).tolist() == [1, 2, 3, 4]
    ranker.keep(ranker.best_rows(3))
    assert ranker.n_features == 3 and ranker.terms[:3].tolist() == before[[1, 2, 4]].tolist()


def test_memory_per_feature() -> None:
    gc.collect()
    tracemalloc.start()
    model = SparseOAUCM()
    for i in range(0, 20_000, 100):
        model.learn_one({f"feature number {i + j}": True for j in range(100)}, i % 200 == 0)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(model.weights) == 20_000 and size < 460 * 20_000


def test_merging_is_its_formula_by_name() -> None:
    one = learn(SparseOAUCM(), stream(300, seed=1))
    other = learn(SparseOAUCM(), [({**x, "only here": 1.5}, y, w) for x, y, w in stream(200)])
    parts = [
        dict(zip(m._encoder.row_names, m._ranker.terms.tolist(), strict=False))
        for m in (one, other)
    ]
    scores = [model._ranker.scores.tolist() for model in (one, other)]
    for merged in (one + other, other + one):
        names = merged._encoder.row_names
        assert {*names} == parts[0].keys() | parts[1].keys()
        for name, terms in zip(names, merged._ranker.terms.tolist(), strict=False):
            for i, term in enumerate(terms):
                each = [part[name][i] for part in parts if name in part]
                assert term == approx(
                    merged_term([t for t in each if t[2] != UNSEEN], (0.5, 0.25)[i])
                )
        for i, (n, mean, scatter) in enumerate(merged._ranker.scores.tolist()):
            (n1, m1, s1), (n2, m2, s2) = scores[0][i], scores[1][i]
            gap = n1 * n2 / (n1 + n2) * (m1 - m2) ** 2
            assert [n, mean] == approx([n1 + n2, (n1 * m1 + n2 * m2) / (n1 + n2)])
            assert scatter == approx(s1 + s2 + gap)
        assert merged._ranker.n_seen == 500


def merged_term(terms: list[list[float]], usual: float) -> list[float]:
    """Return weight, squares, unit and mean of the merged term."""
    if not terms:
        return [0.0, 0.0, UNSEEN, 0.0]
    squares = sum(term[1] for term in terms)
    weight = sum((1.0 + term[1]) * term[0] for term in terms) / (1.0 + squares)
    inertia = [usual + math.sqrt(term[1]) for term in terms]
    unit, mean = (np.average([term[i] for term in terms], weights=inertia) for i in (2, 3))
    return [weight, squares, unit, mean]
