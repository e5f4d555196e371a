"""One set or stream: what is known about it, where its file is, and how to read it."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import lzma
import os
import pathlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from benchmarks.arrays import BoolArray, FloatArray
from benchmarks.datasets.published import Published
from river_oauc.cli.messages import UserError
from river_oauc.cli.models import Example
from river_oauc.files import replace_file

__all__ = ["Dataset", "data_directory", "numbered"]

CACHE = pathlib.Path(os.environ.get("RIVER_DATA", "~/river_data"), "river-oauc").expanduser()

# Examples of sets with more features leave out zeros.
_MAX_DENSE_FEATURES = 150
_LABELS = {"+1": True, "-1": False}


def data_directory() -> pathlib.Path | None:
    """Return the directory that `$RIVER_OAUC_DATA` names, or None if it is not set."""
    name = os.environ.get("RIVER_OAUC_DATA")
    if not name:
        return None
    directory = pathlib.Path(name).expanduser()
    if not directory.is_dir():
        raise UserError(f"RIVER_OAUC_DATA is {name}, which is not a directory")
    return directory


def numbered(examples: Iterable[tuple[dict[str, Any], Any]]) -> Iterator[Example]:
    """Name the features of river's examples by their position, from 1."""
    for x, y in examples:
        yield {str(i): float(value) for i, value in enumerate(x.values(), start=1)}, bool(y)


@dataclasses.dataclass(frozen=True)
class Dataset:
    """A set or stream for binary classification.

    Iterating gives `(x, y)` pairs in the order of the source. Features are named `"1"` to
    `str(n_features)`. With up to 150 features, `x` has all of them, including zeros; otherwise
    zeros are left out. `y` is True for the positive class. Each iteration reads the file again.

    The file `<name>.svm.xz` is LIBSVM text with labels +1 and -1 and without zeros, compressed by
    xz. It is looked up in `$RIVER_OAUC_DATA`, in the folders `datasets` and `streams` of that
    directory, and in `river-oauc` of river's data directory (`$RIVER_DATA` or `~/river_data`). If
    it is missing, river reads its own sets, and for others the published files are downloaded and
    the file is made from them.

    Parameters
    ----------
    name
        The name of the set.
    n_samples
        Number of rows.
    n_features
        Number of features.
    n_positives
        Number of rows of the positive class.
    positive
        What the positive class is.
    published
        The published files; None if they cannot be downloaded directly or if river downloads them.
    sha256
        Checksum of the text with which our figures were computed; None if river read the set. It is
        verified if there are published files. Otherwise it is up to the user to write the right
        data.
    is_ordered
        Whether the order of the rows matters, usually because it is time. Otherwise shuffle them.
    licence
        Licence of the data.
    source
        Page of the publisher.
    river
        river's dataset.
    read_river
        Makes our examples of river's.

    """

    name: str
    n_samples: int
    n_features: int
    n_positives: int
    positive: str
    published: Published | None = None
    _: dataclasses.KW_ONLY
    sha256: str | None = None
    is_ordered: bool = False
    licence: str = ""
    source: str = ""
    river: Callable[[], Any] | None = None
    read_river: Callable[[Iterable[Any]], Iterator[Example]] = numbered

    @property
    def is_sparse(self) -> bool:
        """Whether examples leave out zeros."""
        return self.n_features > _MAX_DENSE_FEATURES

    @property
    def path(self) -> pathlib.Path:
        """The file to read; if there is none, the file that a download makes."""
        root = data_directory()
        places = [root, root / "datasets", root / "streams", CACHE] if root else [CACHE]
        paths = [place / f"{self.name}.svm.xz" for place in places]
        return next((path for path in paths if path.is_file()), paths[-1])

    @property
    def is_here(self) -> bool:
        """Whether the set can be read without a download."""
        # Sets that are part of river do not have to be downloaded.
        return self.path.is_file() or (
            self.river is not None and getattr(self.river(), "is_downloaded", True)
        )

    def download(self) -> None:
        """Make the file from the published ones, or let river download its own."""
        if self.published is not None:
            self._make_file(self.published, CACHE / self.name)
        elif self.river is not None:
            self.river().download()
        else:
            raise UserError(
                f"{self.name} is missing and cannot be downloaded: get it from {self.source}, "
                f"write it as LIBSVM text with labels +1 and -1 to {self.name}.svm.xz, and set "
                "RIVER_OAUC_DATA to the directory of this file"
            )

    def to_numpy(self) -> tuple[FloatArray, BoolArray]:
        """Return the features, of shape `(n_samples, n_features)`, and the labels."""
        rows, labels = zip(*self, strict=True)
        return np.array([list(x.values()) for x in rows]), np.array(labels)

    def __iter__(self) -> Iterator[Example]:
        if not self.path.is_file():
            if self.river is not None:
                return self.read_river(self.river())
            self.download()
        return self._read_file(self.path)

    def _read_file(self, path: pathlib.Path) -> Iterator[Example]:
        try:
            text = lzma.decompress(path.read_bytes())
        except lzma.LZMAError as error:
            raise UserError(f"{path} is damaged: {error}. Delete or replace it.") from error
        if self.published is not None and hashlib.sha256(text).hexdigest() != self.sha256:
            raise UserError(f"{path} is not the published set. Delete or replace it.")
        names = [str(index) for index in range(1, self.n_features + 1)]
        zeros = {} if self.is_sparse else dict.fromkeys(names, 0.0)
        for number, line in enumerate(io.BytesIO(text), start=1):
            try:
                label, *pairs = line.decode("ascii").split()
                values = (pair.split(":") for pair in pairs)
                x, y = zeros | {index: float(value) for index, value in values}, _LABELS[label]
            except (KeyError, ValueError) as error:
                raise UserError(
                    f"{path}, line {number} is not LIBSVM text with a label +1 or -1"
                ) from error
            yield x, y

    def _make_file(self, published: Published, cache: pathlib.Path) -> None:
        try:
            text = published.text(cache)
            if hashlib.sha256(text).hexdigest() != self.sha256:
                raise ValueError("the published files have changed")
        except Exception as error:
            # Whatever a bad connection, a login page or a damaged archive may lead to.
            raise UserError(
                f"{self.name} cannot be made of {' and '.join(published.urls)}: {error}. Delete "
                f"{cache} to try again, or put the right files into it"
            ) from error
        replace_file(CACHE / f"{self.name}.svm.xz", lzma.compress(text))
