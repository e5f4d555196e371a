"""From scores to decisions: wrappers whose `predict_one` keeps a budget, a rate or a cost."""

from __future__ import annotations

import abc
import bisect
import collections
import math
import numbers
import typing
from collections.abc import Iterator

import numpy as np
from river import base

from river_oauc.limits import clipped, short_repr, to_float
from river_oauc.locks import new_lock
from river_oauc.parameters import check_count, check_number, check_share, new_random
from river_oauc.rankers.losses import sigmoid
from river_oauc.records.labels import parse_label
from river_oauc.scores import Features, score_of, sortable, unbounded_score
from river_oauc.state import FloatArray
from river_oauc.wrapper import ClassifierWrapper, importance_weight

__all__ = ["AlertBudget", "FalsePositiveRate", "MinimumCost"]

# After this many scores without an alert, the level of a window is e times as high. It is fewer in
# the beginning, when the scores of a model still grow, but not fewer than make five alerts.
_PATIENCE, _MIN_ALERTS = 2_000, 5

# The calibration remembers about this many examples. Mean and variance of the scores are averages
# over more, because they move with the share of positives and must not hide its changes.
_CALIBRATION_MEMORY, _UNIT_MEMORY = 500, 5_000

# A pseudo-observation that keeps the first steps small, and the smallest curvature of an example:
# well separated classes have none, and steps would be without bounds.
_RIDGE, _SMALLEST_CURVATURE = 0.3, 0.03

# Scores count up to this many standard deviations, and log odds up to this.
_MAX_DEVIATIONS, _MAX_LOG_ODDS = 8.0, 30.0

# A miss counts as at most a million times as expensive as a false alert, and vice versa.
_MAX_LOG_RATIO = math.log(1e6)

# Scores beyond this have no square.
_MAX_SCORE = 1e100


class ScoreWindow:
    """The latest scores, and whether another score is among the top share of them.

    A score is compared by its rank among the latest ones, with ties broken at random. This is a
    conformal p-value [^1]: if the scores are exchangeable, it is uniform, and the share `rate` of
    the scores has one below `rate`. Streams change, so the level is corrected by what has been
    flagged, in the manner of [^2]: it rises slowly, and falls with every alert. The two balance
    when the share of alerts is `rate`, however the scores move.

    The random number that breaks the ties of the next score is drawn by `update`, so `is_top`
    changes nothing and repeats its answer. It takes O(log size) time. `update` also moves up to
    `size` pointers, which takes about a microsecond for 5,000 of them.

    Parameters
    ----------
    size
        Number of scores to keep.
    seed
        Seed of the random numbers that break ties.

    References
    ----------
    [^1]: Vovk, V., Gammerman, A. and Shafer, G., 2005. Algorithmic Learning in a Random World.
    [^2]: Gibbs, I. and Candès, E., 2021. Adaptive conformal inference under distribution shift.
        NeurIPS 34.

    """

    def __init__(self, size: int, seed: int | None) -> None:
        self.size = size
        self._random = new_random(seed)
        self._draw = self._random.random()
        # The scores in the order of arrival, and sorted.
        self._recent: collections.deque[float] = collections.deque(maxlen=size)
        self._sorted: list[float] = []
        # The logarithm of the factor by which the level differs from the rate.
        self._correction = 0.0
        self._lock = new_lock()

    def is_top(self, score: float, rate: float) -> bool:
        """Return whether a score is among the top share `rate`."""
        score = sortable(score)
        with self._lock:
            n = len(self._sorted)
            not_above = bisect.bisect_right(self._sorted, score)
            ties = not_above - bisect.bisect_left(self._sorted, score)
            rank = n - not_above + self._draw * (ties + 1)
            return rank < rate * math.exp(self._correction) * (n + 1)

    def update(self, score: float, rate: float) -> None:
        """Count a score, and whether it was among the top share `rate`."""
        score = sortable(score)
        with self._lock:
            is_top = self.is_top(score, rate)
            if len(self._sorted) != len(self._recent):
                # The last update was interrupted.
                self._sorted = sorted(self._recent)
            if len(self._recent) == self.size:
                del self._sorted[bisect.bisect_left(self._sorted, self._recent[0])]
            self._recent.append(score)
            bisect.insort(self._sorted, score)
            patience = min(max(_MIN_ALERTS / rate, len(self._recent)), _PATIENCE)
            correction = self._correction + (1.0 - is_top / rate) / patience
            # At the upper bound, everything is flagged.
            self._correction = clipped(correction, -math.log(rate))
            self._draw = self._random.random()

    def resized(self, size: int) -> ScoreWindow:
        """Return a copy that keeps another number of scores."""
        window = ScoreWindow(size, None)
        window.__setstate__({**self.__getstate__(), "size": size})
        return window

    def __getstate__(self) -> dict[str, typing.Any]:
        with self._lock:
            return {
                "size": self.size,
                "recent": list(self._recent),
                "correction": self._correction,
                "draw": self._draw,
                "random": self._random.getstate(),
            }

    def __setstate__(self, state: dict[str, typing.Any]) -> None:
        ScoreWindow.__init__(self, state["size"], None)
        self._recent.extend(state["recent"])
        self._sorted = sorted(self._recent)
        self._correction, self._draw = state["correction"], state["draw"]
        self._random.setstate(state["random"])


