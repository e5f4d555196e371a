"""The ranker of OTAUC: trees against their definition, losses, the ensemble, and merging."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from river_oauc.acceleration import compiled
from river_oauc.metrics import exact_auc
from river_oauc.rankers import boosting, boosting_losses, losses, trees
from river_oauc.rankers.boosting import ClassBuffer, TreeRanker

each_loss = pytest.mark.parametrize("loss", boosting_losses.LOSSES)
needs_compiled = pytest.mark.skipif(not compiled, reason="there is no compiled code")

MIN_GAIN = 1e-3

Examples = list[tuple[Any, bool, float]]


def make_rows(n: int, n_features: int, seed: int, missing: float = 0.1) -> np.ndarray:
    """Return examples with continuous and discrete features, a constant one, and unknown values."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, n_features))
    rows[:, 1::3] = np.round(rows[:, 1::3])
    rows[:, 2] = 1.0
    rows[rng.random(rows.shape) < missing] = np.nan
    return rows.astype(np.float32)


def make_examples(n: int, n_features: int = 12, seed: int = 1) -> Examples:
    """Return arrays, labels and weights; no linear score ranks them."""
    rng = np.random.default_rng(seed)
    rows = make_rows(n, n_features, seed).astype(float)
    known = np.nan_to_num(rows)
    labels = known[:, 0] * known[:, 3] + known[:, 1] + 0.5 * rng.normal(size=n) > 1.0
    weights = rng.choice([0.5, 1.0, 1.0, 3.0], n)
    return list(zip(rows, labels.tolist(), weights.tolist(), strict=True))


def learned(ranker: TreeRanker, examples: Examples) -> TreeRanker:
    for x, positive, weight in examples:
        ranker.learn(x, positive, weight)
    return ranker


def edges_of(rows: np.ndarray) -> np.ndarray:
    """Return the edges of the bins of all features, all examples having the same mass."""
    return np.array([trees.choose_edges(column, np.ones(len(rows))) for column in rows.T])


# Bins ------------------------------------------------------------------------------------------


def test_bins_have_equal_shares_but_for_a_value_with_more() -> None:
    rng = np.random.default_rng(1)
    column = rng.normal(size=(6400, 1)).astype(np.float32)
    counts = np.bincount(trees.digitize(column, edges_of(column))[:, 0])
    assert len(counts) == trees.N_BINS and counts.min() > 80 and counts.max() < 120
    column[:6000], column[6000:] = 0.0, 1.0 + rng.random((400, 1))
    counts = np.bincount(trees.digitize(column, edges_of(column))[:, 0])
    assert counts[0] == 6000 and np.count_nonzero(counts) > 50


def test_few_values_have_a_bin_each_and_a_threshold_is_between_two_of_them() -> None:
    column = np.array([3.0, -1.0, 3.0, 3.0, 3.0, 8.0] * 100 + [100.0], dtype=np.float32)
    edges = edges_of(column[:, None])
    assert edges[0, :3].tolist() == [1.0, 5.5, 54.0]
    assert (edges[0, 3:] == np.float32(trees.LARGEST)).all()


@pytest.mark.parametrize("n", [1, 5, 64, 65, 66, 1000])
def test_a_threshold_parts_values_as_their_bins_do(n: int) -> None:
    rng = np.random.default_rng(n)
    rows = np.concatenate((make_rows(n, 5, n), [[np.nan, 3e38, -3e38, 1e-40, 0.0]]))
    rows = rows.astype(np.float32)
    edges = edges_of(rows)
    assert (np.diff(edges.astype(float), axis=1) >= 0.0).all()
    new = rng.normal(size=(50, 5)) * 10.0 ** rng.integers(-45, 45, (50, 5))
    new = np.array([trees.to_single(row) for row in new])
    for points in (rows, new):
        codes = trees.digitize(points, edges)
        for j in range(5):
            known = ~np.isnan(points[:, j])
            for k, edge in enumerate(edges[j]):
                assert ((codes[known, j] <= k) == (points[known, j] <= edge)).all()
            assert (codes[~known, j] == trees.MISSING).all()


