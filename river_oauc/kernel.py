"""The kernel learners of the paper: OKAUC-M and OKAUC-S."""

from __future__ import annotations

import typing
from collections.abc import Iterator

import numpy as np
from river import optim

from river_oauc.classifier import OnlineAUCClassifier
from river_oauc.kernels import RBF, Kernel, Linear
from river_oauc.parameters import LearningRate, check_choice, check_count, check_step
from river_oauc.rankers.kernel import OKAUCRanker
from river_oauc.records.numeric import Vectorizer
from river_oauc.state import FloatArray


class SupportVectors(typing.NamedTuple):
    """Stored examples and their coefficients: the score Σ coefficientᵢ · k(vectorᵢ, x).

    The negatives come first and then the positives, each class oldest first.

    Parameters
    ----------
    kernel
        The kernel k.
    n
        Numbers of negatives and of positives.
    vectors
        The examples, one per row.
    coefficients
        Their coefficients.
    importance
        Their importance weights.
    gram
        The similarities of all pairs.

    """

    kernel: Kernel
    n: tuple[int, int]
    vectors: FloatArray
    coefficients: FloatArray
    importance: FloatArray
    gram: FloatArray

    def slots(self, positive: bool) -> slice:
        """Return the rows of a class."""
        return slice(self.n[0], None) if positive else slice(0, self.n[0])


class KernelClassifier(OnlineAUCClassifier):
    """A score that is a sum of similarities to stored examples."""

    _encoder: Vectorizer

    def __init__(
        self,
        kernel: Kernel | None,
        budget: int | tuple[int, int],
        policy: str,
        prior: str,
        seed: int | None,
    ) -> None:
        if not (kernel is None or isinstance(kernel, Kernel)):
            raise ValueError(f"kernel is {kernel!r}: it must be a Kernel, such as RBF(gamma=0.25)")
        pair = budget if isinstance(budget, tuple) else (budget, budget)
        if len(pair) != 2:
            raise ValueError(f"budget is {budget!r}: it must be a whole number, or a pair of them")
        for size in pair:
            check_count("budget", size)
        check_choice("policy", policy, ("fifo", "reservoir"))
        self.kernel = kernel
        self.budget = budget
        self.policy = policy
        self.seed = seed
        super().__init__(prior)

    def _new_encoder(self) -> Vectorizer:
        return Vectorizer()

    @property
    def _budgets(self) -> tuple[int, int]:
        """The budgets of the negatives and of the positives."""
        if isinstance(self.budget, tuple):
            n_positive, n_negative = self.budget
            return n_negative, n_positive
        return self.budget, self.budget

    @property
    def support(self) -> SupportVectors:
        """A read-only copy of the stored examples and their coefficients."""
        with self._lock:
            ranker, by_age = self._ranker, self._ranker.by_age()
            slots = np.concatenate(by_age)
            arrays = (
                ranker.vectors[slots, : len(self._encoder.index)],
                ranker.coefficients[slots],
                ranker.importance.sum(axis=0)[slots],
                ranker.gram[np.ix_(slots, slots)],
            )
            for array in arrays:
                array.flags.writeable = False
            return SupportVectors(ranker.kernel, (len(by_age[0]), len(by_age[1])), *arrays)


class _OKAUCClassifier(KernelClassifier):
    """A functional gradient step per example on a loss of its margin over the opposite class."""

    _LOSS: typing.ClassVar[str]

    def __init__(
        self,
        kernel: Kernel | None,
        l2: float,
        lr: LearningRate,
        budget: int | tuple[int, int],
        policy: str,
        prior: str,
        seed: int | None,
    ) -> None:
        check_step(l2, lr)
        self.l2 = l2
        self.lr = lr
        super().__init__(kernel, budget, policy, prior, seed)

    def _new_ranker(self) -> OKAUCRanker:
        return OKAUCRanker(
            self._LOSS, self.l2, self.lr, self.kernel, self._budgets, self.policy, self.seed
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"l2", "lr"}


