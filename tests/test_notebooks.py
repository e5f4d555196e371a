"""The notebooks are committed as one clean run left them, and the code still reproduces them."""

from __future__ import annotations

import base64
import pathlib
import re
import runpy
from typing import Any

import nbformat
import pytest

DIRECTORY = pathlib.Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(DIRECTORY.glob("*.ipynb"))

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
# Bytes; a figure of four empty axes has fewer.
SMALLEST_FIGURE = 9_000

every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def code_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [output for cell in code_cells(notebook) for output in cell.outputs]


def figures(notebook: nbformat.NotebookNode) -> list[bytes]:
    """Return the figures, in order."""
    encoded = [output.get("data", {}).get("image/png") for output in outputs(notebook)]
    return [base64.b64decode(figure) for figure in encoded if figure is not None]


def shown(output: nbformat.NotebookNode) -> dict[str, Any]:
    """Return the text of an output; of a figure only its type."""
    if output.output_type == "stream":
        return {output.name: output.text}
    return {
        kind: content if kind.startswith("text/") else "" for kind, content in output.data.items()
    }


def complaints(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """Return errors and output on the error stream."""
    return [
        output
        for output in outputs(notebook)
        if output.output_type == "error" or output.get("name") == "stderr"
    ]


def test_there_are_eight() -> None:
    assert [path.name[:3] for path in NOTEBOOKS] == [f"0{number}-" for number in range(1, 9)]


@every_notebook
def test_it_was_run_once_from_top_to_bottom_without_errors(path: pathlib.Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    counts = [cell.execution_count for cell in code_cells(notebook)]
    assert counts == list(range(1, len(counts) + 1))
    assert complaints(notebook) == []


@every_notebook
def test_it_shows_figures(path: pathlib.Path) -> None:
    pictures = figures(nbformat.read(path, as_version=4))
    assert pictures
    for picture in pictures:
        assert picture.startswith(PNG_SIGNATURE)
        assert len(picture) > SMALLEST_FIGURE


@every_notebook
def test_it_reveals_nothing_of_the_machine_that_ran_it(path: pathlib.Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    assert notebook.metadata == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    assert all(not cell.metadata for cell in notebook.cells)
    text = str([cell.source for cell in notebook.cells] + [shown(o) for o in outputs(notebook)])
    assert re.findall(r"(?:/(?:home|root|tmp|usr|Users|work)/|[A-Z]:\\\\)\S*", text) == []


@pytest.mark.notebook
@every_notebook
def test_it_runs_and_shows_what_is_committed(path: pathlib.Path) -> None:
    """`python notebooks/execute.py` updates the committed outputs."""
    for package in ("nbclient", "ipykernel"):
        pytest.importorskip(package, reason='needs the extra: pip install -e ".[notebooks]"')
    script = runpy.run_path(str(DIRECTORY / "execute.py"))
    if name := script["missing_stream"](path.stem):
        pytest.skip(f"needs the stream {name}: RIVER_OAUC_DATA has to name a directory with it")
    committed = nbformat.read(path, as_version=4)
    executed = script["execute"](path)
    assert complaints(executed) == []
    assert executed.metadata == committed.metadata
    for old, new in zip(code_cells(committed), code_cells(executed), strict=True):
        expected, found = map(shown, old.outputs), map(shown, new.outputs)
        assert list(found) == list(expected), f"cell {new.execution_count}:\n{new.source}"
