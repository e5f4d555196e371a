"""OTAUC: trees against their definition, losses, the ensemble, its compiled twin, and merging."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
import random
from typing import Any

import numpy as np
import pytest
from classifiers import assert_unharmed, learn, learned_state, make_stream, scores
from test_robustness import interrupted

from river_oauc import OTAUC
from river_oauc.acceleration import accelerate, compiled
from river_oauc.metrics import exact_auc
from river_oauc.rankers import boosting, boosting_losses, losses, trees
from river_oauc.rankers.boosting import TreeRanker, sample
from river_oauc.rankers.class_buffer import ClassBuffer
from river_oauc.state import StateReader

each_loss = pytest.mark.parametrize("loss", boosting_losses.LOSSES)
needs_compiled = pytest.mark.skipif(not compiled, reason="there is no compiled code")


def make_rows(n: int, n_features: int, seed: int, missing: float = 0.1) -> np.ndarray:
    """Return examples with continuous and discrete features, a constant one, and unknown values."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, n_features))
    rows[:, 1::3] = np.round(rows[:, 1::3])
    rows[:, 2] = 1.0
    rows[rng.random(rows.shape) < missing] = np.nan
    return rows.astype(np.float32)


def make_examples(n: int, n_features: int = 12, seed: int = 1) -> list[tuple[Any, bool, float]]:
    """Return arrays, labels and weights; no linear score ranks them."""
    rng = np.random.default_rng(seed)
    rows = make_rows(n, n_features, seed).astype(float)
    known = np.nan_to_num(rows)
    labels = known[:, 0] * known[:, 3] + known[:, 1] + 0.5 * rng.normal(size=n) > 1.0
    weights = rng.choice([0.5, 1.0, 1.0, 3.0], n)
    return list(zip(rows, labels.tolist(), weights.tolist(), strict=True))


def learned(ranker: Any, examples: Any) -> Any:
    for x, positive, weight in examples:
        ranker.learn(x, positive, weight)
    return ranker


def copied(ranker: Any, loss: str = "logistic", buffer_size: int = 4000) -> TreeRanker:
    """Return a numpy ranker with the state of a ranker."""
    twin = TreeRanker(loss, buffer_size, 0)
    twin.set_state(StateReader(ranker.get_state(), "OTAUC"))
    return twin


# Bins ------------------------------------------------------------------------------------------


def test_bins_have_equal_shares() -> None:
    column = np.random.default_rng(1).normal(size=6400).astype(np.float32)
    edges = trees.choose_edges(column[:, None])
    counts = np.bincount(trees.digitize(column[:, None], edges)[:, 0], minlength=trees.N_BINS)
    assert len(counts) == trees.N_BINS and counts.min() > 80 and counts.max() < 120


def test_a_frequent_value_has_one_bin_and_the_others_share_the_rest() -> None:
    rng = np.random.default_rng(2)
    column = np.concatenate((np.zeros(6000), 1.0 + rng.random(400))).astype(np.float32)
    codes = trees.digitize(column[:, None], trees.choose_edges(column[:, None]))[:, 0]
    counts = np.bincount(codes, minlength=trees.N_BINS)
    assert counts[0] == 6000
    assert np.count_nonzero(counts) > 50


def test_few_values_have_a_bin_each_and_a_threshold_is_between_two_of_them() -> None:
    column = np.array([3.0, -1.0, 3.0, 3.0, 3.0, 8.0] * 100 + [100.0], dtype=np.float32)
    edges = trees.choose_edges(column[:, None])
    assert edges[0, :3].tolist() == [1.0, 5.5, 54.0]
    assert (edges[0, 3:] == np.float32(trees.LARGEST)).all()


