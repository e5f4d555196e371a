"""The learners that are compared on streams, each in its best usual preparation."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from river import ensemble, forest, imblearn, linear_model, optim, preprocessing, tree

from river_oauc import OAUCM, AutoOAUCM, AutoOKAUCM, SparseOAUCM
from river_oauc.experiments.streams.vowpal import VowpalWabbit

__all__ = ["OURS", "RIVALS", "SPARSE_RIVALS", "VOWPAL_WABBIT"]

Maker = Callable[[int], Any]


OURS: dict[str, Maker] = {
    "AutoOKAUCM": lambda seed: AutoOKAUCM(),
    "AutoOAUCM": lambda seed: AutoOAUCM(),
    "SparseOAUCM": lambda seed: SparseOAUCM(),
}

RIVALS: dict[str, Maker] = {
    "OAUCM, MinMax": lambda seed: preprocessing.MinMaxScaler() | OAUCM(),
    "LR, Standard": lambda seed: preprocessing.StandardScaler() | linear_model.LogisticRegression(),
    "LR, MinMax": lambda seed: preprocessing.MinMaxScaler() | linear_model.LogisticRegression(),
    "RUS(LR), Standard": lambda seed: (
        preprocessing.StandardScaler()
        | imblearn.RandomUnderSampler(
            linear_model.LogisticRegression(), desired_dist={False: 0.5, True: 0.5}, seed=seed
        )
    ),
    "ARF": lambda seed: forest.ARFClassifier(n_models=10, seed=seed),
    "AMF": lambda seed: forest.AMFClassifier(n_estimators=10, seed=seed),
    "HAT": lambda seed: tree.HoeffdingAdaptiveTreeClassifier(seed=seed),
    "LeveragingBagging": lambda seed: ensemble.LeveragingBaggingClassifier(
        tree.HoeffdingTreeClassifier(), n_models=10, seed=seed
    ),
}

_OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "SGD": optim.SGD,
    "AdaGrad": optim.AdaGrad,
    "FTRL": optim.FTRLProximal,
}


def _bare(optimizer: str, seed: int) -> Any:
    return linear_model.LogisticRegression(_OPTIMIZERS[optimizer]())


def _scaled(optimizer: str, seed: int) -> Any:
    return preprocessing.MaxAbsScaler() | _bare(optimizer, seed)


def _vowpal(options: str, seed: int) -> VowpalWabbit:
    return VowpalWabbit(options)


# For wide streams: linear learners whose cost is in proportion to an example, bare and scaled.
SPARSE_RIVALS: dict[str, Maker] = {
    **{f"LR ({name})": functools.partial(_bare, name) for name in _OPTIMIZERS},
    **{f"LR ({name}), MaxAbs": functools.partial(_scaled, name) for name in _OPTIMIZERS},
    "PA": lambda seed: linear_model.PAClassifier(),  # type: ignore[no-untyped-call]
    "PA, MaxAbs": lambda seed: (
        preprocessing.MaxAbsScaler() | linear_model.PAClassifier()  # type: ignore[no-untyped-call]
    ),
}

# One pass, as it comes: the four ways of learning that one would try. Needs `vowpalwabbit`.
_VOWPAL_OPTIONS = {
    "logistic": "--loss_function logistic",
    "ftrl": "--ftrl --loss_function logistic",
    "coin": "--coin --loss_function logistic",
    "hinge": "--loss_function hinge",
}
VOWPAL_WABBIT: dict[str, Maker] = {
    f"VW ({name})": functools.partial(_vowpal, options) for name, options in _VOWPAL_OPTIONS.items()
}
