"""The learners that `compare` knows by name."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
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
from river_oauc.cli.console.errors import UserError
from river_oauc.cli.console.names import known_name
from river_oauc.cli.preparations import LINEAR, MIN_MAX, RAW, TREE

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
    preparations
        The preparations of the records to try, of `PREPARATIONS`, or `RAW`.

    """

    name: str
    make: Callable[[int], base.Classifier]
    ours: bool = False
    by_default: bool = True
    preparations: tuple[str, ...] = (RAW,)


def _undersampled(seed: int) -> base.Classifier:
    return imblearn.RandomUnderSampler(
        linear_model.LogisticRegression(), desired_dist={False: 0.5, True: 0.5}, seed=seed
    )


def _of_the_paper(name: str, make: Callable[[int], base.Classifier]) -> Contender:
    return Contender(name, make, ours=True, by_default=False, preparations=(MIN_MAX,))


CONTENDERS = (
    Contender("AutoOAUC", lambda seed: AutoOAUC(seed=seed), ours=True),
    Contender("SparseOAUCM", lambda seed: SparseOAUCM(), ours=True),
    Contender("OTAUC", lambda seed: OTAUC(seed=seed), ours=True, by_default=False),
    _of_the_paper("OAUCM", lambda seed: OAUCM()),
    _of_the_paper("OAUCS", lambda seed: OAUCS()),
    _of_the_paper("OKAUCM", lambda seed: OKAUCM(seed=seed)),
    _of_the_paper("OKAUCS", lambda seed: OKAUCS(seed=seed)),
    _of_the_paper("KOIL", lambda seed: KOIL(seed=seed)),
    _of_the_paper("OAM", lambda seed: OAM(seed=seed)),
    _of_the_paper("OLUBAUC", lambda seed: OLUBAUC()),
    _of_the_paper("AdaOAM", lambda seed: AdaOAM()),
    _of_the_paper("FTRLAUC", lambda seed: FTRLAUC()),
    _of_the_paper("SOLAM", lambda seed: SOLAM()),
    _of_the_paper("SPAUC", lambda seed: SPAUC()),
    _of_the_paper("PAI", lambda seed: PAI()),
    _of_the_paper("Perceptron", lambda seed: Perceptron()),
    Contender(LOGISTIC, lambda seed: linear_model.LogisticRegression(), preparations=LINEAR),
    Contender(
        "LR(AdaGrad)",
        lambda seed: linear_model.LogisticRegression(optim.AdaGrad()),
        preparations=LINEAR,
    ),
    # With logistic regression: the usual choice in river for rare positives.
    Contender("RandomUnderSampler", _undersampled, preparations=LINEAR),
    Contender(
        "PAClassifier",
        lambda seed: linear_model.PAClassifier(),  # type: ignore[no-untyped-call]
        preparations=LINEAR,
    ),
    # Ours has the same name but no bias.
    Contender(
        "river.Perceptron",
        lambda seed: linear_model.Perceptron(),
        by_default=False,
        preparations=LINEAR,
    ),
    Contender(
        "HoeffdingTreeClassifier",
        lambda seed: tree.HoeffdingTreeClassifier(),
        by_default=False,
        preparations=TREE,
    ),
    Contender(ARF, lambda seed: forest.ARFClassifier(n_models=10, seed=seed), preparations=TREE),
)


def find_contenders(names: list[str] | None) -> list[Contender]:
    """Return the contenders that the user names; those that run by default if None.

    A name such as `module:attribute` imports a model of the user's own.

    Examples
    --------
    >>> [contender.name for contender in find_contenders(["paclassifier", "AutoOAUC"])]
    ['PAClassifier', 'AutoOAUC']

    """
    if names is None:
        return [contender for contender in CONTENDERS if contender.by_default]
    known = {contender.name: contender for contender in CONTENDERS}
    found = [
        _import_contender(name) if ":" in name else known[known_name("model", name, known)]
        for name in names
    ]
    return list({contender.name: contender for contender in found}.values())


def _import_contender(path: str) -> Contender:
    """Return a model of the user's own: a classifier to clone, or a function that creates one."""
    module, _, attribute = path.partition(":")
    # As `python -m` does: an installed command does not look into the current directory.
    sys.path.insert(0, os.getcwd())
    try:
        found = getattr(importlib.import_module(module), attribute)
        model: Any = found.clone() if isinstance(found, base.Base) else found()
    except Exception as error:
        raise UserError(f"--models {path}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.pop(0)
    for method in ("predict_proba_one", "learn_one"):
        if not callable(getattr(model, method, None)):
            raise UserError(f"--models {path}: a {type(model).__name__} has no {method}")
    return Contender(path, lambda seed: model)
