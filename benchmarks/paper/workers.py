"""Runs of the protocol, in this process or in several, in whatever order they finish."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import resource_tracker
from multiprocessing.connection import wait

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from river_oauc.cli.console.errors import UserError
from benchmarks.paper.methods import Table
from benchmarks.paper.protocol import Cell, Outcome, run_cell

__all__ = ["run_cells"]


def run_cells(table: Table, cells: Sequence[Cell], jobs: int) -> Iterator[tuple[Cell, Outcome]]:
    """The cells with their outcomes, as they finish.

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
                yield cell, run_cell(table, cell)


def _run_in_processes(
    table: Table, cells: Sequence[Cell], jobs: int
) -> Iterator[tuple[Cell, Outcome]]:
    # Fresh processes, not forks: BLAS may have threads here, which do not survive a fork.
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _prepare)
    try:
        with _interrupts_blocked():
            futures = {pool.submit(run_cell, table, cell): cell for cell in cells}
        for future in as_completed(futures):
            yield futures[future], future.result()
    except BrokenProcessPool:
        raise UserError(
            "a worker process has died (out of memory?); the same command goes on from here"
        ) from None
    finally:
        # Whatever they are at would take minutes to finish.
        for process in multiprocessing.active_children():
            process.terminate()
        pool.shutdown(cancel_futures=True)


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


def _prepare() -> None:
    """Make a fresh process a worker."""
    # Where there are no masks, this is the next best.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    threadpool_limits(limits=1)


def _end_with_parent() -> None:
    """End this process when its parent does, even if that was killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
