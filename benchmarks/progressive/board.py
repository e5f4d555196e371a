"""A live table of the current set on the terminal."""

from __future__ import annotations

import typing
from collections.abc import Mapping

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table

from benchmarks.progressive.summary import COSTS, MEASURES
from benchmarks.progressive.validation import Cell, Outcome
from river_oauc.cli.console import progress_bar

__all__ = ["Board"]

# Of the measures and costs, short enough for a terminal.
_HEADINGS = ("AUC", "in windows", "second half", "AP", "top 1 %", "µs", "KiB")


class Board:
    """The finished runs on the current set by AUC, above a progress bar with the time left.

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
        self._bar = progress_bar("runs")
        self._task = self._bar.add_task("", total=n_cells)
        self._live = Live(self._bar, console=self._console, transient=True)

    def __enter__(self) -> typing.Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._live.stop()

    def advance(self, name: str, outcomes: Mapping[Cell, Outcome]) -> None:
        """Advance the bar by one run, and show all finished runs on its set."""
        self._bar.advance(self._task)
        table = Table("model", *_HEADINGS, "up to", title=name)
        own = [(cell, outcome) for cell, outcome in outcomes.items() if cell.stream == name]
        for cell, outcome in sorted(own, key=lambda item: -item[1].auc):
            table.add_row(
                cell.model if cell.scaler == "bare" else f"{cell.model}, {cell.scaler}",
                *(f"{getattr(outcome, measure):.1f}" for measure in MEASURES),
                *(f"{getattr(outcome, cost):,.0f}" for cost in COSTS),
                f"{outcome.stopped_at or cell.examples:,}",
            )
        self._live.update(Group(table, self._bar))
