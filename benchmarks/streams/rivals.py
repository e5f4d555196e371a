"""The learners of the stream benchmark, and the scalers that each is tried behind."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from river import ensemble, forest, imblearn, linear_model, optim, preprocessing, tree

from benchmarks.streams import moa, vowpal
from river_oauc import AutoOAUC, SparseOAUCM

__all__ = ["MODELS", "Model"]

_SCALERS: dict[str, Callable[[], Any]] = {
    "Standard": preprocessing.StandardScaler,
    "MinMax": preprocessing.MinMaxScaler,
    "MaxAbs": preprocessing.MaxAbsScaler,
}


@dataclass(frozen=True)
class Model:
    """A learner of the benchmark.

    Parameters
    ----------
    make
        Creates an untrained learner from a seed; deterministic learners ignore it.
    scalers
        The scalers that it is tried behind; "bare" is none. The tables report the best.
    ours
        Whether it comes from this package.
    for_long
        Whether it also runs on long and wide streams: the cost of a step must depend on the
        features of the example only.
    is_installed
        Whether the packages that it needs are installed.

    """

    make: Callable[[int], Any]
    scalers: tuple[str, ...] = ("bare",)
    ours: bool = False
    for_long: bool = False
    is_installed: bool = True

    def prepared(self, scaler: str, seed: int) -> Any:
        """Create an untrained learner behind one of its scalers."""
        learner = self.make(seed)
        return learner if scaler == "bare" else _SCALERS[scaler]() | learner


def _logistic(optimizer: Callable[[], Any], seed: int) -> Any:
    return linear_model.LogisticRegression(optimizer())


def _linear(make: Callable[[int], Any]) -> Model:
    return Model(make, scalers=("bare", *_SCALERS), for_long=True)


def _vowpal_wabbit(options: str) -> Model:
    # Bare because it scales features by itself, except with FTRL.
    return Model(
        lambda seed: vowpal.VowpalWabbit(options), for_long=True, is_installed=vowpal.IS_INSTALLED
    )


def _moa(name: str, **options: Any) -> Model:
    return Model(
        lambda seed: moa.MOA(name, random_seed=seed + 1, **options), is_installed=moa.IS_INSTALLED
    )


MODELS = {
    "AutoOAUC": Model(lambda seed: AutoOAUC(seed=seed), ours=True),
    "SparseOAUCM": Model(lambda seed: SparseOAUCM(), ours=True, for_long=True),
    "LR (SGD)": _linear(functools.partial(_logistic, optim.SGD)),
    "LR (AdaGrad)": _linear(functools.partial(_logistic, optim.AdaGrad)),
    "LR (FTRL)": _linear(functools.partial(_logistic, optim.FTRLProximal)),
    "RUS (LR)": _linear(
        lambda seed: imblearn.RandomUnderSampler(
            linear_model.LogisticRegression(), desired_dist={False: 0.5, True: 0.5}, seed=seed
        )
    ),
    "VW (logistic)": _vowpal_wabbit("--loss_function logistic"),
    "VW (FTRL)": _vowpal_wabbit("--ftrl --loss_function logistic"),
    "VW (coin)": _vowpal_wabbit("--coin --loss_function logistic"),
    "HAT": Model(lambda seed: tree.HoeffdingAdaptiveTreeClassifier(seed=seed)),
    "ARF": Model(lambda seed: forest.ARFClassifier(n_models=10, seed=seed)),
    "AMF": Model(lambda seed: forest.AMFClassifier(n_estimators=10, seed=seed)),
    "LeveragingBagging": Model(
        lambda seed: ensemble.LeveragingBaggingClassifier(
            tree.HoeffdingTreeClassifier(), n_models=10, seed=seed
        )
    ),
    "SRP": Model(lambda seed: ensemble.SRPClassifier(n_models=10, seed=seed)),
    "MOA ARF": _moa("AdaptiveRandomForestClassifier", ensemble_size=100),
    "MOA SGBT": _moa("StreamingGradientBoostedTrees"),
    "MOA SRP": _moa("StreamingRandomPatches", ensemble_size=30),
}
