"""A quiet hypothesis profile and one BLAS thread, as in `tests/conftest.py`."""

from __future__ import annotations

from hypothesis import settings
from threadpoolctl import threadpool_limits

threadpool_limits(limits=1, user_api="blas")

settings.register_profile("river_oauc", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("river_oauc")
