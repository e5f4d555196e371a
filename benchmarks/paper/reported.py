"""What the paper reports, to stand beside what is measured here.

The figures are those of Luo, Cheng, Zhang: Online AUC Optimization Based on Second-order Surrogate
Loss, Table 2 (linear) and Table 3 (kernel).
"""

from __future__ import annotations

import csv
import importlib.resources
from typing import NamedTuple

__all__ = ["SOURCES", "Reported", "reported"]

_PAPER = "Luo, Cheng, Zhang: Online AUC Optimization Based on Second-order Surrogate Loss"
SOURCES = {"linear": f"{_PAPER}, Table 2", "kernel": f"{_PAPER}, Table 3"}


class Reported(NamedTuple):
    """Mean and standard deviation of the AUC, in percent."""

    mean: float
    std: float


def reported(table: str) -> dict[tuple[str, str], Reported]:
    """The paper's figures of a table, `"linear"` or `"kernel"`, by set and method.

    Examples
    --------
    >>> reported("linear")["heart", "OAUC-M"]
    Reported(mean=91.18, std=1.33)

    """
    file = importlib.resources.files(__package__).joinpath("published", f"{table}.csv")
    with file.open(encoding="utf-8") as lines:
        return {
            (row["dataset"], row["method"]): Reported(float(row["auc_mean"]), float(row["auc_std"]))
            for row in csv.DictReader(lines)
        }
