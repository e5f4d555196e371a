"""Runs of a benchmark in one or several processes."""

from __future__ import annotations

import argparse
import functools
import multiprocessing
import os
import signal
import threading
import typing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from river_oauc.cli.console import positive_int
from river_oauc.cli.messages import UserError

__all__ = ["add_jobs_argument", "run_cells"]

# More processes would exhaust the machine and not be any faster.
MAX_JOBS = 4 * (os.cpu_count() or 1)

CellT = typing.TypeVar("CellT")
OutcomeT = typing.TypeVar("OutcomeT")


def add_jobs_argument(parser: argparse.ArgumentParser) -> None:
    """Declare the argument for the number of processes."""
    parser.add_argument(
        "--jobs",
        type=functools.partial(positive_int, at_most=MAX_JOBS),
        default=1,
        metavar="N",
        help="number of processes (default: 1)",
    )


def run_cells(
    run: Callable[[CellT], OutcomeT], cells: Sequence[CellT], jobs: int
) -> Iterator[tuple[CellT, OutcomeT]]:
    """Run the cells and yield each with its outcome as it finishes.

    BLAS has one thread in each process: on matrices of this size more threads only wait for each
    other and take cores from the other processes.

    Parameters
    ----------
    run
        Runs a cell. With several processes it must be possible to pickle it.
    cells
        The runs, started in this order.
    jobs
        Number of processes.

    """
    jobs = min(jobs, len(cells))
    if jobs > 1:
        yield from _run_in_processes(run, cells, jobs)
    else:
        for cell in cells:
            yield cell, _run_in_one_thread(run, cell)


def _run_in_processes(
    run: Callable[[CellT], OutcomeT], cells: Sequence[CellT], jobs: int
) -> Iterator[tuple[CellT, OutcomeT]]:
    # Spawned, not forked: the threads of BLAS do not survive a fork.
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _prepare)
    try:
        futures = {pool.submit(_run_in_one_thread, run, cell): cell for cell in cells}
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


def _run_in_one_thread(run: Callable[[CellT], OutcomeT], cell: CellT) -> OutcomeT:
    # For each cell, because only libraries that have been loaded are limited.
    with threadpool_limits(limits=1):
        return run(cell)


def _prepare() -> None:
    """Set up a worker process."""
    # The parent handles Ctrl-C and terminates its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when its parent ends, even if the parent was killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
