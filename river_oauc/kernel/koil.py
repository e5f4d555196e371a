"""KOIL, the kernel learner that OKAUC-M is compared with."""

from __future__ import annotations

import typing
from collections.abc import Iterator

from river_oauc.inputs.parameters import check_choice, check_count, check_number
from river_oauc.kernel.classifier import KernelClassifier
from river_oauc.kernel.step import NearestStep
from river_oauc.kernels import Kernel

__all__ = ["KOIL"]


class KOIL(NearestStep, KernelClassifier):
    """Kernelized online imbalanced learning (KOIL).

    The score is a sum of similarities to stored examples of both classes. An example is compared
    with those stored ones of the other class that it does not rank by a margin of 1, and of these
    with its nearest only: what is far away has no say, which keeps outliers out [^1]. An example
    that has nothing to correct is not stored. What is given up when a budget is spent leaves its
    coefficient to the most similar example of its class.

    It was made for imbalanced streams and is the strongest published rival of `OKAUCM` there. Its
    steps do not shrink with time, so that it follows a drift, and goes on moving where there is
    none.

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
    C
        Weight of the losses against the regulariser.
    eta
        Step size, the same for every example; the shrinkage of the score is as large.
    budget
        Number of examples to keep: of each class, or a pair, of positives and of negatives.
    k
        Number of nearest examples to compare with.
    loss
        Hinge loss (`"l1"`), or its square (`"l2"`).
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
        super().__init__(kernel, budget, policy, "whole", prior, seed)
        check_number("C", C)
        check_number("eta", eta)
        check_count("k", k)
        check_choice("loss", loss, ("l1", "l2"))
        self.C = C
        self.eta = eta
        self.k = k
        self.loss = loss

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, typing.Any]]:
        yield {}
        yield {"budget": 5, "k": 2, "loss": "l2", "policy": "reservoir", "seed": 1}

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"C", "eta"}
