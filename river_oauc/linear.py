"""The linear learners of the paper: OAUC-M and OAUC-S."""

from __future__ import annotations

import typing
from collections.abc import Iterator

from river import base, optim

from river_oauc.classifier import OnlineAUCClassifier
from river_oauc.parameters import LearningRate, check_count, check_step
from river_oauc.rankers.linear import LinearRanker
from river_oauc.rankers.moments import Moments, covariance
from river_oauc.records.numeric import Vectorizer


class LinearClassifier(OnlineAUCClassifier):
    """A linear score, learned on a loss of an example's margin over the opposite class."""

    _LOSS: typing.ClassVar[str]

    def __init__(self, l2: float, lr: LearningRate, prior: str, max_features: int) -> None:
        check_step(l2, lr)
        check_count("max_features", max_features)
        self.l2 = l2
        self.lr = lr
        self.max_features = max_features
        super().__init__(prior)

    def _new_encoder(self) -> Vectorizer:
        return Vectorizer(max_features=self.max_features)

    def _new_ranker(self) -> LinearRanker:
        return LinearRanker(self._LOSS, self.l2, self.lr)

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"l2", "lr"}

    @property
    def weights(self) -> dict[base.typing.FeatureName, float]:
        """The weights of the score, by the names of the features."""
        with self._lock:
            weights: dict[base.typing.FeatureName, float] = self._encoder.decode(
                self._ranker.weights
            )
            return weights

    @property
    def moments(self) -> dict[bool, Moments]:
        """Count, mean and covariance of the examples of each class.

        This is a copy, with the features in the order of `weights`.
        """
        with self._lock:
            p, ranker = len(self._encoder.names), self._ranker
            return {
                positive: Moments(
                    float(ranker.n[own]),
                    ranker.mean[own, :p].copy(),
                    covariance(ranker.n, ranker.scatter, own)[:p, :p],
                )
                for own, positive in enumerate((False, True))
            }


class OAUCM(LinearClassifier):
    """Online AUC maximisation with a worst-case hinge loss (OAUC-M).

    Learns a linear score that ranks positives above negatives. An example is compared with all
    earlier ones of the other class at once, through their mean and covariance: its loss is the
    largest mean hinge loss that margins with this mean and variance can have [^1]. Nothing is
    stored but two means and two covariances.

    Take it where the positives are few and the order is what counts: fraud, clicks, intrusion,
    failures. It has no bias and needs none. Scale the features first, with
    `preprocessing.MinMaxScaler` or `preprocessing.StandardScaler`. For probabilities of a balanced
    problem `linear_model.LogisticRegression` does as well. Its gradient is bounded, so one outlier
    moves the weights by no more than its own length.

    A step costs O(p²) time for p features, and memory is 2p² + O(p) doubles. Up to a few hundred
    features that is as fast as river's logistic regression; beyond a few thousand it is not the
    tool.

    Two models merge: `a += b` or `a + b` stands for both parts of the stream. Class moments add up
    exactly; weights are averaged by what each model knows of the rarer class, so that a part with
    one class only adds its moments.

    Parameters
    ----------
    l2
        Strength λ of the regulariser λ/2 · |weights|². The default is a compromise: mean
        progressive AUC over 18 benchmark sets, in percent, one pass,

        | l2                | 2⁻¹⁰ | 2⁻⁸  | 2⁻⁶  | 2⁻⁵  | 2⁻⁴  | 2⁻³  | 2⁻²  | 1    |
        |-------------------|------|------|------|------|------|------|------|------|
        | `MinMaxScaler`    | 77.7 | 78.6 | 79.1 | 79.1 | 78.7 | 78.0 | 77.7 | 77.0 |
        | `StandardScaler`  | 77.0 | 78.3 | 79.6 | 80.2 | 80.6 | 80.9 | 81.1 | 80.9 |

        and on no set does it lose more than 5.1 points to the best value. Long streams bear less.
    lr
        Step size. `None` is 1 / (l2 · t) for the t-th example, the schedule for which the regret
        bound of the paper holds; a number is a constant step; a scheduler is asked for step t - 1.
    prior
        What a probability of one half means. `"balanced"`: as likely from either class, were
        they equally frequent. `"empirical"`: as frequent as the classes have been.
    max_features
        Number of features beyond which an example with a new one is refused, before any memory is
        asked for. 5,000 features take 400 MB.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_oauc import OAUCM
    >>> from river_oauc.metrics import ExactROCAUC

    >>> model = preprocessing.MinMaxScaler() | OAUCM()
    >>> evaluate.progressive_val_score(
    ...     datasets.Phishing(), model, metrics.ROCAUC() + ExactROCAUC()
    ... )
    ROCAUC: 94.72%
    ExactROCAUC: 95.84%

    `score_one` is what ranks, and `predict_proba_one` an increasing function of it:

    >>> model = OAUCM()
    >>> for x, y in [({"a": 0.0}, False), ({"a": 1.0}, True), ({"a": 0.2}, False)]:
    ...     model.learn_one(x, y)
    >>> model.score_one({"a": 0.9}), model.predict_proba_one({"a": 0.9})[True]
    (9.6, 0.998)
    >>> model.weights
    {'a': 10.667}
    >>> model.moments[False].mean
    array([0.1])

    References
    ----------
    [^1]: Luo, J., Cheng, X. and Zhang, C. Online AUC optimization based on second-order surrogate
        loss.

    """

    _LOSS = "psi_m"

    def __init__(
        self,
        l2: float = 2**-5,
        lr: LearningRate = None,
        prior: str = "balanced",
        max_features: int = 5_000,
    ) -> None:
        super().__init__(l2, lr, prior, max_features)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, typing.Any]]:
        yield {}
        yield {"l2": 1e-3, "lr": 0.05}
        yield {"lr": optim.schedulers.InverseScaling(0.5), "prior": "empirical"}


