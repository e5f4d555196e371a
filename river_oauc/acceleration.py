"""Whether compiled code is used, and the compiled twins of rankers and functions.

`RIVER_OAUC_COMPILED=0` selects numpy; with `1` it is an error if compiled code cannot be loaded.
"""

from __future__ import annotations

import functools
import importlib
import os
import typing
import warnings
from collections.abc import Callable

if typing.TYPE_CHECKING:
    from river_oauc.rankers.base import LearningRanker, Ranker

_MODULES = ("vectorizer", "records", "linear", "sparse", "kernel", "trees", "mixture")

Example = typing.TypeVar("Example")
Arguments = typing.ParamSpec("Arguments")
Result = typing.TypeVar("Result")


def _load() -> dict[str, typing.Any]:
    """Return what the compiled modules define, or nothing if they are not to be used."""
    wanted = os.environ.get("RIVER_OAUC_COMPILED")
    if wanted == "0":
        return {}
    try:
        modules = [importlib.import_module(f"river_oauc._compiled.{name}") for name in _MODULES]
    except ImportError as error:
        if wanted == "1":
            raise ImportError("RIVER_OAUC_COMPILED is 1, but there is no compiled code") from error
        if not isinstance(error, ModuleNotFoundError):
            warnings.warn(
                f"river_oauc uses numpy, because its compiled code cannot be loaded: {error}",
                RuntimeWarning,
                stacklevel=2,
            )
        return {}
    return {name: item for module in modules for name, item in vars(module).items()}


_definitions = _load()

# Whether compiled code is used.
compiled = bool(_definitions)

# The fast path of `Vectorizer.encode`; None without compiled code.
encode_dict: Callable[..., typing.Any] | None = _definitions.get("encode_dict")

# The twins of `encoding.features` and the fast paths of `encoding.records`; None without compiled
# code.
Counts: typing.Any = _definitions.get("Counts")
Feature: typing.Any = _definitions.get("Feature")
encode_record: Callable[..., typing.Any] | None = _definitions.get("encode_record")
learn_record: Callable[..., typing.Any] | None = _definitions.get("learn_record")

# The fast path of `SparseEncoder.encode`; None without compiled code.
encode_sparse: Callable[..., typing.Any] | None = _definitions.get("encode_sparse")


def accelerate(ranker: Ranker[Example]) -> LearningRanker[Example]:
    """Return the compiled twin of a ranker, with the same state; the ranker itself if none.

    If it has members, these are replaced by their twins.
    """
    for name, member in getattr(ranker, "members", {}).items():
        ranker.members[name] = accelerate(member)  # type: ignore[attr-defined]
    twin = _definitions.get(type(ranker).__name__)
    return ranker if twin is None else twin(ranker)


def accelerated(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return the compiled twin of a function, whose `__wrapped__` it is; itself if none."""
    twin: Callable[Arguments, Result] | None = _definitions.get(function.__name__)
    return function if twin is None else functools.update_wrapper(twin, function)
