"""Online AUC maximisation for river: classifiers that learn a score that ranks."""

from __future__ import annotations

from river_oauc.auto import AutoOAUCM
from river_oauc.baselines import OAM, OLUBAUC, PAI, Perceptron
from river_oauc.kernel import OKAUCM, OKAUCS
from river_oauc.koil import KOIL
from river_oauc.linear import OAUCM, OAUCS

__all__ = [
    "KOIL",
    "OAM",
    "OAUCM",
    "OAUCS",
    "OKAUCM",
    "OKAUCS",
    "OLUBAUC",
    "PAI",
    "AutoOAUCM",
    "Perceptron",
]
