"""The package where Dask is not installed."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
sys.modules[{hidden!r}] = None
import river_oauc
river_oauc.OAUCM().learn_one({{"a": 1.0}}, True)
import river_oauc.distributed
"""


@pytest.mark.parametrize("hidden", ["dask", "distributed", "dask.dataframe"])
def test_one_line_says_what_to_install(hidden: str) -> None:
    command = [sys.executable, "-c", PROGRAM.format(hidden=hidden)]
    said = subprocess.run(command, capture_output=True, text=True).stderr.splitlines()[-1]
    install = 'pip install "river-oauc[distributed]"'
    assert said == f"ImportError: river_oauc.distributed needs Dask: {install}"
