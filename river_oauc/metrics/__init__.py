"""Exact ranking metrics for streams with rare positives."""

from __future__ import annotations

from river_oauc.metrics.precision import (
    AveragePrecision,
    PrecisionAtK,
    RecallAtK,
    average_precision,
    precision_at_k,
)
from river_oauc.metrics.roc import ExactROCAUC, PartialROCAUC, exact_auc

__all__ = [
    "AveragePrecision",
    "ExactROCAUC",
    "PartialROCAUC",
    "PrecisionAtK",
    "RecallAtK",
    "average_precision",
    "exact_auc",
    "precision_at_k",
]
