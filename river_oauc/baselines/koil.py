"""The baseline with a kernel: KOIL."""

from __future__ import annotations

import typing
from collections.abc import Iterator

from river_oauc.kernel import KernelClassifier
from river_oauc.kernels import Kernel
from river_oauc.parameters import check_choice, check_count, check_number
from river_oauc.rankers.koil import KOILRanker


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
