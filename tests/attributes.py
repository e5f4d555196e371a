"""What an object has, wherever it keeps it: where the package is compiled, some have no dict."""

from __future__ import annotations

import inspect
from typing import Any


def attributes_of(obj: Any) -> dict[str, Any]:
    """The attributes of an object by name; none, if it is nothing of this package."""
    fields = {}
    if type(obj).__module__.startswith("river_oauc."):
        for cls in type(obj).__mro__:
            for name, field in vars(cls).items():
                if inspect.isgetsetdescriptor(field) and not name.endswith("__"):
                    fields[name] = getattr(obj, name)
    return fields | getattr(obj, "__dict__", {})
