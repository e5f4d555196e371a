"""The figures that the paper reports.

They are from Tables 2 (linear) and 3 (kernel) of Luo, Cheng, Zhang: Online AUC Optimization Based
on Second-order Surrogate Loss.
"""

from __future__ import annotations

import csv
import pathlib
from typing import NamedTuple

__all__ = ["SOURCES", "Reported", "reported"]

_PAPER = "Luo, Cheng, Zhang: Online AUC Optimization Based on Second-order Surrogate Loss"
SOURCES = {"linear": f"{_PAPER}, Table 2", "kernel": f"{_PAPER}, Table 3"}


class Reported(NamedTuple):
    """Mean and standard deviation of the AUC, in percent."""

    mean: float
    std: float


def reported(table: str) -> dict[tuple[str, str], Reported]:
    """Return the paper's figures of the `"linear"` or `"kernel"` table by set and method.

    Examples
    --------
    >>> reported("linear")["heart", "OAUC-M"]
    Reported(mean=91.18, std=1.33)

    """
    path = pathlib.Path(__file__).with_name("published") / f"{table}.csv"
    with path.open(encoding="utf-8") as lines:
        return {
            (row["dataset"], row["method"]): Reported(float(row["auc_mean"]), float(row["auc_std"]))
            for row in csv.DictReader(lines)
        }
