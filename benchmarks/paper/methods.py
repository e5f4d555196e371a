"""The methods of the paper's tables and their parameter grids."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.arrays import FloatArray
from benchmarks.paper.grids.adaptive import AdaOAMStack, FTRLAUCStack
from benchmarks.paper.grids.first_order import OAMStack, OLUBAUCStack, PAIStack
from benchmarks.paper.grids.koil import KOILStack
from benchmarks.paper.grids.oauc import OAUCMStack, OAUCSStack
from benchmarks.paper.grids.okauc import OKAUCMStack, OKAUCSStack
from benchmarks.paper.grids.saddle_point import SOLAMStack, SPAUCStack
from benchmarks.paper.grids.stack import Stack
from river_oauc import AutoOAUC, Perceptron

__all__ = ["TABLES", "Method", "Setting", "Table", "powers"]

Setting = dict[str, float]


class _Single(Stack):
    """A learner without parameters to tune, as a stack of one."""

    def __init__(self, make: Callable[[], Any], size: int) -> None:
        self._learner = make()
        self.diverged = np.zeros(1, dtype=bool)

    def learn(self, x: FloatArray, positive: bool) -> None:
        self._learner.learn_one(dict(enumerate(x.tolist())), positive)

    def scores(self, matrix: FloatArray) -> FloatArray:
        return np.array(
            [[self._learner.score_one(dict(enumerate(row))) for row in matrix.tolist()]]
        )


def _linear_experts() -> AutoOAUC:
    return AutoOAUC(experts=("linear",))


@dataclass(frozen=True)
class Method:
    """A method and its grid.

    Parameters
    ----------
    name
        Its name in the tables.
    grid
        The values of each parameter, in ascending order.
    build
        Creates a stack from the number of features and, by name, an array of values of each
        parameter.
    is_random
        Whether `build` also takes a `seed`.

    """

    name: str
    grid: Mapping[str, tuple[float, ...]]
    build: Callable[..., Stack]
    is_random: bool = False

    @property
    def settings(self) -> list[Setting]:
        """The combinations of parameter values that can converge, the first parameter slowest.

        A step multiplies the weights by 1 - lr · l2. From lr · l2 = 2 on, that reverses their sign
        without shrinking them: the weights grow, or only alternate, and the parity of the number
        of examples decides whether they rank forwards or backwards. These settings are left out.

        Examples
        --------
        >>> Method("", {"l2": (0.25, 1.0), "lr": (0.5, 4.0)}, build=None).settings
        [{'l2': 0.25, 'lr': 0.5}, {'l2': 0.25, 'lr': 4.0}, {'l2': 1.0, 'lr': 0.5}]

        """
        combinations = itertools.product(*self.grid.values())
        settings = (dict(zip(self.grid, values, strict=True)) for values in combinations)
        return [
            setting for setting in settings if setting.get("lr", 0.0) * setting.get("l2", 0.0) < 2.0
        ]

    def stack(self, n_features: int, settings: Sequence[Setting], seed: int) -> Stack:
        """Create an untrained stack of these settings."""
        arrays = {name: np.array([setting[name] for setting in settings]) for name in self.grid}
        return self.build(n_features, **arrays, **({"seed": seed} if self.is_random else {}))


@dataclass(frozen=True)
class Table:
    """One of the paper's tables.

    Parameters
    ----------
    name
        `"linear"` or `"kernel"`.
    grid_step
        1 for all powers of 2 of the grids, 2 for every second one, and so on.
    methods
        The columns.
    reference
        The method that the others are tested against.
    max_examples
        Maximum number of training examples; None for all.

    """

    name: str
    grid_step: int
    methods: tuple[Method, ...]
    reference: str
    max_examples: int | None = None

    def method(self, name: str) -> Method:
        """Return the method of this name."""
        return next(method for method in self.methods if method.name == name)


def powers(low: int, high: int, step: int = 1) -> tuple[float, ...]:
    """Return powers of 2 between two exponents.

    Examples
    --------
    >>> powers(-2, 2, step=2)
    (0.25, 1.0, 4.0)

    """
    return tuple(2.0**exponent for exponent in range(low, high + 1, step))


def _linear(grid_step: int = 1) -> Table:
    paper = powers(-10, 10, grid_step)
    # Those of the learners that the paper does not compare with: fine in the step, coarse in the
    # regulariser, on which less depends.
    steps = powers(-8, 6, grid_step)
    return Table(
        "linear",
        grid_step,
        (
            Method("Perceptron", {}, functools.partial(_Single, Perceptron)),
            Method("PA-I", {"C": paper}, PAIStack),
            Method("OAM", {"C": paper}, OAMStack, is_random=True),
            # The paper's grid ends where OAM starts to rank well. This one continues, without the
            # weighting that makes the steps grow with the stream.
            Method(
                "OAM (wide)",
                {"C": powers(-24, 0, grid_step)},
                functools.partial(OAMStack, weighting="constant"),
                is_random=True,
            ),
            Method("OL-UBAUC", {"l2": paper}, OLUBAUCStack),
            Method("SOLAM", {"xi": steps, "R": powers(-3, 17, 4 * grid_step)}, SOLAMStack),
            Method("SPAUC", {"c": steps, "l2": powers(-14, 2, 4 * grid_step)}, SPAUCStack),
            Method("AdaOAM", {"l2": powers(-14, 2, 4 * grid_step), "lr": steps}, AdaOAMStack),
            Method("FTRL-AUC", {"alpha": steps, "l1": powers(-12, 4, 4 * grid_step)}, FTRLAUCStack),
            Method("OAUC-S", {"l2": paper, "lr": paper}, OAUCSStack),
            Method("OAUC-Mc", {"l2": paper, "lr": paper}, OAUCMStack),
            Method("OAUC-M", {"l2": paper}, OAUCMStack),
            Method("AutoOAUC (linear)", {}, functools.partial(_Single, _linear_experts)),
        ),
        reference="OAUC-M",
    )


def _kernel(grid_step: int = 2) -> Table:
    paper = powers(-10, 10, grid_step)
    # The paper's kernel is exp(-|x - z|² / σ²) with σ on this grid, so gamma = 1 / σ².
    gamma = tuple(sorted(sigma**-2 for sigma in paper))
    return Table(
        "kernel",
        grid_step,
        (
            Method("KOIL", {"C": paper, "gamma": gamma}, KOILStack),
            Method("OKAUC-S", {"l2": paper, "lr": paper, "gamma": gamma}, OKAUCSStack),
            Method("OKAUC-Mc", {"l2": paper, "lr": paper, "gamma": gamma}, OKAUCMStack),
            Method("OKAUC-M", {"l2": paper, "gamma": gamma}, OKAUCMStack),
        ),
        reference="OKAUC-M",
        max_examples=10_000,
    )


# Tables by name; each takes a grid step and has its own default.
TABLES: dict[str, Callable[..., Table]] = {"linear": _linear, "kernel": _kernel}
