"""Vowpal Wabbit behind the two methods that a comparison needs."""

from __future__ import annotations

import importlib.util
import math
from typing import Any

from river_oauc.cli.console.errors import UserError

__all__ = ["IS_HERE", "VowpalWabbit"]

IS_HERE = importlib.util.find_spec("vowpalwabbit") is not None


class VowpalWabbit:
    """A one-pass learner of Vowpal Wabbit on feature dicts.

    Parameters
    ----------
    options
        What is said on its command line.

    """

    def __init__(self, options: str) -> None:
        if not IS_HERE:
            raise UserError("Vowpal Wabbit is not here: pip install vowpalwabbit")
        from vowpalwabbit import pyvw

        self._workspace: Any = pyvw.Workspace(f"--quiet -b 24 {options}")

    def _text(self, x: dict[Any, Any], label: str = "") -> str:
        features = " ".join(f"{name}:{value:.9g}" for name, value in x.items() if value)
        return f"{label} |f {features}"

    def predict_proba_one(self, x: dict[Any, Any]) -> dict[bool, float]:
        """What it says, between 0 and 1: not by a sigmoid, which would make ties."""
        score = float(self._workspace.predict(self._text(x)))
        p = 0.5 + math.atan(score) / math.pi
        return {False: 1.0 - p, True: p}

    def learn_one(self, x: dict[Any, Any], y: bool) -> None:
        """Learn from an example."""
        self._workspace.learn(self._text(x, "1" if y else "-1"))

    @property
    def _raw_memory_usage(self) -> int:
        # Its table of 2²⁴ weights, of four bytes and as much again for the steps.
        return 2**24 * 8
