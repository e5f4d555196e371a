"""The 18 benchmark sets of online AUC maximisation, as river datasets.

`BENCHMARKS` maps names to classes, in the order of the paper's table, from the least to the most
imbalanced set. Each class has `facts` about the set. Iterate over a set like over any river
dataset, or call `to_numpy`. See `BenchmarkDataset` for where the files are looked up and
downloaded. Real streams are in `river_oauc.datasets.streams`.

Examples
--------
`Segment` needs no download:

>>> from river_oauc import datasets

>>> dataset = datasets.Segment()
>>> for x, y in dataset.take(1):
...     print(len(x), x["1"], x["3"], y)
19 0.715415 0.0 False

>>> X, y = dataset.to_numpy()
>>> X.shape, int(y.sum())
((2310, 19), 330)

>>> dataset
Segments of outdoor images.
...
      Name  Segment
      Task  Binary classification
   Samples  2,310
  Features  19
    Sparse  False
      Path  ...
 Positives  330
Downloaded  True

>>> facts = datasets.BENCHMARKS["shuttle"].facts
>>> f"{facts.imbalance_ratio:.2f}, in the paper {facts.paper_imbalance_ratio}"
'328.55, in the paper 44.89'

"""

from __future__ import annotations

from river_oauc.datasets.base import BenchmarkDataset, Facts
from river_oauc.datasets.libsvm_sets import (
    Australian,
    Diabetes,
    Fourclass,
    German,
    Heart,
    Letter,
    Splice,
    SVMGuide1,
    SVMGuide2,
    SVMGuide3,
    Vehicle,
)
from river_oauc.datasets.published import DatasetError
from river_oauc.datasets.segment import Segment
from river_oauc.datasets.uci_sets import Ionosphere, Magic04, Poker, Satimage, Shuttle, Vowel

__all__ = [
    "BENCHMARKS",
    "Australian",
    "BenchmarkDataset",
    "DatasetError",
    "Diabetes",
    "Facts",
    "Fourclass",
    "German",
    "Heart",
    "Ionosphere",
    "Letter",
    "Magic04",
    "Poker",
    "SVMGuide1",
    "SVMGuide2",
    "SVMGuide3",
    "Satimage",
    "Segment",
    "Shuttle",
    "Splice",
    "Vehicle",
    "Vowel",
]

BENCHMARKS: dict[str, type[BenchmarkDataset]] = {
    dataset.__name__.lower(): dataset
    for dataset in (
        Splice, Australian, Heart, SVMGuide1, Ionosphere, Fourclass, Magic04, Diabetes, German,
        Vehicle, SVMGuide3, Segment, SVMGuide2, Satimage, Vowel, Letter, Shuttle, Poker,
    )
}  # fmt: skip