class Calibration(typing.NamedTuple):
    """Log odds of a positive as a function of the score, for decisions by cost.

    A logistic regression of the labels on the standardised score and its signed square, over about
    the last 500 examples, by one Newton step per example. It has to be right where alerts begin to
    pay, and nowhere else. So positives and negatives are weighted by what it costs to get them
    wrong, which makes the two classes balanced there. The log odds are those without the weights.

    It is immutable: `updated` returns a new one.

    Parameters
    ----------
    n
        Number of examples.
    mean, variance
        Recent mean and variance of the scores.
    log_cost_ratio
        Logarithm of the mean cost of a miss, less that of a false alert.
    coefficients
        Coefficients of the regression: constant, score, signed square.
    information
        Recent sum of the curvatures of the loss.

    """

    n: int = 0
    mean: float = 0.0
    variance: float = 0.0
    log_cost_ratio: float = 0.0
    coefficients: FloatArray = np.array([0.0, 1.0, 0.0])
    information: FloatArray = _RIDGE * np.eye(3)

    def log_odds(self, score: float) -> float:
        """Return the log odds of a positive."""
        return self._log_odds(self._features(score))

    def updated(
        self, score: float, positive: bool, weight: float, log_cost_ratio: float
    ) -> Calibration:
        """Return the calibration with one more example.

        Parameters
        ----------
        score
            The score that the example got before it was learned.
        positive
            The label.
        weight
            Number of examples that it stands for.
        log_cost_ratio
            Logarithm of the cost of a miss, less that of a false alert, for this example.

        """
        n = self.n + 1
        rate = 1.0 / min(n, _UNIT_MEMORY)
        mean_ratio = self.log_cost_ratio + rate * (log_cost_ratio - self.log_cost_ratio)

        features = self._features(score)
        p = sigmoid(self._log_odds(features) + mean_ratio)
        # The unit of cost is the geometric mean of both costs.
        cost = min(weight, _CALIBRATION_MEMORY) * math.exp(
            0.5 * mean_ratio if positive else -0.5 * mean_ratio
        )
        curvature = cost * max(p * (1.0 - p), _SMALLEST_CURVATURE)
        forgotten = 1.0 / _CALIBRATION_MEMORY
        information = (1.0 - forgotten) * self.information + forgotten * _RIDGE * np.eye(3)
        information += curvature * np.outer(features, features)
        step = np.linalg.solve(information, cost * (positive - p) * features)

        deviation = clipped(score, _MAX_SCORE) - self.mean if score == score else 0.0
        return Calibration(
            n=n,
            mean=self.mean + rate * deviation,
            variance=(1.0 - rate) * (self.variance + rate * deviation * deviation),
            log_cost_ratio=mean_ratio,
            coefficients=self.coefficients + step,
            information=information,
        )

    def _features(self, score: float) -> FloatArray:
        z = 0.0
        if self.variance and score == score:
            z = (clipped(score, _MAX_SCORE) - self.mean) / math.sqrt(self.variance)
            z = clipped(z, _MAX_DEVIATIONS)
        return np.array([1.0, z, z * abs(z)])

    def _log_odds(self, features: FloatArray) -> float:
        return clipped(float(self.coefficients @ features), _MAX_LOG_ODDS)


