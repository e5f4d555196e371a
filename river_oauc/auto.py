"""The classifiers that have nothing to tune: AutoOAUCM and AutoOKAUCM."""

from __future__ import annotations

import typing

from river import base

from river_oauc.classifier import OnlineAUCClassifier
from river_oauc.encoding.records import RecordVectorizer
from river_oauc.encoding.values import Record
from river_oauc.parameters import check_count
from river_oauc.rankers.mixture.ranker import Expert, MixtureRanker


class _AutoClassifier(OnlineAUCClassifier):
    """A classifier that mixes experts."""

    _WITH_KERNELS: typing.ClassVar[bool]
    _encoder: RecordVectorizer
    _ranker: MixtureRanker

    def __init__(self, prior: str, max_features: int, max_categories: int | None) -> None:
        check_count("max_features", max_features)
        if max_categories is not None:
            check_count("max_categories", max_categories)
        self.max_features = max_features
        self.max_categories = max_categories
        super().__init__(prior)

    def _new_encoder(self) -> RecordVectorizer:
        return RecordVectorizer(self.max_features, self.max_categories)

    def _new_ranker(self) -> MixtureRanker:
        return MixtureRanker(self._WITH_KERNELS)

    @property
    def experts(self) -> list[Expert]:
        """The name of each expert, its progressive AUC and its share in the score.

        While a younger generation is on trial, the list has the experts of both.
        """
        with self._lock:
            return self._ranker.experts

    def explain_one(self, x: Record) -> dict[base.typing.FeatureName, float]:
        """Return by how much each feature moves the score of `x`.

        It is the score less the score if the feature were unknown. It is positive if the value
        makes a positive more likely than the usual value would.

        Parameters
        ----------
        x
            A dictionary of features.

        """
        with self._lock:
            example = self._encoder.encode_known(x)
            return self._encoder.sum_by_feature(self._ranker.contributions(example))


class AutoOAUCM(_AutoClassifier):
    """Online AUC maximisation with nothing to tune or to prepare.

    Take it for any stream with up to some hundred features in which a linear score ranks well
    enough; otherwise `AutoOKAUCM` is the same with kernels. It takes raw records as they are: a
    category stands for its log odds, and None, NaN, NaT, NA and an absent key all mean unknown; see
    `preprocessing.RecordEncoder`. A feature that is unknown in most examples is 0 when it is
    absent, as in a bag of words.

    It needs no scaler. Features are measured in units of their own recent deviation, those with
    heavy tails after taking logarithms; outliers are drawn in, and an unknown value counts as the
    mean. It follows change.

    It mixes linear scores of different kinds, the experts. All are on a scale from -1 to 1.

    - Ridge (two strengths): the closed form over all class means and covariances, which is the
      exact minimiser of the squared loss of `OAUCS`.
    - Recent: the same over about the last 20 examples of each class.
    - Newton: logistic regression as a Gaussian posterior. An outlier pulls no more than it has to.
    - Tracking and pairwise: steps of constant size towards -1 and 1, and towards a margin over the
      mean of the other class.

    A new example is scored by all experts before it is learned, and each score is compared with
    those that the latest 64 examples of the other class got when they came. The share of an expert
    is in proportion to exp(4 √n · win rate), n being about the last 2,000 examples. When the win
    rate of the last hundred falls by a tenth, a younger generation of experts starts on them beside
    the older one. Both are mixed in the same way, and after 2,000 examples the worse one goes.

    A step costs O(p²) time on average for p features, at 30 features about 14 times one of river's
    `LogisticRegression`. Memory is 5p² + 270p doubles, 2p² more while experts are solved for, and
    twice as much while a younger generation is on trial. Weights cannot diverge.

    Two models merge: `a += b` or `a + b` stands for both parts of the stream. Units are averaged,
    and class moments are brought to the new units to first order; two posteriors become one; the
    other experts are averaged by what each model knows of the rarer class, and win rates by the
    number of examples behind them; counts of categories add up. `river_oauc.distributed` fixes the
    units first; if all features are numbers that are always known, the ridge experts are then
    exactly those of one pass, but for rounding.

    Parameters
    ----------
    prior
        What a probability of one half means. `"balanced"`: as likely from either class, were
        they equally frequent. `"empirical"`: as frequent as the classes have been of late.
    max_features
        Number of features beyond which an example with a new one is refused, before any memory is
        asked for. 5,000 features take 1.4 GB, and up to four times as much if most are categories
        or now and then unknown.
    max_categories
        The largest number of categories to remember; `None` is no limit. When there would be more,
        the fifth that has come least often is forgotten.

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
    ...     print(f"{expert['expert']:16} {expert['auc']:.3f} {expert['share']:.2f}")
    linear ridge 0.1 0.966 0.14
    linear ridge 10  0.967 0.22
    linear recent    0.963 0.14
    linear Newton    0.968 0.24
    linear tracking  0.961 0.11
    linear pairwise  0.964 0.15

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

    def __init__(
        self,
        prior: str = "balanced",
        max_features: int = 5_000,
        max_categories: int | None = None,
    ) -> None:
        super().__init__(prior, max_features, max_categories)

    @property
    def weights(self) -> dict[base.typing.FeatureName, float]:
        """By how much the score rises with each feature, near its mean."""
        with self._lock:
            return self._encoder.decode(self._ranker.linear_slopes())


class AutoOKAUCM(_AutoClassifier):
    """Nonlinear online AUC maximisation with nothing to tune or to prepare.

    Take it for any stream with up to some hundred features, whatever separates the classes. It
    takes raw records, needs no scaler, and follows change, as `AutoOAUCM` does.

    It is `AutoOAUCM` with four more experts: ridge scores, in two strengths, over a Laplace and
    over a Gaussian kernel with 256 landmarks. These are the latest examples, chosen anew after 4,
    8, 16, ... examples until there are 128 of each class; then they stay, until a change calls for
    a younger generation. Where a linear score ranks well, the linear experts get the shares, and
    next to nothing is lost.

    A step costs O(p²) time on average for p features, and at 30 features a quarter of one of
    river's `ARFClassifier` with ten trees. Memory is 5p² + 1,800p doubles and 3 MB, and twice as
    much while a younger generation is on trial. Weights cannot diverge.

    Two models merge as two `AutoOAUCM` do. The landmarks of the one with more examples stay, and
    the latest examples of the other, up to 512 of each class, are counted under them.

    Parameters
    ----------
    prior
        What a probability of one half means. `"balanced"`: as likely from either class, were
        they equally frequent. `"empirical"`: as frequent as the classes have been of late.
    max_features
        Number of features beyond which an example with a new one is refused, before any memory is
        asked for. 5,000 features take 1.5 GB, and up to four times as much if most are categories
        or now and then unknown.
    max_categories
        The largest number of categories to remember; `None` is no limit. When there would be more,
        the fifth that has come least often is forgotten.

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

    def __init__(
        self,
        prior: str = "balanced",
        max_features: int = 5_000,
        max_categories: int | None = None,
    ) -> None:
        super().__init__(prior, max_features, max_categories)