class OKAUCM(_OKAUCClassifier):
    """Online AUC maximisation with a worst-case hinge loss, nonlinear and on a budget (OKAUC-M).

    The score is a sum of similarities to stored examples of both classes. An example is compared
    with all stored ones of the other class at once, through the mean and the variance of their
    scores: its loss is the largest mean hinge loss that margins with this mean and variance can
    have [^1]. Every example is stored. When the budget of its class is spent, an older one is
    removed, and the most similar one left inherits its part of the score.

    Take it where no plane separates the classes: two moons, rings, exceptions in the middle of the
    rule. Where a linear score suffices, `OAUCM` ranks as well at a tenth of the cost. Scale the
    features first, because the score depends on distances only.

    A step costs O(B p + B²) time for B stored examples of p features, and memory is B p + B²
    doubles, whatever the length of the stream. With 100 examples of each class and 30 features,
    it takes about twice as long as river's logistic regression to score and learn an example, and
    ten times as long without compiled code.

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
    l2
        Strength λ of the regulariser λ/2 · |score|².
    lr
        Step size. `None` is 1 / (l2 · t) for the t-th example; a number is a constant step, which
        mostly ranks better once the budget is spent; a scheduler is asked for step t - 1.
    budget
        Number of examples to store of each class, or a pair: of positives and of negatives.
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
    >>> from river_oauc import OAUCM, OKAUCM, kernels
    >>> from river_oauc.metrics import ExactROCAUC

    >>> model = preprocessing.MinMaxScaler() | OKAUCM(kernels.RBF(gamma=20.0))
    >>> evaluate.progressive_val_score(datasets.Bananas(), model, ExactROCAUC())
    ExactROCAUC: 90.91%

    No linear score ranks the two bananas:

    >>> model = preprocessing.MinMaxScaler() | OAUCM()
    >>> evaluate.progressive_val_score(datasets.Bananas(), model, ExactROCAUC())
    ExactROCAUC: 54.83%

    References
    ----------
    [^1]: Luo, J., Cheng, X. and Zhang, C. Online AUC optimization based on second-order surrogate
        loss.

    """

    _LOSS = "psi_m"

    def __init__(
        self,
        kernel: Kernel | None = None,
        l2: float = 2**-5,
        lr: LearningRate = None,
        budget: int | tuple[int, int] = 100,
        policy: str = "fifo",
        prior: str = "balanced",
        seed: int | None = None,
    ) -> None:
        super().__init__(kernel, l2, lr, budget, policy, prior, seed)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, typing.Any]]:
        yield {}
        yield {"kernel": Linear(), "budget": (3, 5), "policy": "reservoir", "seed": 1}


class OKAUCS(_OKAUCClassifier):
    """Online AUC maximisation with the squared loss, nonlinear and on a budget (OKAUC-S).

    The score is a sum of similarities to stored examples of both classes, learned by gradient
    descent on the mean squared loss of an example against all stored ones of the other class [^1].
    It relates to `OKAUCM` as `OAUCS` does to `OAUCM`: a constant step follows changes faster, and a
    step that is too large diverges. The coefficients never become infinite: an example that would
    drive them beyond 1e50 is refused with a `ValueError`.

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
    l2
        Strength λ of the regulariser λ/2 · |score|².
    lr
        Step size: a constant, or a scheduler, which is asked for step t - 1 at the t-th example.
    budget
        Number of examples to store of each class, or a pair: of positives and of negatives.
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
    >>> from river_oauc import OKAUCS, kernels
    >>> from river_oauc.metrics import ExactROCAUC

    >>> model = preprocessing.MinMaxScaler() | OKAUCS(kernels.RBF(gamma=20.0))
    >>> evaluate.progressive_val_score(datasets.Bananas(), model, ExactROCAUC())
    ExactROCAUC: 94.01%

    References
    ----------
    [^1]: Luo, J., Cheng, X. and Zhang, C. Online AUC optimization based on second-order surrogate
        loss.

    """

    _LOSS = "psi_s"

    def __init__(
        self,
        kernel: Kernel | None = None,
        l2: float = 2**-6,
        lr: float | optim.base.Scheduler = 2**-2,
        budget: int | tuple[int, int] = 100,
        policy: str = "fifo",
        prior: str = "balanced",
        seed: int | None = None,
    ) -> None:
        super().__init__(kernel, l2, lr, budget, policy, prior, seed)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, typing.Any]]:
        yield {}
        yield {"kernel": RBF(gamma=0.5), "l2": 0.0, "lr": 0.1, "budget": 20}