class DecisionWrapper(ClassifierWrapper):
    """Base class of the wrappers that decide.

    `predict_one` is the decision. Everything else is that of the wrapped model.

    Parameters
    ----------
    model
        A binary classifier, or a pipeline that ends in one.

    """

    @abc.abstractmethod
    def predict_one(self, x: Features, **kwargs: typing.Any) -> bool:
        """Return whether to raise an alert. This changes nothing.

        Parameters
        ----------
        x
            A dictionary of features.

        """

    def predict_proba_one(
        self, x: Features, **kwargs: typing.Any
    ) -> dict[base.typing.ClfTarget, float]:
        """Return the probabilities of the wrapped model.

        Parameters
        ----------
        x
            A dictionary of features.

        """
        return self.model.predict_proba_one(x, **kwargs)

    def score_one(self, x: Features, **kwargs: typing.Any) -> float:
        """Return the score of the wrapped model, or its probability of a positive if it has none.

        Parameters
        ----------
        x
            A dictionary of features.

        """
        return score_of(self.model, x, **kwargs)


class RateWrapper(DecisionWrapper):
    """Base class of the wrappers that flag a share of the records, by a window of scores.

    Parameters
    ----------
    model
        A binary classifier, or a pipeline that ends in one.
    rate
        Share to flag.
    window_size
        Number of recent scores to compare with.
    seed
        Seed of the random choice among records with equal scores.

    """

    def __init__(
        self, model: base.Classifier, rate: float, window_size: int, seed: int | None
    ) -> None:
        check_share("rate", rate)
        check_count("window_size", window_size)
        super().__init__(model)
        self.rate = rate
        self.window_size = window_size
        self.seed = seed
        self._window = ScoreWindow(window_size, seed)

    def clone(
        self, new_params: dict[str, typing.Any] | None = None, include_attributes: bool = False
    ) -> typing.Self:
        twin = super().clone(new_params, include_attributes)
        if include_attributes:
            twin._window = self._window.resized(twin.window_size)
        return twin

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, typing.Any]]:
        for params in super()._unit_test_params():
            yield params | {"rate": 0.1, "seed": 1}

    def predict_one(self, x: Features, **kwargs: typing.Any) -> bool:
        """Return whether the record is flagged. This changes nothing.

        Parameters
        ----------
        x
            A dictionary of features.

        """
        return self._window.is_top(self.score_one(x, **kwargs), self.rate)

    def _learn(
        self, x: Features, y: base.typing.ClfTarget, counts: bool, kwargs: dict[str, typing.Any]
    ) -> None:
        """Update the model, and count the score that the record had before if it counts."""
        score = self.score_one(x) if counts else 0.0
        # If the model refuses the record, nothing has changed here.
        self.model.learn_one(x, y, **kwargs)
        if counts:
            self._window.update(score, self.rate)


