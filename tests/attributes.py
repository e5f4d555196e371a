"""What an object has, wherever it keeps it: where the package is compiled, some have no dict."""

from __future__ import annotations

from typing import Any


def attributes_of(obj: Any) -> dict[str, Any]:
    """The attributes of an object by name; none, if it is nothing of this package."""
    fields = getattr(type(obj), "__fields__", ())
    return {name: getattr(obj, name) for name in fields} | getattr(obj, "__dict__", {})
