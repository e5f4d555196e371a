"""The learners that `compare` knows by name."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from river import base, forest, imblearn, linear_model, optim, tree

from river_oauc import (
    FTRLAUC,
    KOIL,
    OAM,
    OAUCM,
    OAUCS,
    OKAUCM,
    OKAUCS,
    OLUBAUC,
    OTAUC,
    PAI,
    SOLAM,
    SPAUC,
    AdaOAM,
    AutoOAUC,
    Perceptron,
    SparseOAUCM,
)

# The features of an example, and whether it is positive.
Example = tuple[dict[Any, Any], bool]

LOGISTIC = "LogisticRegression"
ARF = "ARFClassifier"


@dataclass(frozen=True)
class Contender:
    """A learner to compare.

    Parameters
    ----------
    name
        Its name on the command line, in tables and in the figure.
    make
        Creates an untrained learner from a seed; deterministic learners ignore it.
    ours
        Whether it comes from this package.
    by_default
        Whether it runs by default.
    for_wide
        Whether it runs by default on wide streams: the cost of a step must depend on the features
        of the example only.
    bare
        Whether it needs no scaler.
    takes_text
        Whether it takes text with any number of values.
    takes_none
        Whether it takes None for a missing number. For other learners the feature is left out.

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


def _for_records(
    name: str,
    make: Callable[[int], base.Classifier],
    by_default: bool = True,
    for_wide: bool = False,
) -> Contender:
    """Return a learner of ours that takes raw records."""
    return Contender(
        name, make, ours=True, by_default=by_default, for_wide=for_wide, bare=True,
        takes_text=True, takes_none=True,
    )  # fmt: skip


CONTENDERS = (
    _for_records("AutoOAUC", lambda seed: AutoOAUC(seed=seed)),
    _for_records("SparseOAUCM", lambda seed: SparseOAUCM(), for_wide=True),
    _for_records("OTAUC", lambda seed: OTAUC(seed=seed), by_default=False),
    Contender("OAUCM", lambda seed: OAUCM(), ours=True, by_default=False),
    Contender("OAUCS", lambda seed: OAUCS(), ours=True, by_default=False),
    Contender("OKAUCM", lambda seed: OKAUCM(seed=seed), ours=True, by_default=False),
    Contender("OKAUCS", lambda seed: OKAUCS(seed=seed), ours=True, by_default=False),
    Contender("KOIL", lambda seed: KOIL(seed=seed), ours=True, by_default=False),
    Contender("OAM", lambda seed: OAM(seed=seed), ours=True, by_default=False),
    Contender("OLUBAUC", lambda seed: OLUBAUC(), ours=True, by_default=False),
    Contender("AdaOAM", lambda seed: AdaOAM(), ours=True, by_default=False),
    Contender("FTRLAUC", lambda seed: FTRLAUC(), ours=True, by_default=False),
    Contender("SOLAM", lambda seed: SOLAM(), ours=True, by_default=False),
    Contender("SPAUC", lambda seed: SPAUC(), ours=True, by_default=False),
    Contender("PAI", lambda seed: PAI(), ours=True, by_default=False),
    Contender("Perceptron", lambda seed: Perceptron(), ours=True, by_default=False),
    Contender(LOGISTIC, lambda seed: linear_model.LogisticRegression(), for_wide=True),
    Contender(
        "LogisticRegression(AdaGrad)",
        lambda seed: linear_model.LogisticRegression(optim.AdaGrad()),
        for_wide=True,
    ),
    # With logistic regression: the usual choice in river for rare positives.
    Contender("RandomUnderSampler", _undersampled, for_wide=True),
    Contender(
        "PAClassifier",
        lambda seed: linear_model.PAClassifier(),  # type: ignore[no-untyped-call]
        for_wide=True,
    ),
    # Ours has the same name but no bias.
    Contender("river.Perceptron", lambda seed: linear_model.Perceptron(), by_default=False),
    Contender(
        "HoeffdingTreeClassifier",
        lambda seed: tree.HoeffdingTreeClassifier(),
        by_default=False,
        takes_text=True,
    ),
    # Ten trees cost about a hundred times as much as a linear learner.
    Contender(ARF, lambda seed: forest.ARFClassifier(n_models=10, seed=seed), takes_text=True),
)


def contenders(names: Collection[str]) -> tuple[Contender, ...]:
    """Return the contenders of these names, in the order of `CONTENDERS`.

    Examples
    --------
    >>> [contender.name for contender in contenders(["PAClassifier", "LogisticRegression"])]
    ['LogisticRegression', 'PAClassifier']

    """
    return tuple(contender for contender in CONTENDERS if contender.name in names)
