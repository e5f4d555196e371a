"""Learners to compare with: Perceptron, PA-I, OL-UBAUC, OAM and KOIL."""

from __future__ import annotations

import typing
from collections.abc import Iterator

from river import base

from river_oauc.classifier import OnlineAUCClassifier
from river_oauc.encoding.vectorizer import Vectorizer
from river_oauc.kernel import KernelClassifier
from river_oauc.kernels import Kernel
from river_oauc.parameters import (
    LearningRate,
    check_choice,
    check_count,
    check_number,
    check_step,
)
from river_oauc.rankers.first_order import OLUBAUCRanker, PAIRanker, PerceptronRanker
from river_oauc.rankers.koil import KOILRanker
from river_oauc.rankers.oam import OAMRanker


class _LinearBaseline(OnlineAUCClassifier):
    """A linear score, learned from single examples or from pairs with stored ones."""

    _encoder: Vectorizer

    def _new_encoder(self) -> Vectorizer:
        return Vectorizer()

    @property
    def weights(self) -> dict[base.typing.FeatureName, float]:
        """The weights of the score, by the names of the features."""
        with self._lock:
            return self._encoder.decode(self._numpy_ranker().weights)


class Perceptron(_LinearBaseline):
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

    Two models merge: `a += b` or `a + b` stands for both parts of the stream. Weights are averaged
    by what each model knows of the rarer class; class means are exact.

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


class PAI(_LinearBaseline):
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

    Two models merge: `a += b` or `a + b` stands for both parts of the stream. Weights are averaged
    by what each model knows of the rarer class; class means are exact.

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


class OLUBAUC(_LinearBaseline):
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

    Two models merge: `a += b` or `a + b` stands for both parts of the stream. Weights and threshold
    are averaged by what each model knows of the rarer class; class means are exact.

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
            return float(self._numpy_ranker().threshold)

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"l2", "lr"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, typing.Any]]:
        yield {}
        yield {"class_balanced": True, "margin": 0.5, "lr": 0.1}


class OAM(_LinearBaseline):
    """Online AUC maximisation with buffers (OAM).

    Keeps a uniform sample of the examples of each class, and takes a step on the hinge losses of an
    example against all stored examples of the other class.

    Use it where you would use `OAUCM` but have many features: its cost is linear in their number.
    It needs a small `C`, smaller than the range over which it is usually tuned. As published, its
    steps grow with the stream, because a full buffer stands for ever more examples;
    `weighting="constant"` leaves that out, and ranks better on long streams.

    One pass over german, segment, letter and magic04, with `C` chosen inside the training folds,
    has given a held-out AUC of 78.8, 91.2, 82.2 and 84.1 percent with constant weighting and `C`
    from 2⁻²⁴ up, and 76.6, 90.4, 79.3 and 82.6 with the paper's weighting and `C` from 2⁻¹⁰ up,
    where `OAUCM` had 79.2, 88.9, 82.8 and 83.8.

    A step costs O(B p) time for buffers of B examples with p features, and memory is 2 B p doubles.

    Two models merge: `a += b` or `a + b` stands for both parts of the stream. Weights are averaged
    by what each model knows of the rarer class, and the buffers become uniform samples of both
    parts.

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
        check_number("C", C)
        check_count("buffer_size", buffer_size)
        check_choice("update", update, ("gradient", "sequential"))
        check_choice("weighting", weighting, ("paper", "constant"))
        self.C = C
        self.buffer_size = buffer_size
        self.update = update
        self.weighting = weighting
        self.seed = seed
        super().__init__(prior)

    def _new_ranker(self) -> OAMRanker:
        return OAMRanker(self.C, self.buffer_size, self.update, self.weighting, self.seed)

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"C"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, typing.Any]]:
        yield {"seed": 1}
        yield {"buffer_size": 7, "update": "sequential", "weighting": "constant", "seed": 2}


class KOIL(KernelClassifier):
    """Kernelized online imbalanced learning (KOIL).

    The score is a sum of similarities to stored examples of both classes. An example is compared
    with those stored ones of the other class over which it has a margin below 1, and only with the
    nearest of these: examples far away have no influence, which makes it robust to outliers [^1].
    An example without such a pair is not stored. When the budget of a class is spent, the most
    similar example of the class inherits the coefficient of the removed one.

    It was designed for imbalanced streams, and is the strongest published competitor of `OKAUCM`
    there. Its steps do not shrink with time, so it follows a drift, and keeps moving where there is
    none.

    A step costs O(B p + B²) time for B stored examples of p features, and memory is B p + B²
    doubles, whatever the length of the stream.

    Two models merge: `a += b` or `a + b` stands for both parts of the stream. The score is the
    average of both scores, weighted by what each model knows of the rarer class. Of the examples
    that both have stored, the budget keeps the newest, or a uniform sample. The others pass their
    coefficients on.

    Parameters
    ----------
    kernel
        The similarity. The default is an `RBF` whose width follows the features: gamma is 1/4, a
        compromise between features scaled to [0, 1] and standardised ones, halved while two stored
        examples are less than 1/64 similar on average. `support.kernel` is the current one.
    C
        Weight of the losses against the regulariser.
    eta
        Step size, the same for every example. The score shrinks by this share at each step.
    budget
        Number of examples to store of each class, or a pair: of positives and of negatives.
    k
        Number of nearest examples to compare with.
    loss
        Hinge loss (`"l1"`), or its square (`"l2"`).
    policy
        Which example of a class to remove when its budget is spent: the oldest (`"fifo"`), which
        follows a drift, or a random one (`"reservoir"`), so that the stored ones are a uniform
        sample of the class.
    prior
        What a probability of one half means. `"balanced"`: as likely from either class, were
        they equally frequent. `"empirical"`: as frequent as the classes have been.
    seed
        Seed of the reservoir.

    Attributes
    ----------
    support
        A read-only copy of the stored examples and their coefficients: `kernel`, `n` (numbers of
        negatives and positives), `vectors`, `coefficients`, `importance`, `gram`, and
        `slots(positive)`, the rows of a class.

    Examples
    --------
    >>> from river import datasets, evaluate, preprocessing
    >>> from river_oauc import KOIL, kernels
    >>> from river_oauc.metrics import ExactROCAUC

    >>> model = preprocessing.MinMaxScaler() | KOIL(kernels.RBF(gamma=20.0))
    >>> evaluate.progressive_val_score(datasets.Bananas(), model, ExactROCAUC())
    ExactROCAUC: 93.69%

    References
    ----------
    [^1]: Hu, J., Yang, H., King, I., Lyu, M.R. and So, A.M.-C., 2015. Kernelized online imbalanced
        learning with fixed budgets. AAAI 2015.

    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        C: float = 4.0,
        eta: float = 0.01,
        budget: int | tuple[int, int] = 100,
        k: int = 10,
        loss: str = "l1",
        policy: str = "fifo",
        prior: str = "balanced",
        seed: int | None = None,
    ) -> None:
        check_number("C", C)
        check_number("eta", eta)
        check_count("k", k)
        check_choice("loss", loss, ("l1", "l2"))
        self.C = C
        self.eta = eta
        self.k = k
        self.loss = loss
        super().__init__(kernel, budget, policy, prior, seed)

    def _new_ranker(self) -> KOILRanker:
        return KOILRanker(
            self.C,
            self.eta,
            self.k,
            self.loss,
            self.kernel,
            self._budgets,
            self.policy,
            self.seed,
        )

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, typing.Any]]:
        yield {}
        yield {"budget": 5, "k": 2, "loss": "l2", "policy": "reservoir", "seed": 1}

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"C", "eta"}
