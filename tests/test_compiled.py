"""The compiled modules: the same numbers as the Python ones, and never an obstacle."""

from __future__ import annotations

import os
import pathlib
import pickle
import shutil
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.linalg.blas
import twin

import river_oauc
from river_oauc import blas, vectors

HERE = pathlib.Path(__file__).parent

compiled_only = pytest.mark.skipif(not river_oauc.compiled, reason="the package is not compiled")


def run(*arguments: Any, path: pathlib.Path | None = None, **environment: str) -> str:
    """What a fresh interpreter prints, whether it fails or not; modules in `path` come first."""
    result = subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=path,
        env={**os.environ, **environment},
    )
    return result.stdout + result.stderr


@pytest.fixture(scope="module")
def python_twins(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[list[float], bytes]]:
    """What the learners say in Python, and their pickles."""
    file = tmp_path_factory.mktemp("twins") / "twins"
    assert run(HERE / "twin.py", file, RIVER_OAUC_COMPILED="0") == ""
    is_compiled, twins = pickle.loads(file.read_bytes())
    assert not is_compiled
    return twins


@pytest.fixture(scope="module")
def twins() -> dict[str, tuple[list[float], bytes]]:
    """The same in this mode."""
    models = twin.models()
    return {name: (twin.lived(model, 1), pickle.dumps(model)) for name, model in models.items()}


def assert_same(actual: list[float], expected: list[float]) -> None:
    scale = max(map(abs, expected))
    assert actual == pytest.approx(expected, rel=1e-12, abs=1e-12 * scale)


@compiled_only
def test_all_learners_say_the_same_in_both_modes(python_twins: Any, twins: Any) -> None:
    assert twins.keys() == python_twins.keys()
    for name, (said, _) in twins.items():
        assert len(set(said)) > 100, name
        assert_same(said, python_twins[name][0])


@compiled_only
def test_pickles_move_between_the_modes(
    python_twins: Any, twins: Any, tmp_path: pathlib.Path
) -> None:
    """And what is read goes on as its twin does."""
    for name, (_, data) in python_twins.items():
        here, there = pickle.loads(twins[name][1]), pickle.loads(data)
        assert_same(twin.lived(there, 3), twin.lived(here, 3))
    file = tmp_path / "compiled"
    file.write_bytes(pickle.dumps({name: data for name, (_, data) in twins.items()}))
    program = (
        "import pickle, sys, twin, river_oauc\n"
        "assert not river_oauc.compiled\n"
        "models = pickle.loads(open(sys.argv[1], 'rb').read())\n"
        "said = {name: twin.lived(pickle.loads(data), 3) for name, data in models.items()}\n"
        "open(sys.argv[1], 'wb').write(pickle.dumps(said))\n"
    )
    assert run("-c", program, file, path=HERE, RIVER_OAUC_COMPILED="0") == ""
    for name, said in pickle.loads(file.read_bytes()).items():
        assert_same(said, twin.lived(pickle.loads(twins[name][1]), 3))


# Which modules are loaded ----------------------------------------------------------------------

SAY = "import river_oauc; print(river_oauc.compiled, river_oauc.blas.__file__.endswith('.py'))"
LEARN = "m = river_oauc.OAUCM(); m.learn_one({'a': 1.0}, True); m.learn_one({'a': 0.0}, False)"


def test_python_modules_can_be_asked_for() -> None:
    assert run("-c", f"{SAY}\n{LEARN}", RIVER_OAUC_COMPILED="0") == "False True\n"


@compiled_only
def test_compiled_modules_can_be_asked_for() -> None:
    assert run("-c", f"{SAY}\n{LEARN}", RIVER_OAUC_COMPILED="1") == "True False\n"


@compiled_only
@pytest.mark.parametrize("changed", ["stats/moments.py", "learner.pxd", "blas.pyx"])
def test_a_module_that_was_edited_is_not_hidden_by_an_old_one(
    changed: str, tmp_path: pathlib.Path
) -> None:
    package = pathlib.Path(river_oauc.__file__).parent
    ignored = shutil.ignore_patterns("cli", "datasets", "__pycache__")
    shutil.copytree(package, tmp_path / "river_oauc", ignore=ignored)
    source = tmp_path / "river_oauc" / changed
    usual = {"path": tmp_path, "RIVER_OAUC_COMPILED": ""}
    assert run("-c", SAY, **usual) == "True False\n"
    source.write_text(source.read_text() + "# An edit.\n")
    assert run("-c", f"{SAY}\n{LEARN}", **usual) == "False True\n"
    assert "older than their sources" in run("-c", SAY, path=tmp_path, RIVER_OAUC_COMPILED="1")


