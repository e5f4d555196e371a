"""The methods of the paper's tables, and the grids that they are tuned over."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from river_oauc import AutoOAUCM, Perceptron
from river_oauc.base import OnlineAUCClassifier
from benchmarks.paper.grids.first_order import OAMStack, OLUBAUCStack, PAIStack
from benchmarks.paper.grids.koil import KOILStack
from benchmarks.paper.grids.oauc import OAUCMStack, OAUCSStack
from benchmarks.paper.grids.okauc import OKAUCMStack, OKAUCSStack
from benchmarks.paper.grids.stack import Stack
from river_oauc.inputs.arrays import FloatArray
from river_oauc.inputs.limits import Features

__all__ = ["TABLES", "Method", "Setting", "Table", "powers"]

Setting = dict[str, float]


class _Single(Stack):
    """A learner with nothing to set, as a stack of one."""

    def __init__(self, make: Callable[[], OnlineAUCClassifier], size: int) -> None:
        self._learner = make()
        self._names = list(range(size))
        self.diverged = np.zeros(1, dtype=bool)

    def learn(self, x: FloatArray, positive: bool) -> None:
        self._learner.learn_one(dict(zip(self._names, x.tolist(), strict=True)), positive)

    def scores(self, matrix: FloatArray) -> FloatArray:
        rows: Iterator[Features] = (
            dict(zip(self._names, row, strict=True)) for row in matrix.tolist()
        )
        return np.array([[self._learner.score_one(row) for row in rows]])


@dataclass(frozen=True)
class Method:
    """A method and its grid.

    Parameters
    ----------
    name
        What the tables call it.
    grid
        The values of each parameter, in ascending order.
    build
        Makes a stack from the number of features, and an array of values for each parameter by its
        name.
    uses_chance
        Whether `build` takes a `seed`, too.

    """

    name: str
    grid: Mapping[str, tuple[float, ...]]
    build: Callable[..., Stack]
    uses_chance: bool = False

    @property
    def settings(self) -> list[Setting]:
        """All combinations of the values that can work, those of the first parameter changing last.

        A step shrinks the weights by the factor 1 - lr · l2. From lr · l2 = 2 on that turns them
        round without making them any smaller: they grow for ever, or they stay, and whether they
        rank or rank backwards is a matter of whether the number of examples is odd. These count as
        diverged before they start.

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
        """A stack of these settings of the method that has learned nothing yet."""
        arrays = {name: np.array([setting[name] for setting in settings]) for name in self.grid}
        return self.build(n_features, **arrays, **({"seed": seed} if self.uses_chance else {}))


@dataclass(frozen=True)
class Table:
    """One of the paper's tables.

    Parameters
    ----------
    name
        `"linear"` or `"kernel"`.
    grid_step
        Which powers of 2 the grids have: 1 for all, 2 for every second one.
    methods
        The columns.
    reference
        The method that the others are tested against.
    max_examples
        How many examples of the training folds are learned at most; None is all.

    """

    name: str
    grid_step: int
    methods: tuple[Method, ...]
    reference: str
    max_examples: int | None = None

    def method(self, name: str) -> Method:
        """The method of this name."""
        return next(method for method in self.methods if method.name == name)


def powers(low: int, high: int, step: int = 1) -> tuple[float, ...]:
    """Powers of 2.

    Examples
    --------
    >>> powers(-2, 2, step=2)
    (0.25, 1.0, 4.0)

    """
    return tuple(2.0**exponent for exponent in range(low, high + 1, step))


def _linear(grid_step: int = 1) -> Table:
    paper = powers(-10, 10, grid_step)
    return Table(
        "linear",
        grid_step,
        (
            Method("Perceptron", {}, functools.partial(_Single, Perceptron)),
            Method("PA-I", {"C": paper}, PAIStack),
            Method("OAM", {"C": paper}, OAMStack, uses_chance=True),
            # The paper's grid ends where OAM begins to be good. This one goes on, and leaves out
            # the weighting that lets the steps grow with the stream.
            Method(
                "OAM (wide)",
                {"C": powers(-24, 0, grid_step)},
                functools.partial(OAMStack, weighting="constant"),
                uses_chance=True,
            ),
            Method("OL-UBAUC", {"l2": paper}, OLUBAUCStack),
            Method("OAUC-S", {"l2": paper, "lr": paper}, OAUCSStack),
            Method("OAUC-Mc", {"l2": paper, "lr": paper}, OAUCMStack),
            Method("OAUC-M", {"l2": paper}, OAUCMStack),
            Method("AutoOAUCM", {}, functools.partial(_Single, AutoOAUCM)),
        ),
        reference="OAUC-M",
    )


def _kernel(grid_step: int = 2) -> Table:
    paper = powers(-10, 10, grid_step)
    # The paper writes exp(-|x - z|² / σ²) and has σ on this grid: gamma = 1 / σ².
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


# A table by its name; each takes a grid step, and has its own default.
TABLES: dict[str, Callable[..., Table]] = {"linear": _linear, "kernel": _kernel}
