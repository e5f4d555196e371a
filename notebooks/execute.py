"""Execute the notebooks of this directory from top to bottom, and save them with their outputs.

    python notebooks/execute.py                      # all whose data are on this machine
    python notebooks/execute.py 03-why-rocauc-lies   # some of them

Each one gets a fresh kernel, which is the interpreter that runs this file. A notebook with a cell
that fails is not saved.
"""

from __future__ import annotations

import argparse
import base64
import io
import os
import pathlib
import sys
import tempfile

import nbformat
import PIL.Image
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

DIRECTORY = pathlib.Path(__file__).parent
# The benchmarks are not installed.
sys.path.append(str(DIRECTORY.parent))

from benchmarks.datasets import STREAMS  # noqa: E402

# What a notebook needs to know of its kernel. The version of Python and paths stay out: the same
# notebook makes the same file everywhere.
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}

_SECONDS_PER_CELL = 120

# The streams that notebooks need, in the directory that RIVER_OAUC_DATA names.
STREAM_OF = {"07-a-real-stream": "nsl_kdd20"}


def notebooks() -> list[pathlib.Path]:
    """The notebooks of this directory, in order."""
    return sorted(DIRECTORY.glob("*.ipynb"))


def missing_stream(name: str) -> str | None:
    """Return the stream that a notebook needs and that is not on this machine."""
    stream = STREAM_OF.get(name)
    return None if stream is None or STREAMS[stream].is_here else stream


def execute(path: pathlib.Path) -> nbformat.NotebookNode:
    """Run a notebook in a fresh kernel and return it with its outputs; the file stays as it is."""
    notebook = nbformat.read(path, as_version=4)
    # Without directories to look into, python3 is the running interpreter, whatever kernels of that
    # name the user has installed.
    kernels = KernelSpecManager(kernel_dirs=[])
    with tempfile.TemporaryDirectory() as configuration:
        client = NotebookClient(
            notebook,
            km=AsyncKernelManager(
                kernel_name="python3",
                kernel_spec_manager=kernels,
                connection_file=os.path.join(configuration, "kernel.json"),
                # Sockets in the temporary directory, where the system has them, and no ports.
                transport="tcp" if os.name == "nt" else "ipc",
            ),
            timeout=_SECONDS_PER_CELL,
            coalesce_streams=True,
            record_timing=False,
        )
        # A kernel of somebody else's manager would be left running.
        client.execute(cleanup_kc=True, cwd=str(path.parent), env=_environment(configuration))
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                output.data["image/png"] = _in_256_colours(output.data["image/png"])
    return notebook


def _in_256_colours(figure: str) -> str:
    """The same PNG, in base64 as before, at a third of the size."""
    image = PIL.Image.open(io.BytesIO(base64.b64decode(figure))).convert("RGB")
    buffer = io.BytesIO()
    image.quantize(256, dither=PIL.Image.Dither.NONE).save(buffer, "png", optimize=True)
    return base64.b64encode(buffer.getvalue()).decode()


def _environment(configuration: str) -> dict[str, str]:
    """An environment in which outputs depend neither on the number of cores nor on the user."""
    return {
        **os.environ,
        "OPENBLAS_NUM_THREADS": "1",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "IPYTHONDIR": configuration,
    }


def main() -> None:
    known = {path.stem: path for path in notebooks()}
    parser = argparse.ArgumentParser(description="Execute the notebooks and save their outputs.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of: {', '.join(known)}")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in known]
    if unknown:
        parser.error(f"no such notebook: {', '.join(unknown)}; there are {', '.join(known)}")
    for name in arguments.names or known:
        if stream := missing_stream(name):
            print(f"{name}: skipped, needs the stream {stream} in $RIVER_OAUC_DATA", flush=True)
            continue
        print(name, flush=True)
        nbformat.write(execute(known[name]), known[name])


if __name__ == "__main__":
    main()
