"""Real streams with rare positives, wide sparse features, or change over time.

They are not in the package, and are read from files `<name>.svm.xz`: xz of LIBSVM text with labels
+1 and -1, rows in the order of the source, values not scaled, zeros and missing values left out.
They are looked for in the directory that the environment variable `RIVER_OAUC_DATA` names, and in
`streams` below it.
"""

from __future__ import annotations

import dataclasses
import lzma
import os
import pathlib
from collections.abc import Iterator

from river.datasets import base

from river_oauc.datasets.base import (
    DIRECTORY_VARIABLE,
    DatasetError,
    check_directory_variable,
)

__all__ = ["STREAMS", "RealStream", "StreamFacts"]

# A stream with more features than this is sparse: its examples have no zeros.
_WIDEST_DENSE = 150


@dataclasses.dataclass(frozen=True)
class StreamFacts:
    """What is known of a stream without its file.

    Parameters
    ----------
    name
        Its name, and that of its file.
    n_samples
        Number of rows.
    n_features
        Number of features.
    n_positives
        Number of rows of the positive class.
    is_ordered
        Whether the order of the rows means something, mostly time. Otherwise it should be shuffled.
    positive
        What a positive is.
    licence
        The licence of the data.
    source
        Where its publisher offers it.

    """

    name: str
    n_samples: int
    n_features: int
    n_positives: int
    is_ordered: bool
    positive: str
    licence: str
    source: str

    @property
    def is_sparse(self) -> bool:
        """Whether examples come without zeros."""
        return self.n_features > _WIDEST_DENSE


_CC, _NONE = "CC BY 4.0", "none stated"
_UCI = "https://archive.ics.uci.edu/dataset"
_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html"

_FACTS = (
    StreamFacts("a9a", 32_561, 123, 7_841, False, "income above 50,000", _CC, _LIBSVM),
    StreamFacts("w8a", 49_749, 300, 1_479, False, "a web page of one topic", _NONE, _LIBSVM),
    StreamFacts("sms_spam", 5_574, 8_704, 747, False, "spam", _CC, f"{_UCI}/228"),
    StreamFacts(
        "hate_speech", 24_783, 35_777, 1_430, False, "hate speech", "MIT",
        "https://github.com/t-davidson/hate-speech-and-offensive-language",
    ),
    StreamFacts(
        "reuters21578", 13_476, 20_072, 632, True, "news of crude oil", "free for research",
        f"{_UCI}/137",
    ),
    StreamFacts(
        "diabetes130", 101_766, 2_511, 11_357, True, "readmission within 30 days", _CC,
        f"{_UCI}/296",
    ),
    StreamFacts(
        "census_income", 199_523, 502, 12_382, False, "income above 50,000", _CC, f"{_UCI}/117"
    ),
    StreamFacts(
        "kdd99_10", 494_021, 118, 1_178, True, "an intrusion (R2L, U2R)", _CC, f"{_UCI}/130"
    ),
    StreamFacts(
        "nsl_kdd20", 47_736, 119, 3_174, False, "an intrusion (R2L, U2R)", "free for research",
        "https://www.unb.ca/cic/datasets/nsl.html",
    ),
    StreamFacts("caravan", 5_822, 133, 348, False, "buys an insurance", _CC, f"{_UCI}/125"),
    StreamFacts("bank", 41_188, 62, 4_640, True, "buys a term deposit", _CC, f"{_UCI}/222"),
    StreamFacts(
        "mammography", 11_183, 6, 260, False, "a calcification", _NONE,
        "https://www.openml.org/d/310",
    ),
    StreamFacts("abalone19", 4_177, 10, 32, False, "an abalone of 19 rings", _CC, f"{_UCI}/1"),
    StreamFacts("ozone8h", 2_534, 72, 160, True, "an ozone day", _CC, f"{_UCI}/172"),
    StreamFacts("ai4i2020", 10_000, 8, 339, False, "a machine failure", _CC, f"{_UCI}/601"),
    StreamFacts("letter_z", 20_000, 16, 734, False, "the letter Z", _CC, f"{_UCI}/59"),
    StreamFacts("cover", 286_048, 10, 2_747, True, "forest type 4", _CC, f"{_UCI}/31"),
    StreamFacts(
        "elec2", 45_312, 8, 19_237, True, "the price goes up", _NONE,
        "https://www.openml.org/d/151",
    ),
    StreamFacts(
        "noaa_weather", 18_159, 8, 5_698, True, "rain", "US government data",
        "https://users.rowan.edu/~polikar/nse.html",
    ),
    StreamFacts("occupancy", 20_560, 5, 4_750, True, "a room in use", _CC, f"{_UCI}/357"),
    StreamFacts("gas_drift", 6_697, 128, 681, True, "ammonia", _CC, f"{_UCI}/270"),
    StreamFacts(
        "usenet1", 1_500, 99, 700, True, "of interest, which flips every 300", _NONE,
        "http://mlkd.csd.auth.gr/concept_drift.html",
    ),
)  # fmt: skip


class RealStream(base.FileDataset):
    """A real stream, in the order of its file.

    Iterating gives `(x, y)` pairs. `x` has the LIBSVM indices as strings for names. Of a stream
    with up to 150 features it always has all of them, zeros included; of a wider one the zeros are
    left out. `y` is True for the positive class.

    Parameters
    ----------
    facts
        What is known of it.

    """

    def __init__(self, facts: StreamFacts) -> None:
        super().__init__(  # type: ignore[no-untyped-call]
            filename=f"{facts.name}.svm.xz",
            task=base.BINARY_CLF,
            n_samples=facts.n_samples,
            n_features=facts.n_features,
        )
        self.facts = facts

    @property
    def path(self) -> pathlib.Path | None:
        """The file; None if there is none."""
        shared = os.environ.get(DIRECTORY_VARIABLE)
        if not shared:
            return None
        directory = pathlib.Path(os.path.expanduser(shared))
        candidates = (directory / self.filename, directory / "streams" / self.filename)
        return next((path for path in candidates if path.is_file()), None)

    def __iter__(self) -> Iterator[tuple[dict[str, float], bool]]:
        check_directory_variable()
        path = self.path
        if path is None:
            raise DatasetError(
                f"there is no {self.filename}: get {self.facts.name} from {self.facts.source}, "
                f"write it as LIBSVM text, and set {DIRECTORY_VARIABLE} to the directory that has "
                "it"
            )
        names = [str(index) for index in range(1, self.facts.n_features + 1)]
        zeros = {} if self.facts.is_sparse else dict.fromkeys(names, 0.0)
        with lzma.open(path, "rt", encoding="ascii") as lines:
            for line in lines:
                label, *pairs = line.split()
                x = zeros.copy()
                for pair in pairs:
                    index, _, value = pair.partition(":")
                    x[index] = float(value)
                yield x, label == "+1"


STREAMS = {facts.name: facts for facts in _FACTS}
