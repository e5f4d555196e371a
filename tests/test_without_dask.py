"""The package where Dask is not installed."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
sys.modules[{hidden!r}] = None
try:
    import river_oauc.distributed
except ImportError as error:
    print(error)
import river_oauc
river_oauc.OAUCM().learn_one({{"a": 1.0}}, True)
"""


@pytest.mark.parametrize("hidden", ["dask", "distributed", "dask.dataframe"])
def test_one_line_says_what_to_install(hidden: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(hidden=hidden)], capture_output=True, text=True
    )
    assert done.stderr == ""
    assert done.stdout == (
        'river_oauc.distributed needs Dask: pip install "river-oauc[distributed]"\n'
    )