# One tree --------------------------------------------------------------------------------------


def grown(rows: Any, g: Any, h: Any) -> trees.TreeArrays | None:
    edges = edges_of(rows)
    return trees.grow(trees.digitize(rows, edges), edges, np.arange(rows.shape[1]), g, h, MIN_GAIN)


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
    tree = grown(rows, g, h)
    assert tree is not None
    split_by, thresholds, missing_left, values = (array[0] for array in tree)
    places, n_split, scores = {0: np.full(n, True)}, 0, trees.score_rows(*tree, rows)
    for node in range(trees.N_SPLITS):
        here = places[node]
        gain, best = brute_force_split(rows[here], edges_of(rows), g[here], h[here])
        gain -= g[here].sum() ** 2 / (h[here].sum() + 1.0)
        feature, threshold = int(split_by[node]), float(thresholds[node])
        unknown = np.isnan(rows[:, feature])
        left = (rows[:, feature] <= threshold) | (unknown & missing_left[node])
        places[2 * node + 1], places[2 * node + 2] = here & left, here & ~left
        if (here & ~left).any():
            n_split += 1
            assert (feature, threshold, bool(missing_left[node])) in best
        else:
            assert gain <= MIN_GAIN
        if here.any():
            mean = np.average(scores[here], weights=h[here])
            assert values[node] == pytest.approx(mean)
    assert n_split >= 1
    for leaf in range(trees.N_SPLITS, trees.N_NODES):
        here = places[leaf]
        value = np.clip(-g[here].sum() / (h[here].sum() + 1.0), -10.0, 10.0)
        assert values[leaf] == pytest.approx(value, abs=1e-12)
        assert scores[here] == pytest.approx(value)


def test_a_split_between_known_and_unknown_values() -> None:
    rows = np.array([[1.0], [np.nan]] * 20, dtype=np.float32)
    tree = grown(rows, np.array([1.0, -1.0] * 20), np.ones(40))
    assert tree is not None
    assert trees.score_rows(*tree, rows) == pytest.approx(np.array([-20 / 21, 20 / 21] * 20))
    assert trees.score_rows(*tree, np.float32([[1e30], [-5.0]])) == pytest.approx(-20 / 21)


def test_nothing_splits_without_curvature_for_two_sides() -> None:
    rows = make_rows(50, 3, 1)
    g = np.nan_to_num(rows[:, 0]).astype(float)
    assert grown(rows, g, np.full(50, 0.019)) is None
    assert grown(rows, g, np.full(50, 0.03)) is not None
    assert grown(rows, np.zeros(50), np.ones(50)) is None


def test_of_equal_splits_the_first_is_taken() -> None:
    column = make_rows(200, 3, 1)[:, :1]
    g = np.nan_to_num(column[:, 0]).astype(float)
    tree = grown(np.repeat(column, 4, axis=1), g, np.ones(200))
    assert tree is not None and (tree[0] == 0).all()


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
def test_derivatives_by_finite_differences(loss: str, scale: float) -> None:
    """Second derivatives of the logistic loss only: the others leave those of pairs out."""
    rng, step = np.random.default_rng(3), 1e-5
    scores, weights = scale * rng.normal(size=11), rng.choice([0.5, 1.0, 4.0], 11)
    parts, derivatives = (weights[:7], weights[7:]), boosting_losses.LOSSES[loss]
    g, h = derivatives((scores[:7], scores[7:]), parts, 5.0)
    assert (h > 0.0).all()
    for i in range(11):
        up, down = scores.copy(), scores.copy()
        up[i], down[i] = scores[i] + step, scores[i] - step
        change = loss_of(loss, (up[:7], up[7:]), parts, 5.0)
        change -= loss_of(loss, (down[:7], down[7:]), parts, 5.0)
        assert change / (2.0 * step) == pytest.approx(g[i], rel=1e-6, abs=1e-8)
        if loss == "logistic":
            change = derivatives((up[:7], up[7:]), parts, 5.0)[0][i]
            change -= derivatives((down[:7], down[7:]), parts, 5.0)[0][i]
            assert change / (2.0 * step) == pytest.approx(h[i], rel=1e-6)


