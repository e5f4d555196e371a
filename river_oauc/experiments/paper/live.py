"""The table as it fills, with the time that is left."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table as Grid
from rich.text import Text

from river_oauc.datasets import BENCHMARKS
from river_oauc.experiments.paper.protocol import Cell, Outcome
from river_oauc.experiments.paper.workers import Finished

__all__ = ["Forecast", "LiveTable"]


class Forecast:
    """How long the rest will take, judged by what each method has taken so far.

    A method's time is taken to be proportional to the size of the set; a method that has not
    finished yet, to take as long as the others do on average.

    Parameters
    ----------
    jobs
        Number of processes.
    max_examples
        How many examples of a set are learned at most; None is all.

    """

    def __init__(self, jobs: int, max_examples: int | None = None) -> None:
        self._jobs = jobs
        self._max_examples = max_examples
        self._seconds: dict[str, float] = defaultdict(float)
        self._examples: Counter[str] = Counter()

    def add(self, finished: Finished) -> None:
        """Learn from a cell that has finished."""
        self._seconds[finished.cell.method] += finished.seconds
        self._examples[finished.cell.method] += self._size(finished.cell)

    def seconds(self, cells: Iterable[Cell]) -> float | None:
        """The time that these cells will take; None as long as nothing has finished."""
        if not self._seconds:
            return None
        rates = {name: self._seconds[name] / self._examples[name] for name in self._seconds}
        average = sum(rates.values()) / len(rates)
        work = sum(self._size(cell) * rates.get(cell.method, average) for cell in cells)
        return work / self._jobs

    def _size(self, cell: Cell) -> int:
        n_samples = BENCHMARKS[cell.dataset].facts.n_samples
        return min(n_samples, self._max_examples or n_samples)


class LiveTable:
    """A table on the terminal: the mean of each method on each set so far.

    Means of fewer runs than asked for are dim. On anything but a terminal nothing is shown.

    Parameters
    ----------
    datasets, methods
        Rows and columns.
    n_runs
        The number of runs.
    outcomes
        The outcomes, to be kept up to date by the caller.
    forecast
        What to judge the time by.

    """

    def __init__(
        self,
        datasets: Sequence[str],
        methods: Sequence[str],
        n_runs: int,
        outcomes: Mapping[Cell, Outcome],
        forecast: Forecast,
    ) -> None:
        self._datasets = datasets
        self._methods = methods
        self._n_runs = n_runs
        self._outcomes = outcomes
        self._forecast = forecast
        self._deadline: float | None = None
        self._console = Console(stderr=True)
        self._live = Live(
            console=self._console,
            get_renderable=self._render,
            refresh_per_second=1,
            transient=True,
        )

    def __enter__(self) -> LiveTable:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._live.stop()

    def note(self, finished: Finished) -> None:
        """Show that a cell has finished; its outcome is there already."""
        self._forecast.add(finished)
        seconds = self._forecast.seconds(
            cell for cell in self._cells() if cell not in self._outcomes
        )
        self._deadline = None if seconds is None else time.monotonic() + seconds

    def _cells(self) -> list[Cell]:
        return [
            Cell(dataset, method, run)
            for dataset in self._datasets
            for method in self._methods
            for run in range(self._n_runs)
        ]

    def _render(self) -> RenderableType:
        cells = self._cells()
        n_done = sum(cell in self._outcomes for cell in cells)
        left = ""
        if self._deadline is not None:
            left = f", {_duration(self._deadline - time.monotonic())} left"
        grid = Grid(box=None, header_style="bold", padding=(0, 1, 0, 0))
        grid.add_column("AUC in %", no_wrap=True)
        for method in self._methods:
            grid.add_column(method, justify="right", overflow="fold")
        for dataset in self._datasets:
            grid.add_row(dataset, *(self._mean(dataset, method) for method in self._methods))
        return Group(grid, Text(f"{n_done:,} of {len(cells):,} runs{left}", style="dim"))

    def _mean(self, dataset: str, method: str) -> Text:
        aucs = [
            self._outcomes[cell].auc
            for cell in (Cell(dataset, method, run) for run in range(self._n_runs))
            if cell in self._outcomes
        ]
        if not aucs:
            return Text("·", style="dim")
        is_complete = len(aucs) == self._n_runs
        return Text(f"{100 * sum(aucs) / len(aucs):.2f}", style="" if is_complete else "dim")


def _duration(seconds: float) -> str:
    """Examples
    --------
    >>> _duration(59.7), _duration(3700), _duration(-1)
    ('1:00', '1:01:40', '0:00')

    """
    minutes, seconds = divmod(round(max(seconds, 0.0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
