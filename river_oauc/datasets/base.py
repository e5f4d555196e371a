"""Base class of the benchmark sets."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from river_oauc.datasets import libsvm
from river_oauc.datasets.published import (
    DatasetError,
    FileFacts,
    PublishedDataset,
    check_directory_variable,
)
from river_oauc.datasets.recipes import NumericRecipe


@dataclasses.dataclass(frozen=True)
class Facts(FileFacts):
    """What is known about a benchmark set without reading it.

    Parameters
    ----------
    n_samples
        Number of rows.
    n_features
        Number of features.
    n_positives
        Number of rows of the positive class.
    paper_imbalance_ratio
        Negatives per positive in the paper's table.
    sha256
        Checksum of the canonical text.
    size
        Size of the canonical text in bytes.

    """

    paper_imbalance_ratio: float

    @property
    def imbalance_ratio(self) -> float:
        """Negatives per positive."""
        return (self.n_samples - self.n_positives) / self.n_positives


class BenchmarkDataset(PublishedDataset):
    """Base class of the benchmark sets: binary classification with numeric features.

    Iterating gives `(x, y)` pairs. `x` always has all features, including zeros, in the same order
    and under the names that `river.stream.iter_libsvm` would use: the LIBSVM indices as strings,
    `"1"` to `str(n_features)`. `y` is True for the positive class, the smaller one.

    The data are stored in `<name>.svm.xz`, where `<name>` is the class name in lower case: LIBSVM
    text with labels +1 and -1, compressed by xz. The file is looked up in the directory
    `$RIVER_OAUC_DATA` and its folder `datasets`, then in river's data directory (`<class name>/` in
    `$RIVER_DATA` or `~/river_data`). If it is missing, it is made from the published files and
    stored in river's data directory. Published files that are already there are used instead of
    the network. The size and the checksum are verified whenever a file is made or read. It is an
    error if `RIVER_OAUC_DATA` is set to something that is not a directory.

    Nothing is cached: each iteration reads the file again, which takes up to a few tenths of a
    second.

    Parameters
    ----------
    directory
        Directory of the file, instead of those above.

    """

    facts: ClassVar[Facts]
    recipe: ClassVar[NumericRecipe]
    folder = "datasets"

    def __init__(self, directory: str | os.PathLike[str] | None = None) -> None:
        super().__init__(type(self).__name__.lower(), directory)

    def download(self, verbose: bool = True) -> None:
        """Make the file from the published ones, and replace an existing file.

        Parameters
        ----------
        verbose
            Whether to report progress on standard error.

        Raises
        ------
        DatasetError
            If a published file cannot be loaded or has changed, or if the file cannot be written.
            Nothing is left behind then.

        """
        self._make_file(self.recipe, verbose)

    @property
    def is_intact(self) -> bool:
        """Whether there is a file with the right checksum."""
        try:
            self._read_text(self.path)
        except DatasetError:
            return False
        return True

    def to_numpy(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """Return the set as arrays. It is downloaded if there is no file.

        Returns
        -------
        The features, of shape `(n_samples, n_features)`, and the labels, of shape `(n_samples,)`.

        Raises
        ------
        DatasetError
            If the file is damaged, if there is none and the download fails, or if `RIVER_OAUC_DATA`
            is not a directory.

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
        """Read the features and the labels from one of the candidates."""
        return libsvm.parse(self._read_text(path), self.facts.n_features)
