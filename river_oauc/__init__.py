"""Online AUC maximisation for river: classifiers that learn a score that ranks."""

from __future__ import annotations

from river_oauc.linear import OAUCM, OAUCS

__all__ = ["OAUCM", "OAUCS"]
