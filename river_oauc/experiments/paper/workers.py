"""Runs of the protocol, in this process or in several, in whatever order they finish."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import NamedTuple

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from river_oauc.datasets import DatasetError
from river_oauc.experiments.console.errors import UserError, reason
from river_oauc.experiments.paper.methods import TABLES, Table
from river_oauc.experiments.paper.protocol import Cell, Outcome, run_cell

__all__ = ["Finished", "run_cells"]


class Finished(NamedTuple):
    """A cell with its outcome, and the seconds that it took."""

    cell: Cell
    outcome: Outcome
    seconds: float


def run_cells(table: Table, cells: Sequence[Cell], jobs: int) -> Iterator[Finished]:
    """Run the cells and give them out as they finish.

    BLAS has one thread in each process: more would only wait for each other on matrices of this
    size, and take the cores from the other processes.

    Parameters
    ----------
    table
        The table that the cells belong to.
    cells
        What to run, in this order as far as one process is concerned.
    jobs
        Number of processes.

    """
    jobs = min(jobs, len(cells))
    if jobs > 1:
        yield from _run_in_processes(table, cells, jobs)
    else:
        with threadpool_limits(limits=1):
            for cell in cells:
                yield _run(table, cell)


def _run(table: Table, cell: Cell) -> Finished:
    start = time.perf_counter()
    try:
        outcome = run_cell(table, cell)
    except DatasetError as error:
        raise UserError(str(error)) from error
    except MemoryError:
        raise UserError(
            f"there is not enough memory for {cell.method} on {cell.dataset}; fewer --jobs may help"
        ) from None
    return Finished(cell, outcome, time.perf_counter() - start)


def _run_in_processes(table: Table, cells: Sequence[Cell], jobs: int) -> Iterator[Finished]:
    # Fresh processes, not forks: a fork would keep the other workers' ends of their pipes open,
    # and would not notice the end of this process.
    context = multiprocessing.get_context("spawn")
    waiting = iter(cells)
    pipes: dict[Connection, multiprocessing.process.BaseProcess] = {}
    try:
        for cell in [next(waiting) for _ in range(jobs)]:
            ours, theirs = context.Pipe()
            worker = context.Process(
                target=_serve, args=(theirs, table.name, table.grid_step), daemon=True
            )
            with _interrupts_later():
                _start(worker)
                theirs.close()
                pipes[ours] = worker
            ours.send(cell)
        busy = set(pipes)
        while busy:
            for pipe in wait(list(busy)):
                assert isinstance(pipe, Connection)
                answer = pipe.recv()
                if isinstance(answer, UserError):
                    raise answer
                yield answer
                following = next(waiting, None)
                if following is None:
                    busy.remove(pipe)
                else:
                    pipe.send(following)
    except (EOFError, ConnectionError):
        raise UserError(
            "a worker process has died (out of memory?); the same command goes on from here"
        ) from None
    finally:
        for process in pipes.values():
            process.terminate()
            process.join()


def _start(worker: multiprocessing.process.BaseProcess) -> None:
    try:
        with _interrupts_blocked():
            worker.start()
    except OSError as error:
        raise UserError(
            f"a worker process can't be started: {reason(error)}; use fewer --jobs"
        ) from error


@contextlib.contextmanager
def _interrupts_later() -> Iterator[None]:
    """Hold an interrupt back until there is nothing half-started any more."""
    caught: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, frame: caught.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if caught:
        signal.raise_signal(signal.SIGINT)


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """See to it that a process that is started now never gets an interrupt.

    A terminal sends it to all of its processes, and one that is still importing could but print a
    traceback. The parent ends its workers itself.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Otherwise the first worker would start it, and it lets interrupts through again.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(pipe: Connection, table_name: str, grid_step: int) -> None:
    """What a worker does: run the cells that come through the pipe."""
    # Where there are no masks, this is the next best.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    threadpool_limits(limits=1)
    # A table holds functions without a name, which no pipe can carry.
    table = TABLES[table_name](grid_step)
    while True:
        try:
            cell = pipe.recv()
        except EOFError:
            return
        try:
            answer: Finished | UserError = _run(table, cell)
        except UserError as error:
            answer = error
        pipe.send(answer)


def _end_with_parent() -> None:
    """End this process when its parent does, even if that was killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
