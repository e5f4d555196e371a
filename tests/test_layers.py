"""The rooms of the package: which module may import which, read from the source."""

from __future__ import annotations

import ast
import graphlib
import pathlib
from collections.abc import Iterator

import pytest

import river_oauc

ROOT = pathlib.Path(river_oauc.__file__).parent

# From top to bottom: a module imports from its own layer or from one below. The longest name that
# a module begins with decides.
LAYERS = [
    ["cli.main"],
    ["cli.compare", "cli.datasets"],
    ["cli"],
    ["cli.console"],
    ["distributed"],
    [""],
    ["auto"],
    ["linear", "kernel"],
    # The dense backend of the contract, and the contract.
    ["inputs.dense"],
    ["base"],
    ["learner"],
    ["calibration", "losses", "kernels", "metrics", "stats"],
    ["inputs"],
    ["loading"],
    ["blas", "native", "vectors"],
]
# They know no learner, and no learner knows them.
BESIDE = "datasets"
# The rooms of these layers do not import from each other.
INDEPENDENT = [LAYERS[1], ["linear", "kernel"]]


def modules() -> dict[str, ast.Module]:
    """The syntax tree of each module, by its name without the package's; "" is the package."""
    trees = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        trees[name] = ast.parse(path.read_text(), str(path))
    return trees


MODULES = modules()


def imports(tree: ast.Module) -> Iterator[tuple[str, str | None]]:
    """The modules of the package that a module imports, and the name that it takes from each."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "river_oauc":
                    yield alias.name.partition(".")[2], None
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import"
            package, _, module = (node.module or "").partition(".")
            if package == "river_oauc":
                for alias in node.names:
                    inner = f"{module}.{alias.name}".strip(".")
                    yield (inner, None) if inner in MODULES else (module, alias.name)


def starts_with(module: str, prefix: str) -> bool:
    return not prefix or module == prefix or module.startswith(f"{prefix}.")


def layer(module: str) -> int:
    """Number of the layer, the lowest being the largest."""
    found = [
        (len(prefix), number)
        for number, prefixes in enumerate(LAYERS)
        for prefix in prefixes
        if (starts_with(module, prefix) if prefix else not module)
    ]
    assert found, f"{module} is in no layer; put it into one"
    return max(found)[1]


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_downwards(module: str) -> None:
    for imported, _ in imports(MODULES[module]):
        if starts_with(module, BESIDE):
            assert starts_with(imported, BESIDE), f"{module} imports {imported}"
        elif starts_with(imported, BESIDE):
            assert starts_with(module, "cli"), f"{module} imports {imported}"
        else:
            assert layer(module) <= layer(imported), f"{module} imports {imported}"


@pytest.mark.parametrize("rooms", INDEPENDENT, ids=" ".join)
def test_neighbours_do_not_know_each_other(rooms: list[str]) -> None:
    for room in rooms:
        for module in (name for name in MODULES if starts_with(name, room)):
            for imported, _ in imports(MODULES[module]):
                others = [other for other in rooms if other != room]
                assert not any(starts_with(imported, other) for other in others), module


def test_there_are_no_cycles() -> None:
    graph = {
        module: {imported for imported, _ in imports(tree)} for module, tree in MODULES.items()
    }
    graphlib.TopologicalSorter(graph).prepare()


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


@pytest.mark.parametrize("module", MODULES)
def test_private_names_stay_in_their_module(module: str) -> None:
    tree = MODULES[module]
    assert [name for _, name in imports(tree) if name and is_private(name)] == []

    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("river_oauc")
        for alias in node.names
    }
    uses = [
        f"{node.value.id}.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in imported
        and is_private(node.attr)
    ]
    assert uses == []


def test_the_entry_point_imports_the_package_when_it_is_ready_for_an_interrupt() -> None:
    tree = ast.parse((ROOT.parent / "river_oauc_command.py").read_text())
    first = {
        alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names
    }
    assert first <= {"os", "signal", "sys"}
    assert list(imports(tree)) == [("cli.main", "main")]
