"""Online AUC maximisation for river: classifiers that learn a score that ranks."""

from __future__ import annotations

# First, as it decides from where the others are loaded.
from river_oauc.loading import compiled as compiled

# isort: split
from river_oauc.auto.classifier import AutoOAUCM, AutoOKAUCM
from river_oauc.kernel.koil import KOIL
from river_oauc.kernel.okauc import OKAUCM, OKAUCS
from river_oauc.linear.first_order import OLUBAUC, PAI, Perceptron
from river_oauc.linear.oam import OAM
from river_oauc.linear.oauc import OAUCM, OAUCS
from river_oauc.linear.sparse import SparseOAUCM

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
    "AutoOKAUCM",
    "Perceptron",
    "SparseOAUCM",
]

__version__ = "0.1.0"
