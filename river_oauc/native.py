"""The modules that are compiled where there is a C compiler, and what they are recognised by."""

from __future__ import annotations

import hashlib
import pathlib

__all__ = ["MODULES", "digest"]

# As paths without an ending. What is compiled is the .py, with types from a .pxd beside it, or a
# .pyx that stands in for the .py.
MODULES = (
    "blas",
    "vectors",
    "losses",
    "calibration",
    "learner",
    "auto/closed_form",
    "auto/engine",
    "auto/experts",
    "auto/generations",
    "auto/judge",
    "auto/landmarks",
    "auto/maps",
    "auto/probability",
    "inputs/dicts",
    "inputs/records",
    "inputs/vectorizer",
    "kernel/step",
    "kernel/support",
    "linear/sparse_step",
    "linear/step",
    "linear/table",
    "stats/moments",
    "stats/units",
)


def digest() -> str:
    """What the sources of the compiled modules are recognised by."""
    root = pathlib.Path(__file__).parent
    paths = (root / f"{module}{ending}" for module in MODULES for ending in (".py", ".pyx", ".pxd"))
    sources = hashlib.sha256()
    for path in paths:
        sources.update(path.read_bytes() if path.exists() else b"")
    return sources.hexdigest()
