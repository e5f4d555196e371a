"""The package as a whole: what importing it costs, and what it says of itself."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.resources
import inspect
import pathlib
import pkgutil
import re
import runpy
import subprocess
import sys
import sysconfig
import types
import zipfile
from typing import Any

import pytest
from river import base

import river_oauc

ROOT = pathlib.Path(__file__).parents[1]
in_the_repository = pytest.mark.skipif(
    not (ROOT / "river_oauc").exists(), reason="needs the sources beside the tests"
)

# What a program that only learns should not have to wait for, nor to install.
HEAVY = {
    "pandas",
    "polars",
    "pyarrow",
    "matplotlib",
    "sklearn",
    "rich",
    "tqdm",
    "dask",
    "distributed",
}

CORE_MODULES = [
    module.name
    for module in pkgutil.walk_packages(river_oauc.__path__, "river_oauc.")
    if not module.name.startswith("river_oauc.cli")
]
PUBLIC_CLASSES = [
    item for item in map(river_oauc.__dict__.get, river_oauc.__all__) if isinstance(item, type)
]
PUBLIC_CLASSIFIERS = [cls for cls in PUBLIC_CLASSES if issubclass(cls, base.Classifier)]


def modules_after(statement: str) -> set[str]:
    """The top-level modules that a fresh interpreter has loaded after a statement."""
    program = f"{statement}\nimport sys\nprint(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return {module.partition(".")[0] for module in result.stdout.split()}


def test_importing_the_package_is_light() -> None:
    loaded = modules_after("import river_oauc")
    assert {"river_oauc", "river", "numpy"} <= loaded
    assert not loaded & HEAVY


def test_no_core_module_is_heavy() -> None:
    # river's scalers import pandas.
    many_machines = {"river_oauc.distributed", "river_oauc.partitions", "river_oauc.scaling"}
    light = [name for name in CORE_MODULES if name not in many_machines]
    assert not modules_after(f"import {', '.join(light)}") & HEAVY


def test_learning_is_light() -> None:
    """Nothing heavy is put off until the first example either."""
    loaded = modules_after(
        "from river_oauc import OAUCM\n"
        "model = OAUCM()\n"
        "for y in (True, False, True):\n"
        "    model.predict_proba_one({'a': 1.0})\n"
        "    model.learn_one({'a': float(y), 'b': 2}, y)\n"
    )
    assert not loaded & HEAVY


@in_the_repository
def test_imports_point_downwards() -> None:
    command = [pathlib.Path(sysconfig.get_path("scripts"), "lint-imports"), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@in_the_repository
def test_compiled_code_is_used_if_it_is_there() -> None:
    step = sys.modules["river_oauc.rankers.linear"].oauc_step
    assert (type(step) is types.FunctionType) == (not river_oauc.compiled)


@in_the_repository
@pytest.mark.parametrize("wanted", [None, "1"])
def test_compiled_code_is_optional_unless_it_is_asked_for(
    wanted: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    setuptools = pytest.importorskip("setuptools")
    built: dict[str, list[Any]] = {}
    # Like Cython's, it makes new extensions of those it is given.
    build = types.ModuleType("Cython.Build")
    build.cythonize = lambda modules, **_: [  # type: ignore[attr-defined]
        setuptools.Extension(module.name, module.sources) for module in modules
    ]
    monkeypatch.setitem(sys.modules, "Cython", types.ModuleType("Cython"))
    monkeypatch.setitem(sys.modules, "Cython.Build", build)
    monkeypatch.setattr(setuptools, "setup", built.update)
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("RIVER_OAUC_COMPILED", raising=False)
    if wanted is not None:
        monkeypatch.setenv("RIVER_OAUC_COMPILED", wanted)
    runpy.run_path("setup.py")
    assert built["ext_modules"]
    assert {module.optional for module in built["ext_modules"]} == {wanted is None}


def test_version() -> None:
    assert river_oauc.__version__ == importlib.metadata.version("river-oauc")
    assert f"\nversion: {river_oauc.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_types_are_for_everyone() -> None:
    assert importlib.resources.files(river_oauc).joinpath("py.typed").is_file()


def test_core_dependencies() -> None:
    required = importlib.metadata.requires("river-oauc") or []
    core = {re.match(r"[\w-]+", line)[0] for line in required if "extra ==" not in line}
    assert core == {"river", "narwhals", "numpy", "scipy"}


@pytest.mark.parametrize("name", ["river_oauc", *CORE_MODULES])
def test_every_public_name_exists(name: str) -> None:
    if name.startswith("river_oauc.distributed"):
        pytest.importorskip("distributed", reason='needs the extra "distributed"')
    module = importlib.import_module(name)
    names = getattr(module, "__all__", [])
    assert len(set(names)) == len(names)
    assert [item for item in names if not hasattr(module, item)] == []


def test_there_are_public_classifiers() -> None:
    assert PUBLIC_CLASSIFIERS


def section(doc: str, title: str) -> str:
    """The text under a heading that is underlined by hyphens, up to the next one."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\w[^\n]*\n---|\Z)", doc, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def documented_parameters(cls: type) -> dict[str, str]:
    """What the docstring says of each parameter."""
    text = section(inspect.getdoc(cls) or "", "Parameters")
    names = re.split(r"^(\w+)$", text, flags=re.MULTILINE)
    return {name: words.strip() for name, words in zip(names[1::2], names[2::2], strict=True)}


@pytest.mark.parametrize("cls", PUBLIC_CLASSES)
def test_every_parameter_is_documented_and_no_other(cls: type) -> None:
    documented = documented_parameters(cls)
    assert list(documented) == list(inspect.signature(cls).parameters)
    assert [name for name, words in documented.items() if len(words.split()) < 3] == []


@pytest.mark.parametrize("cls", PUBLIC_CLASSIFIERS)
def test_every_classifier_shows_its_use_and_its_source(cls: type) -> None:
    doc = inspect.getdoc(cls) or ""
    assert ">>>" in section(doc, "Examples")
    assert "[^1]" in section(doc, "References")


def test_parameters_are_found_in_a_docstring() -> None:
    """So that the tests above cannot pass by finding nothing."""

    class Documented:
        """A class.

        Parameters
        ----------
        depth
            How deep it goes, and

            why.
        width
            How wide.

        Examples
        --------
        >>> Documented
        """

    assert documented_parameters(Documented) == {
        "depth": "How deep it goes, and\n\n    why.",
        "width": "How wide.",
    }


@pytest.mark.slow
def test_the_wheel_is_small_and_has_what_users_need(tmp_path: pathlib.Path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "-q", "-w", tmp_path, ROOT]
    subprocess.run(command, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.stat().st_size < 1_500_000
    names = zipfile.ZipFile(wheel).namelist()
    assert {"river_oauc_command.py", "river_oauc/py.typed", "river_oauc/cli/main.py"} <= set(names)
    assert not [name for name in names if name.startswith(("benchmarks", "tests", "notebooks"))]
    assert not [name for name in names if name.endswith((".pyx", ".c"))]
