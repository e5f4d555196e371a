"""The file that keeps the outcome of every finished run of a table."""

from __future__ import annotations

import pathlib
import typing

from benchmarks.journal import Journal
from benchmarks.paper import protocol
from benchmarks.paper.methods import Table
from benchmarks.paper.protocol import Cell, Outcome

__all__ = ["header", "results_file"]

FORMAT = 1


def results_file(path: pathlib.Path, table: Table) -> Journal[Cell, Outcome]:
    """Return the journal of a table."""
    return Journal(path, Cell, Outcome, header(table))


def header(table: Table) -> dict[str, typing.Any]:
    """Return the settings that the outcomes of a table depend on."""
    return {
        "format": FORMAT,
        "table": table.name,
        "seed": protocol.SEED,
        "folds": protocol.N_FOLDS,
        "max_examples": table.max_examples,
        "grid_step": table.grid_step,
        "grids": {
            method.name: {name: list(values) for name, values in method.grid.items()}
            for method in table.methods
        },
    }