class OAUCS(LinearClassifier):
    """Online AUC maximisation with the squared loss (OAUC-S, also known as OPAUC).

    Learns a linear score that ranks positives above negatives by gradient descent on the mean
    squared loss of an example against all earlier ones of the other class, which is a function of
    their mean and covariance alone [^1].

    It is the classic among one-pass learners of the AUC, here for comparison and for those who know
    it. `OAUCM` is the better choice where features can be extreme: the squared loss pulls without
    bound, and a step that is too large for the features diverges. The weights never become
    infinite: an example that would drive them beyond 1e50 is refused with a `ValueError`.

    A step costs O(p²) time for p features, and memory is 2p² + O(p) doubles.

    Two models merge: `a += b` or `a + b` stands for both parts of the stream. Class moments add up
    exactly, and weights are averaged by what each model knows of the rarer class. Where the step is
    a constant, the steps that either part has missed are then made up for on average: the loss is
    quadratic, and so they can be read off the pooled moments.

    Parameters
    ----------
    l2
        Strength λ of the regulariser λ/2 · |weights|².
    lr
        Step size: a constant, or a scheduler, which is asked for step t - 1 at the t-th example. It
        must stay below about 2 / (|x|² + 2 · l2), |x|² being p for standardised features. The
        default is a compromise: mean progressive AUC over 18 benchmark sets, in percent, one pass,

        | lr                | 2⁻¹² | 2⁻¹⁰ | 2⁻⁹  | 2⁻⁸  | 2⁻⁷  | 2⁻⁶  | 2⁻⁴  |
        |-------------------|------|------|------|------|------|------|------|
        | `MinMaxScaler`    | 76.7 | 77.1 | 77.3 | 77.8 | 78.4 | 78.9 | 78.9 |
        | `StandardScaler`  | 79.9 | 81.0 | 81.3 | 81.2 | 79.5 | 78.5 | 70.8 |

    prior
        What a probability of one half means. `"balanced"`: as likely from either class, were
        they equally frequent. `"empirical"`: as frequent as the classes have been.
    max_features
        Number of features beyond which an example with a new one is refused, before any memory is
        asked for. 5,000 features take 400 MB.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_oauc import OAUCS
    >>> from river_oauc.metrics import ExactROCAUC

    >>> model = preprocessing.StandardScaler() | OAUCS()
    >>> evaluate.progressive_val_score(
    ...     datasets.Phishing(), model, metrics.ROCAUC() + ExactROCAUC()
    ... )
    ROCAUC: 95.06%
    ExactROCAUC: 95.84%

    References
    ----------
    [^1]: Gao, W., Jin, R., Zhu, S. and Zhou, Z.-H., 2013. One-pass AUC optimization. ICML 2013.

    """

    _LOSS = "psi_s"

    def __init__(
        self,
        l2: float = 2**-4,
        lr: float | optim.base.Scheduler = 2**-8,
        prior: str = "balanced",
        max_features: int = 5_000,
    ) -> None:
        super().__init__(l2, lr, prior, max_features)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, typing.Any]]:
        yield {}
        yield {"l2": 0.0, "lr": 0.05}
        yield {"lr": optim.schedulers.InverseScaling(0.1), "prior": "empirical"}
