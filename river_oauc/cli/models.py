"""The learners that `compare` knows by name."""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from river import base, forest, imblearn, linear_model, optim, tree

import river_oauc
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


def new_learner(name: str, seed: int) -> Any:
    """Return a new learner of this package."""
    cls = getattr(river_oauc, name)
    return cls(seed=seed) if "seed" in inspect.signature(cls).parameters else cls()


def _ours(name: str, by_default: bool = False, preparation: str = RAW) -> Contender:
    make = functools.partial(new_learner, name)
    return Contender(name, make, True, by_default, (preparation,))


def _undersampled(seed: int) -> base.Classifier:
    return imblearn.RandomUnderSampler(
        linear_model.LogisticRegression(), desired_dist={False: 0.5, True: 0.5}, seed=seed
    )


def _trees(seed: int) -> base.Classifier:
    return forest.ARFClassifier(n_models=10, seed=seed)


# The paper's learners and its baselines.
_PAPER = (
    "OAUCM", "OAUCS", "OKAUCM", "OKAUCS", "KOIL", "OAM", "OLUBAUC", "AdaOAM", "FTRLAUC", "SOLAM",
    "SPAUC", "PAI", "Perceptron",
)  # fmt: skip

# Undersampling before logistic regression is the usual choice in river for rare positives.
# river's Perceptron has a bias, ours has none.
_RIVER: tuple[tuple[str, Callable[[int], base.Classifier], bool, tuple[str, ...]], ...] = (
    (LOGISTIC, lambda _: linear_model.LogisticRegression(), True, LINEAR),
    ("LR(AdaGrad)", lambda _: linear_model.LogisticRegression(optim.AdaGrad()), True, LINEAR),
    ("RandomUnderSampler", _undersampled, True, LINEAR),
    ("PAClassifier", lambda _: linear_model.PAClassifier(), True, LINEAR),  # type: ignore
    ("river.Perceptron", lambda _: linear_model.Perceptron(), False, LINEAR),
    ("HoeffdingTreeClassifier", lambda _: tree.HoeffdingTreeClassifier(), False, TREE),
    (ARF, _trees, True, TREE),
)

CONTENDERS = (
    _ours("AutoOAUC", by_default=True),
    _ours("SparseOAUCM", by_default=True),
    _ours("OTAUC"),
    *(_ours(name, preparation=MIN_MAX) for name in _PAPER),
    *(Contender(name, make, False, default, p) for name, make, default, p in _RIVER),
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