@compiled_only
def test_a_scipy_that_does_not_fit_is_no_obstacle() -> None:
    """As one would be whose BLAS takes integers of another size."""
    unfit = (
        "import sys, types, scipy.linalg\n"
        "sys.modules['scipy.linalg.cython_blas'] = unfit = types.ModuleType('cython_blas')\n"
        "scipy.linalg.cython_blas = unfit\n"
        "unfit.__pyx_capi__ = {}\n"
    )
    assert run("-c", f"{unfit}{SAY}\n{LEARN}", RIVER_OAUC_COMPILED="") == "False True\n"
    assert "cannot be loaded" in run("-c", f"{unfit}{SAY}", RIVER_OAUC_COMPILED="1")


# The way to BLAS -------------------------------------------------------------------------------


def two_vectors(n: int, gap: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    return rng.normal(size=gap * n)[::gap], rng.normal(size=n)


@pytest.mark.parametrize("gap", [1, 3])
@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_products_are_those_of_scipy(n: int, gap: int) -> None:
    x, y = two_vectors(n, gap)
    assert blas.ddot(x, y) == pytest.approx(scipy.linalg.blas.ddot(x, y), rel=1e-12)
    sum_, expected = y.copy(), scipy.linalg.blas.daxpy(x, y.copy(), n, -0.3)
    blas.daxpy(x, sum_, n, -0.3)
    # Some BLAS round the product where numbers stand in a row, and others do not.
    np.testing.assert_allclose(sum_, expected, rtol=1e-14, atol=1e-15)
    copied = np.zeros(n)
    blas.dcopy(x, copied)
    np.testing.assert_array_equal(copied, x)
    blas.dscal(2.5, copied)
    np.testing.assert_array_equal(copied, scipy.linalg.blas.dscal(2.5, x.copy()))
    matrix = np.asfortranarray(np.triu(np.outer(y, y) + 1.0))
    # Sums are taken in another order where numbers stand apart.
    close = {"rtol": 1e-12, "atol": 1e-14 * n}
    product = scipy.linalg.blas.dsymv(0.7, matrix, x)
    np.testing.assert_allclose(blas.dsymv(0.7, matrix, x), product, **close)
    updated = matrix.copy(order="F")
    blas.dsyr(0.7, x, 0, 1, 0, n, updated, 1)
    np.testing.assert_allclose(updated, matrix + 0.7 * np.triu(np.outer(x, x)), **close)
    rows = np.arange(3.0 * n).reshape(3, n)
    np.testing.assert_array_equal(blas.row_of(rows, 1, np.empty(n)), rows[1])


@compiled_only
def test_what_does_not_fit_is_refused() -> None:
    """Before anything is read or written beyond an array."""
    x, matrix = np.ones(3), np.ones((3, 3), order="F")
    for call in (
        lambda: blas.ddot(x, np.ones(2)),
        lambda: blas.daxpy(np.ones(2), x, 3, 1.0),
        lambda: blas.dcopy(np.ones(4), x),
        lambda: blas.dsymv(1.0, np.ones((2, 2), order="F"), x),
        lambda: blas.dsyr(1.0, np.ones(4), 0, 1, 0, 4, matrix, 1),
        lambda: blas.row_of(matrix.T, 0, np.ones(4)),
        lambda: blas.symmetric_matvec(np.ones((3, 2)), x),
        lambda: vectors.set_row(np.ones((3, 2)), 0, x),
        lambda: vectors.squared_distances(x, np.ones((3, 2))),
        lambda: vectors.argmax(np.ones(0)),
    ):
        with pytest.raises(ValueError, match=r"numbers"):
            call()
    for call in (
        lambda: blas.ddot(x, np.ones(3, dtype=np.float32)),
        lambda: blas.ddot(x, [1.0, 1.0, 1.0]),
        lambda: blas.ddot(x[::-1], x),
        lambda: blas.dsymv(1.0, np.arange(9.0).reshape(3, 3), x),
    ):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(IndexError):
        blas.row_of(np.ones((3, 3)), 3, x)
    with pytest.raises(IndexError):
        vectors.set_row(np.ones((3, 3)), -1, x)
