"""Sums over the partitions of a Dask DataFrame."""

from __future__ import annotations

import copy
import sys
import typing
from collections.abc import Callable, Sequence

import dask
import dask.dataframe as dd
import distributed
import pandas as pd
from dask.delayed import Delayed
from dask.diagnostics import ProgressBar
from river import base

# The errors of a partition that cannot be read; those of pyarrow and pandas are subclasses. The
# error of a worker that was killed too often is none of them.
_READING_ERRORS = (KeyError, OSError, TypeError, ValueError)

Summand = typing.TypeVar("Summand")


class PartitionError(ValueError):
    """A partition is refused, or cannot be read."""


def check_frame(frame: typing.Any) -> dd.DataFrame:
    """Return the frame, or raise a ValueError if it is not a Dask DataFrame."""
    if not isinstance(frame, dd.DataFrame):
        raise ValueError(
            f"the frame is a {type(frame).__name__} of {type(frame).__module__}: it must be a Dask "
            "DataFrame; the learn_many and score_many of a model take those that fit in memory"
        )
    return frame


class Partitions:
    """The partitions of a Dask DataFrame.

    Parameters
    ----------
    frame
        The data.
    columns
        The columns that each partition must have.
    scheduler
        Anything that `dask.compute` takes; None is Dask's default.
    progress
        Whether to show a progress bar; None shows it on a terminal only.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from river_oauc.distributed.partitions import Partitions

    >>> frame = dd.from_pandas(pd.DataFrame({"a": range(10)}), npartitions=3)
    >>> Partitions(frame, ["a"]).sum(lambda partition, k: int(partition["a"].sum()) * k, 2)
    90

    """

    def __init__(
        self,
        frame: dd.DataFrame,
        columns: Sequence[base.typing.FeatureName],
        scheduler: typing.Any = None,
        progress: bool | None = None,
    ) -> None:
        self.columns = list(columns)
        self.scheduler = scheduler
        # A process may have no standard output.
        on_terminal = sys.stdout is not None and sys.stdout.isatty()
        self.progress = on_terminal if progress is None else progress
        # Simplified, so that only the needed columns are read. Full optimisation would join small
        # partitions, and change their numbers.
        self._parts: list[Delayed] = frame.simplify().to_delayed(optimize_graph=False)

    def sum(self, function: Callable[..., Summand], *shared: typing.Any) -> Summand:
        """Return the sum, by `+=`, of the results of a function for each partition.

        Neighbours are added in pairs, then the sums of neighbouring pairs, and so on. The order is
        fixed, so the sum is always the same bit for bit. The function may not change its arguments,
        because Dask repeats the tasks of a lost worker.

        Parameters
        ----------
        function
            Called with a partition and the shared arguments.
        shared
            Further arguments, which are sent to each worker once.

        """
        sent = [dask.delayed(item, traverse=False) for item in (self.columns, *shared)]
        n_parts = len(self._parts)
        terms = [
            dask.delayed(_term)(part, f"{number} of {n_parts}", function, *sent)
            for number, part in enumerate(self._parts)
        ]
        while len(terms) > 1:
            terms = [_add_pair(terms[i : i + 2]) for i in range(0, len(terms), 2)]
        try:
            return typing.cast(Summand, self._compute(terms[0]))
        except PartitionError:
            raise
        except _READING_ERRORS:
            self._check_readable()
            raise

    def _compute(self, result: Delayed) -> typing.Any:
        if not self.progress:
            return result.compute(scheduler=self.scheduler)
        get = dask.base.get_scheduler(collections=[result], scheduler=self.scheduler)
        # The scheduler of a cluster is a method of its client.
        client = getattr(get, "__self__", None)
        if not isinstance(client, distributed.Client):
            with ProgressBar():
                return result.compute(scheduler=self.scheduler)
        future = client.compute(result)
        distributed.progress(future, notebook=False, scheduler=client.scheduler.address)
        return future.result()

    def _check_readable(self) -> None:
        """Raise an error that names the first partition that Dask cannot read, if there is one.

        Dask does not say which one it was. All are read once more in parallel, then bisected.
        """
        start, stop = 0, len(self._parts)
        error = self._reading_error(start, stop)
        if error is None:
            return
        while stop - start > 1:
            middle = (start + stop) // 2
            earlier = self._reading_error(start, middle)
            if earlier is None:
                start = middle
            else:
                stop, error = middle, earlier
        raise PartitionError(
            f"partition {start} of {len(self._parts)} cannot be read: "
            f"{type(error).__name__}: {error}"
        ) from error

    def _reading_error(self, start: int, stop: int) -> Exception | None:
        """Return the error of reading the partitions from `start` up to `stop`, or None."""
        lengths = [dask.delayed(len)(part) for part in self._parts[start:stop]]
        try:
            dask.compute(*lengths, scheduler=self.scheduler)
        except _READING_ERRORS as error:
            return error
        return None


def _add_pair(terms: list[Delayed]) -> Delayed:
    return terms[0] if len(terms) == 1 else dask.delayed(_add)(*terms)


def _add(a: typing.Any, b: typing.Any) -> typing.Any:
    total = copy.deepcopy(a)
    total += b
    return total


def _term(
    partition: pd.DataFrame,
    number: str,
    function: Callable[..., Summand],
    columns: Sequence[base.typing.FeatureName],
    *shared: typing.Any,
) -> Summand:
    """Return the result for a partition; an error names the partition."""
    missing = [name for name in columns if name not in partition.columns]
    if missing:
        raise PartitionError(f"partition {number} has no column {', '.join(map(repr, missing))}")
    try:
        return function(partition, *shared)
    except ValueError as error:
        raise PartitionError(
            f"partition {number}, a data frame of {len(partition):,} rows: {error}"
        ) from error