def test_losses_at_their_kinks() -> None:
    for margin in (0.0, 1.0, 2.0):
        g, h = boosting_losses.psi_m((np.zeros(3), np.full(2, margin)), (np.ones(3), np.ones(2)), 1)
        assert np.isfinite(g).all() and np.isfinite(h).all() and (h >= 0.0).all()
        # At the kink of the loss its second derivative counts as 0.
        assert (h > 0.0).all() == (margin != 1.0)


# The ensemble ----------------------------------------------------------------------------------


def score_by_loop(ensemble: trees.Trees, x: Any) -> float:
    total = 0.0
    for t in range(ensemble.n):
        node = 0
        while node < trees.N_SPLITS:
            value = x[ensemble.features[t, node]]
            left = value <= ensemble.thresholds[t, node]
            left = ensemble.missing_left[t, node] if math.isnan(value) else left
            node = 2 * node + (1 if left else 2)
        total += ensemble.values[t, node]
    return total


@each_loss
def test_scores_are_sums_over_the_trees_and_contributions_add_up(loss: str) -> None:
    """Stored scores, too: whatever has faded, and whichever trees are gone."""
    ranker = learned(TreeRanker(loss, 100, 1), make_examples(1_500))
    assert ranker.boosted.trees.n == boosting.MAX_TREES and ranker.boosted.trees.next > 0
    base = ranker.boosted.trees.values[:, 0].sum()
    for x, _, _ in make_examples(50, seed=2):
        assert ranker.score(x) == pytest.approx(score_by_loop(ranker.boosted.trees, np.float32(x)))
        assert ranker.contributions(x).sum() + base == pytest.approx(ranker.score(x), abs=1e-9)
    for buffer in ranker.boosted.buffers:
        assert buffer.n == 100
        for x, score in zip(buffer.rows, buffer.scores, strict=True):
            assert score == pytest.approx(score_by_loop(ranker.boosted.trees, x), abs=1e-12)


def test_older_trees_fade_and_the_oldest_goes() -> None:
    ranker, n_grown = TreeRanker("logistic", 4000, 1), 0
    for x, positive, weight in make_examples(400):
        place, before = ranker.boosted.trees.next, ranker.boosted.trees.get_state()["values"]
        ranker.learn(x, positive, weight)
        if ranker.boosted.trees.next != place:
            n_grown += 1
            others = np.arange(len(before)) != place
            found = ranker.boosted.trees.values[: len(before)][others]
            np.testing.assert_allclose(found, (1.0 - boosting.FADE) * before[others], rtol=1e-12)
    assert n_grown > boosting.MAX_TREES == ranker.boosted.trees.n


def test_a_buffer_keeps_the_latest() -> None:
    buffer = ClassBuffer(5, p=1)
    for i in range(100):
        buffer.add(np.float32([i]), np.uint8([i % 60]), 1.0 + i, -float(i))
        if i % 7 == 0:
            buffer.set_state(buffer.get_state())
        order, latest = buffer.oldest_first(), np.arange(max(0, i - 4), i + 1)
        assert (buffer.rows[order, 0] == latest).all() and buffer.n == len(latest)
        assert (buffer.codes[order, 0] == latest % 60).all()
        assert (buffer.weights[order] == 1.0 + latest).all()
        assert (buffer.scores[order] == -latest).all()


def test_features_are_drawn_from_those_that_vary() -> None:
    rows = make_rows(300, 40, 1, missing=0.0)
    rows[:, 20:] = 7.0
    edges = edges_of(rows)
    drawn = [boosting.draw_features(edges, random.Random(seed)).tolist() for seed in range(50)]
    assert all(len(each) == 14 and each == sorted(set(each)) for each in drawn)
    assert set().union(*drawn) == set(range(20)) - {2}
    assert boosting.draw_features(edges[:9], random.Random(1)).tolist() == [0, 1, *range(3, 9)]


