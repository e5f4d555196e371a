"""25 real streams with rare positives, many sparse features, or concept drift.

Six of them cannot be downloaded directly.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator
from typing import Any

from river import datasets

from benchmarks.datasets.dataset import Dataset
from benchmarks.datasets.published import UCI, Published, libsvm, table, words
from river_oauc.cli.models import Example

__all__ = ["STREAMS"]


def _counted_words(examples: Iterable[tuple[dict[str, str], bool]]) -> Iterator[Example]:
    for x, y in examples:
        yield dict(collections.Counter(words(x["body"]))), bool(y)


def _uci(path: str, *positive: str, **options: Any) -> Published:
    return table(UCI + path, positive=positive, **options)


_CENSUS_NUMBERS = (0, 5, 16, 17, 18, 30, 39)
_CC, _NONE = "CC BY 4.0", "none stated"
_UCI_PAGE = "https://archive.ics.uci.edu/dataset"
_LIBSVM_PAGE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html"

_STREAMS = (
    Dataset("a9a", 32_561, 123, 7_841, "income above 50,000", libsvm("binary/a9a", positive="1"),
            licence=_CC, source=_LIBSVM_PAGE,
            sha256="76b604b2c3f738783537bd3b32893eae66af54b8a41aee534fac1ecea45c1535"),
    Dataset("w8a", 49_749, 300, 1_479, "a web page of one topic",
            libsvm("binary/w8a", positive="1"), licence=_NONE, source=_LIBSVM_PAGE,
            sha256="05af7655871a35d5bc89c755791b5338a9969cb604c9df045c811c5e5a45426e"),
    Dataset("sms_spam", 5_574, 8_704, 747, "spam", licence=_CC, source=f"{_UCI_PAGE}/228",
            sha256="5fdb53f52fc6d89a8ab4feb886c112bebb1da7f65c5b887be90fa9608e5ea72e",
            river=datasets.SMSSpam, read_river=_counted_words),
    Dataset("hate_speech", 24_783, 35_777, 1_430, "hate speech",
            table("https://raw.githubusercontent.com/t-davidson/hate-speech-and-offensive-language/"
                  "master/data/labeled_data.csv",
                  positive=("0",), label=5, texts=(6,), n_header=1),
            licence="MIT",
            source="https://github.com/t-davidson/hate-speech-and-offensive-language",
            sha256="9047a84fe6d6c51417b8efd90888ce993a14df21647557ea7a60c0d6eda9072a"),
    Dataset("reuters21578", 13_476, 20_072, 632, "news of crude oil", is_ordered=True,
            licence="free for research", source=f"{_UCI_PAGE}/137",
            sha256="eed62b3a00717b98e964da110980046ce4bd0e5ad6adbaacca67470f37e29020"),
    Dataset("diabetes130", 101_766, 2_511, 11_357, "readmission within 30 days",
            _uci("00296/dataset_diabetes.zip", "<30", n_header=1, sort=0,
                 members=("dataset_diabetes/diabetic_data.csv",),
                 numbers=(9, *range(12, 18), 21),
                 names=(*range(2, 9), 10, 11, *range(18, 21), *range(22, 49))),
            is_ordered=True, licence=_CC, source=f"{_UCI_PAGE}/296",
            sha256="484182152affc27a63e04c9bc44982141cc591c5d477395c0c32bff938bd6c57"),
    # Column 24 is the weight of the row.
    Dataset("census_income", 199_523, 502, 12_382, "income above 50,000",
            _uci("census-income-mld/census-income.data.gz", "50000+.", numbers=_CENSUS_NUMBERS,
                 names=[column for column in range(41) if column not in (*_CENSUS_NUMBERS, 24)]),
            licence=_CC, source=f"{_UCI_PAGE}/117",
            sha256="a73a8d5bb6010bb5182bce3ef20d69daef54b73fa7e5694acadb0f0be416eaa1"),
    Dataset("kdd99_10", 494_021, 118, 1_178, "an intrusion (R2L, U2R)",
            _uci("kddcup99-mld/kddcup.data_10_percent.gz",
                 # Remote to local, and user to root.
                 "ftp_write.", "guess_passwd.", "imap.", "multihop.", "phf.", "spy.",
                 "warezclient.", "warezmaster.", "buffer_overflow.", "loadmodule.", "perl.",
                 "rootkit.",
                 numbers=(0, *range(4, 41)), names=(1, 2, 3)),
            is_ordered=True, licence=_CC, source=f"{_UCI_PAGE}/130",
            sha256="6961d9bb84b8648e50ff311b629e74616c077e5752e6c154190001e6d41bcb41"),
    Dataset("nsl_kdd20", 47_736, 119, 3_174, "an intrusion (R2L, U2R)", licence="free for research",
            source="https://www.unb.ca/cic/datasets/nsl.html",
            sha256="bd552f0fb0738a16b7506892cc48345057a08936bdb80f193e25c518beab0729"),
    Dataset("caravan", 5_822, 133, 348, "buys an insurance",
            _uci("tic-mld/ticdata2000.txt", "1", delimiter="\t",
                 numbers=(*range(1, 4), *range(5, 85)), names=(0, 4)),
            licence=_CC, source=f"{_UCI_PAGE}/125",
            sha256="97802ff34f2e4efae13a6820835c9ab6bfbf504bf3bc70100866fee6fa55646c"),
    # Column 10, the duration of the call, is only known after it.
    Dataset("bank", 41_188, 62, 4_640, "buys a term deposit",
            _uci("00222/bank-additional.zip", "yes", delimiter=";", n_header=1,
                 members=("bank-additional/bank-additional-full.csv",),
                 numbers=(0, *range(11, 14), *range(15, 20)), names=(*range(1, 10), 14)),
            is_ordered=True, licence=_CC, source=f"{_UCI_PAGE}/222",
            sha256="e1e55bd28342b7f2d18e0c995445b2f0d983dd62d29554fe3bba3b3a3648f708"),
    Dataset("mammography", 11_183, 6, 260, "a calcification", licence=_NONE,
            source="https://www.openml.org/d/310",
            sha256="ea940a2d1cfac8534993b77f92952b2fec52c3bd21a98a3a4e513663c2fe7694"),
    Dataset("abalone19", 4_177, 10, 32, "an abalone of 19 rings",
            _uci("abalone/abalone.data", "19", numbers=range(1, 8), names=(0,)),
            licence=_CC, source=f"{_UCI_PAGE}/1",
            sha256="6b5fccb68caf744701700368ca8c30811bb3a88ae546db7b35730920f6f4c8b1"),
    Dataset("ozone8h", 2_534, 72, 160, "an ozone day",
            _uci("ozone/eighthr.data", "1.", numbers=range(1, 73)),
            is_ordered=True, licence=_CC, source=f"{_UCI_PAGE}/172",
            sha256="0d1a0c4e93b6d5b08bc524fbbd379203fd4c6580a7ff948addb64ba88f0dba82"),
    Dataset("ai4i2020", 10_000, 8, 339, "a machine failure",
            _uci("00601/ai4i2020.csv", "1", label=8, n_header=1, numbers=range(3, 8), names=(2,)),
            licence=_CC, source=f"{_UCI_PAGE}/601",
            sha256="e4d7434b90bb85a6b491fd370910d4b8aa17cb59880c8ffa9fe1b623e855ce89"),
    Dataset("letter_z", 20_000, 16, 734, "the letter Z",
            _uci("letter-recognition/letter-recognition.data", "Z", label=0, numbers=range(1, 17)),
            licence=_CC, source=f"{_UCI_PAGE}/59",
            sha256="b97f23471169befbb6520296e7f55ad91d985761027a41dda8f216d23ada296d"),
    Dataset("cover", 286_048, 10, 2_747, "forest type 4, and not 2",
            _uci("covtype/covtype.data.gz", "4", among=("2", "4"), numbers=range(10)),
            is_ordered=True, licence=_CC, source=f"{_UCI_PAGE}/31",
            sha256="86b79b04b090d838beed61e72c871b541d9423e1d65b425edc1fc31acfb09623"),
    Dataset("elec2", 45_312, 8, 19_237, "the price goes up", is_ordered=True, licence=_NONE,
            source="https://www.openml.org/d/151", river=datasets.Elec2,
            sha256="adbc4a407e445ba187974b7b0f4f67c36ceb7275047db890273318c6bb69b64c"),
    Dataset("noaa_weather", 18_159, 8, 5_698, "rain", is_ordered=True, licence="US government data",
            source="https://users.rowan.edu/~polikar/nse.html",
            sha256="06cbbec92869e05fe48ac1dc7d9b8ca27099be62c185f398a17d8565f67e58bc"),
    Dataset("occupancy", 20_560, 5, 4_750, "a room in use",
            _uci("00357/occupancy_data.zip", "1", n_header=1, numbers=range(2, 7),
                 members=("datatest.txt", "datatraining.txt", "datatest2.txt")),
            is_ordered=True, licence=_CC, source=f"{_UCI_PAGE}/357",
            sha256="cae3a440175ff9e0bbe1e273c99a083c64c23df1ee50d7616a0d7f236304f7c3"),
    # Without batches 7 and 10.
    Dataset("gas_drift", 6_697, 128, 681, "ammonia", is_ordered=True, licence=_CC,
            source=f"{_UCI_PAGE}/270",
            sha256="76d9ba59e3897c7df65f69690e8b384ec225f2ae22b86382098b17b7e756db6b"),
    Dataset("usenet1", 1_500, 99, 700, "of interest, which flips every 300", is_ordered=True,
            licence=_NONE, source="http://mlkd.csd.auth.gr/concept_drift.html",
            sha256="d5d3b833a19c354e57c8b8b408d3b3f1bc56a632f15ab6e6fdbcc25f88e0b452"),
    Dataset("credit_card", 284_807, 30, 492, "a fraud", is_ordered=True, licence="DbCL 1.0",
            source="https://www.kaggle.com/datasets/mlg-ulb/creditcardfraud",
            river=datasets.CreditCard),
    Dataset("http", 567_498, 3, 2_211, "an intrusion", is_ordered=True, licence=_CC,
            source=f"{_UCI_PAGE}/130", river=datasets.HTTP),
    Dataset("smtp", 95_156, 3, 30, "an intrusion", is_ordered=True, licence=_CC,
            source=f"{_UCI_PAGE}/130", river=datasets.SMTP),
)  # fmt: skip

STREAMS = {dataset.name: dataset for dataset in _STREAMS}
