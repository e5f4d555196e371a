"""Vowpal Wabbit with the methods of a river classifier."""

from __future__ import annotations

import importlib.util
import math
from typing import Any

from river_oauc.cli.messages import UserError

__all__ = ["IS_INSTALLED", "VowpalWabbit"]

IS_INSTALLED = importlib.util.find_spec("vowpalwabbit") is not None


class VowpalWabbit:
    """A one-pass learner of Vowpal Wabbit for feature dicts.

    Parameters
    ----------
    options
        Its command line options.

    """

    def __init__(self, options: str) -> None:
        if not IS_INSTALLED:
            raise UserError("Vowpal Wabbit is not installed: pip install vowpalwabbit")
        from vowpalwabbit import pyvw

        self._workspace: Any = pyvw.Workspace(f"--quiet -b 24 {options}")

    def _text(self, x: dict[Any, Any], label: str = "") -> str:
        features = " ".join(f"{name}:{value:.9g}" for name, value in x.items() if value)
        return f"{label} |f {features}"

    def predict_proba_one(self, x: dict[Any, Any]) -> dict[bool, float]:
        """Return its score mapped to (0, 1), by an arctangent because a sigmoid makes ties."""
        score = float(self._workspace.predict(self._text(x)))
        p = 0.5 + math.atan(score) / math.pi
        return {False: 1.0 - p, True: p}

    def learn_one(self, x: dict[Any, Any], y: bool) -> None:
        """Update the model with one example."""
        self._workspace.learn(self._text(x, "1" if y else "-1"))

    @property
    def _raw_memory_usage(self) -> int:
        # A table of 2²⁴ weights of four bytes, and as much again for the step sizes.
        return 2**24 * 8
