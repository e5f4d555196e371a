"""Compiled functions in place of those in numpy.

What is hot is a function on arrays. It is written in numpy where a reader looks for it, and once
more in Cython with the same name and arguments: that of `rankers/linear.py` in
`_compiled/linear.pyx`. `@accelerated` takes the compiled one if it has been built.
`RIVER_OAUC_COMPILED=0` selects numpy; with `1`, it is an error if nothing has been built.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import typing
from collections.abc import Callable

_wanted = os.environ.get("RIVER_OAUC_COMPILED")

# Whether compiled functions are used.
compiled = _wanted != "0" and importlib.util.find_spec("river_oauc._compiled.linear") is not None

if _wanted == "1" and not compiled:
    raise ImportError("RIVER_OAUC_COMPILED is 1, but there is no compiled code")

# The functions that have a compiled one, by name: those in numpy.
in_numpy: dict[str, Callable[..., typing.Any]] = {}

Arguments = typing.ParamSpec("Arguments")
Result = typing.TypeVar("Result")


def accelerated(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return the compiled function of this name, or itself if there is none."""
    in_numpy[function.__name__] = function
    if not compiled:
        return function
    name = function.__module__.rpartition(".")[2]
    fast = getattr(importlib.import_module(f"river_oauc._compiled.{name}"), function.__name__)
    return functools.update_wrapper(fast, function)
