"""A live table of the current stream on the terminal."""

from __future__ import annotations

import typing
from collections.abc import Mapping

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table

from benchmarks.streams.progress import Cell, Outcome
from benchmarks.streams.rivals import MODELS
from river_oauc.cli.console.terminal import progress_bar

__all__ = ["Board"]


class Board:
    """The finished runs on the current stream by AUC, above a progress bar with the time left.

    It is on the error stream, so that the output can be piped, and only if that is a terminal.

    Parameters
    ----------
    n_cells
        Number of runs to come.
    console
        Where to draw; by default on the error stream.

    """

    def __init__(self, n_cells: int, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._bar = progress_bar("streams")
        self._task = self._bar.add_task("", total=n_cells)
        self._live = Live(self._bar, console=self._console, transient=True)

    def __enter__(self) -> typing.Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._live.stop()

    def show(self, stream: str, outcomes: Mapping[Cell, Outcome]) -> None:
        """Show the finished runs on a stream."""
        table = Table("model", "AUC", "in windows", "AP", "top 1 %", "µs", "KiB", title=stream)
        own = [(cell, outcome) for cell, outcome in outcomes.items() if cell.stream == stream]
        for cell, outcome in sorted(own, key=lambda item: -item[1].auc):
            *figures, time, memory = outcome
            name = cell.model if cell.scaler == "bare" else f"{cell.model}, {cell.scaler}"
            table.add_row(
                name,
                *(f"{figure:.1f}" for figure in figures),
                f"{time:,.0f}",
                f"{memory:,.0f}",
                style="bold" if MODELS[cell.model].ours else None,
            )
        self._live.update(Group(table, self._bar))

    def advance(self) -> None:
        """Advance the bar by one run."""
        self._bar.advance(self._task)