class AlertBudget(RateWrapper):
    """Flag the records with the highest scores, as many as there is time to look at.

    Take it if somebody can check one record in a hundred, whatever the probabilities say. It needs
    no labels to hold the rate: a record is flagged if its score is among the top share of the
    latest scores. If the scores drift, the level is corrected until the share of alerts is `rate`
    again. If many scores are equal, chance decides among them. Around a model that gives everybody
    the same score, it flags the share `rate` at random.

    Thresholds move in two places.

    - `learn_one` counts the score that a record had before it was learned.
    - `observe_one` counts the score of a record whose label is not there yet. When the label comes,
      `learn_one(x, y, observed=True)` teaches the model and does not count the record again.

    So call one of them right after each decision. Between two such calls, equal scores get equal
    answers. A pipeline of river has no `observe_one`: wrap the pipeline, rather than its last step,
    if labels come late.

    A record counts once, whatever its weight in `learn_one`; a record of weight 0 does not count.
    Besides the scores, of which `learn_one` computes one, a decision takes about 2 µs and counting
    5 µs. Memory is `window_size` numbers.

    Parameters
    ----------
    model
        A binary classifier, or a pipeline that ends in one. Its attributes are reached through
        `model`.
    rate
        Share of the records to flag.
    window_size
        Number of recent scores to compare with. Fewer follow change faster and flag less
        precisely.
    seed
        Seed of the random choice among records with equal scores.

    Examples
    --------
    >>> from river import datasets
    >>> from river_oauc import OAUCM
    >>> from river_oauc.decisions import AlertBudget

    >>> model = AlertBudget(OAUCM(), rate=0.05, seed=1)
    >>> flagged, right = 0, 0
    >>> for x, y in datasets.Phishing():
    ...     if model.predict_one(x):
    ...         flagged, right = flagged + 1, right + y
    ...     model.learn_one(x, y)
    >>> flagged, right
    (79, 79)

    With labels that come later:

    >>> model.observe_one(x)
    >>> model.learn_one(x, y, observed=True)

    """

    def __init__(
        self,
        model: base.Classifier,
        rate: float = 0.01,
        window_size: int = 5_000,
        seed: int | None = None,
    ) -> None:
        super().__init__(model, rate, window_size, seed)

    def observe_one(self, x: Features, **kwargs: typing.Any) -> None:
        """Count a record whose label is not there yet.

        Parameters
        ----------
        x
            A dictionary of features.

        """
        self._window.update(self.score_one(x, **kwargs), self.rate)

    def learn_one(
        self,
        x: Features,
        y: base.typing.ClfTarget,
        observed: bool = False,
        **kwargs: typing.Any,
    ) -> None:
        """Update the model with one example, and count its score unless it has been counted.

        Parameters
        ----------
        x
            A dictionary of features.
        y
            A label.
        observed
            Whether the record has been counted by `observe_one`.
        kwargs
            Further arguments of the model, such as the weight `w`.

        """
        self._learn(x, y, not observed and importance_weight(kwargs) > 0.0, kwargs)


class FalsePositiveRate(RateWrapper):
    """Flag the records that score higher than all but a small share of the negatives.

    Take it if what matters is how many of the harmless records are flagged, and not how many are
    flagged in all: an attack that makes half of the traffic does not exhaust a budget. A record is
    flagged if its score is among the top share `rate` of the scores that the latest negatives had
    before they were learned. Drift and equal scores are dealt with as in `AlertBudget`.

    The threshold moves when a negative is learned. Records without a label do not move it, because
    nobody knows whether they are negatives. If labels come late, what counts is the score when the
    label comes.

    A record counts once, whatever its weight in `learn_one`; a record of weight 0 does not count.
    Besides the scores, of which `learn_one` computes one, a decision takes about 2 µs and counting
    5 µs. Memory is `window_size` numbers.

    Parameters
    ----------
    model
        A binary classifier, or a pipeline that ends in one. Its attributes are reached through
        `model`.
    rate
        Share of the negatives to flag.
    window_size
        Number of recent negatives to compare with. Fewer follow change faster and flag less
        precisely.
    seed
        Seed of the random choice among records with equal scores.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from river_oauc import OAUCM
    >>> from river_oauc.decisions import FalsePositiveRate

    >>> model = FalsePositiveRate(OAUCM(), rate=0.05, seed=1)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.ConfusionMatrix())
            False   True
    False     661     41
     True     137    411

    """

    def __init__(
        self,
        model: base.Classifier,
        rate: float = 0.001,
        window_size: int = 5_000,
        seed: int | None = None,
    ) -> None:
        super().__init__(model, rate, window_size, seed)

    def learn_one(self, x: Features, y: base.typing.ClfTarget, **kwargs: typing.Any) -> None:
        """Update the model with one example, and count its score if it is a negative.

        Parameters
        ----------
        x
            A dictionary of features.
        y
            A label: a boolean, 0 or 1, or -1 or 1.
        kwargs
            Further arguments of the model, such as the weight `w`.

        """
        self._learn(x, y, not parse_label(y) and importance_weight(kwargs) > 0.0, kwargs)


