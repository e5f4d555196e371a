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
from river_oauc.cli.messages import UserError, known_name
from river_oauc.cli.preparations import CODES, LINEAR, MIN_MAX, RAW, TREE
from river_oauc.cli.retrained import Retrained, is_installed

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
    cost
        About how many microseconds a record of 20 values takes, all preparations together.

    """

    name: str
    make: Callable[[int], Any]
    ours: bool = False
    by_default: bool = True
    preparations: tuple[str, ...] = (RAW,)
    cost: float = 1_000.0


def new_learner(name: str, seed: int) -> Any:
    """Return a new learner of this package."""
    cls = getattr(river_oauc, name)
    return cls(seed=seed) if "seed" in inspect.signature(cls).parameters else cls()


def _ours(name: str, cost: float, by_default: bool = False, preparation: str = RAW) -> Contender:
    make = functools.partial(new_learner, name)
    return Contender(name, make, True, by_default, (preparation,), cost)


def _undersampled(seed: int) -> base.Classifier:
    return imblearn.RandomUnderSampler(
        linear_model.LogisticRegression(), desired_dist={False: 0.5, True: 0.5}, seed=seed
    )


def _trees(seed: int) -> base.Classifier:
    return forest.ARFClassifier(n_models=10, seed=seed)


def _retrained(library: str, seed: int) -> Retrained:
    return Retrained(library)


# The paper's learners and its baselines.
_PAPER = (
    "OAUCM", "OAUCS", "OKAUCM", "OKAUCS", "KOIL", "OAM", "OLUBAUC", "AdaOAM", "FTRLAUC", "SOLAM",
    "SPAUC", "PAI", "Perceptron",
)  # fmt: skip

# Undersampling before logistic regression is the usual choice in river for rare positives.
# river's Perceptron has a bias, ours has none.
_RIVER: tuple[tuple[str, Callable[[int], Any], bool, tuple[str, ...], float], ...] = (
    (LOGISTIC, lambda _: linear_model.LogisticRegression(), True, LINEAR, 250),
    ("LR(AdaGrad)", lambda _: linear_model.LogisticRegression(optim.AdaGrad()), True, LINEAR, 250),
    ("RandomUnderSampler", _undersampled, True, LINEAR, 250),
    ("PAClassifier", lambda _: linear_model.PAClassifier(), False, LINEAR, 250),  # type: ignore
    ("river.Perceptron", lambda _: linear_model.Perceptron(), False, LINEAR, 250),
    ("HoeffdingTreeClassifier", lambda _: tree.HoeffdingTreeClassifier(), False, TREE, 200),
    (ARF, _trees, True, TREE, 900),
)
# Batch learners, retrained as the stream grows. They run by default where they are installed.
_RETRAINED = {"LightGBM": 200.0, "CatBoost": 8_000.0}

CONTENDERS = (
    _ours("AutoOAUC", 250, by_default=True),
    _ours("SparseOAUCM", 20, by_default=True),
    _ours("OTAUC", 150),
    *(_ours(name, 300, preparation=MIN_MAX) for name in _PAPER),
    *(Contender(name, make, False, default, p, cost) for name, make, default, p, cost in _RIVER),
    *(
        Contender(
            name, functools.partial(_retrained, name), False, is_installed(name), (CODES,), cost
        )
        for name, cost in _RETRAINED.items()
    ),
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
        make: Callable[[], Any] = found.clone if isinstance(found, base.Base) else found
        model = make()
    except Exception as error:
        raise UserError(f"--models {path}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.pop(0)
    for method in ("predict_proba_one", "learn_one"):
        if not callable(getattr(model, method, None)):
            raise UserError(f"--models {path}: a {type(model).__name__} has no {method}")
    return Contender(path, lambda seed: make())
