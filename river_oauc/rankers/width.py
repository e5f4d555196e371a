"""The width of the default kernel, which follows the stored examples."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist

from river_oauc.kernels import RBF
from river_oauc.state import FloatArray

# A compromise between features scaled to [0, 1], which rank best with gamma near 0.5, and a few
# standardised ones, which rank best with 1/16.
LARGEST_GAMMA = 0.25

# The least mean similarity of two stored examples. With much less, each example is alone in its
# neighbourhood, and what was learned from it says nothing about the next one.
_MIN_SIMILARITY = 1.0 / 64.0

# The width is chosen after 2, 4, 8, ... stored examples, and in the end each time that this many
# have been stored, which costs a twentieth of what scoring does.
_LONGEST_WAIT = 4096

# Number of stored examples that represent all of them.
_SAMPLE_SIZE = 512


def is_time_to_choose(n_stored: int) -> bool:
    """Return whether to choose the width after this many stored examples.

    Examples
    --------
    >>> from river_oauc.rankers.width import is_time_to_choose
    >>> [n for n in range(1, 15_000) if is_time_to_choose(n)][-5:]
    [1024, 2048, 4096, 8192, 12288]

    """
    return not n_stored & min(n_stored - 1, _LONGEST_WAIT - 1)


def choose_kernel(vectors: FloatArray) -> RBF:
    """Return a Gaussian kernel: gamma is 1/4, halved until the vectors are similar enough.

    Distances grow with the number of features and with their scale. The choice depends on distances
    only, so a feature that is always 0 makes no difference. Neither do a few outliers, whose
    similarities are 0 with any width.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.rankers.width import choose_kernel

    >>> rng = np.random.default_rng(1)
    >>> [1 / choose_kernel(rng.normal(size=(100, p))).gamma for p in (5, 50, 500)]
    [4.0, 32.0, 256.0]

    """
    sample = vectors[:: 1 + len(vectors) // _SAMPLE_SIZE]
    squared_distances = pdist(sample, "sqeuclidean")
    gamma = LARGEST_GAMMA
    if len(squared_distances):
        while np.exp(-gamma * squared_distances).mean() < _MIN_SIMILARITY:
            gamma /= 2.0
    return RBF(gamma)
