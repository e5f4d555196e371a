"""What an object has, wherever it keeps it: where the package is compiled, some have no dict."""

from __future__ import annotations

import inspect
from typing import Any


def attributes_of(obj: Any) -> dict[str, Any]:
    """The attributes of an object by name; none, if it is nothing of this package."""
    if not type(obj).__module__.startswith("river_oauc."):
        return {}
    # Of a compiled class, these are no part of the dict. Its properties look no different from its
    # fields, and reading one may do something: so the fields are taken by their names, if they are
    # named.
    names = getattr(obj, "__fields__", None) or [
        name
        for cls in type(obj).__mro__
        for name, field in vars(cls).items()
        if inspect.isgetsetdescriptor(field) and not name.endswith("__")
    ]
    return {name: getattr(obj, name) for name in names} | getattr(obj, "__dict__", {})
