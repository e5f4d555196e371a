"""The seams of the package, each with a second user: what can stand in for what."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pandas as pd
import pytest
from river import checks

from river_oauc import OAUCM, OAUCS, OKAUCM, kernels
from river_oauc.base import OnlineAUCClassifier
from river_oauc.inputs.arrays import resized
from river_oauc.inputs.dense import DenseClassifier
from river_oauc.inputs.frames import RowCount, read_features
from river_oauc.inputs.limits import refusal_of
from river_oauc.stats.moments import Centroid, ForgettingMoments, Moments

# A backend that knows no arrays ----------------------------------------------------------------


class BagOfWords(OnlineAUCClassifier):
    """A score that adds up, word by word, how much more often a word came with positives."""

    def __init__(self, prior: str = "balanced") -> None:
        super().__init__(prior)
        self.weights: dict[str, float] = {}

    def _checked(self, x):
        if not all(isinstance(value, int | float) and value == value for value in x.values()):
            raise refusal_of(x)
        return x

    def _learn_example(self, x, positive, w):
        for name, value in self._checked(x).items():
            self.weights[name] = self.weights.get(name, 0.0) + (w if positive else -w) * value

    def _score_example(self, x):
        return float(sum(self.weights.get(name, 0.0) * v for name, v in x.items() if v == v))

    def _learn_frame(self, frame, labels, weights):
        rows = [dict(zip(frame.columns, row, strict=True)) for row in read_features(frame).tolist()]
        for row in rows:
            self._checked(row)
        with RowCount(len(rows)) as count:
            for x, positive, w in zip(rows, labels.tolist(), weights.tolist(), strict=True):
                self._learn_example(x, positive, w)
                count.n_done += 1

    def _score_frame(self, frame):
        rows = read_features(frame).tolist()
        return np.array(
            [self._score_example(dict(zip(frame.columns, row, strict=True))) for row in rows]
        )

    def _absorb(self, other):
        for name, weight in other.weights.items():
            self.weights[name] = self.weights.get(name, 0.0) + weight


def test_another_backend_keeps_the_contract():
    for check in checks.yield_checks(BagOfWords()):
        if check.__name__ not in BagOfWords()._unit_test_skips():
            check(BagOfWords())


def test_another_backend_has_frames_labels_weights_and_refusals():
    model, twin = BagOfWords(), BagOfWords()
    X = pd.DataFrame({"a": [1.0, 0.0, 2.0], "b": [0, 1, 1]})
    model.learn_many(X, pd.Series([1, -1, 1], name="spam"), w=pd.Series([1.0, 2.0, 0.5]))
    for (_, x), y, w in zip(X.iterrows(), (True, False, True), (1.0, 2.0, 0.5), strict=True):
        twin.learn_one(x.to_dict(), y, w)
    assert model.weights == twin.weights == {"a": 2.0, "b": -1.5}
    assert model.predict_many(X).name == "spam"
    with pytest.raises(ValueError, match="feature 'a' is NaN"):
        model.learn_one({"a": float("nan")}, True)
    with pytest.raises(ValueError, match="the label is 'yes'"):
        model.learn_one({"a": 1.0}, "yes")
    assert model.weights == twin.weights


# Moments ---------------------------------------------------------------------------------------


class Spherical(Centroid):
    """Moments that take all features to vary alike and by themselves: O(p), and no matrix."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.total = 0.0

    @staticmethod
    def n_doubles(size: int) -> int:
        return size + 1

    def update(self, x, w=1.0):
        deviation = x - self.mean
        super().update(x, w)
        self.total += w * float(deviation @ deviation) * (self.n - w) / self.n / len(x)

    def cov_dot(self, v):
        return v * (self.total / self.n)

    cov_dot_stack = cov_dot

    @property
    def covariance(self):
        return np.eye(self.size) * (self.total / self.n)


class ForgettingOAUCM(OAUCM):
    def _new_moments(self, size):
        return ForgettingMoments(size, memory=100.0)


class SphericalOAUCS(OAUCS):
    def _new_moments(self, size):
        return Spherical(size)


def auc_over(model, stream):
    """The AUC of the scores before learning, by counting pairs."""
    scored = []
    for x, y in stream:
        scored.append((model.score_one(x), y))
        model.learn_one(x, y)
    positives = np.array([score for score, y in scored if y])
    negatives = np.array([score for score, y in scored if not y])
    return float(np.mean(positives[:, np.newaxis] > negatives))


