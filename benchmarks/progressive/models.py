"""The models of the benchmarks, and what each is tried behind."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from river import compose, ensemble, forest, imblearn, linear_model, optim, preprocessing, tree

from benchmarks.progressive import moa, vowpal
from river_oauc import OTAUC, AutoOAUC, SparseOAUCM
from river_oauc.baselines import FTRLAUC
from river_oauc.cli.preparations import LINEAR, PREPARATIONS, TREE
from river_oauc.cli.retrained import Retrained, is_installed

__all__ = ["RECORD_MODELS", "STREAM_MODELS", "Model"]


def _without_zeros(x: dict[Any, float]) -> dict[Any, float]:
    return {name: value for name, value in x.items() if value}


_SCALERS: dict[str, Callable[[], Any]] = {
    "Standard": preprocessing.StandardScaler,
    "MinMax": preprocessing.MinMaxScaler,
    "MaxAbs": preprocessing.MaxAbsScaler,
    # `Normalizer` fails if all values are 0.
    "Norm": lambda: (
        compose.FuncTransformer(_without_zeros) | preprocessing.Normalizer()  # type: ignore[no-untyped-call]
    ),
}
# The examples that windowed gradient boosting is trained on.
_LAST = 5_000
_SMALL_FORESTS = "-l (meta.AdaptiveRandomForest -s 10)"


@dataclass(frozen=True)
class Model:
    """A model of the benchmark.

    Parameters
    ----------
    make
        Creates an untrained model from a seed; deterministic models ignore it.
    scalers
        The scalers or preparations that it is tried behind; "bare" is none. The tables report the
        best.
    ours
        Whether it comes from this package.
    for_wide
        Whether it also runs on streams with thousands of features.
    is_installed
        Whether the packages that it needs are installed.

    """

    make: Callable[[int], Any]
    scalers: tuple[str, ...] = ("bare",)
    ours: bool = False
    for_wide: bool = False
    is_installed: bool = True

    def prepared(self, scaler: str, seed: int) -> Any:
        """Create an untrained model behind one of its scalers."""
        model = self.make(seed)
        return model if scaler == "bare" else (_SCALERS | PREPARATIONS)[scaler]() | model


def _logistic(optimizer: Callable[[], Any], seed: int) -> Any:
    return linear_model.LogisticRegression(optimizer())


def _undersampled(seed: int) -> Any:
    return imblearn.RandomUnderSampler(
        linear_model.LogisticRegression(), desired_dist={False: 0.5, True: 0.5}, seed=seed
    )


def _linear(make: Callable[[int], Any], *others: str) -> Model:
    return Model(make, scalers=("bare", "Standard", "MinMax", "MaxAbs", *others), for_wide=True)


def _vowpal_wabbit(options: str) -> Model:
    # Bare because it scales features by itself, except with FTRL.
    return Model(
        lambda seed: vowpal.VowpalWabbit(options), for_wide=True, is_installed=vowpal.IS_INSTALLED
    )


def _moa(name: str, **options: Any) -> Model:
    return Model(
        lambda seed: moa.MOA(name, random_seed=seed + 1, **options), is_installed=moa.IS_INSTALLED
    )


def _retrained(library: str, window: int | None = None, for_wide: bool = False) -> Model:
    return Model(
        lambda seed: Retrained(library, window),
        for_wide=for_wide,
        is_installed=is_installed(library),
    )


_AUTO = Model(lambda seed: AutoOAUC(seed=seed), ours=True)
_SPARSE = Model(lambda seed: SparseOAUCM(), ours=True, for_wide=True)
_RETRAINED = {
    "LightGBM": _retrained("LightGBM", for_wide=True),
    "LightGBM (last 5,000)": _retrained("LightGBM", _LAST, for_wide=True),
    "CatBoost": _retrained("CatBoost"),
    "CatBoost (last 5,000)": _retrained("CatBoost", _LAST),
}

# The first of ours that runs is compared with the rivals.
STREAM_MODELS = {
    "AutoOAUC": _AUTO,
    "SparseOAUCM": _SPARSE,
    # Linear learners.
    "LR (SGD)": _linear(functools.partial(_logistic, optim.SGD)),
    "LR (AdaGrad)": _linear(functools.partial(_logistic, optim.AdaGrad)),
    "LR (FTRL)": _linear(functools.partial(_logistic, optim.FTRLProximal)),
    "RUS (LR)": _linear(_undersampled),
    "FTRL-AUC": _linear(lambda seed: FTRLAUC(), "Norm"),
    # Bare because it only sees whether a feature is 0.
    "AdPredictor": Model(lambda seed: linear_model.AdPredictor(), for_wide=True),
    "VW (logistic)": _vowpal_wabbit("--loss_function logistic"),
    "VW (FTRL)": _vowpal_wabbit("--ftrl --loss_function logistic"),
    "VW (coin)": _vowpal_wabbit("--coin --loss_function logistic"),
    # Trees.
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
    # Ensembles for imbalance. Over forests of 100 trees, as by MOA's defaults, the first three do
    # not get through 10,000 examples in ten minutes; over forests, AdaC2 learns nothing.
    "MOA RUSBoost": _moa("OnlineRUSBoost", CLI=_SMALL_FORESTS),
    "MOA UnderOverBagging": _moa("OnlineUnderOverBagging", CLI=_SMALL_FORESTS),
    "MOA SMOTEBagging": _moa("OnlineSMOTEBagging", CLI=_SMALL_FORESTS),
    "MOA AdaC2": _moa("OnlineAdaC2", CLI="-l trees.HoeffdingAdaptiveTree"),
    "MOA C-SMOTE": _moa("CSMOTE", base_learner="meta.AdaptiveRandomForest"),
    # Gradient boosting, retrained.
    **_RETRAINED,
}

RECORD_MODELS = {
    "AutoOAUC": _AUTO,
    "OTAUC": Model(lambda seed: OTAUC(seed=seed), ours=True),
    "SparseOAUCM": _SPARSE,
    "LR (SGD)": Model(functools.partial(_logistic, optim.SGD), scalers=LINEAR),
    "LR (AdaGrad)": Model(functools.partial(_logistic, optim.AdaGrad), scalers=LINEAR),
    "RUS (LR)": Model(_undersampled, scalers=LINEAR),
    "ARF": Model(lambda seed: forest.ARFClassifier(n_models=10, seed=seed), scalers=TREE),
    **_RETRAINED,
}
