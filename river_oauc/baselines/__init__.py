"""Learners to compare with, each from the formulas of its authors."""

from __future__ import annotations

from river_oauc.baselines.adaoam import AdaOAM
from river_oauc.baselines.first_order import OLUBAUC, PAI, Perceptron
from river_oauc.baselines.ftrl import FTRLAUC
from river_oauc.baselines.koil import KOIL
from river_oauc.baselines.oam import OAM
from river_oauc.baselines.saddle_point import SOLAM, SPAUC

__all__ = [
    "FTRLAUC",
    "KOIL",
    "OAM",
    "OLUBAUC",
    "PAI",
    "SOLAM",
    "SPAUC",
    "AdaOAM",
    "Perceptron",
]
