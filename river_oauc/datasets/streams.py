"""Real streams with rare positives, many sparse features, or concept drift.

`STREAMS` lists them and `RealStream` reads them. The package contains no data: a stream is read
from a local file, downloaded from its publisher, or read by river if river has it.
"""

from __future__ import annotations

import collections
import io
import itertools
import os
from collections.abc import Iterator
from typing import Any

from river_oauc.datasets.published import (
    DIRECTORY_VARIABLE,
    DatasetError,
    PublishedDataset,
    check_directory_variable,
)
from river_oauc.datasets.stream_facts import STREAMS, StreamFacts
from river_oauc.datasets.tables import words

__all__ = ["STREAMS", "RealStream", "StreamFacts"]

Example = tuple[dict[str, float], bool]

_LABELS = {"+1": True, "-1": False}


class RealStream(PublishedDataset):
    """A real stream, in the order of its source.

    Iterating gives `(x, y)` pairs. The features in `x` are named by their column index as a string,
    or by the words of a text if river reads the stream. With up to 150 features, `x` has all of
    them, including zeros; otherwise zeros are left out. `y` is True for the positive class.

    The data are stored in `<name>.svm.xz`: LIBSVM text with labels +1 and -1, compressed by xz,
    where values are not scaled and zeros and missing values are left out. The file is looked up in
    the directory `$RIVER_OAUC_DATA` and its folder `streams`, then in river's data directory
    (`RealStream/` in `$RIVER_DATA` or `~/river_data`). If it is missing, river reads the stream if
    it is one of river's; otherwise the file is made from the published files. A few streams cannot
    be downloaded directly; the error message says where to get them.

    The size of a file is limited. If it can be made from published files, its checksum is verified;
    otherwise it is up to the user to write the right data.

    Parameters
    ----------
    name
        One of `STREAMS`.
    directory
        Directory of the file, instead of those above.

    Examples
    --------
    >>> from river_oauc.datasets.streams import STREAMS, RealStream

    >>> facts = STREAMS["letter_z"]
    >>> f"{facts.n_samples:,} rows, {facts.share:.2%} of them {facts.positive}"
    '20,000 rows, 3.67% of them the letter Z'
    >>> RealStream("letter_z").filename
    'letter_z.svm.xz'

    """

    folder = "streams"

    def __init__(self, name: str, directory: str | os.PathLike[str] | None = None) -> None:
        if name not in STREAMS:
            raise ValueError(f"there is no stream {name!r}; the streams are {', '.join(STREAMS)}")
        self.name = name
        super().__init__(name, directory, sparse=self.facts.is_sparse)

    @property
    def facts(self) -> StreamFacts:
        """What is known about the stream without reading it."""
        return STREAMS[self.name]

    @property
    def is_here(self) -> bool:
        """Whether the stream can be read without a download."""
        return self.is_downloaded or (
            self.facts.river is not None and bool(self.facts.river().is_downloaded)
        )

    def download(self, verbose: bool = True) -> None:
        """Make the file from the published ones, or let river download its own.

        Parameters
        ----------
        verbose
            Whether to report progress on standard error.

        Raises
        ------
        DatasetError
            If there is no direct download, if a published file cannot be loaded or has changed, or
            if the file cannot be written. Nothing is left behind then.

        """
        if self.facts.river is not None:
            self.facts.river().download(verbose=verbose)
        elif self.facts.recipe is not None:
            self._make_file(self.facts.recipe, verbose)
        else:
            raise DatasetError(
                f"{self.filename} is missing and cannot be downloaded: get {self.name} from "
                f"{self.facts.source}, write it as LIBSVM text with labels +1 and -1, and set "
                f"{DIRECTORY_VARIABLE} to the directory of the file"
            )

    def __iter__(self) -> Iterator[Example]:
        if self.directory is None:
            check_directory_variable()
        if not self.is_downloaded:
            if self.facts.river is not None:
                return itertools.starmap(_convert_river_example, self.facts.river())
            self.download()
        return self._read_lines()

    def _read_lines(self) -> Iterator[Example]:
        path = self.path
        text = self._read_text(path, is_canonical=self.facts.recipe is not None)
        names = [str(index) for index in range(1, self.facts.n_features + 1)]
        zeros = {} if self.facts.is_sparse else dict.fromkeys(names, 0.0)
        for number, line in enumerate(io.BytesIO(text), start=1):
            try:
                label, *pairs = line.decode("ascii").split()
                split = (pair.split(":") for pair in pairs)
                x, y = zeros | {index: float(value) for index, value in split}, _LABELS[label]
            except (KeyError, ValueError) as error:
                raise DatasetError(
                    f"{path}, line {number} is not LIBSVM text with a label +1 or -1"
                ) from error
            yield x, y

    @property
    def _repr_content(self) -> dict[str, str]:
        content: dict[str, str] = super()._repr_content
        content["Positives"] = f"{self.facts.n_positives:,}: {self.facts.positive}"
        content["Ordered"] = str(self.facts.is_ordered)
        content["Licence"] = self.facts.licence
        content["Source"] = self.facts.source
        return content


def _convert_river_example(x: dict[str, Any], y: Any) -> Example:
    if "body" in x:
        return dict(collections.Counter(words(x["body"]))), bool(y)
    return {str(index): float(x[name]) for index, name in enumerate(x, start=1)}, bool(y)
