"""Learn one model from the partitions of a Dask DataFrame in parallel, and score with it."""

from __future__ import annotations

try:
    import dask.dataframe  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        'river_oauc.distributed needs Dask: pip install "river-oauc[distributed]"'
    ) from error

from river_oauc.distributed.learning import learn
from river_oauc.distributed.scoring import score

__all__ = ["learn", "score"]
