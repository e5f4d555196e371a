"""Facts about the real streams: size, positive class, licence, source, and how to get them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from river import datasets

from river_oauc.datasets.published import FileFacts
from river_oauc.datasets.recipes import UCI, Recipe, from_libsvm
from river_oauc.datasets.tables import TableRecipe

# Examples of streams with more features leave out zeros.
_MAX_DENSE_FEATURES = 150


@dataclasses.dataclass(frozen=True)
class StreamFacts(FileFacts):
    """What is known about a stream without reading it.

    Parameters
    ----------
    n_samples
        Number of rows.
    n_features
        Number of features.
    n_positives
        Number of rows of the positive class.
    is_ordered
        Whether the order of the rows matters, usually because it is time. Otherwise shuffle them.
    positive
        Description of the positive class.
    licence
        Licence of the data.
    source
        Page of the publisher.
    sha256
        Checksum of the canonical text, with which the published figures were computed; None if
        there is no such text.
    size
        Size of that text in bytes; without such a text, the size of river's file.
    recipe
        How to make that text from the published files; None if they cannot be downloaded directly
        or if river downloads them.
    river
        river's dataset, which is read if there is no file.

    """

    is_ordered: bool
    positive: str
    licence: str
    source: str
    recipe: Recipe | None = None
    river: Callable[[], Any] | None = None

    @property
    def is_sparse(self) -> bool:
        """Whether examples leave out zeros."""
        return self.n_features > _MAX_DENSE_FEATURES

    @property
    def share(self) -> float:
        """Share of positives."""
        return self.n_positives / self.n_samples


def _uci(*paths: str, last: str = "", **options: Any) -> TableRecipe:
    """Create the recipe of tables at UCI; positives have `last` in the last column."""
    options.setdefault("is_positive", lambda row: row[-1] == last)
    return TableRecipe(tuple(UCI + path for path in paths), **options)


# Attacks of the categories remote-to-local and user-to-root.
_INTRUSIONS = frozenset(
    "ftp_write. guess_passwd. imap. multihop. phf. spy. warezclient. warezmaster. "
    "buffer_overflow. loadmodule. perl. rootkit.".split()
)
_CENSUS_NUMBERS = (0, 5, 16, 17, 18, 30, 39)
_CC, _NONE = "CC BY 4.0", "none stated"
_UCI_PAGE = "https://archive.ics.uci.edu/dataset"
_LIBSVM_PAGE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html"

STREAMS: dict[str, StreamFacts] = {
    "a9a": StreamFacts(
        32_561, 123, 7_841, False, "income above 50,000", _CC, _LIBSVM_PAGE,
        sha256="76b604b2c3f738783537bd3b32893eae66af54b8a41aee534fac1ecea45c1535", size=2_297_314,
        recipe=from_libsvm("binary/a9a", positive="1"),
    ),
    "w8a": StreamFacts(
        49_749, 300, 1_479, False, "a web page of one topic", _NONE, _LIBSVM_PAGE,
        sha256="05af7655871a35d5bc89c755791b5338a9969cb604c9df045c811c5e5a45426e", size=3_428_489,
        recipe=from_libsvm("binary/w8a", positive="1"),
    ),
    "sms_spam": StreamFacts(
        5_574, 8_704, 747, False, "spam", _CC, f"{_UCI_PAGE}/228",
        sha256="5fdb53f52fc6d89a8ab4feb886c112bebb1da7f65c5b887be90fa9608e5ea72e", size=467_819,
        river=datasets.SMSSpam,
    ),
    "hate_speech": StreamFacts(
        24_783, 35_777, 1_430, False, "hate speech", "MIT",
        "https://github.com/t-davidson/hate-speech-and-offensive-language",
        sha256="9047a84fe6d6c51417b8efd90888ce993a14df21647557ea7a60c0d6eda9072a", size=2_094_492,
        recipe=TableRecipe(
            ("https://raw.githubusercontent.com/t-davidson/hate-speech-and-offensive-language/"
             "master/data/labeled_data.csv",),
            is_positive=lambda row: row[5] == "0", texts=(6,), n_header=1,
        ),
    ),
    "reuters21578": StreamFacts(
        13_476, 20_072, 632, True, "news of crude oil", "free for research", f"{_UCI_PAGE}/137",
        sha256="eed62b3a00717b98e964da110980046ce4bd0e5ad6adbaacca67470f37e29020", size=6_452_896,
    ),
    "diabetes130": StreamFacts(
        101_766, 2_511, 11_357, True, "readmission within 30 days", _CC, f"{_UCI_PAGE}/296",
        sha256="484182152affc27a63e04c9bc44982141cc591c5d477395c0c32bff938bd6c57", size=21_963_026,
        recipe=_uci(
            "00296/dataset_diabetes.zip", last="<30",
            members=("dataset_diabetes/diabetic_data.csv",), n_header=1,
            order=lambda row: int(row[0]), numbers=(9, *range(12, 18), 21),
            names=(*range(2, 9), 10, 11, *range(18, 21), *range(22, 49)),
        ),
    ),
    "census_income": StreamFacts(
        199_523, 502, 12_382, False, "income above 50,000", _CC, f"{_UCI_PAGE}/117",
        sha256="a73a8d5bb6010bb5182bce3ef20d69daef54b73fa7e5694acadb0f0be416eaa1", size=34_135_349,
        recipe=_uci(
            "census-income-mld/census-income.data.gz", last="50000+.", numbers=_CENSUS_NUMBERS,
            # Column 24 is the weight of the row.
            names=[column for column in range(41) if column not in (*_CENSUS_NUMBERS, 24)],
        ),
    ),
    "kdd99_10": StreamFacts(
        494_021, 118, 1_178, True, "an intrusion (R2L, U2R)", _CC, f"{_UCI_PAGE}/130",
        sha256="6961d9bb84b8648e50ff311b629e74616c077e5752e6c154190001e6d41bcb41", size=38_247_313,
        recipe=_uci(
            "kddcup99-mld/kddcup.data_10_percent.gz",
            is_positive=lambda row: row[-1] in _INTRUSIONS,
            numbers=(0, *range(4, 41)), names=(1, 2, 3),
        ),
    ),
    "nsl_kdd20": StreamFacts(
        47_736, 119, 3_174, False, "an intrusion (R2L, U2R)", "free for research",
        "https://www.unb.ca/cic/datasets/nsl.html",
        sha256="bd552f0fb0738a16b7506892cc48345057a08936bdb80f193e25c518beab0729", size=4_301_507,
    ),
    "caravan": StreamFacts(
        5_822, 133, 348, False, "buys an insurance", _CC, f"{_UCI_PAGE}/125",
        sha256="97802ff34f2e4efae13a6820835c9ab6bfbf504bf3bc70100866fee6fa55646c", size=1_077_194,
        recipe=_uci(
            "tic-mld/ticdata2000.txt", last="1", delimiter="\t",
            numbers=(*range(1, 4), *range(5, 85)), names=(0, 4),
        ),
    ),
    "bank": StreamFacts(
        41_188, 62, 4_640, True, "buys a term deposit", _CC, f"{_UCI_PAGE}/222",
        sha256="e1e55bd28342b7f2d18e0c995445b2f0d983dd62d29554fe3bba3b3a3648f708", size=4_449_956,
        recipe=_uci(
            "00222/bank-additional.zip", last="yes",
            members=("bank-additional/bank-additional-full.csv",), delimiter=";", n_header=1,
            # Column 10, the duration of the call, is only known after it.
            numbers=(0, *range(11, 14), *range(15, 20)), names=(*range(1, 10), 14),
        ),
    ),
    "mammography": StreamFacts(
        11_183, 6, 260, False, "a calcification", _NONE, "https://www.openml.org/d/310",
        sha256="ea940a2d1cfac8534993b77f92952b2fec52c3bd21a98a3a4e513663c2fe7694", size=873_402,
    ),
    "abalone19": StreamFacts(
        4_177, 10, 32, False, "an abalone of 19 rings", _CC, f"{_UCI_PAGE}/1",
        sha256="6b5fccb68caf744701700368ca8c30811bb3a88ae546db7b35730920f6f4c8b1", size=262_135,
        recipe=_uci("abalone/abalone.data", last="19", numbers=range(1, 8), names=(0,)),
    ),
    "ozone8h": StreamFacts(
        2_534, 72, 160, True, "an ozone day", _CC, f"{_UCI_PAGE}/172",
        sha256="0d1a0c4e93b6d5b08bc524fbbd379203fd4c6580a7ff948addb64ba88f0dba82", size=1_234_353,
        recipe=_uci("ozone/eighthr.data", last="1.", numbers=range(1, 73)),
    ),
    "ai4i2020": StreamFacts(
        10_000, 8, 339, False, "a machine failure", _CC, f"{_UCI_PAGE}/601",
        sha256="e4d7434b90bb85a6b491fd370910d4b8aa17cb59880c8ffa9fe1b623e855ce89", size=418_621,
        recipe=_uci(
            "00601/ai4i2020.csv", is_positive=lambda row: row[8] == "1", n_header=1,
            numbers=range(3, 8), names=(2,),
        ),
    ),
    "letter_z": StreamFacts(
        20_000, 16, 734, False, "the letter Z", _CC, f"{_UCI_PAGE}/59",
        sha256="b97f23471169befbb6520296e7f55ad91d985761027a41dda8f216d23ada296d", size=1_473_747,
        recipe=_uci(
            "letter-recognition/letter-recognition.data",
            is_positive=lambda row: row[0] == "Z", numbers=range(1, 17),
        ),
    ),
    "cover": StreamFacts(
        286_048, 10, 2_747, True, "forest type 4, and not 2", _CC, f"{_UCI_PAGE}/31",
        sha256="86b79b04b090d838beed61e72c871b541d9423e1d65b425edc1fc31acfb09623", size=18_042_423,
        recipe=_uci(
            "covtype/covtype.data.gz", last="4", numbers=range(10),
            keep=lambda row: row[-1] in ("2", "4"),
        ),
    ),
    "elec2": StreamFacts(
        45_312, 8, 19_237, True, "the price goes up", _NONE, "https://www.openml.org/d/151",
        sha256="adbc4a407e445ba187974b7b0f4f67c36ceb7275047db890273318c6bb69b64c", size=3_760_126,
        river=datasets.Elec2,
    ),
    "noaa_weather": StreamFacts(
        18_159, 8, 5_698, True, "rain", "US government data",
        "https://users.rowan.edu/~polikar/nse.html",
        sha256="06cbbec92869e05fe48ac1dc7d9b8ca27099be62c185f398a17d8565f67e58bc", size=1_009_420,
    ),
    "occupancy": StreamFacts(
        20_560, 5, 4_750, True, "a room in use", _CC, f"{_UCI_PAGE}/357",
        sha256="cae3a440175ff9e0bbe1e273c99a083c64c23df1ee50d7616a0d7f236304f7c3", size=882_132,
        recipe=_uci(
            "00357/occupancy_data.zip", last="1",
            members=("datatest.txt", "datatraining.txt", "datatest2.txt"), n_header=1,
            numbers=range(2, 7),
        ),
    ),
    # Without batches 7 and 10.
    "gas_drift": StreamFacts(
        6_697, 128, 681, True, "ammonia", _CC, f"{_UCI_PAGE}/270",
        sha256="76d9ba59e3897c7df65f69690e8b384ec225f2ae22b86382098b17b7e756db6b", size=10_664_395,
    ),
    "usenet1": StreamFacts(
        1_500, 99, 700, True, "of interest, which flips every 300", _NONE,
        "http://mlkd.csd.auth.gr/concept_drift.html",
        sha256="d5d3b833a19c354e57c8b8b408d3b3f1bc56a632f15ab6e6fdbcc25f88e0b452", size=29_327,
    ),
    "credit_card": StreamFacts(
        284_807, 30, 492, True, "a fraud", "DbCL 1.0",
        "https://www.kaggle.com/datasets/mlg-ulb/creditcardfraud",
        sha256=None, size=150_828_752, river=datasets.CreditCard,
    ),
    "http": StreamFacts(
        567_498, 3, 2_211, True, "an intrusion", _CC, f"{_UCI_PAGE}/130",
        sha256=None, size=32_400_738, river=datasets.HTTP,
    ),
    "smtp": StreamFacts(
        95_156, 3, 30, True, "an intrusion", _CC, f"{_UCI_PAGE}/130",
        sha256=None, size=5_484_982, river=datasets.SMTP,
    ),
}  # fmt: skip