@pytest.mark.parametrize("n", [1, 5, 64, 65, 66, 1000])
def test_a_threshold_parts_values_as_their_bins_do(n: int) -> None:
    rng = np.random.default_rng(n)
    rows = np.concatenate((make_rows(n, 5, n), [[np.nan, 3e38, -3e38, 1e-40, 0.0]]))
    rows = rows.astype(np.float32)
    edges = trees.choose_edges(rows)
    assert (np.diff(edges.astype(float), axis=1) >= 0.0).all()
    new = trees.to_single(rng.normal(size=(50, 5)) * 10.0 ** rng.integers(-45, 45, (50, 5)))
    for points in (rows, new):
        codes = trees.digitize(points, edges)
        for j in range(5):
            known = ~np.isnan(points[:, j])
            for k, edge in enumerate(edges[j]):
                assert ((codes[known, j] <= k) == (points[known, j] <= edge)).all()
            assert (codes[~known, j] == trees.MISSING).all()


# One tree --------------------------------------------------------------------------------------


def brute_force_split(rows: Any, edges: Any, g: Any, h: Any) -> tuple[float, set[Any]]:
    """Return the largest gain, and all splits that have it: feature, threshold, missing left."""
    found: dict[tuple[int, float, bool], float] = {}
    for j in range(rows.shape[1]):
        for threshold in {*edges[j].tolist(), trees.LARGEST}:
            for missing_left in (True, False):
                left = (rows[:, j] <= threshold) | (np.isnan(rows[:, j]) & missing_left)
                if min(h[left].sum(), h[~left].sum()) >= trees.MIN_HESSIAN:
                    found[j, threshold, missing_left] = sum(
                        g[side].sum() ** 2 / (h[side].sum() + 1.0) for side in (left, ~left)
                    )
    gain = max(found.values(), default=-math.inf)
    return gain, {split for split, its_gain in found.items() if its_gain > gain * (1 - 1e-9)}


