"""`river-oauc distributed`: how much faster two processes learn from a table than one."""

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

from river_oauc.base import OnlineAUCClassifier
from river_oauc.cli.console.errors import UserError
from river_oauc.cli.console.terminal import positive_int, print_table, progress_bar, say
from river_oauc.cli.models import CONTENDERS

__all__ = ["Measurement", "add_arguments", "measure", "run", "write_table"]

ROWS = 2_000_000
FEATURES = 20
PARTITIONS = 40
ROUNDS = 3
# How many processes learn, in each round one after the other.
PROCESSES = (1, 2)

_MEBIBYTE = 2**20


class Measurement(typing.NamedTuple):
    """What learning a table took.

    Parameters
    ----------
    seconds
        In the fastest round.
    memory
        Bytes that a worker had at most, looked at twice per second.
    memory_before
        Bytes that it had before the first row.

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
    """Write a table in Parquet, a file per partition; returns the bytes of one in memory.

    Three rows in ten are positive, with means so much higher that the classes stand one standard
    deviation apart. The labels are the column `y`.
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
    model: OnlineAUCClassifier,
    rounds: int,
    on_progress: Callable[[], object] = lambda: None,
) -> dict[int, Measurement]:
    """What learning a table takes, by the number of processes.

    All clusters wait, with everything imported, and take turns, so that a disturbance of the
    machine falls on everyone. Starting them is not counted, nor the first two partitions, which
    each of them learns to warm up.

    Parameters
    ----------
    directory
        Where the table is.
    model
        What learns it.
    rounds
        How often each cluster learns it.
    on_progress
        Called whenever a cluster has learned it.

    """
    import dask.dataframe as dd

    from river_oauc import distributed

    frame = dd.read_parquet(directory)
    seconds = dict.fromkeys(PROCESSES, float("inf"))
    with contextlib.ExitStack() as stack:
        clients = {n: stack.enter_context(_cluster(n)) for n in PROCESSES}
        before = {n: max(client.run(_prepare).values()) for n, client in clients.items()}
        for client in clients.values():
            warm_up = frame.partitions[:2]
            distributed.learn(warm_up, "y", model, scheduler=client, progress=False)
        for _ in range(rounds):
            for n, client in clients.items():
                start = time.perf_counter()
                distributed.learn(frame, "y", model, scheduler=client, progress=False)
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
    """Import in a worker what it will need; returns the bytes that it then has."""
    import river_oauc.distributed  # noqa: F401

    dask_worker.monitor.update()
    return int(dask_worker.monitor.quantities["memory"][-1])


def _peak(dask_worker: typing.Any) -> int:
    """The most bytes that a worker had when it looked."""
    return int(max(dask_worker.monitor.quantities["memory"]))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `river-oauc distributed` takes."""
    for name, default, what in (
        ("rows", ROWS, "rows of the table"),
        ("features", FEATURES, "columns of the table"),
        ("partitions", PARTITIONS, "files that it is cut into"),
        ("rounds", ROUNDS, "how often each cluster learns it, of which the fastest counts"),
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
        help=f"what learns: {', '.join(names)} (default: OAUCM)",
    )


def run(args: argparse.Namespace) -> int:
    """Write a table, learn it on one process and on two, and print time and memory."""
    if any(importlib.util.find_spec(package) is None for package in ("dask", "distributed")):
        raise UserError('install the extra with `pip install "river-oauc[distributed]"`')
    (contender,) = (contender for contender in CONTENDERS if contender.name == args.model)
    model = typing.cast(OnlineAUCClassifier, contender.make(42))
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
        found = measure(directory, model, args.rounds, lambda: progress.advance(task))

    console = Console()
    say(
        console,
        f"{args.model} from {args.rows:,} rows of {args.features:,} columns: Parquet in "
        f"{args.partitions:,} partitions of\n{partition / _MEBIBYTE:.1f} MiB. Local clusters take "
        f"turns, the fastest of {args.rounds:,} rounds counts.\n",
        style="dim",
    )
    rows = [["processes", "seconds", "rows per second", "MiB before", "MiB at most", "partitions"]]
    for n, (seconds, memory, before) in found.items():
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
    one, two = (found[n].seconds for n in PROCESSES)
    say(
        console,
        f"\nTwo processes are {one / two:.2f} times as fast as one. Memory is that of a worker, "
        "and what\nlearning has added to it in partitions.",
    )
    return 0
