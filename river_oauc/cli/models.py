"""The learners that are set against each other, by name."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from river import base, forest, imblearn, linear_model, optim, tree

from river_oauc import (
    KOIL,
    OAM,
    OAUCM,
    OAUCS,
    OKAUCM,
    OKAUCS,
    OLUBAUC,
    PAI,
    AutoOAUCM,
    AutoOKAUCM,
    Perceptron,
    SparseOAUCM,
)

__all__ = ["ARF", "CONTENDERS", "LOGISTIC", "Contender", "Example", "contenders"]

# What a learner sees of a stream: the features, and whether the example is positive.
Example = tuple[dict[Any, Any], bool]

LOGISTIC = "LogisticRegression"
ARF = "ARFClassifier"


@dataclass(frozen=True)
class Contender:
    """A learner that takes part in the comparisons.

    Parameters
    ----------
    name
        What the tables and the figure call it, and what the command line takes.
    make
        Gives a fresh learner from a seed; learners without chance ignore it.
    ours
        Whether it comes from this package.
    by_default
        Whether it takes part without being asked for.
    for_wide
        The same on wide streams, where a step must cost no more than the features it has.
    bare
        Whether it needs no scaler.
    takes_text
        Whether it takes text as it is, of any number of values.
    takes_none
        Whether it takes None where a number is missing. For the others it is left out.

    """

    name: str
    make: Callable[[int], base.Classifier]
    ours: bool = False
    by_default: bool = True
    for_wide: bool = False
    bare: bool = False
    takes_text: bool = False
    takes_none: bool = False


def _undersampled(seed: int) -> base.Classifier:
    return imblearn.RandomUnderSampler(
        linear_model.LogisticRegression(), desired_dist={False: 0.5, True: 0.5}, seed=seed
    )


CONTENDERS = (
    Contender("AutoOKAUCM", lambda seed: AutoOKAUCM(), ours=True, bare=True, takes_none=True),
    Contender("AutoOAUCM", lambda seed: AutoOAUCM(), ours=True, bare=True, takes_none=True),
    Contender(
        "SparseOAUCM",
        lambda seed: SparseOAUCM(),
        ours=True,
        for_wide=True,
        bare=True,
        takes_text=True,
    ),
    Contender("OAUCM", lambda seed: OAUCM(), ours=True, by_default=False),
    Contender("OAUCS", lambda seed: OAUCS(), ours=True, by_default=False),
    Contender("OKAUCM", lambda seed: OKAUCM(seed=seed), ours=True, by_default=False),
    Contender("OKAUCS", lambda seed: OKAUCS(seed=seed), ours=True, by_default=False),
    Contender("KOIL", lambda seed: KOIL(seed=seed), ours=True, by_default=False),
    Contender("OAM", lambda seed: OAM(seed=seed), ours=True, by_default=False),
    Contender("OLUBAUC", lambda seed: OLUBAUC(), ours=True, by_default=False),
    Contender("PAI", lambda seed: PAI(), ours=True, by_default=False),
    Contender("Perceptron", lambda seed: Perceptron(), ours=True, by_default=False),
    Contender(LOGISTIC, lambda seed: linear_model.LogisticRegression(), for_wide=True),
    Contender(
        "LogisticRegression(AdaGrad)",
        lambda seed: linear_model.LogisticRegression(optim.AdaGrad()),
        for_wide=True,
    ),
    # Of logistic regression, until both classes are learned as often: what river has for rare ones.
    Contender("RandomUnderSampler", _undersampled, for_wide=True),
    Contender(
        "PAClassifier",
        lambda seed: linear_model.PAClassifier(),  # type: ignore[no-untyped-call]
        for_wide=True,
    ),
    # Ours has the same name, and no bias.
    Contender("river.Perceptron", lambda seed: linear_model.Perceptron(), by_default=False),
    Contender(
        "HoeffdingTreeClassifier",
        lambda seed: tree.HoeffdingTreeClassifier(),
        by_default=False,
        takes_text=True,
    ),
    # Ten trees, about a hundred times the work of a linear learner.
    Contender(ARF, lambda seed: forest.ARFClassifier(n_models=10, seed=seed), takes_text=True),
)


def contenders(names: Collection[str]) -> tuple[Contender, ...]:
    """The contenders of these names, in the order of the registry.

    Examples
    --------
    >>> [contender.name for contender in contenders(["PAClassifier", "LogisticRegression"])]
    ['LogisticRegression', 'PAClassifier']

    """
    return tuple(contender for contender in CONTENDERS if contender.name in names)
