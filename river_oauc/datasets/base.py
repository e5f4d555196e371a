"""What the benchmark sets have in common."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from river.datasets import base

from river_oauc.datasets import libsvm, store
from river_oauc.datasets.published import (
    DatasetError,
    PublishedDataset,
    check_directory_variable,
)
from river_oauc.datasets.recipes import Recipe

__all__ = ["BenchmarkDataset", "Facts"]


@dataclasses.dataclass(frozen=True)
class Facts:
    """What is known of a benchmark set without its file.

    Parameters
    ----------
    n_samples
        Number of rows.
    n_features
        Number of features.
    n_positives
        Number of rows of the positive class.
    paper_imbalance_ratio
        Negatives per positive according to the paper's table.
    sha256
        Checksum of the canonical text.

    """

    n_samples: int
    n_features: int
    n_positives: int
    paper_imbalance_ratio: float
    sha256: str

    @property
    def imbalance_ratio(self) -> float:
        """Negatives per positive."""
        return (self.n_samples - self.n_positives) / self.n_positives


class BenchmarkDataset(PublishedDataset):
    """Base class of the benchmark sets: binary classification from numeric features.

    Iterating gives `(x, y)` pairs. `x` always has all features, zeros included, in the same order,
    under the names that `river.stream.iter_libsvm` would give them: the LIBSVM indices as strings,
    `"1"` to `str(n_features)`. `y` is True for the positive class, the smaller one.

    The data are in a file `<name>.svm.xz`, `<name>` being the class name in lower case: xz of
    LIBSVM text with labels +1 and -1. It is looked for in the directory that the environment
    variable `RIVER_OAUC_DATA` names and in `datasets` below it, then in river's data directory
    (`<class name>/` below `$RIVER_DATA` or `~/river_data`). If it is in none of them, the published
    files are downloaded and the file is made from them, in river's data directory. Published files
    that lie there already, put there by hand, are used instead of the network. The checksum is
    verified each time a file is made or read. If the variable is set and names no directory, no set
    is read.

    Nothing is kept in memory between two iterations: each one reads the file again, which takes
    from a millisecond to some tenths of a second.

    Parameters
    ----------
    directory
        Where the file is, or is to be made, instead of the places above.

    """

    facts: ClassVar[Facts]
    recipe: ClassVar[Recipe]
    folder = "datasets"

    def __init__(self, directory: str | os.PathLike[str] | None = None) -> None:
        super().__init__(  # type: ignore[no-untyped-call]
            filename=f"{type(self).__name__.lower()}.svm.xz",
            directory=directory,
            task=base.BINARY_CLF,
            n_samples=self.facts.n_samples,
            n_features=self.facts.n_features,
        )

    @property
    def _recipe(self) -> Recipe:
        return self.recipe

    @property
    def _sha256(self) -> str:
        return self.facts.sha256

    @property
    def is_intact(self) -> bool:
        """Whether there is a file with the right data: it is read, and its checksum compared."""
        try:
            self._text(self.path)
        except DatasetError:
            return False
        return True

    def to_numpy(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """The whole set as arrays; it is downloaded if there is no file.

        Returns
        -------
        The features, of shape `(n_samples, n_features)`, and the labels, of shape `(n_samples,)`.

        Raises
        ------
        DatasetError
            If there is no file and the download fails, if the file is damaged, or if
            `RIVER_OAUC_DATA` names no directory.

        """
        if self.directory is None:
            check_directory_variable()
        if not self.is_downloaded:
            self.download()
        return self._read(self.path)

    def __iter__(self) -> Iterator[tuple[dict[str, float], bool]]:
        features, labels = self.to_numpy()
        names = [str(index) for index in range(1, self.facts.n_features + 1)]
        for row, label in zip(features, labels.tolist(), strict=True):
            yield dict(zip(names, row.tolist(), strict=True)), label

    @property
    def _repr_content(self) -> dict[str, str]:
        content: dict[str, str] = super()._repr_content
        content["Positives"] = f"{self.facts.n_positives:,}"
        content["Downloaded"] = str(self.is_downloaded)
        return content

    def _read(self, path: pathlib.Path) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """The features and the labels in one of the candidates."""
        return libsvm.parse(self._text(path), self.facts.n_features)

    def _text(self, path: pathlib.Path) -> bytes:
        """The canonical text in one of the candidates."""
        try:
            return store.read(path, self.facts.sha256)
        except (OSError, ValueError) as error:
            raise DatasetError(
                f"{path} cannot be used: {error}. Delete it to have it downloaded again."
            ) from error
