"""Why the step 1/(λt) ranks worse in a kernel learner: because of what a budget makes it give up.

Slow: `python -m pytest -m slow -s benchmarks/tests/test_kernel_figures.py` takes five minutes.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

from benchmarks.datasets import data_directory
from benchmarks.paper.grids.okauc import OKAUCMStack
from benchmarks.paper.methods import Method, Table
from benchmarks.paper.protocol import PAPER_RUNS, Cell, run_cell

# With a budget of as many, nothing is given up.
N_EXAMPLES = 1_000
GRID = {"l2": (2.0**-10, 2.0**-8, 2.0**-6, 2.0**-4), "gamma": (2.0**-4, 1.0)}
STEPS = (0.25, 1.0, 4.0)


def mean_auc(table: Table, method: str, dataset: str) -> float:
    """In percent, on held-out folds."""
    cells = (Cell(dataset, method, run) for run in range(PAPER_RUNS))
    return 100.0 * float(np.mean([run_cell(table, cell).auc for cell in cells]))


@pytest.mark.slow
@pytest.mark.skipif(data_directory() is None, reason="RIVER_OAUC_DATA is not set")
@pytest.mark.parametrize("dataset", ["magic04", "svmguide3", "vehicle"])
def test_a_shrinking_step_loses_by_the_budget(dataset: str) -> None:
    lead = {}
    for budget in (100, 300, N_EXAMPLES):
        build = functools.partial(OKAUCMStack, budget=budget)
        methods = Method("OKAUC-M", GRID, build), Method("OKAUC-Mc", {**GRID, "lr": STEPS}, build)
        table = Table("kernel", 2, methods, "OKAUC-M", max_examples=N_EXAMPLES)
        shrinking, constant = (mean_auc(table, method.name, dataset) for method in methods)
        print(f"{dataset}, budget {budget}: {shrinking:.1f}, {constant:.1f}", flush=True)
        lead[budget] = constant - shrinking
    assert lead[100] > 2.0
    assert abs(lead[N_EXAMPLES]) < 0.5
