"""Read the user's own LIBSVM file as a stream."""

from __future__ import annotations

import itertools
import pathlib
from collections.abc import Collection, Iterator

from river_oauc.cli.compare.libsvm_rows import read_rows
from river_oauc.cli.compare.own_file import Arrangement, Labels, file_stream
from river_oauc.cli.compare.streams import Stream
from river_oauc.cli.console.errors import UserError
from river_oauc.cli.console.text import listed
from river_oauc.cli.models import Example


def libsvm_stream(
    path: pathlib.Path,
    *,
    positive: str | None = None,
    exclude: Collection[str] = (),
    shuffle: bool = False,
    seed: int = 42,
    limit: int | None = None,
) -> Stream:
    """Read a LIBSVM file as a stream, in the order of the file.

    Like a CSV file, it is read twice and held in memory only if it is shuffled. Absent features are
    0, so one of the scalers keeps 0 at 0.

    Parameters
    ----------
    path
        A file of lines `LABEL INDEX:VALUE ...`, plain, gz, bz2 or xz.
    positive
        The positive label; all others are negative. By default the larger of two.
    exclude
        Indices to leave out.
    shuffle, seed, limit
        See `Arrangement`.

    """
    arrangement = Arrangement(shuffle, seed, limit)
    labels = _survey(path, exclude, arrangement.n_to_read)
    values = sorted(labels.counts)
    chosen = _positive(path, values, positive)
    others = [_written(value) for value in values if value != chosen]
    return file_stream(
        path,
        lambda: _examples(path, chosen, exclude, labels.size),
        labels,
        chosen,
        arrangement,
        target="label",
        written=_written(chosen),
        scalers=("none", "standard", "maxabs"),
        notes=(f"the other labels are negative: {listed(others)}",) if len(values) > 2 else (),
    )


def _survey(path: pathlib.Path, exclude: Collection[str], limit: int | None) -> Labels[float]:
    """Check all rows and the excluded indices, and return the labels."""
    labels = Labels[float]()
    known: set[str] = set()
    has_features = False
    for label, x in itertools.islice(read_rows(path), limit):
        labels.add(label)
        if exclude:
            # Otherwise not needed, and there may be millions of them.
            known.update(x)
        has_features = has_features or any(index not in exclude for index in x)
    if not labels.size:
        raise UserError(f"{path}: there is no row in it")
    for index in exclude:
        if index not in known:
            raise UserError(f"{path}: no index {index!r} to exclude{_nearest(index, known)}")
    if not has_features:
        raise UserError(f"{path}: no row has a feature")
    return labels


def _nearest(index: str, known: Collection[str]) -> str:
    """Return a hint at the nearest known index.

    Examples
    --------
    >>> _nearest("120", {"1", "2", "123"})
    " (the nearest is '123')"
    >>> _nearest("age", {"1", "2", "123"})
    ': they are whole numbers'

    """
    if not (index.isascii() and index.isdecimal()):
        return ": they are whole numbers"
    if not known:
        return ""
    # As floats: Python limits the digits of an int.
    nearest = min(known, key=lambda other: (abs(float(other) - float(index)), other))
    return f" (the nearest is {nearest!r})"


def _positive(path: pathlib.Path, values: list[float], positive: str | None) -> float:
    written = listed([_written(value) for value in values])
    if positive is None:
        if len(values) == 2:
            return values[1]
        advice = "a larger --limit may help" if len(values) == 1 else "--positive VALUE picks one"
        raise UserError(f"{path}: two labels are needed, not {written}; {advice}")
    try:
        chosen = float(positive)
    except ValueError:
        chosen = None
    if chosen not in values:
        raise UserError(f"{path}: the label {positive!r} never occurs; there are {written}")
    return chosen


def _written(label: float) -> str:
    """Write a label as users do.

    Examples
    --------
    >>> _written(-1.0), _written(0.5)
    ('-1', '0.5')

    """
    return f"{label:.0f}" if label.is_integer() else repr(label)


def _examples(
    path: pathlib.Path, positive: float, exclude: Collection[str], size: int
) -> Iterator[Example]:
    """Yield the surveyed rows as examples."""
    for label, x in itertools.islice(read_rows(path), size):
        for index in exclude:
            x.pop(index, None)
        yield x, label == positive