@pytest.mark.parametrize("cls", [ForgettingOAUCM, SphericalOAUCS])
def test_other_moments_stand_in_for_the_full_ones(cls):
    rng = random.Random(1)
    stream = []
    for _ in range(600):
        y = rng.random() < 0.2
        stream.append(({f"x{j}": rng.gauss(0.8 * y * (j < 2), 1.0) for j in range(6)}, y))
    assert auc_over(cls(), stream) > 0.7
    # Late features and probabilities work as well.
    model = cls()
    for t, (x, y) in enumerate(stream[:100]):
        model.learn_one({name: x[name] for name in list(x)[: 1 + t // 20]}, y)
    assert 0.0 < model.predict_proba_one(stream[0][0])[True] < 1.0
    assert isinstance(model.moments[True], type(model._new_moments(1)))


def test_forgetting_moments_follow_a_change_that_full_ones_average_over():
    rng = random.Random(2)
    stream = []
    for t in range(2_000):
        y = rng.random() < 0.3
        stream.append(({"a": rng.gauss(y if t < 1_000 else -y, 1.0)}, y))
    forgetting, full = ForgettingOAUCM(), OAUCM()
    for x, y in stream:
        forgetting.learn_one(x, y)
        full.learn_one(x, y)
    assert forgetting.moments[True].mean[0] == pytest.approx(-1.0, abs=0.3)
    assert full.moments[True].mean[0] == pytest.approx(0.0, abs=0.3)


def test_the_limit_on_features_names_the_memory_that_would_really_be_needed():
    x = {f"x{j}": 1.0 for j in range(1_001)}
    for cls, memory in ((OAUCS, "15.3 MiB"), (SphericalOAUCS, "15.66 KiB")):
        with pytest.raises(ValueError, match=f"would need {memory};"):
            cls(max_features=1_000).learn_one(x, True)
    assert Moments.n_doubles(1_001) == 1_001 * 1_001 + 1_001


# Many rows at once -----------------------------------------------------------------------------


class MeanDirection(DenseClassifier):
    """The difference of the class means as weights, which many rows can be added to at once."""

    def __init__(self, at_once: int = 4, prior: str = "balanced") -> None:
        super().__init__(prior)
        self.at_once = at_once
        self.totals = np.zeros((2, 1))
        self.n = np.zeros(2)

    def _learn(self, x, positive, w):
        if x[0] > 1e6:
            raise ValueError("too much")
        self.totals[int(positive)] += w * x
        self.n[int(positive)] += w

    def _score(self, x):
        means = self.totals / np.maximum(self.n, 1.0)[:, np.newaxis]
        return float((means[1] - means[0]) @ x)

    def _score_many(self, matrix):
        return np.array([self._score(x) for x in matrix])

    def _resize(self, size):
        self.totals = resized(self.totals, 2, size)

    def _pool(self, other):
        self.totals += other.totals
        self.n += other.n

    def _learn_many(self, matrix, labels, weights):
        for start in range(0, len(matrix), self.at_once):
            rows = slice(start, start + self.at_once)
            if matrix[rows, 0].max() > 1e6:
                yield from (
                    start + n
                    for n in super()._learn_many(*(a[rows] for a in (matrix, labels, weights)))
                )
            weighted = matrix[rows] * weights[rows, np.newaxis]
            for positive in (False, True):
                own = labels[rows] == positive
                self.totals[int(positive)] += weighted[own].sum(axis=0)
                self.n[int(positive)] += weights[rows][own].sum()
            yield min(start + self.at_once, len(matrix))


@pytest.mark.parametrize("at_once", [1, 4, 100])
def test_a_learner_may_have_a_faster_way_to_learn_from_many(at_once):
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 9, (30, 3)), rng.random(30) < 0.4
    w = rng.integers(0, 3, 30)
    model, twin = MeanDirection(at_once), MeanDirection()
    model.learn_many(pd.DataFrame(X, columns=list("abc")), pd.Series(y), w=pd.Series(w))
    for x, label, weight in zip(X.tolist(), y, w, strict=True):
        twin.learn_one(dict(zip("abc", x, strict=True)), label, weight)
    np.testing.assert_array_equal(model.totals, twin.totals)
    np.testing.assert_array_equal(model.n, twin.n)


def test_a_learner_of_either_backend_merges():
    words = BagOfWords()
    words.learn_one({"a": 1.0}, True)
    more = BagOfWords()
    more.learn_one({"a": 2.0, "b": 1.0}, False)
    assert (words + more).weights == {"a": -1.0, "b": -1.0}
    one, other = MeanDirection(), MeanDirection()
    one.learn_one({"a": 1.0, "b": 2.0}, True)
    other.learn_one({"b": 5.0, "c": 4.0}, True)
    merged = one + other
    assert merged._vectorizer.decode(merged.totals[1]) == {"a": 1.0, "b": 7.0, "c": 4.0}
    assert merged.n.tolist() == [0.0, 2.0]


def test_a_row_refused_among_many_at_once_is_named():
    X = pd.DataFrame({"a": [1.0] * 6 + [1e7, 1.0]})
    model = MeanDirection(at_once=4)
    with pytest.raises(ValueError, match=r"too much \(row 6 of the data frame; the rows before it"):
        model.learn_many(X, pd.Series([True, False] * 4))
    assert model.n.tolist() == [3.0, 3.0]


def test_names_of_a_batch_whose_first_row_is_refused_are_forgotten():
    model = MeanDirection()
    with pytest.raises(ValueError, match="no row has been learned"):
        model.learn_many(pd.DataFrame({"a": [1e7, 1.0], "b": [1.0, 1.0]}), pd.Series([True, False]))
    assert model._vectorizer.names == []
    assert model.totals.shape == (2, 1)


# What is remembered between two calls ----------------------------------------------------------


class Counting(kernels.RBF):
    n_rows = 0

    def __call__(self, x, vectors):
        Counting.n_rows += 1
        return super().__call__(x, vectors)


def test_two_kernel_learners_in_turn_compute_each_row_once():
    Counting.n_rows = 0
    models = OKAUCM(Counting(0.5), budget=2), OKAUCM(Counting(0.5), budget=2)
    rng = random.Random(1)
    for i in range(50):
        if i == 10:
            # By now the budgets are spent: a row is one call.
            Counting.n_rows = 0
        examples = [{"a": rng.gauss(0, 1)}, {"a": rng.gauss(0, 1)}]
        for model, x in zip(models, examples, strict=True):
            model.predict_proba_one(x)
        for model, x in zip(models, examples, strict=True):
            model.learn_one(x, i % 2 == 0)
    assert Counting.n_rows == 2 * 40


def test_the_remembered_row_is_no_part_of_the_state():
    model = OKAUCM(budget=3)
    for i in range(10):
        model.learn_one({"a": float(i)}, i % 2 == 0)
    before = pickle.dumps(model)
    model.predict_proba_one({"a": 0.3})
    assert pickle.dumps(model) == before
    copied = pickle.loads(before)
    assert copied.score_one({"a": 0.3}) == model.score_one({"a": 0.3})
