"""The data of the benchmarks: the paper's 18 sets and 25 real streams.

`BENCHMARKS` and `STREAMS` map names to a `Dataset`. Iterate over one like over any of river's, or
call `to_numpy`. `Dataset` says where files are looked up and how missing ones are made.

Examples
--------
`segment` comes with river:

>>> from benchmarks.datasets import BENCHMARKS

>>> segment = BENCHMARKS["segment"]
>>> x, y = next(iter(segment))
>>> len(x), x["1"], x["3"], y
(19, 0.715415, 0.0, False)

>>> X, y = segment.to_numpy()
>>> X.shape, int(y.sum())
((2310, 19), 330)

"""

from __future__ import annotations

from benchmarks.datasets.dataset import Dataset, data_directory
from benchmarks.datasets.sets import BENCHMARKS
from benchmarks.datasets.streams import STREAMS

__all__ = ["BENCHMARKS", "STREAMS", "Dataset", "data_directory"]
