"""Decides whether the compiled modules are used, before the first of them is loaded.

A compiled module stands beside the source it is made of, and Python takes it first. It is all of
them or none: none if `RIVER_OAUC_COMPILED` is 0, if a source has changed since, or if they do not
fit this SciPy or numpy. Then the Python modules are loaded, which say the same.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import os
import sys
import types
from collections.abc import Sequence

from river_oauc.native import digest

__all__ = ["compiled"]


class _PythonModules:
    """Finds the modules of this package as Python files, whatever is compiled beside them."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if path is None or not name.startswith("river_oauc."):
            return None
        source = importlib.machinery.SourceFileLoader, importlib.machinery.SOURCE_SUFFIXES
        finders = (importlib.machinery.FileFinder(directory, source) for directory in path)
        return next((spec for finder in finders if (spec := finder.find_spec(name))), None)


def _obstacle() -> str:
    """Why the compiled modules cannot be used; nothing, if they can."""
    try:
        blas = importlib.import_module("river_oauc.blas")
    except Exception as error:
        # Whatever it is, it does not come from Python modules.
        return f"the compiled modules cannot be loaded: {error}"
    made_of = getattr(blas, "digest", None)
    # Without compiled modules nobody has to read all sources.
    if made_of is not None and made_of == digest():
        return ""
    del sys.modules["river_oauc.blas"], sys.modules["river_oauc"].blas
    if made_of is None:
        return "there are no compiled modules: install river-oauc anew, with a C compiler"
    return "the compiled modules are older than their sources: install river-oauc anew"


def _decide() -> bool:
    wanted = os.environ.get("RIVER_OAUC_COMPILED")
    obstacle = "it is not to be used" if wanted == "0" else _obstacle()
    if obstacle and wanted == "1":
        raise ImportError(f"RIVER_OAUC_COMPILED is 1, but {obstacle}")
    if obstacle:
        sys.meta_path.insert(0, _PythonModules)
    return not obstacle


# Whether the compiled modules are used.
compiled = _decide()