@pytest.mark.parametrize("seed", range(12))
def test_every_node_makes_the_best_split(seed: int) -> None:
    """And a node that does not split has none that gains anything."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(10, 400))
    rows = make_rows(n, 4, seed, missing=rng.choice([0.0, 0.2]))
    g, h = rng.normal(size=n) + np.nan_to_num(rows[:, 0]), rng.random(n)
    g[np.isnan(rows[:, 3])] += 1.0
    edges = trees.choose_edges(rows)
    tree = trees.grow(trees.digitize(rows, edges), edges, np.arange(4), g, h)
    assert tree is not None
    places, n_split = {0: np.full(n, True)}, 0
    for node in range(trees.N_SPLITS):
        here = places[node]
        gain, best = brute_force_split(rows[here], edges, g[here], h[here])
        gain -= g[here].sum() ** 2 / (h[here].sum() + 1.0)
        feature, threshold = int(tree.features[0, node]), float(tree.thresholds[0, node])
        missing_left = bool(tree.missing_left[0, node])
        left = (rows[:, feature] <= threshold) | (np.isnan(rows[:, feature]) & missing_left)
        places[2 * node + 1], places[2 * node + 2] = here & left, here & ~left
        if (here & ~left).any():
            n_split += 1
            assert (feature, threshold, missing_left) in best
        else:
            assert gain <= trees.MIN_GAIN
    assert n_split >= 1
    for leaf in range(trees.N_SPLITS, trees.N_NODES):
        here = places[leaf]
        value = -g[here].sum() / (h[here].sum() + 1.0)
        assert tree.values[0, leaf] == pytest.approx(np.clip(value, -10.0, 10.0), abs=1e-12)
        assert tree.tree_scores(0, rows)[here] == pytest.approx(value)
    for node in range(trees.N_SPLITS):
        if places[node].any():
            mean = np.average(tree.tree_scores(0, rows)[places[node]], weights=h[places[node]])
            assert tree.values[0, node] == pytest.approx(mean)


def test_a_split_between_known_and_unknown_values() -> None:
    rows = np.array([[1.0], [np.nan]] * 20, dtype=np.float32)
    edges = trees.choose_edges(rows)
    g = np.array([1.0, -1.0] * 20)
    tree = trees.grow(trees.digitize(rows, edges), edges, np.arange(1), g, np.ones(40))
    assert tree is not None
    assert tree.tree_scores(0, rows) == pytest.approx(np.array([-20 / 21, 20 / 21] * 20))
    assert tree.score(np.float32([1e30])) == tree.score(np.float32([-5.0])) < 0.0


def test_nothing_splits_without_curvature_for_two_sides() -> None:
    rows = make_rows(50, 3, 1)
    edges, g = trees.choose_edges(rows), np.nan_to_num(rows[:, 0]).astype(float)
    codes = trees.digitize(rows, edges)
    assert trees.grow(codes, edges, np.arange(3), g, np.full(50, 0.019)) is None
    assert trees.grow(codes, edges, np.arange(3), g, np.full(50, 0.03)) is not None
    assert trees.grow(codes, edges, np.arange(3), np.zeros(50), np.ones(50)) is None


def test_of_equal_splits_the_first_is_taken() -> None:
    column = make_rows(200, 3, 1)[:, :1]
    rows = np.repeat(column, 4, axis=1)
    edges, g = trees.choose_edges(rows), np.nan_to_num(column[:, 0]).astype(float)
    tree = trees.grow(trees.digitize(rows, edges), edges, np.arange(4), g, np.ones(200))
    assert tree is not None and (tree.features == 0).all()


# Losses ----------------------------------------------------------------------------------------


def loss_of(loss: str, scores: Any, weights: Any, odds: float) -> float:
    """Return the loss whose derivatives the function of this name returns."""
    if loss == "logistic":
        scale = odds * weights[1].sum() / weights[0].sum()
        negatives = scale * weights[0] * np.logaddexp(0.0, scores[0] - math.log(odds))
        positives = weights[1] * np.logaddexp(0.0, math.log(odds) - scores[1])
        return float(negatives.sum() + positives.sum())
    function = losses.psi_m if loss == "psi_m" else losses.psi_s
    size = 0.25 / (1.0 / weights[0].sum() + 1.0 / weights[1].sum())
    total = 0.0
    for own, sign in ((0, -1.0), (1, 1.0)):
        other = 1 - own
        mean = np.average(scores[other], weights=weights[other])
        variance = np.average((scores[other] - mean) ** 2, weights=weights[other])
        each = [function(sign * (score - mean), variance) for score in scores[own]]
        total += size * float(np.average(each, weights=weights[own]))
    return total


@pytest.mark.parametrize("scale", [0.1, 1.0, 3.0])
@each_loss
def test_gradients_by_finite_differences(loss: str, scale: float) -> None:
    rng = np.random.default_rng(3)
    scores = scale * rng.normal(-0.3, size=7), scale * rng.normal(0.3, size=4)
    weights = rng.choice([0.5, 1.0, 4.0], 7), rng.choice([0.5, 1.0, 4.0], 4)
    g, h = boosting_losses.LOSSES[loss](scores, weights, 5.0)
    assert (h > 0.0).all()
    both, step = np.concatenate(scores), 1e-5
    for i in range(len(both)):
        around = []
        for shift in (-step, step):
            moved = both.copy()
            moved[i] += shift
            around.append(loss_of(loss, (moved[:7], moved[7:]), weights, 5.0))
        assert (around[1] - around[0]) / (2.0 * step) == pytest.approx(g[i], rel=1e-6, abs=1e-8)


def test_second_derivatives_of_the_logistic_loss_by_finite_differences() -> None:
    rng = np.random.default_rng(4)
    scores, weights = (rng.normal(size=5), rng.normal(size=3)), (np.ones(5), np.full(3, 2.0))
    _, h = boosting_losses.logistic(scores, weights, 9.0)
    step = 1e-5
    up, _ = boosting_losses.logistic((scores[0] + step, scores[1] + step), weights, 9.0)
    down, _ = boosting_losses.logistic((scores[0] - step, scores[1] - step), weights, 9.0)
    assert (up - down) / (2.0 * step) == pytest.approx(h, rel=1e-6)


def test_psi_s_is_the_mean_over_all_pairs() -> None:
    rng = np.random.default_rng(5)
    scores, weights = (rng.normal(size=6), rng.normal(size=4)), (np.ones(6), np.ones(4))
    g, _ = boosting_losses.psi_s(scores, weights, 1.0)
    size, gaps = 0.25 / (1 / 6 + 1 / 4), 1.0 - (scores[1][:, None] - scores[0])
    # Each pair counts twice: from the side of either class.
    assert g[6:] == pytest.approx(-2.0 * size * gaps.mean(axis=1) / 4)
    assert g[:6] == pytest.approx(2.0 * size * gaps.mean(axis=0) / 6)


def test_losses_at_their_kinks() -> None:
    for margin in (0.0, 1.0, 2.0):
        scores, weights = (np.zeros(3), np.full(2, margin)), (np.ones(3), np.ones(2))
        g, h = boosting_losses.psi_m(scores, weights, 1.0)
        assert np.isfinite(g).all() and np.isfinite(h).all() and (h >= 0.0).all()
        # At the kink of the loss its second derivative counts as 0.
        assert (h > 0.0).all() == (margin != 1.0)
    one = np.ones(1)
    g, h = boosting_losses.logistic((-800.0 * one, 900.0 * one), (one, one), 1e-90)
    assert np.isfinite(g).all() and (h > 0.0).all()


@each_loss
def test_a_weight_is_a_repetition(loss: str) -> None:
    """Where nothing is sampled or dropped: in the derivatives, and so in a tree."""
    rng = np.random.default_rng(6)
    scores = rng.normal(size=5), rng.normal(size=3)
    counts = rng.integers(1, 5, 5), rng.integers(1, 5, 3)
    weighted = boosting_losses.LOSSES[loss](scores, tuple(c.astype(float) for c in counts), 3.0)
    repeated = boosting_losses.LOSSES[loss](
        tuple(np.repeat(s, c) for s, c in zip(scores, counts, strict=True)),
        tuple(np.ones(c.sum()) for c in counts),
        3.0,
    )
    both = np.concatenate(counts)
    for one, many in zip(weighted, repeated, strict=True):
        assert np.repeat(one / both, both) == pytest.approx(many)


# The ensemble ----------------------------------------------------------------------------------


def score_by_loop(ensemble: trees.Trees, x: Any) -> float:
    total = 0.0
    for t in range(len(ensemble)):
        node = 0
        while node < trees.N_SPLITS:
            value = x[ensemble.features[t, node]]
            if math.isnan(value):
                right = not ensemble.missing_left[t, node]
            else:
                right = value > ensemble.thresholds[t, node]
            node = 2 * node + 1 + right
        total += ensemble.values[t, node]
    return total


@each_loss
def test_the_score_is_the_sum_over_the_trees(loss: str) -> None:
    ranker = learned(TreeRanker(loss, 100, 1), make_examples(400))
    assert len(ranker.trees) == boosting.MAX_TREES
    for x, _, _ in make_examples(50, seed=2):
        assert ranker.score(x) == pytest.approx(score_by_loop(ranker.trees, np.float32(x)))
    rows = make_rows(50, 12, 3)
    assert ranker.trees.scores(rows) == pytest.approx([ranker.trees.score(x) for x in rows])


@each_loss
def test_stored_scores_are_those_of_the_ensemble(loss: str) -> None:
    """Whatever has faded, and whichever trees are gone."""
    ranker = accelerate(TreeRanker(loss, 150, 1))
    for examples in (make_examples(300), make_examples(300, seed=2)):
        for buffer in copied(learned(ranker, examples), loss, 150).buffers:
            trees_now = copied(ranker, loss, 150).trees
            assert buffer.scores == pytest.approx(trees_now.scores(buffer.rows), abs=1e-12)


def test_older_trees_fade_and_the_oldest_goes() -> None:
    ranker = TreeRanker("logistic", 4000, 1)
    n_grown, n_checked = 0, 0
    for x, positive, weight in make_examples(400):
        before = ranker.trees
        ranker.learn(x, positive, weight)
        if ranker.trees.values is before.values:
            continue
        n_grown += 1
        assert len(ranker.trees) == min(n_grown, boosting.MAX_TREES)
        kept = before.values[len(before) + 1 - len(ranker.trees) :]
        n_checked += len(kept)
        assert ranker.trees.values[:-1] == pytest.approx((1.0 - boosting.FADE) * kept)
    assert n_grown > boosting.MAX_TREES and n_checked > 10_000


def test_when_trees_are_grown_and_bins_chosen() -> None:
    assert [boosting.tree_wait(n) for n in (1, 199, 200, 1000, 2500, 10**6)] == [
        1,
        1,
        2,
        10,
        25,
        25,
    ]
    waits = [boosting.binning_wait(n) for n in (1, 2, 100, 8000, 10**6)]
    assert waits == [1, 1, 50, 4000, 4000]


@pytest.mark.parametrize(("n", "size"), [(0, 3), (3, 3), (4, 3), (1000, 7), (4001, 4000)])
def test_samples_are_spread_evenly(n: int, size: int) -> None:
    for start in (0.0, 0.5, 1.0 - 2.0**-53):
        positions = sample(n, size, start)
        assert len(positions) == min(n, size) == len(set(positions.tolist()))
        if n:
            assert 0 <= positions.min() <= positions.max() < n
            assert np.diff(positions).max(initial=0) <= math.ceil(n / size)


def test_a_buffer_keeps_the_latest() -> None:
    buffer = ClassBuffer.empty(5, 1)
    for i in range(100):
        buffer.add(np.float32([i]), 1.0 + i, -float(i))
        latest = list(range(max(0, i - 4), i + 1))
        assert buffer.rows[:, 0].tolist() == latest
        assert buffer.weights.tolist() == [1.0 + k for k in latest]
        assert buffer.scores.tolist() == [-float(k) for k in latest]
    assert buffer.total == sum(range(1, 101))


def test_features_are_drawn_from_those_that_vary() -> None:
    rows = make_rows(300, 40, 1, missing=0.0)
    rows[:, 20:] = 7.0
    edges = trees.choose_edges(rows)
    drawn = [boosting.draw_features(edges, random.Random(seed)).tolist() for seed in range(50)]
    assert all(len(each) == 14 and each == sorted(set(each)) for each in drawn)
    assert set().union(*drawn) == set(range(20)) - {2}
    assert boosting.draw_features(edges[:9], random.Random(1)).tolist() == [0, 1, *range(3, 9)]


def test_a_late_feature_is_used_once_it_varies() -> None:
    rng = random.Random(1)
    model = OTAUC(seed=1)
    for i in range(1200):
        y = rng.random() < 0.3
        model.learn_one(
            {"noise": rng.random()} | ({"late": y + rng.random()} if i > 300 else {}), y
        )
    assert model.score_one({"noise": 0.5, "late": 1.5}) > model.score_one({"noise": 0.5}) + 1.0


def test_huge_and_tiny_values_are_told_apart_in_single_precision() -> None:
    model = OTAUC(seed=1)
    for i in range(100):
        model.learn_one({"a": 1e49 if i % 2 else -1e45}, i % 2 == 0)
    assert (
        model.score_one({"a": 1e45}) < model.score_one({"a": -1.0}) == model.score_one({"a": -1e45})
    )


# The compiled twin -----------------------------------------------------------------------------


def assert_same(one: Any, other: Any, path: str = "state") -> None:
    """Check that two states are equal to 1e-12."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_same(one[key], other[key], f"{path}.{key}")
    elif isinstance(one, list):
        assert len(one) == len(other)
        for i, (mine, theirs) in enumerate(zip(one, other, strict=True)):
            assert_same(mine, theirs, f"{path}[{i}]")
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype and one.shape == other.shape, path
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12, err_msg=path)
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=1e-12, abs=1e-12), path
    else:
        assert one == other, path


