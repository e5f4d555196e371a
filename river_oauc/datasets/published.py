"""A file of examples that is looked up, or made from what its publisher offers."""

from __future__ import annotations

import abc
import http.client
import os
import pathlib
import typing
from collections.abc import Sequence
from typing import ClassVar

from river.datasets import base

from river_oauc.datasets import download, store

DIRECTORY_VARIABLE = "RIVER_OAUC_DATA"


class DatasetError(RuntimeError):
    """A dataset is neither here nor to be had, or its file is not what it should be."""


class AnyRecipe(typing.Protocol):
    """How a canonical text is made from published files."""

    @property
    def urls(self) -> tuple[str, ...]:
        """Where the files are."""

    @property
    def filenames(self) -> tuple[str, ...]:
        """The names of the published files."""

    def canonical_text(self, sources: Sequence[bytes]) -> bytes:
        """The canonical text, from the contents of the files; a `ValueError` if they are others."""


def check_directory_variable() -> None:
    """Refuse to look for files, or to download them, if the user's directory is not there.

    Raises
    ------
    DatasetError
        If the environment variable `RIVER_OAUC_DATA` is set to what is no directory.

    """
    shared = os.environ.get(DIRECTORY_VARIABLE)
    if shared and not os.path.isdir(os.path.expanduser(shared)):
        raise DatasetError(f"{DIRECTORY_VARIABLE} is {shared}, which is no directory")


class PublishedDataset(base.FileDataset):
    """A file `<name>.svm.xz`: xz of LIBSVM text with labels +1 and -1.

    It is looked for in the directory that the environment variable `RIVER_OAUC_DATA` names and in
    one below it, then in river's data directory (below `$RIVER_DATA` or `~/river_data`), where
    `download` makes it. Published files that lie there already, put there by hand, are used instead
    of the network.

    """

    # The directory below `$RIVER_OAUC_DATA`.
    folder: ClassVar[str]

    @property
    @abc.abstractmethod
    def _recipe(self) -> AnyRecipe:
        """How the file is made; a `DatasetError` if it cannot be."""

    @property
    @abc.abstractmethod
    def _sha256(self) -> str:
        """The checksum of the canonical text."""

    @property
    def _home(self) -> str:
        """The directory below river's."""
        return type(self).__name__

    @property
    def path(self) -> pathlib.Path:
        """The file that will be read; if there is none yet, the one that will be made."""
        return next((path for path in self._candidates if path.is_file()), self._destination)

    @property
    def is_downloaded(self) -> bool:
        """Whether there is a file to read, whatever is in it."""
        return self.path.is_file()

    def download(self, verbose: bool = True) -> None:
        """Make the file from the published ones, even if there is a file already.

        Parameters
        ----------
        verbose
            Whether to tell the progress on the standard error.

        Raises
        ------
        DatasetError
            If a published file cannot be had, if what comes is not the right data, or if the file
            cannot be written. Nothing is left behind then.

        """
        recipe = self._recipe
        by_hand = [self._destination.with_name(filename) for filename in recipe.filenames]
        origins = [
            path if path.is_file() else url for path, url in zip(by_hand, recipe.urls, strict=True)
        ]
        sources = [self._load(origin, verbose) for origin in origins]
        try:
            text = recipe.canonical_text(sources)
        except ValueError as error:
            raise self._refusal(origins, f"not of the expected form ({error})") from error
        if not store.is_canonical(text, self._sha256):
            raise self._refusal(origins, "the set made from it has another sha256")
        try:
            store.write(self._destination, text)
        except OSError as error:
            raise DatasetError(f"{self._destination} cannot be written: {error}") from error

    @property
    def _destination(self) -> pathlib.Path:
        """The file that a download makes."""
        if self.directory is not None:
            return pathlib.Path(self.directory, self.filename)
        # As river's `get_data_home`, which however creates the directory: looking should not.
        home = os.environ.get("RIVER_DATA", os.path.join("~", "river_data"))
        return pathlib.Path(os.path.expanduser(home), self._home, self.filename)

    @property
    def _candidates(self) -> list[pathlib.Path]:
        """The files to read from, the preferred one first."""
        shared = os.environ.get(DIRECTORY_VARIABLE)
        if shared and self.directory is None:
            directory = pathlib.Path(os.path.expanduser(shared))
            return [
                directory / self.filename,
                directory / self.folder / self.filename,
                self._destination,
            ]
        return [self._destination]

    def _load(self, origin: pathlib.Path | str, verbose: bool) -> bytes:
        """The content of one published file."""
        try:
            if isinstance(origin, pathlib.Path):
                return origin.read_bytes()
            return download.fetch(origin, verbose)
        except (OSError, http.client.HTTPException) as error:
            raise DatasetError(
                f"{origin} cannot be loaded: {str(error).strip()}. By hand: put "
                f"{' and '.join(self._recipe.filenames)} as published, or the ready "
                f"{self.filename}, into {self._destination.parent}; or set {DIRECTORY_VARIABLE} "
                f"to a directory that has {self.filename}."
            ) from error

    def _refusal(self, origins: Sequence[pathlib.Path | str], reason: str) -> DatasetError:
        return DatasetError(
            f"{' and '.join(map(str, origins))} refused: {reason}. By hand: put the ready "
            f"{self.filename}, whose text has the sha256 {self._sha256}, into "
            f"{self._destination.parent}; or set {DIRECTORY_VARIABLE} to a directory that has it."
        )
