"""The baselines that look at single examples: Perceptron, PA-I and OL-UBAUC."""

from __future__ import annotations

import typing
from collections.abc import Iterator

from river_oauc.baselines.base import LinearBaseline
from river_oauc.parameters import LearningRate, check_number, check_step
from river_oauc.rankers.first_order import OLUBAUCRanker, PAIRanker, PerceptronRanker


class Perceptron(LinearBaseline):
    """Rosenblatt's perceptron, without a bias, as a learner of scores.

    When it predicts the wrong class, the example is added to the weights or subtracted from them;
    otherwise nothing happens. A score of 0 is a positive prediction, so nothing happens before the
    first negative.

    It has no parameter to tune and costs next to nothing: the simplest of all baselines. Its last
    weights are unstable: expect the AUC to jump by points from one example to the next. On an
    imbalanced stream it is rarely the right choice. `river.linear_model.Perceptron` is another
    learner: it has a bias, which is learned as well.

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

    def _new_ranker(self) -> PerceptronRanker:
        return PerceptronRanker()


class PAI(LinearBaseline):
    """Passive-aggressive learning (PA-I), without a bias, as a learner of scores.

    Takes the shortest step that gives the example a margin of 1, but none longer than `C` times the
    example. An example of length 0 changes nothing.

    Use it for balanced classes when covariances are too expensive. With rare positives its weights
    mostly describe the majority. `linear_model.PAClassifier(C, mode=1, learn_intercept=False)` of
    river learns the same weights, but only from boolean labels, and its probabilities are not
    calibrated.

    One pass over german, segment, letter and magic04, with `C` chosen inside the training folds,
    has given a held-out AUC of 78.0, 85.5, 74.7 and 81.6 percent, where `OAUCM` had 79.2, 88.9,
    82.8 and 83.8.

    A step costs O(p) time for p features, and memory is O(p).

    Parameters
    ----------
    C
        Largest step, in units of the example. Noise calls for smaller values: for standardised
        features, values near 2⁻⁸ work well.
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
        check_number("C", C)
        self.C = C
        super().__init__(prior)

    def _new_ranker(self) -> PAIRanker:
        return PAIRanker(self.C)

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"C"}


class OLUBAUC(LinearBaseline):
    """Online learning with a univariate bound of the AUC (OL-UBAUC), reconstructed.

    The bound replaces the ranks in the AUC by scores, and becomes a hinge loss of single examples
    about a threshold, which is learned as well [^1]. So a step looks at one example and no pair,
    and no class is favoured.

    The original text could not be consulted. The univariate loss with a threshold is certain, and
    so are linear time and memory. The margin, the step size and the equal weights of the examples
    are those that fit published results best, and may differ from the original.

    Use it for long streams of many features with balanced classes. Rare positives hardly move it;
    `class_balanced` remedies that.

    One pass over german, segment, letter and magic04, with `l2` chosen inside the training folds,
    has given a held-out AUC of 76.4, 85.0, 77.2 and 83.4 percent, where `OAUCM` had 79.2, 88.9,
    82.8 and 83.8.

    A step costs O(p) time for p features, and memory is O(p).

    Parameters
    ----------
    l2
        Strength λ of the regulariser λ/2 · |weights|². The threshold is not regularised.
    margin
        Distance from the threshold beyond which an example has no loss.
    class_balanced
        Whether the losses of a class are weighted by N / (2 n), if n of the N examples so far are
        of that class, so that both classes have the same total weight.
    lr
        Step size. `None` is 1 / (l2 · t) for the t-th example; a number is a constant step; a
        scheduler is asked for step t - 1.
    prior
        What a probability of one half means. `"balanced"`: as likely from either class, were
        they equally frequent. `"empirical"`: as frequent as the classes have been.

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
        check_step(l2, lr)
        check_number("margin", margin)
        self.l2 = l2
        self.margin = margin
        self.class_balanced = class_balanced
        self.lr = lr
        super().__init__(prior)

    def _new_ranker(self) -> OLUBAUCRanker:
        return OLUBAUCRanker(self.l2, self.margin, self.class_balanced, self.lr)

    @property
    def threshold(self) -> float:
        """The score that separates the classes. It is not part of the score."""
        with self._lock:
            return float(self._ranker.threshold)

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"l2", "lr"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, typing.Any]]:
        yield {}
        yield {"class_balanced": True, "margin": 0.5, "lr": 0.1}
