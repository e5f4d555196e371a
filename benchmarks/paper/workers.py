"""Runs of the protocol in one or several processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks.paper.methods import Table
from benchmarks.paper.protocol import Cell, Outcome, run_cell
from river_oauc.cli.console.errors import UserError

__all__ = ["run_cells"]


def run_cells(table: Table, cells: Sequence[Cell], jobs: int) -> Iterator[tuple[Cell, Outcome]]:
    """Run the cells and yield each with its outcome as it finishes.

    BLAS has one thread in each process: on matrices of this size more threads only wait for each
    other and take cores from the other processes.

    Parameters
    ----------
    table
        The table that the cells belong to.
    cells
        The runs, started in this order.
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
    # Spawned, not forked: the threads of BLAS do not survive a fork.
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _prepare)
    try:
        futures = {pool.submit(run_cell, table, cell): cell for cell in cells}
        for future in as_completed(futures):
            yield futures[future], future.result()
    except BrokenProcessPool:
        raise UserError(
            "a worker process has died (out of memory?); the same command continues from here"
        ) from None
    finally:
        # Do not wait: a run may take minutes.
        for process in multiprocessing.active_children():
            process.terminate()
        pool.shutdown(cancel_futures=True)


def _prepare() -> None:
    """Set up a worker process."""
    # The parent handles Ctrl-C and terminates its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    threadpool_limits(limits=1)


def _end_with_parent() -> None:
    """End this process when its parent ends, even if the parent was killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
