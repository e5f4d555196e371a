"""How wide the kernel is of a learner that was given none."""

from __future__ import annotations

import operator

import numpy as np
from scipy.spatial.distance import pdist

from river_oauc.inputs.arrays import FloatArray
from river_oauc.kernels import RBF, Kernel

__all__ = ["NARROWEST", "fitting_kernel", "is_time_to_fit", "widest"]

# A compromise for features scaled to [0, 1], which rank best with gamma near 0.5, and standardised
# ones, with 1/16, as long as they are few.
NARROWEST = RBF(gamma=0.25)

# What two stored examples have in common on average, at least. With much less, each example is
# alone in its neighbourhood: nothing that was learned from it says anything about the next one.
_SIMILARITY = 1.0 / 64.0

# The width is looked at after 2, 4, 8, ... stored examples, and every so many in the end, where
# that costs a twentieth of what scoring does.
_LONGEST_WAIT = 4096

# So many stored examples say enough about all.
_SAMPLE = 512


def is_time_to_fit(n_stored: int) -> bool:
    """Whether the width is looked at after so many stored examples.

    Examples
    --------
    >>> from river_oauc.kernel.width import is_time_to_fit
    >>> [n for n in range(1, 15_000) if is_time_to_fit(n)][-5:]
    [1024, 2048, 4096, 8192, 12288]

    """
    return not n_stored & min(n_stored - 1, _LONGEST_WAIT - 1)


def fitting_kernel(vectors: FloatArray) -> RBF:
    """The Gaussian kernel for these vectors: gamma is 1/4, halved until they are similar enough.

    Distances grow with the number of features, and with their scale. It looks at nothing but
    distances, so that a feature that is always 0 makes no difference. A few outliers make none
    either: their similarities are 0 with any width.

    Examples
    --------
    >>> import numpy as np
    >>> from river_oauc.kernel.width import fitting_kernel

    >>> rng = np.random.default_rng(1)
    >>> [1 / fitting_kernel(rng.normal(size=(100, p))).gamma for p in (5, 50, 500)]
    [4.0, 32.0, 256.0]

    """
    sample = vectors[:: 1 + len(vectors) // _SAMPLE]
    squared_distances = pdist(sample, "sqeuclidean")
    gamma = NARROWEST.gamma
    if len(squared_distances):
        while np.exp(-gamma * squared_distances).mean() < _SIMILARITY:
            gamma /= 2.0
    return RBF(gamma)


def widest(*kernels: Kernel) -> Kernel:
    """Of Gaussian kernels the one with the smallest gamma."""
    return min(kernels, key=operator.attrgetter("gamma"))