@needs_compiled
@pytest.mark.parametrize(("n_features", "buffer_size"), [(4, 4000), (12, 60), (40, 200)])
@each_loss
def test_the_compiled_step_is_the_numpy_step(loss: str, n_features: int, buffer_size: int) -> None:
    """From the same state at every step, and without it over a whole stream."""
    examples = make_examples(500, n_features)
    numpy_ranker = TreeRanker(loss, buffer_size, 1)
    compiled_ranker = accelerate(TreeRanker(loss, buffer_size, 1))
    for i, (x, positive, weight) in enumerate(examples):
        score = numpy_ranker.score(x)
        assert compiled_ranker.score(x) == pytest.approx(score, abs=1e-12)
        if i % 10 == 0:
            # As a pickle carries it.
            twin = accelerate(copied(numpy_ranker, loss, buffer_size))
            twin.learn(x, positive, weight)
        assert numpy_ranker.learn(x, positive, weight) == score
        assert compiled_ranker.learn(x, positive, weight) == pytest.approx(score, abs=1e-12)
        if i % 10 == 0:
            assert_same(twin.get_state(), numpy_ranker.get_state())
    assert_same(compiled_ranker.get_state(), numpy_ranker.get_state())
    assert len(numpy_ranker.trees) > 100


@needs_compiled
def test_compiled_and_numpy_sample_alike() -> None:
    """More examples than a tree sees, and large weights."""
    rng = np.random.default_rng(1)
    n = 10_500
    rows = rng.normal(size=(n, 3))
    labels = (rows[:, 0] * rows[:, 1] + rng.normal(size=n) > -1.0).tolist()
    ranker = accelerate(TreeRanker("logistic", 12_000, 1))
    for x, positive in zip(rows, labels, strict=True):
        ranker.learn(x, positive, 1.0)
    assert sum(labels) > 2 * boosting.MAX_SAMPLE
    twin = copied(ranker, buffer_size=12_000)
    for i in range(60):
        twin.learn(rows[i], labels[i], 10.0 ** (i % 4))
        ranker.learn(rows[i], labels[i], 10.0 ** (i % 4))
    assert_same(ranker.get_state(), twin.get_state())


