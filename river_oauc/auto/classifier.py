"""The learners without anything to set: AutoOAUCM and AutoOKAUCM."""

from __future__ import annotations

import typing

import numpy as np
from river import base

from river_oauc.auto.generations import Generations
from river_oauc.auto.probability import ProgressiveScores
from river_oauc.auto.survey import Survey
from river_oauc.inputs.arrays import FloatArray, Size, resized
from river_oauc.inputs.dense import DenseClassifier
from river_oauc.inputs.limits import Features
from river_oauc.inputs.parameters import check_count, check_n_features

__all__ = ["AutoOAUCM", "AutoOKAUCM"]


class _AutoClassifier(DenseClassifier):
    """A river classifier around the generations of an engine."""

    _WITH_KERNELS: typing.ClassVar[bool]
    _TAKES_MISSING = True

    def __init__(self, prior: str, max_features: int) -> None:
        super().__init__(prior)
        check_count("max_features", max_features)
        self.max_features = max_features
        self._generations = Generations(self._vectorizer.size, self._WITH_KERNELS)
        self._progress = ProgressiveScores()
        self._has_seen = [False, False]

    @property
    def experts(self) -> list[dict[str, typing.Any]]:
        """What each expert is, its progressive AUC and its share in the score.

        While a younger generation is on trial, the experts of both are there.
        """
        with self._lock:
            return [
                {
                    "generation": "younger" if number else "elder",
                    "expert": name,
                    "auc": 0.5 + auc,
                    "share": generation_share * share,
                }
                for number, (engine, generation_share) in enumerate(self._generations.shared())
                for name, auc, share in zip(
                    engine.names,
                    engine.judge.aucs[:-1].tolist(),
                    engine.shares.tolist(),
                    strict=True,
                )
            ]

    def explain_one(self, x: Features) -> dict[base.typing.FeatureName, float]:
        """By how much each feature moves the score of `x`.

        It is the score less what it would be if the feature were not known: positive, if the value
        makes a positive more likely than the usual one would.

        Parameters
        ----------
        x
            A dictionary of features.

        """
        with self._lock:
            array = self._vectorizer.encode(x, True).copy()  # type: ignore[union-attr]
            return self._vectorizer.decode(self._explain(array))

    def survey(self) -> Survey:
        """An empty first look at a stream in parts, for `prepare`."""
        return Survey()

    def prepare(self, survey: Survey) -> None:
        """Fix units and landmarks, so that models of the parts of a stream agree on them.

        Models that are prepared alike learn a part each, and are added up; the experts at rest then
        are the same however the stream was parted. `release` makes the sum an ordinary model.
        `river_oauc.distributed` does all this.

        Parameters
        ----------
        survey
            What there is in all parts.

        """
        if any(self._has_seen):
            raise ValueError("this model has learned already: prepare a new one")
        with self._lock, self._room_for(survey.names):
            places = self._vectorizer.places(survey.names)
            negative, positive = (resized(rows, len(rows), places) for rows in survey.samples())
            units = survey.units()
            units.resize(places)
            self._generations.prepare(units, negative, positive)

    def release(self) -> None:
        """Follow a stream again, after `prepare`."""
        with self._lock:
            self._generations.release()

    def _explain(self, x: FloatArray) -> FloatArray:
        score = self._score(x)
        moves = np.zeros(len(x))
        for j in range(len(self._vectorizer.names)):
            value, x[j] = x[j], np.nan
            moves[j] = score - self._score(x)
            x[j] = value
        return moves

    def _score(self, x: FloatArray) -> float:
        return self._generations.score(x)

    def _score_many(self, matrix: FloatArray) -> FloatArray:
        return np.array([self._score(x) for x in matrix])

    def _learn(self, x: FloatArray, positive: bool, w: float) -> None:
        score = self._generations.learn(x.copy(), positive, w)
        seen = self._has_seen
        seen[positive] = True
        self._progress.add(score, positive, w, seen[0] and seen[1])
        self._progress.set(self._calibration)

    def _largest_size(self, n_features: int) -> int:
        # Moments of two kinds for both classes, the posterior, and two more for a moment.
        n_doubles = 7 * n_features**2
        return check_n_features(type(self).__name__, n_features, self.max_features, n_doubles)

    def _resize(self, size: Size) -> None:
        self._generations.resize(size)

    def _pool(self, other: typing.Self) -> None:
        self._generations.pool(other._generations)
        self._progress += other._progress
        self._progress.set(self._calibration)
        self._has_seen = [self._has_seen[0] or other._has_seen[0],
                          self._has_seen[1] or other._has_seen[1]]  # fmt: skip


