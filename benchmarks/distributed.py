"""`python -m benchmarks distributed`: time to learn a table with one and two processes."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import pathlib
import tempfile
import time
import typing
from collections.abc import Callable, Iterator

import numpy as np
from rich.console import Console

from river_oauc.cli.console import positive_int, print_table, progress_bar, say
from river_oauc.cli.messages import UserError
from river_oauc.cli.models import CONTENDERS

__all__ = ["Measurement", "add_arguments", "measure", "run", "write_table"]

ROWS = 2_000_000
FEATURES = 20
PARTITIONS = 40
ROUNDS = 3
# Sizes of the clusters, which take turns.
PROCESSES = (1, 2)

_MEBIBYTE = 2**20


class Measurement(typing.NamedTuple):
    """Time and memory to learn a table.

    Parameters
    ----------
    seconds
        Time of the fastest round.
    memory
        Peak memory of a worker in bytes, sampled twice per second.
    memory_before
        Its memory before the first row.

    """

    seconds: float
    memory: int
    memory_before: int


def write_table(
    directory: pathlib.Path,
    n_rows: int,
    n_features: int,
    n_partitions: int,
    on_progress: Callable[[], object] = lambda: None,
) -> int:
    """Write a Parquet table, a file per partition, and return the bytes of one in memory.

    30 % of the rows are positive, and the class means are one standard deviation apart. The column
    `y` holds the labels.
    """
    import pandas as pd

    size = 0
    names = [f"x{j}" for j in range(n_features)]
    for number, rows in enumerate(np.array_split(np.arange(n_rows), n_partitions)):
        rng = np.random.default_rng([42, number])
        labels = rng.random(len(rows)) < 0.3
        values = rng.standard_normal((len(rows), n_features))
        values += labels[:, np.newaxis] / np.sqrt(n_features)
        partition = pd.DataFrame(values, columns=names).assign(y=labels)
        partition.to_parquet(directory / f"part-{number:05}.parquet", index=False)
        size = max(size, int(partition.memory_usage().sum()))
        on_progress()
    return size


def measure(
    directory: pathlib.Path,
    model: typing.Any,
    rounds: int,
    on_progress: Callable[[], object] = lambda: None,
) -> dict[int, Measurement]:
    """Return time and memory to learn a table, by number of processes.

    All clusters are started first, import the package and learn two partitions, which is not timed.
    They then take turns, so that a disturbance of the machine affects all of them.

    Parameters
    ----------
    directory
        The table.
    model
        The untrained learner.
    rounds
        How often each cluster learns the table.
    on_progress
        Called whenever a cluster has learned the table.

    """
    import dask.dataframe as dd

    from river_oauc import distributed

    frame = dd.read_parquet(directory)
    seconds = dict.fromkeys(PROCESSES, float("inf"))
    with contextlib.ExitStack() as stack:
        clients = {n: stack.enter_context(_cluster(n)) for n in PROCESSES}
        before = {n: max(client.run(_prepare).values()) for n, client in clients.items()}
        for client in clients.values():
            with client.as_current():
                distributed.learn(frame.partitions[:2], "y", model)
        for _ in range(rounds):
            for n, client in clients.items():
                start = time.perf_counter()
                with client.as_current():
                    distributed.learn(frame, "y", model)
                seconds[n] = min(seconds[n], time.perf_counter() - start)
                on_progress()
        peaks = {n: max(client.run(_peak).values()) for n, client in clients.items()}
    return {n: Measurement(seconds[n], peaks[n], before[n]) for n in PROCESSES}


@contextlib.contextmanager
def _cluster(n_processes: int) -> Iterator[typing.Any]:
    from distributed import Client, LocalCluster

    with (
        tempfile.TemporaryDirectory() as directory,
        LocalCluster(
            n_workers=n_processes,
            threads_per_worker=1,
            dashboard_address=":0",
            local_directory=directory,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def _prepare(dask_worker: typing.Any) -> int:
    """Import the package in a worker and return the bytes that it then uses."""
    import river_oauc.distributed  # noqa: F401

    dask_worker.monitor.update()
    return int(dask_worker.monitor.quantities["memory"][-1])


def _peak(dask_worker: typing.Any) -> int:
    """Return the peak memory that a worker has recorded."""
    return int(max(dask_worker.monitor.quantities["memory"]))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    for name, default, what in (
        ("rows", ROWS, "rows of the table"),
        ("features", FEATURES, "columns of the table"),
        ("partitions", PARTITIONS, "files of the table"),
        ("rounds", ROUNDS, "how often each cluster learns the table; the fastest round counts"),
    ):
        parser.add_argument(
            f"--{name}",
            type=positive_int,
            default=default,
            metavar="N",
            help=f"{what} (default: {default:,})",
        )
    names = [contender.name for contender in CONTENDERS if contender.ours]
    parser.add_argument(
        "--model",
        choices=names,
        default="OAUCM",
        metavar="NAME",
        help=f"the learner: {', '.join(names)} (default: OAUCM)",
    )


def run(args: argparse.Namespace) -> int:
    """Write a table, learn it with one and two processes, and print time and memory."""
    if any(importlib.util.find_spec(package) is None for package in ("dask", "distributed")):
        raise UserError('install the extra with `pip install "river-oauc[distributed]"`')
    (contender,) = (contender for contender in CONTENDERS if contender.name == args.model)
    model = contender.make(42)
    with tempfile.TemporaryDirectory() as name, progress_bar("measuring") as progress:
        directory = pathlib.Path(name)
        task = progress.add_task("", total=args.partitions + args.rounds * len(PROCESSES))
        partition = write_table(
            directory,
            args.rows,
            args.features,
            args.partitions,
            lambda: progress.advance(task),
        )
        measured = measure(directory, model, args.rounds, lambda: progress.advance(task))

    console = Console()
    say(
        console,
        f"{args.model} from {args.rows:,} rows of {args.features:,} columns: Parquet in "
        f"{args.partitions:,} partitions of\n{partition / _MEBIBYTE:.1f} MiB. Local clusters take "
        f"turns, the fastest of {args.rounds:,} rounds counts.\n",
        style="dim",
    )
    rows = [["processes", "seconds", "rows per second", "MiB before", "MiB at most", "partitions"]]
    for n, (seconds, memory, before) in measured.items():
        rows.append(
            [
                str(n),
                f"{seconds:.2f}",
                f"{args.rows / seconds:,.0f}",
                f"{before / _MEBIBYTE:,.0f}",
                f"{memory / _MEBIBYTE:,.0f}",
                f"{(memory - before) / partition:.1f}",
            ]
        )
    print_table(console, rows)
    one, two = (measured[n].seconds for n in PROCESSES)
    say(
        console,
        f"\nTwo processes are {one / two:.2f} times as fast as one. Memory is that of a worker;\n"
        "the last column is what learning added to it, in partitions.",
    )
    return 0