@needs_compiled
def test_the_compiled_ranker_checks_sizes() -> None:
    ranker = learned(accelerate(TreeRanker("logistic", 100, 1)), make_examples(50))
    for action in (ranker.score, lambda x: ranker.learn(x, True, 1.0)):
        with pytest.raises(ValueError, match="features"):
            action(np.zeros(3))
        with pytest.raises((TypeError, ValueError)):
            action(None)


@each_loss
def test_an_interrupt_in_a_step_that_grows_a_tree(loss: str) -> None:
    stream = make_stream(150)
    untouched = learn(OTAUC(loss, buffer_size=40, seed=1), stream)
    for at in itertools.count(1, 97):
        model = copy.deepcopy(untouched)
        if not interrupted(at, lambda model=model: learn(model, stream[:2])):
            break
        assert_unharmed(model)
    assert at > 10


# Merging, explaining, repeating ----------------------------------------------------------------


def test_merged_scores_are_averages(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as no tree goes, and before trees are grown on the examples of both."""
    monkeypatch.setattr(boosting, "TREES_PER_MERGE", 0)
    one, other = (
        learned(TreeRanker("logistic", 4000, seed), make_examples(80, seed=seed)) for seed in (1, 2)
    )
    assert len(one.trees) + len(other.trees) <= boosting.MAX_TREES
    rows = make_rows(30, 12, 5)
    before = one.trees.scores(rows), other.trees.scores(rows)
    totals = [[buffer.total for buffer in each.buffers] for each in (one, other)]
    size, other_size = (1.0 / sum(1.0 / total for total in each) for each in totals)
    share = other_size / (size + other_size)
    n_stored = [len(a) + len(b) for a, b in zip(one.buffers, other.buffers, strict=True)]
    one.merge(other)
    assert one.trees.scores(rows) == pytest.approx((1.0 - share) * before[0] + share * before[1])
    assert [len(buffer) for buffer in one.buffers] == n_stored
    assert [buffer.total for buffer in one.buffers] == pytest.approx(np.sum(totals, axis=0))
    for buffer in one.buffers:
        assert buffer.scores == pytest.approx(one.trees.scores(buffer.rows))


def test_a_merged_ensemble_keeps_the_newest_trees_and_examples(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(boosting, "TREES_PER_MERGE", 0)
    one, other = (
        learned(TreeRanker("logistic", 50, seed), make_examples(500, seed=seed)) for seed in (1, 2)
    )
    newest = one.trees, other.trees, one.buffers[0].rows, other.buffers[0].rows
    one.merge(other)
    assert len(one.trees) == boosting.MAX_TREES and len(one.buffers[0]) == 50
    half = boosting.MAX_TREES // 2
    kept = {row.tobytes() for row in one.trees.thresholds}
    expected = {r.tobytes() for each in newest[:2] for r in each.thresholds[-half:]}
    assert kept == expected
    kept = {row.tobytes() for row in one.buffers[0].rows}
    assert kept == {row.tobytes() for rows in newest[2:] for row in rows[-25:]}


def test_after_a_merge_trees_are_grown_on_the_examples_of_both() -> None:
    """Each part has seen one class only."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(600, 2))
    labels = (rows.prod(axis=1) > 0.3).tolist()
    parts = [TreeRanker("logistic", 4000, 1) for _ in range(2)]
    for part, positive in zip(parts, (False, True), strict=True):
        for x, y in zip(rows, labels, strict=True):
            if y is positive:
                part.learn(x, y, 1.0)
        assert not len(part.trees)
    parts[0].merge(parts[1])
    assert len(parts[0].trees) == boosting.TREES_PER_MERGE
    found = parts[0].trees.scores(np.float32(rows))
    assert exact_auc(found[labels], found[np.logical_not(labels)]) > 0.97


@each_loss
def test_explanations_add_up(loss: str) -> None:
    stream = [
        ({**x, "unknown": None if i % 3 else 1.0}, y) for i, (x, y) in enumerate(make_stream(400))
    ]
    model = learn(OTAUC(loss, seed=1), stream)
    base = model._numpy_ranker().trees.values[:, 0].sum()
    for x, _ in stream[:20]:
        moves = model.explain_one(x)
        assert moves.keys() == x.keys()
        assert sum(moves.values()) + base == pytest.approx(model.score_one(x), abs=1e-9)
    assert OTAUC().explain_one({"a": 1.0}) == {}


def test_the_seed_decides() -> None:
    stream = make_stream(300, n_features=20)
    first, again, other = (learn(OTAUC(seed=seed), stream) for seed in (1, 1, 2))
    assert learned_state(first) == learned_state(again)
    assert scores(first, [stream[0][0]]) != scores(other, [stream[0][0]])
    random.seed(1)
    expected = random.random()
    random.seed(1)
    learn(OTAUC(), stream[:100])
    assert random.random() == expected


def test_it_ranks_what_no_linear_score_does() -> None:
    rng = np.random.default_rng(1)
    points = rng.normal(size=(3000, 2))
    labels = points[:, 0] * points[:, 1] > 1.0
    for loss, least in (("logistic", 0.97), ("psi_m", 0.96), ("psi_s", 0.96)):
        model, found = OTAUC(loss, seed=1), []
        for (a, b), y in zip(points.tolist(), labels.tolist(), strict=True):
            found.append(model.score_one({"a": a, "b": b}))
            model.learn_one({"a": a, "b": b}, y)
        late = np.array(found[1000:])
        assert exact_auc(late[labels[1000:]], late[~labels[1000:]]) > least


def test_its_pickle_is_in_proportion_to_its_buffers() -> None:
    model = OTAUC(buffer_size=200, seed=1)
    for i, (x, y) in enumerate(make_stream(2000, n_features=10)):
        model.learn_one(x, y)
        if i == 999:
            before = len(pickle.dumps(model))
    assert len(pickle.dumps(model)) < 1.01 * before < 400 * 10 * 4 + 300_000