class AutoOAUCM(_AutoClassifier):
    """Online AUC maximisation without anything to set or to prepare.

    The one for any stream with up to some hundred features whose classes a plane can part more or
    less; where none can, `AutoOKAUCM` is the same with kernels. It needs no scaler and no imputer:
    features are measured in their own recent deviations, outliers are drawn in, and NaN or None
    means that a value is not known and counts at its mean. It follows change.

    It mixes linear scores of different kinds, the experts. All are on a scale from -1 to 1.

    - At rest (two strengths): the closed form over all class means and covariances, the exact
      minimiser of the squared loss of `OAUCS`.
    - Forgetting: the same over about the last 20 examples of each class.
    - Newton: logistic regression as a Gaussian posterior; an outlier pulls no more than it has to.
    - Tracking and pairwise: steps of constant size towards -1 and 1, and towards a margin over the
      mean of the other class.

    A new example is scored by all experts before it is learned, and each score is compared with
    those that the latest 64 examples of the other class got when they came. The share of an expert
    is in proportion to exp(4 √n · win rate), n being about the last 2,000 examples. When the win
    rate of the last hundred falls by a tenth, a younger learner starts on them beside the elder;
    both are mixed in the same way, and after 2,000 examples the worse one goes.

    A step costs O(p²) time on average for p features, six to eight times one of `OAUCM` at 30.
    Memory is 5p² + 360p doubles, 2p² more for moments in which experts are solved for, and twice as
    much while a younger learner is on trial. Weights cannot diverge.

    Two models merge: `a += b` or `a + b` stands for both parts of the stream. Units pool, and class
    moments are brought to the pooled ones to first order; two posteriors become one; the other
    experts are averaged by what each model knows of the rarer class, and win rates by how many
    examples they are from. Of models that have been prepared with one survey, the experts at rest
    are exactly those of one pass, but for rounding (`prepare`, `river_oauc.distributed`).

    Parameters
    ----------
    prior
        What a probability of one half means. `"balanced"`: as likely from either class, were
        they equally frequent. `"empirical"`: as frequent as the classes have been of late.
    max_features
        Number of features beyond which an example with a new one is refused, before any memory is
        asked for. 5,000 features take 1.4 GB.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from river_oauc import AutoOAUCM
    >>> from river_oauc.metrics import ExactROCAUC

    >>> model = AutoOAUCM()
    >>> evaluate.progressive_val_score(
    ...     datasets.Phishing(), model, metrics.ROCAUC() + ExactROCAUC()
    ... )
    ROCAUC: 95.52%
    ExactROCAUC: 96.11%

    Which experts does it trust, and what moved a score?

    >>> for expert in model.experts:
    ...     print(f"{expert['expert']:22} {expert['auc']:.3f} {expert['share']:.2f}")
    linear, at rest, 0.1   0.966 0.14
    linear, at rest, 10    0.967 0.22
    linear, forgetting     0.963 0.14
    linear, Newton         0.968 0.24
    linear, tracking       0.961 0.11
    linear, pairwise       0.964 0.15

    >>> x, y = next(iter(datasets.Phishing()))
    >>> moves = model.explain_one(x)
    >>> max(moves, key=moves.get)
    'empty_server_form_handler'

    References
    ----------
    [^1]: Luo, J., Cheng, X. and Zhang, C. Online AUC optimization based on second-order surrogate
        loss.
    [^2]: Gao, W., Jin, R., Zhu, S. and Zhou, Z.-H., 2013. One-pass AUC optimization. ICML 2013.

    """

    _WITH_KERNELS = False

    def __init__(self, prior: str = "balanced", max_features: int = 5_000) -> None:
        super().__init__(prior, max_features)

    @property
    def weights(self) -> dict[base.typing.FeatureName, float]:
        """By how much the score rises with each feature, near its mean."""
        with self._lock:
            slopes = np.zeros(self._vectorizer.size)
            for engine, share in self._generations.shared():
                slopes += share * engine.linear_weights()[1:] * engine.units.factors
            return self._vectorizer.decode(slopes)

    def _explain(self, x: FloatArray) -> FloatArray:
        # What is not known is 0 in its units: so it is what a feature adds that it moves.
        moves = np.zeros(len(x))
        for engine, share in self._generations.shared():
            moves += share * engine.linear_weights()[1:] * engine.units.standardized(x)
        return moves


class AutoOKAUCM(_AutoClassifier):
    """Online AUC maximisation without anything to set or to prepare, nonlinear.

    The one for any stream with up to some hundred features, whatever parts the classes. It needs no
    scaler and no imputer: features are measured in their own recent deviations, outliers are drawn
    in, and NaN or None means that a value is not known and counts at its mean. It follows change.

    It is `AutoOAUCM` with four more experts: the closed form, in two strengths, over a Laplace and
    over a Gaussian kernel at 256 landmarks. These are the latest examples, chosen anew after 4, 8,
    16, ... examples until there are 128 of each class; then they stay, until a change calls for a
    younger learner. Where a plane parts the classes, the linear experts get the shares, and next to
    nothing is lost.

    A step costs O(p²) time on average for p features, and at 30 features a twentieth of one of
    river's `ARFClassifier` with ten trees, or an eighth where nothing is compiled. Memory is
    5p² + 1,900p doubles and 3 MB, and twice as much while a younger learner is on trial. Weights
    cannot diverge.

    Two models merge as two `AutoOAUCM` do. The landmarks of the one with more examples stay, and
    what the other has kept, up to 512 of each class, is counted under these.

    Parameters
    ----------
    prior
        What a probability of one half means. `"balanced"`: as likely from either class, were
        they equally frequent. `"empirical"`: as frequent as the classes have been of late.
    max_features
        Number of features beyond which an example with a new one is refused, before any memory is
        asked for. 5,000 features take 1.5 GB.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from river_oauc import AutoOAUCM, AutoOKAUCM
    >>> from river_oauc.metrics import ExactROCAUC

    >>> model = AutoOKAUCM()
    >>> evaluate.progressive_val_score(
    ...     datasets.Bananas(), model, metrics.ROCAUC() + ExactROCAUC()
    ... )
    ROCAUC: 95.73%
    ExactROCAUC: 96.50%

    No linear score ranks the two bananas:

    >>> evaluate.progressive_val_score(datasets.Bananas(), AutoOAUCM(), ExactROCAUC())
    ExactROCAUC: 53.76%

    References
    ----------
    [^1]: Luo, J., Cheng, X. and Zhang, C. Online AUC optimization based on second-order surrogate
        loss.
    [^2]: Gao, W., Jin, R., Zhu, S. and Zhou, Z.-H., 2013. One-pass AUC optimization. ICML 2013.

    """

    _WITH_KERNELS = True

    def __init__(self, prior: str = "balanced", max_features: int = 5_000) -> None:
        super().__init__(prior, max_features)