class MinimumCost(DecisionWrapper):
    """Flag a record if to let it pass would cost more on average than an alert.

    Take it if both mistakes have a price. With the probability p of a positive, letting a record
    pass costs p · `false_negative`, and an alert (1 - p) · `false_positive`. The probabilities of
    the model are not used: those of this package take the classes to be equally frequent, and
    others are often overconfident. The scores that examples had before they were learned are
    calibrated here instead, by a logistic regression over about the last 500 examples. So it
    follows change, of the share of positives as well.

    Records without a label have nothing to calibrate with. If labels come late, call `learn_one`
    when they come.

    `w` in `learn_one` says how many examples one stands for, as after undersampling. Do not use it
    to make up for costs: an example of twice the weight counts as twice as frequent.

    Besides the scores, of which `learn_one` computes one, a decision takes about 4 µs and learning
    20 µs. Memory is 16 numbers.

    Parameters
    ----------
    model
        A binary classifier, or a pipeline that ends in one. Its attributes are reached through
        `model`.
    false_positive
        Cost of an alert for a negative, or the name of the feature that has it.
    false_negative
        Cost of letting a positive pass, or the name of the feature that has it. Wrap a pipeline as
        a whole if one of its steps scales this feature.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from river_oauc import OAUCM
    >>> from river_oauc.decisions import MinimumCost

    >>> model = MinimumCost(OAUCM(), false_positive=1, false_negative=10)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.ConfusionMatrix())
            False   True
    False     482    220
     True       6    542

    The cost of letting fraud pass may be the amount of the payment:

    >>> model = MinimumCost(OAUCM(), false_positive=5, false_negative="amount")
    >>> for amount, night in ((20, 0), (500, 0), (30, 1), (400, 1)) * 50:
    ...     model.learn_one({"amount": amount, "night": night}, night == 1 and amount > 100)
    >>> model.predict_one({"amount": 400, "night": 1})
    True
    >>> model.predict_one({"amount": 1, "night": 1})
    False

    """

    def __init__(
        self,
        model: base.Classifier,
        false_positive: float | str = 1,
        false_negative: float | str = 50,
    ) -> None:
        for name, cost in (("false_positive", false_positive), ("false_negative", false_negative)):
            if not isinstance(cost, str):
                check_number(name, cost)
        super().__init__(model)
        self.false_positive = false_positive
        self.false_negative = false_negative
        self._calibration = Calibration()

    def predict_one(self, x: Features, **kwargs: typing.Any) -> bool:
        """Return whether the record is flagged. This changes nothing.

        Parameters
        ----------
        x
            A dictionary of features.

        """
        false_positive, false_negative = self._costs(x)
        odds = math.exp(self._calibration.log_odds(unbounded_score(self.model, x, **kwargs)))
        return odds * false_negative > false_positive

    def learn_one(self, x: Features, y: base.typing.ClfTarget, **kwargs: typing.Any) -> None:
        """Update the model and the calibration with one example.

        Parameters
        ----------
        x
            A dictionary of features.
        y
            A label: a boolean, 0 or 1, or -1 or 1.
        kwargs
            Further arguments of the model, such as the weight `w`.

        """
        positive, weight = parse_label(y), importance_weight(kwargs)
        calibration = self._calibration
        if weight:
            log_cost_ratio = _log_ratio(*self._costs(x))
            score = unbounded_score(self.model, x)
            calibration = calibration.updated(score, positive, weight, log_cost_ratio)
        self.model.learn_one(x, y, **kwargs)
        self._calibration = calibration

    def _costs(self, x: Features) -> tuple[float, float]:
        """Return the costs of a false positive and of a false negative."""
        return (
            _cost("false_positive", self.false_positive, x),
            _cost("false_negative", self.false_negative, x),
        )


def _cost(name: str, cost: float | str, x: Features) -> float:
    """Return a cost: a parameter, or a feature of the record."""
    if not isinstance(cost, str):
        return float(cost)
    value = x.get(cost)
    if not isinstance(value, numbers.Real) or not 0.0 <= to_float(value) < math.inf:
        raise ValueError(
            f"{name} is the feature {cost!r}, which is {short_repr(value)}: "
            "it must be a finite number, 0 or more"
        )
    return float(value)


def _log_ratio(false_positive: float, false_negative: float) -> float:
    """Return the logarithm of the cost of a miss per cost of a false alert, within bounds."""
    if not false_positive:
        return _MAX_LOG_RATIO if false_negative else 0.0
    if not false_negative:
        return -_MAX_LOG_RATIO
    return clipped(math.log(false_negative) - math.log(false_positive), _MAX_LOG_RATIO)