@each_loss
def test_it_ranks_what_no_linear_score_does(loss: str) -> None:
    points = np.random.default_rng(1).normal(size=(3000, 2))
    labels, ranker = points[:, 0] * points[:, 1] > 1.0, TreeRanker(loss, 4000, 1)
    scores = [ranker.learn(x, y, 1.0) for x, y in zip(points, labels.tolist(), strict=True)]
    late = np.array(scores[1000:])
    assert exact_auc(late[labels[1000:]], late[~labels[1000:]]) > 0.96


# States and compiled functions -----------------------------------------------------------------


def assert_same(one: Any, other: Any, path: str = "state") -> None:
    """Check that two states are equal to 1e-12."""
    if isinstance(one, dict | list):
        assert len(one) == len(other)
        for key in one if isinstance(one, dict) else range(len(one)):
            assert_same(one[key], other[key], f"{path}.{key}")
    elif isinstance(one, tuple):
        assert one == other, path
    else:
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12, err_msg=path)


@pytest.mark.parametrize(("n_features", "buffer_size"), [(4, 4000), (12, 60), (40, 200)])
@each_loss
def test_every_way_of_learning_is_the_same(
    loss: str, n_features: int, buffer_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In numpy and compiled, with a copy half way, and with features in another order."""
    # So that trees and bins see a sample.
    monkeypatch.setattr(boosting, "MAX_CANDIDATES", 150)
    monkeypatch.setattr(boosting, "SAMPLE_SIZE", 120)
    monkeypatch.setattr(boosting, "BINNING_SAMPLE", 100)
    examples = make_examples(500, n_features)
    ranker = learned(TreeRanker(loss, buffer_size, 1), examples)
    half_way = learned(TreeRanker(loss, buffer_size, 1), examples[:250])
    again, moved = (TreeRanker(loss, buffer_size, 0) for _ in range(2))
    again.set_state(half_way.get_state())
    moved.set_state(half_way.get_state())
    assert_same(learned(again, examples[250:]).get_state(), ranker.get_state())

    moved.reindex(np.arange(n_features)[::-1] + 1, n_features + 1)
    for x, _, _ in examples[250:]:
        assert moved.score(np.append(0.0, x[::-1])) == half_way.score(x)
    if compiled:
        for name in ("digitize", "grow", "score_rows"):
            function = getattr(trees, name).__wrapped__
            monkeypatch.setattr(boosting, name, function)
            monkeypatch.setattr(trees, name, function)
        in_numpy = learned(TreeRanker(loss, buffer_size, 1), examples)
        assert_same(in_numpy.get_state(), ranker.get_state())


@needs_compiled
def test_compiled_functions_look_nowhere_else() -> None:
    rows, columns, g = make_rows(40, 3, 1), np.arange(3), np.ones(40)
    edges = edges_of(rows)
    codes = trees.digitize(rows, edges)
    tree = trees.grow(codes, edges, columns, np.nan_to_num(rows[:, 0]).astype(float), g, MIN_GAIN)
    assert tree is not None
    for wrong in (lambda: trees.grow(codes, edges, columns + 1, g, g, MIN_GAIN),
                  lambda: trees.grow(codes, edges, columns - 1, g, g, MIN_GAIN),
                  lambda: trees.grow(codes + np.uint8(62), edges, columns, g, g, MIN_GAIN),
                  lambda: trees.score_rows(tree[0] + 3, *tree[1:], rows),
                  lambda: trees.score_rows(tree[0] - 3, *tree[1:], rows)):  # fmt: skip
        with pytest.raises(ValueError, match="there is no"):
            wrong()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("trees", "features"), 12), (("trees", "features"), -1), (("trees", "next"), 150),
        (("buffers", 0, "next"), 7), (("buffers", 1, "codes"), 65),
        (("buffers", 1, "weights"), 0.0), (("totals",), 0.0),
    ],
)  # fmt: skip
def test_a_state_that_could_crash_is_refused(path: tuple[Any, ...], value: float) -> None:
    state = learned(TreeRanker("logistic", 4000, 1), make_examples(60)).get_state()
    part = state["boosted"]
    TreeRanker("logistic", 4000, 1).set_state(state)
    for key in path[:-1]:
        part = part[key]
    if path[-1] == "next":
        part["next"] = value
    else:
        part[path[-1]].flat[-1] = value
    with pytest.raises(ValueError, match="the state is damaged"):
        TreeRanker("logistic", 4000, 1).set_state(state)


@pytest.mark.parametrize("name", ["trees", "edges", "buffers"])
def test_parts_of_different_widths_are_refused(name: str) -> None:
    wide, narrow = (
        learned(TreeRanker("logistic", 4000, 1), make_examples(60, p)).get_state() for p in (12, 4)
    )
    with pytest.raises(ValueError, match="the state is damaged"):
        narrow["boosted"][name] = wide["boosted"][name]
        TreeRanker("logistic", 4000, 1).set_state(narrow)


def test_after_an_interrupt_a_ranker_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    ranker = learned(TreeRanker("logistic", 4000, 1), make_examples(60))
    monkeypatch.setattr(
        boosting.BoostedTrees, "boost", lambda self: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    with pytest.raises(KeyboardInterrupt):
        ranker.learn(np.ones(15), True, 1.0)
    monkeypatch.undo()
    again = TreeRanker("logistic", 4000, 1)
    again.set_state(ranker.get_state())
    learned(again, make_examples(60, 16))
    assert ranker.n_features == 15 and again.n_features == 16


def test_the_seed_decides() -> None:
    examples = make_examples(300, n_features=20)
    first, again, other = (learned(TreeRanker("logistic", 4000, s), examples) for s in (1, 1, 2))
    scores = [[ranker.score(x) for x, _, _ in examples] for ranker in (first, again, other)]
    assert scores[0] == scores[1] != scores[2]


# Merging ---------------------------------------------------------------------------------------


def test_merged_scores_are_averages(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as no tree goes, and before trees are grown on the examples of both."""
    monkeypatch.setattr(boosting, "TREES_PER_MERGE", 0)
    one, other = (
        learned(TreeRanker("logistic", 4000, seed), make_examples(80, seed=seed)) for seed in (1, 2)
    )
    rows = make_rows(30, 12, 5)
    before, unchanged = (
        (one.boosted.trees.scores(rows), other.boosted.trees.scores(rows)),
        other.get_state(),
    )
    size, other_size = (1.0 / (1.0 / each.boosted.totals).sum() for each in (one, other))
    share, totals = other_size / (size + other_size), one.boosted.totals + other.boosted.totals
    one.merge(other)
    assert one.boosted.trees.scores(rows) == pytest.approx(
        (1.0 - share) * before[0] + share * before[1]
    )
    assert one.boosted.totals.tolist() == totals.tolist()
    for buffer in one.boosted.buffers:
        assert buffer.scores == pytest.approx(one.boosted.trees.scores(buffer.rows))
        assert (buffer.codes == trees.digitize(buffer.rows, one.boosted.edges)).all()
    assert_same(other.get_state(), unchanged)
    other.set_state(one.get_state())
    assert_same(
        *(learned(each, make_examples(9)).boosted.buffers[0].get_state() for each in (one, other))
    )


def test_after_a_merge_trees_are_grown_on_the_examples_of_both() -> None:
    """Each part has seen one class only."""
    rows = np.random.default_rng(1).normal(size=(600, 2))
    labels = rows.prod(axis=1) > 0.3
    parts = [TreeRanker("logistic", 4000, 1) for _ in range(2)]
    for x, y in zip(rows, labels.tolist(), strict=True):
        parts[y].learn(x, y, 1.0)
    assert parts[0].boosted.trees.n == parts[1].boosted.trees.n == 0
    parts[0].merge(parts[1])
    assert parts[0].boosted.trees.n == boosting.TREES_PER_MERGE
    found = parts[0].boosted.trees.scores(np.float32(rows))
    assert exact_auc(found[labels], found[~labels]) > 0.97
