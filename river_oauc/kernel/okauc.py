"""The two kernel learners of the paper: OKAUC-M and OKAUC-S."""

from __future__ import annotations

import typing
from collections.abc import Iterator

from river import optim

from river_oauc import losses
from river_oauc.inputs.parameters import LearningRate, check_step
from river_oauc.kernel.classifier import KernelClassifier
from river_oauc.kernel.step import MomentStep
from river_oauc.kernels import RBF, Kernel, Linear

__all__ = ["OKAUCM", "OKAUCS"]


class _KernelMomentLearner(MomentStep, KernelClassifier):
    """A functional gradient step per example, on a loss of its margin over the other class."""

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
        super().__init__(kernel, budget, policy, "projection", prior, seed)
        check_step(l2, lr)
        self.l2 = l2
        self.lr = lr

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"l2", "lr"}


class OKAUCM(_KernelMomentLearner):
    """Online AUC maximisation with a worst-case hinge loss, nonlinear and on a budget (OKAUC-M).

    The score is a sum of similarities to stored examples of both classes. An example is compared
    with all stored ones of the other class at once, through the mean and the variance of their
    scores: its loss is the largest mean hinge loss that margins with this mean and variance can
    have [^1]. Every example is stored, and in return an old one of its class is given up, whose
    part of the score passes on to the most similar one that stays.

    Take it where the classes are no clouds that a plane could part: two moons, rings, exceptions in
    the middle of the rule. Where a linear score does, `OAUCM` ranks as well at a tenth of the cost.
    Scale the features first: distances are all that it sees.

    A step costs O(B p + B²) time for B stored examples of p features, and memory is B p + B²
    doubles, whatever the length of the stream. With 100 of each class and 30 features an example
    takes about 11 microseconds, scored and learned at once, and 27 where nothing is compiled; 3 or
    6 more if its features, such as scaled ones, have changed in between.

    Two models merge by `a += b` or `a + b`, which stands for both. Its score is the average of
    their scores, by what each knows of the rarer class. Of what both have stored, as much stays as
    the budget allows, the newest or a uniform sample; the rest passes its part of the score on.

    Parameters
    ----------
    kernel
        The similarity. The default is an `RBF` as wide as the features ask for: gamma is 1/4, a
        compromise for features scaled to [0, 1] and standardised ones, but halved as long as two
        stored examples are less than 1/64 similar on average. `support.kernel` shows it.
    l2
        Strength λ of the regulariser λ/2 · |score|².
    lr
        Step size. `None` is 1 / (l2 · t) for the t-th example; a number is a constant step, which
        mostly ranks better once the budget is spent; a scheduler is asked for step t - 1.
    budget
        Number of examples to keep: of each class, or a pair, of positives and of negatives.
    policy
        What is given up when the budget of a class is spent: its oldest example (`"fifo"`), which
        follows a drift, or one by chance (`"reservoir"`), so that what is kept is a uniform sample.
    prior
        What a probability of one half means. `"balanced"`: as likely from either class, were
        they equally frequent. `"empirical"`: as frequent as the classes have been.
    seed
        Seed of the reservoir.

    Attributes
    ----------
    support
        The stored examples with their coefficients, a `support.SupportSet`.

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
    ExactROCAUC: 54.85%

    References
    ----------
    [^1]: Luo, J., Cheng, X. and Zhang, C. Online AUC optimization based on second-order surrogate
        loss.

    """

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

    _coefficients = staticmethod(losses.psi_m_pair)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, typing.Any]]:
        yield {}
        yield {"kernel": Linear(), "budget": (3, 5), "policy": "reservoir", "seed": 1}


class OKAUCS(_KernelMomentLearner):
    """Online AUC maximisation with the squared loss, nonlinear and on a budget (OKAUC-S).

    The score is a sum of similarities to stored examples of both classes, learned by gradient
    descent on the mean squared loss of an example against all stored ones of the other class [^1].
    It is to `OKAUCM` what `OAUCS` is to `OAUCM`: a constant step follows changes faster, and a step
    that is too large diverges. The coefficients never become infinite: an example that would drive
    them beyond 1e50 is refused with a `ValueError`.

    A step costs O(B p + B²) time for B stored examples of p features, and memory is B p + B²
    doubles, whatever the length of the stream.

    Two models merge by `a += b` or `a + b`, which stands for both. Its score is the average of
    their scores, by what each knows of the rarer class. Of what both have stored, as much stays as
    the budget allows, the newest or a uniform sample; the rest passes its part of the score on.

    Parameters
    ----------
    kernel
        The similarity. The default is an `RBF` as wide as the features ask for: gamma is 1/4, a
        compromise for features scaled to [0, 1] and standardised ones, but halved as long as two
        stored examples are less than 1/64 similar on average. `support.kernel` shows it.
    l2
        Strength λ of the regulariser λ/2 · |score|².
    lr
        Step size: a constant, or a scheduler, which is asked for step t - 1 at the t-th example.
    budget
        Number of examples to keep: of each class, or a pair, of positives and of negatives.
    policy
        What is given up when the budget of a class is spent: its oldest example (`"fifo"`), which
        follows a drift, or one by chance (`"reservoir"`), so that what is kept is a uniform sample.
    prior
        What a probability of one half means. `"balanced"`: as likely from either class, were
        they equally frequent. `"empirical"`: as frequent as the classes have been.
    seed
        Seed of the reservoir.

    Attributes
    ----------
    support
        The stored examples with their coefficients, a `support.SupportSet`.

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

    _coefficients = staticmethod(losses.psi_s_pair)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, typing.Any]]:
        yield {}
        yield {"kernel": RBF(gamma=0.5), "l2": 0.0, "lr": 0.1, "budget": 20}
