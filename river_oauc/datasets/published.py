"""Datasets that are looked up on disk or made from published files."""

from __future__ import annotations

import abc
import dataclasses
import hashlib
import http.client
import lzma
import os
import pathlib
from collections.abc import Sequence
from typing import ClassVar

from river.datasets import base

from river_oauc.datasets import download
from river_oauc.datasets.recipes import Recipe
from river_oauc.datasets.size_limit import read_limited
from river_oauc.files import replace_file

DIRECTORY_VARIABLE = "RIVER_OAUC_DATA"

# Published files have rows and columns that the canonical text leaves out, and users may write more
# digits. The cover types, with twice the rows and 44 more columns, are about four times as large.
_MAX_RATIO = 8


class DatasetError(RuntimeError):
    """A dataset cannot be found, downloaded or read."""


@dataclasses.dataclass(frozen=True)
class FileFacts:
    """What is known about a dataset without reading it.

    Parameters
    ----------
    n_samples
        Number of rows.
    n_features
        Number of features.
    n_positives
        Number of rows of the positive class.
    sha256
        Checksum of the canonical text; None if there is no such text.
    size
        Size of the canonical text in bytes; without such a text, the size of the published file.

    """

    n_samples: int
    n_features: int
    n_positives: int
    sha256: str | None = dataclasses.field(kw_only=True)
    size: int = dataclasses.field(kw_only=True)


def check_directory_variable() -> None:
    """Check that `RIVER_OAUC_DATA` is a directory, if it is set.

    Raises
    ------
    DatasetError
        If it is not.

    """
    shared = os.environ.get(DIRECTORY_VARIABLE)
    if shared and not os.path.isdir(os.path.expanduser(shared)):
        raise DatasetError(f"{DIRECTORY_VARIABLE} is {shared}, which is not a directory")


class PublishedDataset(base.FileDataset):
    """Base class of the datasets that are stored as `<name>.svm.xz`.

    The file is LIBSVM text with labels +1 and -1, compressed by xz. It is looked up in the
    directory `$RIVER_OAUC_DATA`, in a folder of that directory, and in river's data directory
    (`$RIVER_DATA` or `~/river_data`), where downloads are stored.

    """

    # Folder of `$RIVER_OAUC_DATA`.
    folder: ClassVar[str]

    def __init__(
        self, name: str, directory: str | os.PathLike[str] | None, sparse: bool = False
    ) -> None:
        super().__init__(  # type: ignore[no-untyped-call]
            filename=f"{name}.svm.xz",
            directory=directory,
            task=base.BINARY_CLF,
            n_samples=self.facts.n_samples,
            n_features=self.facts.n_features,
            sparse=sparse,
        )

    @property
    @abc.abstractmethod
    def facts(self) -> FileFacts:
        """What is known about the dataset without reading it."""

    @property
    def path(self) -> pathlib.Path:
        """The file to read; if there is none, the file that a download would create."""
        return next((path for path in self._candidates if path.is_file()), self._destination)

    @property
    def is_downloaded(self) -> bool:
        """Whether there is a file to read. Its content is not checked."""
        return self.path.is_file()

    @property
    def _destination(self) -> pathlib.Path:
        """The file that a download creates."""
        if self.directory is not None:
            return pathlib.Path(self.directory, self.filename)
        # river's `get_data_home` would create the directory.
        home = os.environ.get("RIVER_DATA", os.path.join("~", "river_data"))
        return pathlib.Path(os.path.expanduser(home), type(self).__name__, self.filename)

    @property
    def _candidates(self) -> list[pathlib.Path]:
        """The files to read from, in order of preference."""
        shared = os.environ.get(DIRECTORY_VARIABLE)
        if not shared or self.directory is not None:
            return [self._destination]
        directory = pathlib.Path(os.path.expanduser(shared))
        return [
            directory / self.filename,
            directory / self.folder / self.filename,
            self._destination,
        ]

    def _read_text(self, path: pathlib.Path, is_canonical: bool = True) -> bytes:
        """Decompress a file and check its size and, if it must be canonical, its checksum."""
        limit = self.facts.size if is_canonical else _MAX_RATIO * self.facts.size
        try:
            with lzma.open(path) as file:
                text = read_limited(file.read, limit)
            if is_canonical and hashlib.sha256(text).hexdigest() != self.facts.sha256:
                raise ValueError("its text has another sha256")
        except (EOFError, OSError, ValueError, lzma.LZMAError) as error:
            raise DatasetError(f"{path} cannot be used: {error}. Delete or replace it.") from error
        return text

    def _make_file(self, recipe: Recipe, verbose: bool) -> None:
        """Create the file from the published ones, which are downloaded if they are not beside it.

        Raises
        ------
        DatasetError
            If a published file cannot be loaded or has changed, or if the file cannot be written.
            Nothing is left behind then.

        """
        destination, limit = self._destination, _MAX_RATIO * self.facts.size
        beside = [destination.with_name(filename) for filename in recipe.filenames]
        origins = [
            path if path.is_file() else url for path, url in zip(beside, recipe.urls, strict=True)
        ]
        needed = f"{' and '.join(recipe.filenames)} as published, or the finished {self.filename}"
        sources = [self._load(origin, limit, verbose, needed) for origin in origins]
        try:
            text = recipe.canonical_text(sources, limit)
            if hashlib.sha256(text).hexdigest() != self.facts.sha256:
                raise ValueError("the dataset made from it has another sha256")
        except ValueError as error:
            needed = f"the finished {self.filename}, whose text has the sha256 {self.facts.sha256}"
            raise self._failure(origins, f"refused: {error}", needed) from error
        try:
            destination.parent.mkdir(parents=True, exist_ok=True)
            replace_file(destination, lzma.compress(text))
        except OSError as error:
            raise DatasetError(f"{destination} cannot be written: {error}") from error

    def _load(self, origin: pathlib.Path | str, limit: int, verbose: bool, needed: str) -> bytes:
        """Read or download one published file."""
        try:
            if isinstance(origin, str):
                return download.fetch(origin, limit, verbose)
            with origin.open("rb") as file:
                return read_limited(file.read, limit)
        except (OSError, ValueError, http.client.HTTPException) as error:
            reason = f"cannot be loaded: {' '.join(str(error).split())}"
            raise self._failure([origin], reason, needed) from error

    def _failure(
        self, origins: Sequence[pathlib.Path | str], reason: str, needed: str
    ) -> DatasetError:
        return DatasetError(
            f"{' and '.join(map(str, origins))} {reason}. By hand: put {needed}, into "
            f"{self._destination.parent}; or set {DIRECTORY_VARIABLE} to a directory that has "
            f"{self.filename}."
        )
