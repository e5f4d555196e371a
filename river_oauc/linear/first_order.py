"""The linear learners that OAUC-M is compared with."""

from __future__ import annotations

import abc
import random
import typing
from collections.abc import Iterator

import numpy as np
from scipy.linalg.blas import daxpy, ddot, dscal

from river_oauc.base import divergence
from river_oauc.inputs.arrays import FloatArray, resized
from river_oauc.inputs.parameters import (
    LearningRate,
    check_choice,
    check_count,
    check_number,
    check_step,
    step_size,
)
from river_oauc.inputs.vectorizer import MAX_NORM, MAX_SQUARED_NORM
from river_oauc.linear.oauc import LinearClassifier
from river_oauc.stats.moments import Centroid

__all__ = ["OAM", "OLUBAUC", "PAI", "Perceptron", "Reservoir"]

# The spread of the scores is averaged over about this many examples of a class.
_SPREAD_MEMORY = 100


class _ScoredClass(Centroid):
    """The centroid of a class, and how its scores lie about the score of the centroid."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.mean_score = 0.0
        # The mean squared deviation, for weights of norm 1: so it survives their growth.
        self.spread = 0.0
        self.n_scores = 0

    def add_score(self, score: float, squared_norm: float) -> None:
        """Note the score that weights of this norm have given to an example of the class."""
        self.n_scores += 1
        deviation = score - self.mean_score
        rate = 1.0 / min(self.n_scores, _SPREAD_MEMORY)
        self.spread += rate * (deviation * deviation / squared_norm - self.spread)


class _FirstOrderLearner(LinearClassifier):
    """A linear learner without covariances.

    For its probabilities it keeps the centroids of the two classes, whose scores are the class
    means of the scores whatever the weights have become, and the spread of the scores that it gave
    to the examples before it learned them.
    """

    def __init__(self, prior: str) -> None:
        super().__init__(prior)
        self._squared_norm = 0.0
        self._positive = _ScoredClass(self._vectorizer.size)
        self._negative = _ScoredClass(self._vectorizer.size)

    @abc.abstractmethod
    def _move(self, x: FloatArray, score: float, sign: float, w: float) -> None:
        """Change the weights, through `_set_weights`, for an example with this score and label."""

    def _learn(self, x: FloatArray, positive: bool, w: float) -> None:
        score = ddot(self._weights, x)
        squared_norm = self._squared_norm
        self._move(x, score, 1.0 if positive else -1.0, w)
        own = self._positive if positive else self._negative
        if own.n and squared_norm:
            own.add_score(score, squared_norm)
        own.update(x, w)
        self._calibrate()

    def _set_weights(self, weights: FloatArray) -> None:
        squared_norm = ddot(weights, weights)
        if not squared_norm <= MAX_SQUARED_NORM:
            raise divergence()
        self._weights = weights
        self._squared_norm = squared_norm

    def _calibrate(self) -> None:
        positive, negative, weights = self._positive, self._negative, self._weights
        positive.mean_score = ddot(weights, positive.mean)
        negative.mean_score = ddot(weights, negative.mean)
        if positive.n and negative.n:
            self._calibration.fit(
                positive.mean_score,
                negative.mean_score,
                0.5 * (positive.spread + negative.spread) * self._squared_norm,
                positive.n / negative.n,
            )

    def _resize(self, size: int) -> None:
        super()._resize(size)
        self._positive.resize(size)
        self._negative.resize(size)


class Perceptron(_FirstOrderLearner):
    """Rosenblatt's perceptron, without a bias, as a learner of scores.

    When it predicts the wrong class, the example is added to the weights or subtracted from them;
    otherwise nothing happens. A score of 0 is a positive prediction, so nothing happens before the
    first negative.

    It has nothing to set and costs next to nothing, and it is the baseline of baselines. Its last
    weights are unstable: expect the AUC to jump by points from one example to the next. On an
    imbalanced stream it is rarely the right choice. `river.linear_model.Perceptron` is another
    learner: it has a bias, which moves as well.

    One pass over german, segment, letter and magic04 has given a held-out AUC of 72.0, 83.8, 72.6
    and 78.0 percent, where `OAUCM` had 79.2, 88.9, 82.8 and 83.8.

    A step costs O(p) time for p features, and memory is O(p).

    Parameters
    ----------
    prior
        What a probability of one half means. `"balanced"`: as likely from either class, were
        they equally frequent. `"empirical"`: as frequent as the classes have been.

    Examples
    --------
    >>> from river import datasets, evaluate, preprocessing
    >>> from river_oauc import Perceptron
    >>> from river_oauc.metrics import ExactROCAUC

    >>> model = preprocessing.MinMaxScaler() | Perceptron()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, ExactROCAUC())
    ExactROCAUC: 90.00%

    References
    ----------
    [^1]: Rosenblatt, F., 1958. The perceptron: a probabilistic model for information storage and
        organization in the brain. Psychological Review, 65(6), pp.386-408.

    """

    def __init__(self, prior: str = "balanced") -> None:
        super().__init__(prior)

    def _move(self, x: FloatArray, score: float, sign: float, w: float) -> None:
        # A score of 0 is a positive prediction.
        if (score >= 0.0) != (sign > 0.0):
            weights = self._weights.copy()
            daxpy(x, weights, len(x), sign * w)
            self._set_weights(weights)


class PAI(_FirstOrderLearner):
    """Passive-aggressive learning (PA-I), without a bias, as a learner of scores.

    Takes the shortest step that gives the example a margin of 1, but none longer than `C` times the
    example. An example of length 0 changes nothing.

    Take it for balanced classes, when covariances are too expensive. With rare positives its
    weights mostly describe the majority. `linear_model.PAClassifier(C, mode=1,
    learn_intercept=False)` of river learns the same weights, but only from boolean labels, and its
    probabilities are not made to be read by a metric.

    One pass over german, segment, letter and magic04, with `C` chosen inside the training folds,
    has given a held-out AUC of 78.0, 85.5, 74.7 and 81.6 percent, where `OAUCM` had 79.2, 88.9,
    82.8 and 83.8.

    A step costs O(p) time for p features, and memory is O(p).

    Parameters
    ----------
    C
        Largest step, in units of the example. Noise calls for less: standardised features want
        values near 2⁻⁸.
    prior
        What a probability of one half means. `"balanced"`: as likely from either class, were
        they equally frequent. `"empirical"`: as frequent as the classes have been.

    Examples
    --------
    >>> from river import datasets, evaluate, preprocessing
    >>> from river_oauc import PAI
    >>> from river_oauc.metrics import ExactROCAUC

    >>> model = preprocessing.MinMaxScaler() | PAI()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, ExactROCAUC())
    ExactROCAUC: 89.39%

    References
    ----------
    [^1]: Crammer, K., Dekel, O., Keshet, J., Shalev-Shwartz, S. and Singer, Y., 2006. Online
        passive-aggressive algorithms. Journal of Machine Learning Research, 7, pp.551-585.

    """

    def __init__(self, C: float = 1.0, prior: str = "balanced") -> None:
        super().__init__(prior)
        check_number("C", C)
        self.C = C

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"C"}

    def _move(self, x: FloatArray, score: float, sign: float, w: float) -> None:
        loss = 1.0 - sign * score
        squared_length = ddot(x, x)
        # An example of length 0 has no direction to move in.
        if loss > 0.0 and squared_length > 0.0:
            weights = self._weights.copy()
            daxpy(x, weights, len(x), sign * min(self.C * w, loss / squared_length))
            self._set_weights(weights)


class Reservoir:
    """A uniform sample, of a fixed size, of the vectors of one class seen so far."""

    def __init__(self, capacity: int, size: int) -> None:
        self.n_seen = 0
        self._vectors: FloatArray = np.zeros((capacity, size))

    @property
    def capacity(self) -> int:
        return len(self._vectors)

    @property
    def vectors(self) -> FloatArray:
        """The vectors in the sample, a row each."""
        return self._vectors[: self.n_seen]

    def add(self, x: FloatArray, rng: random.Random) -> None:
        """Offer a vector, which is copied if it gets in."""
        slot = self.n_seen
        self.n_seen += 1
        if slot >= self.capacity:
            # One draw says both whether the vector gets in, and in whose place.
            slot = rng.randrange(self.n_seen)
        if slot < self.capacity:
            self._vectors[slot] = x

    def resize(self, size: int) -> None:
        self._vectors = resized(self._vectors, self.capacity, size)


class OAM(_FirstOrderLearner):
    """Online AUC maximisation with buffers (OAM).

    Keeps a uniform sample of the examples of each class, and takes a step on the hinge losses of an
    example against all stored ones of the other class.

    It is the right choice where `OAUCM` would be, but for many features: its cost is linear in
    them. It wants a small `C`, smaller than the range over which it is usually tuned. As published,
    its steps grow with the stream, because a full buffer stands for ever more examples;
    `weighting="constant"` leaves that out, and ranks better on long streams.

    One pass over german, segment, letter and magic04, with `C` chosen inside the training folds,
    has given a held-out AUC of 78.8, 91.2, 82.2 and 84.1 percent with constant weighting and `C`
    from 2⁻²⁴ up, and 76.6, 90.4, 79.3 and 82.6 with the paper's weighting and `C` from 2⁻¹⁰ up,
    where `OAUCM` had 79.2, 88.9, 82.8 and 83.8.

    A step costs O(B p) time for buffers of B examples with p features, and memory is 2 B p doubles.

    Parameters
    ----------
    C
        Weight of the hinge loss of a pair.
    buffer_size
        Number of examples of each class to keep.
    update
        `"gradient"`: one step on all pairs at once. `"sequential"`: a passive-aggressive step on
        each pair in turn, which takes many times longer.
    weighting
        `"paper"`: a full buffer of B examples counts as all n that there have been, n/B times.
        `"constant"`: it counts once.
    prior
        What a probability of one half means. `"balanced"`: as likely from either class, were
        they equally frequent. `"empirical"`: as frequent as the classes have been.
    seed
        Seed of the sampling.

    Examples
    --------
    >>> from river import datasets, evaluate, preprocessing
    >>> from river_oauc import OAM
    >>> from river_oauc.metrics import ExactROCAUC

    >>> model = preprocessing.MinMaxScaler() | OAM(seed=42)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, ExactROCAUC())
    ExactROCAUC: 95.81%

    References
    ----------
    [^1]: Zhao, P., Hoi, S.C.H., Jin, R. and Yang, T., 2011. Online AUC maximization. ICML 2011.

    """

    def __init__(
        self,
        C: float = 2**-10,
        buffer_size: int = 100,
        update: str = "gradient",
        weighting: str = "paper",
        prior: str = "balanced",
        seed: int | None = None,
    ) -> None:
        super().__init__(prior)
        check_number("C", C)
        check_count("buffer_size", buffer_size)
        check_choice("update", update, ("gradient", "sequential"))
        check_choice("weighting", weighting, ("paper", "constant"))
        self.C = C
        self.buffer_size = buffer_size
        self.update = update
        self.weighting = weighting
        self.seed = seed
        self._rng = random.Random(seed)
        self._positive_buffer = Reservoir(buffer_size, self._vectorizer.size)
        self._negative_buffer = Reservoir(buffer_size, self._vectorizer.size)

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"C"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, typing.Any]]:
        yield {"seed": 1}
        yield {"buffer_size": 7, "update": "sequential", "weighting": "constant", "seed": 2}

    def _move(self, x: FloatArray, score: float, sign: float, w: float) -> None:
        own, other = self._positive_buffer, self._negative_buffer
        if sign < 0.0:
            own, other = other, own
        if other.n_seen:
            cost = w * self.C
            if self.weighting == "paper":
                # The buffer stands for all examples of the class.
                cost *= max(1.0, other.n_seen / other.capacity)
            if self.update == "gradient":
                self._gradient_step(x, score, sign, 0.5 * cost, other.vectors)
            else:
                self._sequential_steps(x, sign, 0.5 * cost, other.vectors)
        own.add(x, self._rng)

    def _gradient_step(
        self, x: FloatArray, score: float, sign: float, cost: float, others: FloatArray
    ) -> None:
        """One step on the sum of the hinge losses against all stored examples."""
        violating = sign * (score - others @ self._weights) <= 1.0
        n_violating = np.count_nonzero(violating)
        if n_violating:
            weights = self._weights.copy()
            daxpy(violating @ others, weights, len(x), -sign * cost)
            daxpy(x, weights, len(x), sign * cost * n_violating)
            self._set_weights(weights)

    def _sequential_steps(
        self, x: FloatArray, sign: float, cost: float, others: FloatArray
    ) -> None:
        """A passive-aggressive step on each stored example in turn."""
        weights = self._weights.copy()
        differences = sign * (x - others)
        squared_lengths = np.einsum("ij,ij->i", differences, differences)
        for difference, squared_length in zip(differences, squared_lengths.tolist(), strict=True):
            loss = 1.0 - ddot(weights, difference)
            if loss > 0.0 and squared_length > 0.0:
                daxpy(difference, weights, len(x), min(cost, loss / squared_length))
        self._set_weights(weights)

    def _resize(self, size: int) -> None:
        super()._resize(size)
        self._positive_buffer.resize(size)
        self._negative_buffer.resize(size)


class OLUBAUC(_FirstOrderLearner):
    """Online learning with a univariate bound of the AUC (OL-UBAUC), reconstructed.

    The bound replaces the ranks in the AUC by scores, and turns into a hinge loss of single
    examples about a threshold that is learned along [^1]. So a step looks at one example and no
    pair, and no class is favoured.

    The original text could not be consulted. Certain is the univariate loss with a threshold, and
    that time and memory are linear; the margin, the step size and the equal weights of the examples
    are what fits published results best, and may differ from the original.

    Take it for long streams of many features with balanced classes. Where positives are rare, they
    hardly move it; `class_balanced` mends that.

    One pass over german, segment, letter and magic04, with `l2` chosen inside the training folds,
    has given a held-out AUC of 76.4, 85.0, 77.2 and 83.4 percent, where `OAUCM` had 79.2, 88.9,
    82.8 and 83.8.

    A step costs O(p) time for p features, and memory is O(p).

    Parameters
    ----------
    l2
        Strength λ of the regulariser λ/2 · |weights|². The threshold is not regularised.
    margin
        How far beyond the threshold an example has to be to have no loss.
    class_balanced
        Whether the losses of a class are weighted by N / (2 n), if n of the N examples so far are
        of that class, so that both classes pull alike.
    lr
        Step size. `None` is 1 / (l2 · t) for the t-th example; a number is a constant step; a
        scheduler is asked for step t - 1.
    prior
        What a probability of one half means. `"balanced"`: as likely from either class, were
        they equally frequent. `"empirical"`: as frequent as the classes have been.

    Attributes
    ----------
    threshold
        The score between the classes. It is no part of the score.

    Examples
    --------
    >>> from river import datasets, evaluate, preprocessing
    >>> from river_oauc import OLUBAUC
    >>> from river_oauc.metrics import ExactROCAUC

    >>> model = preprocessing.MinMaxScaler() | OLUBAUC()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, ExactROCAUC())
    ExactROCAUC: 95.06%

    References
    ----------
    [^1]: Lyu, S. and Ying, Y., 2018. A univariate bound of area under ROC. UAI 2018.

    """

    def __init__(
        self,
        l2: float = 2**-2,
        margin: float = 1.0,
        class_balanced: bool = False,
        lr: LearningRate = None,
        prior: str = "balanced",
    ) -> None:
        super().__init__(prior)
        check_step(l2, lr)
        check_number("margin", margin)
        self.l2 = l2
        self.margin = margin
        self.class_balanced = class_balanced
        self.lr = lr
        self.threshold = 0.0
        self._n_positive = 0
        self._n_negative = 0

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"l2", "lr"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, typing.Any]]:
        yield {}
        yield {"class_balanced": True, "margin": 0.5, "lr": 0.1}

    def _move(self, x: FloatArray, score: float, sign: float, w: float) -> None:
        n_positive = self._n_positive + (sign > 0.0)
        n_negative = self._n_negative + (sign < 0.0)
        n_seen = n_positive + n_negative
        step = step_size(self.l2, self.lr, n_seen - 1)
        weights = self._weights.copy()
        dscal(1.0 - step * self.l2, weights)
        threshold = self.threshold
        if sign * (score - threshold) < self.margin:
            step *= sign * w
            if self.class_balanced:
                step *= n_seen / (2.0 * (n_positive if sign > 0.0 else n_negative))
            daxpy(x, weights, len(x), step)
            threshold -= step
        if not abs(threshold) <= MAX_NORM:
            raise divergence()
        self._set_weights(weights)
        self.threshold = threshold
        self._n_positive, self._n_negative = n_positive, n_negative
