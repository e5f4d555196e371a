"""Online AUC maximisation for river: classifiers that learn a score that ranks."""

from __future__ import annotations

from river_oauc.acceleration import compiled as compiled
from river_oauc.auto import AutoOAUC
from river_oauc.baselines import (
    FTRLAUC,
    KOIL,
    OAM,
    OLUBAUC,
    PAI,
    SOLAM,
    SPAUC,
    AdaOAM,
    Perceptron,
)
from river_oauc.kernel import OKAUCM, OKAUCS
from river_oauc.linear import OAUCM, OAUCS
from river_oauc.sparse import SparseOAUCM
from river_oauc.trees import OTAUC

__all__ = [
    "AdaOAM",
    "AutoOAUC",
    "FTRLAUC",
    "KOIL",
    "OAM",
    "OAUCM",
    "OAUCS",
    "OKAUCM",
    "OKAUCS",
    "OLUBAUC",
    "OTAUC",
    "PAI",
    "Perceptron",
    "SOLAM",
    "SPAUC",
    "SparseOAUCM",
]

__version__ = "0.1.0"
